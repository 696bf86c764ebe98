"""The arguments of every lock and semaphore, validated."""

from __future__ import annotations

from numbers import Real
from threading import TIMEOUT_MAX

from peerlock.core.errors import UsageError
from peerlock.core.peer import Peer
from peerlock.node.terms import Demand, demand, plain_permits

LONGEST_NAME = 1_000


def asked_for(
    name: str | bytes, algorithm: str | type[Peer] | None, permits: int, shared: bool
) -> tuple[str, Demand]:
    """The same as plain values, which can be sent."""
    wanted = "" if algorithm is None else algorithm
    return plain_name(name), demand(wanted, permits, shared)


def plain_name(name: str | bytes) -> str:
    """For a subclass of str, the text that it is equal to, whatever its str() returns.

    Bytes are the same name as the text that they encode.
    """
    plain = str.__str__(name) if isinstance(name, str) else text_of(name)
    if not 0 < len(plain) <= LONGEST_NAME:
        raise UsageError(
            f"a lock name is a str or bytes of 1 to {LONGEST_NAME:,} characters, "
            f"got {name!r:.50}"
        )
    try:
        plain.encode()
    except UnicodeEncodeError:
        raise UsageError(f"a lock name must be valid Unicode, got {name!r:.50}") from None
    return plain


def text_of(name: bytes) -> str:
    """What is not UTF-8 is named by its digits."""
    if not isinstance(name, bytes):
        return ""
    try:
        return bytes(name).decode()
    except UnicodeDecodeError:
        return f"bytes:{name.hex()}"


def leadership(name: str | bytes) -> str:
    """The lock of an election: `peerlock lock leader:NAME` takes part, too."""
    return f"leader:{plain_name(name)}"


def must_have_permits(permits: int) -> int:
    plain = plain_permits(permits)
    if plain < 1:
        raise UsageError(f"a semaphore must have at least 1 permit, got {plain}")
    return plain


def must_be_bool(what: str, value: object) -> None:
    """What is only nearly one, as "no", may mean the opposite of what it says."""
    if type(value) is not bool:
        raise UsageError(f"{what} must be True or False, got {value!r:.50}")


def plain_timeout(timeout: float | None) -> float | None:
    """In seconds; None is without limit, and so is a time that is too long to count."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or not timeout >= 0:
        raise UsageError(
            f"a timeout must be 0 or more seconds or None, got {timeout!r:.50}"
        )
    return float(timeout) if timeout <= TIMEOUT_MAX else None
