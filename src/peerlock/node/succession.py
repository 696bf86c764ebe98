"""Which member is the home of a name, and since when.

Homes are chosen among the *elders*, the members that have been in for longest, by
rendezvous hashing: every elder is rated for the name, and the highest rating wins.  So all
members agree on a name's home as soon as they have seen the same view, an elder that leaves
affects only its own names, and a process that joins for a second does not become a home.

A *reign* is a time in which one member is the home of a name without a break; it is named
by the number of the view in which it began.  Reigns are judged by the views that a member
has itself seen:

- A home counts its reign from the view with which it became the home.
- A member that has seen another home of a name takes nothing from reigns before that
  (`floor`), of whichever member.  A member that has not seen one has told no other home
  anything, so it has nothing to fear from the older reign.
- If a home has missed views in which it was not the home, members that have seen those say
  so, and it begins a new reign (`begin_anew`).
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

from peerlock.node.views import MemberId, View

Elders = tuple[MemberId, ...]

# One elder for each MEMBERS_PER_ELDER members, at least one, and at most MOST_ELDERS.  Each
# change of the elders asks all members what they have open: in a crowd that joins at once,
# a cluster of 100 members with four elders took a third longer than with one.
MEMBERS_PER_ELDER = 64
MOST_ELDERS = 4

REMEMBERED = 64  # successions; nothing under way is older


@lru_cache(maxsize=4096)
def home_among(name: str, elders: Elders) -> MemberId:
    if len(elders) == 1:
        return elders[0]
    text = crc32(name.encode())
    return max(elders, key=lambda elder: (_rating(elder, text), elder))


def _rating(elder: MemberId, text: int) -> int:
    """Mixed, as checksums of two elders with one name differ by the same bits for every
    name: the elder that has the higher ones would get more than its share."""
    mixed = (text ^ elder * 0x9E3779B1) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 15) * 0xC2B2AE35 & 0xFFFFFFFF
    return mixed ^ mixed >> 13


class Period:
    """Views that we have seen one after the other, with the same elders."""

    __slots__ = ("anew", "elders", "first", "last")

    def __init__(self, number: int, elders: Elders, anew: bool = False) -> None:
        self.first = self.last = number
        self.elders = elders
        self.anew = anew  # our reigns begin here, whatever came before


class Succession:
    def __init__(self, members_per_elder: int = MEMBERS_PER_ELDER) -> None:
        self._members_per_elder = members_per_elder
        self._periods: list[Period] = []

    def see(self, view: View) -> bool:
        """Whether the elders have changed."""
        elders = self._elders_of(view)
        if self._periods and self._periods[-1].elders == elders:
            self._periods[-1].last = view.number
            return False
        self._periods.append(Period(view.number, elders))
        del self._periods[:-REMEMBERED]
        return True

    def forget(self) -> None:
        """This member is out; the member that it becomes next has seen nothing yet."""
        self._periods.clear()

    def begin_anew(self, view: View) -> None:
        """Members have seen a home between us and ourselves."""
        self._periods.append(Period(view.number, self._elders_of(view), anew=True))

    def _elders_of(self, view: View) -> Elders:
        count = min(MOST_ELDERS, max(1, len(view.members) // self._members_per_elder))
        return tuple(member.id for member in view.members[:count])

    @property
    def elders(self) -> Elders:
        return self._periods[-1].elders if self._periods else ()

    @property
    def began(self) -> int:
        """The first of the views with these elders."""
        return self._periods[-1].first if self._periods else 0

    def home(self, name: str) -> MemberId:
        return home_among(name, self.elders)

    def was_home(self, name: str, member: MemberId) -> bool:
        """Now, or in one of the views before."""
        return any(home_among(name, p.elders) == member for p in self._periods)

    def reign(self, name: str) -> int:
        """The view with which the present home became it, of those that we have seen."""
        home, began = self.home(name), 0
        for period in reversed(self._periods):
            if home_among(name, period.elders) != home:
                break
            began = period.first
            if period.anew:
                break
        return began

    def floor(self, name: str) -> int:
        """Reigns that began before this view are over for us, as we have seen another home
        in the view before it; 0: any may go on."""
        home = self.home(name)
        for period in reversed(self._periods):
            if home_among(name, period.elders) != home:
                return period.last + 1
        return 0
