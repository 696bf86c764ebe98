"""PostgreSQL that has gone back: a replica that lagged, a backup, rows that are gone.

And poolers, behind which there may be another server at any time.
"""

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from peerlock.membership import ClusterError, Gone
from peerlock.membership.clock import now
from peerlock.membership.postgresql import PostgresqlEngine, PostgresqlState, ServerFloor
from peerlock.testing import ids
from tests.support.etcd_members import in_time
from tests.support.etcd_servers import free_ports
from tests.support.postgresql_members import Member, fresh, members
from tests.support.postgresql_servers import OWNER, Server, lasting, replica, user

SHORT = 0.6
LONG = 1.5


@pytest.fixture
def primary(own_postgresql: Server) -> Server:
    return own_postgresql


def both(url: str, other: Server) -> str:
    """The same cluster, at whichever of the two is the primary."""
    host, _, rest = url.partition("/postgres?")
    return f"{host},127.0.0.1:{other.port}/postgres?{rest}"


@in_time
async def test_a_replica_that_lagged_is_promoted(primary: Server) -> None:
    """It has forgotten a member, and numbers; and its clock might be another one."""
    with replica(primary) as second:
        await must_refuse(second)
        url = both(fresh(primary.conninfo()), second)
        async with members(url, 1, LONG) as known:
            async with known.kept():
                await asyncio.to_thread(second.caught_up_with, primary)
                await asyncio.to_thread(second.stop_following)
            async with members(url, 1, LONG) as forgotten:
                await forgotten.engine.reserve()
                await known.renew()
                assert ids(await forgotten.renew()) == [known.me, forgotten.me]
                highest = forgotten.engine._highest
                valid_until = forgotten.deadline
                forgotten.engine._stop_watching()
                primary.kill()
                second.promote()

                # A member does not go on with what the replica knows of it.
                with pytest.raises(Gone, match="replica that was promoted"):
                    await known.renew()
                with pytest.raises(Gone):
                    await known.engine.reserve()

                # Neither it nor a newcomer is in before the forgotten lease is over.
                newcomer = Member(url, LONG)
                with closing(newcomer.engine):
                    await asyncio.gather(known.join(), newcomer.join())
                    assert now() >= valid_until
                    assert min(known.me, newcomer.me) > highest
                    view = await known.renew()
                    assert sorted(ids(view)) == sorted([known.me, newcomer.me])
                with pytest.raises(Gone):
                    await forgotten.renew()


@in_time
async def test_a_newcomer_on_a_promoted_server_knows_nothing_of_the_old_one(
    postgresql: Server,
) -> None:
    """The rows are as a replica has them that lagged; its clock may be another one."""
    url = fresh(postgresql.conninfo())
    name = url.partition("cluster=")[2]
    async with members(url, 1, SHORT) as one:
        for _ in range(3):
            highest = await one.engine.reserve()
        postgresql.execute(
            f"UPDATE peerlock.clusters SET server = 'another', number = {one.me}, "
            f"highest = {one.me} WHERE name = '{name}'; "
            "UPDATE peerlock.members SET server = 'another', deadline = now() + "
            f"interval '1 hour' WHERE cluster = '{name}'"
        )
        async with members(url, 1, SHORT) as newcomer:
            assert newcomer.me > highest
            assert ids(newcomer.view) == [newcomer.me]


@in_time
async def test_a_clock_that_was_set_back_does_not_keep_newcomers_out(
    postgresql: Server,
) -> None:
    """While they wait on a server that was promoted."""
    url = fresh(postgresql.conninfo())
    async with members(url, 1, SHORT) as one:
        await one.engine.leave(one.me)
        postgresql.execute(
            "UPDATE peerlock.clusters SET quiet_until = now() + interval '1 day' "
            f"WHERE name = '{url.partition('cluster=')[2]}'"
        )
        began = now()
        async with members(url, 1, SHORT / 2):
            assert now() - began >= SHORT


async def must_refuse(standby: Server) -> None:
    engine = PostgresqlEngine(fresh(standby.conninfo()), SHORT)
    with closing(engine), pytest.raises(ClusterError, match="read-only standby"):
        await engine.join("here")


@in_time
async def test_a_directory_that_was_copied_back_is_noticed(primary: Server) -> None:
    url = fresh(primary.conninfo())
    async with members(url, 1) as one:
        primary.stop()
        with lasting(primary) as copy:
            primary.restart()
            async with members(url, 1) as two:
                await one.renewed()
                assert ids(one.view) == [one.me, two.me]
                highest = one.engine._highest
                primary.kill()
                copy.put_back()
                primary.restart()
                with pytest.raises(Gone, match="gone back"):
                    await one.renew()
                assert one.engine._quiet_until > now() + 50  # the longest lease
                one.engine._quiet_until = now()
                await one.join()
                assert one.me > highest


@in_time
async def test_rows_that_were_deleted_are_noticed(postgresql: Server) -> None:
    url = fresh(postgresql.conninfo())
    async with members(url, 2, SHORT) as (one, two):
        highest = await one.engine.reserve()
        await one.renew()
        name = url.rpartition("=")[2]
        postgresql.execute(f"DELETE FROM peerlock.clusters WHERE name = '{name}'")
        began = now()
        for member in (one, two):
            with pytest.raises(Gone, match="removed from the database"):
                await member.renew()
        await asyncio.gather(one.join(), two.join())
        assert now() - began >= SHORT
        assert min(one.me, two.me) > highest


@in_time
async def test_a_schema_that_was_dropped_is_made_again(postgresql: Server) -> None:
    postgresql.execute("CREATE DATABASE dropped")
    async with members(fresh(postgresql.conninfo("dropped")), 1, SHORT) as one:
        postgresql.execute("DROP SCHEMA peerlock CASCADE", "dropped")
        with pytest.raises(Gone, match="removed from the database"):
            await one.renew()
        former = one.me
        await one.join()
        assert one.me > former


@in_time
async def test_a_dump_that_was_restored_elsewhere(
    postgresql: Server, primary: Server
) -> None:
    """The rows tell that they were written on another server, with another identifier:
    these two are copies of one directory."""
    url = fresh(postgresql.conninfo())
    async with members(url, 1, LONG) as one:
        dump = subprocess.run(
            [postgresql.program("pg_dump"), "-n", "peerlock", postgresql.conninfo()],
            capture_output=True,
            check=True,
            text=True,
        )
        [[server]] = postgresql.execute("SELECT peerlock.server()")
        primary.execute("CREATE DATABASE elsewhere")
        primary.script(dump.stdout.replace(server, "another"), "elsewhere")
        name = url.rpartition("=")[2]
        newcomer = Member(f"{primary.conninfo('elsewhere')}?cluster={name}", SHORT)
        with closing(newcomer.engine):
            began = now()
            await newcomer.join()
            assert now() - began >= LONG  # the longest lease that is known
            assert newcomer.view.number > one.view.number
            assert ids(await newcomer.renew()) == [newcomer.me]


FLOOR = ServerFloor("1/00000001", "secret", 500, 7000)


@pytest.mark.parametrize(
    ("server", "secret", "log", "highest", "why"),
    [
        ("1/00000001", "secret", 500, 7000, ""),
        ("1/00000001", "secret", 501, 7001, ""),
        ("1/00000002", "secret", 501, 7001, "promoted"),
        ("2/00000001", "secret", 501, 7001, "another PostgreSQL server"),
        ("1/00000001", "secret", 499, 7000, "gone back"),
        ("1/00000001", "secret", 501, 6999, "gone back"),
        ("1/00000001", "other", 501, 9000, "removed"),
        ("1/00000001", "", 501, 0, "removed"),
    ],
)
def test_what_must_not_fall(
    server: str, secret: str, log: int, highest: int, why: str
) -> None:
    state = PostgresqlState(
        1, 1, 0.0, server, log, 0.0, False, secret, 1, highest, 9.0, 0, ()
    )
    found = FLOOR.why_gone(state)
    assert why in found
    assert bool(why) == bool(found)


# Poolers


@contextmanager
def pgbouncer(behind: Server, mode: str, folder: Path) -> Iterator[int]:
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if not program:
        pytest.skip("no pgbouncer here: install the package pgbouncer")
    [port] = free_ports(1)
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\npostgres = host=127.0.0.1 port={behind.port} user={OWNER}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
    )
    settings.chmod(0o644)
    process = subprocess.Popen(
        [program, "-q", str(settings)],
        user=user(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


async def through_a_pooler(port: int) -> PostgresqlEngine:
    """When it is there."""
    url = fresh(f"postgresql://{OWNER}@127.0.0.1:{port}/postgres")
    engine = PostgresqlEngine(url, SHORT)
    while True:
        try:
            await engine.read()
            return engine
        except ClusterError as error:
            if "refused" not in str(error):
                engine.close()
                raise
            await asyncio.sleep(0.02)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """That the user of the server may enter."""
    with tempfile.TemporaryDirectory(prefix="plpg", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@in_time
async def test_a_pooler_in_transaction_mode_is_refused_with_a_reason(
    postgresql: Server, open_folder: Path
) -> None:
    with (
        pgbouncer(postgresql, "transaction", open_folder) as port,
        pytest.raises(ClusterError, match="pool_mode = session"),
    ):
        await through_a_pooler(port)


@in_time
async def test_a_pooler_in_session_mode_is_accepted(
    postgresql: Server, open_folder: Path
) -> None:
    with (
        pgbouncer(postgresql, "session", open_folder) as port,
        closing(await through_a_pooler(port)) as engine,
    ):
        joined = await engine.join("here")
        assert ids((await engine.renew(joined.me)).view) == [joined.me]


@in_time
async def test_an_answer_of_another_backend_shows_a_pooler(postgresql: Server) -> None:
    async with members(fresh(postgresql.conninfo()), 1) as one:
        one.engine._session._backend = "1"
        with pytest.raises(ClusterError, match="pool_mode = session"):
            await one.renew()
