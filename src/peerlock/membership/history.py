"""The history of a cluster on one machine: files that are published once and never change.

`PATH.views` holds the registers of the cluster, one file each, named by serial numbers.
The one with the highest serial is the register that counts.  A member changes it like this:

1. It reads the newest, N, and works out the next.
2. It writes that to a temporary file.
3. It gives it the name N+1 by link(2).  If there is an N+1 already, it begins again.
4. It checks whether N+1 is now the newest.  If so, the change counts.  If there is a higher
   one, it begins again, and the newest shows whether its change is included.

No lock is held at any time, so a process that is stopped, wherever, blocks no other
process: if one must begin again, another has succeeded.

Files that are lower than the newest by more than `KEPT` are removed.  So the name N+1 may
be free although the history has long gone past it, and a process that slept between 1 and 3
succeeds with 3.  That is the reason for step 4: the highest file is never removed, so the
process sees a higher one, and never mistakes its own for the newest.  A listing of a
directory this small is one call to the kernel, which holds off changes of the directory
meanwhile.

Nothing is forced to the disk.  After a loss of power a file may be there without its
content: see `Damaged`.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from peerlock.membership.trust import OPEN, new_file
from peerlock.node.register import Register
from peerlock.node.views import Member, MemberId

KEPT = 8
NAME = re.compile(r"[0-9]{16}")
TOKEN = re.compile(r"[0-9a-f]{16}")
TEMPORARY = re.compile(r"[0-9a-f]{16}\.new")
FORGOTTEN = 600.0  # seconds after which a temporary file is abandoned


class MemberCard(NamedTuple):
    """What the register does not know about a member."""

    token: str  # the name of its file, see leases.py
    lease: float | None
    clock: str  # on which it counts


NO_CARDS: Mapping[MemberId, MemberCard] = MappingProxyType({})


class HistoryState(NamedTuple):
    serial: int
    register: Register
    cards: Mapping[MemberId, MemberCard]

    def after(
        self, register: Register, new: Mapping[MemberId, MemberCard] = NO_CARDS
    ) -> HistoryState:
        """The next one; without the cards of members that are out."""
        cards = {**self.cards, **new}
        kept = {member.id: cards[member.id] for member in register.members}
        return HistoryState(self.serial + 1, register, kept)

    def without(self, out: set[MemberId]) -> HistoryState | None:
        """The next one; None if none of them is in."""
        register = self.register.without(out)
        return None if register is self.register else self.after(register)


NOTHING = HistoryState(0, Register(), {})


class Damaged(Exception):
    """The newest register cannot be read."""

    def __init__(self, serial: int, written: float) -> None:
        super().__init__(f"register {serial} is damaged")
        self.serial = serial
        self.written = written  # when, in seconds since 1970


class History:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._known = NOTHING
        self._known_file = (0, 0)

    def newest(self) -> HistoryState:
        """The register that counts; serial 0 if there is none yet."""
        while True:
            serial = max(self._serials(), default=0)
            if not serial:
                return NOTHING
            with suppress(FileNotFoundError):  # others have gone on, and removed it
                return self._read(serial)

    def publish(self, state: HistoryState) -> bool:
        """Whether it is the newest now; if not, it may be a part of what is."""
        temporary = self._path(f"{os.urandom(8).hex()}.new")
        descriptor = new_file(temporary)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text_of(state))
            os.link(temporary, self._path(name_of(state.serial)))
        except (FileExistsError, FileNotFoundError):  # the latter: it was tidied away
            return False
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        newest = max(self._serials(), default=0)
        self._tidy(newest)
        return newest == state.serial

    def _read(self, serial: int) -> HistoryState:
        path = self._path(name_of(serial))
        if serial != self._known.serial or self._known_file != of(os.lstat(path)):
            with open(os.open(path, os.O_RDONLY | OPEN), "rb") as file:
                found = os.fstat(file.fileno())
                self._known = state_of(serial, file.read(), found.st_mtime)
                self._known_file = of(found)
        return self._known

    def _serials(self) -> list[int]:
        return [int(name) for name in self._names() if NAME.fullmatch(name)]

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.folder)
        except FileNotFoundError:
            return []

    def _tidy(self, newest: int) -> None:
        for name in self._names():
            if NAME.fullmatch(name):
                old = int(name) < newest - KEPT
            else:
                old = bool(TEMPORARY.fullmatch(name)) and self._is_forgotten(name)
            if old:
                with suppress(FileNotFoundError):
                    os.unlink(self._path(name))

    def _is_forgotten(self, name: str) -> bool:
        with suppress(FileNotFoundError):
            return time.time() - os.lstat(self._path(name)).st_mtime > FORGOTTEN
        return False

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)


def of(found: os.stat_result) -> tuple[int, int]:
    return found.st_ino, found.st_mtime_ns


def name_of(serial: int) -> str:
    return f"{serial:016d}"


def text_of(state: HistoryState) -> str:
    """One line, which a file that was written only in part does not have."""
    register = state.register
    members = [[*member, *state.cards[member.id]] for member in register.members]
    return json.dumps([register.number, register.highest, members]) + "\n"


def state_of(serial: int, content: bytes, written: float) -> HistoryState:
    try:
        number, highest, rows = json.loads(content)
        register = Register(int(number), int(highest), tuple(map(member_in, rows)))
        cards = {row[0]: card_in(row) for row in rows}
    except (ValueError, TypeError, IndexError, RecursionError):
        raise Damaged(serial, written) from None
    return HistoryState(serial, register, cards)


def member_in(row: list[Any]) -> Member:
    me, address, pid = row[:3]
    return Member(int(me), str(address), int(pid))


def card_in(row: list[Any]) -> MemberCard:
    token, lease, clock = row[3:]
    if not TOKEN.fullmatch(token):
        raise ValueError("not the name of a member's file")
    return MemberCard(token, None if lease is None else float(lease), str(clock))
