"""Raymond, 1989: a node that has failed and comes back learns its part from its neighbours.

    K. Raymond.  A Tree-Based Algorithm for Distributed Mutual Exclusion.
    ACM Transactions on Computer Systems 7(1), February 1989, 61-77; here after the
    survey of Velazquez.

All goes as in Raymond's algorithm.  What a node remembers is about its neighbours, and
each of them knows the other half of it: whether the PRIVILEGE is in the node's direction,
whether it has asked the node, and whether the node has asked it.  A node that comes back
with its memory lost waits until what it had sent before is gone, and then sends RESTART
to its neighbours, each of which answers with an ADVISE of this.  If for all of them the
PRIVILEGE is in the node's direction, the node has it, or had it and has lost it, which is
the same.

Of two neighbours that have both failed, one that knows from its other neighbours where the
PRIVILEGE is ADVISEs the other.  If all others point to the two, one of them has it: each
that has heard from all but one points to that one, and if two point to each other, the
lower one has it.

    messages      as many as without failures; for each failure at most 2 with each
                  neighbour, and 2 more with those that have failed too
    delay         the way from the leaving node to the next, D messages at most
    network       no loss, no duplicates, and FIFO between any two nodes; a bound on delay,
                  a third of the restart interval
    failures      any number of nodes, at any time, as long as each comes back; those that
                  need one that is down wait for it
    fairness      first come, first served at every node, until it fails; no node waits
                  for ever

Where this file departs from the source, and why:
  * The survey says only that there is such a recovery.  It is rebuilt here, so that a node
    drops what comes from a neighbour before its ADVISE: in order, that is what the ADVISE
    tells already.  Without order a PRIVILEGE can come in between, and then there are two.
  * Before it says RESTART a node waits for a time, as in TR-869.  Otherwise it can fail
    twice, and take an ADVISE to its earlier self for one to itself: of a time when that
    self had not sent the PRIVILEGE yet.
  * The survey has no recovery if the node that has the token and all its neighbours fail.
    Here there is, as all come back: the token is where all others point.
  * Requests made by the user of a node that fails are forgotten with it, but if it had
    asked a neighbour the PRIVILEGE still comes, and stays until another node asks.
  * The other departures of `raymond`.
  * It is for the lab: a lock node learns from its cluster which members have failed, and
    forms the circle of a name anew; a second recovery below that has no use.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit
from peerlock.algorithms.raymond import Privilege, Raymond, Request
from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import NodeId, RemoteError, setting
from peerlock.core.topology import TREES


@dataclass(frozen=True, slots=True)
class Restart:
    """All is forgotten."""

    too: bool = False  # in answer to the same; ours may have come while you were down


@dataclass(frozen=True, slots=True)
class Advise:
    yours: bool  # the PRIVILEGE is in your direction
    asked: bool  # and you have been asked for it
    queued: bool  # it is not, and you have asked for it
    recovering: bool = False  # this comes from one that has failed too


@dataclass(eq=False)
class RaymondRecovery(Raymond):
    messages = (Request, Privilege, Restart, Advise)  # type: ignore[assignment]

    restart_interval: float = setting(15.0)

    # We have come back, and wait until all that was under way is gone.
    resting: bool = False

    # The neighbours whose ADVISE is to come; 0 unless we recover.
    unadvised: Nodes = 0

    # We recover, and know which way the token is.
    found: bool = False

    # The neighbours that recover too, and are still to be told what we know.
    recovering: Nodes = 0

    # The last of them, to which we have pointed.
    pointed: bool = False

    def restart(self) -> None:
        self.holder, self.resting = self.me, True
        self.unadvised = bits(self.topology.neighbours(self.me))
        self.set_timer("restart", self.restart_interval)

    def timer(self, name: str) -> None:
        self.resting = False
        for j in self.topology.neighbours(self.me):
            self.send(j, Restart())
        if not self.unadvised:  # it is alone
            self.end()

    def receive_restart(self, j: NodeId, message: Restart) -> None:
        self.must_be_neighbour(j)
        if not self.unadvised >> j & 1:
            self.advise(j)
            return
        if self.resting:
            return  # it will get ours
        self.recovering |= 1 << j
        if not message.too:
            self.pointed = False
            self.send(j, Restart(True))
        self.go_on()

    def must_be_neighbour(self, j: NodeId) -> None:
        if j not in self.topology.neighbours(self.me):
            raise RemoteError(f"{j} is not a neighbour")

    def advise(self, j: NodeId) -> None:
        yours = self.holder == j
        self.send(j, Advise(yours, yours and self.asked, j in self.request_q))

    # As in Raymond's algorithm, for those that have told what they know

    def receive_request(self, sender: NodeId, message: Request) -> None:
        if not self.unadvised >> sender & 1:
            super().receive_request(sender, message)

    def receive_privilege(self, sender: NodeId, message: Privilege) -> None:
        if not self.unadvised >> sender & 1:
            super().receive_privilege(sender, message)

    def assign_privilege_and_make_request(self) -> None:
        if not self.unadvised:
            super().assign_privilege_and_make_request()

    # Recovery

    def receive_advise(self, j: NodeId, message: Advise) -> None:
        self.must_be_neighbour(j)
        if self.resting or not self.unadvised >> j & 1:
            return  # it is about an earlier failure
        both_point = message.yours and message.recovering and self.pointed
        if message.recovering:
            self.recovering |= 1 << j
        self.unadvised ^= 1 << j
        if not message.yours or (both_point and j < self.me):
            self.find(j, message.queued)
        elif message.asked:
            self.request_q += (j,)
        self.go_on()

    def find(self, j: NodeId, queued: bool) -> None:
        """The token is in the direction of j."""
        if self.found:
            raise RemoteError(f"{j} says that the token is there, and {self.holder} too")
        self.found, self.holder, self.asked = True, j, queued

    def go_on(self) -> None:
        """Tell those that recover too, as soon as we know what."""
        if self.found:
            for j in nodes_in(self.recovering & self.unadvised):
                self.unadvised ^= 1 << j
                self.recovering ^= 1 << j
                self.send(j, Advise(False, False, False, True))
        elif self.unadvised.bit_count() == 1 and not self.pointed:
            for j in nodes_in(self.unadvised & self.recovering):
                self.pointed = True
                self.send(j, Advise(True, False, False, True))
        if not self.unadvised:
            self.end()

    def end(self) -> None:
        """All is known; if nobody has said where the token is, it is here."""
        recovering, self.recovering = self.recovering, 0
        self.found = self.pointed = False
        for j in nodes_in(recovering):
            self.advise(j)
        self.assign_privilege_and_make_request()


ENTRIES = (
    Algorithm(
        name="raymond-recovery",
        peer=RaymondRecovery,
        source="Raymond",
        year=1989,
        family="token",
        messages="≤ 2D, about log N, when nothing fails",
        fifo=True,
        takes="topology",
        default="tree",
        topologies=TREES,
        outlasting=("restart",),
        exhibit=Exhibit(crashes=1, returns=True),
    ),
)
