"""The calls of docs/which-lock.md: each is made, and does what its row says."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import peerlock
from peerlock.cli.lock_line import parse
from tests.support.loops import on_each_loop

PAGE = (Path(__file__).parents[2] / "docs" / "which-lock.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and "`" in line
]
CALL = r"`(?:async with |await |@)?((?:node|peerlock)\.[^`]*?)(?: as \w+)?:?`"
CALLS = re.findall(CALL, PAGE)


def shell_of(problem: str) -> Any:
    """How `peerlock lock` reads the command of a row."""
    (row,) = (cells for cells in ROWS if cells[0].startswith(problem))
    line = re.search(r"`peerlock lock (.*?)`", row[1])
    assert line is not None
    return parse(shlex.split(line[1]))


async def must_work(call: str) -> None:
    """What is made is used: a lock is acquired and released, a node leaves."""
    async with peerlock.join("memory://which lock") as node:
        names = {"node": node, "peerlock": peerlock, "NAME": "x", "id": 17}
        made = eval(call, names)
        if inspect.isawaitable(made):
            made = await made
        if hasattr(made, "leave"):
            left = made.leave()
            assert left is None or await left is None
        elif hasattr(made, "__aenter__"):
            async with made:
                pass


@pytest.mark.parametrize("call", CALLS)
@on_each_loop
async def test_every_call_can_be_made(call: str, short_path: Path) -> None:
    await must_work(call)


def test_there_are_calls_for_the_row_of_each_problem() -> None:
    assert len(CALLS) >= 15


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ("A cron job", {"nonblock": True, "conflict": 0}),
        ("Jobs must run", {"nonblock": False, "timeout": None}),
        ("The same, but", {"timeout": 60.0}),
        ("Two resources", {"names": ("disk", "tape")}),
        ("At most four", {"permits": 4}),
        ("Many may read", {"shared": True}),
        ("One process of many", {"names": ("leader:NAME",)}),
        ("A stopped process", {"lease": None}),
        ("One lock for each", {"names": ("customer-17",)}),
    ],
)
def test_every_command_is_read_as_its_row_says(
    problem: str, expected: dict[str, Any]
) -> None:
    request = shell_of(problem)
    assert {key: getattr(request, key) for key in expected} == expected
    assert request.command


@on_each_loop
async def test_the_shells_leader_is_pythons() -> None:
    async with peerlock.join("memory://leaders") as node:
        (name,) = shell_of("One process of many").names
        async with node.lock(name):
            leader = await node.leader_of("NAME")
    assert leader is not None
