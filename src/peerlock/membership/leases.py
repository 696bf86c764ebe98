"""A member's own file: it is locked while the member lives, and holds its deadline.

`PATH.members/TOKEN` is made by the member TOKEN.  Its processes hold flock(2) on it: when
the last has ended, however it ended, the kernel releases the lock, and a process that can
lock the file knows for certain that the member is dead.  The file contains the end of the
member's lease, on the clock that all members share.

A living member S renews its lease, and a member P removes S when its lease has ended,
without a lock between them:

- S computes a deadline from before it does anything else, **writes** it to its file, and
  then **looks** whether the file has still its name.  If so, S is in until that deadline.
  If not, S is out.
- P reads a deadline that has passed.  It **takes** the file, by renaming it to a name of
  P's own, TOKEN.MARK, and then **reads again**.  If the deadline has still passed, S is
  out, for good; any member may then remove it from the register.  If not, P **gives back**
  the name, and S is in.
- If P is stopped or dies in between, another one takes the file from P, in the same way,
  when the deadline in it has passed.  One that has taken it from another never gives it
  back.

Why that is safe: suppose that S has looked, at time L, and found the name.  No process that
had decided before L that S is out gives back the name: P gives back only what it did not
decide about, and only if the name is still P's, so not once another has taken it from P;
and that other never does.  So no process has decided before L.  A process that takes the
file after L reads what S wrote before L, or something later, and decides only when that has
passed.  So until its deadline S is in the register.

If S wrote before P took the file and looked after that, S considers itself out although P
may give the file back: the loss was not necessary, but S was late, and it is safe.

A file that has vanished (a directory that was tidied) says nothing: its owner may live.
The owner makes another under a new token when it renews (sqlite.py).
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from contextlib import suppress
from enum import Enum
from math import inf
from typing import NamedTuple

from peerlock.membership import clock
from peerlock.membership.trust import OPEN, identity, new_file

DEADLINE = struct.Struct("<d")  # 8 bytes at the beginning: written and read in one go
YOUNG = 10.0  # seconds


class Standing(Enum):
    IN = "in"
    OUT = "out"
    MISSING = "missing"  # the file was removed, and not by a member that removes us


class Found(NamedTuple):
    name: str  # of the file now
    dead: bool
    deadline: float


class Leases:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._mark = os.urandom(4).hex()

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    # For the member itself

    def create(self, token: str) -> int:
        """Its descriptor; the caller locks it before other members know of it."""
        return new_file(self.path(token))

    def write(self, descriptor: int, deadline: float) -> None:
        os.pwrite(descriptor, DEADLINE.pack(deadline), 0)

    def look(self, descriptor: int, token: str) -> Standing:
        """After writing: whether that counts."""
        ours = os.fstat(descriptor)
        if identity(self.path(token)) == (ours.st_dev, ours.st_ino):
            return Standing.IN
        return Standing.OUT if self._names(token) else Standing.MISSING

    # For the others

    def find(self, token: str) -> Found | None:
        """What there is of a member; None: its file is not there."""
        names = [token]
        while names:
            for name in names:
                with suppress(FileNotFoundError):
                    return self._found(name)
            names = self._names(token)
        return None

    def _found(self, name: str) -> Found:
        descriptor = os.open(self.path(name), os.O_RDONLY | OPEN)
        try:
            return Found(name, can_be_locked(descriptor), deadline_in(descriptor))
        finally:
            os.close(descriptor)

    def put_out(self, token: str, name: str) -> bool:
        """Of one whose deadline had passed: whether it is out, for good."""
        mine = self.take(token, name)
        return mine is not None and self.decide(token, name, mine)

    def take(self, token: str, name: str) -> str | None:
        """Our name of it; None: another member was faster."""
        mine = f"{token}.{self._mark}"
        try:
            os.rename(self.path(name), self.path(mine))
        except FileNotFoundError:
            return None
        return mine

    def decide(self, token: str, name: str, mine: str) -> bool:
        try:
            descriptor = os.open(self.path(mine), os.O_RDONLY | OPEN)
        except FileNotFoundError:
            return False  # another one has taken it from us, and decides
        try:
            if clock.now() >= deadline_in(descriptor):
                return True
        finally:
            os.close(descriptor)
        if name == token:
            with suppress(FileNotFoundError):
                os.rename(self.path(mine), self.path(token))
        return False

    def remove(self, token: str) -> None:
        """It is in no register any more."""
        for name in self._names(token):
            with suppress(OSError):
                os.unlink(self.path(name))

    def remove_forgotten(self, tokens: set[str]) -> None:
        """Files of processes that were killed before they were in the register."""
        for name in self._listed():
            with suppress(FileNotFoundError):
                unknown = name.partition(".")[0] not in tokens
                if unknown and self._is_old(name) and self._found(name).dead:
                    os.unlink(self.path(name))

    def _is_old(self, name: str) -> bool:
        """A younger one may be in the making, and not be locked yet."""
        return time.time() - os.lstat(self.path(name)).st_mtime > YOUNG

    def _names(self, token: str) -> list[str]:
        """Of its file: the member's own, or that of another who has taken it."""
        return [name for name in self._listed() if name.partition(".")[0] == token]

    def _listed(self) -> list[str]:
        try:
            return os.listdir(self.folder)
        except FileNotFoundError:
            return []


def can_be_locked(descriptor: int) -> bool:
    """Whether no process that has locked it lives.  Probes do not disturb each other."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # Not by closing: a child that is forked just now would keep the lock.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def deadline_in(descriptor: int) -> float:
    content = os.pread(descriptor, DEADLINE.size, 0)
    return DEADLINE.unpack(content)[0] if len(content) == DEADLINE.size else inf
