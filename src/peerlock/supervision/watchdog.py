"""Whoever holds a lock for a command must stop it in time, even if stopped himself.

A second process, forked before there are any threads, starts the command and looks after
it.  From us it hears until when the lock is ours.  If that time passes, or we are gone, it
kills the command and all that the command has started.  It is in a session of its own, so
that what stops or ends our process group does not include it; and it has the file open by
which the cluster knows that we live, so that if we are killed, the lock is kept until
nobody is left.

A third process, the guardian, stands between us and the watchdog.  It waits for the
watchdog to end; if the watchdog was killed, the guardian inherits the watchdog's offspring
and kills it.  So any two of the three may be killed at once.  If all three are, the kernel
kills the command with its parent; what the command has started is not stopped then.

Why not kill a process group?  The command would need one of its own.  But a group is also
what a terminal, a pipeline and a shell's jobs go by: the command must be in ours.  And
what a command starts may leave its group; a parent is what it cannot choose.

Like flock(1), we keep the lock for what the command leaves behind in the background, as
long as it has a descriptor open that it has inherited from us.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import suppress
from math import inf

from peerlock.membership.clock import now
from peerlock.supervision.alarm import Alarm
from peerlock.supervision.child import Command, become
from peerlock.supervision.offspring import (
    Offspring,
    die_with_parent,
    forked,
    let_go_of_streams,
    sent,
)

# What ends a job at a terminal, where it is for the whole group.  The others are for the
# command alone: what it has started need not know them.
FOR_ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Watchdog:
    """Our end of the line."""

    def __init__(self, command: Command) -> None:
        self.status: int | None = None  # the command's exit code, once it has ended
        self._offspring = Offspring()
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.line.setblocking(False)
        # What we put into the guardian's box it never takes out: a descriptor in there is
        # open for as long as the guardian lives.
        self._box, guardians = socket.socketpair()
        self.pid = forked(lambda: self._guard(theirs, guardians, command))
        theirs.close()
        guardians.close()

    def _guard(self, theirs: socket.socket, box: socket.socket, command: Command) -> None:
        """The third process."""
        self.line.close()
        self._box.close()
        offspring = Offspring()
        watchdog = forked(lambda: self._watch(theirs, box, command))
        theirs.close()
        os.setsid()
        let_go_of_streams()
        _, status = os.waitpid(watchdog, 0)
        if os.WIFSIGNALED(status):
            offspring.end()

    def _watch(self, theirs: socket.socket, box: socket.socket, command: Command) -> None:
        """The second process."""
        box.close()
        Keeper(theirs, command).watch()

    def run(self, fence: str, keeps_us_in: int | None, keep_for_all: bool) -> None:
        """Now.  `keep_for_all`: until all have ended that have inherited from us."""
        descriptors = [] if keeps_us_in is None else [keeps_us_in]
        with suppress(OSError):  # it was killed, and the watchdog lives
            socket.send_fds(self._box, [b"!"], descriptors)
        text = f"run {fence} {keep_for_all:d}"
        with suppress(OSError):  # we hear that it is gone
            socket.send_fds(self.line, [text.encode()], descriptors)

    def until(self, deadline: float) -> None:
        """The command may go on until then, on the clock of leases."""
        self._tell(f"until {deadline!r}")

    def send_signal(self, number: int) -> None:
        """To the command."""
        self._tell(f"signal {number:d}")

    def stop(self, seconds: float) -> None:
        """The command and all it has started: be killed, unless they end before."""
        self._tell(f"stop {seconds!r}")

    def hear(self) -> bool:
        """What it has to say.  False: it is gone, as it is when all is over."""
        try:
            told = self.line.recv(100)
        except BlockingIOError:
            return True
        except ConnectionResetError:  # it has not read all; what it has said comes next
            return self.hear()
        except OSError:
            return False
        if told:
            self.status = int(told)
        return bool(told)

    def take_over(self) -> bool:
        """It was killed: end what it has looked after.  False: we may not."""
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self._offspring.end()
        return not any(self._offspring)

    def dismiss(self) -> None:
        """The command will not run, or not any longer: whatever is left is killed."""
        self.line.close()
        self._box.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _tell(self, text: str) -> None:
        with suppress(OSError):
            self.line.send(text.encode())


class Keeper:
    """The second process."""

    def __init__(self, line: socket.socket, command: Command) -> None:
        self.line = line
        self.command = command
        self.group = os.getpgrp()
        self.offspring = Offspring()
        self.deadline = inf
        self.started = False
        self.stopping = False
        self.pid = 0  # the command's, while it runs
        self.keeps_us_in: list[int] = []  # a descriptor, open as long as we live
        self.inherited: int | None = None  # a pipe that ends when nobody has it any more
        self.news = wake_when_a_child_ends()
        self.alarm = Alarm()  # at the deadline, once the command has been started

    def watch(self) -> None:
        over = False
        try:
            while not over and self._go_on():
                self._take_note(self.offspring.reap())
                over = self._is_over()
        finally:
            if not over:
                self._take_note(self.offspring.end())

    def _is_over(self) -> bool:
        if self.stopping:
            return self.offspring.none_left
        return self.started and not self.pid and self.inherited is None

    def _go_on(self) -> bool:
        """Wait until there is something to do.  False: it is time to end.

        What we were told comes first: it may be that there is more time, and that we
        were too slow to hear it.
        """
        self.alarm.set(self.deadline if self.started else inf)
        sources = [self.line.fileno(), self.news, self.alarm.descriptor]
        if self.inherited is not None:
            sources.append(self.inherited)
        ready, _, _ = select.select(sources, [], [])
        if self.news in ready:
            os.read(self.news, 1000)
        if self.inherited in ready:
            self.inherited = None
        if self.line.fileno() in ready:
            return self._listen()
        return self.alarm.descriptor not in ready

    def _take_note(self, ended: dict[int, int]) -> None:
        if self.pid in ended:
            code = os.waitstatus_to_exitcode(ended[self.pid])
            self.pid = 0
            with suppress(OSError):
                self.line.send(b"%d" % code)

    # What we are told

    def _listen(self) -> bool:
        told, descriptors, _, _ = socket.recv_fds(self.line, 100, 1)
        for descriptor in descriptors:  # or the command would inherit it, with -o too
            os.set_inheritable(descriptor, False)
        self.keeps_us_in += descriptors
        match told.decode().split():
            case ["until", deadline]:
                self.deadline = float(deadline)
            case ["run", fence, keep_for_all]:
                return self._run(fence, keep_for_all == "1")
            case ["signal", number]:
                self._send_signal(int(number))
            case ["stop", seconds]:
                self._stop(float(seconds))
            case _:
                return False  # who should tell us is gone
        return True

    def _run(self, fence: str, keep_for_all: bool) -> bool:
        if now() >= self.deadline:
            return False
        inherited = [*self.keeps_us_in] if keep_for_all else []
        if keep_for_all:
            self.inherited, theirs = os.pipe()
            inherited.append(theirs)
        gate, opens_it = os.pipe()
        me = os.getpid()
        self.pid = forked(lambda: self._become(me, gate, opens_it, fence, inherited))
        self.started = True
        if keep_for_all:
            os.close(theirs)
        os.setsid()
        let_go_of_streams()
        os.write(opens_it, b"!")
        os.close(opens_it)
        os.close(gate)
        return True

    def _become(
        self, parent: int, gate: int, opens_it: int, fence: str, inherited: list[int]
    ) -> None:
        os.close(opens_it)
        die_with_parent()
        if os.read(gate, 1) and os.getppid() == parent:  # or nobody would look after us
            become(self.command, fence, inherited)

    def _send_signal(self, number: int) -> None:
        if number in FOR_ALL:
            for pid in self.offspring:
                with suppress(ProcessLookupError):
                    if pid == self.pid or os.getpgid(pid) == self.group:
                        sent(pid, number)
        elif self.pid:
            sent(self.pid, number)

    def _stop(self, seconds: float) -> None:
        self.stopping = True
        self.deadline = min(self.deadline, now() + seconds)
        self.offspring.send_signal(signal.SIGTERM)
        self.offspring.send_signal(signal.SIGCONT)


def wake_when_a_child_ends() -> int:
    """A descriptor that is readable then."""
    news, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    return news
