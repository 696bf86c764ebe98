"""Was that signal for us alone, or for the whole process group?

The command is in our group.  What is sent to the group, by the terminal, by timeout(1) or
by a shell's `kill %1`, it gets anyway; what is sent to us alone we pass on.  To pass on
both would give it some signals twice, and to many programs a second Ctrl-C means: at once.
The kernel does not tell us which it was.  So there is a process beside us in the group that
does nothing but keep its signals.  What it has got, too, was for the group.
"""

from __future__ import annotations

import os
import signal
import socket
from contextlib import suppress

from peerlock.supervision.offspring import forked, let_go_of_streams


class Neighbour:
    def __init__(self) -> None:
        # A signal's number is sent there; the answer is whether it has come to it, too.
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.line.setblocking(False)
        self.pid = forked(lambda: self._answer(theirs))
        theirs.close()

    def _answer(self, theirs: socket.socket) -> None:
        """In that process."""
        self.line.close()
        let_go_of_streams()
        while asked := theirs.recv(1):
            theirs.send(b"%d" % (signal.sigtimedwait(asked, 0) is not None))

    def dismiss(self) -> None:
        self.line.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
