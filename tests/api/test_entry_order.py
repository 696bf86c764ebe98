"""`status` lists the waiters of an exclusive lock in the order in which they acquire it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from math import inf
from random import Random
from typing import Any

import pytest

import peerlock
from peerlock.api.entry_order import Turn, entry_order, served
from peerlock.api.status import describe, summed_up
from peerlock.api.tasks import LockNode
from peerlock.membership import clock
from peerlock.node.views import Member, View
from tests.support.loops import delivered, on_each_loop, until
from tests.support.nodes import SEMAPHORE, User, World

LONG = 0.002  # seconds: longer than a turn with the default settings


def listed(world: World, name: str = "x") -> list[User]:
    """The waiters, as `status` lists them."""
    answers = []
    for member, node in world.nodes.items():
        answer = describe(node, f"at {member}")
        for lock in answer["locks"]:
            for told, user in zip(
                lock["waiters"], node.locks[lock["name"]].waiters, strict=True
            ):
                told["user"] = user
        answers.append(answer)
    members = tuple(Member(i, "", i) for i in world.nodes)
    locks = summed_up(View(1, members), answers)["locks"]
    waiters = [lock["waiters"] for lock in locks if lock["name"] == name]
    return [told["user"] for told in waiters[0]]


class Story:
    """Users come, give up and are served, in a world that a seed chooses."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.world = World(
            self.rng.choice((2, 3, 4)),
            hand_overs=self.rng.choice((1, 2, 3, 64)),
            hand_over_time=self.rng.choice((0.0, 0.001, inf)),
        )
        self.each = self.rng.choice((0.0, 0.0004, 0.002))  # for how long each user holds
        if self.rng.random() < 0.7:  # otherwise the circle is formed anew meanwhile
            self.world.use(*self.world.nodes)
        self.process: dict[User, int] = {}
        self.holder = self.come()
        self.waiting: list[User] = []

    def come(self) -> User:
        member = self.rng.choice(list(self.world.nodes))
        self.world.now += 1e-9
        user = self.world.ask(member)
        self.world.settle()
        self.process[user] = member
        return user

    def give_up(self) -> None:
        """One of several of its process: a request that is left over is nobody's."""
        user = self.rng.choice(self.waiting)
        member = self.process[user]
        if sum(self.process[other] == member for other in self.waiting) > 1:
            self.world[member].give_up(user)
            self.waiting.remove(user)
            self.world.settle()

    def hand_on(self) -> list[User]:
        """The holder releases; returns what was listed before."""
        self.world.now += self.each + 1e-9
        before = listed(self.world)
        self.world.finish(self.holder)
        (self.holder,) = (user for user in self.waiting if user.holds)
        self.waiting.remove(self.holder)
        return before

    def run(self) -> None:
        for _ in range(self.rng.randrange(14)):
            choice = self.rng.random()
            if choice < 0.65 or not self.waiting:
                self.waiting.append(self.come())
            elif choice < 0.75:
                self.give_up()
            else:
                assert self.hand_on()[0] is self.holder
        lists, entered = [], []
        while self.waiting:
            lists.append(self.hand_on())
            entered.append(self.holder)
        assert lists == [entered[i:] for i in range(len(entered))]


@pytest.mark.parametrize("first", [0, 100, 200, 600])
def test_the_list_is_the_order_of_entry(first: int) -> None:
    """In two of the last, a circle is formed anew after a process has asked again."""
    for seed in range(first, first + 100):
        Story(seed).run()


PATIENT = {"hand_over_time": 60.0}


@pytest.mark.parametrize(
    ("settings", "labels"),
    [
        ({"hand_overs": 1}, "BABA"),
        ({"hand_overs": 2} | PATIENT, "ABBA"),
        (PATIENT, "AABB"),
        ({}, "BABA"),
    ],
    ids=["in turn", "two users to a turn", "many users to a turn", "by default"],
)
@on_each_loop
async def test_the_status_of_a_cluster_lists_the_order_of_entry(
    cluster: str, settings: dict[str, Any], labels: str
) -> None:
    """A holds it; then a user of A waits, one of B, one of A, and one of B."""
    entered: list[tuple[str, int]] = []

    async def hold(node: LockNode, label: str, number: int) -> None:
        async with node.lock("x"):
            entered.append((label, number))
            await pass_time()
            await all_have_asked(a, b, c)

    async with AsyncExitStack() as stack:
        nodes = {
            label: await stack.enter_async_context(
                peerlock.join(cluster, label=label, **settings)
            )
            for label in "ABC"
        }
        a, b, c = nodes.values()
        for node in nodes.values():
            async with node.lock("x"):
                pass
        grant, tasks = await a.lock("x").acquire(), []
        for number, node in enumerate((a, b, a, b)):
            label = "AB"[number % 2]
            tasks.append(asyncio.create_task(hold(node, label, number)))
            await until(have_come(node, number // 2 + 1))
            await all_have_asked(a, b, c)
        await pass_time()
        (lock,) = (await c.status()).locks
        grant.release()
        await asyncio.gather(*tasks)
    assert "".join(waiter.label or "" for waiter in lock.waiters) == labels
    assert "".join(label for label, _ in entered) == labels
    for label in "AB":
        waits = [w.waited_for for w in lock.waiters if w.label == label]
        assert waits == sorted(waits, reverse=True)


def have_come(node: LockNode, waiters: int) -> Callable[[], bool]:
    return lambda: len(list(node.host.node.waiting())) == waiters


async def all_have_asked(*nodes: LockNode) -> None:
    """Also those whose turn has just ended; and all others have heard of it."""
    await until(lambda: not any(node.host.node.wants_turn for node in nodes))
    await delivered(*nodes)


async def pass_time() -> None:
    began = clock.now()
    await until(lambda: clock.now() > began + LONG)


def test_the_users_of_a_semaphore_are_listed_as_they_came() -> None:
    world = World(3, hand_overs=1)
    for _ in range(2):
        world.get(1, wanted=SEMAPHORE)
    waiters = [world.wait(member, wanted=SEMAPHORE) for member in (2, 1, 1, 3, 2)]
    assert listed(world) == waiters


def test_a_member_that_has_told_of_its_release_and_one_of_its_grant_are_both_listed() -> (
    None
):
    """Their answers are of different times."""
    queues = [(Turn(here=True, left=1, left_for=1.0), [{"n": 1}, {"n": 2}])]
    queues += [(Turn(here=True), [{"n": 3}]), (Turn(requested_for=5.0), [{"n": 4}])]
    assert [user["n"] for user in entry_order(queues, 0.1)] == [1, 4, 2, 3]


@pytest.mark.parametrize(
    ("most", "time", "each", "number"),
    [
        (3, 1.0, 0.1, 3),
        (64, 1.0, 0.4, 3),
        (64, 1.0, 0.5, 2),
        (64, 1.0, 5.0, 1),
        (64, 0.0, 0.0, 0),
        (64, -1.0, 5.0, 0),
        (64, 1.0, 0.0, 64),
        (64, inf, 5.0, 64),
    ],
)
def test_users_enter_until_the_turn_is_over(
    most: int, time: float, each: float, number: int
) -> None:
    assert served(most, time, each) == number
