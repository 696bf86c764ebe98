"""Errors of the cluster, as the command line reports them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from peerlock.cli.ending import UNAVAILABLE, Failure
from peerlock.core.errors import UsageError
from peerlock.membership.engine import ClusterError
from peerlock.membership.place import chosen


@contextmanager
def complain_about_cluster() -> Iterator[None]:
    try:
        yield
    except ClusterError as error:
        raise Failure(str(error), UNAVAILABLE) from None


def must_be_of_many_processes(cluster: str | None) -> None:
    if (chosen(cluster) or "").startswith("memory://"):
        raise UsageError("a memory:// cluster is within one process: use another cluster")
