"""`peerlock`: the commands, each imported when it is used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from peerlock import __version__
from peerlock.cli.ending import Failure, end_with
from peerlock.cli.summaries import Summaries
from peerlock.core.errors import UsageError, unknown

# Where each command is.  It is imported when it is used, because a lock must start quickly.
COMMANDS = {
    "lock": "peerlock.cli.lock_help:lock_command",
    "status": "peerlock.cli.status:status",
    "certs": "peerlock.cli.certs:certs",
    "serve": "peerlock.cli.serve:serve",
    "migrate": "peerlock.cli.migrate:migrate",
    "demo": "peerlock.cli.demo:demo",
    "list": "peerlock.cli.catalogue:list_command",
    "show": "peerlock.cli.catalogue:show",
    "simulate": "peerlock.cli.simulate:simulate",
    "compare": "peerlock.cli.compare:compare",
    "check": "peerlock.cli.check:check",
    "check-node": "peerlock.cli.check_node:check_node",
    "advise": "peerlock.cli.advise:advise",
    "new": "peerlock.cli.new:new",
    "quorums": "peerlock.cli.quorums:quorums",
    "lab": "peerlock.cli.lab:lab",
    "reproduce": "peerlock.cli.reproduce:reproduce",
}


class Commands(Summaries):
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

    The classic algorithms for distributed mutual exclusion: use them as locks, simulate,
    draw, compare and model-check them.
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    arguments = sys.argv[1:] if args is None else list(args)
    end_with(lambda: run(arguments), like_flock=arguments[:1] == ["lock"])


def run(arguments: list[str]) -> int | None:
    stdout = sys.stdout
    try:
        code: int | None = cli.main(arguments, prog_name="peerlock", standalone_mode=False)
        return code
    except SystemExit:
        if sys.stdout is not stdout:  # click has replaced it: the reader closed the pipe
            return 0
        raise
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 0
    except click.ClickException as error:
        raise Failure(error.format_message(), error.exit_code) from None
    except click.Abort:
        raise KeyboardInterrupt from None


if __name__ == "__main__":
    main()
