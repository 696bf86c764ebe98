"""The users of simulated processes: they request, may give up, hold, release, come back."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING

from peerlock.node.locks import Stage
from peerlock.node.terms import Demand
from peerlock.node.views import MemberId
from peerlock.node.waiters import State, Waiter
from peerlock.simulator.places import QueuePlace
from peerlock.simulator.witness import Held, Misrule

if TYPE_CHECKING:
    from peerlock.simulator.process import Process


class Party:
    """Users that hold until all of them do; spoilt if one of them cannot."""

    def __init__(self, size: int) -> None:
        self.missing = size
        self.inside: list[SimulatedUser] = []
        self.spoilt = False

    def enters(self, user: SimulatedUser) -> None:
        self.missing -= 1
        self.inside.append(user)
        self._leave_if_over()

    def spoil(self) -> None:
        self.spoilt = True
        self._leave_if_over()

    def _leave_if_over(self) -> None:
        if self.spoilt or not self.missing:
            for user in self.inside:
                user.leave_after(0.0)
            self.inside.clear()


class SimulatedUser(Waiter):
    """One round of a local user: request, perhaps give up, hold, release."""

    __slots__ = ("held", "name", "party", "place", "process")

    def __init__(
        self, process: Process, name: str, wanted: Demand, party: Party | None = None
    ) -> None:
        super().__init__(wanted)
        self.process = process
        self.name = name
        self.party = party
        self.place = self._place()
        self.held: Held | None = None

    def _place(self) -> QueuePlace:
        process = self.process
        lock = process.node.locks.get(self.name)
        in_epoch = lock is not None and lock.stage is Stage.OPEN and lock.running
        in_epoch = in_epoch and process.cluster.faults.whole_since() < inf
        now, shared = process.cluster.now, self.demand.shared
        waits = partial(self._waits_as, process.node.me)
        return QueuePlace(process.name, now, shared, in_epoch, waits)

    def _waits_as(self, me: MemberId) -> bool:
        """It requests the lock exclusively, and has certainly waited as this member."""
        process, wanted = self.process, self.demand
        if process.dead or process.leaving or process.node.me != me:
            return False
        return process.node.member and not (wanted.shared or wanted.permits or self.probing)

    def on_granted(self) -> None:
        process = self.process
        cluster = process.cluster
        if self not in process.users:
            raise Misrule(f"{process.name} grants {self.name} to a user that gave up")
        if not process.clock() < process.node.deadline:
            raise Misrule(f"{process.name} grants {self.name} after its lease")
        cluster.tell(process, f"gets {self.name} with fence {self.fence}")
        terms = process.node.locks[self.name].terms
        cluster.places.granted(self.name, self.place, terms.algorithm if terms else "")
        if not process.blind:
            who, shared = process.name, self.demand.shared
            self.held = Held(who, self.fence, shared, self._valid, self._needs_time)
            cluster.witness.granted(self.name, self.demand.permits, self.held)
        if self.party:
            self.party.enters(self)
        else:
            self.leave_after(cluster.hold(self.demand))

    def _valid(self) -> bool:
        process = self.process
        if self.state is not State.HOLDING or process.dead or process.blind:
            return False
        return process.clock() < process.node.deadline

    def _needs_time(self) -> bool:
        return not self.process.dead and not self.process.leaving

    def leave_after(self, time: float) -> None:
        self.process.cluster.after(time, self.process, partial(self.process.done, self))

    def on_refused(self, why: str) -> None:
        self.process.cluster.tell(self.process, f"is refused {self.name}: {why}")
        self.over()

    def on_lost(self) -> None:
        process = self.process
        process.cluster.tell(process, f"has lost {self.name}")
        self.over()
        if self.held and not process.excused:
            process.cluster.witness.lost(self.name, self.held)

    def on_probed(self, busy: bool) -> None:
        if busy:
            self.process.cluster.after(
                0.0, self.process, partial(self.process.give_up, self)
            )

    def over(self) -> None:
        if self.party and self.state is not State.RELEASED:
            self.party.spoil()
        cluster = self.process.cluster
        cluster.places.over(self.name, self.place)
        if self.held:
            cluster.witness.left(self.name, self.held)
        self.process.users.pop(self, None)
