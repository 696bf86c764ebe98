"""A simulated process: the node and the presence that ship, in a host of virtual time.

What `runtime.Host` does with sockets, threads and timers is done here with events: frames
take time and may be lost, timers may be late, and the engine's answers may be late, errors,
or lost after the deed is done.  It makes no decisions of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from peerlock.core.peer import RemoteError
from peerlock.node.node import Node
from peerlock.node.presence import (
    BeFound,
    Dial,
    HangUp,
    Join,
    LeaseUntil,
    Leave,
    PassOn,
    Presence,
    Question,
    Renew,
    Reserve,
)
from peerlock.node.views import MemberId, View
from peerlock.node.waiters import State
from peerlock.node.wire import Batch
from peerlock.simulator.faults import LEASE, Stumble
from peerlock.simulator.users import SimulatedUser
from peerlock.simulator.witness import Misrule

if TYPE_CHECKING:
    from peerlock.simulator.cluster import Cluster

TURN = 0.00002  # until a process has handled what is pending

Frame = View | Batch
Answer = Callable[[], None]


class Route:
    """A connection from a process to another member, in order, until it is gone."""

    __slots__ = ("cut", "frames", "lag", "last_arrival", "loses", "lossy", "me", "receiver")

    def __init__(self, me: MemberId, receiver: Process) -> None:
        self.me = me  # the member that dialled it
        self.receiver = receiver
        self.frames: deque[Frame] = deque()  # that are under way
        self.cut = False  # what is under way in it is lost
        self.loses = False  # the next batch
        self.lossy = False  # it has lost something although it lived
        self.lag = 0.0  # additional delay of what is sent now
        self.last_arrival = 0.0


class Process:
    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.dead = False
        self.leaving = False
        self.paused_until = 0.0
        self.timers_late_until = 0.0
        self.blind_until = 0.0  # its clocks stood still, and it cannot know that yet
        self.slowness = 0.0
        self.muted = False  # while it stands still, what it was sending stays with it
        self.disk = 0.0  # how long a transaction may take
        self.refused_until = 0.0  # until then, the engine answers with errors
        self.blocked: dict[Process, float] = {}  # until then, dialling these fails
        self.turning = False
        self.users: dict[SimulatedUser, None] = {}
        self.ways: dict[MemberId, Route] = {}
        self.dialling: dict[MemberId, Dial] = {}
        self.out_of_reach: set[MemberId] = set()  # although they live, until dialled again
        self.former: MemberId = 0  # whose place is given up when it joins again
        self.rate = cluster.clock_rate()
        self.stood_still = 0.0  # its clocks, in all
        self.corrected = 0.0  # its wall clock, by how much in all
        self._alarm_at = inf  # on our clock
        self._alarms = 0
        self.node = Node(self.clock, cluster.knobs, cluster.members_per_elder)
        self.presence = Presence(
            self.node,
            self.wall,
            LEASE,
            watching=cluster.watchers > 0,
            between_machines=cluster.between_machines,
        )

    # Time

    def clock(self) -> float:
        """Its own, which may run faster or slower than the engine's, or stand still."""
        return (self.cluster.now - self.stood_still) * self.rate

    def wall(self) -> float:
        return self.clock() + self.corrected

    def when(self, at: float) -> float:
        """A time of its own clock as others see it."""
        return at / self.rate + self.stood_still

    @property
    def blind(self) -> bool:
        return self.cluster.now < self.blind_until

    @property
    def excused(self) -> bool:
        """It could not notify its users in time: it stood still when its lease ended."""
        still = max(self.paused_until, self.timers_late_until)
        return self.blind or self.when(self.node.deadline) <= still

    def _set_alarm(self) -> None:
        self._alarm_at = self.presence.wake_at
        self._alarms += 1
        at = max(self.when(self._alarm_at), self.cluster.now) + 1e-9
        self.cluster.at(at, self, partial(self._alarm, self._alarms))

    def _alarm(self, number: int) -> None:
        if number == self._alarms:
            self._alarm_at = inf
            self.step(self.presence.wake)

    def delay_timers(self, by: float) -> None:
        """They count on a clock that stands still while the machine is suspended."""
        if self._alarm_at < inf:
            self._alarms += 1
            self.timers_late_until = at = self.when(self._alarm_at) + by
            self.cluster.at(at, self, partial(self._alarm, self._alarms))

    # Life

    def start(self) -> None:
        self.carry_out_question(self.presence.start(self.name))

    def step(self, what: Callable[..., None], *arguments: Any) -> bool:
        """Like the host: a step is completed, or the presence is notified of a failure."""
        try:
            what(*arguments)
        except Stumble as error:
            self.presence.stumbled(repr(error))
            return False
        return True

    def settle(self) -> None:
        """Carry out the effects of the last input."""
        node, presence = self.node, self.presence
        if presence.effects:
            self._carry_out()
        for member, batch in node.drain():
            way = self.ways.get(member)
            if way is not None:
                self._send(way, batch)
            else:
                presence.wanted(member)
        presence.stir()
        if node.wants_fences:
            presence.fences_run_low()
        if presence.effects:
            self._carry_out()
        if node.wants_turn and not self.turning:
            self.turning = True
            self.cluster.after(TURN, self, self.turn)
        if presence.wake_at < self._alarm_at:
            self._set_alarm()

    def turn(self) -> None:
        self.turning = False
        self.step(self.node.turn)
        self._mind_loss()

    def _mind_loss(self) -> None:
        if not self.node.member:
            self.presence.look()

    def _carry_out(self) -> None:
        for effect in self.presence.drain():
            CARRIERS[type(effect)](self, effect)

    # The engine

    def carry_out_question(self, question: Question) -> None:
        """The request travels, is answered, and the answer travels: each takes time."""
        cluster, faults = self.cluster, self.cluster.faults

        def decide() -> None:
            if self.dead:
                return
            refused = cluster.now < self.refused_until
            done_all_the_same = refused and cluster.rng.random() < 0.5
            if not refused or done_all_the_same:
                answer = cluster.engine.answer(self, question)
            if refused:
                answer = partial(self.presence.failed, "no answer in time")
            tell = partial(self.answered, question, answer)
            cluster.after(faults.engine_delay(self), self, tell)

        cluster.after(faults.engine_delay(self), None, decide)

    def answered(self, question: Question, answer: Answer) -> None:
        node = self.node
        before, recovering = node.view, bool(node.awaited)
        self.step(answer)
        if node.view.number > before.number:
            self.cluster.faults.while_they_recover(before, recovering)
        if isinstance(question, Leave):
            self.settle()
            self.cluster.kill(self)

    def heard(self, view: View) -> None:
        node = self.node
        before, recovering = node.view, bool(node.awaited)
        self.presence.must_be_possible(view)
        self.step(self.presence.heard, view)
        if node.view.number > before.number:
            self.cluster.faults.while_they_recover(before, recovering)

    # Connections

    def dial(self, effect: Dial) -> None:
        self.dialling[effect.member] = effect
        dialled = partial(self._dialled, effect)
        self.cluster.after(self.cluster.delay(), self, dialled)

    def _dialled(self, effect: Dial) -> None:
        member = effect.member
        if self.dialling.get(member) is not effect:
            return  # it was closed meanwhile
        del self.dialling[member]
        receiver = self.cluster.everyone[member]
        if receiver.dead or self.blocked.get(receiver, 0.0) > self.cluster.now:
            if not receiver.dead:
                self.out_of_reach.add(member)
            self.presence.unreachable(member, "nobody answers")
            return
        self._reaches(member)
        way = self.ways[member] = Route(self.node.me, receiver)
        self._send(way, self.node.view)
        self.presence.connected(member)

    def _reaches(self, member: MemberId) -> None:
        """Or does not want to any more."""
        if member in self.out_of_reach:
            self.out_of_reach.remove(member)
            self.cluster.faults.disturb()

    def hang_up(self, effect: HangUp) -> None:
        self._reaches(effect.member)
        self.dialling.pop(effect.member, None)
        way = self.ways.pop(effect.member, None)
        if way is not None:
            self.cluster.notice_end(way)

    def broken(self, member: MemberId, way: Route) -> None:
        """Unless it was closed by then."""
        if self.ways.get(member) is way:
            del self.ways[member]
            if not way.receiver.dead:  # it may be dialled after a pause only
                self.out_of_reach.add(member)
            self.presence.disconnected(member)

    def pass_on(self, effect: PassOn) -> None:
        self._send(self.ways[effect.member], effect.view)

    def _send(self, way: Route, frame: Frame) -> None:
        if isinstance(frame, Batch) and self.cluster.splits and len(frame.messages) > 1:
            for i, message in enumerate(frame.messages):
                part = frame._replace(first=frame.first + i, messages=(message,))
                self._send(way, part)
            return
        cluster = self.cluster
        arrival = cluster.now + way.lag + cluster.delay(way.receiver)
        way.last_arrival = max(way.last_arrival, arrival)
        way.frames.append(frame)
        cluster.at(way.last_arrival, way.receiver, partial(self._arrive, way))

    def _arrive(self, way: Route) -> None:
        """The next frame, at the other end, which is alive."""
        now = self.cluster.now
        stays = self.muted and self.paused_until > now
        way.cut = way.cut or (stays and self.dead)
        if way.cut:
            return
        if stays:
            way.last_arrival = max(way.last_arrival, self.paused_until)
            self.cluster.at(self.paused_until, way.receiver, partial(self._arrive, way))
            return
        frame = way.frames.popleft()
        if isinstance(frame, Batch):
            way.receiver.receive(way, frame)
        else:
            way.receiver.heard(frame)

    def receive(self, way: Route, batch: Batch) -> None:
        if self.cluster.faults.loses(way, batch):
            return
        try:
            if not self.step(self.node.receive, way.me, batch):
                self.cluster.end(way)
        except RemoteError as error:
            if not way.lossy:
                raise Misrule(f"{self.name} receives an invalid batch: {error}") from error
            self.cluster.happened["gap noticed"] += 1
            self.cluster.end(way)
        if self.node.waits_for_view:
            self.presence.look()
        self._mind_loss()

    # Users

    def ask(self) -> None:
        cluster = self.cluster
        name, wanted = cluster.something_to_want()
        user = SimulatedUser(self, name, wanted)
        if self.wait(user):
            return
        fate = cluster.rng.random()
        if fate < 0.2:
            patience = cluster.rng.expovariate(20.0)
            cluster.after(patience, self, partial(self.give_up, user))
        elif fate < 0.25:
            self.node.probe(user)

    def wait(self, user: SimulatedUser) -> bool:
        """Whether it holds the lock already."""
        self.users[user] = None
        self.cluster.places.asks(user.name, user.place)
        if self.node.take(user.name, user):
            user.on_granted()
        else:
            self.node.acquire(user.name, user)
        return user.state is not State.WAITING

    def give_up(self, user: SimulatedUser) -> None:
        if self.node.give_up(user):
            user.over()

    def done(self, user: SimulatedUser) -> None:
        if user.state is State.HOLDING and self.node.check_lease():
            if not self.node.put_back(user):
                self.node.release(user)
            user.over()
            if not self.leaving and self.cluster.comes_back():
                self.ask()

    def leave(self) -> None:
        """Like a process that ends properly: it has no users, then it leaves."""
        for user in sorted(self.users, key=lambda u: u.asked_at):
            if user.state is State.HOLDING:
                self.done(user)
            else:
                self.give_up(user)
        self.carry_out_question(self.presence.leave())


def nothing(process: Process, effect: object) -> None:
    """A simulated process can be dialled for as long as it lives."""


CARRIERS: dict[type, Callable[[Process, Any], None]] = {
    Join: Process.carry_out_question,
    Renew: Process.carry_out_question,
    Reserve: Process.carry_out_question,
    Dial: Process.dial,
    HangUp: Process.hang_up,
    PassOn: Process.pass_on,
    LeaseUntil: nothing,
    BeFound: nothing,
}
