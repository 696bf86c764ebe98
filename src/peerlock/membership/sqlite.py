"""Members on one machine: files beside a small database, and a lock that each one holds.

- `PATH`, a SQLite database, says which cluster this is (database.py).
- `PATH.views` holds the register of members, as a history of files that never change, each
  published in one step (history.py).
- `PATH.members` holds a file for each member.  The member's processes keep it locked while
  they live, and its lease is in there (leases.py).

Why the register is not in the database: a process that is stopped inside a transaction of
SQLite keeps its locks, and blocks all others for as long as it is stopped.  Here no process
holds a lock that others need, so a process can be stopped anywhere.

Facts are established first, outside any change (census.py): which members are dead, whose
lease is over.  A change of the register then relies only on what stays true: that the
member with this id *and this token* is out.  A member whose file was removed makes a new
one under a new token when it renews next.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import Callable, Collection
from math import inf
from pathlib import Path
from typing import TypeVar

from peerlock.core.errors import UsageError
from peerlock.membership import clock
from peerlock.membership.call_thread import CallThread
from peerlock.membership.census import Census, Out, confirmed
from peerlock.membership.database import Database, unusable
from peerlock.membership.engine import ClusterError, Gone, Joined, Renewed
from peerlock.membership.history import Damaged, History, HistoryState, MemberCard
from peerlock.membership.leases import Leases, Standing
from peerlock.membership.sockets import remove_unused
from peerlock.membership.trust import (
    identity,
    must_be_ours_alone,
    private_folder,
    resolved,
)
from peerlock.node.numbers import early, origin
from peerlock.node.register import Register
from peerlock.node.views import MemberId, View

T = TypeVar("T")

# A process that was overtaken tries again after a random part of this, in seconds, which
# grows each time.
BACK_OFF = 0.001
BACK_OFF_AT_MOST = 0.02

# Held while a file is opened and recorded: a child that is forked in between would keep it
# open without knowing.
NOT_FORKING = threading.Lock()
os.register_at_fork(
    before=NOT_FORKING.acquire,
    after_in_parent=NOT_FORKING.release,
    after_in_child=NOT_FORKING.release,
)

Change = Callable[[HistoryState], "HistoryState | None"]  # None: there is nothing to change


class ClusterFiles:
    """The files of a cluster, under a path; refused if other users could change them."""

    def __init__(self, shown: Path) -> None:
        path = resolved(str(shown))
        self.shown = shown
        self.parent = os.path.dirname(path)
        if not os.path.isdir(self.parent):
            raise ClusterError(f"there is no directory {shown.parent}; make it first")
        must_be_ours_alone(self.parent)
        self.database = Database(path, shown)
        self.history = History(f"{path}.views")
        self.leases = Leases(f"{path}.members")
        self.census = Census(self.leases)
        self.serial = 0  # of the newest register that we have seen
        self.identity = self.identity_now()

    def create(self) -> None:
        self.database.create()
        private_folder(self.history.folder)
        private_folder(self.leases.folder)
        self.identity = self.identity_now()

    def identity_now(self) -> tuple[tuple[int, ...], tuple[int, int]]:
        """The identity of the cluster: a process with another one is in another cluster."""
        return self.database.identity(), identity(self.history.folder)

    def newest(self) -> HistoryState:
        """The register; Gone if it is an older one than we have seen."""
        try:
            state = self.history.newest()
        except Damaged as error:
            if error.written >= time.time() - clock.now():
                raise ClusterError(self.database.damaged(str(error))) from None
            state = HistoryState(
                error.serial, Register(), {}
            )  # from before the machine's start
        if state.serial < self.serial:
            raise Gone(f"{self.shown} was removed or replaced while it was in use")
        self.serial = state.serial
        return state


class SqliteEngine:
    """own_folder: it contains nothing else, and must not be tidied by others."""

    def __init__(self, path: Path, lease: float | None, own_folder: bool = False) -> None:
        self.path = path
        self.lease = lease
        self.cluster = ""  # known once the database is open
        self._own_folder = own_folder
        self._thread = CallThread("peerlock-membership")
        self._files: ClusterFiles | None = None
        self._locked: dict[str, int] = {}  # descriptors, by token or path
        self._me: MemberId = 0
        self._token = ""
        self._address = ""

    # The interface: each call is made in our thread

    async def join(self, address: str, beyond: int = 0) -> Joined:
        return await self._run(self._join, address, beyond)

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        return await self._run(self._renew, me, suspects)

    async def reserve(self) -> int:
        return await self._run(self._reserve)

    async def leave(self, me: MemberId) -> View:
        return await self._run(self._leave, me)

    async def read(self) -> View:
        return await self._run(self._read)

    def close(self) -> None:
        try:
            self._thread.call(self._close).result()
        finally:
            self._thread.end()

    @property
    def lock_file(self) -> int | None:
        """The descriptor that keeps the member alive, also in a child that inherits it."""
        return self._locked.get(self._token)

    def abandon(self) -> None:
        """In a forked child: the parent is the member; the child must not keep it alive."""
        while self._locked:
            os.close(self._locked.popitem()[1])

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        future = self._thread.call(self._explained, work, *arguments)
        return await asyncio.wrap_future(future)

    def _explained(self, work: Callable[..., T], *arguments: object) -> T:
        try:
            return work(*arguments)
        except Gone:
            self._close()
            raise
        except UsageError as error:
            raise ClusterError(str(error)) from error
        except OSError as error:
            raise ClusterError(unusable(self.path, error)) from error

    # Calls

    def _join(self, address: str, beyond: int) -> Joined:
        files = self._opened()
        token, former, deadline = os.urandom(8).hex(), self._token, -inf
        newest = files.newest()
        out = files.census.find_out(newest, former, files.census.with_another_clock(newest))

        def with_us(state: HistoryState) -> HistoryState | None:
            nonlocal deadline
            if id_of(token, state):
                return None  # it is done, and others have gone on from there
            gone = {*confirmed(out, state), id_of(former, state)}
            name = files.census.must_share_the_clock(state, gone, self.path)
            deadline = self._write_deadline(files, token)
            register = state.register.without(gone).join(address, os.getpid(), beyond)
            return state.after(
                register, {register.number: MemberCard(token, self.lease, name)}
            )

        state = self._change_holding(token, with_us)
        self._drop(former)
        self._token, self._me, self._address = token, id_of(token, state), address
        self._tidy(files, out, state)
        remove_unused(address, (), addresses(state))
        files.leases.remove_forgotten({card.token for card in state.cards.values()})
        return Joined(state.register.view, self._me, deadline)

    def _renew(self, me: MemberId, suspects: Collection[MemberId]) -> Renewed:
        """Our own lease first.  If no member is out, nothing is changed."""
        files = self._opened()
        deadline = -inf
        if me and me == self._me:
            deadline = self._renew_our_own(files)
        state = files.newest()
        out = files.census.find_out(state, self._token, suspects)
        if out:
            state = self._change(lambda newest: newest.without(confirmed(out, newest)))
            self._tidy(files, out, state)
        if me not in state.register:
            deadline = -inf
        return Renewed(
            state.register.view, deadline, bool(out), files.census.trouble(state)
        )

    def _reserve(self) -> int:
        state = self._change(lambda newest: newest.after(newest.register.reserve()))
        return state.register.highest

    def _leave(self, me: MemberId) -> View:
        latest = max(me, self._me)
        state = self._change(lambda newest: newest.without({latest}))
        self._drop(self._token)
        self._me = 0
        return state.register.view

    def _read(self) -> View:
        """Does not create files only to report that there are no members."""
        if self._files is not None:
            return self._opened().newest().register.view
        try:
            os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return View(0, ())
        files = ClusterFiles(self.path)
        self.cluster = files.database.cluster()
        return files.newest().register.view

    # The register

    def _change(self, change: Change) -> HistoryState:
        """Repeats until it is made, or there is nothing to change; returns the register.

        A try fails only if another process has succeeded.
        """
        pause = BACK_OFF
        while True:
            files = self._opened()
            state = files.newest()
            proposed = change(begun(state))
            if proposed is None:
                return state
            time.sleep(early(proposed.register.highest, time.time()))
            if files.history.publish(proposed):
                return proposed
            from random import uniform  # slow to load, and rarely needed

            time.sleep(uniform(0, pause))
            pause = min(2 * pause, BACK_OFF_AT_MOST)

    def _change_holding(self, token: str, change: Change) -> HistoryState:
        """With a new file of ours, which others can find as soon as it is made."""
        self._hold(self._opened(), token)
        try:
            return self._change(change)
        except BaseException:
            self._drop(token)
            raise

    # Our own file

    def _renew_our_own(self, files: ClusterFiles) -> float:
        """The new deadline; -inf: we are out."""
        deadline = self._write_deadline(files, self._token)
        standing = files.leases.look(self._locked[self._token], self._token)
        if standing is Standing.MISSING:
            return self._replace_our_file(files)
        return deadline if standing is Standing.IN else -inf

    def _replace_our_file(self, files: ClusterFiles) -> float:
        """It was removed.  The same member, with a file of another name."""
        me, old, token = self._me, self._token, os.urandom(8).hex()
        deadline = -inf

        def renamed(state: HistoryState) -> HistoryState | None:
            nonlocal deadline
            if id_of(old, state) != me:
                return None  # we are out; or it is done, and others have gone on from there
            deadline = self._write_deadline(files, token)
            card = state.cards[me]._replace(token=token)
            return state.after(state.register, {me: card})

        if id_of(token, self._change_holding(token, renamed)) != me:
            self._drop(token)
            return -inf
        self._drop(old)
        self._token = token
        return deadline

    def _write_deadline(self, files: ClusterFiles, token: str) -> float:
        """Counted from before the renewal."""
        deadline = inf if self.lease is None else clock.now() + self.lease
        files.leases.write(self._locked[token], deadline)
        return deadline

    def _hold(self, files: ClusterFiles, token: str) -> None:
        private_folder(files.leases.folder)  # it may have been tidied away
        with NOT_FORKING:
            self._locked[token] = files.leases.create(token)
        fcntl.flock(self._locked[token], fcntl.LOCK_EX)

    def _drop(self, token: str) -> None:
        """No register has it any more."""
        if token and self._files:
            self._files.leases.remove(token)
        self._unlock(token)

    def _unlock(self, what: str) -> None:
        with NOT_FORKING:
            if what in self._locked:
                os.close(self._locked.pop(what))

    def _tidy(self, files: ClusterFiles, out: Out, state: HistoryState) -> None:
        """Files of processes that are no longer in the register."""
        for gone in out.values():
            files.leases.remove(gone.token)
        dead = [gone.address for gone in out.values() if gone.dead]
        if dead:  # a living one needs it when it comes back
            remove_unused(self._address, dead, addresses(state))

    # All files

    def _opened(self) -> ClusterFiles:
        if self._files is None:
            files = ClusterFiles(self.path)
            files.create()
            self.cluster = files.database.cluster()
            self._files = files
        elif self._files.identity_now() != self._files.identity:
            raise Gone(f"{self.path} was removed or replaced while it was in use")
        self._keep_folder(self._files.parent)
        return self._files

    def _keep_folder(self, folder: str) -> None:
        """systemd removes what is old in /tmp, but nothing below what is locked."""
        if not self._own_folder or folder in self._locked:
            return
        with NOT_FORKING:
            self._locked[folder] = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._locked[folder], fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:  # it is at work in there; next time
            self._unlock(folder)

    def _close(self) -> None:
        """If the register has us, others see that we are dead."""
        self._files = None
        self._me = 0
        for what in list(self._locked):
            self._unlock(what)


def begun(state: HistoryState) -> HistoryState:
    """A history that has no register yet begins above all that was ever lost."""
    if state.register.highest:
        return state
    first = origin(time.time())
    return state._replace(register=Register(first, first))


def addresses(state: HistoryState) -> set[str]:
    return {member.address for member in state.register.members}


def id_of(token: str, state: HistoryState) -> MemberId:
    """0: no member has it."""
    return next((i for i, card in state.cards.items() if card.token == token), 0)
