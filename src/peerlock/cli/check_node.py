"""`peerlock check-node`: every schedule of whole lock nodes, within stated bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from peerlock.checker.nodes import LARGE_STORIES, STORIES, Story, node_model, story_named
from peerlock.checker.report import Verdict
from peerlock.checker.search import Limits
from peerlock.cli.check import (
    Watch,
    covered,
    exit_code,
    schedule,
    verdict,
    violation_keys,
)
from peerlock.cli.output import (
    Finite,
    console,
    exit_with,
    json_option,
    must_be_drawable,
    plain_table,
    print_json,
    trace_option,
    write_trace,
)


@click.command("check-node")
@click.argument("name", metavar="[STORY]", required=False)
@click.option("--max-seconds", type=Finite(0), help="Stop after this many seconds.")
@click.option(
    "--max-memory",
    type=Finite(0),
    metavar="GB",
    help="Stop before using more memory.  [default: half of the free memory]",
)
@trace_option("Write the counterexample, if there is one")
@json_option
def check_node(
    name: str | None,
    max_seconds: float | None,
    max_memory: float | None,
    paths: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Check every schedule of whole lock nodes, the code that runs in your processes.

    Without a STORY, list the stories: what the processes do, and what happens to them.

    Exit codes: 0 all properties hold in every schedule; 1 a property is violated; 2 wrong
    usage; 3 a limit was reached and 130 interrupted, without a violation so far, which
    proves nothing.
    """
    if name is None:
        list_stories(as_json)
        return
    story = story_named(name)
    for path in paths:
        must_be_drawable(path)
    watch = Watch(max_seconds, max_memory)
    limits = Limits(stop=watch.stop, room=watch.room)
    report = watch.over(node_model(story), limits)
    if report.violation is not None:
        for path in paths:
            write_trace(report.violation.trace, path)
    with exit_with(exit_code(report, watch.interrupted)):
        if as_json:
            print_json(as_keys(story, report, watch.seconds))
        else:
            tell(story, report, watch.seconds)


def list_stories(as_json: bool) -> None:
    if as_json:
        print_json([{"story": one.name, "about": one.about} for one in every()])
        return
    table = plain_table("story", "what happens")
    for story in every():
        table.add_row(f"[bold cyan]{story.name}[/]", story.about)
    console().print(table)


def every() -> Iterator[Story]:
    yield from STORIES
    yield from LARGE_STORIES


def as_keys(story: Story, report: Verdict, seconds: float) -> dict[str, Any]:
    return {
        "story": story.name,
        "about": story.about,
        **report.coverage._asdict(),
        "complete": report.complete,
        "violation": violation_keys(report.violation),
        "everyone_entered": report.everyone_entered,
        "seconds": seconds,
    }


def tell(story: Story, report: Verdict, seconds: float) -> None:
    out = console()
    out.print(verdict(report), soft_wrap=True)
    table = plain_table("", "")
    table.show_header = False
    table.add_row("[bold]story[/]", escape(story.about))
    table.add_row("[bold]covered[/]", covered(report.coverage))
    table.add_row("[bold]time[/]", f"{seconds:.2f} s")
    out.print(table)
    if report.violation is not None:
        for line in schedule(report.violation.trace, None):
            out.print(line, soft_wrap=True)
