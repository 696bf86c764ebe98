"""The sessions of the API in virtual time, by the rules at the top of `sessions.py`."""

import random
from math import inf

import pytest

from peerlock.node.terms import demand
from peerlock.serve.sessions import (
    Claim,
    ClaimPhase,
    Ending,
    Full,
    Mismatch,
    Session,
    SessionLimits,
    Sessions,
    Unknown,
)

LOCK = demand("", 0, False)
SHARED = demand("", 0, True)


class House:
    """A node with one lock for each name, first come, first served."""

    def __init__(self, **limits: int) -> None:
        self.now = 0.0
        self.queues: dict[str, list[Claim]] = {}
        self.told: list[tuple[str, str]] = []  # session id; the state of a claim, or "end"
        self.fence = 0
        ids = iter(f"s{n}" for n in range(1_000_000))
        self.sessions = Sessions(
            self, lambda: self.now, lambda: next(ids), SessionLimits(**limits)
        )

    def ask(self, claim: Claim) -> None:
        self.queues.setdefault(claim.name, []).append(claim)
        if claim.nonblock and len(self.queues[claim.name]) > 1:
            self.queues[claim.name].remove(claim)
            self.sessions.busy(claim)
        self._let_in(claim.name)

    def drop(self, claim: Claim) -> None:
        if claim in self.queues[claim.name]:
            self.queues[claim.name].remove(claim)
        self._let_in(claim.name)

    def tell(self, session: Session, claim: Claim | None) -> None:
        self.told.append((session.id, claim.phase.value if claim else "end"))

    def _let_in(self, name: str) -> None:
        first = self.queues[name][:1]
        if first and not first[0].is_settled:
            self.fence += 1
            self.sessions.held(first[0], self.fence)

    def holder(self, name: str) -> Claim | None:
        return next(
            (c for c in self.queues.get(name, ()) if c.phase is ClaimPhase.HELD), None
        )


@pytest.fixture
def house() -> House:
    return House()


def test_a_session_expires_when_no_request_comes_for_its_time_to_live(house: House) -> None:
    sessions = house.sessions
    session = sessions.open(10.0)
    claim = sessions.claim(session, "x", "x", LOCK)
    for house.now in (9.0, 18.0):
        sessions.wake()
        assert sessions.renew(session.id) is session
    assert house.holder("x") is claim
    house.now = 27.999
    sessions.wake()
    assert house.holder("x") is claim
    house.now = sessions.wake_at
    assert house.now == 28.0
    sessions.wake()
    assert house.holder("x") is None
    assert session.ended is Ending.EXPIRED
    assert house.told == [("s0", "held"), ("s0", "end")]
    with pytest.raises(Unknown):
        sessions.renew(session.id)
    assert (len(sessions), sessions.claims, sessions.wake_at) == (0, 0, inf)


def test_a_request_after_the_deadline_comes_too_late_even_if_no_timer_rang(
    house: House,
) -> None:
    session = house.sessions.open(1.0)
    house.sessions.claim(session, "x", "x", LOCK)
    house.now = 1.0
    with pytest.raises(Unknown, match="ended"):
        house.sessions.renew(session.id)
    assert house.holder("x") is None


def test_a_claim_that_is_repeated_keeps_its_place(house: House) -> None:
    sessions = house.sessions
    first, second, third = (sessions.open(10.0) for _ in range(3))
    sessions.claim(first, "x", "x", LOCK)
    waiting = sessions.claim(second, "mine", "x", LOCK)
    sessions.claim(third, "x", "x", LOCK)
    assert sessions.claim(second, "mine", "x", LOCK) is waiting
    assert not waiting.is_settled
    sessions.drop(first, "x")
    assert house.holder("x") is waiting
    assert waiting.fence == 2


def test_a_key_is_for_one_lock_and_may_be_used_again(house: House) -> None:
    session = house.sessions.open(10.0)
    house.sessions.claim(session, "k", "x", LOCK)
    for name, wanted in (("y", LOCK), ("x", SHARED)):
        with pytest.raises(Mismatch):
            house.sessions.claim(session, "k", name, wanted)
    house.sessions.drop(session, "k")
    with pytest.raises(Unknown, match="no claim 'k'"):
        house.sessions.drop(session, "k")
    house.sessions.claim(session, "k", "y", LOCK)
    assert house.holder("y") is session.claims["k"]


def test_a_tied_session_ends_with_its_connection_at_once(house: House) -> None:
    sessions = house.sessions
    tied = [sessions.open(10.0, tie="this") for _ in range(2)]
    other, free = sessions.open(10.0, tie="that"), sessions.open(10.0)
    sessions.claim(tied[0], "x", "x", LOCK)
    waiting = sessions.claim(free, "x", "x", LOCK)
    sessions.disconnected("this")
    assert [session.ended for session in (*tied, other, free)] == [
        *(Ending.UNTIED, Ending.UNTIED),
        *(None, None),
    ]
    assert house.holder("x") is waiting
    sessions.disconnected("this")  # again, and nothing happens
    sessions.close(other)
    sessions.disconnected("that")
    assert len(sessions) == 1


def test_a_loss_stays_until_the_client_has_seen_it(house: House) -> None:
    session = house.sessions.open(10.0)
    claim = house.sessions.claim(session, "x", "x", LOCK)
    house.sessions.lost(claim)
    assert house.told[-1] == ("s0", "lost")
    assert house.sessions.find(session, "x").phase is ClaimPhase.LOST
    assert house.sessions.claim(session, "x", "x", LOCK) is claim  # and not a new one
    assert house.sessions.drop(session, "x").phase is ClaimPhase.LOST
    assert session.claims == {}


def test_what_becomes_of_a_claim_that_was_dropped_is_not_told(house: House) -> None:
    session = house.sessions.open(10.0)
    claim = house.sessions.claim(session, "x", "x", LOCK)
    house.sessions.drop(session, "x")
    told = list(house.told)
    house.sessions.lost(claim)
    house.sessions.refused(claim, "too late")
    assert house.told == told


def test_a_client_that_would_not_wait_is_told_so(house: House) -> None:
    one, other = house.sessions.open(10.0), house.sessions.open(10.0)
    house.sessions.claim(one, "x", "x", LOCK)
    claim = house.sessions.claim(other, "x", "x", LOCK, nonblock=True)
    assert claim.phase is ClaimPhase.BUSY


def test_what_was_told_of_a_claim_stays_so_but_for_a_loss(house: House) -> None:
    session = house.sessions.open(10.0)
    house.sessions.claim(session, "x", "x", LOCK)
    busy = house.sessions.claim(session, "y", "x", LOCK, nonblock=True)
    refused = house.sessions.claim(session, "z", "x", LOCK)
    house.sessions.refused(refused, "on other terms")
    told = list(house.told)
    for claim in (busy, refused):
        house.sessions.held(claim, 5)
        house.sessions.lost(claim)
    house.sessions.refused(busy, "the server has left")
    assert house.told == told
    assert (busy.phase, busy.fence, busy.reason) == (ClaimPhase.BUSY, 0, "")
    assert (refused.phase, refused.fence) == (ClaimPhase.REFUSED, 0)


def test_sessions_and_claims_are_limited() -> None:
    house = House(sessions=3, claims=2, all_claims=3)
    first, second, _ = (house.sessions.open(10.0) for _ in range(3))
    with pytest.raises(Full, match="sessions"):
        house.sessions.open(10.0)
    for key in "ab":
        house.sessions.claim(first, key, key, LOCK)
    with pytest.raises(Full, match="in this session"):
        house.sessions.claim(first, "c", "c", LOCK)
    house.sessions.claim(second, "a", "a", LOCK)
    with pytest.raises(Full, match="too many claims:"):
        house.sessions.claim(second, "b", "b", LOCK)
    house.now = 10.0
    house.sessions.open(10.0)  # the others have expired
    assert (len(house.sessions), house.sessions.claims) == (1, 0)


def test_sessions_that_come_and_go_leave_nothing() -> None:
    house = House(sessions=5)
    for _ in range(1_000):
        house.sessions.close(house.sessions.open(3600.0))
    assert len(house.sessions._due) <= 11


def test_a_node_that_cannot_be_asked_leaves_no_claim(house: House) -> None:
    class Out(House):
        def ask(self, claim: Claim) -> None:
            raise OSError("out")

    house = Out()
    session = house.sessions.open(10.0)
    with pytest.raises(OSError, match="out"):
        house.sessions.claim(session, "x", "x", LOCK)
    assert (session.claims, house.sessions.claims) == ({}, 0)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_clients_do_a_lock_is_held_by_a_session_that_lives(seed: int) -> None:
    """And a session that waits and renews acquires it."""
    choose, house = random.Random(seed), House(sessions=6)
    sessions, alive = house.sessions, dict[str, Session]()
    for _ in range(300):
        house.now += choose.random()
        sessions.wake()
        alive = {s.id: s for s in alive.values() if not s.ended}
        some = choose.choice([*alive.values(), None])
        match choose.randrange(7), some:
            case (0, _) | (_, None) if len(alive) < 6:
                made = sessions.open(
                    choose.choice([1.0, 5.0]), tie=choose.choice([0, None])
                )
                alive[made.id] = made
            case (1 | 2 | 3, Session()):
                sessions.claim(sessions.renew(some.id), choose.choice("ab"), "x", LOCK)
            case (4, Session(claims={"a": _})):
                sessions.drop(some, "a")
            case (5, Session()) if choose.random() < 0.2:
                sessions.disconnected(0)
            case (6, Session()):
                sessions.renew(some.id)
        holder = house.holder("x")
        assert holder is None or not holder.session.ended
        assert (holder is None) == (not house.queues.get("x"))
        assert sessions.claims == sum(len(s.claims) for s in alive.values() if not s.ended)
    sessions.close_all()
    assert (len(sessions), sessions.claims, house.queues.get("x", [])) == (0, 0, [])
