"""A member's own file: every order in which a renewal and a putting out can meet."""

import fcntl
import os
from collections.abc import Iterator
from itertools import combinations
from math import inf
from pathlib import Path

import pytest

from peerlock.membership.leases import (
    YOUNG,
    Found,
    Leases,
    Standing,
    can_be_locked,
)
from tests.support.engines import Clock

TOKEN = "0123456789abcdef"


class Member:
    """The owner of a file, step by step."""

    def __init__(self, folder: Path, clock: Clock, deadline: float) -> None:
        self.leases = Leases(str(folder))
        self.clock = clock
        self.descriptor = self.leases.create(TOKEN)
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        self.leases.write(self.descriptor, deadline)
        self.until = deadline
        self._next = -inf

    def write(self) -> None:
        self._next = self.clock.now + 10
        self.leases.write(self.descriptor, self._next)

    def look(self) -> None:
        standing = self.leases.look(self.descriptor, TOKEN)
        self.until = self._next if standing is Standing.IN else -inf


class Putter:
    """One that puts it out, step by step."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.leases = Leases(str(folder))
        self.clock = clock
        self.found: Found | None = None
        self.mine: str | None = None
        self.decided = False

    def find(self) -> None:
        self.found = self.leases.find(TOKEN)
        if self.found and self.clock.now < self.found.deadline:
            self.found = None

    def take(self) -> None:
        if self.found:
            self.mine = self.leases.take(TOKEN, self.found.name)

    def decide(self) -> None:
        if self.found and self.mine:
            self.decided = self.leases.decide(TOKEN, self.found.name, self.mine)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def member(folder: Path, leases_clock: Clock) -> Iterator[Member]:
    """Its lease is over, and it has not renewed it yet."""
    member = Member(folder, leases_clock, leases_clock.now)
    yield member
    os.close(member.descriptor)


def orders(*programs: str) -> Iterator[str]:
    """All ways to merge them; each letter is a step."""
    if not programs[1:]:
        yield programs[0]
        return
    first, *rest = programs
    for merged in orders(*rest):
        size = len(first) + len(merged)
        for places in combinations(range(size), len(first)):
            steps, others = iter(first), iter(merged)
            yield "".join(next(steps if i in places else others) for i in range(size))


def run(order: str, member: Member, one: Putter, two: Putter) -> None:
    steps = {"W": member.write, "L": member.look}
    steps |= {"f": one.find, "t": one.take, "d": one.decide}
    steps |= {"1": two.find, "2": two.take, "3": two.decide}
    for step in order:
        steps[step]()


def must_be_safe(order: str, member: Member, *putters: Putter) -> None:
    """Nobody has decided that it is out while it counts on its lease."""
    decided = any(putter.decided for putter in putters)
    assert not (decided and member.clock.now < member.until), order


def test_a_renewal_and_a_putting_out_in_every_order(
    tmp_path: Path, leases_clock: Clock
) -> None:
    outcomes = set()
    for number, order in enumerate(orders("WL", "ftd")):
        folder = tmp_path / str(number)
        folder.mkdir()
        member = Member(folder, leases_clock, leases_clock.now)
        putter = Putter(folder, leases_clock)
        run(order, member, putter, putter)
        must_be_safe(order, member, putter)
        outcomes.add((putter.decided, member.until > leases_clock.now))
        os.close(member.descriptor)
    assert outcomes == {(True, False), (False, True), (False, False)}


def test_a_renewal_and_two_that_put_out_in_every_order(
    tmp_path: Path, leases_clock: Clock
) -> None:
    """560 orders; any of the three may be stopped anywhere for as long as one likes."""
    seen = 0
    for number, order in enumerate(orders("WL", "ftd", "123")):
        folder = tmp_path / str(number)
        folder.mkdir()
        member = Member(folder, leases_clock, leases_clock.now)
        one, two = Putter(folder, leases_clock), Putter(folder, leases_clock)
        run(order, member, one, two)
        must_be_safe(order, member, one, two)
        os.close(member.descriptor)
        seen += 1
    assert seen == 560


def test_time_passes_between_the_steps_of_two_that_put_out(
    tmp_path: Path, leases_clock: Clock
) -> None:
    """A second renewal, and a lease that ends again (T), in every order."""
    for number, order in enumerate(orders("WLTWL", "ftd", "12")):
        folder = tmp_path / str(number)
        folder.mkdir()
        member = Member(folder, leases_clock, leases_clock.now)
        one, two = Putter(folder, leases_clock), Putter(folder, leases_clock)
        for step in order + "3":
            if step == "T":
                leases_clock.now += 10
            else:
                run(step, member, one, two)
            must_be_safe(order, member, one, two)
        os.close(member.descriptor)


def test_a_member_that_is_in_time_stays_in(member: Member, leases_clock: Clock) -> None:
    putter = Putter(Path(member.leases.folder), leases_clock)
    member.write()
    member.look()
    assert member.until == leases_clock.now + 10
    leases_clock.now += 9.999
    assert not putter.leases.put_out(TOKEN, TOKEN)
    assert os.listdir(member.leases.folder) == [TOKEN]  # it was given back
    leases_clock.now += 0.001
    assert putter.leases.put_out(TOKEN, TOKEN)
    member.write()
    member.look()
    assert member.until == -inf


def test_it_is_completed_by_another_if_the_one_that_took_it_is_gone(
    member: Member, leases_clock: Clock
) -> None:
    folder = Path(member.leases.folder)
    killed, other = Putter(folder, leases_clock), Putter(folder, leases_clock)
    killed.find()
    killed.take()
    other.find()
    assert other.found
    assert other.found.name != TOKEN
    other.take()
    other.decide()
    assert other.decided
    killed.decide()
    assert not killed.decided


def test_what_was_taken_from_another_is_not_given_back(
    member: Member, leases_clock: Clock
) -> None:
    folder = Path(member.leases.folder)
    one, two = Putter(folder, leases_clock), Putter(folder, leases_clock)
    one.find()
    one.take()
    two.find()
    two.take()
    member.write()
    two.decide()
    assert not two.decided
    assert not (folder / TOKEN).exists()
    member.look()
    assert member.until == -inf
    leases_clock.now += 10
    two.find()  # it waits until what is written there has passed
    two.take()
    two.decide()
    assert two.decided


def test_a_file_is_locked_as_long_as_its_owner_lives(member: Member) -> None:
    found = member.leases.find(TOKEN)
    assert found == (TOKEN, False, member.until)
    again = os.dup(member.descriptor)  # as a child inherits it
    fcntl.flock(member.descriptor, fcntl.LOCK_UN)
    found = member.leases.find(TOKEN)
    assert found
    assert found.dead
    os.close(again)


def test_who_looks_holds_no_lock_afterwards(folder: Path) -> None:
    """Not even as long as a child has the file open that was forked while it looked."""
    file = folder / TOKEN
    file.touch()
    with file.open() as probe, file.open() as other:
        assert can_be_locked(probe.fileno())
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert not can_be_locked(probe.fileno())


def test_a_file_that_is_not_there_or_another_in_its_place(member: Member) -> None:
    folder = Path(member.leases.folder)
    (folder / TOKEN).rename(folder / "elsewhere")
    assert member.leases.look(member.descriptor, TOKEN) is Standing.MISSING
    assert member.leases.find(TOKEN) is None
    (folder / TOKEN).touch()  # not ours
    assert member.leases.look(member.descriptor, TOKEN) is not Standing.IN
    assert member.leases.find(TOKEN) == (TOKEN, True, inf)


def test_only_old_files_that_nobody_has_locked_are_forgotten(
    member: Member, folder: Path
) -> None:
    names = ["1" * 16, "2" * 16, "2" * 16 + ".0123abcd", "3" * 16]
    for name in names:
        (folder / name).touch()
    for name in [*names[:3], TOKEN]:
        os.utime(folder / name, (0, 0))
    member.leases.remove_forgotten({"1" * 16})
    assert sorted(os.listdir(folder)) == sorted([TOKEN, "1" * 16, "3" * 16])
    assert YOUNG > 1


def test_all_names_of_a_file_are_removed(member: Member, folder: Path) -> None:
    (folder / f"{TOKEN}.0123abcd").touch()
    (folder / ("1" * 16)).touch()
    member.leases.remove(TOKEN)
    assert os.listdir(folder) == ["1" * 16]
