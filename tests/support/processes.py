"""Real processes, from the side of who starts them, kills them and judges what they did."""

import json
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from peerlock.algorithms.entry import Algorithm
from tests.support.worker import STORE

PATIENCE = 30.0


class Process:
    """A worker; what it says is kept, and shown when something takes too long."""

    def __init__(self, cluster: str, lease: float | None = 10.0) -> None:
        self.said: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._waiting: list[dict[str, Any]] = []  # said, and not asked for yet
        self._number = 0
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tests.support.worker", cluster, str(lease or 0)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout
        for line in self.popen.stdout:
            self.said.append(line)
            self._lines.put(line)
        self._lines.put("")

    @property
    def pid(self) -> int:
        return self.popen.pid

    def begin(self, do: str, **arguments: Any) -> int:
        """Give a command; its number, by which to ask for what it says."""
        self._number += 1
        command = {"number": self._number, "do": do, **arguments}
        assert self.popen.stdin
        self.popen.stdin.write(json.dumps(command) + "\n")
        self.popen.stdin.flush()
        return self._number

    def hear(self, key: str, number: int | None = None, patience: float = PATIENCE) -> Any:
        """The value of `key` in what it says (about that command), sooner or later."""
        ends = time.monotonic() + patience
        while True:
            for said in self._waiting:
                if said.get("number") == number and (key in said or "failed" in said):
                    self._waiting.remove(said)
                    assert key in said, self._story(f"waiting for {key}: {said}")
                    return said[key]
            try:
                line = self._lines.get(timeout=max(0, ends - time.monotonic()))
            except queue.Empty:
                raise AssertionError(self._story(f"no {key} in {patience} s")) from None
            assert line, self._story(f"it ended before it said {key}")
            self._waiting.append(json.loads(line))

    def do(self, do: str, **arguments: Any) -> Any:
        return self.hear("done", self.begin(do, **arguments))

    def _story(self, what: str) -> str:
        said = "\n".join(line.strip()[:200] for line in self.said[-30:])
        return f"process {self.pid}: {what}; it said:\n{said}"

    # Its fate

    def signal(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()
        self._close()

    def end(self) -> None:
        """Let it leave properly; a process that does not is killed, and that is a fault."""
        assert self.popen.stdin
        self.popen.stdin.close()
        try:
            status = self.popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(self._story("it did not leave")) from None
        self._close()
        assert status == 0, self._story(f"it ended with {status}")

    def _close(self) -> None:
        self._reader.join(PATIENCE)
        for pipe in (self.popen.stdin, self.popen.stdout):
            assert pipe
            with suppress(BrokenPipeError):
                pipe.close()


class Crowd:
    """Some processes, which are gone at the end however it ends."""

    def __init__(self, cluster: str, number: int, lease: float | None = 10.0) -> None:
        self.cluster = cluster
        self.lease = lease
        self.processes: list[Process] = []
        try:
            for process in [self._start() for _ in range(number)]:
                process.hear("joined")
        except BaseException:
            self.__exit__(KeyboardInterrupt)
            raise

    def _start(self) -> Process:
        process = Process(self.cluster, self.lease)
        self.processes.append(process)
        return process

    def another(self) -> Process:
        process = self._start()
        process.hear("joined")
        return process

    def kill(self, process: Process) -> None:
        self.processes.remove(process)
        process.kill()

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        while self.processes:
            process = self.processes.pop()
            if kind is None:
                process.end()
            else:
                process.kill()


def make_store(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(STORE)
    db.close()


def judge_store(path: Path) -> int:
    """No write is missing, none came late; how many there are."""
    db = sqlite3.connect(path)
    written = db.execute("SELECT value, fence FROM written ORDER BY rowid").fetchall()
    (value,) = db.execute("SELECT value FROM store").fetchone()
    db.close()
    assert [value for value, _ in written] == list(range(1, len(written) + 1))
    assert value == len(written)
    fences = [fence for _, fence in written]
    assert all(a < b for a, b in pairwise(fences))
    return len(written)


class Trouble:
    """Processes that write to a store under a lock, and what happens to them meanwhile.

    Some are killed, some are stopped for longer than their lease and go on as if nothing
    had happened, some leave and come back.  The seed decides who, when and what.
    """

    def __init__(
        self, cluster: str, store: Path, seed: int, number: int = 6, lease: float = 0.5
    ) -> None:
        self.random = Random(seed)
        self.store = store
        self.lease = lease
        self.counts = {"killed": 0, "stopped": 0, "rejoined": 0}
        make_store(store)
        self.crowd = Crowd(cluster, number, lease)
        self.writing: dict[Process, int] = {}

    def run(self, seconds: float) -> None:
        with self.crowd:
            for process in self.crowd.processes:
                self._write(process)
            ends = time.monotonic() + seconds
            while time.monotonic() < ends:
                self.random.choice([self._kill, self._stop, self._stop, self._rejoin])()
                self._must_go_on()
            self._calm_down()
        judge_store(self.store)

    def _write(self, process: Process, **how: Any) -> None:
        number = process.begin("write", name="x", store=str(self.store), **how)
        self.writing[process] = number

    def _kill(self) -> None:
        victim = self.random.choice(self.crowd.processes)
        self.crowd.kill(victim)
        del self.writing[victim]
        self._write(self.crowd.another())
        self.counts["killed"] += 1

    def _stop(self) -> None:
        """One or two at once, longer than the lease or not quite."""
        victims = self.random.sample(self.crowd.processes, self.random.choice([1, 1, 2]))
        for victim in victims:
            victim.signal(signal.SIGSTOP)
        time.sleep(self.lease * self.random.choice([0.2, 0.8, 1.0, 1.5, 2.5]))
        for victim in victims:
            victim.signal(signal.SIGCONT)
        self.counts["stopped"] += len(victims)

    def _rejoin(self) -> None:
        self.random.choice(self.crowd.processes).do("rejoin")
        self.counts["rejoined"] += 1

    def _must_go_on(self) -> None:
        """A process writes, whatever happened."""
        before, ends = self._written(), time.monotonic() + PATIENCE
        while self._written() == before:
            assert time.monotonic() < ends, f"nobody gets the lock: {self._stories()}"
            time.sleep(0.005)

    def _calm_down(self) -> None:
        """Now everybody gets his turn: no waiter was forgotten."""
        for process in self.crowd.processes:
            process.do("stop")
        for process, number in self.writing.items():
            process.hear("done", number)
        for process in self.crowd.processes:
            self._write(process, rounds=3)
        for process, number in self.writing.items():
            assert process.hear("done", number)["written"] == 3

    def _written(self) -> int:
        db = sqlite3.connect(self.store)
        try:
            (number,) = db.execute("SELECT value FROM store").fetchone()
            return int(number)
        finally:
            db.close()

    def _stories(self) -> list[str]:
        return [process._story("alive") for process in self.crowd.processes]


def clock_of_kill(process: Process) -> float:
    """Kill it; when, on the clock that all processes of the machine share."""
    now = time.monotonic()
    os.kill(process.pid, signal.SIGKILL)
    return now


def count_together(
    crowd: Crowd, folder: Path, entry: Algorithm, rounds: int, permits: int = 0
) -> tuple[list[tuple[int, int]], int]:
    """Everybody's entries, and how many were inside at most."""
    (folder / "inside").mkdir()
    (folder / "counter").write_text("0")
    wish: dict[str, Any] = {"name": f"count {entry.name}", "folder": str(folder)}
    wish |= {"rounds": rounds, "algorithm": entry.name, "permits": permits}
    numbers = [(process, process.begin("count", **wish)) for process in crowd.processes]
    patience = PATIENCE + rounds / 10
    told = [process.hear("done", number, patience) for process, number in numbers]
    entries = [(value, fence) for one in told for value, fence in one["entries"]]
    return sorted(entries), max(one["most"] for one in told)


def must_have_counted(entries: list[tuple[int, int]], most: int, total: int) -> None:
    """Nothing lost, never two inside, and fences in the order of the entries."""
    assert most == 1
    assert [value for value, _ in entries] == list(range(total))
    fences = [fence for _, fence in entries]
    assert all(a < b for a, b in pairwise(fences))
