"""`peerlock serve`: a node that stays, and what it tells monitoring."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast
from urllib.request import urlopen

import pytest

import peerlock
from peerlock.api.tasks import LockNode
from peerlock.serve import http
from peerlock.supervision import joining
from peerlock.supervision.joining import member
from tests.support.etcd_servers import Server as Etcd
from tests.support.etcd_servers import servers
from tests.support.serving import DEADLINE, SERVE, Server, serving

NO_ETCD = ("--cluster", "etcd://127.0.0.1:1/c")


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/cluster.db"


@pytest.fixture
def server(cluster: str) -> Iterator[Server]:
    with serving(cluster) as server:
        server.until(event="changed", members=1, running=True)
        yield server


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[Etcd]:
    with servers(tmp_path) as (only,):
        yield only


def test_it_is_healthy_and_ready(server: Server) -> None:
    assert server.get("/healthz") == (200, "ok\n")
    assert server.get("/readyz?verbose") == (200, "ok\n")
    assert server.get("/readyz", "HEAD") == (200, "")
    assert server.get("/elsewhere")[0] == 404
    assert server.get("/healthz", "DELETE")[0] == 405


def test_metrics_count_what_it_does(server: Server, cluster: str) -> None:
    alone = server.metrics()
    assert (alone["peerlock_members"], alone["peerlock_ready"]) == (1, 1)
    with peerlock.sync.join(cluster) as node:
        for name in map(str, range(20)):
            with node.lock(name):
                pass
        server.until(event="changed", members=2, running=True)
        together = server.metrics()
    assert together["peerlock_members"] == 2
    assert together["peerlock_view"] > alone["peerlock_view"]
    assert together["peerlock_views_total"] == alone["peerlock_views_total"] + 1
    assert together["peerlock_messages_totalOpened"] > 0  # it is the home of some names
    assert 0 < together["peerlock_lease_seconds"] <= 10
    for name in ("grants", "hand_overs", "waited_seconds", "lost", "link_resends"):
        assert together[f"peerlock_{name}_total"] == 0
    server.until(event="changed", members=1, running=True)


# Its end


def test_sigterm_ends_it_properly(server: Server, cluster: str) -> None:
    with peerlock.sync.join(cluster) as node:
        server.until(event="changed", members=2)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=30) == 0
        assert '"leaving"' in server.log.read()
        with node.lock("x", timeout=30):  # and nobody waits for it
            pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_more_signals_do_not_spoil_its_end(server: Server, number: signal.Signals) -> None:
    while server.process.poll() is None:
        server.process.send_signal(number)
    assert server.process.returncode == 0
    log = list(server.log)
    assert [line for line in log if not line.startswith("{")] == []
    assert [json.loads(line)["event"] for line in log] == ["leaving", "left the cluster"]


def test_sigterm_while_it_joins_ends_it_properly(etcd: Etcd) -> None:
    etcd.pause()
    with serving(f"etcd://{etcd.address}/c", "--insecure") as server:
        assert server.get("/healthz") == (200, "ok\n")
        assert server.get("/readyz") == (503, "not a member\n")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(DEADLINE) == 0  # or 69, once etcd has had its time
        assert [json.loads(line)["event"] for line in server.log] == ["leaving"]


class Stubborn:
    """Does not get in, and does not get done with tidying up either."""

    has_left = False

    async def __aenter__(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.Event().wait()

    async def leave(self) -> None:
        self.has_left = True


def test_who_cannot_join_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joining, "TIDYING", 0.01)
    node = Stubborn()

    async def join() -> None:
        async with member(cast(LockNode, node), 0.01):
            raise AssertionError("it is in")

    with pytest.raises(peerlock.ClusterError, match=r"joining took longer than 0\.01 s"):
        asyncio.run(join())
    assert node.has_left


# Health


def test_a_loop_that_hangs_is_not_healthy(server: Server) -> None:
    os.kill(server.process.pid, signal.SIGSTOP)
    with (
        pytest.raises(OSError, match="timed out"),
        urlopen(f"http://{server.address}/healthz", timeout=0.5),
    ):
        pass
    os.kill(server.process.pid, signal.SIGCONT)
    assert server.get("/healthz") == (200, "ok\n")


def test_without_etcd_it_is_not_ready_but_needs_no_restart(etcd: Etcd) -> None:
    with serving(f"etcd://{etcd.address}/c", "--insecure", "--lease", "2") as server:
        server.until(event="changed", running=True)
        assert server.get("/readyz") == (200, "ok\n")
        etcd.pause()
        server.until(event="changed", member=None)
        assert server.get("/readyz") == (503, "not a member\n")
        assert server.get("/healthz") == (200, "ok\n")
        etcd.resume()
        server.until(event="changed", running=True, trouble=None)
        assert server.get("/readyz") == (200, "ok\n")


# Strangers at the port for metrics


def eventually(what: Callable[[], bool]) -> None:
    too_late = time.monotonic() + DEADLINE
    while not what():
        assert time.monotonic() < too_late
        time.sleep(0.01)


def has_ended(connection: socket.socket) -> bool:
    connection.settimeout(DEADLINE)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_silent_visitors_do_not_hold_up_the_locks(server: Server, cluster: str) -> None:
    host, _, port = str(server.address).rpartition(":")
    threads, files = server.has("task"), server.has("fd")
    server.may_open(files + 3 * http.STRANGERS)
    silent = [socket.create_connection((host, int(port)), DEADLINE) for _ in range(200)]
    assert all(map(has_ended, silent[: -http.STRANGERS]))
    assert server.has("task") == threads
    eventually(lambda: server.has("fd") <= files + http.STRANGERS)
    assert server.get("/healthz") == (200, "ok\n")
    with peerlock.sync.join(cluster) as node, node.lock("x", timeout=DEADLINE):
        assert server.metrics()["peerlock_members"] == 2
    for connection in silent:
        connection.close()


def test_metrics_over_ipv6(cluster: str) -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("no IPv6 here")
    with serving(cluster, metrics="[::1]:0") as server:
        assert str(server.address).startswith("[::1]:")
        assert server.get("/healthz") == (200, "ok\n")


# What it says


def test_even_a_fault_of_ours_is_json() -> None:
    script = (
        "import warnings; from peerlock.cli.logs import prepare_log; prepare_log('json');"
        "import logging; logging.getLogger('asyncio').error('out of something');"
        "warnings.warn('careful'); raise KeyError('oops')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    of_others, careful, failed = map(json.loads, done.stderr.splitlines())
    assert (of_others["logger"], of_others["event"]) == ("asyncio", "out of something")
    assert "careful" in careful["event"]
    assert (failed["event"], failed["level"]) == ("failed", "critical")
    assert "KeyError: 'oops'" in failed["exception"]


@pytest.fixture(scope="module")
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    ("form", "options", "code", "words"),
    [
        ("text", ("--metrics", "nowhere:x"), 2, "nowhere:x"),
        ("text", ("--metrics", "TAKEN"), 2, "TAKEN: Address already in use"),
        ("json", ("--metrics", "no.such.host.invalid:1"), 2, "no.such.host.invalid"),
        ("text", ("--api", "127.0.0.1:0"), 2, "127.0.0.1:0 needs --token-file FILE or"),
        ("text", ("--api", "unix:/no/such/place"), 2, "No such file or directory"),
        ("text", ("--socket-mode", "9"), 2, "use an octal number"),
        ("json", ("--lease", "0"), 2, "0.1 or more"),
        ("json", ("--nosuch",), 2, "--nosuch"),
        ("text", ("--nosuch",), 2, "--nosuch"),
        ("json", ("--cluster", "sqlite:///no/such/file"), 69, "no directory"),
        ("text", (*NO_ETCD, "--insecure"), 69, "127.0.0.1:1"),
        ("text", (*NO_ETCD, "--certificates", "/no/where"), 2, "directory /no/where"),
    ],
)
def test_why_it_cannot_start_is_one_line(
    cluster: str,
    taken: str,
    form: str,
    options: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    usual = ("--metrics", "127.0.0.1:0", "--cluster", cluster, "--log", form)
    given = [option.replace("TAKEN", taken) for option in (*usual, *options)]
    done = subprocess.run(
        [*SERVE, *given], capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode == code
    said = [line for line in done.stderr.splitlines() if "joining" not in line]
    assert len(said) == 1
    assert words.replace("TAKEN", taken) in said[0]
    if form == "json":
        assert [json.loads(line)["level"] for line in said] == ["error"]
    else:
        assert said[0].startswith("peerlock: ")
