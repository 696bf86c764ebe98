"""How every command ends: its exit code, its last line on stderr, and Ctrl-C.

Exit codes: 0 success, 1 a property was violated, 2 wrong usage, 3 a check was cut short,
69 the cluster is unreachable, 71 the system refused to start a process, 74 the output
cannot be written, 130 interrupted.
`lock` has those of flock(1), see its help.
Every error is one line on stderr that says what to do.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from typing import NoReturn

from peerlock.core.errors import UsageError

VIOLATED = 1
WRONG_USAGE = 2
UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h
OS_ERROR = 71  # EX_OSERR, as flock(1) has it
IO_ERROR = 74  # EX_IOERR of sysexits.h
INTERRUPTED = 130
FULL = (ENOSPC, EDQUOT, EFBIG, EIO)


class Failure(Exception):
    """The command cannot continue: one line for people, and an exit code for programs."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def end_with(run: Callable[[], int | None], like_flock: bool = False) -> NoReturn:
    """Run a command and exit with its code.  `like_flock`: Ctrl-C ends it by the signal."""
    replace_closed_streams()
    if signal.getsignal(signal.SIGTERM) != signal.SIG_IGN:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # worker processes end too
    try:
        code = run()
        sys.stdout.flush()
    except Failure as error:
        code = complain(str(error), error.code)
    except UsageError as error:
        code = complain(str(error), WRONG_USAGE)
    except KeyboardInterrupt:
        if like_flock:
            end_by(signal.SIGINT)  # so that a loop of a shell script ends, too
        code = complain("interrupted", INTERRUPTED)
    except BlockingIOError as error:  # fork(2) fails so
        code = complain(f"cannot start a process: {error.strerror} (ulimit -u)", OS_ERROR)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        discard_output()
        code = 0
    except Exception as error:
        code = complain_of_output(error) or complain_of_own_algorithm(error)
    sys.exit(code)


def discard_output() -> None:
    """What is written from now on, at the latest when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain_of_output(error: Exception) -> int:
    """If the output cannot be written, as on a full disk; 0: the error is another one."""
    if not isinstance(error, OSError) or not (error.errno in FULL or output_fails()):
        return 0
    discard_output()
    why = f"cannot write the output: {error.strerror}"
    return complain(f"{why}; write it to another place", IO_ERROR)


def output_fails() -> bool:
    """Also if nothing of what could not be written is left in the buffer."""
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), b"")
    except OSError:
        return True
    return False


def complain_of_own_algorithm(error: Exception) -> int:
    """If the user's own algorithm is run, the error is in it; otherwise it is a bug of
    ours."""
    outside = sys.modules.get("peerlock.algorithms.outside")
    text = outside.blamed(error) if outside else None
    if text is None:
        raise error
    return complain(text, VIOLATED)


def leave_at_once(code: object) -> NoReturn:
    """Like sys.exit(), but without Python's clean-up, unless there are worker processes.

    After a large search, clean-up would take a tenth of the time of the search.
    """
    if "multiprocessing" in sys.modules:
        sys.exit(code)  # type: ignore[arg-type]
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 0)


def replace_closed_streams() -> None:
    """Otherwise files that are opened next would get their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), mode)
            setattr(sys, name, stream)  # not inherited by the command of a lock


def end_by(number: int) -> None:
    """As if this process had never handled that signal, and without a core dump."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)


def complain(text: str, code: int) -> int:
    first, *_ = text.splitlines() or [""]
    say(first)
    return code


def say(text: str) -> None:
    """To people.  A closed stderr is not an error."""
    try:
        print(f"peerlock: {text}", file=sys.stderr, flush=True)
    except OSError:  # the rest must not raise when Python exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
