"""A comparison on all processors, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing

from peerlock.lab.executor import HERE, Place, in_order
from peerlock.simulator.experiment import Experiment, Outcome, Result, Task, perform
from peerlock.simulator.experiment import compare as in_turn


def compare(
    experiment: Experiment,
    place: Place = HERE,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Result]:
    """Like `peerlock.simulator.compare`, with the same results, many runs at a time."""
    with ExitStack() as at_the_end:  # and not when Python collects garbage

        def perform_all(tasks: Iterable[Task]) -> Iterable[Outcome]:
            outcomes = in_order(perform, tasks, place)
            return at_the_end.enter_context(closing(outcomes))

        return in_turn(experiment, progress, perform_all)
