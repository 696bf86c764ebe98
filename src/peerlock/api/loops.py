"""The event loops: of a node that has a thread of its own, and of its tasks."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from peerlock.core.errors import UsageError

# The task that runs in a loop: every grant asks for it.  Python 3.12 has it in C.
current_task_of: Callable[[Any], asyncio.Task[Any] | None] = asyncio.current_task
if sys.version_info < (3, 12):
    from asyncio.tasks import _current_tasks  # type: ignore[attr-defined]

    current_task_of = _current_tasks.get


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
