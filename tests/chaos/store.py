"""A store that knows fences, in a process of its own: python -m tests.chaos.store PATH LOG.

It is reached over a Unix socket, which no fault of the network concerns: a process that is
cut off from all others can still write here, and must be refused when its time is over.

A process that reads a value to change it shows its fence as well: from then on older ones
are stale.  All that is asked, and what the answer was, is written down.
"""

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import IO, Any


class Store:
    def __init__(self, log: IO[str]) -> None:
        self._log = log
        self._fences: dict[str, int] = {}
        self._values: dict[str, int] = {}

    def ask(self, what: str, name: str, fence: int, value: int, who: str) -> int | None:
        """The value, or None: a newer fence has been here."""
        newest = self._fences.get(name, 0)
        accepted = fence >= newest
        if accepted and what != "look":
            self._fences[name] = fence
        if accepted and what == "write":
            self._values[name] = value
        line = [what, time.monotonic(), name, fence, value, accepted, who]
        self._log.write(json.dumps(line) + "\n")
        return self._values.get(name, 0) if accepted else None

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(self.ask(*json.loads(line))).encode() + b"\n")
        except OSError:
            pass  # it was killed
        finally:
            writer.close()


class Client:
    """For one task; one question at a time."""

    def __init__(self, who: str, line: Any) -> None:
        self._who = who
        self._reader, self._writer = line

    @classmethod
    async def to(cls, path: str, who: str) -> "Client":
        return cls(who, await asyncio.open_unix_connection(path))

    async def ask(self, what: str, name: str, fence: int, value: int = 0) -> int | None:
        question = json.dumps([what, name, fence, value, self._who])
        self._writer.write(question.encode() + b"\n")
        answer: int | None = json.loads(await self._reader.readline())
        return answer


async def main(path: str, log: str) -> None:
    done = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
    with Path(log).open("w", buffering=1) as written:
        server = await asyncio.start_unix_server(Store(written).serve, path)
        print("ready", flush=True)
        await done.wait()
        server.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
