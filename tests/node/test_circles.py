"""A member's part in circles of names: one test for each rule of node/circles.py."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import NamedTuple

import pytest

from peerlock.algorithms.naimi_trehel import Token
from peerlock.algorithms.ricart_agrawala import Reply, Request
from peerlock.node import circles
from peerlock.node.locks import OPEN, Stage
from peerlock.node.succession import Elders, home_among
from peerlock.node.terms import Demand, Terms, demand
from peerlock.node.waiters import State
from peerlock.node.wire import (
    NEVER,
    Close,
    Epoch,
    Formed,
    Go,
    Message,
    NameReport,
    Next,
    Open,
    Opened,
    Probed,
    Reform,
    Refused,
    Stale,
    Tell,
    Told,
    ToPeer,
)
from tests.support.nodes import (
    CLOCKED,
    LOCK,
    READ,
    World,
    elders_of,
    messages,
    names_touched,
    said,
)

# An epoch at a time


def test_a_member_that_has_answered_speaks_in_no_epoch() -> None:
    world = World(5)
    world.use(2, 3, 4, wanted=CLOCKED)
    world.still.add(4)  # so that the circle is not opened yet
    world.ask(5, wanted=CLOCKED)
    world.settle()
    lock = world.lock(2)
    assert lock.stage is Stage.HALTED and lock.slots == ()
    user = world.ask(2, wanted=CLOCKED)
    assert said(world.settle(), Request) == 0 and user.waits


def test_a_member_that_has_answered_hears_nothing_of_the_old_epoch() -> None:
    """A token of the old epoch that comes late is not taken for one of the new."""
    world = World(5)
    world.use(2, 3, 4)
    world.slow.add((4, 3))
    user = world.ask(3)  # which asks 4, where the token is
    world.settle()
    assert user.waits and len(world.kept) == 1  # the token is under way
    newcomer = world.ask(5)
    world.settle()
    assert user.holds and newcomer.waits  # in the new epoch, which has a token of its own
    world.finish(user)
    assert newcomer.holds
    again = world.wait(3)
    world.hasten(4, 3)
    world.settle()
    assert newcomer.holds and again.waits
    assert world.remote_errors == 0


def test_messages_of_an_epoch_that_is_over_are_dropped_while_the_next_is_formed() -> None:
    world = World(5)
    world.use(2, 3, 4)
    world.slow.add((4, 3))
    user = world.ask(3)
    world.settle()
    world.still.add(2)  # the next epoch is not opened yet
    world.ask(5)
    world.settle()
    world.hasten(4, 3)
    world.settle()
    assert user.waits and world.lock(3).stage is Stage.HALTED
    assert world.lock(3).early == ()


def test_a_holder_goes_on_holding_while_the_circle_is_formed() -> None:
    world = World(5)
    world.use(2, 3)
    holder = world.get(3)
    world.still.add(2)
    other = world.ask(4)
    world.settle()
    assert world.lock(3).stage is Stage.HALTED
    assert holder.holds and holder.told == ["granted"]
    world.wake(2)
    world.settle()
    assert holder.holds and other.waits


def test_what_is_held_can_be_released_at_any_moment_of_a_re_forming() -> None:
    for wanted in (LOCK, CLOCKED, READ):
        for steps in range(10):
            world = World(4)
            world.use(1, 2, wanted=wanted)
            holder = world.get(2, wanted=wanted)
            other = world.ask(3)
            for _ in range(steps):
                world.step()
            world.release(holder)
            world.settle()
            assert other.holds, (wanted, steps)
            assert world.remote_errors == 0


def test_messages_of_the_next_epoch_are_kept_until_it_is_opened() -> None:
    world = World(5)
    world.use(2, 3, wanted=CLOCKED)
    world.slow.add((1, 3))  # the home's word is late there
    user = world.ask(4, wanted=CLOCKED)
    world.settle()
    world.hasten(1, 3)  # Reform
    world.slow.add((1, 3))
    world.settle()
    assert world.lock(2).stage is OPEN and world.lock(3).stage is Stage.HALTED
    assert len(world.lock(3).early) >= 1 and user.waits
    world.hasten(1, 3)
    world.settle()
    assert user.holds and world.lock(3).early == ()
    assert world.remote_errors == 0


def test_a_newcomer_keeps_what_comes_before_it_is_let_in() -> None:
    world = World(5)
    world.use(2, 3, wanted=CLOCKED)
    world.slow.add((1, 4))
    user = world.ask(4, wanted=CLOCKED)
    world.settle()
    other = world.ask(2, wanted=CLOCKED)
    world.settle()
    assert user.waits and other.waits
    world.hasten(1, 4)
    world.settle()
    assert user.holds != other.holds
    assert world.remote_errors == 0


def test_what_is_kept_of_an_epoch_that_never_opens_is_dropped() -> None:
    world = World(6)
    world.use(2, 3, wanted=CLOCKED)
    world.slow.add((1, 3))
    world.ask(4, wanted=CLOCKED)
    world.settle()
    world.hasten(1, 3)
    world.slow.add((1, 3))
    world.settle()
    kept = len(world.lock(3).early)
    assert kept >= 1
    world.die(1)  # its Opened never comes; the next home forms another epoch
    world.settle()
    assert world.lock(3).early == () and world.lock(3).stage is OPEN
    assert world.remote_errors == 0


@pytest.mark.parametrize("which", range(3))
def test_nonsense_that_came_early_keeps_the_lock_from_no_user(which: int) -> None:
    """A circle that the member is not in, words of another member, an epoch to come."""
    world = World(5)
    world.use(2, 3, wanted=CLOCKED)
    world.slow.add((1, 4))
    user = world.ask(4, wanted=CLOCKED)
    world.settle()
    epoch = world[1].homes.epoch_of("x")
    sender, message = (
        (5, Go("x", epoch, 5)),
        (3, ToPeer("x", epoch, "ricart-agrawala", 1, 3, Reply())),
        (3, Go("x", epoch._replace(number=epoch.number + 1), 3)),
    )[which]
    world.say(sender, 4, message)
    assert user.waits and message in [kept for _, kept in world.lock(4).early]
    world.hasten(1, 4)
    world.settle()
    assert user.holds and world[4].statistics.remote_errors == world.remote_errors == 1


def test_what_is_kept_of_an_epoch_to_come_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(circles, "EARLY", 5)
    world = World(5)
    world.slow.add((1, 3))
    world.ask(3)
    world.settle()
    says = Go("x", Epoch(9, 9), 2)
    world.say(4, 3, *[says] * 7)
    assert len(world.lock(3).early) == 5
    assert world[3].statistics.remote_errors == 2


def test_what_comes_after_a_name_was_forgotten_leaves_nothing() -> None:
    world = World(3)
    late = ToPeer("x", Epoch(1, 1), "ricart-agrawala", 2, 1, Reply())
    world.say(2, 1, late)
    assert world[1].remembers()["locks"] == 0
    assert world.remote_errors == 0


# The home's word


def test_the_word_of_a_home_that_is_none_any_more_is_ignored() -> None:
    world = World(5)
    world.use(3, 4)
    epoch = world.lock(3).epoch
    reform = Reform(world.number, "x", Epoch(epoch.reign, epoch.number + 1))
    world.slow.add((1, 3))
    world.say(1, 3, reform)
    late = list(world.kept)
    world.see(2, 3, 4, 5, 1)  # in which 1 is a home no more, and still a member
    world.settle()
    assert world.home() == 2
    world.deliver(*late)
    world.slow.clear()
    world.deliver(*late)
    assert world.lock(3).stage is OPEN and world.lock(3).epoch == epoch
    assert world.remote_errors == 0


def test_a_refusal_of_a_home_that_is_none_any_more_is_ignored() -> None:
    """The next home is asked, and may know better."""
    world = World(5)
    world.get(4, wanted=demand("", 2))
    world.slow.add((1, 3))
    user = world.ask(3)
    world.settle()
    assert said(world.kept, Refused) == 1
    world.see(2, 3, 4, 5, 1)
    world.hasten(1, 3)
    assert user.waits and user.told == []
    world.settle()
    assert user.told == ["refused"]  # by the new home
    assert world.remote_errors == 0


def test_a_refusal_from_an_earlier_reign_of_the_home_is_ignored() -> None:
    """The member has asked again since, and the name may be used in another way now."""
    world = World(5)
    holder = world.get(4, wanted=demand("", 2))
    world.slow.add((1, 3))
    user = world.ask(3)
    world.settle()
    late = [parcel for parcel in world.kept if parcel.says(Refused)]
    for order in ((2, 3, 4, 5, 1), (1, 2, 3, 4, 5)):  # and 1 is the home again
        world.see(*order)
        world.show(3)
    world.deliver(*late)
    world.slow.clear()
    world.deliver(*late)
    assert user.waits
    world.kept.clear()
    world.settle()
    assert user.told == ["refused"] and holder.holds
    assert world.remote_errors == 0


def test_a_member_that_is_let_in_although_it_no_longer_waits_says_so() -> None:
    """Its request was sent twice, and refused first."""
    world = World(5)
    holder = world.get(4)
    world.say(3, 1, Open(world.number, "x", LOCK, 0.0))
    world.settle()
    assert holder.holds and world.lock(4).circle.members == (4,)
    assert world[3].remembers()["locks"] == 0 and world.remote_errors == 0
    world.finish(holder)
    world.use(3, 4, 5)


def test_the_word_of_a_reign_below_the_floor_is_answered_with_stale() -> None:
    """A member that has told another home takes nothing from the reigns before."""
    world = World(5)
    world.use(3, 4)
    epoch = world.lock(3).epoch
    for order in ((2, 3, 4, 5, 1), (1, 2, 3, 4, 5)):
        world.see(*order)
        world.settle()
    assert world.home() == 1 and world.lock(3).stage is OPEN
    floor = world[3]._succession.floor("x")
    assert floor == world.number
    world.slow.add((3, 1))
    world.say(1, 3, Reform(world.number, "x", Epoch(epoch.reign, epoch.number + 1)))
    assert world.lock(3).stage is OPEN
    assert [m for m in messages(world.kept) if isinstance(m, Stale)]
    assert world.remote_errors == 0


def test_a_late_opened_of_an_earlier_reign_opens_nothing() -> None:
    """The home moved away and back, and its Opened of before comes only then."""
    world = World(6)
    world.use(3, 4)
    holder = world.get(3)
    user = world.ask(5)
    while not said(parcels := world.collect(), Opened):
        world.deliver(*parcels)
    late = [p for p in parcels if p.says(Opened) and p.to == 4]
    world.deliver(*[p for p in parcels if p not in late])
    world.slow.add((1, 4))
    world.deliver(*late)  # it is under way for long
    for order in ((2, 3, 4, 5, 6, 1), (1, 2, 3, 4, 5, 6)):
        world.see(*order)
        world.settle()
    world.hasten(1, 4)
    world.settle()
    assert holder.holds and user.waits
    assert {world.lock(m).epoch for m in (3, 4, 5)} == {world[1].homes.epoch_of("x")}
    world.finish(holder)
    assert user.holds


def test_an_epoch_that_is_over_is_not_opened_again() -> None:
    world = World(4)
    world.use(2, 3)
    lock, terms = world.lock(2), world.lock(2).terms
    assert terms is not None
    old = Epoch(lock.epoch.reign, lock.epoch.number)
    world.still.add(3)
    world.ask(4)
    world.settle()
    assert lock.stage is Stage.HALTED
    world.say(1, 2, Opened(world.number, "x", old, terms, (2, 3), (), ()))
    assert lock.stage is Stage.HALTED
    assert world[2].statistics.remote_errors == 1
    world.say(1, 2, Reform(world.number, "x", Epoch(old.reign, old.number + 5)))
    over = Epoch(
        old.reign, old.number + 3
    )  # newer than ours, and we have answered for later
    world.say(1, 2, Opened(world.number, "x", over, terms, (2, 3), (), ()))
    assert lock.stage is Stage.HALTED
    assert world[2].statistics.remote_errors == 2


# In order


def test_holders_enter_one_after_the_other_and_then_waiters_ask() -> None:
    world = World(6)
    world.use(2, 3, 4, wanted=READ)
    holders = [world.get(member, wanted=READ) for member in (2, 3)]
    writer = world.wait(4)
    newcomer = world.ask(5, wanted=READ)
    carried = world.settle()
    called = [
        m.place for p in carried if p.sender == 2 for m in messages([p]) if type(m) is Next
    ]
    assert called == [1, 2, 3] and said(carried, Next) == 3 + 5
    assert said(carried, Go) == 3 + 3  # from the first and from the last
    assert all(holder.holds for holder in holders)
    assert writer.waits and newcomer.waits


@pytest.mark.parametrize("wanted", [CLOCKED, LOCK])
def test_a_member_that_has_nothing_to_ask_for_hands_its_turn_back(wanted: Demand) -> None:
    """Here the holder, whose user waits in its own process, is the last in the order: that
    all may request is said by the one before it, after its request."""
    world = World(6)
    world.use(2, 3, 4, 6, wanted=wanted)
    holder, first = world.get(2, wanted=wanted), world.wait(3, wanted=wanted)
    own = world.wait(2, wanted=wanted)
    world.slow.add((3, 4))
    world.die(6)
    world.settle()
    late = world.ask(4, wanted=wanted)
    world.settle()
    assert world.lock(4).order == (2, 3, 2) and not world.lock(4).running
    world.hasten(3, 4)
    world.settle()
    served = world.served(holder, [first, own, late])
    assert served.index(first) < served.index(late)
    assert world.remote_errors == 0


def test_a_member_whose_user_gave_up_hands_its_turn_back() -> None:
    world = World(6)
    world.use(2, 3, 4, 5, 6, wanted=CLOCKED)
    holder, first = world.get(2, wanted=CLOCKED), world.wait(3, wanted=CLOCKED)
    gone, last = world.wait(4, wanted=CLOCKED), world.wait(5, wanted=CLOCKED)
    world.slow |= {(2, 4), (3, 5)}
    world.die(6)
    world.settle()
    world[4].give_up(gone)
    world.hasten(2, 4)
    world.settle()
    assert world.lock(5).order == (2, 3, 4, 5)
    assert not any(slot.asking for slot in world.lock(5).slots)  # 3 has not said so yet
    world.hasten(3, 5)
    world.settle()
    assert world.served(holder, [first, last]) == [first, last]
    assert world.remote_errors == 0


def test_everybody_else_asks_only_when_everybody_may() -> None:
    """A user that comes after its member was asked how things stand is not in the order."""
    world = World(6)
    world.use(2, 3, 4)
    holder, first = world.get(2), world.wait(3)
    world.slow.add((2, 3))  # Next, which tells it that the holder is in
    newcomer = world.ask(5)
    world.settle()
    late = world.ask(4)
    assert said(world.settle(), ToPeer) == 0
    assert not world.lock(4).running
    world.hasten(2, 3)
    world.settle()
    assert world.lock(4).running
    assert world.served(holder, [first, newcomer, late]) == [first, newcomer, late]


def test_a_member_asks_when_the_request_before_its_own_has_come_to_it() -> None:
    """Its own request is then the later one in an algorithm with clocks: without that, the
    member of the lower rank would go first."""
    world = World(6)
    world.use(3, 4, 2, wanted=CLOCKED)
    holder = world.get(2, wanted=CLOCKED)
    first, second = (world.wait(member, wanted=CLOCKED) for member in (4, 3))
    world.slow.add((4, 3))
    late = world.ask(5, wanted=CLOCKED)  # the circle is formed anew
    world.settle()
    assert world.lock(4).slots[0].asking and not world.lock(3).slots[0].asking
    world.hasten(4, 3)
    world.settle()
    assert world.lock(3).slots[0].asking
    assert world.served(holder, [first, second, late]) == [first, second, late]


def test_a_member_asks_when_the_request_before_its_own_has_come_to_the_first() -> None:
    """Where the token is: without that, the later request could be there first."""
    world = World(6)
    world.use(2, 3, 4)
    holder, first, second = world.get(2), world.wait(3), world.wait(4)
    world.slow.add((3, 2))
    late = world.ask(5)
    world.settle()
    world.slow.remove((3, 2))  # its answer as a member has come by another way, to the home
    assert not world.lock(4).slots[0].asking
    world._deliver_kept()
    world.settle()
    assert world.lock(4).slots[0].asking
    assert world.served(holder, [first, second, late]) == [first, second, late]


def test_a_user_that_comes_after_the_re_forming_asks_after_the_last_of_the_order() -> None:
    """Also where the first says sooner than the last that everybody may ask."""
    world = World(6)
    world.use(3, 4, 2, wanted=CLOCKED)
    holder, first = world.get(2, wanted=CLOCKED), world.wait(4, wanted=CLOCKED)
    world.slow.add((5, 3))
    newcomer = world.ask(5, wanted=CLOCKED)
    world.settle()
    late = world.ask(3, wanted=CLOCKED)
    world.settle()
    assert not world.lock(3).slots[0].asking
    world.hasten(5, 3)
    world.settle()
    assert world.served(holder, [first, newcomer, late]) == [first, newcomer, late]


def test_a_user_that_comes_while_the_circle_is_formed_has_its_place() -> None:
    world = World(7)
    world.use(2, 3, 4)
    holder = world.get(2)
    world.slow.add((4, 1))  # what the home waits for
    early = world.ask(5)
    world.settle()
    assert world.lock(3).stage is Stage.HALTED
    world.now += 0.01
    first = world.ask(3)
    world.settle()
    world.now += 0.01
    second = world.ask(6)
    world.settle()
    world.hasten(4, 1)
    world.settle()
    assert world.served(holder, [early, first, second]) == [early, first, second]


def test_what_is_answered_once_more_after_the_opening_is_ignored() -> None:
    world = World(5)
    world.use(2, 3)
    holder = world.get(2)
    world.slow.add((1, 3))  # it has answered, and does not hear that the epoch has begun
    first = world.ask(4)
    world.carry()
    epoch = world[1].homes.epoch_of("x")
    world.hasten(1, 3)
    world.step()
    world.say(3, 1, Formed(world.number, "x", epoch, True, False, 5.0))
    world.settle()
    assert world[1].homes.epoch_of("x") == epoch and world.remote_errors == 0
    assert world.served(holder, [first]) == [first]


def test_with_nobody_inside_and_nobody_waiting_all_may_ask_at_once() -> None:
    world = World(4, remember=5.0)
    world.use(2, 3, 4)
    world.die(4)
    carried = world.settle()
    assert said(carried, Next) == said(carried, Go) == 0
    assert world.lock(2).running and world.lock(3).running


def test_a_member_that_gave_up_meanwhile_lets_the_next_one_ask() -> None:
    world = World(6)
    world.use(2, 3, 4)
    holder, first, second = world.get(2), world.wait(3), world.wait(4)
    world.ask(5)
    world.slow.add((2, 3))
    world.settle()
    world[3].give_up(first)
    world.hasten(2, 3)
    world.settle()
    world.finish(holder)
    assert second.holds and first.state is State.GAVE_UP


# A new home


def test_what_was_wanted_of_a_home_is_asked_again_of_the_next() -> None:
    for steps in range(4):
        world = World(5)
        world.use(3)
        holder = world.get(3)
        user = world.ask(4)
        for _ in range(steps):
            world.step()
        world.die(1)
        world.settle()
        assert user.waits, steps
        world.finish(holder)
        assert user.holds, steps


def test_a_tell_among_other_elders_than_ours_is_not_answered() -> None:
    """The member that asks sees that it asked in vain when it sees our view."""
    world = World(5)
    world.use(3)
    before = world.number
    world.say(1, 3, Tell(before, 1, (1, 2), ()))
    world.say(2, 3, Tell(before, 1, (2,), ()))
    assert world[3].statistics.messages["Told"] == 1  # when all joined
    assert world.remote_errors == 0


def test_a_member_tells_only_what_is_asked() -> None:
    world = World(17)
    ours = world.name_at(1)
    world.use(5, name=ours)
    world.use(5, name=world.name_at(2))
    asked = Tell(world.number, 1, (1, 2), ())
    world.say(1, 5, asked)
    world[5].mail.post(1, Told(world.number, world.number, (), False))
    told = [m for m in world[5].mail._links[1]._kept if isinstance(m, Told)]
    assert [report.name for report in told[-2].reports] == [ours]


def test_a_circle_goes_on_while_the_home_is_told() -> None:
    world = World(6)
    world.use(3, 4)
    world.die(1)
    world.slow |= {(3, 2), (4, 2)}
    user = world.ask(4)
    carried = world.settle()
    assert user.holds
    assert said(carried, Reform) == 0


# Going


def test_idle_names_are_given_back_after_one_or_two_sweeps() -> None:
    world = World(3, remember=5.0)
    world.use(2, 3)
    world.pass_time(4)
    assert world[2].remembers()["locks"] == world[3].remembers()["locks"] == 1
    world.pass_time(11)
    assert world.remembers_nothing


def test_an_idle_name_is_given_back_at_the_second_tick_although_ticks_vary() -> None:
    world = World(2)
    world.use(2)
    for late in (0.02, -0.02, 0.0, -0.01):
        world.now += 1.0 + late
        world[2].tick()
        world.settle()
        world.use(2, name="y")  # another one
    assert list(world[2].locks) == ["y"]
    world.use(2)
    for late in (0.02, -0.02):
        world.now += 1.0 + late
        world[2].tick()
    assert not world[2].locks


def test_a_name_in_use_is_not_given_back() -> None:
    world = World(2, remember=5.0)
    holder, other = world.get(1), world.ask(2)
    world.settle()
    world.pass_time(30)
    assert holder.holds and not other.holds
    world.finish(holder)
    assert other.holds


def test_a_name_used_again_and_again_stays_open() -> None:
    world = World(2, remember=5.0)
    world.use(2)
    opened = world[2].statistics.messages["Open"]
    for _ in range(10):
        world.pass_time(2)
        world.use(2)
    assert world[2].statistics.messages["Open"] == opened


def test_a_stopped_member_holds_up_a_name_only_if_it_used_it_of_late() -> None:
    world = World(4)  # with what is usual
    world.use(2, 3)
    world.pass_time(3)  # it has used the name three seconds ago, and others use it still
    world.use(3)
    world.still.add(2)
    world.finish(world.get(3))
    newcomer = world.get(4)
    assert newcomer.holds
    world.finish(newcomer)
    assert world.remote_errors == 0


def test_a_member_that_is_stopped_with_a_name_open_holds_up_that_name_alone() -> None:
    world = World(4)
    world.use(2, 3)
    world.use(3, name="y")
    world.still.add(2)
    stuck = world.ask(4)
    world.settle()
    assert stuck.waits
    assert world.get(4, "y").holds  # which it never used
    world.wake(2)
    world.settle()
    assert stuck.holds


def test_a_name_used_every_few_seconds_costs_one_round_trip_and_its_going_one_message() -> (
    None
):
    world = World(3)
    used = []
    for _ in range(3):
        carried = [*world.settle()]
        user = world.ask(2)
        carried += world.settle()
        world.finish(user)
        carried += world.pass_time(4)
        used.append([type(message).__name__ for message in messages(carried)])
    assert used == 3 * [["Open", "Opened", "Close"]]


def test_taking_an_idle_name_again_costs_one_round_trip() -> None:
    world = World(3, remember=5.0)
    world.use(2)
    world.pass_time(20)
    user = world.ask(2)
    carried = world.carry()
    assert user.holds
    assert [type(message) for message in messages(carried)] == [Open, Opened]


@pytest.mark.parametrize("wanted", [LOCK, CLOCKED], ids=["token", "permission"])
def test_many_names_used_once_leave_a_bounded_number(wanted: Demand) -> None:
    world = World(2, remembered=40)
    most = 0
    for i in range(1_000):
        world.use(1 + i % 2, name=f"once {i}", wanted=wanted)
        most = max(most, *(node.remembers()["locks"] for node in world.nodes.values()))
        if i % 100 == 0:
            world.now += 0.1
            for node in world.nodes.values():
                node.tick()
    assert most <= 100


def test_many_names_that_two_use_leave_a_bounded_number() -> None:
    world = World(3, remembered=40)
    most = 0
    for i in range(300):
        world.use(2, 3, name=f"once {i}")
        most = max(most, *(node.remembers()["locks"] for node in world.nodes.values()))
    assert most <= 130
    assert len(world[1].homes) <= 130


# What no honest member would say


NAIMI = Terms("naimi-trehel", 0, False, 0)
HUGE = 1 << 62


class Forged(NamedTuple):
    what: str
    sender: int  # 1 is the home of "x", 2 and 3 are in its circle, 4 is not
    message: Message


def forgeries(world: World) -> list[Forged]:
    """To 2, which is in the circle of x; each is an error of its sender."""
    view, epoch, terms = world.number, world.lock(2).epoch, world.lock(2).terms
    assert terms is not None
    later = Epoch(epoch.reign, epoch.number + 1)
    old = Epoch(epoch.reign, epoch.number - 1)
    opened = Opened(view, "x", later, terms, (2, 3), (), ())
    said = ToPeer("x", epoch, terms.algorithm, 2, 1, Reply())
    return [
        Forged("Reform from a home that is none", 3, Reform(view, "x", later)),
        Forged("Opened from a home that is none", 3, opened),
        Forged("Refused from a home that is none", 3, Refused(view, "x", LOCK, "so")),
        Forged("Tell from a home that is none", 3, Tell(view, 1, (1,), ())),
        Forged("Reform of an epoch that is over", 1, Reform(view, "x", old)),
        Forged("Reform of the epoch that is open", 1, Reform(view, "x", epoch)),
        Forged("Opened, unasked", 1, opened),
        Forged("a message of an epoch without us", 3, said._replace(epoch=later)),
        Forged("a message of a huge epoch", 3, Go("x", Epoch(HUGE, HUGE), 3)),
        Forged("a message of a member outside of the circle", 4, said),
        Forged("another member's words", 3, said._replace(sender=1)),
        Forged("a peer that is not ours", 3, said._replace(receiver=2)),
        Forged("a peer that nobody has", 3, said._replace(receiver=HUGE)),
        Forged("a sender that nobody is", 3, said._replace(sender=HUGE)),
        Forged("another algorithm", 3, said._replace(algorithm="maekawa")),
        Forged("no message of the algorithm", 3, said._replace(message=Token())),
        Forged("Next, when nobody waits for a turn", 3, Next("x", epoch, 1, 3)),
        Forged("Next of a huge place", 3, Next("x", epoch, HUGE, 3)),
        Forged("Next of a place below zero", 3, Next("x", epoch, -1, 3)),
        Forged("Go, when nobody waits for it", 3, Go("x", epoch, 3)),
        Forged("Go from outside of the circle", 4, Go("x", epoch, 4)),
    ]


@pytest.mark.parametrize("which", range(21))
def test_nonsense_is_a_counted_error_and_harmless(which: int) -> None:
    world = World(5)
    world.use(2, 3, wanted=CLOCKED)
    world.use(2, 3, name="y", wanted=CLOCKED)
    holder, other = world.get(3, wanted=CLOCKED), world.get(2, "y", CLOCKED)
    what, sender, message = forgeries(world)[which]
    before = world[2].remembers()["locks"], world.lock(2).epoch
    world.say(sender, 2, message)
    assert world[2].statistics.remote_errors == world.remote_errors == 1, what
    assert (world[2].remembers()["locks"], world.lock(2).epoch) == before, what
    assert world.lock(2).stage is OPEN
    user, later = world.wait(2, wanted=CLOCKED), world.wait(3, "y", CLOCKED)
    world.finish(holder)
    world.finish(other)
    assert user.holds and later.holds, what


def test_the_list_of_nonsense_is_whole() -> None:
    world = World(5)
    world.use(2, 3, wanted=CLOCKED)
    assert len(forgeries(world)) == 21


Forge = Callable[[Opened], Opened]


@pytest.mark.parametrize(
    "forge",
    [
        lambda opened: opened._replace(circle=(1, 3)),
        lambda opened: opened._replace(circle=()),
        lambda opened: opened._replace(circle=(2, 3, 2)),
        lambda opened: opened._replace(terms=Terms("no such algorithm", 0, True, 0)),
        lambda opened: opened._replace(terms=Terms("raymond-k", 2_000, True, 0)),
        lambda opened: opened._replace(terms=NAIMI._replace(start=7)),
        lambda opened: opened._replace(terms=NAIMI._replace(start=-1)),
        lambda opened: opened._replace(epoch=NEVER),
    ],
    ids=[
        "without us",
        "empty",
        "twice the same",
        "no algorithm",
        "permits",
        "start",
        "start below 0",
        "epoch",
    ],
)
def test_an_opening_that_makes_no_sense_is_a_counted_error(forge: Forge) -> None:
    world = World(4)
    world.slow.add((2, 1))
    user = world.ask(2)
    world.settle()
    world.use(3, name="y")
    honest = Opened(world.number, "x", Epoch(world.number, 99), NAIMI, (2,), (), (2,))
    world.say(1, 2, forge(honest))
    assert world[2].statistics.remote_errors == 1
    assert user.waits and world.lock(2).stage is Stage.OPENING
    world.hasten(2, 1)
    world.settle()
    assert user.holds
    assert world.get(2, "y").holds


def test_no_member_speaks_for_another() -> None:
    """Here it gives the holder's permission."""
    world = World(5)
    world.use(2, 3, 4, wanted=CLOCKED)
    holder, user = world.get(4, wanted=CLOCKED), world.wait(2, wanted=CLOCKED)
    lock = world.lock(2)
    ranks = lock.circle.ranks
    forged = ToPeer("x", lock.epoch, "ricart-agrawala", ranks[4] + 1, ranks[2] + 1, Reply())
    world.say(3, 2, forged)
    assert user.waits and holder.holds
    assert world[2].statistics.remote_errors == 1


def test_next_and_go_from_the_wrong_member_are_counted_errors() -> None:
    world = World(6)
    world.use(2, 3, 4)
    holder, waiter = world.get(2), world.wait(3)
    world.slow.add((2, 3))
    newcomer = world.ask(5)
    world.settle()
    lock = world.lock(3)
    assert lock.order == (2, 3, 5)
    epoch = lock.epoch
    for sender, message in (
        (4, Next("x", epoch, 1, 4)),
        (4, Next("x", epoch, 1, 2)),
        (5, Next("x", epoch, 1, 5)),
        (4, Go("x", epoch, 4)),
        (4, Go("x", epoch, 5)),
        (5, Next("x", epoch, 2, 5)),
        (5, Next("x", epoch, 2, 3)),
    ):
        errors = world[3].statistics.remote_errors
        world.say(sender, 3, message)
        assert world[3].statistics.remote_errors == errors + 1, (sender, message)
        assert not lock.running and lock.order == (2, 3, 5)
    world.hasten(2, 3)
    world.settle()
    assert world.served(holder, [waiter, newcomer]) == [waiter, newcomer]


def test_terms_in_reports_that_make_no_sense_are_counted_errors() -> None:
    """A new home does not take over what it could not open, and all else as ever."""
    world = World(5)
    world.use(3, name="y")
    nonsense = Terms("no such algorithm", 0, False, 0)
    report = NameReport("x", Epoch(1, 1), True, nonsense, (4,))
    world.still.add(4)
    world.die(1)
    world.settle()
    assert world[2].awaited == {4}
    world.show(4)
    taking = world[2].homes._taking
    assert taking is not None
    world[4].mail.post(2, Told(world.number, taking.question, (report,), False))
    world.wake(4)
    reader, user = world.ask(5, wanted=READ), world.ask(5, "y")
    world.settle()
    assert world[2].statistics.remote_errors == world.remote_errors == 1
    assert reader.holds and user.holds


def test_told_from_members_that_were_not_asked_is_ignored() -> None:
    world = World(5)
    world.use(3)
    epoch = world.lock(3).epoch
    report = NameReport("x", Epoch(HUGE, HUGE), True, NAIMI, (4,))
    for question in (0, 1, 2, world.number, HUGE, -1):
        world.say(4, 1, Told(world.number, question, (report,), False))
        world.say(4, 2, Told(world.number, question, (report,), False))
    assert world[1].homes.epoch_of("x") == epoch and len(world[2].homes) == 0
    world.use(4)


def test_a_floor_in_a_view_to_come_is_a_counted_error() -> None:
    """No member has seen such a view; nothing is asked and no name is touched."""
    world = World(5)
    world.use(3)
    epoch = world.lock(3).epoch
    world.say(4, 1, Stale(world.number, "x", HUGE))
    assert world[1].statistics.remote_errors == 1
    assert world.lock(3).epoch == epoch == world[1].homes.epoch_of("x")
    assert world[3].statistics.messages["Told"] == 1


@pytest.mark.parametrize(
    "message",
    [
        Open(0, "x", Demand("nonsense"), 0.0),
        Open(0, "x", Demand("", 2, True), 0.0),
        Open(0, "x", Demand("", 5_000), 0.0),
    ],
    ids=["no algorithm", "a shared semaphore", "too many permits"],
)
def test_a_demand_that_makes_no_sense_is_a_counted_error(message: Open) -> None:
    world = World(3)
    world.say(2, 1, message)
    assert world[1].statistics.remote_errors == 1
    assert len(world[1].homes) == 0


@pytest.mark.parametrize("waited", [inf, -inf, nan])
def test_a_wait_that_is_no_number_of_seconds_is_a_counted_error(waited: float) -> None:
    world = World(3)
    world.say(2, 1, Open(world.number, "x", LOCK, waited))
    assert world[1].statistics.remote_errors == 1
    assert len(world[1].homes) == 0


@pytest.mark.parametrize("waited", [-HUGE, float(HUGE), 1e308, -1e308])
def test_huge_waits_disturb_only_the_order_of_their_name(waited: float) -> None:
    world = World(5)
    holder, waiter = world.get(2), world.wait(3)
    world.still.add(2)
    world.say(4, 1, Open(world.number, "x", LOCK, waited))
    user = world.ask(5)
    world.wake(2)
    world.settle()
    world.die(4)
    world.settle()
    assert set(world.served(holder, [waiter, user])) == {waiter, user}


def test_huge_counts_of_a_probe_say_busy() -> None:
    world = World(3)
    world.use(2, 3, wanted=CLOCKED)
    world.slow.add((3, 2))
    user = world.ask(2, wanted=CLOCKED)
    world[2].probe(user)
    world.settle()
    world.slow.clear()
    world.kept.insert(0, world.kept.pop())
    world.say(1, 2, Probed("x", HUGE, 0))  # which is not in the circle
    assert user.busy is None and world.remote_errors == 0
    world._deliver_kept()
    world.settle()
    assert user.holds


def test_a_close_or_formed_of_a_name_that_is_not_known_is_ignored() -> None:
    world = World(3)
    world.say(2, 1, Close(world.number, "z", Epoch(1, 1)))
    world.say(2, 1, Formed(world.number, "z", Epoch(1, 1), True, True, 0.0))
    assert len(world[1].homes) == 0 and world.remote_errors == 0


def test_a_reform_of_a_name_that_is_not_open_here_is_answered() -> None:
    """The home may think that we are in: we say that we do not want to be."""
    world = World(3)
    world.say(1, 2, Reform(world.number, "z", Epoch(world.number, 1)))
    assert world[2].statistics.messages["Formed"] == 1
    assert world[2].remembers()["locks"] == 0 and world.remote_errors == 0


def test_an_algorithm_that_is_told_nonsense_disturbs_no_other_name() -> None:
    world = World(4)
    for name in ("x", "y"):
        world.use(2, 3, name=name, wanted=demand("suzuki-kasami"))
    lock = world.lock(2)
    spoken = [Request(HUGE), Reply(), Token()]  # of other algorithms
    for message in spoken:
        world.say(3, 2, ToPeer("x", lock.epoch, "suzuki-kasami", 2, 1, message))
    assert world[2].statistics.remote_errors == len(spoken)
    world.use(2, 3, name="y", wanted=demand("suzuki-kasami"))
    assert names_touched(world.settle()) == set()


def test_a_member_that_asks_a_former_home_learns_that_there_is_a_later_view() -> None:
    world = World(15)
    before = elders_of(world.view)
    world.add(16)
    view = world.next_view(*world.nodes)
    for member in (1, 16):  # the new home has not seen it either
        world.show(member, view)
    world.settle()
    assert not world[5].waits_for_view
    name = next(f"x{i}" for i in range(99) if moves(f"x{i}", before, elders_of(view)))
    user = world.ask(5, name)
    world.settle()
    assert user.waits and world[5].waits_for_view
    for member in set(world.nodes) - {1, 16}:
        world.show(member, view)
    world.settle()
    assert user.holds


def moves(name: str, before: Elders, after: Elders) -> bool:
    return home_among(name, before) != home_among(name, after)
