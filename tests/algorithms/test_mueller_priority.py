"""Mueller's: the token goes to the highest priority that has reached it."""

from itertools import permutations
from random import Random

import pytest

from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.mueller_priority import Follow, MuellerPriority, Request, Token
from peerlock.algorithms.settings import arguments
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.errors import UsageError
from peerlock.core.peer import Enter, RemoteError, Send
from peerlock.simulator import Heavy, Level, Light, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from tests.support.counts import light_entries

FOUR = (1, 2, 3, 4)
RISING = (1, 2, 3, 4)


def waiting(me: int = 2) -> MuellerPriority:
    peer = MuellerPriority(me, FOUR, priorities=RISING)
    peer.acquire()
    assert peer.drain() == [Send(1, Request(me))]
    return peer


def test_the_token_takes_its_queue_along_by_priority() -> None:
    peer = MuellerPriority(1, FOUR, priorities=RISING)
    peer.acquire()
    for node in (2, 4, 3):
        peer.receive(node, Request(node))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(4, Token((3, 2)))]
    assert peer.owner == 2


def test_equals_are_served_in_the_order_of_arrival() -> None:
    peer = MuellerPriority(1, FOUR)
    peer.acquire()
    for node in (3, 2, 4):
        peer.receive(node, Request(node))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(3, Token((2, 4)))]


def test_a_node_that_waits_keeps_a_request_of_no_higher_priority() -> None:
    peer = waiting(3)
    peer.receive(1, Request(2))
    assert peer.drain() == []
    peer.receive(1, Token((4,)))
    assert peer.drain() == [Enter()]
    assert peer.queue == (4, 2)


def test_a_higher_one_follows_the_request_that_it_overtakes() -> None:
    peer = waiting(2)
    peer.receive(4, Request(4))
    assert peer.drain() == [Send(1, Follow(4, 2))]
    assert peer.queue == ()


def test_whoever_passed_a_request_on_knows_where_it_went() -> None:
    peer = MuellerPriority(3, FOUR, priorities=RISING)
    peer.receive(2, Request(2))
    assert peer.drain() == [Send(1, Request(2))]
    assert peer.owner == 2
    peer.receive(2, Follow(4, 2))
    assert peer.drain() == [Send(1, Follow(4, 2))]


def test_a_follow_that_comes_back_to_its_beginning_is_kept() -> None:
    peer = waiting(2)
    peer.receive(1, Follow(4, 2))
    assert (peer.queue, peer.drain()) == ((4,), [])


def test_an_idle_holder_sends_the_token_at_once() -> None:
    peer = MuellerPriority(1, FOUR)
    peer.receive(3, Request(3))
    assert peer.drain() == [Send(3, Token(()))]


@pytest.mark.parametrize(
    "message", [Token(()), Follow(1, 4), Follow(2, 9), Request(3), Request(9)], ids=str
)
def test_senseless_messages_are_refused(message: object) -> None:
    with pytest.raises(RemoteError):
        MuellerPriority(3, FOUR).receive(2, message)


@pytest.mark.parametrize(
    "message",
    [Token((2, 2)), Token((3,)), Token((9,)), Follow(3, 3), Follow(3, 9)],
    ids=str,
)
def test_so_is_a_token_with_a_queue_that_cannot_be(message: object) -> None:
    peer = MuellerPriority(3, FOUR)
    peer.acquire()
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(2, message)
    assert peer.snapshot() == before


# Claims


def test_the_highest_priority_that_has_reached_the_token_is_next() -> None:
    cluster = ByHand("mueller-priority", 4, priorities=RISING)
    cluster.request(1)
    for node in (2, 3, 4):
        cluster.request(node)
    cluster.settle()
    order = []
    for _ in FOUR:
        (inside,) = cluster.judge.inside
        order.append(inside)
        cluster.leave(inside)
        cluster.settle()
    assert order == [1, 4, 3, 2]


def test_a_higher_priority_waits_less() -> None:
    """Node 9 asks against eight others that ask all the time."""
    means = []
    for text in ("1,1,1,1,1,1,1,1,9", "9,9,9,9,9,9,9,9,1"):
        report = simulate(
            Scenario("mueller-priority", 9, 600, Level(0.05), priorities=text)
        )
        means.append(report.max_overtaken)
    assert means[0] < means[1]


@pytest.mark.parametrize("n", [4, 16, 64])
def test_about_log_n_when_nobody_competes(n: int) -> None:
    """As Naimi and Trehel's: the harmonic number H(N-1), token included."""
    report = simulate(Scenario("mueller-priority", n, 20 * n + 500, Light()))
    assert report.messages_per_entry == pytest.approx(
        sum(1 / k for k in range(1, n)), rel=0.05
    )


def test_it_costs_nothing_at_the_holder() -> None:
    for holder, node, messages in light_entries("mueller-priority", 10, 100):
        assert (messages == 0) == (node == holder)


@pytest.mark.parametrize("n", [4, 16, 64])
def test_when_all_compete_a_request_and_a_token_are_enough(n: int) -> None:
    report = simulate(Scenario("mueller-priority", n, 200 + 20 * n, Heavy()))
    assert report.messages_per_entry == pytest.approx(2, abs=0.02)


@pytest.mark.parametrize("priorities", sorted(permutations((1, 2, 3))), ids=str)
def test_it_holds_with_any_priorities(priorities: tuple[int, ...]) -> None:
    report = check(
        model("mueller-priority", 3, 1, priorities=",".join(map(str, priorities)))
    )
    assert report.holds
    assert report.max_messages_per_entry is not None


@pytest.mark.parametrize("seed", range(12))
def test_many_nodes_of_many_priorities(seed: int) -> None:
    rng = Random(seed)
    n = rng.randint(5, 12)
    text = ",".join(str(rng.randint(1, 4)) for _ in range(n))
    load = rng.choice((Heavy(), Level(0.1), Level(0.3)))
    scenario = Scenario("mueller-priority", n, 150, load, priorities=text, seed=seed)
    assert simulate(scenario).entries == 150


def test_each_node_has_a_priority() -> None:
    with pytest.raises(UsageError, match="2 numbers of priorities, and 3 nodes"):
        arguments(algorithm("mueller-priority"), 3, priorities="1,2")
