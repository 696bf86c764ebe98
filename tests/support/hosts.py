"""Engines and clocks for the tests of hosts."""

from collections.abc import Collection

import pytest

from peerlock.membership import clock
from peerlock.membership.engine import Renewed
from peerlock.membership.memory import MemoryEngine
from peerlock.node.views import MemberId

NEAR = (("127.0.0.1", 9),)


class Asked(MemoryEngine):
    times = 0

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        self.times += 1
        return await super().renew(me, suspects)


class FarAway(Asked):
    near = NEAR


def suspended_for(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long the machine was suspended, in all: the loop's clock stood still."""
    real, seconds = clock.now, [0.0]
    monkeypatch.setattr(clock, "now", lambda: real() + seconds[0])
    return seconds
