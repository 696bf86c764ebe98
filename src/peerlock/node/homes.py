"""The names whose home is this node: who has them open, and on what terms.

A name stays as it was opened until nobody has it open.  One thing can change it before:
a reader comes to a lock that so far nobody wanted to share.  Then the home recalls it;
everybody closes it when his holders have left, and it is opened anew, for readers, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from peerlock.node.terms import Demand, Terms, must_switch, objection, settle
from peerlock.node.views import MemberId
from peerlock.node.wire import Forget, Message, Opened, Recall, Refused

Post = Callable[[MemberId, Message], None]


class Entry:
    __slots__ = ("epoch", "openers", "pending", "terms")

    def __init__(self, epoch: int, terms: Terms) -> None:
        self.epoch = epoch
        self.terms = terms
        self.openers: set[MemberId] = set()
        self.pending: list[tuple[MemberId, Demand]] = []  # not empty once it is recalled


class Homes:
    def __init__(self, post: Post) -> None:
        self._post = post
        self._entries: dict[str, Entry] = {}
        self._epoch = 0
        self._ranks: dict[MemberId, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def afresh(self, members: Iterable[MemberId]) -> None:
        self._entries.clear()
        self._epoch = 0
        self._ranks = {member: rank for rank, member in enumerate(members)}

    def open(self, member: MemberId, name: str, wanted: Demand, held: Terms | None) -> None:
        entry = self._entries.get(name)
        if entry is None:
            start = self._ranks[member]
            terms = held._replace(start=start) if held else settle(wanted, start)
            self._epoch += 1
            entry = self._entries[name] = Entry(self._epoch, terms)
        elif not held:
            if entry.pending:
                entry.pending.append((member, wanted))
                return
            if must_switch(wanted, entry.terms):
                entry.pending.append((member, wanted))
                for opener in sorted(entry.openers):
                    self._post(opener, Recall(name, entry.epoch))
                return
            if why := objection(wanted, entry.terms):
                self._post(member, Refused(name, wanted, why))
                return
        entry.openers.add(member)
        self._post(member, Opened(name, entry.epoch, entry.terms))

    def close(self, member: MemberId, name: str, epoch: int) -> None:
        entry = self._entries.get(name)
        if entry is None or entry.epoch != epoch:
            return
        entry.openers.discard(member)
        if entry.openers:
            return
        del self._entries[name]
        for other in self._ranks:
            self._post(other, Forget(name, epoch))
        for opener, wanted in entry.pending:
            self.open(opener, name, wanted, None)

    def recheck(self, member: MemberId, name: str, epoch: int) -> None:
        entry = self._entries.get(name)
        if entry is None or entry.epoch != epoch:
            self._post(member, Forget(name, epoch))
