"""Members that PostgreSQL keeps, without nodes, for tests."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from typing import Any

from peerlock.membership import ClusterError, View
from peerlock.membership.postgresql import PostgresqlEngine
from peerlock.testing import EngineUser

names = count(1)


def fresh(conninfo: str) -> str:
    """A cluster that nobody has used yet."""
    sign = "&" if "?" in conninfo else "?"
    return f"{conninfo}{sign}cluster=c{next(names)}"


class Member(EngineUser):
    """An engine, and what its host would do with it: renew, and listen."""

    engine: PostgresqlEngine

    def __init__(self, url: str, lease: float = 60.0) -> None:
        self.calls_to_look = 0
        self._something = asyncio.Event()
        super().__init__(PostgresqlEngine(url, lease))

    def _heard(self, view: View | None) -> None:
        super()._heard(view)
        self.calls_to_look += view is None
        self._something.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """As its engine tells it."""
        while not condition():
            await self._something.wait()
            self._something.clear()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """It renews, whatever the test does meanwhile."""

        async def renew() -> None:
            while True:
                await self.renewed()
                await asyncio.sleep(0.1)

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def renewed(self) -> None:
        """As soon as PostgreSQL answers."""
        while True:
            with suppress(ClusterError):
                await self.renew()
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def members(url: str, number: int, lease: float = 60.0) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(number):
            member = Member(url, lease)
            stack.callback(member.engine.close)
            made.append(await member.join())
        yield made[0] if number == 1 else made
