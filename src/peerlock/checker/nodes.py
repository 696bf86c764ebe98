"""Whole lock nodes as peers, so that every schedule of a small cluster can be searched.

A *process* is a production node (`peerlock.node`) with one user of one name.  The *engine*
is a peer of its own: it keeps the members, and sends every view to each of them.

- Processes send each other batches, in order.  A process sees a view when the engine's
  message arrives: earlier or later than others do, and than their batches.  If the story
  says so, it looks at views at any time after that, and sees only the newest.
- A turn of a node may come at any time after it is due.  Ticks come at any time, as many as
  the story has for each process, and late ones when nothing is under way; the clock of a
  process advances by a second with each.
- A process that joins asks the engine, at any time; then it is in the next view.
- A process that crashes is removed at any time after that.  It comes back as another
  member, without its memory, if the story says so.
- The lease of a process may end at any time, once, if the story says so.  The node has to
  notice that by its deadline; it joins again at any time after that, as another member.
  The engine removes the former member at any time after the end.  If the user is inside,
  that is at any time after the user has left: the margin of a lease gives it the time to.
  The node must have told the user of the loss by then.
- A process that leaves releases everything first, and then notifies the engine.

What must hold:

- All properties of the checker: exclusion, no node waits without end; and no message is
  refused.
- Each grant has a higher fence than all grants before it, by the numbers that the nodes
  give, unless readers or several users of a semaphore are inside together.
- Where nothing happens any more, a process whose user has not used the name for three late
  ticks has forgotten it, and so has its home.  If all processes tick on together, none
  remembers anything after at most ten seconds: no name, no circle, no message that was not
  acknowledged, none that waits for a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from peerlock.checker.model import Model, Network
from peerlock.core.demands import Permits, Sharing
from peerlock.core.errors import UsageError, unknown
from peerlock.core.peer import Down, NodeId, Peer, fixed, setting, snake
from peerlock.node.knobs import Knobs
from peerlock.node.node import Node
from peerlock.node.succession import MEMBERS_PER_ELDER
from peerlock.node.terms import Demand
from peerlock.node.views import Member, MemberId, View
from peerlock.node.waiters import State, Waiter
from peerlock.node.wire import Batch, ToPeer

NAME = "x"
ENOUGH = 2  # ticks without use, after which a name is given back
SECONDS = 10  # of all processes, after which nothing is remembered


class Story(NamedTuple):
    """What may happen, within bounds."""

    name: str
    about: str
    processes: int
    requests: tuple[int, ...]  # of each process's user
    members: int  # how many are in from the beginning; the others join later
    demand: Demand = Demand()
    readers: bool = False  # each request may be a reader's
    ticks: int = 0  # of each process, at any time
    late: int = 0  # ticks of each process after these, when nothing is under way
    crashes: int = 0
    lasting: tuple[NodeId, ...] = ()  # processes that do not crash
    returns: bool = False
    lapses: tuple[NodeId, ...] = ()  # processes whose lease may end, once
    leaver: NodeId = 0  # a process that leaves, once its user has released
    hand_overs: int = 1
    members_per_elder: int = MEMBERS_PER_ELDER
    late_to_look: NodeId = 0  # a process that may miss views


@dataclass(frozen=True, slots=True)
class Parcel:
    """A batch, from one process to another, and as which member it was sent."""

    member: MemberId
    batch: Batch

    @property
    def label(self) -> str:
        said = (m.message if type(m) is ToPeer else m for m in self.batch.messages)
        return " ".join(snake(type(one)).upper() for one in said) or "ACKNOWLEDGED"


@dataclass(frozen=True, slots=True)
class ViewSeen:
    """The engine's word on a view; `me` for the one that has just joined."""

    view: View
    me: MemberId | None = None

    @property
    def label(self) -> str:
        members = " ".join(str(member.id) for member in self.view.members)
        return f"VIEW {self.view.number}({members})"


@dataclass(frozen=True, slots=True)
class Joining:
    pass


@dataclass(frozen=True, slots=True)
class Leaving:
    pass


@dataclass(frozen=True, slots=True)
class Lapsed:
    """The lease of the sender has ended, and its user is not inside."""


class ModelUser(Waiter):
    def __init__(self, demand: Demand, process: ModelProcess) -> None:
        super().__init__(demand)
        self.process = process

    def on_granted(self) -> None:
        self.process.granted(self)

    def on_lost(self) -> None:
        assert self.state is State.LOST, "a loss that is none"
        self.process.lost = True


@dataclass(eq=False)
class ModelProcess(Peer):
    messages = (Parcel, ViewSeen)

    story: Story = setting()
    node: Node = fixed(init=False)
    now: float = 0.0
    ticks_left: int = 0
    late_left: int = 0
    unused_for: int = 0  # ticks
    left: bool = False
    over: bool = False  # the lease has ended while the user was inside
    lost: bool = False  # the user that is inside was told so
    fence: int = fixed(default=0)  # of the latest grant
    heard: View | None = None  # that it has not looked at

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ticks_left, self.late_left = self.story.ticks, self.story.late
        knobs = Knobs(hand_overs=self.story.hand_overs, hand_over_time=inf)
        self.node = Node(lambda: self.now, knobs, self.story.members_per_elder)

    @property
    def engine(self) -> NodeId:
        return self.members[-1]

    def snapshot(self) -> tuple[Any, ...]:
        return (*super().snapshot(), self.node.snapshot())

    def restore(self, state: tuple[Any, ...]) -> None:
        *own, node = state
        super().restore(tuple(own))
        self.node.restore(node)

    # Inputs

    def start(self) -> None:
        self._set_tick()
        if self.me in self.story.lapses:
            self.set_timer("lapse", 0.0)
        if self.me <= self.story.members:
            self.node.see(first_view(self.story), self.me)
            self._settle()
        else:
            self.send(self.engine, Joining())

    def restart(self) -> None:
        self.send(self.engine, Joining())
        self._set_tick()

    def acquire(self) -> None:
        self._acquire(self.story.demand)

    def acquire_shared(self) -> None:
        self._acquire(self.story.demand._replace(shared=True))

    def _acquire(self, demand: Demand) -> None:
        self.unused_for = 0
        self.cancel_timer("leave")
        self.node.acquire(NAME, ModelUser(demand, self))
        self._settle()

    def granted(self, user: ModelUser) -> None:
        self.fence = user.fence
        self.grant()

    def release(self) -> None:
        self.unused_for = 0
        if self.over:
            self._release_what_was_lost()
            return
        [user] = self.node.holding()
        self.node.release(user)
        if self.me == self.story.leaver:
            self.set_timer("leave", 0.0)
        self._settle()

    def timer(self, name: str) -> None:
        getattr(self, f"_{name}")()
        self._settle()

    def _turn(self) -> None:
        self.node.turn()

    def _tick(self) -> None:
        self.ticks_left -= 1
        self._set_tick()
        self._pass_a_second()

    def _late(self) -> None:
        """A tick when nothing is under way."""
        self.late_left -= 1
        self._set_tick()
        self.unused_for += not (self._in_use or self.node.wants_turn)
        self._pass_a_second()

    def _set_tick(self) -> None:
        if self.ticks_left:
            self.set_timer("tick", 1.0)
        elif self.late_left:
            self.set_timer("late", 1.0)

    def _pass_a_second(self) -> None:
        self.now += 1.0
        self.node.tick()

    def _leave(self) -> None:
        self.left = True
        self.node.lose_everything()
        self.send(self.engine, Leaving())

    def _lapse(self) -> None:
        """The lease ends; the node is not told."""
        self.node.renewed(self.now)
        if any(self.node.holding()):
            self.over = True
        else:
            self._be_put_out()

    def _release_what_was_lost(self) -> None:
        self.node.check_lease()
        assert self.lost, "the user was not told that its lease has ended"
        self.over = self.lost = False
        self._be_put_out()

    def _be_put_out(self) -> None:
        self.send(self.engine, Lapsed())
        self.set_timer("join", 0.0)

    def _join(self) -> None:
        self.node.check_lease()
        assert not self.node.running, "the node counts on a lease that has ended"
        self.send(self.engine, Joining())

    @property
    def _in_use(self) -> bool:
        return any(self.node.waiting()) or any(self.node.holding())

    def receive_parcel(self, sender: NodeId, parcel: Parcel) -> None:
        if not self.left:
            self.node.receive(parcel.member, parcel.batch)
            self._settle()

    def receive_view_seen(self, sender: NodeId, seen: ViewSeen) -> None:
        if self.left:
            return
        if self.me == self.story.late_to_look and seen.me is None:
            self.heard = seen.view
            self.set_timer("look", 0.0)
            return
        if seen.me is not None:
            self.node.renewed(inf)
        self.node.see(seen.view, seen.me)
        self._settle()

    def _look(self) -> None:
        if self.heard is not None and not self.left:
            self.node.see(self.heard)
        self.heard = None

    # At rest

    @property
    def complaint(self) -> str:
        """What is remembered although it should not; empty if nothing is."""
        if self.unused_for > ENOUGH and self.node.locks:
            return f"{self.me} has not forgotten a name that it no longer uses"
        if self.node.me in self.node.homes.circle_of(NAME) and not self.node.locks:
            return f"{self.me} remembers a name as its home that it has closed"
        return ""

    @property
    def memory(self) -> str:
        """All that is remembered, in words."""
        found = [f"{many} {what}" for what, many in self.node.remembers().items() if many]
        return f"{self.me} remembers {', '.join(found)}" if found else ""

    # After each input

    def _settle(self) -> None:
        node = self.node
        assert not node.statistics.remote_errors, "a message was refused"
        processes = {member.id: member.pid for member in node.view.members}
        for member, batch in node.drain():
            self.send(processes[member], Parcel(node.me, batch))
        if node.wants_turn:
            self.set_timer("turn", 0.0)
        else:
            self.cancel_timer("turn")


@dataclass(eq=False)
class ModelEngine(Peer):
    """It removes no process that is alive."""

    messages = (Joining, Leaving, Lapsed, Down)

    story: Story = setting()
    view: View = View(0, ())

    def __post_init__(self) -> None:
        super().__post_init__()
        self.view = first_view(self.story)

    def acquire(self) -> None:
        raise AssertionError("an engine has no users")

    release = acquire

    def receive_joining(self, sender: NodeId, message: Joining) -> None:
        number = self.view.number + 1
        self._tell(View(number, (*self.view.members, Member(number, "", sender))))

    def receive_leaving(self, sender: NodeId, message: Leaving) -> None:
        self._put_out(sender)

    def receive_lapsed(self, sender: NodeId, message: Lapsed) -> None:
        self._put_out(sender)

    def receive_down(self, sender: NodeId, message: Down) -> None:
        self._put_out(sender)

    def _put_out(self, process: NodeId) -> None:
        members = tuple(member for member in self.view.members if member.pid != process)
        if members != self.view.members:
            self._tell(View(self.view.number + 1, members))

    def _tell(self, view: View) -> None:
        self.view = view
        for member in view.members:
            me = member.id if member.id == view.number else None
            self.send(member.pid, ViewSeen(view, me))


def first_view(story: Story) -> View:
    members = tuple(Member(i, "", i) for i in range(1, story.members + 1))
    return View(story.members, members)


# At rest


def remembered(peers: Sequence[Peer | None]) -> str:
    """What is remembered in a state in which nothing happens any more, or seconds later."""
    processes = [p for p in peers if isinstance(p, ModelProcess) and not p.left]
    found = [process.complaint for process in processes]
    try:
        if not any(found):
            pass_seconds(processes)
            found = [process.memory for process in processes]
    except Exception as error:  # any exception is a bug of the node
        return f"a node fails: {error!r}"
    return "; ".join(filter(None, found))


def pass_seconds(processes: Sequence[ModelProcess]) -> None:
    """All tick, and hear what the others say to that, until nothing is remembered."""
    for _ in range(SECONDS):
        if not any(process.memory for process in processes):
            return
        for process in processes:
            process.now += 1.0
            process.node.tick()
        while exchange({process.node.me: process.node for process in processes}):
            pass


def exchange(nodes: dict[MemberId, Node]) -> bool:
    """Each node takes its turn, and what it says arrives; whether there was anything."""
    busy = False
    for me, node in nodes.items():
        if node.wants_turn:
            node.turn()
            busy = True
        for to, batch in node.drain():
            if to in nodes:
                nodes[to].receive(me, batch)
            busy = True
        assert not node.statistics.remote_errors, "a message was refused"
    return busy


def latest_fence(peer: Peer) -> int:
    assert isinstance(peer, ModelProcess)
    return peer.fence


def node_model(story: Story) -> Model:
    together = story.readers or story.demand.permits > 1
    everybody = tuple(range(1, story.processes + 2))
    engine = everybody[-1]

    def make(me: NodeId) -> Peer:
        return (ModelEngine if me == engine else ModelProcess)(me, everybody, story=story)

    return Model(
        name=story.name,
        make=make,
        nodes=len(everybody),
        requests=(*story.requests, 0),
        network=Network(fifo=True, crashes=story.crashes, returns=story.returns),
        rule=Sharing() if story.readers else Permits(story.demand.permits or 1),
        fences=False,
        fence_of=None if together else latest_fence,
        at_rest=remembered,
        lasting=(*story.lasting, engine),
        outlasting=("late",),
        measured=False,
    )


STORIES = (
    Story("two", "two members, each asks twice", 2, (2, 2), 2),
    Story("three", "three members, each asks once", 3, (1, 1, 1), 3),
    Story("newcomer", "one member asks twice, another joins and asks", 2, (2, 1), 1),
    Story("newcomers", "a member, and two that join at once; each asks", 3, (1, 1, 1), 1),
    Story(
        "leave", "the home asks once and leaves; another asks twice", 2, (1, 2), 2, leaver=1
    ),
    Story("death", "a home and two that ask; any of them dies", 3, (0, 1, 1), 3, crashes=1),
    Story(
        "return",
        "two members ask; one of them, whichever, dies and joins again",
        2,
        (1, 1),
        2,
        crashes=1,
        returns=True,
    ),
    Story(
        "lease",
        "two members ask; the lease of each may end, and then it joins again",
        2,
        (1, 1),
        2,
        lapses=(1, 2),
    ),
    Story(
        "readers",
        "a member, and another that joins; each reads or writes; one dies",
        2,
        (1, 1),
        1,
        readers=True,
        crashes=1,
    ),
    Story(
        "semaphore",
        "a member, and another that joins, ask for the only permit; one dies",
        2,
        (2, 1),
        1,
        demand=Demand(permits=1),
        crashes=1,
    ),
    Story(
        "forgetting",
        "two members ask once, and give the name back when they no longer use it",
        2,
        (1, 1),
        2,
        late=3,
    ),
)

LARGE_STORIES = (
    Story(
        "three-deaths", "three members ask; any of them dies", 3, (1, 1, 1), 3, crashes=1
    ),
    Story(
        "three-returns",
        "a home and two that ask; one of them dies and joins again",
        3,
        (0, 1, 1),
        3,
        crashes=1,
        returns=True,
    ),
    Story(
        "three-leases",
        "a home and two that ask; the lease of one that asks may end, and it joins again",
        3,
        (0, 1, 1),
        3,
        lapses=(2,),
    ),
    Story(
        "home-lease",
        "a home and two that ask; the lease of the home may end, and it joins again",
        3,
        (0, 1, 1),
        3,
        lapses=(1,),
    ),
    Story("three-leave", "three members ask; the home leaves", 3, (1, 1, 1), 3, leaver=1),
    Story(
        "newcomer-and-death",
        "a home and one that asks; another joins and asks; any of them dies",
        3,
        (0, 1, 1),
        2,
        crashes=1,
    ),
    Story(
        "late-reader",
        "a home and two that read or write; any of them dies",
        3,
        (0, 1, 1),
        3,
        readers=True,
        crashes=1,
    ),
    Story(
        "elders",
        "a home and one that asks; another home joins and dies; the first may miss that",
        3,
        (0, 1, 0),
        2,
        crashes=1,
        lasting=(1, 2),
        members_per_elder=1,
        late_to_look=1,
    ),
    Story(
        "three-permits",
        "three members ask for two permits",
        3,
        (1, 1, 1),
        3,
        demand=Demand(permits=2),
    ),
    Story(
        "given-back",
        "a home, one that asks and gives the name back meanwhile, a bystander; one dies",
        3,
        (0, 1, 0),
        3,
        ticks=2,
        late=3,
        crashes=1,
    ),
    Story(
        "ticks",
        "two members ask once; two ticks of each come at any time",
        2,
        (1, 1),
        2,
        ticks=2,
        late=3,
    ),
)


def story_named(name: str) -> Story:
    by_name = {story.name: story for story in STORIES + LARGE_STORIES}
    if name not in by_name:
        raise UsageError(unknown("story", name, sorted(by_name)))
    return by_name[name]
