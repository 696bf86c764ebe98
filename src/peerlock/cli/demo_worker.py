"""One of the processes of `peerlock demo`: it acquires the lock again and again.

It reports on stdout, a JSON object per line, and ends when stdin ends.  After `stay` on
stdin it keeps the lock the next time, to be killed meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from peerlock.api.tasks import LockNode, join

HOLD = 0.003  # seconds for which the lock is held


async def work(cluster: str, algorithm: str, shared_file: Path) -> None:
    async with join(cluster) as node:
        say("joined")
        orders = Orders()
        listening = asyncio.ensure_future(orders.listen())
        lock = node.lock("demo", algorithm=algorithm)
        while not listening.done():
            async with lock as grant:
                say("enter", fence=grant.fence, messages=sent(node), stays=orders.stay)
                if orders.stay:
                    await listening
                alone = await write_slowly(shared_file, f"{os.getpid()} {grant.fence}\n")
                say("leave", alone=alone)
        say("done", messages=sent(node))


async def write_slowly(shared_file: Path, record: str) -> bool:
    """Write half, wait, write the rest; then check whether all of it is there."""
    half = len(record) // 2
    shared_file.write_text(record[:half])
    await asyncio.sleep(HOLD)
    with shared_file.open("a") as file:
        file.write(record[half:])
    return shared_file.read_text() == record


def sent(node: LockNode) -> int:
    return node.statistics().messages.total()


class Orders:
    """Commands from stdin."""

    def __init__(self) -> None:
        self.stay = False

    async def listen(self) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(reader)
        await loop.connect_read_pipe(lambda: protocol, sys.stdin)
        while line := await reader.readline():
            self.stay = line == b"stay\n"


def say(event: str, **details: Any) -> None:
    told = {"event": event, "at": time.monotonic(), **details}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
