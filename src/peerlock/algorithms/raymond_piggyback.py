"""Raymond, 1989, with the request for the token's return on the token itself.

    K. Raymond.  A Tree-Based Algorithm for Distributed Mutual Exclusion.
    ACM Transactions on Computer Systems 7(1), February 1989, 61-77; here after the
    survey of Velazquez, 1993, which proposes to piggyback.

Raymond's algorithm.  A node that sends the PRIVILEGE on while others are in its queue asks
for it back at once.  Here both go in one message.

    messages      at most 2D per entry, D the tree's diameter; when all compete 2 on a line,
                  about 2.5 on a binary tree and 3 on a star, and not 4
    delay         the way from the leaving node to the next, D messages at most
    network       no loss, no duplicates; messages may overtake one another
    failures      none here
    fairness      first come, first served at every node; no node waits for ever

Where this file departs from the source, and why:
  * The survey says that "a piggyback strategy could be used", and not what goes with what.
    It is the one REQUEST that is sent at the same time and to the same node as a PRIVILEGE.
  * A PRIVILEGE_REQUEST is taken as the REQUEST first and the PRIVILEGE then.  In the other
    order the receiver might send the token on, and a REQUEST after it.
  * It is for the lab: a lock node sends all that it has for another node in one batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.raymond import (
    PRIVILEGE,
    REQUEST,
    Privilege,
    Raymond,
    Request,
)
from peerlock.core.peer import NodeId, RemoteError
from peerlock.core.topology import TREES


@dataclass(frozen=True, slots=True)
class PrivilegeRequest:
    """The token, and we want it back."""


PRIVILEGE_REQUEST = PrivilegeRequest()


@dataclass(eq=False)
class RaymondPiggyback(Raymond):
    messages = (Request, Privilege, PrivilegeRequest)  # type: ignore[assignment]

    def receive_privilege_request(self, sender: NodeId, message: PrivilegeRequest) -> None:
        if sender in self.request_q or sender != self.holder or not self.asked:
            raise RemoteError(f"{sender} asks twice, or sends what we did not ask it for")
        self.request_q += (sender,)
        self.receive_privilege(sender, PRIVILEGE)

    def assign_privilege_and_make_request(self) -> None:
        if self.holder != self.me:
            if self.request_q and not self.asked:
                self.asked = True
                self.send(self.holder, REQUEST)
        elif self.request_q and not self.using:
            self.holder, *rest = self.request_q
            self.request_q = tuple(rest)
            self.enter_or_send()

    def enter_or_send(self) -> None:
        if self.holder == self.me:
            self.using = True
            self.grant()
        else:
            self.asked = bool(self.request_q)
            self.send(self.holder, PRIVILEGE_REQUEST if self.asked else PRIVILEGE)


ENTRIES = (
    Algorithm(
        name="raymond-piggyback",
        peer=RaymondPiggyback,
        source="Raymond",
        year=1989,
        family="token",
        messages="≤ 2D, about log N; 2 to 3 heavy",
        takes="topology",
        default="tree",
        topologies=TREES,
    ),
)
