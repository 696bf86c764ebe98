"""Where a cluster's files are, and that nobody else can enter there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

from peerlock.algorithms.catalogue import UsageError
from peerlock.membership.engine import ClusterError, Engine
from peerlock.membership.memory import MemoryEngine
from peerlock.membership.sqlite import SqliteEngine

VARIABLE = "PEERLOCK_CLUSTER"


def engine_for(url: str | None, lease: float | None) -> Engine:
    """The engine that this address names; without one, this user's on this machine."""
    url = url or os.environ.get(VARIABLE) or None
    if lease is not None and not lease > 0:
        raise UsageError(f"a lease must be longer than {lease} seconds; None is for ever")
    if url is None:
        return SqliteEngine(own_directory() / "cluster.db", lease)
    if url.startswith(("etcd://", "etcds://")):
        return etcd_engine(url, lease)
    parts = urlsplit(url)
    if parts.scheme == "memory":
        return MemoryEngine(parts.netloc + parts.path, lease)
    if parts.scheme == "sqlite" and not parts.netloc and parts.path.strip("/"):
        return SqliteEngine(Path("/" + unquote(parts.path).lstrip("/")), lease)
    raise UsageError(
        f"{url!r} names no cluster; use sqlite:///path/to/file, etcd://host:2379/name, "
        "or memory://name for nodes in one process"
    )


def etcd_engine(url: str, lease: float | None) -> Engine:
    """Its package is an extra, and is imported by those who use it."""
    try:
        from peerlock.membership.etcd import EtcdEngine
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        raise ClusterError("etcd:// needs more: pip install 'peerlock[etcd]'") from None
    return EtcdEngine(url, lease)


def own_directory() -> Path:
    """A directory of this user's, for this machine, that only he can enter."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return private_directory(Path(runtime) / "peerlock")
    return private_directory(Path("/tmp") / f"peerlock-{os.getuid()}")


def private_directory(path: Path) -> Path:
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise ClusterError(f"cannot use {path}: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise ClusterError(
            f"{path} is not a directory of yours; remove it, or set XDG_RUNTIME_DIR"
        )
    if found.st_mode & 0o077:
        raise ClusterError(f"others can enter {path}: chmod 700 {path}")
    return path
