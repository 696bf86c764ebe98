"""A node's whole input: two honest nodes, their users, and a forger among the members.

Bytes become a sequence of inputs: batches (all of them through the codec), views,
connections, turns, ticks, steps of the clock, leases, and users who ask, try, give up and
release.  Whatever happens, nothing but a RemoteError comes out of a node, each user is told
one story that makes sense, and no node lets two of its own users in where one may be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress

from fuzz.forger import SERVING, forged_batch, name
from fuzz.source import Source
from peerlock.core.peer import RemoteError
from peerlock.node.fences import COUNT_BITS
from peerlock.node.knobs import Knobs
from peerlock.node.node import Node
from peerlock.node.terms import Demand, demand, settle
from peerlock.node.views import Member, View, is_a_view
from peerlock.node.waiters import State, Waiter
from peerlock.node.wire import (
    Batch,
    Epoch,
    Formed,
    Message,
    Open,
    Opened,
    Reform,
    Tell,
    Told,
)
from peerlock.runtime.codec import LENGTH, Seen, decode, encode

FORGER, BYSTANDER = 3, 4
MOST_STEPS = 150
STEPS_OF_THE_CLOCK = (0.0, 0.0001, 0.002, 0.5, 1.0, 5.0, 61.0)
MOST_STATE = 100_000  # characters of a peer's state, written out
KNOBS = Knobs(hand_overs=2)

LOCKS = [demand(entry.name) for entry in SERVING if "lock" in entry.serves]
OTHERS = [demand("", 2), demand("", 1), demand("srimani-reddy", 3), demand("kakugawa", 2)]
DEMANDS = [demand()] * 8 + [demand("", 0, True)] * 8 + [demand("", 3)] * 4 + LOCKS + OTHERS


class User(Waiter):
    """A local user, which remembers its notifications."""

    def __init__(self, wanted: Demand, site: Site, name: str) -> None:
        super().__init__(wanted)
        self.site, self.name = site, name
        self.story: list[str] = []

    def on_granted(self) -> None:
        assert self.story == [], self.story
        self.story.append("granted")
        site = self.site
        view = site.node.view.number
        assert self.fence > view << COUNT_BITS, "a fence of an older view"
        if view == site.fenced:  # the forger's lies about fences end with the view
            assert self.fence > site.fence, "fences must grow"
        site.fenced, site.fence = view, self.fence

    def on_refused(self, why: str) -> None:
        assert why
        assert self.story == [], self.story
        self.story.append("refused")

    def on_lost(self) -> None:
        assert self.story == ["granted"], self.story
        self.story.append("lost")


class Site:
    """An honest node and its users."""

    def __init__(self, number: int, clock: Callable[[], float]) -> None:
        self.node = Node(clock, KNOBS)
        self.id = number
        self.users: list[User] = []
        self.inbox: deque[tuple[int, bytes]] = deque()  # from whom, and what
        self.forged = 0  # messages that the forger has sent here
        self.asked: list[Message] = []  # of the forger
        self.fenced = self.fence = 0  # the last one, and in which view

    def pick(self, source: Source, state: State) -> User | None:
        fitting = [user for user in self.users if user.state is state]
        return source.choice(fitting) if fitting else None

    def check(self) -> None:
        node = self.node
        for lock in node.locks.values():
            self.check_holders(list(lock.holders))
            assert all(w.state is State.WAITING for w in lock.waiters)
            assert len(set(lock.waiters)) == len(lock.waiters)
        assert node.member or not any(True for _ in node.holding())
        assert node.member or not node.running
        holding, waiting = set(node.holding()), set(node.waiting())
        for user in self.users:
            assert (user.state is State.HOLDING) == (user in holding), user.state
            assert (user.state is State.WAITING) == (user in waiting), user.state
        self.users = [u for u in self.users if u in holding or u in waiting]

    def check_holders(self, holders: list[Waiter]) -> None:
        if not holders:
            return
        assert all(holder.state is State.HOLDING for holder in holders)
        if permits := holders[0].demand.permits:
            assert all(holder.demand.permits == permits for holder in holders)
            assert len(holders) <= permits
        elif len(holders) > 1:
            assert all(holder.demand.shared for holder in holders), "two are in"

    def check_sizes(self) -> None:
        for lock in self.node.locks.values():
            for slot in lock.slots:
                if slot.peer is not None:
                    assert len(repr(slot.peer.snapshot())) <= MOST_STATE, lock.name


class World:
    def __init__(self, data: bytes) -> None:
        self.source = Source(data)
        self.now = 0.0
        self.sites = [Site(1, lambda: self.now), Site(2, lambda: self.now)]
        self.view = 1
        self.opened = 0  # epochs, by the forger
        self.newest_id = BYSTANDER
        everybody = View(1, tuple(Member(i, f"h:{i}", i) for i in (1, 2, 3)))
        for site in self.sites:
            site.node.see(everybody, site.id)
        self.behave(self.sites[0])

    def run(self) -> None:
        for _ in range(MOST_STEPS):
            if self.source.empty:
                break
            site = self.sites[self.source.byte() & 1]
            self.source.choice(STEPS)(self, site)
            for each in self.sites:
                self.flush(each)
                each.check()
        for site in self.sites:
            site.check_sizes()
            self.leave(site)

    def flush(self, site: Site) -> None:
        """What is sent to the other honest node goes its way; the rest is for nobody."""
        for to, batch in site.node.drain():
            if to == FORGER:
                site.asked += batch.messages
            for other in self.sites:
                if other.node.me == to and other is not site:
                    other.inbox.append((site.node.me, encode(batch)))

    def leave(self, site: Site) -> None:
        """As a host does it; then nothing may be left."""
        site.node.lose_everything()
        site.check()
        for waiter in list(site.node.waiting()):
            assert site.node.give_up(waiter)
        assert not site.node.locks, "something is remembered of what nobody uses"

    # What the network does

    def forge(self, site: Site) -> None:
        node = site.node
        first = site.forged + 1
        batch = forged_batch(self.source, node.me, node.view.number, first)
        self.hand(site, FORGER, encode(batch))

    def behave(self, site: Site) -> None:
        """The forger does what it should, and what is on its way arrives: without that,
        little would ever happen."""
        for each in self.sites:
            asked, each.asked = each.asked, []
            node, first = each.node, each.forged + 1
            said = tuple(reply for message in asked for reply in self.reply(node, message))
            batch = Batch(node.me, node.view.number, first, 0, 0, 0, said)
            self.hand(each, FORGER, encode(batch))
        for each in (*self.sites, *self.sites):
            self.flush(each)
            self.deliver_all(each)

    def reply(self, node: Node, asked: Message) -> Iterator[Message]:
        """What an honest member that uses no name says."""
        view, me = node.view.number, node.me
        if isinstance(asked, Tell):
            yield Told(view, asked.question, (), False)
        elif isinstance(asked, Reform):
            yield Formed(view, asked.name, asked.epoch, False, False, -1.0)
        elif isinstance(asked, Open):
            self.opened += 1
            epoch, terms = Epoch(view, self.opened), settle(asked.demand, 0)
            yield Opened(view, asked.name, epoch, terms, (me,), (), (me,))

    def forge_bytes(self, site: Site) -> None:
        data = self.source.bytes()
        self.hand(site, FORGER, len(data).to_bytes(LENGTH, "big") + data)

    def hand(self, site: Site, sender: int, data: bytes) -> None:
        """To a node what came in frames from another."""
        while data:
            end = LENGTH + int.from_bytes(data[:LENGTH], "big")
            body, data = data[LENGTH:end], data[end:]
            with suppress(RemoteError):
                frame = decode(body)
                if isinstance(frame, Batch):
                    site.node.receive(sender, frame)
                elif isinstance(frame, Seen) and is_a_view(frame.view):
                    self.show(site, frame.view)
            link = site.node.mail._links.get(FORGER)
            site.forged = link.received if link else 0

    def deliver(self, site: Site) -> None:
        if site.inbox:
            self.hand(site, *site.inbox.popleft())

    def deliver_all(self, site: Site) -> None:
        for _ in range(len(site.inbox)):
            self.deliver(site)

    def cut(self, site: Site) -> None:
        """Connections to it break, and are made again."""
        site.inbox.clear()
        for other in self.sites:
            if other is not site:
                other.node.connected(site.node.me, again=True)

    def connect_forger(self, site: Site) -> None:
        site.node.connected(FORGER, again=bool(self.source.byte() & 1))

    # What membership does

    def show(self, site: Site, view: View) -> None:
        """As a host does: who is out does not look at views, but joins again."""
        if site.node.member:
            site.node.see(view)
            self.view = max(self.view, site.node.view.number)

    def change(self, site: Site) -> None:
        """A new view, which one or both see by now."""
        which = self.source.byte()
        ids = [s.id for s in self.sites] + [FORGER, BYSTANDER]
        chosen = [i for bit, i in enumerate(ids) if which >> bit & 1] or ids[:2]
        if which & 16:
            chosen.reverse()
        number = self.view + 1
        members = tuple(Member(i, f"h:{i}", i) for i in chosen)
        seen = encode(Seen(View(number, members)))
        self.hand(site, FORGER, seen)
        if which & 32:
            for other in self.sites:
                self.hand(other, FORGER, seen)

    def rejoin(self, site: Site) -> None:
        """Under a new number, with a new lease."""
        if site.node.member:
            return
        self.newest_id += 1
        site.id = self.newest_id
        site.node.renewed(self.now + 10)
        self.view += 1
        ids = sorted({FORGER, *(s.id for s in self.sites)})
        view = View(self.view, tuple(Member(i, f"h:{i}", i) for i in ids))
        site.node.see(view, site.id)
        for other in self.sites:
            self.show(other, view)

    def renew(self, site: Site) -> None:
        if site.node.member:
            site.node.renewed(self.now + self.source.choice((0.001, 2.0, 10.0)))

    # What time does

    def turn(self, site: Site) -> None:
        site.node.turn()

    def tick(self, site: Site) -> None:
        site.node.tick()

    def wait(self, site: Site) -> None:
        self.now += self.source.choice(STEPS_OF_THE_CLOCK)

    # What users do

    def acquire(self, site: Site) -> None:
        wanted = self.source.choice(DEMANDS)
        user = User(wanted, site, name(self.source))
        site.users.append(user)
        if site.node.take(user.name, user):
            user.on_granted()
        else:
            site.node.acquire(user.name, user)
            if user.state is State.WAITING and self.source.byte() & 1:
                site.node.probe(user)

    def release(self, site: Site) -> None:
        if user := site.pick(self.source, State.HOLDING):
            if site.node.put_back(user) or not site.node.check_lease():
                return
            site.node.release(user)

    def give_up(self, site: Site) -> None:
        if user := site.pick(self.source, State.WAITING):
            assert site.node.give_up(user)

    def probe(self, site: Site) -> None:
        if user := site.pick(self.source, State.WAITING):
            site.node.probe(user)


STEPS: list[Callable[[World, Site], None]] = [
    World.forge,
    World.forge,
    World.behave,
    World.forge_bytes,
    World.deliver,
    World.deliver_all,
    World.deliver_all,
    World.acquire,
    World.acquire,
    World.acquire,
    World.release,
    World.release,
    World.give_up,
    World.probe,
    World.turn,
    World.turn,
    World.tick,
    World.wait,
    World.cut,
    World.connect_forger,
    World.change,
    World.change,
    World.rejoin,
    World.renew,
]


def harness(data: bytes) -> None:
    World(data).run()
