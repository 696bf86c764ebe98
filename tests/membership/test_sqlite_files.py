"""The files of a cluster on one machine: what cannot be used, and all that befalls them."""

import asyncio
import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import peerlock
from peerlock.membership.engine import ClusterError, Gone
from tests.support.engines import Engine, end, files, heard, start

AS_ROOT = os.geteuid() == 0


# Files that cannot be used


def says(path: Path, what: str) -> None:
    """One line that says what to do; for who joins through the API, too."""
    before = snapshot(path.parent)
    with Engine(path) as engine, pytest.raises(ClusterError, match=what) as caught:
        engine.join("/a")
    assert "\n" not in str(caught.value)
    with pytest.raises(ClusterError, match=what):
        peerlock.sync.join(f"sqlite://{path}")

    async def join() -> None:
        await peerlock.join(f"sqlite://{path}")

    with pytest.raises(ClusterError, match=what):
        asyncio.run(join())
    after = snapshot(path.parent)
    assert {name: after.get(name) for name in before} == before, "something was changed"


def snapshot(folder: Path) -> dict[str, bytes]:
    if not os.path.isdir(folder):
        return {}
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def elsewhere(short_path: Path) -> Path:
    """So that sockets can be made although the cluster's own directory is at fault."""
    (short_path / "files").mkdir()
    return short_path / "files" / "c.db"


def test_a_directory_that_does_not_exist(elsewhere: Path) -> None:
    says(elsewhere.parent / "no" / "c.db", "there is no directory .*/no; make it first")
    assert not (elsewhere.parent / "no").exists()


def test_a_path_below_a_file(elsewhere: Path) -> None:
    elsewhere.touch()
    says(elsewhere / "c.db", "there is no directory")


def test_a_directory_in_place_of_the_file(elsewhere: Path) -> None:
    elsewhere.mkdir()
    says(elsewhere, "c.db is a directory; name a file for the database")


def test_something_else_in_place_of_the_file(elsewhere: Path) -> None:
    os.mkfifo(elsewhere)
    says(elsewhere, "c.db is not a file; name a file for the database")


@pytest.mark.parametrize("name", ["x" * 256, "x" * 250, f"{'x' * 256}/c.db"])
def test_a_name_that_is_too_long(elsewhere: Path, name: str) -> None:
    says(elsewhere.parent / name, "cannot use .*: File name too long; use a shorter one")


def test_a_path_that_is_too_long_for_sqlite(elsewhere: Path) -> None:
    folder = elsewhere.parent.joinpath(*["x" * 200] * 3)
    folder.mkdir(parents=True)
    says(folder / "c.db", "cannot use .*: the path is too long; use a shorter one")


def test_to_read_what_cannot_be_used(elsewhere: Path) -> None:
    with Engine(elsewhere.parent / "no" / "c.db") as engine:
        assert engine.read() == (0, ())
    long = elsewhere.parent / ("x" * 256)
    with Engine(long) as engine, pytest.raises(ClusterError, match="File name too long"):
        engine.read()


@pytest.mark.skipif(AS_ROOT, reason="root may write anywhere")
def test_a_directory_that_is_read_only(elsewhere: Path) -> None:
    elsewhere.parent.chmod(0o500)
    says(elsewhere, "cannot use .*: Permission denied")


@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")
def test_a_directory_that_is_read_only_for_a_user(short_path: Path) -> None:
    """As the one above, in a process that is not root's."""
    said = another_user_joins(short_path, mode=0o755)
    assert "files belongs to another user; use a directory of your own\n" in said
    assert said.count("\n") == 1
    assert os.listdir(short_path / "files") == []


@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")
def test_a_directory_that_cannot_be_entered(short_path: Path) -> None:
    said = another_user_joins(short_path, mode=0o700)
    assert "files/c.db: Permission denied; use a directory of yours\n" in said
    assert said.count("\n") == 1


def another_user_joins(short_path: Path, mode: int) -> str:
    """The error, if the cluster's directory is root's."""
    short_path.chmod(0o755)
    (short_path / "files").mkdir(mode=mode)
    (short_path / "run").mkdir()
    os.chown(short_path / "run", 12345, 12345)
    text = (
        "import os, peerlock, peerlock.membership.sqlite\n"
        "peerlock.sync.join, peerlock.ClusterError  # while we may read them\n"
        "os.setgid(12345); os.setuid(12345)\n"
        "try:\n"
        f"    peerlock.sync.join('sqlite://{short_path}/files/c.db')\n"
        "except peerlock.ClusterError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        env=os.environ | {"XDG_RUNTIME_DIR": f"{short_path}/run"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


@pytest.mark.skipif(not AS_ROOT, reason="only root can give files away")
def test_a_file_of_another_user(elsewhere: Path) -> None:
    with Engine(elsewhere) as engine:
        engine.read()
    elsewhere.touch()
    os.chown(elsewhere, 12345, 12345)
    says(elsewhere, "c.db belongs to another user; use a file of your own")


@pytest.mark.skipif(not AS_ROOT, reason="only root can give directories away")
def test_locked_files_in_the_hands_of_another_user(elsewhere: Path) -> None:
    theirs = Path(f"{elsewhere}.members")
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    says(elsewhere, "c.db.members belongs to another user; use another place")


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" * 500])
def test_a_damaged_file(elsewhere: Path, content: bytes) -> None:
    elsewhere.write_bytes(content)
    says(elsewhere, "c.db is damaged or not a database .*, move it away")


def test_a_file_that_was_damaged_in_the_middle(elsewhere: Path) -> None:
    with Engine(elsewhere) as engine:
        engine.join("/a")
    with closing(sqlite3.connect(elsewhere)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = elsewhere.read_bytes()
    elsewhere.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    says(elsewhere, "c.db is damaged or not a database")


@pytest.mark.parametrize("change", ["DELETE FROM cluster", "UPDATE cluster SET name=1.5"])
def test_a_database_without_the_name_of_its_cluster(elsewhere: Path, change: str) -> None:
    with Engine(elsewhere) as engine:
        engine.join("/a")
    with closing(sqlite3.connect(elsewhere, isolation_level=None)) as db:
        db.execute("ALTER TABLE cluster RENAME TO was")
        db.execute("CREATE TABLE cluster AS SELECT 1 AS name FROM was")
        db.execute("DROP TABLE was")
        db.execute(change)
    says(elsewhere, "c.db is damaged or not a database .* is missing.*, move it away")


FEW_DESCRIPTORS = """
import asyncio, os, resource, sys
from pathlib import Path
from peerlock.membership.engine import ClusterError
from peerlock.membership.sqlite import SqliteEngine

loop = asyncio.new_event_loop()
_soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
first = os.dup(0)
for spare in range(12):
    resource.setrlimit(resource.RLIMIT_NOFILE, (first + spare, most))
    engine = SqliteEngine(Path(sys.argv[1]), 60)
    try:
        loop.run_until_complete(engine.join("/a"))
        print("joined")
    except ClusterError as error:
        print(error)
    engine.close()
"""


def test_too_few_descriptors(elsewhere: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FEW_DESCRIPTORS, elsewhere],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert not done.stderr
    *refused, last = done.stdout.splitlines()
    too_many = "Too many open files; let the process open more (ulimit -n)"
    assert [line for line in refused if too_many not in line and line != "joined"] == []
    assert too_many in refused[0]
    assert last == "joined"


@pytest.mark.parametrize("version", [0, 1, 7])
def test_somebody_elses_database(elsewhere: Path, version: int) -> None:
    with closing(sqlite3.connect(elsewhere)) as db:
        db.execute("CREATE TABLE songs (name TEXT)")
        db.execute(f"PRAGMA user_version = {version}")
        db.commit()
    says(elsewhere, "c.db is a database of another program; use another file")


def test_a_database_of_another_version(elsewhere: Path) -> None:
    with Engine(elsewhere) as engine:
        engine.join("/a")
    with closing(sqlite3.connect(elsewhere)) as db:
        db.execute("PRAGMA user_version = 99")
    says(
        elsewhere, "c.db was made by another version of peerlock; when nothing uses it, mo"
    )


def test_a_database_of_the_version_before(elsewhere: Path) -> None:
    with closing(sqlite3.connect(elsewhere)) as db:
        db.execute("CREATE TABLE cluster (number INTEGER, name TEXT)")
        db.execute("CREATE TABLE members (id INTEGER)")
        db.execute("PRAGMA user_version = 1")
        db.execute("PRAGMA journal_mode = WAL")
    says(
        elsewhere, "c.db was made by another version of peerlock; when nothing uses it, mo"
    )


# A full disk


@pytest.fixture
def small_disk(short_path: Path) -> Iterator[Path]:
    """A file system of its own with hardly any space, where mounting is allowed."""
    path = short_path / "disk"
    path.mkdir()
    options = ["-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", str(path)]
    if not AS_ROOT or subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(path: Path) -> Path:
    filling = path / "filling"
    try:
        with filling.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 512)
    except OSError as error:
        assert error.errno == errno.ENOSPC
    return filling


@pytest.mark.parametrize("pages", range(4))
def test_a_disk_that_is_full_from_the_beginning(small_disk: Path, pages: int) -> None:
    """Or almost: all that a database needs has its own way to fail."""
    filling = fill(small_disk)
    os.truncate(filling, filling.stat().st_size - 4096 * pages)
    says(small_disk / "c.db", "no space is left for|No space left on device")


def test_a_disk_that_fills_up_while_in_use(small_disk: Path) -> None:
    with Engine(small_disk / "c.db") as engine:
        joined = engine.join("/a")
        filling = fill(small_disk)
        with pytest.raises(ClusterError, match="no space is left for"):
            see_many_pass(engine)
        filling.unlink()
        assert engine.renew(joined.me).deadline > 0
        assert engine.see_one_pass().number > joined.view.number


def see_many_pass(engine: Engine) -> None:
    for _ in range(1000):
        engine.see_one_pass()


# A file that vanishes


@pytest.mark.parametrize("how", ["removed", "replaced", "all removed"])
def test_a_database_that_vanishes_under_its_members(path: Path, how: str) -> None:
    with Engine(path) as one, Engine(path) as two:
        me, theirs = one.join("/a"), two.join("/b")
        if how == "replaced":
            shutil.copy(path, f"{path}.new")
            os.replace(f"{path}.new", path)
        else:
            path.unlink()
        if how == "all removed":
            for name in ("views", "members"):
                shutil.rmtree(f"{path}.{name}")
        for engine, joined in ((one, me), (two, theirs)):
            with pytest.raises(Gone, match="was removed or replaced while it was in use"):
                engine.renew(joined.me)
        if how == "replaced":
            return
        again = one.join("/a", theirs.view.number)
        assert again.view.number > theirs.view.number
        assert len(two.join("/b", theirs.view.number).view.members) == 2
        assert len(one.renew(again.me).view.members) == 2


def test_a_new_database_with_the_inode_of_the_old_is_another(
    path: Path, one: Engine, two: Engine
) -> None:
    """Its number is free as soon as the old one is removed."""
    me = one.join("/a").me
    before = one.engine.cluster
    path.unlink()
    two.join("/b")
    with pytest.raises(Gone, match="was removed or replaced while it was in use"):
        one.renew(me)
    assert len(one.join("/a", me).view.members) == 2
    assert one.engine.cluster == two.engine.cluster != before


def test_by_whatever_links_it_is_reached_it_is_the_same_database(
    path: Path, tmp_path: Path, one: Engine
) -> None:
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / "link.db"
    link.symlink_to(path)
    me = one.join("/a").me
    process = start(link)
    heard(process)
    assert len(files(path)) == len(one.renew(me).view.members) == 2
    end(process)
    assert len(one.renew(me).view.members) == 1
    assert os.listdir(tmp_path / "other") == ["link.db"]


def test_members_of_a_database_that_vanishes_lose_their_locks_and_meet_again(
    cluster: str, short_path: Path
) -> None:
    async def work() -> None:
        async with (
            peerlock.join(cluster, lease=1) as a,
            peerlock.join(cluster, lease=1) as b,
        ):
            grant = await a.lock("x").acquire()
            (short_path / "c.db").unlink()
            async with asyncio.timeout(10):
                assert await grant.lost
                while len(b.host.node.view.members) + len(a.host.node.view.members) < 4:
                    await asyncio.sleep(0.01)
                async with b.lock("x") as theirs:
                    assert theirs.fence > grant.fence

    asyncio.run(work())
