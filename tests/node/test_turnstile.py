"""Which local users are let in, and what becomes of those that do not wait: one test for
each rule of node/turnstile.py.
"""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from peerlock.algorithms.ricart_agrawala import Request
from peerlock.core.errors import NotHeld
from peerlock.node.locks import NamedLock
from peerlock.node.node import Node
from peerlock.node.terms import Demand, demand
from peerlock.node.turnstile import PATIENCE
from peerlock.node.waiters import State, Waiter
from peerlock.node.wire import Probe, Probed
from tests.support.nodes import (
    CLOCKED,
    LOCK,
    READ,
    SEMAPHORE,
    SEMAPHORES,
    User,
    World,
    said,
)

# Local users


def test_local_users_are_let_in_in_the_order_in_which_they_came() -> None:
    world = World(2)
    users = [world.ask(1) for _ in range(4)]
    world.settle()
    for i, user in enumerate(users):
        assert [u.holds for u in users] == [j == i for j in range(4)]
        world.finish(user)


def test_a_local_hand_over_needs_no_message() -> None:
    world = World(2)
    first, second = world.ask(1), world.ask(1)
    world.settle()
    world.release(first)
    assert second.holds
    assert world.settle() == []
    assert world[1].statistics.handed_over == 1


def test_a_lock_is_handed_over_a_bounded_number_of_times() -> None:
    world = World(2, hand_overs=2, hand_over_time=inf)
    world.use(1, 2)
    a, b, c = (world.ask(1) for _ in range(3))
    world.settle()
    other = world.ask(2)
    world.settle()
    world.finish(a)
    assert b.holds
    world.finish(b)
    assert other.holds and not c.holds
    world.finish(other)
    assert c.holds


def test_a_lock_is_handed_over_for_a_bounded_time() -> None:
    world = World(2, hand_over_time=1.0)
    world.use(1, 2)
    a, b = world.ask(1), world.ask(1)
    world.settle()
    other = world.ask(2)
    world.settle()
    world.now += 1.0
    world.finish(a)
    assert other.holds and not b.holds
    world.finish(other)
    assert b.holds  # however late it is: it is the first one after a grant


def test_with_one_hand_over_all_is_strictly_in_turn() -> None:
    world = World(3, hand_overs=1, hand_over_time=inf)
    holder = world.get(1)
    waiting = []
    for member in (1, 2, 3, 2, 1, 3):
        waiting.append((member, world.ask(member)))
        world.settle()
    order = []
    while waiting:
        world.finish(holder)
        ((member, holder),) = [(m, user) for m, user in waiting if user.holds]
        waiting.remove((member, holder))
        order.append(member)
    assert sorted(order[:3]) == sorted(order[3:]) == [1, 2, 3]


def test_a_user_that_comes_back_before_the_next_turn_takes_the_lock_at_once() -> None:
    world = World(2)
    world.use(1, 2, wanted=CLOCKED)
    user, again = world.get(1, wanted=CLOCKED), User(CLOCKED)
    world.release(user)
    assert world[1].take("x", again)
    assert again.holds and again.fence == user.fence + 1
    assert not world[1].take("x", User(CLOCKED))  # it is not free any more
    world.finish(again)
    assert not world[1].take("x", User(CLOCKED))  # the turn is over


def lingering(wanted: Demand = LOCK, **knobs: Any) -> World:
    """Two have used it, the first of them last."""
    world = World(2, **({"hand_over_time": inf} | knobs))
    world.use(1, 2, 1, wanted=wanted)
    return world


@pytest.mark.parametrize("wanted", [LOCK, READ])
def test_a_lock_that_nobody_waits_for_lingers_and_needs_no_turn(wanted: Demand) -> None:
    world, user = lingering(wanted), User(wanted)
    for _ in range(3):
        assert world[1].take("x", user)
        assert world[1].put_back(user)
        assert not world[1].wants_turn and not world[1].has_something_to_say
        user = User(wanted)


def test_what_lingers_is_let_go_of_as_soon_as_another_asks() -> None:
    world = lingering()
    other = world.ask(2)
    world.carry()
    assert other.holds  # and nobody has taken a turn
    assert not world[1].take("x", User(LOCK))


def test_what_lingers_and_is_in_use_is_let_go_of_at_the_turn_after_another_has_asked() -> (
    None
):
    world, user = lingering(), User(LOCK)
    assert world[1].take("x", user)
    other = world.wait(2)
    assert user.holds and not world[1].put_back(user)
    world.release(user)
    assert world[1].wants_turn and other.waits
    world.settle()
    assert other.holds


def test_a_local_user_that_cannot_come_back_asks_anew_at_once() -> None:
    world = lingering(hand_over_time=0.001)
    world.now += 1.0
    assert not world[1].take("x", User(LOCK))
    user = world.ask(1)
    assert user.holds
    other = world.wait(2)
    second = world.ask(1)
    world.finish(user)
    assert second.holds or other.holds


def test_a_writer_does_not_go_in_by_what_lingers_of_a_reader() -> None:
    world = lingering(READ)
    other = world.get(2, wanted=READ)
    writer = world.ask(1)
    world.settle()
    assert writer.waits
    world.finish(other)
    assert writer.holds


def test_what_lingers_unused_is_given_back() -> None:
    world = lingering()
    world.pass_time(1)
    assert "x" in world[1].locks
    world.pass_time(1)
    assert not world[1].locks and not world[2].locks and not world[1].homes


def test_what_lingers_and_is_used_is_kept() -> None:
    world = lingering(hand_over_time=0.001)
    for _ in range(6):
        world.finish(world.get(1))
        world.pass_time(1)
    assert "x" in world[1].locks


def test_what_lingers_and_is_used_in_the_quick_way_is_kept() -> None:
    world = World(1)
    world.use(1)
    epoch = world.lock(1).epoch
    for _ in range(6):
        user = User(LOCK)
        assert world[1].take("x", user) and world[1].put_back(user)
        world.pass_time(1)
    assert world.lock(1).epoch == epoch
    world.pass_time(1)
    assert "x" not in world[1].locks


def test_one_that_comes_when_all_hand_overs_were_used_asks_a_turn_later() -> None:
    world = lingering(hand_overs=2)
    user, again = world.get(1), User(LOCK)
    other = world.wait(2)
    world.release(user)
    assert world[1].take("x", again) and not world[1].put_back(again)
    world.release(again)
    world.carry()
    assert other.holds  # and nobody has taken a turn
    late = world.ask(1)
    assert not world[1].has_something_to_say  # it has not asked yet
    world.settle()
    world.finish(other)
    assert late.holds


def test_one_that_comes_when_the_time_is_over_asks_a_turn_later() -> None:
    """In between its node has received what others had requested before."""
    world = lingering(hand_over_time=1.0)
    user = world.get(1)
    other = world.ask(2)  # its request is still under way when the time is over
    world.now += 1.0
    world.release(user)
    late = world.ask(1)
    assert late.waits
    world.settle()
    assert other.holds


def test_what_was_to_be_let_go_of_when_all_was_lost_is_let_go_of_again_later() -> None:
    world = World(2, hand_over_time=inf)
    world.use(2, 1, wanted=CLOCKED)
    world.release(world.get(1, wanted=CLOCKED))
    holder, user = world.ask(1, wanted=CLOCKED), world.ask(1, wanted=CLOCKED)
    assert holder.holds and world.lock(1).marked
    world[1].lose_everything()
    world.nodes[3] = world.nodes.pop(1)  # it joins again
    world.see(2, 3)
    world.settle()
    assert user.holds
    world.release(user)
    world.settle()
    assert world.get(2, wanted=CLOCKED).holds


def test_whoever_opens_a_name_gets_what_lingers_elsewhere() -> None:
    world = lingering()
    world.join(3)
    world.settle()
    assert world.ask(3).waits
    world.settle()
    assert next(world[3].holding())


def test_what_has_lingered_may_be_idle_while_the_circle_is_formed_anew() -> None:
    world = lingering()
    world.join(3)
    world.settle()
    world.still.add(2)
    user = world.ask(3)
    world.settle()
    assert world.lock(1).circle.members == ()
    world.pass_time(3)
    world.wake(2)
    world.settle()
    assert user.holds


def test_the_quick_way_is_bounded_too() -> None:
    world = World(2, hand_overs=3, hand_over_time=inf)
    world.use(1, 2)
    user = world.get(1)
    for _ in range(2):
        world.release(user)
        user = User(LOCK)
        assert world[1].take("x", user)
    world.release(user)
    assert not world[1].take("x", User(LOCK))


def test_alone_in_the_circle_nothing_is_bounded_until_another_comes() -> None:
    world = World(2, hand_overs=3, hand_over_time=0.001)
    user = world.get(1)
    for _ in range(100):
        world.now += 0.01
        world.release(user)
        user = User(LOCK)
        assert world[1].take("x", user)
    other = world.wait(2)
    mine = world.ask(1)
    world.release(user)
    world.settle()
    assert other.holds and mine.waits


def test_alone_nothing_is_taken_after_the_end_of_the_lease() -> None:
    must_be_taken_in_time(World(2, hand_over_time=inf))


def test_together_nothing_is_taken_after_the_end_of_the_lease() -> None:
    world = World(2, hand_over_time=inf)
    world.use(1, 2)
    must_be_taken_in_time(world)


def must_be_taken_in_time(world: World) -> None:
    world[1].renewed(world.now + 1.0)
    world.release(world.get(1))
    world.now += 1.0
    assert not world[1].take("x", User(LOCK))


@pytest.mark.parametrize("leaves", ["before", "after"])
def test_a_writer_never_goes_in_by_a_readers_grant(leaves: str) -> None:
    world = lingering(READ)
    reader, other = world.get(1, wanted=READ), world.get(2, wanted=READ)
    if leaves == "before":
        world.release(reader)
    writer = world.ask(1)
    assert world[1].give_up(writer)
    if leaves == "after":
        world.release(reader)
    assert other.holds
    assert not world[1].take("x", User(LOCK))


def test_a_reader_joins_readers_however_late_if_nobody_else_asks() -> None:
    world = World(2, hand_overs=2)
    world.use(1, 2)
    first = world.get(1, wanted=READ)
    for _ in range(4):
        world.pass_time(1)
        world.get(1, wanted=READ)
    writer = world.wait(2)
    late = world.wait(1, wanted=READ)
    assert first.holds and not writer.holds and not late.holds


def test_a_reader_joins_readers_that_have_entered_again() -> None:
    world = World(3)
    world.get(1, wanted=READ)
    world.get(3, wanted=READ)  # a newcomer: the circle is formed anew
    world.pass_time(1)
    world.get(1, wanted=READ)


def test_ctrl_c_in_a_grant_leaves_no_holder_that_nobody_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(self: NamedLock, waiter: Waiter) -> None:
        raise KeyboardInterrupt

    world = World(1)
    user = Waiter(demand())
    monkeypatch.setattr(NamedLock, "add_holder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world[1].acquire("x", user)
    assert user.state is State.WAITING
    assert not list(world[1].holding())


def test_a_reader_from_before_the_epoch_joins_if_no_other_member_waits() -> None:
    """That another member holds it, too, is no reason to wait."""
    world = World(4)
    world.use(4, wanted=READ)
    for member in (2, 3):
        world.get(member, wanted=READ)
    world.slow.add((3, 1))  # what the home waits for
    world.die(4)
    world.settle()
    late = world.ask(2, wanted=READ)
    world.settle()
    assert late.waits
    world.hasten(3, 1)
    world.settle()
    assert late.holds


def test_a_reader_from_before_the_epoch_does_not_overtake_an_older_writer() -> None:
    world = World(5)
    readers = [world.get(member, wanted=READ) for member in (1, 3)]
    world.use(2, 4, wanted=READ)
    writer = world.wait(2)
    between, late = (world.wait(member, wanted=READ) for member in (4, 3))
    before, newcomer = world.lock(3).epoch, world.ask(5, wanted=READ)
    world.carry(lambda: world.lock(3).epoch != before and world.lock(3).slots[0].here)
    world.slow.add((2, 3))  # the writer's request in the new epoch is delayed there
    world.settle()
    assert world.lock(3).running and not late.holds
    world.hasten(2, 3)
    world.settle()
    for reader in readers:
        world.finish(reader)
    assert writer.holds
    world.finish(writer)
    assert all(user.holds for user in (between, late, newcomer))


def test_a_reader_from_before_the_epoch_joins_readers_that_are_in_by_a_later_grant() -> (
    None
):
    world = World(3, hand_overs=1, hand_over_time=inf)
    world.use(1, 2, 3, wanted=READ)
    reader, writer = world.get(1, wanted=READ), world.wait(2)
    late = [world.wait(1, wanted=READ) for _ in range(2)]
    world.die(3)
    world.settle()
    world.finish(reader)
    assert writer.holds
    world.finish(writer)
    assert all(user.holds for user in late)


# Giving up


def test_a_user_that_gives_up_before_anything_was_asked_leaves_nothing() -> None:
    world = World(2, remember=5.0)
    user = world.ask(2)  # the name is being opened, at its home, 1
    assert world[2].give_up(user)
    assert user.state is State.GAVE_UP and user.told == []
    world.settle()
    world.finish(world.get(1))
    world.pass_time(20)
    assert world.remembers_nothing


def test_a_user_that_gives_up_before_there_is_a_view_leaves_nothing() -> None:
    node = Node(lambda: 0.0)
    user = User(LOCK)
    node.acquire("x", user)
    assert node.give_up(user)
    assert not any(node.remembers().values())


def test_what_is_granted_to_nobody_is_released_at_once() -> None:
    world = World(2)
    holder, user = world.get(1), world.ask(2)
    world.settle()  # it has asked
    world[2].give_up(user)
    world.finish(holder)
    assert user.told == []
    world.get(1)


def test_a_request_that_was_given_up_serves_the_next_user() -> None:
    world = World(2)
    world.use(2, wanted=CLOCKED)
    holder, user = world.get(1, wanted=CLOCKED), world.ask(2, wanted=CLOCKED)
    assert said(world.settle(), Request) == 1
    world[2].give_up(user)
    later = world.ask(2, wanted=CLOCKED)
    world.release(holder)
    assert said(world.settle(), Request) == 0
    assert later.holds and user.state is State.GAVE_UP


def test_only_a_waiter_can_give_up() -> None:
    world = World(1)
    user = world.get(1)
    assert not world[1].give_up(user)
    assert user.holds
    world.finish(user)
    assert not world[1].give_up(user)
    assert not world[1].give_up(User(LOCK))


def test_a_user_that_gives_up_lets_those_behind_it_in() -> None:
    """A reader behind a writer."""
    world = World(1)
    world.get(1, wanted=READ)
    writer, reader = world.ask(1), world.ask(1, wanted=READ)
    assert not reader.holds
    world[1].give_up(writer)
    assert reader.holds


def test_a_lock_that_a_local_user_waits_for_is_not_put_back() -> None:
    world = World(2, hand_over_time=inf)
    world.use(1, 2, wanted=CLOCKED)
    world.release(world.get(1, wanted=CLOCKED))  # the lock is marked now
    again = User(CLOCKED)
    assert world[1].take("x", again)
    other = world.ask(1, wanted=CLOCKED)
    assert not world[1].put_back(again)
    world.finish(again)
    assert other.holds


# Ownership


def test_a_lock_is_released_once() -> None:
    world = World(1)
    user = world.get(1)
    world.finish(user)
    with pytest.raises(NotHeld, match="released"):
        world[1].release(user)
    world.get(1)


def test_only_a_holder_can_release() -> None:
    world = World(2)
    holder, waiting, gone = world.get(1), world.ask(2), world.ask(2)
    world[2].give_up(gone)
    for user, why in ((waiting, "waiting"), (gone, "gave up"), (User(LOCK), "waiting")):
        with pytest.raises(NotHeld, match=why):
            world[2].release(user)
    assert holder.holds
    world.finish(holder)
    assert waiting.holds


# Several at once


@pytest.mark.parametrize("name", ["", *SEMAPHORES])
def test_all_permits_can_be_had_within_one_node(name: str) -> None:
    world = World(2)
    wanted = demand(name, 3)
    users = [world.ask(1, wanted=wanted) for _ in range(5)]
    world.settle()
    assert [user.holds for user in users] == [True, True, True, False, False]
    world.finish(users[1])
    assert users[3].holds and not users[4].holds


@pytest.mark.parametrize("name", ["", *SEMAPHORES])
def test_all_permits_can_be_had_across_nodes_and_epochs(name: str) -> None:
    world = World(4)
    wanted = demand(name, 3)
    users = [world.get(member, wanted=wanted) for member in (1, 2, 1)]
    others = [world.wait(member, wanted=wanted) for member in (2, 3)]
    others.append(world.wait(4, wanted=wanted))  # the circle is formed anew
    assert all(user.holds for user in users) and not any(other.holds for other in others)
    for i, user in enumerate(users, start=1):
        world.finish(user)
        assert sum(other.holds for other in others) == i


def test_readers_of_one_node_share_one_request_and_stay_together_over_epochs() -> None:
    world = World(3)
    readers = [world.get(member, wanted=READ) for member in (1, 1, 2)]
    writer = world.wait(3)  # a newcomer: the circle is formed anew
    for reader in readers:
        assert reader.holds and not writer.holds
        world.finish(reader)
    assert writer.holds


def test_in_a_new_epoch_what_is_held_is_asked_for_first_and_everybody_gets_it() -> None:
    """As many as may be inside: none of them is let in anew, and none is lost."""
    for wanted in (LOCK, READ, SEMAPHORE):
        world = World(4)
        holders = [world.get(1, wanted=wanted)]
        if wanted is not LOCK:
            holders.append(world.get(2, wanted=wanted))
        newcomer = world.ask(3, wanted=wanted)
        world.settle()
        world.die(4)
        world.settle()
        assert all(holder.told == ["granted"] and holder.holds for holder in holders)
        assert newcomer.holds == (wanted is READ)
        for holder in holders:
            world.finish(holder)
        assert newcomer.holds and world.remote_errors == 0


# Probing


def test_a_probe_says_whether_others_are_in_or_want_in() -> None:
    world = World(3)
    holder = world.get(1)
    user = world.ask(2)
    world[2].probe(user)
    assert user.busy is None  # nobody has answered yet
    world.settle()
    assert user.busy is True
    world[2].give_up(user)
    world.finish(holder)

    again = world.ask(3)
    world[3].probe(again)
    world.settle()
    assert again.holds or again.busy is False


def test_a_probe_among_readers_finds_nobody_in_its_way() -> None:
    world = World(2)
    world.get(1, wanted=READ)
    reader, writer = world.ask(2, wanted=READ), world.ask(2)
    world[2].probe(reader)
    world[2].probe(writer)
    world.settle()
    assert reader.holds
    assert writer.busy is True


def test_probing_asks_the_circle_only() -> None:
    world = World(5)
    world.use(2, 3)
    holder, user = world.get(2), world.ask(3)
    world[3].probe(user)
    carried = world.settle()
    assert [(p.sender, p.to) for p in carried if p.says(Probe)] == [(3, 2)]
    assert [(p.sender, p.to) for p in carried if p.says(Probed)] == [(2, 3)]
    assert user.busy is True and holder.holds


def test_a_probe_of_a_name_that_nobody_uses_asks_nobody() -> None:
    world = World(3)
    user = world.ask(3)
    world[3].probe(user)
    carried = world.settle()
    assert said(carried, Probe) == 0
    assert user.holds


def test_a_waiter_is_in_the_way_of_a_probe() -> None:
    """Not only a holder is: the waiter came first."""
    world = World(3)
    world.use(1, 2, 3, wanted=CLOCKED)
    waiter, user = world.ask(1, wanted=CLOCKED), world.ask(2, wanted=CLOCKED)
    world[2].probe(user)
    world.deliver(*[p for p in world.collect() if p.to != 3])
    world.deliver(*[p for p in world.collect() if p.to != 3])
    assert waiter.waits and user.waits
    assert user.busy is True


def test_a_user_that_only_probes_is_in_nobodys_way() -> None:
    world = World(2)
    world.use(1, 2, wanted=CLOCKED)
    users = {member: world.ask(member, wanted=CLOCKED) for member in (1, 2)}
    for member, user in users.items():
        world[member].probe(user)
    world.settle()
    assert all(user.busy is False or user.holds for user in users.values())
    assert sum(user.holds for user in users.values()) == 1


def test_a_probe_that_is_put_again_asks_all_again() -> None:
    world = World(2)
    world.use(1, 2, wanted=CLOCKED)
    users = {member: world.ask(member, wanted=CLOCKED) for member in (1, 2)}
    for member, user in users.items():
        world[member].probe(user)
    world.settle()
    ((member, user),) = [(m, u) for m, u in users.items() if u.waits]
    assert user.busy is False  # the other one did not hold it yet
    world[member].probe(user)
    world.settle()
    assert user.busy is True


def test_a_probe_is_repeated_when_the_circle_is_formed_anew() -> None:
    """A member that has just come in may be the one in the way."""
    world = World(4)
    world.use(1, 2)
    holder = world.get(1)
    user = world.ask(2)
    world[2].probe(user)
    world.collect()  # the probe is lost with the connection
    newcomer = world.ask(3)
    world[2].connected(1)
    world.settle()
    assert user.busy is True and holder.holds and newcomer.waits


def test_all_are_asked_again_when_the_circle_is_formed_anew_before_all_have_said_so() -> (
    None
):
    world = World(5)
    world.use(2, 3, wanted=CLOCKED)
    world.slow.add((2, 3))
    user = world.ask(3, wanted=CLOCKED)
    world[3].probe(user)
    world.settle()
    world.ask(4, wanted=CLOCKED)
    carried = world.settle()
    assert [(p.sender, p.to) for p in carried if p.says(Probe)] == [(3, 2), (3, 4)]
    assert user.busy is True  # says the newcomer
    world.hasten(2, 3)
    world.settle()
    assert user.holds


def test_a_probe_waits_for_no_member_that_is_out() -> None:
    world = World(3)
    world.use(1, 2, 3)
    world.finish(world.get(1))
    world.still.add(3)  # which does not answer
    user = world.ask(2)
    world[2].probe(user)
    world.settle()
    answered = user.busy is not None or user.holds
    world.still.discard(3)
    world.die(3)
    world.settle()
    assert not answered or user.holds
    assert user.busy is False or user.holds


@pytest.mark.parametrize("name", [f"n{i}" for i in range(6)])
def test_that_a_name_is_used_in_another_way_comes_before_that_it_is_used(name: str) -> None:
    """Whichever of the two answers, the home's or the holder's, comes first."""
    world = World(3)
    world.get(1, name, Demand(permits=2))
    user = world.ask(2, name)
    world[2].probe(user)
    world.settle()
    assert user.state is State.REFUSED and user.busy is None


@pytest.mark.parametrize("formed", [True, False])
def test_a_probe_that_is_not_answered_ends_as_in_use(formed: bool) -> None:
    """By a member of the circle that is stopped, or while the circle is formed with it."""
    world = World(2)
    world.use(*((2, 1) if formed else (1,)))
    user = world.ask(2)
    world[2].probe(user)
    world.now += PATIENCE - 0.1
    world[2].probe(user)
    assert user.busy is None
    world.now += 0.1
    world[2].probe(user)
    assert user.busy is True and user.waits


def test_a_probing_reader_finds_a_writer_in_its_way() -> None:
    """The algorithm is switched for it all the same, and the writer holds on."""
    world = World(2)
    writer = world.get(1)
    reader = world.ask(2, wanted=READ)
    world[2].probe(reader)
    world.settle()
    assert reader.busy is True and writer.holds


def test_a_probe_counts_permits() -> None:
    world = World(3)
    holders = [world.get(1, wanted=SEMAPHORE)]
    second = world.ask(2, wanted=SEMAPHORE)
    world[2].probe(second)
    world.settle()
    assert second.holds and not second.busy
    holders.append(second)
    third = world.ask(3, wanted=SEMAPHORE)
    world[3].probe(third)
    world.settle()
    assert third.busy is True and third.waits


def test_a_lock_is_not_put_back_quickly_after_the_lease() -> None:
    world = World(1, hand_over_time=inf)
    node = world[1]
    node.renewed(10.0)
    world.release(world.get(1))
    assert node.take("x", user := User(LOCK))
    world.now = 11.0
    assert not node.put_back(user)
    assert not node.check_lease()
    assert user.told == ["lost"]


def test_a_lock_is_not_taken_quickly_after_a_lease_that_was_shortened() -> None:
    """The machine was paused: less is left of the lease than was thought."""
    world = World(1, hand_over_time=inf)
    node = world[1]
    node.renewed(10.0)
    world.release(world.get(1))
    node.renewed(5.0)
    world.now = 5.0
    assert not node.take("x", User(LOCK))
    world.now = 4.9
    assert node.take("x", user := User(LOCK))
    node.renewed(4.0)
    assert not node.put_back(user)


# Asking again


def test_a_node_asks_again_only_a_turn_later() -> None:
    """In between it has heard what others want."""
    world = World(2, hand_overs=1)
    world.use(1, 2)
    first, second = world.ask(1), world.ask(1)
    world.settle()
    other = world.ask(2)  # its request is still under way when the first one releases
    world.release(first)
    assert second.waits
    world.carry()
    world[1].turn()
    world.carry()
    assert other.holds and second.waits


def test_local_users_ask_for_as_many_permits_as_they_are() -> None:
    world = World(2)
    wanted = demand("raymond-k", 3)
    users = [world.ask(2, wanted=wanted) for _ in range(2)]
    world.settle()
    assert all(user.holds for user in users)
    lock = world.lock(2)
    assert sum(slot.here for slot in lock.slots) == 2
    assert not any(slot.asking for slot in lock.slots)
