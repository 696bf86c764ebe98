"""What runs on the hosts: three etcd servers, five hosts with workers, and a store."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from peerlock.runtime.certificates import issue, new_authority
from tests.chaos.network import Network
from tests.chaos.worker import Task, Use
from tests.support.etcd_servers import program

PATIENCE = 60.0
ROOT = Path(__file__).parents[2]


def with_us() -> list[str]:
    """Put before a command, it lets the kernel kill that when we are killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


class Program:
    """A process on a host; it is killed with us, however we end."""

    def __init__(self, network: Network, host: str, log: Path) -> None:
        self.host = host
        self.log = log
        self._before = [*with_us(), *network.inside(host)]
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: list[str], **environment: str) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._before, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={**os.environ, **environment},
                start_new_session=True,  # what is typed at us does not concern it
            )

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        if self.runs:
            assert self._process is not None
            self._process.send_signal(number)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self.hang_up()

    def hang_up(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def wait(self, seconds: float) -> int | None:
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def said(self) -> str:
        return self.log.read_text()[-3000:]


class EtcdServer(Program):
    def __init__(self, network: Network, host: str, folder: Path, hosts: list[str]) -> None:
        super().__init__(network, host, folder / f"{host}.log")
        self._folder = folder
        self._client = f"http://{network.address(host)}:2379"
        self._data = folder / f"{host}.data"
        peers = {h: f"http://{network.address(h)}:2380" for h in hosts}
        self._peer = peers[host]
        self._everybody = ",".join(f"{h}={peer}" for h, peer in peers.items())
        self._ready: socket.socket | None = None

    def start(self) -> None:
        self._start(self._data, self._everybody)

    def start_another(self) -> None:
        """An etcd of its own, empty, at the same address: as if mistaken for a new one."""
        data = self._folder / f"{self.host}.other"
        shutil.rmtree(data, ignore_errors=True)
        self._start(data, f"{self.host}={self._peer}")

    def back_up(self) -> Path:
        path = self._folder / "snapshot"
        path.unlink(missing_ok=True)
        command = [program("etcdctl"), "--endpoints", self._client, "snapshot", "save"]
        done = subprocess.run([*self._before, *command, str(path)], capture_output=True)
        assert done.returncode == 0, done.stderr
        return path

    def restore(self, path: Path) -> None:
        """In place, while no server runs: so etcd keeps its cluster_id."""
        shutil.rmtree(self._data)
        command = [program("etcdctl"), "snapshot", "restore", str(path)]
        command += ["--name", self.host, "--data-dir", str(self._data)]
        command += ["--initial-cluster", self._everybody]
        command += ["--initial-advertise-peer-urls", self._peer]
        done = subprocess.run(command, capture_output=True)
        assert done.returncode == 0, done.stderr

    def _start(self, data: Path, everybody: str) -> None:
        client, peer = self._client, self._peer
        command = [program(), "--name", self.host, "--data-dir", str(data)]
        command += ["--log-level", "error", "--unsafe-no-fsync"]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        command += ["--initial-cluster", everybody]
        # It says when it is ready, as it would to systemd; files are seen from everywhere.
        place = self._folder / f"{self.host}.ready"
        place.unlink(missing_ok=True)
        self._ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._ready.bind(str(place))
        self.run(command, NOTIFY_SOCKET=str(place))

    def wait_until_ready(self, seconds: float = PATIENCE) -> bool:
        """It is not as long as it is alone."""
        if self._ready is None:
            return True
        self._ready.settimeout(seconds)
        try:
            self._ready.recv(1000)
        except TimeoutError:
            return False
        self._ready.close()
        self._ready = None
        return True

    def kill(self) -> None:
        super().kill()
        if self._ready is not None:
            self._ready.close()
            self._ready = None


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
    ) -> None:
        self.folder = folder
        self.lease = lease
        self._uses = uses
        self._seed = seed
        self._each = each
        self.servers_at = [f"etcd{i}" for i in (1, 2, 3)]
        self.workers_at = [f"host{i}" for i in range(1, hosts + 1)]
        self.network = Network([*self.servers_at, *self.workers_at])
        self.servers: dict[str, EtcdServer] = {}
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
            self._start_servers()
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
        for one in [*self.workers.values(), *self.servers.values()]:
            one.kill()
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

    def _start_servers(self) -> None:
        for host in self.servers_at:
            server = EtcdServer(self.network, host, self.folder, self.servers_at)
            self.servers[host] = server
            server.start()
        for server in self.servers.values():
            assert server.wait_until_ready(), f"etcd does not come up: {server.said()}"

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
        servers = ",".join(f"{self.network.address(h)}:2379" for h in self.servers_at)
        rank = sorted(self._places()).index(place)
        task = Task(
            who=who,
            cluster=f"etcd://{servers}/chaos",
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
        """A name that is held for seconds, so that somebody holds whenever it gets bad;
        and the neighbour's, to have it when the neighbour has lost it."""
        places = len(self._places())
        names = [f"kept {rank + 1}", f"kept {(rank + 1) % places + 1}"]
        return [Use(name, hold=4.0, think=0.5) for name in names]

    # Ending

    def mind_the_failed(self) -> None:
        """Who ended without being killed: that must not happen."""
        for place, worker in list(self.workers.items()):
            if not worker.runs:
                del self.workers[place]
                self.failed.append(f"{worker.who} ended ({worker.status}): {worker.said()}")

    def let_leave(self, seconds: float) -> None:
        """Everybody finishes what it does, those who wait are served, and all leave."""
        ends = time.monotonic() + seconds
        self.mind_the_failed()
        for worker in self.workers.values():
            worker.hang_up()
        for worker in self.workers.values():
            status = worker.wait(max(0.0, ends - time.monotonic()))
            if status != 0:
                self.failed.append(f"{worker.who} did not leave: {status} {worker.said()}")
