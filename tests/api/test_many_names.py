"""A process that uses a great many names at once: more than there are fences in a view."""

from __future__ import annotations

import asyncio

import pytest

import peerlock
from peerlock.node import presence
from peerlock.node.fences import COUNT_BITS

BLOCK = 1 << COUNT_BITS  # the fences of a view
NEVER = 1e6  # seconds


@pytest.fixture(autouse=True)
def no_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which would ask for more fences, a second too late."""
    monkeypatch.setattr(presence, "POLL", NEVER)
    monkeypatch.setattr(presence, "POLL_IDLE", NEVER)


def test_threads_do_not_wait_for_a_tick(cluster: str) -> None:
    with peerlock.sync.join(cluster, lease=None) as node:
        locks = [node.lock(f"name {i}") for i in range(BLOCK + 100)]
        assert all(lock.acquire(timeout=30) for lock in locks)
        for lock in locks:
            lock.release()


async def hold_many(cluster: str, thread: bool) -> None:
    async with peerlock.join(cluster, lease=None, thread=thread) as node:
        grants = [await node.lock(f"name {i}").acquire(30) for i in range(BLOCK + 100)]
        for grant in grants:
            grant.release()


@pytest.mark.parametrize("thread", [True, False])
def test_tasks_do_not_wait_for_a_tick(cluster: str, thread: bool) -> None:
    asyncio.run(hold_many(cluster, thread))


def test_a_view_of_which_a_member_was_not_told_does_not_stop_it(cluster: str) -> None:
    """Others have joined since; the fences that it reserves belong to their view."""
    with peerlock.sync.join(cluster, lease=None) as node:
        with peerlock.sync.join(cluster, lease=None):
            locks = [node.lock(f"name {i}") for i in range(BLOCK + 100)]
            assert all(lock.acquire(timeout=30) for lock in locks)
        for lock in locks:
            lock.release()
