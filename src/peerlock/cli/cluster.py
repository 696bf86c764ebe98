"""Errors of the cluster, as the command line tells them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from peerlock.cli.ending import UNAVAILABLE, Failure
from peerlock.membership.engine import ClusterError


@contextmanager
def complain_about_cluster() -> Iterator[None]:
    try:
        yield
    except ClusterError as error:
        raise Failure(str(error), UNAVAILABLE) from None
