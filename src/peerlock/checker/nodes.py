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
  member, if the story says so; so does a process whose lease has ended, because its user
  was notified before another process can acquire the lock.
- A process that leaves releases everything first, and then notifies the engine.

What must hold: all properties of the checker (exclusion, no node waits without end), no
message is refused, and a process whose user has not used the name for three late ticks has
forgotten it, and so has its home.
"""

from __future__ import annotations

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
from peerlock.node.waiters import Waiter
from peerlock.node.wire import Batch, ToPeer

NAME = "x"
ENOUGH = 2  # ticks without use, after which a name is given back


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


class ModelUser(Waiter):
    def __init__(self, demand: Demand, process: ModelProcess) -> None:
        super().__init__(demand)
        self.process = process

    def on_granted(self) -> None:
        self.process.grant()


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

    def release(self) -> None:
        self.unused_for = 0
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

    def _end(self) -> None:
        """Nothing is under way."""
        assert self.unused_for <= ENOUGH or not self.node.locks, "a name is remembered"
        if self.node.me in self.node.homes.circle_of(NAME):
            assert self.node.locks, "its home remembers a name that is closed"

    def _set_tick(self) -> None:
        if self.ticks_left:
            self.set_timer("tick", 1.0)
        elif self.late_left:
            self.set_timer("late", 1.0)
        elif self.story.late:
            self.set_timer("end", 1.0)

    def _pass_a_second(self) -> None:
        self.now += 1.0
        self.node.tick()

    def _leave(self) -> None:
        self.left = True
        self.node.lose_everything()
        self.send(self.engine, Leaving())

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
        self.node.see(seen.view, seen.me)
        self._settle()

    def _look(self) -> None:
        if self.heard is not None and not self.left:
            self.node.see(self.heard)
        self.heard = None

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

    messages = (Joining, Leaving, Down)

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


def node_model(story: Story) -> Model:
    """After a crash it is the number of the view that makes fences grow, which the bit of
    the search does not know: then they are not checked here."""
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
        fences=not (story.crashes or story.readers or story.demand.permits),
        lasting=(*story.lasting, engine),
        outlasting=("late", "end"),
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
        "lease",
        "two members ask; one of them, whichever, loses its lease and joins again",
        2,
        (1, 1),
        2,
        crashes=1,
        returns=True,
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
        "a member, and another that joins, ask for two permits; one dies",
        2,
        (2, 1),
        1,
        demand=Demand(permits=2),
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
        "three-leases",
        "a home and two that ask; one of them loses its lease and joins again",
        3,
        (0, 1, 1),
        3,
        crashes=1,
        returns=True,
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
