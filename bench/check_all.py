"""The larger searches, one process each, as the table of docs/checked.md.

    python -m bench.check_all [NAME…] [--jobs 2] [--on tcp://HOST:8786]

All of it takes most of an hour, and up to 6 GB of memory for each process.  It can be run
in parts: a NAME is that of an algorithm or a story.  It ends with exit code 1 if something
does not hold that should, was cut short, or was found otherwise than docs/checked.md has
it; and with 130 if it is interrupted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache, partial
from os import cpu_count
from pathlib import Path
from typing import Any, NamedTuple

import click

from peerlock.checker.model import Network, model
from peerlock.checker.nodes import LARGE_STORIES, STORIES
from peerlock.cli.check import gigabytes_free
from peerlock.cli.ending import end_with
from peerlock.cli.places import place_options
from peerlock.lab.executor import Place, in_order

Line = Callable[[dict[str, Any]], str]  # of the table, from what was found

RECORDED = Path(__file__).parents[1] / "docs" / "checked.md"
MAX_STATES = 1_000_000_000
MAX_GIGABYTES = 6
UNMEASURED = "not measured"  # it depends on the memory that is left

# A worker that is killed takes its search along.
SEARCH = """
from peerlock.supervision.offspring import die_with_parent
die_with_parent()
from peerlock.__main__ import main
main()
"""


class Row(NamedTuple):
    name: str
    nodes: int
    requests: int | str | None  # by each, or by one node after the other; None: without end
    options: tuple[str, ...] = ()


GRID, PLANE = ("--quorums", "grid"), ("--quorums", "plane")
RING, LINE = ("--topology", "ring"), ("--topology", "line")
MEASURES = ("max_messages_per_entry", "max_overtaken")
COUNTED = ("sites", "units", "groups", "resources")

ROWS = (
    Row("central", 3, 2),
    Row("central", 4, 1),
    Row("central", 4, 2),
    Row("central", 4, None),
    Row("central", 5, 1),
    Row("central", 6, 1),
    Row("lamport", 2, 3),
    Row("lamport", 3, 2),
    Row("lamport", 4, 1),
    Row("lamport", 4, 1, ("--no-fences",)),
    Row("lamport", 3, 3),
    Row("ricart-agrawala", 3, 2),
    Row("ricart-agrawala", 3, 3),
    Row("ricart-agrawala", 4, 1),
    Row("ricart-agrawala", 3, 4),
    Row("ricart-agrawala", 4, "2,1,1,1"),
    Row("ricart-agrawala", 4, 2, ("--no-fences",)),
    Row("carvalho-roucairol", 3, 2),
    Row("carvalho-roucairol", 3, 3),
    Row("carvalho-roucairol", 4, 1),
    Row("carvalho-roucairol", 3, 4),
    Row("maekawa", 3, 2, PLANE),
    Row("maekawa", 3, 2, GRID),
    Row("maekawa", 4, 1, PLANE),
    Row("maekawa", 4, 1, GRID),
    Row("maekawa", 7, "1,1,1,0,0,0,0", PLANE),
    Row("maekawa", 7, "1,1,1,1,0,0,0", PLANE),
    Row("maekawa", 7, "1,1,1,1,1,0,0", PLANE),
    Row("maekawa", 3, 3, PLANE),
    Row("suzuki-kasami", 3, 2),
    Row("suzuki-kasami", 4, 1),
    Row("suzuki-kasami", 3, 2, RING),
    Row("suzuki-kasami", 4, 1, RING),
    Row("suzuki-kasami", 4, 1, LINE),
    Row("suzuki-kasami", 5, 1),
    Row("suzuki-kasami", 4, "2,2,1,1"),
    Row("raymond", 3, 2),
    Row("raymond", 4, 1),
    Row("raymond", 4, 2, LINE),
    Row("raymond", 4, None),
    Row("raymond", 5, 1),
    Row("raymond", 5, 2),
    Row("raymond", 6, 1),
    Row("raymond", 5, None),
    Row("raymond", 7, 1),
    Row("raymond", 6, 2),
    Row("naimi-trehel", 3, 2),
    Row("naimi-trehel", 4, 1),
    Row("naimi-trehel", 4, 2),
    Row("naimi-trehel", 5, 1),
    Row("naimi-trehel", 6, 1),
    Row("naimi-trehel", 3, None),
    Row("naimi-trehel", 4, None),
    Row("naimi-trehel", 5, 2),
    Row("naimi-trehel", 7, 1),
    Row("token-ring", 3, 2),
    Row("token-ring", 4, 1),
    Row("token-ring", 4, None),
    Row("token-ring", 5, 1),
    Row("ricart-agrawala-bounded", 3, 2),
    Row("ricart-agrawala-bounded", 4, 1),
    Row("ricart-agrawala-bounded", 3, None),
    Row("ricart-agrawala-bounded", 3, 3),
    Row("ricart-agrawala-ring", 3, 2),
    Row("ricart-agrawala-ring", 4, 1),
    Row("ricart-agrawala-ring", 3, 3),
    Row("ricart-agrawala-ring-notes", 3, 2),
    Row("ricart-agrawala-ring-notes", 4, 1),
    Row("ricart-agrawala-ring-notes", 3, 3),
    Row("ricart-agrawala-priority", 3, 2),
    Row("ricart-agrawala-priority", 4, 1),
    Row("ricart-agrawala-priority", 3, 3),
    Row("ricart-agrawala-broadcast", 3, 2),
    Row("ricart-agrawala-broadcast", 4, 1),
    Row("ricart-agrawala-broadcast", 3, 3),
    Row("neilsen-mizuno", 3, 2),
    Row("neilsen-mizuno", 4, 1),
    Row("neilsen-mizuno", 4, 2, LINE),
    Row("neilsen-mizuno", 4, None),
    Row("neilsen-mizuno", 5, 1),
    Row("neilsen-mizuno", 6, 1),
    Row("singhal-dynamic", 3, 2),
    Row("singhal-dynamic", 4, 1),
    Row("singhal-dynamic", 3, 3),
    Row("ricart-agrawala-token", 3, 2),
    Row("ricart-agrawala-token", 4, 1),
    Row("ricart-agrawala-token", 5, 1),
    Row("majority", 3, 2),
    Row("majority", 4, 1),
    Row("majority", 3, 2, ("--crashes", "1")),
    Row("majority", 4, "1,1,1,0", ("--crashes", "1")),
    Row("majority", 5, "1,1,0,0,0", ("--crashes", "2")),
    Row("majority", 5, "1,1,1,0,0"),
    Row("weighted-majority", 3, 2),
    Row("weighted-majority", 4, 1),
    Row("weighted-majority", 3, 3),
    Row("majority-spare", 2, 3),
    Row("majority-spare", 3, 1),
    Row("majority-spare", 3, "2,1,0"),
    Row("majority-spare", 3, 1, ("--crashes", "1")),
    Row("majority-spare", 4, "1,1,0,0"),
    Row("majority-spare", 4, "1,1,1,0"),
    Row("weighted-majority-spare", 4, "1,1,0,0"),
    Row("weighted-majority-spare", 3, "1,1,1", ("--votes", "2,2,1")),
    Row("singhal-heuristic", 3, 2),
    Row("singhal-heuristic", 4, 1),
    Row("singhal-heuristic", 4, "1,1,1,2"),
    Row("sanders", 3, 2, PLANE),
    Row("sanders", 4, 1, PLANE),
    Row("sanders", 4, 1, GRID),
    Row("sanders", 3, 3, PLANE),
    Row("helary-plouzeau-raynal", 3, 2),
    Row("helary-plouzeau-raynal", 3, 2, LINE),
    Row("helary-plouzeau-raynal", 4, 1),
    Row("helary-plouzeau-raynal", 4, 1, LINE),
    Row("helary-plouzeau-raynal", 4, 1, (*RING, "--no-fences")),
    Row("helary-plouzeau-raynal", 3, "3,2,2"),
    Row("ricart-agrawala-readers-writers", 3, 2),
    Row("ricart-agrawala-readers-writers", 3, 3),
    Row("raymond-k", 3, 2),
    Row("raymond-k", 4, 1),
    Row("srimani-reddy", 3, 2),
    Row("srimani-reddy", 4, 1),
    Row("srimani-reddy", 3, "3,2,2"),
    Row("raynal-prime", 3, 2),
    Row("raynal-prime", 4, 1),
    Row("raynal-prime", 3, None),
    Row("raynal-prime", 5, 1),
    Row("maekawa-sequential", 3, 2, PLANE),
    Row("maekawa-sequential", 3, 2, GRID),
    Row("maekawa-sequential", 4, 1, PLANE),
    Row("maekawa-sequential", 4, 1, GRID),
    Row("maekawa-sequential", 4, None, GRID),
    Row("maekawa-sequential", 3, 3, PLANE),
    Row("maekawa-cyclic", 3, 2, PLANE),
    Row("maekawa-cyclic", 3, 2, GRID),
    Row("maekawa-cyclic", 4, 1, PLANE),
    Row("maekawa-cyclic", 4, 1, GRID),
    Row("maekawa-cyclic", 4, None, GRID),
    Row("maekawa-cyclic", 3, 3, PLANE),
    Row("kakugawa", 3, 1),
    Row("kakugawa", 3, "2,0,2"),
    Row("kakugawa", 3, "2,1,1"),
    Row("kakugawa", 4, "1,0,1,0"),
    Row("kakugawa", 3, 1, ("--crashes", "1")),
    Row("suzuki-kasami-bounded", 3, 2),
    Row("suzuki-kasami-bounded", 4, 1),
    Row("suzuki-kasami-bounded", 2, None),
    Row("suzuki-kasami-bounded", 3, 3),
    Row("agrawal-el-abbadi", 3, 2),
    Row("agrawal-el-abbadi", 4, 1),
    Row("agrawal-el-abbadi", 3, 2, ("--crashes", "1")),
    Row("agrawal-el-abbadi", 4, 1, ("--crashes", "1")),
    Row("agrawal-el-abbadi", 5, "1,1,1,0,0"),
    Row("chaudhuri-edward", 3, 2),
    Row("chaudhuri-edward", 4, 1),
    Row("chaudhuri-edward", 5, 1),
    Row("banerjee-chrysanthis", 3, 2),
    Row("banerjee-chrysanthis", 4, 1),
    Row("banerjee-chrysanthis", 3, "3,2,2"),
    Row("mishra-srimani", 2, 3),
    Row("mishra-srimani", 3, 1),
    Row("mishra-srimani", 2, 4),
    Row("mizuno-neilsen-rao", 3, 2),
    Row("mizuno-neilsen-rao", 4, 1),
    Row("mizuno-neilsen-rao", 3, 2, PLANE),
    Row("mizuno-neilsen-rao", 3, 2, ("--quorums", "tree")),
    Row("mizuno-neilsen-rao", 4, 1, ("--quorums", "tree")),
    Row("mizuno-neilsen-rao", 3, "3,2,2"),
    Row("chaudhuri-91", 3, 2),
    Row("chaudhuri-91", 4, 1),
    Row("chaudhuri-91", 5, 1),
    Row("chaudhuri-91", 6, 1),
    Row("nishio-li-manning", 2, 3),
    Row("nishio-li-manning", 3, 1),
    Row("nishio-li-manning", 2, 4),
    Row("nishio-li-manning-apart", 2, 1),
    Row("nishio-li-manning-apart", 2, 2),
    Row("ricart-agrawala-implicit", 3, 2),
    Row("ricart-agrawala-implicit", 4, 1),
    Row("ricart-agrawala-implicit", 3, 3),
    Row("ricart-agrawala-implicit-broadcast", 3, 2),
    Row("ricart-agrawala-implicit-broadcast", 3, "3,2,2"),
    Row("ricart-agrawala-delaying", 3, 2),
    Row("ricart-agrawala-delaying", 3, 3),
    Row("ricart-agrawala-delaying", 4, 1),
    Row("ricart-agrawala-insertion", 2, 3),
    Row("ricart-agrawala-insertion", 3, 1),
    Row("ricart-agrawala-insertion", 2, 4),
    Row("raymond-piggyback", 4, 2, LINE),
    Row("raymond-piggyback", 5, 1),
    Row("raymond-piggyback", 6, 1),
    Row("agrawal-el-abbadi-trees", 4, 1),
    Row("agrawal-el-abbadi-trees", 4, 1, ("--crashes", "1")),
    Row("agrawal-el-abbadi-trees", 5, 1),
    Row("mishra-srimani-bounded", 2, 3),
    Row("mishra-srimani-bounded", 3, 1),
    Row("mishra-srimani-bounded", 2, None, ("--crashes", "0")),
    Row("mishra-srimani-bounded", 2, 4),
    Row("srimani-reddy-bounded", 3, "0,2,2"),
    Row("srimani-reddy-bounded", 4, 1),
    Row("maekawa-relinquish", 3, 2, PLANE),
    Row("maekawa-relinquish", 4, 1, GRID),
    Row("maekawa-relinquish", 3, 3, PLANE),
    Row("maekawa-relinquish", 3, 2, GRID),
    Row("raymond-echo", 3, 2, RING),
    Row("raymond-echo", 4, 1, LINE),
    Row("raymond-echo", 3, None, RING),
    Row("raymond-echo", 3, 3, RING),
    Row("raymond-echo", 4, 1, RING),
    Row("suzuki-kasami-by-number", 3, 2),
    Row("suzuki-kasami-by-number", 4, 1),
    Row("suzuki-kasami-by-number", 3, 3),
    Row("ricart-agrawala-broadcast-ordered", 3, 2),
    Row("ricart-agrawala-broadcast-ordered", 4, 1),
    Row("ricart-agrawala-broadcast-ordered", 3, 3),
    Row("naimi-trehel-failures", 3, 2),
    Row("naimi-trehel-failures", 4, 1),
    Row("naimi-trehel-failures", 3, None),
    Row("naimi-trehel-failures", 3, 3),
    Row("ricart-agrawala-failures", 2, 3),
    Row("ricart-agrawala-failures", 3, 1),
    Row("ricart-agrawala-failures", 3, 2, ("--crashes", "0")),
    Row("ricart-agrawala-failures", 2, 4),
    Row("maekawa-takeover", 3, 2, PLANE),
    Row("maekawa-takeover", 4, 1, PLANE),
    Row("maekawa-takeover", 4, 1, GRID),
    Row("maekawa-takeover", 3, 1, ("--crashes", "2")),
    Row("maekawa-takeover", 3, 3, PLANE),
    Row("raymond-recovery", 3, 2),
    Row("raymond-recovery", 4, 1),
    Row("raymond-recovery", 3, 1, (*LINE, "--crashes", "3")),
    Row("raymond-recovery", 3, None),
    Row("raymond-recovery", 5, 1),
    Row("raymond-recovery", 3, 3),
    Row("mishra-srimani-coordinator", 2, 3),
    Row("mishra-srimani-coordinator", 3, 1),
    Row("mishra-srimani-coordinator", 2, 4),
    Row("chaudhuri-95", 3, 2),
    Row("chaudhuri-95", 4, 1),
    Row("chaudhuri-95", 5, 1),
    Row("chaudhuri-95", 6, 1),
    Row("chaudhuri-karaata", 3, 2),
    Row("chaudhuri-karaata", 4, 1),
    Row("chaudhuri-karaata", 5, 1),
    Row("chaudhuri-karaata", 5, None),
    Row("chaudhuri-karaata", 6, 1),
    Row("dijkstra-ring", 3, 2),
    Row("dijkstra-ring", 3, None),
    Row("dijkstra-ring", 3, 3),
    Row("dijkstra-ring", 4, 1),
    Row("cao-singhal", 3, "2,1,1", PLANE),
    Row("cao-singhal", 3, 1, GRID),
    Row("cao-singhal", 4, "1,1,1,0", GRID),
    Row("lodha-kshemkalyani", 3, "2,1,1"),
    Row("lodha-kshemkalyani", 3, 2),
    Row("lodha-kshemkalyani", 4, 1),
    Row("mueller-priority", 3, 2),
    Row("mueller-priority", 3, 2, ("--priorities", "3,2,1")),
    Row("mueller-priority", 3, None),
    Row("mueller-priority", 4, 1, ("--priorities", "4,3,2,1")),
    Row("mueller-priority", 4, 1),
    Row("mueller-priority", 5, 1),
    Row("mueller-priority", 4, 2),
    Row("joung", 3, 1),
    Row("joung", 3, 1, ("--groups", "1")),
    Row("joung", 3, 2),
    Row("raynal-k-of-l", 3, 1),
    Row("raynal-k-of-l", 2, 2, ("--units", "3")),
    Row("raynal-k-of-l", 2, 3),
    Row("raynal-k-of-l", 3, "2,1,1"),
    Row("sopena-arantes-sens", 3, 2, ("--sites", "2")),
    Row("sopena-arantes-sens", 4, 1, ("--sites", "2")),
    Row("sopena-arantes-sens", 3, None, ("--sites", "2")),
    Row("sopena-arantes-sens", 5, 1, ("--sites", "2")),
    Row("sopena-arantes-sens", 4, 2, ("--sites", "2")),
    Row("chandy-misra", 3, 1, ("--resources", "1")),
    Row("chandy-misra", 3, 1),
    Row("chandy-misra", 2, None),
    Row("chandy-misra", 2, 3),
    Row("chandy-misra", 3, 2, ("--resources", "1")),
    Row("chandy-misra", 3, "2,1,1"),
    Row("bouabdallah-laforest", 3, 1),
    Row("bouabdallah-laforest", 3, "2,1,1"),
    Row("bouabdallah-laforest", 2, 2, ("--resources", "3")),
)


class Ring(NamedTuple):
    """Dijkstra's, searched from every state, and what is to be found."""

    nodes: int
    values: int
    beginnings: int
    states: int
    unsafe: int

    @property
    def converges(self) -> bool:
        return self.values >= 2 * self.nodes


RINGS = (
    Ring(2, 2, 163, 691, 321),
    Ring(2, 3, 433, 2_057, 837),
    Ring(2, 4, 901, 4_415, 1_541),
    Ring(2, 5, 1_621, 7_965, 2_513),
    Ring(3, 2, 2_917, 26_159, 21_807),
    Ring(3, 3, 15_553, 174_800, 151_948),
    Ring(3, 4, 54_001, 681_300, 593_004),
    Ring(3, 5, 145_801, 1_966_408, 1_704_476),
    Ring(3, 6, 333_397, 4_699_582, 4_058_350),
)


STORY_NAMES = tuple(story.name for story in STORIES + LARGE_STORIES)

# States and transitions of the large stories; tests/checker has those of the others.
PINNED = {
    "three-deaths": (2_437_058, 7_790_402),
    "three-returns": (3_350_578, 13_356_457),
    "three-leases": (135_093, 442_048),
    "home-lease": (1_448_551, 5_969_015),
    "three-leave": (676_631, 2_155_884),
    "newcomer-and-death": (44_147, 110_023),
    "late-reader": (161_679, 392_210),
    "elders": (1_832_152, 6_619_784),
    "three-permits": (723_058, 2_197_349),
    "given-back": (998_081, 3_746_170),
    "ticks": (531_737, 1_239_234),
}


@click.command()
@click.argument("names", nargs=-1)
@place_options
def main(names: tuple[str, ...], place: Place) -> None:
    """Search the rows of the algorithms NAMES and the stories NAMES, or all of both."""
    place = place if place.on or place.jobs else Place(processes())
    if unknown := set(names) - {row.name for row in ROWS} - set(STORY_NAMES):
        raise click.UsageError(f"no row or story is called {min(unknown)}")
    try:
        codes = rows([row for row in ROWS if not names or row.name in names], place)
        if not names or "dijkstra-ring" in names:
            codes += rings(place)
        codes += stories(
            [name for name in STORY_NAMES if not names or name in names], place
        )
    except KeyboardInterrupt:
        click.echo("interrupted: what was printed is complete", err=True)
        sys.exit(130)
    sys.exit(1 if any(codes) else 0)


def rows(chosen: list[Row], place: Place) -> list[int]:
    """The algorithms: the first table."""
    if not chosen:
        return []
    click.echo(
        "| algorithm | nodes | requests | network | verdict | states | transitions |"
        " depth | messages per entry | overtaken | seconds |"
    )
    click.echo("| --- " * 11 + "|")
    differ: list[str] = []
    lines: list[Line] = [partial(row_line, differ, row) for row in chosen]
    codes = report(list(map(command, chosen)), lines, place)
    return [*codes, say_what_differs(differ)]


def row_line(differ: list[str], row: Row, found: dict[str, Any]) -> str:
    told = line(row, found)
    if not any(alike(told, recorded) for recorded in recorded_lines()):
        differ.append(f"{row.name} {row.nodes} {row.requests}")
    return told


def alike(told: str, recorded: str) -> bool:
    """But for the seconds, and for what there was no memory to measure."""
    pairs = zip(told.split(" | ")[:-1], recorded.split(" | ")[:-1], strict=False)
    same = all(one == other or UNMEASURED in (one, other) for one, other in pairs)
    return same and told.count("|") == recorded.count("|")


@cache
def recorded_lines() -> list[str]:
    return RECORDED.read_text().splitlines()


def say_what_differs(names: list[str]) -> int:
    if names:
        click.echo(f"\nother counts than those that are recorded: {', '.join(names)}")
    return int(bool(names))


def processes() -> int:
    """As many as there are processors, and memory for the largest searches."""
    return max(1, min(cpu_count() or 1, int(gigabytes_free() // MAX_GIGABYTES)))


def rings(place: Place) -> list[int]:
    """A code for each: 1 if what is found is not what is to be found."""
    click.echo("\n| nodes | values | begun from | states | of them unsafe | verdict |")
    click.echo("| --- " * 6 + "|")
    told: list[str] = []
    lines: list[Line] = [partial(ring_line, told)] * len(RINGS)
    report(list(map(ring_command, RINGS)), lines, place)
    return [int(line != expected(ring)) for line, ring in zip(told, RINGS, strict=True)]


def ring_command(ring: Ring) -> list[str]:
    size = ["-n", str(ring.nodes), "--values", str(ring.values)]
    limits = ["--max-memory", str(MAX_GIGABYTES)]
    return ["check", "dijkstra-ring", *size, "--everywhere", *limits, "--json"]


def ring_line(told: list[str], found: dict[str, Any]) -> str:
    counts = (found[key] for key in ("beginnings", "states", "unsafe"))
    ring = Ring(found["nodes"], found["settings"]["values"], *counts)
    told.append(ring_cells(ring, found["converges"]) if found["complete"] else "cut short")
    return told[-1]


def expected(ring: Ring) -> str:
    return ring_cells(ring, ring.converges)


def ring_cells(ring: Ring, converges: bool) -> str:
    verdict = "converges" if converges else "two are inside again and again"
    return f"| {' | '.join(f'{count:,}' for count in ring)} | {verdict} |"


def stories(names: list[str], place: Place) -> list[int]:
    """Whole nodes: the second table."""
    if not names:
        return []
    click.echo("\n| story | verdict | states | transitions | depth | seconds |")
    click.echo("| --- " * 6 + "|")
    memory = ["--max-memory", str(MAX_GIGABYTES), "--json"]
    commands = [["check-node", name, *memory] for name in names]
    differ: list[str] = []
    codes = report(commands, [partial(story_line, differ)] * len(names), place)
    return [*codes, say_what_differs(differ)]


def report(commands: list[list[str]], lines: list[Line], place: Place) -> list[int]:
    """Print a line for each, in order, as soon as it is there."""
    codes: list[int] = []
    with closing(in_order(search, commands, place)) as results:
        for (code, out, err), told in zip(results, lines, strict=True):
            if code not in (0, 1, 3):
                sys.exit(f"a search ended with {code}: {err}")
            click.echo(told(json.loads(out)))
            codes.append(code)
    return codes


def search(arguments: list[str]) -> tuple[int, str, str]:
    """In a process of its own, whose memory is free again afterwards."""
    command = [sys.executable, "-c", SEARCH, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def story_line(differ: list[str], found: dict[str, Any]) -> str:
    name, states, transitions = found["story"], found["states"], found["transitions"]
    if PINNED.get(name, (states, transitions)) != (states, transitions):
        differ.append(name)
    counts = (f"{found[key]:,}" for key in ("states", "transitions", "depth"))
    cells = [found["story"], verdict(found), *counts, f"{found['seconds']:.1f}"]
    return f"| {' | '.join(cells)} |"


def command(row: Row) -> list[str]:
    asked = ["--forever"] if row.requests is None else ["-r", str(row.requests)]
    limits = ["--max-states", str(MAX_STATES), "--max-memory", str(MAX_GIGABYTES)]
    arguments = ["check", row.name, "-n", str(row.nodes), *asked, *row.options]
    return [*arguments, *limits, "--json"]


def line(row: Row, found: dict[str, Any]) -> str:
    asked = "without end" if row.requests is None else str(row.requests)
    cells = [
        row.name,
        str(row.nodes),
        asked,
        network(row, Network(**found["network"])),
        verdict(found),
        f"{found['states']:,}",
        f"{found['transitions']:,}",
        str(found["depth"]),
        *(UNMEASURED if found["unmeasured"] else number(found[key]) for key in MEASURES),
        f"{found['seconds']:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def network(row: Row, found: Network) -> str:
    assumptions = model(row.name, row.nodes, 1, found).assumptions
    return ", ".join([assumptions, *structure(row)])


def structure(row: Row) -> Iterator[str]:
    """What the network does not say: `plane`, `2 sites`, `1 group`, `no-fences`."""
    options = iter(row.options)
    for option in options:
        name = option.removeprefix("--")
        if name == "no-fences":
            yield name
            continue
        value = next(options)
        if name in COUNTED:
            yield f"{value} {name.removesuffix('s') if value == '1' else name}"
        elif name != "crashes":
            yield value


def verdict(found: dict[str, Any]) -> str:
    if found["violation"]:
        return f"**{found['violation']['property']}**"
    return "holds" if found["complete"] else "**cut short**"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    end_with(main)
