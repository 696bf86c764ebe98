"""What an address like etcd://user:password@a:2379,b:2379/prod?ca=ca.pem says.

  etcd://…     plain TCP; with any of the options below, TLS
  etcds://…    TLS, and without `ca` the authorities that this machine trusts
  ?ca=FILE     the authority that has signed the servers' certificates
  ?cert=FILE&key=FILE   our own certificate, where etcd wants one
  ?password-file=FILE   instead of a password that all can read in a list of processes

Characters of a user name or password that mean something in an address are written as
in every other: %40 for @, %3A for a colon.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from peerlock.algorithms.catalogue import UsageError
from peerlock.membership.engine import ClusterError

SCHEMES = ("etcd", "etcds")
PORT = 2379
OPTIONS = {"ca", "cert", "key", "password-file"}
EXAMPLE = "etcd://10.0.0.5:2379,10.0.0.6:2379/prod"


@dataclass(frozen=True)
class Address:
    endpoints: tuple[tuple[str, int], ...]
    cluster: str
    user: str = ""
    password: str = field(default="", repr=False)
    tls: ssl.SSLContext | None = None


def parse(url: str) -> Address:
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    credentials, _, hosts = authority.rpartition("@")
    user, _, password = credentials.partition(":")
    options = parse_options(query)
    cluster = unquote(path)
    if not cluster or "/" in cluster:
        raise UsageError(f"after etcd's address comes the cluster's name, as in {EXAMPLE}")
    if "password-file" in options:
        password = contents(options["password-file"])
    else:
        password = unquote(password)
    secure = scheme == "etcds" or bool({"ca", "cert", "key"} & set(options))
    return Address(
        endpoints=tuple(endpoint(host) for host in hosts.split(",")),
        cluster=cluster,
        user=unquote(user),
        password=password,
        tls=tls_context(options) if secure else None,
    )


def parse_options(query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in sorted(set(options) - OPTIONS):
        raise UsageError(f"?{name}= is no option of etcd; {', '.join(sorted(OPTIONS))} are")
    return options


def endpoint(text: str) -> tuple[str, int]:
    """host, host:port, [::1] or [::1]:port."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    if not host or not (port.isdecimal() or not port):
        raise UsageError(f"{text!r} is no host and port of etcd, as in {EXAMPLE}")
    return host, int(port or PORT)


def contents(path: str) -> str:
    try:
        return Path(path).read_text().rstrip("\n")
    except OSError as error:
        raise ClusterError(f"cannot read {path}: {error.strerror}") from None


def tls_context(options: dict[str, str]) -> ssl.SSLContext:
    ca, cert, key = (options.get(name) for name in ("ca", "cert", "key"))
    try:
        context = ssl.create_default_context(cafile=ca)
        if cert or key:
            context.load_cert_chain(cert or key or "", key)
    except ssl.SSLError as error:
        files = ", ".join(path for path in (ca, cert, key) if path)
        raise ClusterError(f"cannot use {files} for TLS: {error.reason}") from None
    except OSError as error:
        missing = next(p for p in (ca, cert, key) if p and not Path(p).is_file())
        raise ClusterError(f"cannot read {missing}: {error.strerror}") from None
    return context
