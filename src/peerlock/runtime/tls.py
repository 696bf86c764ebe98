"""Both ends of a connection present a certificate of the cluster's authority, or it ends.

TLS 1.3 only; only the given authorities are trusted; sessions are not resumed: each
connection is verified in full.  The dialling end also verifies that the certificate is for
the host, or the IP address, that it dialled.

A context checks its files whenever a connection begins, and reads them again if they have
changed: certificates and authorities are replaced without a restart, and existing
connections continue.  While the files do not fit together (half of them have been replaced)
the last ones that did are used.
"""

from __future__ import annotations

import os
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerlock.membership.engine import ClusterError
from peerlock.membership.key_files import can_read, no_password

Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Files:
    """Our certificate, our key and the authorities, as `peerlock certs` makes them."""

    ca: Path
    certificate: Path
    key: Path

    @classmethod
    def of_host(cls, directory: Path, host: str) -> Files:
        return cls(
            directory / "ca.pem", directory / f"{host}.pem", directory / f"{host}.key"
        )

    def stamp(self) -> Stamp:
        """It differs when one of them has been written or replaced."""
        found = [os.stat(path) for path in (self.ca, self.certificate, self.key)]
        return tuple((s.st_mtime_ns, s.st_size, s.st_ino) for s in found)


class Context(ssl.SSLContext):
    """Each connection is made by the context that was last read from the files."""

    def __new__(
        cls,
        files: Files,
        purpose: int,
        check_hostname: bool,
        wants: ssl.VerifyMode = ssl.CERT_REQUIRED,
    ) -> Context:
        return super().__new__(cls, purpose)

    def __init__(
        self,
        files: Files,
        purpose: int,
        check_hostname: bool,
        wants: ssl.VerifyMode = ssl.CERT_REQUIRED,  # a certificate of the other end
    ) -> None:
        self._files = files
        self._purpose = purpose
        self._check_hostname = check_hostname
        self._wants = wants
        self.trouble: ClusterError | None = None  # why the files are not used, if so
        self._stamp: Stamp = ()
        self._inner = self._read()
        harden(self, check_hostname, wants)  # for code that asks this one how strict it is

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        return self._newest().wrap_bio(*arguments, **named)

    def wrap_socket(self, *arguments: Any, **named: Any) -> ssl.SSLSocket:
        return self._newest().wrap_socket(*arguments, **named)

    def _newest(self) -> ssl.SSLContext:
        try:
            if self._files.stamp() != self._stamp:
                self._inner = self._read()
            self.trouble = None
        except (OSError, ClusterError) as error:
            self.trouble = ClusterError(str(error))
        return self._inner

    def _read(self) -> ssl.SSLContext:
        files = self._files
        try:
            stamp = files.stamp()  # before we read: what changes later is read again
            context = ssl.SSLContext(self._purpose)
            harden(context, self._check_hostname, self._wants)
            context.load_verify_locations(files.ca)
            context.load_cert_chain(files.certificate, files.key, password=no_password)
        except ssl.SSLError as error:
            raise ClusterError(
                f"cannot use {files.ca}, {files.certificate} and {files.key} together: "
                f"{(error.reason or str(error)).lower().replace('_', ' ')}"
            ) from None
        except OSError as error:
            missing = next(
                (p for p in (files.ca, files.certificate, files.key) if not can_read(p)),
                files.key,
            )
            raise ClusterError(f"cannot read {missing}: {error.strerror}") from None
        self._stamp = stamp
        return context


class Mutual:
    """What a transport needs to show and to see certificates."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._client: Context | None = None

    def must_be_fit_for(self, host: str) -> None:
        try:
            shake_hands(self.for_client(), self.for_server(), host)
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error.reason or str(error)
            raise ClusterError(
                f"others will not trust {self.files.certificate}: {reason}"
            ) from None

    @property
    def trouble(self) -> ClusterError | None:
        return self._client.trouble if self._client else None

    def for_server(self) -> ssl.SSLContext:
        return server_context(self.files)

    def for_client(self) -> ssl.SSLContext:
        """Always the same context: reading the files takes milliseconds, checking them
        none."""
        if self._client is None:
            self._client = client_context(self.files)
        return self._client


def shake_hands(ours: ssl.SSLContext, theirs: ssl.SSLContext, host: str) -> None:
    """As if we dialled ourselves; ssl.SSLError if one does not trust the other."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    caller = ours.wrap_bio(back, there, server_hostname=host)
    called = theirs.wrap_bio(there, back, server_side=True)
    for side in (caller, called, caller, called):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()


def server_context(files: Files) -> Context:
    """For the listening end: a peer without a valid certificate gets no data."""
    return Context(files, ssl.PROTOCOL_TLS_SERVER, check_hostname=False)


def server_context_for_clients(files: Files) -> Context:
    """For programs that are not members: they may show a certificate, or something else."""
    return Context(files, ssl.PROTOCOL_TLS_SERVER, False, ssl.CERT_OPTIONAL)


def client_context(files: Files, check_hostname: bool = True) -> Context:
    """For the dialling end, which verifies the host that it has dialled."""
    return Context(files, ssl.PROTOCOL_TLS_CLIENT, check_hostname)


def harden(
    context: ssl.SSLContext,
    check_hostname: bool,
    wants: ssl.VerifyMode = ssl.CERT_REQUIRED,
) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = check_hostname
    context.verify_mode = wants
    if context.protocol == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
