"""What a soak says when it is interrupted, and what it leaves behind: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0  # seconds

SEEDS = ("bench.soak", "--seeds", "1000000", "--jobs", "2")
COUNTING = ("tests.process_soak", "--grants", "80")
TROUBLE = ("tests.process_soak", "--grants", "0", "--processes", "3")
SAYS = {
    SEEDS: " seeds in ",
    COUNTING: "interrupted; so far: counted ",
    TROUBLE: "interrupted; so far: ",
}


@pytest.mark.parametrize("soak", SAYS, ids=["seeds", "counting", "trouble"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_interrupted_it_prints_what_it_has_and_leaves_no_process(
    soak: tuple[str, ...], number: signal.Signals
) -> None:
    """A terminal sends Ctrl-C to all processes of the group; kill(1) to one."""
    with subprocess.Popen(
        [sys.executable, "-m", *soak],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    ) as running:
        try:
            assert running.stdout is not None
            if soak != SEEDS:
                running.stdout.readline()
            until(lambda: len(group(running.pid)) > 2)
            time.sleep(0.5)  # into its run, wherever that is
            (os.killpg if number == signal.SIGINT else os.kill)(running.pid, number)
            said, complained = running.communicate(timeout=PATIENCE)
            assert running.returncode == 128 + number
            assert SAYS[soak] in said and "Traceback" not in complained
            assert group(running.pid) == []
        finally:
            for pid in group(running.pid):
                os.kill(pid, signal.SIGKILL)


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def group(leader: int) -> list[int]:
    """The processes of a group that are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group, *_ = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(its_group) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found
