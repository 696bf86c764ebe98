"""What the commands that meet a cluster have in common."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from peerlock.cli.ending import UNAVAILABLE, Failure
from peerlock.membership.engine import ClusterError

# Descriptors that a command needs to be a member, its helpers' included.
DESCRIPTORS = 20


@contextmanager
def complain_about_cluster() -> Iterator[None]:
    try:
        yield
    except ClusterError as error:
        raise Failure(str(error), UNAVAILABLE) from None


def must_have_descriptors() -> None:
    """Before anything else: Python's own libraries do not cope when they get none."""
    spare: list[int] = []
    try:
        spare.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(DESCRIPTORS))
    except OSError as error:
        reason = f"{error.strerror}; allow {DESCRIPTORS} more (ulimit -n)"
        text = f"cannot open the files that a member needs: {reason}"
        raise Failure(text, UNAVAILABLE) from None
    finally:
        for descriptor in spare:
            os.close(descriptor)
