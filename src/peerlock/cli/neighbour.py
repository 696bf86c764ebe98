"""Was that signal for us alone, or for the whole process group?

The command is in our group.  What is sent to the group, by the terminal, by timeout(1) or
by a shell's `kill %1`, it gets anyway; what is sent to us alone we pass on.  To pass on
both would give it some signals twice, and to many programs a second Ctrl-C means: at once.
The kernel does not tell us which it was.  So there is a process beside us in the group that
does nothing but keep its signals.  What it has got, too, was for the group.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import suppress

from peerlock.cli.offspring import forked, let_go_of_streams

SOON = 0.01  # seconds, in which the kernel surely has sent it to all in the group


class Neighbour:
    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.setblocking(False)
        self._pid = forked(lambda: self._answer(theirs))
        theirs.close()

    def _answer(self, theirs: socket.socket) -> None:
        """In that process."""
        self._line.close()
        let_go_of_streams()
        while asked := theirs.recv(1):
            theirs.send(b"%d" % (signal.sigtimedwait(asked, 0) is not None))

    async def got(self, number: int) -> bool:
        """Whether it has got this signal, too, which has just come.  One at a time."""
        await asyncio.sleep(SOON)
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._line, bytes([number]))
            return await loop.sock_recv(self._line, 1) == b"1"
        except OSError:
            return False  # somebody has killed it

    def dismiss(self) -> None:
        self._line.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
