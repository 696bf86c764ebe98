"""Signal handlers that use a node for threads; threads that would wait for themselves."""

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import pytest

import peerlock
from peerlock.api.signals import Loss
from peerlock.api.threads import LockNode
from peerlock.runtime.connection import Connection
from tests.support.threads import PATIENCE, Thread, until, users

Install = Callable[[Callable[[], Any]], None]


@pytest.fixture
def on_signal() -> Iterator[Install]:
    """What SIGUSR1 does, in the main thread."""
    before = signal.getsignal(signal.SIGUSR1)

    def install(work: Callable[[], Any]) -> None:
        signal.signal(signal.SIGUSR1, lambda *_: work())

    yield install
    signal.signal(signal.SIGUSR1, before)


def in_a_step(node: LockNode) -> None:
    """The signal comes in the middle of one."""
    node.host.step(signal.raise_signal, signal.SIGUSR1)


def test_what_a_handler_can_do_in_the_middle_of_a_step(
    cluster: str, node: LockNode, other: LockNode, on_signal: Install
) -> None:
    """Whatever looks works, whatever acts is refused, and nothing has changed."""
    held, free, gone = node.lock("held"), node.lock("free"), other.lock("gone")
    permits = node.semaphore("permits", 2)
    with free, gone, other.lock("here"):
        pass
    grant = held.__enter__()
    looks: list[Callable[[], Any]] = [
        lambda: grant.is_lost,
        lambda: grant.lost.is_set(),
        lambda: grant.lost.wait(0.001),
        lambda: free.locked(),
        lambda: not held.locked(),
        lambda: not repr(held) + repr(grant) + grant.name,
        lambda: not grant.fence,
        lambda: not node.statistics().grants,
        lambda: not node.lock("another", shared=True) or not node.semaphore("more", 3),
    ]
    acts: list[Callable[[], Any]] = [
        free.acquire,
        free.__enter__,
        lambda: free.acquire(blocking=False),
        lambda: free.acquire(timeout=1),
        lambda: node.lock("never used").acquire(),
        lambda: node.lock("x", shared=True).__enter__(),
        permits.acquire,
        held.acquire,
        held.release,
        lambda: held.__exit__(None, None, None),
        grant.release,
        node.leave,
        other.leave,
        lambda: other.lock("held").acquire(),
        gone.release,  # is not held; the interrupted step must not take that for its own
        lambda: peerlock.sync.join(cluster),
    ]
    said: list[Any] = []

    def handler() -> None:
        said.extend(look() for look in looks)
        for act in acts:
            with pytest.raises(peerlock.Deadlock, match="after the handler") as refused:
                act()
            said.append("\n" in str(refused.value))

    on_signal(handler)
    in_a_step(node)
    assert said == [False] * (len(looks) + len(acts))
    assert not grant.is_lost
    assert users(node, other) == 1
    held.release()
    for either in (node, other):
        with either.lock("held", timeout=PATIENCE), either.lock("free", timeout=PATIENCE):
            pass
    assert node.statistics().lost == 0


def test_a_handler_that_lets_the_refusal_out_ends_the_step_as_ctrl_c_does(
    node: LockNode, on_signal: Install
) -> None:
    grant = node.lock("x").__enter__()
    on_signal(node.lock("y").acquire)
    with pytest.raises(peerlock.Deadlock):
        in_a_step(node)
    assert grant.is_lost
    with node.lock("x", timeout=PATIENCE):
        pass


def test_a_handler_finds_that_the_lease_is_over(node: LockNode, on_signal: Install) -> None:
    """And so it stays, though in the middle of the step nothing could be done about it."""
    pure, said = node.host.node, []
    lock = node.lock("x")
    grant = lock.__enter__()
    lost = grant.lost
    on_signal(lambda: said.append((grant.is_lost, grant.lost.is_set())))

    def step() -> None:
        pure.renewed(pure.clock())
        signal.raise_signal(signal.SIGUSR1)
        assert grant._user.state is grant._user.state.HOLDING

    node.host.step(step)
    assert said == [(True, True)]
    assert grant.is_lost
    assert lost.is_set()
    with pytest.raises(peerlock.Lost):
        lock.release()


def test_handlers_at_any_time(node: LockNode, other: LockNode) -> None:
    """Neither they nor whom they interrupt hang, and one at a time are inside."""
    inside, over, refused = "", False, 0
    lock, mine = node.lock("x"), node.lock("mine")
    grant = node.lock("kept").__enter__()

    def rival() -> None:
        nonlocal inside
        while not over:
            with other.lock("x"):
                inside = "other"
                time.sleep(0.0005)
                assert inside == "other"

    def handler(*_: object) -> None:
        nonlocal refused
        assert not grant.is_lost and not grant.lost.wait(0)
        repr(lock), node.statistics(), lock.locked()
        try:
            if mine.acquire(blocking=False):
                mine.release()
        except peerlock.Deadlock:
            refused += 1

    thread, rounds = Thread(rival), 0
    when = random.Random(1).uniform
    before = signal.signal(signal.SIGALRM, handler)
    try:
        ends = time.monotonic() + 1.5
        while time.monotonic() < ends:
            signal.setitimer(signal.ITIMER_REAL, when(0.0002, 0.002))
            for _ in range(20):
                with lock:
                    inside = "node"
                    rounds += 1
                    assert inside == "node"
                assert not grant.lost.wait(0.00001)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        over = True
    assert thread.result() is None
    assert rounds
    grant.release()
    assert users(node, other) == 0
    assert node.statistics().lost == 0


def test_a_handler_in_the_middle_of_what_its_thread_has_read(
    node: LockNode, other: LockNode, on_signal: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node's thread has to wait for that."""
    said: list[Any] = []
    resting = node.lock("resting")
    with resting:
        pass

    def handler() -> None:
        for act in (resting.acquire, resting.__enter__, node.lock("y").acquire):
            with pytest.raises(peerlock.Deadlock):
                act()
        said.append(resting.locked())

    def hear(self: Connection, nbytes: int) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and self._listener is node.host and not said:
            signal.raise_signal(signal.SIGUSR1)
        honest(self, nbytes)

    honest = Connection._hear
    on_signal(handler)
    monkeypatch.setattr(Connection, "_hear", hear)
    held = other.lock("x")

    def rival() -> None:
        with held:
            until(lambda: users(node) == 1)

    for _ in range(100):  # the node's thread may be quicker
        thread = Thread(rival)
        until(held.locked)
        with node.lock("x", timeout=PATIENCE):
            assert thread.result() is None
        if said:
            break
    assert said == [False]
    with resting, node.lock("y", timeout=PATIENCE):
        pass
    assert node.statistics().faults == 0


def waited_for(node: LockNode, name: str) -> bool:
    with node.host.guard:
        peer = node.host.node.locks[name].slots[0].peer
        return peer is not None and peer.others_may_wait


def test_a_handler_while_its_thread_sends(
    node: LockNode, other: LockNode, on_signal: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node's thread has to wait for that."""
    said: list[Any] = []
    mine, theirs = node.lock("mine"), node.lock("theirs")
    for lock in (mine, theirs, node.lock("x"), other.lock("x")):
        with lock:
            pass
    theirs.acquire()
    acts: list[Callable[[], Any]] = [
        node.lock("x").acquire,
        lambda: node.lock("x").acquire(blocking=False),
        lambda: node.lock("x").acquire(timeout=0.01),
        node.lock("never used").__enter__,
        mine.__enter__,
        mine.acquire,
        theirs.release,
    ]

    def handler() -> None:
        for act in acts:
            with pytest.raises(peerlock.Deadlock):
                act()
        said.append(theirs.locked())

    def send_at_once() -> bool:
        monkeypatch.undo()
        signal.raise_signal(signal.SIGUSR1)
        return node.host.send_at_once()

    rival = Thread(other.lock("theirs").acquire)  # so that its release is sent
    until(lambda: waited_for(node, "theirs"))
    on_signal(handler)
    monkeypatch.setattr(node.host, "send_at_once", send_at_once)
    with node.lock("x"):
        assert said == [True]
    theirs.release()
    assert rival.result() is True
    assert node.statistics().faults == 0


def test_a_handler_asks_for_what_its_thread_waits_for(
    node: LockNode, other: LockNode, on_signal: Install
) -> None:
    main, said = threading.get_ident(), []
    held = other.lock("x")
    held.acquire()
    lock, permits = node.lock("x"), node.semaphore("one", 1)

    def handler() -> None:
        if node.host.is_interrupted:
            return  # it comes again
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        for timeout in (-1, PATIENCE):
            with pytest.raises(peerlock.Deadlock, match="already holds or waits for 'x'"):
                lock.acquire(timeout=timeout)
        said.append(lock.acquire(blocking=False))
        with permits, pytest.raises(peerlock.Deadlock, match="all permits"):
            permits.__enter__()

    on_signal(handler)

    def resent() -> bool:
        signal.pthread_kill(main, signal.SIGUSR1)
        return bool(said)

    def interrupt() -> None:
        """Again and again: Python may see a signal late that comes just before it waits."""
        until(lambda: users(node) == 1)
        try:
            until(resent)
        finally:
            held.release()

    thread = Thread(interrupt)
    with lock:
        assert said == [False]
    assert thread.result() is None


def test_a_handler_leaves_while_its_thread_leaves(
    cluster: str, monkeypatch: pytest.MonkeyPatch, on_signal: Install
) -> None:
    node, said = peerlock.sync.join(cluster), []
    end = node.driver.end

    def interrupted() -> Any:
        signal.raise_signal(signal.SIGUSR1)
        return end()

    def handler() -> None:
        with pytest.raises(peerlock.Deadlock, match="after the handler"):
            node.leave()
        said.append("refused")

    on_signal(handler)
    monkeypatch.setattr(node.driver, "end", interrupted)
    node.leave()
    assert said == ["refused"]
    assert not node.driver.loop.is_running()
    node.leave()


# Waiting for a loss


def test_a_loss_wakes_all_who_wait_for_it() -> None:
    loss = Loss()
    assert not loss.wait(0)
    assert not loss.wait(0.001)
    threads = [Thread(loss.wait), Thread(lambda: loss.wait(inf)), Thread(loss.wait)]
    setters = [Thread(loss.set) for _ in range(3)]
    assert [t.result() for t in threads + setters] == [True] * 3 + [None] * 3
    assert loss.is_set()
    assert loss.wait()
    loss.clear()
    assert loss.is_set()


def test_ctrl_c_while_one_waits_for_a_loss_leaves_the_others_waiting() -> None:
    loss, main = Loss(), threading.get_ident()
    other = Thread(loss.wait)

    def interrupt() -> None:
        time.sleep(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    thread = Thread(interrupt)
    with pytest.raises(KeyboardInterrupt):
        loss.wait(PATIENCE)
    assert thread.result() is None
    assert other.is_alive()
    loss.set()
    assert other.result() is True


# Waiting for oneself


def test_a_thread_does_not_wait_for_itself(node: LockNode) -> None:
    lock, same = node.lock("x"), node.lock("x", timeout=PATIENCE)
    with lock as grant:
        for ask in (lock.acquire, lock.__enter__, same.__enter__, same.acquire):
            with pytest.raises(peerlock.Deadlock, match="this thread already holds"):
                ask()
        assert lock.acquire(blocking=False) is False
        assert Thread(lambda: same.acquire(timeout=0.01)).result() is False
        assert not grant.is_lost
    lock.acquire()
    with pytest.raises(peerlock.Deadlock):
        same.acquire(timeout=5)
    lock.release()
    assert users(node) == 0


def test_permits_that_a_thread_has_by_with(node: LockNode) -> None:
    permits = node.semaphore("x", 2)
    with permits, permits, pytest.raises(peerlock.Deadlock, match="all permits"):
        permits.acquire()

    def give_back() -> None:
        until(lambda: users(node) == 3)
        permits.release()

    with permits:
        permits.acquire()  # another thread may give this one back
        thread = Thread(give_back)
        assert permits.acquire(timeout=PATIENCE)
        assert thread.result() is None
        permits.release()


def test_a_thread_is_not_taken_for_one_that_has_ended(node: LockNode) -> None:
    """They may have the same number."""
    lock = node.lock("x")
    for _ in range(5):
        assert Thread(lock.acquire).result() is True
        assert Thread(lambda: lock.acquire(timeout=0.001)).result() is False
        lock.release()
