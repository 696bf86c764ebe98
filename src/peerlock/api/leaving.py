"""A node that its program forgets leaves by itself, and a ResourceWarning says so.

A program forgets a node when nothing but the node's own host refers to it, when the event
loop that it has joined in is shut down, or when the program ends.  So nothing that the host
refers to may refer to the node; for its grants see `twin`.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar
from warnings import warn

from peerlock.api.driver import Driver

T = TypeVar("T")

LONGEST = 2.0  # seconds that the end of a program may wait for a node to leave

FORGOTTEN = "a peerlock node was not left: use it in a `with` block, or call its leave()"


def twin(handle: T) -> T:
    """The same handle for its grants.  The host knows these, so that the handle itself may
    know the node."""
    kind: Any = type(handle)
    other: T = object.__new__(kind)
    for name in slots_of(kind):
        if hasattr(handle, name):
            setattr(other, name, getattr(handle, name))
    return other


@cache
def slots_of(kind: type) -> tuple[str, ...]:
    slots = (name for base in kind.__mro__ for name in vars(base).get("__slots__", ()))
    return tuple(name for name in slots if name != "__weakref__")


class Departure:
    """Of a node that has joined; call `done` when the program itself lets it leave."""

    def __init__(self, node: object, driver: Driver) -> None:
        self._driver = driver
        self._finalizer = weakref.finalize(node, self._forgotten)
        self._finalizer.atexit = False
        DEPARTURES.add(self)

    def done(self) -> None:
        self._finalizer.detach()
        DEPARTURES.discard(self)

    async def mind_the_loop(self, leave: Callable[[], Awaitable[None]]) -> None:
        """It leaves when the loop is shut down; asyncio.run does that."""
        self._end_of_loop = self._with_the_loop(leave)
        await anext(self._end_of_loop)

    async def _with_the_loop(
        self, leave: Callable[[], Awaitable[None]]
    ) -> AsyncGenerator[None, None]:
        """Closed when the loop is shut down, after the end of all tasks."""
        try:
            yield
        finally:
            if self._finalizer.alive:
                self.done()
                await leave()
                warn(FORGOTTEN, ResourceWarning, stacklevel=1)

    def at_exit(self) -> None:
        self.done()
        if self._driver.host.forked:
            return
        if self._driver.is_running():
            with suppress(TimeoutError):
                self._driver.end().result(LONGEST)
        else:
            self._driver.host.abandon()
        warn(FORGOTTEN, ResourceWarning, stacklevel=1)

    def _forgotten(self) -> None:
        """Called in any thread, at any point: it must not wait."""
        DEPARTURES.discard(self)
        if self._driver.host.forked:
            return
        try:
            self._driver.end()
        except RuntimeError:  # the loop is closed
            self._driver.host.abandon()
        warn(FORGOTTEN, ResourceWarning, stacklevel=1)


DEPARTURES: set[Departure] = set()


@atexit.register
def leave_all() -> None:
    for departure in list(DEPARTURES):
        departure.at_exit()
