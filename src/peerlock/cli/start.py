"""Where `peerlock` begins: each command loads only what it needs.

Importing click and rich takes longer than `peerlock --version` and `peerlock list` take to
answer, and a lock needs neither.  All other commands go to `main`.
"""

from __future__ import annotations

import gc
import sys
import time

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable

EXTRA = ("click", "rich")  # what the extra `cli` installs

# When this process began, by perf_counter; None in a process that is not the command's own.
began: float | None = None


def answered_at_once() -> bool:
    global began
    began = time.perf_counter()
    collect_garbage_rarely()
    try:
        return answered(sys.argv[1:])
    except OSError as error:
        from peerlock.cli.ending import complain_of_output, discard_output

        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed it
            discard_output()
            return True
        if code := complain_of_output(error):
            sys.exit(code)
        raise


def answered(arguments: list[str]) -> bool:
    if sys.stdout is None:  # it was closed before the process began
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


def command() -> Callable[[], None]:
    """What runs the command line, with everything that it needs imported."""
    try:
        if sys.argv[1:2] == ["lock"]:
            from peerlock.cli.lock import main
        else:
            import rich  # noqa: F401  # otherwise its lack would show in the middle

            from peerlock.cli.main import main
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        return ask_for_extra
    return main


def ask_for_extra() -> None:
    from peerlock.cli.ending import UNAVAILABLE, complain

    sys.exit(
        complain("this command needs an extra: pip install 'peerlock[cli]'", UNAVAILABLE)
    )


def collect_garbage_rarely() -> None:
    """Imports, runs and searches make millions of small values and no cycles.

    Collecting garbage less often makes large runs faster by a quarter.
    """
    gc.set_threshold(100_000, 50, 100)
