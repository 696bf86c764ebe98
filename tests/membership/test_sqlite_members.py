"""Members on one machine: their numbers when files are lost, their files, their clocks."""

import os
import random
import runpy
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import Any

import pytest

from peerlock.membership import clock, sqlite
from peerlock.membership.census import Census, Outgoing
from peerlock.membership.engine import ClusterError
from peerlock.membership.history import HistoryState
from peerlock.membership.leases import Found, Leases
from peerlock.node.numbers import BEGINNING, BLOCK, PER_SECOND
from peerlock.node.views import Member
from tests.support.engines import Clock, Engine, end, files, heard, start

# Numbers


def lose_everything(path: Path) -> None:
    for found in path.parent.glob("c.db*"):
        shutil.rmtree(found) if found.is_dir() else found.unlink()


def test_a_new_database_counts_from_1024_for_each_second_since_2024(path: Path) -> None:
    before = (time.time() - BEGINNING) * PER_SECOND
    with Engine(path) as engine:
        number = engine.join("/a").view.number
    assert before - 1 <= number <= (time.time() - BEGINNING) * PER_SECOND + 2


def test_numbers_grow_although_the_files_are_lost_after_many_changes(path: Path) -> None:
    """Eight commands and a cleared directory; and three hundred views in no time."""
    highest = 0
    for changes in (0, 4, 150):
        with Engine(path) as engine:
            first = engine.join("/a").view.number
            assert first > highest
            for _ in range(changes):
                highest = engine.see_one_pass().number
            highest = max(highest, first)
            assert highest == first + 2 * changes
        lose_everything(path)


def test_while_a_holder_is_in_nobody_is_let_in_with_a_lower_number(
    path: Path, one: Engine
) -> None:
    one.join("/a")
    for _ in range(8):
        reserved = one.reserve()
    lose_everything(path)
    with Engine(path) as other:
        assert other.join("/b").view.number > reserved


def test_no_number_is_given_before_its_time(
    path: Path, one: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = one.join("/a").view.number
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    now = BEGINNING + (number + 1) / PER_SECOND
    monkeypatch.setattr(time, "time", lambda: now)
    one.see_one_pass()
    one.reserve()
    assert slept == [0, 1 / PER_SECOND, (1 + BLOCK) / PER_SECOND]


def test_reserved_numbers_make_no_new_view(one: Engine, two: Engine) -> None:
    first = one.join("/a")
    reserved = one.reserve()
    assert reserved == first.view.number + BLOCK
    assert two.reserve() == reserved + BLOCK
    assert one.renew(first.me).view == first.view
    assert two.join("/b").view.number == reserved + BLOCK + 1


@pytest.mark.parametrize("seconds", [0, BEGINNING - 1, 3_629_145_600, 4_102_444_800])
def test_a_clock_that_cannot_be_right_begins_no_cluster(
    path: Path, one: Engine, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    with monkeypatch.context() as wrong:
        wrong.setattr(time, "time", lambda: seconds)
        with pytest.raises(ClusterError, match="the clock of this machine is wrong"):
            one.join("/a")
    assert files(path) == os.listdir(f"{path}.views") == []
    me = one.join("/a").me
    monkeypatch.setattr(time, "time", lambda: seconds)
    assert one.see_one_pass().number > me  # one that has begun works on


# A member's file


def test_a_tidied_directory_is_repaired_by_the_members(
    path: Path, one: Engine, two: Engine
) -> None:
    me, theirs = one.join("/a"), two.join("/b").me
    before = files(path)
    shutil.rmtree(f"{path}.members")
    for engine, member in ((one, me.me), (two, theirs)):
        renewed = engine.renew(member)
        assert renewed.deadline > clock.now()
        assert renewed.view == two.read()
        assert not renewed.changed
    assert len(files(path)) == 2
    assert not set(files(path)) & set(before)
    assert len(one.engine._locked) == 1
    assert one.renew(me.me).trouble is None
    two.engine.close()  # its new file is locked no more
    assert [member.id for member in one.renew(me.me).view.members] == [me.me]
    two.engine = sqlite.SqliteEngine(path, 60)


def test_a_file_that_another_has_replaced_is_not_ours(path: Path, one: Engine) -> None:
    me = one.join("/a").me
    (name,) = files(path)
    Path(f"{path}.members", name).unlink()
    Path(f"{path}.members", name).touch()
    assert one.renew(me).deadline == -inf


def test_a_member_without_a_file_is_out_when_its_lease_is_over(
    path: Path, one: Engine, leases_clock: Clock
) -> None:
    me = one.join("/a").me
    with Engine(path, 10) as silent:
        theirs = silent.join("/b").me
        leases_clock.now += 5
        for file in files(path):
            Path(f"{path}.members", file).unlink()
        for wait in (0, 9.999):
            leases_clock.now += wait
            renewed = one.renew(me)
            assert len(renewed.view.members) == 2
            assert renewed.trouble is None
        leases_clock.now += 0.001
        assert [member.id for member in one.renew(me).view.members] == [me]
        assert silent.renew(theirs).deadline == -inf
        assert len(files(path)) == 1


def test_a_file_that_came_back_under_another_name_counts_from_then(
    path: Path, one: Engine, leases_clock: Clock
) -> None:
    me = one.join("/a").me
    with Engine(path, 10) as other:
        theirs = other.join("/b").me
        for _ in range(3):  # each time it repairs, others count anew
            leases_clock.now += 6
            for file in files(path):
                Path(f"{path}.members", file).unlink()
            assert len(one.renew(me).view.members) == 2
            assert other.renew(theirs).deadline == leases_clock.now + 10


WITHOUT_A_LEASE = """
engine.lease = None
joined = asyncio.run(engine.join('/nowhere'))
print(joined.me, flush=True)
sys.stdin.read()
"""


def test_without_its_file_nobody_knows_that_a_member_is_dead(
    path: Path, one: Engine, leases_clock: Clock
) -> None:
    """Its process id says nothing: it may be one of another namespace."""
    me = one.join("/a").me
    process = start(path, *WITHOUT_A_LEASE.splitlines())
    heard(process)
    theirs = heard(process)
    shutil.rmtree(f"{path}.members")
    end(process)
    leases_clock.now += 1e6
    renewed = one.renew(me)
    assert [member.id for member in renewed.view.members] == [me, theirs]
    assert renewed.trouble
    advice = str(renewed.trouble)
    assert f"with process id {process.pid} was removed" in advice
    command, file = advice.rpartition("run: ")[2].split()
    assert command == "touch"

    Path(file).touch()
    renewed = one.renew(me)
    assert renewed.trouble is None
    assert [member.id for member in renewed.view.members] == [me]


def test_a_member_that_has_a_new_file_is_not_put_out_for_the_old(
    path: Path, one: Engine, two: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if its lease had been over; it renews between the look and the change."""
    me, theirs = one.join("/a").me, two.join("/b").me
    find_out = Census.find_out

    def slowly(self: Census, state: HistoryState, *_: object) -> dict[int, Outgoing]:
        monkeypatch.setattr(Census, "find_out", find_out)
        out = {theirs: Outgoing(state.cards[theirs].token, False, "/b")}
        shutil.rmtree(f"{path}.members")
        assert two.renew(theirs).deadline > 0
        return out

    monkeypatch.setattr(Census, "find_out", slowly)
    assert len(one.renew(me).view.members) == 2
    assert two.renew(theirs).deadline > 0


def test_a_member_that_was_put_out_is_not_let_in_by_a_new_file(
    path: Path, leases_clock: Clock
) -> None:
    with Engine(path, 10) as late, Engine(path, 60) as other:
        me = late.join("/a").me
        leases_clock.now += 10
        other.join("/b")
        assert len(files(path)) == 1
        assert late.renew(me).deadline == -inf
        assert len(files(path)) == 1


def test_a_lease_counts_from_before_it_is_written(
    path: Path, leases_clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Leases.write

    def slowly(self: Leases, descriptor: int, deadline: float) -> None:
        leases_clock.now += 3
        write(self, descriptor, deadline)

    monkeypatch.setattr(Leases, "write", slowly)
    with Engine(path, 10) as engine:
        began = leases_clock.now
        joined = engine.join("/a")
        assert joined.deadline == began + 10
        began = leases_clock.now
        assert engine.renew(joined.me).deadline == began + 10


def test_a_lease_is_written_before_the_look(
    path: Path, leases_clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another decides just before the writing that it is out, and has told nobody yet."""
    with Engine(path, 10) as late:
        me = late.join("/a").me
        (token,) = files(path)
        leases_clock.now += 10
        write = Leases.write

        def put_out_first(self: Leases, descriptor: int, deadline: float) -> None:
            assert Leases(self.folder).put_out(token, token)
            write(self, descriptor, deadline)

        monkeypatch.setattr(Leases, "write", put_out_first)
        told = late.renew(me)
        assert told.deadline == -inf
        assert [member.id for member in told.view.members] == [me]


def test_one_that_renews_just_before_it_is_put_out_stays_in(
    path: Path, leases_clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the other has read that its lease is over."""
    with Engine(path, 10) as late, Engine(path, 60) as other:
        me, theirs = late.join("/a").me, other.join("/b").me
        leases_clock.now += 10
        find = Leases.find

        def then_renew(self: Leases, token: str) -> Found | None:
            monkeypatch.setattr(Leases, "find", find)
            found = find(self, token)
            assert late.renew(me).deadline == leases_clock.now + 10
            return found

        monkeypatch.setattr(Leases, "find", then_renew)
        looked = other.renew(theirs)
        assert [member.id for member in looked.view.members] == [me, theirs]
        assert not looked.changed
        assert late.renew(me).deadline == leases_clock.now + 10


def test_one_that_is_renewed_is_not_put_out(path: Path, leases_clock: Clock) -> None:
    """It is written to its own file, where all others read it."""
    with Engine(path, 10) as engine, Engine(path, 60) as other:
        me, theirs = engine.join("/a").me, other.join("/b").me
        for _ in range(4):
            leases_clock.now += 9.999
            assert engine.renew(me).deadline == leases_clock.now + 10
            assert len(other.renew(theirs).view.members) == 2


def test_a_former_self_is_not_renewed(path: Path, leases_clock: Clock) -> None:
    with Engine(path, 10) as engine, Engine(path, 60) as other:
        theirs = other.join("/b").me
        former = engine.join("/a").me
        me = engine.join("/a").me
        leases_clock.now += 9
        assert engine.renew(former).deadline == -inf
        leases_clock.now += 1
        assert [m.id for m in other.renew(theirs).view.members] == [theirs]
        assert engine.renew(me).deadline == -inf


def test_one_that_is_in_the_register_no_longer_is_out(one: Engine, two: Engine) -> None:
    """Although its file is there."""
    me = one.join("/a").me
    two.leave(me)
    renewed = one.renew(me)
    assert renewed.deadline == -inf
    assert renewed.view.members == ()
    assert one.join("/a").me > me


def test_files_of_the_killed_who_never_joined_are_removed(path: Path, one: Engine) -> None:
    one.leave(one.join("/a").me)
    left = Path(f"{path}.members", "0123456789abcdef")
    left.touch()
    os.utime(left, (0, 0))
    one.join("/a")
    assert left.name not in files(path)
    assert len(files(path)) == 1


# Clocks


def test_the_clock_has_a_name_of_this_boot_and_this_namespace() -> None:
    assert clock.name() == clock.name()
    if Path("/proc/self/ns/time").exists():
        boot, namespace = clock.name().split()
        assert Path("/proc/sys/kernel/random/boot_id").read_text().strip() == boot
        assert namespace == os.readlink("/proc/self/ns/time")


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="the system has none")
def test_leases_go_on_while_the_machine_is_suspended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = {time.CLOCK_BOOTTIME: 5000.0, time.CLOCK_MONOTONIC: 2000.0}
    monkeypatch.setattr(time, "clock_gettime", times.__getitem__)
    assert runpy.run_path(clock.__file__)["now"]() == 5000.0


JOINS = """
import asyncio, sys
from pathlib import Path
from peerlock.membership.engine import ClusterError
from peerlock.membership.sqlite import SqliteEngine
engine = SqliteEngine(Path(sys.argv[1]), 10)
try:
    print(len(asyncio.run(engine.join("/c")).view.members))
except ClusterError as error:
    print(error)
engine.close()
"""


@pytest.mark.parametrize("shift", [5000, -5])
def test_a_process_in_another_time_namespace_is_refused(
    path: Path, one: Engine, shift: int
) -> None:
    elsewhere = ["unshare", "--time", "--boottime", str(shift), sys.executable, "-c", JOINS]
    me = one.join("/a").me
    done = subprocess.run([*elsewhere, path], capture_output=True, text=True, timeout=60)
    if done.stderr:
        pytest.skip(f"no time namespaces: {done.stderr.strip()}")
    said = f"process {os.getpid()} uses {path} in another time namespace; run all members"
    assert said in done.stdout
    assert [member.id for member in one.renew(me).view.members] == [me]
    assert len(files(path)) == 1
    one.leave(me)
    done = subprocess.run([*elsewhere, path], capture_output=True, text=True, timeout=60)
    assert done.stdout == "1\n"
    assert len(one.join("/a").view.members) == 1  # it has ended, whatever its clock


def test_one_that_counts_on_another_clock_is_refused_while_others_are_in(
    one: Engine, two: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = one.join("/a").me
    monkeypatch.setattr(clock, "name", lambda: "another")
    with pytest.raises(ClusterError, match="in another time namespace; run all members"):
        two.join("/b")
    one.leave(me)
    assert len(two.join("/b").view.members) == 1


def test_a_deadline_on_another_clock_is_not_compared(
    path: Path, one: Engine, two: Engine, leases_clock: Clock, monkeypatch: Any
) -> None:
    me = one.join("/a").me
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(clock, "name", lambda: "another")
        elsewhere.setattr(Census, "must_share_the_clock", lambda *_: "another")
        two.join("/b")
    leases_clock.now += 1e6
    assert len(one.renew(me).view.members) == 2
    two.engine.close()
    assert len(one.renew(me).view.members) == 1
    two.engine = sqlite.SqliteEngine(path, 60)


# Neighbours


@pytest.fixture
def ring(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Engine]]:
    """Six members, in the order of their ids; none of them is looked at by chance."""
    monkeypatch.setattr(random, "choice", lambda rest: rest[0])
    with ExitStack() as stack:
        engines = [stack.enter_context(Engine(path, 10)) for _ in range(6)]
        for i, engine in enumerate(engines):
            engine.me = engine.join(f"/{i}").me
        yield engines


def looked_at(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, *suspects: Engine
) -> list[str]:
    """Addresses."""
    looked: list[str] = []
    look = Census._look

    def noted(self: Census, member: Member, state: HistoryState) -> Outgoing | None:
        looked.append(member.address)
        return look(self, member, state)

    monkeypatch.setattr(Census, "_look", noted)
    engine.renew(engine.me, {suspect.me for suspect in suspects})
    monkeypatch.setattr(Census, "_look", look)
    return looked


def test_a_member_looks_at_its_successor_and_at_one_more(
    ring: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert looked_at(ring[1], monkeypatch) == ["/2", "/3"]
    assert looked_at(ring[5], monkeypatch) == ["/0", "/1"]  # the last before the first
    monkeypatch.setattr(random, "choice", lambda rest: rest[-1])
    assert looked_at(ring[1], monkeypatch) == ["/2", "/0"]


def test_a_member_looks_at_those_that_it_suspects(
    ring: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = looked_at(ring[1], monkeypatch, ring[5], ring[0], ring[2])
    assert looked[0] == "/2"
    assert sorted(looked[1:]) == ["/0", "/3", "/5"]


def test_a_member_looks_past_those_that_are_out(
    ring: list[Engine], monkeypatch: pytest.MonkeyPatch, leases_clock: Clock
) -> None:
    leases_clock.now += 9
    for alive in (0, 4, 5):
        ring[alive].renew(ring[alive].me)
    leases_clock.now += 2
    assert looked_at(ring[0], monkeypatch) == ["/1", "/2", "/3", "/4", "/5"]
    assert addresses_in(ring[5]) == ["/0", "/4", "/5"]


def test_each_dead_member_is_found_in_one_round_of_renewals(
    ring: list[Engine], leases_clock: Clock
) -> None:
    leases_clock.now += 9
    for alive in (0, 3):
        ring[alive].renew(ring[alive].me)
    leases_clock.now += 2
    for alive in (0, 3):
        ring[alive].renew(ring[alive].me)
    assert addresses_in(ring[0]) == ["/0", "/3"]


def test_one_behind_a_member_that_does_not_look_is_found_by_chance(
    path: Path, leases_clock: Clock
) -> None:
    """The second lives, but is stopped; the third is dead."""
    with Engine(path) as one, Engine(path, None) as stopped, Engine(path, 10) as dead:
        me = one.join("/a").me
        stopped.join("/b")
        dead.join("/c")
        leases_clock.now += 11
        assert [member.address for member in one.renew(me).view.members] == ["/a", "/b"]


def addresses_in(engine: Engine) -> list[str]:
    return [member.address for member in engine.read().members]
