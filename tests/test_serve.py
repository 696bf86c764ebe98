"""`peerlock serve`: a node that stays, and what it tells monitoring."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

import peerlock


class Server:
    def __init__(self, cluster: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "peerlock", "serve", "--log", "json"),
                *("--metrics", "127.0.0.1:0", "--cluster", cluster, *options),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.log = self.process.stderr
        joined = json.loads(self.log.readline())
        assert joined["event"] == "joined", joined
        self.address = joined["metrics"]

    def until(self, **wanted: object) -> dict[str, object]:
        """The next line of the log that says all of this."""
        for line in self.log:
            told = dict(json.loads(line))
            if wanted.items() <= told.items():
                return told
        raise AssertionError(f"it ended without {wanted}")

    def get(self, page: str) -> tuple[int, str]:
        try:
            with urlopen(f"http://{self.address}{page}", timeout=20) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self) -> dict[str, float]:
        families = text_string_to_metric_families(self.get("/metrics")[1])
        return {
            sample.name + "".join(sample.labels.values()): sample.value
            for family in families
            for sample in family.samples
        }


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/cluster.db"


@pytest.fixture
def server(cluster: str) -> Iterator[Server]:
    server = Server(cluster)
    yield server
    server.process.kill()
    server.process.communicate()


def test_it_is_healthy_and_ready(server: Server) -> None:
    server.until(event="changed", members=1, running=True)
    assert server.get("/healthz") == (200, "ok\n")
    assert server.get("/readyz") == (200, "ok\n")
    assert server.get("/elsewhere")[0] == 404


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


def test_sigterm_ends_it_properly(server: Server, cluster: str) -> None:
    with peerlock.sync.join(cluster) as node:
        server.until(event="changed", members=2)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=30) == 0
        assert '"leaving"' in server.log.read()
        with node.lock("x", timeout=30):  # and nobody waits for it
            pass


def test_a_loop_that_hangs_is_not_healthy(server: Server) -> None:
    server.until(event="changed", running=True)
    os.kill(server.process.pid, signal.SIGSTOP)
    with (
        pytest.raises(OSError, match="timed out"),
        urlopen(f"http://{server.address}/healthz", timeout=0.5),
    ):
        pass
    os.kill(server.process.pid, signal.SIGCONT)
    assert server.get("/healthz") == (200, "ok\n")


def test_wrong_usage_is_one_line(cluster: str) -> None:
    for options, words in (
        (("--metrics", "nowhere:x"), "nowhere:x"),
        (("--lease", "0"), "0"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "peerlock", "serve", "--cluster", cluster, *options],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
