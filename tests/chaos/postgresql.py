"""Two PostgreSQL servers, each on a host of its own: a primary, and its standby."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.chaos.network import SUBNET, Network
from tests.chaos.programs import PATIENCE, Program
from tests.support.postgresql_servers import (
    ADMISSION,
    INITDB,
    OWNER,
    SETTINGS,
    end_of,
    family,
    own,
    programs,
    user,
)

PORT = 5432


class PostgresqlServer(Program):
    """As a user of its own, in a directory that this user may enter."""

    def __init__(self, network: Network, host: str, folder: Path) -> None:
        super().__init__(network, host, folder / f"{host}.log")
        self.address = network.address(host)
        self.data = folder / host
        if name := user():
            rights = ["setpriv", "--reuid", name, "--regid", "nogroup", "--clear-groups"]
            self._before += [*rights, "--pdeathsig", "KILL"]

    def program(self, name: str, *arguments: str) -> None:
        """One of PostgreSQL's, to its end."""
        command = [*self._before, f"{programs()}/{name}", *arguments]
        done = subprocess.run(command, cwd="/", capture_output=True)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()[-2000:]

    def make(self) -> None:
        self.program("initdb", "-D", str(self.data), *INITDB)
        settings = SETTINGS.replace("127.0.0.1", "*")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(settings)
        admission = ADMISSION.replace("127.0.0.1/32", f"{SUBNET}.0/24")
        (self.data / "pg_hba.conf").write_text(admission)

    def follow(self, primary: "PostgresqlServer") -> None:
        """Begin again, as a copy of the primary."""
        shutil.rmtree(self.data, ignore_errors=True)
        source = f"host={primary.address} user={OWNER}"
        copy = ["-d", source, "-D", str(self.data), "-R", "-X", "stream", "-N"]
        self.program("pg_basebackup", *copy, "-c", "fast")

    def start(self) -> None:
        command = [f"{programs()}/postgres", "-D", str(self.data), "-p", str(PORT)]
        self.run([*command, "-k", ""])

    def wait_until_ready(self) -> None:
        ends = time.monotonic() + PATIENCE
        while self.answer("SELECT 1") != "1":
            assert self.runs and time.monotonic() < ends, self.said()
            time.sleep(0.05)

    def answer(self, query: str) -> str:
        """Nothing, if it does not."""
        ask = [f"{programs()}/psql", "-XAtq", "-h", self.address, "-p", str(PORT)]
        command = [*self._before, *ask, "-U", OWNER, "-d", "postgres", "-c", query]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True)
        return done.stdout.strip()

    def promote(self) -> None:
        self.program("pg_ctl", "promote", "-D", str(self.data))

    def signal(self, number: signal.Signals) -> None:
        """To all of its processes: they do not pass signals on."""
        if self.runs:
            assert self._process is not None
            for pid in family(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def kill(self) -> None:
        if self.runs:
            assert self._process is not None
            everything = family(self._process.pid)
            self.signal(signal.SIGKILL)
            super().kill()
            end_of(everything)
            (self.data / "postmaster.pid").unlink(missing_ok=True)


class Postgresql:
    name = "postgresql"
    at = ["pg1", "pg2"]  # noqa: RUF012

    def __init__(self, network: Network, folder: Path) -> None:
        self._folder = tempfile.mkdtemp(prefix="plpg", dir="/tmp")
        own(Path(self._folder))
        place = Path(self._folder)
        self.servers = {host: PostgresqlServer(network, host, place) for host in self.at}
        self.primary, self.standby = self.servers.values()

    def start(self) -> None:
        self.primary.make()
        self.primary.start()
        self.primary.wait_until_ready()
        self.follow()

    def follow(self) -> None:
        self.standby.follow(self.primary)
        self.standby.start()
        self.standby.wait_until_ready()

    def cluster(self) -> str:
        hosts = ",".join(f"{server.address}:{PORT}" for server in self.servers.values())
        return f"postgresql://{OWNER}@{hosts}/postgres?connect_timeout=2&cluster=chaos"

    def signal(self, number: signal.Signals) -> None:
        for server in self.servers.values():
            server.signal(number)

    def kill(self) -> None:
        """Nothing is left of it if it was the last time."""
        for server in self.servers.values():
            server.kill()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def fail_over(self) -> None:
        """The primary is dead; the standby takes over, however much it knows."""
        self.primary.kill()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def calm_down(self) -> None:
        for server in (self.primary, self.standby):
            server.signal(signal.SIGCONT)
            if not server.runs:
                server.start()
            server.wait_until_ready()
