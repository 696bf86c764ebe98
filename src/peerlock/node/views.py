"""Who takes part: views, which a membership engine numbers.

All nodes see the same views in the same order; some may be skipped.  A member's number is
never given twice: who comes back comes back as somebody else.
"""

from __future__ import annotations

from typing import NamedTuple

MemberId = int


class Member(NamedTuple):
    id: MemberId
    address: str
    pid: int


class View(NamedTuple):
    number: int
    members: tuple[Member, ...]  # in the order in which they joined
