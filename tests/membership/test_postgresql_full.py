"""PostgreSQL on a disk that is really full: a small file system in memory, filled."""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from peerlock.membership import ClusterError
from peerlock.membership.clock import now
from peerlock.testing import ids
from tests.support.etcd_members import in_time
from tests.support.postgresql_members import fresh, members
from tests.support.postgresql_servers import Server, own, server

SIZE = "24m"


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """With room for a database, and not much more."""
    if os.geteuid():
        pytest.skip("to mount a small file system needs root")
    with tempfile.TemporaryDirectory(prefix="plpg", dir="/tmp") as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", name]
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("no file system can be mounted here")
        try:
            place = Path(name) / "space"
            place.mkdir()
            own(Path(name))
            own(place)
            yield place
        finally:
            subprocess.run(["umount", name], check=True)


def fill(made: Server) -> None:
    made.execute("CREATE TABLE ballast (t text)", "small")
    ballast = "SELECT repeat(md5(i::text), 20) FROM generate_series(1, 1000) i"
    with suppress(psycopg.errors.DiskFull):
        while True:
            made.execute(f"INSERT INTO ballast {ballast}", "small")


@in_time
async def test_a_disk_that_is_full(postgresql_data: Path, small_disk: Path) -> None:
    with server(postgresql_data) as made:
        made.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
        made.execute("CREATE DATABASE small TABLESPACE small")
        url = fresh(made.conninfo("small"))
        async with members(url, 2, 5.0) as (one, two):
            fill(made)
            # Renewals need no more room: old versions of the rows are pruned.
            for _ in range(500):
                await one.renew()
                assert ids(await two.renew()) == [one.me, two.me]
            assert two.deadline > now() + 4
            # Newcomers do, sooner or later, and are told so in one line.
            crowd = [await refused_or_in(url) for _ in range(3)]
            assert all(error in ("", "PostgreSQL's disk is full") for error in crowd)
            made.execute("DROP TABLE ballast", "small")
            assert await refused_or_in(url) == ""
            assert ids(await one.renew()) == [one.me, two.me]
        made.execute("DROP DATABASE small WITH (FORCE)")


async def refused_or_in(url: str) -> str:
    try:
        async with members(url, 1, 5.0) as newcomer:
            await newcomer.engine.leave(newcomer.me)
    except ClusterError as error:
        return str(error)
    await asyncio.sleep(0)
    return ""
