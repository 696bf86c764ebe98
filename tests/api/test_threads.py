"""The blocking API: the manners of threading.Lock, held to CPython's own tests of them."""

# How a block is left is what is tested here.
# ruff: noqa: PT012, SIM117

import asyncio
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from math import inf, nan
from pathlib import Path
from typing import Any, Self

import pytest

import peerlock
from peerlock.api.threads import Grant, Lock, LockNode
from peerlock.core.errors import UsageError
from peerlock.membership.place import engine_for
from peerlock.runtime.host import Host
from tests.support.threads import PATIENCE, Thread, put_out, until, users

lock_tests: Any = pytest.importorskip(
    "test.lock_tests", reason="CPython's tests are not here"
)


# CPython's own tests

shared: LockNode | None = None
numbers = count()


@pytest.fixture(scope="module", autouse=True)
def _shared_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    global shared
    path = tmp_path_factory.mktemp("shared")
    with peerlock.sync.join(f"sqlite://{path}/c.db") as node:
        shared = node
        yield
        shared = None


def fresh_lock(reentrant: bool = False) -> Lock:
    """For them, a lock is a new one."""
    assert shared is not None
    return shared.lock(f"lock {next(numbers)}", reentrant=reentrant)


class LockTests(lock_tests.LockTests):  # type: ignore[misc]
    """CPython's, unchanged, but for what is skipped here."""

    locktype = staticmethod(fresh_lock)

    @unittest.skip("the thread that has it asks again: that is a Deadlock here")
    def test_reacquire(self) -> None: ...

    @unittest.skip("and so it is with a timeout, as with asyncio's")
    def test_state_after_timeout(self) -> None: ...

    @unittest.skip("it calls a private method; what a fork does is tested below")
    def test_at_fork_reinit(self) -> None: ...


class RLockTests(lock_tests.RLockTests):  # type: ignore[misc]
    """The same, of locks that their owner may acquire again."""

    locktype = staticmethod(lambda: fresh_lock(reentrant=True))

    @unittest.skip("it calls a private method")
    def test__is_owned(self) -> None: ...

    @unittest.skip("it calls a private method")
    def test_recursion_count(self) -> None: ...

    @unittest.skip("it calls a private method")
    def test_release_save_unacquired(self) -> None: ...


class Counting:
    """A semaphore as threading has it, of as many permits as it is made with.

    Ours has its permits in its name, cluster-wide, and never more: release() of what was
    not acquired is an error, as it is with BoundedSemaphore.
    """

    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("semaphore initial value must be >= 0")
        assert shared is not None
        self._semaphore = shared.semaphore(f"semaphore {next(numbers)}", max(1, value))
        if value == 0:  # ours have at least one permit: it is taken, and may be given back
            self._semaphore.acquire()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if not blocking and timeout is not None:
            raise ValueError("can't specify timeout for non-blocking acquire")
        return self._semaphore.acquire(blocking, -1 if timeout is None else timeout)

    def release(self, n: int = 1) -> None:
        if n < 1:
            raise ValueError("n must be one or more")
        for _ in range(n):
            try:
                self._semaphore.release()
            except peerlock.NotHeld as error:
                raise ValueError("Semaphore released too many times") from error

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class SemaphoreTests(lock_tests.BoundedSemaphoreTests):  # type: ignore[misc]
    """CPython's for BoundedSemaphore, which contain those that all semaphores share."""

    semtype = Counting

    @unittest.skip("the name of the class is in it")
    def test_repr(self) -> None: ...


# One at a time


def test_threads_of_several_nodes_are_in_one_at_a_time(
    node: LockNode, other: LockNode
) -> None:
    inside, most, fences = 0, 0, []

    def work(node: LockNode) -> None:
        nonlocal inside, most
        lock = node.lock("x")
        for _ in range(20):
            with lock as grant:
                inside += 1
                most = max(most, inside)
                fences.append(grant.fence)
                time.sleep(0)
                inside -= 1

    threads = [Thread(lambda n=n: work(n)) for n in (node, other) * 8]  # type: ignore[misc]
    assert [thread.result() for thread in threads] == [None] * 16
    assert most == 1
    assert fences == sorted(set(fences))
    assert len(fences) == 320
    assert users(node, other) == 0


def test_a_thread_that_waits_gives_back_by_itself_what_it_has_released(
    node: LockNode, other: LockNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def next_one() -> int:
        with node.host.guard:
            (slot,) = node.host.node.locks["x"].slots
            slot.until = inf  # it is not late: a release alone keeps it for this process
            peer: Any = slot.peer
            return peer.next if peer else 0

    released = node.lock("x")
    with node.lock("y"):  # so that requesting it brings no message back
        pass
    with other.lock("y"):
        released.acquire()
        waiter = Thread(other.lock("x").acquire)
        until(lambda: bool(next_one()))
        with monkeypatch.context() as meanwhile:  # the node's thread does nothing for it
            meanwhile.setattr(node.host, "flush", lambda: None)
            released.release()
            late = Thread(lambda: node.lock("y").acquire(timeout=PATIENCE))
            until(lambda: not waiter.is_alive())
        node.driver.soon(node.host.flush)
    assert late.result() is True


def test_readers_and_permits(node: LockNode, other: LockNode) -> None:
    with node.lock("r", shared=True), other.lock("r", shared=True):
        assert not node.lock("r").acquire(blocking=False)
    with node.semaphore("s", 2), other.semaphore("s", 2):
        assert not node.semaphore("s", 2).acquire(blocking=False)
        assert not other.semaphore("s", 2).acquire(timeout=0.02)
    with node.lock("r"), node.semaphore("s", 2):
        pass


def test_timeouts(node: LockNode, other: LockNode) -> None:
    with node.lock("x"):
        assert other.lock("x").acquire(timeout=0.02) is False
        assert other.lock("x", timeout=0.02).acquire() is False
        assert other.lock("x", timeout=5).acquire(blocking=False) is False
        with pytest.raises(peerlock.Timeout, match=r"could not acquire 'x' within 0\.02 s"):
            with other.lock("x", timeout=0.02):
                pass
        assert users(node, other) == 1
    assert other.lock("x").acquire(timeout=5)


def test_without_time_to_wait_a_free_lock_is_had_wherever_its_home_is(
    node: LockNode, other: LockNode
) -> None:
    def had(lock: Lock, *how: Any) -> bool:
        taken = lock.acquire(*how)
        if taken:
            lock.release()
        return taken

    for number, either in enumerate((node, other)):
        for name in (f"{number} {i}" for i in range(10)):
            assert had(either.lock(f"a {name}"), True, 0)
            assert had(either.lock(f"b {name}", timeout=0))
            assert had(either.lock(f"c {name}", timeout=0), False)
            assert had(either.lock(f"d {name}", timeout=0.0), False)
            assert had(either.semaphore(f"e {name}", 2, timeout=0))
            with either.lock(f"f {name}", timeout=0):
                pass
    assert users(node, other) == 0


def test_without_time_to_wait_a_lock_that_is_taken_does_not_come_in_time(
    node: LockNode, other: LockNode
) -> None:
    with node.lock("x"):
        for either in (node, other):
            lock = either.lock("x", timeout=0)
            assert lock.acquire() is False
            assert lock.acquire(blocking=False) is False
            assert either.lock("x", timeout=60).acquire(timeout=0) is False
            with pytest.raises(peerlock.Timeout, match="could not acquire 'x' within 0 s"):
                with lock:
                    pass
        assert users(node, other) == 1


@pytest.mark.parametrize("timeout", [-1, -0.5, nan, -inf, "5", True, Decimal(5)])
def test_a_timeout_that_makes_no_sense_is_refused_when_the_lock_is_named(
    node: LockNode, timeout: Any
) -> None:
    with pytest.raises(UsageError, match=r"^a timeout must be 0 or more seconds"):
        node.lock("x", timeout=timeout)
    with pytest.raises(UsageError, match=r"^a timeout must be 0 or more seconds"):
        node.semaphore("s", 2, timeout=timeout)


@pytest.mark.parametrize("timeout", [inf, 1e20])
def test_a_timeout_without_end_is_none(
    node: LockNode, other: LockNode, timeout: float
) -> None:
    with node.lock("x"):
        waiting = Thread(other.lock("x", timeout=timeout).acquire)
        until(lambda: users(other) == 1)
    assert waiting.result() is True


def test_trying_while_the_members_change_comes_to_an_end(
    cluster: str, node: LockNode, other: LockNode
) -> None:
    with node.lock("x"):
        for _ in range(5):
            trying = Thread(lambda: other.lock("x").acquire(blocking=False))
            with peerlock.sync.join(cluster):
                assert trying.result() is False


def test_of_many_who_try_exactly_one_gets_it(node: LockNode, other: LockNode) -> None:
    for turn in range(10):
        locks = [n.lock(f"x{turn}") for n in (node, other) * 4]
        threads = [
            Thread(lambda lock=lock: lock.acquire(blocking=False))  # type: ignore[misc]
            for lock in locks
        ]
        assert sum(thread.result() for thread in threads) == 1
        [held] = [lock for lock in locks if lock.locked()]
        held.release()


def test_arguments_are_threading_locks(node: LockNode) -> None:
    lock = node.lock("x")
    with pytest.raises(ValueError, match="can't specify a timeout for a non-blocking"):
        lock.acquire(False, 1)
    with pytest.raises(ValueError, match="non-negative"):
        lock.acquire(timeout=-5)
    with pytest.raises(ValueError, match="non-negative"):
        lock.acquire(timeout=nan)
    for no_number in ("5", None):
        with pytest.raises(TypeError):
            lock.acquire(timeout=no_number)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        lock.acquire(timeout=1e100)
    assert repr(lock).startswith("<unlocked peerlock.sync.Lock object 'x' at 0x")
    assert lock.acquire()
    assert repr(lock).startswith("<locked ")
    lock.release()
    assert users(node) == 0


class Text(str):
    """As numpy, markupsafe and enumerations have it."""


@pytest.mark.parametrize("flag", [1, 0, None, "no", ""])
def test_reentrant_is_a_bool(cluster: str, flag: Any) -> None:
    with peerlock.sync.join(cluster) as node:
        with pytest.raises(UsageError, match=r"^reentrant must be True or False, got "):
            node.lock("x", reentrant=flag)


NEARLY_RIGHT: dict[str, Callable[[Any], Lock]] = {
    "a name": lambda node: node.lock(Text("odd"), timeout=PATIENCE),
    "an algorithm": lambda node: node.lock(
        "odd", algorithm=Text("raymond"), timeout=PATIENCE
    ),
    "shared": lambda node: node.lock("odd", shared=1, timeout=PATIENCE),
}


@pytest.mark.parametrize("what", NEARLY_RIGHT)
def test_what_is_nearly_right_is_made_right_and_harms_nobody(
    node: LockNode, other: LockNode, what: str
) -> None:
    for either in (node, other):
        with NEARLY_RIGHT[what](either) as grant:
            assert type(grant.name) is str
    for either in (node, other):
        for i in range(4):
            with either.lock(f"another's {i}", timeout=PATIENCE):
                pass


def test_what_makes_no_sense_is_refused_when_it_is_named(node: LockNode) -> None:
    anything: Any = node
    attempts: list[Callable[[], Any]] = [
        lambda: anything.lock(5),
        lambda: anything.lock("x", shared=None),
        lambda: anything.lock("x", algorithm=5),
        lambda: anything.semaphore("x", True),
        lambda: anything.semaphore("x", 0),
    ]
    for attempt in attempts:
        with pytest.raises(UsageError):
            attempt()


# Releasing


def test_what_is_not_held_cannot_be_released(node: LockNode) -> None:
    lock = node.lock("x")
    with pytest.raises(RuntimeError):
        lock.release()
    with lock as grant:
        pass
    with pytest.raises(peerlock.NotHeld):
        grant.release()
    with pytest.raises(peerlock.NotHeld):
        with lock as grant:
            grant.release()
    with pytest.raises(ZeroDivisionError):
        with lock:
            lock.release()
            raise ZeroDivisionError


def test_another_thread_may_release(node: LockNode) -> None:
    lock = node.lock("x")
    lock.acquire()
    assert Thread(lock.release).result() is None
    assert not lock.locked()
    assert isinstance(Thread(lock.release).result(), peerlock.NotHeld)


def test_of_threads_that_share_a_handle_each_releases_his_own(node: LockNode) -> None:
    """A thread that is still in must hear of the loss of its lock."""
    semaphore, first_is_in, second_is_in = (
        node.semaphore("s", 2),
        threading.Event(),
        threading.Event(),
    )
    grants: list[Grant] = []

    def first() -> None:
        with semaphore as grant:
            grants.append(grant)
            first_is_in.set()
            second_is_in.wait(PATIENCE)

    thread = Thread(first)
    first_is_in.wait(PATIENCE)
    with semaphore as mine:
        second_is_in.set()
        assert thread.result() is None
        assert grants[0]._user.state.value == "released"
        assert mine._user.state.value == "holding"


# Loss


def enter(lock: Lock) -> None:
    with lock:
        raise AssertionError("the body runs although the lock is lost")


@pytest.mark.parametrize("how", [enter, Lock.acquire])
def test_lost_before_the_waiter_woke_up_is_lost(
    node: LockNode, how: Callable[[Lock], Any]
) -> None:
    lock = node.lock("x")
    lock.acquire()
    waiting = Thread(lambda: how(node.lock("x")))
    until(lambda: users(node) == 2)
    with node.host.guard:
        lock.release()
        node.host.node.lose_everything()  # as at the end of its lease
    node.driver.soon(node.host._mind_loss)
    error = waiting.result()
    assert isinstance(error, peerlock.Lost)
    assert str(error) == "'x' was lost as soon as it was granted"
    with node.lock("x", timeout=PATIENCE):
        pass


def test_loss_sets_an_event_and_is_told_at_the_end(
    cluster: str, node: LockNode, other: LockNode
) -> None:
    with pytest.raises(peerlock.Lost, match="'x' was lost while it was held"):
        with node.lock("x") as grant:
            lost = grant.lost
            assert not lost.is_set()
            put_out(cluster, node)
            assert lost.wait(PATIENCE)
            assert grant.is_lost
            with other.lock("x", timeout=PATIENCE) as theirs:
                assert theirs.fence > grant.fence
    with pytest.raises(ZeroDivisionError):
        with node.lock("x", timeout=PATIENCE) as grant:
            put_out(cluster, node)
            assert grant.lost.wait(PATIENCE)
            raise ZeroDivisionError
    with node.lock("x", timeout=PATIENCE) as grant:
        assert not grant.lost.is_set()


def test_who_loses_it_before_it_hears_of_the_grant_does_not_go_in(cluster: str) -> None:
    with peerlock.sync.join(cluster, hand_over_time=PATIENCE) as node:
        pure, grant = node.host.node, node.lock("x").__enter__()
        waiting = Thread(node.lock("x").acquire)
        until(lambda: users(node) == 2)
        with node.host.guard:
            pure.release(grant._user)
            pure.lose_everything()
        assert isinstance(waiting.result(), peerlock.Lost)


@pytest.mark.parametrize("permits", [0, 2])
def test_a_release_after_the_end_of_the_lease_is_told_so(
    node: LockNode, permits: int
) -> None:
    """Though nobody has noticed that end."""
    lock = node.semaphore("x", permits) if permits else node.lock("x")
    lock.acquire()
    with node.host.guard:
        node.host.node.renewed(node.host.node.clock())
        with pytest.raises(peerlock.Lost):
            lock.release()


# Coming and going


def test_a_node_that_has_left_says_so(cluster: str) -> None:
    node = peerlock.sync.join(cluster)
    lock, grant_of = node.lock("x"), node.lock("held")
    grant = grant_of.__enter__()
    waiting = Thread(node.lock("held").acquire)
    until(lambda: users(node) == 2)
    leaving = [Thread(node.leave) for _ in range(3)]
    assert [thread.result() for thread in leaving] == [None] * 3
    told = waiting.result()
    assert isinstance(told, peerlock.ClusterError)
    assert grant.is_lost
    for ask in (lock.acquire, lock.__enter__, lambda: lock.acquire(blocking=False)):
        with pytest.raises(peerlock.ClusterError, match="has left the cluster"):
            ask()
    with pytest.raises(peerlock.Lost):
        grant.release()
    node.leave()


def test_threads_that_ask_while_the_node_leaves_are_all_told(cluster: str) -> None:
    for _ in range(5):
        node = peerlock.sync.join(cluster)
        started = threading.Barrier(9)

        def work(node: LockNode = node, started: threading.Barrier = started) -> None:
            started.wait()
            while True:
                with node.lock("x"):
                    pass

        threads = [Thread(work) for _ in range(8)]
        started.wait()
        node.leave()
        for thread in threads:
            assert isinstance(thread.result(), peerlock.ClusterError | peerlock.Lost)


class CtrlC:
    """It is pressed until it is noticed: Python does not notice a signal that comes just
    before the main thread begins to wait, as long as it waits."""

    def __init__(self) -> None:
        self._main = threading.get_ident()
        self._noticed = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._came)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def press(self) -> None:
        """In another thread."""
        while not self._noticed:
            signal.pthread_kill(self._main, signal.SIGINT)
            time.sleep(0.02)

    def _came(self, *_: object) -> None:
        if not self._noticed:
            self._noticed = True
            raise KeyboardInterrupt


def test_ctrl_c_while_waiting_leaves_nothing_behind(
    node: LockNode, other: LockNode
) -> None:
    with node.lock("x"):
        for ask in (other.lock("x").acquire, other.lock("x").__enter__):
            with CtrlC() as ctrl_c:

                def interrupt(ctrl_c: CtrlC = ctrl_c) -> None:
                    until(lambda: users(other) == 1)
                    ctrl_c.press()

                thread = Thread(interrupt)
                with pytest.raises(KeyboardInterrupt):
                    ask()
                assert thread.result() is None
            assert users(node, other) == 1
    with other.lock("x", timeout=PATIENCE):
        pass


@pytest.mark.parametrize("when", ["at its beginning", "at its end"])
def test_ctrl_c_while_joining_leaves_no_member_behind(
    cluster: str, node: LockNode, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    threads, start, ctrl_c = threading.active_count(), Host.start, CtrlC()

    async def interrupted(host: Host) -> None:
        if when == "at its end":
            await start(host)
        ctrl_c.press()
        if when == "at its beginning":
            await start(host)
        await asyncio.Event().wait()

    monkeypatch.setattr(Host, "start", interrupted)
    with ctrl_c, pytest.raises(KeyboardInterrupt):
        peerlock.sync.join(cluster)
    engine = engine_for(cluster, None)
    until(lambda: len(asyncio.run(engine.read()).members) == 1)  # the dead are put out
    engine.close()
    until(lambda: threading.active_count() <= threads)


def test_ctrl_c_in_the_middle_of_anything(node: LockNode, other: LockNode) -> None:
    """At any time: two are never inside, and afterwards both can have the lock."""
    with node.lock("x"):  # Python does not close files if its import is interrupted
        pass
    inside, over = "", False

    def rival() -> None:
        nonlocal inside
        while not over:
            with other.lock("x"):
                inside = "other"
                time.sleep(0.0005)
                assert inside == "other"

    thread = Thread(rival)
    when = random.Random(1).uniform
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(500):
            lock = node.lock("x")
            try:
                signal.setitimer(signal.ITIMER_REAL, when(0.0005, 0.004))
                while True:
                    with lock:
                        inside = "node"
                        assert inside == "node"
            except KeyboardInterrupt:
                pass
            # Python may raise it when the body is done and __exit__ has not begun.
            if lock.locked():
                lock.release()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    over = True
    assert thread.result() is None
    for either in (node, other, node):
        with either.lock("x", timeout=PATIENCE):
            pass
    assert users(node, other) == 0


def test_a_program_that_forgets_to_leave_ends_and_is_out(
    cluster: str, node: LockNode
) -> None:
    text = (
        "import sys, peerlock\n"
        f"node = peerlock.sync.join({cluster!r})\n"
        "node.lock('x').acquire()\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, b"")
    with node.lock("x", timeout=PATIENCE):
        pass


# Forks

FORK = multiprocessing.get_context("fork")
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*use of fork.. may lead:DeprecationWarning"
)


def in_a_child(work: Callable[[], str]) -> str:
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(writing, work().encode())
        except BaseException as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


def test_a_child_is_told_that_the_node_is_not_its_own(
    cluster: str, node: LockNode, other: LockNode
) -> None:
    held, free = node.lock("held"), node.lock("free")
    with free:
        pass
    grant = held.__enter__()

    def child() -> str:
        said = []
        attempts: list[Callable[[], object]] = [free.acquire, free.__enter__, held.acquire]
        attempts += [lambda: free.acquire(blocking=False), grant.release, node.leave]
        for attempt in attempts:
            try:
                attempt()
            except peerlock.NotOurs as error:
                said.append(str(error))
        with peerlock.sync.join(cluster) as mine, mine.lock("free", timeout=PATIENCE):
            said.append("in")
            if not mine.lock("held").acquire(blocking=False):
                said.append("held")
        return "|".join(said)

    told = "this node belongs to the process that was forked; join in this one"
    assert in_a_child(child).split("|") == [told] * 6 + ["in", "held"]
    assert not grant.is_lost
    assert not other.lock("held").acquire(blocking=False)
    held.release()
    for each in (node, other):
        with each.lock("held", timeout=PATIENCE), each.lock("free", timeout=PATIENCE):
            pass
    assert node.statistics().lost == 0


def test_forks_while_other_threads_are_busy(node: LockNode) -> None:
    stop = threading.Event()

    def work() -> int:
        lock, rounds = node.lock("x"), 0
        while not stop.is_set():
            with lock:
                rounds += 1
        return rounds

    def child() -> str:
        try:
            node.lock("x").acquire()
        except peerlock.NotOurs:
            return "told"
        return "not told"

    threads = [Thread(work) for _ in range(3)]
    said = [in_a_child(child) for _ in range(20)]
    stop.set()
    assert said == ["told"] * 20
    assert all(thread.result() > 0 for thread in threads)


FORKING = """
import os, sys, time
import peerlock

node = peerlock.sync.join(sys.argv[1])
node.lock("x").acquire()
if not os.fork():
    print("child", os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
time.sleep(600)
"""


def test_a_child_does_not_keep_its_killed_parent_in(cluster: str, node: LockNode) -> None:
    """Nor does it hide its death: this is not left to the look once a second."""
    took = []
    for _ in range(3):
        parent = subprocess.Popen(
            [sys.executable, "-c", FORKING, cluster],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert parent.stdout and parent.stdin
        child = int(parent.stdout.readline().split()[1])
        waiting = Thread(node.lock("x").__enter__)
        until(lambda: users(node) == 1)
        killed = time.monotonic()
        parent.kill()
        grant = waiting.result()
        took.append(time.monotonic() - killed)
        os.kill(child, 0)  # it lives
        grant.release()
        parent.stdin.close()
        parent.wait()
        parent.stdout.close()
    assert min(took) < 0.5, took


def test_processes_made_by_fork_join_for_themselves(cluster: str, node: LockNode) -> None:
    with node.lock("x"):
        pool = [FORK.Process(target=_count, args=(cluster, 20)) for _ in range(3)]
        for process in pool:
            process.start()
    for process in pool:
        process.join(PATIENCE)
        assert process.exitcode == 0


def _count(cluster: str, rounds: int) -> None:
    with peerlock.sync.join(cluster) as node:
        for _ in range(rounds):
            with node.lock("x", timeout=PATIENCE):
                pass


def test_the_socket_goes_with_the_node(short_path: Path, cluster: str) -> None:
    with peerlock.sync.join(cluster) as node:
        address = Path(node.host.address)
        assert address.is_socket()
    assert not address.exists()
    assert os.listdir(f"{short_path}/c.db.members") == []


def test_a_repr_says_what_it_is() -> None:
    with peerlock.sync.join("memory://reprs") as node:
        semaphore = node.semaphore("s", 2)
        assert repr(semaphore).startswith("<unlocked peerlock.sync semaphore object 's' at")
        assert re.fullmatch(r"<peerlock node, member [1-9]\d*>", repr(node))
    assert repr(node) == "<peerlock node, not in a cluster>"


def test_a_block_that_has_released_its_lock_releases_no_other_threads(cluster: str) -> None:
    with peerlock.sync.join(cluster) as node:
        lock, entered, end = node.lock("x"), threading.Event(), threading.Event()

        def second() -> None:
            with lock:
                entered.set()
                end.wait()

        thread = threading.Thread(target=second)
        with pytest.raises(peerlock.NotHeld), lock as grant:
            grant.release()
            thread.start()
            entered.wait()
        assert lock.locked()
        end.set()
        thread.join()
        assert not lock.locked()
        with lock:
            assert lock.locked()


def test_a_block_whose_lock_is_released_and_acquired_again_leaves_nothing(
    node: LockNode,
) -> None:
    lock = node.lock("x")
    for _ in range(3):
        with lock as grant:
            grant.release()
            assert lock.acquire()
        assert not lock._left and not lock.locked()


def test_a_forked_child_may_end_inside_the_block(cluster: str) -> None:
    """The node is its parent's, and so is the end of the block."""
    program = f"""
import os, sys, peerlock
with peerlock.sync.join({cluster!r}) as node:
    if (pid := os.fork()) == 0:
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    with node.lock("x"):
        print("the parent goes on")
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("the parent goes on\n", "")


def test_a_node_that_leaves_when_it_is_about_to_join_again_is_gone(
    cluster: str, node: LockNode
) -> None:
    """As after Ctrl-C in the middle of a step, at the end of a program."""

    def step() -> None:
        raise KeyboardInterrupt

    for _ in range(5):
        other = peerlock.sync.join(cluster)
        with pytest.raises(KeyboardInterrupt):
            other.host.step(step)
        other.leave()
        assert len(node.status().members) == 1


@pytest.mark.parametrize(
    "knobs",
    [
        {"hand_overs": 10**10},
        {"hand_overs": 10**5000},
        {"hand_over_time": 1e308},
        {"hand_over_time": 10**400},
        {"hand_over_time": nan},
    ],
)
def test_settings_that_cannot_be_meant_are_refused(knobs: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"^hand_over(s|_time) must be "):
        peerlock.sync.join("memory://settings", **knobs)


def test_before_a_turn_that_requests_what_has_come_is_heard(
    node: LockNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others have waited for longer.  A turn that only lets go need not look."""
    host, done = node.host, []
    reading = host.reading
    assert reading is not None
    monkeypatch.setattr(reading, "hear_all", lambda: done.append("hear"))
    monkeypatch.setattr(host.node, "turn", lambda: done.append("turn"))

    async def turn() -> None:
        host.turn_is_due = True
        host.turn()

    node.driver.do(turn()).result()
    assert done == ["hear", "turn"]
    monkeypatch.setattr(type(host.node), "may_let_go", True)
    node.driver.do(turn()).result()
    assert done == ["hear", "turn", "turn"]
