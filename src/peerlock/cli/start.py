"""Where `peerlock` begins: what can be said at once is said without loading the rest.

`peerlock --version` and `peerlock list` take click and rich longer to import than they
take to answer.  All else goes to `main`.
"""

from __future__ import annotations

import os
import sys
import time

began: float | None = (
    None  # when this process did, by perf_counter; None where it is not ours
)


def answered_at_once() -> bool:
    global began
    began = time.perf_counter()
    try:
        return answered(sys.argv[1:])
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True


def answered(arguments: list[str]) -> bool:
    if sys.stdout is None:  # it was closed before we began
        return False
    if arguments in (["--version"], ["-V"]):
        from peerlock import __version__

        print(f"peerlock {__version__}", flush=True)
        return True
    if arguments[:1] == ["list"] and set(arguments[1:]) <= {"--museum", "--json"}:
        from peerlock.cli.listing import print_list

        print_list("--museum" in arguments, "--json" in arguments)
        return True
    return False
