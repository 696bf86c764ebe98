"""Membership: joining, renewing, losing and regaining it, and reaching other members.

Presence is as pure as the node that it keeps in the cluster.  Its host notifies it of what
happens: an answer or an error of the membership engine, a connection that is up or down, a
dial that failed, a view that another member has seen, a step that failed, and `wake` at the
time `wake_at`.  After each input the host carries out the effects (`drain`): a question for
the engine, a member to dial, a connection to close, a view to pass on.

The rules:

 1. *One question at a time* is put to the engine.  What calls for another one meanwhile
    calls for exactly one more, when the answer is here.
 2. *A lease is counted from before the question*, whenever its answer comes.  An error, and
    an answer about a former self, renew nothing.
 3. *The node loses what it holds a margin before others can acquire it*: its own deadline
    is a margin earlier than the engine's, and presence wakes up at that time.
 4. *A process that joins gives up its former place.*  If it has just told users of a loss,
    it joins again a margin later, or when the former lease is over.
 5. *A pause of the whole machine shows in the wall clock.*  Between machines, a lease is
    shortened by as much as the wall clock has gained on the lease clock since the question,
    and is renewed at once.  On one machine, all members stood still together.
 6. *A change disturbs few.*  A process that joins notifies no member: members that it talks
    to read the view by themselves.  A member that removes another notifies the elders,
    which keep the homes of names; one that leaves notifies those of them that it is
    connected to.  All others see the new view when a message comes that was sent in it, or
    when they renew.  The engine may fail a member that has to see it: so one whose answer
    is still awaited at a tick is told of the view.  A view that is heard while the process
    is out is kept until it has joined: joining may have been answered with an older one.
    Numbers for fences are reserved first, and used if a view that is read afterwards is
    still the node's (see `node/fences.py`).
 7. *A member that cannot be reached* is dialled again after a pause, which doubles up to a
    bound, for as long as it is a member; and the engine is asked whether it, by name, is
    dead, unless the engine tells of that by itself.  A member that accepts connections and
    closes them is treated alike.
 8. *Connections belong to one membership*: others know a process that joins again under
    another number, so its connections are made anew.
 9. *Ticks never cease*, whatever fails: the next one is set before anything else is done. A
    step that fails in the middle counts as the end of the lease, because it is not known
    how much of it was done.
10. *An idle member rests*: its ticks are far apart.  Its host calls `stir` when the node
    was used or talked to meanwhile, and the clocks are compared then; an error of the
    engine ends the rest.
11. *A message waits for a view until the engine has answered.*  A member that says that it
    has seen a later view than this one calls for one question.  An engine answers with a
    view that was the newest at some time after the question.  So if that view is still
    lower than what was said before the question, the member cannot have seen what it says:
    the node drops the message, and counts a remote error.
12. *A view that a member passes on is believed until the engine has answered.*  An answer
    to a question that was put after a view was heard is at least as new as that view, and
    a number belongs to one view.  So if the answer is lower than the newest view before the
    question, or has the number of the node's view and is another one, a member has passed
    on a view that does not exist.  What the node has done in it is void: the node counts a
    remote error, loses everything, and joins again a margin later, beyond that view.  One
    that leaves us out ends the membership, like any other: true or not is never known.
    A view whose number no engine can have given yet is a remote error at once, which ends
    the connection: to join again beyond it would use up the numbers that are left.  No
    number is ahead of the clock of the process that gives it.  That clock and ours may
    differ by a day (`numbers.APART`), counted from the last answer of the engine if that is
    ahead of our clock.  So a clock that is wrong separates no members for longer than until
    the next answer.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple, TypeVar

from peerlock.core.peer import RemoteError
from peerlock.node.node import Node
from peerlock.node.numbers import is_possible
from peerlock.node.views import MemberId, View, is_a_view

# How often a member renews when nothing else calls for it, in seconds: a member that uses
# locks or is talked to, and an idle one.
POLL = 1.0
POLL_IDLE = 4.0

# Seconds until a member that could not be reached is dialled again.
RETRY = 0.001
RETRY_AT_MOST = 0.5

# A view that is not entered within this many seconds is reported.
SLOW = 2.0

MARGIN = 0.5  # at most, in seconds

MISLED = "a member has passed on a view that does not exist; this member joins again"


def margin(lease: float | None) -> float:
    """How long before its end a lease counts as over; without one, the time to stop."""
    return MARGIN if lease is None else min(MARGIN, lease / 10)


# Questions for the engine: `joined`, `renewed`, `reserved`, `left` or `failed` follows.


class Join(NamedTuple):
    address: str
    beyond: int  # the highest number of a view that was seen


class Renew(NamedTuple):
    me: MemberId
    suspects: frozenset[MemberId] = frozenset()  # of being dead


class Reserve(NamedTuple):
    """More numbers for the fences of this view."""


class Leave(NamedTuple):
    me: MemberId


Question = Join | Renew | Reserve | Leave
Q = TypeVar("Q", bound=Question)


# What else the host carries out.


class Dial(NamedTuple):
    """`connected` or `unreachable` follows, unless it is hung up before."""

    member: MemberId
    address: str


class HangUp(NamedTuple):
    """Close the connection to this member, or the attempt; nothing follows."""

    member: MemberId


class PassOn(NamedTuple):
    """Tell this member, which is connected, of a view."""

    member: MemberId
    view: View


class LeaseUntil(NamedTuple):
    """Users lose what they hold at this time, on the lease clock, unless it is renewed."""

    deadline: float


class BeFound(NamedTuple):
    """See that others can still reach this process: `found` or `hidden` follows."""


Effect = Question | Dial | HangUp | PassOn | LeaseUntil | BeFound

Alarm = str | MemberId  # a member's: dial it
TICK, LEASE, JOIN = "tick", "lease", "join"


class Line:
    """The way to one member: up, or being dialled, or not wanted yet."""

    __slots__ = ("again", "dialling", "pause", "reason", "refusal", "since", "up")

    def __init__(self) -> None:
        self.up = False
        self.dialling = False  # or about to be, after a pause
        self.again = False  # it was up before
        self.pause = RETRY
        self.since = -inf  # when it was last connected
        self.reason = ""  # why it could not be reached
        self.refusal = ""  # why it does not talk with us: it has another version


class Presence:
    """wall: the time of day, which others can correct.

    watching: the engine tells of changes by itself.
    """

    def __init__(
        self,
        node: Node,
        wall: Callable[[], float],
        lease: float | None,
        watching: bool = False,
        between_machines: bool = False,
    ) -> None:
        self.node = node
        self.clock = node.clock
        self.wall = wall
        self.lease = lease
        self.watching = watching
        self.between_machines = between_machines
        self.wake_at = inf
        self.resting = False
        self.effects: list[Effect] = []

        self._address = ""
        self._alarms: dict[Alarm, float] = {}
        self._stopped = False

        self._asked: Question | None = None  # and not answered yet
        self._asked_at = (0.0, 0.0)  # on both clocks
        self._asked_in = View(0, ())  # the newest view that we knew
        self._again = False
        self._reserved = 0  # numbers below this one, if the view is still the same
        self._given = 0  # the number of the last view that the engine has answered with
        self._newest = View(0, ())  # of the views that were heard while out
        self._place_free_at = -inf  # when others may put us out
        self._counted_from = (0.0, 0.0)  # the lease, on both clocks
        self._jumped = 0.0  # by how much it was shortened

        self._lines: dict[MemberId, Line] = {}
        self._addresses: dict[MemberId, str] = {}
        self._suspects: set[MemberId] = set()  # the engine was not asked about them yet
        self._untold: set[MemberId] = set()  # elders that hear of the view once connected
        self._awaited: dict[MemberId, float] = {}  # whose answers, since which tick

        self._reason = ""  # why the engine cannot be used, while it cannot
        self._hidden = ""  # why others cannot reach us
        self._fault = ""  # what failed in a step, shown until a tick passes without one
        self._sound = True

    def drain(self) -> list[Effect]:
        effects, self.effects = self.effects, []
        return effects

    # Life

    def start(self, address: str) -> Join:
        """The first question; if it fails, the process never was a member."""
        self._address = address
        return self._ask(Join(address, 0))

    def leave(self) -> Leave:
        """What is held is given back; nothing is waited for but the engine."""
        self._stopped = True
        self._alarms.clear()
        self.wake_at = inf
        self.effects = [each for each in self.effects if not isinstance(each, Question)]
        self._untold = set(self.node.elders)
        self.node.lose_everything()
        return self._ask(Leave(self.node.me))

    def left(self, view: View) -> None:
        up = self._untold & self._up
        self.effects += [PassOn(elder, view) for elder in sorted(up)]

    def wake(self) -> None:
        """Do what is due; it does no harm to come too early."""
        now = self.clock()
        due = [alarm for alarm, at in self._alarms.items() if at <= now]
        for alarm in due:
            del self._alarms[alarm]
        if TICK in due:
            self.resting = self._may_rest()
            self._alarms[TICK] = now + self._pace
        self.wake_at = min(self._alarms.values(), default=inf)
        self._look_at_clocks()
        if TICK in due:
            self._tick()
        for alarm in due:
            if isinstance(alarm, int) and alarm in self._lines:
                self._dial(alarm)
        self._go_on()

    def _tick(self) -> None:
        self._fault = self._fault if not self._sound else ""
        self._sound = True
        self.effects.append(BeFound())
        self.node.tick()
        awaited, now = self.node.awaited - {self.node.me}, self.clock()
        self._awaited = {member: self._awaited.get(member, now) for member in awaited}
        self.effects += [PassOn(m, self.node.view) for m in sorted(awaited & self._up)]
        self.look()

    @property
    def _pace(self) -> float:
        """Seconds from one tick to the next: two fit into a lease, or five."""
        pace, share = (POLL_IDLE, 0.4) if self.resting else (POLL, 0.2)
        return pace if self.lease is None else min(pace, self.lease * share)

    def _may_rest(self) -> bool:
        troubled = self._reason or self._fault
        return self.node.member and self.node.idle and not troubled

    @property
    def must_stir(self) -> bool:
        """The node is no longer idle, or the engine fails: the rest should be over."""
        return self.resting and not self._may_rest()

    @property
    def must_act(self) -> bool:
        """The rest should be over, or the engine has to be asked for fences, and can be."""
        fences = self.node.fences
        if not self.resting and fences.highest < fences.low:
            return False  # as nearly always
        asks = self._asked is None and self._may_ask and not self._reason
        return self.must_stir or (asks and self.node.wants_fences)

    def stir(self) -> None:
        if self.must_stir:
            self.resting = False
            self._look_at_clocks()
            at = self.clock() + self._pace
            self._set_alarm(TICK, min(self._alarms.get(TICK, at), at))

    def _set_alarm(self, alarm: Alarm, at: float) -> None:
        self._alarms[alarm] = at
        self.wake_at = min(self.wake_at, at)

    def _go_on(self) -> None:
        if self._again or not self.node.member:
            self.look()

    # The engine

    @property
    def _may_ask(self) -> bool:
        return bool(self._address) and not self._stopped and JOIN not in self._alarms

    def look(self) -> None:
        """Renew, and see whether a member is gone; or join again."""
        if self._asked is not None:
            self._again = True
            return
        if not self._may_ask:
            return
        self._again = False
        if self.node.member:
            fences = self.node.wants_fences and not self._reserved
            self._put(Reserve() if fences else self._renewal())
            return
        until = min(self._place_free_at, self.node.lost_at + margin(self.lease))
        if self.clock() < until:
            self._set_alarm(JOIN, until)
        else:
            self._put(Join(self._address, self.node.fences.number))

    def _renewal(self) -> Renew:
        self.node.view_asked()
        suspects, self._suspects = frozenset(self._suspects), set()
        return Renew(self.node.me, suspects)

    def _put(self, question: Question) -> None:
        self.effects.append(self._ask(question))

    def _ask(self, question: Q) -> Q:
        self._asked = question
        self._asked_at = self.clock(), self.wall()
        self._asked_in = max(self.node.view, self._newest)
        return question

    def joined(
        self, view: View, me: MemberId, deadline: float, lease: float | None
    ) -> None:
        if self._is_over():
            return
        misled = self._contradicts(view)
        self._given = view.number
        self._reason = ""
        self.lease = lease
        if TICK not in self._alarms:
            self._set_alarm(TICK, self.clock() + self._pace)
        for member in list(self._lines):
            self._drop(member)
        self._lease_until(deadline, deadline)
        self.node.see(view, me)
        if self.node.member:
            self._go_with(view)
            self._see(self._newest)
            if misled:
                self._disbelieve()
        else:
            self._reason = "joining took longer than a lease"
        self._go_on()

    def renewed(self, view: View, deadline: float, changed: bool, reason: str = "") -> None:
        """deadline: -inf if we have been put out."""
        question, (asked_at, _) = self._asked, self._asked_at
        if self._is_over():
            return
        misled = self._is_about_us(question) and self._contradicts(view)
        self._given = view.number
        self._reason = reason
        if self._reserved:
            self.node.reserved(self._reserved, view.number)
            self._reserved = 0
        if deadline == -inf:
            self._put_out()
        elif self._is_about_us(question):
            ours = inf if self.lease is None else asked_at + self.lease
            self._lease_until(min(deadline, ours), deadline)
        self._see(view)
        self.node.view_answered()
        if misled:
            self._disbelieve()
        if changed and self.node.member:
            self._tell_elders()
        self._go_on()

    def fences_run_low(self) -> None:
        """The node wants more; if the engine fails, it is asked at the next tick."""
        if not self._reason:
            self.look()

    def reserved(self, number: int) -> None:
        """They may be used if a view that is read after that is still the node's."""
        self._reserved = number
        if not self._is_over():
            self.look()

    def failed(self, reason: str, gone: bool = False) -> None:
        """gone: the shared state was removed, and no process is a member any more."""
        question = self._asked
        if self._is_over():
            return
        self._reason = reason
        self._reserved = 0
        self._again = False
        self.stir()
        if isinstance(question, Renew):
            self._suspects |= question.suspects
        if isinstance(question, Join):
            self._set_alarm(JOIN, self.clock() + min(self._pace, RETRY_AT_MOST))
        elif gone:
            self._put_out()
        self._look_at_clocks()
        self._go_on()

    def _is_over(self) -> bool:
        """The question is answered; returns whether the answer is obsolete."""
        self._asked = None
        return self._stopped

    def _is_about_us(self, question: Question | None) -> bool:
        """And not about a former self; nor are we out by now."""
        if not isinstance(question, Renew) or not self.node.member:
            return False
        return question.me == self.node.me

    def _put_out(self) -> None:
        """Others have our place: there is nothing to wait for."""
        self._place_free_at = -inf
        self.node.lose_everything()

    # The lease

    def _lease_until(self, ours: float, theirs: float) -> None:
        """ours: counted from before the question; theirs: when others may put us out."""
        self._place_free_at = theirs
        self._counted_from = self._asked_at
        self._jumped = 0.0
        if ours < inf:
            self._set_deadline(ours - margin(self.lease))
            self._mind_pauses()
            self.node.check_lease()

    def _set_deadline(self, deadline: float) -> None:
        self.node.renewed(deadline)
        self._set_alarm(LEASE, deadline)
        self.effects.append(LeaseUntil(deadline))

    def _look_at_clocks(self) -> None:
        """Before anything that relies on the lease."""
        if self.node.member:
            self._mind_pauses()
        self.node.check_lease()

    def _mind_pauses(self) -> None:
        """Of the whole machine, since the lease was asked for."""
        if not self.between_machines:
            return
        counted, wall = self._counted_from
        gained = (self.wall() - wall) - (self.clock() - counted)
        if gained > self._jumped + margin(self.lease) / 10:
            self._set_deadline(self.node.deadline - (gained - self._jumped))
            self._jumped = gained
            self._again = True

    # Views

    def must_be_possible(self, view: View) -> None:
        """What another member says that it has seen, before it is `heard`."""
        if is_a_view(view) and is_possible(view.number, self._given, self.wall()):
            return
        self.node.statistics.remote_errors += 1
        raise RemoteError(f"there can be no view {view.number} like this yet")

    def _contradicts(self, answer: View) -> bool:
        """The engine knows nothing of a view that we have been told of before."""
        ours = self.node.view
        is_another = answer.number == ours.number and answer != ours
        return is_another or answer.number < self._asked_in.number

    def _disbelieve(self) -> None:
        """What was done in a view that does not exist is void."""
        self.node.statistics.remote_errors += 1
        self.node.lose_everything()
        self._reason = MISLED

    def heard(self, view: View) -> None:
        """Of a view that another member, or the engine, has seen."""
        if not self._stopped:
            self._look_at_clocks()
            self._see(view)
            self._go_on()

    def _see(self, view: View) -> None:
        if not self.node.member:
            self._newest = max(self._newest, view)
        elif view.number > self.node.view.number:
            self.node.see(view)
            self._go_with(view)

    def _go_with(self, view: View) -> None:
        self._addresses = {member.id: member.address for member in view.members}
        for member in [m for m in self._lines if m not in self._addresses]:
            self._drop(member)
        if self.node.me not in self._addresses:
            self._put_out()

    def _tell_elders(self) -> None:
        """Of the view that we have made."""
        elders, up = set(self.node.elders) - {self.node.me}, self._up
        self._untold = elders - up
        self.effects += [PassOn(elder, self.node.view) for elder in sorted(elders & up)]
        for elder in sorted(self._untold):
            self.wanted(elder)

    @property
    def _up(self) -> set[MemberId]:
        return {member for member, line in self._lines.items() if line.up}

    # Connections

    def wanted(self, member: MemberId) -> None:
        """There is something to say to it, and no connection."""
        if self._stopped or member not in self._addresses:
            return
        line = self._lines.setdefault(member, Line())
        if line.up or line.dialling:
            return
        line.dialling = True
        if self.clock() - line.since < RETRY_AT_MOST:
            self._dial_later(member, line)  # it let us in, and then did not want us
        else:
            line.pause = RETRY
            self._dial(member)

    def _dial(self, member: MemberId) -> None:
        self.effects.append(Dial(member, self._addresses[member]))

    def _dial_later(self, member: MemberId, line: Line) -> None:
        self._set_alarm(member, self.clock() + line.pause)
        line.pause = min(2 * line.pause, RETRY_AT_MOST)

    def connected(self, member: MemberId) -> None:
        line = self._lines[member]
        line.up, line.dialling, line.reason = True, False, ""
        line.since = self.clock()
        self.node.connected(member, line.again)
        line.again = True
        if member in self._untold:
            self._untold.remove(member)
            self.effects.append(PassOn(member, self.node.view))

    def unreachable(self, member: MemberId, reason: str) -> None:
        line = self._lines[member]
        line.reason = reason
        self._dial_later(member, line)
        self.suspect(member)

    def disconnected(self, member: MemberId) -> None:
        """The connection that we made to it is gone."""
        self._lines[member].up = False
        self.wanted(member)
        self.suspect(member)

    def refused(self, member: MemberId, reason: str) -> None:
        """It says that it does not talk with us."""
        self._lines[member].refusal = reason

    def suspect(self, member: MemberId) -> None:
        """It may be dead, as when its connection to us is gone.

        Where the engine tells of deaths by itself, a hundred members need not ask.
        """
        if member in self._addresses and not self.watching:
            self._suspects.add(member)
            self.look()

    def _drop(self, member: MemberId) -> None:
        del self._lines[member]
        self._alarms.pop(member, None)
        self.effects.append(HangUp(member))

    # Faults and troubles

    def faulted(self, what: str) -> None:
        """An unexpected error, which does not end the membership."""
        self.node.statistics.faults += 1
        self._fault, self._sound = what, False

    def stumbled(self, what: str) -> None:
        """A step failed in the middle: ours, or the node's."""
        self.faulted(what)
        self.node.lose_everything()
        self._go_on()

    def found(self) -> None:
        self._hidden = ""

    def hidden(self, reason: str) -> None:
        self._hidden = reason

    @property
    def trouble(self) -> str:
        """What prevents this member from working properly; empty if nothing does."""
        if self._fault:
            return f"an unforeseen fault, please report it: {self._fault}"
        return self._reason or self._hidden or self._unreachable() or self._silent()

    def _unreachable(self) -> str:
        for member, line in self._lines.items():
            where = self._addresses.get(member)
            if line.refusal:
                return f"cannot talk with the member at {where}: {line.refusal}"
            if line.reason and line.pause == RETRY_AT_MOST:
                return f"cannot reach the member at {where}: {line.reason}"
        return ""

    def _silent(self) -> str:
        for member, since in self._awaited.items():
            if self.clock() - since > SLOW and member in self.node.awaited:
                where = self._addresses.get(member)
                return f"locks wait for the member at {where}, which is silent"
        return ""
