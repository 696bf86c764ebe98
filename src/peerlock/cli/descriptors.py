"""Whether this process may open as many files as a member needs."""

from __future__ import annotations

import os

from peerlock.cli.ending import UNAVAILABLE, Failure

# Descriptors that a command needs to be a member, including those of its helpers.
DESCRIPTORS = 20


def must_have_descriptors() -> None:
    """Checked first, because Python's own libraries fail badly without descriptors."""
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
