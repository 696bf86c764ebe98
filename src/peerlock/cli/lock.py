"""`peerlock lock NAME -- COMMAND`: like flock(1), across the cluster.

To the shell, the terminal and signals this process looks like flock(1).  The command is in
its process group: it receives signals that are sent to the group, and signals that are sent
to this process alone are passed on to it.

For a short command, most of the time is spent on Python's imports.  So nothing is imported
that draws, simulates or checks, nor click, which parses the other commands.  The helper
processes are forked before the event loop and the rest are imported: a small process is
forked fast.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from peerlock.cli.descriptors import must_have_descriptors
from peerlock.cli.ending import UNAVAILABLE, Failure, end_with
from peerlock.cli.lock_line import LockRequest, parse
from peerlock.core.errors import UsageError
from peerlock.supervision.child import Command
from peerlock.supervision.neighbour import Neighbour
from peerlock.supervision.watchdog import Watchdog

USAGE = 64  # EX_USAGE of sysexits.h, as flock(1) has it


def main() -> NoReturn:
    end_with(lambda: lock(sys.argv[2:]), like_flock=True)


def lock(arguments: list[str]) -> int:
    """Run this command line; return the exit code."""
    if sys.platform != "linux":
        raise Failure(
            "lock needs Linux, to stop everything that a command starts", UNAVAILABLE
        )
    try:
        request = parse(arguments)
        return show_help() if request is None else held_and_run(request)
    except UsageError as error:
        raise Failure(str(error), USAGE) from None


def show_help() -> int:
    try:
        from peerlock.cli.main import cli
    except ModuleNotFoundError:
        raise Failure(
            "the help needs an extra: pip install 'peerlock[cli]'", UNAVAILABLE
        ) from None
    with cli.make_context("peerlock", ["lock"]) as parent:
        command = cli.get_command(parent, "lock")
        assert command is not None
        print(command.get_help(command.context_class(command, parent, "lock")))
    return 0


def held_and_run(request: LockRequest) -> int:
    must_have_descriptors()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # otherwise its exit code would be lost
    environment = {**os.environ, "PEERLOCK_NAME": ",".join(request.names)}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    command = Command(request.command, environment, blocked)
    if request.no_fork:
        from peerlock.cli.no_fork import become_holder

        return become_holder(request, command)
    neighbour = Neighbour()
    # The last one: it watches our end of the line, which no other process may have open.
    watchdog = Watchdog(command)
    try:
        from peerlock.cli.session import hold_and_run

        return hold_and_run(request, watchdog, neighbour)
    finally:
        watchdog.dismiss()
        neighbour.dismiss()
