"""Views: the lists of members, numbered by a membership engine.

All nodes see the same views in the same order; some may be skipped.  A member's number is
never used twice: a process that joins again is another member.
"""

from __future__ import annotations

from typing import NamedTuple

from peerlock.core.peer import RemoteError
from peerlock.node.numbers import MOST

MemberId = int


class Member(NamedTuple):
    """A process that has joined."""

    id: MemberId  # never used again
    address: str  # where it listens
    pid: int


class View(NamedTuple):
    """The members at one time."""

    number: int  # every later view has a higher one
    members: tuple[Member, ...]  # in the order in which they joined


def must_be_a_view(view: View) -> None:
    """What another member says that it has seen."""
    ids = {member.id for member in view.members}
    if not 0 <= view.number < MOST or len(ids) < len(view.members):
        raise RemoteError(f"there can be no view {view.number} like this")
