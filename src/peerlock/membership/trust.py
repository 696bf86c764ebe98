"""Files and directories that only this user can change.

A user that can write in a directory can replace what is in it, and make a program of
another user create, read or remove files elsewhere by a symbolic link.  So:

- The cluster's directory must be ours, and neither its group nor others may write in it,
  sticky or not.  On the way to it there may be no directory in which all users can replace
  names (writable by others and not sticky).
- A symbolic link on the way is followed only if it is ours or root's.  In the directory
  itself no link is followed.
- Files that are made there are private, whatever the umask; files of ours with a laxer mode
  are tightened.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from contextlib import suppress

from peerlock.membership.engine import ClusterError

MOST_LINKS = 40  # as many as Linux follows

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
OTHERS = 0o077

OPEN = os.O_NOFOLLOW | os.O_CLOEXEC
CREATE = OPEN | os.O_CREAT | os.O_EXCL | os.O_RDWR


def resolved(path: str) -> str:
    """The same path without links; what does not exist is left as it is."""
    real, parts, links = "/", deque(os.path.join("/", path).split("/")), 0
    while parts:
        part = parts.popleft()
        if part in ("", "."):
            continue
        if part == "..":
            real = os.path.dirname(real)
            continue
        _must_be_safe(real)
        real = os.path.join(real, part)
        try:
            found = os.lstat(real)
        except (FileNotFoundError, NotADirectoryError):
            return os.path.join(real, *parts)
        if stat.S_ISLNK(found.st_mode):
            links += 1
            _must_be_a_good_link(real, found, links)
            parts.extendleft(reversed(os.readlink(real).split("/")))
            real = "/" if os.readlink(real).startswith("/") else os.path.dirname(real)
    return real


def _must_be_safe(folder: str) -> None:
    mode = os.lstat(folder).st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise writable(folder)


def writable(folder: str) -> ClusterError:
    return ClusterError(
        f"others can write in {folder}: chmod go-w {folder}, or use another directory"
    )


def _must_be_a_good_link(path: str, found: os.stat_result, links: int) -> None:
    if found.st_uid not in (0, os.geteuid()):
        raise ClusterError(f"{path} is a link of another user; use a path without it")
    if links > MOST_LINKS:
        raise ClusterError(f"{path} is a broken link; use a path without it")


def must_be_ours_alone(folder: str) -> None:
    """A directory that exists; other users may read it, but not change it."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise ClusterError(f"{folder} is not a directory; use another place")
    if found.st_uid != os.geteuid():
        raise ClusterError(f"{folder} belongs to another user; use a directory of your own")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise writable(folder)


def private_folder(folder: str) -> None:
    """Below one that is ours alone: make it, if it is not there."""
    with suppress(FileExistsError):
        os.mkdir(folder, PRIVATE_FOLDER)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ClusterError(f"{folder} belongs to another user; use another place")
    if stat.S_IMODE(found.st_mode) != PRIVATE_FOLDER:
        os.chmod(folder, PRIVATE_FOLDER)


def new_file(path: str) -> int:
    """A descriptor of a file that did not exist; the caller closes it."""
    descriptor = os.open(path, CREATE, PRIVATE_FILE)
    os.fchmod(descriptor, PRIVATE_FILE)  # a umask may have taken away our own rights
    return descriptor


def must_be_our_file(path: str, shown: object) -> None:
    """Of a file that exists; from now on it is for us alone."""
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        what = "a directory" if stat.S_ISDIR(found.st_mode) else "not a file"
        raise ClusterError(f"{shown} is {what}; name a file for the database")
    if found.st_uid != os.geteuid():
        raise ClusterError(f"{shown} belongs to another user; use a file of your own")
    if found.st_mode & OTHERS:
        os.chmod(path, PRIVATE_FILE)


def identity(path: str) -> tuple[int, int]:
    """Which file or directory this is, among those that exist; (0, 0): there is none."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return 0, 0
    return found.st_dev, found.st_ino
