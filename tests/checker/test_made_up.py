"""The searches against each other, on algorithms that are made up from seeds.

The catalogue's algorithms are sane, and most of them hold.  These are neither, so they take
the searches where no algorithm of the catalogue does: see `support/made_up.py`.
"""

from __future__ import annotations

import random
from itertools import permutations
from operator import itemgetter

import pytest

from peerlock.checker.arrays import layout, memo
from peerlock.checker.arrays.search import ArraySearch
from peerlock.checker.check import check
from peerlock.checker.model import Model
from peerlock.checker.reductions import COMMUTING, REDUCTIONS, SYMMETRY, reduced, used_by
from peerlock.checker.renaming import inverse
from peerlock.checker.report import Verdict
from peerlock.checker.search import Limits, Search
from tests.support.made_up import Kind, MadeUp, calm, made_up
from tests.support.naive import explore

CALM = 12
LIMITS = Limits(states=2500)
A_LOOP = 69  # in which a node starves
SENDERS_CHANGE_PLACES = 72  # in an inbox whose messages stay in order
SEEDS = [*range(40), A_LOOP, SENDERS_CHANGE_PLACES]
VIOLATED = {
    "stuck": ("deadlock", "starvation"),
    "exclusion": ("exclusion",),
    "fence": ("fence",),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_arrays_find_what_the_plain_search_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the widths of words, tables and chunks."""
    chance = random.Random(seed)
    monkeypatch.setattr(layout, "BITS", chance.choice([64, 12, 16, 24]))
    monkeypatch.setattr(memo, "DENSE", chance.choice([1 << 25, 100]))
    monkeypatch.setattr(ArraySearch, "chunk", chance.choice([1 << 15, 1, 50]))
    chosen = made_up(seed)
    plain, arrays = check(chosen, LIMITS, large=None), check(chosen, LIMITS, large=0)
    if plain.cut:
        assert arrays.cut == plain.cut
    else:
        assert told(arrays) == told(plain)


def told(verdict: Verdict) -> tuple[object, ...]:
    violation = verdict.violation
    return (
        verdict.coverage,
        verdict.complete,
        verdict.everyone_entered,
        verdict.max_messages_per_entry,
        verdict.max_overtaken,
        violation and (violation.text, violation.schedule, violation.loop_from),
    )


def without_faults(seeds: list[int]) -> list[Model]:
    every = [*map(made_up, seeds), *map(calm, range(CALM))]
    return [one for one in every if one.requests is not None and not one.network.faults]


def kind_of(chosen: Model) -> Kind:
    peer = chosen.make(1)
    assert isinstance(peer, MadeUp)
    return peer.kind


@pytest.mark.parametrize("chosen", without_faults(SEEDS), ids=lambda model: model.name)
def test_it_is_what_a_naive_search_finds(chosen: Model) -> None:
    plain = check(chosen, LIMITS, large=None)
    if plain.cut or kind_of(chosen).failing:
        return  # the naive search knows no refused messages
    found = explore(chosen)
    if plain.violation is None:
        assert found == (*plain.coverage, "")
    else:
        assert plain.violation.property in VIOLATED[found.violated]
        assert plain.violation.depth == found.depth


@pytest.mark.parametrize("wanted", [(SYMMETRY,), (COMMUTING,), REDUCTIONS], ids="-".join)
@pytest.mark.parametrize("chosen", without_faults(SEEDS), ids=lambda model: model.name)
def test_reductions_find_what_the_full_search_finds(
    chosen: Model, wanted: tuple[str, ...]
) -> None:
    full, less = check(chosen, LIMITS, large=None), check(chosen, LIMITS, reductions=wanted)
    if full.cut:
        return
    if full.violation is not None:
        assert less.violation is not None
        assert less.violation.depth == full.violation.depth
        return
    assert (less.complete, less.violation) == (True, None)
    assert less.coverage.depth == full.coverage.depth
    if not less.reductions:
        assert told(less) == told(full)
    elif COMMUTING not in less.reductions:
        assert less.max_messages_per_entry == full.max_messages_per_entry


@pytest.mark.parametrize(
    "chosen",
    [one for one in without_faults(SEEDS) if kind_of(one).alike and not one.medium],
    ids=lambda m: m.name,
)
def test_of_states_that_are_equal_up_to_a_renaming_one_is_searched(chosen: Model) -> None:
    """Neither the peers' states nor their messages name a node here."""
    less, full = reduced(chosen, LIMITS, [SYMMETRY]), Search(chosen)
    full.run(LIMITS)
    if full.cut or not used_by(less):
        return
    assert less.size == len({least_image(full, number) for number in range(full.size)})


def least_image(search: Search, number: int) -> str:
    nodes = range(search.model.nodes)
    at = [
        sites.sites[x]
        for sites, x in zip(search.sites, search.split(search.state(number)), strict=True)
    ]
    locals_ = [
        sites.locals[local] for sites, (local, _, _) in zip(search.sites, at, strict=True)
    ]
    inboxes = [
        [search.sites[node].letters.open(letter) for letter in at[node][2]]
        for node in nodes
    ]
    fifo = search.model.network.fifo

    def image(renaming: tuple[int, ...]) -> object:
        found = []
        for node in inverse(renaming):
            renamed = [(renaming[a.sender - 1], a.knows, a.message) for a in inboxes[node]]
            if fifo:
                renamed.sort(key=itemgetter(0))
            else:
                renamed.sort()
            found.append((locals_[node], at[node][1], renamed))
        return found

    return min(repr(image(renaming)) for renaming in permutations(nodes))


def test_they_take_the_searches_everywhere() -> None:
    verdicts = [check(made_up(seed), LIMITS) for seed in SEEDS]
    violated = {v.violation.property for v in verdicts if v.violation}
    assert violated >= {"exclusion", "deadlock", "starvation", "fence", "remote error"}
    assert sum(v.holds for v in verdicts) >= 5
    loops = [v.violation.loop_from for v in verdicts if v.violation]
    assert any(loop is not None for loop in loops)
    reduced = [
        check(model, LIMITS, reductions=REDUCTIONS) for model in without_faults(SEEDS)
    ]
    assert {name for one in reduced for name in one.reductions} == set(REDUCTIONS)
