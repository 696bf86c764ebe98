"""What other threads change meanwhile is looked at under the guard of the node only."""

import asyncio
from typing import Any

import pytest

import peerlock.sync
from peerlock.node.mail import Mail
from peerlock.node.presence import Presence
from peerlock.runtime.host import Host
from tests.support.loops import on_each_loop
from tests.support.members import members
from tests.support.threads import Thread

# These look through dictionaries that each step may change.
LOOKS = ((Mail, "waits_for_view"), (Mail, "is_settled"), (Presence, "must_stir"))


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was looked at without the guard."""
    hosts: list[Host] = []
    found: list[str] = []

    def watched(name: str, look: property) -> property:
        def looks(part: Any) -> Any:
            for host in hosts:
                own = part in (host.presence, host.node.mail)
                if own and host.started and not host.is_interrupted:
                    found.append(name)
            assert look.fget is not None
            return look.fget(part)

        return property(looks)

    def made(host: Host, *arguments: Any, **settings: Any) -> None:
        honest(host, *arguments, **settings)
        hosts.append(host)

    honest = Host.__init__
    monkeypatch.setattr(Host, "__init__", made)
    for part, name in LOOKS:
        monkeypatch.setattr(part, name, watched(name, vars(part)[name]))
    return found


@on_each_loop
async def test_by_tasks_and_the_nodes_thread(cluster: str, unguarded: list[str]) -> None:
    async with members(cluster, 2) as nodes:

        async def use(number: int) -> None:
            for name in ("x", "y", "z") * 10:
                async with nodes[number].lock(name):
                    await asyncio.sleep(0)

        await asyncio.gather(use(0), use(1), use(0))
    assert not unguarded


def test_by_threads(cluster: str, unguarded: list[str]) -> None:
    with peerlock.sync.join(cluster) as one, peerlock.sync.join(cluster) as other:

        def use(node: Any) -> None:
            for name in ("x", "y", "z") * 10:
                with node.lock(name):
                    pass

        threads = [Thread(lambda node=node: use(node)) for node in (one, other, one)]  # type: ignore[misc]
        assert [thread.result() for thread in threads] == [None] * 3
    assert not unguarded
