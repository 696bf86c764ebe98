"""Naimi and Trehel's recovery from failures, after the survey of Velazquez: a claim a test.

What the checker shows here it shows for T_wait and T_elec that outlast all that is under
way; the runs with crashes have delays with a bound, and the file's own T_wait and T_elec.
Several candidates at a time are met only in the runs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log2

import pytest

from peerlock.algorithms.naimi_trehel import TOKEN
from peerlock.algorithms.naimi_trehel_failures import (
    CandidateElected,
    Consult,
    Election,
    NaimiTrehelFailures,
    Query,
    Registered,
    Request,
    State,
)
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.checker.search import Limits, Search
from peerlock.checker.starvation import starving
from peerlock.core.peer import Broadcast, Enter, NodeId, RemoteError, Send, SetTimer
from peerlock.simulator import (
    Crash,
    Heavy,
    Level,
    Light,
    Scenario,
    Schedule,
    empty_trace,
    simulate,
)
from peerlock.simulator import Network as Wires
from peerlock.simulator.latency import Uniform
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "naimi-trehel-failures"


# Nothing fails


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
@pytest.mark.parametrize("load", [Light(), Heavy(), Level(0.3)], ids=str)
def test_when_nothing_fails_it_needs_what_naimi_and_trehels_needs(
    n: int, load: Light | Heavy | Level
) -> None:
    ours = simulate(Scenario(NAME, n, 10 * n, load))
    theirs = simulate(Scenario("naimi-trehel", n, 10 * n, load))
    assert ours.messages == theirs.messages


@pytest.mark.parametrize("n", [4, 16, 50])
def test_it_costs_about_log_n_and_nothing_at_the_holder(n: int) -> None:
    counts = []
    for holder, node, messages in light_entries(NAME, n, entries=20 * n):
        assert (messages == 0) == (node == (holder or 1))
        counts.append(messages)
    assert sum(counts) / len(counts) <= 1.1 * log2(n)


# Every schedule: nothing fails, one node does, or two, or all but one


@pytest.mark.parametrize(
    ("nodes", "requests", "crashes", "coverage"),
    [
        (2, 2, 0, (313, 647, 17)),
        (2, 2, 1, (381, 1180, 17)),
        (3, 1, 1, (2425, 7638, 19)),
        (3, 1, 2, (3013, 11530, 20)),
        (3, 2, 0, (37378, 117853, 33)),
        (3, 2, 1, (42660, 191525, 30)),
        (4, 1, 1, (94118, 353737, 33)),
    ],
)
def test_nodes_may_fail_at_any_time(
    nodes: int, requests: int, crashes: int, coverage: tuple[int, int, int]
) -> None:
    search = Search(cluster(nodes, requests, crashes))
    search.run(Limits())
    assert search.exhausted
    assert search.breach is None
    assert search.coverage == coverage
    assert starving(search) is None  # some T_wait always runs: look for circles


def cluster(nodes: int, requests: int | None, crashes: int) -> Model:
    return model(NAME, nodes, requests, Network(False, crashes=crashes))


def test_nobody_waits_for_ever_with_requests_without_end() -> None:
    report = check(cluster(3, None, 1))
    assert report.holds
    assert report.coverage == (19431, 93906, 37)


# Runs with a bound on delay


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("load", [Heavy(), Level(0.1)], ids=["heavy", "level"])
def test_whoever_fails_whenever_the_others_go_on(n: int, load: Heavy | Level) -> None:
    elections = 0
    for seed in range(30):
        network = Wires(Uniform(0.0, 4.0), crashes=(Crash(seed % n + 1, 3.7 * seed),))
        report = simulate(Scenario(NAME, n, 20 * n, load, network, seed=seed))
        assert report.max_inside == 1
        assert report.remote_errors == 0
        assert report.entries >= 20 * n - 1  # all but what the failed node had asked for
        elections += report.messages_by_type["ELECTION"] > 0
    assert elections > 3


def test_they_may_fail_one_after_the_other_until_one_is_left() -> None:
    for seed in range(30):
        crashes = tuple(Crash(i, 20.0 * i + 11.0 * seed) for i in (1, 2, 3, 4))
        scenario = Scenario(
            NAME, 5, 200, Level(0.2), Wires(Uniform(0.0, 4.0), crashes=crashes), seed=seed
        )
        report = simulate(scenario)
        assert report.max_inside == 1
        assert report.entries >= 196


def test_of_several_candidates_one_is_elected() -> None:
    """The requests of nodes 2 to 5 are all lost with node 1, at about the same time."""
    several = 0
    for seed in range(40):
        wishes = tuple((1.0 + (i * seed % 7) / 2, i) for i in (2, 3, 4, 5))
        scenario = Scenario(
            NAME,
            5,
            load=Schedule(wishes),
            network=Wires(Uniform(0.0, 4.0), crashes=(Crash(1, 0.5),)),
            seed=seed,
        )
        report = simulate(scenario)
        assert report.entries == 4
        assert report.messages_by_type["CANDIDATE_ELECTED"] == 4
        several += report.messages_by_type["ELECTION"] > 4
    assert several


@pytest.mark.parametrize("n", [2, 3, 5, 10, 50])
def test_a_new_token_costs_4_n_minus_1(n: int) -> None:
    sent = messages_after((1.0, 2), nodes=n, crash=Crash(1, 0.5))
    each = sent[Consult], sent[Query], sent[Election], sent[CandidateElected]
    assert each == (n - 1,) * 4
    assert sum(sent.values()) == 4 * (n - 1) + 1  # and the request that was lost


@pytest.mark.parametrize("n", [3, 5, 10, 50])
def test_a_lost_request_costs_3_n_minus_1(n: int) -> None:
    """Node 1 has passed the token on to node 2, when it fails."""
    sent = messages_after((1.0, 2), (9.0, 3), nodes=n, crash=Crash(1, 8.0))
    each = sent[Consult], sent[Query], sent[Election], sent[CandidateElected]
    assert each == (n - 1, n - 1, 0, n - 1)
    assert sum(sent.values()) == 2 + 1 + 3 * (n - 1) + 2


def messages_after(
    *wishes: tuple[float, NodeId], nodes: int, crash: Crash
) -> Counter[type]:
    scenario = Scenario(NAME, nodes, load=Schedule(wishes), network=Wires(crashes=(crash,)))
    trace = empty_trace(scenario)
    assert simulate(scenario, trace).entries == len(wishes)
    return Counter(type(s.message) for s in trace if s.kind is Kind.SEND)


# Beyond what it survives


@pytest.mark.parametrize(("outlasting", "depth"), [((), 6), (("wait",), 7)], ids=str)
def test_a_t_elec_that_is_too_short_lets_two_in(
    outlasting: tuple[str, ...], depth: int
) -> None:
    violation = check(replace(cluster(2, 1, 0), outlasting=outlasting)).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("exclusion", depth)


def test_two_lost_messages_let_two_in_and_one_makes_a_token_without_a_fence() -> None:
    """Silence says that the token is lost, and silence brings no fence."""
    chosen = model(NAME, 2, 1, Network(False, losses=1))
    assert check(replace(chosen, fences=False)).holds
    violation = check(chosen).violation
    assert violation is not None
    assert violation.property == "fence"
    two_lost = replace(chosen, network=Network(False, losses=2), fences=False)
    violation = check(two_lost).violation
    assert violation is not None
    assert violation.property == "exclusion"


# What a node does


def node_2(**state: object) -> NaimiTrehelFailures:
    peer = NaimiTrehelFailures(2, (1, 2, 3))
    for name, value in state.items():
        setattr(peer, name, value)
    return peer


def waiting() -> NaimiTrehelFailures:
    peer = node_2()
    peer.acquire()
    assert peer.drain() == [Send(1, Request(2, (0, 0))), SetTimer("wait", 60.0)]
    return peer


def test_it_consults_then_queries_then_stands_for_election() -> None:
    peer = waiting()
    for name, question in (("wait", Consult()), ("elec", Query()), ("elec", Election())):
        peer.timer(name)
        assert peer.drain() == [Broadcast(question), SetTimer("elec", 15.0)]
    peer.timer("elec")
    assert Enter() in peer.drain()
    assert (peer.last, peer.next, peer.epoch) == (2, 0, (1, 2))


def test_who_has_it_down_as_next_says_so() -> None:
    peer = node_2(next=3)
    peer.receive(3, Consult())
    peer.receive(1, Consult())
    assert peer.drain() == [Send(3, Registered())]
    peer = waiting()
    peer.timer("wait")
    peer.receive(1, Registered())
    assert peer.state is State.WAITING
    assert peer.drain()[-1] == SetTimer("wait", 60.0)


def test_the_token_or_who_gets_it_answers_a_query_with_a_new_tree() -> None:
    elected = Broadcast(CandidateElected((1, 2)))
    peer = node_2(token_here=True, last=2)
    peer.receive(3, Query())
    assert peer.drain() == [elected]
    peer = waiting()
    peer.receive(3, Query())
    assert peer.drain() == []
    peer.receive(1, TOKEN)
    assert elected in peer.drain()


@pytest.mark.parametrize(("other", "goes_on"), [(1, False), (3, True)])
def test_of_two_candidates_the_lower_goes_on(other: NodeId, goes_on: bool) -> None:
    peer = waiting()
    peer.state = State.CANDIDATE
    peer.receive(other, Election())
    assert (peer.state is State.CANDIDATE) == goes_on


def test_after_the_election_whoever_waits_asks_the_elected_node() -> None:
    peer = waiting()
    peer.receive(3, CandidateElected((1, 3)))
    assert Send(3, Request(2, (1, 3))) in peer.drain()
    assert (peer.last, peer.next) == (2, 0)


def test_a_request_of_an_earlier_tree_is_dropped() -> None:
    peer = node_2(epoch=(1, 3), last=3)
    peer.receive(1, Request(1, (0, 0)))
    assert peer.drain() == []
    peer.receive(1, Request(1, (1, 3)))
    assert peer.drain() == [Send(3, Request(1, (1, 3)))]


@pytest.mark.parametrize(
    "message", [TOKEN, Request(2, (0, 0)), Request(1, (1, 3))], ids=str
)
def test_what_no_correct_node_sends_is_a_remote_error(message: object) -> None:
    peer = node_2()
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(1, message)
    assert (peer.snapshot(), peer.drain()) == (before, [])
