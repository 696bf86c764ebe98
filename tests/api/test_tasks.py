"""The API for asyncio: what people touch, and what they must not be able to break."""

# How a block is left is what is tested here.
# ruff: noqa: PT012, SIM117

import asyncio
import dataclasses
import gc
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from decimal import Decimal
from itertools import count, pairwise
from math import inf, nan
from typing import Any

import pytest

import peerlock
from peerlock.api.status import survey
from peerlock.api.task_locks import User
from peerlock.api.tasks import Grant, Lock, LockNode
from peerlock.core.errors import UsageError
from peerlock.node.knobs import Knobs
from peerlock.node.terms import demand
from peerlock.node.waiters import State
from tests.support.hosts import suspended_for
from tests.support.loops import delivered, on_each_loop, until
from tests.support.members import is_free, members, put_out


def asking(lock: Lock) -> "asyncio.Task[Grant]":
    return asyncio.ensure_future(lock.acquire())


def users(*nodes: LockNode) -> int:
    """How many hold or wait, all in all."""
    locks = [lock for node in nodes for lock in node.host.node.locks.values()]
    return sum(len(lock.holders) + len(lock.waiters) for lock in locks)


# One after the other


@on_each_loop
async def test_one_is_in_at_a_time(cluster: str) -> None:
    inside = most = entries = 0

    async def work(node: LockNode) -> None:
        nonlocal inside, most, entries
        for _ in range(10):
            async with node.lock("invoices"):
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1
                entries += 1

    async with members(cluster, 3) as nodes:
        async with asyncio.TaskGroup() as group:
            for node in nodes * 2:
                group.create_task(work(node))
        assert (most, entries, users(*nodes)) == (1, 60, 0)


@on_each_loop
async def test_a_block_that_has_released_its_lock_releases_no_other_tasks(
    cluster: str,
) -> None:
    async with peerlock.join(cluster) as node:
        lock, entered = node.lock("x"), asyncio.Event()

        async def second() -> None:
            async with lock:
                entered.set()
                await asyncio.Event().wait()

        with pytest.raises(peerlock.NotHeld):
            async with lock as grant:
                grant.release()
                task = asyncio.create_task(second())
                await entered.wait()
        assert lock.locked()
        task.cancel()


@on_each_loop
async def test_fences_grow_from_grant_to_grant_and_from_view_to_view(cluster: str) -> None:
    fences = []
    async with members(cluster, 2) as nodes:
        for node in nodes * 3:
            async with node.lock("x") as grant:
                fences.append(grant.fence)
        async with peerlock.join(cluster) as third, third.lock("x") as grant:
            fences.append(grant.fence)
        for node in nodes:
            async with node.lock("x") as grant:
                fences.append(grant.fence)

    assert fences == sorted(set(fences))
    assert all(0 < fence < 1 << 63 for fence in fences)


@on_each_loop
async def test_who_asks_first_is_let_in_first_across_nodes(cluster: str) -> None:
    order: list[int] = []

    async def enter(number: int, node: LockNode) -> None:
        async with node.lock("x"):
            order.append(number)

    async with members(cluster, 3, hand_overs=1) as nodes:
        async with asyncio.TaskGroup() as group, nodes[0].lock("x"):
            for number, node in enumerate([nodes[1], nodes[2], nodes[0]]):
                group.create_task(enter(number, node))
                await asyncio.sleep(0)
                await delivered(*nodes)
    assert order == [0, 1, 2]


@on_each_loop
async def test_who_asks_first_is_let_in_first_at_one_node(cluster: str) -> None:
    order: list[int] = []
    async with peerlock.join(cluster) as node:

        async def enter(number: int) -> None:
            async with node.lock("x"):
                order.append(number)

        async with asyncio.TaskGroup() as group, node.lock("x"):
            for number in range(100):
                group.create_task(enter(number))
            await until(lambda: users(node) == 101)
    assert order == list(range(100))


@on_each_loop
async def test_strictly_in_turn_nobody_goes_twice_while_another_node_waits(
    cluster: str,
) -> None:
    order: list[str] = []

    async def work(node: LockNode, name: str) -> None:
        for _ in range(20):
            async with node.lock("x"):
                order.append(name)
                await asyncio.sleep(0.002)  # the threads of both nodes need the processor

    async with members(cluster, 2, hand_overs=1) as (a, b):
        async with asyncio.TaskGroup() as group:
            group.create_task(work(a, "a"))
            group.create_task(work(b, "b"))
    both = order[order.index("b") : -1]
    assert sum(x == y for x, y in pairwise(both)) <= 2, order


@on_each_loop
async def test_a_lock_that_is_here_and_free_is_taken_without_a_turn_of_the_loop(
    cluster: str,
) -> None:
    async with peerlock.join(cluster, hand_over_time=60) as node:
        lock = node.lock("x")
        async with lock:
            pass
        turned = False

        def turn() -> None:
            nonlocal turned
            turned = True

        asyncio.get_running_loop().call_soon(turn)
        async with lock:
            assert not turned


@on_each_loop
async def test_a_handle_may_be_shared_and_used_again_and_again(cluster: str) -> None:
    async with peerlock.join(cluster) as node:
        lock, entries = node.lock("x"), []

        async def work(number: int) -> None:
            for _ in range(5):
                async with lock:
                    assert lock.locked()
                    entries.append(number)

        await asyncio.gather(*(work(i) for i in range(5)))
        assert len(entries) == 25
        assert not lock.locked()
        assert repr(lock) == "<peerlock lock 'x'>"


# Not for ever


@on_each_loop
async def test_a_timeout_says_so_and_leaves_nothing_behind(cluster: str) -> None:
    async with members(cluster, 2) as (a, b):
        async with a.lock("x"):
            with pytest.raises(
                peerlock.Timeout, match=r"could not acquire 'x' within 0\.05 s"
            ):
                async with b.lock("x", timeout=0.05):
                    pass
            with pytest.raises(TimeoutError):
                await b.lock("x").acquire(timeout=0.05)
            with pytest.raises(peerlock.Timeout):
                await b.lock("x", timeout=60).acquire(timeout=0)
            assert users(a, b) == 1
        async with b.lock("x", timeout=5):
            assert users(a, b) == 1


@on_each_loop
async def test_without_time_to_wait_a_free_lock_is_had_wherever_its_home_is(
    cluster: str,
) -> None:
    async with members(cluster, 2) as nodes:
        for number, node in enumerate(nodes):
            for name in (f"{number} {i}" for i in range(10)):
                async with node.lock(f"a {name}", timeout=0):
                    pass
                async with node.semaphore(f"b {name}", 2, timeout=0):
                    pass
                (await node.lock(f"c {name}").acquire(timeout=0)).release()
                (await node.lock(f"d {name}", timeout=60).acquire(0.0)).release()
        assert users(*nodes) == 0


@pytest.mark.parametrize("where", [0, 1], ids=["here", "elsewhere"])
@on_each_loop
async def test_without_time_to_wait_a_lock_that_is_taken_does_not_come_in_time(
    cluster: str, where: int
) -> None:
    async with members(cluster, 2) as nodes:
        grant = await asyncio.create_task(nodes[0].lock("x").acquire())
        lock, patient = nodes[where].lock("x", timeout=0), nodes[where].lock("x")
        for ask in (lock.acquire, lock.__aenter__, lambda: patient.acquire(timeout=0)):
            with pytest.raises(peerlock.Timeout, match="could not acquire 'x' within 0 s"):
                await ask()
        with pytest.raises(peerlock.WouldBlock):
            await lock.try_acquire()
        assert users(*nodes) == 1
        grant.release()
        async with lock:
            pass


@pytest.mark.parametrize("timeout", [-1, -0.5, nan, -inf, "5", True, Decimal(5)])
@on_each_loop
async def test_a_timeout_that_makes_no_sense_is_refused_at_once(
    cluster: str, timeout: Any
) -> None:
    async with peerlock.join(cluster) as node:
        with pytest.raises(UsageError, match=r"^a timeout must be 0 or more seconds"):
            node.lock("x", timeout=timeout)
        with pytest.raises(UsageError, match=r"^a timeout must be 0 or more seconds"):
            node.semaphore("s", 2, timeout=timeout)
        with pytest.raises(UsageError, match=r"^a timeout must be 0 or more seconds"):
            await node.lock("x").acquire(timeout)
        assert users(node) == 0


@pytest.mark.parametrize("timeout", [inf, 1e20])
@on_each_loop
async def test_a_timeout_without_end_is_none(cluster: str, timeout: float) -> None:
    async with members(cluster, 2) as (a, b):
        grant = await a.lock("x").acquire()
        waiters = [asking(b.lock("x", timeout=timeout))]
        waiters += [asyncio.ensure_future(b.lock("x").acquire(timeout))]
        await until(lambda: users(b) == 2)
        await delivered(a, b)
        assert not any(task.done() for task in waiters)
        grant.release()
        for task in waiters:
            (await task).release()


@on_each_loop
async def test_a_timeout_of_the_body_is_the_bodys(cluster: str) -> None:
    async with peerlock.join(cluster) as node:
        with pytest.raises(TimeoutError) as caught:
            async with node.lock("x", timeout=60), asyncio.timeout(0.01):
                await asyncio.sleep(60)
        assert not isinstance(caught.value, peerlock.Timeout)
        assert users(node) == 0


@on_each_loop
async def test_of_two_who_try_exactly_one_gets_a_free_lock(cluster: str) -> None:
    async with members(cluster, 2) as nodes:
        for turn in range(20):
            tries = [n.lock(f"x{turn % 3}").try_acquire() for n in nodes]
            got = await asyncio.gather(*tries, return_exceptions=True)
            grants = [grant for grant in got if isinstance(grant, Grant)]
            assert len(grants) == 1, got
            assert sum(isinstance(g, peerlock.WouldBlock) for g in got) == 1, got
            grants[0].release()
        assert users(*nodes) == 0


KINDS: dict[str, Callable[[LockNode], Lock]] = {
    "lock": lambda node: node.lock("x"),
    "shared": lambda node: node.lock("x", shared=True),
}


@pytest.mark.parametrize("held", KINDS)
@pytest.mark.parametrize("wanted", KINDS)
@pytest.mark.parametrize("where", [0, 1], ids=["here", "elsewhere"])
@on_each_loop
async def test_trying_tells_at_once_whether_it_is_held(
    cluster: str, held: str, wanted: str, where: int
) -> None:
    async with members(cluster, 2) as nodes:
        lock = KINDS[wanted](nodes[where])
        async with KINDS[held](nodes[0]):
            trying = asyncio.ensure_future(is_free(lock))
            assert await trying is (held == wanted == "shared")
        assert await is_free(lock)
        assert users(*nodes) == 0


@on_each_loop
async def test_trying_a_semaphore_counts_its_permits(cluster: str) -> None:
    async with members(cluster, 2) as (a, b):
        first, second = a.semaphore("gpu", 2), b.semaphore("gpu", 2)
        grants = [await first.try_acquire(), await second.try_acquire()]
        for semaphore in (first, second):
            with pytest.raises(peerlock.WouldBlock, match="'gpu' is held by another user"):
                await semaphore.try_acquire()
        grants.pop().release()
        grants.append(await first.try_acquire())
        assert not await is_free(second)
        for grant in grants:
            grant.release()


@on_each_loop
async def test_trying_while_the_members_change_comes_to_an_end(cluster: str) -> None:
    async with members(cluster, 2) as (a, b), a.lock("x"):
        for _ in range(5):
            trying = asyncio.ensure_future(is_free(b.lock("x")))
            async with peerlock.join(cluster):
                async with asyncio.timeout(5):
                    assert not await trying


@on_each_loop
async def test_who_waits_comes_before_who_tries(cluster: str) -> None:
    async with members(cluster, 2, hand_overs=1) as (a, b):
        grant = await a.lock("x").acquire()
        waiter = asking(b.lock("x"))
        await asyncio.sleep(0)
        await delivered(a, b)
        grant.release()
        with pytest.raises(peerlock.WouldBlock):
            await a.lock("x").try_acquire()
        (await waiter).release()


# Which tasks may release


@on_each_loop
async def test_only_the_owner_releases_by_the_handle_and_only_once(cluster: str) -> None:
    async with peerlock.join(cluster) as node:
        lock = node.lock("x")

        async def release() -> None:
            lock.release()

        with pytest.raises(peerlock.NotHeld, match="this task does not hold 'x'"):
            lock.release()
        grant = await lock.acquire()
        with pytest.raises(peerlock.NotHeld):
            await asyncio.create_task(release())
        assert lock.locked()
        lock.release()
        for again in (lock.release, grant.release):
            with pytest.raises(peerlock.NotHeld):
                again()
        assert repr(grant) == f"<released grant of 'x', fence {grant.fence}>"


@on_each_loop
async def test_a_grant_may_be_handed_to_another_task_which_releases_it(
    cluster: str,
) -> None:
    async with members(cluster, 2) as (a, b):
        grant = await a.lock("x").acquire()

        async def release() -> None:
            grant.release()

        await asyncio.create_task(release())
        async with b.lock("x", timeout=5):
            pass
        with pytest.raises(peerlock.NotHeld):
            await asyncio.create_task(release())


@on_each_loop
async def test_who_loses_it_before_it_hears_of_the_grant_does_not_go_in(
    cluster: str,
) -> None:
    async with peerlock.join(cluster, hand_over_time=60.0) as node:
        grant = await node.lock("x").acquire()
        waiting = asyncio.create_task(node.lock("x").acquire())
        await until(lambda: users(node) == 2)
        grant.release()
        node.host.node.lose_everything()
        with pytest.raises(peerlock.Lost):
            await waiting


@on_each_loop
async def test_a_body_that_released_by_itself_is_told_so(cluster: str) -> None:
    async with peerlock.join(cluster) as node:
        with pytest.raises(peerlock.NotHeld):
            async with node.lock("x") as grant:
                grant.release()
        with pytest.raises(ZeroDivisionError):
            async with node.lock("x") as grant:
                grant.release()
                raise ZeroDivisionError
        assert users(node) == 0


@on_each_loop
async def test_a_block_gives_back_what_it_got_and_not_what_its_body_acquired(
    cluster: str,
) -> None:
    async with peerlock.join(cluster) as node:
        semaphore = node.semaphore("s", 3)
        async with semaphore as ours:
            theirs = await semaphore.acquire()
        assert (ours._user.state, theirs._user.state) == (State.RELEASED, State.HOLDING)
        async with semaphore as ours:
            semaphore.release()
            assert (ours._user.state, theirs._user.state) == (State.HOLDING, State.RELEASED)
        await semaphore.acquire()
        async with AsyncExitStack() as stack:
            stack.push_async_exit(semaphore)
            assert semaphore.locked()
        assert users(node) == 0


@on_each_loop
async def test_the_same_task_asking_twice_would_wait_for_itself(cluster: str) -> None:
    async with members(cluster, 2) as (a, b):
        async with a.lock("x"):
            with pytest.raises(peerlock.Deadlock, match="this task already holds 'x'"):
                await a.lock("x").acquire()
            with pytest.raises(peerlock.Deadlock):
                await a.lock("x", timeout=5).acquire()
            with pytest.raises(peerlock.Deadlock):
                await a.lock("x").try_acquire()
            with pytest.raises(peerlock.Deadlock):
                await a.lock("x", shared=True).acquire()
            async with a.lock("y"):
                assert users(a, b) == 2
        async with a.lock("x", timeout=5):
            pass


@pytest.mark.parametrize("permits", [1, 2, 3])
@on_each_loop
async def test_a_task_that_is_in_by_all_permits_would_wait_for_itself(
    cluster: str, permits: int
) -> None:
    async with members(cluster, 2) as nodes, AsyncExitStack() as stack:
        semaphore = nodes[0].semaphore("s", permits)
        for _ in range(permits):
            await stack.enter_async_context(semaphore)
        again = nodes[0].semaphore("s", permits, timeout=5)
        for ask in (again.acquire, again.try_acquire, again.__aenter__):
            with pytest.raises(peerlock.Deadlock, match="already holds all permits of 's'"):
                await ask()
        assert users(*nodes) == permits


@on_each_loop
async def test_a_task_waits_for_a_permit_that_somebody_else_may_give_back(
    cluster: str,
) -> None:
    async with members(cluster, 2) as (a, b):
        theirs = await b.semaphore("s", 2).acquire()
        async with a.semaphore("s", 2) as mine:
            waiting = asyncio.get_running_loop().call_soon(theirs.release)
            async with a.semaphore("s", 2, timeout=5):
                assert not waiting.cancelled()
            with pytest.raises(peerlock.Conflict, match="with 2 permits, not 1"):
                await a.semaphore("s", 1).acquire()
            assert mine._user.state is State.HOLDING


@on_each_loop
async def test_a_task_may_give_its_permits_to_others_and_wait_for_one(cluster: str) -> None:
    """As who starts so many workers, and one more when one of them is done."""
    async with peerlock.join(cluster) as node:
        semaphore, done = node.semaphore("s", 2), []

        async def work(job: int, grant: Grant) -> None:
            await asyncio.sleep(0)
            grant.release()
            done.append(job)

        async with asyncio.TaskGroup() as group:
            for job in range(10):
                group.create_task(work(job, await semaphore.acquire(timeout=5)))
        assert sorted(done) == list(range(10))


# Terms


@on_each_loop
async def test_a_name_is_used_in_one_way_at_a_time(cluster: str) -> None:
    async with members(cluster, 2) as nodes:
        async with nodes[0].lock("x", algorithm="ricart-agrawala"):
            for node in nodes:
                for other, why in (
                    (node.lock("x", algorithm="raymond"), "uses it with ricart-agrawala"),
                    (node.lock("x", shared=True), "ricart-agrawala, which has no shared"),
                    (node.semaphore("x", 2), "uses it as a lock, not as a semaphore"),
                ):
                    with pytest.raises(peerlock.Conflict, match=f"^'x': .*{why}"):
                        await asyncio.create_task(other.acquire())
        async with nodes[0].semaphore("s", 2):
            for node in nodes:
                for other, why in (
                    (node.semaphore("s", 3), "with 2 permits, not 3"),
                    (node.lock("s"), "as a semaphore, not as a lock"),
                    (node.semaphore("s", 2, algorithm="kakugawa"), "not with kakugawa"),
                ):
                    with pytest.raises(peerlock.Conflict, match=why):
                        await asyncio.create_task(other.acquire())
                    with pytest.raises(peerlock.Conflict, match=why):
                        await asyncio.create_task(other.try_acquire())
        assert users(*nodes) == 0


@on_each_loop
async def test_readers_are_in_together_and_writers_alone(cluster: str) -> None:
    readers = writers = most = 0

    async def read(node: LockNode) -> None:
        nonlocal readers, most
        for _ in range(5):
            async with node.lock("x", shared=True):
                readers += 1
                most = max(most, readers)
                assert not writers
                await asyncio.sleep(0.001)
                readers -= 1

    async def write(node: LockNode) -> None:
        nonlocal writers
        for _ in range(5):
            async with node.lock("x"):
                writers += 1
                assert (readers, writers) == (0, 1)
                await asyncio.sleep(0.001)
                writers -= 1

    async with members(cluster, 3) as nodes:
        async with asyncio.TaskGroup() as group:
            for node in nodes:
                group.create_task(read(node))
                group.create_task(read(node))
                group.create_task(write(node))
        assert most > 1
        assert users(*nodes) == 0


@pytest.mark.parametrize("algorithm", [None, "ricart-agrawala-readers-writers"])
@on_each_loop
async def test_a_reader_comes_while_a_writer_is_in(
    cluster: str, algorithm: str | None
) -> None:
    """Without an algorithm by name, the lock switches to one that has readers."""
    async with members(cluster, 3) as nodes:
        grant = await nodes[0].lock("x", algorithm=algorithm).acquire()
        readers = [asking(node.lock("x", shared=True)) for node in nodes[1:]]
        writer = asking(nodes[2].lock("x"))
        await asyncio.sleep(0)
        await delivered(*nodes)
        assert not any(task.done() for task in [*readers, writer])
        grant.release()
        for reader in await asyncio.gather(*readers):
            reader.release()
        (await writer).release()
        assert users(*nodes) == 0


@on_each_loop
async def test_semaphores_let_in_so_many_wherever_they_are(cluster: str) -> None:
    inside = most = 0

    async def work(node: LockNode) -> None:
        nonlocal inside, most
        for _ in range(5):
            async with node.semaphore("gpu", 3):
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.001)
                inside -= 1

    async with members(cluster, 2) as nodes:
        for where in (nodes[:1] * 8, nodes * 4):
            most = 0
            async with asyncio.TaskGroup() as group:
                for node in where:
                    group.create_task(work(node))
            assert most == 3
        assert users(*nodes) == 0


@pytest.mark.parametrize("name", ["", "x" * 1001, 5, None, b"", "\ud800"])
@on_each_loop
async def test_what_is_no_name_is_refused_when_it_is_named(cluster: str, name: Any) -> None:
    async with peerlock.join(cluster) as node:
        with pytest.raises(UsageError, match=r"^a lock name "):
            node.lock(name)
        with pytest.raises(UsageError, match=r"^a lock name "):
            node.semaphore(name, 2)


class Text(str):
    """As numpy, markupsafe and enumerations have it."""

    def __str__(self) -> str:
        return "something else"


class Whole:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


NEARLY_RIGHT: dict[str, Callable[[Any], Any]] = {
    "a name": lambda node: node.lock(Text("odd"), timeout=5),
    "an algorithm": lambda node: node.lock("odd", algorithm=Text("raymond"), timeout=5),
    "shared": lambda node: node.lock("odd", shared=1, timeout=5),
    "not shared": lambda node: node.lock("odd", shared=0, timeout=5),
    "permits": lambda node: node.semaphore("odd", Whole(2), timeout=5),
}


@pytest.mark.parametrize("what", NEARLY_RIGHT)
@on_each_loop
async def test_what_is_nearly_right_is_made_right_and_harms_nobody(
    cluster: str, what: str
) -> None:
    async with members(cluster, 2) as nodes:
        for node in nodes:
            lock = NEARLY_RIGHT[what](node)
            assert [type(value) for value in lock._demand] == [str, int, bool]
            assert type(lock.name) is str
            async with lock:
                assert list(node.host.node.locks) == ["odd"]
        for node in nodes:
            for i in range(4):
                async with node.lock(f"another's {i}", timeout=5):
                    pass


@pytest.mark.parametrize("shared", [None, "no", "", 2, [], 0.5])
@on_each_loop
async def test_shared_is_true_or_false(cluster: str, shared: Any) -> None:
    node = peerlock.join(cluster)
    with pytest.raises(UsageError, match=r"^shared must be True or False, got "):
        node.lock("x", shared=shared)


FLAGS: dict[str, Callable[[LockNode, Any], object]] = {
    "reentrant": lambda node, flag: node.lock("x", reentrant=flag),
    "cancel_on_loss": lambda node, flag: node.lock("x", cancel_on_loss=flag),
    "cancel_on_loss of several": lambda node, flag: node.locks("x", cancel_on_loss=flag),
    "cancel_on_loss of a semaphore": lambda node, flag: node.semaphore(
        "x", 2, cancel_on_loss=flag
    ),
    "cancel_on_loss of a decorator": lambda node, flag: node.locked(
        "x", cancel_on_loss=flag
    ),
    "cancel_on_loss of a leader": lambda node, flag: node.leader("x", cancel_on_loss=flag),
    "thread": lambda node, flag: peerlock.join(thread=flag),
    "insecure": lambda node, flag: peerlock.Reach(insecure=flag),
}


@pytest.mark.parametrize("flag", [1, 0, None, "no", ""])
@pytest.mark.parametrize("what", FLAGS)
def test_every_other_flag_is_a_bool(cluster: str, what: str, flag: Any) -> None:
    """As "no" is true, and None might be meant as either."""
    node = peerlock.join(cluster)
    name = what.partition(" ")[0]
    with pytest.raises(UsageError, match=rf"^{name} must be True or False, got {flag!r}$"):
        FLAGS[what](node, flag)


def test_what_was_made_of_odd_values_is_not_what_others_get() -> None:
    odd: list[Any] = [Text(""), Whole(1), 0]
    assert demand(*odd) is demand("", 1)
    assert demand("", 0, 1) is demand(shared=True)  # type: ignore[arg-type]
    assert repr(demand("", 0, 1)) == "Demand(algorithm='', permits=0, shared=True)"  # type: ignore[arg-type]


@on_each_loop
async def test_names_are_any_text(cluster: str) -> None:
    async with members(cluster, 2) as nodes:
        for name in ("x" * 1000, "Rechnungen/2026 №7", "🔒" * 1000, "\0", " ", "\n"):
            for node in nodes:
                async with node.lock(name, timeout=5):
                    pass


@pytest.mark.parametrize("permits", [0, -1, 1001, 2.5, "2", None, True, False, Whole(0)])
@on_each_loop
async def test_permits_are_a_number_that_makes_sense(cluster: str, permits: Any) -> None:
    node = peerlock.join(cluster)
    with pytest.raises(UsageError, match="permit"):
        node.semaphore("x", permits)


@on_each_loop
async def test_an_algorithm_must_exist_and_serve(cluster: str) -> None:
    node = peerlock.join(cluster)
    with pytest.raises(UsageError, match="no-such"):
        node.lock("x", algorithm="no-such")
    for no_text in (5, True, False, b"raymond", ["raymond"]):
        with pytest.raises(UsageError, match="asked for by its name or its class, not by"):
            node.lock("x", algorithm=no_text)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot serve a semaphore; these can: raymond-k"):
        node.semaphore("x", 2, algorithm="raymond")
    with pytest.raises(UsageError, match="cannot serve a shared lock"):
        node.lock("x", algorithm="raymond", shared=True)


# Loss


@on_each_loop
async def test_lost_is_true_as_soon_as_it_is_lost(cluster: str) -> None:
    async with members(cluster, 2) as (a, b):
        grant = await a.lock("x").acquire()
        assert not grant.lost.done()
        await put_out(cluster, a)
        assert await grant.lost is True
        assert grant.is_lost
        async with b.lock("x", timeout=5) as theirs:
            assert theirs.fence > grant.fence
        with pytest.raises(peerlock.Lost, match="'x' was lost while it was held"):
            grant.release()
        assert a.statistics().lost == 1
        async with a.lock("x", timeout=5):  # it is in again, by itself
            pass


@pytest.mark.parametrize("first", ["is_lost", "release", "end"])
@on_each_loop
async def test_what_comes_first_after_a_suspension_finds_the_loss(
    cluster: str, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    suspended = suspended_for(monkeypatch)
    async with peerlock.join(cluster, lease=30.0, thread=False) as node:
        with pytest.raises(peerlock.Lost):
            async with node.lock("x") as grant:
                suspended[0] += 60.0
                if first == "is_lost":
                    assert grant.is_lost
                elif first == "release":
                    grant.release()


@on_each_loop
async def test_who_stops_waiting_for_the_loss_may_wait_for_it_again(cluster: str) -> None:
    async with members(cluster, 2) as (a, _):
        grant = await a.lock("x").acquire()
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(grant.lost, 0.001)
        assert not grant.lost.done()
        await put_out(cluster, a)
        assert await grant.lost is True


@on_each_loop
async def test_lost_is_false_when_it_was_released(cluster: str) -> None:
    async with peerlock.join(cluster) as node:
        grant = await node.lock("x").acquire()
        lost = grant.lost
        grant.release()
        assert await lost is False
        async with node.lock("x") as grant:
            lost = grant.lost
        assert await lost is False
        async with node.lock("x") as grant:
            pass
        assert await grant.lost is False


@on_each_loop
async def test_a_body_that_did_not_care_learns_of_the_loss_at_its_end(cluster: str) -> None:
    async with members(cluster, 2) as (a, _):
        with pytest.raises(peerlock.Lost, match="'x' was lost while it was held"):
            async with a.lock("x") as grant:
                await put_out(cluster, a)
                await grant.lost
        with pytest.raises(ZeroDivisionError):
            async with a.lock("x") as grant:
                await put_out(cluster, a)
                await grant.lost
                raise ZeroDivisionError
        assert users(a) == 0


@on_each_loop
async def test_on_loss_the_body_is_cancelled_if_it_wants_to_be(cluster: str) -> None:
    async with members(cluster, 2) as (a, _):
        with pytest.raises(peerlock.Lost, match="the body was cancelled"):
            async with a.lock("x", cancel_on_loss=True):
                await put_out(cluster, a)
                await asyncio.sleep(60)
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        async with asyncio.timeout(5), a.lock("x", cancel_on_loss=True):
            await asyncio.sleep(0)


@on_each_loop
async def test_on_loss_another_cancellation_is_not_swallowed(cluster: str) -> None:
    async with members(cluster, 2) as (a, _):
        inside, cleaning = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            async with a.lock("x", cancel_on_loss=True) as grant:
                inside.set()
                try:
                    await asyncio.sleep(60)
                finally:
                    cleaning.set()
                    await grant.lost

        task = asyncio.create_task(work())
        await inside.wait()
        task.cancel("by another task")
        await cleaning.wait()
        await put_out(cluster, a)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()


@pytest.mark.parametrize("outcome", [None, ZeroDivisionError])
@on_each_loop
async def test_a_body_that_swallows_the_cancellation_leaves_none_pending(
    cluster: str, outcome: type[Exception] | None
) -> None:
    async with members(cluster, 2) as (a, _):
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(outcome or peerlock.Lost):
            async with a.lock("x", cancel_on_loss=True):
                await put_out(cluster, a)
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    if outcome:
                        raise outcome from None
        assert not task.cancelling()


@on_each_loop
async def test_on_loss_who_acquired_without_a_block_is_cancelled_too(cluster: str) -> None:
    async with members(cluster, 2) as (a, _):
        task = asyncio.current_task()
        assert task is not None
        lock = a.lock("x", cancel_on_loss=True)
        grant = await lock.acquire()
        with pytest.raises(peerlock.Lost):
            try:
                await put_out(cluster, a)
                await asyncio.sleep(60)
            finally:
                grant.release()
        assert not task.cancelling()


@on_each_loop
async def test_a_task_that_finds_the_loss_by_itself_is_not_cancelled_for_it_later(
    cluster: str,
) -> None:
    async with peerlock.join(cluster) as node:
        lock = node.lock("x", cancel_on_loss=True)
        grant = await lock.acquire()
        node.host.node.renewed(0.0)
        assert grant.is_lost
        with pytest.raises(peerlock.Lost):
            grant.release()
        for _ in range(3):
            await asyncio.sleep(0)

        await until(lambda: node.host.node.member)
        with pytest.raises(peerlock.Lost):
            async with lock as grant:
                node.host.node.renewed(0.0)
                assert grant.is_lost
        for _ in range(3):
            await asyncio.sleep(0)

        await until(lambda: node.host.node.member)
        with pytest.raises(peerlock.Lost, match="the body was cancelled"):
            async with lock as grant:
                node.host.node.renewed(0.0)
                assert grant.is_lost
                await asyncio.sleep(60)
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()


async def enter(lock: Lock) -> None:
    async with lock:
        raise AssertionError("the body runs although the lock is lost")


@pytest.mark.parametrize("cancel", [False, True])
@pytest.mark.parametrize("how", [enter, Lock.acquire])
@on_each_loop
async def test_lost_before_the_waiter_woke_up_is_lost_and_no_cancellation(
    cluster: str, how: Callable[[Lock], Coroutine[Any, Any, Any]], cancel: bool
) -> None:
    async with peerlock.join(cluster) as node:
        grant = await node.lock("x").acquire()
        waiting = asyncio.create_task(how(node.lock("x", cancel_on_loss=cancel)))
        await until(lambda: users(node) == 2)
        with node.host.guard:
            grant.release()
            node.host.node.lose_everything()  # as at the end of its lease
        node.driver.soon(node.host._mind_loss)
        with pytest.raises(peerlock.Lost, match="'x' was lost as soon as it was granted"):
            await waiting
        async with node.lock("x", timeout=10):
            pass


@on_each_loop
async def test_a_loop_that_was_blocked_beyond_the_lease_finds_out_before_it_goes_on(
    cluster: str,
) -> None:
    async with peerlock.join(cluster, lease=0.3) as a, peerlock.join(cluster) as b:
        await delivered(a, b)
        with pytest.raises(peerlock.Lost):
            async with a.lock("x") as grant:
                time.sleep(0.4)
                assert grant.is_lost
        with pytest.raises(peerlock.Lost):
            async with a.lock("x"):
                time.sleep(0.4)
        grant = await a.lock("x").acquire()
        time.sleep(0.4)
        with pytest.raises(peerlock.Lost):
            grant.release()
        async with b.lock("y", timeout=5), a.lock("x", timeout=5):
            pass


@on_each_loop
async def test_a_task_that_was_blocked_keeps_what_it_takes_before_its_loop_answers(
    cluster: str,
) -> None:
    async with peerlock.join(cluster, lease=1.0) as a:
        first = await a.lock("x").acquire()
        time.sleep(1.1)
        assert first.is_lost
        second = await a.lock("x").acquire()  # which does not return to the loop
        time.sleep(0.45)  # two checks of the beat
        assert not second.is_lost
        time.sleep(0.65)  # and now it was silent for a lease again
        assert second.is_lost


@on_each_loop
async def test_those_who_wait_go_on_waiting_when_their_node_is_put_out(
    cluster: str,
) -> None:
    async with members(cluster, 2) as (a, b):
        async with b.lock("x"):
            waiter = asking(a.lock("x"))
            await asyncio.sleep(0)
            await delivered(a, b)
            before = a.host.node.me
            await put_out(cluster, a)
            await until(lambda: a.host.node.me != before)  # it has joined again
            await delivered(a, b)
            assert not waiter.done()
        (await waiter).release()


# Giving up


class Scene:
    """A task wants what another one may hold; and then does not."""

    def __init__(self, nodes: list[LockNode], held: bool) -> None:
        self.nodes = nodes
        self.held = held
        self.number = count()

    async def play(self, work: Callable[[str], Coroutine[Any, Any, Any]]) -> None:
        """Cancel it after 0, 1, 2 … turns of the loop, until it is done before."""
        turns, finished = 0, 0
        while finished < 3:
            finished += await self.once(work, turns)
            turns += 1 + turns // 8

    async def once(
        self, work: Callable[[str], Coroutine[Any, Any, Any]], turns: int
    ) -> bool:
        name = f"x{next(self.number)}"
        other = await self.nodes[1].lock(name).acquire() if self.held else None
        task = asyncio.ensure_future(work(name))
        for turn in range(turns):
            if other and turn == turns // 2:
                other.release()
                other = None
            await asyncio.sleep(0)
        in_time = task.done()
        task.cancel()
        if other:
            other.release()
        await asyncio.wait([task])
        if in_time:
            task.result().release()
        else:
            assert task.cancelled(), task
        assert users(*self.nodes) == 0
        for node in self.nodes:
            async with node.lock(name, timeout=5):
                pass
        return in_time


@pytest.mark.parametrize("held", [False, True], ids=["free", "held"])
@pytest.mark.parametrize("how", ["acquire", "timeout", "no time", "try", "shared", "enter"])
@on_each_loop
async def test_cancelled_at_whatever_point_an_acquire_leaves_nothing_behind(
    cluster: str, held: bool, how: str
) -> None:
    async with members(cluster, 2) as nodes:

        async def work(name: str) -> Grant:
            lock = nodes[0].lock(name, shared=how == "shared")
            if how == "timeout":
                return await lock.acquire(timeout=60)
            if how == "enter":
                return await lock.__aenter__()
            if how == "try" or how == "no time":
                while True:
                    try:
                        if how == "try":
                            return await lock.try_acquire()
                        return await lock.acquire(timeout=0)
                    except (peerlock.WouldBlock, peerlock.Timeout):
                        await asyncio.sleep(0)
            return await lock.acquire()

        await Scene(nodes, held).play(work)


@on_each_loop
async def test_what_fails_while_it_is_asked_for_leaves_nothing_behind(
    cluster: str,
) -> None:
    async with members(cluster, 2) as (a, b):
        after_step, failures = a.driver.after_step, 1

        def fail() -> None:
            nonlocal failures
            failures -= 1
            if not failures:
                raise ZeroDivisionError
            after_step()

        async with b.lock("x"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(a.driver, "after_step", fail)
                with pytest.raises(ZeroDivisionError):
                    await a.lock("x").acquire()
            assert users(a, b) == 1
        async with b.lock("x", timeout=5):
            pass


@on_each_loop
async def test_one_who_gives_up_does_not_hold_up_those_behind_him(cluster: str) -> None:
    async with members(cluster, 2, hand_over_time=60) as (a, b):
        async with a.lock("x"):
            tasks = [asking(node.lock("x")) for node in (b, a, b, a, b)]
            await asyncio.sleep(0)
            await delivered(a, b)
            for task in tasks[:3]:
                task.cancel()
        for grant in asyncio.as_completed(tasks[3:]):
            (await grant).release()
        assert users(a, b) == 0


@on_each_loop
async def test_joining_may_be_cancelled(cluster: str) -> None:
    for turns in range(0, 12, 3):
        joining = asyncio.ensure_future(joined(cluster))
        for _ in range(turns):
            await asyncio.sleep(0)
        joining.cancel()
        await asyncio.wait([joining])
        if not joining.cancelled():
            await joining.result().leave()
    async with peerlock.join(cluster) as node, node.lock("x", timeout=5):
        assert len(node.host.node.view.members) == 1


async def joined(cluster: str) -> LockNode:
    return await peerlock.join(cluster)


# Coming and going


@pytest.mark.parametrize("join", [peerlock.join, peerlock.sync.join])
@pytest.mark.parametrize(
    ("knob", "values"),
    [
        ("hand_overs", [0, -1, 2.5, nan, True, "64", None]),
        ("hand_over_time", [-1, -0.001, nan, True, "1", None]),
    ],
)
def test_a_knob_that_makes_no_sense_is_refused_at_once(
    cluster: str, join: Callable[..., Any], knob: str, values: list[Any]
) -> None:
    for value in values:
        with pytest.raises(UsageError, match=f"^{knob} must be .*, got {value!r}$"):
            join(cluster, **{knob: value})


def test_every_knob_has_a_sense() -> None:
    for knobs in ({"remembered": 0}, {"remembered": 1.5}, {"remember": nan}):
        with pytest.raises(UsageError, match=next(iter(knobs))):
            Knobs(**knobs)
    Knobs(hand_overs=1, hand_over_time=0, remember=inf, remembered=1)
    Knobs(hand_over_time=inf, remember=0)


@on_each_loop
async def test_a_node_is_awaited_or_entered_once(cluster: str) -> None:
    node = await peerlock.join(cluster)
    async with node.lock("x"):
        pass
    with pytest.raises(peerlock.ClusterError, match="a node joins once"):
        await node
    await node.leave()
    await node.leave()
    with pytest.raises(peerlock.ClusterError, match="a node joins once"):
        await node


@on_each_loop
async def test_a_node_that_has_not_joined_or_has_left_says_so(cluster: str) -> None:
    node = peerlock.join(cluster)
    lock = node.lock("x")
    for ask in (lock.acquire, lock.try_acquire, lock.__aenter__):
        with pytest.raises(peerlock.ClusterError, match="has not joined"):
            await ask()
    async with node, lock:
        pass
    for ask in (lock.acquire, lock.try_acquire, lock.__aenter__):
        with pytest.raises(peerlock.ClusterError, match="has left the cluster"):
            await ask()
    await peerlock.join(cluster).leave()


@on_each_loop
async def test_who_leaves_gives_back_and_tells_those_who_hold_and_wait(
    cluster: str,
) -> None:
    async with peerlock.join(cluster) as b:
        a = await peerlock.join(cluster)
        await delivered(a, b)
        grant = await a.lock("x").acquire()
        lost = grant.lost
        waiters = [asking(node.lock("x")) for node in (a, b)]
        await asyncio.sleep(0)
        await delivered(a, b)
        leaving = asyncio.ensure_future(a.leave())
        late = asking(a.lock("y"))
        await leaving
        assert await lost is True
        with pytest.raises(peerlock.Lost):
            grant.release()
        for task in (waiters[0], late):
            with pytest.raises(peerlock.ClusterError, match="has left the cluster"):
                await task
        async with asyncio.timeout(5):
            theirs = await waiters[1]
        assert theirs.fence > grant.fence
        theirs.release()
        assert len(b.host.node.view.members) == 1


@on_each_loop
async def test_leaving_is_seen_at_once(cluster: str) -> None:
    """Not by the look that everybody takes once a second."""
    async with peerlock.join(cluster) as b:
        times = []
        for _ in range(5):
            a = await peerlock.join(cluster)
            await delivered(a, b)
            await a.lock("x").acquire()
            began = time.monotonic()
            await a.leave()
            async with b.lock("x"):
                times.append(time.monotonic() - began)
    assert min(times) < 0.3, times


@on_each_loop
async def test_nodes_of_one_process_meet_in_memory(cluster: str) -> None:
    address = f"memory://{cluster}"
    async with members(address, 3) as nodes:
        grant = await nodes[0].lock("x").acquire()
        waiter = asking(nodes[1].lock("x"))
        assert not await is_free(nodes[2].lock("x"))
        await put_out(address, nodes[0])
        async with asyncio.timeout(5):
            (await waiter).release()
        assert await grant.lost


@on_each_loop
async def test_who_is_silent_in_memory_is_put_out_when_his_lease_ends(cluster: str) -> None:
    address = f"memory://{cluster}"
    async with (
        peerlock.join(address, lease=0.2) as a,
        peerlock.join(address, lease=5) as b,
    ):
        await delivered(a, b)
        grant = await a.lock("x").acquire()
        waiter = asking(b.lock("x"))
        time.sleep(0.3)
        (await waiter).release()
        assert grant.is_lost


# What one sees


@on_each_loop
async def test_statistics_are_a_copy(cluster: str) -> None:
    async with peerlock.join(cluster) as node:
        async with node.lock("x"):
            pass
        before = node.statistics()
        async with node.lock("x"):
            pass
        assert (before.grants, node.statistics().grants) == (1, 2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            before.grants = 5  # type: ignore[misc]
        before.messages["Request"] += 5
        assert node.statistics().messages["Request"] == 0


@on_each_loop
async def test_a_survey_sees_members_holders_and_waiters(cluster: str) -> None:
    async with members(cluster, 3) as nodes:
        async with nodes[0].lock("x"), nodes[1].lock("r", shared=True):
            waiter = asking(nodes[1].lock("x"))
            await asyncio.sleep(0)
            await delivered(*nodes)
            found = await survey(cluster)
        (await waiter).release()
    assert [member["answers"] for member in found["members"]] == [True] * 3
    assert [lock["name"] for lock in found["locks"]] == ["r", "x"]
    x = found["locks"][1]
    assert (len(x["holders"]), len(x["waiters"]), x["permits"]) == (1, 1, 0)


@on_each_loop
async def test_what_is_not_used_is_forgotten(cluster: str) -> None:
    async with members(cluster, 2) as nodes:
        for i in range(50):
            for node in nodes:
                async with node.lock(f"x{i}"):
                    pass
        gc.collect()
        assert not [u for u in gc.get_objects() if isinstance(u, User) and in_use(u)]


def in_use(user: User) -> bool:
    return user.state in (State.HOLDING, State.WAITING)


@on_each_loop
async def test_who_gives_up_waiting_for_a_loss_leaves_the_others_waiting(
    cluster: str,
) -> None:
    async with peerlock.join(cluster) as node:
        async with node.lock("x") as grant:
            assert grant.lost is grant.lost  # a loop that looks at it makes one

            async def watch() -> bool:
                return await grant.lost

            watches = [asyncio.create_task(watch()) for _ in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(grant.lost, 0.001)
            watches.pop().cancel()
            await asyncio.sleep(0)
            assert not watches[0].done()
            for _ in range(100):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(grant.lost, 0)
            grant.lost  # noqa: B018 - those that are over are forgotten
            assert len(grant._user.lost or ()) <= 3
        assert await watches[0] is False


@on_each_loop
async def test_a_block_whose_lock_is_released_and_acquired_again_leaves_nothing(
    cluster: str,
) -> None:
    async with peerlock.join(cluster) as node:
        lock = node.lock("x")
        for _ in range(3):
            async with lock as grant:
                grant.release()
                await lock.acquire()
            assert not lock._left and not lock.locked()
            async with lock:
                lock.release()
                await lock.acquire()
            assert not lock._left and not lock.locked()
