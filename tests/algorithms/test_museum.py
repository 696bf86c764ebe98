"""Each piece of the museum is as wrong as the catalogue says."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from handbook import checked

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import PAPERS, Algorithm, Quotation
from peerlock.algorithms.suzuki_kasami_bounded import SuzukiKasamiBounded
from peerlock.checker.check import check
from peerlock.checker.model import Network, exhibit, model
from peerlock.traces.trace import Kind
from tests.support.quoted import at_hand, stands

MUSEUM = [entry for entry in CATALOGUE if entry.family == "museum"]


@pytest.mark.parametrize(
    "entry", [a for a in MUSEUM if a.verdict != "overtaking"], ids=lambda a: a.name
)
def test_the_exhibit_shows_the_verdict(entry: Algorithm) -> None:
    violation = check(exhibit(entry.name)).violation
    assert violation is not None
    assert violation.property == entry.verdict
    assert (violation.loop_from is not None) == (entry.exhibit.requests is None)
    if entry.quotes:
        steps = violation.depth if violation.loop_from is None else violation.loop_from
        assert f"after {steps} step" in told_of(entry.name)


def told_of(name: str) -> str:
    """What follows, in the table of the papers' errors."""
    (row,) = [row for row in checked.errors() if f"`{name}`" in row[2]]
    return row[2]


def test_the_listing_of_tr869_is_safe_and_overtakes_too_often() -> None:
    report = check(exhibit("ricart-agrawala-listing"))
    assert report.holds
    assert report.max_overtaken == 6
    assert report.overtaking is not None
    waited = [s for s in report.overtaking if s.kind is Kind.ENTER]
    assert [s.node for s in waited].count(3) == 0
    assert len(waited) >= 6


def test_every_piece_says_how_it_came_to_be_wrong() -> None:
    for entry in MUSEUM:
        assert entry.peer.__doc__
        assert entry.verdict != "holds"


@pytest.mark.parametrize("entry", MUSEUM, ids=lambda a: a.name)
def test_what_is_not_made_here_is_quoted(entry: Algorithm) -> None:
    assert bool(entry.quotes) != entry.source.startswith("made from")
    assert "word" not in entry.headline or entry.quotes


@at_hand
@pytest.mark.parametrize("entry", [a for a in MUSEUM if a.quotes], ids=lambda a: a.name)
def test_the_quotation_stands_in_the_paper(entry: Algorithm) -> None:
    for quotation in entry.quotes:
        assert len(quotation.words) > 20
        assert stands(quotation), quotation.words


def test_of_every_error_it_is_said_since_when_it_is_known() -> None:
    rows = checked.errors()
    assert len(rows) > 30
    for _, sentence, follows, known in rows:
        assert sentence[0] + sentence[-1] == "“”"
        assert follows
        assert re.match(r"not found in print|\d{4}, |a misprint|the lecture's own", known)
    named = {name for row in rows for name in re.findall("`([^`]+)`", row[2])}
    assert named == {entry.name for entry in MUSEUM if entry.quotes}


@at_hand
@pytest.mark.parametrize("row", checked.errors(), ids=lambda row: row[1])
def test_the_sentence_of_an_error_stands_in_its_paper(row: tuple[str, ...]) -> None:
    (paper,) = [key for key, name in PAPERS.items() if row[0].startswith(name)]
    assert stands(Quotation(paper, row[0], row[1][1:-1]))


@at_hand
def test_other_words_do_not_stand_there() -> None:
    right = MUSEUM[-1].quotes[0]
    assert stands(right)
    assert not stands(right._replace(words=right.words + " indeed"))
    assert not stands(right._replace(words=f"{right.words} … {right.words}"))


def test_lamport_in_order_is_not_wrong() -> None:
    assert check(model("lamport-reordered", 2, 2, Network(fifo=True))).holds


def test_a_token_that_is_not_lost_is_not_made_anew() -> None:
    chosen = model("token-ring-regenerated", 2, 2, Network(fifo=True))
    assert check(chosen).violation is None


def test_with_two_nodes_the_right_end_of_the_queue_starves_nobody() -> None:
    """So it is the queue's order, not the bounded numbers, that is wrong."""
    chosen = exhibit("suzuki-kasami-lifo")
    right = replace(
        chosen, make=lambda node: SuzukiKasamiBounded(node, (1, 2), limit=1), nodes=2
    )
    assert check(right).holds
