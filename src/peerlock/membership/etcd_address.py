"""What an address like etcd://user:password@a:2379,b:2379/prod?ca=ca.pem says.

  etcd://…     plain TCP; with any of the options below, TLS
  etcds://…    TLS, and without `ca` the authorities that this machine trusts
  ?ca=FILE     the authority that has signed the servers' certificates
  ?cert=FILE&key=FILE   our own certificate, if etcd requires one
  ?password-file=FILE   instead of a password that is visible in process lists

Characters of a user name or password that mean something in an address are written as
in every other: %40 for @, %3A for a colon.

Files are read when the address is, and again when they are needed and have changed: so
passwords and certificates are replaced without a restart.  While a file cannot be used, or
half of them have been replaced, what was read before is used.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, unquote

from peerlock.core.errors import UsageError
from peerlock.membership.engine import ClusterError
from peerlock.membership.key_files import can_read, no_password

PORT = 2379
OPTIONS = {"ca", "cert", "key", "password-file"}
EXAMPLE = "etcd://10.0.0.5:2379,10.0.0.6:2379/prod"
ENDPOINT = re.compile(r"(?:\[([\w:.%-]+)\]|([\w.-]+))(?::([0-9]{0,5}))?")

T = TypeVar("T")


def nothing() -> str:
    return ""


@dataclass(frozen=True)
class EtcdAddress:
    endpoints: tuple[tuple[str, int], ...]
    cluster: str
    user: str = ""
    password: Callable[[], str] = field(default=nothing, repr=False)  # the newest
    tls: Callable[[], ssl.SSLContext] | None = None  # the newest, too


def parse(url: str) -> EtcdAddress:
    if any("\ud800" <= character <= "\udfff" for character in url):
        raise UsageError(f"invalid etcd address: use UTF-8, as in {EXAMPLE}")
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    credentials, _, hosts = authority.rpartition("@")
    user, _, password = credentials.partition(":")
    options = parse_options(query)
    cluster = unquote(path)
    if not cluster or "/" in cluster:
        raise UsageError(
            f"invalid etcd address: add the name of the cluster, as in {EXAMPLE}"
        )
    secure = scheme == "etcds" or bool({"ca", "cert", "key"} & set(options))
    return EtcdAddress(
        endpoints=tuple(endpoint(host) for host in hosts.split(",")),
        cluster=cluster,
        user=unquote(user),
        password=password_of(unquote(password), options.get("password-file")),
        tls=tls_of(*map(options.get, ("ca", "cert", "key"))) if secure else None,
    )


def parse_options(query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in sorted(set(options) - OPTIONS):
        raise UsageError(f"unknown etcd option ?{name}=: use {', '.join(sorted(OPTIONS))}")
    for name, value in options.items():
        if not value or "\0" in value:
            raise UsageError(f"?{name}= needs the name of a file")
    return options


def endpoint(text: str) -> tuple[str, int]:
    """host, host:port, [::1] or [::1]:port."""
    if found := ENDPOINT.fullmatch(text):
        bracketed, plain, digits = found.groups()
        port = int(digits or PORT)
        with suppress(UnicodeError):  # of names that DNS has no room for
            host = (bracketed or plain).encode("idna").decode()
            if 0 < port < 1 << 16:
                return host, port
    raise UsageError(f"invalid etcd host and port {text!r}: use an address like {EXAMPLE}")


def password_of(given: str, file: str | None) -> Callable[[], str]:
    return newest([file], partial(contents, file)) if file else lambda: given


def tls_of(
    ca: str | None, cert: str | None, key: str | None
) -> Callable[[], ssl.SSLContext]:
    files = [path for path in (ca, cert, key) if path]
    return newest(files, partial(tls_context, ca, cert, key))


def newest(files: list[str], read: Callable[[], T]) -> Callable[[], T]:
    """What these files say, whenever it is asked for; to look at them costs nothing."""
    stamp = stamps(files)  # before we read: what changes later is read again
    value = read()

    def look() -> T:
        nonlocal stamp, value
        now = stamps(files)
        if now != stamp:
            with suppress(ClusterError):
                value = read()
                stamp = now
        return value

    return look


def stamps(files: list[str]) -> list[tuple[int, int, int]]:
    """They differ when a file has been written, replaced or removed."""
    found = []
    for path in files:
        with suppress(OSError):
            stat = os.stat(path)
            found.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return found


def contents(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").rstrip("\n")
    except OSError as error:
        raise ClusterError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ClusterError(f"cannot read {path}: it is not UTF-8") from None


def tls_context(ca: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    files = [path for path in (ca, cert, key) if path]
    try:
        context = ssl.create_default_context(cafile=ca)
        if cert or key:
            context.load_cert_chain(cert or key or "", key, password=no_password)
    except ssl.SSLError as error:
        why = error.reason or error
        raise ClusterError(f"cannot use {', '.join(files)} for TLS: {why}") from None
    except OSError as error:
        which = next((path for path in files if not can_read(path)), ", ".join(files))
        raise ClusterError(f"cannot read {which}: {error.strerror}") from None
    return context
