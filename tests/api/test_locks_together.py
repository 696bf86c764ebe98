"""Several locks at once: all or nothing, and no deadlock in whichever order."""

import asyncio
import linecache
import random
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import peerlock
from peerlock.api.several import Several
from peerlock.cli.lock_line import MOST_NAMES, parse
from peerlock.core.errors import UsageError
from peerlock.supervision.watchdog import LONGEST
from tests.support.loops import on_each_loop, until
from tests.support.members import is_free, members, put_out

NAMES = ("a", "b", "c", "d")


@on_each_loop
async def test_grants_come_in_the_order_in_which_the_locks_are_named(cluster: str) -> None:
    async with members(cluster, 2) as (node, other):
        async with node.locks("b", "a") as grants:
            assert [grant.name for grant in grants] == ["b", "a"]
            assert all(grant.fence > 0 and not grant.is_lost for grant in grants)
            assert not await is_free(other.lock("a"))
            assert not await is_free(other.lock("b"))
        assert await is_free(other.lock("a"))
        assert await is_free(other.lock("b"))


@on_each_loop
async def test_whoever_names_them_in_another_order_waits_and_nobody_for_ever(
    cluster: str,
) -> None:
    inside: set[str] = set()
    chance = random.Random(7)

    async def use(node: peerlock.LockNode) -> None:
        for _ in range(15):
            names = chance.sample(NAMES, chance.randint(2, 4))
            async with node.locks(*names):
                assert not inside & set(names)
                inside.update(names)
                await asyncio.sleep(0)
                inside.difference_update(names)

    async with members(cluster, 3) as nodes, asyncio.timeout(40):
        await asyncio.gather(*(use(node) for node in nodes for _ in range(2)))


@on_each_loop
async def test_a_caller_that_times_out_leaves_nothing(cluster: str) -> None:
    async with members(cluster, 2) as (node, other):
        async with other.lock("c"):
            with pytest.raises(peerlock.Timeout, match="could not acquire 'c' within"):
                async with node.locks("c", "b", "a", timeout=0.1):
                    pass
            assert await is_free(other.lock("a"))
            assert await is_free(other.lock("b"))
            with pytest.raises(peerlock.Timeout):
                async with node.locks("c", "a", timeout=0):
                    pass
        async with node.locks("c", "a", timeout=10):
            pass


@on_each_loop
async def test_a_caller_that_is_cancelled_leaves_nothing(cluster: str) -> None:
    async def ask(node: peerlock.LockNode) -> None:
        async with node.locks("a", "b"):
            raise AssertionError("it should wait")

    async with members(cluster, 2) as (node, other), other.lock("b"):
        waiting = asyncio.create_task(ask(node))
        await until(lambda: any(node.host.node.holding()))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await is_free(other.lock("a"))


@on_each_loop
async def test_if_they_are_lost_the_block_says_so_once(cluster: str) -> None:
    async def lose(node: peerlock.LockNode) -> None:
        async with node.locks("a", "b") as grants:
            await put_out(cluster, node)
            await asyncio.gather(*(grant.lost for grant in grants))

    async with members(cluster, 2) as (node, _):
        with pytest.raises(peerlock.Lost):
            await lose(node)
        async with node.locks("a", "b", timeout=10):
            pass


@on_each_loop
async def test_one_that_is_lost_while_others_are_waited_for_is_not_entered_with(
    cluster: str,
) -> None:
    async def ask(node: peerlock.LockNode) -> None:
        async with node.locks("a", "b"):
            raise AssertionError("a was lost")

    async with members(cluster, 2) as (node, other):
        holder = await other.lock("b").acquire()
        asking = asyncio.create_task(ask(node))
        await until(lambda: any(node.host.node.holding()))
        await put_out(cluster, node)
        await until(lambda: not any(node.host.node.holding()))
        holder.release()
        with pytest.raises(peerlock.Lost, match="'a' was lost while others were waited"):
            await asking


@on_each_loop
async def test_what_makes_no_sense_is_refused(cluster: str) -> None:
    async with members(cluster, 1) as [node]:
        for names in ((), ("a", "b", "a"), ("a", "")):
            with pytest.raises(UsageError):
                node.locks(*names)
        assert repr(node.locks("b", "a")) == "<peerlock locks 'b', 'a'>"
        with pytest.raises(peerlock.Deadlock):
            await held_twice(node)


async def held_twice(node: peerlock.LockNode) -> None:
    async with node.locks("a", "b", shared=True), node.locks("b", "c"):
        pass


def test_threads_have_them_too(cluster: str) -> None:
    with peerlock.sync.join(cluster) as node, peerlock.sync.join(cluster) as other:
        with node.locks("b", "a") as grants:
            assert [grant.name for grant in grants] == ["b", "a"]
            assert not other.lock("a").acquire(blocking=False)
        late = node.locks("a", "b", timeout=0.1)
        with other.lock("b"), pytest.raises(peerlock.Timeout), late:
            pass
        assert other.lock("a").acquire(blocking=False)


def test_threads_name_them_in_any_order(cluster: str) -> None:
    inside: list[int] = []
    guard = threading.Lock()

    def use(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(15):
            node = nodes[seed % 2]
            with node.locks(*chance.sample(NAMES, 4), timeout=40):
                with guard:
                    inside.append(seed)
                    assert inside == [seed]
                with guard:
                    inside.remove(seed)

    with peerlock.sync.join(cluster) as one, peerlock.sync.join(cluster) as two:
        nodes = (one, two)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(use, range(4)))


# The command line


@pytest.mark.parametrize(
    ("line", "names", "command"),
    [
        ("x make all", ("x",), ("make", "all")),
        ("x -- make all", ("x",), ("make", "all")),
        ("a b -- make", ("a", "b"), ("make",)),
        ("-n a -w 3 b -s -- make -- x", ("a", "b"), ("make", "--", "x")),
        ("-- -x make", ("-x",), ("make",)),
        ("a b c -- -", ("a", "b", "c"), ("-",)),
    ],
)
def test_names_stand_before_the_command(
    line: str, names: tuple[str, ...], command: tuple[str, ...]
) -> None:
    request = parse(line.split())
    assert request is not None
    assert (request.names, request.command) == (names, command)


def in_folder(folder: Path) -> tuple[str, str]:
    return "--cluster", f"sqlite://{folder}/c.db"


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "peerlock", "lock", *in_folder(folder), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_command_holds_all_of_its_locks(short_path: Path) -> None:
    inner = f"{sys.executable} -m peerlock lock {' '.join(in_folder(short_path))}"
    script = f"echo $PEERLOCK_NAME $PEERLOCK_FENCE; {inner} -n a c -- true; echo $?"
    done = run(short_path, "b", "a", "--", "sh", "-c", script)
    names, fences, code = done.stdout.split()
    assert (names, code, done.returncode) == ("b,a", "1", 0)
    first, second = map(int, fences.split(","))
    assert 0 < second < first  # a was asked for before b


@pytest.mark.parametrize("option", [(), ("-F",)], ids=["", "no fork"])
def test_a_command_may_hold_many_locks(short_path: Path, option: tuple[str, ...]) -> None:
    """Each with its fence, which together are a long text."""
    names = [f"n{i}" for i in range(40)]
    done = run(short_path, *option, *names, "--", "sh", "-c", "echo $PEERLOCK_FENCE")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(set(map(int, done.stdout.split(",")))) == 40


def test_there_are_not_too_many() -> None:
    names = [f"n{i}" for i in range(MOST_NAMES)]
    request = parse([*names, "--", "true"])
    assert request is not None
    assert list(request.names) == names
    with pytest.raises(UsageError, match="at most 1,000 locks at a time, got 1,001"):
        parse([*names, "one more", "--", "true"])
    assert MOST_NAMES * len(f"{1 << 53},") < LONGEST


def test_a_name_that_is_given_twice_is_refused(short_path: Path) -> None:
    done = run(short_path, "a", "a", "--", "true")
    assert (done.returncode, done.stderr) == (64, "peerlock: 'a' is named twice\n")


def test_the_timeout_is_for_all_of_them_together() -> None:
    names = Several(("a", "b"), 2.0)
    assert 0 <= (names._left(time.monotonic() - 1.5) or 0) <= 0.5
    assert names._left(time.monotonic() - 3) == 0


# Ctrl-C at any point, and blocks that are left elsewhere


class Interruption:
    """Raises KeyboardInterrupt at the n-th line that is run in `several.py`.

    Not at a `try`, which no signal can interrupt.
    """

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: Any, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.endswith("several.py"):
            return self if event == "call" else None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if event == "line" and self.left >= 0 and line != "try:":
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
        return self


def test_ctrl_c_at_any_line_of_ours_leaves_nothing_held(cluster: str) -> None:
    before = sys.gettrace()
    with peerlock.sync.join(cluster) as node:
        interrupted = inside = 0
        for at in range(500):
            locks = node.locks("a", "b", "c")
            interruption = Interruption(at)
            try:
                sys.settrace(interruption)
                with locks:
                    inside += 1
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                sys.settrace(before)
            assert not list(node.host.node.holding()), f"after line {at}"
            if interruption.left >= 0:
                break  # it was over before
        assert interrupted > 30
        assert 5 < inside < interrupted


def test_they_may_be_left_in_another_thread(cluster: str) -> None:
    """As when a server ends what a worker has begun."""
    with peerlock.sync.join(cluster) as node:
        locks = node.locks("a", "b")
        with ThreadPoolExecutor(1) as worker:
            worker.submit(locks.__enter__).result()
            worker.submit(lambda: None).result()
        locks.__exit__(None, None, None)
        assert not list(node.host.node.holding())
        with pytest.raises(peerlock.NotHeld):
            locks.__exit__(None, None, None)


@on_each_loop
async def test_they_may_be_left_by_another_task(cluster: str) -> None:
    """As when a generator is not run to its end."""
    async with members(cluster, 1) as (node,):

        async def numbers() -> AsyncIterator[int]:
            async with node.locks("a", "b"):
                yield 1

        generator = numbers()
        assert await anext(generator) == 1
        await asyncio.create_task(generator.aclose())  # type: ignore[attr-defined]
        assert await is_free(node.lock("a"))
        assert await is_free(node.lock("b"))
