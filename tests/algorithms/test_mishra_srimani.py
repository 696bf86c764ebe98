"""Mishra and Srimani's algorithm, after the survey of Velazquez: a claim a test.

What the checker shows here it shows for time-outs that outlast all that is under way; the
runs with crashes have delays with a bound, and the file's own time-outs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from peerlock.algorithms.mishra_srimani import (
    CreatePrivilege,
    FalseAlarm,
    MishraSrimani,
    NoCrit,
    Privilege,
    PrivilegeCheck,
    RepCritical,
    SystemRecovered,
    Update,
)
from peerlock.algorithms.suzuki_kasami import Request
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.checker.search import Limits, Search
from peerlock.checker.starvation import starving
from peerlock.core.peer import Broadcast, NodeId, RemoteError, Send, SetTimer
from peerlock.simulator import (
    Crash,
    Heavy,
    Level,
    Scenario,
    Schedule,
    empty_trace,
    simulate,
)
from peerlock.simulator import Network as Wires
from peerlock.simulator.latency import Uniform
from peerlock.traces.trace import Kind, Trace
from tests.support.counts import light_entries

NAME = "mishra-srimani"


# "The algorithm behaves very much the same as the original under the condition that no
# node fails"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_when_nothing_fails_an_entry_costs_n_and_nothing_at_the_holder(n: int) -> None:
    for holder, node, messages in light_entries(NAME, n, entries=2 * n):
        assert messages == (0 if node == (holder or 1) else n)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_when_all_compete_it_needs_what_suzuki_and_kasami_need(n: int) -> None:
    ours = simulate(Scenario(NAME, n, 10 * n, Heavy()))
    theirs = simulate(Scenario("suzuki-kasami", n, 10 * n, Heavy()))
    assert ours.messages == theirs.messages
    assert ours.messages_per_entry <= n


# Every schedule: nothing fails, or one node does


@pytest.mark.parametrize(
    ("nodes", "requests", "crashes", "coverage"),
    [
        (2, 2, 0, (1435, 3548, 27)),
        (2, 1, 1, (147, 370, 12)),
        (2, 2, 1, (1704, 6342, 25)),
        (2, 3, 1, (7186, 31617, 33)),
        (3, 1, 0, (40966, 161844, 49)),
        (3, 1, 1, (55069, 305390, 48)),
    ],
)
def test_one_node_may_fail_at_any_time(
    nodes: int, requests: int, crashes: int, coverage: tuple[int, int, int]
) -> None:
    report = check(cluster(nodes, requests, crashes))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


def cluster(nodes: int, requests: int | tuple[int, ...], crashes: int) -> Model:
    return model(NAME, nodes, requests, Network(False, crashes=crashes))


@pytest.mark.parametrize(
    ("nodes", "requests", "crashes"), [(2, 2, 0), (2, 2, 1), (3, 1, 0), (3, 1, 1)]
)
def test_nobody_waits_for_ever(nodes: int, requests: int, crashes: int) -> None:
    """Some node's time-out is always set, so nothing is ever stuck: look for circles."""
    assert not starves(cluster(nodes, requests, crashes))


def starves(chosen: Model) -> bool:
    search = Search(chosen)
    search.run(Limits())
    assert search.exhausted
    return starving(search) is not None


# Runs with a bound on delay


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("load", [Heavy(), Level(0.1)], ids=["heavy", "level"])
def test_whoever_fails_whenever_the_others_go_on(n: int, load: Heavy | Level) -> None:
    made = 0
    for seed in range(30):
        network = Wires(Uniform(0.0, 4.0), crashes=(Crash(seed % n + 1, 3.7 * seed),))
        report = simulate(Scenario(NAME, n, 20 * n, load, network, seed=seed))
        assert report.max_inside == 1
        assert report.remote_errors == 0
        assert report.entries >= 20 * n - 1  # all but what the failed node had asked for
        made += report.messages_by_type["SYSTEM_RECOVERED"] // (n - 1)
    assert made > 3


def run(*wishes: tuple[float, NodeId], nodes: int, crash: Crash) -> Trace:
    scenario = Scenario(
        NAME, nodes, load=Schedule(wishes), network=Wires(crashes=(crash,)), hold=5.0
    )
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    return trace


@pytest.mark.parametrize("n", [4, 5, 8, 20])
def test_a_lost_token_is_made_once_and_knows_who_waits(n: int) -> None:
    """5(N−1), less the answers of the one that failed, and what is not sent to it."""
    wishes = ((0.0, 2), (1.0, 3), (20.0 * n, n))
    trace = run(*wishes, nodes=n, crash=Crash(2, 4.0))
    sent = Counter(type(s.message) for s in trace if s.kind is Kind.SEND)
    entered = [s.node for s in trace if s.kind is Kind.ENTER]
    assert entered == [2, 3, n]
    assert sent[PrivilegeCheck] == sent[SystemRecovered] == n - 1
    assert sent[NoCrit] == sent[CreatePrivilege] == sent[Update] == n - 2


def test_who_waits_for_one_inside_raises_a_false_alarm_each_time_out() -> None:
    scenario = Scenario(NAME, 3, load=Schedule(((0.0, 1), (1.0, 3))), hold=200.0)
    report = simulate(scenario)
    assert report.entries == 2
    assert report.messages_by_type["PRIVILEGE_CHECK"] == 2 * 2
    assert report.messages_by_type["FALSE_ALARM"] == 2 * 2
    assert report.messages_by_type["SYSTEM_RECOVERED"] == 0


def test_two_that_time_out_together_make_one_token() -> None:
    for seed in range(40):
        scenario = Scenario(
            NAME,
            5,
            load=Schedule(((1.0, 2), (1.0 + seed / 10, 5), (2.0, 3), (2.0, 4))),
            network=Wires(Uniform(0.0, 4.0), crashes=(Crash(1, 0.5),)),
            seed=seed,
        )
        report = simulate(scenario)
        assert report.entries == 4
        assert report.messages_by_type["SYSTEM_RECOVERED"] == 4


# Beyond what it survives


def test_a_second_failure_stops_it_for_ever() -> None:
    """Two silent nodes: one of them might be slow, and have the token."""
    assert starves(cluster(3, (0, 0, 1), 2))
    assert check(cluster(3, (0, 1, 1), 2)).holds  # nothing else goes wrong


@pytest.mark.parametrize(
    ("outlasting", "requests", "depth"),
    [((), 1, 4), (("token",), 1, 5), (("answers",), 2, 19)],
    ids=["no time-out", "only that for the token", "only that for answers"],
)
def test_time_outs_that_are_too_short_let_two_in(
    outlasting: tuple[str, ...], requests: int, depth: int
) -> None:
    """Though nothing fails: with that for the token too short, a FALSE_ALARM of an
    earlier check is taken for that of a later one."""
    chosen = replace(cluster(2, requests, 0), outlasting=outlasting)
    violation = check(chosen).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("exclusion", depth)


def test_a_lost_message_lets_two_in() -> None:
    violation = check(model(NAME, 2, 1, Network(False, losses=1))).violation
    assert violation is not None
    assert violation.property == "exclusion"


# "The algorithm ensures the elimination of duplicated tokens"

OLD, NEW = Privilege((2,), (0, 0, 0), (0, 0)), Privilege((2,), (0, 0, 0), (1, 3))


def node_2(**state: object) -> MishraSrimani:
    peer = MishraSrimani(2, (1, 2, 3))
    for name, value in state.items():
        setattr(peer, name, value)
    return peer


def test_an_older_token_that_arrives_is_discarded() -> None:
    peer = node_2(version=(1, 3))
    peer.acquire()
    before = peer.snapshot()
    peer.drain()
    peer.receive(1, OLD)
    assert (peer.snapshot(), peer.drain()) == (before, [])


def test_who_has_an_idle_token_drops_it_when_a_newer_is_made() -> None:
    peer = node_2(privilege=OLD)
    peer.receive(3, CreatePrivilege((1, 3)))
    assert peer.privilege is None
    assert peer.drain() == [Send(3, Update((0, 0, 0), False))]


def test_who_is_inside_with_an_older_token_hands_it_to_nobody() -> None:
    peer = node_2()
    peer.acquire()
    peer.receive(1, OLD)
    peer.receive(1, Request(1, 1))
    peer.receive(3, CreatePrivilege((1, 3)))
    peer.drain()
    peer.release()
    assert peer.privilege is None
    assert peer.drain() == []


def test_of_two_tokens_made_at_once_that_of_the_higher_node_lasts() -> None:
    peer = node_2(version=(1, 2), expected=1 << 1, no_crit=1 << 1, granted=(0, 0, 0))
    peer.requesting = True
    peer.receive(1, CreatePrivilege((1, 1)))
    assert peer.drain() == []
    peer.receive(3, CreatePrivilege((1, 3)))
    assert peer.version == (1, 3)
    assert not peer.expected
    assert peer.drain()[-1] == Send(3, Update((0, 0, 0), True))


# What a node does


def waiting() -> MishraSrimani:
    peer = node_2()
    peer.acquire()
    assert peer.drain() == [Broadcast(Request(2, 1)), SetTimer("token", 60.0)]
    return peer


def test_who_has_the_token_says_so_and_others_that_they_have_not() -> None:
    peer = waiting()
    peer.receive(3, PrivilegeCheck())
    assert peer.drain() == [Send(3, NoCrit())]
    peer.receive(1, OLD)
    assert Send(3, RepCritical()) in peer.drain()  # it was under way
    peer.receive(3, PrivilegeCheck())
    assert peer.drain() == [Send(3, RepCritical())]


def test_who_times_out_while_another_checks_waits_for_its_word_once() -> None:
    peer = waiting()
    peer.receive(3, PrivilegeCheck())
    peer.drain()
    peer.timer("token")
    assert peer.drain() == [SetTimer("token", 60.0)]
    peer.receive(3, FalseAlarm())
    assert peer.drain() == [SetTimer("token", 60.0)]
    peer.receive(3, PrivilegeCheck())
    peer.drain()
    peer.timer("token")
    peer.drain()
    peer.timer("token")
    assert Broadcast(PrivilegeCheck()) in peer.drain()


@pytest.mark.parametrize(("other", "answers"), [(1, True), (3, False)])
def test_of_two_that_check_the_lower_goes_on(other: NodeId, answers: bool) -> None:
    peer = waiting()
    peer.timer("token")
    peer.drain()
    peer.receive(other, PrivilegeCheck())
    assert (Send(other, NoCrit()) in peer.drain()) == answers
    assert peer.checking != answers


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        (1, OLD),  # not asked for
        (1, NEW),
        (1, Privilege((3,), (0, 0, 0), (0, 0))),  # another node's
    ],
    ids=str,
)
def test_a_token_that_nobody_asked_for_is_a_remote_error(
    sender: NodeId, message: object
) -> None:
    peer = node_2()
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(sender, message)
    assert (peer.snapshot(), peer.drain()) == (before, [])


def test_a_second_token_is_a_remote_error() -> None:
    peer = waiting()
    peer.receive(1, OLD)
    with pytest.raises(RemoteError):
        peer.receive(1, OLD)
