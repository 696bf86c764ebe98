"""The tables and functions in the schema `peerlock` of a database.

Every question of a member is one call of one of these functions, and so one transaction
that runs in the server from its beginning to its end: no lock is ever held while a client,
which may be stopped, has its turn.

- A change of the members, and a reservation of numbers, locks the row of the cluster; a
  renewal updates the member's own row alone.  A transaction that needs both locks the
  cluster's row first, so there are no deadlocks.
- `take_number` gives out numbers as `node.numbers` says.  If a number would be ahead of the
  clock, nothing is changed, and the answer says for how long to wait (`wait`).
- `put_out` removes the members whose deadline has passed, and looks at it under a lock of
  the member's row.  A member that renews at this moment is skipped.
- A deadline that is further away than a lease shows that the clock was set back; it is
  brought back to one lease from now.
"""

from __future__ import annotations

from peerlock.node.numbers import (
    BEGINNING,
    BLOCK,
    MOST,
    PER_SECOND,
    SET_BACK,
    UNBELIEVABLE,
)

FORMAT = 1
USED_UP, WRONG_CLOCK = "PL001", "PL002"  # SQLSTATE

# A role that may not create a schema needs these.
GRANTS = """\
GRANT USAGE ON SCHEMA peerlock TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA peerlock TO {role};
"""

SCHEMA = f"""\
BEGIN;
SELECT pg_advisory_xact_lock({int.from_bytes(b"peerlock", "big")});

CREATE SCHEMA IF NOT EXISTS peerlock;

CREATE TABLE IF NOT EXISTS peerlock.clusters (
    name text PRIMARY KEY,
    secret text NOT NULL,            -- by which its members know each other
    number bigint NOT NULL,          -- of the view
    highest bigint NOT NULL,         -- of all numbers that were given
    longest float8 NOT NULL,         -- lease that a member has had, in seconds
    server text NOT NULL,            -- system identifier and timeline
    quiet_until timestamptz NOT NULL -- no process joins before
);

CREATE TABLE IF NOT EXISTS peerlock.members (
    cluster text NOT NULL REFERENCES peerlock.clusters ON DELETE CASCADE,
    id bigint NOT NULL,
    token text NOT NULL,
    address text NOT NULL,
    pid integer NOT NULL,
    host text NOT NULL,
    lease float8 NOT NULL,           -- seconds
    deadline timestamptz NOT NULL,
    server text NOT NULL,            -- on which it has joined
    PRIMARY KEY (cluster, id)
) WITH (fillfactor = 50);

CREATE OR REPLACE FUNCTION peerlock.server() RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog AS $$
    SELECT system_identifier || '/'
           || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8)
    FROM pg_control_system()
$$;

CREATE OR REPLACE FUNCTION peerlock.state(
    of text, own text DEFAULT '', wait float8 DEFAULT 0, changed boolean DEFAULT false
) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog AS $$
    SELECT json_build_object(
        'format', {FORMAT},
        'backend', pg_backend_pid(),
        'now', extract(epoch FROM clock_timestamp()),
        'server', peerlock.server(),
        'log', pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0'),
        'wait', wait,
        'changed', changed,
        'secret', coalesce(c.secret, ''),
        'number', coalesce(c.number, 0),
        'highest', coalesce(c.highest, 0),
        'longest', coalesce(c.longest, 0),
        'me', coalesce((SELECT id FROM peerlock.members m
                        WHERE m.cluster = of AND m.token = own), 0),
        'members', coalesce((
            SELECT json_agg(json_build_array(m.id, m.address, m.pid,
                extract(epoch FROM m.deadline - clock_timestamp())) ORDER BY m.id)
            FROM peerlock.members m WHERE m.cluster = of), '[]'))::text
    FROM (SELECT) AS always LEFT JOIN peerlock.clusters c ON c.name = of
$$;

CREATE OR REPLACE FUNCTION peerlock.origin() RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$
DECLARE
    at float8 := extract(epoch FROM clock_timestamp());
BEGIN
    IF at < {BEGINNING} OR at >= {UNBELIEVABLE} THEN
        RAISE 'the clock of the server is wrong' USING ERRCODE = '{WRONG_CLOCK}';
    END IF;
    RETURN floor((at - {BEGINNING}) * {PER_SECOND});
END
$$;

-- The caller has locked the cluster's row.  Returns 0, or how many seconds to wait first.
CREATE OR REPLACE FUNCTION peerlock.take_number(of text, above bigint, block integer)
RETURNS float8
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$
DECLARE
    next bigint;
    ahead float8;
BEGIN
    SELECT greatest(highest, above) + 1 INTO next FROM peerlock.clusters WHERE name = of;
    IF next + {BLOCK} > {MOST} THEN
        RAISE 'all numbers are used up' USING ERRCODE = '{USED_UP}';
    END IF;
    ahead := (next + block) / {PER_SECOND}::float8
             - (extract(epoch FROM clock_timestamp()) - {BEGINNING});
    IF ahead > 0 AND ahead <= {SET_BACK} THEN
        RETURN ahead;
    ELSIF block > 0 THEN
        UPDATE peerlock.clusters SET highest = next + block - 1 WHERE name = of;
    ELSE
        UPDATE peerlock.clusters SET number = next, highest = next WHERE name = of;
        PERFORM pg_notify('peerlock ' || md5(of), next::text);
    END IF;
    RETURN 0;
END
$$;

-- `latest`: what the server's clock can read at most, as the caller's clock says.
-- The caller has locked the cluster's row.
CREATE OR REPLACE FUNCTION peerlock.put_out(of text, latest float8) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$
DECLARE
    gone bigint[];
BEGIN
    UPDATE peerlock.members SET deadline = clock_timestamp() + lease * interval '1 second'
    WHERE cluster = of AND deadline > clock_timestamp() + lease * interval '1 second';
    gone := ARRAY(SELECT id FROM peerlock.members
                  WHERE cluster = of AND deadline < clock_timestamp()
                    AND extract(epoch FROM clock_timestamp()) < latest
                  FOR UPDATE SKIP LOCKED);
    IF cardinality(gone) = 0 OR peerlock.take_number(of, 0, 0) > 0 THEN
        RETURN false;
    END IF;
    DELETE FROM peerlock.members WHERE cluster = of AND id = ANY (gone);
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION peerlock.renew(of text, own text, latest float8) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$
DECLARE
    due boolean := EXISTS (
        SELECT FROM peerlock.members
        WHERE cluster = of AND token <> own
          AND (deadline < clock_timestamp()
               OR deadline > clock_timestamp() + (lease + 1) * interval '1 second'));
BEGIN
    IF due THEN
        PERFORM FROM peerlock.clusters WHERE name = of FOR UPDATE;
    END IF;
    UPDATE peerlock.members SET deadline = clock_timestamp() + lease * interval '1 second'
    WHERE cluster = of AND token = own;
    RETURN peerlock.state(of, own, 0, due AND peerlock.put_out(of, latest));
END
$$;

CREATE OR REPLACE FUNCTION peerlock.join(
    of text, own text, former text, where_ text, process integer, machine text,
    seconds float8, beyond bigint, new_secret text
) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$
DECLARE
    here text := peerlock.server();
    c peerlock.clusters;
    quiet float8;
BEGIN
    INSERT INTO peerlock.clusters
    VALUES (of, new_secret, 0, peerlock.origin() - 1, seconds, here, '-infinity')
    ON CONFLICT DO NOTHING;
    SELECT * INTO c FROM peerlock.clusters WHERE name = of FOR UPDATE;
    IF EXISTS (SELECT FROM peerlock.members WHERE cluster = of AND token = own) THEN
        RETURN peerlock.state(of, own);  -- this is a question that was asked before
    END IF;
    quiet := greatest(c.longest, seconds);
    IF c.server <> here  -- or the clock was set back meanwhile
       OR c.quiet_until > clock_timestamp() + quiet * interval '1 second' THEN
        UPDATE peerlock.clusters
        SET server = here, longest = quiet,
            quiet_until = clock_timestamp() + quiet * interval '1 second'
        WHERE name = of;
        RETURN peerlock.state(of, own, quiet);
    ELSIF c.quiet_until > clock_timestamp() THEN
        quiet := extract(epoch FROM c.quiet_until - clock_timestamp());
        RETURN peerlock.state(of, own, quiet);
    ELSIF c.quiet_until > '-infinity' THEN
        beyond := greatest(beyond, peerlock.origin() - 1);
    END IF;
    quiet := peerlock.take_number(of, beyond, 0);
    IF quiet > 0 THEN
        RETURN peerlock.state(of, own, quiet);
    END IF;
    DELETE FROM peerlock.members
    WHERE cluster = of AND (token = former OR server <> here);
    UPDATE peerlock.clusters
    SET longest = greatest(longest, seconds), quiet_until = '-infinity' WHERE name = of;
    INSERT INTO peerlock.members
    SELECT of, number, own, where_, process, machine, seconds,
           clock_timestamp() + seconds * interval '1 second', here
    FROM peerlock.clusters WHERE name = of;
    RETURN peerlock.state(of, own);
END
$$;

CREATE OR REPLACE FUNCTION peerlock.leave(of text, member bigint, its_token text)
RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$
DECLARE
    found bigint;
    ahead float8;
BEGIN
    PERFORM FROM peerlock.clusters WHERE name = of FOR UPDATE;
    SELECT id INTO found FROM peerlock.members
    WHERE cluster = of AND (id = member OR token = its_token);
    IF found IS NULL THEN
        RETURN peerlock.state(of);
    END IF;
    ahead := peerlock.take_number(of, 0, 0);
    IF ahead = 0 THEN
        DELETE FROM peerlock.members WHERE cluster = of AND id = found;
    END IF;
    RETURN peerlock.state(of, '', ahead);
END
$$;

CREATE OR REPLACE FUNCTION peerlock.reserve(of text, own text) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog AS $$
BEGIN
    PERFORM FROM peerlock.clusters WHERE name = of FOR UPDATE;
    IF NOT FOUND THEN
        RETURN peerlock.state(of, own);
    END IF;
    RETURN peerlock.state(of, own, peerlock.take_number(of, 0, {BLOCK}));
END
$$;

COMMIT;
"""
