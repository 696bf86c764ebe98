"""The register of members, and the numbers that it gives, as pure values."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerlock.core.errors import UsageError
from peerlock.node.numbers import (
    BEGINNING,
    BITS,
    BLOCK,
    MOST,
    PER_SECOND,
    SET_BACK,
    UNBELIEVABLE,
    early,
    origin,
)
from peerlock.node.register import Register, Table, ended
from peerlock.node.views import Member, View

NOW = 1_800_000_000.25


# Numbers


def test_numbers_have_41_bits_until_2092() -> None:
    assert MOST == 1 << BITS == 1 << 41
    last = BEGINNING + MOST / PER_SECOND
    assert 2091 < 1970 + last / (365.2425 * 86400) < 2093
    assert origin(UNBELIEVABLE - 1) < MOST - (1 << 37)  # years of changes are left


def test_the_origin_is_1024_for_each_second_since_2024() -> None:
    assert origin(BEGINNING) == 0
    assert origin(BEGINNING + 1) == 1024
    assert origin(NOW) == int((NOW - 1_704_067_200) * 1024)


@pytest.mark.parametrize("clock", [0, BEGINNING - 0.001, UNBELIEVABLE, 4_102_444_800])
def test_a_clock_that_cannot_be_right_is_refused(clock: float) -> None:
    with pytest.raises(
        UsageError, match=r"clock of this machine is wrong .* set it before"
    ):
        origin(clock)


def test_a_number_is_early_until_the_clock_has_reached_it() -> None:
    number = origin(NOW)
    assert early(number, NOW) == 0
    assert early(number + 1, NOW) == 1 / PER_SECOND
    assert early(number + BLOCK, NOW) == 0.25
    assert early(number + BLOCK, NOW + 0.25) == 0
    assert early(number, NOW - 0.125) == 0.125
    assert early(number, NOW - SET_BACK) == SET_BACK


def test_nobody_waits_for_a_clock_that_was_set_back() -> None:
    assert early(origin(NOW), NOW - SET_BACK - 0.01) == 0
    assert early(origin(NOW), 0.0) == 0


@settings(deadline=None)
@given(st.floats(BEGINNING, UNBELIEVABLE - 3600), st.integers(0, 2000), st.floats(0, 1))
def test_a_new_origin_is_not_below_what_was_given(
    clock: float, changes: int, later: float
) -> None:
    """However many changes were made, each at the time at which it was allowed."""
    number = origin(clock)
    for _ in range(changes):
        number += 1
        clock += early(number, clock)
    assert origin(clock + later + 1 / PER_SECOND) >= number


# The register


def joined(*addresses: str) -> Register:
    register = Register(100, 100)
    for address in addresses:
        register = register.join(address, 7)
    return register


def test_each_change_is_a_view_with_a_higher_number() -> None:
    register = joined("/a", "/b")
    assert register.members == (Member(101, "/a", 7), Member(102, "/b", 7))
    assert register.view == (102, register.members)
    left = register.without({101})
    assert left.view == (103, (Member(102, "/b", 7),))
    assert 102 in left
    assert 101 not in left


def test_it_is_the_same_register_if_nobody_is_out() -> None:
    register = joined("/a")
    assert register.without({5}) is register
    assert register.without(set()) is register


def test_several_are_out_in_one_view() -> None:
    register = joined("/a", "/b", "/c")
    assert register.without({101, 103}) == (104, 104, (Member(102, "/b", 7),))


def test_one_may_join_above_what_it_has_seen() -> None:
    assert joined("/a").join("/b", 1, beyond=500).view.number == 501
    assert joined("/a").join("/b", 1, beyond=50).view.number == 102


def test_reserved_numbers_are_below_every_later_view() -> None:
    register = joined("/a")
    reserved = register.reserve()
    assert reserved.view == register.view
    assert reserved.highest == register.highest + BLOCK
    assert reserved.reserve().highest == register.highest + 2 * BLOCK
    for later in (reserved.join("/b", 1), reserved.without({101})):
        assert later.number == later.highest == reserved.highest + 1


def test_numbers_that_are_used_up() -> None:
    last = Register(1, MOST - BLOCK - 1)
    assert last.reserve().highest == MOST - 1
    with pytest.raises(UsageError, match="used up all numbers"):
        Register(1, MOST - BLOCK).reserve()
    with pytest.raises(UsageError, match="used up all numbers"):
        Register().join("/a", 1, beyond=MOST)


def test_a_lease_has_ended_at_its_deadline_and_not_before() -> None:
    deadlines = {1: 10.0, 2: 10.5, 3: inf}
    assert ended(deadlines, 9.999) == set()
    assert ended(deadlines, 10.0) == {1}
    assert ended(deadlines, 1e9) == {1, 2}


# A table


def test_a_table_puts_out_the_dead_and_the_silent_before_it_renews() -> None:
    table = Table()
    a, b, c = (table.join(f"/{i}", 1, 10.0 + i) for i in range(3))
    number = table.view.number
    assert table.renew(c, 20.0, 5.0) == (20.0, False)
    assert table.view.number == number
    assert table.renew(c, 21.0, 10.5, lambda member: member.id == b) == (21.0, True)
    assert table.view == View(number + 1, (Member(c, "/2", 1),))
    assert table.deadlines == {c: 21.0}
    assert table.renew(a, 30.0, 11.0) == (-inf, False)
    assert table.renew(c, 30.0, 21.0) == (-inf, True)
    assert table.view.members == ()


def test_a_table_has_one_that_joins_again_once() -> None:
    table = Table()
    first = table.join("/a", 1, inf)
    second = table.join("/a", 1, inf, former=first, beyond=50)
    assert [member.id for member in table.view.members] == [second]
    assert second == 51
    assert table.deadlines == {second: inf}
    assert table.leave(second)
    assert not table.leave(second)
    assert table.reserve() == table.register.highest == table.view.number + BLOCK
