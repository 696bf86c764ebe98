"""Which member is the home of a name, and since when: one test for each rule of
node/succession.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from peerlock.node.succession import REMEMBERED, Succession, home_among
from peerlock.node.views import Member, View
from tests.support.nodes import elders_of, new_succession

NAMES = [f"name {i}" for i in range(400)]


def view(number: int, members: Iterable[int]) -> View:
    return View(number, tuple(Member(i, f"at {i}", i) for i in members))


def having_seen(*views: View) -> Succession:
    succession = new_succession()
    for each in views:
        succession.see(each)
    return succession


def moved(before: View, after: View) -> set[str]:
    """Names with another home."""
    old, new = elders_of(before), elders_of(after)
    return {name for name in NAMES if home_among(name, old) != home_among(name, new)}


ONE, TWO = view(15, range(1, 16)), view(16, range(1, 17))  # so many elders


# Homes


def test_a_cluster_has_one_elder_until_it_is_large() -> None:
    for members, elders in ((1, 1), (127, 1), (128, 2), (256, 4), (1_000, 4)):
        succession = Succession()
        succession.see(view(1, range(1, members + 1)))
        assert succession.elders == tuple(range(1, elders + 1))


def test_homes_are_the_members_that_have_been_in_for_longest() -> None:
    for members, elders in ((1, 1), (2, 1), (15, 1), (16, 2), (32, 4), (1_000, 4)):
        assert elders_of(view(1, range(1, members + 1))) == tuple(range(1, elders + 1))
    assert elders_of(view(9, [5, 2, 7])) == (5,)  # in the order in which they joined


def test_a_process_that_comes_for_a_second_becomes_no_home() -> None:
    members = range(1, 101)
    before = view(100, members)
    assert not having_seen(before).see(view(101, [*members, 101]))
    assert not moved(before, view(101, [*members, 101]))


def test_all_members_agree_whatever_they_have_seen_before() -> None:
    latest = view(40, range(3, 30))
    stayed = having_seen(*(view(20 + i, range(1, 20 + i)) for i in range(12)), latest)
    came = having_seen(latest)
    assert [stayed.home(name) for name in NAMES] == [came.home(name) for name in NAMES]


def test_an_elder_that_goes_takes_only_its_own_names_with_it() -> None:
    before, after = view(64, range(1, 65)), view(65, [*range(1, 4), *range(5, 66)])
    elders = elders_of(before)
    homes = {name: home_among(name, elders) for name in NAMES}
    newest = elders_of(after)[-1]
    for name in moved(before, after):
        assert homes[name] == 4 or home_among(name, elders_of(after)) == newest
    assert set(homes.values()) == set(elders)  # each has some


def test_names_are_spread_evenly() -> None:
    elders = tuple(range(1, 9))
    homes = [home_among(name, elders) for name in NAMES]
    assert all(25 <= homes.count(elder) <= 80 for elder in elders)


# Reigns


def test_a_reign_is_named_by_the_view_in_which_it_began() -> None:
    succession = having_seen(view(3, [1, 2]), view(5, [1, 2, 3]))
    assert succession.reign("x") == 3
    succession.see(view(9, [2, 3]))
    assert succession.home("x") == 2 and succession.reign("x") == 9
    succession.see(view(12, [2, 3, 4]))
    assert succession.reign("x") == 9


def test_a_home_that_moves_away_and_back_begins_a_new_reign() -> None:
    (name, *_) = moved(ONE, TWO)
    succession = having_seen(ONE, TWO, view(17, range(1, 16)))
    assert succession.home(name) == 1
    assert succession.reign(name) == succession.floor(name) == 17
    (other, *_) = set(NAMES) - moved(ONE, TWO)
    assert succession.reign(other) == 15 and succession.floor(other) == 0


def test_a_member_takes_nothing_from_reigns_before_another_home_that_it_has_seen() -> None:
    succession = having_seen(view(3, [1, 2]), view(5, [1, 2, 3]), view(9, [2, 3]))
    assert succession.floor("x") == 6  # the view after the last that had another home
    assert succession.reign("x") == 9


def test_a_member_that_has_seen_no_other_home_fears_no_reign() -> None:
    succession = having_seen(view(9, [2, 3]), view(10, [2, 3, 10]))
    assert succession.floor("x") == 0


def test_a_member_that_was_out_has_seen_nothing_yet() -> None:
    succession = having_seen(view(3, [1, 2]), view(9, [2, 3]))
    succession.forget()
    assert succession.elders == ()
    succession.see(view(12, [2, 3, 12]))
    assert succession.floor("x") == 0 and succession.reign("x") == 12


def test_a_home_that_missed_views_begins_a_new_reign_when_told_so() -> None:
    succession = having_seen(view(3, [1, 2]), view(9, [1, 2, 3]))
    succession.begin_anew(view(9, [1, 2, 3]))
    assert succession.home("x") == 1
    assert succession.reign("x") == 9
    assert succession.floor("x") == 0  # which is for members that have seen another home


def test_former_homes_are_known_as_such() -> None:
    succession = having_seen(view(3, [1, 2, 3]), view(9, [2, 3]))
    assert succession.was_home("x", 1) and succession.was_home("x", 2)
    assert not succession.was_home("x", 3)
    succession.forget()
    succession.see(view(11, [2, 3, 11]))
    assert succession.was_home("x", 2) and not succession.was_home("x", 1)


def test_what_is_remembered_is_bounded_and_reigns_only_grow() -> None:
    succession, reigns = new_succession(), []
    for number in range(1, 4 * REMEMBERED):
        members = range(1, 16 + number % 2)
        succession.see(view(number, members))
        reigns.append(succession.reign("name 0"))
    assert len(succession._periods) == REMEMBERED
    assert reigns == sorted(reigns)
