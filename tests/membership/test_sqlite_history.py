"""The register of a cluster on one machine: published once, overtaken, late, damaged."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import peerlock
from peerlock.membership import clock, sqlite
from peerlock.membership.engine import ClusterError, Gone
from peerlock.membership.history import (
    KEPT,
    NOTHING,
    Damaged,
    History,
    HistoryState,
    MemberCard,
)
from peerlock.node.register import Register
from tests.support.engines import Engine

CARD = MemberCard("0123456789abcdef", 10.0, "clock")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(str(tmp_path))


def next_of(state: HistoryState) -> HistoryState:
    register = state.register.join("/a", 7)
    return state.after(register, {register.number: CARD})


def publish(history: History, times: int) -> HistoryState:
    for _ in range(times):
        assert history.publish(next_of(history.newest()))
    return history.newest()


def serials(history: History) -> list[int]:
    return sorted(int(name) for name in os.listdir(history.folder))


# What is published


def test_there_is_nothing_at_first(history: History) -> None:
    assert history.newest() is NOTHING
    assert History(f"{history.folder}/no").newest() is NOTHING


def test_what_was_published_is_read_by_others(history: History, tmp_path: Path) -> None:
    register = Register(5, 8).join("/a\udcff", 3).join("/b", 4)
    cards = {9: CARD, 10: CARD._replace(lease=None)}
    state = NOTHING.after(register, cards)
    assert history.publish(state)
    assert History(history.folder).newest() == state == history.newest()
    assert state.serial == 1
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_of_two_that_change_the_same_register_one_succeeds(history: History) -> None:
    other = History(history.folder)
    before = publish(history, 1)
    ours, theirs = next_of(before), before.after(before.register.reserve())
    assert other.publish(theirs)
    assert not history.publish(ours)
    assert history.newest() == theirs
    assert serials(history) == [1, 2]


def test_old_ones_are_removed_and_never_the_newest(history: History) -> None:
    publish(history, 30)
    assert serials(history) == list(range(30 - KEPT, 31))


def test_one_that_slept_for_long_is_not_published(history: History) -> None:
    """The name that it wants is free again: others have long gone past it."""
    late = next_of(publish(history, 1))
    other = History(history.folder)
    newest = publish(other, 20)
    assert late.serial not in serials(history)
    assert not history.publish(late)
    assert other.newest() == history.newest() == newest
    assert History(history.folder).newest() == newest


def test_one_that_is_overtaken_does_not_believe_that_it_is_the_newest(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, link = History(history.folder), os.link

    def linked(*names: Any) -> None:
        link(*names)
        monkeypatch.setattr(os, "link", link)
        publish(other, 1)

    monkeypatch.setattr(os, "link", linked)
    assert not history.publish(next_of(NOTHING))
    assert history.newest().serial == 2


def test_others_go_on_while_it_is_read(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(history, 1)
    other, read = History(history.folder), History._read

    def slowly(self: History, serial: int) -> HistoryState:
        monkeypatch.setattr(History, "_read", read)
        publish(other, 20)
        return read(self, serial)

    monkeypatch.setattr(History, "_read", slowly)
    assert history.newest().serial == 21


def test_a_history_that_was_begun_anew_is_not_taken_for_the_old(history: History) -> None:
    publish(history, 1)
    os.unlink(f"{history.folder}/{1:016d}")
    other = NOTHING.after(Register(70, 70))
    assert History(history.folder).publish(other)
    assert history.newest() == other


def test_temporary_files_of_the_killed_are_removed_when_they_are_old(
    history: History, tmp_path: Path
) -> None:
    names = ["0123456789abcdef.new", "1123456789abcdef.new", "notes"]
    for name in names:
        (tmp_path / name).touch()
    for name in names[1:]:
        os.utime(tmp_path / name, (0, 0))
    publish(history, 1)
    assert sorted(os.listdir(tmp_path)) == [f"{1:016d}", names[0], names[2]]


def test_a_temporary_file_that_was_tidied_away(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def linked(temporary: str, name: str) -> None:
        os.unlink(temporary)
        link(temporary, name)

    monkeypatch.setattr(os, "link", linked)
    assert not history.publish(next_of(NOTHING))


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\0" * 100, b"[]", b"[1, 2]", b"{}", b'[1, 2, [[1, "/a", 3]]]'),
        b'[1, 2, [[1, "/a", 3, "../../etc/passwd", 1, "c"]]]',
        b'[1, 2, [[1, "/a", 3, 5, 1, "c"]]]',
    ],
)
def test_a_damaged_one(history: History, tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"{3:016d}").write_bytes(content)
    with pytest.raises(Damaged, match="register 3 is damaged"):
        history.newest()


# In an engine


def only_register(path: Path) -> Path:
    return sorted(Path(f"{path}.views").iterdir())[-1]


def test_a_register_that_is_damaged_while_it_is_in_use(path: Path, one: Engine) -> None:
    one.join("/a")
    only_register(path).write_bytes(b"")
    with Engine(path) as other:
        for call in (lambda: other.join("/b"), other.read):
            with pytest.raises(ClusterError, match=r"c.db is damaged .*register \d is dam"):
                call()


def test_a_register_that_was_lost_with_the_power_is_begun_anew(
    path: Path, one: Engine
) -> None:
    me = one.join("/a").me
    one.engine.close()
    register = only_register(path)
    register.write_bytes(b"\0" * 50)
    before_the_start = time.time() - clock.now() - 1
    os.utime(register, (before_the_start,) * 2)
    with Engine(path) as other:
        joined = other.join("/b")
        assert joined.me > me
        assert [member.address for member in joined.view.members] == ["/b"]
    one.engine = sqlite.SqliteEngine(path, 60)


def test_a_member_that_was_overtaken_as_it_joined_is_in_once(
    path: Path, one: Engine, two: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = two.join("/b").me
    publish = History.publish

    def overtaken(self: History, state: HistoryState) -> bool:
        monkeypatch.setattr(History, "publish", publish)
        assert publish(self, state)
        two.see_one_pass()
        return False

    monkeypatch.setattr(History, "publish", overtaken)
    joined = one.join("/a")
    assert [member.id for member in joined.view.members] == [theirs, joined.me]
    assert two.read() == joined.view
    assert one.renew(joined.me).deadline > 0


def test_renewing_changes_nothing_that_others_share(
    path: Path, one: Engine, two: Engine
) -> None:
    me, theirs = one.join("/a").me, two.join("/b").me
    before = list(Path(f"{path}.views").iterdir())
    for _ in range(20):
        one.renew(me)
        two.renew(theirs)
    assert list(Path(f"{path}.views").iterdir()) == before


def test_a_register_that_has_gone_back(path: Path, one: Engine, two: Engine) -> None:
    me = one.join("/a").me
    two.join("/b")
    one.renew(me)
    only_register(path).unlink()
    with pytest.raises(Gone, match="was removed or replaced while it was in use"):
        one.renew(me)


FIFTY = """
import asyncio, os, sys
from pathlib import Path
from peerlock.membership.sqlite import SqliteEngine

def come_and_go():
    os.read(gate, 1)
    engine = SqliteEngine(Path(sys.argv[1]), 60)
    asyncio.run(engine.leave(asyncio.run(engine.join("/a")).me))
    engine.close()

gate, opens_it = os.pipe()
children = []
for _ in range(50):
    if not (child := os.fork()):
        os.close(opens_it)
        try:
            come_and_go()
            os._exit(0)
        finally:
            os._exit(1)
    children.append(child)
os.close(opens_it)
print(*{os.waitpid(child, 0)[1] for child in children})
"""


def test_fifty_processes_join_and_leave_at_once(path: Path) -> None:
    """Nobody is turned away, however many there are."""
    done = subprocess.run(
        [sys.executable, "-c", FIFTY, path], capture_output=True, text=True, timeout=300
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
    with Engine(path) as engine:
        assert engine.read().members == ()


# Stopped

STOPPED = """
import asyncio, os, signal, sys, peerlock

async def work():
    async with peerlock.join(sys.argv[1], lease=2) as node:
        grant = await node.lock("x").acquire()
        print(grant.fence, flush=True)
        link = os.link

        def stop_first(*names):
            os.link = link
            os.kill(os.getpid(), signal.SIGSTOP)
            link(*names)

        os.link = stop_first
        await node.host.engine.reserve()
        await grant.lost
        print("lost", flush=True)
        async with node.lock("x") as again:
            print(again.fence, flush=True)

asyncio.run(work())
"""


def test_a_process_that_is_stopped_in_a_change_holds_up_nobody(cluster: str) -> None:
    stopped = subprocess.Popen(
        [sys.executable, "-c", STOPPED, cluster], stdout=subprocess.PIPE, text=True
    )
    assert stopped.stdout
    first = int(stopped.stdout.readline())
    wait_until(lambda: state_of(stopped.pid) == "T")

    async def work() -> int:
        async with peerlock.join(cluster, lease=30) as node:
            began = time.monotonic()
            async with node.lock("x", timeout=30) as grant:
                assert time.monotonic() - began < 2 + 3  # its lease, and a busy machine
                os.kill(stopped.pid, signal.SIGCONT)
                assert stopped.stdout
                line = await asyncio.to_thread(stopped.stdout.readline)
                assert (line, grant.is_lost) == ("lost\n", False)
                engine = node.host.engine
                assert (await engine.renew(node.host.node.me)).deadline > clock.now()
            return grant.fence

    second = asyncio.run(work())
    third = int(stopped.stdout.readline())
    assert first < second < third
    assert stopped.wait(30) == 0
    stopped.stdout.close()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
