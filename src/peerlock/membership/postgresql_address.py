"""What an address like postgresql://user@db/app?cluster=prod says.

`cluster` is ours: the name of the cluster.  Everything else is libpq's, unchanged: several
hosts, `service`, `sslmode`, `passfile`, and the environment (PGHOST, PGPASSFILE, …).

Several hosts are several connections to be tried at once: one after the other, a host that
is silent would use up the time that a renewal has.
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
PORT = "5432"
OF_A_HOST = ("host", "hostaddr", "port")


class PostgresqlAddress(NamedTuple):
    cluster: str
    conninfos: tuple[str, ...]  # of each host
    near: tuple[tuple[str, int], ...]


def parse(url: str) -> PostgresqlAddress:
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
    hosts = each_host(given)
    if len(hosts) > 1:
        options["target_session_attrs"] = "read-write"
    options |= {key: value for key, value in given.items() if key not in OF_A_HOST}
    conninfos = tuple(make_conninfo(**options, **host) for host in hosts)
    try:
        return PostgresqlAddress(names[0], conninfos, near(hosts, "service" in given))
    except ValueError:
        raise UsageError("invalid PostgreSQL address: a port must be a number") from None


def each_host(given: Mapping[str, object]) -> list[dict[str, str]]:
    """Host, address and port; what is not given, libpq knows from elsewhere."""
    lists = {key: str(given[key]).split(",") for key in OF_A_HOST if key in given}
    number = max((len(values) for values in lists.values()), default=1)
    lists = {k: v * number if len(v) == 1 else v for k, v in lists.items()}
    if any(len(values) != number for values in lists.values()):
        raise UsageError("invalid PostgreSQL address: give one port, or one for each host")
    return [{k: v[i] for k, v in lists.items() if v[i]} for i in range(number)]


def near(hosts: list[dict[str, str]], is_service: bool) -> tuple[tuple[str, int], ...]:
    """The servers' hosts and ports; none if only a service file names them."""
    default = {
        option.keyword.decode(): option.val.decode()
        for option in pq.Conninfo.get_defaults()
        if option.val is not None
    }
    found = []
    for host in hosts:
        name = host.get("hostaddr") or host.get("host") or default.get("host", "")
        port = int(host.get("port") or default.get("port") or PORT)
        if name or not is_service:
            is_file = not name or name.startswith(("/", "@"))
            found.append((LOOPBACK if is_file else name, port))
    return tuple(found)
