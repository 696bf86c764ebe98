"""Three etcd servers, each on a host of its own."""

import shutil
import signal
import socket
import subprocess
from pathlib import Path

from tests.chaos.network import Network
from tests.chaos.programs import PATIENCE, Program
from tests.support.etcd_servers import program


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


class Etcd:
    name = "etcd"
    at = ["etcd1", "etcd2", "etcd3"]  # noqa: RUF012

    def __init__(self, network: Network, folder: Path) -> None:
        self._network = network
        self.servers = {h: EtcdServer(network, h, folder, self.at) for h in self.at}

    def start(self) -> None:
        for server in self.servers.values():
            server.start()
        self._wait_until_ready()

    def cluster(self) -> str:
        servers = ",".join(f"{self._network.address(host)}:2379" for host in self.at)
        return f"etcd://{servers}/chaos"

    def signal(self, number: signal.Signals) -> None:
        for server in self.servers.values():
            server.signal(number)

    def kill(self) -> None:
        for server in self.servers.values():
            server.kill()

    def close(self) -> None:
        self.kill()

    def calm_down(self) -> None:
        for server in self.servers.values():
            server.signal(signal.SIGCONT)
            if not server.runs:
                server.start()
        self._wait_until_ready()

    def restore(self, backup: Path) -> None:
        self.kill()
        for server in self.servers.values():
            server.restore(backup)
            server.start()
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        for server in self.servers.values():
            assert server.wait_until_ready(), f"etcd does not come up: {server.said()}"
