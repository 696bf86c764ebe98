"""Many runs in other processes: what goes wrong there is told here, and nothing hangs."""

from __future__ import annotations

import importlib
import os
import pickle
import pkgutil
import signal
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import active_children

import pytest

import peerlock
from peerlock.lab.compare import compare, in_processes
from peerlock.simulator import Scenario, Violation, simulate
from peerlock.simulator.experiment import Experiment, RunFailed, perform

WORK = ("core", "algorithms", "traces", "simulator", "checker", "lab")
MADE: dict[type[Exception], Exception] = {
    Violation: Violation(2, "1 and 2 are inside together"),
    RunFailed: RunFailed(("lamport", 3, "heavy"), 1, "deadlock"),
}


def our_exceptions() -> Iterator[type[Exception]]:
    for module in pkgutil.walk_packages(peerlock.__path__, "peerlock."):
        if module.name.split(".")[1] in WORK:
            for value in vars(importlib.import_module(module.name)).values():
                own = getattr(value, "__module__", None) == module.name
                if own and isinstance(value, type) and issubclass(value, Exception):
                    yield value


@pytest.mark.parametrize("kind", [*our_exceptions()], ids=lambda kind: kind.__name__)
def test_an_exception_survives_the_way_between_processes(kind: type[Exception]) -> None:
    made = MADE[kind] if kind in MADE else kind("it went wrong")
    came = pickle.loads(pickle.dumps(made))
    assert type(came) is kind
    assert str(came) == str(made)
    assert vars(came) == vars(made)


def test_a_violation_brings_its_trace_along() -> None:
    with pytest.raises(Violation) as failed:
        simulate(Scenario("ricart-agrawala-ties", 3))
    came = pickle.loads(pickle.dumps(failed.value))
    assert came.trace == failed.value.trace
    assert (came.node, came.text) == (failed.value.node, str(failed.value))


def test_the_first_run_that_fails_is_told_whichever_is_done_first() -> None:
    experiment = Experiment(("lamport", "ricart-agrawala-ties"), (3,), ("heavy",), runs=3)
    told = set()
    for jobs in (1, 2, 3):
        with pytest.raises(RunFailed) as failed:
            compare(experiment, jobs)
        told.add(str(failed.value))
    (only,) = told
    assert "ricart-agrawala-ties, 3 nodes, load heavy, seed 1: " in only
    assert "inside together" in only


def test_a_run_that_went_wrong_is_a_text() -> None:
    cell = ("maekawa-without-inquire", 3, "heavy")
    assert "deadlock" in str(perform((cell, 0, Scenario(cell[0], 3)))[2])


def test_when_a_run_went_wrong_no_process_is_left_though_the_error_is_kept() -> None:
    """Its traceback keeps all that the comparison had at hand."""
    before = set(active_children())
    with pytest.raises(RunFailed) as kept:
        compare(Experiment(("ricart-agrawala-ties",), (3,), ("heavy",), runs=20), 2)
    assert set(active_children()) <= before
    assert kept.value


class Strange(Exception):
    """It cannot be made again from what it was made of."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(one + other)


def fail_strangely(task: int) -> int:
    if task == 3:
        raise Strange(1, 2)
    return task


def fail(task: int) -> int:
    return 1 // (3 - task)


def vanish(task: int) -> int:
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


@pytest.mark.parametrize(
    ("work", "error"),
    [
        (fail, ZeroDivisionError),
        (fail_strangely, BrokenProcessPool),
        (vanish, BrokenProcessPool),
    ],
)
def test_what_nobody_foresaw_is_raised_here(
    work: object, error: type[BaseException]
) -> None:
    before = set(active_children())
    with pytest.raises(error):
        list(in_processes(work, range(10), 2))  # type: ignore[arg-type]
    assert set(active_children()) <= before


def double(task: int) -> int:
    return 2 * task


def test_results_come_in_order_and_no_process_is_left() -> None:
    before = set(active_children())
    assert list(in_processes(double, range(20), 3)) == [2 * task for task in range(20)]
    with closing(in_processes(double, range(1000), 2)) as results:
        assert next(results) == 0
    assert set(active_children()) <= before
