"""Sockets that processes leave behind when they are killed.

Only names as the runtime makes them are removed, only in the directory in which our own
socket is, and only if they are sockets: names that other members wrote are not trusted.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
import time
from collections.abc import Collection
from contextlib import suppress

SOCKET = re.compile(r"[0-9a-f]{16}\.sock")

# After this many seconds, a socket without a listener cannot be one that is being made.
YOUNG = 10.0


def remove_unused(own: str, dead: Collection[str], used: Collection[str]) -> None:
    """In the directory of our own: those of dead members, and old ones that are not used.

    used: the sockets of members, which are not probed.
    """
    folder = os.path.dirname(own)
    try:
        found = [name for name in os.listdir(folder) if SOCKET.fullmatch(name)]
    except OSError:
        return
    for path in {os.path.join(folder, name) for name in found}.difference(used):
        if is_socket(path) and (path in dead or is_unused(path)):
            with suppress(OSError):
                os.unlink(path)


def is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def is_unused(path: str) -> bool:
    try:
        age = time.time() - os.lstat(path).st_mtime
    except OSError:
        return False
    if age < YOUNG:
        return False
    # A socket of another kind is turned away by one that is in use, which does not notice.
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as question:
        return question.connect_ex(path) == errno.ECONNREFUSED
