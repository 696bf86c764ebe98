"""Chaudhuri, 1991: a mesh whose rows take turns, and in each row the nodes.

    P. Chaudhuri.  Optimal Algorithm for Mutual Exclusion in Mesh-Connected Computer
    Networks.  Computer Communications 14, 1991, 627-632; here after section 2 of Chaudhuri
    and Edward.

The nodes form a mesh of √n rows, and rows and columns are closed to rings.  One row is
privileged: token(i, j) is 1 at all its nodes, and the PRIVILEGE goes round it, from node to
node, letting in each that wants to enter.  In every other row one node (i, q) has token(i,
q) = 0: the row's gate, no two in one column.  When a row wants the PRIVILEGE its gate asks
down its column.  The gate's token is then interchanged with that of the privileged row in
the same column: (p, q) is the gate of the row that was privileged, and the PRIVILEGE comes
down column q and begins its round of row i.

    messages      3√n to 4√n per entry when nobody competes, 3.5√n on average, fewer in the
                  privileged row; √n rounded up where n is not a square; towards 4 when all
                  compete
    delay         one PRIVILEGE to the next node of the row, at most 3√n to another row's
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the privilege must not be lost
    fairness      round robin in a row; rows as the PRIVILEGE hears of them

Where this file departs from the source, and why:
  * The source is one paragraph in another paper, so this is rebuilt from it: how a row
    asks, how the privileged one is found, where the PRIVILEGE rests.  With messages that go
    one way round each ring the counts come out.  A REQUEST goes a steps along the row to
    the gate, a CALL b steps down the column, a NOTE c steps along the privileged row to
    where the PRIVILEGE rests; the PRIVILEGE closes that row's ring with √n - c steps and
    the column's with √n - b, and goes once round the new row, where it comes to rest.  That
    is 3√n + a, and a is √n/2 on average.  When all compete each node's REQUEST goes one
    step, as the next node has asked as well, and √n entries cost 4√n messages.
  * Rounds are numbered, and the PRIVILEGE knows each row's latest one.  A REQUEST or a CALL
    names the latest round that its node or row has seen, so that all know whether it has
    been answered.  Messages that overtake one another then do no harm.
  * A CALL leaves its word at every node that it passes, for the PRIVILEGE to find on its
    round, and goes once down the column at most.  A NOTE that does not find the PRIVILEGE
    in the row any more comes round to its column, and the CALL continues.
  * Any n will do: rows have ⌈√n⌉ nodes, the last one what is left.  Its last node stands in
    for those that it lacks, in their columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import isqrt

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, fixed


@dataclass(frozen=True)
class Mesh:
    """Rows and columns are numbered from 0; nodes from 1, row by row."""

    nodes: int

    @property
    def width(self) -> int:
        return isqrt(self.nodes - 1) + 1

    @property
    def rows(self) -> int:
        return -(-self.nodes // self.width)

    def row(self, node: NodeId) -> int:
        return (node - 1) // self.width

    def length(self, row: int) -> int:
        return min(self.width, self.nodes - row * self.width)

    def at(self, row: int, column: int) -> NodeId:
        """The node there, or the last one of a short row, which stands in."""
        return row * self.width + min(column, self.length(row) - 1) + 1

    def columns(self, node: NodeId) -> range:
        """Where it stands, and where it stands in."""
        row, first = self.row(node), (node - 1) % self.width
        last = first == self.length(row) - 1
        return range(first, self.width if last else first + 1)

    def right(self, node: NodeId) -> NodeId:
        row, column = self.row(node), (node - 1) % self.width
        return self.at(row, (column + 1) % self.length(row))

    def down(self, node: NodeId, column: int) -> NodeId:
        return self.at((self.row(node) + 1) % self.rows, column)


@lru_cache
def mesh(nodes: int) -> Mesh:
    return Mesh(nodes)


@dataclass(frozen=True, slots=True)
class Request:
    """Along the row: a node wants in that round `round` was the last to pass."""

    round: int


@dataclass(frozen=True, slots=True)
class Call:
    """Down the column: `row` wants the PRIVILEGE, and had round `round` last."""

    row: int
    round: int
    column: int


@dataclass(frozen=True, slots=True)
class Note:
    """Along the row that seems to be privileged: there is this call."""

    row: int
    round: int
    column: int
    stay: int  # the latest round of the row that is told


@dataclass(frozen=True, slots=True)
class Privilege:
    round: int
    rounds: tuple[int, ...]  # the latest one of each row
    queue: tuple[tuple[int, int], ...]  # rows that wait, and the columns of their gates
    leaving: bool = False  # it is on its way to the first of these
    wanted: int = -1  # and its old row wants it again, having had this round


@dataclass(eq=False)
class Chaudhuri91(Peer):
    messages = (Request, Call, Note, Privilege)

    mesh: Mesh = fixed(init=False)
    row: int = fixed(init=False)
    columns: range = fixed(init=False)

    # True from our request until our release, the critical section included.
    requesting: bool = False

    # The privilege while we are inside, or while it rests here.
    privilege: Privilege | None = None

    # True at the node of the privileged row where rounds begin and end.
    home: bool = False

    # The column in which our token is 0; -1 if it is 1, as at all nodes but a row's gate.
    gate: int = -1

    # The round that passed us last, and each row's latest at that time.
    passed: int = 0
    rounds: tuple[int, ...] = ()

    # The round after which, as we know, a node of our row wants another one; and the one
    # after which the privilege has left it, or will.
    asked: int = -1
    left: int = 0

    # The latest call in each of our columns, round and row, or -1 and -1.  A later one has
    # a higher round: that of the row which had the privilege after the earlier caller.
    calls: tuple[tuple[int, int], ...] = ()

    # At home: calls that the privilege has not picked up on its round.
    notes: tuple[Call, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mesh = mesh(len(self.members))
        self.row, self.columns = self.mesh.row(self.me), self.mesh.columns(self.me)
        self.rounds = (1, *(0,) * (self.mesh.rows - 1))
        self.calls = ((-1, -1),) * len(self.columns)
        if self.row == 0:
            self.passed = 1
            self.home = self.me == 1
            self.privilege = Privilege(1, self.rounds, ()) if self.home else None
        elif self.row - 1 in self.columns:
            self.gate = self.row - 1

    # Inputs

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.privilege is not None:
            self.grant()
        elif not self.home:
            self.ask(self.passed)

    def release(self) -> None:
        assert self.requesting and self.privilege is not None

        self.requesting = False
        if self.home:
            self.at_home(self.privilege)
        else:
            self.pass_right(self.privilege)

    def receive_request(self, sender: NodeId, message: Request) -> None:
        self.must_be_left(sender)
        self.ask(message.round)

    def receive_call(self, sender: NodeId, message: Call) -> None:
        if message.column not in self.columns or message.row == self.row:
            raise RemoteError(f"{sender} calls in a column that is not ours")
        self.must_be_above(sender, message.column)
        if message.round < self.rounds[message.row]:
            return  # answered
        place = message.column - self.columns[0]
        latest = max(self.calls[place], (message.round, message.row))
        self.calls = (*self.calls[:place], latest, *self.calls[place + 1 :])
        if self.passed > self.left:
            self.note(message)
        else:
            self.pass_down(message)

    def receive_note(self, sender: NodeId, message: Note) -> None:
        self.must_be_left(sender)
        call = Call(message.row, message.round, message.column)
        if self.home:
            self.keep(call)
            return
        self.left = max(self.left, message.stay)
        if message.column in self.columns:
            self.pass_down(call)
        else:
            self.send(self.mesh.right(self.me), message)

    def receive_privilege(self, sender: NodeId, message: Privilege) -> None:
        if self.privilege is not None:
            raise RemoteError(f"{sender} sends a second privilege")
        if message.leaving and self.mesh.row(sender) != self.row:
            self.must_be_above(sender, message.queue[0][1])
            self.from_another_row(message)
            return
        self.must_be_left(sender)
        if message.leaving:
            self.on_its_way_out(message)
        elif self.home:
            self.at_home(message)
        else:
            self.on_its_round(message)

    def must_be_left(self, sender: NodeId) -> None:
        if self.mesh.right(sender) != self.me:
            raise RemoteError(f"{sender} is not the node to the left")

    def must_be_above(self, sender: NodeId, column: int) -> None:
        if self.mesh.down(sender, column) != self.me:
            raise RemoteError(f"{sender} is not the node above us in column {column}")

    # Asking

    def ask(self, seen: int) -> None:
        """A node of our row wants a round after `seen`, as far as that is news."""
        if seen < self.passed or seen <= self.asked:
            return
        self.asked = seen
        if self.home:
            self.look_again()
        elif self.gate >= 0:
            self.call()
        else:
            self.pass_request(seen)

    def pass_request(self, seen: int) -> None:
        self.send(self.mesh.right(self.me), Request(seen))

    def call(self) -> None:
        self.pass_down(Call(self.row, self.passed, self.gate))

    def pass_down(self, call: Call) -> None:
        below = self.mesh.down(self.me, call.column)
        if self.mesh.row(below) != call.row:
            self.send(below, call)

    def note(self, call: Call) -> None:
        """The privilege has passed us, and may rest somewhere in our row."""
        if self.home:
            self.keep(call)
        else:
            self.left = self.passed
            note = Note(call.row, call.round, call.column, self.passed)
            self.send(self.mesh.right(self.me), note)

    def keep(self, call: Call) -> None:
        self.notes += (call,)
        self.look_again()

    def look_again(self) -> None:
        if self.privilege is not None and not self.requesting:
            self.at_home(self.privilege)

    # The privilege

    def on_its_round(self, privilege: Privilege) -> None:
        privilege = self.pick_up(privilege)
        if self.requesting:
            self.privilege = privilege
            self.grant()
        else:
            self.pass_right(privilege)

    def pick_up(self, privilege: Privilege) -> Privilege:
        """It passes: take the calls of our columns along."""
        self.passed, self.rounds = privilege.round, privilege.rounds
        calls = zip(self.calls, self.columns, strict=True)
        return queued(privilege, [Call(row, seen, q) for (seen, row), q in calls])

    def pass_right(self, privilege: Privilege) -> None:
        self.privilege = None
        self.send(self.mesh.right(self.me), privilege)

    def at_home(self, privilege: Privilege) -> None:
        """Between two rounds: our own turn, then other rows, then another round."""
        self.privilege = queued(privilege, self.notes)
        self.notes = ()
        if self.requesting:
            self.grant()
        elif self.privilege.queue:
            self.leave(self.privilege)
        elif self.asked >= self.passed:
            self.begin_round(self.privilege)

    def begin_round(self, privilege: Privilege) -> None:
        number = privilege.round + 1
        rounds = privilege.rounds
        rounds = (*rounds[: self.row], number, *rounds[self.row + 1 :])
        privilege = self.pick_up(Privilege(number, rounds, privilege.queue))
        if self.mesh.right(self.me) == self.me:
            self.at_home(privilege)
        else:
            self.pass_right(privilege)

    def leave(self, privilege: Privilege) -> None:
        """Along the row, and once round it if the gate is here, so that all know of it."""
        self.home, self.left = False, self.passed
        wanted = self.asked if self.asked >= self.passed else -1
        privilege = replace(privilege, leaving=True, wanted=wanted)
        if self.mesh.right(self.me) == self.me:
            self.go_down(privilege)
        else:
            self.pass_right(privilege)

    def on_its_way_out(self, privilege: Privilege) -> None:
        self.left = self.passed
        if privilege.queue[0][1] in self.columns:
            self.go_down(privilege)
        else:
            self.pass_right(privilege)

    def go_down(self, privilege: Privilege) -> None:
        """The other row has its gate in this column, and from now on ours has."""
        self.privilege, self.gate = None, privilege.queue[0][1]
        self.asked = max(self.asked, privilege.wanted)
        self.send_down(privilege)
        if self.asked >= self.passed:
            self.call()

    def from_another_row(self, privilege: Privilege) -> None:
        if privilege.queue[0][0] != self.row:
            self.send_down(privilege)
            return
        self.gate, self.home = -1, True
        self.begin_round(replace(privilege, queue=privilege.queue[1:]))

    def send_down(self, privilege: Privilege) -> None:
        self.send(self.mesh.down(self.me, privilege.queue[0][1]), privilege)


def queued(privilege: Privilege, calls: list[Call] | tuple[Call, ...]) -> Privilege:
    """With the rows whose calls have not been answered yet."""
    queue = privilege.queue
    for call in calls:
        waits = call.row >= 0 and privilege.rounds[call.row] == call.round
        if waits and call.row not in dict(queue):
            queue += ((call.row, call.column),)
    return replace(privilege, queue=queue)


ENTRIES = (
    Algorithm(
        name="chaudhuri-91",
        peer=Chaudhuri91,
        source="Chaudhuri",
        year=1991,
        family="token",
        messages="3.5√N light, 4 heavy",
        serves=("lock",),
    ),
)
