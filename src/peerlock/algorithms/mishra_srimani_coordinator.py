"""Mishra and Srimani, 1990: a coordinator that moves, and is made anew when it fails.

    S. Mishra, P. K. Srimani.  Fault-Tolerant Mutual Exclusion Algorithms.
    Journal of Systems and Software 11(2), February 1990, 111-129; here after the survey
    of Velazquez, rebuilt from two sentences.

At any time there is one coordinator.  It is the node that has the PRIVILEGE, and it is
the only one that has to know which nodes wait.  A node that wants in sends its REQUEST to
the node that it believes to be the coordinator.  When the coordinator has left its critical
section it makes the first that waits the coordinator, with the queue of the others.  A node
that is no longer the coordinator passes REQUESTs on to the node to which it gave the
PRIVILEGE, or keeps them if it waits to be the coordinator again.

Failures are found and mended as in the first of the two algorithms, by PRIVILEGE_CHECK
and CREATE_PRIVILEGE.  Besides, a REQUEST may be lost with a node that should have passed
it on; then the one that checks learns who the coordinator is, and asks it directly.

    messages      0 at the coordinator, otherwise 2 … N, from 1 to N-1 REQUESTs and a
                  PRIVILEGE; a false alarm costs 3(N-1) and a REQUEST more, a new
                  coordinator at most 5(N-1) more
    delay         one PRIVILEGE from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another; a bound on
                  delay, a third of the time for answers
    failures      one node may stop for ever, the coordinator or another
    fairness      no node waits for ever

Where this file departs from the survey, and why:
  * The survey says no more than that coordination is moved among the nodes, and that
    there is only one coordinator at any time.  How it moves, how it is found and what a
    REQUEST costs were chosen here.
  * The other departures of `mishra-srimani`, whose repair of failures this one uses.
  * It is for the lab: a lock node learns from its cluster which members have failed, and
    forms the circle of a name anew; a second recovery below that has no use.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit
from peerlock.algorithms.mishra_srimani import (
    CreatePrivilege,
    MishraSrimani,
    Privilege,
    RepCritical,
    SystemRecovered,
)
from peerlock.algorithms.suzuki_kasami import Request, replaced
from peerlock.core.peer import NodeId


@dataclass(eq=False)
class MishraSrimaniCoordinator(MishraSrimani):
    # The coordinator, as far as we know.
    coordinator: NodeId = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.coordinator = self.first_holder

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.privilege is not None:
            self.grant()
            return
        number = self.requested[self.me - 1] + 1
        self.requested = replaced(self.requested, self.me, number)
        self.ask()
        self.set_timer("token", self.time_out)

    def ask(self) -> None:
        self.send(self.coordinator, Request(self.me, self.requested[self.me - 1]))

    def receive_request(self, sender: NodeId, message: Request) -> None:
        """If we wait, we keep it until we are the coordinator."""
        if self.privilege is None and not self.requesting:
            self.send(self.coordinator, message)
        else:
            super().receive_request(sender, message)

    def pass_on(self, request: Request, came_from: NodeId) -> None:
        """Nobody else has to know."""

    def hand_over(self, queue: tuple[NodeId, ...], granted: tuple[int, ...]) -> None:
        super().hand_over(queue, granted)
        queue = self.queued(queue, granted)
        if self.privilege is None and self.coordinator == self.me:
            self.coordinator = queue[0]

    def take(self, token: Privilege) -> None:
        self.coordinator = self.me
        super().take(token)

    # The coordinator is another than we believed

    def receive_rep_critical(self, j: NodeId, message: RepCritical) -> None:
        super().receive_rep_critical(j, message)
        if self.checking:
            self.coordinator = j

    def conclude(self) -> None:
        found = self.found
        super().conclude()
        if found:
            self.ask()

    def receive_create_privilege(self, j: NodeId, message: CreatePrivilege) -> None:
        if message.version > self.version:
            self.coordinator = j
        super().receive_create_privilege(j, message)

    def receive_system_recovered(self, j: NodeId, message: SystemRecovered) -> None:
        super().receive_system_recovered(j, message)
        if self.privilege is None:
            self.coordinator = j


@dataclass(eq=False)
class MishraSrimaniLost(MishraSrimaniCoordinator):
    """Does not ask again after a false alarm: its REQUEST was lost with a node that failed.

    In the first algorithm every REQUEST goes to everyone, and there is no need to.
    """

    def conclude(self) -> None:
        super(MishraSrimaniCoordinator, self).conclude()


ENTRIES = (
    Algorithm(
        name="mishra-srimani-coordinator",
        peer=MishraSrimaniCoordinator,
        source="Mishra, Srimani",
        year=1990,
        family="token",
        messages="0 or 2 … N when nothing fails",
        outlasting=("token", "answers"),
        exhibit=Exhibit(crashes=1),
    ),
    Algorithm(
        name="mishra-srimani-lost",
        peer=MishraSrimaniLost,
        source="made from Mishra, Srimani",
        year=1990,
        family="museum",
        messages="0 or 2 … N when nothing fails",
        outlasting=("token", "answers"),
        verdict="starvation",
        exhibit=Exhibit(requests=None, crashes=1),
    ),
)
