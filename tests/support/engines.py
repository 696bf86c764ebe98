"""Engines on one machine, for tests that want no event loop; and processes that join."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peerlock.membership import clock
from peerlock.membership.sqlite import SqliteEngine
from peerlock.node.views import MemberId, View


class Engine:
    """The same, without async; closed at the end."""

    me: MemberId = 0  # for the test to remember

    def __init__(self, path: Path, lease: float | None = 60.0) -> None:
        self.engine = SqliteEngine(path, lease)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.engine, name)
        return lambda *arguments: asyncio.run(method(*arguments))

    def see_one_pass(self) -> View:
        """Another member joins and leaves: two views."""
        with Engine(self.engine.path) as other:
            view: View = other.leave(other.join("/passer-by").me)
            return view

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()


def start(path: Path, *program: str) -> "subprocess.Popen[str]":
    """Another process that has joined; it says `in` when it has."""
    text = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from peerlock.membership.sqlite import SqliteEngine\n"
        f"engine = SqliteEngine(Path({str(path)!r}), 60)\n"
        "joined = asyncio.run(engine.join(f'/nowhere/{sys.argv[1]}'))\n"
        "print(joined.me, flush=True)\n" + "\n".join(program or ["sys.stdin.read()"])
    )
    return subprocess.Popen(
        [sys.executable, "-c", text, "socket"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def heard(process: "subprocess.Popen[str]") -> int:
    assert process.stdout
    return int(process.stdout.readline())


def end(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGKILL) -> None:
    process.send_signal(number)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe
        pipe.close()


def files(path: Path) -> list[str]:
    return sorted(os.listdir(f"{path}.members"))


class Clock:
    """The one on which leases are counted, in this process.

    It begins at a whole second and counts milliseconds, so that 9.999 s and 0.001 s are
    10 s, whatever the machine's clock shows.
    """

    def __init__(self) -> None:
        self._now = float(int(clock.now()))

    @property
    def now(self) -> float:
        return self._now

    @now.setter
    def now(self, seconds: float) -> None:
        self._now = round(seconds, 3)


@pytest.fixture
def leases_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    by_hand = Clock()
    monkeypatch.setattr(clock, "now", lambda: by_hand.now)
    return by_hand


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.db"


@pytest.fixture
def one(path: Path) -> Iterator[Engine]:
    with Engine(path) as engine:
        yield engine


@pytest.fixture
def two(path: Path) -> Iterator[Engine]:
    with Engine(path) as engine:
        yield engine
