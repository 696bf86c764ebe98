"""A mutex for dogpile.cache: one process computes a value, the others wait for it.

    region = make_region().configure("dogpile.cache.redis", wrap=[PeerlockProxy(node)])

The mutex of a key is the lock `dogpile:KEY` of the cluster.
"""

from __future__ import annotations

from typing import Any

from dogpile.cache.api import CacheMutex
from dogpile.cache.proxy import ProxyBackend

from peerlock.sync import Lock, LockNode

__all__ = ["PeerlockProxy"]


class Mutex(CacheMutex):
    def __init__(self, lock: Lock) -> None:
        self._lock = lock

    def acquire(self, wait: bool = True) -> bool:
        return self._lock.acquire(blocking=wait)

    def release(self) -> None:
        self._lock.release()

    def locked(self) -> bool:
        """By any process: `region.key_is_locked` asks through an object of its own."""
        return self._lock.holder() is not None


class PeerlockProxy(ProxyBackend):
    """Wraps a backend, and replaces the mutex of each key by a lock of the cluster."""

    def __init__(self, node: LockNode, prefix: str = "dogpile:") -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._node = node
        self._prefix = prefix

    def get_mutex(self, key: Any) -> Mutex:
        return Mutex(self._node.lock(f"{self._prefix}{key}"))
