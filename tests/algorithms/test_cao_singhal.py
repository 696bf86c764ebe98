"""Cao and Singhal's: the leaving node locks members for the next one itself."""

from itertools import pairwise

import pytest

from peerlock.algorithms.cao_singhal import (
    CaoSinghal,
    Failed,
    Inquire,
    Locked,
    Release,
    Transfer,
)
from peerlock.algorithms.maekawa import Relinquish, Request
from peerlock.core.peer import Enter, RemoteError, Send
from peerlock.quorums.constructions import KINDS, QuorumSystem, grid
from peerlock.simulator import Heavy, Light, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from tests.support.counts import light_entries

SEVEN = tuple(range(1, 8))
FOUR = (1, 2, 3, 4)


def member() -> CaoSinghal:
    """Node 4 of seven, locked for node 5."""
    peer = CaoSinghal(4, SEVEN)
    peer.receive(5, Request(3))
    assert peer.drain() == [Send(5, Locked(4, 1))]
    return peer


def asking() -> CaoSinghal:
    """Node 1 of the square of four, which asks 2 and 3, locked by 2."""
    peer = CaoSinghal(1, FOUR, quorums=grid(4))
    peer.acquire()
    peer.drain()
    peer.receive(2, Locked(2, 5))
    return peer


# The member


def test_the_first_that_waits_is_the_heir() -> None:
    peer = member()
    peer.receive(6, Request(4))
    assert peer.drain() == [Send(6, Failed(4)), Send(5, Transfer(1, 6))]
    peer.receive(7, Request(9))
    assert peer.drain() == [Send(7, Failed(9))]


def test_a_request_that_precedes_makes_it_inquire() -> None:
    peer = member()
    peer.receive(6, Request(1))
    assert peer.drain() == [Send(5, Inquire(1, 6))]
    peer.receive(2, Request(1))
    assert peer.drain() == [Send(6, Failed(1)), Send(5, Transfer(1, 2))]


def test_a_release_with_an_heir_needs_no_locked() -> None:
    peer = member()
    peer.receive(6, Request(4))
    peer.receive(7, Request(9))
    peer.drain()
    peer.receive(5, Release(1, 6))
    assert peer.locking == (4, 6)
    assert peer.drain() == [Send(6, Transfer(2, 7))]


def test_the_heir_may_have_released_before_that_is_heard() -> None:
    peer = member()
    peer.receive(6, Request(4))
    peer.receive(6, Release(2, 0))
    peer.receive(6, Request(8))
    peer.drain()
    peer.receive(5, Release(1, 6))
    assert peer.drain() == [Send(6, Locked(4, 3))]


@pytest.mark.parametrize(
    ("sender", "message"),
    [(6, Release(1, 0)), (5, Release(2, 6)), (5, Release(1, 6)), (5, Relinquish())],
    ids=str,
)
def test_senseless_messages_are_refused(sender: int, message: object) -> None:
    with pytest.raises(RemoteError):
        member().receive(sender, message)


# The asker


def test_the_lock_is_handed_on_by_the_leaving_node() -> None:
    peer = asking()
    peer.receive(3, Locked(3, 1))
    assert peer.drain() == [Enter()]
    peer.receive(2, Transfer(5, 4))
    peer.release()
    assert peer.drain() == [
        Send(4, Locked(2, 6)),
        Send(2, Release(5, 4)),
        Send(3, Release(1, 0)),
    ]


def test_a_transfer_of_an_earlier_term_is_ignored() -> None:
    peer = asking()
    peer.receive(3, Locked(3, 1))
    peer.receive(2, Transfer(4, 4))
    peer.drain()
    peer.release()
    assert Send(2, Release(5, 0)) in peer.drain()


def test_a_transfer_may_come_before_its_locked() -> None:
    peer = asking()
    peer.receive(3, Transfer(7, 4))
    peer.receive(4, Locked(3, 7))
    assert peer.drain() == [Enter()]
    peer.release()
    assert Send(4, Locked(3, 8)) in peer.drain()


def test_an_inquire_that_comes_before_its_locked_waits_for_it() -> None:
    peer = CaoSinghal(1, FOUR, quorums=grid(4))
    peer.acquire()
    peer.receive(3, Inquire(7, 4))
    peer.receive(2, Failed(1))
    peer.drain()
    peer.receive(4, Locked(3, 7))
    assert peer.drain() == [Send(3, Relinquish())]


def test_a_late_failed_says_nothing() -> None:
    peer = asking()
    peer.receive(2, Failed(1))
    assert not peer.failed_members
    with pytest.raises(RemoteError):
        peer.receive(2, Failed(2))


# Counts and delay


@pytest.mark.parametrize("kind", ["plane", "grid", "majority"])
@pytest.mark.parametrize("n", [2, 3, 7, 13, 20])
def test_an_entry_that_nobody_contests_costs_3_k_minus_1(n: int, kind: str) -> None:
    for _, node, messages in light_entries("cao-singhal", n, entries=6, quorums=kind):
        assert messages == 3 * (len(KINDS[kind](n).of(node)) - 1)


@pytest.mark.parametrize("n", [7, 13, 21])
def test_about_5_k_minus_1_when_all_compete(n: int) -> None:
    k = {7: 3, 13: 4, 21: 5}[n]
    report = simulate(Scenario("cao-singhal", n, 20 * n, Heavy()))
    assert 4.9 * (k - 1) < report.messages_per_entry <= 5 * (k - 1)


@pytest.mark.parametrize(("entries", "messages"), [(5, 12.0), (6, 74 / 6)])
def test_six_k_minus_1_is_not_the_most(entries: int, messages: float) -> None:
    """Nodes 1 and 2 are asked by all others.  The last one has a member until another asks
    there, gets it back when that one leaves, and enters when all others have left."""
    nodes, common = 2 + entries, (1, 2)
    sets = QuorumSystem("common", (common,) * nodes)
    cluster = ByHand("cao-singhal", nodes, quorums=sets)
    last, first, *later = range(nodes, 2, -1)
    for node in (last, first, *later):
        cluster.request(node)
    cluster.deliver(last, 2, "REQUEST")
    cluster.deliver(2, last, "LOCKED")
    cluster.deliver(first, 1, "REQUEST")
    cluster.deliver(last, 1, "REQUEST")
    for name, node in (("FAILED", last), ("LOCKED", first), ("TRANSFER", first)):
        cluster.deliver(1, node, name)
    preempt(cluster, 2, last, first)
    for leaving, entering in pairwise((first, *later)):
        assert cluster.judge.inside == {leaving}
        cluster.leave(leaving)
        for member in common:
            cluster.deliver(leaving, member, "RELEASE")
            cluster.deliver(leaving, last, "LOCKED")
            preempt(cluster, member, last, entering)
    cluster.leave(later[-1])
    cluster.settle()
    assert cluster.judge.inside == {last}
    cluster.leave(last)
    cluster.settle()
    assert cluster.sent / entries == messages
    assert (messages > 6 * len(common)) is (entries > 5)


def preempt(cluster: ByHand, member: int, locked: int, entering: int) -> None:
    cluster.deliver(entering, member, "REQUEST")
    cluster.deliver(member, locked, "INQUIRE")
    cluster.deliver(locked, member, "RELINQUISH")
    cluster.deliver(member, entering, "LOCKED")
    cluster.deliver(member, entering, "TRANSFER")


def test_a_member_that_is_its_own_heir_is_locked_by_the_release() -> None:
    """Node 1 leaves: node 2 is the heir of its own lock, and no LOCKED need say so."""
    peer = CaoSinghal(2, (1, 2), quorums=grid(2))
    peer.receive(1, Request(1))
    peer.acquire()
    peer.drain()
    peer.receive(1, Locked(1, 2))
    with pytest.raises(RemoteError, match="1 locks us for ourselves"):
        peer.receive(1, Locked(2, 2))
    assert peer.drain() == []
    peer.receive(1, Release(1, 2))
    assert peer.drain() == [Enter()]


@pytest.mark.parametrize("n", [9, 16])
def test_the_delay_is_one_message_where_maekawas_is_two(n: int) -> None:
    """A little more, since not every TRANSFER arrives in time."""
    ours, theirs = (
        simulate(Scenario(name, n, 20 * n, Heavy(), quorums="grid")).synchronisation_delay
        for name in ("cao-singhal", "maekawa")
    )
    assert ours.mean < 1.4 < 2.1 < theirs.mean


def test_light_load_has_nothing_to_hand_on() -> None:
    report = simulate(Scenario("cao-singhal", 7, 40, Light()))
    assert report.messages_per_entry == 6


def test_the_lock_goes_from_one_to_the_next_by_one_message() -> None:
    cluster = ByHand("cao-singhal", 4, quorums=grid(4))
    cluster.request(1)
    cluster.settle()
    cluster.request(4)
    cluster.settle()
    effects = cluster.leave(1)
    handed = [e for e in effects if isinstance(e, Send) and isinstance(e.message, Locked)]
    assert {e.to for e in handed} == {4}
    for _ in handed:
        cluster.deliver(1, 4, "LOCKED")
    assert cluster.judge.inside == {4}
