"""Options as plain data, for a command that must start faster than click is imported.

`read` is the parser of `peerlock lock`.  `cli/output.py` makes click's options of the same
data: for the commands that click parses, and for what the help says of `lock`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from getopt import GetoptError, getopt
from math import isfinite
from typing import Any, NamedTuple

from peerlock.core.errors import UsageError
from peerlock.membership.place import SHORTEST, must_be_a_lease


class Option(NamedTuple):
    name: str
    flags: tuple[str, ...]
    help: str
    metavar: str = ""  # of its value; empty: it takes none
    default: Any = None
    convert: Callable[[str], Any] = str  # raises ValueError with what is expected
    means: Any = True  # its value, if it takes none
    collects: bool = False  # given several times, all count; otherwise the last


def read(
    options: Sequence[Option], arguments: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """The options that these begin with, by name, and what follows them."""
    by_flag = {flag: option for option in options for flag in option.flags}
    short = "".join(f[1] + ":" * bool(o.metavar) for f, o in by_flag.items() if len(f) == 2)
    long = [f[2:] + "=" * bool(o.metavar) for f, o in by_flag.items() if len(f) > 2]
    try:
        found, rest = getopt(list(arguments), short, long)
    except GetoptError as error:
        raise UsageError(error.msg) from None
    values: dict[str, Any] = {}
    for flag, text in found:
        option = by_flag[flag]
        value = converted(flag, option, text) if option.metavar else option.means
        if option.collects:
            value = (*values.get(option.name, ()), value)
        values[option.name] = value
    return values, rest


def converted(flag: str, option: Option, text: str) -> Any:
    try:
        return option.convert(text)
    except ValueError as error:
        raise UsageError(f"invalid {flag} {text!r}: use {error}") from None


# Values


def plain_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not seconds >= 0 or not isfinite(seconds):
        raise ValueError("a number of seconds, 0 or more")
    return seconds


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    expected = f"{least} or more" if most is None else f"{least} to {most}"

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise ValueError(f"a whole number, {expected}")
        return number

    return convert


def lease(text: str) -> float | None:
    if text == "none":
        return None
    try:
        seconds = float(text)
        must_be_a_lease(seconds)
    except (ValueError, UsageError):
        raise ValueError(f"a number of seconds, {SHORTEST} or more, or none") from None
    return seconds


# What the commands that join a cluster share

CLUSTER = Option(
    "cluster",
    ("--cluster",),
    "Which cluster: sqlite:///path, etcd://host:2379/name.  "
    "[default: $PEERLOCK_CLUSTER, or your own on this machine]",
    "URL",
)
LEASE = Option(
    "lease",
    ("--lease",),
    "If this process is silent for this long, it loses its locks; none disables this.",
    "SECONDS",
    10.0,
    lease,
)
LISTEN = Option(
    "listen",
    ("--listen",),
    "Between machines: where others reach us.  [default: any free port]",
    "HOST:PORT",
    "",
)
ADVERTISE = Option(
    "advertise",
    ("--advertise",),
    "The address that others use, if it differs.",
    "HOST:PORT",
)
CERTIFICATES = Option(
    "certificates",
    ("--certificates",),
    "This host's certificate: see peerlock certs.  [default: $PEERLOCK_CERTIFICATES]",
    "DIR",
)
INSECURE = Option(
    "insecure",
    ("--insecure",),
    "Between machines without certificates or encryption.",
    default=False,
)
REACH = (LISTEN, ADVERTISE, CERTIFICATES, INSECURE)  # as peerlock.Reach has them
