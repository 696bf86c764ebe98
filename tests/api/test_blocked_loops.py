"""An event loop that is blocked: nobody waits for it, and it loses what it holds."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from math import inf
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
from bench.blocked_loop import Case, measure

import peerlock
from peerlock.api.beat import Beat
from peerlock.api.driver import BesideLoop
from peerlock.api.grants import BaseUser
from peerlock.api.tasks import Grant, LockNode
from peerlock.membership import clock
from peerlock.node import turnstile
from peerlock.node.presence import margin
from peerlock.node.terms import demand
from peerlock.node.waiters import State
from peerlock.node.wire import Probe
from peerlock.runtime import lending
from peerlock.runtime.lending import PATROL
from tests.support.loops import on_each_loop, until
from tests.support.presences import Alone
from tests.support.threads import PATIENCE, Thread

LEASE = 0.5

# Each has another way to let others in; a turn, or an answer, or both.
ALGORITHMS = [None, "ricart-agrawala", "sanders", "raymond", "suzuki-kasami"]


class Other:
    """A program's other event loop, in a thread, that is blocked when it says so."""

    def __init__(
        self, cluster: str, body: Callable[..., Awaitable[Any]], **knobs: Any
    ) -> None:
        self.blocked, self.goes_on = threading.Event(), threading.Event()
        self.grant: Grant | None = None
        self.node: LockNode | None = None
        self._body = body
        self._thread = Thread(lambda: asyncio.run(self._main(cluster, knobs)))

    async def _main(self, cluster: str, knobs: dict[str, Any]) -> Any:
        async with peerlock.join(cluster, **knobs) as self.node:
            return await self._body(self)

    def block(self) -> None:
        self.blocked.set()
        assert self.goes_on.wait(PATIENCE)

    async def until_blocked(self) -> None:
        assert await asyncio.to_thread(self.blocked.wait, PATIENCE)

    async def result(self) -> Any:
        self.goes_on.set()
        return await asyncio.to_thread(self._thread.result)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@on_each_loop
async def test_nobody_waits_for_a_loop_that_is_blocked(
    cluster: str, algorithm: str | None
) -> None:
    """Not even when it is blocked before it could take a turn after its release."""

    async def use(other: Other) -> None:
        assert other.node is not None
        for _ in range(2):
            async with other.node.lock("x", algorithm=algorithm):
                pass
        other.block()

    async with peerlock.join(cluster) as node:
        async with node.lock("x", algorithm=algorithm):
            pass
        other = Other(cluster, use)
        await other.until_blocked()
        began = time.monotonic()
        async with node.lock("x", timeout=PATIENCE, algorithm=algorithm):
            assert time.monotonic() - began < 0.5
        assert await other.result() is None


@on_each_loop
async def test_nobody_waits_for_a_loop_that_reads_by_itself_and_is_blocked(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has read what members sent often, and is blocked before it reads the next."""
    monkeypatch.setattr(lending, "OFTEN", PATIENCE)
    monkeypatch.setattr(lending, "QUIET", inf)

    async def use(other: Other) -> None:
        assert other.node is not None
        while not is_reading(other.node):
            async with other.node.lock("x"):
                await asyncio.sleep(0)
        other.block()

    async with peerlock.join(cluster) as node:
        other = Other(cluster, use)
        while not other.blocked.is_set():
            async with node.lock("x", timeout=PATIENCE):
                await asyncio.sleep(0)
        for _ in range(3):
            began = time.monotonic()
            async with node.lock("x", timeout=PATIENCE):
                assert time.monotonic() - began < 0.5
        assert await other.result() is None


def is_reading(node: LockNode) -> bool:
    """Whether the loop of the tasks has taken it upon itself."""
    assert node.host.lending is not None
    return any(loan.descriptor >= 0 for loan in [*node.host.lending._loans.values()])


def test_nobody_waits_for_a_process_whose_loop_is_blocked() -> None:
    assert measure(Case(seconds=PATIENCE)) < 0.5


@pytest.mark.parametrize("often", [False, True])
def test_nobody_waits_for_a_process_whose_coroutine_computes(often: bool) -> None:
    """It computes in Python for 4 s, and its node's thread runs beside that: the wait is
    far shorter than the computation, also if the computing loop had read frequent messages
    itself.  Usually it is some milliseconds, or tens of them; the bound and the median
    leave room for a busy machine.
    """
    computes = Case(computes=True, often=often, seconds=4.0)
    assert median(measure(computes) for _ in range(3)) < 0.5


@on_each_loop
async def test_a_loop_that_is_blocked_for_a_lease_loses_what_it_holds_in_time(
    cluster: str,
) -> None:
    """Its grant says so a margin before another is let in, and its task is told."""
    told: list[float] = []

    async def hold(other: Other) -> str:
        assert other.node is not None
        try:
            async with other.node.lock("x") as other.grant:
                lost = other.grant.lost
                on_lost = other.grant._user.on_lost

                def on_loss() -> None:
                    told.append(time.monotonic())
                    on_lost()

                other.grant._user.on_lost = on_loss  # type: ignore[method-assign]
                other.block()
                assert other.grant.is_lost
                assert await lost
        except peerlock.Lost as error:
            async with other.node.lock("x", timeout=PATIENCE):
                return str(error)
        return "not told"

    async with peerlock.join(cluster, lease=LEASE) as node, node.lock("y") as mine:
        other = Other(cluster, hold, lease=LEASE)
        await other.until_blocked()
        assert not told
        async with node.lock("x", timeout=PATIENCE) as grant:
            assert time.monotonic() - told[0] > 0.9 * margin(LEASE)
            assert other.grant is not None and other.grant.is_lost  # read in another thread
            assert other.grant._user.state is State.LOST
            assert grant.fence > other.grant.fence
            assert not mine.is_lost  # of another loop of this program
        assert await other.result() == "'x' was lost while it was held"
        assert len(told) == 1


@on_each_loop
async def test_on_loss_of_a_blocked_loop_the_body_is_cancelled(cluster: str) -> None:
    async def hold(other: Other) -> str:
        assert other.node is not None
        try:
            async with other.node.lock("x", cancel_on_loss=True):
                other.block()
                await asyncio.sleep(PATIENCE)
        except peerlock.Lost as error:
            return str(error)
        return "not told"

    async with peerlock.join(cluster) as node:
        other = Other(cluster, hold, lease=LEASE)
        await other.until_blocked()
        async with node.lock("x", timeout=PATIENCE):
            pass
        assert await other.result() == "'x' was lost, and the body was cancelled"


@on_each_loop
async def test_tasks_of_a_blocked_loop_wait_again_when_it_goes_on(cluster: str) -> None:
    """Until then the lock is not theirs: nobody would give it back."""

    async def wait(other: Other) -> int:
        assert other.node is not None
        waiting = [asyncio.ensure_future(other.node.lock("x").acquire()) for _ in range(3)]
        await until(lambda: holders_and_waiters(other.node) == (0, 3))
        waiting[0].cancel()
        other.block()
        fences = []
        for task in waiting[1:]:
            grant = await task
            fences.append(grant.fence)
            grant.release()
        assert fences == sorted(fences)
        return len(fences)

    async with peerlock.join(cluster) as node:
        grant = await node.lock("x").acquire()
        other = Other(cluster, wait, lease=LEASE)
        await other.until_blocked()
        await until(lambda: holders_and_waiters(other.node) == (0, 0))
        grant.release()
        for _ in range(3):
            async with node.lock("x", timeout=PATIENCE):
                pass
        assert await other.result() == 2


def holders_and_waiters(node: LockNode | None) -> tuple[int, int]:
    assert node is not None
    with node.host.guard:
        pure = node.host.node
        return len(list(pure.holding())), len(list(pure.waiting()))


@on_each_loop
async def test_without_a_lease_a_blocked_loop_keeps_what_it_holds(cluster: str) -> None:
    async def hold(other: Other) -> None:
        assert other.node is not None
        async with other.node.lock("x"):
            other.block()

    async with peerlock.join(cluster, lease=LEASE) as node:
        other = Other(cluster, hold, lease=None)
        await other.until_blocked()
        with pytest.raises(peerlock.Timeout):
            await node.lock("x").acquire(timeout=2 * LEASE)
        assert await other.result() is None
        async with node.lock("x", timeout=PATIENCE):
            pass


@pytest.mark.parametrize("thread", [False, True])
@on_each_loop
async def test_a_node_is_its_own_loops(cluster: str, thread: bool) -> None:
    async with peerlock.join(cluster, thread=thread) as node, node.lock("x"):
        lock = node.lock("x")

        async def ask() -> None:
            await lock.acquire()

        with pytest.raises(RuntimeError, match="in another event loop: join in this"):
            await asyncio.to_thread(asyncio.run, ask())


@on_each_loop
async def test_without_a_thread_the_node_lives_in_the_loop_of_its_tasks(
    cluster: str,
) -> None:
    threads = threading.active_count()
    async with peerlock.join("memory://alone", thread=False) as node:
        assert threading.active_count() == threads
        for _ in range(3):
            async with node.lock("x", timeout=PATIENCE), node.lock("y"):
                pass
        with pytest.raises(peerlock.WouldBlock):
            async with node.lock("x"):
                await asyncio.create_task(node.lock("x").try_acquire())


@pytest.mark.parametrize("how", ["try_acquire", "timeout"])
@on_each_loop
async def test_an_attempt_that_does_not_wait_ends_although_its_loop_was_blocked(
    cluster: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its request is withdrawn meanwhile, and made again; the holder does not answer."""
    monkeypatch.setattr(turnstile, "PATIENCE", 3 * LEASE)
    async with peerlock.join(cluster, lease=LEASE) as node, peerlock.join(cluster) as other:
        async with node.lock("x"):
            pass
        async with other.lock("x"):
            monkeypatch.setitem(
                other.host.node._handlers, Probe, lambda sender, message: None
            )
            lock = node.lock("x")
            attempt = asyncio.create_task(
                lock.try_acquire() if how == "try_acquire" else lock.acquire(timeout=0)
            )
            await asyncio.sleep(0)
            time.sleep(2 * LEASE)
            with pytest.raises((peerlock.WouldBlock, peerlock.Timeout)):
                await asyncio.wait_for(attempt, PATIENCE / 4)


# When exactly


class Task(BaseUser):
    """It waits, or holds, and is in no hurry."""

    def __init__(self) -> None:
        handle: Any = SimpleNamespace(_name="x", _demand=demand())
        super().__init__(handle, None)

    def _wake(self) -> None:
        pass

    is_awaited = True


class Blocked:
    """A beat whose clock, node and loops are in the hands of a test; the loop of the tasks
    answers when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.presence = Alone(lease=LEASE)
        self.presence.join()
        self.node = self.presence.node
        self.calls: list[tuple[float, Callable[..., None], tuple[Any, ...]]] = []
        self.asked: list[Callable[[], None]] = []
        self.before_step: Callable[[], None] = lambda: None
        driver: Any = SimpleNamespace(
            host=self, loop=self, tell=self.asked.append, after_step=lambda: None
        )
        monkeypatch.setattr(clock, "now", lambda: self.presence.now)
        self.beat = Beat(driver)

    def step(self, step: Callable[..., Any], *arguments: Any) -> Any:
        self.before_step()
        return step(*arguments)

    def flush(self) -> None:
        pass

    def call_later(self, delay: float, work: Callable[..., None], *arguments: Any) -> None:
        self.calls.append((self.presence.now + delay, work, arguments))

    def call_next(self) -> None:
        self.calls.sort(key=lambda call: call[0])
        at, work, arguments = self.calls.pop(0)
        self.presence.now = at
        self.node.renewed(at + LEASE)  # the node itself is not blocked
        work(*arguments)

    def answer(self) -> None:
        while self.asked:
            self.asked.pop()()

    def hold(self) -> Task:
        task = Task()
        self.node.acquire("x", task)
        assert task.state is State.HOLDING
        return task

    def block(self) -> Task:
        """Just after it has answered; what one of its tasks holds."""
        task = self.hold()
        self.beat.begin()
        for _ in range(3):
            self.answer()
            self.call_next()
        return task


def test_what_a_blocked_loop_holds_is_lost_a_margin_before_the_end_of_its_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocked = Blocked(monkeypatch)
    task = blocked.block()
    blocked.answer()
    silent_since = blocked.presence.now
    while task.state is State.HOLDING:
        blocked.call_next()
    assert blocked.presence.now <= silent_since + LEASE - margin(LEASE) + 1e-9
    assert list(blocked.node.holding())  # for a margin more
    lost_at = blocked.presence.now
    while list(blocked.node.holding()):
        blocked.call_next()
    assert blocked.presence.now == pytest.approx(lost_at + margin(LEASE))


def test_an_answer_just_before_the_loss_is_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when the end of the lease was noticed, and nothing was done yet."""
    blocked = Blocked(monkeypatch)
    task = blocked.block()
    answered: list[float] = []

    def answer() -> None:
        if not answered:
            answered.append(blocked.presence.now)
            blocked.beat._ask_again()

    blocked.before_step = answer
    while not answered:
        blocked.call_next()
    assert task.state is State.HOLDING


def test_a_turn_that_a_blocked_loop_has_to_take_is_taken_at_the_second_visit() -> None:
    """The loop may have been about to at the first one; nothing is lent, and no message
    comes."""
    turns: list[int] = []
    node = SimpleNamespace(take=None, put_back=None, turn_concerns_others=True)
    host: Any = SimpleNamespace(node=node, guard=threading.RLock(), turn_is_due=False)
    host.something_follows = host.must_turn = lambda: True
    host.send_at_once = lambda: False
    host.turn = lambda: turns.append(1)
    calls: list[tuple[float, Callable[[], None]]] = []
    loop: Any = SimpleNamespace(call_later=lambda *call: calls.append(call))
    loop.call_soon_threadsafe = lambda work: calls.append((0.0, work))
    tasks_loop: Any = SimpleNamespace(call_soon=lambda work: None)
    lent: Any = SimpleNamespace(patrol=lambda: 0.0)
    driver = BesideLoop(host)
    driver.loop = loop
    driver.tasks_loop = tasks_loop
    driver._lending = lent
    driver.after_step()
    host.turn_is_due = True
    for delay in (0.0, PATROL):
        assert not turns
        ((at, visit),) = calls
        assert at == delay
        calls.clear()
        visit()
    assert turns == [1] and not calls
