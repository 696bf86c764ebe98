"""Members on one machine: rows in SQLite, and an OS lock that each holds while it lives.

The members and the number of the view are changed in one transaction.  Each member holds
flock(2) on a file of its own: when its process ends, however it ends, the kernel drops
that, and whoever looks knows that it is dead.  A member that lives but is silent for
longer than its lease is put out, too.  Leases are counted on CLOCK_MONOTONIC, which all
processes of a machine share.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TypeVar

from peerlock.membership.engine import ClusterError, Gone, Joined, Renewed
from peerlock.membership.own_thread import OwnThread
from peerlock.node.views import Member, MemberId, View

T = TypeVar("T")

FORMAT = 1
PATIENCE = 10.0  # seconds to wait for somebody else's transaction

# A new database counts from the seconds since this time, so that fences go on growing
# even if the old one is lost, as in a directory that a reboot empties.
BEGINNING = 1_704_067_200  # 2024-01-01

SCHEMA = f"""
CREATE TABLE cluster (number INTEGER NOT NULL, name TEXT NOT NULL);
CREATE TABLE members (
    id INTEGER PRIMARY KEY,  -- the number of the view in which it joined
    token TEXT NOT NULL,     -- the name of the file that it holds locked
    address TEXT NOT NULL,
    pid INTEGER NOT NULL,
    deadline REAL            -- NULL: it has no lease, and is in as long as it lives
);
PRAGMA user_version = {FORMAT};
"""


class SqliteEngine:
    def __init__(self, path: Path, lease: float | None) -> None:
        self.path = path
        self.lease = lease
        self.cluster = ""  # known once the database is open
        self._files = Path(f"{path}.members")
        self._thread = OwnThread("peerlock-membership")
        self._database: sqlite3.Connection | None = None
        self._inode = 0
        self._lock_file: int | None = None
        self._token = ""

    # The interface: each call is a transaction, in our thread

    async def join(self, address: str, beyond: int = 0) -> Joined:
        return await self._run(self._join, address, beyond)

    async def renew(self, me: MemberId) -> Renewed:
        return await self._run(self._renew, me)

    async def renumber(self) -> View:
        return await self._run(self._renumber)

    async def leave(self, me: MemberId) -> View:
        return await self._run(self._leave, me)

    async def read(self) -> View:
        if not self.path.exists():
            return View(0, ())  # do not make one only to say that nobody is in
        return await self._run(self._read)

    def close(self) -> None:
        try:
            self._thread.call(self._close).result()
        finally:
            self._thread.end()

    @property
    def lock_file(self) -> int | None:
        """The descriptor that keeps us in: a child that inherits it keeps us in, too."""
        return self._lock_file

    def abandon(self) -> None:
        """In a forked child: our parent is the member, we must not keep it in."""
        self._unlock()

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.wrap_future(self._thread.call(work, *arguments))

    # Transactions

    def _join(self, address: str, beyond: int) -> Joined:
        self._must_be_ours()
        token = secrets.token_hex(8)
        lock_file = self._locked_file(token)
        try:
            with self._transaction() as db:
                self._put_out(db)
                db.execute("DELETE FROM members WHERE token = ?", (self._token,))
                me = self._next_number(db, beyond)
                deadline = self._deadline()
                row = (me, token, address, os.getpid(), deadline)
                db.execute("INSERT INTO members VALUES (?, ?, ?, ?, ?)", row)
                view = self._view(db)
        except BaseException:
            os.close(lock_file)
            self._forget_file(self._files / token)
            raise
        self._drop_lock_file()
        self._lock_file, self._token = lock_file, token
        return Joined(view, me, inf if deadline is None else deadline)

    def _renew(self, me: MemberId) -> Renewed:
        deadline = self._deadline()  # from before we asked
        with self._transaction() as db:
            changed = self._put_out(db)
            renewal = "UPDATE members SET deadline = ? WHERE id = ?"
            still_in = db.execute(renewal, (deadline, me)).rowcount
            view = self._view(db)
        if not still_in:
            return Renewed(view, -inf, changed)
        return Renewed(view, inf if deadline is None else deadline, changed)

    def _renumber(self) -> View:
        with self._transaction() as db:
            self._next_number(db)
            return self._view(db)

    def _leave(self, me: MemberId) -> View:
        with self._transaction() as db:
            if db.execute("DELETE FROM members WHERE id = ?", (me,)).rowcount:
                self._next_number(db)
            view = self._view(db)
        self._drop_lock_file()
        return view

    def _read(self) -> View:
        with self._transaction("BEGIN") as db:
            return self._view(db)

    # Parts of transactions

    def _deadline(self) -> float | None:
        return None if self.lease is None else time.monotonic() + self.lease

    def _next_number(self, db: sqlite3.Connection, beyond: int = 0) -> int:
        db.execute("UPDATE cluster SET number = max(number, ?) + 1", (beyond,))
        return self._number(db)

    def _number(self, db: sqlite3.Connection) -> int:
        (number,) = db.execute("SELECT number FROM cluster").fetchone()
        return int(number)

    def _view(self, db: sqlite3.Connection) -> View:
        rows = db.execute("SELECT id, address, pid FROM members ORDER BY id")
        return View(self._number(db), tuple(Member(*row) for row in rows))

    def _put_out(self, db: sqlite3.Connection) -> bool:
        """The dead, and those who were silent for longer than their lease."""
        rows = db.execute("SELECT id, token, address, pid, deadline FROM members")
        now, changed = time.monotonic(), False
        for me, token, address, pid, deadline in rows.fetchall():
            dead = self._is_dead(token, pid)
            if dead or (deadline is not None and now >= deadline):
                db.execute("DELETE FROM members WHERE id = ?", (me,))
                self._forget_file(self._files / token)
                changed = True
            if dead:  # who lives needs it when he comes back
                self._forget_file(Path(address))
        if changed:
            self._next_number(db)
        return changed

    # Files

    def _locked_file(self, token: str) -> int:
        try:
            self._files.mkdir(mode=0o700, exist_ok=True)
            lock_file = os.open(self._files / token, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ClusterError(f"cannot use {self._files}: {error.strerror}") from None
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        return lock_file

    def _is_dead(self, token: str, pid: int) -> bool:
        if token == self._token:
            return False
        try:
            theirs = os.open(self._files / token, os.O_RDWR)
        except FileNotFoundError:  # somebody has tidied up: ask for the process instead
            return not process_exists(pid)
        try:
            fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(theirs)
        return True

    def _forget_file(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink()

    def _drop_lock_file(self) -> None:
        """We are no member: no row names it."""
        if self._lock_file is not None:
            self._forget_file(self._files / self._token)
            self._unlock()

    def _unlock(self) -> None:
        """If a row names it still, whoever looks there knows now that we are dead."""
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    # The database

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        with self._explained():
            db = self._opened()
            db.execute(begin)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # a full disk has ended it already
                    db.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        if self._database is not None and self._inode_now() != self._inode:
            self._drop_lock_file()
            self._close()
            raise Gone(f"{self.path} was removed or replaced while it was in use")
        if self._database is None:
            self._must_be_ours()
            self._database = self._open()
            self._inode = self._inode_now()
        return self._database

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Make it ours; what is not ours is left as it was found."""
        db.execute("BEGIN")  # or what we read is from before and after somebody makes it
        is_ours = self._is_ours(db)
        db.execute("COMMIT")
        if not is_ours:
            db.execute("BEGIN IMMEDIATE")
            if not self._is_ours(db):
                self._create(db)
            db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        (self.cluster,) = db.execute("SELECT name FROM cluster").fetchone()

    def _is_ours(self, db: sqlite3.Connection) -> bool:
        """False: there is nothing yet."""
        (found,) = db.execute("PRAGMA user_version").fetchone()
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if not tables and not found:
            return False
        if tables != {"cluster", "members"}:
            raise ClusterError(f"{self.path} is somebody else's database; use another file")
        if found != FORMAT:
            raise ClusterError(f"{self.path} was made by another version of peerlock")
        return True

    def _create(self, db: sqlite3.Connection) -> None:
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        first = int(time.time()) - BEGINNING
        db.execute("INSERT INTO cluster VALUES (?, ?)", (first, secrets.token_hex(16)))

    def _must_be_ours(self) -> None:
        folder = self.path.parent
        if not folder.is_dir():
            raise ClusterError(f"there is no directory {folder}; make it first")
        if self.path.exists() and self.path.stat().st_uid != os.getuid():
            raise ClusterError(f"{self.path} belongs to another user; use a file of yours")

    def _inode_now(self) -> int:
        try:
            return self.path.stat().st_ino
        except OSError:
            return 0

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
        self._unlock()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise ClusterError(self._explanation(str(error))) from error
        except sqlite3.DatabaseError as error:
            raise ClusterError(
                f"{self.path} is damaged or no database ({error}); "
                "when nothing uses it, move it away, and a new one is made"
            ) from error

    def _explanation(self, error: str) -> str:
        if "readonly" in error or "unable to open" in error:
            return f"cannot write {self.path}: is its directory yours and writable?"
        if "full" in error:
            return f"no space is left for {self.path}"
        if "locked" in error:
            return f"{self.path} was locked by others for {PATIENCE:.0f} seconds"
        return f"{self.path}: {error}"


def process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
