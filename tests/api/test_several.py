"""More than one inside: readers together, and k at a time."""

import pytest

from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.raymond_k import RaymondK, Reply
from peerlock.algorithms.readers_writers import ReadersWriters
from peerlock.algorithms.readers_writers import Request as ReadOrWrite
from peerlock.algorithms.ricart_agrawala import REPLY, Request
from peerlock.algorithms.settings import arguments
from peerlock.algorithms.srimani_reddy import SrimaniReddy
from peerlock.algorithms.suzuki_kasami import Privilege
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.demands import EXCLUSIVE, Permits, Sharing
from peerlock.core.errors import UsageError
from peerlock.core.peer import SHARED, Broadcast, Enter, Send
from peerlock.simulator import Heavy, Light, Scenario, Violation, empty_trace, simulate
from peerlock.simulator.judge import Judge
from peerlock.traces.trace import Kind

THREE = (1, 2, 3)


# The judge


def test_readers_may_be_inside_together_and_a_writer_may_not_join_them() -> None:
    judge = Judge(Sharing())
    for node in (1, 2, 3):
        judge.requested(node, SHARED if node < 3 else EXCLUSIVE)
    judge.granted(1, fence=1)
    judge.granted(2, fence=1)
    with pytest.raises(Violation, match="1, 2 and 3 are inside together"):
        judge.granted(3, fence=2)


def test_a_reader_may_not_join_a_writer() -> None:
    judge = Judge(Sharing())
    judge.requested(1)
    judge.requested(2, SHARED)
    judge.granted(1, fence=1)
    with pytest.raises(Violation, match="1 and 2 are inside together"):
        judge.granted(2, fence=2)


def test_a_writers_fence_is_above_every_readers() -> None:
    judge = Judge(Sharing())
    judge.requested(1, SHARED)
    judge.granted(1, fence=5)
    judge.left(1)
    judge.requested(2)
    with pytest.raises(Violation, match="2's fence 5 follows 5"):
        judge.granted(2, fence=5)


def test_as_many_as_there_are_permits() -> None:
    judge = Judge(Permits(2))
    for node in THREE:
        judge.requested(node)
    judge.granted(1, fence=1)
    judge.granted(2, fence=1)
    with pytest.raises(Violation, match="1, 2 and 3 are inside together"):
        judge.granted(3, fence=1)


# Readers and writers, TR-869 section 6.6


@pytest.mark.parametrize("inside", [False, True])
def test_a_reader_never_defers_a_reader(inside: bool) -> None:
    peer = ReadersWriters(1, THREE)
    peer.acquire_shared()
    if inside:
        peer.receive(2, REPLY)
        peer.receive(3, REPLY)
    peer.drain()
    peer.receive(3, ReadOrWrite(1, reader=True))
    assert peer.drain() == [Send(3, REPLY)]
    peer.receive(2, ReadOrWrite(1, reader=False))
    assert peer.drain() == []  # a writer follows the order


def test_a_writer_defers_readers_that_ask_later() -> None:
    peer = ReadersWriters(1, THREE)
    peer.acquire()
    assert peer.drain() == [Broadcast(ReadOrWrite(1, reader=False))]
    peer.receive(2, ReadOrWrite(1, reader=True))
    assert peer.drain() == []


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_readers_and_writers_cost_2_n_minus_1(n: int, shared: float) -> None:
    for load in (Light(), Heavy()):
        scenario = Scenario(
            "ricart-agrawala-readers-writers", n, 5 * n, load, shared=shared
        )
        assert simulate(scenario).messages_per_entry == 2 * (n - 1)


def test_readers_do_get_in_together() -> None:
    name = "ricart-agrawala-readers-writers"
    assert simulate(Scenario(name, 8, 200, shared=1.0)).max_inside == 8
    assert simulate(Scenario(name, 8, 200, shared=0.0)).max_inside == 1


def test_an_algorithm_without_shared_locks_serves_readers_one_by_one() -> None:
    report = simulate(Scenario("raymond", 8, 200, shared=1.0))
    assert (report.entries, report.max_inside) == (200, 1)


def test_a_trace_tells_readers_from_writers() -> None:
    scenario = Scenario("ricart-agrawala-readers-writers", 4, 40, shared=0.5)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    notes = {step.note for step in trace if step.kind is Kind.REQUEST}
    assert notes == {"", "shared"}


# Raymond's k


def test_n_minus_k_replies_are_enough() -> None:
    peer = RaymondK(1, (1, 2, 3, 4), permits=2)
    peer.acquire()
    peer.drain()
    peer.receive(3, Reply(1))
    assert peer.drain() == []
    peer.receive(2, Reply(1))
    assert peer.drain() == [Enter()]
    peer.receive(4, Reply(1))  # comes while inside, and is only counted
    assert peer.drain() == []


def test_a_reply_answers_all_that_was_deferred() -> None:
    peer = RaymondK(1, (1, 2, 3), permits=2)
    peer.acquire()
    peer.receive(3, Reply(1))
    for number in (2, 3):
        peer.receive(2, Request(number))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(2, Reply(2))]


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_raymond_k_costs_at_most_2_n_minus_1(n: int, k: int) -> None:
    light = simulate(Scenario("raymond-k", n, 20, Light(), permits=k))
    heavy = simulate(Scenario("raymond-k", n, 20 * n, Heavy(), hold=9.0, permits=k))
    assert light.messages_per_entry == 2 * (n - 1)
    assert heavy.messages_per_entry <= 2 * (n - 1)
    assert heavy.max_inside == min(n, k)


def test_raymond_with_k_1_is_ricart_agrawala() -> None:
    """The same number of states, and of everything else."""
    one = check(model("raymond-k", 3, 1, permits=1))
    theirs = check(model("ricart-agrawala", 3, 1))
    assert one.coverage.depth == theirs.coverage.depth
    assert one.max_messages_per_entry == theirs.max_messages_per_entry == 4
    assert one.max_overtaken == theirs.max_overtaken


# Srimani and Reddy


def test_an_idle_token_at_hand_costs_nothing() -> None:
    peer = SrimaniReddy(2, THREE, permits=2)
    peer.acquire()
    assert peer.drain() == [Enter()]


def test_a_token_that_is_not_needed_stays_or_goes_on() -> None:
    peer = SrimaniReddy(3, THREE, permits=2)
    peer.acquire()
    peer.receive(1, Privilege((), (0, 0, 0)))
    peer.drain()
    peer.receive(2, Privilege((), (0, 0, 0)))
    assert peer.drain() == []
    assert peer.idle == 1


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_srimani_reddy_costs_0_or_n_to_n_plus_k_minus_1(n: int, k: int) -> None:
    light = simulate(Scenario("srimani-reddy", n, 60, Light(), permits=k))
    heavy = simulate(Scenario("srimani-reddy", n, 20 * n, Heavy(), hold=9.0, permits=k))
    assert light.messages_per_entry <= n + k - 1
    assert heavy.messages_per_entry <= n + k - 1
    assert heavy.max_inside == min(n, k)


def test_a_token_sent_for_nothing_may_be_passed_on_for_nothing() -> None:
    """The survey's N+k-1 is not the most that one entry can take."""
    report = check(model("srimani-reddy", 3, 1, permits=2))
    assert report.holds
    assert report.max_messages_per_entry == 5 > 3 + 2 - 1


# Words


def test_permits_are_for_semaphores() -> None:
    with pytest.raises(UsageError, match="not built on a choice of permits"):
        arguments(algorithm("raymond"), 3, permits=2)
    with pytest.raises(UsageError, match="at least 1"):
        arguments(algorithm("raymond-k"), 3, permits=0)
