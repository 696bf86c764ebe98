"""Which member is the home of a name, and since when.

Homes are chosen among the *elders*, the members that have been in for longest, by
rendezvous hashing: every elder is rated for the name, and the highest rating wins.  So all
members agree on a name's home as soon as they have seen the same view, an elder that goes
takes only its own names with it, and a process that comes for a second becomes no home.

A *reign* is a time in which one member is the home of a name without a break; it is named
by the number of the view in which it began.  Reigns are judged by the views that a member
has itself seen:

- A home counts its reign from the view with which it became the home.
- A member that has seen another home of a name takes nothing from reigns before that
  (`floor`), whoever's they are.  A member that has not seen one has told no other home
  anything, so it has nothing to fear from the older reign.
- If a home has missed views in which it was not the home, members that have seen those say
  so, and it begins a new reign (`begin_anew`).
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

from peerlock.node.views import MemberId, View

Elders = tuple[MemberId, ...]

# One elder for so many members, but never more than that many elders.
MEMBERS_PER_ELDER = 8
MOST_ELDERS = 8

REMEMBERED = 64  # successions; nothing under way is older


def elders_of(view: View) -> Elders:
    count = min(MOST_ELDERS, max(1, len(view.members) // MEMBERS_PER_ELDER))
    return tuple(member.id for member in view.members[:count])


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


class Succession:
    def __init__(self) -> None:
        self._history: list[tuple[int, Elders]] = []

    def see(self, view: View) -> bool:
        """Whether the elders have changed."""
        elders = elders_of(view)
        if self._history and self._history[-1][1] == elders:
            return False
        self._history.append((view.number, elders))
        del self._history[:-REMEMBERED]
        return True

    def forget(self) -> None:
        """We are out; whoever we come back as has seen nothing yet."""
        self._history.clear()

    def begin_anew(self, view: View) -> None:
        """Members have seen a home between us and ourselves."""
        self._history = [(view.number, ()), (view.number, elders_of(view))]

    @property
    def elders(self) -> Elders:
        return self._history[-1][1] if self._history else ()

    def home(self, name: str) -> MemberId:
        return home_among(name, self.elders)

    def was_home(self, name: str, member: MemberId) -> bool:
        """Now, or in one of the views before."""
        return any(e and home_among(name, e) == member for _, e in self._history)

    def reign(self, name: str) -> int:
        """When the present home became it, as far as we have seen."""
        return self._run(name)[0]

    def floor(self, name: str) -> int:
        """Reigns that began before this view are over for us; 0: any may go on."""
        began, is_first = self._run(name)
        return 0 if is_first else began

    def _run(self, name: str) -> tuple[int, bool]:
        """The view with which the present home's run begins, and whether that was the
        first that we have seen."""
        home = self.home(name)
        began, is_first = 0, True
        for number, elders in reversed(self._history):
            if not elders or home_among(name, elders) != home:
                is_first = False
                break
            began = number
        return began, is_first
