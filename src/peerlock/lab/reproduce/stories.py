"""A paper's story: a table of steps, and what the paper says follows each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peerlock.simulator.transcript import play


@dataclass(frozen=True)
class Scene:
    """The paper may be silent about what follows a step, which is then done nevertheless.

    Steps are written as `peerlock.simulator.transcript` has them.
    """

    name: str
    steps: tuple[tuple[str, str | None], ...]

    @property
    def told(self) -> list[str]:
        return [outcome for _, outcome in self.steps if outcome is not None]


def replayed(header: str, scenes: Sequence[Scene], name: str) -> list[str]:
    """What really follows the steps of a scene that the paper describes."""
    names = [scene.name for scene in scenes]
    before = scenes[: names.index(name)]
    scene = scenes[names.index(name)]
    done = [step for earlier in before for step, _ in earlier.steps]
    steps = [step for step, _ in scene.steps]
    played, _ = play("\n".join([header.strip(), *done, *steps]))
    outcomes = outcomes_of(played)[-len(steps) :]
    both = zip(scene.steps, outcomes, strict=True)
    return [outcome for (_, told), outcome in both if told is not None]


def outcomes_of(played: str) -> list[str]:
    """What followed each line that stands at the margin."""
    found: list[list[str]] = []
    for line in played.splitlines():
        if line.startswith("    "):
            found[-1].append(line.strip())
        else:
            found.append([])
    return ["; ".join(outcome) for outcome in found]
