"""The ports of `peerlock serve`: each has a handler, and rules for its clients."""

from __future__ import annotations

import resource
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from peerlock.membership.engine import Engine
from peerlock.runtime.host import Host
from peerlock.serve.access import Gate, Keys
from peerlock.serve.api import Api
from peerlock.serve.http import MOST, Handler, Server, serving
from peerlock.serve.live import Live, StatusRounds
from peerlock.serve.metrics import PUBLIC, handler, pages_about

CLIENTS = 1_000  # connections of the API: some have one for each session


class Ports:
    def __init__(
        self,
        host: Host,
        reading: Callable[[], Engine],  # an engine that reads the members
        keys: Keys,
        metrics: str,
        api: str | None = None,
        web: str | None = None,
    ) -> None:
        """Raises UsageError if a port would be open to clients that it must not be."""
        self._census = census = StatusRounds(host, reading)
        self.api = Api(host, census.take) if api is not None else None
        self._live = Live(census) if web is not None else None
        pages = handler(pages_about(host, self.api))
        gate = Gate(metrics, keys, False, PUBLIC, open_elsewhere=True)
        self._ports: dict[str, tuple[Gate, Handler, int]] = {"metrics": (gate, pages, MOST)}
        if api is not None and self.api is not None:
            gate = Gate(api, keys, True, ("/healthz",))
            self._ports["api"] = (gate, self.api.handle, most_clients())
        if web is not None and self._live is not None:
            gate = Gate(web, keys, False)
            self._ports["web"] = (gate, self._live.handle, MOST)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[dict[str, str]]:
        """Yields the address of each port."""
        async with AsyncExitStack() as stack:
            where = {}
            for name, (gate, handle, most) in self._ports.items():
                sockets, where[name] = await gate.listen()
                stack.callback(gate.tidy)
                server = Server(handle, gate.admit, most, gate.public)
                await stack.enter_async_context(serving(server, sockets, gate.security))
            stack.callback(self._close)
            yield where

    def _close(self) -> None:
        if self._live is not None:
            self._live.close()
        self._census.close()

    def end_sessions(self) -> None:
        if self.api is not None:
            self.api.close()


def most_clients() -> int:
    """Half of the descriptors are left to the locks."""
    return min(CLIENTS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
