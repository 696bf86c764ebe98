"""The event loops: of a node that has a thread of its own, and of its tasks."""

from __future__ import annotations

import asyncio

from peerlock.core.errors import UsageError


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, if it is installed: it makes a message a third faster."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def must_be_asyncio() -> None:
    """Another library's tasks run in a loop that asyncio does not know."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise UsageError(
            "peerlock.join() needs asyncio: under trio, use peerlock.contrib.trio.join()"
        ) from None
