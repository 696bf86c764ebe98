"""One run: a cluster of peers, a network, a load, and a judge.

Everything that happens is an event on one heap, ordered by virtual time and then by the
order in which it was scheduled; all randomness comes from one generator.  So runs are
deterministic: the same seed gives a byte-identical trace.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count, repeat
from math import inf, nan
from random import Random
from typing import Any

from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import arguments
from peerlock.core.demands import EXCLUSIVE, Demand
from peerlock.core.errors import UsageError
from peerlock.core.peer import SHARED, Down, Handler, NodeId, Peer, RemoteError, snake
from peerlock.simulator.judge import Judge
from peerlock.simulator.latency import LONGEST
from peerlock.simulator.network import Network
from peerlock.simulator.report import Report
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.statistics import RunStatistics
from peerlock.simulator.violation import Violation
from peerlock.traces.trace import Kind, Step, Trace

Action = Callable[[NodeId], None]
Wire = tuple[Callable[[NodeId, Any], None], Callable[[Any], None]]  # send, broadcast

# When, its number, at which node; of a message its sender (else 0), itself and the sender's
# fence; and what is done there: the message's handler or an action.
Event = tuple[float, int, NodeId, NodeId, Any, int, Callable[..., None]]

# How often a long run checks for progress, Ctrl-C and signs of a livelock.
EVENTS_PER_TURN = 50_000

# How many steps are kept of a failed run that was not recorded.
KEPT = 20_000


def simulate(
    scenario: Scenario,
    trace: Trace | None = None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Run a scenario, and measure it.

    trace: records the run, step by step, if given: see `empty_trace`
    progress: called now and then with the number of entries so far

    Raises Violation, with its trace, if the algorithm violates a property.
    """
    try:
        return Simulation(scenario, trace).run(progress)
    except Violation as violation:
        violation.trace = trace or replayed(scenario)
        raise


def replayed(scenario: Scenario) -> Trace:
    """The last steps of a failed run, repeated from its seed."""
    trace = empty_trace(scenario)
    with suppress(Violation):
        Simulation(scenario, trace, keep=KEPT).run()
    return trace


def empty_trace(scenario: Scenario) -> Trace:
    """An empty trace, to record a run of the scenario."""
    return Trace(scenario.name, scenario.nodes, scenario.seed)


class Sort:
    """A type of messages: what receives them, and how many were sent."""

    __slots__ = ("handler", "sent")

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.sent = 0


class Immediate:
    """A node's effects, carried out on the spot."""

    __slots__ = ("broadcast", "grant", "node", "run", "send")

    def __init__(self, run: Simulation, node: NodeId) -> None:
        self.run, self.node = run, node
        self.send, self.broadcast = run.wire(node)
        self.grant = run.entrance(node)

    def set_timer(self, name: str, delay: float) -> None:
        self.run.set_timer(self.node, name, delay)

    def cancel_timer(self, name: str) -> None:
        self.run.cancel_timer(self.node, name)


class Simulation:
    def __init__(
        self, scenario: Scenario, trace: Trace | None = None, keep: int | None = None
    ) -> None:
        """With `keep`, the trace keeps at least this many of the last steps, not all."""
        self.scenario = scenario
        entry = algorithm(scenario.algorithm)
        self.network = scenario.network or Network(fifo=entry.fifo)
        if entry.broadcast:
            self.network = replace(self.network, broadcast_medium=True)
        if entry.medium:
            self.network = replace(self.network, ordered_medium=True)
        self._validate()
        settings = arguments(entry, scenario.nodes, **scenario.chosen)
        self.members = tuple(range(1, scenario.nodes + 1))
        self.rng = Random(scenario.seed)
        self.now = 0.0
        self.rests = entry.rests
        self.requests_left = scenario.load.requests(scenario.entries)
        self.rule = entry.rule(scenario.chosen)
        self._various = self.rule.demands != (EXCLUSIVE,)
        fences = not self.network.crashes and not entry.timely
        self.judge = Judge(self.rule, fences)
        self.statistics = RunStatistics(scenario.nodes)
        self.remote_errors = 0
        self.events = 0
        self._fruitless = 0  # events since a node entered
        self._patience = EVENTS_PER_TURN + 10 * scenario.nodes**2

        self._entry = entry
        self._settings = settings
        self._arrival, self._arrivals = self.network.arrivals(self.rng, scenario.nodes)
        self._fences = [0] * (scenario.nodes + 1)
        self._gone: set[NodeId] = set()
        self._queued = [0] * (scenario.nodes + 1)  # requests that wait for their node
        self._heap: list[Event] = []
        self._asked, self._left = self._request, self._leave  # bound once, for all entries
        self._numbers = count(1)
        self._sorts = {m: Sort(handler) for m, handler in entry.peer.handlers.items()}
        self._timers: dict[tuple[NodeId, str], int] = {}
        self._medium_busy = 0.0  # until then
        self._trace = trace
        self._keep = keep
        self._watched = trace is not None or not self.network.faultless
        self._duplicates: dict[int, int] = {}  # their number: the original's

        wires = self._plain_wires
        if self._watched:
            wires = self._watched_wires
        self.wire = self._on_medium(wires()) if self.network.ordered_medium else wires()
        self._peers: list[Any] = [None, *map(self._make_peer, self.members)]

    def _make_peer(self, node: NodeId) -> Peer:
        effects = Immediate(self, node)
        return self._entry.peer(node, self.members, effects=effects, **self._settings)

    def _validate(self) -> None:
        if self.scenario.entries < 1:
            raise UsageError(f"invalid entries {self.scenario.entries}: use 1 or more")
        if not 0 <= self.scenario.hold <= LONGEST:
            raise UsageError(f"invalid hold {self.scenario.hold:g}: use a time, 0 or more")
        if not 0 <= self.scenario.shared <= 1:
            raise UsageError(
                f"invalid shared {self.scenario.shared}: use a probability, 0 to 1"
            )
        self.network.validate(self.scenario.nodes)

    # Running

    def run(self, progress: Callable[[int], None] | None = None) -> Report:
        try:
            self._begin()
            while self._turn():
                if progress is not None:
                    progress(self.statistics.entries)
            self.judge.at_rest()
        except Violation as violation:
            self._see(violation.node)
            self._note(Kind.VIOLATION, violation.node, note=violation.text)
            raise
        return self._report()

    def _begin(self) -> None:
        for node in self.members:
            self._peers[node].start()
            self._see(node)
        for crash in self.network.crashes:
            self._schedule(crash.at, crash.node, self._crash)
            if crash.back is not None:
                self._schedule(crash.back, crash.node, self._restart)
        self.scenario.load.start(self)

    def _turn(self) -> bool:
        """Some events; False when there are no more."""
        entries, done = self.statistics.entries, 0
        while done < EVENTS_PER_TURN:
            done += self._deliver(EVENTS_PER_TURN - done)
            if not self._heap and self._may_ask():
                self.scenario.load.quiet(self)
            if not self._heap:
                break
        self.events += done
        entered = self.statistics.entries > entries
        self._fruitless = 0 if entered else self._fruitless + done
        if self._fruitless > self._patience:
            self.judge.no_progress(self._fruitless)
        return bool(self._heap)

    def _may_ask(self) -> bool:
        return self.requests_left > 0 and len(self._gone) < len(self.members)

    def _deliver(self, most: int) -> int:
        """At most this many events.  This is the hot loop: rare cases are elsewhere."""
        heap, peers, fences = self._heap, self._peers, self._fences
        watched, pop = self._watched, heappop
        for done in range(most):
            if not heap:
                return done
            self.now, number, node, sender, message, fence, act = pop(heap)
            try:
                if sender:
                    if watched and not self._arrives(number, node, sender, message):
                        continue
                    if fence > fences[node]:
                        fences[node] = fence
                    act(peers[node], sender, message)
                else:
                    act(node)
                if watched:
                    self._see(node)
            except RemoteError as error:
                self._refuse(node, error)
            except AssertionError as error:
                raise Violation(node, f"{node} finds its own invariant broken") from error
        return most

    # What happens at a node, other than receiving a message

    def ask(self, node: NodeId, at: float) -> None:
        event = at, next(self._numbers), node, 0, None, 0, self._asked
        heappush(self._heap, event)

    def _request(self, node: NodeId) -> None:
        judge = self.judge
        if node in self._gone or not self.requests_left:
            return
        if node in judge.demands:
            self._queued[node] += 1
            return
        self.requests_left -= 1
        demand = self._demand() if self._various else EXCLUSIVE
        judge.requested(node, demand)
        self.statistics.requested(node, self.now)
        if self._watched:
            self._note(Kind.REQUEST, node, note=self.rule.words(demand))
        if self._various:
            self._peers[node].acquire_for(demand)
        else:
            self._peers[node].acquire()

    def _demand(self) -> Demand:
        """A reader's as often as was chosen; others by chance, all alike."""
        demands, shared = self.rule.demands, self.scenario.shared
        if SHARED not in demands:
            return self.rng.choice(demands) if len(demands) > 1 else demands[0]
        return SHARED if shared > 0 and self.rng.random() < shared else EXCLUSIVE

    def entrance(self, node: NodeId) -> Callable[[], None]:
        """What a grant to the node does."""
        heap, next_number, fences = self._heap, self._numbers.__next__, self._fences
        judge, statistics = self.judge, self.statistics
        watched, hold, leave = self._watched, self.scenario.hold, self._left

        def grant() -> None:
            now = self.now
            fence = fences[node] = fences[node] + 1
            if watched:
                self._note(Kind.ENTER, node, fence=fence)
            statistics.granted(node, now)
            judge.granted(node, fence)
            heappush(heap, (now + hold, next_number(), node, 0, None, 0, leave))

        return grant

    def _leave(self, node: NodeId) -> None:
        self.judge.left(node)
        self.statistics.left(self.now)
        if self._watched:
            self._note(Kind.LEAVE, node)
        self._peers[node].release()
        if self._queued[node]:
            self._queued[node] -= 1
            self.ask(node, self.now)
        self.scenario.load.left(self, node)
        if not self.rests and not self._wanted():
            self._heap.clear()  # otherwise the run would never end

    def _wanted(self) -> bool:
        return bool(self.requests_left or self.judge.waiting or self.judge.inside)

    def set_timer(self, node: NodeId, name: str, delay: float) -> None:
        token = self._timers[node, name] = next(self._numbers)
        self._schedule(self.now + delay, node, partial(self._fire, name, token))

    def cancel_timer(self, node: NodeId, name: str) -> None:
        self._timers.pop((node, name), None)

    def _fire(self, name: str, token: int, node: NodeId) -> None:
        if self._timers.get((node, name)) == token:  # neither cancelled nor set anew
            del self._timers[node, name]
            self._note(Kind.TIMER, node, note=name)
            self._peers[node].timer(name)

    def _crash(self, node: NodeId) -> None:
        self._gone.add(node)
        self._queued[node] = 0
        self._timers = {key: t for key, t in self._timers.items() if key[0] != node}
        self._forget(node)
        if node in self.judge.inside:
            self.statistics.crashed_inside()
        self.judge.crashed(node)
        self._note(Kind.CRASH, node)
        if Down in self._entry.peer.messages:
            for to in self.members:
                if to not in self._gone:
                    self._transmit(node, to, Down())

    def _forget(self, node: NodeId) -> None:
        """The next action of its user."""
        doomed = (self._request, self._leave)
        self._heap[:] = [
            e for e in self._heap if e[2] != node or e[3] or e[6] not in doomed
        ]
        heapify(self._heap)

    def _restart(self, node: NodeId) -> None:
        self._gone.discard(node)
        self._note(Kind.RESTART, node)
        self._peers[node] = self._make_peer(node)
        self._peers[node].restart()
        self.scenario.load.left(self, node)

    # Messages

    def _plain_wires(self) -> Callable[[NodeId], Wire]:
        """Nothing is recorded, and no message is lost or duplicated."""
        run, heap, fences, sorts = self, self._heap, self._fences, self._sorts
        arrival, arrivals = self._arrival, self._arrivals
        numbers, next_number = self._numbers, self._numbers.__next__
        members, per_broadcast = self.members, self._messages_per_broadcast

        def wire(sender: NodeId) -> Wire:
            def send(to: NodeId, message: Any) -> None:
                sort = sorts[type(message)]
                sort.sent += 1
                at = arrival(run.now, sender, to)
                fence = fences[sender]
                event = at, next_number(), to, sender, message, fence, sort.handler
                heappush(heap, event)

            def broadcast(message: Any) -> None:
                sort = sorts[type(message)]
                sort.sent += per_broadcast
                others = members[: sender - 1] + members[sender:]
                alike = map(repeat, (sender, message, fences[sender], sort.handler))
                times = arrivals(run.now, sender, others)
                for event in zip(times, numbers, others, *alike, strict=False):
                    heappush(heap, event)

            return send, broadcast

        return wire

    def _watched_wires(self) -> Callable[[NodeId], Wire]:
        """For a run that is recorded, or on an unreliable network."""

        def wire(sender: NodeId) -> Wire:
            def send(to: NodeId, message: Any) -> None:
                self._sorts[type(message)].sent += 1
                self._transmit(sender, to, message)

            def broadcast(message: Any) -> None:
                self._sorts[type(message)].sent += self._messages_per_broadcast
                for to in self.members:
                    if to != sender:
                        self._transmit(sender, to, message)

            return send, broadcast

        return wire

    def _on_medium(self, wires: Callable[[NodeId], Wire]) -> Callable[[NodeId], Wire]:
        """The same, but broadcasts follow one another on a medium that orders them."""
        return lambda sender: (wires(sender)[0], partial(self._carry, sender))

    def _carry(self, sender: NodeId, message: Any) -> None:
        self._sorts[type(message)].sent += len(self.members) > 1
        at = max(self._arrival(self.now, sender, sender), self._medium_busy)
        self._medium_busy = at
        self._schedule(at, sender, partial(self._hear_oneself, message))
        for to in self.members:
            if to != sender:
                number = next(self._numbers)
                self._note(Kind.SEND, sender, to, message, number)
                self._put(at, number, to, sender, message)

    def _hear_oneself(self, message: Any, node: NodeId) -> None:
        if node not in self._gone:
            self._peers[node].receive(node, message)

    @property
    def _messages_per_broadcast(self) -> int:
        others = len(self.members) - 1
        return min(others, 1) if self.network.broadcast_medium else others

    def _transmit(self, sender: NodeId, to: NodeId, message: Any) -> None:
        flight = next(self._numbers)
        self._note(Kind.SEND, sender, to, message, flight)
        self._fly(flight, sender, to, message, flight)
        if self.network.duplication and self.rng.random() < self.network.duplication:
            copy = next(self._numbers)
            self._duplicates[copy] = flight
            self._fly(copy, sender, to, message, flight)

    def _fly(
        self, number: int, sender: NodeId, to: NodeId, message: Any, flight: int
    ) -> None:
        at = self._arrival(self.now, sender, to)
        if at == inf:
            self._note(Kind.LOSE, to, sender, message, flight)
        else:
            self._put(at, number, to, sender, message)

    def _put(
        self, at: float, number: int, to: NodeId, sender: NodeId, message: Any
    ) -> None:
        fence, handler = self._fences[sender], self._sorts[type(message)].handler
        heappush(self._heap, (at, number, to, sender, message, fence, handler))

    def _arrives(self, number: int, node: NodeId, sender: NodeId, message: Any) -> bool:
        flight = self._duplicates.pop(number, number)
        alive = node not in self._gone
        kind = Kind.RECEIVE if alive else Kind.LOSE
        self._note(kind, node, sender, message, flight)
        return alive

    def _refuse(self, node: NodeId, error: RemoteError) -> None:
        """On a reliable network, no correct node sends an invalid message."""
        self.remote_errors += 1
        if self.network.faultless and self.network.fifo >= self._entry.fifo:
            raise Violation(node, f"{node} refuses a message: {error}")

    # Bookkeeping

    def _schedule(self, at: float, node: NodeId, action: Action) -> None:
        heappush(self._heap, (at, next(self._numbers), node, 0, None, 0, action))

    def _note(
        self,
        kind: Kind,
        node: NodeId,
        peer: NodeId | None = None,
        message: Any = None,
        flight: int | None = None,
        fence: int | None = None,
        note: str = "",
    ) -> None:
        if self._trace is not None:
            step = Step(self.now, kind, node, peer, message, flight, fence, note)
            self._trace.steps.append(step)
            if self._keep is not None and len(self._trace) > 2 * self._keep:
                self._trace.keep(self._keep)

    def _see(self, node: NodeId) -> None:
        if self._trace is not None:
            self._trace.see(self._peers[node])

    def _report(self) -> Report:
        found = self.statistics
        sent = {message: sort.sent for message, sort in self._sorts.items()}
        messages = sum(sent.values())
        return Report(
            algorithm=self.scenario.name,
            nodes=self.scenario.nodes,
            entries=found.entries,
            messages=messages,
            messages_per_entry=messages / found.entries if found.entries else nan,
            messages_by_type={snake(m).upper(): n for m, n in sent.items()},
            max_inside=found.max_inside,
            max_overtaken=found.max_overtaken,
            response_time=found.response_time,
            synchronisation_delay=found.synchronisation_delay,
            throughput=found.throughput,
            queue_length=found.queue_length,
            fairness=found.fairness,
            remote_errors=self.remote_errors,
            events=self.events,
            seed=self.scenario.seed,
        )
