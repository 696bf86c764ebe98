"""Locks under trio, and under anyio on trio."""

import asyncio
from typing import Any

import pytest

import peerlock
from tests.support.threads import until, users

trio = pytest.importorskip("trio", reason="trio is not installed")
pytest.importorskip("trio.testing")
anyio = pytest.importorskip("anyio", reason="anyio is not installed")
from peerlock.contrib.trio import join  # noqa: E402

nursery = trio.open_nursery


def stumble(node: Any) -> None:
    host = node._node.host
    host.step(host.presence.stumbled, "for the test")


def test_tasks_of_two_nodes_take_turns(cluster: str) -> None:
    inside, fences = [0], []

    async def work(node: Any) -> None:
        for _ in range(10):
            async with node.lock("x") as grant:
                assert not inside[0]
                inside[0] = 1
                await trio.lowlevel.checkpoint()
                inside[0] = 0
                fences.append(grant.fence)

    async def main() -> None:
        async with join(cluster) as node, join(cluster) as other, nursery() as group:
            for each in (node, node, other, other):
                group.start_soon(work, each)

    trio.run(main)
    assert fences == sorted(set(fences))
    assert len(fences) == 40


def test_a_cancelled_wait_leaves_nothing(cluster: str) -> None:
    async def main() -> None:
        async with join(cluster) as node, join(cluster, label="b") as other:
            async with other.lock("x"):
                with trio.move_on_after(0.02) as scope:
                    await node.lock("x").acquire()
                assert scope.cancelled_caught
                assert users(node._node) == 0
                with pytest.raises(peerlock.Timeout):
                    await node.lock("x").acquire(0.01)
                with pytest.raises(peerlock.WouldBlock):
                    await node.lock("x").acquire_nowait()
                holder = await node.lock("x").holder()
                assert holder and holder.label == "b"
            async with node.lock("x") as grant:
                with pytest.raises(peerlock.Deadlock):
                    await node.lock("x").acquire()
                assert not grant.lost.is_set()
            with pytest.raises(peerlock.NotHeld):
                node.lock("x").release()

    trio.run(main)


def test_a_task_does_not_wait_for_its_own_permits(cluster: str) -> None:
    async def main() -> None:
        async with join(cluster) as node:
            slot = node.semaphore("x", 2, timeout=5)
            async with slot, slot:
                with pytest.raises(peerlock.Deadlock):
                    await slot.acquire()
            first = await slot.acquire()
            async with slot, nursery() as group:
                group.start_soon(slot.acquire)  # it waits, until another task releases
                await trio.testing.wait_all_tasks_blocked()
                first.release()

    trio.run(main)


def test_a_node_leaves_when_its_block_is_cancelled(cluster: str) -> None:
    async def main() -> None:
        async with join(cluster) as other:
            with trio.CancelScope() as scope:
                async with join(cluster) as node:
                    assert len((await node.status()).members) == 2
                    scope.cancel()
                    await trio.sleep_forever()
            assert len((await other.status()).members) == 1

    trio.run(main)


def test_a_loss_is_told(cluster: str) -> None:
    async def main() -> None:
        async with join(cluster) as node:
            lock = node.lock("x")
            grant = await lock.acquire()
            lost = grant.lost
            stumble(node)
            with trio.fail_after(10):
                await lost.wait()
            with pytest.raises(peerlock.Lost):
                lock.release()

    trio.run(main)


def test_a_block_whose_lock_was_lost_says_so(cluster: str) -> None:
    """Unless it has an error of its own."""

    async def fail(node: Any) -> None:
        async with node.lock("y"):
            stumble(node)
            raise ZeroDivisionError

    async def work(node: Any) -> None:
        async with node.lock("x"):
            with pytest.raises(ZeroDivisionError):
                await fail(node)

    async def main() -> None:
        async with join(cluster) as node:
            with pytest.raises(peerlock.Lost):
                await work(node)

    trio.run(main)


def test_a_lock_that_is_lost_before_its_task_wakes(cluster: str) -> None:
    async def wait(node: Any) -> None:
        with pytest.raises(peerlock.Lost, match="as soon as it was granted"):
            await node.lock("x").acquire()

    async def main() -> None:
        async with join(cluster) as node, join(cluster) as other, nursery() as group:
            grant = await other.lock("x").acquire()
            group.start_soon(wait, node)
            await trio.testing.wait_all_tasks_blocked()
            grant.release()
            pure = node._node.host.node
            until(lambda: bool(pure.locks["x"].holders))  # no task runs meanwhile
            stumble(node)

    trio.run(main)


def test_every_acquire_is_a_checkpoint(cluster: str) -> None:
    """Also of a lock that is here and free."""

    async def main() -> None:
        async with join(cluster) as node:
            lock = node.lock("x")
            async with lock:
                pass
            with trio.testing.assert_checkpoints():
                await lock.acquire()
            lock.release()
            with trio.CancelScope() as scope:
                scope.cancel()
                await lock.acquire()
            assert scope.cancelled_caught
            assert not lock.locked()

    trio.run(main)


def test_anyio_on_trio_and_on_asyncio(cluster: str) -> None:
    async def main(joining: Any) -> int:
        async with joining(cluster) as node, node.semaphore("x", 2, timeout=5) as grant:
            async with anyio.create_task_group() as group:
                group.start_soon(node.lock("y").acquire)
            return int(grant.fence)

    first = anyio.run(main, join, backend="trio")
    assert anyio.run(main, peerlock.join, backend="asyncio") > first


def test_the_other_join_is_named(cluster: str) -> None:
    async def main(joining: Any, other: str) -> None:
        with pytest.raises(peerlock.UsageError, match=other):
            async with joining(cluster):
                pass

    trio.run(main, peerlock.join, r"peerlock\.contrib\.trio\.join\(\)")
    asyncio.run(main(join, r"peerlock\.join\(\)"))
