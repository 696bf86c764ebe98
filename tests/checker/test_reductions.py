"""Reductions find what the full search finds, and search less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.checker.arrays.reduced import ReducedSearch
from peerlock.checker.check import check
from peerlock.checker.commuting import DeliveryKind
from peerlock.checker.model import Model, Network, exhibit, model
from peerlock.checker.reductions import COMMUTING, REDUCTIONS, SYMMETRY, reduced, used_by
from peerlock.checker.renaming import candidates, generators, inverse
from peerlock.checker.search import Limits, Search
from peerlock.checker.sites import Phase
from peerlock.core.errors import UsageError

SMALL = [
    entry
    for entry in CATALOGUE
    if entry.family != "museum" and not entry.exhibit.crashes and not entry.exhibit.losses
]
BROKEN = [
    entry
    for entry in CATALOGUE
    if entry.family == "museum"
    and entry.verdict != "overtaking"
    and entry.exhibit.requests is not None
    and not entry.exhibit.crashes
    and not entry.exhibit.losses
]
LARGE = 2000  # states


@pytest.mark.parametrize("entry", SMALL, ids=lambda entry: entry.name)
def test_what_holds_holds_with_the_reductions_that_apply(entry: Algorithm) -> None:
    chosen = model(entry.name, 3, (1, 1, 0))
    full, less = check(chosen, large=None), check(chosen, reductions=REDUCTIONS)
    assert (full.violation, less.violation) == (None, None)
    assert less.complete == full.complete
    assert less.coverage.depth == full.coverage.depth
    assert less.coverage.states <= full.coverage.states
    if not less.reductions:
        assert less.coverage == full.coverage
        assert less.max_overtaken == full.max_overtaken
    if COMMUTING not in less.reductions:
        assert less.max_messages_per_entry == full.max_messages_per_entry


@pytest.mark.parametrize("entry", BROKEN, ids=lambda entry: entry.name)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_violation_is_found_as_soon_with_a_reduction(
    entry: Algorithm, reduction: str
) -> None:
    chosen = exhibit(entry.name)
    full = check(chosen, Limits(states=LARGE)).violation
    if full is None:
        return  # too large for here
    less = check(chosen, reductions=[reduction]).violation
    assert less is not None
    assert (less.property, less.depth) == (full.property, full.depth)


# Symmetry


@pytest.mark.parametrize(
    "chosen",
    [
        model("central", 4, 1),
        model("naimi-trehel", 4, 1),
        model("naimi-trehel", 3, 2),
        model("raymond", 4, 1, topology="star"),
        model("neilsen-mizuno", 4, (1, 1, 1, 0)),
    ],
    ids=lambda m: m.name,
)
def test_the_states_that_are_left_and_their_images_are_all_states(chosen: Model) -> None:
    search = reduced(chosen, Limits(), [SYMMETRY])
    full = Search(chosen)
    full.run(Limits())
    assert search.renamings.used
    assert search.size < full.size
    assert len(with_images(search)) == full.size


def with_images(search: ReducedSearch) -> set[tuple[int, ...]]:
    words = search.seen.keys
    at = [search.layout.field(words, number) for number in range(len(search.layout.at))]
    todo, found = [at], set[tuple[int, ...]]()
    while todo:
        fields = todo.pop()
        rows = {tuple(map(int, row)) for row in zip(*fields, strict=True)}
        if rows <= found:
            continue
        found |= rows
        for renaming, images in search._images.items():
            image = fields.copy()
            for node, some in enumerate(images):
                image[renaming[node]] = some.sites.of(fields[node])
            todo.append(image)
    return found


def test_a_cluster_whose_ties_are_broken_by_number_is_not_symmetric() -> None:
    report = check(model("ricart-agrawala", 3, 1), reductions=[SYMMETRY])
    assert report.reductions == ()
    assert report.coverage == (2935, 9182, 18)
    assert report.max_overtaken == 2


def test_states_of_several_words_are_renamed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = check(model("naimi-trehel", 4, 1), reductions=[SYMMETRY]).coverage
    monkeypatch.setattr("peerlock.checker.arrays.layout.BITS", 16)
    assert check(model("naimi-trehel", 4, 1), reductions=[SYMMETRY]).coverage == expected


def test_few_renamings_make_many() -> None:
    every = candidates((1, 1, 1, 2))
    assert len(every) == 5
    assert len(generators(every)) == 2
    assert inverse((1, 2, 0)) == (2, 0, 1)
    assert len(candidates((1,) * 7)) == 21  # those that exchange two


# Deliveries that commute


@pytest.mark.parametrize("name", ["suzuki-kasami", "raymond-k", "lamport"])
def test_every_end_of_a_schedule_is_found(name: str) -> None:
    """Whichever deliveries come first."""
    chosen = replace(model(name, 3, (1, 1, 0)), fences=name == "suzuki-kasami")
    search = reduced(chosen, Limits(), [COMMUTING])
    full = Search(chosen)
    full.run(Limits())
    assert used_by(search) == (COMMUTING,)
    assert search.size < full.size
    assert len(ends(search)) == len(ends(full))
    assert described(search) <= described(full)


def ends(search: Search | ReducedSearch) -> list[int]:
    states = (search.state(number) for number in range(search.size))
    return [state for state in states if not search.actions(state)]


def described(search: Search | ReducedSearch) -> set[object]:
    found: set[object] = set()
    for number in range(search.size):
        at = search.split(search.state(number))
        both = zip(search.sites, at, strict=True)
        found.add(tuple(repr((s.local(x), len(s.sites[x][2]))) for s, x in both))
    return found


def test_a_delivery_that_decides_something_is_not_put_first() -> None:
    """A request is answered at once only by a node that makes none any more."""
    chosen = replace(model("ricart-agrawala", 3, (1, 1, 0)), fences=False)
    search = reduced(chosen, Limits(), [COMMUTING])
    assert search.commuting is not None
    assert search.commuting.used == {DeliveryKind("Request", Phase.IDLE, False)}


# When they are refused


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (model("central", 3, None), "omit --forever"),
        (model("central", 3, 1, Network(False, losses=1)), "without faults"),
    ],
)
def test_a_reduction_that_would_not_be_sound_is_refused(chosen: Model, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        check(chosen, reductions=REDUCTIONS)


def test_a_search_that_is_cut_short_says_so_with_a_reduction_too() -> None:
    report = check(model("naimi-trehel", 4, 1), Limits(states=100), reductions=REDUCTIONS)
    assert not report.complete
    assert "limit of 100 states" in report.cut
