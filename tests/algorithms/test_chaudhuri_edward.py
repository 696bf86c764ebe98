"""Chaudhuri and Edward: groups, and queues that travel with the token, a claim a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil, sqrt
from typing import Any

import pytest

from peerlock.algorithms.chaudhuri_edward import (
    MARKER,
    ChaudhuriEdward,
    GrCollector,
    LrCollector,
    Request,
    Token,
)
from peerlock.algorithms.chaudhuri_edward_listing import (
    ChaudhuriEdwardKept,
    ChaudhuriEdwardUncounted,
)
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, exhibit, model
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.violation import Violation
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "chaudhuri-edward"


def members_of_groups(n: int) -> list[range]:
    """ "We first create ⌈√n⌉ groups and add a node to each group in turn"."""
    groups = ceil(sqrt(n))
    return [range(i, n + 1, groups) for i in range(1, groups + 1)]


def cost(n: int, holder: NodeId, node: NodeId) -> int:
    """What an entry that nobody contests takes: the token rests with the last one."""
    groups = members_of_groups(n)
    from_group, to_group = (next(g for g in groups if j in g) for j in (holder, node))
    if holder == node:
        return 0
    if from_group == to_group:
        return 2 + len(to_group) - 1
    messages = 2 + len(groups) - 1  # REQUEST, TOKEN and news between the link-nodes
    if holder != from_group[0]:
        messages += 2 + len(from_group) - 1
    if node != to_group[0]:
        messages += 2 + len(to_group) - 1
    return messages


# "The total number of messages for the execution of this critical section is 6 + 3(√n−1)"


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 10, 16, 20, 25, 31, 36, 49, 50])
def test_an_entry_that_nobody_contests(n: int) -> None:
    for holder, node, messages in light_entries(NAME, n, entries=12 * n):
        assert messages == cost(n, holder or 1, node)
        assert messages <= 6 + 3 * (ceil(sqrt(n)) - 1)


@pytest.mark.parametrize("n", [4, 9, 16, 25, 36, 49])
def test_the_worst_case_is_reached_from_one_local_node_to_another(n: int) -> None:
    root = ceil(sqrt(n))
    cluster = ByHand(NAME, n, first_holder=n - 1)
    cluster.request(n)
    cluster.settle()
    assert cluster.judge.inside == {n}
    assert cluster.sent == 6 + 3 * (root - 1)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 16, 30])
def test_the_token_may_start_anywhere(n: int) -> None:
    for holder in range(1, n + 1):
        cluster = ByHand(NAME, n, first_holder=holder)
        node = holder * 5 % n + 1
        cluster.request(node)
        cluster.settle()
        assert cluster.judge.inside == {node}
        assert cluster.sent == cost(n, holder, node)


# "Under heavy load … 2(1 + 1/√n − 1/n).  This value approaches 2 as n gets large"


@pytest.mark.parametrize("n", [4, 9, 16, 25, 49, 100])
def test_when_all_compete(n: int) -> None:
    """Without what the paper counts of link-nodes that ask themselves, 2 + 1/√n − 1/n."""
    paper = 2 * (1 + 1 / sqrt(n) - 1 / n)
    report = simulate(Scenario(NAME, n, 60 * n, Heavy()))
    assert report.messages_per_entry <= paper
    assert report.messages_per_entry == pytest.approx(2 + 1 / sqrt(n) - 1 / n, rel=0.06)


@pytest.mark.parametrize("n", [4, 9, 16, 25, 49, 100])
def test_when_all_compete_the_papers_own_counting(n: int) -> None:
    """With link-nodes' requests to themselves it is the formula, up to a TOKEN for each
    round, to close it, and one for each link-node that is in the middle of its queue."""
    scenario = Scenario(NAME, n, 60 * n, Heavy())
    trace = empty_trace(scenario)
    report = simulate(scenario, trace)
    links = ceil(sqrt(n))
    own = sum(s.kind is Kind.REQUEST and s.node <= links for s in trace)
    counted = report.messages_per_entry + own / report.entries
    assert counted == pytest.approx(2 * (1 + 1 / sqrt(n) - 1 / n), abs=(links + 1) / n)


@pytest.mark.parametrize("n", [3, 5, 7, 20, 50, 90])
def test_when_all_compete_and_n_is_no_square(n: int) -> None:
    report = simulate(Scenario(NAME, n, 60 * n, Heavy()))
    assert 2 <= report.messages_per_entry <= 2 * (1 + 1 / sqrt(n) - 1 / n)


@pytest.mark.parametrize("load", [0.05, 0.25, 0.7])
def test_towards_2_at_every_load_as_n_grows(load: float) -> None:
    """Figure 3: a critical section takes 3 time units, and more than 2n are made."""
    counts = [
        simulate(Scenario(NAME, n, 5 * n, Level(load), hold=3.0)).messages_per_entry
        for n in (25, 100, 400)
    ]
    assert counts == sorted(counts, reverse=True)
    assert 2.0 < counts[-1] < 2.15


RIVALS = [
    ("chaudhuri-karaata", None),
    ("raymond", "tree"),
    ("raymond", "line"),
    ("banerjee-chrysanthis", None),
]


@pytest.mark.parametrize("load", [0.05, 0.25])
@pytest.mark.parametrize("n", [9, 25, 64, 100])
def test_figures_4_and_5_ahead_of_four_others(n: int, load: float) -> None:
    def measured(name: str, topology: str | None) -> float:
        entries = 4 * n + 100
        scenario = Scenario(name, n, entries, Level(load), hold=3.0, topology=topology)
        return simulate(scenario).messages_per_entry

    ours = measured(NAME, None)
    assert all(ours < measured(*rival) for rival in RIVALS)


# Section 3.2, sentence by sentence


def peer(node: NodeId, n: int = 9, **settings: Any) -> ChaudhuriEdward:
    return ChaudhuriEdward(node, tuple(range(1, n + 1)), **settings)


def tokens(effects: list[Any]) -> Iterator[Send]:
    return (e for e in effects if isinstance(e, Send) and isinstance(e.message, Token))


def news(to: tuple[NodeId, ...], message: object) -> list[Send]:
    return [Send(j, message) for j in to]


def test_an_idle_collector_sends_the_token_and_announces_the_last_in_its_queue() -> None:
    holder = peer(4, first_holder=4)
    holder.receive(7, Request((7,), 0))
    assert holder.drain() == [*news((1, 7), LrCollector(1, 7)), Send(7, Token((7,), 1))]
    assert (holder.lrq, holder.token) == ((), None)


def test_who_leaves_forwards_the_token_to_the_next_in_its_queue() -> None:
    first = peer(4)
    first.acquire()
    first.receive(1, Token((4, 7), 1))
    first.release()
    assert first.drain() == [
        Send(1, Request((4,), 0)),
        Enter(),
        Send(7, Token((7,), 1)),
    ]


def test_a_former_collector_forwards_a_late_request() -> None:
    former = peer(4, first_holder=4)
    former.receive(7, Request((7,), 0))
    former.drain()
    former.receive(1, Request((1,), 0))
    assert former.drain() == [Send(7, Request((1,), 1))]


def test_a_link_node_asks_for_its_group_once() -> None:
    link = peer(2)
    link.receive(5, Request((5,), 0))
    link.receive(8, Request((8,), 0))
    link.acquire()
    assert link.drain() == [Send(1, Request((2,), 0))]
    assert link.lrq == (5, 8, 2)


def test_only_those_above_the_marker_are_served_before_the_token_goes_on() -> None:
    """The token comes to group 2, and goes on to group 3, which collects."""
    link = peer(2)
    for j in (5, 8):
        link.receive(j, Request((j,), 0))
    link.drain()
    link.receive(1, Token((2, 3), 1))
    assert link.drain() == [Send(5, Token((5, 8, 2), 1))]
    link.receive(5, Request((5,), 0))
    assert link.lrq == (MARKER, 5)
    link.receive(8, Token((2,), 1))
    assert link.drain() == [Send(3, Request((2,), 1)), Send(3, Token((3,), 1))]
    assert list(link.lrq) == [5]
    assert link.called


def test_a_queue_is_served_up_to_the_link_node_that_wants_in() -> None:
    link = peer(2)
    link.receive(5, Request((5,), 0))
    link.acquire()
    link.receive(8, Request((8,), 0))
    link.receive(1, Token((2,), 1))
    assert list(tokens(link.drain())) == [Send(5, Token((5, 2), 1))]
    link.receive(5, Token((2,), 1))
    assert link.drain() == [Enter()]
    link.release()
    assert link.drain() == [*news((5, 8), LrCollector(2, 8)), Send(8, Token((8,), 2))]


def test_the_global_collector_returns_to_its_own_queue_without_news() -> None:
    """ "It adds its node_id to the global request queue so that the token is returned"."""
    link = peer(1)
    link.acquire()
    link.receive(2, Request((2,), 0))
    link.receive(4, Request((4,), 0))
    link.drain()
    link.release()
    assert link.drain() == [Send(2, Token((2, 1), 0))]
    assert link.lrq == (4,)


def test_only_one_marker_is_inserted() -> None:
    link = peer(1)
    link.acquire()
    link.receive(2, Request((2,), 0))
    link.receive(3, Request((3,), 0))
    assert (link.lrq, link.grq) == ((MARKER,), (2, 3))


def test_a_global_collector_fetches_the_token_from_its_group() -> None:
    link = peer(1, first_holder=4)
    link.receive(2, Request((2,), 0))
    link.receive(3, Request((3,), 0))
    assert link.drain() == [Send(4, Request((1,), 0))]


def test_in_the_middle_of_a_queue_it_takes_over_if_groups_wait() -> None:
    """The rest of the queue is served, and then the token is back."""
    link = peer(1, first_holder=4)
    link.acquire()
    link.receive(4, Token((1, 7), 1))
    link.receive(2, Request((2,), 0))
    link.drain()
    link.release()
    assert link.drain() == [*news((4, 7), LrCollector(2, 1)), Send(7, Token((7, 1), 2))]
    link.receive(7, Token((1,), 2))
    assert link.drain() == [*news((2, 3), GrCollector(3, 2)), Send(2, Token((2,), 3))]


def test_in_the_middle_of_a_queue_it_passes_on_if_none_waits() -> None:
    link = peer(1, first_holder=4)
    link.acquire()
    link.receive(4, Token((1, 7), 1))
    link.drain()
    link.release()
    assert link.drain() == [Send(7, Token((7,), 1))]
    assert link.local_request_collector == (1, 7)


@pytest.mark.parametrize("told_by", ["news", "token"])
def test_a_collector_that_is_replaced_hands_over_its_queue(told_by: str) -> None:
    last = peer(7, first_holder=4)
    last.acquire()
    last.receive(4, Request((4,), 1))
    last.drain()
    if told_by == "news":
        last.receive(1, LrCollector(2, 1))
        assert last.drain() == [Send(1, Request((4,), 2))]
    else:
        last.receive(1, Token((7, 1), 2))
        assert last.drain() == [Send(1, Request((4,), 2)), Enter()]
    assert last.lrq == ()


def test_late_news_changes_nothing() -> None:
    node = peer(7)
    node.receive(4, LrCollector(5, 4))
    node.receive(1, LrCollector(2, 7))
    assert node.local_request_collector == (5, 4)


def test_a_request_that_overtakes_the_news_is_the_news() -> None:
    link = peer(2)
    link.receive(5, Request((5,), 0))
    link.drain()
    link.receive(3, Request((3,), 4))
    assert link.drain() == []
    assert link.global_request_collector == (4, 2)


# Invalid messages


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        (3, Request((3,), 0)),  # another group's node asks one that is no link-node
        (2, Request((5,), 0)),  # our own request
        (8, Request((3,), 0)),  # in the name of another group
        (2, Token((5,), 1)),  # not asked for
        (2, Token((8,), 1)),  # not for us
        (2, Token((), 1)),
        (3, LrCollector(1, 8)),  # another group's
        (8, LrCollector(1, 3)),
        (8, GrCollector(1, 2)),  # not for us, and not from a link-node
    ],
    ids=str,
)
def test_senseless_messages_to_a_local_node(sender: NodeId, message: object) -> None:
    must_be_refused(peer(5), sender, message)


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        (7, Request((2,), 0)),  # a local node of another group
        (3, Request((6,), 0)),  # not in the name of a link-node
        (1, Token((2,), 1)),  # the group did not ask
        (5, GrCollector(1, 3)),  # not from a link-node
        (1, GrCollector(1, 4)),  # not a link-node
    ],
    ids=str,
)
def test_senseless_messages_to_a_link_node(sender: NodeId, message: object) -> None:
    must_be_refused(peer(2), sender, message)


def test_a_second_token() -> None:
    must_be_refused(peer(1), 4, Token((1,), 1))


def must_be_refused(node: ChaudhuriEdward, sender: NodeId, message: object) -> None:
    before = node.snapshot()
    with pytest.raises(RemoteError):
        node.receive(sender, message)
    assert (node.snapshot(), node.drain()) == (before, [])


def test_groups_are_between_one_and_all() -> None:
    for groups in (0, 10):
        with pytest.raises(AssertionError):
            peer(1, groups=groups)


# Every schedule; the smaller sizes are pinned with those of the other algorithms


def clustered(
    kind: type[ChaudhuriEdward],
    nodes: int,
    requests: int | tuple[int, ...],
    network: Network | None = None,
    **settings: Any,
) -> Model:
    members = tuple(range(1, nodes + 1))
    right = model(NAME, nodes, requests, network)
    return replace(right, make=lambda node: kind(node, members, **settings))


@pytest.mark.parametrize(
    ("nodes", "requests", "settings", "counts"),
    [
        (3, 2, {}, (49917, 209900, 36, 6, 4)),
        (4, 1, {}, (20944, 80150, 32, 9, 3)),
        (4, 1, {"first_holder": 4}, (38473, 162833, 35, 9, 3)),
        (5, (1, 1, 0, 1, 0), {}, (1540, 5168, 20, 7, 2)),
        # A group of three, whose link-node gets the token in the middle of its queue.
        (
            5,
            (1, 1, 1, 0, 1),
            {"groups": 2, "first_holder": 3},
            (118162, 580910, 30, Fraction(15, 2), 3),
        ),
        (3, 1, {"groups": 3}, (2538, 8498, 18, Fraction(14, 3), 2)),
    ],
)
def test_it_holds_with_the_pinned_counts(
    nodes: int,
    requests: int | tuple[int, ...],
    settings: dict[str, Any],
    counts: tuple[object, ...],
) -> None:
    report = check(clustered(ChaudhuriEdward, nodes, requests, **settings))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts


def test_what_strands_a_queue_in_the_listing_does_not_here() -> None:
    """The museum's cluster of seven, with requests by nodes 2, 4 and 7."""
    shown = exhibit("chaudhuri-edward-stranded")
    assert shown.requests is not None
    report = check(model(NAME, shown.nodes, shown.requests))
    assert report.holds
    assert report.coverage == (186004, 1126355, 33)
    assert report.max_messages_per_entry == Fraction(17, 2)


def test_without_the_count_order_does_not_help() -> None:
    """News comes by another way than the token, round a queue of two."""
    in_order = Network(fifo=True)
    wrong = clustered(ChaudhuriEdwardUncounted, 3, 2, in_order, groups=1)
    violation = check(wrong).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("deadlock", 19)
    assert check(clustered(ChaudhuriEdward, 3, 2, in_order, groups=1)).holds


# The listing in the paper's own Fig. 2: node 8, the paper's (3, 2), asks


def figure_2(name: str) -> ByHand:
    run = ByHand(name, 16)
    run.request(8)
    run.settle()
    return run


def tokens_from(run: ByHand, node: NodeId) -> int:
    sent = [step for step in run.trace if step.kind is Kind.SEND and step.node == node]
    return sum(isinstance(step.message, Token) for step in sent)


def test_as_rebuilt_node_8_enters_with_one_token() -> None:
    run = figure_2(NAME)
    assert run.judge.inside == {8}
    assert tokens_from(run, 1) == tokens_from(run, 4) == 1


def test_to_the_letter_the_token_goes_to_the_next_group_twice() -> None:
    run = figure_2("chaudhuri-edward-again")
    assert tokens_from(run, 1) == 2
    with pytest.raises(Violation, match="4 and 8 are inside together"):
        run.request(4)


def test_to_the_letter_the_new_global_collector_never_grants() -> None:
    """It has heard of its office when the token comes."""
    run = figure_2("chaudhuri-edward-idle")
    assert tokens_from(run, 1) == 1
    assert tokens_from(run, 4) == 0
    assert run.judge.inside == set()
    assert run.judge.waiting == {8}


def test_to_the_letter_a_link_node_keeps_what_it_has_sent() -> None:
    kept = figure_2("chaudhuri-edward-kept").peers[4]
    assert isinstance(kept, ChaudhuriEdwardKept)
    assert kept.token is None
    assert kept.token_here


@pytest.mark.parametrize(
    ("piece", "depth"), [("again", 7), ("idle", 4), ("kept", 13), ("rear", 24)]
)
def test_each_error_of_the_listing_has_its_shortest_way(piece: str, depth: int) -> None:
    shown = exhibit(f"chaudhuri-edward-{piece}")
    violation = check(shown).violation
    assert violation is not None
    assert violation.depth == depth
