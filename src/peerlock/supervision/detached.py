"""With --no-fork this process becomes the command; another one holds the lock for it.

- The *keeper* is a daemon: a process without a parent, in a session of its own.  It joins,
  acquires the locks, and then lets this process become the command.
- The command inherits one end of a pipe.  The lock is held until every process that has
  inherited it has ended or closed it, as with flock(1).
- If the lock is lost, the keeper stops the command.  A *watcher*, beside the keeper, knows
  until when the lock is held; if that time passes or the keeper is gone, it kills the
  command.  Processes that the command has started are not stopped: only a parent can.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import NamedTuple

from peerlock.membership.clock import now
from peerlock.supervision.offspring import forked, let_go_of_streams

LONGEST = 3600.0  # seconds that a watcher waits at a time


class Detached(NamedTuple):
    """What the keeper has of the process that becomes the command."""

    line: socket.socket  # to tell it that it may run, or why not
    life: int  # a pipe that ends when the command and all that inherited have ended
    command: int  # a pidfd
    watcher: int  # a pipe, for deadlines

    def until(self, deadline: float) -> None:
        with suppress(OSError):
            os.write(self.watcher, f"{deadline!r}\n".encode())

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.command, number)


def detach(keep: Callable[[Detached], None]) -> tuple[socket.socket, int]:
    """Start a keeper; returns the line to it, and the end of the pipe to be inherited."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    life, inherited = os.pipe()
    command = os.pidfd_open(os.getpid())

    def begin() -> None:
        ours.close()
        os.close(inherited)
        os.setsid()
        forked(lambda: keep_watched(keep, theirs, life, command))

    between = forked(begin)
    theirs.close()
    os.close(life)
    os.close(command)
    os.waitpid(between, 0)
    return ours, inherited


def keep_watched(
    keep: Callable[[Detached], None], line: socket.socket, life: int, command: int
) -> None:
    """The keeper, and before it is busy, its watcher."""
    let_go_of_streams()
    deadlines, told = os.pipe()

    def watching() -> None:
        line.close()
        os.close(life)
        os.close(told)
        watch(deadlines, command)

    forked(watching)
    os.close(deadlines)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    keep(Detached(line, life, command, told))
    with suppress(OSError):
        os.write(told, b"done\n")


def watch(deadlines: int, command: int) -> None:
    """Kill the command when its time is over, or if the keeper ends before it has done."""
    until = inf  # without a lease, for as long as the keeper lives
    while True:
        left = min(max(until - now(), 0), LONGEST)
        ready, _, _ = select.select([deadlines], [], [], left)
        if not ready and now() < until:
            continue
        lines = os.read(deadlines, 1 << 16).split() if ready else []
        if lines[-1:] == [b"done"]:
            return
        if not lines:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(command, signal.SIGKILL)
            return
        until = float(lines[-1])
