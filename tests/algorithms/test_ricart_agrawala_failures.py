"""TR-869, section 7: nodes that join, leave, fail and come back; a claim a test.

What the checker shows here it shows for time-outs that outlast all that is under way; the
runs have delays with a bound, and the file's own time-outs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from peerlock.algorithms.ricart_agrawala import Request
from peerlock.algorithms.ricart_agrawala_failures import (
    AreYouThere,
    Leaving,
    NewNode,
    NodeFailed,
    Reply,
    Restart,
    RicartAgrawalaFailures,
    Standing,
    YesIAmHere,
)
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.checker.search import Limits, Search
from peerlock.checker.starvation import starving
from peerlock.core.bits import bits
from peerlock.core.peer import Broadcast, CancelTimer, Enter, NodeId, Send, SetTimer, snake
from peerlock.core.under_way import UnderWay
from peerlock.simulator import Crash, Heavy, Level, Scenario, Schedule, simulate
from peerlock.simulator import Network as Wires
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Uniform
from peerlock.simulator.violation import Violation
from tests.support.counts import light_entries

NAME = "ricart-agrawala-failures"
ANY, FIFO = Network(False), Network(True)


# Nothing fails


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_when_nothing_fails_an_entry_costs_2_n_1(n: int) -> None:
    for _, _, messages in light_entries(NAME, n, entries=10):
        assert messages == 2 * (n - 1)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_when_all_compete_too(n: int) -> None:
    report = simulate(Scenario(NAME, n, 10 * n, Heavy()))
    assert report.messages_per_entry == 2 * (n - 1)


# 7.4: failures, in every schedule; "it may return … through the mechanism for adding"


def cluster(
    nodes: int, requests: int | tuple[int, ...], network: Network, **settings: object
) -> Model:
    members = tuple(range(1, nodes + 1))
    return replace(
        model(NAME, nodes, requests, network),
        make=lambda node: RicartAgrawalaFailures(node, members, **settings),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("nodes", "requests", "network", "coverage"),
    [
        (2, 2, ANY, (1011, 2043, 19)),
        (2, 2, Network(False, crashes=1), (1366, 4111, 19)),
        (2, 2, Network(False, crashes=1, returns=True), (13412, 33763, 26)),
        (3, 1, ANY, (7214, 20558, 23)),
        (3, 1, Network(False, crashes=1), (15001, 53680, 23)),
        (3, 1, Network(False, crashes=2), (17814, 77193, 23)),
        (3, (0, 1, 1), Network(False, crashes=1, returns=True), (25553, 82357, 29)),
    ],
    ids=str,
)
def test_nodes_may_fail_and_come_back_at_any_time(
    nodes: int,
    requests: int | tuple[int, ...],
    network: Network,
    coverage: tuple[int, int, int],
) -> None:
    assert covered(cluster(nodes, requests, network)) == coverage


@pytest.mark.parametrize("crashes", [0, 1, 3])
def test_who_is_alone_comes_back_by_itself(crashes: int) -> None:
    """There is no sponsor to ask: it is the whole group."""
    network = Network(False, crashes=crashes, returns=True)
    assert check(model(NAME, 1, 2, network)).holds


def covered(chosen: Model) -> tuple[int, int, int]:
    """Nothing is wrong, and nobody waits for ever: time-outs go on, so look for circles."""
    search = Search(chosen)
    search.run(Limits())
    assert search.exhausted
    assert search.breach is None
    assert starving(search) is None
    return search.coverage


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("load", [Heavy(), Level(0.1)], ids=["heavy", "level"])
def test_whoever_fails_whenever_the_others_go_on(n: int, load: Heavy | Level) -> None:
    struck_off = 0
    for seed in range(20):
        crash = Crash(seed % n + 1, 3.7 * seed, 3.7 * seed + 40 if seed % 2 else None)
        network = Wires(Uniform(0.0, 4.0), crashes=(crash,))
        report = simulate(Scenario(NAME, n, 20 * n, load, network, seed=seed))
        assert report.max_inside == 1
        assert report.remote_errors == 0
        assert report.entries >= 20 * n - 1  # all but what the failed node had asked for
        struck_off += report.messages_by_type["NODE_FAILED"] > 0
    assert struck_off > 3


def test_they_may_fail_and_come_back_one_after_the_other() -> None:
    for seed in range(20):
        at = [300.0 * i + 7.0 * seed for i in range(5)]
        crashes = tuple(Crash(i, t, t + 3.0 * seed) for i, t in enumerate(at, 1))
        wires = Wires(Uniform(0.0, 4.0), crashes=crashes)
        report = simulate(Scenario(NAME, 5, 500, Level(0.05), wires, seed=seed))
        assert report.max_inside == 1
        assert report.entries >= 495
        assert report.messages_by_type["INITIALIZE"] == 5


def test_they_may_fail_until_one_is_left() -> None:
    for seed in range(20):
        crashes = tuple(Crash(i, 20.0 * i + 11.0 * seed) for i in (1, 2, 3, 4))
        wires = Wires(Uniform(0.0, 4.0), crashes=crashes)
        report = simulate(Scenario(NAME, 5, 200, Level(0.2), wires, seed=seed))
        assert report.max_inside == 1
        assert report.entries >= 196


def test_a_long_section_is_no_failure() -> None:
    """Each time-out costs a question and an answer."""
    load = Schedule(((0.0, 1), (1.0, 3)))
    report = simulate(Scenario(NAME, 3, load=load, hold=200.0))
    assert report.entries == 2
    assert report.messages_by_type["ARE_YOU_THERE"] == 3
    assert report.messages_by_type["YES_I_AM_HERE"] == 3
    assert report.messages_by_type["NODE_FAILED"] == 0


# Beyond what it survives


def test_if_all_fail_nobody_gets_in_again() -> None:
    """There is no sponsor; two that said so to themselves would both go in."""
    search = Search(cluster(2, 1, Network(False, crashes=2, returns=True)))
    search.run(Limits())
    assert search.breach is None
    assert starving(search) is not None


def test_a_time_out_that_is_too_short_lets_two_in() -> None:
    chosen = replace(cluster(2, 1, ANY), outlasting=("reply",))
    violation = check(chosen).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("exclusion", 7)


def test_who_comes_back_without_telling_lets_two_in() -> None:
    """As 7.2.1 warns: it has forgotten the numbers, and nobody has struck it off."""

    class Unaware(RicartAgrawalaFailures):
        def restart(self) -> None:
            self.start()

    network = Network(False, crashes=1, returns=True)
    chosen = replace(cluster(2, 2, network), make=lambda node: Unaware(node, (1, 2)))
    violation = check(chosen).violation
    assert violation is not None
    assert violation.property == "exclusion"


# 7.2 and 7.3: a newcomer, and leaving.  Node 1 is in only while its user wants in.


@pytest.mark.parametrize(
    ("nodes", "requests", "passing", "coverage"),
    [
        (2, 2, (2,), (6195, 15364, 30)),
        (2, 2, (1,), (9258, 23797, 30)),
        (3, 1, (3,), (53079, 184284, 36)),
        (3, (1, 1, 0), (1, 2), (37429, 144929, 40)),
    ],
    ids=str,
)
def test_nodes_join_and_leave_in_every_schedule(
    nodes: int, requests: int, passing: tuple[NodeId, ...], coverage: tuple[int, int, int]
) -> None:
    assert covered(cluster(nodes, requests, ANY, passing=passing)) == coverage


@pytest.mark.parametrize("n", [3, 5, 8, 20])
def test_a_newcomer_costs_4_n_1_and_one_that_leaves_2_n_1(n: int) -> None:
    hand = ByHand(NAME, n, passing=(1,))
    hand.request(1)
    hand.settle()
    assert hand.judge.inside == {1}
    sponsors = 2 * (n - 2)  # its own section
    assert hand.sent == sponsors + 4 * (n - 1) + 2 * (n - 1)
    hand.leave(1)
    hand.settle()
    assert hand.sent == sponsors + 8 * (n - 1)
    hand.request(2)
    hand.settle()
    assert hand.sent == sponsors + 8 * (n - 1) + sponsors  # it is not asked any more


class Safety(Search):
    """Is only one inside?  Some ways let a newcomer wait until others ask."""

    def stuck(self, state: int) -> None:
        """Nobody is."""


def safe(chosen: Model) -> bool:
    search = Safety(chosen)
    search.run(Limits())
    assert search.exhausted or search.breach
    return search.breach is None


@pytest.mark.parametrize(
    ("way", "requests"),
    [
        ("a", (1, 1, 1)),  # asks all
        ("b", (1, 2, 1)),  # hears of all
        ("c", (1, 2, 1)),  # sees the numbers rise by N-1
        ("d", (1, 1, 1)),  # waits for a time
    ],
)
def test_ways_a_to_d_give_a_number_that_is_high_enough(
    way: str, requests: tuple[int, ...]
) -> None:
    chosen = cluster(3, requests, ANY, passing=(1,), way=way)
    assert safe(chosen) if way in "bc" else covered(chosen)


@pytest.mark.parametrize(
    ("way", "idle"), [("b", (1, 1, 0)), ("c", (1, 1, 1)), ("e", (1, 3, 0))]
)
def test_by_ways_b_c_and_e_a_newcomer_waits_until_others_ask(
    way: str, idle: tuple[int, ...]
) -> None:
    violation = check(cluster(3, idle, FIFO, passing=(1,), way=way)).violation
    assert violation is not None
    assert violation.property in ("starvation", "deadlock")  # if once is not enough


def test_way_e_waits_for_the_fourth_request_of_one_node() -> None:
    assert safe(cluster(2, (1, 5), FIFO, passing=(1,), way="e"))
    assert safe(cluster(3, (1, 1, 4), FIFO, passing=(1,), way="e"))
    assert not check(cluster(2, (1, 3), FIFO, passing=(1,), way="e")).holds
    hand = ByHand(NAME, 2, passing=(1,), way="e")
    hand.request(1)
    for heard in range(4):
        hand.settle()
        assert not hand.judge.inside
        hand.request(2)
        hand.settle()
        hand.leave(2)
        assert (hand.peers[1].standing is Standing.IN) == (heard == 3)  # type: ignore[attr-defined]
    hand.settle()
    assert hand.judge.inside == {1}


def test_way_d_needs_its_time_unless_messages_stay_in_order() -> None:
    """With acknowledgements in order, the sponsor has seen all that was missed."""
    short = ("reply", "probe", "restart")
    settings = {"passing": (1,), "way": "d"}
    assert not safe(replace(cluster(3, 1, ANY, **settings), outlasting=short))
    assert safe(replace(cluster(3, 1, FIFO, **settings), outlasting=short))


def test_way_e_out_of_order_lets_two_in() -> None:
    """Five requests that are not to know of node 1 have numbers from 2 to 6.

    Node 3 makes four with 2 to 5, as what the five have sent it comes late, one by one.
    Then node 1 takes 6, and is let in by node 8, which does not need its REPLY.
    """
    hand = ByHand(NAME, 8, passing=(1,), way="e")
    late = {4, 5, 6, 7, 8}

    def settle() -> None:
        while found := [f for f in hand.flying if not is_late(f)]:
            name = snake(type(found[0].message)).upper()
            hand.deliver(found[0].sender, found[0].receiver, name)

    def is_late(flight: UnderWay) -> bool:
        request = isinstance(flight.message, Request)
        return request and flight.receiver == 3 and flight.sender in late

    hand.request(1)
    hand.deliver(1, 2, "JOIN")
    for other in range(3, 9):
        hand.deliver(2, other, "REQUEST")
        hand.deliver(other, 2, "REPLY")
    for node in range(4, 8):
        hand.request(node)
        hand.deliver(node, node + 1, "REQUEST")
    hand.request(8)
    settle()
    for number in range(4):
        hand.request(3)
        settle()
        while hand.judge.inside != {3}:
            (inside,) = hand.judge.inside
            hand.leave(inside)
            settle()
        hand.leave(3)
        late.discard(4 + number)
        settle()
        assert hand.judge.inside == {4 + number}
    hand.leave(7)
    settle()
    assert hand.judge.inside == {1}
    late.clear()
    with pytest.raises(Violation, match="1 and 8 are inside together"):
        settle()


# What a node does


def node_2(**state: object) -> RicartAgrawalaFailures:
    peer = RicartAgrawalaFailures(2, (1, 2, 3))
    for name, value in state.items():
        setattr(peer, name, value)
    return peer


def waiting() -> RicartAgrawalaFailures:
    peer = node_2()
    peer.acquire()
    effects = [e for e in peer.drain() if not isinstance(e, CancelTimer)]
    asked = [Send(1, Request(1)), Send(3, Request(1))]
    assert effects == [*asked, SetTimer("reply", 60.0)]
    return peer


def test_the_timer_is_restarted_by_each_reply_and_cancelled_by_the_last() -> None:
    peer = waiting()
    peer.receive(1, Reply(1))
    assert SetTimer("reply", 60.0) in peer.drain()
    peer.receive(3, Reply(1))
    effects = peer.drain()
    assert Enter() in effects
    assert not any(isinstance(e, SetTimer) for e in effects)


def test_only_who_has_not_replied_is_asked_and_silence_is_failure() -> None:
    peer = waiting()
    peer.receive(1, Reply(1))
    peer.drain()
    peer.timer("reply")
    assert peer.drain() == [Send(3, AreYouThere(1)), SetTimer("probe", 15.0)]
    peer.timer("probe")
    effects = peer.drain()
    assert effects[0] == Broadcast(NodeFailed(3))
    assert Enter() in effects
    assert peer.names == bits((1, 2))


def test_who_is_there_is_waited_for_again() -> None:
    peer = waiting()
    peer.timer("reply")
    peer.receive(1, YesIAmHere())
    peer.drain()
    peer.receive(3, YesIAmHere())
    assert SetTimer("reply", 60.0) in peer.drain()
    assert peer.names == bits((1, 2, 3))


@pytest.mark.parametrize("received", [True, False])
def test_who_defers_says_that_it_is_there(received: bool) -> None:
    """Whether or not the REQUEST was lost: we are inside."""
    peer = waiting()
    peer.receive(1, Reply(1))
    peer.receive(3, Reply(1))
    if received:
        peer.receive(3, Request(2))
    peer.drain()
    peer.receive(3, AreYouThere(2))
    assert peer.drain() == [Send(3, YesIAmHere())]
    peer.release()
    assert peer.drain() == [Send(3, Reply(2))]


def test_who_does_not_defer_replies_once_more() -> None:
    """The REQUEST or the REPLY was lost, or the node has restarted."""
    peer = node_2()
    peer.receive(3, AreYouThere(7))
    assert peer.drain() == [Send(3, Reply(7))]


def test_a_reply_that_is_pretended_may_come_late() -> None:
    peer = waiting()
    peer.receive(3, NodeFailed(1))
    peer.receive(1, Reply(1))
    peer.receive(3, Reply(1))
    assert Counter(peer.drain())[Enter()] == 1


def test_who_was_struck_off_is_told_to_restart_and_comes_back_as_a_newcomer() -> None:
    peer = node_2(names=bits((2, 3)))
    peer.receive(1, Request(4))
    assert peer.drain() == [Send(1, Restart())]
    other = waiting()
    other.receive(1, Restart())
    assert Broadcast(NodeFailed(2)) in other.drain()
    assert other.wanted
    other.timer("restart")
    assert other.standing is Standing.JOINING


def test_who_does_not_know_that_it_failed_is_told_by_all_who_do() -> None:
    hand = ByHand(NAME, 3)
    hand.crash(3)
    hand.request(1)
    hand.settle()
    hand.fire(1, "reply")
    hand.settle()
    hand.fire(1, "probe")
    hand.settle()
    hand.leave(1)
    hand.gone.remove(3)
    hand.peers[3] = RicartAgrawalaFailures(3, (1, 2, 3))
    hand.request(3)
    hand.settle()
    assert not hand.judge.inside
    hand.fire(3, "restart")
    hand.settle()
    assert hand.judge.inside == {3}


def test_a_departing_node_is_acknowledged_and_its_reply_pretended() -> None:
    peer = waiting()
    peer.receive(3, Reply(1))
    peer.drain()
    peer.receive(1, Leaving())
    effects = peer.drain()
    assert effects[0].to == 1  # type: ignore[union-attr]
    assert Enter() in effects
    assert peer.names == bits((2, 3))


def test_a_request_made_before_a_newcomer_came_does_not_go_to_it() -> None:
    peer = node_2(names=bits((1, 2)))
    peer.acquire()
    peer.drain()
    peer.receive(1, NewNode(3))
    assert [e.to for e in peer.drain() if isinstance(e, Send)] == [1]
    peer.receive(1, Reply(1))
    peer.release()
    peer.acquire()
    assert Send(3, Request(2)) in peer.drain()
