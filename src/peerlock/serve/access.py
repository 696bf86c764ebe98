"""Which clients may use a port of `peerlock serve`.

- `unix:PATH`: those that the permissions of the socket's file let in; it has mode 600
  unless another is given.
- `HOST:PORT`: those that show a token (`Authorization: Bearer TOKEN`, or the password of
  `Basic`, which browsers ask for) or, over TLS, a certificate of the port's authority.
- The API always needs one of the two on TCP.  The live page needs one unless it is on
  loopback; there the Host header must be an address or localhost, because a web site could
  otherwise read the page by a name of its own.  The metrics need one if one is configured;
  `/healthz` and `/readyz` never do.
- A token crosses machines only over TLS.

A token file has one token in each line, so that tokens can be replaced one after the other;
it is read again when it has changed.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import stat
from base64 import b64decode
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path

from peerlock.api.meeting import files_in
from peerlock.core.errors import UsageError
from peerlock.membership.engine import ClusterError
from peerlock.runtime.listening import listening_at
from peerlock.runtime.tls import server_context_for_clients
from peerlock.runtime.transport import address, host_and_port, is_loopback
from peerlock.serve.http import Response, complaint

UNIX = "unix:"
SHORTEST = 16  # characters of a token
CHALLENGES = (
    (b"www-authenticate", b'Bearer realm="peerlock"'),
    (b"www-authenticate", b'Basic realm="peerlock", charset="UTF-8"'),
)


class Tokens:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._read()

    def admit(self, authorization: bytes) -> bool:
        with suppress(OSError, UsageError):  # then the last tokens count
            self._read()
        shown = shown_token(authorization)
        return any(compare_digest(shown, token) for token in self._tokens)

    def _read(self) -> None:
        found = os.stat(self._path)
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp == self._stamp:
            return
        if stat.S_IMODE(found.st_mode) & 0o007:
            raise UsageError(f"others can read {self._path}: chmod 600 {self._path}")
        tokens = [line.strip() for line in self._path.read_bytes().splitlines()]
        tokens = [token for token in tokens if token]
        if not tokens or min(map(len, tokens)) < SHORTEST:
            raise UsageError(
                f"{self._path} must have tokens of {SHORTEST} characters or more, "
                "one in each line: use openssl rand -hex 32"
            )
        self._tokens, self._stamp = tokens, stamp


def tokens_in(path: str) -> Tokens:
    try:
        return Tokens(Path(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def shown_token(authorization: bytes) -> bytes:
    """Empty if there is none."""
    kind, _, value = authorization.partition(b" ")
    if kind.lower() == b"bearer":
        return value.strip()
    if kind.lower() == b"basic":
        with suppress(ValueError):
            return b64decode(value, validate=True).partition(b":")[2]
    return b""


@dataclass(frozen=True)
class Keys:
    """What a client may show, for all ports on TCP."""

    tokens: Tokens | None = None
    certificates: str | None = None  # a directory of `peerlock certs`
    socket_mode: int = 0o600


class Gate:
    """The access to one port."""

    def __init__(
        self,
        where: str,
        keys: Keys,
        needs_key: bool,  # also on loopback
        public: Collection[str] = (),
        open_elsewhere: bool = False,  # without any key
    ) -> None:
        self.where = where
        self.is_unix = where.startswith(UNIX)
        self._mode = keys.socket_mode
        self._tokens = None if self.is_unix else keys.tokens
        self.public = frozenset(public)
        self.security: ssl.SSLContext | None = None
        self._checks_host = False
        if not self.is_unix:
            self._prepare(keys, needs_key, open_elsewhere)

    def _prepare(self, keys: Keys, needs_key: bool, open_elsewhere: bool) -> None:
        host = host_and_port(self.where)[0] or "127.0.0.1"
        here = is_here(host)
        if keys.certificates:
            files = files_in(Path(keys.certificates), self.where)
            try:
                self.security = server_context_for_clients(files)
            except ClusterError as error:
                raise UsageError(str(error)) from None
        elif self._tokens and not here:
            raise UsageError(
                f"a token for {self.where} would cross the network in clear text: "
                "add --tls DIR, or use a loopback address"
            )
        if not self._tokens and not self.security:
            if needs_key or not (here or open_elsewhere):
                raise UsageError(
                    f"{self.where} needs --token-file FILE or --tls DIR; unix:PATH does not"
                )
            self._checks_host = not open_elsewhere

    def admit(
        self, headers: Mapping[bytes, bytes], path: str, transport: asyncio.Transport
    ) -> Response | None:
        """What to answer instead, if the client is not let in."""
        if self.is_unix or path in self.public:
            return None
        if not self._tokens and not self.security:
            if self._checks_host and not is_plain(headers.get(b"host", b"")):
                return complaint(403, "use an address or localhost as the host")
            return None
        if self.security and transport.get_extra_info("peercert"):
            return None
        if self._tokens and self._tokens.admit(headers.get(b"authorization", b"")):
            return None
        return complaint(401, "show a token or a client certificate", *CHALLENGES)

    async def listen(self) -> tuple[list[socket.socket], str]:
        """Bound sockets, and their address, with the real port if it was 0."""
        try:
            if self.is_unix:
                return [bound_to_path(self.where[len(UNIX) :], self._mode)], self.where
            host, port = host_and_port(self.where)
            sockets = await listening_at(host or "127.0.0.1", port)
            return sockets, address(*sockets[0].getsockname()[:2])
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "the host name is unknown"
            raise UsageError(f"cannot listen at {self.where}: {reason}") from None

    def tidy(self) -> None:
        if self.is_unix:
            Path(self.where[len(UNIX) :]).unlink(missing_ok=True)


def is_here(host: str) -> bool:
    try:
        return host == "localhost" or is_loopback(host)
    except ValueError:  # a name
        return False


def is_plain(host: bytes) -> bool:
    """An address or localhost, and not a name that may lead anywhere."""
    try:
        name = host_and_port(host.decode("ascii"))[0]
    except (UnicodeDecodeError, UsageError):
        return False
    if name == "localhost":
        return True
    with suppress(ValueError):
        is_loopback(name)
        return True
    return False


def bound_to_path(path: str, mode: int) -> socket.socket:
    """A socket of this mode, from its first moment; one that a dead process left goes."""
    made = socket.socket(socket.AF_UNIX)
    try:
        if is_left_behind(path):
            os.unlink(path)
        os.fchmod(made.fileno(), 0o600)
        made.bind(path)
        os.chmod(path, mode)
    except OSError as error:
        made.close()
        if isinstance(error, OSError) and error.strerror is None:  # too long, or empty
            raise UsageError(f"cannot listen at {UNIX}{path}: {error}") from None
        raise
    return made


def is_left_behind(path: str) -> bool:
    if not path or not os.path.exists(path) or not stat.S_ISSOCK(os.stat(path).st_mode):
        return False
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(path)
        except ConnectionRefusedError:
            return True
    return False
