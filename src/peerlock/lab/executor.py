"""Many tasks at a time: in processes here, or on a Dask cluster.

1. A task is a function and its argument, and its result depends on nothing else.  So it
   makes no difference where a task is performed, in which order, and how often.
2. `as_done` yields each result with the number of its task, as soon as there is one.
   `in_order` yields the results in the order of the tasks.  Tasks are taken from their
   iterable a few at a time, so there may be any number of them.
3. When a worker dies, another one performs its task.  A task that has cost ATTEMPTS
   workers raises `WorkerDied`.
4. An exception of a task is raised here.  If it cannot travel, `TaskFailed` says what it
   was.
5. The iteration may end by the last result, by an exception, by Ctrl-C, or because the
   caller closes it.  However it ends, no worker that was started here is left, and no
   task is left on the cluster.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count, islice
from logging import CRITICAL
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from threading import Thread
from traceback import format_exception
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import peerlock
from peerlock.core.errors import UsageError

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS = 3  # workers that a task may cost
AHEAD = 4  # tasks for each worker of a cluster, so that none waits for the next
PATIENCE = 10.0  # seconds, for a scheduler and its workers to answer
LOCAL = "local:"


class WorkerDied(Exception):
    """Every worker that began a task has died."""


class TaskFailed(Exception):
    """A task raised an exception that cannot travel between processes."""


class WorkerTraceback(Exception):
    """Where a task failed in its worker, in words."""


@dataclass(frozen=True)
class Place:
    """Where tasks are performed.

    jobs: the number of processes here; None is one for each processor
    on: a Dask cluster instead: the address of its scheduler, or `local:N` for a new one
      with N workers on this machine
    """

    jobs: int | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"invalid --jobs {self.jobs}: use 1 or more")
        if self.jobs is not None and self.on is not None:
            raise UsageError("--jobs is for processes here: omit it with --on")
        if self.on is not None and not (self.workers or "://" in self.on):
            raise UsageError(f"invalid --on {self.on!r}: use tcp://HOST:8786 or local:8")

    @property
    def workers(self) -> int:
        """Of a new cluster on this machine; 0 if it is another."""
        number = (self.on or "").removeprefix(LOCAL)
        return int(number) if number.isdecimal() and self.on != number else 0


HERE = Place()


def in_order(
    work: Callable[[T], R], tasks: Iterable[T], place: Place = HERE
) -> Generator[R, None, None]:
    early: dict[int, R] = {}
    following = count()
    awaited = next(following)
    with closing(as_done(work, tasks, place)) as results:
        for number, result in results:
            early[number] = result
            while awaited in early:
                yield early.pop(awaited)
                awaited = next(following)


def as_done(
    work: Callable[[T], R], tasks: Iterable[T], place: Place = HERE
) -> Generator[tuple[int, R], None, None]:
    if place.on is not None:
        return _on_cluster(work, tasks, place)
    return _in_processes(work, tasks, place.jobs or os.cpu_count() or 1)


# Processes here


class Worker(Generic[T]):
    """A process and the task that it performs."""

    def __init__(self, work: Callable[[T], Any]) -> None:
        context = get_context()
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self.process.start()
        theirs.close()

    def perform(self, number: int, task: T) -> None:
        self.number, self.task = number, task
        with suppress(BrokenPipeError):  # its end is noticed where the result is awaited
            self.connection.send(task)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.process.close()
        self.connection.close()


def _in_processes(
    work: Callable[[T], R], tasks: Iterable[T], jobs: int
) -> Generator[tuple[int, R], None, None]:
    numbered = enumerate(tasks)
    workers: dict[Connection, Worker[T]] = {}
    deaths: dict[int, int] = {}
    try:
        for number, task in islice(numbered, jobs):
            _start(work, workers, number, task)
        while workers:
            for connection in wait(list(workers)):
                assert isinstance(connection, Connection)
                worker = workers[connection]
                try:
                    result, trace = connection.recv()
                except (EOFError, OSError):
                    workers.pop(connection).end()
                    _count_death(deaths, worker.number)
                    _start(work, workers, worker.number, worker.task)
                    continue
                if trace:
                    raise result from WorkerTraceback(trace)
                yield worker.number, result
                if (following := next(numbered, None)) is None:
                    workers.pop(connection).end()
                else:
                    worker.perform(*following)
    finally:
        for worker in workers.values():
            worker.end()


def _start(
    work: Callable[[T], Any], workers: dict[Connection, Worker[T]], number: int, task: T
) -> None:
    worker = Worker(work)
    workers[worker.connection] = worker
    worker.perform(number, task)


def _count_death(deaths: dict[int, int], number: int) -> None:
    deaths[number] = deaths.get(number, 0) + 1
    if deaths[number] == ATTEMPTS:
        raise WorkerDied(f"{ATTEMPTS} worker processes died on the same task")


def _serve(connection: Connection, work: Callable[[Any], Any]) -> None:
    """A worker: perform one task after the other for as long as the parent lives."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            connection.send_bytes(_performed(work, connection.recv()))
        except (EOFError, BrokenPipeError):
            return


def _end_with_parent() -> None:
    """At once, also in the middle of a task."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _performed(work: Callable[[Any], Any], task: Any) -> bytes:
    try:
        return pickle.dumps((work(task), ""))
    except Exception as error:
        return _packed(error)


def _packed(error: Exception) -> bytes:
    trace = "".join(format_exception(error))
    try:
        packed = pickle.dumps((error, trace))
        pickle.loads(packed)
        return packed
    except Exception:
        return pickle.dumps((TaskFailed(f"{type(error).__name__}: {error}"), trace))


# A Dask cluster


def _on_cluster(
    work: Callable[[T], R], tasks: Iterable[T], place: Place
) -> Generator[tuple[int, R], None, None]:
    with ExitStack() as at_the_end:
        client = _client(at_the_end, place)
        _same_version(client)
        from distributed import KilledWorker, as_completed

        numbered = enumerate(tasks)
        running: dict[Any, int] = {}
        at_the_end.callback(lambda: client.cancel(list(running), force=True))

        def submitted(most: int) -> Iterator[Any]:
            for number, task in islice(numbered, most):
                future = client.submit(work, task, pure=False)
                running[future] = number
                yield future

        ahead = AHEAD * sum(client.nthreads().values())
        results = as_completed(list(submitted(ahead)))
        for future in results:
            try:
                result = future.result()
            except KilledWorker as error:
                raise WorkerDied(str(error)) from None
            yield running.pop(future), result
            results.update(list(submitted(1)))


def _client(at_the_end: ExitStack, place: Place) -> Client:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError("--on needs Dask: pip install 'peerlock[dask]'") from None
    if place.workers:
        with _interrupted_later():
            cluster = LocalCluster(
                0,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                silence_logs=CRITICAL,
            )
            at_the_end.enter_context(closing(cluster))
        cluster.scale(place.workers)
        client = at_the_end.enter_context(closing(Client(cluster)))
        client.wait_for_workers(place.workers)
        return client
    try:
        client = at_the_end.enter_context(closing(Client(place.on, timeout=PATIENCE)))
        client.wait_for_workers(1, timeout=PATIENCE)
    except OSError:
        raise UsageError(
            f"no scheduler with a worker answers at {place.on}: start dask scheduler, "
            f"and dask worker {place.on}"
        ) from None
    return client


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Ctrl-C takes effect after the block, and never in threads and processes that the
    block or they start: it is for this thread, which then ends them."""
    resource_tracker.ensure_running()  # later, its start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _same_version(client: Client) -> None:
    """Other code may have other results."""
    ours = version()
    for worker, theirs in client.run(version).items():
        if theirs != ours:
            raise UsageError(
                f"the worker {worker} has peerlock {theirs}, and this is {ours}: "
                "install the same version on both"
            )


def version() -> str:
    return peerlock.__version__
