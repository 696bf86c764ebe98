"""The messages under way to one node: letters, and the order in which they may come.

A letter is an integer: a message, its sender, and whether it knows of the latest grant.
An inbox is a tuple of letters in an order that makes equal inboxes equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from peerlock.checker.model import Model
from peerlock.core.peer import NodeId

Inbox = tuple[int, ...]


class Letter(NamedTuple):
    sender: NodeId
    knows: bool
    message: int


class Letters:
    def __init__(self, model: Model) -> None:
        self.medium = model.medium
        self.fifo = model.network.fifo
        self.in_order = self.fifo or self.medium
        self.all_arrive = self.fifo and not model.network.losses
        self.senders = model.nodes + 1
        self._opened: dict[int, Letter] = {}

    def letter(self, message: int, knows: bool, sender: NodeId) -> int:
        return (message * 2 + knows) * self.senders + sender

    def open(self, letter: int) -> Letter:
        found = self._opened.get(letter)
        if found is None:
            rest, sender = divmod(letter, self.senders)
            found = self._opened[letter] = Letter(sender, bool(rest & 1), rest >> 1)
        return found

    def arrive(self, knows: bool, inbox: Inbox, letters: Inbox) -> Inbox:
        return self._relevant(knows, self.add(inbox, letters))

    def add(self, inbox: Inbox, letters: Inbox) -> Inbox:
        """By sender, each one's in the order sent; or all in no order at all.

        An ordering medium delivers to all inboxes at once, in the order of sending.
        """
        if self.medium:
            return inbox + letters
        if not self.fifo:
            return tuple(sorted(inbox + letters))
        senders = self.senders
        return tuple(sorted(inbox + letters, key=lambda letter: letter % senders))

    def take(self, knows: bool, inbox: Inbox, at: int) -> tuple[bool, Inbox]:
        """What the node knows, and what is left, when it has got the letter there."""
        rest = inbox[:at] + inbox[at + 1 :]
        if not self.open(inbox[at]).knows:
            return knows, rest
        return True, self.unaware(rest)

    def unaware(self, inbox: Inbox) -> Inbox:
        """The same messages, none of which knows of the latest grant."""
        found = [a - self.senders if self.open(a).knows else a for a in inbox]
        return tuple(found if self.in_order else sorted(found))

    def _relevant(self, knows: bool, inbox: Inbox) -> Inbox:
        """Without bits that are not news to the node: it knows, or will know by then."""
        if knows:
            return self.unaware(inbox)
        if not self.all_arrive:  # an earlier one may never come
            return inbox
        told: set[NodeId] = set()
        found: list[int] = []
        for letter in inbox:
            sender, new, _ = self.open(letter)
            found.append(letter - self.senders if new and sender in told else letter)
            if new:
                told.add(sender)
        return tuple(found)

    def deliverable(self, inbox: Inbox) -> Iterator[int]:
        """Positions in the inbox: the first letter of each sender, or each letter once."""
        if self.medium:
            inbox = inbox[:1]
        last = -1
        for position, letter in enumerate(inbox):
            key = letter % self.senders if self.fifo else letter
            if key != last:
                yield position
            last = key
