"""A driver for tooz: `get_coordinator("peerlock:///var/lib/app/cluster.db", b"me")`.

    peerlock://             your own cluster on this machine
    peerlock:///PATH        the cluster in this file
    peerlock://?cluster=URL any cluster; groups need one on one machine

`lease=SECONDS` is an option, too.  The node renews its lease by itself: no heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import tooz
from tooz import coordination, locking, utils

from peerlock import sync
from peerlock.api.errors import ClusterError, Deadlock, Lost, NotHeld, UsageError
from peerlock.contrib.tooz_groups import ToozGroups, existing, member_of, plain
from peerlock.membership.sqlite import SqliteEngine

__all__ = ["PeerlockDriver"]

T = TypeVar("T")


class PeerlockLock(locking.Lock):
    """A lock of the cluster.  It may be shared several times through one object."""

    def __init__(self, node: sync.LockNode, name: bytes) -> None:
        super().__init__(name)
        full = b"tooz:" + plain(name)
        self._handles = [node.lock(full, shared=shared) for shared in (False, True)]
        self._held: list[sync.Lock] = []

    def is_still_owner(self) -> bool:
        return any(handle.locked() for handle in self._held)

    acquired = property(is_still_owner)

    def acquire(
        self, blocking: bool = True, shared: bool = False, timeout: float | None = None
    ) -> bool:
        blocking, timeout = utils.convert_blocking(blocking, timeout)
        handle = self._handles[shared]
        if not (shared and handle.locked()):
            try:
                wait = -1 if timeout is None or not blocking else timeout
                if not handle.acquire(blocking, wait):
                    return False
            except Deadlock:
                if timeout is None:
                    raise
                return False
        self._held.append(handle)
        return True

    def release(self) -> bool:
        if not self._held:
            return False
        handle = self._held.pop()
        if handle in self._held:
            return True
        try:
            handle.release()
        except (Lost, NotHeld):
            return False
        return True


class PeerlockDriver(
    coordination.CoordinationDriverCachedRunWatchers,
    coordination.CoordinationDriverWithExecutor,
):
    """Locks, groups and elections, without a server."""

    CHARACTERISTICS = (
        coordination.Characteristics.NON_TIMEOUT_BASED,
        coordination.Characteristics.DISTRIBUTED_ACROSS_THREADS,
        coordination.Characteristics.DISTRIBUTED_ACROSS_PROCESSES,
    )

    _node: sync.LockNode
    _groups: ToozGroups | None = None

    def __init__(self, member_id: bytes, parsed_url: Any, options: dict[str, Any]) -> None:
        super().__init__(plain(member_id), parsed_url, options)
        path = f"sqlite://{parsed_url.path}" if parsed_url.path.strip("/") else None
        self._cluster: str | None = self._options.get("cluster", path)
        self._lease = float(self._options.get("lease", 10.0))
        self._terms: dict[bytes, sync.Lock] = {}

    def _start(self) -> None:
        try:
            self._node = sync.join(self._cluster, lease=self._lease)
        except (ClusterError, UsageError) as error:
            utils.raise_with_cause(
                coordination.ToozConnectionError, str(error), cause=error
            )
        engine = self._node.host.engine
        if isinstance(engine, SqliteEngine):
            self._groups = ToozGroups(self._node, self._cluster, engine.path)

    def _stop(self) -> None:
        self._terms.clear()
        self._node.leave()

    def get_lock(self, name: bytes) -> PeerlockLock:
        return PeerlockLock(self._node, name)

    # Groups

    @property
    def _shared(self) -> ToozGroups:
        if self._groups is None:
            raise tooz.NotImplemented("groups need a cluster on one machine")
        return self._groups

    def _later(self, work: Callable[[], T]) -> coordination.CoordAsyncResult[T]:
        return coordination.CoordinatorResult(self._executor.submit(work))

    def create_group(self, group_id: bytes) -> coordination.CoordAsyncResult[None]:
        def work() -> None:
            with self._shared.changed() as groups:
                if plain(group_id) in groups:
                    raise coordination.GroupAlreadyExist(group_id)
                groups[plain(group_id)] = {"members": {}, "leader": None}

        return self._later(work)

    def get_groups(self) -> coordination.CoordAsyncResult[list[bytes]]:
        return self._later(lambda: list(self._shared.read()))

    def join_group(
        self, group_id: bytes, capabilities: Any = None
    ) -> coordination.CoordAsyncResult[None]:
        def work() -> None:
            with self._shared.of(group_id) as group:
                if self._member_id in group["members"]:
                    raise coordination.MemberAlreadyExist(group_id, self._member_id)
                group["members"][self._member_id] = {
                    "peer": self._shared.me,
                    "capabilities": capabilities,
                }
            self._joined_groups.add(group_id)

        return self._later(work)

    def leave_group(self, group_id: bytes) -> coordination.CoordAsyncResult[None]:
        def work() -> None:
            with self._shared.of(group_id) as group:
                member_of(group, group_id, self._member_id)
                del group["members"][self._member_id]
            self._joined_groups.discard(group_id)

        return self._later(work)

    def delete_group(self, group_id: bytes) -> coordination.CoordAsyncResult[None]:
        def work() -> None:
            with self._shared.changed() as groups:
                if existing(groups, group_id)["members"]:
                    raise coordination.GroupNotEmpty(group_id)
                del groups[plain(group_id)]

        return self._later(work)

    def get_members(self, group_id: bytes) -> coordination.CoordAsyncResult[set[bytes]]:
        return self._later(lambda: set(self._group(group_id)["members"]))

    def get_member_capabilities(
        self, group_id: bytes, member_id: bytes
    ) -> coordination.CoordAsyncResult[Any]:
        def work() -> Any:
            return member_of(self._group(group_id), group_id, member_id)["capabilities"]

        return self._later(work)

    def get_members_with_capabilities(
        self, group_id: bytes
    ) -> coordination.CoordAsyncResult[dict[bytes, Any]]:
        def work() -> dict[bytes, Any]:
            members = self._group(group_id)["members"]
            return {member: noted["capabilities"] for member, noted in members.items()}

        return self._later(work)

    def get_member_info(
        self, group_id: bytes, member_id: bytes
    ) -> coordination.CoordAsyncResult[dict[str, Any]]:
        return self._later(lambda: member_of(self._group(group_id), group_id, member_id))

    def update_capabilities(
        self, group_id: bytes, capabilities: Any
    ) -> coordination.CoordAsyncResult[None]:
        def work() -> None:
            with self._shared.of(group_id) as group:
                member = member_of(group, group_id, self._member_id)
                member["capabilities"] = capabilities

        return self._later(work)

    def _group(self, group_id: bytes) -> dict[str, Any]:
        return existing(self._shared.read(), group_id)

    # Elections

    def watch_elected_as_leader(self, group_id: bytes, callback: Any) -> None:
        self._group(group_id)
        super().watch_elected_as_leader(group_id, callback)

    def get_leader(self, group_id: bytes) -> coordination.CoordAsyncResult[Any]:
        def work() -> Any:
            leader = self._group(group_id)["leader"]
            return leader[0] if leader else None

        return self._later(work)

    def run_watchers(self, timeout: float | None = None) -> list[Any]:
        result = super().run_watchers(timeout)
        for group_id, hooks in self._hooks_elected_leader.items():
            if hooks and self._is_elected(group_id):
                result += hooks.run(coordination.LeaderElected(group_id, self._member_id))
        return result

    def _is_elected(self, group_id: bytes) -> bool:
        """Whether this member has become the leader just now."""
        term = self._terms.get(group_id)
        if term is None:
            name = b"tooz:" + plain(group_id)
            term = self._terms[group_id] = self._node.leader(name)
        if term.locked() or not term.acquire(blocking=False):
            return False
        with self._shared.of(group_id) as group:
            group["leader"] = (self._member_id, self._shared.me)
        return True

    def stand_down_group_leader(self, group_id: bytes) -> bool:
        term = self._terms.get(group_id)
        if term is None or not term.locked():
            return False
        with self._shared.of(group_id) as group:
            group["leader"] = None
        with suppress(Lost):
            term.release()
        return True
