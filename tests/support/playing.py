"""Runs by hand, drawn from a seed: what a person who clicks at random would do."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from peerlock.algorithms.lookup import algorithm
from peerlock.playground import answer
from peerlock.playground.run import Run
from peerlock.playground.setup import Setup
from peerlock.playground.view import node_view


def ask(progress: Callable[[str], None] = lambda _: None, /, **request: Any) -> Any:
    """The engine's answer; an error of it is raised."""
    found = json.loads(answer(json.dumps(request), progress))
    if "error" in found:
        raise AssertionError(found["error"])
    return found["answer"]


def refused(**request: Any) -> dict[str, Any]:
    """The error with which the engine answers."""
    error: dict[str, Any] = json.loads(answer(json.dumps(request)))["error"]
    return error


def random_run(name: str, seed: int = 1, steps: int = 24) -> Run:
    """No crashes, unless the algorithm's exhibit has some: most have no answer to them."""
    shown = algorithm(name).exhibit
    settings = {"quorums": shown.quorums} if shown.quorums else {}
    played, rng = Run(Setup(name, shown.nodes, settings)), Random(seed)
    while len(played.moves) < steps and not played.broken:
        moves = possible(played, crashes=bool(shown.crashes))
        if not moves:
            break
        played.play(rng.choice(moves))
    return played


def possible(played: Run, crashes: bool) -> list[str]:
    actions = [a for i in played.cluster.members for a in node_view(played, i)["actions"]]
    moves = [a["move"] for a in actions if crashes or a["move"][0] != "c"]
    return moves + [f"d{n}" for n in landing(played)] * 2


def landing(played: Run) -> list[int]:
    """The messages that may arrive next."""
    found = []
    for flight in played.cluster.flying:
        try:
            played.cluster.must_be_next(flight)
        except ValueError:
            continue
        found.append(flight.number)
    return found
