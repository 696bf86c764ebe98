"""What a process in trouble does to others: the table and the words of docs/promises.md."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import peerlock
from peerlock.api.status import describe, summed_up
from peerlock.node.fences import COUNT_BITS
from peerlock.node.numbers import BEGINNING, UNBELIEVABLE
from peerlock.node.succession import Succession
from peerlock.node.terms import Demand
from peerlock.node.views import Member, View
from tests.support.loops import on_each_loop, until
from tests.support.nodes import CLOCKED, LOCK, World, messages, names_touched

PROMISES = " ".join(
    (Path(__file__).parents[2] / "docs" / "promises.md").read_text().split()
)
OTHERS = "others"  # a name that the process in trouble does not use


def with_bystander() -> World:
    """2 and 3 hand `x` to each other and hold nothing; 4 uses nothing; 1 is the home."""
    world = World(5)
    world.use(2, 3)
    return world


def hands_over(world: World, one: int = 2, other: int = 3, name: str = "x") -> bool:
    holder, waiter = world.get(one, name), world.wait(other, name)
    world.finish(holder)
    held = waiter.holds
    world.finish(waiter)
    return held


def test_a_process_that_joins_leaves_or_dies_and_uses_no_lock_disturbs_none() -> None:
    world = with_bystander()
    holder, waiter = world.get(2), world.wait(3)
    epoch = world.lock(2).epoch
    world.join(6)
    carried = world.settle()
    world.die(4)
    carried += world.settle()
    assert names_touched(carried) == set()
    assert world.lock(2).epoch == epoch and holder.holds and waiter.waits
    world.finish(holder)
    assert waiter.holds


def test_a_bystander_that_is_stopped_disturbs_nobody_also_when_others_join() -> None:
    world = with_bystander()
    world.still.add(4)
    assert hands_over(world)
    world.join(6)
    world.settle()
    assert hands_over(world)
    world.finish(world.get(6))


@pytest.mark.parametrize("wanted", [LOCK, CLOCKED])
def test_one_that_begins_to_use_a_lock_leaves_holder_and_waiters_where_they_are(
    wanted: Demand,
) -> None:
    world = World(5)
    world.use(2, 3, wanted=wanted)
    holder, first = world.get(2, wanted=wanted), world.wait(3, wanted=wanted)
    second = world.wait(4, wanted=wanted)
    assert holder.holds and holder.told == ["granted"]
    assert world.served(holder, [first, second]) == [first, second]


def test_to_begin_to_use_a_lock_takes_two_round_trips_if_others_use_it() -> None:
    world = with_bystander()
    world.ask(4)
    steps = [type(message).__name__ for message in messages(world.carry())]
    assert list(dict.fromkeys(steps))[:4] == ["Open", "Reform", "Formed", "Opened"]


def slow(world: World, member: int) -> None:
    """It does what its users want, and others hear of it later."""
    world.slow |= {(member, other) for other in world.nodes if other != member}


def answer(world: World, member: int) -> None:
    for sender, to in sorted(world.slow):
        if sender == member:
            world.hasten(sender, to)
    world.settle()


def test_what_a_slow_process_holds_is_released_when_it_says_so() -> None:
    world = with_bystander()
    world.use(3, 4, name=OTHERS)
    holder, waiter = world.get(2), world.wait(3)
    slow(world, 2)
    world.finish(holder)
    assert waiter.waits and hands_over(world, 3, 4, OTHERS)
    answer(world, 2)
    assert waiter.holds


def test_requests_that_need_the_answer_of_a_slow_process_wait_for_it() -> None:
    world = with_bystander()
    world.use(3, 4, name=OTHERS)
    world.finish(world.get(2))  # and keeps the token
    slow(world, 2)
    waiter = world.wait(3)
    assert waiter.waits and hands_over(world, 3, 4, OTHERS)
    answer(world, 2)
    assert waiter.holds


def test_a_process_that_is_stopped_keeps_what_it_holds_and_disturbs_no_other_lock() -> None:
    world = with_bystander()
    world.use(3, 4, name=OTHERS)
    holder = world.get(2)
    world.still.add(2)
    waiter, other = world.ask(3), world.ask(4)
    world.pass_time(5)
    assert holder.holds and waiter.waits and other.waits
    world.finish(world.get(3, OTHERS))
    world.finish(world.get(4, OTHERS))
    world.wake(2)
    world.finish(holder)
    assert waiter.holds


def test_a_process_that_is_stopped_holds_up_what_it_has_just_used_and_holders_hold() -> (
    None
):
    world = with_bystander()
    world.use(2, name="y")
    world.use(3, name="y")
    holder = world.get(3, "y")
    world.still.add(2)
    stuck = world.ask(4, "y")
    world.settle()
    assert stuck.waits and holder.holds
    world.die(2)  # its lease is over
    world.settle()
    world.finish(holder)
    assert stuck.holds


def test_a_process_that_is_stopped_has_given_back_what_it_used_two_seconds_ago() -> None:
    world = with_bystander()
    keeper = world.get(3)
    world.pass_time(3)
    world.still.add(2)
    waiter = world.wait(4)
    world.finish(keeper)
    assert waiter.holds


def test_a_name_is_given_back_though_others_begin_and_cease_to_use_it_all_the_time() -> (
    None
):
    world = World(6)
    world.use(2)
    for other in (3, 4, 5, 6):
        world.use(other)  # the circle is formed anew
        world.pass_time(1)
    assert "x" not in world[2].locks


def test_when_a_death_is_noticed_the_next_waiter_has_the_lock_and_places_are_kept() -> None:
    world = with_bystander()
    world.use(4)
    world.get(2)
    first, second = world.wait(3), world.wait(4)
    world.use(5, name=OTHERS)
    epoch = world.lock(5, OTHERS).epoch
    world.die(2)
    world.settle()
    assert world.served(first, [second]) == [second]
    assert world.lock(5, OTHERS).epoch == epoch


def test_while_a_home_is_stopped_users_of_its_names_go_on_and_no_other_begins() -> None:
    world = with_bystander()
    world.still.add(1)
    assert hands_over(world)
    late = world.ask(4)
    world.settle()
    assert late.waits
    assert hands_over(world)
    world.die(1)
    world.settle()
    assert late.holds


def test_a_new_home_waits_for_a_stopped_member_and_users_of_its_names_go_on() -> None:
    world = with_bystander()
    world.still.add(5)
    world.die(1)
    late = world.ask(4)
    world.settle()
    assert late.waits and hands_over(world)
    world.die(5)  # its lease is over
    world.settle()
    assert late.holds


def waits(node: peerlock.LockNode) -> Callable[[], bool]:
    return lambda: any(node.host.node.waiting())


@on_each_loop
async def test_status_lists_waiters_in_the_order_in_which_they_are_let_in() -> None:
    """Also after other processes have come to use the lock, and have left."""
    address = "memory://places"
    served: list[int] = []

    async def wait(node: peerlock.LockNode, number: int) -> None:
        async with node.lock("x"):
            served.append(number)

    async with (
        peerlock.join(address) as holder,
        peerlock.join(address) as first,
        peerlock.join(address) as second,
        peerlock.join(address) as third,
    ):
        grant = await holder.lock("x").acquire()
        nodes, tasks = (second, third, first), []
        for number, node in enumerate(nodes):
            tasks.append(asyncio.create_task(wait(node, number)))
            await until(waits(node))
            async with peerlock.join(address) as passing:
                with pytest.raises(peerlock.WouldBlock):
                    await passing.lock("x").try_acquire()
        members = tuple(Member(pid, "", pid) for pid in range(3))
        answers = [describe(node.host.node) for node in nodes]
        (lock,) = summed_up(View(1, members), answers)["locks"]
        assert [waiter["pid"] for waiter in lock["waiters"]] == [0, 1, 2]
        grant.release()
        await asyncio.gather(*tasks)
    assert served == [0, 1, 2]


def test_among_a_thousand_nodes_one_that_comes_or_dies_costs_no_message_and_no_name() -> (
    None
):
    """Nodes say nothing about it at all; that there is a new view, members pass on once."""
    world = World(2)
    everybody = range(3, 1_001)
    world.join(*everybody)
    world.settle()
    world.use(2, 500, 900)
    holder, waiter = world.get(500), world.wait(900)
    epoch = world.lock(500).epoch
    world.join(1_001)
    assert world.settle() == []
    world.die(700)
    assert world.settle() == []
    assert world.lock(500).epoch == epoch
    world.finish(holder)
    assert waiter.holds


def test_the_page_says_how_many_homes_there_are() -> None:
    found = re.search(
        r"one for each (\d+) members, at least one and at most four", PROMISES
    )
    assert found is not None
    each = int(found[1])
    for members, homes in [(1, 1), (2 * each - 1, 1), (2 * each, 2), (10 * each, 4)]:
        succession = Succession()
        succession.see(View(1, tuple(Member(i, f"/{i}", i) for i in range(1, members + 1))))
        assert len(succession.elders) == homes


def test_the_numbers_that_the_page_names_are_those_of_the_code() -> None:
    found = re.search(r"before (\d+) or after (\d+)\. A fence", PROMISES)
    assert found is not None
    years = [time.gmtime(second).tm_year for second in (BEGINNING, UNBELIEVABLE - 1)]
    assert years == [int(found[1]), int(found[2])]
    assert f"its {(1 << COUNT_BITS) - 1:,} fences" in PROMISES
