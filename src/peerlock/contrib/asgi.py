"""A node for the lifetime of an ASGI application, such as Starlette's or FastAPI's.

    app = FastAPI(lifespan=lifespan())

    @app.post("/invoices")
    async def send(request: Request):
        async with request.state.peerlock.lock("invoices"): ...

It needs no package.  Each worker process joins by itself, after it was forked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from peerlock.api.tasks import LockNode, join

__all__ = ["lifespan"]

Lifespan = Callable[[Any], AbstractAsyncContextManager[dict[str, LockNode]]]


def lifespan(
    cluster: str | None = None, *, state: str = "peerlock", **options: Any
) -> Lifespan:
    """The arguments are those of peerlock.join(); `state` names the node in the state."""

    @asynccontextmanager
    async def joined(app: Any) -> AsyncIterator[dict[str, LockNode]]:
        async with join(cluster, **options) as node:
            yield {state: node}

    return joined
