"""Many tasks at a time: the same results wherever they are performed, and nothing hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from logging import CRITICAL
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from peerlock.core.errors import UsageError
from peerlock.lab import executor
from peerlock.lab.compare import compare
from peerlock.lab.executor import Place, TaskFailed, WorkerDied, as_done, in_order
from peerlock.simulator.experiment import Experiment
from peerlock.simulator.experiment import compare as in_turn

distributed = pytest.importorskip("distributed")


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


def vanish_once(task: tuple[int, str]) -> int:
    """The first worker that gets task 3 is killed."""
    number, mark = task
    if number == 3 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def double(task: int) -> int:
    return 2 * task


def late(task: tuple[int, str]) -> int:
    """The first of nine tasks ends when the last has begun, which leaves its mark."""
    number, mark = task
    if number == 8:
        Path(mark).touch()
    limit = time.monotonic() + 20
    while number == 0 and not Path(mark).exists() and time.monotonic() < limit:
        time.sleep(0.01)
    return number


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    before = set(active_children())
    yield
    assert set(active_children()) <= before


@pytest.mark.parametrize(
    ("work", "error"),
    [(fail, ZeroDivisionError), (fail_strangely, TaskFailed), (vanish, WorkerDied)],
)
def test_what_nobody_foresaw_is_raised_here(
    work: Callable[[int], int], error: type[Exception]
) -> None:
    with pytest.raises(error):
        list(in_order(work, range(10), Place(2)))


def test_the_task_of_a_worker_that_dies_is_performed_by_another(tmp_path: Path) -> None:
    tasks = [(number, str(tmp_path / "mark")) for number in range(10)]
    assert list(in_order(vanish_once, tasks, Place(2))) == list(range(10))


def test_results_come_in_order_though_the_first_is_late(tmp_path: Path) -> None:
    tasks = [(number, str(tmp_path / "mark")) for number in range(9)]
    assert list(in_order(late, tasks, Place(3))) == list(range(9))
    (tmp_path / "mark").unlink()
    first, *_ = as_done(late, tasks, Place(3))
    assert first != (0, 0)


def test_tasks_may_be_without_end() -> None:
    with closing(in_order(double, count(), Place(2))) as results:
        assert [next(results) for _ in range(5)] == [0, 2, 4, 6, 8]


def test_workers_do_not_outlive_a_parent_that_is_killed() -> None:
    code = (
        "import multiprocessing as m, itertools, os\n"
        "from peerlock.lab.executor import Place, in_order\n"
        "results = in_order(abs, itertools.count(), Place(3))\n"
        "next(results)\n"
        "print(*(c.pid for c in m.active_children()), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pids = done.stdout.split()  # run() returns when all that hold the pipe are gone
    assert len(pids) == 3
    assert not any(Path(f"/proc/{pid}/fd/1").exists() for pid in pids)


def test_workers_end_with_their_parent_in_the_middle_of_a_task() -> None:
    code = (
        "import os, time\n"
        "from threading import Timer\n"
        "from peerlock.lab.executor import Place, in_order\n"
        "Timer(0.2, os.kill, (os.getpid(), 9)).start()\n"
        "next(in_order(time.sleep, [600, 600], Place(2)))\n"
    )
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=20)


@pytest.mark.parametrize(
    ("jobs", "on", "text"),
    [
        (0, None, "invalid --jobs 0"),
        (2, "local:2", "omit it with --on"),
        (None, "local", "use tcp://HOST:8786 or local:8"),
        (None, "local:0", "use tcp://HOST:8786 or local:8"),
        (None, "8", "use tcp://HOST:8786 or local:8"),
    ],
)
def test_a_place_that_cannot_be_is_refused(
    jobs: int | None, on: str | None, text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        Place(jobs, on)


# A Dask cluster


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A scheduler and two workers, in threads of this process."""
    cluster = distributed.LocalCluster(
        2,
        1,
        processes=False,
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
        silence_logs=CRITICAL,
    )
    with closing(cluster):
        yield cluster.scheduler_address


def test_a_cluster_has_the_same_results_to_the_byte(address: str) -> None:
    experiment = Experiment(("central", "maekawa"), (3, 4), ("heavy",), 2, entries=30)
    here = in_turn(experiment)
    for place in (Place(2), Place(on=address)):
        assert repr(compare(experiment, place)) == repr(here)


def test_an_exception_on_a_cluster_is_raised_here(address: str) -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_order(fail, range(10), Place(on=address)))


def test_tasks_that_nobody_awaits_are_taken_off_the_cluster(address: str) -> None:
    with closing(as_done(double, count(), Place(on=address))) as results:
        next(results)
    with closing(distributed.Client(address)) as client:
        eventually(lambda: not client.run_on_scheduler(held))


def held(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def eventually(true: Callable[[], bool]) -> None:
    for _ in range(500):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never was")


def test_a_worker_of_another_version_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "version", iter(["1", "2", "3"]).__next__)
    with pytest.raises(UsageError, match="install the same version on both"):
        list(in_order(double, range(3), Place(on=address)))


def test_a_scheduler_that_does_not_answer_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor, "PATIENCE", 0.2)
    with pytest.raises(UsageError, match="no scheduler with a worker answers"):
        list(in_order(double, range(3), Place(on="tcp://127.0.0.1:9")))


def test_ctrl_c_while_a_cluster_starts_ends_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    class Starting:
        def __init__(self, *_: Any, **__: Any) -> None:
            signal.raise_signal(signal.SIGINT)

        def close(self) -> None:
            closed.append(self)

    monkeypatch.setattr(distributed, "LocalCluster", Starting)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(in_order(double, range(3), Place(on="local:2")))
    finally:
        signal.signal(signal.SIGINT, before)
    assert closed


def blocks_ctrl_c_and_vanishes_once(task: tuple[int, str]) -> bool:
    vanish_once(task)
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_workers_of_a_new_cluster_ignore_ctrl_c_and_are_replaced(tmp_path: Path) -> None:
    tasks = [(number, str(tmp_path / "mark")) for number in range(6)]
    place = Place(on="local:1")
    assert list(in_order(blocks_ctrl_c_and_vanishes_once, tasks, place)) == [True] * 6


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'peerlock\[dask\]'"):
        list(in_order(double, range(3), Place(on="tcp://127.0.0.1:9")))
