"""What an address like postgresql://user@db/app?cluster=prod says.

`cluster` is ours: the name of the cluster.  Everything else is libpq's, unchanged: several
hosts, `service`, `sslmode`, `passfile`, and the environment (PGHOST, PGPASSFILE, …).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from psycopg import ProgrammingError, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from peerlock.core.errors import UsageError

EXAMPLE = "postgresql://user@db.example.org/app?cluster=prod"
LOOPBACK = "127.0.0.1"
LONGEST_NAME = 1000


class Address(NamedTuple):
    cluster: str
    conninfo: str
    near: tuple[tuple[str, int], ...]


def parse(url: str) -> Address:
    base, _, query = url.partition("?")
    parts = query.split("&") if query else []
    names = [unquote(p.removeprefix("cluster=")) for p in parts if p.startswith("cluster=")]
    if len(names) != 1 or not 0 < len(names[0]) <= LONGEST_NAME or "\0" in names[0]:
        raise UsageError(
            f"invalid PostgreSQL address: add the name of the cluster, as in {EXAMPLE}"
        )
    rest = "&".join(part for part in parts if not part.startswith("cluster="))
    try:
        given = conninfo_to_dict(f"{base}?{rest}" if rest else base)
    except (ProgrammingError, UnicodeError) as error:
        raise UsageError(f"invalid PostgreSQL address: {str(error).strip()}") from None
    options: dict[str, Any] = {"application_name": "peerlock"}
    if "," in f"{given.get('host', '')}{given.get('hostaddr', '')}":
        options["target_session_attrs"] = "read-write"
    options |= given
    try:
        return Address(names[0], make_conninfo(**options), near(given))
    except ValueError:
        raise UsageError("invalid PostgreSQL address: a port must be a number") from None


def near(given: Mapping[str, object]) -> tuple[tuple[str, int], ...]:
    """The servers' hosts and ports; none if only a service file names them."""
    default = {
        option.keyword.decode(): option.val.decode()
        for option in pq.Conninfo.get_defaults()
        if option.val is not None
    }
    hosts = str(given.get("hostaddr") or given.get("host") or default.get("host") or "")
    if not hosts and "service" in given:
        return ()
    ports = str(given.get("port") or default.get("port") or 5432).split(",")
    each = hosts.split(",")
    ports = ports * len(each) if len(ports) == 1 else ports
    return tuple(
        (LOOPBACK if not host or host.startswith(("/", "@")) else host, int(port or 5432))
        for host, port in zip(each, ports, strict=False)
    )
