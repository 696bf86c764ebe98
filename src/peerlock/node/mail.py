"""The mail of a node: links to other members, batches, back pressure.

- To each other member there is one link, from the view in which the younger of both joined
  until one of them is out: its numbers continue through all views in between.
- A batch of a member that is younger than the newest view that we have seen is kept until
  we have seen its view.  A batch of any other stranger is late, and is dropped.
- A message to or from a home that was sent in a view that we have not seen is kept, and so
  are all such messages after it on the same link, until we have seen that view.
- What is kept is bounded: when it is too much, the batch that comes next is refused, so it
  is not acknowledged, and comes again over the next connection.
- What waits for a view that cannot be, as its sender could not have seen it, is dropped
  (`drop_impossible`); `node/presence.py`, rule 11, says how that is known.
- Messages to ourselves take the same way as others, without a link.
- When a link is full, no new requests are made; requests of others are still answered.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from peerlock.core.peer import RemoteError
from peerlock.node.fences import Fences
from peerlock.node.links import UNTOLD, Link
from peerlock.node.views import MemberId, View
from peerlock.node.wire import Batch, HomeMessage, Message, ToPeer

# The number of batches that are kept of members that we have not seen, and of messages to
# and from homes that are kept of each member; the last batch may exceed the latter.
EARLY = 1_000
AHEAD = 10_000

OF_HOMES: frozenset[type] = frozenset(HomeMessage.__args__)

Handle = Callable[[MemberId, Message], None]


class KeptBatch(NamedTuple):
    """Of a member that we have not seen."""

    sender: MemberId
    batch: Batch
    questions: int  # for the newest view that had been asked when it came


class KeptMessage(NamedTuple):
    """To or from a home; it was sent in a view that we have not seen, or after such."""

    message: Message
    questions: int

    @property
    def view(self) -> int:
        return self.message.view  # type: ignore[union-attr]


class Mail:
    def __init__(self, handle: Handle, fences: Fences, counts: Counter[str]) -> None:
        self.me: MemberId = 0
        self.members: frozenset[MemberId] = frozenset()
        self.dirty: dict[MemberId, None] = {}  # links with something to say
        self.mine: deque[Message] = deque()  # to ourselves
        self._handle = handle
        self._fences = fences
        self._counts = counts
        self._seen = 0  # the number of the newest view
        self._links: dict[MemberId, Link] = {}
        self._full: set[MemberId] = set()
        self._early: list[KeptBatch] = []
        self._ahead: dict[MemberId, deque[KeptMessage]] = {}
        self._questions = 0  # for the newest view, so far

    # Sending

    def post(self, member: MemberId, message: Message) -> None:
        if member == self.me:
            self.mine.append(message)
            return
        if member not in self.members:
            return  # it is out, or we are
        link = self._links.get(member) or self._link(member)
        if link.post(message):
            self._full.add(member)
        self.dirty[member] = None
        said = message.message if type(message) is ToPeer else message
        self._counts[type(said).__name__] += 1

    def drain(self) -> list[tuple[MemberId, Batch]]:
        """What is to be sent; a host without a connection says `connected` once it has."""
        if not self.dirty:
            return []
        dirty, self.dirty = self.dirty, {}
        links, fences = self._links, self._fences
        return [(m, links[m].batch(m, fences)) for m in dirty if m in links]

    def connected(self, member: MemberId) -> int:
        """What was sent over older connections may be lost: how much is sent again."""
        link = self._links.get(member)
        if link is None:
            return 0
        self.dirty[member] = None
        return link.anew()

    def acknowledge(self) -> None:
        """A tick: say what came, and send again what should have been acknowledged."""
        for member, link in self._links.items():
            if link.remind() or link.owes_acknowledgement:
                self.dirty[member] = None

    def tell_all(self) -> None:
        """Say to all that we know what a batch carries besides its messages."""
        self.dirty.update(dict.fromkeys(self._links))

    # Receiving

    def accept(self, sender: MemberId, batch: Batch) -> Iterable[Message]:
        """The messages of a member that are new and due."""
        if batch.to != self.me:
            return ()
        if self._ahead and len(self._ahead.get(sender, ())) >= AHEAD:
            raise RemoteError(f"{sender} sends too much in views that are not here yet")
        link = self._links.get(sender) or self._link(sender)
        messages = link.accept(batch, self._fences)
        if link.received - link.told >= UNTOLD:
            self.dirty[sender] = None
        return messages

    def keep_if_early(self, sender: MemberId, batch: Batch) -> None:
        """It is out, or not in yet."""
        if not self._is_early(sender, batch):
            return
        if len(self._early) >= EARLY:
            raise RemoteError("too much from members that are in no view yet")
        self._early.append(KeptBatch(sender, batch, self._questions))

    def _is_early(self, sender: MemberId, batch: Batch) -> bool:
        if self.members:
            return sender > self._seen and batch.to == self.me
        return batch.to > self.me  # we are joining, and it has heard of that

    def is_ahead(self, sender: MemberId, message: Message) -> bool:
        """Whether a message to or from a home has to wait for a view; then it is kept."""
        kept = self._ahead.get(sender)
        if kept is None:
            if message.view <= self._seen:  # type: ignore[union-attr]
                return False
            kept = self._ahead[sender] = deque()
        kept.append(KeptMessage(message, self._questions))
        return True

    def work_off(self) -> None:
        """Hear what we have told ourselves."""
        while self.mine:
            self._handle(self.me, self.mine.popleft())

    # Views

    def see(self, me: MemberId, view: View) -> None:
        if me != self.me:
            self.forget()
            self.me = me
        self._seen = view.number
        self.members = frozenset(member.id for member in view.members)
        for gone in [m for m in self._links if m not in self.members]:
            del self._links[gone]
            self._full.discard(gone)
            self._ahead.pop(gone, None)

    def catch_up(self) -> list[KeptBatch]:
        """Hear what was kept for the view that we have just seen; what came before it
        from members that were strangers is returned, to be received now."""
        self._hear_kept()
        due: list[KeptBatch] = []
        early, self._early = self._early, []
        for kept in early:
            waits = self._is_early(kept.sender, kept.batch)
            (self._early if waits else due).append(kept)
        return due

    def _hear_kept(self) -> None:
        for sender in list(self._ahead):
            kept = self._ahead.pop(sender, None)
            while kept and sender in self.members:
                if kept[0].view > self._seen:
                    self._ahead[sender] = kept
                    break
                self._handle(sender, kept.popleft().message)

    def ask_for_view(self) -> None:
        """The newest view is asked for: what is kept now came before the question."""
        self._questions += 1

    def drop_impossible(self) -> int:
        """The answer was seen, and what came before the question still waits for a later
        view: drop that, and hear what it has held up; how much was dropped."""
        before = self.kept
        self._early = [kept for kept in self._early if not self._is_asked_for(kept)]
        for sender, kept in self._ahead.items():
            self._ahead[sender] = deque(
                one for one in kept if one.view <= self._seen or not self._is_asked_for(one)
            )
        dropped = before - self.kept
        self._hear_kept()
        return dropped

    def _is_asked_for(self, kept: KeptBatch | KeptMessage) -> bool:
        """Whether the newest view was asked for since this came."""
        return kept.questions < self._questions

    def forget(self) -> None:
        """We are out."""
        self.members = frozenset()
        self._links.clear()
        self.mine.clear()
        self._full.clear()
        self._ahead.clear()
        self.dirty.clear()

    def _link(self, member: MemberId) -> Link:
        """A new one."""
        link = self._links[member] = Link()
        return link

    # What others ask

    @property
    def is_settled(self) -> bool:
        return all(link.is_settled for link in self._links.values())

    @property
    def others(self) -> frozenset[MemberId]:
        return self.members - {self.me}

    @property
    def waits_for_view(self) -> bool:
        """A member has seen a view that we have not, and that was not asked for yet."""
        if not (self._early or self._ahead):
            return False
        newest: list[KeptBatch | KeptMessage] = [*self._early[-1:]]
        newest += [kept[-1] for kept in self._ahead.values()]
        return not all(map(self._is_asked_for, newest))

    @property
    def has_full_links(self) -> bool:
        if self._full:
            links = self._links
            self._full = {m for m in self._full if m in links and links[m].full}
        return bool(self._full)

    @property
    def unacknowledged(self) -> int:
        return sum(link.unacknowledged for link in self._links.values())

    @property
    def kept(self) -> int:
        return len(self._early) + sum(map(len, self._ahead.values()))
