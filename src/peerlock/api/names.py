"""What every lock and semaphore is asked for with."""

from __future__ import annotations

from peerlock.algorithms.catalogue import UsageError
from peerlock.node.terms import Demand, demand

LONGEST_NAME = 1_000


def asked_for(name: str, algorithm: str | None, permits: int, shared: bool) -> Demand:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise UsageError(
            f"a name has 1 to {LONGEST_NAME:,} characters, unlike {name!r:.50}"
        )
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"a name is text that can be sent, unlike {name!r:.50}") from None
    return demand(algorithm or "", permits, shared)


def must_have_permits(permits: int) -> int:
    if not isinstance(permits, int) or permits < 1:
        raise UsageError(f"a semaphore has at least 1 permit, not {permits!r}")
    return permits
