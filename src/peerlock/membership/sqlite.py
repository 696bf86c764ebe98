"""Members on one machine: rows in SQLite, and an OS lock that each holds while it lives.

The members and the number of the view are changed in one transaction.  Each member holds
flock(2) on a file of its own: when its process ends, however it ends, the kernel drops
that, and whoever looks knows that it is dead.  A member that lives but is silent for
longer than its lease is put out, too.  Leases are counted on CLOCK_MONOTONIC, which all
processes of a machine share.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
import secrets
import socket
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from pathlib import Path
from tempfile import TemporaryFile
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

# Sockets, as the runtime names them, and after how many seconds one that nobody listens
# at can be none that is just being made.
SOCKET = re.compile(r"[0-9a-f]{16}\.sock")
YOUNG = 10.0

# What an open database takes, and more.
DESCRIPTORS = 6
ROOM = 1 << 16
LONGEST_PATH = 500

ADVICE = {
    errno.EACCES: "use a directory of yours",
    errno.EMFILE: "let the process open more (ulimit -n)",
    errno.ENAMETOOLONG: "use a shorter one",
    errno.EROFS: "use another directory",
}

# Held while a file is opened and noted down: a child that is forked in between would have
# it open for good, and know nothing of it.
NOT_FORKING = threading.Lock()
os.register_at_fork(
    before=NOT_FORKING.acquire,
    after_in_parent=NOT_FORKING.release,
    after_in_child=NOT_FORKING.release,
)


class SqliteEngine:
    """own_folder: nothing else is in there, and nobody else should tidy it."""

    def __init__(self, path: Path, lease: float | None, own_folder: bool = False) -> None:
        self.path = path
        self.lease = lease
        self.cluster = ""  # known once the database is open
        self._real = str(path)  # without links: all must find the same files beside it
        self._own_folder = own_folder
        self._thread = OwnThread("peerlock-membership")
        self._database: sqlite3.Connection | None = None
        self._inodes = (0, 0)
        self._locked: dict[Path, int] = {}  # descriptors
        self._token = ""

    # The interface: each call is a transaction, in our thread

    async def join(self, address: str, beyond: int = 0) -> Joined:
        return await self._run(self._join, address, beyond)

    async def renew(self, me: MemberId) -> Renewed:
        return await self._run(self._renew, me)

    async def renumber(self) -> View:
        return await self._run(self._renumber)

    async def reserve(self) -> int:
        return (await self.renumber()).number

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
        """The descriptor that keeps us in: a child that inherits it keeps us in, too."""
        return self._locked.get(self._file(self._token))

    def abandon(self) -> None:
        """In a forked child: our parent is the member, we must not keep it in."""
        while self._locked:
            os.close(self._locked.popitem()[1])

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        future = self._thread.call(self._explained, work, *arguments)
        return await asyncio.wrap_future(future)

    # Transactions

    def _join(self, address: str, beyond: int) -> Joined:
        token = secrets.token_hex(8)
        try:
            with self._transaction() as db:
                self._hold(token)
                left = self._put_out(db)
                db.execute("DELETE FROM members WHERE token = ?", (self._token,))
                me = self._next_number(db, beyond)
                deadline = self._deadline()
                row = (me, token, address, os.getpid(), deadline)
                db.execute("INSERT INTO members VALUES (?, ?, ?, ?, ?)", row)
                view = self._view(db)
        except BaseException:
            self._drop(token)
            raise
        self._drop(self._token)
        self._token = token
        remove(left)
        remove(unused_sockets(Path(address).parent))
        return Joined(view, me, inf if deadline is None else deadline)

    def _renew(self, me: MemberId) -> Renewed:
        deadline = self._deadline()  # from before we asked
        with self._transaction() as db:
            left = self._put_out(db)
            renewal = "UPDATE members SET deadline = ? WHERE id = ?"
            still_in = db.execute(renewal, (deadline, me)).rowcount
            view = self._view(db)
        remove(left)
        if not still_in:
            return Renewed(view, -inf, bool(left))
        return Renewed(view, inf if deadline is None else deadline, bool(left))

    def _renumber(self) -> View:
        with self._transaction() as db:
            self._next_number(db)
            return self._view(db)

    def _leave(self, me: MemberId) -> View:
        with self._transaction() as db:
            if db.execute("DELETE FROM members WHERE id = ?", (me,)).rowcount:
                self._next_number(db)
            view = self._view(db)
        self._drop(self._token)
        return view

    def _read(self) -> View:
        try:
            os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return View(0, ())  # do not make one only to say that nobody is in
        with self._transaction("BEGIN") as db:
            return self._view(db)

    # Parts of transactions

    def _deadline(self) -> float | None:
        return None if self.lease is None else time.monotonic() + self.lease

    def _next_number(self, db: sqlite3.Connection, beyond: int = 0) -> int:
        db.execute("UPDATE cluster SET number = max(number, ?) + 1", (beyond,))
        return self._number(db)

    def _number(self, db: sqlite3.Connection) -> int:
        return self._row(db)[0]

    def _row(self, db: sqlite3.Connection) -> tuple[int, str]:
        rows = db.execute("SELECT number, name FROM cluster").fetchall()
        if len(rows) != 1 or not isinstance(rows[0][0], int):
            raise ClusterError(self._damaged("the number of its view is missing"))
        number, name = rows[0]
        return number, str(name)

    def _view(self, db: sqlite3.Connection) -> View:
        rows = db.execute("SELECT id, address, pid FROM members ORDER BY id")
        return View(self._number(db), tuple(Member(*row) for row in rows))

    def _put_out(self, db: sqlite3.Connection) -> list[Path]:
        """The dead, and those who were silent for longer than their lease.

        What they leave behind is to be removed when this is certain, not before.
        """
        rows = db.execute("SELECT id, token, address, pid, deadline FROM members")
        now = time.monotonic()
        left = []
        for me, token, address, pid, deadline in rows.fetchall():
            dead = self._is_dead(token, pid)
            if dead or (deadline is not None and now >= deadline):
                db.execute("DELETE FROM members WHERE id = ?", (me,))
                left.append(self._file(token))
            if dead:  # who lives needs it when he comes back
                left.append(Path(address))
        if left:
            self._next_number(db)
        return left

    # Files

    def _file(self, token: str) -> Path:
        return Path(f"{self._real}.members") / token

    def _hold(self, token: str) -> None:
        file = self._file(token)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        if file.parent.lstat().st_uid != os.getuid():
            raise ClusterError(f"{file.parent} belongs to another user; use another place")
        self._lock(file, os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX)

    def _lock(self, path: Path, flags: int, how: int) -> None:
        with NOT_FORKING:
            self._locked[path] = os.open(path, flags, 0o600)
        fcntl.flock(self._locked[path], how)

    def _unlock(self, path: Path) -> None:
        with NOT_FORKING:
            if path in self._locked:
                os.close(self._locked.pop(path))

    def _is_dead(self, token: str, pid: int) -> bool:
        if token == self._token:
            return False
        try:
            theirs = os.open(self._file(token), os.O_RDWR)
        except FileNotFoundError:  # somebody has tidied up: ask for the process instead
            return not process_exists(pid)
        try:
            fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(theirs)
        return True

    def _drop(self, token: str) -> None:
        """No row names it any more."""
        if token:
            remove([self._file(token)])
            self._unlock(self._file(token))

    def _keep_folder(self) -> None:
        """systemd removes what is old in /tmp, but nothing below what is locked."""
        folder = self.path.parent
        if self._own_folder and folder not in self._locked:
            try:
                self._lock(folder, os.O_RDONLY, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:  # it is at work in there; next time
                self._unlock(folder)

    # The database

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
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
        if self._database is not None and self._inodes_now() != self._inodes:
            self._drop(self._token)
            self._close()
            raise Gone(f"{self.path} was removed or replaced while it was in use")
        if self._database is None:
            self._must_be_ours()
            self._real = os.path.realpath(self.path)
            self._database = self._open()
            self._inodes = self._inodes_now()
        self._keep_folder()
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
        self._write_ahead(db)
        db.execute("PRAGMA synchronous = NORMAL")
        _number, self.cluster = self._row(db)  # which makes what its users share, too

    def _write_ahead(self, db: sqlite3.Connection) -> None:
        """Whoever is first changes to that; SQLite itself does not wait for others here."""
        patient_until = time.monotonic() + PATIENCE
        while True:
            try:
                db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > patient_until:
                    raise
            time.sleep(0.001)

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
        self._row(db)
        return True

    def _create(self, db: sqlite3.Connection) -> None:
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        first = int(time.time()) - BEGINNING
        db.execute("INSERT INTO cluster VALUES (?, ?)", (first, secrets.token_hex(16)))

    def _must_be_ours(self) -> None:
        try:
            found = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            folder = self.path.parent
            if not folder.is_dir():
                raise ClusterError(
                    f"there is no directory {folder}; make it first"
                ) from None
            return
        if not stat.S_ISREG(found.st_mode):
            what = "a directory" if stat.S_ISDIR(found.st_mode) else "no file"
            raise ClusterError(f"{self.path} is {what}; name a file for the database")
        if found.st_uid != os.getuid():
            raise ClusterError(f"{self.path} belongs to another user; use a file of yours")

    def _inodes_now(self) -> tuple[int, int]:
        """Of the database, and of what its users share: without that each is alone."""
        return inode(str(self.path)), inode(f"{self._real}-shm")

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
        for path in list(self._locked):  # if a row names it, others see that we are dead
            self._unlock(path)

    # Errors

    def _explained(self, work: Callable[..., T], *arguments: object) -> T:
        try:
            return work(*arguments)
        except sqlite3.DatabaseError as error:
            raise ClusterError(self._explanation(error)) from error
        except OSError as error:
            raise ClusterError(unusable(error.filename or self.path, error)) from error

    def _explanation(self, error: sqlite3.DatabaseError) -> str:
        kind = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").split("_")[0]
        if kind in ("BUSY", "LOCKED", "PROTOCOL"):
            return f"{self.path} was locked by others for {PATIENCE:.0f} seconds"
        if kind in ("CANTOPEN", "FULL", "IOERR", "READONLY"):
            return self._why_not_written(kind, error)
        if isinstance(error, sqlite3.OperationalError):
            return f"{self.path}: {error}"
        return self._damaged(str(error))

    def _why_not_written(self, kind: str, error: sqlite3.DatabaseError) -> str:
        """SQLite says only that it could not; the system tells us why, if we try, too."""
        if kind == "FULL":
            return f"no space is left for {self.path}"
        if len(os.fsencode(self.path)) > LONGEST_PATH:
            return f"cannot use {self.path}: the path is too long; use a shorter one"
        try:
            inode(f"{self._real}-journal")  # its longest name
            write_in(self.path.parent)
        except OSError as reason:
            if reason.errno in (errno.ENOSPC, errno.EDQUOT):
                return f"no space is left for {self.path}"
            return unusable(self.path, reason)
        return f"cannot write {self.path}: {error}; is it yours and writable?"

    def _damaged(self, how: str) -> str:
        return (
            f"{self.path} is damaged or no database ({how}); "
            "when nothing uses it, move it away, and a new one is made"
        )


def unusable(path: object, error: OSError) -> str:
    advice = ADVICE.get(error.errno or 0)
    return f"cannot use {path}: {error.strerror}" + (f"; {advice}" if advice else "")


def write_in(folder: Path) -> None:
    """As much as a database needs; not the database itself, for whoever closes that
    gives up the locks that SQLite has on it, in the whole process."""
    with ExitStack() as files:
        for _ in range(DESCRIPTORS):
            files.enter_context(open(os.devnull))
        file = files.enter_context(TemporaryFile(dir=folder))
        file.write(bytes(ROOM))
        file.flush()


def inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except (FileNotFoundError, NotADirectoryError):
        return 0


def remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def unused_sockets(folder: Path) -> list[Path]:
    """Of processes that ended when they were no members: no row tells of these."""
    try:
        names = [name for name in os.listdir(folder) if SOCKET.fullmatch(name)]
    except OSError:
        return []
    return [folder / name for name in names if is_unused(folder / name)]


def is_unused(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    if not stat.S_ISSOCK(found.st_mode) or time.time() - found.st_mtime < YOUNG:
        return False
    # A socket of another kind is turned away by one that is in use, which does not notice.
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as question:
        return question.connect_ex(str(path)) == errno.ECONNREFUSED


def process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
