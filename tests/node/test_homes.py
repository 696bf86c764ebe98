"""The home of a name keeps its circle: one test for each rule of node/homes.py."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import inf, nan
from typing import Any

import pytest

from peerlock.algorithms.lookup import algorithm
from peerlock.core.errors import UsageError
from peerlock.core.peer import RemoteError
from peerlock.node import circles
from peerlock.node.homes import Entry
from peerlock.node.locks import OPEN, Slot, Stage
from peerlock.node.succession import home_among
from peerlock.node.terms import Demand, demand
from peerlock.node.turnstile import Turnstile
from peerlock.node.waiters import State
from peerlock.node.wire import (
    Close,
    Epoch,
    Formed,
    NameReport,
    Open,
    Opened,
    Reform,
    Refused,
    Stale,
    Tell,
    Told,
)
from tests.support.nodes import (
    CLOCKED,
    LOCK,
    LOCKS,
    READ,
    SEMAPHORE,
    SEMAPHORES,
    SHARED_LOCKS,
    User,
    World,
    messages,
    names_touched,
    said,
)


def entry(world: World, name: str = "x") -> Entry:
    return world[world.home(name)].homes._entries[name]


def circle(world: World, name: str = "x") -> set[int]:
    """As all of its members and its home see it."""
    known = entry(world, name).circle
    for member in known:
        assert world.lock(member, name).circle.members == known
        assert world.lock(member, name).epoch == entry(world, name).epoch
    return set(known)


# Entering re-forms


def test_the_circle_of_a_name_is_the_members_that_use_it() -> None:
    world = World(5)
    world.use(2, 4)
    assert circle(world) == {2, 4}
    world.use(3, name="y")
    assert circle(world) == {2, 4} and circle(world, "y") == {3}


def test_entering_re_forms_the_circle_and_no_other() -> None:
    world = World(5)
    world.use(2, 4)
    world.use(2, 4, name="y")
    before, other = entry(world).epoch, entry(world, "y").epoch
    user = world.ask(3)
    carried = world.settle()
    assert user.holds and circle(world) == {2, 3, 4}
    assert entry(world).epoch > before and entry(world, "y").epoch == other
    assert said(carried, Reform) == said(carried, Formed) == 2
    assert said(carried, Opened) == 3
    assert names_touched(carried) == {"x"}


def test_the_home_opens_only_when_all_have_formed() -> None:
    world = World(5)
    world.use(2, 4)
    holder = world.get(4)
    world.still.add(4)
    user = world.ask(3)
    carried = world.settle()
    assert said(carried, Reform) == 2 and said(carried, Formed) == 1
    assert said(carried, Opened) == 0 and user.waits
    assert world[1].awaited == {4}
    world.wake(4)
    world.settle()
    assert circle(world) == {2, 3, 4}
    assert holder.holds and user.waits
    world.finish(holder)
    assert user.holds


def test_newcomers_that_come_meanwhile_are_taken_along_in_one_go() -> None:
    world = World(9)
    world.use(2, 3)
    epoch = entry(world).epoch
    world.still.add(3)
    users = [world.ask(member) for member in (4, 5, 6)]
    world.settle()
    users += [world.ask(member) for member in (7, 8)]
    world.settle()
    assert all(user.waits for user in users)
    world.wake(3)
    carried = world.settle()
    assert said(carried, Opened) == 7 and said(carried, Reform) == 0
    assert circle(world) == {2, 3, 4, 5, 6, 7, 8}
    assert entry(world).epoch.number == epoch.number + 1
    (first,) = (user for user in users if user.holds)
    assert world.served(first, [u for u in users if u is not first])


def test_many_newcomers_at_once_re_form_a_name_a_few_times_only() -> None:
    world = World(20)
    name = world.name_at(1)
    users = [world.ask(member, name) for member in world.nodes]
    epoch = world[1].homes._count
    world.settle()
    assert sum(user.holds for user in users) == 1
    assert world[1].homes._count - epoch <= 3


# A death re-forms


def test_a_death_re_forms_the_circles_of_the_dead_member_and_no_others() -> None:
    world = World(5)
    world.use(2, 3, 4)
    world.use(2, 3, name="y")
    epoch, other = entry(world).epoch, entry(world, "y").epoch
    world.die(4)
    carried = world.settle()
    assert circle(world) == {2, 3} and entry(world).epoch > epoch
    assert entry(world, "y").epoch == other
    assert names_touched(carried) == {"x"}


def test_a_dead_holder_is_followed_by_the_next_in_turn() -> None:
    world = World(5)
    world.use(2, 3, 4)
    world.get(4)
    first, second = world.wait(3), world.wait(2)
    world.die(4)
    world.settle()
    assert first.holds and second.waits
    world.finish(first)
    assert second.holds


def test_a_dead_member_is_waited_for_no_longer() -> None:
    world = World(5)
    world.use(2, 4)
    world.still.add(4)
    user = world.ask(3)
    world.settle()
    assert user.waits
    world.still.remove(4)
    world.die(4)
    world.settle()
    assert user.holds and circle(world) == {2, 3}
    assert world.remote_errors == 0


def test_a_newcomer_that_dies_before_it_is_let_in_leaves_nothing() -> None:
    world = World(5, remember=5.0)
    world.use(2, 4)
    world.still.add(4)
    world.ask(3)
    world.settle()
    world.die(3)
    world.show(4)
    world.wake(4)
    world.settle()
    assert circle(world) == {2, 4}
    world.pass_time(20)
    assert world.remembers_nothing


def test_the_death_of_the_last_member_takes_the_name_with_it() -> None:
    world = World(3)
    world.get(3)
    assert len(world[1].homes) == 1
    world.die(3)
    world.settle()
    assert len(world[1].homes) == 0


# Going


def test_going_re_forms_the_circle_without_the_member_that_goes() -> None:
    world = World(3, remember=5.0)
    world.use(1, 2)
    holder = world.get(1)
    world.pass_time(20)
    assert circle(world) == {1} and "x" not in world[2].locks
    assert holder.holds


def test_a_member_that_uses_a_name_again_while_it_goes_stays() -> None:
    world = World(3, remember=5.0)
    world.use(1, 2)
    holder = world.get(1)
    world.still.add(1)  # nobody answers for now
    world.pass_time(15)
    assert world.lock(2).closing
    user = world.ask(2)
    world.wake(1)
    world.settle()
    assert circle(world) == {1, 2} and user.waits
    world.finish(holder)
    assert user.holds


def test_the_last_one_to_go_takes_the_name_with_it() -> None:
    world = World(3, remember=5.0)
    world.use(2, 3)
    world.pass_time(20)
    assert world.remembers_nothing


def test_a_close_of_an_epoch_that_is_over_is_ignored() -> None:
    """It crossed the Reform for a newcomer; the member has answered that it stays."""
    world = World(3)
    world.use(2)
    old = entry(world).epoch
    holder = world.get(2)
    user = world.wait(3)
    epoch = entry(world).epoch
    world.say(2, 1, Close(world.number, "x", old))
    assert entry(world).epoch == epoch > old
    assert circle(world) == {2, 3} and holder.holds
    world.finish(holder)
    assert user.holds


def test_a_close_of_a_member_that_is_alone_does_not_lose_the_one_that_comes() -> None:
    """The name is given back and asked for by another at the same moment."""
    world = World(3, remember=5.0)
    world.use(2)
    world.now += 20.0
    world[2].tick()
    world.now += 20.0
    world[2].tick()  # it is given back, and forgotten here
    assert "x" not in world[2].locks
    user = world.ask(3)
    (closing,) = (p for p in world.collect() if p.sender == 2)  # 3's is lost
    assert closing.says(Close)
    world.deliver(closing)
    again = world.ask(2)
    world[3].connected(1)
    world.settle()
    assert user.holds != again.holds
    assert circle(world) == {2, 3}


# Terms


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (LOCK, SEMAPHORE, "as a lock, not as a semaphore"),
        (SEMAPHORE, LOCK, "as a semaphore, not as a lock"),
        (SEMAPHORE, READ, "as a semaphore, not as a lock"),
        (SEMAPHORE, demand("", 3), "with 2 permits, not 3"),
        (CLOCKED, demand("maekawa"), "with ricart-agrawala, not with maekawa"),
        (LOCK, CLOCKED, "with neilsen-mizuno, not with ricart-agrawala"),
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
def test_a_demand_without_an_algorithm_takes_the_one_in_use(shared: bool) -> None:
    name = "ricart-agrawala-readers-writers"
    world = World(2)
    world.finish(world.get(1, wanted=demand(name)))
    world.finish(world.get(2, wanted=demand(shared=shared)))


def test_of_newcomers_at_once_the_first_settles_the_terms() -> None:
    world = World(4)
    first, second, third = (
        world.ask(2, wanted=SEMAPHORE),
        world.ask(3),
        world.ask(4, wanted=SEMAPHORE),
    )
    world.settle()
    assert first.holds and third.holds
    assert second.state is State.REFUSED and "as a semaphore" in second.why


def test_who_was_refused_may_die_when_the_name_is_gone() -> None:
    world = World(4, remember=5.0)
    world.use(2)
    world.slow.add((2, 1))
    user, wrong = world.ask(3), world.ask(4, wanted=SEMAPHORE)
    world.settle()
    world.hasten(2, 1)
    world.settle()
    assert wrong.state is State.REFUSED
    world.finish(user)
    world.pass_time(20)
    assert world.remembers_nothing
    world.die(4)
    world.settle()
    assert world.get(3).holds and circle(world) == {3}


def test_a_demand_that_comes_while_the_circle_forms_is_refused_all_the_same() -> None:
    world = World(5)
    world.use(2, 3)
    world.still.add(3)
    right, wrong = world.ask(4), world.ask(5, wanted=SEMAPHORE)
    world.settle()
    world.wake(3)
    world.settle()
    assert right.holds and wrong.state is State.REFUSED
    assert circle(world) == {2, 3, 4} and world[5].remembers()["locks"] == 0


def test_once_nobody_uses_a_name_it_can_be_used_in_another_way() -> None:
    world = World(2, remember=5.0)
    world.finish(world.get(1))
    world.pass_time(20)
    world.get(2, wanted=SEMAPHORE)


def test_refusing_disturbs_nobody() -> None:
    world = World(4)
    world.use(2, 3)
    epoch = entry(world).epoch
    world.ask(4, wanted=SEMAPHORE)
    carried = world.settle()
    assert said(carried, Refused) == 1 and said(carried, Reform) == 0
    assert entry(world).epoch == epoch
    assert world[4].remembers()["locks"] == 0


@pytest.mark.parametrize("there", [1, 3])
def test_a_reader_that_comes_late_switches_the_algorithm_while_a_holder_holds(
    there: int,
) -> None:
    world = World(4)
    writer = world.get(1)
    waiting = world.wait(2)
    world.now += 0.01
    reader = world.ask(there, wanted=READ)
    world.settle()
    assert writer.holds and writer.told == ["granted"]
    terms = entry(world).terms
    assert terms is not None and algorithm(terms.algorithm).shares
    assert waiting.waits and reader.waits
    assert world.served(writer, [waiting, reader]) == [waiting, reader]
    readers = [world.get(member, wanted=READ) for member in (1, 2, 3)]
    assert all(user.holds for user in readers)
    last = world.wait(3)
    for user in readers:
        assert not last.holds
        world.finish(user)
    assert last.holds
    assert world.remote_errors == 0


def test_two_readers_that_want_to_switch_at_once_are_in_together() -> None:
    world = World(3)
    writer = world.get(1)
    readers = [world.ask(member, wanted=READ) for member in (2, 3, 1)]
    world.settle()
    world.finish(writer)
    assert all(reader.holds for reader in readers)


def test_a_reader_that_gives_up_while_the_lock_switches_leaves_nothing() -> None:
    world = World(2, remember=5.0)
    writer, reader = world.get(1), world.ask(2, wanted=READ)
    world.step()
    world[2].give_up(reader)
    world.settle()
    world.finish(writer)
    world.finish(world.get(1))
    world.pass_time(20)
    assert world.remembers_nothing


def test_a_home_may_die_while_a_lock_switches() -> None:
    for steps in range(6):
        world = World(4)
        writer, reader = world.get(2), world.ask(3, wanted=READ)
        for _ in range(steps):
            world.step()
        world.die(1)
        other = world.ask(4, wanted=READ)
        world.settle()
        assert writer.holds, steps
        world.finish(writer)
        assert reader.holds and other.holds, steps
        assert world.remote_errors == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("", 2, True), "a semaphore cannot be shared"),
        (("", -1), "permits must be 1 to 1,000, got -1"),
        (("", 1_001), "permits must be 1 to 1,000, got 1001"),
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


# Places


def in_turn(name: str) -> bool:
    """Whether members enter in the order in which they asked, undisturbed.

    Others go by quorums, along a ring, or through a tree: the order in which members ask
    again is kept for these too, and then they do as ever.
    """
    return name in (
        "central",
        "lamport",
        "ricart-agrawala",
        "ricart-agrawala-bounded",
        "ricart-agrawala-priority",
        "neilsen-mizuno",
        "naimi-trehel",
        "banerjee-chrysanthis",
        "helary-plouzeau-raynal",
        "chaudhuri-karaata",
        "lodha-kshemkalyani",
        "mueller-priority",
        "ricart-agrawala-readers-writers",
        "joung",
        "raymond-k",
        "raynal-k-of-l",
        "srimani-reddy",
    )


class Asking:
    """Notes which members' peers ask, in which order, from when it is made on."""

    def __init__(self, world: World) -> None:
        self.members: list[int] = []
        for member, node in world.nodes.items():
            self._watch(member, node.turnstile)

    def _watch(self, member: int, turnstile: Turnstile) -> None:
        request = turnstile._request

        def ask(slot: Slot, shared: bool) -> None:
            self.members.append(member)
            request(slot, shared)

        turnstile._request = ask  # type: ignore[method-assign]


def waiting_in_turn(world: World, wanted: Demand, order: Sequence[int]) -> list[User]:
    return [world.wait(member, wanted=wanted) for member in order]


def must_be_served_in_turn(
    world: World, name: str, holder: User, waiters: list[User]
) -> None:
    served = world.served(holder, waiters)
    assert set(served) == set(waiters)
    assert served == waiters or not in_turn(name)
    assert world.remote_errors == 0


@pytest.mark.parametrize("name", LOCKS)
def test_some_algorithms_let_members_in_in_the_order_in_which_they_asked(name: str) -> None:
    """Undisturbed; what the tests of places compare with."""
    wanted, kept = demand(name), True
    for order in permutations((2, 3, 4, 5)):
        world = World(5)
        world.use(1, 2, 3, 4, 5, wanted=wanted)
        holder = world.get(1, wanted=wanted)
        waiters = waiting_in_turn(world, wanted, order)
        kept = kept and world.served(holder, waiters) == waiters
    assert kept == in_turn(name)


@pytest.mark.parametrize("name", LOCKS)
def test_places_are_kept_when_newcomers_come(name: str) -> None:
    """Each of them is a newcomer, and re-forms the circle of those that wait already."""
    for order in permutations((2, 3, 4)):
        world = World(4)
        holder = world.get(1, wanted=demand(name))
        asking = Asking(world)
        waiters = waiting_in_turn(world, demand(name), order)
        a, b, c = order
        assert asking.members == [1, a, 1, a, b, 1, a, b, c]
        must_be_served_in_turn(world, name, holder, waiters)


@pytest.mark.parametrize("name", LOCKS)
def test_the_longest_waiting_asks_first_and_newcomers_last(name: str) -> None:
    """Those that wait are in the circle already when a newcomer re-forms it."""
    wanted = demand(name)
    for order in ((2, 3, 4), (4, 3, 2), (3, 4, 2)):
        world = World(5)
        world.use(1, 2, 3, 4, wanted=wanted)
        holder = world.get(1, wanted=wanted)
        waiters = waiting_in_turn(world, wanted, order)
        asking = Asking(world)
        newcomer = world.wait(5, wanted=wanted)
        assert asking.members == [1, *order, 5]
        must_be_served_in_turn(world, name, holder, [*waiters, newcomer])


def test_a_newcomer_that_has_waited_for_longest_asks_first() -> None:
    """The home that it asked stood still, and then died."""
    world = World(5)
    world.use(2, 3, 4)
    holder = world.get(2)
    world.still.add(1)
    first, second, third = world.wait(5), world.wait(3), world.wait(4)
    world.die(1)
    world.settle()
    assert world.served(holder, [first, second, third]) == [first, second, third]


@pytest.mark.parametrize("name", LOCKS)
def test_places_are_kept_when_the_holder_dies(name: str) -> None:
    wanted = demand(name)
    for order in ((2, 3, 4), (4, 3, 2)):
        world = World(5)
        world.use(2, 3, 4, 5, wanted=wanted)
        world.get(5, wanted=wanted)
        waiters = waiting_in_turn(world, wanted, order)
        world.die(5)
        asking = Asking(world)
        world.settle()
        assert asking.members == [*order]
        assert waiters[0].holds  # it asked when nobody else did
        must_be_served_in_turn(world, name, waiters[0], waiters[1:])


@pytest.mark.parametrize("name", LOCKS)
def test_places_are_kept_when_the_home_dies(name: str) -> None:
    """It was in the circle, too, so that is re-formed by the next home."""
    wanted = demand(name)
    for order in ((3, 4, 5), (5, 4, 3)):
        world = World(5)
        world.use(1, 2, 3, 4, 5, wanted=wanted)
        holder = world.get(2, wanted=wanted)
        waiters = waiting_in_turn(world, wanted, order)
        world.die(1)
        asking = Asking(world)
        world.settle()
        assert holder.holds and asking.members == [2, *order]
        must_be_served_in_turn(world, name, holder, waiters)


@pytest.mark.parametrize("name", SEMAPHORES)
def test_places_are_kept_for_permits(name: str) -> None:
    wanted = demand(name, 2)
    for order in permutations((3, 4, 5)):
        world = World(6)
        holder = world.get(1, wanted=wanted)
        world.get(2, wanted=wanted)
        waiters = waiting_in_turn(world, wanted, order)
        asking = Asking(world)
        newcomer = world.wait(6, wanted=wanted)
        assert asking.members[-4:] == [*order, 6]
        if in_turn(name):
            world.finish(holder)
            assert waiters[0].holds
            others = [*waiters[1:], newcomer]
            assert world.served(waiters[0], others) == others


@pytest.mark.parametrize("name", SHARED_LOCKS)
def test_a_reader_does_not_pass_a_writer_that_came_first(name: str) -> None:
    world = World(6)
    reading, writing = demand(name, shared=True), demand(name)
    holder = world.get(1, wanted=reading)
    writer = world.wait(2, wanted=writing)
    readers = [world.wait(member, wanted=reading) for member in (3, 4)]
    last = world.wait(5, wanted=writing)
    world.finish(holder)
    assert writer.holds and not any(reader.holds for reader in readers)
    world.finish(writer)
    assert all(reader.holds for reader in readers) and last.waits
    for reader in readers:
        world.finish(reader)
    assert last.holds


def test_a_request_that_is_under_way_for_long_keeps_its_place() -> None:
    """The next waiter asks only when it has arrived where both are asked for."""
    for name in LOCKS:
        if in_turn(name):
            wanted = demand(name)
            world = World(6)
            world.use(2, 3, 4, wanted=wanted)
            holder = world.get(2, wanted=wanted)
            waiters = waiting_in_turn(world, wanted, (4, 3))
            newcomer = world.ask(5, wanted=wanted)
            while world.lock(5).stage is not OPEN:
                world.step()
            world.slow.add((4, 2))
            world.settle()
            world.hasten(4, 2)
            world.settle()
            must_be_served_in_turn(world, name, holder, [*waiters, newcomer])


def test_a_member_waits_from_its_first_waiter_on() -> None:
    """It joined the circle later than others, and its user came before theirs."""
    world = World(5)
    holder = world.get(1)
    world.still.add(1)
    early = world.ask(4)  # comes first, and is let in with the others
    world.settle()
    world.now += 1.0
    late = [world.ask(member) for member in (2, 3)]
    world.settle()
    world.wake(1)
    world.settle()
    assert world.lock(1).circle.members[1:] == (4, 2, 3) or holder.holds
    assert world.served(holder, [early, *late])[0] is early


def test_a_member_waits_for_its_first_waiter_although_another_has_asked_the_home() -> None:
    """A reader, for another algorithm; and it has given up when the circle is formed."""
    world = World(5)
    world.use(2, 3, 4)
    holder = world.get(2)
    world.slow.add((1, 3))
    reader = world.ask(3, wanted=READ)
    world.settle()
    first, second = world.wait(4), world.wait(3)
    world[3].give_up(reader)
    world.hasten(1, 3)
    world.settle()
    assert world.served(holder, [first, second]) == [first, second]


def test_holders_are_first_and_waiters_follow_in_order() -> None:
    world = World(6)
    holders = [world.get(member, wanted=READ) for member in (2, 3)]
    first = world.wait(4)
    second = world.ask(5, wanted=READ)
    world.step()
    world.step()
    opened: list[Opened] = []
    while parcels := world.step():
        opened += [m for m in messages(parcels) if isinstance(m, Opened)]
    last = opened[-1]
    assert last.holders == (2, 3) and last.waiters == (4, 5)
    assert all(holder.holds for holder in holders) and first.waits and second.waits


# Taking over


def test_a_new_home_adopts_a_circle_that_runs_as_it_is() -> None:
    world = World(5)
    world.use(3, 4)
    holder = world.get(3)
    epoch = entry(world).epoch
    world.die(1)
    carried = world.settle()
    assert world.home() == 2
    assert circle(world) == {3, 4} and entry(world).epoch == epoch
    assert said(carried, Tell) == 3 and said(carried, Told) == 3
    assert said(carried, Reform) == said(carried, Opened) == 0
    other = world.wait(4)
    world.finish(holder)
    assert other.holds


def test_a_running_circle_goes_on_while_its_home_is_being_followed() -> None:
    world = World(6)
    world.use(3, 4)
    holder, other = world.get(3), world.wait(4)
    world.still.add(5)  # which does not tell the new home what it has open
    world.die(1)
    world.settle()
    assert world[2].awaited == {5}
    for _ in range(3):
        world.finish(holder)
        assert other.holds
        holder, other = other, world.wait(3 if other in world[4].holding() else 4)


def test_a_new_home_answers_nothing_before_all_have_told() -> None:
    world = World(6)
    world.use(3)
    holder = world.get(3)
    world.still.add(3)  # the one that has it open
    world.die(1)
    user = world.ask(4)
    world.settle()
    assert user.waits and len(world[2].homes) == 0
    world.show(3)
    world.wake(3)
    world.settle()
    assert holder.holds and user.waits and circle(world) == {3, 4}
    world.finish(holder)
    assert user.holds


def test_a_new_home_waits_for_no_member_that_is_out() -> None:
    world = World(6)
    world.get(3)
    world.still.add(3)
    world.die(1)
    user = world.ask(4)
    world.settle()
    world.still.remove(3)
    world.die(3)
    world.settle()
    assert user.holds


def test_a_new_home_re_forms_a_circle_that_a_re_forming_was_under_way_in() -> None:
    """The old home dies after each of the steps that a newcomer takes."""
    for steps in range(6):
        world = World(6)
        world.use(3, 4)
        holder = world.get(3)
        user = world.ask(5)
        for _ in range(steps):
            world.step()
        world.die(1)
        world.settle()
        assert holder.holds and user.waits, steps
        assert circle(world) == {3, 4, 5}, steps
        world.finish(holder)
        assert user.holds, steps
        assert world.remote_errors == 0, steps


def test_a_new_home_re_forms_a_circle_that_the_dead_home_was_in() -> None:
    world = World(5)
    world.use(1, 3, 4)
    holder = world.get(3)
    epoch = entry(world).epoch
    world.die(1)
    world.settle()
    assert circle(world) == {3, 4} and entry(world).epoch > epoch
    assert holder.holds


def test_a_new_home_re_forms_a_circle_that_another_dead_member_was_in() -> None:
    world = World(6)
    world.use(3, 4, 5)
    holder = world.get(3)
    epoch = entry(world).epoch
    world.die(1, 5)
    world.settle()
    assert circle(world) == {3, 4} and entry(world).epoch > epoch
    assert holder.holds


def test_a_new_home_re_forms_a_circle_that_a_member_dies_in_before_all_have_told() -> None:
    world = World(7)
    world.use(3, 4, 5)
    holder = world.get(3)
    epoch = entry(world).epoch
    world.still.add(6)
    world.die(1)
    world.settle()  # 3, 4 and 5 have told, and 6 has not
    world.die(5)
    world.settle()
    world.show(6)
    world.wake(6)
    world.settle()
    assert circle(world) == {3, 4} and entry(world).epoch > epoch
    assert holder.holds


def test_a_new_home_re_forms_a_circle_that_one_member_speaks_in_no_more() -> None:
    """Reform has reached one of two members; then the home and the newcomer die."""
    world = World(6)
    world.use(3, 4)
    world.slow |= {(1, 4), (3, 2)}
    world.ask(5)
    world.settle()
    assert world.lock(3).stage is Stage.HALTED and world.lock(4).stage is OPEN
    user = world.ask(3)
    world.die(1, 5)
    world.settle()
    world.hasten(3, 2)  # it tells last
    world.settle()
    assert user.holds and circle(world) == {3, 4}


def test_what_was_told_to_an_older_question_is_no_answer_to_the_newer() -> None:
    """Names that have become the home's since then would be missing in it."""
    world = World(18)
    name = next(
        n
        for n in map(str, range(999))
        if [home_among(n, e) for e in ((1, 2), (2, 3), (2, 4))] == [1, 3, 2]
    )
    holder = world.get(5, name)
    world.slow.add((5, 2))
    world.die(1)
    world.settle()
    world.die(3)
    user = world.ask(6, name)
    world.settle()
    assert world.home(name) == 2 and world[2].awaited == {5}
    world.hasten(5, 2)
    world.settle()
    assert holder.holds and user.waits
    world.finish(holder)
    assert user.holds


def test_a_new_home_takes_along_a_member_of_an_older_epoch() -> None:
    """The old home died after Opened had reached one of two members."""
    world = World(6)
    world.use(3, 4)
    user = world.ask(5)
    while not said(parcels := world.collect(), Opened):
        world.deliver(*parcels)
    world.deliver(*[p for p in parcels if p.to == 3])
    world.die(1)
    world.settle()
    assert circle(world) == {3, 4, 5}
    assert user.holds or world.lock(3).stage is OPEN
    world.settle()
    world.use(3) if not user.holds else world.finish(user)
    assert world.remote_errors == 0


def test_reports_in_several_messages_are_one_answer() -> None:
    for names in (2, 3, 4, 7):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(circles, "REPORTS", 3)
            world = World(4)
            holders = [world.get(3, f"name {i}") for i in range(names)]
            world.die(1)
            world.settle()
        assert len(world[2].homes) == names
        others = [world.wait(4, f"name {i}") for i in range(names)]
        for holder, other in zip(holders, others, strict=True):
            assert holder.holds
            world.finish(holder)
            assert other.holds


def test_who_has_died_while_others_still_told_is_not_let_in() -> None:
    world = World(6)
    world.still.add(3)
    world.die(1)
    world.ask(4)
    world.settle()
    world.die(4)
    world.settle()
    world.show(3)
    world.wake(3)
    world.settle()
    assert len(world[2].homes) == 0
    assert world.get(5).holds


def test_two_homes_may_die_one_after_the_other() -> None:
    for steps in range(5):
        world = World(7)
        world.use(4, 5)
        holder, other = world.get(4), world.wait(5)
        newcomer = world.ask(6)
        world.step()
        world.die(1)
        for _ in range(steps):
            world.step()
        world.die(2)
        world.settle()
        assert world.home() == 3 and holder.holds
        assert world.served(holder, [other, newcomer]) == [other, newcomer]
        assert world.remote_errors == 0


def test_names_that_stay_with_their_home_are_not_asked_for() -> None:
    """An elder dies: its names move, and those of others stay as they are."""
    world = World(17)
    stays, moves = world.name_at(2), world.name_at(1, then=2)
    world.use(5, 6, name=moves)
    world.use(5, 6, name=stays)
    world.die(1)
    carried = world.settle()
    reports = [r.name for m in messages(carried) if isinstance(m, Told) for r in m.reports]
    assert moves in reports
    assert (stays in reports) == (world.home(stays) == 3)


def home_moves_away_and_back() -> tuple[World, str]:
    """While 16 is in, the home of this name is 2, otherwise it is 1."""
    world = World(15)
    world.join(16)
    name = next(n for n in map(str, range(99)) if world.home(n) == 2)
    world.settle()
    world.die(16)
    world.settle()
    assert world.home(name) == 1
    return world, name


def test_a_home_that_moves_away_and_back_begins_a_new_reign() -> None:
    world, name = home_moves_away_and_back()
    world.use(5, 6, name=name)
    holder, first = world.get(5, name), entry(world, name).epoch
    world.join(17)
    world.settle()
    assert world.home(name) == 2 and name not in world[1].homes._entries
    assert circle(world, name) == {5, 6} and entry(world, name).epoch == first
    world.die(17)
    world.settle()
    assert world.home(name) == 1 and circle(world, name) == {5, 6}
    other = world.wait(7, name)
    assert entry(world, name).epoch > first and holder.holds
    assert entry(world, name).epoch.reign == world.number
    world.finish(holder)
    assert other.holds and world.remote_errors == 0


def test_a_former_home_waits_for_no_answer_any_more() -> None:
    world, name = home_moves_away_and_back()
    world.use(5, 6, name=name)
    world.slow.add((6, 1))
    user = world.ask(7, name)
    world.settle()
    assert world[1].homes.awaited == {6}
    world.join(17)
    world.settle()
    assert world.home(name) == 2 and world[1].homes.awaited == set()
    assert user.holds


def test_a_home_for_two_times_asks_again_although_it_was_still_asking_between() -> None:
    """It has asked for the names of a dead home, and loses others to the next elder."""
    world = World(16)
    name = next(
        n
        for n in map(str, range(99))
        if home_among(n, (1, 2)) == 1 and home_among(n, (1, 3)) == 3
    )
    world.use(6, 7, name=name)
    holder = world.get(6, name)
    world.still.add(5)
    del world.nodes[2]
    world.join(17)
    world.settle()
    assert world.home(name) == 3 and world[1].homes.awaited == {5}
    world.die(3)
    world.show(5)
    world.wake(5)
    world.settle()
    assert world.home(name) == 1 and circle(world, name) == {6, 7}
    user = world.ask(8, name)
    world.settle()
    assert holder.holds and user.waits
    world.finish(holder)
    assert user.holds and world.remote_errors == 0


def test_a_home_that_missed_a_view_in_which_it_was_none_begins_a_new_reign() -> None:
    """It is told so (Stale) as soon as it says anything of its old reign."""
    world, name = home_moves_away_and_back()
    world.use(5, 6, name=name)
    holder = world.get(5, name)
    world.still.add(1)  # which sees nothing of the next view
    world.join(17)
    world.settle()
    world.die(17)
    world.show(1)
    world.wake(1)
    assert world.home(name) == 1
    user = world.ask(7, name)
    carried = world.settle()
    assert said(carried, Stale) >= 1
    assert entry(world, name).epoch.reign == world.number
    assert holder.holds and user.waits
    world.finish(holder)
    assert user.holds
    assert world.remote_errors == 0


def test_a_home_that_missed_a_view_is_told_what_was_not_heard_meanwhile() -> None:
    """Its Reform comes to a member that has another home just then."""
    world, name = home_moves_away_and_back()
    world.use(5, name=name)
    world.slow.add((1, 5))
    user = world.ask(7, name)
    world.settle()
    world.still.add(1)
    world.join(17)
    world.hasten(1, 5)
    world.settle()
    assert user.waits and world.lock(5, name).stage is OPEN
    world.die(17)
    world.show(1)
    world.wake(1)
    world.settle()
    assert user.holds and circle(world, name) == {5, 7}
    assert world.remote_errors == 0


def test_what_is_given_back_to_a_home_for_one_view_is_given_back() -> None:
    """The home before and after that view has seen nothing of it."""
    world, name = home_moves_away_and_back()
    world.use(5, 6, name=name)
    world.still |= {1, 2}
    world.join(17)
    world.pass_time(1_000)
    assert world.lock(5, name).closing and world.lock(6, name).closing
    world.die(17)
    for home in (1, 2):
        world.show(home)
        world.wake(home)
    world.settle()
    world.pass_time(1_000)
    assert world.remembers_nothing and world.remote_errors == 0


def test_what_is_given_back_while_the_home_changes_is_given_back_to_the_next() -> None:
    world = World(4, remember=5.0)
    world.use(3, 4)
    world.still.add(1)  # it hears nothing of this any more
    world.pass_time(11)
    assert world.lock(3).closing and world.lock(4).closing
    world.still.discard(1)
    world.kept.clear()
    world.die(1)
    world.settle()
    assert not world.lock(3).closing
    world.pass_time(20)
    assert world.remembers_nothing


@pytest.mark.parametrize("users", [(3,), (3, 4)])
def test_what_is_given_back_while_others_still_tell_is_given_back(
    users: tuple[int, ...],
) -> None:
    """A member has told, and closes the name before the next home has heard of all."""
    world = World(5, remember=2.0)
    world.use(*users)
    world.die(1)
    world.still.add(5)  # and does not tell
    world.settle()
    world.pass_time(5)
    world.wake(5)
    world.settle()
    world.pass_time(1)  # the rest is acknowledged
    assert world.remembers_nothing and world.remote_errors == 0


# Epochs


def test_no_epoch_is_used_twice_whatever_happens() -> None:
    world = World(9, remember=5.0)
    epochs: list[Epoch] = []

    def note() -> None:
        epochs.append(entry(world).epoch)

    for member in (3, 4, 5):
        world.use(member)
        note()
    world.die(5)
    world.settle()
    note()
    world.die(1)  # the home: the circle is adopted
    world.settle()
    world.use(6)
    note()
    world.pass_time(20)
    assert world.remembers_nothing
    world.use(7)  # the name was forgotten
    note()
    world.die(2)
    world.settle()
    world.use(8)
    note()
    assert epochs == sorted(set(epochs))


def test_epochs_are_counted_over_all_names_on_top_of_the_reign() -> None:
    world = World(3)
    world.use(2, name="x")
    world.use(2, name="y")
    x, y = entry(world, "x").epoch, entry(world, "y").epoch
    assert x.reign == y.reign == 3 and y.number == x.number + 1
    world.die(1)
    world.settle()
    world.use(3)
    assert entry(world).epoch.reign == world.number
    assert entry(world).epoch > y


# What no honest member would say


def test_reports_of_names_that_are_not_taken_over_are_ignored() -> None:
    world = World(4)
    world.use(3)
    epoch = entry(world).epoch
    terms = entry(world).terms
    assert terms is not None
    report = NameReport("x", Epoch(99, 99), True, terms, (2, 3))
    world.say(2, 1, Told(world.number, world.number, (report,), False))
    assert entry(world).epoch == epoch and circle(world) == {3}


def test_formed_from_strangers_to_the_circle_is_ignored() -> None:
    world = World(5)
    world.use(2, 4)
    world.still.add(4)
    user = world.ask(3)
    world.settle()
    forming = entry(world).epoch
    world.say(5, 1, Formed(world.number, "x", forming, True, True, 9.0))
    world.say(2, 1, Formed(world.number, "x", forming, True, True, 9.0))
    assert user.waits and world[1].homes.awaited == {4}
    world.wake(4)
    world.settle()
    assert user.holds and circle(world) == {2, 3, 4}


@pytest.mark.parametrize("waited", [inf, -inf, nan])
def test_an_answer_with_a_wait_that_is_no_number_of_seconds_is_none(waited: float) -> None:
    world = World(5)
    world.use(2, 4)
    world.still.add(4)
    user = world.ask(3)
    world.settle()
    forged = Formed(world.number, "x", entry(world).epoch, True, False, waited)
    with pytest.raises(RemoteError, match="cannot have waited"):
        world[1].homes.formed(4, forged)
    assert user.waits and world[1].homes.awaited == {4}
    world.wake(4)
    world.settle()
    assert user.holds and circle(world) == {2, 3, 4}


def test_formed_of_another_epoch_is_ignored() -> None:
    world = World(5)
    world.use(2, 4)
    old = entry(world).epoch
    world.still.add(4)
    user = world.ask(3)
    world.settle()
    late = Formed(world.number, "x", old, True, False, -1.0)
    world[1].homes.formed(4, late)
    assert user.waits and world[1].homes.awaited == {4} and not world.remote_errors


def never(world: World) -> list[Epoch]:
    """Epochs of x that its home has not counted, or that are of a view to come."""
    epoch = entry(world).epoch
    return [
        Epoch(epoch.reign, 1 << 62),
        epoch._replace(number=world[1].homes._count + 1),
        Epoch(world.number + 1, 1),
    ]


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("member", [2, 5])
def test_an_epoch_that_never_was_is_a_counted_error(which: int, member: int) -> None:
    """Of a member of the circle, and of another one; while the circle is formed."""
    world = World(5)
    world.use(2, 4)
    world.still.add(4)
    user = world.ask(3)
    world.settle()
    before, epoch = entry(world).epoch, never(world)[which]
    world.say(member, 1, Formed(world.number, "x", epoch, False, False, -1.0))
    assert world[1].statistics.remote_errors == world.remote_errors == 1
    world.say(member, 1, Close(world.number, "x", epoch))
    assert world[1].statistics.remote_errors == world.remote_errors == 2
    assert world[1].homes.awaited == {4} and entry(world).epoch == before
    world.wake(4)
    world.settle()
    assert user.holds and circle(world) == {2, 3, 4}


def test_a_report_of_an_epoch_that_never_was_is_an_error() -> None:
    """The names of other members continue."""
    world = World(4)
    world.use(3)
    world.use(3, name="y")
    terms = entry(world).terms
    assert terms is not None
    world.slow.add((4, 2))
    world.die(1)
    world.settle()
    taking, homes = world[2].homes._taking, world[2].homes
    assert taking is not None and homes.awaited == {4}
    report = NameReport("y", Epoch(world.number + 1, 1), True, terms, (4,))
    with pytest.raises(RemoteError, match="never was"):
        homes.told(4, Told(world.number, taking.question, (report,), False))
    world.hasten(4, 2)
    world.settle()
    assert world.get(4).holds and circle(world, "y") == {3}


def test_a_former_home_does_not_judge_the_epochs_of_its_successor() -> None:
    """Its own count says nothing about them; the sender may have seen other views."""
    world = World(16)
    name = next(f"name {i}" for i in range(100) if world.home(f"name {i}") == 2)
    world.use(3, name=name)
    epoch = entry(world, name).epoch
    assert epoch.number > world[1].homes._count
    world.say(3, 1, Formed(world.number, name, epoch, True, False, -1.0))
    assert world.remote_errors == 0


def test_the_highest_epoch_that_a_home_has_counted_is_no_error() -> None:
    world = World(4)
    world.use(2, 3)
    newest = entry(world).epoch
    assert newest.number == world[1].homes._count
    world.say(3, 1, Close(world.number, "x", newest))
    world.settle()
    assert world.remote_errors == 0 and entry(world).epoch > newest


def test_a_close_of_a_name_that_the_sender_is_not_in_is_ignored() -> None:
    world = World(4)
    holder = world.get(2)
    world.say(3, 1, Close(world.number, "x", entry(world).epoch))
    assert holder.holds and circle(world) == {2}


def test_an_open_at_a_member_that_is_not_the_home_is_ignored() -> None:
    """It may have been asked in another view, and then the new home is asked."""
    world = World(4)
    world.say(3, 2, Open(world.number, "x", LOCK, 0.0))
    assert len(world[2].homes) == 0 and not world[2].locks
    assert world.remote_errors == 0


def test_halted_members_are_halted_until_the_home_says_so() -> None:
    world = World(5)
    world.use(2, 4)
    world.still.add(4)
    world.ask(3)
    world.settle()
    assert world.lock(2).stage is Stage.HALTED and not world.lock(2).slots


def test_a_new_home_that_misses_a_view_with_other_elders_asks_again() -> None:
    """A member that has seen that view had not answered the first question."""
    world = World(16)  # 1 and 2 are homes
    name = world.name_at(2)
    small = world.next_view(*range(1, 16))  # 1 alone is
    world.show(3, small)
    world.nodes[2].homes.begin_anew()  # 2 takes over, and 3 has seen another view
    world.settle()
    assert world[2].awaited == {3}
    world.add(17)
    world.see(*range(1, 16), 17)
    world.settle()
    assert world[2].awaited == set()
    world.finish(world.get(3, name))
