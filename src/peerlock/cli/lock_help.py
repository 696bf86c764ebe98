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
    help="""Run COMMAND while holding the lock NAME, of which there is one in the cluster.

    \b
    peerlock lock invoices -- ./send-invoices     wait for it, however long
    peerlock lock -n backup -- ./backup           not if it is running already
    peerlock lock -w 10 -E 99 x -- make           wait 10 s, then exit with 99
    peerlock lock --permits 4 gpu -- ./train      four at a time
    peerlock lock disk tape -- ./copy             both, or neither

    Names stand before `--`.  Without it, the first word is the name, and the rest is the
    command.  Several locks are held all together, and without deadlock with others that
    name them in another order.

    The command gets the lock's fence in PEERLOCK_FENCE and its name in PEERLOCK_NAME, of
    several locks in the order of their names on the line, with commas in between.  It
    keeps stdin, stdout and stderr, and receives the signals that peerlock receives.  Its
    exit code is peerlock's; 128 + N if signal N ended it.  If it leaves processes behind
    in the background, they keep the lock, and peerlock ends with them; but not with -o.

    Joining the cluster counts as waiting, but it may always take 3 seconds: with -n, and
    with -w if that is less.  If it takes longer, the cluster counts as unreachable.

    \b
    Other exit codes:
      1    the lock was not acquired with -n or -w (or what -E says)
      64   wrong usage
      69   COMMAND cannot be run, or the cluster is unreachable
      71   the system refuses a process
      75   the lock was lost, and COMMAND and all it started was stopped
    """,
)
