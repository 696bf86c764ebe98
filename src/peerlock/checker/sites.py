"""A site is a node together with the messages that are on their way to it.

What may happen next at a site, and its result, depend on nothing else.  So every site is
made and numbered once, and its moves are computed once, by the real peer, and remembered.
A state of the whole cluster is then one integer, with a field for each site.

A message remembers one bit, and so does a node: whether it knows of the latest grant. At a
grant all other bits, of nodes and of messages under way, are cleared.  The fence that a
real node would read, a maximum carried along by messages, grows from one grant to the next
exactly if the node that enters has its bit set.  A bit that is not news to a node is left
out, so that it does not split one state into two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from peerlock.checker.letters import Inbox, Letters
from peerlock.checker.model import Model
from peerlock.core.peer import (
    Broadcast,
    CancelTimer,
    Down,
    Enter,
    NodeId,
    Peer,
    RemoteError,
    Send,
    SetTimer,
)

WIDTH = 24  # bits of a site's number in a state
MASK = (1 << WIDTH) - 1

FAULTS = ("lose", "duplicate", "crash")


class Phase(IntEnum):
    IDLE = 0
    WAITING = 1
    INSIDE = 2
    CRASHED = 3


class Local(NamedTuple):
    """A node: what its peer remembers, and what its host does."""

    snapshot: tuple[Any, ...]
    phase: Phase
    left: int  # requests still to be made
    timers: tuple[str, ...] = ()
    demand: int = 0  # what its request is for, by number
    fence: int = 0  # the highest that its user was granted, if the model knows the fences


GONE = Local((), Phase.CRASHED, 0)

# The number of its Local, whether it knows of the latest grant, and the letters under
# way to it, in an order that makes equal inboxes equal.
Site = tuple[int, bool, Inbox]


class SiteStep(NamedTuple):
    """Something that can happen at a site."""

    what: str  # request, leave, receive, timer, restart, or one of the faults
    letter: int = 0
    timer: str = ""
    demand: int = 0  # by number


class Action(NamedTuple):
    """A step with all it takes to play it again."""

    what: str
    node: NodeId
    sender: NodeId = 0
    message: Any = None
    knows: bool = False  # the message, of the latest grant
    timer: str = ""
    demand: int = 0


@dataclass(frozen=True)
class Breach:
    """A property that does not hold, and where."""

    property: str
    node: NodeId
    text: str


class Remembered(dict[int, Any]):
    """A function of a site's number that is computed once."""

    def __init__(self, compute: Callable[[int], Any]) -> None:
        self.compute = compute

    def __missing__(self, site: int) -> Any:
        value = self[site] = self.compute(site)
        return value


class Push(Remembered):
    """What some messages from one node, sent together, change at the site they go to."""

    def __init__(self, letters: tuple[int, ...], compute: Callable[[int], int]) -> None:
        super().__init__(compute)
        self.letters = letters


Pushes = tuple[tuple[int, Push], ...]  # each to the site of that index


class Outcome(NamedTuple):
    """The result of an input at the real peer."""

    local: int
    pushes: tuple[Pushes, Pushes] = ((), ())  # by a node that does not know, and that does
    heard: tuple[int, ...] = ()  # what it hears of itself on a medium
    granted: bool = False
    demand: int = 0
    fence: int = 0
    breach: Breach | None = None
    beyond: bool = False


Plain = tuple[int, Pushes]  # a move: the change of the state, and the messages


class Special(NamedTuple):
    """A move that is more than a change of this site and some messages to others."""

    delta: int
    pushes: Pushes
    granted: bool = False
    demand: int = 0  # what it was granted for
    fence: int = 0  # what it was granted with
    breach: Breach | None = None
    fault: str | None = None  # one that the network makes, if it has any left
    beyond: bool = False  # leads out of the searched space
    outlasting: bool = False  # possible only when nothing is under way


Moves = tuple[tuple[Plain, ...], tuple[Special, ...]]


class Messages:
    """Messages by number, the same for all nodes."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.values: list[Any] = []

    def number(self, message: Any) -> int:
        found = self.numbers.setdefault(message, len(self.values))
        if found == len(self.values):
            self.values.append(message)
        return found


class Sites:
    """All sites of one node that were met."""

    def __init__(self, model: Model, index: int, messages: Messages) -> None:
        self.model = model
        self.index = index
        self.me: NodeId = index + 1
        self.shift = index * WIDTH
        self.everybody: list[Sites] = []  # by index
        self.sites: list[Site] = []
        self.locals: list[Local] = []
        self.moves = Remembered(self._moves)
        self.actions = Remembered(self._actions)  # in the order of the moves
        self.still = Remembered(self._is_still)
        self.cleared = Remembered(self._clear)
        self._messages = messages
        self._peer: Peer = model.make(self.me)
        self._fresh = self._peer.snapshot()
        text = f"{self.me} enters with a fence that does not grow"
        self.stale_fence = Breach("fence", self.me, text)
        self._ids: dict[Site, int] = {}
        self._local_ids: dict[Local, int] = {}
        self._outcomes: dict[tuple[int, str, int, str, int], Outcome] = {}
        self._pushes: dict[tuple[int, ...], Push] = {}
        self.letters = Letters(model)

    # Interning

    def id(self, site: Site) -> int:
        found = self._ids.setdefault(site, len(self.sites))
        if found == len(self.sites):
            assert found <= MASK
            self.sites.append(site)
        return found

    def local_id(self, local: Local) -> int:
        found = self._local_ids.setdefault(local, len(self.locals))
        if found == len(self.locals):
            self.locals.append(local)
        return found

    def local(self, site: int) -> Local:
        return self.locals[self.sites[site][0]]

    def phase(self, site: int) -> Phase:
        return self.local(site).phase

    def peer(self, site: int) -> Peer | None:
        """As it is there, until the next one is asked for; None: it has crashed."""
        local = self.local(site)
        if local.phase is Phase.CRASHED:
            return None
        self._peer.restore(local.snapshot)
        return self._peer

    # The beginning

    def start(self) -> Outcome:
        left = 1 if self.model.requests is None else self.model.requests[self.index]
        self._peer.start()
        return self._outcome(Local((), Phase.IDLE, left))

    def inbox(self, under_way: Iterable[tuple[NodeId, Any]]) -> Inbox:
        """So many messages, of these senders, none of which knows of a grant."""
        letter, number = self.letters.letter, self._messages.number
        return tuple(
            letter(number(message), False, sender) for sender, message in under_way
        )

    def asking_again(self, number: int) -> int:
        """The same site, except that an idle node has a request to make."""
        local_id, knows, inbox = self.sites[number]
        local = self.locals[local_id]
        if local.phase is Phase.IDLE and not local.left:
            local = local._replace(left=1)
        return self.id((self.local_id(local), knows, inbox))

    # What happens when others act

    def push(self, letters: tuple[int, ...]) -> Push:
        found = self._pushes.get(letters)
        if found is None:
            found = Push(letters, lambda site: self._arrive(site, letters))
            self._pushes[letters] = found
        return found

    def _arrive(self, number: int, letters: tuple[int, ...]) -> int:
        local, knows, inbox = self.sites[number]
        if self.locals[local].phase is Phase.CRASHED:
            return 0
        return self._change(
            number, (local, knows, self.letters.arrive(knows, inbox, letters))
        )

    def _clear(self, number: int) -> int:
        """Another node entered, and nothing here knows of it."""
        local, _, inbox = self.sites[number]
        return self._change(number, (local, False, self.letters.unaware(inbox)))

    def _change(self, number: int, site: Site) -> int:
        return (self.id(site) - number) << self.shift

    # What may happen here

    def _actions(self, number: int) -> list[Action]:
        plain: list[Action] = []
        special: list[Action] = []
        for step, move in self._steps(number):
            kind = special if isinstance(move, Special) else plain
            kind.append(self._action(step))
        return plain + special

    def _is_still(self, number: int) -> bool:
        """Nothing happens here unless the node requests, or the network has a fault."""
        may_happen = {action.what for action in self.actions[number]}
        return may_happen <= {"request", *FAULTS}

    def sends(self, number: int) -> list[int]:
        """How many messages each move sends, in the order of the moves."""
        plain, special = self.moves[number]
        pushes = [move[1] for move in plain]
        pushes += [() if move.fault else move.pushes for move in special]
        return [sum(len(push.letters) for _, push in some) for some in pushes]

    def _moves(self, number: int) -> Moves:
        plain: list[Plain] = []
        special: list[Special] = []
        for _, move in self._steps(number):
            if isinstance(move, Special):
                special.append(move)
            else:
                plain.append(move)
        return tuple(plain), tuple(special)

    def _steps(self, number: int) -> Iterator[tuple[SiteStep, Plain | Special]]:
        site = self.sites[number]
        local_id, knows, inbox = site
        local, network = self.locals[local_id], self.model.network
        for step in self.inputs(local):
            yield step, self._own(number, site, step)
        for at in self.letters.deliverable(inbox):
            step = SiteStep("receive", inbox[at])
            yield (
                step,
                self._input(number, (local_id, *self.letters.take(knows, inbox, at)), step),
            )
            if network.losses:
                rest = inbox[:at] + inbox[at + 1 :]
                yield SiteStep("lose", inbox[at]), self._fault("lose", number, rest)
            if network.duplications:
                twice = self.letters.add(inbox, inbox[at : at + 1])
                yield (
                    SiteStep("duplicate", inbox[at]),
                    self._fault("duplicate", number, twice),
                )
        if self.may_crash(local):
            delta = self._change(number, (self.gone(local), False, ()))
            yield CRASH, Special(delta, self.obituary(), fault="crash")

    def inputs(self, local: Local) -> Iterator[SiteStep]:
        """What the node, its user and its timers may do, whatever is under way."""
        if local.phase is Phase.CRASHED:
            if self.model.network.returns:
                yield RESTART
            return
        if local.phase is Phase.IDLE and local.left:
            for number in range(len(self.model.rule.demands)):
                yield SiteStep("request", demand=number)
        if local.phase is Phase.INSIDE:
            yield LEAVE
        for timer in local.timers:
            yield SiteStep("timer", 0, timer)

    def may_crash(self, local: Local) -> bool:
        may = self.model.network.crashes and self.me not in self.model.lasting
        return bool(may) and local.phase is not Phase.CRASHED

    def gone(self, local: Local) -> int:
        left = local.left if self.model.network.returns else 0
        return self.local_id(GONE._replace(left=left, fence=local.fence))

    def obituary(self) -> Pushes:
        """For peers that are notified when a node is down."""
        told = [other.me for other in self.everybody if Down in other._peer.messages]
        number = self._messages.number(Down())
        return self._posted([(to, number, False) for to in told if to != self.me])

    def _own(self, number: int, site: Site, step: SiteStep) -> Plain | Special:
        move = self._input(number, site, step)
        if step.timer not in self.model.outlasting:
            return move
        special = move if isinstance(move, Special) else Special(*move)
        return special._replace(outlasting=True)

    def _fault(self, fault: str, number: int, inbox: tuple[int, ...]) -> Special:
        local, knows, _ = self.sites[number]
        delta = self._change(number, (local, knows, inbox))
        return Special(delta, (), fault=fault)

    def _action(self, step: SiteStep) -> Action:
        if not step.letter:
            return Action(step.what, self.me, timer=step.timer, demand=step.demand)
        sender, knows, message = self.letters.open(step.letter)
        value = self._messages.values[message]
        return Action(step.what, self.me, sender, value, knows)

    def message(self, step: SiteStep) -> Any:
        """What is received."""
        return self._messages.values[self.letters.open(step.letter).message]

    # What the real peer does

    def _input(self, number: int, site: Site, step: SiteStep) -> Plain | Special:
        local, knows, inbox = site
        outcome = self.outcome(local, step)
        if outcome.granted or outcome.breach is not None or outcome.beyond:
            return self._unusual(number, site, outcome)
        delta = self._change(number, (outcome.local, knows, inbox + outcome.heard))
        return delta, outcome.pushes[knows]

    def _unusual(self, number: int, site: Site, outcome: Outcome) -> Special:
        _, knows, inbox = site
        breach, fences = outcome.breach, self.model.fences
        if breach is None and fences and outcome.granted and not knows:
            breach = self.stale_fence
        if breach is not None or outcome.beyond:
            return Special(0, (), outcome.granted, breach=breach, beyond=outcome.beyond)
        then = (outcome.local, fences, self.letters.unaware(inbox) + outcome.heard)
        delta = self._change(number, then)
        return Special(delta, outcome.pushes[knows], True, outcome.demand, outcome.fence)

    def outcome(self, local: int, step: SiteStep) -> Outcome:
        """Of an input that is not a fault; the bit of a letter does not matter."""
        sender, message = 0, 0
        if step.letter:
            sender, _, message = self.letters.open(step.letter)
        letter = message * self.letters.senders + sender
        key = (local, step.what, letter, step.timer, step.demand)
        found = self._outcomes.get(key)
        if found is None:
            found = self._ask_peer(self.locals[local], step, message, sender)
            self._outcomes[key] = found
        return found

    def _ask_peer(
        self, local: Local, step: SiteStep, message: int, sender: NodeId
    ) -> Outcome:
        what, timer = step.what, step.timer
        self._peer.restore(self._fresh if what == "restart" else local.snapshot)
        then = local
        try:
            match what:
                case "request":
                    left = local.left - (self.model.requests is not None)
                    then = local._replace(
                        phase=Phase.WAITING, left=left, demand=step.demand
                    )
                    self._peer.acquire_for(self.model.rule.demands[step.demand])
                case "restart":
                    then = local._replace(phase=Phase.IDLE)
                    self._peer.restart()
                case "leave":
                    then = local._replace(phase=Phase.IDLE, demand=0)
                    self._peer.release()
                case "timer":
                    others = tuple(name for name in local.timers if name != timer)
                    then = local._replace(timers=others)
                    self._peer.timer(timer)
                case "receive":
                    self._peer.receive(sender, self._messages.values[message])
        except RemoteError as error:
            self._peer.drain()
            return self._broken("remote error", f"{self.me} refuses a message: {error}")
        except Exception as error:  # any exception is a bug of the algorithm
            self._peer.drain()
            return self._broken("invariant", f"{self.me} fails: {error!r}")
        return self._outcome(then)

    def _broken(self, name: str, text: str) -> Outcome:
        return Outcome(0, breach=Breach(name, self.me, text))

    def _outcome(self, then: Local) -> Outcome:
        """Carry out what the peer has left in its outbox."""
        sends: list[tuple[NodeId, int, bool]] = []  # to, message, sent after the grant
        heard: tuple[int, ...] = ()
        granted, phase, armed = False, then.phase, set(then.timers)
        for effect in self._peer.drain():
            match effect:
                case Send(to, message):
                    sends.append((to, self._messages.number(message), granted))
                case Broadcast(message):
                    number = self._messages.number(message)
                    sends += [(to, number, granted) for to in self._peer.others()]
                    if self.model.medium:
                        heard += (self.letters.letter(number, False, self.me),)
                case Enter():
                    if phase is not Phase.WAITING:
                        text = f"{self.me} enters without having asked"
                        return self._broken("exclusion", text)
                    granted, phase = True, Phase.INSIDE
                case SetTimer(name):
                    armed.add(name)
                case CancelTimer(name):
                    armed.discard(name)
        if any(to == self.me for to, *_ in sends):
            return self._broken("invariant", f"{self.me} sends to itself")
        snapshot = self._peer.snapshot()
        fence = self._fence() if granted else then.fence
        timers = tuple(sorted(armed))
        local = Local(snapshot, phase, then.left, timers, then.demand, fence)
        within = self.model.within
        return Outcome(
            local=self.local_id(local),
            pushes=self._posts(sends, granted),
            heard=heard,
            granted=granted,
            demand=then.demand,
            fence=fence,
            beyond=within is not None and not within(snapshot),
        )

    def _fence(self) -> int:
        return self.model.fence_of(self._peer) if self.model.fence_of else 0

    def _posts(
        self, sends: list[tuple[NodeId, int, bool]], granted: bool
    ) -> tuple[Pushes, Pushes]:
        """By a node that does not know of the latest grant, and by one that does."""
        if not sends:
            return (), ()
        unaware = self._posted(sends)
        if not self.model.fences:
            return unaware, unaware
        return unaware, self._posted(
            [(to, m, after or not granted) for to, m, after in sends]
        )

    def _posted(self, sends: list[tuple[NodeId, int, bool]]) -> Pushes:
        """Messages as what they change elsewhere; each with whether it knows."""
        letters: dict[int, tuple[int, ...]] = {}
        for to, message, knows in sends:
            letter = self.letters.letter(message, knows and self.model.fences, self.me)
            letters[to - 1] = (*letters.get(to - 1, ()), letter)
        return tuple((to, self.everybody[to].push(sent)) for to, sent in letters.items())


LEAVE, CRASH, RESTART = map(SiteStep, ("leave", "crash", "restart"))
