"""Nodes that their program forgets: they leave by themselves, and a warning says so."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import peerlock
from peerlock.membership.place import engine_for
from tests.support.threads import PATIENCE, until

KEPT: list[Any] = []


@pytest.fixture
def other(cluster: str) -> Iterator[peerlock.sync.LockNode]:
    with peerlock.sync.join(cluster, lease=None) as node:
        yield node


def told() -> Any:
    return pytest.warns(ResourceWarning, match="node was not left")


def can_be_had(node: peerlock.sync.LockNode) -> bool:
    """With no lease to run out: its process must be out of the cluster."""
    with node.lock("x", timeout=PATIENCE):
        return True


def test_a_node_that_nobody_knows(cluster: str, other: peerlock.sync.LockNode) -> None:
    """Though it holds a lock; and its thread ends."""
    threads = threading.active_count()

    def forget() -> None:
        peerlock.sync.join(cluster, lease=None).lock("x").acquire()

    with told():
        forget()
        gc.collect()
    assert can_be_had(other)
    until(lambda: threading.active_count() == threads)


def test_a_handle_is_enough_to_know_a_node(
    cluster: str, other: peerlock.sync.LockNode
) -> None:
    lock = peerlock.sync.join(cluster, lease=None).lock("x")
    gc.collect()
    with lock as grant:
        assert not grant.is_lost
    with told():
        del lock, grant
        gc.collect()
    assert can_be_had(other)


def test_a_grant_is_not_enough_to_know_a_node(
    cluster: str, other: peerlock.sync.LockNode
) -> None:
    def forget() -> peerlock.sync.Grant:
        return peerlock.sync.join(cluster, lease=None).lock("x").__enter__()

    with told():
        grant = forget()
        gc.collect()
    assert can_be_had(other)
    assert grant.is_lost


@pytest.mark.parametrize("way", ["__aenter__", "acquire"])
def test_a_tasks_grant_is_not_enough_either(
    cluster: str, other: peerlock.sync.LockNode, way: str
) -> None:
    async def forget() -> peerlock.Grant:
        node = await peerlock.join(cluster, lease=None)
        grant: peerlock.Grant = await getattr(node.lock("x"), way)()
        return grant

    async def main() -> bool:
        grant = await forget()
        gc.collect()
        return await asyncio.to_thread(can_be_had, other) and grant.is_lost

    with told():
        assert asyncio.run(main())


def test_who_leaves_is_not_told(cluster: str) -> None:
    """A warning would be an error here."""
    node = peerlock.sync.join(cluster)
    node.leave()
    del node

    async def main() -> None:
        node = await peerlock.join(cluster)
        await node.leave()

    asyncio.run(main())
    gc.collect()


def test_a_task_that_forgets_its_node(cluster: str, other: peerlock.sync.LockNode) -> None:
    async def forget() -> None:
        node = await peerlock.join(cluster, lease=None)
        await node.lock("x").acquire()

    async def main() -> bool:
        await forget()
        gc.collect()
        return await asyncio.to_thread(can_be_had, other)

    with told():
        assert asyncio.run(main())


def test_a_task_whose_handle_knows_the_node(cluster: str) -> None:
    async def main() -> None:
        lock = (await peerlock.join(cluster)).lock("x")
        gc.collect()
        async with lock as grant:
            assert not grant.is_lost
        await lock._node.leave()

    asyncio.run(main())


async def join_and_hold(cluster: str) -> None:
    node = await peerlock.join(cluster, lease=None)
    KEPT.extend([node, await node.lock("x").acquire()])


def test_a_loop_that_is_shut_down_before_its_node_has_left(
    cluster: str, other: peerlock.sync.LockNode
) -> None:
    with told():
        asyncio.run(join_and_hold(cluster))
    assert can_be_had(other)
    assert KEPT[1].is_lost
    KEPT.clear()
    gc.collect()


CLOSES = """
import asyncio, sys, peerlock

async def main():
    node = await peerlock.join(sys.argv[1], lease=None)
    kept.extend([node, await node.lock("x").acquire()])

kept = []
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
print("closed", flush=True)
sys.stdin.readline()
kept.clear()
sys.stdin.read()
"""


def test_a_loop_that_is_closed_before_its_node_has_left(
    cluster: str, other: peerlock.sync.LockNode
) -> None:
    """No task of it can run any more: it is out as if its process had been killed."""
    run = [sys.executable, "-c", CLOSES, cluster]
    pipe = subprocess.PIPE
    with subprocess.Popen(run, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin and process.stdout
        process.stdout.readline()
        assert not other.lock("x").acquire(timeout=0.1)
        process.stdin.write("\n")
        process.stdin.flush()
        assert can_be_had(other)
        assert process.poll() is None
        process.communicate()


@pytest.mark.parametrize(
    "joins",
    [
        "node = peerlock.sync.join(sys.argv[1]); node.lock('x').acquire()",
        "async def main():\n    return await peerlock.join(sys.argv[1])\n"
        "loop = asyncio.new_event_loop()\n"
        "node = loop.run_until_complete(main())\n"
        "threading.Thread(target=loop.run_forever, daemon=True).start()",
    ],
)
def test_a_program_that_ends_before_its_node_has_left(cluster: str, joins: str) -> None:
    """It takes back its place, rather than leave that to the others."""
    text = f"import asyncio, sys, threading, peerlock\n{joins}\n"
    run = [sys.executable, "-W", "default::ResourceWarning", "-c", text, cluster]
    done = subprocess.run(run, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert "node was not left" in done.stderr
    assert "Traceback" not in done.stderr
    engine = engine_for(cluster, None)
    assert asyncio.run(engine.read()).members == ()
    engine.close()


def test_a_childs_end_is_none_of_its_parents(cluster: str) -> None:
    text = (
        "import os, sys, peerlock\n"
        "node = peerlock.sync.join(sys.argv[1])\n"
        "grant = node.lock('x').__enter__()\n"
        "if not os.fork():\n"
        "    sys.exit(0)\n"
        "os.wait()\n"
        "print(grant.is_lost, node.statistics().views)\n"
        "node.leave()\n"
    )
    run = [sys.executable, "-W", "error::ResourceWarning", "-c", text, cluster]
    done = subprocess.run(run, capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("False 1\n", "")
