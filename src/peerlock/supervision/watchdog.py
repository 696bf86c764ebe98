"""The watchdog stops the command in time, even if the process that holds the lock is
stopped.

The watchdog is a second process, forked before there are any threads.  It starts the
command and supervises it.  The first process tells it until when the lock is held.  If that
time passes, or the first process is gone, the watchdog kills the command and everything
that the command has started.  It is in a session of its own, so that signals to our process
group do not reach it.  It has the file open by which the cluster knows that the member
lives: if the first process is killed, the lock is kept until all of the command has ended.

A third process, the guardian, is the parent of the watchdog.  It waits for the watchdog to
end; if the watchdog was killed, the guardian inherits the watchdog's descendants and kills
them.  So any two of the three may be killed at once.  If all three are, the kernel kills
the command with its parent; what the command has started is not stopped then.

Why not kill a process group?  The command would need a group of its own.  But terminals,
pipelines and the jobs of a shell depend on groups: the command must be in ours.  And a
process that the command starts may leave its group, but cannot choose its parent.

As with flock(1), processes that the command leaves behind in the background keep the lock
as long as they have an inherited descriptor open.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import suppress
from math import inf

from peerlock.membership.clock import now
from peerlock.supervision.alarm import DeadlineTimer
from peerlock.supervision.child import Command, become
from peerlock.supervision.offspring import (
    Offspring,
    die_with_parent,
    forked,
    let_go_of_streams,
    sent,
)

# The signals that end a job at a terminal, where they are for the whole group.  The others
# are for the command alone.
FOR_ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

# Of a message.  The longest has the fences of all locks, and what is beyond this is lost.
LONGEST = 1 << 16


class Watchdog:
    """The first process's end of the line."""

    def __init__(self, command: Command) -> None:
        self.status: int | None = None  # the command's exit code, once it has ended
        self._offspring = Offspring()
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.line.setblocking(False)
        # The guardian never reads its box: a descriptor that is sent there stays open for
        # as long as the guardian lives.
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
        """Start the command.  `keep_for_all`: it ends when all that inherited have
        ended."""
        descriptors = [] if keeps_us_in is None else [keeps_us_in]
        with suppress(OSError):  # it was killed, and the watchdog lives
            socket.send_fds(self._box, [b"!"], descriptors)
        text = f"run {fence} {keep_for_all:d}"
        with suppress(OSError):  # `hear` reports that it is gone
            socket.send_fds(self.line, [text.encode()], descriptors)

    def until(self, deadline: float) -> None:
        """The command may run until then, on the clock of leases."""
        self._tell(f"until {deadline!r}")

    def send_signal(self, number: int) -> None:
        """To the command."""
        self._tell(f"signal {number:d}")

    def stop(self, seconds: float) -> None:
        """Kill the command and all that it has started, unless they end before."""
        self._tell(f"stop {seconds!r}")

    def hear(self) -> bool:
        """Read its messages.  False: it is gone, as it is when all is over."""
        try:
            told = self.line.recv(LONGEST)
        except BlockingIOError:
            return True
        except ConnectionResetError:  # it did not read all; its own messages come next
            return self.hear()
        except OSError:
            return False
        if told:
            self.status = int(told)
        return bool(told)

    def take_over(self) -> bool:
        """It was killed: end what it supervised.  False: that is not permitted."""
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self._offspring.end()
        return not any(self._offspring)

    def dismiss(self) -> None:
        """The command will not run, or no longer: kill whatever is left."""
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
        self.keeps_us_in: list[int] = []  # a descriptor, open as long as this process lives
        self.inherited: int | None = None  # a pipe that ends when no process has it open
        self.news = wake_when_a_child_ends()
        self.alarm = DeadlineTimer()  # at the deadline, once the command has been started

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

        Messages come first: one may extend the deadline, and may have been read too late.
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

    # Messages

    def _listen(self) -> bool:
        told, descriptors, _, _ = socket.recv_fds(self.line, LONGEST, 1)
        for descriptor in descriptors:  # the command must not inherit it, even with -o
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
                return False  # the first process is gone
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
        if os.read(gate, 1) and os.getppid() == parent:  # which supervises it
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
    """A descriptor that becomes readable then."""
    news, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    return news
