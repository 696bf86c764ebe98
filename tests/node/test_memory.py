"""What a node keeps for a name: the node's lock and slot, the home's entry, the holder."""

from __future__ import annotations

import gc
import tracemalloc

from peerlock.node.node import Node
from peerlock.node.terms import demand
from peerlock.node.views import Member, View
from peerlock.node.waiters import State, Waiter

NAMES = 2_000
IDLE, HELD = 1_000, 1_500  # bytes


def held(node: Node, numbers: range) -> list[Waiter]:
    users = [Waiter(demand()) for _ in numbers]
    for number, user in zip(numbers, users, strict=True):
        node.acquire(f"name-{number}", user)
    assert all(user.state is State.HOLDING for user in users)
    return users


def test_a_name_that_one_member_uses_takes_little_memory() -> None:
    node = Node(lambda: 0.0)
    node.see(View(1, (Member(1, "h:1", 1),)), me=1)
    held(node, range(10))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        users = held(node, range(10, 10 + NAMES))
        gc.collect()
        assert (tracemalloc.get_traced_memory()[0] - before) / NAMES <= HELD
        for user in users:
            node.release(user)
        node.turn()
        del user, users
        gc.collect()
        assert (tracemalloc.get_traced_memory()[0] - before) / NAMES <= IDLE
    finally:
        tracemalloc.stop()
    assert len(node.locks) == NAMES + 10


def test_many_readers_come_and_go_one_by_one() -> None:
    """One holder is kept in another way than several are."""
    node = Node(lambda: 0.0)
    node.see(View(1, (Member(1, "h:1", 1),)), me=1)
    users = [Waiter(demand(shared=True)) for _ in range(5)]
    for user in users:
        node.acquire("x", user)
    assert list(node.holding()) == users
    for place in (2, 0, -1, -1, 0):
        node.release(users.pop(place))
        assert list(node.holding()) == users
