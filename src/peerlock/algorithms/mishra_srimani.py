"""Mishra and Srimani, 1990: Suzuki and Kasami's token, made anew when a node fails.

    S. Mishra, P. K. Srimani.  Fault-Tolerant Mutual Exclusion Algorithms.
    Journal of Systems and Software 11(2), February 1990, 111-129; here after the survey
    of Velazquez.

As in Suzuki and Kasami's algorithm, a node that wants the PRIVILEGE sends all others its
n-th REQUEST; and it sets a time-out.  If that runs out it asks all others with a
PRIVILEGE_CHECK where the PRIVILEGE is.  The node that has it answers REP_CRITICAL, and it
was a FALSE_ALARM; all others answer NO_CRIT.  If no node has it, and at most one node is
silent, that one has failed and the PRIVILEGE with it: CREATE_PRIVILEGE asks the others for
an UPDATE of what they know, a new PRIVILEGE is made of that, and a SYSTEM_RECOVERED ends
it.

Of several that check at a time the lowest node continues.  A PRIVILEGE says how many were
made before it and by whom it was made; a node discards one that is older than the newest
it knows of, so that duplicates, should there be any, come to an end.

    messages      N per entry, 0 at the node that has the token; a false alarm costs
                  3(N-1) more, a new token at most 5(N-1) more
    delay         one PRIVILEGE from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another; a bound on
                  delay, a third of the time for answers
    failures      one node may stop for ever, with the token or without
    fairness      no node waits for ever; those that wait when a node leaves are queued
                  in the order of their numbers

Where this file departs from the survey, and why:
  * The survey has delays finite but unpredictable, and the token made anew as soon as
    N-2 NO_CRIT are there.  Then the last answer, still under way, can be that of the
    node inside.  Here answers are awaited for a time in which all can arrive.
  * A node that has answered NO_CRIT and gets the token afterwards answers REP_CRITICAL too,
    as in Naimi and Trehel's algorithm; otherwise a token under way would not be found.  So
    does the lower of two that check, which must not quite ignore the higher one's check.
  * A node that times out while another checks waits for that one's word; but only once.
    The other may be the node that fails, and the token may go to it later.
  * A node may answer NO_CRIT and fail then, as the token comes to it; so an UPDATE too is
    awaited for a time only, and one may be missing.
  * An UPDATE brings the numbers of all REQUESTs seen, so that the new token counts every
    request of the failed node as granted and never goes to it.
  * Numbers of requests are not bounded here: `mishra-srimani-bounded` bounds them.
  * It is for the lab: a lock node learns from its cluster which members have failed, and
    forms the circle of a name anew; a second recovery below that has no use.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms import suzuki_kasami
from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.algorithms.suzuki_kasami import Request, SuzukiKasami, replaced
from peerlock.core.bits import Nodes, nodes_in
from peerlock.core.peer import NodeId, RemoteError, setting

Version = tuple[int, NodeId]  # how many tokens were made before, and who made this one


@dataclass(frozen=True, slots=True)
class Privilege(suzuki_kasami.Privilege):
    version: Version


@dataclass(frozen=True, slots=True)
class PrivilegeCheck:
    pass


@dataclass(frozen=True, slots=True)
class RepCritical:
    pass


@dataclass(frozen=True, slots=True)
class NoCrit:
    pass


@dataclass(frozen=True, slots=True)
class FalseAlarm:
    pass


@dataclass(frozen=True, slots=True)
class CreatePrivilege:
    version: Version


@dataclass(frozen=True, slots=True)
class Update:
    requested: tuple[int, ...]  # RN
    waiting: bool  # for its own latest request to be granted


@dataclass(frozen=True, slots=True)
class SystemRecovered:
    pass


@dataclass(eq=False)
class MishraSrimani(SuzukiKasami):
    messages = (  # type: ignore[assignment]  # more of them
        Request,
        Privilege,
        PrivilegeCheck,
        RepCritical,
        NoCrit,
        FalseAlarm,
        CreatePrivilege,
        Update,
        SystemRecovered,
    )

    time_out: float = setting()  # for the token; unless given, 20 for each node
    time_for_answers: float = setting(15.0)

    # The newest token that we know of.
    version: Version = (0, 0)

    # We have sent a PRIVILEGE_CHECK and wait for answers.
    checking: bool = False

    # The nodes that have answered it with NO_CRIT; kept until our new token is complete.
    no_crit: Nodes = 0

    # A node has answered it with REP_CRITICAL.
    found: bool = False

    # Whose PRIVILEGE_CHECK we know of, and neither its end nor that we had the token.
    checks: Nodes = 0

    # We timed out while another checked, and left it to that one.
    put_off: bool = False

    # While we make a new token: whose UPDATE is still to come.
    expected: Nodes = 0

    # … and what we have heard so far of its LN.
    granted: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time_out is None:
            self.time_out = 20.0 * len(self.members)
        if self.privilege is not None:
            self.privilege = Privilege((), self.requested, self.version)

    # As in Suzuki and Kasami's algorithm

    def acquire(self) -> None:
        super().acquire()
        if self.privilege is None:
            self.set_timer("token", self.time_out)

    def hand_over(self, queue: tuple[NodeId, ...], granted: tuple[int, ...]) -> None:
        """Queue all that wait, and send the token to the first one, if it is valid."""
        assert isinstance(self.privilege, Privilege)
        version = self.privilege.version
        self.privilege = None
        if version < self.version:
            return
        queue = self.queued(queue, granted)
        token = Privilege(queue, granted, version)
        if queue:
            self.send(queue[0], token)
        else:
            self.privilege = token

    def receive_privilege(self, sender: NodeId, message: suzuki_kasami.Privilege) -> None:
        assert isinstance(message, Privilege)
        if message.version < self.version:
            return  # a duplicate
        if not self.requesting or self.me not in message.queue:
            raise RemoteError(f"{sender} sends the token, for which we have not asked")
        if self.privilege is not None and message.version == self.version:
            raise RemoteError(f"{sender} sends a second token")
        self.version = message.version
        self.take(message)

    def take(self, token: Privilege) -> None:
        """After a check perhaps, and maybe while we are inside with an older one."""
        inside = self.privilege is not None
        queue = tuple(j for j in token.queue if j != self.me)
        self.privilege = Privilege(queue, token.granted, token.version)
        for j in nodes_in(self.checks):
            self.send(j, RepCritical())
        self.checks = 0
        if self.checking:
            self.stop_checking()
            self.broadcast(FalseAlarm())
        self.put_off = False
        self.cancel_timer("token")
        if not inside:
            self.grant()

    # The token does not come

    def timer(self, name: str) -> None:
        if name == "token":
            self.suspect()
        elif self.checking:
            self.conclude()
        else:
            self.recover()

    def suspect(self) -> None:
        if self.checks and not self.put_off:
            self.put_off = True
            self.set_timer("token", self.time_out)
            return
        self.checking, self.no_crit, self.found = True, 0, False
        self.broadcast(PrivilegeCheck())
        self.set_timer("answers", self.time_for_answers)

    def conclude(self) -> None:
        """All answers that will come are there."""
        if self.found:
            self.broadcast(FalseAlarm())
        elif self.no_crit.bit_count() >= len(self.members) - 2:
            self.create()
            return
        self.stop_checking()
        self.wait_again()

    def stop_checking(self) -> None:
        self.checking, self.no_crit, self.found = False, 0, False
        self.cancel_timer("answers")

    def wait_again(self) -> None:
        self.put_off = False
        self.set_timer("token", self.time_out)

    def receive_privilege_check(self, j: NodeId, message: PrivilegeCheck) -> None:
        if self.privilege is not None or self.expected:
            self.send(j, RepCritical())
            return
        self.checks |= 1 << j
        if self.checking:
            if j > self.me:
                return
            self.stop_checking()
            self.wait_again()
        self.send(j, NoCrit())

    def receive_rep_critical(self, j: NodeId, message: RepCritical) -> None:
        if self.checking:
            self.found = True

    def receive_no_crit(self, j: NodeId, message: NoCrit) -> None:
        if self.checking:
            self.no_crit |= 1 << j

    def receive_false_alarm(self, j: NodeId, message: FalseAlarm) -> None:
        self.another_has_ended(j)

    def receive_system_recovered(self, j: NodeId, message: SystemRecovered) -> None:
        self.another_has_ended(j)

    def another_has_ended(self, j: NodeId) -> None:
        """A node that left it to that one begins its time-out anew."""
        self.checks &= ~(1 << j)
        if self.put_off:
            self.wait_again()

    # A new token

    def create(self) -> None:
        """The others are asked what they know; a node that is silent wants nothing."""
        self.version = (self.version[0] + 1, self.me)
        self.granted = self.requested
        self.checking, self.expected, self.checks = False, self.no_crit, 0
        for j in nodes_in(self.expected):
            self.send(j, CreatePrivilege(self.version))
        self.set_timer("answers", self.time_for_answers)
        if not self.expected:
            self.recover()

    def receive_create_privilege(self, j: NodeId, message: CreatePrivilege) -> None:
        if message.version <= self.version:
            return  # older than what we know of
        self.version = message.version
        if self.checking or self.expected:
            self.stop_checking()
            self.wait_again()
        self.expected, self.granted, self.checks = 0, (), 1 << j
        waiting = self.requesting and self.privilege is None
        if not self.requesting:
            self.privilege = None
        self.send(j, Update(self.requested, waiting))

    def receive_update(self, j: NodeId, message: Update) -> None:
        if not self.expected >> j & 1:
            return
        self.expected ^= 1 << j
        self.requested = tuple(map(self.later, self.requested, message.requested))
        number = message.requested[j - 1]
        granted = self.before(number) if message.waiting else number
        self.granted = replaced(self.granted, j, granted)
        if not self.expected:
            self.recover()

    def later(self, one: int, other: int) -> int:
        return max(one, other)

    def before(self, number: int) -> int:
        return number - 1

    def recover(self) -> None:
        """All that will tell have told."""
        told = self.no_crit & ~self.expected
        granted = tuple(
            self.granted[j - 1] if told >> j & 1 else self.requested[j - 1]
            for j in self.members
        )
        self.stop_checking()
        self.expected, self.granted = 0, ()
        if told.bit_count() < len(self.members) - 2:
            self.wait_again()
            return
        self.broadcast(SystemRecovered())
        self.take(Privilege((), granted, self.version))


@dataclass(eq=False)
class MishraSrimaniHasty(MishraSrimani):
    """Takes N-2 NO_CRIT for enough: the last answer may be that of the node inside.

    The survey describes it so, with delays that nobody can predict.
    """

    def receive_no_crit(self, j: NodeId, message: NoCrit) -> None:
        super().receive_no_crit(j, message)
        if self.checking and self.no_crit.bit_count() == len(self.members) - 2:
            self.conclude()


ENTRIES = (
    Algorithm(
        name="mishra-srimani",
        peer=MishraSrimani,
        source="Mishra, Srimani",
        year=1990,
        family="token",
        messages="0 or N when nothing fails",
        outlasting=("token", "answers"),
        exhibit=Exhibit(crashes=1),
    ),
    Algorithm(
        name="mishra-srimani-hasty",
        peer=MishraSrimaniHasty,
        source="Mishra, Srimani; Velazquez",
        year=1993,
        family="museum",
        messages="0 or N when nothing fails",
        outlasting=("token", "answers"),
        verdict="exclusion",
        quotes=(
            Quotation(
                "velazquez-1993-survey",
                "section 4, Mishra-Srimani",
                "when it receives no REP_CRITICAL messages and N-2 NO_CRIT messages … "
                "transfer delays are finite but unpredictable",
            ),
        ),
    ),
)
