"""A cluster's files are its user's alone: others can neither use them nor plant any."""

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from peerlock.membership.engine import ClusterError
from peerlock.membership.trust import private_folder, resolved
from tests.support.engines import Engine

STRANGER = 12345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def refuses(path: Path, what: str) -> None:
    """And leaves everything as it was."""
    before = everything_in(path.parent)
    with Engine(path) as engine, pytest.raises(ClusterError, match=what) as caught:
        engine.join("/a")
    assert "\n" not in str(caught.value)
    assert everything_in(path.parent) == before


def everything_in(folder: Path) -> list[tuple[str, int]]:
    if not folder.is_dir():
        return []
    return sorted((str(p), p.lstat().st_mode) for p in folder.rglob("*"))


# Directories


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o770, 0o720, 0o702, 0o2770])
def test_a_directory_that_others_can_write(path: Path, mode: int) -> None:
    path.parent.chmod(mode)
    refuses(path, r"others can write in .*: chmod go-w .*, or use another directory")


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1755, 0o2750])
def test_a_directory_that_only_we_can_write(path: Path, one: Engine, mode: int) -> None:
    path.parent.chmod(mode)
    assert len(one.join("/a").view.members) == 1


@as_root
def test_a_directory_of_another_user(path: Path) -> None:
    os.chown(path.parent, STRANGER, STRANGER)
    refuses(path, "belongs to another user; use a directory of your own")


def test_a_directory_on_whose_way_everybody_can_replace_names(path: Path) -> None:
    inside = path.parent / "open" / "ours" / "c.db"
    inside.parent.mkdir(parents=True)
    inside.parent.parent.chmod(0o777)
    refuses(inside, r"others can write in .*/open: chmod go-w .*/open, or use another")
    inside.parent.parent.chmod(0o1777)  # sticky: each can replace only what is its own
    with Engine(inside) as engine:
        engine.join("/a")


# Links


@as_root
def test_a_link_of_another_user(path: Path) -> None:
    (path.parent / "ours").mkdir()
    link = path.parent / "link"
    link.symlink_to(path.parent / "ours")
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    refuses(link / "c.db", "link is a link of another user; use a path without it")
    assert os.listdir(path.parent / "ours") == []


@as_root
def test_a_link_to_a_file_elsewhere_that_another_user_has_planted(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
    refuses(path, "c.db is a link of another user")
    assert not (path.parent / "elsewhere").exists()


def test_a_link_of_ours_is_followed_and_what_it_leads_to_is_judged(path: Path) -> None:
    there = path.parent / "there"
    there.mkdir()
    path.symlink_to("there/c.db")
    there.chmod(0o777)
    refuses(path, "others can write in .*/there")
    there.chmod(0o755)
    with Engine(path) as engine, Engine(there / "c.db") as other:
        engine.join("/a")
        assert len(other.join("/b").view.members) == 2


def test_links_that_lead_in_a_circle(path: Path) -> None:
    path.symlink_to(path)
    refuses(path, "is a broken link")


def test_paths_are_resolved_as_the_kernel_does(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "absolute").symlink_to(tmp_path / "link")
    real = os.path.realpath(tmp_path)
    for name in ("link/x", "absolute/x", "a/../link/./x", "a//b/x", "link/../b/x"):
        assert resolved(f"{tmp_path}/{name}") == f"{real}/a/b/x"
    assert resolved(f"{tmp_path}/no/such/../x").startswith(f"{real}/no")


@pytest.mark.parametrize("name", ["members", "views"])
def test_a_link_in_place_of_a_directory_of_ours(path: Path, name: str) -> None:
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    with Engine(path) as engine:
        engine.read()
    Path(f"{path}.{name}").symlink_to(elsewhere)
    with Engine(path) as engine, pytest.raises(ClusterError, match=f"{name} belongs to a"):
        engine.join("/a")
    assert os.listdir(elsewhere) == []


def test_links_in_place_of_registers_and_of_members_files_are_not_followed(
    path: Path, one: Engine
) -> None:
    secret = path.parent / "secret"
    secret.write_text(json.dumps([10**12, 10**12, []]) + "\n")
    me = one.join("/a").me
    (register,) = Path(f"{path}.views").iterdir()
    register.with_name(f"{9:016d}").symlink_to(secret)
    with pytest.raises(ClusterError, match=r"cannot use .*c.db: Too many levels of symbol"):
        one.renew(me)


# Modes


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def closed_umask() -> Iterator[None]:
    before = os.umask(0o777)
    yield
    os.umask(before)


def must_be_private(path: Path) -> None:
    found = {p: stat.S_IMODE(p.stat().st_mode) for p in path.parent.rglob("*")}
    files = {p: mode for p, mode in found.items() if p.is_file()}
    assert len(files) == 3  # the database, a register, a member's file
    assert set(files.values()) == {0o600}
    assert {mode for p, mode in found.items() if p.is_dir()} == {0o700}


def test_all_files_are_for_us_alone_whatever_the_umask(
    path: Path, one: Engine, open_umask: None
) -> None:
    one.join("/a")
    must_be_private(path)


def test_a_umask_that_takes_away_our_own_rights(
    path: Path, one: Engine, closed_umask: None
) -> None:
    one.join("/a")
    must_be_private(path)


def test_what_is_ours_and_laxer_is_tightened(path: Path) -> None:
    with Engine(path) as engine:
        engine.leave(engine.join("/a").me)
    path.chmod(0o666)
    for name in ("views", "members"):
        Path(f"{path}.{name}").chmod(0o777)
    with Engine(path) as engine:
        engine.join("/a")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        for name in ("views", "members"):
            assert stat.S_IMODE(Path(f"{path}.{name}").stat().st_mode) == 0o700


@as_root
def test_a_directory_of_another_user_in_place_of_ours(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, STRANGER, STRANGER)
    with pytest.raises(
        ClusterError, match="theirs belongs to another user; use another pl"
    ):
        private_folder(str(theirs))
    assert stat.S_IMODE(theirs.stat().st_mode) == 0o700


OPENS_ALL = """
import os, sys
os.setgid(12345); os.setuid(12345)
folder = sys.argv[1]
names = [folder + ".members", folder + ".views", folder]
print([name for name in names if os.access(name, os.R_OK) or os.access(name, os.W_OK)])
"""


@as_root
def test_another_user_can_open_nothing(short_path: Path) -> None:
    short_path.chmod(0o755)
    with Engine(short_path / "c.db") as engine:
        engine.join("/a")
        done = subprocess.run(
            [sys.executable, "-c", OPENS_ALL, short_path / "c.db"],
            capture_output=True,
            text=True,
        )
    assert (done.stdout, done.stderr) == ("[]\n", "")


# What others have written down


def test_what_a_dead_member_says_is_not_removed(
    path: Path, short_path: Path, one: Engine
) -> None:
    """Only sockets as we name them, in the directory of our own."""
    (short_path / "other").mkdir()
    names = ["0123456789abcdef.sock", "mine.sock", "other/1123456789abcdef.sock"]
    theirs = short_path / "3123456789abcdef.sock"  # one of another in our directory
    for place in (*(short_path / name for name in names), theirs):
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(place))
    names.append("2123456789abcdef.sock")
    (short_path / names[-1]).touch()  # not a socket
    me = one.join(f"{short_path}/a").me
    with ExitStack() as dead:  # closed without leaving
        for name in (*names, f"other/{theirs.name}"):
            dead.enter_context(Engine(path)).join(str(short_path / name))
    assert len(one.renew(me).view.members) == 1
    left = [name for name in names if (short_path / name).exists()]
    assert left == names[1:]
    assert theirs.exists()


def test_a_planted_token_removes_no_file(path: Path, one: Engine) -> None:
    me = one.join("/a").me
    victim = path.parent / "victim"
    victim.touch()
    (register,) = Path(f"{path}.views").iterdir()
    number, highest, rows = json.loads(register.read_text())
    rows.append([me + 1, "/b", 1, "../victim", 10.0, rows[0][5]])
    planted = register.with_name(f"{9:016d}")
    planted.write_text(json.dumps([number, highest, rows]) + "\n")
    with pytest.raises(ClusterError, match="is damaged"):
        one.renew(me)
    assert victim.exists()
