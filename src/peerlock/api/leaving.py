"""A node that its program forgets leaves by itself, and a ResourceWarning says so.

A program forgets a node when nothing but the node's own host refers to it, when the event
loop that it has joined in is shut down, or when the program ends.  So nothing that the host
refers to may refer to the node; for its grants see `twin`.
"""

from __future__ import annotations

import asyncio
import atexit
import weakref
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TypeVar
from warnings import warn

from peerlock.api.forks import is_forked
from peerlock.runtime.host import Host

T = TypeVar("T")

LONGEST = 2.0  # seconds that the end of a program may wait for a node to leave

FORGOTTEN = "a peerlock node was not left: use it in a `with` block, or call its leave()"


def twin(handle: T) -> T:
    """The same handle for its grants.  The host knows these, so that the handle itself may
    know the node."""
    other = object.__new__(type(handle))
    vars(other).update(vars(handle))
    return other


class Departure:
    """Of a node that has joined; `done` as soon as the program lets it leave."""

    def __init__(
        self,
        node: object,
        host: Host,
        loop: asyncio.AbstractEventLoop,
        ends_loop: bool = False,
    ) -> None:
        self._host = host
        self._loop = loop
        self._ends_loop = ends_loop  # nobody else uses it
        self._leaving: asyncio.Task[None] | None = None
        self._finalizer = weakref.finalize(node, self._forgotten)
        self._finalizer.atexit = False
        DEPARTURES.add(self)

    def done(self) -> None:
        self._finalizer.detach()
        DEPARTURES.discard(self)

    async def mind_the_loop(self) -> None:
        """It leaves when the loop is shut down; asyncio.run does that."""
        self._end_of_loop = self._with_the_loop()
        await anext(self._end_of_loop)

    async def _with_the_loop(self) -> AsyncGenerator[None, None]:
        """Whoever shuts down the loop closes this, after the end of all tasks."""
        try:
            yield
        finally:
            if self._finalizer.alive:
                self.done()
                await self._host.stop()
                warn(FORGOTTEN, ResourceWarning, stacklevel=1)

    def at_exit(self) -> None:
        self.done()
        if is_forked(self._host):
            return
        if self._loop.is_running():
            leaving = asyncio.run_coroutine_threadsafe(self._host.stop(), self._loop)
            with suppress(TimeoutError):
                leaving.result(LONGEST)
        else:
            self._host.abandon()
        warn(FORGOTTEN, ResourceWarning, stacklevel=1)

    def _forgotten(self) -> None:
        """In any thread, in the middle of anything: it must not wait."""
        DEPARTURES.discard(self)
        if is_forked(self._host):
            return
        try:
            self._loop.call_soon_threadsafe(self._leave_soon)
        except RuntimeError:  # the loop is closed
            self._host.abandon()
        warn(FORGOTTEN, ResourceWarning, stacklevel=1)

    def _leave_soon(self) -> None:
        self._leaving = self._loop.create_task(self._leave())
        FORGOTTEN_ONES.add(self)

    async def _leave(self) -> None:
        try:
            await self._host.stop()
        finally:
            FORGOTTEN_ONES.discard(self)
            if self._ends_loop:
                self._loop.stop()


DEPARTURES: set[Departure] = set()
FORGOTTEN_ONES: set[Departure] = set()  # that are leaving: a loop does not keep its tasks


@atexit.register
def leave_all() -> None:
    for departure in list(DEPARTURES):
        departure.at_exit()
