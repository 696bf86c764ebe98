"""A run by hand: a setup and the moves made so far, replayed from the start.

A run is written in JSON as a setup with {"moves": [MOVE, …]}: see `setup` and `moves`.
The same setup and moves always give the same run.  A move that violates a property, or at
which the algorithm fails, is the last one: its trace ends with a violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from peerlock.core.errors import UsageError
from peerlock.core.peer import NodeId
from peerlock.playground import moves as words_of
from peerlock.playground.edits import line_of, name_of, told
from peerlock.playground.setup import Setup, setup
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.violation import Violation
from peerlock.traces.fields import Values, shown, values
from peerlock.traces.trace import Kind, Step, Trace


class Run:
    def __init__(self, made: Setup) -> None:
        self.setup = made
        self.entry = made.entry
        wanted = made.algorithm if made.source is None else name_of(made.algorithm)
        self.cluster = ByHand(wanted, made.nodes, **made.arguments())
        self.moves: list[str] = []
        self.told: list[str] = []  # the moves in words
        self.did: list[list[str]] = []  # the fields that each of them changed
        self.ends: list[int] = [len(self.cluster.trace)]  # steps before each next move
        self.broken = ""  # why no further move is possible
        self.broken_line: int | None = None  # of an edit
        self.before: dict[NodeId, Values] = {}

    @property
    def trace(self) -> Trace:
        return self.cluster.trace

    def play(self, move: str) -> None:
        """Raises UsageError, and changes nothing, if the move is not possible."""
        if self.broken:
            raise UsageError(f"the run is over: {self.broken}")
        if len(self.moves) >= words_of.MOST_MOVES:
            raise UsageError(f"a run has at most {words_of.MOST_MOVES:,} steps")
        words_of.parse(move)
        before = self._state()
        told = self._words(move)
        try:
            words_of.make(self.cluster, move)
        except UsageError:
            raise
        except Violation as violation:
            self._end(violation.node, violation.text)
        except Exception as error:
            self._fail(move, error)
        self.before = before
        self.moves.append(move)
        self.told.append(told)
        self.did.append(list(self._changes()))
        self.ends.append(len(self.trace))

    def _state(self) -> dict[NodeId, Values]:
        return {i: values(peer) for i, peer in self.cluster.peers.items()}

    def _changes(self) -> Iterator[str]:
        for node, now in self._state().items():
            for field in shown(now, self.before[node]):
                if (was := field["before"]) is not None:
                    yield f"{node}: {field['name']} {was} → {field['value']}"

    def _words(self, move: str) -> str:
        try:
            return words_of.words(self.cluster, move)
        except (IndexError, KeyError):
            return move  # and making it says why it is not possible

    def _fail(self, move: str, error: Exception) -> None:
        """The algorithm raised: a RemoteError, or a bug of an edit."""
        kind, number, _ = words_of.parse(move)
        node = self.trace.steps[-1].node if kind in "dxu" else number
        self.broken_line = line_of(error)
        self._end(node, f"node {node} fails: {told(error)}")

    def _end(self, node: NodeId, text: str) -> None:
        self.broken = text
        time = self.trace.steps[-1].time
        self.trace.steps.append(Step(time, Kind.VIOLATION, node, note=text))

    # What follows from it

    @property
    def deadlock(self) -> str:
        """Why nothing more can happen though a node waits, or nothing."""
        cluster = self.cluster
        if self.broken or cluster.flying or cluster.timers or cluster.judge.inside:
            return ""
        try:
            cluster.judge.at_rest()
        except Violation as violation:
            return violation.text
        return ""

    def as_json(self) -> dict[str, Any]:
        return {**self.setup.as_json(), "moves": list(self.moves)}


_latest: list[Run] = []  # the last run, to be continued


def run(found: Any) -> Run:
    """From JSON.  The last run is continued where the moves only grow."""
    made, wanted = setup(found), moves_in(found)
    known = [run for run in _latest if _continues(run, made, wanted)]
    latest = known[0] if known else Run(made)
    _latest.clear()
    for move in wanted[len(latest.moves) :]:
        latest.play(move)
    _latest.append(latest)
    return latest


def _continues(latest: Run, made: Setup, wanted: list[str]) -> bool:
    return latest.setup == made and wanted[: len(latest.moves)] == latest.moves


def moves_in(found: Any) -> list[str]:
    moves = found.get("moves", [])
    if not isinstance(moves, list) or len(moves) > words_of.MOST_MOVES:
        raise UsageError(f"the moves must be a list of at most {words_of.MOST_MOVES:,}")
    return [str(move) for move in moves]


def replay(
    algorithm: str, nodes: int, moves: Sequence[str] | str, **settings: str
) -> Trace:
    """The trace of a run by hand; `moves` may be a text with spaces between them."""
    wanted = moves.split() if isinstance(moves, str) else list(moves)
    found = {"algorithm": algorithm, "nodes": nodes, "settings": settings, "moves": wanted}
    return run(found).trace


# Moved in time


class Moved:
    """The moves with one made earlier or later, as far as they are then possible."""

    def __init__(self, made: Run, at: int, to: int) -> None:
        self.run = Run(made.setup)
        self.dropped: list[str] = []
        planned = _planned(made)
        moved = planned.pop(at)
        planned.insert(to, moved)
        for place, (move, words, letter) in enumerate(planned):
            try:
                self._play(move, letter)
            except UsageError as error:
                if place == to:
                    raise UsageError(f"{words}: {error}") from None
                self.dropped.append(words)

    def _play(self, move: str, letter: words_of.NamedLetter | None) -> None:
        if letter is not None:
            number = words_of.letters(self.run.cluster).get(letter)
            if number is None:
                raise UsageError("it has not been sent then")
            move = f"{move[0]}{number}"
        self.run.play(move)


def _planned(made: Run) -> list[tuple[str, str, words_of.NamedLetter | None]]:
    """Each move, in words, and what it delivers whatever its number will be."""
    again = Run(made.setup)
    planned = []
    for move, told_of_it in zip(made.moves, made.told, strict=True):
        letter = None
        if move[0] in "dxu":
            letter = words_of.letter_of(again.cluster, int(move[1:]))
        planned.append((move, told_of_it, letter))
        again.play(move)
    return planned
