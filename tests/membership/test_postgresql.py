"""Members that PostgreSQL keeps; the server is real."""

import asyncio
import os
import socket
import sys
import warnings
from contextlib import closing, suppress
from math import inf
from pathlib import Path
from typing import Any

import psycopg
import pytest

import peerlock
from peerlock import Reach
from peerlock.core.errors import UsageError
from peerlock.membership import ClusterError
from peerlock.membership.clock import now
from peerlock.membership.place import engine_for
from peerlock.membership.postgresql import (
    PostgresqlEngine,
    PostgresqlState,
    ServersClock,
    StateAnswer,
)
from peerlock.membership.postgresql_address import parse
from peerlock.node.numbers import BLOCK, MOST
from peerlock.runtime.certificates import issue, new_authority
from peerlock.testing import ids
from tests.support.etcd_members import in_time
from tests.support.etcd_servers import Wire
from tests.support.postgresql_members import Member, fresh, members
from tests.support.postgresql_servers import OWNER, Server

SHORT = 1.0


@pytest.fixture
def url(postgresql: Server) -> str:
    return fresh(postgresql.conninfo())


def through(url: str, wire: Wire) -> str:
    return url.replace(url.partition("127.0.0.1:")[2].partition("/")[0], str(wire.port))


# Tables


@in_time
async def test_members_and_the_number_of_the_view_change_in_one_transaction(
    postgresql: Server, url: str
) -> None:
    async with members(url, 1) as one:
        postgresql.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE 'no'; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT OR DELETE ON peerlock.members "
            "FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
        try:
            with pytest.raises(ClusterError, match=r"^PostgreSQL: no$"):
                await join_and_leave(url)
            with pytest.raises(ClusterError, match=r"^PostgreSQL: no$"):
                await one.engine.leave(one.me)
        finally:
            postgresql.execute("DROP FUNCTION refuse CASCADE")
        assert await one.renew() == one.views[0]
        await asyncio.gather(*one.engine._tasks)


@in_time
async def test_to_read_makes_no_schema_and_to_join_makes_one(postgresql: Server) -> None:
    postgresql.execute("CREATE DATABASE unused")
    schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'peerlock'"
    url = fresh(postgresql.conninfo("unused"))
    with closing(PostgresqlEngine(url, 60.0)) as engine:
        assert (await engine.read()).members == ()
        assert postgresql.execute(schemas, "unused") == [(0,)]
    crowd = [Member(url) for _ in range(4)]
    await asyncio.gather(*(member.join() for member in crowd))  # all make it at once
    assert ids(await crowd[0].renew()) == sorted(member.me for member in crowd)
    for member in crowd:
        member.engine.close()


def test_those_who_may_not_create_a_schema_let_another_do_it(
    postgresql: Server, peerlock: Any
) -> None:
    postgresql.execute("CREATE DATABASE strict; ", "postgres")
    postgresql.execute("CREATE ROLE humble LOGIN")
    url = fresh(postgresql.conninfo("strict").replace(OWNER, "humble"))
    done = peerlock("migrate", "--cluster", url)
    assert (done.code, done.err.count("\n")) == (69, 1)
    assert "peerlock migrate --sql" in done.err

    printed = peerlock("migrate", "--sql").out
    postgresql.execute(printed, "strict")
    with pytest.raises(ClusterError, match="GRANT USAGE ON SCHEMA peerlock"):
        asyncio.run(join_and_leave(url))
    grants = [line for line in printed.splitlines() if line.startswith("-- GRANT")]
    for grant in grants:
        postgresql.execute(grant.removeprefix("-- ").replace("USER", "humble"), "strict")
    asyncio.run(join_and_leave(url))
    assert peerlock("migrate", "--cluster", postgresql.conninfo("strict")).code == 2
    again = fresh(postgresql.conninfo("strict"))
    assert peerlock("migrate", "--cluster", again).code == 0  # nothing is lost by it
    assert peerlock("migrate", "--cluster", "memory://x").code == 2
    asyncio.run(join_and_leave(url))


async def join_and_leave(url: str) -> None:
    with closing(PostgresqlEngine(url, 60.0)) as engine:
        await engine.leave((await engine.join("here")).me)


@in_time
async def test_a_schema_of_another_version_is_left_alone(postgresql: Server) -> None:
    postgresql.execute("CREATE DATABASE future")
    url = fresh(postgresql.conninfo("future"))
    await join_and_leave(url)
    [[text]] = postgresql.execute("SELECT peerlock.state('x')", "future")
    later = text.replace('"format" : 1', '"format" : 2')
    postgresql.execute(
        "CREATE OR REPLACE FUNCTION peerlock.state(of text, own text DEFAULT '', wait "
        "float8 DEFAULT 0, changed boolean DEFAULT false) RETURNS text LANGUAGE sql AS "
        f"$$ SELECT '{later}' $$",
        "future",
    )
    with pytest.raises(ClusterError, match="another version"):
        await join_and_leave(url)


# Numbers


@in_time
async def test_no_number_is_ahead_of_the_servers_clock(url: str) -> None:
    async with members(url, 1) as one:
        began = now()
        taken = [await one.engine.reserve() for _ in range(3)]
        assert taken[2] - taken[0] == 2 * BLOCK
        assert now() - began > 1.5 * BLOCK / 1024  # they were waited for


@in_time
async def test_when_the_numbers_are_used_up_it_says_so(url: str) -> None:
    engine = PostgresqlEngine(url, 60.0)
    with closing(engine), pytest.raises(ClusterError, match="used up all numbers"):
        await engine.join("here", beyond=MOST)


# Leases


@in_time
async def test_nobody_is_put_out_whose_renewal_is_under_way(
    postgresql: Server, url: str
) -> None:
    async with members(url, 2, SHORT) as (one, two):
        with psycopg.connect(postgresql.conninfo()) as renewal:
            renewal.execute("UPDATE peerlock.members SET pid = pid WHERE id = %s", [two.me])
            async with one.kept():
                await asyncio.sleep(SHORT + 0.05)
            assert ids(await one.renew()) == [one.me, two.me]
            renewal.rollback()
        while ids(await one.renew()) != [one.me]:
            await asyncio.sleep(0.02)


@in_time
async def test_a_process_that_is_stopped_in_a_question_blocks_nobody(
    postgresql: Server, url: str
) -> None:
    """Its statement is complete, or was never begun."""
    async with (
        members(url, 1) as one,
        Wire(postgresql.port) as wire,
        members(through(url, wire), 1) as two,
    ):
        wire.hold()
        leaving = asyncio.create_task(two.engine.leave(two.me))
        await asyncio.sleep(0.05)
        await asyncio.wait_for(one.engine.reserve(), 1)
        await asyncio.wait_for(one.renew(), 1)
        wire.let_go()
        await leaving


@in_time
async def test_the_clock_of_a_client_is_no_matter(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 4_000_000_000.0)
    async with members(url, 2) as (one, two):
        assert ids(await one.renew()) == [one.me, two.me]
        assert one.view.number < MOST / 4


@in_time
async def test_a_server_whose_clock_was_set_forward_puts_nobody_out(
    postgresql: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member knows how late it can be in the server."""
    async with members(url, 2) as (one, two):
        postgresql.execute(
            "UPDATE peerlock.members SET deadline = deadline - interval '1 hour' "
            f"WHERE id = {two.me}"
        )
        one.engine._clock._ahead -= 3600
        await one.renew()
        assert ids(await one.renew()) == [one.me, two.me]
        one.engine._clock._trusted_from = -inf  # the longest lease is over
        assert ids(await one.renew()) == [one.me]


def answered(servers: float, sent: float) -> StateAnswer:
    state = PostgresqlState(1, 1, servers, "", 0, 0.0, False, "", 0, 0, 9.0, 0, ())
    return StateAnswer(state, sent)


def test_how_late_it_can_be_in_the_server(leases_clock: Any) -> None:
    clock = ServersClock()
    assert clock.latest(0.1) == -inf  # nothing is known yet
    start = leases_clock.now
    leases_clock.now += 2.0
    clock.compare(answered(5000.0, start), 0.1, 9.0)
    assert clock.latest(0.1) == pytest.approx(5002.1)
    leases_clock.now += 1.0  # a quicker answer tells more
    clock.compare(answered(5001.5, start + 2.9), 0.1, 9.0)
    assert clock.latest(0.1) == pytest.approx(5001.7)
    leases_clock.now += 1.0  # the clock was set forward by a minute
    clock.compare(answered(5062.5, start + 3.9), 0.1, 9.0)
    assert clock.latest(0.1) == -inf
    leases_clock.now += 9.0
    assert clock.latest(0.1) == pytest.approx(5071.7)
    leases_clock.now += 1.0  # or back
    clock.compare(answered(5000.0, start + 13.9), 0.1, 9.0)
    assert clock.latest(0.1) == pytest.approx(5000.2)


@in_time
async def test_a_clock_that_was_set_back_keeps_nobody_in(
    postgresql: Server, url: str
) -> None:
    async with members(url, 2, SHORT) as (one, two):
        postgresql.execute(
            "UPDATE peerlock.members SET deadline = deadline + interval '1 day' "
            f"WHERE id = {two.me}"
        )
        began = now()
        while ids(await one.renew()) != [one.me]:
            await asyncio.sleep(0.05)
        assert SHORT <= now() - began < 4 * SHORT


@in_time
async def test_a_member_needs_a_lease(url: str) -> None:
    engine = PostgresqlEngine(url, None)
    with closing(engine), pytest.raises(ClusterError, match="needs a lease"):
        await engine.join("here")


# Notifications


@in_time
async def test_a_notification_that_was_lost_is_made_up_for_by_the_next_renewal(
    url: str,
) -> None:
    async with members(url, 1) as one:
        await one.engine._session._line.run("UNLISTEN *")
        async with members(url, 1) as two:
            assert ids(one.view) == [one.me]
            assert ids(await one.renew()) == [one.me, two.me]


@in_time
async def test_many_changes_at_once_lead_to_few_questions(url: str) -> None:
    async with members(url, 1) as one:
        asked = 0
        ask = one.engine._session.ask

        async def counted(*arguments: Any) -> Any:
            nonlocal asked
            asked += 1
            return await ask(*arguments)

        one.engine._session.ask = counted
        async with members(url, 6) as others:
            await one.until(lambda: len(one.view.members) == 7)
            assert others
        assert asked <= 6


# Trouble


@in_time
async def test_a_backend_that_was_terminated_is_replaced(
    postgresql: Server, url: str
) -> None:
    async with members(url, 1) as one:
        backend = one.engine._session._backend
        postgresql.execute(f"SELECT pg_terminate_backend({backend})")
        await one.until(lambda: one.calls_to_look > 0)  # it is noticed at once
        assert ids(await one.renew()) == [one.me]
        assert one.deadline > now() + 50
        async with members(url, 1) as two:  # and it listens again
            await one.until(lambda: two.me in ids(one.view))


@in_time
async def test_a_forked_child_leaves_its_parents_connection_alone(url: str) -> None:
    async with members(url, 1) as one:
        backend = one.engine._session._backend
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # there may be threads
            child = os.fork()
        if not child:
            try:
                one.engine.abandon()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        await one.renew()
        assert one.engine._session._backend == backend


@in_time
async def test_a_question_whose_connection_breaks_is_asked_again(
    postgresql: Server, url: str
) -> None:
    async with (
        members(url, 1) as one,
        Wire(postgresql.port) as wire,
        members(through(url, wire), 1) as two,
    ):
        wire.hold()
        renewing = asyncio.create_task(two.renew())
        await asyncio.sleep(0.02)
        await wire.hang_up()
        wire.let_go()
        assert ids(await renewing) == [one.me, two.me]


@in_time
async def test_a_server_that_is_killed_and_comes_back_in_time_disturbs_nobody(
    own_postgresql: Server,
) -> None:
    async with members(fresh(own_postgresql.conninfo()), 2, 10.0) as both:
        own_postgresql.kill()
        with pytest.raises(ClusterError, match="PostgreSQL"):
            await both[0].renew()
        own_postgresql.restart()
        for member in both:
            assert ids(await member.renew()) == [m.me for m in both]
            assert member.deadline > now() + 9


@in_time
async def test_a_server_that_is_away_for_longer_than_the_lease(
    own_postgresql: Server,
) -> None:
    async with members(fresh(own_postgresql.conninfo()), 2, SHORT) as (one, two):
        await one.renew()
        two.engine._stop_watching()
        own_postgresql.kill()
        await asyncio.sleep(SHORT)
        own_postgresql.restart()
        while len(one.view.members) > 1:  # it is the first to come back
            await one.renewed()
        assert await two.is_out()


@in_time
async def test_a_restart_in_good_order_is_noticed(own_postgresql: Server) -> None:
    async with members(fresh(own_postgresql.conninfo()), 1, 10.0) as one:
        own_postgresql.stop()
        own_postgresql.restart()
        await one.until(lambda: one.calls_to_look > 0)
        assert ids(await one.renew()) == [one.me]


@in_time
async def test_a_frozen_server_is_given_up_in_time(own_postgresql: Server) -> None:
    async with members(fresh(own_postgresql.conninfo()), 1, 1.0) as one:
        own_postgresql.pause()
        began = now()
        for _ in range(2):  # also if a connection must be made first
            with pytest.raises(ClusterError, match="does not answer in time"):
                await one.renew()
        assert now() - began < 1.5
        own_postgresql.resume()
        assert not await one.is_out()


@in_time
async def test_a_late_answer_does_not_make_a_lease_longer(
    postgresql: Server, url: str
) -> None:
    async with Wire(postgresql.port) as wire, members(through(url, wire), 1, 2.0) as one:
        wire.hold()
        asked = now()
        renewing = asyncio.create_task(one.renew())
        await asyncio.sleep(0.3)
        wire.let_go()
        await renewing
        assert one.deadline <= asked + 2.0 + 0.1


@in_time
async def test_a_lock_that_another_transaction_keeps(postgresql: Server, url: str) -> None:
    """As an administrator may."""
    async with members(url, 1) as one:
        with psycopg.connect(postgresql.conninfo()) as theirs:
            theirs.execute("SELECT FROM peerlock.clusters FOR UPDATE")
            await one.engine._session._line.run("SET lock_timeout = 50")
            with pytest.raises(ClusterError, match="another transaction keeps a lock"):
                await one.engine.reserve()
            await one.renew()  # that needs no such lock
        await one.engine.reserve()


@in_time
async def test_a_statement_that_is_cancelled(postgresql: Server, url: str) -> None:
    """By statement_timeout, which the role may have."""
    postgresql.execute(
        "DO $$ BEGIN CREATE ROLE hurried LOGIN SUPERUSER; "
        "ALTER ROLE hurried SET statement_timeout = 100; END $$"
    )
    hurried = url.replace(OWNER, "hurried")
    async with members(url, 1) as one, members(hurried, 1) as two:
        with psycopg.connect(postgresql.conninfo()) as theirs:
            theirs.execute("LOCK TABLE peerlock.members IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(ClusterError, match="statement_timeout"):
                await two.renew()
        assert ids(await two.renew()) == [one.me, two.me]


@in_time
async def test_a_full_disk_is_one_line_and_members_stay(
    postgresql: Server, url: str
) -> None:
    async with members(url, 1) as one:
        postgresql.execute(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE 'could not extend file' USING ERRCODE = '53100'; END $$;"
            "CREATE TRIGGER full_disk BEFORE INSERT ON peerlock.members "
            "FOR EACH ROW EXECUTE FUNCTION full_disk()"
        )
        try:
            with pytest.raises(ClusterError, match=r"^PostgreSQL's disk is full$"):
                await join_and_leave(url)
            assert ids(await one.renew()) == [one.me]
            assert one.deadline > now() + 50
        finally:
            postgresql.execute("DROP FUNCTION full_disk CASCADE")


@in_time
async def test_an_answer_with_a_warning_does_not_count(
    postgresql: Server, url: str
) -> None:
    """It may say that a commit was not replicated."""
    async with members(url, 1) as one:
        postgresql.execute(
            "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE WARNING 'not replicated'; RETURN NEW; END $$;"
            "CREATE TRIGGER warn BEFORE UPDATE ON peerlock.members "
            "FOR EACH ROW EXECUTE FUNCTION warn()"
        )
        try:
            with pytest.raises(ClusterError, match="warns: not replicated"):
                await one.renew()
        finally:
            postgresql.execute("DROP FUNCTION warn CASCADE")
        await one.renew()


@in_time
async def test_no_server_is_one_line() -> None:
    with closing(PostgresqlEngine("postgresql://x@127.0.0.1:9/x?cluster=a", 1.0)) as engine:
        for question in (engine.read(), engine.join("here")):
            with pytest.raises(ClusterError, match=r"^cannot use PostgreSQL: ") as error:
                await question
            assert "\n" not in str(error.value)


@in_time
async def test_settings_of_a_role_do_not_weaken_what_is_kept(postgresql: Server) -> None:
    postgresql.execute(
        "DO $$ BEGIN CREATE ROLE careless LOGIN SUPERUSER; "
        "ALTER ROLE careless SET synchronous_commit = off; "
        "ALTER ROLE careless SET default_transaction_isolation = serializable; "
        "ALTER ROLE careless SET default_transaction_read_only = on; END $$"
    )
    async with members(fresh(postgresql.conninfo()).replace(OWNER, "careless"), 1) as one:
        line = one.engine._session._line
        for setting, value in (
            ("synchronous_commit", "on"),
            ("transaction_isolation", "read committed"),
            ("transaction_read_only", "off"),
        ):
            assert await line.run(f"SHOW {setting}") == [(value,)]


# libpq's settings


@in_time
async def test_a_password_of_a_file_and_a_service(
    postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with suppress(psycopg.errors.DuplicateObject):
        postgresql.execute("CREATE ROLE app LOGIN SUPERUSER PASSWORD 'a:b'")
    url = fresh(postgresql.conninfo().replace(OWNER, "app"))
    passwords = tmp_path / "passwords"
    passwords.write_text(f"127.0.0.1:{postgresql.port}:*:app:wrong\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    with pytest.raises(ClusterError, match="password authentication failed"):
        await join_and_leave(url)
    passwords.write_text(f"127.0.0.1:{postgresql.port}:*:app:a\\:b\n")
    await join_and_leave(url)

    services = tmp_path / "services"
    services.write_text(
        f"[mine]\nhost=127.0.0.1\nport={postgresql.port}\nuser=app\ndbname=postgres\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    await join_and_leave("postgresql://?service=mine&cluster=served")
    assert parse("postgresql://?service=mine&cluster=x").near == ()


@in_time
async def test_tls_as_libpq_has_it(own_postgresql: Server, tmp_path: Path) -> None:
    if own_postgresql.execute("SHOW ssl_library") == [("",)]:
        pytest.skip("this PostgreSQL was built without TLS")
    new_authority(tmp_path)
    for made in issue(tmp_path, "127.0.0.1"):
        made.rename(
            own_postgresql.data / f"server.{'key' if made.suffix == '.key' else 'crt'}"
        )
    for name in ("server.key", "server.crt"):
        own_postgresql.give(own_postgresql.data / name)
    own_postgresql.kill()
    own_postgresql.restart("-c", "ssl=on")
    url = fresh(
        f"{own_postgresql.conninfo()}?sslmode=verify-full&sslrootcert={tmp_path}/ca.pem"
    )
    async with members(url, 1) as one:
        query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        assert await one.engine._session._line.run(query) == [("t",)]
        async with members(url, 1) as two:  # notifications come through it, too
            await one.until(lambda: two.me in ids(one.view))
    new_authority(tmp_path / "other")
    other = url.replace(str(tmp_path), f"{tmp_path}/other")
    with pytest.raises(ClusterError, match="certificate verify failed"):
        await join_and_leave(other)


def test_what_an_address_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGPORT"):
        monkeypatch.delenv(name, raising=False)
    plain = parse("postgresql://me@db:6000/app?cluster=a%26b&sslmode=require")
    assert plain.cluster == "a&b"
    [conninfo] = plain.conninfos
    assert "cluster" not in conninfo
    assert "sslmode=require" in conninfo
    assert plain.near == (("db", 6000),)
    several = parse("postgres://a:1,b:2/app?cluster=x")
    assert several.near == (("a", 1), ("b", 2))
    assert all("target_session_attrs=read-write" in one for one in several.conninfos)
    assert "host=b port=2" in several.conninfos[1]
    assert parse("postgresql://a,b/app?cluster=x&port=7").near == (("a", 7), ("b", 7))
    assert parse("postgresql:///app?cluster=x&host=/run").near == (("127.0.0.1", 5432),)
    monkeypatch.setenv("PGHOST", "elsewhere")
    assert parse("postgresql:///app?cluster=x").near == (("elsewhere", 5432),)


@in_time
async def test_a_host_that_is_silent_does_not_hold_up_the_others(
    postgresql: Server,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hosts = f"127.0.0.1:{silent.getsockname()[1]},127.0.0.1:{postgresql.port}"
        async with members(fresh(f"postgresql://{OWNER}@{hosts}/postgres"), 1) as one:
            began = now()
            postgresql.execute(
                f"SELECT pg_terminate_backend({one.engine._session._backend})"
            )
            await one.renew()
            assert now() - began < 5


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://h/d",
        "postgresql://h/d?cluster=",
        "postgresql://h/d?cluster=a&cluster=b",
        "postgresql://h/d?cluster=%00",
        "postgresql://h/d?cluster=a&colour=red",
        "postgresql://h:port:/d?cluster=a",
        "postgresql://a,b,c/d?cluster=a&port=1,2",
    ],
)
def test_an_address_that_is_invalid(url: str) -> None:
    with pytest.raises(UsageError, match=r"^invalid PostgreSQL address: ") as error:
        engine_for(url, 1.0)
    assert "\n" not in str(error.value)


def test_without_its_package_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in list(sys.modules):
        if name.startswith("peerlock.membership.postgresql"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ClusterError, match=r"pip install 'peerlock\[postgres\]'"):
        engine_for("postgresql://h/d?cluster=x", 1.0)


# Nodes


@in_time
async def test_locks_of_nodes_that_postgresql_keeps_together(
    url: str, tmp_path: Path
) -> None:
    new_authority(tmp_path)
    issue(tmp_path, "127.0.0.1")
    fences = []
    reach = Reach(listen="127.0.0.1:0", certificates=tmp_path)
    async with (
        peerlock.join(url, lease=2, reach=reach) as a,
        peerlock.join(url, lease=2, reach=reach) as b,
    ):
        for node in (a, b, a):
            async with node.lock("x") as grant:
                fences.append(grant.fence)
        async with a.lock("x"):
            with pytest.raises(peerlock.WouldBlock):
                await b.lock("x").try_acquire()
    assert fences == sorted(set(fences))
