"""`make check-all`: in parts, held to what is recorded, and nothing is left of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from bench import check_all
from bench.check_all import (
    ROWS,
    Row,
    alike,
    command,
    main,
    network,
    recorded_lines,
    row_line,
    search,
)
from click.testing import CliRunner, Result

from peerlock.algorithms.lookup import algorithm
from peerlock.checker.model import card_network
from peerlock.lab.executor import Place

ENDLESS = ["check", "lamport", "-n", "5", "-r", "1", "--max-memory", "1"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_a_part_of_it_is_held_to_what_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_all, "ROWS", (Row("central", 3, 2),))
    assert run("central", "--jobs", "1").exit_code == 0
    monkeypatch.setattr(check_all, "recorded_lines", lambda: [])
    done = run("central", "--jobs", "1")
    assert done.exit_code == 1
    assert "other counts than those that are recorded: central 3 2" in done.output


def test_a_story_is_a_part_too() -> None:
    done = run("newcomer", "--jobs", "1")
    assert done.exit_code == 0
    assert "| newcomer | holds | 423 | 715 | 21 |" in done.output
    assert "algorithm" not in done.output


def test_a_part_that_does_not_exist_is_an_error() -> None:
    done = run("lamport", "newcomer", "lampost")
    assert done.exit_code == 2
    assert "lampost" in done.output


def test_every_recorded_row_is_held_to_all_its_counts() -> None:
    """Another state, transition, depth or measure is noticed; seconds are not compared."""
    recorded = [one for one in recorded_lines() if one.count("|") == 12][2:]
    assert len(recorded) == len(ROWS)
    for one in recorded:
        cells = one.split(" | ")
        for at in range(len(cells) - 1):
            if "not measured" not in cells[at]:
                assert not alike(" | ".join([*cells[:at], "other", *cells[at + 1 :]]), one)
        assert alike(" | ".join([*cells[:-1], "9.9 |"]), one)


def test_every_row_is_recorded_with_its_network() -> None:
    recorded = {tuple(one.split(" | ")[:4]) for one in recorded_lines()}
    for row in ROWS:
        entry, asked = algorithm(row.name), row.requests
        options = dict(pairwise(row.options))
        found = card_network(entry)
        found = replace(found, crashes=int(options.get("--crashes", found.crashes)))
        requests = "without end" if asked is None else str(asked)
        cells = (f"| {row.name}", str(row.nodes), requests, network(row, found))
        assert cells in recorded


def test_what_there_was_no_memory_to_measure_is_not_compared() -> None:
    told: dict[str, Any] = {
        "network": {"fifo": False},
        "violation": None,
        "complete": True,
        "states": 1_054,
        "transitions": 2_149,
        "depth": 24,
        "max_messages_per_entry": None,
        "max_overtaken": None,
        "unmeasured": "there was no memory left for it",
        "seconds": 0.1,
    }
    differ: list[str] = []
    assert "| not measured | not measured |" in row_line(differ, Row("central", 3, 2), told)
    assert differ == []
    row_line(differ, Row("central", 3, 2), told | {"states": 1_055})
    assert differ == ["central 3 2"]


def test_a_search_that_is_killed_ends_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_all, "SEARCH", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(SystemExit, match="a search ended with -9"):
        check_all.report([command(ROWS[0])], [str], Place(1))


@pytest.fixture
def searching() -> Iterator[tuple[BaseProcess, int]]:
    """A worker in the middle of a search, and the process that searches."""
    worker = get_context("fork").Process(target=search, args=(ENDLESS,))
    worker.start()
    assert worker.pid is not None
    listed = Path(f"/proc/{worker.pid}/task/{worker.pid}/children")
    eventually(lambda: bool(listed.read_text()))
    pid = int(listed.read_text())
    yield worker, pid
    worker.kill()
    worker.join()
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_a_worker_that_is_killed_takes_its_search_along(
    searching: tuple[BaseProcess, int],
) -> None:
    worker, pid = searching
    arguments = Path(f"/proc/{pid}/cmdline")
    eventually(lambda: b"die_with_parent" in arguments.read_bytes())
    eventually(lambda: b"numpy" in Path(f"/proc/{pid}/maps").read_bytes())  # it searches
    worker.kill()
    worker.join()
    eventually(lambda: not runs(pid))


def runs(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return False


def eventually(true: Callable[[], bool]) -> None:
    for _ in range(1000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never was")
