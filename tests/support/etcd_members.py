"""Members that etcd keeps, without nodes, for tests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import wraps
from itertools import count
from typing import Any

from peerlock.membership.engine import ClusterError, Gone, Joined
from peerlock.membership.etcd import EtcdEngine
from peerlock.node.views import MemberId, View
from tests.support.etcd_servers import Server, Wire

PATIENCE = 30.0
names = count(1)


def in_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(PATIENCE):
                await test(*arguments, **named)

        asyncio.run(bounded())

    return run


def fresh(*where: Server | Wire, options: str = "", user: str = "") -> str:
    """A cluster that nobody has used yet."""
    hosts = ",".join(one.address for one in where)
    return f"etcd://{user}{hosts}/c{next(names)}{options}"


def same(url: str, *where: Server | Wire) -> str:
    """The same cluster, by another way."""
    hosts = ",".join(one.address for one in where)
    return f"etcd://{hosts}/{url.rpartition('/')[2]}"


def keys_of(url: str) -> str:
    return f"/peerlock/{url.rpartition('/')[2]}/"


class Member:
    """An engine, and what its host would do with it: renew, and listen."""

    def __init__(self, url: str, lease: float = 2.0) -> None:
        self.engine = EtcdEngine(url, lease)
        self.engine.on_change = self._told
        self.views: list[View] = []
        self.calls_to_look = 0
        self._something = asyncio.Event()
        self._renewals: asyncio.Task[None] | None = None

    async def join(self, beyond: int = 0) -> Joined:
        self.joined = await self.engine.join("there", beyond)
        self.me = self.joined.me
        self.views.append(self.joined.view)
        return self.joined

    def _told(self, view: View | None) -> None:
        if view is None:
            self.calls_to_look += 1
        else:
            self.views.append(view)
        self._something.set()

    async def until(self, condition: Callable[[View], bool]) -> View:
        """Whose newest view is like this, as its watch or a renewal tells it."""
        while not condition(self.views[-1]):
            await self._something.wait()
            self._something.clear()
        return self.views[-1]

    async def finds(self, condition: Callable[[View], bool]) -> View:
        """The same, of a member that need not watch, and so looks by itself."""
        while not condition(self.views[-1]):
            await self.look()
        return self.views[-1]

    async def look(self) -> None:
        view = (await self.engine.renew(self.me)).view
        if view.number > self.views[-1].number:
            self._told(view)

    async def until_told_to_look(self) -> None:
        """In so many words, or by a view without it: if its last change was not answered,
        it looks again by itself, and puts out members without a key, itself included."""
        while not self.calls_to_look and self.me in ids(self.views[-1]):
            await self._something.wait()
            self._something.clear()

    def keep_renewing(self) -> None:
        async def renew() -> None:
            while True:
                with suppress(ClusterError):
                    await self.look()
                await asyncio.sleep(0.3)

        self._renewals = asyncio.create_task(renew())

    def die(self) -> None:
        """Without a word to the others."""
        if self._renewals:
            self._renewals.cancel()
        self.engine.close()


@asynccontextmanager
async def members(url: str, number: int, lease: float = 2.0) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(number):
            member = Member(url, lease)
            stack.callback(member.die)
            await member.join()
            made.append(member)
        yield made[0] if number == 1 else made


async def see_one_pass(url: str) -> View:
    """Another member joins and leaves: two views."""
    async with members(url, 1) as other:
        view: View = await other.engine.leave(other.me)
        return view


def ids(view: View) -> list[MemberId]:
    return [member.id for member in view.members]


def key_of(url: str, member: Member) -> str:
    [lease] = {i.id for m, i in member.engine._views.known.leases.items() if m == member.me}
    return f"{keys_of(url)}members/{lease:016x}"


def alone(member: Member) -> Callable[[View], bool]:
    return lambda view: ids(view) == [member.me]


async def renewed(member: Member) -> float:
    """As soon as etcd lets us."""
    while True:
        try:
            return (await member.engine.renew(member.me)).deadline
        except ClusterError as error:
            assert not isinstance(error, Gone), error
            await asyncio.sleep(0.05)
