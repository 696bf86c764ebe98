"""The search on arrays: its tables, its words, its limits, and when it is chosen."""

from __future__ import annotations

import random
import subprocess
import sys
from weakref import ref

import numpy as np
import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.checker.arrays import graph, layout, memo, numbers
from peerlock.checker.arrays.columns import Index, Ints
from peerlock.checker.arrays.numbers import Numbers
from peerlock.checker.arrays.search import ArraySearch
from peerlock.checker.check import MEASURING, check
from peerlock.checker.model import Model, Network, exhibit, model
from peerlock.checker.search import Coverage, Limits, Search

MUSEUM = [entry for entry in CATALOGUE if entry.family == "museum"]


@pytest.mark.parametrize("words", [1, 2])
def test_keys_get_one_number_each_whatever_their_hashes_are(
    words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if most of them want the same few slots."""
    chance = random.Random(words)
    monkeypatch.setattr(numbers, "SPREAD", (np.uint64(1 << 40),) * 2)
    table, known = Numbers(words), dict[tuple[int, ...], int]()
    for _ in range(50):
        some = [tuple(chance.choices(range(40), k=words)) for _ in range(60)]
        keys = np.array(some, np.uint64).T
        found, fresh = table.number(tuple(keys))
        new = {some[position] for position in fresh}
        assert new == set(some) - set(known)
        known |= {key: int(number) for key, number in zip(some, found, strict=True)}
        assert [known[key] for key in some] == found.tolist()
    assert sorted(known.values()) == list(range(len(known)))


def test_a_table_of_pairs_that_is_too_large_is_not_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memo, "DENSE", 100)
    assert check(model("ricart-agrawala", 3, 1), large=0).coverage == (2935, 9182, 18)


@pytest.mark.parametrize("bits", [16, 20])
def test_states_take_as_many_words_as_they_need(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "BITS", bits)
    search = ArraySearch(model("ricart-agrawala", 3, 1))
    search.run(Limits())
    assert search.coverage == (2935, 9182, 18)
    assert search.layout.words > 1


def test_states_that_are_packed_anew_are_not_kept_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are most of what a large search keeps."""
    monkeypatch.setattr(layout, "BITS", 16)
    packed, left = ArraySearch._pack_anew, list[object]()

    def pack_anew(search: ArraySearch) -> None:
        before = [ref(word.base) for word in search.seen.keys]
        packed(search)
        left.extend(array() for array in before)

    monkeypatch.setattr(ArraySearch, "_pack_anew", pack_anew)
    ArraySearch(model("ricart-agrawala", 3, 1)).run(Limits())
    assert left
    assert not any(array is not None for array in left)


SLOW = "suzuki-kasami-lifo"  # which test_museum has


@pytest.mark.parametrize(
    "entry", [a for a in MUSEUM if a.name != SLOW], ids=lambda a: a.name
)
def test_the_museum_shows_its_verdicts_on_arrays_too(entry: Algorithm) -> None:
    report = check(exhibit(entry.name), large=0)
    if entry.verdict == "overtaking":
        assert report.max_overtaken == 6
    else:
        assert report.violation is not None
        assert report.violation.property == entry.verdict
        assert (report.violation.loop_from is None) == bool(entry.exhibit.requests)


@pytest.mark.parametrize(
    "chosen",
    [
        model("maekawa", 3, 1, quorums="grid"),
        model("central", 2, 1, Network(False, 1, 1, 1)),
        model("agrawal-el-abbadi", 2, 1, Network(True, crashes=1)),
    ],
    ids=lambda m: m.name,
)
def test_both_searches_find_the_same_states_in_the_same_order(chosen: Model) -> None:
    plain, arrays = Search(chosen), ArraySearch(chosen)
    for search in (plain, arrays):
        search.run(Limits())
    assert arrays.coverage == plain.coverage
    told = [[descriptions(s, n) for n in range(s.size)] for s in (plain, arrays)]
    assert told[0] == told[1]
    some = range(min(100, plain.layers[-1]))
    assert [plain.targets(n) for n in some] == [arrays.targets(n) for n in some]


def descriptions(search: Search | ArraySearch, number: int) -> tuple[object, ...]:
    """A state in words that do not depend on which number things have."""
    at = search.split(search.state(number))
    found: list[object] = []
    for sites, site in zip(search.sites, at, strict=True):
        _, knows, inbox = sites.sites[site]
        letters = [sites.letters.open(letter) for letter in inbox]
        values = list(sites._messages.values)
        under_way = tuple((x.sender, x.knows, repr(values[x.message])) for x in letters)
        found.append((sites.local(site), knows, under_way))
    return tuple(found)


# When it is chosen


def test_a_large_space_is_searched_on_arrays() -> None:
    seen: list[Coverage] = []
    limits = Limits(stop=lambda coverage: seen.append(coverage))
    assert check(model("lamport", 3, 1), limits, large=100).coverage == (12457, 37024, 24)
    assert len({c.depth for c in seen}) < len(seen)  # it began again


def test_without_numpy_the_plain_search_does_it_all() -> None:
    code = """
import sys
sys.modules["numpy"] = None
from peerlock.checker.check import MEASURING, check
from peerlock.checker.model import model
assert check(model("lamport", 3, 1), large=100).holds
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# Limits


def test_arrows_are_given_up_before_the_search_is() -> None:
    """Then every schedule is covered, and what was not measured is said."""
    asked: list[int] = []

    def room(more: int) -> str | None:
        asked.append(more)
        return "no room" if len(asked) == 5 else None

    report = check(model("ricart-agrawala", 3, 1), Limits(room=room), large=0)
    assert report.holds
    assert report.coverage == (2935, 9182, 18)
    assert report.max_overtaken is None
    assert "memory" in report.unmeasured


def test_what_is_measured_needs_room_too() -> None:
    def room(more: int) -> str | None:
        return "no room" if more == (MEASURING + 3) * 2935 else None

    report = check(model("ricart-agrawala", 3, 1), Limits(room=room), large=0)
    assert report.holds
    assert report.max_messages_per_entry is None
    assert "memory" in report.unmeasured


def test_states_that_are_packed_anew_need_room_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which is asked for between two chunks; after each, `stop` is called first."""
    usual = 0

    def stop(_: Coverage) -> None:
        nonlocal usual
        usual = 2  # for the arrows, and without them

    def room(_: int) -> str | None:
        nonlocal usual
        usual -= 1
        return None if usual >= 0 else "no room"

    monkeypatch.setattr(layout, "BITS", 20)
    report = check(model("lamport", 3, 1), Limits(stop=stop, room=room), large=0)
    assert report.cut == "no room"


def test_measuring_follows_the_arrows_of_a_few_states_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or it would take many times the memory that it has asked for."""
    usual = check(model("lamport", 3, 1), large=0)
    follow = graph.ArrowGraph.from_states

    def few(of: graph.ArrowGraph, states: Index) -> tuple[Index, Ints]:
        assert len(states) <= 16
        return follow(of, states)

    monkeypatch.setattr(graph, "BLOCK", 16)
    monkeypatch.setattr(graph.ArrowGraph, "from_states", few)
    report = check(model("lamport", 3, 1), large=0)
    assert report.max_overtaken == usual.max_overtaken == 2
    assert report.overtaking is not None and usual.overtaking is not None
    assert len(report.overtaking) == len(usual.overtaking)


@pytest.mark.parametrize("large", [None, 0])
def test_a_search_without_room_is_cut_short_and_says_so(large: int | None) -> None:
    limits = Limits(room=lambda _: "no room")
    report = check(model("ricart-agrawala", 3, 1), limits, large=large)
    assert not report.complete
    assert report.cut == "no room"


@pytest.mark.parametrize("large", [None, 0])
def test_measuring_ends_when_the_time_is_over(large: int | None) -> None:
    doing: list[str] = []

    def stop(_: Coverage) -> str | None:
        return "time is over" if doing[-1] == "measuring" else None

    report = check(model("lamport", 3, 1), Limits(stop=stop), doing.append, large)
    assert report.holds
    assert report.unmeasured == "time is over"
    assert report.max_messages_per_entry is None
