"""How members reach one another: Unix sockets on one machine, TCP between many."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import socket
import ssl
import struct
import traceback
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol, cast

from peerlock.core.errors import UsageError
from peerlock.membership.engine import ClusterError
from peerlock.runtime.connection import Connection, give_up_descriptor

Accept = Callable[[], Connection]

EVERYWHERE = ("", "0.0.0.0", "::")
Endpoint = tuple[str, int]
HANDSHAKE = 5.0  # seconds to connect and to show certificates

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
        """Let others connect; where they can reach us.  Again, if we cannot be found."""

    def can_be_found(self) -> bool:
        """Whether there is still something at our address."""

    async def connect(self, address: str, connection: Connection) -> None:
        """To whoever is there; OSError if nobody is."""

    @property
    def trouble(self) -> ClusterError | None:
        """Why others may not talk with us before long."""

    def hide(self) -> None:
        """Let nobody new find us; who is on his way still gets in."""

    def close(self) -> None:
        """Let nobody else connect."""

    def abandon(self) -> None:
        """In a forked child: it is our parent who listens."""


class UnixSockets:
    """In a directory that only this user can enter; others are refused all the same."""

    def __init__(self, directory: Path) -> None:
        self.address = str(directory / f"{secrets.token_hex(8)}.sock")
        self._server: asyncio.Server | None = None

    async def listen(self, accept: Accept) -> str:
        def accept_ours() -> Connection:
            connection = accept()
            connection.admits = same_user
            return connection

        self.close()
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_unix_server(
                accept_ours, self.address, start_serving=False
            )
            await self._server.start_serving()
        except OSError as error:
            reason = error.strerror or error
            raise ClusterError(f"cannot listen at {self.address}: {reason}") from None
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
            for listening in self._server.sockets:
                give_up_descriptor(listening.fileno())


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
            raise UsageError(f"{advertise!r} is no address that others could dial")
        self._near = near
        self._security = security
        self._server: asyncio.Server | None = None

    async def listen(self, accept: Accept) -> str:
        security = self._security.for_server() if self._security else None

        def accept_kept() -> Connection | Doorman:
            connection = accept()
            connection.admits = kept_alive
            return Doorman(connection, security) if security else connection

        host, advertised_port = self._advertised or (await self._own_host(), 0)
        if self._security:
            self._security.must_be_fit_for(host)
        loop = asyncio.get_running_loop()
        try:
            if self._host in EVERYWHERE:
                taken = listening_everywhere(self._host, self._port)
                self._server = await loop.create_server(accept_kept, sock=taken)
            else:
                self._server = await loop.create_server(accept_kept, self._host, self._port)
        except (OSError, UnicodeError) as error:
            where = address(self._host, self._port)
            reason = getattr(error, "strerror", None) or "there is no host of that name"
            raise ClusterError(f"cannot listen at {where}: {reason}") from None
        port: int = self._server.sockets[0].getsockname()[1]
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
            "cannot find out by which address others reach this host: say it, with "
            "advertise (--advertise HOST:PORT)"
        )

    def can_be_found(self) -> bool:
        return True  # nobody can take a port away

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
        """They find the port, but nobody lets them in.

        asyncio forgets a connection, and does not close it, if it comes when its server is
        being closed (CPython's issue 109564).
        """
        if self._server is not None:
            loop = asyncio.get_running_loop()
            for listening in self._server.sockets:
                loop.remove_reader(listening.fileno())

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def abandon(self) -> None:
        if self._server is not None:
            for listening in self._server.sockets:
                give_up_descriptor(listening.fileno())


class Doorman(asyncio.Protocol):
    """Nobody has a word with a connection before he has shown a certificate.

    A server of asyncio's would see to that, too, but tells nobody of those who fail or
    never come to an end: they could take all descriptors.
    """

    def __init__(self, connection: Connection, security: ssl.SSLContext) -> None:
        self._connection = connection
        self._security = security
        self._begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stranger: socket.socket = transport.get_extra_info("socket").dup()
        cast(asyncio.Transport, transport).abort()  # the copy stays open
        stranger.setblocking(False)
        loop = asyncio.get_running_loop()
        work = loop.create_task(self._let_in(stranger))

        def turn_away() -> None:
            if not self._begun:
                stranger.close()
            work.cancel()
            loop.call_soon(self._connection.connection_lost, None)

        self._connection.cut = turn_away
        if self._connection.ended:
            turn_away()

    async def _let_in(self, stranger: socket.socket) -> None:
        self._begun = True
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._connection,
                stranger,
                ssl=self._security,
                ssl_handshake_timeout=HANDSHAKE,
            )
        except OSError as error:
            # What asyncio has in its hands points at the error, and the error at it: a
            # quarter of a megabyte that would stay until the next collection.
            traceback.clear_frames(error.__traceback__)
            self._connection.connection_lost(None)


class Security(Protocol):
    """Who we are and whom we trust, as of now: files may have been renewed."""

    def must_be_fit_for(self, host: str) -> None:
        """For who is reached there; or else others would refuse us."""

    @property
    def trouble(self) -> ClusterError | None:
        """Why the files are not used as they are now."""

    def for_server(self) -> ssl.SSLContext: ...
    def for_client(self) -> ssl.SSLContext: ...


def listening_everywhere(host: str, port: int) -> socket.socket:
    """At all addresses: those of IPv4, and those of IPv6, too, where there are any."""
    if host != "0.0.0.0" and socket.has_dualstack_ipv6():
        with suppress(OSError):
            return socket.create_server(
                ("::", port), family=socket.AF_INET6, dualstack_ipv6=True
            )
    return socket.create_server(("0.0.0.0", port))


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
    return ip_address(host.partition("%")[0]).is_loopback


def host_and_port(text: str) -> tuple[str, int]:
    """HOST:PORT, HOST, [IPv6]:PORT or [IPv6]; the port is 0 unless given."""
    parts = re.fullmatch(r"(?:\[([^][/]+)\]|([^][/:]*))(?::([0-9]*))?", text)
    if parts is None or int(parts[3] or 0) > 65535:
        raise UsageError(f"{text!r} is no address; write HOST:PORT or [IPv6]:PORT")
    return parts[1] or parts[2] or "", int(parts[3] or 0)


def address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def kept_alive(transport: asyncio.BaseTransport) -> bool:
    """Who is silent for long is asked by the kernel; who does not answer is cut off."""
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in SILENCE.items():
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return True


def same_user(transport: asyncio.BaseTransport) -> bool:
    """Whoever is at the other end of a Unix socket runs as we do."""
    connection: socket.socket = transport.get_extra_info("socket")
    size = struct.calcsize("3i")
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _pid, uid, _gid = struct.unpack("3i", peer)
    return bool(uid == os.getuid())
