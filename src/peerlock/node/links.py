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

# After this many messages that the other side may not know of, an acknowledgement is
# sent, even if there is nothing else to send.
UNTOLD = 64


class Link:
    __slots__ = ("_fresh", "_kept", "_last", "_last_at_tick", "received", "told")

    def __init__(self) -> None:
        self._kept: deque[Message] = deque()  # not acknowledged yet
        self._fresh: list[Message] = []  # the last of these, not sent yet
        self._last = 0  # the number of the last message kept
        self._last_at_tick = 0
        self.received = 0
        self.told = 0  # what the other side knows that we received

    @property
    def full(self) -> bool:
        return len(self._kept) >= FULL

    @property
    def unacknowledged(self) -> int:
        return len(self._kept)

    @property
    def owes_acknowledgement(self) -> bool:
        return self.received > self.told

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
        self.told = self.received
        first = self._last - len(messages) + 1
        said = (to, fences.view, first, self.received, fences.highest, fences.limit)
        return tuple.__new__(Batch, (*said, messages))  # in half the time of Batch(…)

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

    def accept(self, batch: Batch, fences: Fences) -> tuple[Message, ...]:
        """What of it is new here."""
        unknown = self._last - batch.received  # whether it has arrived
        if unknown < 0:
            raise RemoteError(f"message {batch.received} was acknowledged, and never sent")
        known = self.received + 1 - batch.first  # how many of its messages we have
        if known < 0:
            raise RemoteError(f"message {batch.first} follows {self.received}")
        fences.hear(batch.view, batch.fence, batch.limit)
        kept, messages = self._kept, batch.messages
        for _ in range(len(kept) - unknown):
            kept.popleft()
        if known >= len(messages):
            if messages:  # it does not know that they came
                self.told = min(self.told, self.received - 1)
            return ()
        self.received += len(messages) - known
        return messages[known:] if known else messages
