"""Blocking nodes and threads, for the tests of `peerlock.sync`."""

import threading
import time
from collections.abc import Callable
from typing import Any

from peerlock.api.threads import LockNode
from peerlock.membership.place import engine_for

PATIENCE = 20.0


class Thread(threading.Thread):
    """Says what came out of it, when it is joined."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.work = work
        self.value: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.value = self.work()
        except BaseException as error:
            self.value = error

    def result(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive(), "it takes too long"
        return self.value


def users(*nodes: LockNode) -> int:
    total = 0
    for node in nodes:
        with node.host.guard:
            for lock in node.host.node.locks.values():
                total += len(lock.holders) + len(lock.waiters)
    return total


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.001)


def put_out(cluster: str, node: LockNode) -> None:
    async def work() -> None:
        engine = engine_for(cluster, None)
        await engine.leave(node.host.node.me)
        engine.close()
        node.host._look_soon()

    node.driver.do(work()).result()
