"""`peerlock` as real processes run it, in a cluster of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEERLOCK = (sys.executable, "-m", "peerlock")


DEADLINE = 60.0  # seconds for anything to happen, on a busy machine


class Shell:
    """Runs peerlock in one cluster; ends what it has started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        cluster = f"sqlite://{folder}/cluster.db"
        self.environment = {**os.environ, "PEERLOCK_CLUSTER": cluster}
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        return self.popen(*PEERLOCK, *arguments, **options)

    def popen(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            arguments,
            env=self.environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PEERLOCK, *arguments],
            env=self.environment,
            text=True,
            capture_output=True,
            timeout=DEADLINE,
            **options,
        )

    def hold(self, *options: str, script: str = "sleep 100") -> subprocess.Popen[str]:
        """A process that holds the lock `x`, and has said so."""
        begun = self.folder / f"begun-{len(self.started)}"
        process = self.start(
            "lock", *options, "x", "--", "sh", "-c", f"> {begun}; {script}"
        )
        eventually(begun.exists, lambda: f"it ended with {process.poll()}")
        return process

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.run("status", "--json").stdout))

    def waiting(self) -> int:
        return sum(len(lock["waiters"]) for lock in self.status()["locks"])


def eventually(happened: Callable[[], bool], seen: Callable[[], object] = str) -> None:
    end = time.monotonic() + DEADLINE
    while not happened():
        assert time.monotonic() < end, seen()
        time.sleep(0.01)
