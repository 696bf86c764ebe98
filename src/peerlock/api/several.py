"""Several locks at once: all of them, or none.

- They are acquired one after the other, in an order that is the same for all processes, so
  no processes wait for each other in a cycle, in whichever order they name them.
- A caller that times out, is cancelled or is refused releases what it has acquired so far.
- The timeout is for all of them together.
- If one of them is lost, the others are released at the end of the block, which then raises
  Lost.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from peerlock.api.errors import Lost, NotHeld, Timeout
from peerlock.api.grants import BaseGrant
from peerlock.api.names import plain_name, plain_timeout
from peerlock.core.errors import UsageError

G = TypeVar("G", bound=BaseGrant)
G_co = TypeVar("G_co", bound=BaseGrant, covariant=True)


class BlockingHandle(Protocol[G_co]):
    """A lock for threads."""

    def __enter__(self) -> G_co: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def locked(self) -> bool: ...
    def release(self) -> None: ...


Entry = tuple[threading.Thread, list[BlockingHandle[G]]]


class Several:
    """Names, the order in which they are acquired, and the timeout."""

    def __init__(
        self, names: tuple[str | bytes, ...], timeout: float | None = None
    ) -> None:
        self.names = tuple(map(plain_name, names))
        self._timeout = plain_timeout(timeout)
        self.in_order = sorted(self.names)
        if not names:
            raise UsageError("missing lock names: node.locks('a', 'b')")
        if len(set(self.names)) < len(names):
            twice = next(n for n in self.names if self.names.count(n) > 1)
            raise UsageError(f"{twice!r} is named twice")

    def __repr__(self) -> str:
        return f"<peerlock locks {', '.join(map(repr, self.names))}>"

    def _left(self, began: float) -> float | None:
        """Seconds for those that are not acquired yet."""
        if self._timeout is None:
            return None
        return max(0.0, self._timeout - (time.monotonic() - began))

    def _too_late(self, name: str) -> Timeout:
        return Timeout(f"could not acquire {name!r} within {self._timeout:g} s")


class Locks(Several, Generic[G]):
    """For tasks: `async with node.locks("a", "b") as grants`."""

    def __init__(
        self,
        names: tuple[str | bytes, ...],
        timeout: float | None,
        handle: Callable[[str, float | None], AbstractAsyncContextManager[G]],
    ) -> None:
        super().__init__(names, timeout)
        self._handle = handle
        self._entered: list[tuple[asyncio.Task[Any] | None, AsyncExitStack]] = []

    async def __aenter__(self) -> tuple[G, ...]:
        """The grants, in the order in which the locks were named."""
        began, stack = time.monotonic(), AsyncExitStack()
        grants: dict[str, G] = {}
        async with stack:
            for name in self.in_order:
                lock = self._handle(name, self._left(began))
                try:
                    grants[name] = await stack.enter_async_context(lock)
                except Timeout:
                    raise self._too_late(name) from None
            must_be_held(grants.values())
            self._entered.append((asyncio.current_task(), stack.pop_all()))
        return tuple(grants[name] for name in self.names)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        entry = last_of(self._entered, asyncio.current_task(), self)
        self._entered.remove(entry)
        stack = entry[1]
        await stack.__aexit__(kind, error, trace)


class BlockingLocks(Several, Generic[G]):
    """For threads: `with node.locks("a", "b") as grants`.

    Ctrl-C may come between any two instructions.  So what is acquired is known before it
    is, and whatever interrupts the way in or out, all of it is released.
    """

    def __init__(
        self,
        names: tuple[str | bytes, ...],
        timeout: float | None,
        handle: Callable[[str, float | None], BlockingHandle[G]],
    ) -> None:
        super().__init__(names, timeout)
        self._handle = handle
        self._entered: list[Entry[G]] = []

    def __enter__(self) -> tuple[G, ...]:
        """The grants, in the order in which the locks were named."""
        began, handles = time.monotonic(), list[BlockingHandle[G]]()
        grants: dict[str, G] = {}
        entry: Entry[G] = (threading.current_thread(), handles)
        try:
            for name in self.in_order:
                handles.append(self._handle(name, self._left(began)))
                try:
                    grants[name] = handles[-1].__enter__()
                except Timeout:
                    raise self._too_late(name) from None
            must_be_held(grants.values())
            named = tuple([grants[name] for name in self.names])
            self._entered.append(entry)
            return named
        except BaseException:
            self._undo(entry)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            entry = last_of(self._entered, threading.current_thread(), self)
            while entry[1]:
                entry[1][-1].__exit__(kind, error, trace)
                del entry[1][-1]
            self._entered.remove(entry)
        except BaseException:
            for entry in list(self._entered):
                if entry[0] is threading.current_thread():
                    self._undo(entry)
            raise

    def _undo(self, entry: Entry[G]) -> None:
        for handle in reversed(entry[1]):
            if handle.locked():
                with suppress(Lost, NotHeld):
                    handle.release()
        if entry in self._entered:
            self._entered.remove(entry)


def must_be_held(grants: Iterable[BaseGrant]) -> None:
    """One may have been lost while others were waited for."""
    for grant in grants:
        if grant.is_lost:
            raise Lost(f"{grant.name!r} was lost while others were waited for")


E = TypeVar("E", bound=tuple[Any, Any])


def last_of(entered: list[E], owner: Any, locks: Several) -> E:
    """What this task or thread has entered last; or the only one, also of another task,
    as when a generator is ended by another task."""
    mine = [entry for entry in entered if entry[0] is owner or len(entered) == 1]
    if not mine:
        raise NotHeld(f"{locks!r} are not held here")
    return mine[-1]
