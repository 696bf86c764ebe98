"""Blocking nodes, and an end for a test that hangs."""

import faulthandler
from collections.abc import Iterator

import pytest

import peerlock
from peerlock.api.threads import LockNode


@pytest.fixture
def node(cluster: str) -> Iterator[LockNode]:
    with peerlock.sync.join(cluster) as node:
        yield node


@pytest.fixture
def other(cluster: str, node: LockNode) -> Iterator[LockNode]:
    with peerlock.sync.join(cluster) as other:
        yield other


@pytest.fixture(autouse=True)
def _no_test_hangs() -> Iterator[None]:
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
