"""Guided tours through the papers' stories, and challenges with a judge.

A story is a transcript: its comments are what the tour says, its steps are moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from peerlock.core.errors import UsageError, unknown
from peerlock.core.peer import snake
from peerlock.playground.run import Run, run
from peerlock.playground.setup import Setup
from peerlock.simulator.transcript import HEADER, SET, STEP
from peerlock.traces.trace import Kind

STORIES = {
    "maekawa-figure-2": "Maekawa 1985: nodes 7, 8 and 11 lock each other out",
    "maekawa-late-request": "Maekawa 1985: a late request, and the FAILED that is missing",
    "tr869-figures-a-to-j": "Ricart and Agrawala, TR-869: figures A to J",
    "chaudhuri-edward-figure-2": "Chaudhuri and Edward: figure 2",
}


def story(name: str) -> dict[str, Any]:
    """Its run, and the stops of the tour: what to say after how many moves."""
    if name not in STORIES:
        raise UsageError(unknown("story", name, STORIES))
    lines = (files(__package__) / "stories" / f"{name}.txt").read_text("utf-8").splitlines()
    played = Run(_setup(lines))
    stops: list[dict[str, Any]] = []
    said: list[str] = []
    for line in lines:
        if line.startswith("#"):
            said.append(line[1:].strip())
        elif STEP.fullmatch(line):
            if said:
                stops.append({"at": len(played.moves), "text": " ".join(said)})
                said = []
            played.play(_move(played, line))
    stops.append({"at": len(played.moves), "text": " ".join(said) or "The end."})
    return {"name": name, "title": STORIES[name], "run": played.as_json(), "stops": stops}


def _setup(lines: list[str]) -> Setup:
    headers = [match for line in lines if (match := HEADER.fullmatch(line))]
    header = {match[1]: match[2] for match in headers}
    sets = [match[2] for line in lines if (match := SET.fullmatch(line))]
    settings = {"topology": header["topology"]} if "topology" in header else {}
    if sets:
        parts = (" ".join(part.split(", ")) for part in sets)
        settings["quorums"] = "given:" + "/".join(parts)
    return Setup(header["algorithm"], int(header["nodes"]), settings)


VERBS = {"requests": "r", "leaves": "l", "crashes": "c", "restarts": "s"}


def _move(played: Run, line: str) -> str:
    match = STEP.fullmatch(line)
    assert match is not None
    node = int(match[1])
    if match[3]:
        return f"t{node}:{match[3]}"
    if match[4]:
        number = next(
            f.number
            for f in played.cluster.flying
            if (f.sender, f.receiver) == (int(match[5]), node)
            and snake(type(f.message)).upper() == match[4]
        )
        return f"d{number}"
    return f"{VERBS[match[2]]}{node}"


# Challenges


@dataclass(frozen=True)
class Challenge:
    title: str
    text: str
    setup: Setup
    judge: Callable[[Run], bool]
    moves: tuple[str, ...] = ()
    choices: tuple[int, ...] = ()  # of a question: the nodes to choose from


def _entries_after_request(played: Run, node: int) -> int:
    """How many others have entered since `node` requested, if it still waits."""
    if node not in played.cluster.judge.waiting:
        return 0
    asked = [
        i for i, s in enumerate(played.trace) if s.kind is Kind.REQUEST and s.node == node
    ]
    return sum(s.kind is Kind.ENTER for s in played.trace.steps[asked[-1] :])


def _heard(played: Run, node: int) -> bool:
    return not any(flight.sender == node for flight in played.cluster.flying)


CHALLENGES: dict[str, Challenge] = {
    "deadlock": Challenge(
        "Find the deadlock",
        "Maekawa's algorithm as published can lock itself out. "
        "Get four nodes on the 2×2 grid stuck in fewer than 20 steps.",
        Setup("maekawa-1985", 4, {"quorums": "grid"}),
        lambda played: bool(played.deadlock) and len(played.moves) < 20,
    ),
    "starve": Challenge(
        "Make node 3 starve",
        "This coordinator serves the latest request first. Let the others enter four times "
        "while node 3 waits and its request has long arrived.",
        Setup("central-lifo", 3),
        lambda played: _entries_after_request(played, 3) >= 4 and _heard(played, 3),
    ),
    "together": Challenge(
        "Two inside together",
        "Here ties between equal sequence numbers are not broken. Get two nodes inside.",
        Setup("ricart-agrawala-ties", 2),
        lambda played: "inside together" in played.broken,
    ),
    "overtake": Challenge(
        "Overtake a waiter",
        "Ricart and Agrawala's algorithm is fair, but not first come, first served. Let "
        "node 1 enter although node 2 requested before it.",
        Setup("ricart-agrawala", 3),
        lambda played: _overtook(played, first=2, second=1),
    ),
    "next": Challenge(
        "Which node enters next?",
        "Nodes 3, 2 and 1 have requested in this order, and node 2 is inside. Node 3 and "
        "node 1 wait. Look at the state, then choose.",
        Setup("ricart-agrawala", 3),
        lambda played: False,
        ("r3", "r2", "d3", "d4", "d1", "r1", "d7", "d5", "d6", "d8"),
        (1, 2, 3),
    ),
}


def _overtook(played: Run, first: int, second: int) -> bool:
    asked = [s.node for s in played.trace if s.kind is Kind.REQUEST]
    entered = [s.node for s in played.trace if s.kind is Kind.ENTER]
    if first not in asked or second not in asked or second not in entered:
        return False
    later = asked.index(first) < asked.index(second)
    return later and first not in entered[: entered.index(second)]


def listed() -> dict[str, list[dict[str, Any]]]:
    stories = [{"name": name, "title": title} for name, title in STORIES.items()]
    challenges = [
        {
            "name": name,
            "title": challenge.title,
            "text": challenge.text,
            "run": challenge.setup.as_json() | {"moves": list(challenge.moves)},
            "choices": list(challenge.choices),
        }
        for name, challenge in CHALLENGES.items()
    ]
    return {"stories": stories, "challenges": challenges}


def judged(found: Any) -> dict[str, Any]:
    name = str(found["challenge"])
    if name not in CHALLENGES:
        raise UsageError(unknown("challenge", name, CHALLENGES))
    challenge = CHALLENGES[name]
    if challenge.choices:
        right = entering_next(challenge)
        solved = found.get("choice") == right
        words = (
            f"node {right} enters next" if solved else "another node enters next: try again"
        )
        return {"solved": solved, "text": words}
    played = run(found["run"])
    solved = played.setup == challenge.setup and challenge.judge(played)
    steps = len(played.moves)
    return {"solved": solved, "text": f"solved in {steps} steps" if solved else ""}


def entering_next(challenge: Challenge) -> int:
    """The first node to enter when the nodes inside leave and all messages arrive."""
    played = Run(challenge.setup)
    for move in challenge.moves:
        played.play(move)
    begun = len(played.trace)
    for node in sorted(played.cluster.judge.inside):
        played.play(f"l{node}")
    while played.cluster.flying:
        played.play(f"d{played.cluster.flying[0].number}")
    return next(s.node for s in played.trace.steps[begun:] if s.kind is Kind.ENTER)
