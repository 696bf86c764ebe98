"""What a signal handler may do with a node for threads.

Python runs a handler in the main thread, between any two instructions, so also in the
middle of a step of a node, and of a `wait`.

- Reading (whether a grant is lost, waiting for that, the state of a lock, statistics) works
  at any time.
- Acquiring, releasing, joining and leaving work unless the handler has interrupted a step
  of a node: then they raise Deadlock, and nothing has changed.  The node's own thread waits
  for the step to end, and the step waits for the handler.  The same goes for `leave` in the
  middle of `leave`.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock
from contextlib import suppress

from peerlock.api.errors import Deadlock
from peerlock.api.forks import hosts
from peerlock.runtime.host import INTERRUPTED


def must_not_be_in_a_step() -> None:
    """Of any node: one of them may be the one that would have to answer."""
    for host in hosts():
        if host.is_interrupted:
            raise Deadlock(INTERRUPTED)


class Loss(threading.Event):
    """An event that is set once, and for good.

    Its base takes a lock for that, which the interrupted call may have.
    """

    def __init__(self) -> None:
        super().__init__()
        self._over = False
        self._gate = allocate_lock()
        self._gate.acquire()

    def is_set(self) -> bool:
        return self._over

    def set(self) -> None:
        self._over = True
        self._open()

    def clear(self) -> None:
        """It cannot be undone."""

    def wait(self, timeout: float | None = None) -> bool:
        longest = threading.TIMEOUT_MAX if timeout is None else max(0.0, timeout)
        try:
            if not self._over:
                self._gate.acquire(timeout=min(longest, threading.TIMEOUT_MAX))
        finally:
            if self._over:
                self._open()  # for the next that waits
        return self._over

    def _open(self) -> None:
        with suppress(RuntimeError):  # it is open
            self._gate.release()
