"""Fences: numbers that grow from grant to grant of a name.

A fence has 53 bits, so that JSON, JavaScript, Lua and SQL keep it exactly: a number of 41
bits, which the membership engine gives, above a count of 12 bits.  The engine gives every
view a number, each higher than all before, and so a block of fences.  When a block runs
low, a member asks the engine to reserve more: the answer is a number, and every later view
is numbered at least that.

Each node keeps, for the newest view that it has seen or heard of,

    view      the number of that view,
    highest   the highest fence of it that the node has given or heard of,
    limit     every fence below it may be given in that view.

Rules:
 1. Entering view n, if an earlier one was kept: highest is n * 4096, limit (n + 1) * 4096.
 2. A grant gets highest + 1, which is then the highest.  If that would reach the limit, the
    grant waits until the limit is raised.
 3. Every batch carries all three.  A receiver that keeps an earlier view takes all three;
    one that keeps the same view takes the greater of each; one that keeps a later view
    takes none.
 4. A reservation r raises the limit to r * 4096, if the engine, asked for the view after it
    had reserved, still answers with the view that the node keeps.

Why the fences of a name grow, from each grant to every later one that it excludes:
  - Both are given by one node, or a chain of messages leads from the first node to the
    second; so the view that is kept at the second grant is not earlier (1, 3).
  - Within a view.  Each message of the chain carries the highest fence (3), and the second
    node gives a higher one (2).
  - From a view m to a later view n.  Each fence of m is below a limit of m (2).  That limit
    is (m + 1) * 4096, and n >= m + 1; or r * 4096, where r was reserved before any view
    after m was made (4), so n >= r.  Either way it is at most n * 4096, and every fence of
    n is above that (1, 2).
Without the condition in rule 4 a member that was removed from the cluster could continue,
within its lease, with fences above those of the view that has removed it.

A member that makes up a highest fence or a limit exhausts the fences of its view at worst:
the next view has its own.  If it makes up a view as well, those of all views up to that
one: a member that joins again then gets a later view (`number`).
"""

from __future__ import annotations

from peerlock.core.peer import RemoteError
from peerlock.node.numbers import BITS, MOST

COUNT_BITS = 12

# Within one view no more numbers than this are reserved: they last for years.
MOST_AHEAD = 1 << 32


class Fences:
    __slots__ = ("_most", "_nearly_out", "highest", "limit", "low", "view")

    def __init__(self) -> None:
        self.view = self.highest = self.limit = 0
        self._nearly_out = self._most = 0
        self.low = 0  # more are due once this is reached (`runs_low`)

    def enter(self, number: int) -> None:
        """A view of this number."""
        if not 0 <= number < MOST:
            raise RemoteError(f"view {number} does not fit into {BITS} bits")
        self._most = min(number + MOST_AHEAD, MOST) << COUNT_BITS
        if number > self.view:
            self.view, self.highest = number, number << COUNT_BITS
            self._raise_limit(number + 1 << COUNT_BITS)
            # A busy cluster uses few soon.
            self.low = self.highest + ((1 << COUNT_BITS) >> 4)

    def reserved(self, number: int) -> None:
        """All below this number may be used in this view."""
        if number << COUNT_BITS > self.limit:
            self._raise_limit(number << COUNT_BITS)

    def hear(self, view: int, fence: int, limit: int) -> None:
        """What another member says that it has given or heard of."""
        if limit == self.limit and view == self.view:  # as nearly always
            if fence >= limit:
                raise RemoteError(f"there can be no fence {fence} below {limit}")
            if fence > self.highest:
                self.highest = fence
        elif limit > self.limit or fence > self.highest:
            self._hear_of_more(view, fence, limit)

    def _hear_of_more(self, view: int, fence: int, limit: int) -> None:
        if not view << COUNT_BITS <= fence < limit <= self._most:
            raise RemoteError(f"there can be no fence {fence} below {limit}")
        if view > self.view:
            self.view, self.highest = view, fence
            self._raise_limit(limit)
        elif view == self.view:
            self.highest = max(self.highest, fence)
            if limit > self.limit:
                self._raise_limit(limit)

    def _raise_limit(self, limit: int) -> None:
        left = limit - self.highest
        self.limit = limit
        self.low, self._nearly_out = limit - left // 2, limit - left // 4

    @property
    def left(self) -> bool:
        return self.highest + 1 < self.limit

    @property
    def runs_low(self) -> bool:
        """More are due: half are used, or a sixteenth of those that come with a view."""
        return self.highest >= self.low

    @property
    def nearly_out(self) -> bool:
        """Less than a quarter is left."""
        return self.highest >= self._nearly_out

    @property
    def number(self) -> int:
        """No view with this number or a lower one may come any more."""
        return max(0, (self.limit >> COUNT_BITS) - 1)

    def next(self) -> int:
        """For a grant; only while there are some left."""
        self.highest += 1
        return self.highest
