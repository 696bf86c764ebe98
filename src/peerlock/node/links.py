"""One node's end of a link to another: in order, exactly once, while both are members.

Connections may break.  Messages are numbered, kept until they are acknowledged, and sent
again over the next connection; what arrives twice is dropped, and acknowledged again.

A batch may be lost although its connection lives, as when its sender fails between taking
it and writing it.  So the last message that was not acknowledged between two ticks is sent
again: a receiver that has it acknowledges it, and one that misses an earlier one sees the
gap. A gap is an error that ends the connection, and the next one brings everything again.
"""

from __future__ import annotations

from collections import deque

from peerlock.core.peer import RemoteError
from peerlock.node.fences import Fences
from peerlock.node.views import MemberId
from peerlock.node.wire import Batch, Message

# A link with this many unacknowledged messages is full: the node then makes no new
# requests.
FULL = 10_000

# After this many messages an acknowledgement is sent, even if there is nothing else to
# send.
UNTOLD = 64


class Link:
    __slots__ = ("_fresh", "_kept", "_last", "_last_at_tick", "_received", "_told")

    def __init__(self) -> None:
        self._kept: deque[Message] = deque()  # not acknowledged yet
        self._fresh: list[Message] = []  # the last of these, not sent yet
        self._last = 0  # the number of the last message kept
        self._last_at_tick = 0
        self._received = 0
        self._told = 0  # what the other side knows that we received

    @property
    def full(self) -> bool:
        return len(self._kept) >= FULL

    @property
    def unacknowledged(self) -> int:
        return len(self._kept)

    @property
    def has_something_to_say(self) -> bool:
        return bool(self._fresh) or self._received - self._told >= UNTOLD

    @property
    def owes_acknowledgement(self) -> bool:
        return self._received > self._told

    @property
    def is_settled(self) -> bool:
        """Each side knows what the other one has."""
        return not self._kept and not self.owes_acknowledgement

    def post(self, message: Message) -> bool:
        """Whether it is full now."""
        self._kept.append(message)
        self._fresh.append(message)
        self._last += 1
        return len(self._kept) >= FULL

    def batch(self, to: MemberId, fences: Fences) -> Batch:
        """What is new, and what we received."""
        messages = tuple(self._fresh)
        self._fresh.clear()
        self._told = self._received
        first = self._last - len(messages) + 1
        highest, limit = fences.highest, fences.limit
        return Batch(to, fences.view, first, self._received, highest, limit, messages)

    def anew(self) -> int:
        """A new connection: all that is not acknowledged is sent, how much of it again."""
        again = len(self._kept) - len(self._fresh)
        self._fresh = list(self._kept)
        return again

    def remind(self) -> bool:
        """A tick: whether the last message is to be sent again."""
        overdue = self._last - len(self._kept) < self._last_at_tick and not self._fresh
        if overdue:
            self._fresh.append(self._kept[-1])
        self._last_at_tick = self._last
        return overdue

    def accept(self, batch: Batch) -> tuple[Message, ...]:
        """What of it is new here."""
        unknown = self._last - batch.received  # whether it has arrived
        if unknown < 0:
            raise RemoteError(f"message {batch.received} was acknowledged, and never sent")
        kept = self._kept
        while len(kept) > unknown:
            kept.popleft()
        messages = batch.messages
        known = self._received + 1 - batch.first  # how many of them we have already
        if known < 0:
            raise RemoteError(f"message {batch.first} follows {self._received}")
        if known >= len(messages):
            if messages:  # it does not know that they came
                self._told = min(self._told, self._received - 1)
            return ()
        self._received += len(messages) - known
        return messages[known:] if known else messages
