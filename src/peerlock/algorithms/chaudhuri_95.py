"""Chaudhuri, 1995: the mesh whose rows take turns, with links along whole rows and columns.

    P. Chaudhuri.  An Algorithm for Distributed Mutual Exclusion.  Information and Software
    Technology 37, 1995, 375-381; here after section 2 of Chaudhuri and Edward.

As in the mesh of 1991 one row is privileged, the PRIVILEGE goes round it, and every other
row has one token that is 0, at its gate, in a column of its own.  But each node is linked
with all nodes of its row and its column.  So a node sends its REQUEST straight to where it
believes the gate to be, the gate's CALL goes to its whole column at once, and the PRIVILEGE
comes to the gate in one step.

    messages      3√n + 1 per entry when nobody competes, √n + 1 in the privileged row, 0
                  where the privilege rests; where n is not a square at most that, √n
                  rounded up; about 4 when all compete
    delay         one PRIVILEGE to the next node of the row, at most 2√n to another row's
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the privilege must not be lost
    fairness      round robin in a row; rows as the PRIVILEGE hears of them

Where this file departs from the source, and why:
  * The source is one sentence in another paper, so this is rebuilt from it: the mesh of
    1991 with what the links make shorter.  One REQUEST, √n - 1 CALLs, √n messages along the
    row that is left (a NOTE to find the PRIVILEGE, and the PRIVILEGE on its way out, by
    which all its nodes know), one step in the column, and a round of √n: 3√n + 1.
  * The source gives √n messages when all compete.  That is what a REQUEST to the whole row
    and one PRIVILEGE would cost.  Here a REQUEST goes to one node, and about 4
    messages are enough, fewer than √n for n > 16.  REQUESTs to the whole row would cost √n
    more when nobody competes, too.
  * A REQUEST that does not find the gate goes along the row to look for it, once round at
    most: then every node knows of it, among them the next gate.
  * For numbers of rounds, and any n, see the mesh of 1991.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.chaudhuri_91 import Call, Chaudhuri91, Note, Privilege
from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, RemoteError


@dataclass(frozen=True, slots=True)
class Request:
    """A node wants in that round `round` was the last to pass."""

    round: int
    origin: NodeId = 0  # where it began to look for the gate; 0 if it comes straight


@dataclass(eq=False)
class Chaudhuri95(Chaudhuri91):
    messages = (Request, Call, Note, Privilege)  # type: ignore[assignment]  # our own REQUEST

    # Where we believe our row's gate to be; the privilege comes in by it, and rests there.
    front: NodeId = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.front = self.mesh.at(self.row, max(self.row - 1, 0))

    # Requests

    def pass_request(self, seen: int) -> None:
        if self.front == self.me:
            self.look_for_gate(Request(seen))
        else:
            self.send(self.front, Request(seen))

    def receive_request(self, sender: NodeId, message: Request) -> None:  # type: ignore[override]
        if self.mesh.row(sender) != self.row:
            raise RemoteError(f"{sender} is of another row")
        if self.home or self.gate >= 0:
            self.ask(message.round)
        elif message.round >= self.passed:
            self.asked = max(self.asked, message.round)
            self.look_for_gate(message)

    def look_for_gate(self, request: Request) -> None:
        origin, right = request.origin or self.me, self.mesh.right(self.me)
        if right != origin:
            self.send(right, Request(request.round, origin))

    # Calls

    def call(self) -> None:
        call = Call(self.row, self.passed, self.gate)
        for row in range(self.mesh.rows):
            if row != self.row:
                self.send(self.mesh.at(row, self.gate), call)

    def pass_down(self, call: Call) -> None:
        """It went to the whole column."""

    def must_be_above(self, sender: NodeId, column: int) -> None:
        if self.mesh.at(self.mesh.row(sender), column) != sender:
            raise RemoteError(f"{sender} is not of column {column}")

    def receive_note(self, sender: NodeId, message: Note) -> None:
        super().receive_note(sender, message)
        self.gate_will_be(message.column)

    def note(self, call: Call) -> None:
        super().note(call)
        self.gate_will_be(call.column)

    # The privilege

    def leave(self, privilege: Privilege) -> None:
        super().leave(privilege)
        self.gate_will_be(privilege.queue[0][1])

    def on_its_way_out(self, privilege: Privilege) -> None:
        super().on_its_way_out(privilege)
        self.gate_will_be(privilege.queue[0][1])

    def gate_will_be(self, column: int) -> None:
        self.front = self.mesh.at(self.row, column)

    def send_down(self, privilege: Privilege) -> None:
        self.send(self.mesh.at(*privilege.queue[0]), privilege)


ENTRIES = (
    Algorithm(
        name="chaudhuri-95",
        peer=Chaudhuri95,
        source="Chaudhuri",
        year=1995,
        family="token",
        messages="3√N light, √N heavy (here about 4)",
        serves=("lock",),
    ),
)
