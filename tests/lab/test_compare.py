"""Many runs in other processes: what goes wrong there is told here, and nothing hangs."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from multiprocessing import active_children

import pytest

import peerlock
from peerlock.lab.compare import compare
from peerlock.lab.executor import Place
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
            compare(experiment, Place(jobs))
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
        compare(Experiment(("ricart-agrawala-ties",), (3,), ("heavy",), runs=20), Place(2))
    assert set(active_children()) <= before
    assert kept.value
