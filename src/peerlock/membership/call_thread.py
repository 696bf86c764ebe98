"""A thread that makes one call at a time, for callers that must not block.

Not an executor of the standard library: CPython closes all of those as soon as the main
thread has ended, and other threads of a program may run for long after that.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from peerlock.membership.engine import ClusterError

T = TypeVar("T")

Call = tuple["Future[Any]", Callable[[], Any]]


class CallThread:
    """It starts with the first call, and ends with `end`, or when it is forgotten."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False

    def call(self, work: Callable[..., T], *arguments: object) -> Future[T]:
        if self._ended:
            raise ClusterError("the node has left the cluster")
        if self._thread is None:
            self._start()
        future: Future[T] = Future()
        self._calls.put((future, partial(work, *arguments)))
        return future

    def end(self) -> None:
        """After all that it was asked to do."""
        self._ended = True
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join()

    def _start(self) -> None:
        # It knows its calls, not us: so we can be forgotten, and then it ends.
        self._thread = threading.Thread(
            target=make, args=(self._calls,), name=self._name, daemon=True
        )
        self._thread.start()
        weakref.finalize(self, self._calls.put, None).atexit = False


def make(calls: SimpleQueue[Call | None]) -> None:
    while call := calls.get():
        make_one(*call)
        del call  # what it led to is not kept until the next


def make_one(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return  # it was cancelled before it began
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
    finally:
        del future  # or the error, whose traceback knows us, would know itself
