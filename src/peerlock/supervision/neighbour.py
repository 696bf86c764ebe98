"""Was a signal for this process alone, or for the whole process group?

The command is in our group.  It receives signals that are sent to the group (by the
terminal, by timeout(1) or by a shell's `kill %1`) anyway; signals that are sent to this
process alone are passed on.  If both were passed on, the command would receive some signals
twice, and for many programs a second Ctrl-C means: end at once.  The kernel does not say
which it was.  So there is another process in the group that only collects its signals.  A
signal that it has received, too, was for the group.
"""

from __future__ import annotations

import os
import signal
import socket
from contextlib import suppress

from peerlock.supervision.offspring import forked, let_go_of_streams


class Neighbour:
    def __init__(self) -> None:
        # The number of a signal is sent there; the answer is whether it has received it,
        # too.
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.line.setblocking(False)
        self.pid = forked(lambda: self._answer(theirs))
        theirs.close()

    def _answer(self, theirs: socket.socket) -> None:
        """Runs in that process."""
        self.line.close()
        let_go_of_streams()
        while asked := theirs.recv(1):
            theirs.send(b"%d" % (signal.sigtimedwait(asked, 0) is not None))

    def dismiss(self) -> None:
        self.line.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
