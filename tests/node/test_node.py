"""The lock node as a whole: views, leases, fences, and every algorithm that serves locks.

Its parts have tests of their own: test_mail.py, test_succession.py, test_homes.py,
test_circles.py, test_turnstile.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

import pytest

from peerlock.core.errors import NotHeld
from peerlock.core.peer import RemoteError
from peerlock.node.node import Node
from peerlock.node.terms import Demand, demand
from peerlock.node.waiters import State
from peerlock.node.wire import Batch, Opened, Reform, Tell, Told
from tests.support.nodes import (
    CLOCKED,
    LOCK,
    LOCKS,
    OF_HOMES,
    READ,
    SEMAPHORE,
    SEMAPHORES,
    User,
    World,
    messages,
    names_touched,
    said,
)

# Whom a change disturbs


def busy(world: World, *members: int, name: str = "x") -> tuple[User, User]:
    """Two of them hand a name to and fro, and one of these waits."""
    first, second = members
    world.use(first, second, name=name)
    return world.get(first, name), world.wait(second, name)


def test_joining_disturbs_nobody() -> None:
    """A view that adds members, and whose elders stay: nothing is said at all."""
    world = World(9)
    holder, waiter = busy(world, 2, 3)
    others = [world.get(member, f"held by {member}") for member in world.nodes]
    world.pass_time(1)
    epochs = {lock.name: lock.epoch for lock in world[2].locks.values()}
    world.join(10)
    assert world.settle() == []
    world.join(11, 12)
    assert world.settle() == []
    assert {lock.name: lock.epoch for lock in world[2].locks.values()} == epochs
    assert holder.holds and waiter.waits and all(other.holds for other in others)
    world.finish(holder)
    assert waiter.holds


def test_a_join_that_makes_one_more_elder_re_forms_nothing() -> None:
    world = World(15)
    names = [f"name {i}" for i in range(20)]
    holders = [world.get(3 + i % 9, name) for i, name in enumerate(names)]
    world.join(16)
    carried = world.settle()
    assert said(carried, Tell) == 15 and said(carried, Told) == 15
    assert said(carried, Reform) == said(carried, Opened) == 0
    assert len(world[1].homes) + len(world[2].homes) == 20
    assert 0 < len(world[2].homes) < 20
    assert all(holder.holds for holder in holders)


def test_a_bystanders_death_touches_no_name() -> None:
    world = World(9)
    holder, waiter = busy(world, 2, 3)
    world.pass_time(1)
    world.die(7)
    assert world.settle() == []
    world.die(8, 9)
    assert world.settle() == []
    world.finish(holder)
    assert waiter.holds


def test_a_death_says_nothing_about_names_that_the_dead_member_did_not_use() -> None:
    world = World(9)
    busy(world, 2, 3)
    world.use(2, 4, name="y")
    world.pass_time(1)
    world.die(4)
    assert names_touched(world.settle()) == {"y"}


def test_a_member_that_stands_still_holds_up_only_its_circles() -> None:
    world = World(9)
    world.use(5, 6)
    holder, waiter = busy(world, 2, 3, name="y")
    world.still.add(5)
    blocked = world.ask(7)  # joins 5's circle
    world.join(10)
    world.die(9)
    newcomer = world.ask(8, "y")
    fresh = world.ask(4, "z")
    world.settle()
    assert blocked.waits and fresh.holds
    assert world.served(holder, [waiter, newcomer]) == [waiter, newcomer]
    assert world[1].awaited == {5}
    world.still.remove(5)
    world.die(5)  # its lease has ended
    world.settle()
    assert blocked.holds


def test_a_bystander_that_stands_still_holds_up_nobody() -> None:
    world = World(9)
    holder, waiter = busy(world, 2, 3)
    world.still.add(9)
    world.join(10)
    newcomer = world.ask(10)
    world.settle()
    assert world.served(holder, [waiter, newcomer]) == [waiter, newcomer]


def test_what_is_said_about_a_view_does_not_grow_with_the_names() -> None:
    world = World(20)
    for i in range(50):
        world.use(3 + i % 7, 4 + i % 7, name=f"name {i}")
    world.pass_time(1)
    world.join(21)
    assert world.settle() == []
    world.die(20)
    assert world.settle() == []


def test_a_homes_death_says_nothing_about_names_of_other_homes() -> None:
    world = World(17)
    kept = [n for n in map(str, range(99)) if world.home(n) == 2]
    for name in kept:
        world.get(5, name)
    world.pass_time(1)
    world.die(1)
    carried = world.settle()
    moved = {name for name in kept if world.home(name) != 2}
    reports = {r.name for m in messages(carried) if isinstance(m, Told) for r in m.reports}
    assert len(moved) < len(kept) and reports <= moved
    assert said(carried, Reform) == 0


# Views


def test_nobody_is_granted_anything_before_there_is_a_view() -> None:
    world = World(0)
    node = world.add(1)
    user = world.ask(1)
    assert user.waits and node.drain() == []
    world.see(1)
    assert user.holds


def test_holders_go_on_holding_over_views_and_are_first() -> None:
    world = World(2)
    holder, other = world.get(1), world.wait(2)
    world.join(3)
    newcomer = world.wait(3)
    assert holder.told == ["granted"] and holder.holds
    assert world.served(holder, [other, newcomer]) == [other, newcomer]


def test_any_view_may_come_at_any_step_of_a_re_forming() -> None:
    """A join, another member's death, the home's death: all get their turn."""
    for change in ("join", "death", "home"):
        for steps in range(8):
            world = World(6)
            world.use(3, 4, 5)
            holder, other, newcomer = world.get(3), world.wait(4), world.ask(6)
            for _ in range(steps):
                world.step()
            if change == "join":
                world.join(7)
            else:
                world.die(1 if change == "home" else 5)
            world.settle()
            assert holder.holds, (change, steps)
            assert world.served(holder, [other, newcomer]) == [other, newcomer]
            assert world.remote_errors == 0, (change, steps)


def test_views_may_be_skipped_and_older_ones_are_not_seen() -> None:
    world = World(2)
    older, newer = world.next_view(1), world.next_view(1, 2)
    for i in (1, 2):
        world[i].see(newer)
    world.settle()
    world[1].see(older)
    assert world[1].view is newer and world[1].running


def test_members_that_have_seen_different_views_agree_in_the_end() -> None:
    """Each sees the home's death at another time."""
    for late in (2, 3, 4):
        world = World(5)
        world.use(3, 4)
        holder, other = world.get(3), world.wait(4)
        view = world.next_view(2, 3, 4, 5)
        del world.nodes[1]
        for member in (2, 3, 4, 5):
            if member != late:
                world.show(member, view)
        newcomer = world.ask(5)
        world.settle()
        world.show(late, view)
        world.settle()
        assert world.served(holder, [other, newcomer]) == [other, newcomer]
        assert world.remote_errors == 0


def test_a_member_that_is_out_has_lost_everything_and_its_waiters_stay() -> None:
    world = World(2)
    holder, waiting = world.get(1), world.ask(1)
    other = world.wait(2)
    view = world.next_view(2)
    for i in (1, 2):
        world[i].see(view)
    world.settle()
    assert holder.told == ["granted", "lost"] and holder.state is State.LOST
    assert other.holds
    with pytest.raises(NotHeld, match="lost"):
        world[1].release(holder)
    assert not world[1].member and waiting.waits

    world.nodes[3] = world.nodes.pop(1)  # it comes back as another member
    world.see(2, 3)
    world.settle()
    assert other.holds and not waiting.holds
    world.finish(other)
    assert waiting.holds
    assert waiting.fence > other.fence > holder.fence


def test_a_member_that_comes_back_is_heard_under_its_new_number_only() -> None:
    world = World(3)
    world.use(2, 3, wanted=CLOCKED)
    world.ask(2, wanted=CLOCKED)
    late = world.collect()  # of its former self
    view = world.next_view(1, 3)
    for member in (1, 2, 3):
        world[member].see(view)
    world.nodes[4] = world.nodes.pop(2)
    world.see(1, 3, 4)
    world.deliver(*late)
    world.settle()
    assert [u.state for u in world[4].waiting()] == []
    assert [u.state for u in world[4].holding()] == [State.HOLDING]
    assert world.remote_errors == 0


# Leases


@pytest.mark.parametrize(
    "act",
    [
        lambda world: world.ask(1),
        lambda world: world[1].receive(2, Batch(1, 1, 1, 0, 0, 0, ())),
        lambda world: world[1].turn(),
        lambda world: world[1].tick(),
        lambda world: world[1].see(world.next_view(1, 2)),
        lambda world: world[1].check_lease(),
    ],
    ids=["acquire", "receive", "turn", "tick", "see", "check_lease"],
)
def test_a_lease_that_has_run_out_is_noticed_before_all_else(
    act: Callable[[World], object],
) -> None:
    world = World(2)
    world[1].renewed(10.0)
    holder = world.get(1)
    world.now = 9.999
    assert world[1].check_lease() and holder.holds
    world.now = 10.0
    act(world)
    assert holder.told == ["granted", "lost"] and not world[1].member
    assert world[1].drain() == []


def test_a_member_that_is_out_says_nothing_more() -> None:
    world = World(2)
    world[1].renewed(10.0)
    world.get(2)
    world.now = 10.0
    world[1].tick()
    world[1].tick()
    assert not world[1].member and world[1].drain() == []


def test_a_batch_finds_that_the_lease_is_over() -> None:
    world = World(2)
    world[1].renewed(10.0)
    holder = world.get(1)
    world.now = 10.0
    world[1].receive(2, Batch(1, 1, 1, 0, 0, 0, ()))
    assert holder.told == ["granted", "lost"]


def test_nobody_is_let_in_without_a_lease() -> None:
    world = World(2, hand_over_time=inf)
    world[1].renewed(10.0)
    a, b = world.ask(1), world.ask(1)
    world.settle()
    world.now = 10.0
    world.release(a)
    assert b.waits
    world.settle()
    assert b.waits and not world[1].member


def test_nobody_takes_a_lock_at_once_without_a_lease() -> None:
    world = World(2, hand_over_time=inf)
    world[1].renewed(10.0)
    world.release(world.get(1))
    world.now = 10.0
    assert not world[1].take("x", User(LOCK))


def test_a_lease_that_is_renewed_goes_on() -> None:
    world = World(2)
    world[1].renewed(10.0)
    holder = world.get(1)
    world[1].renewed(20.0)
    world.now = 15.0
    world[1].tick()
    assert holder.holds


def test_without_a_lease_a_node_is_in_no_view() -> None:
    world = World(2)
    world[1].renewed(10.0)
    world.now = 10.0
    view = world.next_view(1, 2)
    world[1].see(view)
    assert not world[1].member
    world[1].renewed(20.0)
    world[1].see(view)  # under its old number, which it may not use again
    assert not world[1].member
    world[1].see(world.next_view(2, 3), 3)
    assert world[1].member


def test_a_lease_that_runs_out_over_a_batch_ends_it() -> None:
    world = World(2)
    users = [world.ask(2, name) for name in "ab"]
    world.step()
    (parcel,) = world.collect()
    assert [type(message) for message in parcel.batch.messages] == [Opened, Opened]

    node = world[2]
    node.renewed(1.0)
    readings = iter([0.0])  # as it begins; all others are later
    node.turnstile._clock = node.clock = lambda: next(readings, 2.0)
    world.deliver(parcel)
    node.check_lease()
    assert not node.member
    assert [user.state for user in users] == [State.WAITING, State.WAITING]
    assert node.statistics.remote_errors == 0


def test_a_node_that_is_out_says_and_hears_nothing() -> None:
    world = World(3)
    world.use(1, 2, 3)
    holder = world.get(2)
    world[2].lose_everything()
    assert holder.state is State.LOST
    assert world[2].drain() == []
    user = world.ask(2)
    assert user.waits and world[2].drain() == []
    assert world[2].awaited == set()
    world[2].receive(1, Batch(2, 1, 99, 0, 0, 0, ()))
    assert world.remote_errors == 0


# Fences


def test_a_fence_is_above_all_that_views_before_could_have_given() -> None:
    world = World(2)
    first = world.get(1).fence
    assert first > world.number - 1
    world.join(3)
    world.settle()
    assert world.get(3, "y").fence > first


def test_fences_grow_whatever_happens_in_between() -> None:
    world = World(6, remember=5.0)
    fences = []

    def use(member: int) -> None:
        user = world.get(member)
        fences.append(user.fence)
        world.finish(user)

    a, b = world.ask(2), world.ask(2)  # from hand to hand within a node
    world.settle()
    world.finish(a)
    world.finish(b)
    fences += [a.fence, b.fence]
    for member in (2, 3, 4, 3, 2, 5):  # from node to node; newcomers re-form
        use(member)
    world.pass_time(20)
    assert world.remembers_nothing
    use(4)  # the name was forgotten, and is opened again
    world.join(7)
    world.settle()
    use(7)
    for dead in (7, 1, 2):  # the last holder, the home, the next home
        world.die(dead)
        world.settle()
        use(4)
        use(3)
    assert fences == sorted(set(fences))


def test_fences_grow_through_a_re_forming_within_one_view() -> None:
    """The newcomer has heard of no fence yet; the grants before it were many."""
    world = World(5)
    for _ in range(20):
        world.use(2, 3)
    last = world.get(3)
    user = world.wait(4)
    world.finish(last)
    assert user.holds and user.fence > last.fence


def test_fences_grow_when_a_holder_dies_with_the_highest() -> None:
    """Nobody has heard of the fence that it had; the view is above it."""
    world = World(4)
    world.use(2, 3)
    user = world.ask(2)
    world.settle()
    for _ in range(50):
        world.release(user)
        user = User(LOCK)
        if not world[2].take("x", user):
            world[2].acquire("x", user)
            world.settle()
    fence = user.fence
    other = world.wait(3)
    world.die(2)
    world.settle()
    assert other.holds and other.fence > fence


def test_a_fence_of_a_batch_counts_even_if_it_says_nothing() -> None:
    world = World(2)
    highest = world.get(1).fence
    world[1].receive(
        2, Batch(1, world.number, 1, 0, highest + 10, world[1].fences.limit, ())
    )
    assert world.get(1, "y").fence > highest + 10


def test_a_fence_that_cannot_be_is_refused() -> None:
    world = World(2)
    with pytest.raises(RemoteError, match="there can be no fence"):
        world[1].receive(2, Batch(1, 1, 1, 0, 1 << 70, 1 << 71, ()))
    assert world.get(1).fence < 1 << 53


# Every algorithm


def rounds(world: World, wanted: Demand, times: int) -> Iterator[list[User]]:
    """Three users, each on a node of its own, come back as often as that."""
    left = dict.fromkeys(world.nodes, times)
    users = {member: world.ask(member, wanted=wanted) for member in world.nodes}
    while users:
        world.settle()
        inside = [user for user in users.values() if user.holds]
        assert inside, "nobody gets in"
        yield inside
        member = next(m for m, user in users.items() if user is inside[0])
        world.release(users.pop(member))
        left[member] -= 1
        if left[member]:
            users[member] = world.ask(member, wanted=wanted)


@pytest.mark.parametrize("name", LOCKS)
def test_every_algorithm_serves_locks_one_at_a_time_and_is_forgotten(name: str) -> None:
    world = World(3, remember=5.0)
    fences = []
    for inside in rounds(world, demand(name), 4):
        assert len(inside) == 1
        fences.append(inside[0].fence)
    assert len(fences) == 12 and fences == sorted(set(fences))
    world.pass_time(20)
    assert world.remembers_nothing
    assert world.remote_errors == 0


@pytest.mark.parametrize("name", SEMAPHORES)
def test_every_semaphore_serves_and_is_forgotten(name: str) -> None:
    world = World(3, remember=5.0)
    most = max(len(inside) for inside in rounds(world, demand(name, 2), 4))
    assert most == 2
    world.pass_time(20)
    assert world.remembers_nothing
    assert world.remote_errors == 0


@pytest.mark.parametrize("name", LOCKS)
def test_every_algorithm_is_formed_anew_with_the_holder_first(name: str) -> None:
    wanted = demand(name)
    for holds in (1, 2, 3):
        world = World(4)
        holder = world.get(holds, wanted=wanted)
        others = [world.wait(member, wanted=wanted) for member in (1, 2, 3, 4)]
        assert holder.holds
        assert set(world.served(holder, others)) == set(others)
        assert world.remote_errors == 0


# In the end


@pytest.mark.parametrize("wanted", [LOCK, READ, SEMAPHORE, CLOCKED], ids=str)
def test_nothing_is_remembered_in_the_end(wanted: Demand) -> None:
    world = World(17, remember=5.0)
    for name in ("x", "y", "z"):
        world.use(3, 4, 5, 17, name=name, wanted=wanted)
    world.die(17)
    world.settle()
    world.use(6, wanted=wanted)
    world.die(1)
    user = world.ask(7, wanted=wanted)
    world.settle()
    world.finish(user)
    world.pass_time(20)
    assert world.remembers_nothing
    assert all(not node.waits_for_view and not node.awaited for node in world.awake())
    assert world.remote_errors == 0


def test_messages_between_members_of_a_circle_carry_no_view() -> None:
    for kind in OF_HOMES:
        assert "view" in kind._fields, kind


def test_a_node_alone_needs_nobody() -> None:
    node = Node(lambda: 0.0)
    assert not node.running and node.drain() == []
    assert not any(node.remembers().values())
