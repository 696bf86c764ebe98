"""What runs on the hosts: servers that keep the members, five with workers, and a store."""

import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from peerlock.runtime.certificates import issue, new_authority
from tests.chaos.etcd import Etcd
from tests.chaos.network import Network
from tests.chaos.postgresql import Postgresql
from tests.chaos.programs import PATIENCE, ROOT, Program, with_us
from tests.chaos.worker import Task, Use

KEEPERS: dict[str, type[Etcd] | type[Postgresql]] = {
    keeper.name: keeper for keeper in (Etcd, Postgresql)
}


class WorkerProcess(Program):
    def __init__(self, network: Network, host: str, folder: Path, task: Task) -> None:
        super().__init__(network, host, folder / f"{task.who}.log")
        self.who = task.who
        self.run([sys.executable, "-m", "tests.chaos.worker", task.dump()])


class Hosts:
    """All of it, from when it is entered to when it is left, however that is."""

    def __init__(
        self,
        folder: Path,
        uses: list[Use],
        lease: float,
        seed: int,
        hosts: int = 5,
        each: int = 2,
        engine: str = "etcd",
    ) -> None:
        self.folder = folder
        self.lease = lease
        self._uses = uses
        self._seed = seed
        self._each = each
        self.servers_at = KEEPERS[engine].at
        self.workers_at = [f"host{i}" for i in range(1, hosts + 1)]
        self.network = Network([*self.servers_at, *self.workers_at])
        self.keeper = KEEPERS[engine](self.network, folder)
        self.workers: dict[str, WorkerProcess] = {}  # by place: host1.1, host1.2, …
        self.failed: list[str] = []  # processes that ended by themselves
        self._store: subprocess.Popen[str] | None = None
        self._started = 0
        self._stack = ExitStack()

    def __enter__(self) -> "Hosts":
        with ExitStack() as stack:
            stack.enter_context(self.network)
            stack.callback(self._kill_all)
            self._start_store()
            self.keeper.start()
            self._make_certificates()
            for host in self.workers_at:
                for number in range(1, self._each + 1):
                    self.start_worker(f"{host}.{number}")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _kill_all(self) -> None:
        for worker in self.workers.values():
            worker.kill()
        self.keeper.close()
        if self._store is not None:
            self._store.terminate()
            self._store.wait(PATIENCE)
            assert self._store.stdout is not None
            self._store.stdout.close()

    # Starting

    def _start_store(self) -> None:
        command = [*with_us(), sys.executable, "-m", "tests.chaos.store"]
        self._store = subprocess.Popen(
            [*command, str(self.folder / "store.sock"), str(self.folder / "store.jsonl")],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
        assert self._store.stdout is not None
        assert self._store.stdout.readline() == "ready\n"

    def _make_certificates(self) -> None:
        authority = self.folder / "certificates"
        new_authority(authority)
        for host in self.workers_at:
            own = self.folder / f"certificates-{host}"
            own.mkdir()
            shutil.copy(authority / "ca.pem", own)
            for made in issue(authority, host, [self.network.address(host)]):
                shutil.move(made, own)

    def start_worker(self, place: str) -> None:
        host = place.partition(".")[0]
        self._started += 1
        who = f"{place}#{self._started}"
        rank = sorted(self._places()).index(place)
        task = Task(
            who=who,
            cluster=self.keeper.cluster(),
            certificates=str(self.folder / f"certificates-{host}"),
            lease=self.lease,
            store=str(self.folder / "store.sock"),
            history=str(self.folder / f"{who}.jsonl"),
            seed=self._seed * 1000 + self._started,
            uses=(*self._uses, *self._kept(rank)),
        )
        self.workers[place] = WorkerProcess(self.network, host, self.folder, task)

    def _places(self) -> list[str]:
        numbers = range(1, self._each + 1)
        return [f"{host}.{number}" for host in self.workers_at for number in numbers]

    def _kept(self, rank: int) -> list[Use]:
        """A name that is held for seconds, so that one is held at every fault;
        and the neighbour's, to have it when the neighbour has lost it."""
        places = len(self._places())
        names = [f"kept {rank + 1}", f"kept {(rank + 1) % places + 1}"]
        return [Use(name, hold=4.0, think=0.5) for name in names]

    # Ending

    def mind_the_failed(self) -> None:
        """The workers that ended without being killed: that must not happen."""
        for place, worker in list(self.workers.items()):
            if not worker.runs:
                del self.workers[place]
                self.failed.append(f"{worker.who} ended ({worker.status}): {worker.said()}")

    def let_leave(self, seconds: float) -> None:
        """All finish what they do, those that wait are served, and all leave."""
        ends = time.monotonic() + seconds
        self.mind_the_failed()
        for worker in self.workers.values():
            worker.hang_up()
        for worker in self.workers.values():
            status = worker.wait(max(0.0, ends - time.monotonic()))
            if status != 0:
                self.failed.append(f"{worker.who} did not leave: {status} {worker.said()}")
