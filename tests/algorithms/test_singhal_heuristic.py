"""Singhal: state vectors, and a guess at who has the token, a claim a test."""

from __future__ import annotations

from fractions import Fraction

import pytest

from peerlock.algorithms.singhal_heuristic import Request, SinghalHeuristic, Token
from peerlock.checker.check import check
from peerlock.checker.model import Network, exhibit, model
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Level, Light, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Exponential
from peerlock.simulator.network import Network as Wire
from tests.support.counts import light_entries

NAME = "singhal-heuristic"
FIVE = (1, 2, 3, 4, 5)


def peer_of(cluster: ByHand, node: NodeId) -> SinghalHeuristic:
    found = cluster.peers[node]
    assert isinstance(found, SinghalHeuristic)
    return found


# The staircase


def test_in_the_beginning_the_vectors_form_a_staircase() -> None:
    vectors = ["".join(SinghalHeuristic(i, FIVE).sv) for i in FIVE]
    assert vectors == ["HNNNN", "RNNNN", "RRNNN", "RRRNN", "RRRRN"]


def test_the_staircase_begins_at_the_first_holder() -> None:
    vectors = ["".join(SinghalHeuristic(i, FIVE, first_holder=4).sv) for i in FIVE]
    assert vectors == ["NNNRR", "RNNRR", "RRNRR", "NNNHN", "NNNRN"]


@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_of_any_two_one_would_ask_the_other_and_all_the_holder(n: int) -> None:
    """Whenever everything is quiet, also after requests that met."""
    cluster = ByHand(NAME, n)
    for wave in ((n, 1), (2, 1, n), tuple(range(1, n + 1)), (n // 2 + 1,)):
        for node in sorted(set(wave)):
            cluster.request(node)
        while cluster.judge.waiting or cluster.judge.inside:
            cluster.settle()
            for node in list(cluster.judge.inside):
                cluster.leave(node)
        cluster.settle()
        would_ask = {
            (i, j)
            for i in cluster.members
            for j in cluster.members
            if i != j and peer_of(cluster, i).sv[j - 1] == "R"
        }
        (holder,) = (i for i in cluster.members if peer_of(cluster, i).state == "H")
        for i in cluster.members:
            assert all((i, j) in would_ask or (j, i) in would_ask for j in range(1, i))
            assert (i, holder) in would_ask or i == holder


# "(N+1)/2 in case of light traffic"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_an_entry_costs_the_nodes_place_among_the_last_to_enter(n: int) -> None:
    """The node that was inside p-th to last asks the p-1 that were there since."""
    latest = list(range(1, n + 1))
    for _, node, messages in light_entries(NAME, n, 100):
        place = latest.index(node) + 1
        assert messages == (place if place > 1 else 0)
        latest.insert(0, latest.pop(place - 1))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_about_half_of_n_plus_1_on_average(n: int) -> None:
    """Each place is equally likely, and the first one costs 0 and not 1."""
    report = simulate(Scenario(NAME, n, 4000, Light()))
    assert report.messages_per_entry == pytest.approx((n + 1) / 2 - 1 / n, rel=0.03)


# "N in the case of heavy traffic"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_about_n_when_all_compete(n: int) -> None:
    report = simulate(Scenario(NAME, n, 40 * n, Heavy()))
    assert report.messages_per_entry == pytest.approx(n, rel=0.02)


@pytest.mark.parametrize("n", [3, 5, 10, 25])
@pytest.mark.parametrize("p", [0.02, 0.1, 0.5])
def test_what_answers_to_overtaken_requests_add_is_little(n: int, p: float) -> None:
    wire = Wire(Exponential(1.0), fifo=False)
    report = simulate(Scenario(NAME, n, 60 * n, Level(p), network=wire))
    assert report.messages_per_entry <= 1.02 * n


# "Sends a request to only those nodes which are in the requesting state"


def test_a_node_asks_those_in_state_r() -> None:
    peer = SinghalHeuristic(3, FIVE)
    peer.acquire()
    assert peer.drain() == [Send(1, Request(1)), Send(2, Request(1))]
    assert peer.state == "R"


def test_the_holder_of_an_idle_token_enters_without_a_message() -> None:
    peer = SinghalHeuristic(1, FIVE)
    for _ in range(2):
        peer.acquire()
        assert peer.drain() == [Enter()]
        assert peer.state == "E"
        peer.release()
        assert peer.drain() == []
        assert peer.state == "H"


# "If node j is requesting and the state information for i … was not requesting"


def test_who_waits_asks_one_that_it_now_knows_to_request() -> None:
    peer = SinghalHeuristic(3, FIVE)
    peer.acquire()
    peer.drain()
    peer.receive(5, Request(1))
    assert peer.drain() == [Send(5, Request(1))]
    peer.receive(2, Request(1))  # has been asked already
    assert peer.drain() == []
    peer.receive(5, Request(1))
    assert peer.drain() == []


def test_who_does_not_wait_takes_note_only() -> None:
    peer = SinghalHeuristic(3, FIVE)
    peer.receive(5, Request(1))
    assert peer.drain() == []
    assert (peer.sv, peer.sn) == (("R", "R", "N", "N", "R"), (0, 0, 0, 0, 1))


def test_an_idle_holder_sends_the_token() -> None:
    peer = SinghalHeuristic(1, FIVE)
    peer.receive(4, Request(1))
    assert peer.drain() == [Send(4, Token(tuple("NNNRN"), (0, 0, 0, 1, 0)))]
    assert "".join(peer.sv) == "NNNRN"


# "If the vectors in the token hold out-dated information, these are updated with the
# information contained in the node's state vectors, and vice versa"


def test_the_vectors_bring_each_other_up_to_date() -> None:
    peer = SinghalHeuristic(3, FIVE)
    peer.acquire()
    peer.receive(5, Request(2))  # newer than what the token knows
    peer.receive(2, Request(1))  # older: granted since, and asked again
    peer.receive(1, Token(tuple("NRRNN"), (0, 4, 1, 1, 1)))
    peer.drain()
    peer.release()
    (sent,) = peer.drain()
    assert sent == Send(5, Token(tuple("NRNNR"), (0, 4, 1, 1, 2)))
    assert ("".join(peer.sv), peer.sn) == ("NRNNR", (0, 4, 1, 1, 2))


# "The token will be granted to the nearest requesting node with the lowest sequence
# number"


@pytest.mark.parametrize(
    ("waiting", "next_one"),
    [
        ({1: 1, 5: 1}, 5),  # the nearest round the ring
        ({1: 1, 2: 1}, 1),
        ({1: 1, 5: 2}, 1),  # the lowest number
        ({2: 3, 4: 3, 5: 3}, 4),
    ],
)
def test_who_gets_the_token(waiting: dict[NodeId, int], next_one: NodeId) -> None:
    peer = SinghalHeuristic(3, FIVE, first_holder=3)
    peer.acquire()
    for node, number in waiting.items():
        peer.receive(node, Request(number))
    peer.drain()
    peer.release()
    (sent,) = peer.drain()
    assert isinstance(sent, Send)
    assert sent.to == next_one


def test_one_that_has_asked_less_often_can_go_twice_while_another_waits() -> None:
    """Which the survey denies: 3 has asked three times, 2 and 4 never before."""
    cluster = ByHand(NAME, 4)
    for node in (3, 1, 3):
        turn(cluster, node)
        cluster.leave(node)
    turn(cluster, 1)
    for node in (3, 2, 4):
        cluster.request(node)
        cluster.settle()
    entered = []
    for _ in range(4):
        (inside,) = cluster.judge.inside
        entered.append(inside)
        cluster.leave(inside)
        if inside == 2 and entered.count(2) == 1:
            cluster.request(2)
        cluster.settle()
    assert entered == [1, 2, 4, 2]
    assert cluster.judge.inside == {3}


def turn(cluster: ByHand, node: NodeId) -> None:
    cluster.request(node)
    cluster.settle()
    assert cluster.judge.inside == {node}


# "Discard out-dated requests"


def test_a_request_that_the_token_has_overtaken_is_still_taken_note_of() -> None:
    peer = SinghalHeuristic(2, (1, 2, 3))
    peer.acquire()
    peer.receive(1, Token(tuple("NRN"), (1, 1, 1)))
    peer.receive(1, Request(1))  # granted, and 1 has been asked
    assert peer.drain() == [Send(1, Request(1)), Enter()]
    peer.receive(3, Request(1))  # granted, and 3 has not
    assert peer.drain() == [Send(3, Request(1))]
    peer.release()
    assert (peer.drain(), peer.state) == ([], "H")
    peer.receive(3, Request(1))
    assert (peer.drain(), peer.state) == ([Send(3, Request(1))], "H")


@pytest.mark.parametrize("fifo", [True, False], ids=["fifo", "any order"])
def test_who_discards_it_can_be_missed(fifo: bool) -> None:
    """Messages in order are no help: it is on another way that the token overtakes."""
    shown = exhibit("singhal-discarding")
    chosen = model(shown.name, 3, shown.requests, Network(fifo))
    violation = check(chosen).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("starvation", 15)


# Invalid messages


@pytest.mark.parametrize("node", [1, 2])
def test_a_token_that_was_not_asked_for(node: NodeId) -> None:
    peer = SinghalHeuristic(node, (1, 2, 3))
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(3, Token(("N",) * 3, (0,) * 3))
    assert (peer.snapshot(), peer.drain()) == (before, [])


# Every schedule; the smaller sizes are pinned with those of the other algorithms


@pytest.mark.parametrize(
    ("requests", "counts"),
    [
        ((2, 2, 2), (57798, 184953, 32, Fraction(11, 3), 4)),
        ((3, 3, 1), (42094, 119074, 35, Fraction(18, 5), 6)),
        ((1, 3, 3), (88574, 283463, 37, Fraction(11, 3), 6)),
        ((1, 1, 1, 1), (71140, 247969, 26, Fraction(14, 3), 3)),
    ],
)
def test_it_holds_with_the_pinned_counts(
    requests: tuple[int, ...], counts: tuple[object, ...]
) -> None:
    report = check(model(NAME, len(requests), requests))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts
