"""A group of commands whose help has the first sentence of each in full."""

from __future__ import annotations

import click

LONGEST = 200  # characters; click's own help cuts them off at the end of the line


class Summaries(click.Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, each.get_short_help_str(LONGEST)) for name, each in found if each]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
