"""The groups of tooz: a file beside the cluster's, changed under a lock of the cluster.

A member of a group is noted with the number that its process has in the cluster.  Members
whose process is no longer in the cluster are ignored by every reader, so a process that is
killed is out of its groups as soon as the cluster has noticed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tooz import coordination, utils

from peerlock.membership.place import engine_for
from peerlock.sync import LockNode

Group = dict[str, Any]  # members: {id: {peer, capabilities}}, leader: id or None


class ToozGroups:
    def __init__(self, node: LockNode, cluster: str | None, file: Path) -> None:
        self._node = node
        self._cluster = cluster
        self._file = file.with_name(f"{file.name}.tooz")
        self._lock = node.lock("tooz:groups")

    @contextmanager
    def changed(self) -> Iterator[dict[Any, Group]]:
        """All groups, to be changed: the file is replaced at the end."""
        with self._lock:
            groups = self.read()
            yield groups
            new = self._file.with_name(f"{self._file.name}.new")
            new.write_bytes(utils.dumps(groups))
            os.replace(new, self._file)

    def read(self) -> dict[Any, Group]:
        """All groups, with the members that are alive."""
        try:
            groups: dict[Any, Group] = utils.loads(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        alive = self._node.driver.do(self._alive()).result()
        for group in groups.values():
            members = group["members"].items()
            group["members"] = {m: d for m, d in members if d["peer"] in alive}
            if group["leader"] and group["leader"][1] not in alive:
                group["leader"] = None
        return groups

    async def _alive(self) -> set[int]:
        engine = engine_for(self._cluster, None)
        try:
            return {member.id for member in (await engine.read()).members}
        finally:
            engine.close()

    @property
    def me(self) -> int:
        return self._node.host.node.me

    @contextmanager
    def of(self, group_id: bytes) -> Iterator[Group]:
        """One group, to be changed."""
        with self.changed() as groups:
            yield existing(groups, group_id)


def plain(name: str | bytes) -> bytes:
    """Text and the bytes that encode it are the same name."""
    found: bytes = utils.to_binary(name, encoding="utf-8")
    return found


def existing(groups: dict[Any, Group], group_id: bytes) -> Group:
    if plain(group_id) not in groups:
        raise coordination.GroupNotCreated(group_id)
    return groups[plain(group_id)]


def member_of(group: Group, group_id: bytes, member_id: bytes) -> dict[str, Any]:
    if plain(member_id) not in group["members"]:
        raise coordination.MemberNotJoined(group_id, member_id)
    found: dict[str, Any] = group["members"][plain(member_id)]
    return found
