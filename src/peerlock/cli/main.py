"""`peerlock`: the commands, and how errors and Ctrl-C leave it.

Exit codes: 0 all is well, 1 a property was violated, 2 wrong usage, 3 cut short (check),
71 the system refuses a process, 130 interrupted; `lock` and `status` have those of
flock(1), see their help.
Every error is one line on stderr that says what to do.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import signal
import sys
from collections.abc import Sequence

import click

from peerlock import __version__
from peerlock.core.errors import UsageError, unknown

OS_ERROR = 71  # EX_OSERR of sysexits.h, as flock(1) has it

# Where each command is; it is imported when it is wanted, as a lock should start quickly.
COMMANDS = {
    "lock": "peerlock.cli.lock:lock_command",
    "status": "peerlock.cli.status:status",
    "certs": "peerlock.cli.certs:certs",
    "serve": "peerlock.cli.serve:serve",
    "demo": "peerlock.cli.demo:demo",
    "list": "peerlock.cli.catalogue:list_command",
    "show": "peerlock.cli.catalogue:show",
    "simulate": "peerlock.cli.simulate:simulate",
    "compare": "peerlock.cli.compare:compare",
    "check": "peerlock.cli.check:check",
    "advise": "peerlock.cli.advise:advise",
    "new": "peerlock.cli.new:new",
    "quorums": "peerlock.cli.quorums:quorums",
    "reproduce": "peerlock.cli.reproduce:reproduce",
}


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise UsageError(unknown("command", args[0], sorted(COMMANDS)))
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="peerlock %(version)s")
def cli() -> None:
    """Distributed locks between your processes, with no lock server.

    Every classic algorithm for mutual exclusion in a computer network, written once:
    run it, see it, compare it, break it.
    """


def main(args: Sequence[str] | None = None) -> None:
    collect_garbage_rarely()
    replace_closed_streams()
    if signal.getsignal(signal.SIGTERM) != signal.SIG_IGN:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # worker processes end too
    try:
        code = cli.main(args, prog_name="peerlock", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        code = 0
    except click.ClickException as error:
        code = complain(error.format_message(), error.exit_code)
    except UsageError as error:
        code = complain(str(error), 2)
    except (KeyboardInterrupt, click.Abort):
        if list(sys.argv[1:] if args is None else args)[:1] == ["lock"]:
            end_by(signal.SIGINT)  # as flock(1) ends, and as a script's loop wants it
        code = complain("interrupted", 130)
    except BlockingIOError as error:  # fork(2) fails so
        code = complain(f"cannot start a process: {error.strerror} (ulimit -u)", OS_ERROR)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def collect_garbage_rarely() -> None:
    """Runs and searches make millions of small values and no cycles.

    To look for garbage among them less often makes large ones faster by a quarter.
    """
    gc.set_threshold(100_000, 50, 100)


def replace_closed_streams() -> None:
    """Or what we open next would get their numbers, and be read from and written to."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), mode)
            setattr(sys, name, stream)  # which the command of a lock does not inherit


def end_by(number: int) -> None:
    """As if we had never answered that signal; but a core of ours would help nobody."""
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
    """To people.  That nobody listens is no reason to fail."""
    try:
        print(f"peerlock: {text}", file=sys.stderr, flush=True)
    except OSError:  # what is left of it is not to trouble Python when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


if __name__ == "__main__":
    main()
