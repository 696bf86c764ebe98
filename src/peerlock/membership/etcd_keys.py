"""What is in etcd, and how it is asked for.

For the cluster `prod`:

  /peerlock/prod/view            the view (`Content`)
  /peerlock/prod/members/LEASE   one key per member (`Card`), under its lease: it exists as
                                 long as the member is in touch with etcd

**The view's key remembers which etcd it was written to** (`Mark`), so that a process which
joins finds out that etcd was restored from a backup since.  The cluster_id alone does not
tell: `etcdctl snapshot restore` derives it from the addresses and the token, so that it
stays the same in place.  But a restored etcd begins a new raft log, which is shorter than
it was when the view was written.  A copied data directory continues the log, in a new term.
"""

from __future__ import annotations

from base64 import b64decode
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from peerlock.membership.etcd_gateway import encoded
from peerlock.node.register import Register
from peerlock.node.views import Member, MemberId, View

FORMAT = 2


class EtcdMark(NamedTuple):
    """Which etcd it was, and how far."""

    cluster: str  # its cluster_id
    term: int  # of office of its leader
    log: int  # how long its raft log was before the view was written; 0: unknown

    def continues(self, earlier: EtcdMark) -> bool:
        """Whether that was the same etcd, at an earlier time."""
        same = earlier.cluster in ("", self.cluster)
        return same and (not self.log or earlier.log <= self.log)


class Content(msgspec.Struct):
    """What the view's key holds."""

    format: int
    number: int
    highest: int  # number that was given to a view or to fences
    longest: int  # lease in seconds that a member has had
    name: str  # of the cluster: random, so that only its members know it
    etcd: EtcdMark
    members: list[tuple[MemberId, str, int, int, int]]  # id, address, pid, lease, ttl


class EtcdCard(msgspec.Struct):
    """What a member's key holds."""

    address: str
    pid: int
    host: str
    ttl: int  # seconds of its lease
    former: int  # the lease of its former self, which has lost everything
    beyond: int  # it has seen numbers up to this


class Lease(NamedTuple):
    id: int
    ttl: int


class EtcdState(NamedTuple):
    """The view, as etcd has it."""

    register: Register
    leases: dict[MemberId, Lease]
    longest: int
    name: str
    mark: EtcdMark
    raw: bytes = b""  # what the key holds; nothing: there is no key
    revision: int = 0  # at which it was written

    @property
    def view(self) -> View:
        return self.register.view

    def encode(self) -> bytes:
        number, highest, members = self.register
        listed = [(m.id, m.address, m.pid, *self.leases[m.id]) for m in members]
        numbers = (number, highest, self.longest)
        return msgspec.json.encode(Content(FORMAT, *numbers, self.name, self.mark, listed))


NOTHING = EtcdState(Register(), {}, 0, "", EtcdMark("", 0, 0))


class Snapshot(NamedTuple):
    """The view, and who is alive, at one moment."""

    state: EtcdState
    present: dict[int, EtcdCard]  # by lease, whose keys are there, in the order they came
    term: int  # of office of etcd's leader

    @property
    def dead(self) -> set[MemberId]:
        leases = self.state.leases
        return {i for i, lease in leases.items() if lease.id not in self.present}

    @property
    def newcomers(self) -> dict[int, EtcdCard]:
        known = {lease.id for lease in self.state.leases.values()}
        return {lease: card for lease, card in self.present.items() if lease not in known}

    @property
    def back(self) -> set[MemberId]:
        """Of the dead, those that have joined again as other members."""
        former = {card.former for card in self.present.values()}
        return {i for i in self.dead if self.state.leases[i].id in former}


class EtcdKeys:
    """Of one cluster."""

    def __init__(self, cluster: str) -> None:
        self.prefix = f"/peerlock/{cluster}/".encode()
        self.view = self.prefix + b"view"

    def of_lease(self, lease: int) -> bytes:
        return self.prefix + f"members/{lease:016x}".encode()

    def cards(self, pairs: list[dict[str, Any]]) -> dict[int, EtcdCard]:
        """Of the members, by lease, in the order in which they came."""
        found = {}
        for pair in sorted(pairs, key=created):
            key = b64decode(pair["key"])
            if key.startswith(self.prefix + b"members/"):
                with suppress(ValueError):  # not JSON, not ours, or not UTF-8
                    found[lease_of(key)] = msgspec.json.decode(
                        value_of(pair), type=EtcdCard
                    )
        return found


def state_of(pair: dict[str, Any]) -> EtcdState:
    """Raises ValueError if it is not JSON, not ours, or not UTF-8."""
    raw = value_of(pair)
    content = msgspec.json.decode(raw, type=Content)
    if content.format != FORMAT:
        raise ValueError
    members = tuple(Member(*member[:3]) for member in content.members)
    return EtcdState(
        register=Register(content.number, content.highest, members),
        leases={member[0]: Lease(*member[3:]) for member in content.members},
        longest=content.longest,
        name=content.name,
        mark=content.etcd,
        raw=raw,
        revision=int(pair["mod_revision"]),
    )


def value_of(pair: dict[str, Any]) -> bytes:
    return b64decode(pair.get("value", ""))


def created(pair: dict[str, Any]) -> int:
    return int(pair["create_revision"])


def lease_of(key: bytes) -> int:
    return int(key.rpartition(b"/")[2], 16)


def term_of(answer: dict[str, Any]) -> int:
    return int(answer["header"].get("raft_term", 0))


def revision_of(answer: dict[str, Any]) -> int:
    return int(answer["header"].get("revision", 0))


# Parts of questions, as the gateway wants them


def put(key: bytes, value: bytes, lease: int = 0) -> dict[str, Any]:
    pair = {"key": encoded(key), "value": encoded(value), "lease": lease}
    return {"request_put": pair}


def delete(key: bytes) -> dict[str, Any]:
    return {"request_delete_range": {"key": encoded(key)}}


def ranged(prefix: bytes, **options: bool) -> dict[str, Any]:
    keys = {"key": encoded(prefix), "range_end": encoded(end_of(prefix))}
    return {"request_range": {**keys, **options}}


def is_equal(key: bytes, target: str, field: str, value: Any) -> dict[str, Any]:
    return {"key": encoded(key), "target": target, "result": "EQUAL", field: value}


def absent(key: bytes) -> dict[str, Any]:
    return is_equal(key, "CREATE", "create_revision", 0)


def there(key: bytes) -> dict[str, Any]:
    return {**absent(key), "result": "GREATER"}


def value_is(key: bytes, value: bytes) -> dict[str, Any]:
    return is_equal(key, "VALUE", "value", encoded(value))


def end_of(prefix: bytes) -> bytes:
    """The first key that is beyond all with this prefix."""
    return prefix[:-1] + bytes([prefix[-1] + 1])
