"""What is played: an algorithm, the number of its nodes, its settings, and an edit of it.

A setup is written in JSON as {"algorithm": NAME, "nodes": N, "settings": {NAME: VALUE}}
and, if the algorithm was edited, {"source": TEXT}.  A setting is written as on the
command line.  Quorums can also be given one by one, as in `given:1 2/2 3/1 3`: S1, S2, S3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import SETTINGS, arguments
from peerlock.core.errors import UsageError
from peerlock.playground.edits import edited
from peerlock.quorums.constructions import QuorumSystem

MOST_NODES = 60
LONGEST_SOURCE = 200_000
GIVEN = "given:"


@dataclass(frozen=True)
class Setup:
    algorithm: str
    nodes: int
    settings: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None

    @property
    def entry(self) -> Algorithm:
        if self.source is None:
            return algorithm(self.algorithm)
        return edited(self.algorithm, self.source)

    @property
    def chosen(self) -> dict[str, Any]:
        """The settings as the checker and the simulator take them."""
        return {
            name: SETTINGS[name].type(value)
            for name, value in self.settings.items()
            if value
        }

    def arguments(self) -> dict[str, Any]:
        """The arguments to make a peer with."""
        quorums = self.settings.get("quorums", "")
        if quorums.startswith(GIVEN) and self.entry.takes == "quorums":
            return {"quorums": given(quorums, self.nodes)}
        return arguments(self.entry, self.nodes, **self.chosen)

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "algorithm": self.algorithm,
            "nodes": self.nodes,
            "settings": dict(self.settings),
        }
        return found if self.source is None else {**found, "source": self.source}


def setup(found: Any) -> Setup:
    """From JSON; raises UsageError for what is not a setup."""
    try:
        made = Setup(
            str(found["algorithm"]),
            _nodes(found["nodes"]),
            {
                str(k): str(v)
                for k, v in dict(found.get("settings") or {}).items()
                if v != ""
            },
            None if found.get("source") is None else str(found["source"]),
        )
        made.chosen  # noqa: B018 - raises if a number is not one
    except (KeyError, TypeError, AttributeError):
        raise UsageError("this is not a run: choose an algorithm") from None
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"invalid setting: {error}") from None
    _validate(made)
    return made


def _nodes(found: Any) -> int:
    if not isinstance(found, int) or not 1 <= found <= MOST_NODES:
        raise UsageError(f"invalid number of nodes {found}: use 1 to {MOST_NODES}")
    return found


def _validate(made: Setup) -> None:
    if made.source is not None and len(made.source) > LONGEST_SOURCE:
        raise UsageError(f"the edit is too long: use at most {LONGEST_SOURCE:,} characters")
    if made.source is None and (made.algorithm.endswith(".py") or ":" in made.algorithm):
        raise UsageError(
            f"unknown algorithm {made.algorithm!r}: use a name of the catalogue"
        )
    try:
        made.arguments()
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from None


def number(found: Any, name: str, default: float, kind: type = int) -> Any:
    """What a request says of it; raises UsageError unless that is 0 or more."""
    try:
        value = kind(found.get(name, default))
    except (TypeError, ValueError):
        raise UsageError(f"invalid {name}: use a number") from None
    if not value >= 0:
        raise UsageError(f"invalid {name} {value}: use 0 or more")
    return value


def given(text: str, nodes: int) -> QuorumSystem:
    try:
        sets = tuple(
            tuple(sorted(map(int, part.split())))
            for part in text.removeprefix(GIVEN).split("/")
        )
    except ValueError:
        raise UsageError("invalid quorums: use given:1 2/2 3/1 3") from None
    known = range(1, nodes + 1)
    if len(sets) != nodes or not all(s and set(s) <= set(known) for s in sets):
        raise UsageError(f"invalid quorums: use one set of 1..{nodes} for each node")
    return QuorumSystem("given", sets)
