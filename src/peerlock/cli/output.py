"""Options and output that the commands share."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
from rich.console import Console, JustifyMethod
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from peerlock import traces
from peerlock.cli.ending import discard_output
from peerlock.cli.options import CLUSTER, LEASE, REACH, Option
from peerlock.core.errors import UsageError
from peerlock.traces.trace import Trace

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for programs."
)

nodes_option = click.option(
    "-n", "--nodes", type=int, default=5, show_default=True, help="Number of nodes."
)


permits_option = click.option(
    "--permits", type=int, metavar="K", help="Number of permits, for semaphores."
)


class Finite(click.FloatRange):
    """A number other than infinity and NaN."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a valid number.", param, ctx)
        return number


hold_option = click.option(
    "--hold",
    type=Finite(0),
    default=1.0,
    show_default=True,
    help="How long a node stays inside.",
)


def trace_option(what: str) -> Callable[[F], F]:
    return click.option(
        "--trace",
        "paths",
        multiple=True,
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"{what}: {', '.join(traces.FORMATS)}.",
    )


class ReaderGone(SystemExit):
    """The reader of our output, such as `head`, has closed the pipe, which is not an error.

    Raised by `nobody_reads` alone.  It is an exit, because click would turn a broken pipe
    into an exit with code 1.
    """


def nobody_reads() -> NoReturn:
    """What is written from now on, at the latest when Python exits, is discarded."""
    discard_output()
    raise ReaderGone(0)


@contextmanager
def exit_with(code: int) -> Iterator[None]:
    """For a verdict: the exit code does not depend on whether all output is read."""
    with suppress(ReaderGone):
        yield
    sys.exit(code)


class Terminal(Console):
    def on_broken_pipe(self) -> None:
        self.quiet = True
        nobody_reads()


def console() -> Console:
    """As wide as the terminal; in a pipe, wide enough for every table."""
    return Terminal(highlight=False, width=None if sys.stdout.isatty() else 160)


def print_json(value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        nobody_reads()


def plain_table(*headings: str, numbers: frozenset[int] = frozenset()) -> Table:
    """A table without a box; the columns in `numbers` are set flush right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, heading in enumerate(headings):
        justify: JustifyMethod = "right" if i in numbers else "left"
        table.add_column(heading, justify=justify, no_wrap=i == 0)
    return table


@contextmanager
def progress(what: str, total: int) -> Iterator[Progress]:
    """A progress bar on a terminal, removed at the end; nothing in a pipe."""
    err = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=err, transient=True, disable=not err.is_terminal
    ) as bar:
        bar.add_task(what, total=total)
        yield bar


def working(what: str) -> AbstractContextManager[object]:
    """A spinner on a terminal, for work whose length is not known; nothing in a pipe."""
    err = Console(stderr=True)
    return err.status(what) if err.is_terminal else nullcontext()


def must_be_writable(path: Path) -> None:
    """Fails before the work, not after it, and leaves no file behind."""
    new = not path.exists()
    try:
        with path.open("a"):
            pass
        if new:
            path.unlink()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def must_be_drawable(path: Path) -> None:
    try:
        traces.must_know(path)
    except ValueError as error:
        raise UsageError(str(error)) from None
    must_be_writable(path)


def write_trace(trace: Trace, path: Path) -> None:
    try:
        traces.write(trace, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def as_click(option: Option) -> click.Option:
    """The same option for click."""
    return click.Option([*option.flags, option.name], **attributes(option))


def attributes(option: Option) -> dict[str, Any]:
    if not option.metavar:
        return {"is_flag": True, "flag_value": option.means, "help": option.help}
    shown = option.default not in (None, "", 0, ())
    return {
        "metavar": option.metavar,
        "help": option.help,
        "default": f"{option.default:g}" if shown else option.default,
        "show_default": shown,
        "callback": partial(convert, option),
    }


def convert(option: Option, ctx: click.Context, param: click.Parameter, text: Any) -> Any:
    try:
        return option.convert(text) if isinstance(text, str) else text
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: use {error}") from None


def taking(option: Option) -> Callable[[F], F]:
    return click.option(*option.flags, option.name, **attributes(option))


cluster_option = taking(CLUSTER)
lease_option = taking(LEASE)


def reach_options(command: Callable[..., None]) -> Callable[..., None]:
    """For clusters on many machines: addresses and certificates.

    The command gets all of them in one argument, `reach`.
    """

    @wraps(command)
    def reaching(*arguments: Any, **given: Any) -> None:
        from peerlock.api.meeting import Reach  # most commands do not need it

        reach = Reach(**{option.name: given.pop(option.name) for option in REACH})
        command(*arguments, reach=reach, **given)

    for option in reversed(REACH):
        reaching = taking(option)(reaching)
    return reaching
