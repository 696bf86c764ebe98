"""`peerlock lock` as click shows it: its help, its page in the handbook, completion.

click does not parse its line: `lock_line` does, whichever way the command was reached.
"""

from __future__ import annotations

from typing import Any

import click

from peerlock.cli.lock import lock
from peerlock.cli.lock_line import OPTIONS
from peerlock.cli.output import as_click


class Unparsed(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params = {"line": args}
        return []

    def invoke(self, ctx: click.Context) -> Any:
        ctx.exit(lock(ctx.params["line"]))


lock_command = Unparsed(
    "lock",
    params=[
        *map(as_click, OPTIONS),
        click.Argument(["name"]),
        click.Argument(["command"], nargs=-1, type=click.UNPROCESSED),
    ],
    help="""Run COMMAND while holding the lock NAME, which is unique in the cluster.

    \b
    peerlock lock invoices -- ./send-invoices     wait for the lock, without limit
    peerlock lock -n backup -- ./backup           fail if the lock is held
    peerlock lock -w 10 -E 99 x -- make           wait at most 10 s, then exit with 99
    peerlock lock --permits 4 gpu -- ./train      at most four holders at a time
    peerlock lock disk tape -- ./copy             hold both, or neither

    Names stand before `--`.  Without it, the first word is the name, and the rest is the
    command.  Several locks are held together, without deadlock with processes that name
    them in another order.

    The command has the fence of its grant in PEERLOCK_FENCE and the name of the lock in
    PEERLOCK_NAME; for several locks, in the order of their names on the command line,
    separated by commas.  It inherits stdin, stdout and stderr, and receives the signals
    that peerlock receives.  peerlock exits with the exit code of the command, or with
    128 + N if signal N ended it.  Processes that the command leaves behind in the
    background keep the lock, and peerlock waits for them, unless -o is given.

    With -F, this process becomes COMMAND, and a process in the background holds the lock
    until COMMAND, and all that has inherited its descriptors, has ended.  If the lock is
    lost, COMMAND is stopped, but not the processes that it has started.

    Joining counts towards the timeout, but is always allowed at least 3 seconds, also with
    -n.  If it takes longer, the cluster is considered unreachable.

    \b
    Other exit codes:
      1    the lock could not be acquired with -n or -w (-E sets another code)
      64   wrong usage
      69   COMMAND cannot be run, or the cluster is unreachable
      71   the system refused to start a process
      75   the lock was lost; COMMAND and everything it started were stopped
    """,
)
