"""Where the files of a cluster are, in a directory that no other user can enter."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from urllib.parse import unquote

from peerlock.core.errors import UsageError
from peerlock.membership.engine import ClusterError, Engine
from peerlock.membership.sqlite import SqliteEngine

VARIABLE = "PEERLOCK_CLUSTER"
ENGINES = "peerlock.engines"  # a group of entry points: engines of other packages

# A login, a snap or WSL sets XDG_RUNTIME_DIR to a directory below these.
UNCHOSEN = ("/run/user/", "/var/run/user/", "/mnt/wslg/")
SHORTEST = 0.1  # seconds of a lease

ANOTHER = "set XDG_RUNTIME_DIR to a directory of yours for all that use peerlock"


def engine_for(url: str | None, lease: float | None) -> Engine:
    """The engine that this address names; without one, this user's on this machine."""
    url = chosen(url)
    if lease is not None:
        must_be_a_lease(lease)
    if url is None:
        return SqliteEngine(own_directory() / "cluster.db", lease, own_folder=True)
    if url.startswith(("etcd://", "etcds://")):
        return etcd_engine(url, lease)
    if url.startswith(("postgresql://", "postgres://")):
        return postgresql_engine(url, lease)
    if url.startswith("memory://"):
        from peerlock.membership.memory import MemoryEngine

        return MemoryEngine(url.removeprefix("memory://"), lease)
    if url.startswith("sqlite:///") and url.removeprefix("sqlite:").strip("/"):
        return SqliteEngine(file_of(url), lease)
    if engine := engine_of_others(url, lease):
        return engine
    raise UsageError(
        f"invalid cluster {without_password(url)!r}: use sqlite:///path/to/file, "
        "etcd://host:2379/name, postgresql://user@host/database?cluster=name, or "
        "memory://name for nodes in one process"
    )


def without_password(url: str) -> str:
    """For an error, which may be logged."""
    scheme, _, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    if not at or ":" not in user:
        return url
    return f"{scheme}://{user.partition(':')[0]}:…@{place}"


def engine_of_others(url: str, lease: float | None) -> Engine | None:
    """Of another package, which names it for this scheme as an entry point."""
    scheme, found, _ = url.partition("://")
    if not found:
        return None
    from importlib.metadata import entry_points  # slow to load, and rarely needed

    for point in entry_points(group=ENGINES, name=scheme):
        try:
            made: Callable[[str, float | None], Engine] = point.load()
        except (ImportError, AttributeError) as error:
            why = f"cannot load {point.value} for {scheme}://: {error}"
            raise ClusterError(why) from error
        return made(url, lease)
    return None


def chosen(url: str | None) -> str | None:
    """The address that counts; None: this user's own cluster on this machine."""
    return url or os.environ.get(VARIABLE) or None


def must_be_a_lease(seconds: float) -> None:
    """Shorter leases would be lost whenever the machine is busy."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not (number and SHORTEST <= seconds < inf):
        raise UsageError(
            f"a lease must be a number of seconds, {SHORTEST} or more, or none; "
            f"got {seconds!r}"
        )


def file_of(url: str) -> Path:
    path = url.removeprefix("sqlite://")
    for sign in "#?":  # in other addresses the path would end here
        if sign in path:
            raise UsageError(f"{url!r}: write %{ord(sign):X} for the {sign} in its path")
    path = unquote(path, errors="surrogateescape")
    if "\0" in path:
        raise UsageError(f"invalid cluster {url!r}: use a path without %00")
    return Path("/" + path.lstrip("/"))


def etcd_engine(url: str, lease: float | None) -> Engine:
    """Its package is an extra, which is imported when it is used."""
    try:
        from peerlock.membership.etcd import EtcdEngine
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        raise ClusterError("etcd:// needs an extra: pip install 'peerlock[etcd]'") from None
    return EtcdEngine(url, lease)


def postgresql_engine(url: str, lease: float | None) -> Engine:
    """The same."""
    try:
        from peerlock.membership.postgresql import PostgresqlEngine
    except ImportError as error:  # psycopg without libpq raises one without a name
        if error.name not in ("psycopg", None):
            raise
        raise ClusterError(
            "postgresql:// needs an extra: pip install 'peerlock[postgres]'"
        ) from None
    return PostgresqlEngine(url, lease)


def own_directory() -> Path:
    """A directory on this machine that only this user can enter.

    It depends on the user alone, and on nothing that differs between the user's programs:
    otherwise they would be in several clusters, and a job would run twice.  A login sets
    XDG_RUNTIME_DIR, cron, services and `su` do not, and the directory is removed with the
    last logout.  So the variable counts only if it was set to another directory; TMPDIR,
    which differs in the same way, is ignored.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    plain = f"/{os.path.normpath(runtime).strip('/')}/"
    if os.path.isabs(runtime) and not plain.startswith(UNCHOSEN):
        return private_directory(Path(runtime) / "peerlock")
    return private_directory(Path(f"/tmp/peerlock-{os.getuid()}"))


def private_directory(path: Path) -> Path:
    """Another user could have made it before, or put something else there."""
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        found = path.lstat()
    except OSError as error:
        raise ClusterError(f"cannot use {path}: {error.strerror}; {ANOTHER}") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise ClusterError(
            f"{path} is not a directory of this user; have it removed, or {ANOTHER}"
        )
    if found.st_mode & 0o077:
        raise ClusterError(f"others can enter {path}: chmod 700 {path}")
    return path
