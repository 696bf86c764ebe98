"""The sessions of the API for other languages, as a pure state machine.

 1. A client opens a *session* with a time to live, and acquires locks in it.  The session's
    id is a secret: a client that knows it may use the session.
 2. Every request that names the session renews it.  If none comes for a time to live, the
    session has expired.  So a client counts its time to live from before it has sent the
    last request that was answered: its deadline is never later than the server's.
 3. A session may be *tied* to the connection that opened it: it ends with that connection.
 4. A *claim* is a request for one lock, named by a key that the client chooses.  To claim
    the same key again changes nothing and answers with the claim as it is.  So a client
    whose connection broke repeats its request, and has kept its place.
 5. A claim is waiting, then held or refused; or busy, if the client did not want to wait.
    A claim that is held may be lost: then another process may hold the lock.  A claim that
    is refused, busy or lost stays until the client drops it, so that the client is notified
    even if its connection was broken meanwhile.  A grant that comes after the client was
    told that the lock is busy does not count: the host gives it back.
 6. A claim ends when the client drops it, and with its session; what it holds is released,
    and what it waits for is given up.  A key may be used again after that.
 7. The numbers of sessions and of claims are limited.

Effects go to the host: `ask` and `drop` for the node, `tell` for the client.  A host calls
`wake` at `wake_at`, on the same clock.  No effect calls an input, except that `ask` may
settle its claim at once, and that `drop` may find that the claim was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple, Protocol

from peerlock.node.terms import Demand

LEAST_TTL, MOST_TTL = 0.1, 3600.0  # seconds


class SessionLimits(NamedTuple):
    sessions: int = 1_000
    claims: int = 1_000  # in a session
    all_claims: int = 10_000


class ClaimPhase(Enum):
    WAITING = "waiting"
    HELD = "held"
    REFUSED = "refused"
    BUSY = "busy"
    LOST = "lost"


class Ending(Enum):
    """Why a session has ended."""

    CLOSED = "closed"  # by its client
    EXPIRED = "expired"
    UNTIED = "its connection has ended"
    SHUT = "the server has ended"


class Unknown(Exception):
    """The session has ended or never existed, or has no such claim."""


class Full(Exception):
    """A limit is reached."""


class Mismatch(Exception):
    """The key names a claim for something else."""


@dataclass(eq=False)
class Claim:
    session: Session
    key: str
    name: str
    demand: Demand
    nonblock: bool  # it would not wait
    phase: ClaimPhase = ClaimPhase.WAITING
    fence: int = 0  # if it is held, or was until it was lost
    reason: str = ""  # if it is refused
    user: object = None  # the host's

    @property
    def is_settled(self) -> bool:
        return self.phase is not ClaimPhase.WAITING


@dataclass(eq=False)
class Session:
    id: str
    ttl: float
    label: str
    tie: Hashable | None  # the connection that it is tied to
    deadline: float
    claims: dict[str, Claim] = field(default_factory=dict)
    ended: Ending | None = None


class SessionEffects(Protocol):
    def ask(self, claim: Claim) -> None:
        """Ask the node for it; `held`, `refused` or `busy` follows."""

    def drop(self, claim: Claim) -> None:
        """The node's user is no longer wanted, in whatever state it is."""

    def tell(self, session: Session, claim: Claim | None) -> None:
        """This claim has changed; None: the session has ended."""


class Sessions:
    def __init__(
        self,
        effects: SessionEffects,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        limits: SessionLimits = SessionLimits(),  # noqa: B008  (a constant)
    ) -> None:
        self._effects = effects
        self._clock = clock
        self._new_id = new_id
        self._limits = limits
        self._sessions: dict[str, Session] = {}
        self._ties: dict[Hashable, set[Session]] = {}
        self._claims = 0
        # A session's entry may be older than its deadline: `wake` puts it in again.
        self._due: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def claims(self) -> int:
        return self._claims

    # What clients want

    def open(self, ttl: float, label: str = "", tie: Hashable | None = None) -> Session:
        self.wake()
        if len(self._sessions) >= self._limits.sessions:
            raise Full("too many sessions: try again later")
        deadline = self._clock() + ttl
        session = Session(self._new_id(), ttl, label, tie, deadline)
        self._sessions[session.id] = session
        if len(self._due) > 2 * self._limits.sessions:  # most of these have ended
            self._due = sorted((s.deadline, s.id) for s in self._sessions.values())
        else:
            heappush(self._due, (deadline, session.id))
        if tie is not None:
            self._ties.setdefault(tie, set()).add(session)
        return session

    def renew(self, id: str) -> Session:  # noqa: A002
        """The session of this id, which has its whole time to live again."""
        session = self._sessions.get(id)
        now = self._clock()
        if session is not None and now >= session.deadline:
            self._end(session, Ending.EXPIRED)
            session = None
        if session is None:
            raise Unknown("no such session: it has ended, and its locks are released")
        session.deadline = now + session.ttl
        return session

    def claim(
        self, session: Session, key: str, name: str, demand: Demand, nonblock: bool = False
    ) -> Claim:
        known = session.claims.get(key)
        if known is not None:
            if (known.name, known.demand) != (name, demand):
                raise Mismatch(f"{key!r} is a claim for something else: use another key")
            return known
        if len(session.claims) >= self._limits.claims:
            raise Full("too many claims in this session: release some")
        if self._claims >= self._limits.all_claims:
            raise Full("too many claims: try again later")
        claim = Claim(session, key, name, demand, nonblock)
        session.claims[key] = claim
        self._claims += 1
        try:
            self._effects.ask(claim)
        except BaseException:  # the node has refused to be asked
            self._forget(claim)
            raise
        return claim

    def find(self, session: Session, key: str) -> Claim:
        try:
            return session.claims[key]
        except KeyError:
            raise Unknown(f"no claim {key!r} in this session") from None

    def drop(self, session: Session, key: str) -> Claim:
        """Release it, or give it up; the claim says what it was until now."""
        claim = self.find(session, key)
        self._effects.drop(claim)
        self._forget(claim)
        return claim

    def close(self, session: Session) -> None:
        self._end(session, Ending.CLOSED)

    def close_all(self) -> None:
        """The server ends."""
        for session in list(self._sessions.values()):
            self._end(session, Ending.SHUT)

    # What the host has to say

    def disconnected(self, tie: Hashable) -> None:
        for session in list(self._ties.get(tie, ())):
            self._end(session, Ending.UNTIED)

    def held(self, claim: Claim, fence: int) -> None:
        self._settle(claim, ClaimPhase.HELD, fence=fence)

    def refused(self, claim: Claim, reason: str) -> None:
        self._settle(claim, ClaimPhase.REFUSED, reason=reason)

    def busy(self, claim: Claim) -> None:
        """Others hold it, or wait for it, and the client does not want to wait."""
        self._settle(claim, ClaimPhase.BUSY)

    def lost(self, claim: Claim) -> None:
        if claim.phase is ClaimPhase.HELD:
            self._change(claim, ClaimPhase.LOST)

    @property
    def wake_at(self) -> float:
        return self._due[0][0] if self._due else inf

    def wake(self) -> None:
        """End the sessions whose time has come."""
        now = self._clock()
        while self._due and self._due[0][0] <= now:
            _, id = heappop(self._due)  # noqa: A001
            session = self._sessions.get(id)
            if session is None:
                continue
            if session.deadline <= now:
                self._end(session, Ending.EXPIRED)
            else:
                heappush(self._due, (session.deadline, id))

    # Inside

    def _settle(
        self, claim: Claim, phase: ClaimPhase, fence: int = 0, reason: str = ""
    ) -> None:
        if not claim.is_settled:
            claim.fence, claim.reason = fence, reason
            self._change(claim, phase)

    def _change(self, claim: Claim, phase: ClaimPhase) -> None:
        if claim.session.claims.get(claim.key) is claim:  # it was not dropped meanwhile
            claim.phase = phase
            self._effects.tell(claim.session, claim)

    def _forget(self, claim: Claim) -> None:
        del claim.session.claims[claim.key]
        self._claims -= 1

    def _end(self, session: Session, why: Ending) -> None:
        session.ended = why
        del self._sessions[session.id]
        if session.tie is not None:
            tied = self._ties[session.tie]
            tied.discard(session)
            if not tied:
                del self._ties[session.tie]
        claims = list(session.claims.values())
        for claim in claims:
            self._forget(claim)
        for claim in claims:
            self._effects.drop(claim)
        self._effects.tell(session, None)
