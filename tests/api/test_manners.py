"""Names, labels, who holds, reentrant locks, decorators, elections, cancelled waits."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import peerlock
from peerlock.sync import LockNode
from tests.support.threads import Thread, put_out, until, users


@pytest.fixture
def node(cluster: str) -> Iterator[LockNode]:
    with peerlock.sync.join(cluster, label="billing-3") as node:
        yield node


@pytest.fixture
def other(cluster: str, node: LockNode) -> Iterator[LockNode]:
    with peerlock.sync.join(cluster) as other:
        yield other


# Names


def test_bytes_are_the_name_that_they_encode(node: LockNode, other: LockNode) -> None:
    with node.lock("größe".encode()) as grant:
        assert grant.name == "größe"
        assert not other.lock("größe").acquire(blocking=False)
    with other.locks(b"\xff\x00", "a") as grants:
        assert [grant.name for grant in grants] == ["bytes:ff00", "a"]
        assert not node.lock(b"\xff\x00").acquire(blocking=False)
    with pytest.raises(peerlock.UsageError, match="'a' is named twice"):
        node.locks("a", b"a")


# Holders, waiters, labels


def test_the_holder_and_the_waiters_are_told_by_label(
    node: LockNode, other: LockNode
) -> None:
    lock = other.lock("x")
    assert lock.holder() is None
    with node.lock("x") as grant:
        waiting = Thread(lock.acquire)
        until(lambda: users(other) == 1)
        holder = lock.holder()
        assert holder is not None
        assert (holder.label, holder.pid, holder.fence) == (
            "billing-3",
            os.getpid(),
            grant.fence,
        )
        assert not lock.locked()
        (found,) = other.status().locks
        (waiter,) = found.waiters
        program = os.path.basename(sys.argv[0])
        assert waiter.label == f"{socket.gethostname()} {os.getpid()} {program}"
        assert waiter.waited_for > 0
    assert waiting.result()
    assert [member.answers for member in other.status().members] == [True, True]


def test_tasks_are_told_too(cluster: str) -> None:
    async def main() -> None:
        async with (
            peerlock.join(cluster, label="one") as node,
            peerlock.join(cluster, thread=False, label="two") as other,
            node.lock("x"),
        ):
            for asked in (node, other):
                holder = await asked.lock("x").holder()
                assert holder and holder.label == "one"
        with pytest.raises(peerlock.ClusterError, match="has left"):
            await node.status()

    asyncio.run(main())


def test_who_has_left_is_not_told(cluster: str) -> None:
    node = peerlock.sync.join(cluster)
    node.leave()
    with pytest.raises(peerlock.ClusterError, match="has left"):
        node.status()


@pytest.mark.parametrize("label", ["", "x" * 201, 5, "a\nb", "\x1b[31m"])
def test_a_label_can_be_shown_on_a_line(cluster: str, label: str) -> None:
    with pytest.raises(peerlock.UsageError, match="label"):
        peerlock.sync.join(cluster, label=label)


def test_a_label_on_the_command_line(cluster: str) -> None:
    peer = [sys.executable, "-m", "peerlock"]
    at = ["--cluster", cluster]
    inner = [*peer, "status", "--json", *at]
    done = subprocess.run(
        [*peer, "lock", *at, "--label", "backup of [red]db1", "x", "--", *inner],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert [member["label"] for member in told["members"]] == ["backup of [red]db1"]
    assert [h["label"] for h in told["locks"][0]["holders"]] == ["backup of [red]db1"]


# Again


@pytest.mark.parametrize("timeout", [-1, 0.1])
def test_a_second_acquire_of_a_thread_is_a_deadlock(node: LockNode, timeout: float) -> None:
    lock = node.lock("x")
    with lock, pytest.raises(peerlock.Deadlock):
        lock.acquire(timeout=timeout)
    with node.lock("x", reentrant=True), pytest.raises(peerlock.Deadlock):
        lock.acquire(timeout=timeout)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [({}, {}), ({"reentrant": True}, {"shared": True}), ({"shared": True}, {})],
    ids=["plain", "exclusive", "shared"],
)
def test_a_reentrant_lock_does_not_enter_where_others_are_meant(
    node: LockNode, cluster: str, outer: dict[str, Any], inner: dict[str, Any]
) -> None:
    """Not in a plain lock, and not with another kind of access."""
    again = node.lock("x", reentrant=True, **inner)
    with node.lock("x", **outer), pytest.raises(peerlock.Deadlock):
        again.acquire(timeout=10)

    async def main() -> None:
        async with peerlock.join(cluster) as other:
            again = other.lock("x", reentrant=True, **inner)
            async with other.lock("x", **outer):
                with pytest.raises(peerlock.Deadlock):
                    await again.acquire(timeout=10)

    asyncio.run(main())


def test_an_attempt_that_does_not_wait_is_no_deadlock(node: LockNode) -> None:
    lock = node.lock("x")
    with lock:
        assert not lock.acquire(blocking=False)


def test_a_reentrant_lock_of_a_thread(node: LockNode, other: LockNode) -> None:
    lock, same = node.lock("x", reentrant=True), node.lock("x", reentrant=True)
    elsewhere = other.lock("x")
    with lock as outer:
        with same as inner:
            assert inner.fence == outer.fence
            assert lock.acquire()
            assert not elsewhere.acquire(blocking=False)
        assert not elsewhere.acquire(blocking=False)
        assert not Thread(lambda: lock.acquire(blocking=False)).result()
        lock.release()
        assert not elsewhere.acquire(blocking=False)
    assert not lock.locked()
    assert elsewhere.acquire(timeout=10)
    with pytest.raises(peerlock.NotHeld):
        lock.release()


def test_each_level_learns_of_a_loss(cluster: str, node: LockNode) -> None:
    lock, last = node.lock("x", reentrant=True), node.lock("x", reentrant=True)
    lock.acquire()
    grant = lock.__enter__()
    lock.acquire()
    put_out(cluster, node)
    assert grant.lost.wait(10)
    for leave in (lock.release, lambda: lock.__exit__(None, None, None), lock.release):
        with pytest.raises(peerlock.Lost):
            leave()
    with last as later:
        assert later.fence > grant.fence


def test_a_reentrant_lock_of_a_task(cluster: str) -> None:
    async def main() -> None:
        async with peerlock.join(cluster) as node, peerlock.join(cluster) as other:
            lock, same = node.lock("x", reentrant=True), node.lock("x", reentrant=True)
            elsewhere = other.lock("x")
            async with lock as outer, same as inner:
                assert inner.fence == outer.fence
                again = await lock.try_acquire()
                for release in (again.release, None):
                    with pytest.raises(peerlock.WouldBlock):
                        await elsewhere.try_acquire()
                    with pytest.raises(peerlock.WouldBlock):
                        await asyncio.create_task(lock.try_acquire())
                    if release:
                        release()
            assert not lock.locked()
            async with elsewhere:
                pass

    asyncio.run(main())


def test_each_level_of_a_task_learns_of_a_loss(cluster: str) -> None:
    async def inside(node: peerlock.LockNode, lock: peerlock.Lock) -> None:
        async with lock:
            node.host.step(node.host.presence.stumbled, "for the test")

    async def outside(node: peerlock.LockNode, lock: peerlock.Lock) -> None:
        async with lock as grant:
            with pytest.raises(peerlock.Lost):
                await inside(node, lock)
            assert grant.is_lost

    async def main() -> None:
        async with peerlock.join(cluster) as node:
            with pytest.raises(peerlock.Lost):
                await outside(node, node.lock("x", reentrant=True))

    asyncio.run(main())


# Decorators


def test_a_decorated_function_holds_the_lock(node: LockNode, other: LockNode) -> None:
    @node.locked("nightly", timeout=10)
    def held(name: str) -> bool:
        """Says whether others can have it."""
        return other.lock(name).acquire(blocking=False)

    assert held.__doc__ == "Says whether others can have it."
    assert not held("nightly")
    assert held("daily")

    async def not_this() -> None: ...

    with pytest.raises(peerlock.UsageError, match=r"peerlock\.join"):
        node.locked("x")(not_this)

    def nor_this() -> Iterator[int]:
        yield 1

    async def nor_that() -> AsyncIterator[int]:
        yield 1

    for generator in (nor_this, nor_that):
        with pytest.raises(peerlock.UsageError, match="generator"):
            node.locked("x")(generator)


def test_a_decorated_coroutine_holds_the_lock(cluster: str) -> None:
    async def main() -> None:
        node = peerlock.join(cluster)

        @node.locked("nightly")
        async def held(name: str) -> None:
            await elsewhere.lock(name).try_acquire()

        async with node, peerlock.join(cluster) as elsewhere:
            with pytest.raises(peerlock.WouldBlock):
                await held("nightly")
            await held("daily")
            with pytest.raises(peerlock.UsageError, match=r"peerlock\.sync"):
                node.locked("x")(print)  # type: ignore[arg-type]

    asyncio.run(main())


# Elections


def test_one_is_the_leader_and_the_next_follows(cluster: str) -> None:
    async def main() -> None:
        async with (
            peerlock.join(cluster, label="first") as node,
            peerlock.join(cluster, label="second") as other,
        ):
            assert await node.leader_of("scheduler") is None
            async with node.leader("scheduler") as term:
                told = await other.leader_of(b"scheduler")
                assert told and (told.label, told.fence) == ("first", term.fence)
                follower = asyncio.create_task(other.leader("scheduler").acquire())
                await asyncio.sleep(0)
                assert not term.lost.done()
            assert await term.lost is False
            successor = await follower
            assert successor.fence > term.fence
            told = await node.leader_of("scheduler")
            assert told and told.label == "second"

    asyncio.run(main())


def test_a_leader_in_a_thread(node: LockNode, other: LockNode) -> None:
    with node.leader("scheduler") as term:
        told = other.leader_of("scheduler")
        assert told and (told.label, told.fence) == ("billing-3", term.fence)
        with pytest.raises(peerlock.Timeout), other.leader("scheduler", timeout=0.01):
            pass
        assert not other.lock("leader:scheduler").acquire(blocking=False)
        assert other.lock("scheduler").acquire(blocking=False)
    assert other.leader_of("scheduler") is None


# Not waiting, and waiting no longer


def test_acquire_nowait_is_try_acquire(cluster: str) -> None:
    async def main() -> None:
        async with peerlock.join(cluster) as node, peerlock.join(cluster) as other:
            grant = await node.lock("x").acquire_nowait()
            with pytest.raises(peerlock.WouldBlock):
                await other.lock("x").acquire_nowait()
            grant.release()

    asyncio.run(main())


def test_a_wait_is_cancelled_from_another_thread_and_leaves_nothing(
    node: LockNode, other: LockNode
) -> None:
    lock, kept = other.lock("x"), other.lock("x")
    assert lock.cancel() == 0
    with node.lock("x"):
        cancelled = [Thread(lock.acquire), Thread(lambda: lock.acquire(timeout=60))]
        entering = Thread(lock.__enter__)
        staying = Thread(kept.acquire)
        until(lambda: users(other) == 4)
        assert lock.cancel() == 3
        for thread in (*cancelled, entering):
            assert isinstance(thread.result(), peerlock.Cancelled)
        assert users(other) == 1
    assert staying.result() is True
    kept.release()
    assert lock.acquire(timeout=10)


def test_a_wait_that_is_over_is_not_cancelled(node: LockNode) -> None:
    lock, told = node.lock("x"), threading.Event()
    with lock:
        assert lock.cancel() == 0
        told.set()
    assert told.is_set()
