"""The door: accepted connections whose other end is not yet known.

Any number of strangers may connect.  They must not use up descriptors or memory, and must
not keep members out.  So:

 1. Until its other end has said something, a connection has no buffer and no TLS.
 2. A TLS handshake begins when the first byte of one has come.  At most SHAKING run at
    once; one that has run for longer than SLOW gives way if others wait for their turn.
    Each turn of the event loop begins AT_ONCE: they cost more than all else here.
 3. At most MOST connections wait.  When one more comes, a quarter of them is turned away.
 4. Connections have prospects, in steps: nothing was said; something was; its handshake has
    begun; a certificate was shown.  A host with FEW connections here counts for one step
    more, and so does one from which a member has come.  Handshakes begin with the best
    prospects, and those with the worst are turned away first.  Among equals, a host with
    few connections comes first, and then the newest connection: the others are a flood, or
    have waited for so long that their owners have given up.
 5. A connection without a valid first frame within PATIENCE seconds is ended.
 6. A connection that is turned away receives BUSY, if nothing was begun with it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from functools import partial

from peerlock.membership.engine import ClusterError
from peerlock.runtime.codec import VERSION, Foreign, Refusal, encode, other_version
from peerlock.runtime.connection import Admits, Connection, give_up_descriptor

MOST = 128
PATIENCE = 10.0  # seconds

HANDSHAKE = 5.0  # seconds to show certificates
SHAKING = 32
AT_ONCE = 2
FEW = 8
SLOW = 0.2  # seconds
TICK = 0.001  # an event loop may be early by as much

MOST_HOSTS = 1_000  # of members, which are remembered

# A peer of another version keeps trying: reported as trouble until it stops for this long.
REMEMBERED = 30.0  # seconds

BUSY = "it is busy with connections of strangers: try again, or keep them from its port"
HANDSHAKE_RECORD = b"\x16"  # the first byte of a TLS handshake
ALERT = bytes.fromhex("15 0303 0002 02 50")  # TLS: an internal error


class Prospects(IntEnum):
    SILENT = 0
    SPEAKS = 1
    SHAKES = 2  # its handshake has begun
    PROVEN = 5  # by a certificate, which outweighs all else


SPEAKS = Prospects.SPEAKS


class Caller:
    """One connection at the door, as the kernel has accepted it."""

    def __init__(
        self, peer: socket.socket, security: ssl.SSLContext | None, admits: Admits
    ) -> None:
        self.peer = peer
        self.security = security
        self.admits = admits
        self.host = host_of(peer)
        self.prospects = Prospects.SILENT
        self.first = b""  # byte that it has said
        self.handshake: asyncio.Task[None] | None = None
        self.since = 0.0  # when it began
        self.tired: asyncio.TimerHandle | None = None

    def has_spoken(self) -> bool:
        """Or it is gone."""
        try:
            self.first = self.peer.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            self.first = b""
        return True

    def is_understood(self) -> bool:
        """What it has said may be a greeting, or the beginning of a handshake."""
        if self.security is None:
            return bool(self.first)
        return self.first == HANDSHAKE_RECORD

    def say_busy(self) -> None:
        """Unless something was begun already."""
        if self.handshake is not None:
            return
        with suppress(OSError):
            self.peer.send(ALERT if self.security else encode(Refusal(VERSION, BUSY)))
            self.peer.recv(1 << 16)  # what is left unread would take our word with it


class Door:
    def __init__(self) -> None:
        self.strangers = 0  # connections that ended before their other end was known
        self._waiting: dict[Connection, Caller] = {}  # oldest first
        self._shaking: dict[Connection, Caller] = {}  # oldest first; some of those above
        self._hosts: dict[str, None] = {}  # from which members have come, newest last
        self._beginning = False  # more handshakes begin in the next turn of the loop
        self._foreign: tuple[str, int, float] | None = None  # the last, and until when

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def trouble(self) -> ClusterError | None:
        """A peer that speaks another version of the protocol tries to talk with us."""
        if self._foreign is None or time.monotonic() >= self._foreign[2]:
            return None
        host, version, _ = self._foreign
        return ClusterError(f"cannot talk with a peer{host}: {other_version(version)}")

    def wait(self, connection: Connection, caller: Caller) -> None:
        """It was accepted; until its first frame is good, it waits here."""
        loop = asyncio.get_running_loop()
        connection.admits = caller.admits
        connection.cut = lambda: self._cut(connection, caller)
        caller.tired = loop.call_later(PATIENCE, self._turn_away, connection)
        self._waiting[connection] = caller
        loop.add_reader(caller.peer, self._spoke, connection, caller)
        self._spoke(connection, caller)  # if so, while it waited in the kernel
        if len(self._waiting) > MOST:
            self._make_room()

    def pass_in(self, connection: Connection, member: bool = False) -> None:
        """Its other end is known now."""
        if caller := self._forget(connection):
            connection.welcome()
            if member:
                self._hosts.pop(caller.host, None)
                self._hosts[caller.host] = None
                if len(self._hosts) > MOST_HOSTS:
                    del self._hosts[next(iter(self._hosts))]

    def refuse(self, connection: Connection, foreign: Foreign) -> None:
        """It speaks another version of the protocol; both sides report that."""
        caller = self._waiting.get(connection)
        where = f" at {caller.host}" if caller and caller.host else ""
        self._foreign = where, foreign.version, time.monotonic() + REMEMBERED
        connection.send(Refusal(VERSION, ""))
        connection.finish()

    def closed(self, connection: Connection) -> None:
        """If it still waited, its other end was a stranger."""
        if self._forget(connection):
            self.strangers += 1

    def _forget(self, connection: Connection) -> Caller | None:
        caller = self._waiting.pop(connection, None)
        if caller and caller.tired:
            caller.tired.cancel()
        return caller

    def _order(self) -> Callable[[Connection], tuple[int, int]]:
        """A key to sort by: the worst prospects first, and of equals the oldest."""
        here = Counter(caller.host for caller in self._waiting.values())

        def prospects(connection: Connection) -> tuple[int, int]:
            caller = self._waiting[connection]
            number = here[caller.host]
            steps = (number <= FEW) + (caller.host in self._hosts)
            return caller.prospects + steps, -number

        return prospects

    def abandon(self) -> None:
        """In a forked child: waiting connections belong to the parent."""
        for caller in self._waiting.values():
            give_up_descriptor(caller.peer.fileno())

    # Letting in

    def _spoke(self, connection: Connection, caller: Caller) -> None:
        if not caller.has_spoken():
            return
        asyncio.get_running_loop().remove_reader(caller.peer)
        if caller.is_understood():
            caller.prospects = SPEAKS
            self._begin_soon()
        else:
            connection.end()

    def _begin_soon(self) -> None:
        if not self._beginning:
            self._beginning = True
            asyncio.get_running_loop().call_soon(self._begin_some)

    def _begin_some(self) -> None:
        self._beginning = False
        ready = [c for c, caller in self._waiting.items() if caller.prospects is SPEAKS]
        if not ready:
            return
        now = asyncio.get_running_loop().time()
        self._end_slow(now)
        room = min(AT_ONCE, SHAKING - len(self._shaking))
        if room > 0:
            ready.sort(key=self._order())
            for connection in ready[-room:]:
                self._begin(connection, now)
        if len(ready) > room > 0:
            self._begin_soon()

    def _end_slow(self, now: float) -> None:
        """While too many run; if none is slow yet, look again when the first one is."""
        while len(self._shaking) >= SHAKING:
            connection, caller = next(iter(self._shaking.items()))
            if now - caller.since <= SLOW:
                self._beginning = True
                loop = asyncio.get_running_loop()
                loop.call_at(caller.since + SLOW + TICK, self._begin_some)
                return
            connection.end()

    def _begin(self, connection: Connection, now: float) -> None:
        caller = self._shaking[connection] = self._waiting[connection]
        caller.since, caller.prospects = now, Prospects.SHAKES
        work = self._let_in(connection, caller)
        caller.handshake = asyncio.get_running_loop().create_task(work)
        caller.handshake.add_done_callback(partial(close_if_cancelled, caller.peer))

    async def _let_in(self, connection: Connection, caller: Caller) -> None:
        try:
            if connection.ended:
                caller.peer.close()
                raise ConnectionAbortedError
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                caller.peer,
                ssl=caller.security,
                ssl_handshake_timeout=HANDSHAKE if caller.security else None,
            )
            if caller.security:
                caller.prospects = Prospects.PROVEN
        except OSError as error:
            # What asyncio has in its hands points at the error, and the error at it: a
            # quarter of a megabyte that would stay until the next collection.
            traceback.clear_frames(error.__traceback__)
            connection.connection_lost(None)
        finally:
            self._shaking.pop(connection, None)
            self._begin_soon()

    # Turning away

    def _make_room(self) -> None:
        for connection in sorted(self._waiting, key=self._order())[: MOST // 4]:
            self._waiting[connection].say_busy()
            self._turn_away(connection)

    def _turn_away(self, connection: Connection) -> None:
        self.closed(connection)
        connection.end()

    def _cut(self, connection: Connection, caller: Caller) -> None:
        """End a connection that is not complete yet.

        A handshake is not cancelled (some event loops then keep its socket): it fails.
        """
        if caller.handshake is not None:
            self._shaking.pop(connection, None)
            self._begin_soon()
            with suppress(OSError):
                caller.peer.shutdown(socket.SHUT_RDWR)
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(caller.peer)
        caller.peer.close()
        loop.call_soon(connection.connection_lost, None)


def close_if_cancelled(peer: socket.socket, letting_in: asyncio.Task[None]) -> None:
    """As the loop ends: a task that is cancelled before it has begun closes nothing."""
    if letting_in.cancelled():
        peer.close()


def host_of(peer: socket.socket) -> str:
    """From where it was dialled; empty on a Unix socket, or if it is gone already."""
    with suppress(OSError):
        name = peer.getpeername()
        return str(name[0]) if isinstance(name, tuple) else ""
    return ""
