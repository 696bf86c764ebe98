"""How members reach each other: Unix sockets on one machine, TCP between machines."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from peerlock.core.errors import UsageError
from peerlock.membership.engine import ClusterError
from peerlock.runtime.connection import Connection
from peerlock.runtime.door import HANDSHAKE, Caller
from peerlock.runtime.listening import EVERYWHERE, Listening, listening_at

Accept = Callable[[Caller], None]

Endpoint = tuple[str, int]

# When the kernel asks a silent peer, how often and how many times, in seconds; and how long
# what we have sent may go unacknowledged, in milliseconds.
SILENCE = {
    "TCP_KEEPIDLE": 2,
    "TCP_KEEPINTVL": 1,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 5000,
}


class Transport(Protocol):
    async def listen(self, accept: Accept) -> str:
        """Listen; returns the address.  Called again if the socket was removed."""

    def can_be_found(self) -> bool:
        """Whether there is still something at our address."""

    async def connect(self, address: str, connection: Connection) -> None:
        """Connect to this address; raises OSError if no process listens there."""

    @property
    def trouble(self) -> ClusterError | None:
        """Why other members may soon refuse to talk with this one."""

    def hide(self) -> None:
        """Accept no new connections; pending ones are still accepted."""

    def close(self) -> None:
        """Stop listening."""

    def abandon(self) -> None:
        """In a forked child: the parent listens."""


class UnixSockets:
    """In a directory that only this user can enter; other users are refused as well."""

    def __init__(self, directory: Path) -> None:
        self.address = str(directory / f"{os.urandom(8).hex()}.sock")
        self._server: Listening | None = None

    async def listen(self, accept: Accept) -> str:
        self.close()
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(self.address)
        except OSError as error:
            listening.close()
            reason = error.strerror or error
            raise ClusterError(f"cannot listen at {self.address}: {reason}") from None
        self._server = Listening(
            [listening], lambda peer: accept(Caller(peer, None, same_user))
        )
        return self.address

    def can_be_found(self) -> bool:
        return Path(self.address).exists()

    async def connect(self, address: str, connection: Connection) -> None:
        connection.admits = same_user
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: connection, address)

    @property
    def trouble(self) -> None:
        return None

    def hide(self) -> None:
        Path(self.address).unlink(missing_ok=True)

    def close(self) -> None:
        self.hide()
        if self._server is not None:
            self._server.close()

    def abandon(self) -> None:
        if self._server is not None:
            self._server.abandon()


class Tcp:
    """Between machines.  Each side shows a certificate of the cluster's authority.

    listen: HOST:PORT, port 0 for any that is free; others reach us at `advertise`, or at
    the host we listen at, or, if that is all of them, at the one by which we reach one of
    `near`.
    """

    def __init__(
        self,
        listen: str,
        advertise: str | None,
        near: tuple[Endpoint, ...],
        security: Security | None,
    ) -> None:
        self._host, self._port = host_and_port(listen)
        self._advertised = host_and_port(advertise) if advertise else None
        if self._advertised and self._advertised[0] in EVERYWHERE:
            raise UsageError(
                f"invalid advertise {advertise!r}: use an address that others can dial"
            )
        self._near = near
        self._security = security
        self._server: Listening | None = None

    async def listen(self, accept: Accept) -> str:
        security = self._security.for_server() if self._security else None
        host, advertised_port = self._advertised or (await self._own_host(), 0)
        if self._security:
            self._security.must_be_fit_for(host)
        try:
            sockets = await listening_at(self._host, self._port)
        except (OSError, UnicodeError) as error:
            where = address(self._host, self._port)
            reason = getattr(error, "strerror", None) or "the host name is unknown"
            raise ClusterError(f"cannot listen at {where}: {reason}") from None
        self._server = Listening(
            sockets, lambda peer: accept(Caller(peer, security, kept_alive))
        )
        port: int = sockets[0].getsockname()[1]
        return address(host, advertised_port or port)

    async def _own_host(self) -> str:
        if self._host not in EVERYWHERE:
            return self._host
        family = socket.AF_INET if self._host == "0.0.0.0" else socket.AF_UNSPEC
        found = [host for near in self._near for host in await own_hosts(near, family)]
        others = [host for host in found if host and not is_loopback(host)]
        if others or (found and all(found)):  # or all of us are on this machine
            return (others or found)[0]
        raise ClusterError(
            "cannot find out the address of this host for other members: give it with "
            "advertise (--advertise HOST:PORT)"
        )

    def can_be_found(self) -> bool:
        return True  # a port cannot be taken away

    async def connect(self, address: str, connection: Connection) -> None:
        host, port = host_and_port(address)
        connection.admits = kept_alive
        loop = asyncio.get_running_loop()
        security = self._security.for_client() if self._security else None
        async with asyncio.timeout(HANDSHAKE):
            await loop.create_connection(
                lambda: connection,
                host,
                port,
                ssl=security,
                server_hostname=host if security else None,
            )

    @property
    def trouble(self) -> ClusterError | None:
        return self._security.trouble if self._security else None

    def hide(self) -> None:
        """The port is still open, but no connection is accepted any more."""
        if self._server is not None:
            self._server.hide()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def abandon(self) -> None:
        if self._server is not None:
            self._server.abandon()


class Security(Protocol):
    """Our certificate and the authorities, as of now: files may have been renewed."""

    def must_be_fit_for(self, host: str) -> None:
        """Verify the certificate for this address; otherwise other members would refuse
        us."""

    @property
    def trouble(self) -> ClusterError | None:
        """Why the files are not used as they are now."""

    def for_server(self) -> ssl.SSLContext: ...
    def for_client(self) -> ssl.SSLContext: ...


async def own_hosts(near: Endpoint, family: int) -> list[str]:
    """By which addresses of ours we reach it; an empty one if there is none."""
    found = []
    with suppress(OSError, UnicodeError):
        loop = asyncio.get_running_loop()
        ways = await loop.getaddrinfo(*near, family=family, type=socket.SOCK_DGRAM)
        for kind, _, _, _, where in ways:
            with suppress(OSError), socket.socket(kind, socket.SOCK_DGRAM) as probe:
                probe.connect(where)  # sends nothing
                found.append(probe.getsockname()[0])
    return found or [""]


def is_loopback(host: str) -> bool:
    from ipaddress import ip_address  # slow to load, and not needed on one machine

    return ip_address(host.partition("%")[0]).is_loopback


def host_and_port(text: str) -> tuple[str, int]:
    """HOST:PORT, HOST, [IPv6]:PORT or [IPv6]; the port is 0 unless given."""
    parts = re.fullmatch(r"(?:\[([^][/]+)\]|([^][/:]*))(?::([0-9]*))?", text)
    if parts is None or int(parts[3] or 0) > 65535:
        raise UsageError(f"invalid address {text!r}: use HOST:PORT or [IPv6]:PORT")
    return parts[1] or parts[2] or "", int(parts[3] or 0)


def address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def kept_alive(peer: socket.socket) -> bool:
    """The kernel probes a peer that is silent for long, and disconnects one that is
    gone."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in SILENCE.items():
        if hasattr(socket, option):
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return True


def same_user(peer: socket.socket) -> bool:
    """The process at the other end of a Unix socket runs as we do."""
    return user_of(peer) == os.getuid()


def user_of(peer: socket.socket) -> int:
    """As the kernel says; any exception means that it does not."""
    if sys.platform.startswith("linux"):
        size = struct.calcsize("3i")
        told = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        _pid, user, _group = struct.unpack("3I", told)
        return int(user)
    return effective_user(peer.fileno())


def effective_user(descriptor: int) -> int:
    """By getpeereid(3), which the BSDs and macOS have."""
    import ctypes  # slow to load, and not needed on Linux

    user, group = ctypes.c_uint(), ctypes.c_uint()
    ask = ctypes.CDLL(None).getpeereid
    if ask(descriptor, ctypes.byref(user), ctypes.byref(group)) != 0:
        raise OSError("the other end of the socket cannot be identified")
    return user.value
