"""The lock node itself, batch by batch: one test for each of its promises.

Batches are carried by hand here, so that they can be late, lost, doubled or forged; whole
nodes under all kinds of faults at once are in test_cluster.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any, NamedTuple
from zlib import crc32

import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.ricart_agrawala import Reply, Request
from peerlock.core.errors import UsageError
from peerlock.core.peer import RemoteError
from peerlock.node import links
from peerlock.node.fences import COUNT_BITS, Fences
from peerlock.node.homes import Homes
from peerlock.node.knobs import Knobs
from peerlock.node.links import UNTOLD, Link
from peerlock.node.locks import State, Waiter
from peerlock.node.node import Node, NotHeld
from peerlock.node.terms import Demand, Terms, demand
from peerlock.node.views import Member, View
from peerlock.node.wire import (
    Batch,
    Close,
    Forget,
    Go,
    Message,
    Open,
    Opened,
    Ready,
    Recall,
    Refused,
    ToPeer,
)

LOCK, READ = demand(), demand(shared=True)
CLOCKED = demand("ricart-agrawala")  # asks everybody, always

LOCKS = [a.name for a in CATALOGUE if "lock" in a.serves]
SEMAPHORES = [a.name for a in CATALOGUE if "semaphore" in a.serves]


class User(Waiter):
    """It notes what it is told."""

    __slots__ = ("busy", "told", "why")

    def __init__(self, wanted: Demand) -> None:
        super().__init__(wanted)
        self.told: list[str] = []
        self.why = ""
        self.busy: bool | None = None

    def on_granted(self) -> None:
        self.told.append("granted")

    def on_refused(self, why: str) -> None:
        self.told.append("refused")
        self.why = why

    def on_lost(self) -> None:
        self.told.append("lost")

    def on_probed(self, busy: bool) -> None:
        self.busy = busy

    @property
    def holds(self) -> bool:
        return self.state is State.HOLDING


class Parcel(NamedTuple):
    sender: int
    to: int
    batch: Batch

    def says(self, kind: type) -> bool:
        return any(isinstance(message, kind) for message in self.batch.messages)


class World:
    """A few nodes, a clock, and a postman who does as he is told."""

    def __init__(self, size: int, **knobs: Any) -> None:
        self.now = 0.0
        self.number = 0
        self.nodes: dict[int, Node] = {}
        for i in range(1, size + 1):
            self.add(i, **knobs)
        self.see(*self.nodes)
        self.settle()

    def add(self, member: int, **knobs: Any) -> Node:
        node = self.nodes[member] = Node(lambda: self.now, Knobs(**knobs))
        return node

    def __getitem__(self, member: int) -> Node:
        return self.nodes[member]

    # Views

    def next_view(self, *members: int) -> View:
        self.number += 1
        return View(self.number, tuple(Member(i, f"at {i}", i) for i in members))

    def see(self, *members: int) -> View:
        """All of its members see the next view."""
        view = self.next_view(*members)
        for i in members:
            self[i].see(view, i)
        return view

    # Batches

    def collect(self) -> list[Parcel]:
        return [
            Parcel(i, to, batch)
            for i, node in self.nodes.items()
            for to, batch in node.drain()
        ]

    def deliver(self, *parcels: Parcel) -> None:
        for sender, to, batch in parcels:
            if to in self.nodes:
                self[to].receive(sender, batch)

    def carry(self) -> list[Parcel]:
        """All that is said, and what is said in answer, and so on."""
        carried: list[Parcel] = []
        while parcels := self.collect():
            self.deliver(*parcels)
            carried += parcels
        return carried

    def settle(self) -> list[Parcel]:
        """And all turns, until nothing moves any more."""
        carried = self.carry()
        while any(node.wants_turn for node in self.nodes.values()):
            for node in self.nodes.values():
                node.turn()
            carried += self.carry()
        return carried

    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1.0
            for node in self.nodes.values():
                node.tick()
            self.settle()

    # Users

    def ask(self, member: int, name: str = "x", wanted: Demand = LOCK) -> User:
        user = User(wanted)
        self[member].acquire(name, user)
        return user

    def get(self, member: int, name: str = "x", wanted: Demand = LOCK) -> User:
        """Ask, and hold."""
        user = self.ask(member, name, wanted)
        self.settle()
        assert user.holds
        return user

    def release(self, user: User) -> None:
        next(n for n in self.nodes.values() if user in n.holding()).release(user)

    def finish(self, user: User) -> None:
        self.release(user)
        self.settle()

    def name_at(self, home: int) -> str:
        """A name that is at home there."""
        members = list(self.nodes)
        names = (f"name {i}" for i in range(1_000))
        return next(n for n in names if members[crc32(n.encode()) % len(members)] == home)

    @property
    def remote_errors(self) -> int:
        return sum(node.statistics.remote_errors for node in self.nodes.values())

    @property
    def remembers_nothing(self) -> bool:
        return not any(any(node.remembers().values()) for node in self.nodes.values())


def said(parcels: list[Parcel], kind: type) -> int:
    """How many messages of a kind there are, those of algorithms included."""
    every = [message for parcel in parcels for message in parcel.batch.messages]
    inner = [message.message for message in every if isinstance(message, ToPeer)]
    return sum(isinstance(message, kind) for message in [*every, *inner])


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


def test_who_comes_back_before_the_next_turn_takes_the_lock_at_once() -> None:
    world = World(2)
    user, again = world.get(1), User(LOCK)
    world.release(user)
    assert world[1].take("x", again)
    assert again.holds and again.fence == user.fence + 1
    assert not world[1].take("x", User(LOCK))  # it is not free any more
    world.finish(again)
    assert not world[1].take("x", User(LOCK))  # the turn is over


def test_nobody_takes_the_lock_at_once_for_ever() -> None:
    world = World(2, hand_overs=3, hand_over_time=inf)
    user = world.get(1)
    for _ in range(2):
        world.release(user)
        user = User(LOCK)
        assert world[1].take("x", user)
    world.release(user)
    assert not world[1].take("x", User(LOCK))


@pytest.mark.parametrize("leaves", ["before", "after"])
def test_a_writer_never_goes_in_by_a_readers_grant(leaves: str) -> None:
    world = World(2, hand_over_time=inf)
    reader, other = world.get(1, wanted=READ), world.get(2, wanted=READ)
    if leaves == "before":
        world.release(reader)
    writer = world.ask(1)
    assert world[1].give_up(writer)
    if leaves == "after":
        world.release(reader)
    assert other.holds
    assert not world[1].take("x", User(LOCK))


# Giving up


def test_who_gives_up_before_anything_was_asked_leaves_nothing() -> None:
    world = World(2, remember=5.0)
    name = world.name_at(2)
    user = world.ask(1, name)  # the name is being opened
    assert world[1].give_up(user)
    assert user.state is State.GAVE_UP and user.told == []
    world.settle()
    world.finish(world.get(2, name))
    world.pass_time(20)
    assert world.remembers_nothing


def test_who_gives_up_before_there_is_a_view_leaves_nothing() -> None:
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


def test_what_was_asked_for_by_who_gave_up_serves_who_came_after() -> None:
    world = World(2)
    holder, user = world.get(1, wanted=CLOCKED), world.ask(2, wanted=CLOCKED)
    assert said(world.settle(), Request) == 1
    world[2].give_up(user)
    later = world.ask(2, wanted=CLOCKED)
    world.release(holder)
    assert said(world.settle(), Request) == 0
    assert later.holds and user.state is State.GAVE_UP


def test_only_who_waits_can_give_up() -> None:
    world = World(1)
    user = world.get(1)
    assert not world[1].give_up(user)
    assert user.holds
    world.finish(user)
    assert not world[1].give_up(user)
    assert not world[1].give_up(User(LOCK))


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


# Fences


def test_a_fence_is_the_view_and_a_count_within_it() -> None:
    world = World(2)
    assert world.get(1).fence == (world.number << COUNT_BITS) + 1


def test_fences_grow_whatever_happens_in_between() -> None:
    world = World(3, remember=5.0)
    fences = []

    def use(member: int) -> None:
        user = world.get(member)
        fences.append(user.fence)
        world.finish(user)

    a, b = world.ask(1), world.ask(1)  # from hand to hand within a node
    world.settle()
    world.finish(a)
    world.finish(b)
    fences += [a.fence, b.fence]
    for member in (2, 3, 1, 3, 2):  # from node to node
        use(member)
    world.pass_time(20)
    assert world.remembers_nothing
    use(3)  # the name was forgotten, and is opened again
    world.see(1, 2, 3)  # a new view
    world.settle()
    use(2)
    world.see(2, 3)  # the node that counted last may be gone
    world.settle()
    use(3)
    assert fences == sorted(set(fences))


# Views


def test_nobody_is_granted_anything_before_there_is_a_view() -> None:
    world = World(0)
    node = world.add(1)
    user = world.ask(1)
    assert user.state is State.WAITING and node.drain() == []
    world.see(1)
    assert user.holds


def test_holders_go_on_holding_over_a_view_and_are_first() -> None:
    world = World(2)
    holder, other = world.get(1), world.ask(2)
    world.settle()
    world.add(3)
    world.see(1, 2, 3)
    newcomer = world.ask(3)
    world.settle()
    assert holder.told == ["granted"] and holder.holds
    assert not other.holds and not newcomer.holds
    world.finish(holder)
    assert other.holds or newcomer.holds


def test_what_is_held_can_be_released_at_any_moment_of_a_recovery() -> None:
    for steps in range(8):
        world = World(3)
        holder, other = world.get(1), world.ask(2)
        world.settle()
        world.see(1, 2, 3)
        for _ in range(steps):
            world.deliver(*world.collect())
        world.release(holder)
        world.settle()
        assert other.holds, steps
    assert world.remote_errors == 0


def test_those_who_wait_ask_only_when_everybody_is_ready() -> None:
    world = World(3)
    name = world.name_at(2)
    view = world.next_view(1, 2, 3)
    for i in (1, 2):
        world[i].see(view)
    user = world.ask(2, name)
    carried = world.settle()
    assert said(carried, Ready) == 1  # the first member tells itself
    assert not world[1].running and not world[2].running
    assert not said(carried, Go) and not said(carried, Open)
    assert user.state is State.WAITING

    world[3].see(view)
    world.settle()
    assert all(world[i].running for i in (1, 2, 3))
    assert user.holds


def test_a_member_with_holders_is_ready_when_it_has_them_in() -> None:
    world = World(2)
    name = world.name_at(1)
    holder = world.get(2, name)
    world.see(1, 2)
    parcels = world.collect()
    assert said(parcels, Open) == 1 and not said(parcels, Ready)
    world.deliver(*parcels)
    (opened,) = world.collect()
    assert opened.says(Opened)
    world.deliver(opened)
    assert said(world.settle(), Ready) == 1
    assert world[1].running and holder.holds


def test_a_view_during_recovery_starts_it_over() -> None:
    for steps in range(6):
        world = World(3)
        holder, other = world.get(2), world.ask(3)
        world.settle()
        world.see(1, 2, 3)
        for _ in range(steps):
            world.deliver(*world.collect())
        world.see(2, 3)  # the first member is gone, whose word they waited for
        del world.nodes[1]
        world.settle()
        assert world[2].running and world[3].running, steps
        assert holder.holds and not other.holds
        world.finish(holder)
        assert other.holds
        assert world.remote_errors == 0


def test_batches_of_older_views_are_dropped() -> None:
    world = World(2)
    name = world.name_at(2)
    world.ask(1, name)
    old = world.collect()
    assert said(old, Open) == 1
    world.see(1, 2)
    world.deliver(*old)
    assert world[2].remembers()["homes"] == 0
    world.settle()
    assert world.remote_errors == 0


def test_batches_of_newer_views_are_kept_until_that_view_is_seen() -> None:
    world = World(2)
    view = world.next_view(1, 2)
    world[2].see(view)
    (ready,) = world.collect()
    world.deliver(ready)
    assert world[1].waits_for_view and world[1].view.number < view.number
    world[1].see(view)
    assert not world[1].waits_for_view and world[1].running
    world.settle()
    assert world[2].running


def test_views_may_be_skipped_and_older_ones_are_not_seen() -> None:
    world = World(2)
    older, newer = world.next_view(1), world.next_view(1, 2)
    for i in (1, 2):
        world[i].see(newer)
    world.settle()
    world[1].see(older)
    assert world[1].view is newer and world[1].running


def test_who_is_not_in_the_view_has_lost_everything_and_its_waiters_stay() -> None:
    world = World(2)
    holder, waiting = world.get(1), world.ask(1)
    other = world.ask(2)
    world.settle()
    view = world.next_view(2)
    for i in (1, 2):
        world[i].see(view)
    world.settle()
    assert holder.told == ["granted", "lost"] and holder.state is State.LOST
    assert other.holds
    with pytest.raises(NotHeld, match="lost"):
        world[1].release(holder)
    assert not world[1].member and waiting.state is State.WAITING

    view = world.next_view(2, 3)  # it comes back as somebody else
    world.nodes[3] = world.nodes.pop(1)
    for i in (2, 3):
        world[i].see(view, i)
    world.settle()
    assert other.holds and not waiting.holds
    world.finish(other)
    assert waiting.holds
    assert waiting.fence > other.fence > holder.fence


def test_what_is_meant_for_who_one_was_before_is_dropped() -> None:
    world = World(2)
    world.ask(1, world.name_at(2))
    (parcel,) = world.collect()
    world.deliver(parcel._replace(batch=parcel.batch._replace(to=7)))
    assert world[2].remembers()["homes"] == 0
    world.deliver(parcel)
    assert world[2].remembers()["homes"] == 1


# Leases


def noted_loss(world: World, holder: User) -> bool:
    return holder.told == ["granted", "lost"] and not world[1].member


@pytest.mark.parametrize(
    "act",
    [
        lambda world: world.ask(1),
        lambda world: world[1].receive(2, Batch(1, world.number, 1, 0, 0, 0, ())),
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
    assert noted_loss(world, holder)
    assert world[1].drain() == []


def test_who_is_out_says_nothing_more() -> None:
    world = World(2)
    world[1].renewed(10.0)
    world.get(2, world.name_at(1))
    world.now = 10.0
    world[1].tick()
    world[1].tick()
    assert not world[1].member and world[1].drain() == []


def test_a_batch_finds_that_the_lease_is_over() -> None:
    world = World(2)
    world[1].renewed(10.0)
    holder = world.get(1)
    world.now = 10.0
    world[1].receive(2, Batch(1, world.number, 1, 0, 0, 0, ()))
    assert holder.told == ["granted", "lost"]


def test_nobody_is_let_in_without_a_lease() -> None:
    world = World(2, hand_over_time=inf)
    world[1].renewed(10.0)
    a, b = world.ask(1), world.ask(1)
    world.settle()
    world.now = 10.0
    world.release(a)
    assert b.state is State.WAITING
    world.settle()
    assert b.state is State.WAITING and not world[1].member


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


def test_without_a_lease_one_is_in_no_view() -> None:
    world = World(2)
    world[1].renewed(10.0)
    world.now = 10.0
    view = world.next_view(1, 2)
    world[1].see(view)
    assert not world[1].member
    world[1].renewed(20.0)
    world[1].see(view)
    assert world[1].member


def test_a_lease_that_runs_out_over_a_batch_ends_it() -> None:
    world = World(2)
    name = world.name_at(2)
    other = next(n for n in map(str, range(100)) if at_home(n, 1, 2))
    users = world.ask(1, name), world.ask(1, other)
    world.deliver(*world.collect())
    (parcel,) = world.collect()
    assert [type(message) for message in parcel.batch.messages] == [Opened, Opened]

    node = world[1]
    node.renewed(1.0)
    readings = iter([0.0])  # as it begins; all others are later
    node.clock = lambda: next(readings, 2.0)
    world.deliver(parcel)
    assert not node.member
    assert [user.state for user in users] == [State.WAITING, State.WAITING]
    assert node.statistics.remote_errors == 0


# Links


def test_what_arrives_twice_is_taken_once() -> None:
    world = World(2)
    holder, other = world.get(1), world.ask(2)
    while parcels := world.collect():
        world.deliver(*parcels, *parcels)
    world.release(holder)
    world[1].turn()
    while parcels := world.collect():
        world.deliver(*parcels, *parcels)
    assert other.holds
    assert world.remote_errors == 0


def test_what_was_lost_comes_again_over_the_next_connection() -> None:
    world = World(2)
    user = world.ask(1, world.name_at(2))
    world.collect()  # and lost
    world.settle()
    assert not user.holds
    world[1].connected(2)
    world.settle()
    assert user.holds


def test_after_a_gap_nothing_is_taken_until_all_comes_again() -> None:
    """A gap is an error: the host then ends the connection, and another one is made."""
    world = World(2)
    world[1].tick()
    name = world.name_at(2)
    world.ask(1, name)
    world.collect()  # lost
    world.ask(1, name + " of another kind", CLOCKED)
    world.ask(1, world.name_at(2) + "'s friend")
    with pytest.raises(RemoteError, match="message 3 follows 1"):
        world.settle()
    assert world[2].remembers()["homes"] == 0
    world[1].connected(2)
    world.settle()
    assert world[1].remembers()["homes"] + world[2].remembers()["homes"] == 3


def test_the_last_batch_on_a_live_connection_is_not_lost_in_silence() -> None:
    """Nothing follows it that could show the gap, but what goes unanswered is repeated."""
    world = World(2)
    world.pass_time(2)
    user = world.ask(1, world.name_at(2))
    world.collect()  # lost: an Open, and nothing else is to be said
    world[1].tick()
    assert world.settle() == []  # it may be on its way
    world[1].tick()
    world.settle()
    assert user.holds


def test_the_last_batches_on_a_live_connection_are_not_lost_in_silence() -> None:
    world = World(2)
    world.pass_time(2)
    names = [name for name in map(str, range(100)) if at_home(name, 1, 2)]
    users = []
    for name in names[:3]:
        users.append(world.ask(1, name))
        world.collect()  # lost
    world[1].tick()
    world[1].tick()
    with pytest.raises(RemoteError, match="message 4 follows 1"):
        world.settle()
    world[1].connected(2)
    world.settle()
    assert all(user.holds for user in users)


def test_an_acknowledgement_that_was_lost_is_repeated() -> None:
    world = World(2)
    world.get(1, world.name_at(2))
    world[1].tick()
    world.collect()  # lost: only acknowledgements
    world.pass_time(4)
    assert world[2].remembers()["links"] == 0
    assert world.settle() == []


def test_a_new_connection_brings_the_acknowledgement_again() -> None:
    world = World(2)
    world.get(1, world.name_at(2))
    world[1].tick()
    world.collect()  # lost
    assert world[2].remembers()["links"] > 0
    world[1].connected(2)
    world.settle()
    assert world[2].remembers()["links"] == 0


def test_all_that_comes_early_is_kept_in_order() -> None:
    """Two are in a view that the third hears of late; each message comes by itself."""
    world = World(3)
    names = [name for name in map(str, range(200)) if at_home(name, 2, 3)]
    held = [world.get(1, name) for name in names[:20]]
    view = world.next_view(1, 2, 3)
    world[1].see(view)
    world[2].see(view)
    parcels = world.collect()
    for parcel in parcels:
        for i, message in enumerate(parcel.batch.messages):
            first = parcel.batch.first + i
            part = parcel.batch._replace(first=first, messages=(message,))
            world.deliver(parcel._replace(batch=part))
    assert world[3].remembers()["early"] == 20
    world[3].see(view)
    world.settle()
    assert all(node.running for node in world.nodes.values())
    assert all(user.holds for user in held)
    assert world.remote_errors == 0


def test_what_came_is_acknowledged_at_the_next_tick() -> None:
    world = World(2)
    world.get(1, world.name_at(2))
    assert world[2].remembers()["links"] > 0
    world.pass_time(1)
    assert world[1].remembers()["links"] == world[2].remembers()["links"] == 0
    assert world.settle() == []  # and an acknowledgement is not acknowledged


def test_much_that_came_is_acknowledged_without_a_tick() -> None:
    link, other = Link(), Link()
    for _ in range(UNTOLD - 1):
        link.post(Ready())
    other.accept(link.batch(2, 1, Fences()))
    assert not other.has_something_to_say and other.owes_acknowledgement
    link.post(Ready())
    other.accept(link.batch(2, 1, Fences()))
    assert other.has_something_to_say
    link.accept(other.batch(1, 1, Fences()))
    assert link.unacknowledged == 0
    assert not other.owes_acknowledgement


def test_of_what_comes_again_only_the_new_is_taken() -> None:
    link = Link()
    batch = Batch(2, 1, 1, 0, 0, 0, (Ready(), Go()))
    assert link.accept(batch) == (Ready(), Go())
    assert link.accept(batch._replace(first=2, messages=(Go(), Ready()))) == (Ready(),)


def test_a_full_link_holds_back_new_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "FULL", 5)
    world = World(2)
    home = world.name_at(1)
    names = [n for n in (f"{home} {i}" for i in range(200)) if at_home(n, 0, 2)][:20]
    world.pass_time(1)
    users = [world.ask(1, name, CLOCKED) for name in names]
    assert world[1].remembers()["links"] == 5  # nobody has carried anything yet
    world.pass_time(3)
    assert all(user.holds for user in users)


def at_home(name: str, rank: int, members: int) -> bool:
    return crc32(name.encode()) % members == rank


def test_what_is_held_back_and_given_up_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(links, "FULL", 1)
    world = World(2)
    world.pass_time(1)
    name = world.name_at(1)
    other = next(n for n in map(str, range(100)) if at_home(n, 0, 2))
    first, user = world.ask(1, name, CLOCKED), world.ask(1, other, CLOCKED)
    world[1].give_up(user)
    carried = world.settle()
    world.pass_time(2)
    assert first.holds and user.told == []
    assert said(carried, Request) == 1


def test_a_home_that_does_not_listen_is_not_asked_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(links, "FULL", 7)
    world = World(3, remember=5.0)
    names = [name for name in map(str, range(100)) if at_home(name, 2, 3)][:20]
    for name in names:
        world.get(2, name, CLOCKED)
    world.pass_time(1)
    assert world[1].remembers() == {"locks": 20, "homes": 0, "links": 0, "early": 0}
    for _ in range(50):
        world.now += 5.0
        world[1].tick()  # and the postman is on strike
    assert world[1].remembers()["links"] == 7


def test_what_comes_late_from_the_opening_before_is_dropped() -> None:
    world = World(2)
    name = world.name_at(1)
    world.release(world.get(1, name, CLOCKED))
    world[1].turn()
    world.settle()
    instance = world[1].locks[name].instance
    assert instance is not None
    late = ToPeer(name, instance.epoch, instance.terms, 2, 0, Request(7))
    instance.epoch += 1
    world[1]._receive_to_peer(2, late)
    assert world.collect() == []
    instance.epoch -= 1
    world[1]._receive_to_peer(2, late)
    assert said(world.collect(), Reply) == 1


def test_a_probe_counts_those_who_wait() -> None:
    world = World(3)
    name = world.name_at(1)
    holder = world.get(1, name)
    world.ask(2, name)
    world.settle()
    assert world[2].locks[name].users() == (1, 0)
    assert holder.holds


def test_one_who_gives_up_lets_those_behind_him_in() -> None:
    """A reader behind a writer."""
    world = World(1)
    world.get(1, "x", READ)
    writer, reader = world.ask(1, "x"), world.ask(1, "x", READ)
    assert not reader.holds
    world[1].give_up(writer)
    assert reader.holds


def test_a_lock_for_which_somebody_waits_here_is_not_put_back() -> None:
    world = World(1)
    holder = world.get(1, "x")
    world[1].release(holder)  # the lock is marked now
    again = User(LOCK)
    assert world[1].take("x", again)
    other = world.ask(1, "x")
    assert not world[1].put_back(again)
    world[1].release(again)
    world[1].turn()
    assert other.holds


def test_an_open_name_is_not_forgotten() -> None:
    world = World(2)
    name = world.name_at(1)
    holder = world.get(1, name)
    instance = world[1].locks[name].instance
    assert instance is not None
    world[1]._receive_forget(1, Forget(name, instance.epoch))
    assert world[1].locks[name].instance is instance and holder.holds


# Homes


class Home(Homes):
    """It notes what it says."""

    def __init__(self) -> None:
        self.said: list[tuple[int, Message]] = []
        super().__init__(lambda to, message: self.said.append((to, message)))
        self.afresh([1, 2, 3])


def test_a_home_tells_who_asks_about_what_it_has_forgotten() -> None:
    home = Home()
    home.recheck(2, "x", 7)
    assert home.said == [(2, Forget("x", 7))]


def test_nobody_opens_a_name_while_it_is_recalled() -> None:
    home = Home()
    home.open(1, "x", LOCK, None)
    home.open(2, "x", READ, None)
    assert [type(message) for _, message in home.said] == [Opened, Recall]
    home.open(3, "x", LOCK, None)
    assert len(home.said) == 2
    home.close(1, "x", 1)
    assert sum(isinstance(message, Opened) for _, message in home.said) == 3


def test_a_late_close_does_not_close_the_next_opening() -> None:
    home = Home()
    home.open(1, "x", LOCK, None)
    home.close(1, "x", 1)
    home.open(1, "x", LOCK, None)
    home.said.clear()
    home.close(1, "x", 1)
    assert home.said == [] and len(home) == 1


# Terms


SEMAPHORE = demand("", 2)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (LOCK, SEMAPHORE, "as a lock, not as a semaphore"),
        (SEMAPHORE, LOCK, "as a semaphore, not as a lock"),
        (SEMAPHORE, READ, "as a semaphore, not as a lock"),
        (SEMAPHORE, demand("", 3), "with 2 permits, not 3"),
        (CLOCKED, demand("maekawa"), "with ricart-agrawala, not with maekawa"),
        (LOCK, CLOCKED, "with naimi-trehel, not with ricart-agrawala"),
        (demand("srimani-reddy", 2), demand("raymond-k", 2), "not with raymond-k"),
        (CLOCKED, READ, "with ricart-agrawala, which has no shared locks"),
    ],
    ids=str,
)
@pytest.mark.parametrize("member", [1, 2])
def test_a_name_is_used_in_one_way_at_a_time(
    first: Demand, second: Demand, why: str, member: int
) -> None:
    world = World(2)
    holder = world.get(1, wanted=first)
    other = world.ask(member, wanted=second)
    world.settle()
    assert other.told == ["refused"] and other.state is State.REFUSED
    assert why in other.why
    assert holder.holds
    world.finish(holder)
    world.get(2, wanted=first)
    assert world.remote_errors == 0


@pytest.mark.parametrize("shared", [False, True])
def test_who_names_no_algorithm_takes_the_one_that_is_used(shared: bool) -> None:
    name = "ricart-agrawala-readers-writers"
    world = World(2)
    world.finish(world.get(1, wanted=demand(name)))
    world.finish(world.get(2, wanted=demand(shared=shared)))


def test_once_nobody_uses_a_name_it_can_be_used_in_another_way() -> None:
    world = World(2, remember=5.0)
    world.finish(world.get(1))
    world.pass_time(20)
    world.get(2, wanted=SEMAPHORE)


@pytest.mark.parametrize("there", [1, 2, 3])
def test_a_lock_switches_to_terms_with_readers(there: int) -> None:
    world = World(3)
    writer = world.get(1)
    waiting = world.ask(2)
    world.settle()
    reader = world.ask(there, wanted=READ)
    world.settle()
    assert writer.holds and not reader.holds
    world.finish(writer)
    for user in (waiting, reader) if waiting.holds else (reader, waiting):
        assert user.holds
        world.finish(user)
    readers = [world.get(member, wanted=READ) for member in (1, 2, 3, 1)]
    assert all(user.holds for user in readers)
    last = world.ask(3)
    world.settle()
    for user in readers:
        assert not last.holds
        world.finish(user)
    assert last.holds
    assert world.remote_errors == 0


def test_two_readers_that_want_to_switch_at_once_are_in_together() -> None:
    world = World(3)
    writer = world.get(1)
    readers = [
        world.ask(2, wanted=READ),
        world.ask(3, wanted=READ),
        world.ask(1, wanted=READ),
    ]
    world.settle()
    world.finish(writer)
    assert all(reader.holds for reader in readers)


def test_a_reader_that_gives_up_while_the_lock_switches_leaves_nothing() -> None:
    world = World(2, remember=5.0)
    writer, reader = world.get(1), world.ask(2, wanted=READ)
    world.settle()
    world[2].give_up(reader)
    world.finish(writer)
    world.finish(world.get(1))
    world.pass_time(20)
    assert world.remembers_nothing


def test_a_view_may_come_while_a_lock_switches() -> None:
    for steps in range(6):
        world = World(3)
        writer, reader = world.get(1), world.ask(2, wanted=READ)
        world.release(writer)
        for _ in range(steps):
            world.deliver(*world.collect())
        world.see(1, 2, 3)
        other = world.ask(3, wanted=READ)
        world.settle()
        assert reader.holds and other.holds, steps


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("", 2, True), "a semaphore is not shared"),
        (("", -1), "permits must be from 1 to 1,000, not -1"),
        (("", 1_001), "permits must be from 1 to 1,000, not 1001"),
        (("maekawa", 2), "maekawa cannot serve a semaphore; these can: raymond-k"),
        (("maekawa", 0, True), "maekawa cannot serve a shared lock; these can: ricart"),
        (("raymond-k",), "raymond-k cannot serve a lock; these can: central"),
        (("maekowa",), "did you mean maekawa"),
    ],
)
def test_a_demand_that_makes_no_sense_is_not_even_asked(
    arguments: tuple[Any, ...], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        demand(*arguments)


# Several at once


@pytest.mark.parametrize("name", ["", *(n for n in SEMAPHORES if n != "kakugawa")])
def test_all_permits_can_be_had_within_one_node(name: str) -> None:
    world = World(2)
    wanted = demand(name, 3)
    users = [world.ask(1, wanted=wanted) for _ in range(5)]
    world.settle()
    assert [user.holds for user in users] == [True, True, True, False, False]
    world.finish(users[1])
    assert users[3].holds and not users[4].holds


@pytest.mark.parametrize("name", ["", *(n for n in SEMAPHORES if n != "kakugawa")])
def test_all_permits_can_be_had_across_nodes_and_over_views(name: str) -> None:
    world = World(3)
    wanted = demand(name, 3)
    users = [world.get(member, wanted=wanted) for member in (1, 2, 1)]
    others = [world.ask(member, wanted=wanted) for member in (2, 3)]
    world.settle()
    assert not any(other.holds for other in others)
    world.see(1, 2, 3)
    world.settle()
    assert all(user.holds for user in users) and not any(other.holds for other in others)
    world.finish(users[0])
    assert sum(other.holds for other in others) == 1
    world.finish(users[1])
    assert all(other.holds for other in others)


def test_readers_of_one_node_share_one_request_and_stay_together_over_a_view() -> None:
    world = World(2)
    readers = [
        world.get(1, wanted=READ),
        world.get(1, wanted=READ),
        world.get(2, wanted=READ),
    ]
    world.see(1, 2)
    writer = world.ask(2)
    world.settle()
    for reader in readers:
        assert reader.holds and not writer.holds
        world.finish(reader)
    assert writer.holds


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
    assert most == (1 if name == "kakugawa" else 2)  # there, all three are one group
    world.pass_time(20)
    assert world.remembers_nothing
    assert world.remote_errors == 0


@pytest.mark.parametrize("name", LOCKS)
def test_every_algorithm_starts_afresh_in_a_view_with_the_holder_first(name: str) -> None:
    wanted = demand(name)
    for holds in (1, 2, 3):
        world = World(3)
        holder = world.get(holds, wanted=wanted)
        others = [world.ask(member, wanted=wanted) for member in (1, 2, 3)]
        world.settle()
        world.add(4)
        world.see(1, 2, 3, 4)
        others.append(world.ask(4, wanted=wanted))
        world.settle()
        assert holder.holds
        for _ in range(4):
            assert not any(other.holds for other in others)
            world.finish(holder)
            (holder,) = (other for other in others if other.holds)
            others.remove(holder)


# Forgetting


def test_a_name_in_use_is_not_forgotten() -> None:
    world = World(2, remember=5.0)
    holder, other = world.get(1), world.ask(2)
    world.settle()
    world.pass_time(30)
    assert holder.holds and not other.holds
    world.finish(holder)
    assert other.holds


def test_a_name_used_again_and_again_stays_open() -> None:
    world = World(2, remember=5.0)
    name = world.name_at(2)
    world.finish(world.get(1, name))
    opened = world[1].statistics.messages["Open"]
    for _ in range(10):
        world.pass_time(2)
        world.finish(world.get(1, name))
    assert world[1].statistics.messages["Open"] == opened


@pytest.mark.parametrize("wanted", [LOCK, CLOCKED], ids=["token", "permission"])
def test_many_names_used_once_leave_a_bounded_number(wanted: Demand) -> None:
    world = World(2, remembered=40)
    most = 0
    for i in range(1_000):
        world.finish(world.get(1 + i % 2, f"once {i}", wanted))
        most = max(most, *(node.remembers()["locks"] for node in world.nodes.values()))
        if i % 100 == 0:
            world.now += 0.1
            for node in world.nodes.values():
                node.tick()
    assert most <= 100


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


def test_who_only_probes_is_in_nobodys_way() -> None:
    world = World(2)
    world.see(1, 2)  # and nobody is ready yet
    users = {1: world.ask(1), 2: world.ask(2)}
    for member, user in users.items():
        world[member].probe(user)
    world.settle()
    assert all(user.busy is False or user.holds for user in users.values())
    assert sum(user.holds for user in users.values()) == 1


@pytest.mark.parametrize("name", [f"n{i}" for i in range(6)])
def test_that_a_name_is_used_in_another_way_comes_before_that_it_is_used(name: str) -> None:
    """Whichever of the two answers, the home's or the holder's, comes first."""
    world = World(3)
    world.get(1, name, Demand(permits=2))
    user = world.ask(2, name)
    world[2].probe(user)
    world.settle()
    assert user.state is State.REFUSED and user.busy is None


def test_a_probe_does_not_wait_until_a_lock_is_used_in_another_way() -> None:
    """A reader must wait until the writer is out and an algorithm for both is in use."""
    world = World(2)
    world.get(1)
    reader = world.ask(2, wanted=READ)
    world[2].probe(reader)
    world.settle()
    assert reader.busy is None
    world[2].probe(reader)
    assert reader.busy is True


# What no honest node would send


FOREIGN = Terms("no such algorithm", 0, True, 0)
NAIMI = Terms("naimi-trehel", 0, False, 0)


class Forged(NamedTuple):
    what: str
    message: Message


def forged(world: World) -> list[Forged]:
    here, there = world.name_at(1), world.name_at(2)
    senseless = [FOREIGN, Terms("raymond-k", 2_000, True, 0), NAIMI._replace(start=7)]
    return [
        Forged("open, at the wrong home", Open(there, LOCK)),
        Forged("close, at the wrong home", Close(there, 1)),
        Forged("an algorithm that there is not", Open(here, Demand("nonsense"))),
        Forged("a shared semaphore", Open(here, Demand("", 2, True))),
        Forged("more permits than there may be", Open(here, Demand("", 5_000))),
        Forged("held on terms that there are not", Open(here, LOCK, FOREIGN)),
        Forged("opened, unasked", Opened(here, 1, NAIMI)),
        Forged("refused, unasked", Refused(here, LOCK, "because")),
        Forged("go, from who is not the first", Go()),
        Forged("another's words", ToPeer(here, 1, NAIMI, 1, 1, None)),
        *(
            Forged(f"terms {t}", ToPeer(here, 1, t, t.slots + 1, 1, None))
            for t in senseless
        ),
    ]


def batch_to(world: World, to: int, number: int, *messages: Message) -> Batch:
    return Batch(to, world.number, number, 0, 0, 0, messages)


def test_what_makes_no_sense_is_counted_and_changes_nothing() -> None:
    for i, (what, message) in enumerate(forged(World(2))):
        world = World(2)
        number = 1 + world[1]._links[2]._received
        before = world[1].remembers()
        world[1].receive(2, batch_to(world, 1, number, message))
        assert world[1].statistics.remote_errors == 1, what
        assert world[1].remembers() == before, (i, what)
        assert world[1].drain() == [], what
        assert world[1].running


def test_a_peer_that_is_spoken_to_in_another_way_than_it_was_made_is_left_alone() -> None:
    world = World(2)
    semaphore = Terms("raymond-k", 3, True, 0)
    name = world.name_at(1)
    holder = world.get(1, name)
    number = 1 + world[1]._links[2]._received
    lock = world[1].locks[name]
    assert lock.instance is not None
    epoch = lock.instance.epoch
    world[1].receive(
        2, batch_to(world, 1, number, ToPeer(name, epoch, semaphore, 4, 3, None))
    )
    world[1].receive(
        2, batch_to(world, 1, number + 1, ToPeer(name, epoch, NAIMI, 2, 2, None))
    )
    assert world[1].statistics.remote_errors == 2
    assert holder.holds
    world.finish(holder)


def test_a_stranger_is_not_heard() -> None:
    world = World(2)
    with pytest.raises(RemoteError, match="9 is not in view 1"):
        world[1].receive(9, batch_to(world, 1, 1, Open("x", LOCK)))
    assert world[1].drain() == []


def test_nobody_can_acknowledge_what_was_never_sent() -> None:
    world = World(2)
    before = world[1].remembers()
    fence, limit = world[1].fences.highest + 77, world[1].fences.limit
    batch = Batch(1, world.number, 1, 1_000, fence, limit, ())
    with pytest.raises(RemoteError, match="message 1000 was acknowledged, and never sent"):
        world[1].receive(2, batch)
    assert world[1].remembers() == before
    assert world.get(1).fence & ((1 << COUNT_BITS) - 1) == 1  # the count did not come in


def test_a_stranger_in_a_view_to_come_does_not_disturb_it() -> None:
    world = World(2)
    view = world.next_view(1, 2)
    world[1].receive(9, batch_to(world, 1, 1, Open("x", LOCK)))
    world[2].see(view)
    world.deliver(*world.collect())
    world[1].see(view)
    world.settle()
    assert world[1].running and world[2].running
    assert world[1].statistics.remote_errors == 1


def test_what_comes_from_views_that_never_come_is_bounded() -> None:
    world = World(2)
    batch = Batch(1, 99, 1, 0, 0, 0, ())
    for _ in range(1_000):
        world[1].receive(2, batch)
    with pytest.raises(RemoteError, match="too much from views"):
        world[1].receive(2, batch)
    assert world[1].remembers()["early"] == 1_000


def test_what_comes_after_its_opening_was_forgotten_leaves_nothing() -> None:
    """Two ways lead to a node, and what goes by the one may be overtaken by the other."""
    world = World(3)
    late = ToPeer("x", 1, Terms("ricart-agrawala", 0, True, 0), 2, 1, Reply())
    number = 1 + world[1]._links[2]._received
    world[1].receive(2, batch_to(world, 1, number, late))
    assert world[1].remembers()["locks"] == 0
    assert world.remote_errors == 0


def test_a_recall_of_what_is_not_open_is_no_error() -> None:
    world = World(2)
    number = 1 + world[1]._links[2]._received
    world[1].receive(2, batch_to(world, 1, number, Recall("x", 1)))
    assert world.remote_errors == 0
