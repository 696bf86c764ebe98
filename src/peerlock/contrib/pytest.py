"""Fixtures for pytest: a node, and work that one of xdist's workers does for all.

    def test_invoices(peerlock_node):
        with peerlock_node.lock("invoices"): ...

    @pytest.fixture(scope="session")
    def database(once_per_session):
        return once_per_session("database", create_database)  # its result, in every worker

All workers of a run share a cluster of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from peerlock.sync import LockNode

__all__ = ["once_per_session", "peerlock_node"]


@pytest.fixture(scope="session")
def _peerlock_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Shared by the workers of a run; pytest tidies it up."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base
    folder = shared / "peerlock"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def peerlock_node(_peerlock_folder: Path) -> Iterator[LockNode]:
    """A node for threads, in a cluster of this test run."""
    from peerlock.sync import join

    with join(f"sqlite://{_peerlock_folder}/cluster.db") as node:
        yield node


@pytest.fixture(scope="session")
def once_per_session(
    peerlock_node: LockNode, _peerlock_folder: Path
) -> Callable[[str, Callable[[], Any]], Any]:
    """`once_per_session(name, work)`: the first worker does it, the others get its result.

    The result must be plain: what JSON has.  If the work fails, the next worker tries.
    """

    def once(name: str, work: Callable[[], Any]) -> Any:
        done = _peerlock_folder / f"{sha256(name.encode()).hexdigest()}.json"
        with peerlock_node.lock(f"once:{name}"):
            if not done.exists():
                text = json.dumps(work())
                new = done.with_suffix(".new")
                new.write_text(text)
                new.rename(done)
            return json.loads(done.read_text())

    return once
