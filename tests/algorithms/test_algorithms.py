"""What each paper claims of its algorithm, one test a claim; the counts are elsewhere."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.lamport import Lamport, Release, Reply, Request
from peerlock.algorithms.maekawa import Failed, Inquire, Locked, Maekawa, Relinquish
from peerlock.algorithms.naimi_trehel import NaimiTrehel, Token
from peerlock.algorithms.raymond import Raymond
from peerlock.core.peer import Broadcast, Enter, NodeId, Peer, Send, snake
from peerlock.core.topology import topology
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.traces.trace import Kind, Trace

CORRECT = [a for a in CATALOGUE if a.verdict == "holds"]


def run(name: str, nodes: int, entries: int = 200, seed: int = 1) -> Trace:
    scenario = Scenario(name, nodes, entries, Level(0.3), seed=seed)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    return trace


def entries(trace: Trace) -> Iterator[NodeId]:
    return (step.node for step in trace if step.kind is Kind.ENTER)


# All of them


# Their own tests show how uneven: a node that waits at an early member does not compete
# elsewhere; and a node of high priority is to come first.
UNEVEN = {"maekawa-sequential", "maekawa-cyclic", "ricart-agrawala-delaying"}


@pytest.mark.parametrize(
    "entry", [a for a in CORRECT if a.name not in UNEVEN], ids=lambda a: a.name
)
def test_nobody_is_favoured_when_all_compete(entry: Algorithm) -> None:
    report = simulate(Scenario(entry.name, 8, 1600, Heavy()))
    assert report.fairness > 0.98
    assert report.max_overtaken <= 3 * 8


# Where an entry that nobody contests may wait for a timer.
PATIENT = {"ricart-agrawala-delaying"}


@pytest.mark.parametrize(
    "entry",
    [a for a in CORRECT if a.rests and not a.timely and a.name not in PATIENT],
    ids=lambda a: a.name,
)
def test_an_entry_that_nobody_contests_is_granted_in_the_end(entry: Algorithm) -> None:
    cluster = ByHand(entry.name, 5)
    for node in (4, 2, 2, 5):
        cluster.request(node)
        cluster.settle()
        assert cluster.judge.inside == {node}
        cluster.leave(node)
        cluster.settle()


@pytest.mark.parametrize("entry", CORRECT, ids=lambda a: a.name)
@pytest.mark.parametrize("misuse", ["release", "acquire twice"])
def test_misuse_by_the_host_is_caught(entry: Algorithm, misuse: str) -> None:
    peer = entry.peer(2, (1, 2, 3))
    peer.start()
    with pytest.raises(AssertionError):  # noqa: PT012 - the second call is the wrong one
        if misuse == "release":
            peer.release()
        else:
            peer.acquire()
            peer.acquire()


# Central


def test_central_serves_in_the_order_in_which_requests_arrive() -> None:
    trace = run("central", 5)
    waiting: list[NodeId] = []
    for step in trace:
        arrived = step.kind is Kind.RECEIVE and type(step.message).__name__ == "Request"
        if arrived and step.peer:
            waiting.append(step.peer)
        elif step.kind is Kind.REQUEST and step.node == 1:
            waiting.append(1)
        elif step.kind is Kind.ENTER:
            assert waiting.pop(0) == step.node


# Lamport


def test_lamport_enters_only_when_everyone_has_replied() -> None:
    peer = Lamport(1, (1, 2, 3))
    peer.acquire()
    assert peer.drain() == [Broadcast(Request(1))]
    peer.receive(2, Reply())
    assert peer.drain() == []
    peer.receive(3, Request(1))  # (1, 3) is later than (1, 1)
    assert peer.drain() == [Send(3, Reply())]
    peer.receive(3, Reply())
    assert peer.drain() == [Enter()]


def test_lamport_waits_for_the_release_of_an_earlier_request() -> None:
    peer = Lamport(2, (1, 2))
    peer.acquire()
    peer.receive(1, Request(1))  # a tie, which the lower node wins
    peer.receive(1, Reply())
    assert Enter() not in peer.drain()
    peer.receive(1, Release())
    assert peer.drain() == [Enter()]


def test_a_request_after_another_has_a_later_time() -> None:
    peer = Lamport(2, (1, 2))
    peer.receive(1, Request(41))
    peer.acquire()
    assert peer.drain() == [Send(1, Reply()), Broadcast(Request(42))]


@pytest.mark.parametrize("name", ["lamport", "ricart-agrawala"])
def test_entries_follow_the_order_of_timestamps(name: str) -> None:
    """Each entry's (number, node) is greater than that of the entry before it."""
    order = []
    ours: dict[NodeId, tuple[int, NodeId]] = {}
    for step in run(name, 6):
        if step.kind is Kind.SEND and type(step.message).__name__ == "Request":
            message = step.message
            number = message.time if name == "lamport" else message.sequence_number
            ours[step.node] = (number, step.node)
        elif step.kind is Kind.ENTER:
            order.append(ours[step.node])
    assert order == sorted(order)
    assert len(set(order)) == len(order)


# Ricart and Agrawala: the decision table of section 2.2


@pytest.mark.parametrize(
    ("requesting", "number", "sender", "defers"),
    [
        (False, 1, 3, False),  # rule 1
        (True, 4, 3, False),  # rule 2: smaller
        (True, 6, 3, True),  # rule 3: larger
        (True, 5, 1, False),  # rule 4: equal, and the sender's node is smaller
        (True, 5, 3, True),  # rule 5: equal, and larger
    ],
)
def test_the_decision_table(
    requesting: bool, number: int, sender: NodeId, defers: bool
) -> None:
    from peerlock.algorithms import ricart_agrawala as ra

    peer = ra.RicartAgrawala(2, (1, 2, 3), highest_sequence_number=4)
    if requesting:
        peer.acquire()  # with number 5
        peer.drain()
    peer.receive(sender, ra.Request(number))
    assert peer.drain() == ([] if defers else [Send(sender, ra.Reply())])


# Maekawa


def locked_maekawa() -> Maekawa:
    """Node 4 of seven, locked for node 6, with what it says about that taken away."""
    peer = Maekawa(4, (1, 2, 3, 4, 5, 6, 7))
    receive(peer, 6, "Request", 1)
    assert peer.drain() == [Send(6, Locked())]
    return peer


def receive(peer: Peer, sender: NodeId, name: str, *values: int) -> None:
    types = {message.__name__: message for message in peer.messages}
    peer.receive(sender, types[name](*values))


def test_a_member_fails_a_request_that_does_not_precede() -> None:
    peer = locked_maekawa()
    receive(peer, 7, "Request", 1)
    assert peer.drain() == [Send(7, Failed())]


def test_a_member_inquires_once_when_a_preceding_request_comes() -> None:
    peer = locked_maekawa()
    receive(peer, 5, "Request", 1)
    assert peer.drain() == [Send(6, Inquire())]


def test_sanders_correction_tells_who_was_overtaken() -> None:
    peer = locked_maekawa()
    receive(peer, 5, "Request", 1)
    receive(peer, 3, "Request", 1)
    assert peer.drain() == [Send(6, Inquire()), Send(5, Failed())]


def test_a_relinquished_member_goes_to_the_most_preceding() -> None:
    peer = locked_maekawa()
    receive(peer, 5, "Request", 1)
    receive(peer, 3, "Request", 1)
    peer.drain()
    receive(peer, 6, "Relinquish")
    assert peer.drain() == [Send(3, Locked())]
    assert peer.waiting_queue == ((1, 5), (1, 6))


def asking_maekawa() -> Maekawa:
    peer = Maekawa(1, (1, 2, 3, 4, 5, 6, 7))
    peer.acquire()
    peer.drain()
    return peer


def test_an_inquire_is_answered_when_failure_is_known() -> None:
    peer = asking_maekawa()
    _, a, b = peer.quorum
    receive(peer, a, "Locked")
    receive(peer, a, "Inquire")
    assert peer.drain() == []  # not known yet
    receive(peer, b, "Failed")
    assert peer.drain() == [Send(a, Relinquish())]


def test_an_inquire_that_comes_inside_is_answered_by_the_release() -> None:
    peer = asking_maekawa()
    _, a, b = peer.quorum
    receive(peer, a, "Locked")
    receive(peer, b, "Locked")
    assert peer.drain() == [Enter()]
    receive(peer, a, "Inquire")
    assert peer.drain() == []
    peer.release()
    assert {effect.to for effect in peer.drain() if isinstance(effect, Send)} == {a, b}


def test_an_inquire_about_a_request_that_is_over_is_ignored() -> None:
    peer = asking_maekawa()
    _, a, b = peer.quorum
    receive(peer, a, "Locked")
    receive(peer, b, "Locked")
    peer.release()
    peer.acquire()
    peer.drain()
    receive(peer, a, "Inquire")
    receive(peer, b, "Failed")
    assert peer.drain() == []


# Suzuki and Kasami


@pytest.mark.parametrize("spec", ["complete", "ring", "line", "star", "tree:3"])
def test_there_is_one_token_wherever_it_is(spec: str) -> None:
    cluster = ByHand("suzuki-kasami", 6, topology=topology(spec, 6))
    for node in (3, 6, 2):
        cluster.request(node)
    while cluster.flying:
        tokens = sum(type(f.message).__name__ == "Privilege" for f in cluster.flying)
        held = sum(peer.privilege is not None for peer in cluster.peers.values())  # type: ignore[attr-defined]
        assert tokens + held == 1
        newest = cluster.flying[-1]
        cluster.deliver(newest.sender, newest.receiver, snake(type(newest.message)).upper())
        for node in list(cluster.judge.inside):
            cluster.leave(node)
    assert list(entries(cluster.trace)).count(6) == 1
    assert not cluster.judge.waiting


# Raymond


def test_from_every_node_holder_leads_to_the_token() -> None:
    """The lecture's invariant, when no token is under way."""
    cluster = ByHand("raymond", 12, topology=topology("tree:3", 12))
    for node in (9, 4, 12, 7):
        cluster.request(node)
        cluster.settle()
        cluster.leave(node)
        for start in cluster.members:
            at, steps = start, 0
            while (onward := holder(cluster, at)) != at:
                at, steps = onward, steps + 1
                assert steps < 12
            assert at == node


def holder(cluster: ByHand, node: NodeId) -> NodeId:
    peer = cluster.peers[node]
    assert isinstance(peer, Raymond)
    return peer.holder


# Naimi and Trehel


def test_a_request_turns_the_path_towards_itself() -> None:
    peer = NaimiTrehel(3, (1, 2, 3, 4))
    receive(peer, 4, "Request", 4)
    assert len(peer.drain()) == 1  # passed on to the root
    assert peer.last == 4


def test_the_root_remembers_who_is_next() -> None:
    peer = NaimiTrehel(1, (1, 2, 3))
    peer.acquire()
    peer.drain()
    receive(peer, 3, "Request", 3)
    assert (peer.next, peer.last) == (3, 3)
    peer.release()
    assert peer.drain() == [Send(3, Token())]
    assert peer.next == 0


# The token ring


def test_the_token_ring_goes_round() -> None:
    scenario = Scenario("token-ring", 5, 50, Heavy())
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    assert all(b == a % 5 + 1 for a, b in pairwise(entries(trace)))
