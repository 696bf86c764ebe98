"""Presence, input by input: one test for each of its rules.

Whole nodes with their presence under all kinds of faults at once are in test_cluster.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from random import Random

import pytest

from peerlock.core.peer import RemoteError
from peerlock.node.node import Node
from peerlock.node.numbers import APART, BEGINNING, PER_SECOND, origin
from peerlock.node.presence import (
    MISLED,
    POLL,
    POLL_IDLE,
    RETRY,
    RETRY_AT_MOST,
    SLOW,
    BeFound,
    Dial,
    HangUp,
    Join,
    LeaseUntil,
    Leave,
    PassOn,
    Presence,
    Renew,
    Reserve,
    margin,
)
from peerlock.node.register import Table
from peerlock.node.terms import demand
from peerlock.node.waiters import State, Waiter
from peerlock.node.wire import Message, Stale
from tests.support.presences import (
    LEASE,
    ME,
    OTHER,
    THIRD,
    Alone,
    member,
    ready,
    view,
    younger_member,
)

MARGIN = 0.5
ABOUT_OTHER = Renew(ME, frozenset({OTHER}))


def is_lost(waiter: Waiter) -> bool:
    return waiter.state is State.LOST


@pytest.fixture
def alone() -> Alone:
    return member()


@pytest.fixture
def pair() -> Alone:
    return member(ME, OTHER)


# One question at a time


def test_it_looks_at_every_tick(alone: Alone) -> None:
    alone.hold()
    alone.pass_time(POLL)
    assert alone.drain() == [BeFound(), Renew(ME)]
    alone.renewed(view(10, ME), alone.ends, False)
    alone.pass_time(POLL)
    assert alone.got(Renew) == [Renew(ME)]


@pytest.mark.parametrize(("lease", "often"), [(LEASE, 8), (None, 8), (3.0, 25)])
def test_one_that_does_nothing_looks_less_often(lease: float | None, often: int) -> None:
    """But never so seldom that its lease could end."""
    presence = Alone(lease=lease)
    presence.join()
    looked = 0
    for _ in range(300):
        presence.pass_time(0.1)
        for _ in presence.got(Renew):
            looked += 1
            presence.renewed(view(10, ME), presence.ends, False)
    assert looked == often
    assert presence.node.member


def test_the_rest_of_one_that_does_nothing_ends_when_it_is_used(alone: Alone) -> None:
    alone.pass_time(POLL)
    assert alone.resting
    alone.stir()
    assert alone.resting  # for nothing has happened
    alone.hold()
    alone.stir()
    alone.drain()
    alone.pass_time(POLL)
    assert not alone.resting and BeFound() in alone.drain()


def test_the_end_of_a_rest_does_not_delay_the_next_tick(alone: Alone) -> None:
    alone.pass_time(POLL)
    alone.drain()
    alone.renewed(view(10, ME), alone.ends, False)
    alone.pass_time(POLL_IDLE - 0.1)
    alone.hold()
    alone.stir()
    assert not alone.resting and alone.got(Renew) == []
    alone.pass_time(0.1)
    assert alone.got(Renew) == [Renew(ME)]


def test_the_rest_of_one_that_does_nothing_ends_when_the_engine_fails(alone: Alone) -> None:
    alone.pass_time(POLL)
    alone.drain()
    alone.failed("out of order")
    alone.pass_time(POLL)
    assert alone.got(Renew) == [Renew(ME)]


def test_a_short_lease_is_renewed_five_times_in_its_course() -> None:
    presence = Alone(lease=1.0)
    presence.join()
    presence.pass_time(0.2)
    assert presence.got(Renew) == [Renew(ME)]


def test_what_calls_for_a_look_meanwhile_calls_for_one_more(pair: Alone) -> None:
    pair.look()
    pair.look()
    pair.suspect(OTHER)
    assert pair.got(Renew) == [Renew(ME)]
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    assert pair.got(Renew) == [ABOUT_OTHER]
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    assert pair.got(Renew) == []


def test_a_question_that_failed_is_asked_again_at_the_next_tick(alone: Alone) -> None:
    alone.look()
    alone.look()
    alone.drain()
    alone.failed("the disk is full")
    assert alone.drain() == [] and alone.trouble == "the disk is full"
    alone.pass_time(POLL)
    assert alone.got(Renew) == [Renew(ME)]
    alone.renewed(view(10, ME), alone.ends, False)
    assert alone.trouble == ""


def test_what_the_engine_complains_about_while_it_renews_is_shown(alone: Alone) -> None:
    alone.look()
    alone.renewed(view(10, ME), alone.ends, False, "views cannot be changed")
    assert alone.trouble == "views cannot be changed"


def test_an_engine_that_fails_is_not_asked_for_fences_again_and_again(pair: Alone) -> None:
    fences = pair.node.fences
    fences.highest = fences.limit - 2
    assert pair.must_act
    pair.fences_run_low()
    assert not pair.must_act  # it is being asked
    pair.failed("no answer")
    assert pair.node.wants_fences and not pair.must_act  # until the next tick


def test_fences_that_run_low_are_reserved_before_a_renewal(pair: Alone) -> None:
    """Only a view that is read after that shows that they may be used."""
    fences = pair.node.fences
    fences.highest = fences.limit - 2
    limit = fences.limit
    pair.fences_run_low()
    assert pair.drain() == [Reserve()]
    pair.reserved(1_000)
    assert pair.drain() == [Renew(ME)] and fences.limit == limit
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    assert fences.limit > limit and not pair.node.wants_fences


def test_fences_that_were_reserved_before_another_view_are_not_used(pair: Alone) -> None:
    fences = pair.node.fences
    fences.highest = fences.limit - 2
    pair.fences_run_low()
    pair.reserved(1_000)
    pair.renewed(view(11, ME, OTHER), pair.ends, False)
    assert fences.limit < 1_000 << 12


def test_an_engine_that_fails_is_asked_for_fences_at_the_next_tick(pair: Alone) -> None:
    pair.node.fences.highest = pair.node.fences.limit - 2
    pair.fences_run_low()
    pair.drain()
    pair.failed("the disk is full")
    pair.fences_run_low()
    assert pair.drain() == []
    pair.pass_time(POLL)
    assert pair.got(Reserve) == [Reserve()]


# Leases


def test_a_lease_ends_a_margin_before_others_can_have_the_place(alone: Alone) -> None:
    held = alone.hold()
    assert alone.node.deadline == alone.now + LEASE - MARGIN
    alone.look()
    alone.pass_time(LEASE - MARGIN - 0.001)
    assert held.state is State.HOLDING
    assert alone.wake_at == pytest.approx(alone.now + 0.001)
    alone.pass_time(0.001)
    assert is_lost(held)


def test_users_of_the_lease_are_told_how_long_it_lasts(alone: Alone) -> None:
    alone.look()
    alone.now += 1.0
    alone.renewed(view(10, ME), alone.ends, False)
    ends = alone.now - 1.0 + LEASE - MARGIN
    assert alone.got(LeaseUntil) == [LeaseUntil(ends)] and alone.node.deadline == ends


def test_a_lease_is_counted_from_before_the_question(alone: Alone) -> None:
    alone.look()
    asked_at, alone.now = alone.now, alone.now + 4.0
    alone.renewed(view(10, ME), alone.now + LEASE, False)
    assert alone.node.deadline == asked_at + LEASE - MARGIN


def test_an_error_renews_nothing(alone: Alone) -> None:
    before = alone.node.deadline
    alone.look()
    alone.now += 1.0
    alone.failed("no answer in time")
    assert alone.node.deadline == before


def test_a_renewal_that_comes_when_the_lease_is_over_is_none(alone: Alone) -> None:
    held, before = alone.hold(), alone.node.deadline
    alone.pass_time(1.0)
    alone.look()
    alone.pass_time(LEASE - MARGIN - 1.0)
    alone.drain()
    alone.renewed(view(10, ME), alone.ends, False)
    assert alone.node.deadline == before
    assert held.state is State.LOST and not alone.node.member
    assert alone.got(Renew) == []


def test_who_is_out_joins_again_in_a_later_view(alone: Alone) -> None:
    alone.look()
    alone.renewed(view(12, OTHER), -inf, False)
    assert not alone.node.member
    assert alone.got(Join) == [Join("here", 10)]


def test_who_has_lost_something_leaves_its_users_time_to_stop(alone: Alone) -> None:
    """A process that joins gives up its former place, and what was held there is free."""
    alone.hold()
    alone.pass_time(LEASE - MARGIN)
    alone.failed("out of reach")
    alone.pass_time(MARGIN - 0.001)
    assert alone.got(Join) == []
    alone.pass_time(0.002)
    assert alone.got(Join) == [Join("here", 10)]


def test_who_has_nothing_to_lose_joins_again_at_once(alone: Alone) -> None:
    alone.pass_time(LEASE - MARGIN)
    alone.drain()
    alone.failed("out of reach")
    assert alone.got(Join) == [Join("here", 10)]


def test_who_was_put_out_joins_again_at_once(pair: Alone) -> None:
    """Others have had its place for long: there is no time to be won for its users."""
    held = pair.hold(name_at_home(pair))
    pair.heard(view(11, OTHER))
    assert held.state is State.LOST
    assert pair.got(Join) == [Join("here", 11)]


def name_at_home(presence: Alone) -> str:
    names = map(str, range(100))
    return next(name for name in names if presence.node._succession.home(name) == ME)


def test_a_join_that_fails_is_tried_again_after_a_pause(alone: Alone) -> None:
    alone.heard(view(11, OTHER))
    assert alone.got(Join) == [Join("here", 11)]
    alone.failed("the disk is full")
    alone.look()
    alone.heard(view(12, OTHER))
    assert alone.got(Join) == []
    alone.pass_time(RETRY_AT_MOST)
    assert alone.got(Join) == [Join("here", 11)]


def test_a_join_that_took_longer_than_its_lease_is_none() -> None:
    presence = Alone()
    presence.joined(view(10, ME), ME, presence.now, LEASE)
    assert not presence.node.member
    assert presence.trouble == "joining took longer than a lease"
    assert presence.got(Join) == [Join("here", 0)]


def test_when_all_members_are_gone_what_they_held_is_lost(alone: Alone) -> None:
    held = alone.hold()
    alone.look()
    alone.drain()
    alone.failed("the files were removed", gone=True)
    assert held.state is State.LOST
    assert alone.got(Join) == [Join("here", 10)]


def test_without_a_lease_nothing_runs_out() -> None:
    presence = Alone(lease=None)
    presence.join()
    held = presence.hold()
    presence.pass_time(20_000.0)
    assert held.state is State.HOLDING
    assert presence.got(LeaseUntil) == []


@pytest.mark.parametrize(("lease", "time"), [(None, 0.5), (10.0, 0.5), (1.0, 0.1)])
def test_the_margin_is_a_tenth_of_the_lease_or_half_a_second(
    lease: float | None, time: float
) -> None:
    assert margin(lease) == time


# Clocks


def test_a_pause_of_the_machine_shortens_the_lease(alone: Alone) -> None:
    """All clocks stood still; then the wall clock is corrected, and a timer comes."""
    alone.between_machines = True
    held, before = alone.hold(), alone.node.deadline
    alone.ahead += 4.0
    alone.pass_time(POLL)
    assert alone.node.deadline == pytest.approx(before - 4.0)
    assert [type(effect) for effect in alone.drain()] == [LeaseUntil, BeFound, Renew]
    assert held.state is State.HOLDING
    alone.pass_time(LEASE - MARGIN - 4.0 - POLL)
    assert is_lost(held)


def test_a_pause_of_more_than_the_lease_ends_it(alone: Alone) -> None:
    alone.between_machines = True
    held = alone.hold()
    alone.ahead += LEASE
    alone.heard(view(10, ME))
    assert held.state is State.LOST and not alone.node.member


def test_a_member_that_rested_over_a_pause_notices_it_when_it_is_used(alone: Alone) -> None:
    alone.between_machines = True
    alone.pass_time(POLL)
    assert alone.resting
    alone.ahead += LEASE
    held = alone.hold()
    assert held.state is State.HOLDING
    alone.stir()
    assert is_lost(held)


def test_a_pause_while_the_engine_was_asked_counts(alone: Alone) -> None:
    alone.between_machines = True
    alone.look()
    alone.ahead += 4.0
    alone.drain()
    alone.renewed(view(10, ME), alone.ends, False)
    assert alone.node.deadline == pytest.approx(alone.now + LEASE - MARGIN - 4.0)
    assert alone.got(Renew) == [Renew(ME)]  # at once
    alone.renewed(view(10, ME), alone.ends, False)
    assert alone.node.deadline == alone.now + LEASE - MARGIN


@pytest.mark.parametrize("pause", [4.0, LEASE])
def test_a_pause_while_it_was_joining_counts(pause: float) -> None:
    """It may have been put out meanwhile, and another member has what it wants."""
    presence = Alone(between_machines=True)
    wanted = Waiter(demand())
    presence.node.acquire("x", wanted)
    ends = presence.ends
    presence.ahead += pause
    presence.joined(view(10, ME), ME, ends, LEASE)
    if pause < LEASE:
        assert presence.node.deadline == pytest.approx(ends - MARGIN - pause)
        assert wanted.state is State.HOLDING
        assert presence.got(Renew) == [Renew(ME)]  # at once
    else:
        assert not presence.node.member and wanted.state is State.WAITING
        assert presence.trouble == "joining took longer than a lease"


def test_a_pause_counts_once(alone: Alone) -> None:
    alone.between_machines = True
    before = alone.node.deadline
    alone.ahead += 4.0
    alone.heard(view(10, ME))
    alone.heard(view(10, ME))
    assert alone.node.deadline == pytest.approx(before - 4.0)


def test_two_pauses_count_once_each(alone: Alone) -> None:
    alone.between_machines = True
    before = alone.node.deadline
    for pause in (4.0, 2.0):
        alone.ahead += pause
        alone.heard(view(10, ME))
    assert alone.node.deadline == pytest.approx(before - 4.0 - 2.0)


def test_a_shorter_pause_after_a_renewal_counts(alone: Alone) -> None:
    """What the lease before was shortened by says nothing about this one."""
    alone.between_machines = True
    alone.ahead += 4.0
    alone.heard(view(10, ME))
    assert alone.got(Renew) == [Renew(ME)]
    alone.renewed(view(10, ME), alone.ends, False)
    before = alone.node.deadline
    alone.ahead += 2.0
    alone.heard(view(10, ME))
    assert alone.node.deadline == pytest.approx(before - 2.0)


def test_on_one_machine_all_stood_still(alone: Alone) -> None:
    before = alone.node.deadline
    alone.ahead += 4.0
    alone.heard(view(10, ME))
    assert alone.node.deadline == before


def test_a_wall_clock_that_is_set_back_gives_no_time(alone: Alone) -> None:
    alone.between_machines = True
    before = alone.node.deadline
    alone.ahead -= 4.0
    alone.heard(view(10, ME))
    assert alone.node.deadline == before


def test_a_wall_clock_that_is_steered_is_left_alone(alone: Alone) -> None:
    alone.between_machines = True
    before = alone.node.deadline
    alone.ahead += 0.001
    alone.heard(view(10, ME))
    assert alone.node.deadline == before and alone.drain() == []


def test_after_a_suspension_whatever_comes_first_finds_the_lease_over(alone: Alone) -> None:
    """The lease clock has gone on, and no timer came."""
    held = alone.hold()
    alone.now += LEASE
    alone.heard(view(10, ME))
    assert held.state is State.LOST


def test_after_a_suspension_an_error_finds_the_lease_over(alone: Alone) -> None:
    held = alone.hold()
    alone.look()
    alone.now += LEASE
    alone.failed("no answer in time")
    assert is_lost(held)


# Views


@pytest.fixture
def younger() -> Alone:
    return younger_member()


def test_the_elders_are_told_of_a_view_that_we_have_changed(younger: Alone) -> None:
    younger.look()
    younger.renewed(view(11, OTHER, ME, THIRD), younger.ends, True)
    assert younger.got(PassOn) == [PassOn(OTHER, view(11, OTHER, ME, THIRD))]
    younger.look()
    younger.renewed(view(12, OTHER, ME, THIRD), younger.ends, False)
    assert younger.got(PassOn) == []
    assert younger.node.view.number == 12


def test_an_elder_that_is_not_connected_is_told_once_it_is() -> None:
    presence = Alone()
    presence.joined(view(10, OTHER, ME), ME, presence.ends, LEASE)
    presence.look()
    presence.renewed(view(11, OTHER, ME), presence.ends, True)
    assert Dial(OTHER, "at 2") in presence.drain()
    presence.heard(view(12, OTHER, ME))
    presence.connected(OTHER)
    assert presence.got(PassOn) == [PassOn(OTHER, view(12, OTHER, ME))]
    presence.disconnected(OTHER)
    presence.connected(OTHER)
    assert presence.got(PassOn) == []


def test_one_that_is_still_awaited_is_told_of_the_view() -> None:
    """Its engine may fail it, and it cannot answer before it has seen the view."""
    presence = Alone()
    presence.joined(view(10, ME, OTHER, THIRD), ME, presence.ends, LEASE)
    presence.wanted(OTHER)
    presence.connected(OTHER)
    assert presence.got(PassOn) == []
    presence.pass_time(POLL)
    assert presence.got(PassOn) == [PassOn(OTHER, view(10, ME, OTHER, THIRD))]


def test_who_joins_tells_nobody() -> None:
    presence = Alone()
    presence.joined(view(10, OTHER, ME, THIRD), ME, presence.ends, LEASE)
    assert {type(effect) for effect in presence.drain()} == {LeaseUntil}


def test_who_leaves_tells_the_elders_that_it_is_connected_to(younger: Alone) -> None:
    assert younger.leave() == Leave(ME)
    younger.left(view(11, OTHER, THIRD))
    assert younger.drain() == [PassOn(OTHER, view(11, OTHER, THIRD))]


def test_who_leaves_asks_for_nothing_else_any_more(alone: Alone) -> None:
    """It would be in again after it has left."""
    alone.stumbled("Ctrl-C")
    assert any(isinstance(effect, Join) for effect in alone.effects)
    assert alone.leave() == Leave(ME)
    assert alone.drain() == []


def test_who_leaves_has_lost_all_and_hears_nothing_any_more(pair: Alone) -> None:
    held = pair.hold(name_at_home(pair))
    assert pair.leave() == Leave(ME)
    assert held.state is State.LOST
    pair.left(view(11, OTHER, THIRD))
    assert pair.drain() == []  # the elder is gone
    assert pair.wake_at == inf
    pair.disconnected(OTHER)
    pair.heard(view(12, OTHER))
    assert pair.drain() == []


def test_a_view_heard_before_the_join_is_answered_is_seen_after_it() -> None:
    presence = Alone()
    presence.heard(view(11, ME, OTHER))
    presence.joined(view(10, ME), ME, presence.ends, LEASE)
    assert presence.node.view == view(11, ME, OTHER)


def test_older_views_are_ignored(pair: Alone) -> None:
    pair.heard(view(9, ME))
    assert pair.node.view.number == 10 and pair.drain() == []


# Connections


def test_who_is_no_member_any_more_is_hung_up(pair: Alone) -> None:
    pair.heard(view(11, ME))
    assert pair.got(HangUp) == [HangUp(OTHER)]
    pair.wanted(OTHER)
    assert pair.drain() == []


def test_who_joins_again_connects_anew(pair: Alone) -> None:
    """Others knew it under another number."""
    pair.heard(view(11, OTHER))
    pair.joined(view(12, OTHER, THIRD), THIRD, pair.ends, LEASE)
    assert pair.got(HangUp) == [HangUp(OTHER)]
    pair.wanted(OTHER)
    assert pair.got(Dial) == [Dial(OTHER, "at 2")]


def test_who_joins_again_dials_a_member_once(pair: Alone) -> None:
    """Although it was to be dialled after a pause when the membership ended."""
    pair.disconnected(OTHER)
    pair.renewed(view(11, OTHER), -inf, False)
    pair.joined(view(12, OTHER, THIRD), THIRD, pair.ends, LEASE)
    pair.wanted(OTHER)
    assert pair.got(Dial) == [Dial(OTHER, "at 2")]
    pair.pass_time(RETRY_AT_MOST)
    assert pair.got(Dial) == []


def test_a_new_connection_brings_what_was_not_acknowledged(pair: Alone) -> None:
    pair.node.drain()
    pair.disconnected(OTHER)
    pair.connected(OTHER)
    ((member, batch),) = pair.node.drain()
    assert member == OTHER and batch.messages


def test_a_broken_connection_is_made_anew(pair: Alone) -> None:
    pair.now += RETRY_AT_MOST
    pair.disconnected(OTHER)
    assert pair.got(Dial) == [Dial(OTHER, "at 2")]
    pair.wanted(OTHER)
    assert pair.got(Dial) == []


def test_who_accepts_and_hangs_up_is_dialled_after_pauses_that_grow(pair: Alone) -> None:
    pauses = []
    for _ in range(12):
        pair.disconnected(OTHER)
        assert pair.got(Dial) == []
        began = pair.now
        while not pair.got(Dial):
            pair.now = pair.wake_at
            pair.wake()
        pauses.append(pair.now - began)
        pair.connected(OTHER)
    assert pauses[0] == pytest.approx(RETRY) and pauses[3] == pytest.approx(8 * RETRY)
    assert max(pauses) == pytest.approx(RETRY_AT_MOST)


def test_pauses_begin_anew_when_a_connection_has_lasted(pair: Alone) -> None:
    for _ in range(6):
        pair.disconnected(OTHER)
        pair.pass_time(RETRY_AT_MOST)
        pair.connected(OTHER)
    pair.now += RETRY_AT_MOST
    pair.disconnected(OTHER)
    pair.drain()
    pair.unreachable(OTHER, "refused")
    assert pair._alarms[OTHER] == pytest.approx(pair.now + RETRY)


def test_who_cannot_be_reached_is_dialled_again(pair: Alone) -> None:
    pair.now += RETRY_AT_MOST
    pair.disconnected(OTHER)
    for _ in range(3):
        assert pair.got(Dial) == [Dial(OTHER, "at 2")]
        pair.unreachable(OTHER, "nobody listens")
        pair.pass_time(RETRY_AT_MOST)
    pair.pass_time(10 * RETRY_AT_MOST)
    pair.unreachable(OTHER, "nobody listens")
    for _ in range(10):
        pair.pass_time(RETRY_AT_MOST)
        pair.unreachable(OTHER, "nobody listens")
    assert pair.trouble == "cannot reach the member at at 2: nobody listens"
    pair.connected(OTHER)
    assert pair.trouble == ""


def test_one_that_may_be_dead_is_asked_about(pair: Alone) -> None:
    pair.suspect(THIRD)
    assert pair.drain() == []  # no member
    pair.suspect(OTHER)
    assert pair.got(Renew) == [ABOUT_OTHER]


def test_one_that_may_be_dead_is_asked_about_again_if_the_engine_failed(
    pair: Alone,
) -> None:
    pair.suspect(OTHER)
    assert pair.got(Renew) == [ABOUT_OTHER]
    pair.failed("the disk is full")
    pair.look()
    assert pair.got(Renew) == [ABOUT_OTHER]
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    pair.look()
    assert pair.got(Renew) == [Renew(ME)]


@pytest.mark.parametrize("how", ["unreachable", "disconnected"])
def test_one_that_is_out_of_touch_is_asked_about(pair: Alone, how: str) -> None:
    pair.disconnected(OTHER)
    assert pair.got(Renew) == [ABOUT_OTHER]
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    if how == "unreachable":
        pair.unreachable(OTHER, "nobody listens")
    else:
        pair.connected(OTHER)
        pair.disconnected(OTHER)
    assert pair.got(Renew) == [ABOUT_OTHER]


def test_an_engine_that_tells_by_itself_is_not_asked(pair: Alone) -> None:
    pair.watching = True
    pair.suspect(OTHER)
    assert pair.drain() == []


# Views that cannot be


def hear(presence: Alone, number: int, *messages: Message) -> None:
    """The other one says this, its messages from this number on."""
    presence.node.receive(OTHER, ready(10)._replace(first=number, messages=messages))


STALE = Stale(2**40, "", 0)


def asks(presence: Alone) -> int:
    """As its host does after every batch and step."""
    if presence.node.waits_for_view:
        presence.look()
    return len(presence.got(Renew))


def test_a_view_that_cannot_be_costs_one_question(pair: Alone) -> None:
    hear(pair, 2, STALE)
    assert [asks(pair) for _ in range(3)] == [1, 0, 0]
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    assert [asks(pair) for _ in range(3)] == [0, 0, 0]
    assert pair.node.statistics.remote_errors == 1
    assert pair.node.remembers()["early"] == 0


def test_what_comes_while_the_engine_is_asked_costs_one_more(pair: Alone) -> None:
    """The answer may be older than the view that it was sent in."""
    pair.look()
    for number in range(2, 9):
        hear(pair, number, STALE)
        assert asks(pair) == (number == 2)  # the one before they came
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    assert pair.node.statistics.remote_errors == 0
    assert [asks(pair) for _ in range(3)] == [1, 0, 0]
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    assert [asks(pair) for _ in range(3)] == [0, 0, 0]
    assert pair.node.statistics.remote_errors == 7


def test_a_view_is_not_asked_for_again_and_again_if_the_engine_fails(pair: Alone) -> None:
    hear(pair, 2, STALE)
    assert asks(pair) == 1
    pair.failed("no answer in time")
    assert [asks(pair) for _ in range(3)] == [0, 0, 0]
    assert pair.node.statistics.remote_errors == 0
    pair.pass_time(POLL)
    assert asks(pair) == 1
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    assert pair.node.statistics.remote_errors == 1


def test_a_view_that_the_engine_has_is_no_error(pair: Alone) -> None:
    hear(pair, 2, STALE._replace(view=11))
    assert asks(pair) == 1
    pair.renewed(view(11, ME, OTHER), pair.ends, False)
    assert pair.node.statistics.remote_errors == 0 == pair.node.remembers()["early"]


def test_fences_are_no_answer(pair: Alone) -> None:
    """They are reserved first, and the view is read then."""
    pair.node.fences.highest = pair.node.fences.limit - 2
    hear(pair, 2, STALE)
    pair.look()
    assert pair.drain() == [Reserve()]
    pair.reserved(1_000)
    assert pair.node.statistics.remote_errors == 0
    assert asks(pair) == 1
    pair.renewed(view(10, ME, OTHER), pair.ends, False)
    assert pair.node.statistics.remote_errors == 1 and asks(pair) == 0


# Views that a member has made up


def test_a_view_above_a_later_answer_is_disbelieved(pair: Alone) -> None:
    """All that was done in it is lost, and the node joins again beyond it."""
    pair.heard(view(1_000, ME, OTHER))
    held = pair.hold(name_at_home(pair))
    pair.look()
    pair.drain()
    pair.renewed(view(11, ME, OTHER, THIRD), pair.ends, True)
    assert held.state is State.LOST and not pair.node.member
    assert pair.node.statistics.remote_errors == 1
    pair.pass_time(MARGIN - 0.001)
    assert [type(e) for e in pair.drain()] == [LeaseUntil]  # nobody is told of view 11
    pair.pass_time(0.002)
    assert pair.got(Join) == [Join("here", 1_000)]
    pair.joined(view(1_001, OTHER, THIRD, 1_001), 1_001, pair.ends, LEASE)
    assert pair.node.member and pair.node.view.number == 1_001
    assert pair.node.statistics.remote_errors == 1


def test_to_have_been_misled_is_no_fault_and_is_shown_until_the_node_has_joined(
    pair: Alone,
) -> None:
    pair.heard(view(1_000, ME, OTHER))
    pair.look()
    pair.renewed(view(11, ME, OTHER), pair.ends, False, "the disk is nearly full")
    assert pair.trouble == MISLED
    assert pair.node.statistics.faults == 0
    pair.joined(view(1_001, OTHER, 1_001), 1_001, pair.ends, LEASE)
    pair.pass_time(SLOW / 2)
    assert pair.trouble == ""


def test_an_answer_says_nothing_of_a_view_that_was_heard_after_the_question(
    pair: Alone,
) -> None:
    pair.look()
    pair.heard(view(12, ME, OTHER))
    pair.renewed(view(11, ME, OTHER, THIRD), pair.ends, False)
    assert pair.node.member and pair.node.view == view(12, ME, OTHER)
    pair.look()
    pair.renewed(view(12, ME, OTHER), pair.ends, False)
    assert pair.node.member and pair.trouble == ""
    assert pair.node.statistics.remote_errors == 0


@pytest.mark.parametrize("heard_before", [True, False])
def test_a_number_belongs_to_one_view(pair: Alone, heard_before: bool) -> None:
    if heard_before:
        pair.heard(view(11, ME, OTHER))
    pair.look()
    if not heard_before:
        pair.heard(view(11, ME, OTHER))
    pair.renewed(view(11, ME, OTHER, THIRD), pair.ends, False)
    assert not pair.node.member
    assert pair.node.statistics.remote_errors == 1
    assert pair.got(Join) == [Join("here", 11)]


def test_who_was_misled_and_put_out_joins_again_at_once(pair: Alone) -> None:
    pair.heard(view(1_000, ME, OTHER))
    held = pair.hold(name_at_home(pair))
    pair.look()
    pair.drain()
    pair.renewed(view(11, OTHER), -inf, False)
    assert held.state is State.LOST
    assert pair.node.statistics.remote_errors == 1
    assert pair.got(Join) == [Join("here", 1_000)]


def test_a_view_heard_while_out_is_compared_with_the_next_join(alone: Alone) -> None:
    """It is not believed although it has the number that we were given."""
    alone.heard(view(11, OTHER))
    alone.failed("no answer in time")
    alone.heard(view(1_000, OTHER, THIRD))
    alone.pass_time(RETRY_AT_MOST)
    assert alone.got(Join)[-1] == Join("here", 11)
    alone.joined(view(12, OTHER, THIRD), THIRD, alone.ends, LEASE)
    assert not alone.node.member and alone.trouble == MISLED
    assert alone.node.statistics.remote_errors == 1
    assert alone.got(Join) == [Join("here", 1_000)]
    alone.joined(view(1_001, OTHER, 1_001), 1_001, alone.ends, LEASE)
    assert alone.node.member and alone.trouble == ""
    assert alone.node.statistics.remote_errors == 1


def test_an_answer_about_a_former_self_misleads_nobody(pair: Alone) -> None:
    pair.heard(view(1_000, ME, OTHER))
    pair.look()
    pair.stumbled("AssertionError()")
    pair.renewed(view(11, ME, OTHER), pair.ends, False)
    assert pair.node.statistics.remote_errors == 0


def asked_at(presence: Alone, number: int) -> bool:
    """Whether a member may pass on a view with this number."""
    before = presence.node.statistics.remote_errors
    try:
        presence.must_be_possible(view(number, ME, OTHER))
    except RemoteError:
        assert presence.node.statistics.remote_errors == before + 1
        return False
    assert presence.node.statistics.remote_errors == before
    return True


DAY = int(APART * PER_SECOND)


def test_a_number_may_be_a_day_ahead_of_the_clock(pair: Alone) -> None:
    pair.ahead = BEGINNING + 1_000_000.0
    first = origin(pair.wall())
    assert asked_at(pair, 11) and asked_at(pair, first + DAY)
    assert not asked_at(pair, first + DAY + 1)
    pair.ahead += 1.0
    assert asked_at(pair, first + DAY + PER_SECOND)


@pytest.mark.parametrize("asked_again", [True, False])
def test_a_cluster_may_be_ahead_of_our_clock(asked_again: bool) -> None:
    """As far as the engine says so, and not another member."""
    alone = Alone()
    assert alone.wall() < BEGINNING and not asked_at(alone, 2**40)
    alone.join(number=10 if asked_again else 2**40)
    if asked_again:
        alone.heard(view(2**40 - DAY, ME))
        assert not asked_at(alone, 2**40)
        alone.look()
        alone.renewed(view(2**40, ME), alone.ends, False)
    assert asked_at(alone, 2**40 + DAY) and not asked_at(alone, 2**40 + DAY + 1)


def test_a_view_that_none_can_have_is_refused(pair: Alone) -> None:
    assert not asked_at(pair, -1)
    with pytest.raises(RemoteError):
        pair.must_be_possible(view(11, OTHER, OTHER))
    assert pair.node.view.number == 10


class Honest:
    """An engine that keeps its rules, and members that pass on what they have seen."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.table = Table()
        self.views = [self.table.view]
        self.presence = Alone()
        self.me = self.joins = 0

    def something_happens(self) -> None:
        """Members come and go, we are put out, and views are heard in any order."""
        ids = [member.id for member in self.table.view.members]
        match self.rng.randrange(6):
            case 0:
                self.table.join("there", 1, inf)
            case 1 if ids:
                self.table.leave(self.rng.choice(ids))
            case 2:
                self.table.reserve()
            case _:
                heard = self.rng.choice(self.views[-5:])
                self.presence.must_be_possible(heard)
                self.presence.heard(heard)
        self.views.append(self.table.view)

    def answer(self) -> None:
        """What is asked, if anything is; more happens before the answer is here."""
        presence, table, me = self.presence, self.table, self.me
        question = presence._asked
        tell: Callable[[], None] = presence.look
        if isinstance(question, Join):
            self.joins += 1
            me = self.me = table.join("here", 1, inf, question.beyond, me)
            tell = partial(presence.joined, table.view, me, presence.ends, LEASE)
        elif isinstance(question, Renew):
            ends = presence.ends if me in table.register else -inf
            tell = partial(presence.renewed, table.view, ends, False)
        self.views.append(table.view)
        for _ in range(self.rng.randrange(4)):
            self.something_happens()
        tell()


@pytest.mark.parametrize("seed", range(20))
def test_no_engine_that_keeps_its_rules_is_disbelieved(seed: int) -> None:
    world = Honest(seed)
    for _ in range(200):
        world.something_happens()
        world.answer()
        assert world.presence.trouble == ""
    assert world.joins > 1
    assert world.presence.node.statistics.remote_errors == 0


# Faults and troubles


def test_a_step_that_fails_loses_what_is_held_and_the_tick_goes_on(alone: Alone) -> None:
    held = alone.hold()
    alone.look()
    alone.drain()
    alone.stumbled("AssertionError()")
    assert held.state is State.LOST and not alone.node.member
    assert alone.node.statistics.faults == 1
    assert alone.trouble == "an unforeseen fault, please report it: AssertionError()"
    alone.renewed(view(10, ME), alone.ends, False)
    alone.pass_time(MARGIN - 0.001)
    assert alone.got(Join) == []  # users have the margin here, too
    alone.pass_time(0.002)
    assert alone.got(Join) == [Join("here", 10)]
    alone.joined(view(11, THIRD), THIRD, alone.ends, LEASE)
    alone.pass_time(POLL_IDLE)
    assert alone.trouble == "" and alone.got(Renew) == [Renew(THIRD)]


def test_a_fault_between_steps_is_counted_and_shown_and_nothing_is_lost(
    alone: Alone,
) -> None:
    held = alone.hold()
    alone.faulted("ZeroDivisionError()")
    assert "ZeroDivisionError" in alone.trouble
    assert alone.node.statistics.faults == 1 and held.state is State.HOLDING
    alone.pass_time(POLL)
    assert "ZeroDivisionError" in alone.trouble
    alone.pass_time(POLL)
    assert alone.trouble == ""


def test_a_tick_that_fails_is_not_the_last(alone: Alone) -> None:
    alone.hold()
    tick = alone.node.tick

    def fail() -> None:
        raise AssertionError

    alone.node.tick = fail  # type: ignore[method-assign]
    alone.now = alone.wake_at
    with pytest.raises(AssertionError):
        alone.wake()
    alone.node.tick = tick  # type: ignore[method-assign]
    alone.drain()
    alone.pass_time(POLL)
    assert alone.got(Renew) == [Renew(ME)]


def test_a_step_that_fails_before_the_node_has_joined_asks_nothing() -> None:
    presence = Presence(Node(lambda: 0.0), lambda: 0.0, LEASE)
    presence.stumbled("KeyboardInterrupt()")
    assert presence.drain() == []


def test_one_that_cannot_be_found_says_so_until_it_can(alone: Alone) -> None:
    alone.hidden("permission denied")
    assert alone.trouble == "permission denied"
    alone.found()
    assert alone.trouble == ""


def test_one_that_locks_wait_for_is_named() -> None:
    """We are the home of all names, and it has not told us which of them it uses."""
    presence = Alone()
    presence.joined(view(10, ME, OTHER), ME, presence.ends, LEASE)
    presence.pass_time(POLL)  # a tick has seen it
    presence.now += SLOW
    assert presence.trouble == ""
    presence.now += 0.001
    assert presence.trouble == "locks wait for the member at at 2, which is silent"
    presence.heard(view(11, ME))
    assert presence.trouble == ""


def test_waking_too_early_does_nothing(alone: Alone) -> None:
    before = alone.wake_at
    alone.wake()
    assert alone.drain() == [] and alone.wake_at == before
