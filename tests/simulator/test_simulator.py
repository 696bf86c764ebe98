"""The simulator: loads, networks, faults, the judge, and one seed for one run."""

import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import astuple, dataclass
from itertools import pairwise
from math import inf, isnan, nan
from random import Random

import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.lookup import OUTSIDE, algorithm
from peerlock.core.demands import EXCLUSIVE, Sharing
from peerlock.core.errors import UsageError
from peerlock.core.peer import SHARED, NodeId, Peer
from peerlock.simulator.judge import Judge
from peerlock.simulator.latency import (
    Constant,
    Exponential,
    Latency,
    Matrix,
    Uniform,
    parse_latency,
)
from peerlock.simulator.load import Heavy, Level, Light, Schedule, parse_load
from peerlock.simulator.network import (
    Crash,
    Network,
    Partition,
    parse_crash,
    parse_partition,
)
from peerlock.simulator.report import Summary
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import Simulation, empty_trace, simulate
from peerlock.simulator.statistics import jain, summary
from peerlock.simulator.violation import Violation
from peerlock.traces.trace import Kind, Trace

CORRECT = [a.name for a in CATALOGUE if a.verdict == "holds"]


def recorded(scenario: Scenario) -> Trace:
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    return trace


# One seed, one run


@pytest.mark.parametrize("name", CORRECT)
def test_recording_a_run_does_not_change_it(name: str) -> None:
    scenario = Scenario(name, 5, 50, Level(0.3), seed=7)
    assert simulate(scenario) == simulate(scenario, empty_trace(scenario))


def test_another_seed_is_another_run() -> None:
    a, b = (simulate(Scenario("naimi-trehel", 8, 100, seed=s)) for s in (1, 2))
    assert a.messages != b.messages or a.response_time != b.response_time


PRINT_TRACES = """
from contextlib import suppress
from peerlock.simulator import simulation
from peerlock.simulator.load import Level
from peerlock.simulator.network import Crash, Network
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import Simulation, empty_trace
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.simulator.violation import Violation

class Enough(Exception):
    pass

def end_it(entries):  # some never end by themselves
    if len(trace) > 3000:
        raise Enough

simulation.EVENTS_PER_TURN = 1000
for entry in CATALOGUE:
    network = Network(fifo=entry.fifo, loss=0.01, duplication=0.02, crashes=(Crash(2, 9),))
    for chosen in (None, network):
        scenario = Scenario(entry.name, 6, 20, Level(0.4), chosen, seed=3)
        trace = empty_trace(scenario)
        with suppress(Violation, Enough):
            Simulation(scenario, trace).run(end_it)
        for step in trace:
            print(step)
"""


def test_the_same_seed_gives_the_same_trace_whatever_the_hash_seed() -> None:
    traces = [
        subprocess.run(
            [sys.executable, "-c", PRINT_TRACES],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "4242")
    ]
    assert traces[0] == traces[1]
    assert len(traces[0].splitlines()) > 5000


# Loads


def test_under_light_load_one_request_is_served_before_the_next_is_made() -> None:
    waiting = 0
    flying = 0
    for step in recorded(Scenario("ricart-agrawala", 6, 50, Light())):
        waiting += (step.kind is Kind.REQUEST) - (step.kind is Kind.LEAVE)
        flying += (step.kind is Kind.SEND) - (step.kind is Kind.RECEIVE)
        assert waiting <= 1
        if step.kind is Kind.REQUEST:
            assert flying == 0


def test_light_load_asks_every_node() -> None:
    trace = recorded(Scenario("central", 6, 200, Light()))
    asked = Counter(step.node for step in trace if step.kind is Kind.REQUEST)
    assert set(asked) == {1, 2, 3, 4, 5, 6}


def test_under_heavy_load_a_node_asks_again_when_it_has_left() -> None:
    trace = recorded(Scenario("lamport", 4, 40, Heavy()))
    left: dict[int, float] = {}
    for step in trace:
        if step.kind is Kind.LEAVE:
            left[step.node] = step.time
        elif step.kind is Kind.REQUEST and step.node in left:
            assert step.time == left[step.node]


@pytest.mark.parametrize("p", [0.05, 0.25, 0.7, 1.0])
def test_a_load_level_is_a_probability_per_time_unit(p: float) -> None:
    """One node alone: its idle times have the mean 1/p."""
    trace = recorded(Scenario("central", 1, 4000, Level(p), hold=2.0))
    idle = [
        b.time - a.time
        for a, b in pairwise(s for s in trace if s.kind in (Kind.LEAVE, Kind.REQUEST))
        if b.kind is Kind.REQUEST
    ]
    assert sum(idle) / len(idle) == pytest.approx(1 / p, rel=0.05)
    assert all(time == int(time) >= 1 for time in idle)


def test_a_schedule_by_hand_is_kept() -> None:
    wishes = ((0.0, 3), (0.5, 2), (0.6, 3), (9.0, 1))
    trace = recorded(Scenario("ricart-agrawala", 3, load=Schedule(wishes)))
    asked = [(s.time, s.node) for s in trace if s.kind is Kind.REQUEST]

    assert asked[0] == (0.0, 3)
    assert asked[1] == (0.5, 2)
    again = next(s.time for s in trace if s.kind is Kind.LEAVE and s.node == 3)
    assert (again, 3) in asked  # it was busy at 0.6
    assert len(asked) == 4


@pytest.mark.parametrize("name", CORRECT)
@pytest.mark.parametrize("load", ["light", "heavy", "0.2"])
def test_as_many_entries_as_asked_for(name: str, load: str) -> None:
    report = simulate(Scenario(name, 5, 37, parse_load(load)))
    assert report.entries == 37
    if len(algorithm(name).rule({}).demands) == 1:
        assert report.max_inside <= algorithm(name).capacity()


@pytest.mark.parametrize("name", CORRECT)
def test_one_node_alone_needs_no_message(name: str) -> None:
    report = simulate(Scenario(name, 1, 10, Heavy()))
    assert (report.entries, report.messages) == (10, 0)


# Networks


@pytest.mark.parametrize(
    ("latency", "low", "high"),
    [
        (Constant(2.0), 2.0, 2.0),
        (Uniform(1.0, 3.0), 1.0, 3.0),
        (Exponential(1.5), 0.0, 100.0),
        (Matrix(((1.0, 9.0), (9.0, 1.0))), 1.0, 9.0),
    ],
)
def test_messages_take_as_long_as_the_model_says(
    latency: Constant, low: float, high: float
) -> None:
    network = Network(latency)
    trace = recorded(Scenario("ricart-agrawala", 4, 100, network=network))
    sent = {s.flight: s for s in trace if s.kind is Kind.SEND}
    times = [s.time - sent[s.flight].time for s in trace if s.kind is Kind.RECEIVE]

    assert low - 1e-9 <= min(times) <= max(times) <= high + 1e-9
    if isinstance(latency, Exponential):
        assert sum(times) / len(times) == pytest.approx(1.5, rel=0.1)


def test_a_matrix_puts_the_nodes_evenly_on_the_sites() -> None:
    arrival = Matrix(((1.0, 9.0), (9.0, 1.0))).arrival(
        Simulation(Scenario("central", 4)).rng, 4
    )
    assert arrival(0.0, 1, 2) == 1.0
    assert arrival(0.0, 3, 4) == 1.0
    assert arrival(0.0, 2, 3) == 9.0


def overtakes(trace: Trace) -> int:
    """How many messages overtook an earlier one between the same two nodes."""
    order: dict[tuple[int | None, int], int] = {}
    count = 0
    for step in trace:
        if step.kind is Kind.RECEIVE:
            assert step.flight is not None
            link = step.peer, step.node
            count += step.flight < order.get(link, 0)
            order[link] = max(step.flight, order.get(link, 0))
    return count


@pytest.mark.parametrize("latency", [Uniform(0.5, 9.0), Exponential(2.0)])
def test_fifo_keeps_the_order_and_reordering_does_not(latency: Uniform) -> None:
    for fifo in (True, False):
        scenario = Scenario("ricart-agrawala", 4, 200, network=Network(latency, fifo))
        assert (overtakes(recorded(scenario)) == 0) == fifo


def test_lost_messages_are_lost_and_someone_waits_for_ever() -> None:
    scenario = Scenario("ricart-agrawala", 3, 50, network=Network(loss=0.05))
    with pytest.raises(Violation, match="nothing more can happen") as caught:
        simulate(scenario)

    assert caught.value.trace is not None
    kinds = Counter(step.kind for step in caught.value.trace)
    assert kinds[Kind.SEND] == kinds[Kind.RECEIVE] + kinds[Kind.LOSE]
    assert kinds[Kind.LOSE] >= 1


def test_a_duplicate_arrives_twice_and_is_refused_where_it_makes_no_sense() -> None:
    scenario = Scenario("raymond", 5, 50, network=Network(duplication=0.2), seed=2)
    trace = empty_trace(scenario)
    simulation = Simulation(scenario, trace)
    with suppress(Violation, AssertionError):  # no algorithm here promises to survive
        simulation.run()
    flights = Counter(s.flight for s in trace if s.kind is Kind.RECEIVE)
    assert max(flights.values()) == 2
    assert simulation.remote_errors > 0


def test_nothing_crosses_a_partition() -> None:
    cut = Partition(10.0, 20.0, (frozenset({1, 2}), frozenset({3, 4})))
    scenario = Scenario("ricart-agrawala", 5, 40, network=Network(partitions=(cut,)))
    trace = empty_trace(scenario)
    with pytest.raises(Violation, match="nothing more can happen"):
        simulate(scenario, trace)

    side = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
    sent = {s.flight: s.time for s in trace if s.kind is Kind.SEND}
    crossed = [
        s
        for s in trace
        if s.kind is Kind.RECEIVE and s.peer and side[s.peer] != side[s.node]
    ]
    assert crossed
    assert not any(10 <= s.time < 20 or 10 <= sent[s.flight] < 20 for s in crossed)


def test_a_crashed_node_is_silent_and_asks_no_more() -> None:
    wishes = ((1.0, 1), (2.0, 2), (5.0, 3))
    network = Network(crashes=(Crash(3, 0.5),))
    trace = recorded(Scenario("central", 3, load=Schedule(wishes), network=network))
    assert [s.kind for s in trace if s.node == 3] == [Kind.CRASH]
    assert [s.node for s in trace if s.kind is Kind.ENTER] == [1, 2]


def test_nobody_is_blamed_for_forgetting_a_dead_node() -> None:
    network = Network(Constant(1.0), crashes=(Crash(3, 0.5),))
    trace = recorded(Scenario("central", 3, load=Schedule(((0.0, 3),)), network=network))
    kinds = [s.kind for s in trace if s.node == 3]
    assert kinds == [Kind.REQUEST, Kind.SEND, Kind.CRASH, Kind.LOSE]


def test_a_crash_of_the_coordinator_stops_everybody() -> None:
    scenario = Scenario("central", 4, 30, network=Network(crashes=(Crash(1, 4.2),)))
    with pytest.raises(Violation, match="wait"):
        simulate(scenario)


def test_what_a_dead_node_knew_of_fences_is_not_missed() -> None:
    judge = Judge(fences=False)
    judge.requested(1)
    judge.granted(1, fence=1)
    judge.crashed(1)
    judge.requested(2)
    judge.granted(2, fence=1)
    assert judge.inside == {2}


def test_a_node_comes_back_with_a_fresh_state() -> None:
    scenario = Scenario(
        "central",
        3,
        30,
        Level(0.2),
        network=Network(Constant(0.1), crashes=(Crash(3, 5.0, back=8.0),)),
        hold=0.1,
    )
    trace = recorded(scenario)
    kinds = [s.kind for s in trace if s.node == 3 and s.time >= 5.0]
    assert Kind.CRASH in kinds
    assert Kind.RESTART in kinds
    assert Kind.ENTER in kinds


@pytest.mark.parametrize(
    "latency",
    [Constant(2.0), Uniform(0.5, 1.5), Exponential(1.0), Matrix(((1.0, 9.0), (9.0, 1.0)))],
)
@pytest.mark.parametrize("fifo", [False, True])
def test_a_broadcast_draws_what_as_many_messages_would(
    latency: Latency, fifo: bool
) -> None:
    network = Network(latency, fifo=fifo)
    one, _ = network.arrivals(Random(1), 5)
    _, every = network.arrivals(Random(1), 5)
    for now in (0.1, 7.3):
        assert every(now, 2, (1, 3, 4, 5)) == [one(now, 2, to) for to in (1, 3, 4, 5)]


def test_on_a_broadcast_medium_a_broadcast_is_one_message() -> None:
    network = Network(broadcast_medium=True)
    report = simulate(Scenario("ricart-agrawala", 9, 20, Light(), network))
    assert report.messages_by_type == {"REQUEST": 20, "REPLY": 160}


# The judge


def test_the_judge_sees_two_inside() -> None:
    judge = Judge()
    for node in (1, 2):
        judge.requested(node)
    judge.granted(1, fence=1)
    with pytest.raises(Violation, match="1 and 2 are inside together"):
        judge.granted(2, fence=2)


def test_the_judge_sees_a_grant_that_nobody_asked_for() -> None:
    with pytest.raises(Violation, match="2 enters without having asked"):
        Judge().granted(2, fence=1)


@pytest.mark.parametrize("fence", [4, 5])
def test_the_judge_sees_a_fence_that_does_not_grow(fence: int) -> None:
    judge = Judge()
    judge.requested(1)
    judge.granted(1, fence=5)
    judge.left(1)
    judge.requested(2)
    with pytest.raises(Violation, match=f"2's fence {fence} follows 5"):
        judge.granted(2, fence=fence)


def test_the_judge_compares_the_fences_of_those_that_exclude_each_other() -> None:
    judge = Judge(Sharing())

    def enters(demand: str, fence: int) -> None:
        judge.requested(1, demand)
        judge.granted(1, fence)
        judge.left(1)

    enters(SHARED, 3)
    enters(SHARED, 2)  # readers may come in any order
    with pytest.raises(Violation, match="1's fence 3 follows 3"):
        enters(EXCLUSIVE, 3)
    judge.left(1)
    enters(EXCLUSIVE, 5)
    with pytest.raises(Violation, match="1's fence 4 follows 5"):
        enters(SHARED, 4)


@dataclass(eq=False)
class LetsEveryoneIn(Peer):
    def acquire(self) -> None:
        self.grant()

    def release(self) -> None:
        pass


@dataclass(eq=False)
class ChatsForEver(Peer):
    @dataclass(frozen=True, slots=True)
    class Chat:
        pass

    messages = (Chat,)

    def acquire(self) -> None:
        self.send(self.me % len(self.members) + 1, self.Chat())

    def release(self) -> None:
        pass

    def receive_chat(self, sender: NodeId, message: Chat) -> None:
        self.send(sender, message)


@dataclass(eq=False)
class WaitsForItsTimer(Peer):
    """Enters after its alarm; `snooze` is set anew, `never` cancelled."""

    def acquire(self) -> None:
        self.set_timer("alarm", 5.0)
        self.set_timer("snooze", 1.0)
        self.set_timer("snooze", 2.0)
        self.set_timer("never", 1.0)
        self.cancel_timer("never")

    def release(self) -> None:
        pass

    def timer(self, name: str) -> None:
        if name == "alarm":
            self.grant()


def added(monkeypatch: pytest.MonkeyPatch, peer: type[Peer]) -> str:
    entry = algorithm("central")._replace(name="added", peer=peer)
    monkeypatch.setitem(OUTSIDE, "added", entry)
    return "added"


def test_a_violation_stops_the_run_and_brings_its_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = added(monkeypatch, LetsEveryoneIn)
    with pytest.raises(Violation, match="1 and 2 are inside together") as caught:
        simulate(Scenario(name, 3))

    trace = caught.value.trace
    assert trace is not None
    assert [s.kind for s in trace][-3:] == [Kind.REQUEST, Kind.ENTER, Kind.VIOLATION]
    assert trace.steps[-1].note == "1 and 2 are inside together"


@dataclass(eq=False)
class TripsAtLast(LetsEveryoneIn):
    """Enters alone for a long time, and then finds that it has miscounted."""

    entries: int = 0

    def release(self) -> None:
        self.entries += 1
        assert self.entries < 40_000


def test_of_a_long_run_that_went_wrong_the_end_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = added(monkeypatch, TripsAtLast)
    with pytest.raises(Violation, match="1 finds its own invariant broken") as caught:
        simulate(Scenario(name, 1, 50_000))

    trace = caught.value.trace
    assert trace is not None
    assert 20_000 <= len(trace) <= 40_000
    assert trace.steps[-1].kind is Kind.VIOLATION


def test_a_run_that_gets_nowhere_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    name = added(monkeypatch, ChatsForEver)
    with pytest.raises(Violation, match=r"1 and 2 waited through .* events"):
        Simulation(Scenario(name, 2)).run()


def test_timers_fire_unless_cancelled_or_set_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    name = added(monkeypatch, WaitsForItsTimer)
    trace = recorded(Scenario(name, 1, 1))
    fired = [(s.time, s.note) for s in trace if s.kind is Kind.TIMER]
    assert fired == [(2.0, "snooze"), (5.0, "alarm")]


def test_maekawa_1985_is_seen_to_deadlock() -> None:
    with pytest.raises(Violation, match="deadlock") as caught:
        simulate(Scenario("maekawa-1985", 7))
    assert caught.value.trace is not None


# Measures


def test_response_time_and_synchronisation_delay() -> None:
    """Node 1 coordinates and is inside for 1; 2's request and permission take 1 each."""
    scenario = Scenario(
        "central", 2, load=Schedule(((0.0, 1), (0.0, 2))), network=Network(Constant(1.0))
    )
    report = simulate(scenario)
    assert report.response_time == Summary(mean=1.0, p50=0.0, p99=2.0, max=2.0)
    assert report.synchronisation_delay == Summary(1.0, 1.0, 1.0, 1.0)
    assert report.throughput == pytest.approx(2 / 3)
    assert report.max_overtaken == 0
    assert report.queue_length == pytest.approx(2 / 3)


def test_jains_index() -> None:
    assert jain([5, 5, 5, 5]) == 1.0
    assert jain([8, 0, 0, 0]) == 0.25
    assert isnan(jain([0, 0]))


def test_a_summary_of_nothing_has_no_figures() -> None:
    assert all(map(isnan, astuple(summary([]))))
    assert summary([float(x) for x in range(101)]) == Summary(50.0, 50.0, 99.0, 100.0)


def test_a_token_ring_serves_at_most_n_minus_1_others_first() -> None:
    for load in (Heavy(), Level(0.3)):
        assert simulate(Scenario("token-ring", 8, 500, load)).max_overtaken <= 7


# Words


@pytest.mark.parametrize(
    ("spec", "model"),
    [
        ("constant:2", Constant(2.0)),
        ("uniform:1,3", Uniform(1.0, 3.0)),
        ("exponential:0.5", Exponential(0.5)),
        ("matrix:1,80/80,1", Matrix(((1.0, 80.0), (80.0, 1.0)))),
    ],
)
def test_latencies_have_names(spec: str, model: Constant) -> None:
    assert parse_latency(spec) == model


@pytest.mark.parametrize(
    "spec",
    [
        *("uniform:3,1", "uniform", "constant:-1", "matrix:1,2/3", "exponential:x"),
        *("warp:9", "constant:nan", "constant:inf", "uniform:0,nan", "constant:1e300"),
        *("matrix:1,nan/nan,1", "exponential:-inf"),
    ],
)
def test_wrong_latencies_are_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        parse_latency(spec)


@pytest.mark.parametrize("spec", ["0", "1.5", "-1", "often", "nan"])
def test_wrong_loads_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="invalid load"):
        parse_load(spec)


NETWORKS = (
    Network(loss=nan),
    Network(duplication=2.0),
    Network(crashes=(Crash(4, 1.0),)),
    Network(crashes=(Crash(1, nan),)),
    Network(crashes=(Crash(1, -1.0),)),
    Network(crashes=(Crash(1, 5.0, 3.0),)),
    Network(crashes=(Crash(1, 5.0, inf),)),
    Network(crashes=(Crash(1, 7.0), Crash(1, 5.0, 9.0))),
    Network(crashes=(Crash(1, 5.0), Crash(1, 9.0))),
    Network(partitions=(Partition(5.0, 2.0, (frozenset({1}),)),)),
    Network(partitions=(Partition(nan, 2.0, (frozenset({1}),)),)),
    Network(partitions=(Partition(1.0, 2.0, (frozenset({1, 4}),)),)),
    Network(partitions=(Partition(1.0, 2.0, (frozenset({1, 2}), frozenset({2, 3}))),)),
)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_networks_that_cannot_be_are_refused(network: Network) -> None:
    with pytest.raises(UsageError):
        simulate(Scenario("central", 3, network=network))


def test_a_node_may_crash_again_when_it_is_back() -> None:
    twice = Network(crashes=(Crash(1, 7.5, 9.0), Crash(1, 5.0, 7.0), Crash(2, 5.0, 5.0)))
    twice.validate(3)


def test_faults_have_words() -> None:
    assert parse_crash("3@20") == Crash(3, 20.0)
    assert parse_crash("3@.5-40.25") == Crash(3, 0.5, 40.25)
    groups = (frozenset({1, 2}), frozenset({3}))
    assert parse_partition("10-20.5:1,2/3") == Partition(10.0, 20.5, groups)


def test_senseless_scenarios_are_refused() -> None:
    for wrong in (
        Scenario("central", 0),
        Scenario("central", 3, entries=0),
        *(Scenario("central", 3, hold=hold) for hold in (-1.0, nan, inf, 1e300)),
        *(Scenario("central", 3, shared=shared) for shared in (-1.0, nan, 1.5)),
        Scenario("centrall", 3),
        Scenario("raymond", 3, topology="ring"),
        Scenario("lamport", 3, quorums="grid"),
    ):
        with pytest.raises(UsageError):
            simulate(wrong)
