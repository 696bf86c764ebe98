"""Tests of the asyncio API, on each event loop that we support."""

import asyncio
from collections.abc import Callable, Coroutine
from inspect import Parameter, Signature, signature
from itertools import permutations
from typing import Any

import pytest

from peerlock.api.tasks import LockNode
from peerlock.node.node import Node

try:
    import uvloop
except ImportError:
    LOOPS = {"asyncio": asyncio.new_event_loop}
else:
    LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}

PATIENCE = 20.0


def on_each_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Any:
    """The test is a coroutine function; pytest shall see its arguments, and one more."""

    def on_a_loop(loop: str, **arguments: Any) -> None:
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(in_time(test(**arguments)))

    own = Parameter("loop", Parameter.KEYWORD_ONLY)
    parameters = [*signature(test).parameters.values(), own]
    on_a_loop.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    on_a_loop.__name__, on_a_loop.__doc__ = test.__name__, test.__doc__
    return pytest.mark.parametrize("loop", LOOPS)(on_a_loop)


async def in_time(work: Coroutine[Any, Any, None]) -> None:
    async with asyncio.timeout(PATIENCE):
        await work


async def until(condition: Callable[[], bool]) -> None:
    """Turn by turn: it is in time that the test's own deadline fails it."""
    while not condition():
        await asyncio.sleep(0)


async def delivered(*nodes: LockNode) -> None:
    """Until all have seen the same members, and what they have said to one another."""
    for node in nodes:
        node.driver.soon(node.host._look_soon)
    await until(lambda: all(heard(a, b) for a, b in permutations(pure(nodes), 2)))


def pure(nodes: tuple[LockNode, ...]) -> list[Node]:
    return [node.host.node for node in nodes]


def heard(a: Node, b: Node) -> bool:
    if a.view.number != b.view.number or not (a.running and b.running):
        return False
    there, here = a.mail._links.get(b.me), b.mail._links.get(a.me)
    said = there._last if there else 0
    return said == (here.received if here else 0)
