"""The page of the command line, from what click knows of each command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from handbook.book import Book
from handbook.markdown import code, prose, table
from peerlock.cli.main import COMMANDS, cli

INTRODUCTION = """\
# The command line

Every command prints its help with `-h`. Commands that report have `--json`, for programs;
long work shows a progress bar on a terminal, and nothing in a pipe. An error is one line
that says what to do.

| exit code | meaning |
| ---: | --- |
| 0 | success |
| 1 | a property was violated; for `peerlock lock`: the lock could not be acquired |
| 2 | wrong usage |
| 3 | a check was cut short, and proves nothing |
| 69 | the cluster is unreachable |
| 71 | the system refused to start a process |
| 75 | `peerlock lock`: the lock was lost, and the command was stopped |
| 130 | interrupted |

`peerlock lock` exits with the code of its command, and like `flock(1)` with 64 for wrong
usage; see below.
"""


def write(book: Book) -> None:
    parts = [INTRODUCTION]
    for command, context in commands(cli, click.Context(cli, info_name="peerlock")):
        parts += described(command, context)
    book.pages["commands.md"] = "\n\n".join(parts) + "\n"


def commands(
    group: click.Group, parent: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    """Each command, and after a group those in it."""
    for name in COMMANDS if group is cli else group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=parent)
        yield command, context
        if isinstance(command, click.Group):
            yield from commands(command, context)


def described(command: click.Command, context: click.Context) -> Iterator[str]:
    path = context.command_path
    yield f"{'#' * (1 + path.count(' '))} {path}"
    yield code(" ".join((path, *command.collect_usage_pieces(context))))
    yield from told(command.help or "")
    records = (option.get_help_record(context) for option in options(command))
    rows = [(f"`{record[0]}`", prose(record[1])) for record in records if record]
    if rows:
        yield table(["option", "what it does"], rows)


def options(command: click.Command) -> list[click.Parameter]:
    return [p for p in command.params if isinstance(p, click.Option) and not p.hidden]


def told(help_text: str) -> Iterator[str]:
    """Paragraphs; those that click must not wrap are shown as they are."""
    for paragraph in re.split(r"\n[ \t]*\n", inspect.cleandoc(help_text)):
        if not paragraph.startswith("\b"):
            yield prose(" ".join(paragraph.split()))
            continue
        _, *lines = paragraph.splitlines()
        yield code("\n".join(lines))
