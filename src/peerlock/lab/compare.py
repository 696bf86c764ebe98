"""A comparison on all processors."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from multiprocessing import active_children
from typing import TypeVar

from peerlock.simulator.experiment import Experiment, Outcome, Result, Task, perform
from peerlock.simulator.experiment import compare as in_turn

T = TypeVar("T")
R = TypeVar("R")


def compare(
    experiment: Experiment,
    jobs: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Result]:
    """Like `peerlock.simulator.compare`, in `jobs` processes, or one for each processor."""
    with ExitStack() as at_the_end:  # and not when Python collects garbage

        def perform_all(tasks: Iterable[Task]) -> Iterable[Outcome]:
            outcomes = in_processes(perform, list(tasks), jobs)
            return at_the_end.enter_context(closing(outcomes))

        return in_turn(experiment, progress, perform_all)


def in_processes(
    work: Callable[[T], R], tasks: Sequence[T], jobs: int | None = None
) -> Generator[R, None, None]:
    """The outcomes of the tasks, in order.

    If one fails, by an unexpected error or by the end of its process, or if the caller
    stops iterating, all processes are ended.
    """
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs or os.cpu_count(), initializer=leave_ctrl_c)
    try:
        # Not by pool.map(), which cancels the rest, and the pool's own thread stumbles over
        # what was cancelled when its processes end.
        for future in [pool.submit(work, task) for task in tasks]:
            yield future.result()
    except BaseException:
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def leave_ctrl_c() -> None:
    """Ctrl-C is for the parent, which then stops the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
