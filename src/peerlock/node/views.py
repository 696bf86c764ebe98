"""Views: the lists of members, numbered by a membership engine.

All nodes see the same views in the same order; some may be skipped.  A member's number is
never used twice: a process that joins again is another member.
"""

from __future__ import annotations

from typing import NamedTuple

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


def is_a_view(view: View) -> bool:
    """What another member says that it has seen; it may be none."""
    ids = {member.id for member in view.members}
    return 0 <= view.number < MOST and len(ids) == len(view.members)
