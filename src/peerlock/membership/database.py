"""The database: a small SQLite file that says which cluster this is, and in which format.

It is written completely under another name, then published by link(2), once, and never
written again.  So no process needs a lock of SQLite to read it, and none can hold one that
blocks others.  What changes is beside it: see history.py and leases.py.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import ExitStack, closing, suppress
from urllib.parse import quote

from peerlock.membership.engine import ClusterError
from peerlock.membership.trust import must_be_our_file, new_file

FORMAT = 2
BEFORE = {"cluster", "members"}  # the tables of format 1

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


class Database:
    """path: where it really is; shown: as the user knows it."""

    def __init__(self, path: str, shown: object) -> None:
        self.path = path
        self.shown = shown

    def create(self) -> None:
        """Unless there is one."""
        if os.path.lexists(self.path):
            return
        temporary = f"{self.path}.{os.urandom(4).hex()}"
        os.close(new_file(temporary))
        try:
            self._fill(temporary)
            with suppress(FileExistsError):  # another process has made it
                os.link(temporary, self.path)
        except sqlite3.DatabaseError as error:
            raise ClusterError(self._why_not_written(error)) from error
        finally:
            os.unlink(temporary)

    def cluster(self) -> str:
        """The name of the cluster, which only its members know."""
        must_be_our_file(self.path, self.shown)
        try:
            return self._name()
        except sqlite3.OperationalError as error:
            raise ClusterError(self._why_not_written(error)) from error
        except sqlite3.DatabaseError as error:
            raise ClusterError(self.damaged(str(error))) from error

    def identity(self) -> tuple[int, ...]:
        """Which file this is; (): there is none.

        A new file may get the number of one that was removed, but was written later.
        """
        try:
            found = os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        return found.st_dev, found.st_ino, found.st_mtime_ns

    def damaged(self, how: str) -> str:
        return (
            f"{self.shown} is damaged or not a database ({how}); "
            "when nothing uses it, move it away, and a new one is made"
        )

    def _fill(self, path: str) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("PRAGMA synchronous = OFF")
            db.execute("CREATE TABLE cluster (name TEXT NOT NULL)")
            db.execute("INSERT INTO cluster VALUES (?)", (os.urandom(16).hex(),))
            db.execute(f"PRAGMA user_version = {FORMAT}")

    def _name(self) -> str:
        place = quote(os.fsencode(self.path))
        with closing(sqlite3.connect(f"file:{place}?immutable=1", uri=True)) as db:
            (found,) = db.execute("PRAGMA user_version").fetchone()
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
            self._must_be_known(tables, found)
            rows = db.execute("SELECT name FROM cluster").fetchall()
        if len(rows) != 1 or not isinstance(rows[0][0], str):
            raise ClusterError(self.damaged("the name of the cluster is missing"))
        return rows[0][0]

    def _must_be_known(self, tables: set[str], version: int) -> None:
        if not tables and not version:
            raise ClusterError(self.damaged("it is empty"))
        if tables not in ({"cluster"}, BEFORE):
            raise ClusterError(
                f"{self.shown} is a database of another program; use another file"
            )
        if version != FORMAT:
            raise ClusterError(
                f"{self.shown} was made by another version of peerlock; when nothing uses "
                "it, move it away, and a new one is made"
            )

    def _why_not_written(self, error: sqlite3.DatabaseError) -> str:
        """SQLite does not say why; the system does, if we try ourselves."""
        if len(os.fsencode(self.path)) > LONGEST_PATH:
            return f"cannot use {self.shown}: the path is too long; use a shorter one"
        try:
            write_in(os.path.dirname(self.path))
        except OSError as reason:
            return unusable(self.shown, reason)
        if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
            return f"no space is left for {self.shown}"
        return f"cannot use {self.shown}: {error}; is it yours and writable?"


def unusable(path: object, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space is left for {path}"
    advice = ADVICE.get(error.errno or 0)
    return f"cannot use {path}: {error.strerror}" + (f"; {advice}" if advice else "")


def write_in(folder: str) -> None:
    """As much as a database needs."""
    from tempfile import TemporaryFile  # slow to load, and rarely needed

    with ExitStack() as files:
        for _ in range(DESCRIPTORS):
            files.enter_context(open(os.devnull))
        file = files.enter_context(TemporaryFile(dir=folder))
        file.write(bytes(ROOM))
        file.flush()
