"""TR-869, section 6.4: sequence numbers modulo M ≥ 2N−1, a claim a test."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from peerlock.algorithms.ricart_agrawala import REPLY, Request, RicartAgrawala
from peerlock.algorithms.ricart_agrawala_bounded import RicartAgrawalaBounded
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "ricart-agrawala-bounded"


def without_end(nodes: int, modulus: int) -> Model:
    members = tuple(range(1, nodes + 1))

    def make(node: NodeId) -> RicartAgrawalaBounded:
        return RicartAgrawalaBounded(node, members, modulus=modulus)

    return replace(model(NAME, nodes, None), make=make)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_it_costs_2_n_minus_1(n: int) -> None:
    assert {m for *_, m in light_entries(NAME, n)} == {2 * (n - 1)}


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_competition_does_not_change_its_count(n: int) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    assert report.messages_per_entry == 2 * (n - 1)


@pytest.mark.parametrize("n", [2, 3, 6, 9])
@pytest.mark.parametrize("load", [Heavy(), Level(0.3)], ids=["heavy", "level"])
def test_it_does_what_the_unbounded_algorithm_does(n: int, load: Heavy | Level) -> None:
    """The same messages at the same times, each number its residue."""
    bounded, unbounded = (
        empty_trace(Scenario(name, n, 30 * n, load)) for name in (NAME, "ricart-agrawala")
    )
    simulate(Scenario(NAME, n, 30 * n, load), bounded)
    simulate(Scenario("ricart-agrawala", n, 30 * n, load), unbounded)
    reduced = [
        replace(step, message=Request(step.message.sequence_number % (2 * n - 1)))
        if isinstance(step.message, Request)
        else step
        for step in unbounded
    ]
    assert bounded.steps == reduced
    assert sum(step.kind is Kind.ENTER for step in bounded) == 30 * n


# "The numbers must fall within the range from x to x+N−1"


@dataclass(eq=False)
class Measuring(RicartAgrawala):
    """The unbounded algorithm, which finds a number too far away a broken invariant."""

    def receive_request(self, j: NodeId, message: Request) -> None:
        apart = [abs(message.sequence_number - self.highest_sequence_number)]
        if self.requesting_critical_section:
            apart.append(abs(message.sequence_number - self.our_sequence_number))
        assert max(apart) < len(self.members)
        super().receive_request(j, message)


@pytest.mark.parametrize("fifo", [True, False], ids=["fifo", "any order"])
@pytest.mark.parametrize("requests", [(5, 5), (2, 2, 2)], ids=str)
def test_no_two_numbers_that_are_compared_are_n_apart(
    requests: tuple[int, ...], fifo: bool
) -> None:
    """Not those of two requests, and not that of a request and the highest seen."""
    n = len(requests)
    members = tuple(range(1, n + 1))
    chosen = model("ricart-agrawala", n, requests, Network(fifo))
    assert check(replace(chosen, make=lambda node: Measuring(node, members))).holds


# "Stored modulo M where M ≥ 2N−1"


@pytest.mark.parametrize(
    ("n", "modulus", "coverage"),
    [
        (1, 1, (2, 2, 1)),
        (2, 3, (157, 287, 22)),
        (2, 4, (240, 444, 30)),
        (2, 7, (585, 1107, 54)),
        (3, 5, (47465, 176771, 64)),
    ],
)
def test_it_holds_with_requests_without_end(
    n: int, modulus: int, coverage: tuple[int, int, int]
) -> None:
    """The unbounded algorithm has no end of states; here they are all searched."""
    report = check(without_end(n, modulus))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


def test_twice_is_as_in_the_unbounded_algorithm() -> None:
    """To the state: six numbers modulo 5 make no two states of that size one."""
    report = check(model(NAME, 3, 2))
    assert report.holds
    assert report.coverage == (61331, 207266, 36)
    assert report.max_messages_per_entry == 4
    assert report.max_overtaken == 4


@pytest.mark.parametrize(
    ("n", "requests", "verdict"), [(2, 1, "exclusion"), (3, 2, "deadlock")]
)
@pytest.mark.parametrize("fifo", [True, False], ids=["fifo", "any order"])
def test_one_less_is_too_small(n: int, requests: int, verdict: str, fifo: bool) -> None:
    found = check(model("ricart-agrawala-too-small", n, requests, Network(fifo))).violation
    assert found is not None
    assert found.property == verdict


def test_a_modulus_that_is_too_small_is_refused() -> None:
    RicartAgrawalaBounded(1, (1, 2, 3), modulus=5)
    with pytest.raises(AssertionError):
        RicartAgrawalaBounded(1, (1, 2, 3), modulus=4)


@pytest.mark.parametrize(
    ("k", "other", "later"),
    [
        (3, 3, False),
        (4, 3, True),
        (4, 2, True),  # 2 apart, as far as three nodes can be
        (0, 4, True),  # 5 and 4
        (1, 4, True),  # 6 and 4
        (4, 1, False),  # 4 and 6
        (1, 3, False),  # 1 and 3, as 6 and 3 would be too far apart
    ],
)
def test_the_smaller_is_increased_by_m_if_they_are_n_or_more_apart(
    k: int, other: int, later: bool
) -> None:
    assert RicartAgrawalaBounded(1, (1, 2, 3)).later(k, other) is later


def test_a_number_beyond_the_modulus_is_a_remote_error() -> None:
    peer = RicartAgrawalaBounded(1, (1, 2, 3))
    before = peer.snapshot()
    for number in (-1, 5):
        with pytest.raises(RemoteError):
            peer.receive(2, Request(number))
    assert (peer.snapshot(), peer.drain()) == (before, [])
    peer.receive(2, Request(4))
    assert peer.drain() == [Send(2, REPLY)]
