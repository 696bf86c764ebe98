"""Processes on hosts, which are killed with us, however we end."""

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.chaos.network import Network

PATIENCE = 60.0
ROOT = Path(__file__).parents[2]


def with_us() -> list[str]:
    """Put before a command, it lets the kernel kill that when we are killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


class Program:
    """A process on a host; it is killed with us, however we end."""

    def __init__(self, network: Network, host: str, log: Path) -> None:
        self.host = host
        self.log = log
        self._before = [*with_us(), *network.inside(host)]
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: list[str], **environment: str) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._before, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={**os.environ, **environment},
                start_new_session=True,  # what is typed at us does not concern it
            )

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        if self.runs:
            assert self._process is not None
            self._process.send_signal(number)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self.hang_up()

    def hang_up(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def wait(self, seconds: float) -> int | None:
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def said(self) -> str:
        return self.log.read_text()[-3000:]
