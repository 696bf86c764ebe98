"""The runs that are drawn: small, seeded, and each by a command that its page shows."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import click

from handbook.book import ROOT
from peerlock.algorithms.entry import Algorithm
from peerlock.checker.check import check
from peerlock.checker.model import exhibit
from peerlock.checker.report import Verdict
from peerlock.checker.search import Limits
from peerlock.cli.main import cli
from peerlock.cli.simulate import scenario_from
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import empty_trace, simulate
from peerlock.simulator.transcript import play
from peerlock.traces.trace import Trace

THREE = "-n 4 --schedule 2@0,4@0.5,3@1"

# Where three requests at about the same time among four nodes do not show it.
SPECIAL = {
    "agrawal-el-abbadi": "-n 7 --schedule 4@0,7@12 --crash 1@6",
    "banerjee-chrysanthis": "-n 4 --schedule 2@0,4@0.5,3@1,2@9",
    "bouabdallah-laforest": "-n 4 --resources 3 --seed 2 --schedule 2@0,4@0.5,3@1",
    "cao-singhal": "-n 4 --quorums grid --schedule 2@0,3@0.5,4@1",
    "carvalho-roucairol": "-n 4 --schedule 2@0,3@1,2@9,4@16",
    "chandy-misra": "-n 4 --resources 3 --seed 2 --schedule 2@0,4@0.5,3@1",
    "chaudhuri-91": "-n 9 --schedule 5@0,9@0.5",
    "chaudhuri-95": "-n 9 --schedule 5@0,9@0.5",
    "chaudhuri-edward": "-n 9 --schedule 5@0,9@0.5,6@1",
    "chaudhuri-karaata": "-n 8 --schedule 5@0,8@0.5",
    "dijkstra-ring": "-n 5 --schedule 2@0,4@0.5,3@1",
    "joung": "-n 4 --groups 2 --seed 3 --schedule 2@0,4@0.3,3@0.6,1@0.9",
    "kakugawa": "-n 7 --permits 2 --schedule 2@0,4@0.5,3@1",
    "maekawa": "-n 7 --schedule 2@0,4@0.5",
    "maekawa-takeover": "-n 7 --schedule 2@0,4@10 --crash 5@6",
    "mishra-srimani": "-n 4 --schedule 2@0,3@6 --crash 2@3.2",
    "mizuno-neilsen-rao": "-n 6 --schedule 2@0,6@0.5,3@1",
    "mueller-priority": "-n 4 --priorities 1,2,3,4 --schedule 2@0,3@0.5,4@1",
    "naimi-trehel": "-n 5 --schedule 2@0,4@0.5,3@1,5@8",
    "naimi-trehel-failures": "-n 4 --schedule 2@0,3@6 --crash 2@3.2",
    "nishio-li-manning": "-n 3 --schedule 2@0,3@1 --loss 0.1 --seed 7",
    "nishio-li-manning-apart": "-n 3 --schedule 2@0,3@6 --crash 2@8-20",
    "neilsen-mizuno": "-n 6 --topology tree --schedule 4@0,6@0.5,2@1",
    "raymond": "-n 7 --schedule 4@0,7@0.5,2@1",
    "raymond-recovery": "-n 4 --schedule 2@0,3@6 --crash 2@8-20",
    "raymond-k": "-n 4 --permits 2 --schedule 2@0,4@0.5,3@1",
    "raynal-k-of-l": "-n 4 --units 3 --schedule 2@0,4@0.5,3@1",
    "ricart-agrawala-readers-writers": (
        "-n 4 --shared 0.5 --schedule 2@0,4@0.3,3@0.6,1@0.9"
    ),
    "ricart-agrawala-failures": "-n 4 --schedule 2@0,3@6 --crash 4@3",
    "sanders": "-n 7 --schedule 2@0,4@0.5",
    "singhal-heuristic": "-n 5 --schedule 2@0,4@0.5,3@1",
    "sopena-arantes-sens": "-n 6 --sites 2 --schedule 2@0,5@0.5,3@1,4@1.5",
    "srimani-reddy": "-n 4 --permits 2 --schedule 2@0,4@0.5,3@1",
    "token-ring": "-n 5 --schedule 2@0,4@0.5,3@1",
    "weighted-majority": "-n 4 --schedule 2@0,4@0.5",
    "weighted-majority-spare": "-n 4 --schedule 2@0,4@0.5",
}


def command_of(entry: Algorithm) -> str:
    return f"peerlock simulate {entry.name} {SPECIAL.get(entry.name, THREE)}"


def parsed(command: str) -> click.Context:
    """What click makes of a command, without running it."""
    program, name, *arguments = shlex.split(command)
    assert program == "peerlock", command
    found = cli.get_command(click.Context(cli), name)
    assert found is not None, command
    return found.make_context(name, arguments)


def scenario_of(command: str) -> Scenario:
    given = {
        k: v for k, v in parsed(command).params.items() if k not in ("paths", "as_json")
    }
    return scenario_from(**given)


def run_of(entry: Algorithm) -> Trace:
    scenario = scenario_of(command_of(entry))
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    return trace


# Stories


@dataclass(frozen=True)
class Story:
    name: str
    algorithm: str
    text: str
    trace: Trace

    @property
    def title(self) -> str:
        """The first sentence of what it says of itself."""
        lines = takewhile(lambda line: line.startswith("# "), self.text.splitlines())
        return " ".join(line[2:] for line in lines).partition(". ")[0].removesuffix(".")


def stories() -> list[Story]:
    """The examples of the papers, told in tests/transcripts and by the lab."""
    folders = (
        ROOT / "tests" / "transcripts",
        ROOT / "src" / "peerlock" / "playground" / "stories",
    )
    paths = (path for folder in folders for path in folder.glob("*.txt"))
    return [story(path) for path in sorted(paths, key=lambda path: path.name)]


def story(path: Path) -> Story:
    text = path.read_text()
    _, trace = play(text)
    return Story(path.stem, trace.algorithm, text, trace)


# Counterexamples


@dataclass(frozen=True)
class Wrong:
    """How a piece of the museum goes wrong, by the shortest way."""

    verdict: str  # in words
    depth: int
    states: int
    trace: Trace | None  # None: drawn before, as the search takes too long


MOST_STATES = 2_000_000  # of a search while the site is built: some ten seconds

# Longer than the rest together: docs/museum has the picture, by the command on its page.
SLOW = {
    "suzuki-kasami-lifo": Wrong(
        "starvation: 2 waits for ever while steps 12 to 53 repeat", 53, 1_219_661, None
    )
}


def wrong(name: str) -> Wrong:
    if name in SLOW:
        return SLOW[name]
    return told(check(exhibit(name), Limits(MOST_STATES)))


def told(report: Verdict) -> Wrong:
    found = report.violation
    states = report.coverage.states
    if found is not None:
        return Wrong(found.text, found.depth, states, found.trace)
    trace = report.overtaking
    assert trace is not None, f"{report.model.name}: nothing wrong was found {report.cut}"
    times = report.max_overtaken
    return Wrong(
        f"overtaking: {times} entries of others overtake one", len(trace), states, trace
    )
