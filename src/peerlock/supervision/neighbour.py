"""Was that signal for us alone, or for the whole process group?

The command is in our group.  What is sent to the group, by the terminal, by timeout(1) or
by a shell's `kill %1`, it gets anyway; what is sent to us alone we pass on.  To pass on
both would give it some signals twice, and to many programs a second Ctrl-C means: at once.
The kernel does not tell us which it was.  So there is a process beside us in the group that
does nothing but keep its signals.  What it has got, too, was for the group.

timeout(1) sends one to us and then one to the group.  That counts as one, as it does for
the kernel when the first is not yet answered.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import suppress

from peerlock.supervision.offspring import forked, let_go_of_streams

SOON = 0.05  # seconds, in which whatever belongs together has come


class Neighbour:
    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.setblocking(False)
        self.pid = forked(lambda: self._answer(theirs))
        theirs.close()
        self._came: asyncio.Queue[int] = asyncio.Queue()
        self._under_way: set[int] = set()

    def _answer(self, theirs: socket.socket) -> None:
        """In that process."""
        self._line.close()
        let_go_of_streams()
        while asked := theirs.recv(1):
            theirs.send(b"%d" % (signal.sigtimedwait(asked, 0) is not None))

    def came(self, number: int) -> None:
        """To us."""
        if number not in self._under_way:
            self._under_way.add(number)
            self._came.put_nowait(number)

    async def next(self) -> tuple[int, bool]:
        """A signal that has come, and whether it was for the whole group."""
        number = await self._came.get()
        await asyncio.sleep(SOON)
        for_all = await self._has(number)
        self._under_way.discard(number)
        return number, for_all

    async def _has(self, number: int) -> bool:
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._line, bytes([number]))
            return await loop.sock_recv(self._line, 1) == b"1"
        except OSError:
            return False  # somebody has killed it

    def dismiss(self) -> None:
        self._line.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
