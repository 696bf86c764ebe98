"""The register: the members, and the numbers that were given.

Every engine keeps this, in whatever form, as a pure value: each change makes
a new `Register`, and an engine publishes it in one step that all members see in one order.

- A change of members is a new view.  Its number is higher than every number given before,
  and a member's id is the number of the view in which it joined: no id is given twice.
- `reserve` gives out a block of numbers for fences without a new view.
- The engine decides which members are out (`without`): the dead, and those whose lease has
  ended (`ended`).  A register has no clock.

A `Table` is a register with its leases in one place, for engines whose every call is one
step: members in one process, and the simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from peerlock.core.errors import UsageError
from peerlock.node.numbers import BLOCK, MOST
from peerlock.node.views import Member, MemberId, View


class Register(NamedTuple):
    """The members and the numbers; a pure value."""

    number: int = 0  # of the view
    highest: int = 0  # of all numbers that were given: for views, and for fences
    members: tuple[Member, ...] = ()

    @property
    def view(self) -> View:
        return View(self.number, self.members)

    def __contains__(self, me: object) -> bool:
        return any(member.id == me for member in self.members)

    def join(self, address: str, pid: int, beyond: int = 0) -> Register:
        """With a new member, the last one, in a view numbered higher than `beyond`."""
        number = self._next(beyond)
        return Register(number, number, (*self.members, Member(number, address, pid)))

    def without(self, out: Collection[MemberId]) -> Register:
        """Without those; the same register if none of them is in."""
        stay = tuple(member for member in self.members if member.id not in out)
        if len(stay) == len(self.members):
            return self
        number = self._next()
        return Register(number, number, stay)

    def reserve(self) -> Register:
        """Fences may use all numbers below the new `highest`; later views are higher."""
        highest = self._next() + BLOCK - 1
        return self._replace(highest=highest)

    def _next(self, beyond: int = 0) -> int:
        number = max(self.highest, beyond) + 1
        if number + BLOCK > MOST:
            raise UsageError("this cluster has used up all numbers; begin a new one")
        return number


def ended(deadlines: Mapping[MemberId, float], now: float) -> set[MemberId]:
    """Whose lease is over."""
    return {me for me, deadline in deadlines.items() if now >= deadline}


@dataclass
class Table:
    """A register with the leases of its members; every method is one step.

    Times are on any clock that all members share.  A member without a lease has the
    deadline `inf`.
    """

    register: Register = Register()
    deadlines: dict[MemberId, float] = field(default_factory=dict)

    @property
    def view(self) -> View:
        return self.register.view

    def join(
        self, address: str, pid: int, deadline: float, beyond: int = 0, former: MemberId = 0
    ) -> MemberId:
        """Become a member; `former`: and be no longer the one that the caller was."""
        self.leave(former)
        self.register = self.register.join(address, pid, beyond)
        me = self.register.number
        self.deadlines[me] = deadline
        return me

    def renew(
        self,
        me: MemberId,
        deadline: float,
        now: float,
        is_dead: Callable[[Member], bool] = lambda member: False,
    ) -> tuple[float, bool]:
        """Remove dead and silent members; then renew until `deadline`, if still a member.

        Returns the deadline, or -inf if the caller is out; and whether anyone was put out.
        """
        dead = {member.id for member in self.register.members if is_dead(member)}
        changed = self._put_out(dead | ended(self.deadlines, now))
        if me not in self.register:
            return -inf, changed
        self.deadlines[me] = deadline
        return deadline, changed

    def leave(self, me: MemberId) -> bool:
        """Whether it was in."""
        return self._put_out({me})

    def reserve(self) -> int:
        self.register = self.register.reserve()
        return self.register.highest

    def _put_out(self, out: set[MemberId]) -> bool:
        before, self.register = self.register, self.register.without(out)
        for me in out:
            self.deadlines.pop(me, None)
        return self.register is not before
