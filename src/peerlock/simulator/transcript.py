"""Transcripts that are tests: a text with steps, and what follows from each.

Lines that start at the margin are steps, indented lines are what follows from them, and
lines with a # are for the reader.  `play` performs the steps and writes what really
follows; a transcript is true if that gives the same text.

    algorithm ricart-agrawala
    nodes 3
    3 requests
        3 sends REQUEST(1) to 1 and 2
    1 receives REQUEST from 3
        1 sends REPLY to 3
    3 leaves
    everything is quiet

Other steps are `3 crashes`, `3 restarts`, and `3 timer token fires` where there are timers.

For algorithms on quorums there is a line `S7 = {2, 7, 10, 13}` for every node, for those
on a topology one like `topology edges:1-2,2-3`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from peerlock.core.errors import UsageError
from peerlock.core.peer import (
    Broadcast,
    CancelTimer,
    Effect,
    NodeId,
    Send,
    SetTimer,
    label,
    listed,
)
from peerlock.core.topology import topology
from peerlock.quorums.constructions import QuorumSystem
from peerlock.simulator.by_hand import ByHand
from peerlock.traces.trace import Kind, Trace

HEADER = re.compile(r"(algorithm|nodes|topology) (\S+)")
SET = re.compile(r"S(\d+) = \{([\d, ]+)\}")
STEP = re.compile(
    r"(\d+) (requests|leaves|crashes|restarts|timer (\w+) fires"
    r"|receives ([A-Z_]+) from (\d+))"
)


def play(text: str) -> tuple[str, Trace]:
    """The transcript with what really follows each step, and the run as a trace."""
    story = TranscriptStory()
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("    "):
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            try:
                lines.extend(f"    {outcome}" for outcome in story.step(line))
            except UsageError as error:
                raise UsageError(f"line {number}, {line!r}: {error}") from None
    return "\n".join(lines) + "\n", story.cluster.trace


class TranscriptStory:
    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.sets: dict[NodeId, tuple[NodeId, ...]] = {}
        self._cluster: ByHand | None = None

    @property
    def cluster(self) -> ByHand:
        if self._cluster is None:
            nodes = int(self.header["nodes"])
            settings: dict[str, Any] = {}
            if "topology" in self.header:
                settings["topology"] = topology(self.header["topology"], nodes)
            if self.sets:
                sets = tuple(self.sets[i] for i in range(1, nodes + 1))
                settings["quorums"] = QuorumSystem("given", sets)
            self._cluster = ByHand(self.header["algorithm"], nodes, **settings)
        return self._cluster

    def step(self, line: str) -> Iterator[str]:
        if match := HEADER.fullmatch(line):
            self.header[match[1]] = match[2]
        elif match := SET.fullmatch(line):
            self.sets[int(match[1])] = tuple(map(int, match[2].split(",")))
        elif match := STEP.fullmatch(line):
            yield from self.tell(int(match[1]), self.do(match))
        elif line == "everything is quiet":
            yield self.rest()
        else:
            raise UsageError("this is not a step")

    def do(self, match: re.Match[str]) -> list[Effect]:
        node = int(match[1])
        if match[2] == "requests":
            return self.cluster.request(node)
        if match[2] == "leaves":
            return self.cluster.leave(node)
        if match[2] == "crashes":
            self.cluster.crash(node)
            return []
        if match[2] == "restarts":
            return self.cluster.restart(node)
        if match[3]:
            return self.cluster.fire(node, match[3])
        return self.cluster.deliver(int(match[5]), node, match[4])

    def tell(self, node: NodeId, effects: list[Effect]) -> Iterator[str]:
        effects = [e for e in effects if not isinstance(e, SetTimer | CancelTimer)]
        told = ((self.verb(effect), effect) for effect in effects)
        for verb, group in groupby(told, key=lambda pair: pair[0]):
            receivers = {to for _, effect in group for to in self.receivers(node, effect)}
            yield f"{node} {verb}" + (f" to {listed(receivers)}" if receivers else "")
        if not effects and node not in self.cluster.gone:
            yield f"{node} says nothing"

    def verb(self, effect: Effect) -> str:
        if isinstance(effect, Send | Broadcast):
            return f"sends {label(effect.message)}"
        return "enters"

    def receivers(self, node: NodeId, effect: Effect) -> set[NodeId]:
        if isinstance(effect, Send):
            return {effect.to}
        if isinstance(effect, Broadcast):
            return set(self.cluster.members) - {node}
        return set()

    def rest(self) -> str:
        if self.cluster.flying:
            flight = self.cluster.flying[0]
            raise UsageError(
                f"{label(flight.message)} is still under way "
                f"from {flight.sender} to {flight.receiver}"
            )
        self.cluster.judge.at_rest()
        entries = sum(step.kind is Kind.ENTER for step in self.cluster.trace)
        return f"{entries} entries, {self.cluster.sent} messages"
