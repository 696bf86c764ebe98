"""dogpile.cache, ASGI, OpenTelemetry and pytest, each with the real package."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import peerlock
from tests.support.recipes import blocks

# dogpile.cache


def test_one_of_many_threads_and_processes_computes_a_value(cluster: str) -> None:
    dogpile = pytest.importorskip("dogpile.cache", reason="dogpile.cache is missing")
    from peerlock.contrib.dogpile import PeerlockProxy

    computed, shared = [], dict[str, Any]()

    def compute() -> str:
        computed.append(1)
        return "value"

    with peerlock.sync.join(cluster) as one, peerlock.sync.join(cluster) as two:
        regions = [  # as if in two processes that share a store
            dogpile.make_region().configure(
                "dogpile.cache.memory",
                arguments={"cache_dict": shared},
                wrap=[PeerlockProxy(node)],
            )
            for node in (one, two)
        ]
        found: list[str] = []
        threads = [
            threading.Thread(
                target=lambda r=region: found.append(r.get_or_create("k", compute))
            )
            for region in regions * 4
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert (found, computed) == (["value"] * 8, [1])


def test_the_mutex_of_dogpile(cluster: str) -> None:
    pytest.importorskip("dogpile.cache", reason="dogpile.cache is missing")
    from peerlock.contrib.dogpile import PeerlockProxy

    with peerlock.sync.join(cluster) as one, peerlock.sync.join(cluster) as two:
        mine, theirs = (PeerlockProxy(node).get_mutex("k") for node in (one, two))
        assert mine.acquire()
        assert mine.locked() and theirs.locked() and not theirs.acquire(wait=False)
        mine.release()
        assert not mine.locked()
        assert theirs.acquire()


DOGPILES_SUITE = """
import os
import peerlock
from dogpile.cache import register_backend
from dogpile.cache.backends.memory import MemoryPickleBackend
from dogpile.testing.fixtures import _GenericBackendTestSuite, _GenericMutexTestSuite
from peerlock.contrib.dogpile import PeerlockProxy

node = peerlock.sync.join(os.environ["CLUSTER"])
store = {}


class Backend(PeerlockProxy):
    def __init__(self, arguments):
        super().__init__(node)
        self.proxied = MemoryPickleBackend({"cache_dict": store})


register_backend("memory with our mutex", __name__, "Backend")


class TestPeerlock(_GenericBackendTestSuite, _GenericMutexTestSuite):
    backend = "memory with our mutex"
    config_args = {"arguments": {}}
    backend_argument_names = ("cache_dict",)


def test_the_node_has_noticed_all_of_it():
    assert node.statistics().grants > 100
    node.leave()
"""


def test_the_suite_of_dogpile(cluster: str, tmp_path: Path) -> None:
    """What dogpile.cache ships for the authors of backends, and of mutexes."""
    pytest.importorskip("dogpile.testing", reason="dogpile.cache is missing")
    suite = tmp_path / "test_suite.py"
    suite.write_text(DOGPILES_SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", str(suite)]
    command += ["-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    environment = {**os.environ, "CLUSTER": cluster}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout
    assert "failed" not in done.stdout and "skipped" not in done.stdout


# ASGI


def test_an_application_has_a_node_from_start_to_end(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("starlette", reason="starlette is missing")
    monkeypatch.setenv("PEERLOCK_CLUSTER", cluster)
    shop: dict[str, Any] = {}
    exec(blocks("asgi")["shop.py"], shop)
    app = shop["app"]
    sent = asyncio.run(asked_twice(app))
    bodies = [int(m["body"]) for m in sent if m["type"] == "http.response.body"]
    assert len(bodies) == 2 and bodies[0] < bodies[1]
    assert sent[-1] == {"type": "lifespan.shutdown.complete"}


async def asked_twice(app: Any) -> list[dict[str, Any]]:
    """As a server does: start up, two requests, shut down."""
    sent: list[dict[str, Any]] = []
    state: dict[str, Any] = {}
    orders: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    started = asyncio.Event()

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"].startswith("lifespan.startup"):
            started.set()

    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": state}
    life = asyncio.create_task(app(scope, orders.get, send))
    await orders.put({"type": "lifespan.startup"})
    await started.wait()
    for _ in range(2):
        request: dict[str, Any] = {"type": "http", "method": "GET", "path": "/"}
        request |= {"headers": []}
        request |= {"query_string": b"", "state": dict(state)}
        await app(request, orders.get, send)
    await orders.put({"type": "lifespan.shutdown"})
    await life
    return sent


# OpenTelemetry


def test_spans_and_counters(cluster: str) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is missing")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from peerlock.contrib.opentelemetry import instrument, traced

    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracer = provider.get_tracer("test")
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader])

    async def main() -> int:
        async with (
            peerlock.join(cluster) as node,
            traced(node.lock("x"), tracer) as grant,
        ):
            return grant.fence

    fences = [asyncio.run(main())]
    with peerlock.sync.join(cluster) as node:
        instrument(node, meters.get_meter("test"))
        with traced(node.lock("x"), tracer) as grant:
            fences.append(grant.fence)
        told = reader.get_metrics_data()
    assert told is not None
    metrics = told.resource_metrics[0].scope_metrics[0].metrics
    points: Any = {m.name: next(iter(m.data.data_points)) for m in metrics}
    counted = {name: point.value for name, point in points.items()}
    assert counted["peerlock.grants"] == 1
    assert counted["peerlock.lost"] == 0
    finished = spans.get_finished_spans()
    assert [s.name for s in finished] == ["peerlock.acquire", "peerlock.hold"] * 2
    holds = [dict(s.attributes or {}) for s in finished if s.name == "peerlock.hold"]
    assert holds == [{"peerlock.name": "x", "peerlock.fence": fence} for fence in fences]
    provider.shutdown()
    meters.shutdown()


# pytest

SUITE = """
import time
import pytest

@pytest.fixture(scope="session")
def database(once_per_session):
    def create():
        with open({log!r}, "a") as log:
            log.write("made\\n")
        time.sleep(0.5)  # the other worker comes meanwhile
        return {{"port": 5432}}
    return once_per_session("database", create)

@pytest.mark.parametrize("i", range(6))
def test_it(database, peerlock_node, i):
    assert database == {{"port": 5432}}
    with peerlock_node.lock("x", timeout=20):
        pass
"""


def test_work_is_done_once_for_all_workers(short_path: Path) -> None:
    log, suite = short_path / "log", short_path / "test_suite.py"
    suite.write_text(SUITE.format(log=str(log)))
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-c", "/dev/null"]
    command += ["-p", "no:cacheprovider", "-p", "xdist", "-p", "peerlock.contrib.pytest"]
    command += ["--rootdir", str(short_path), "--basetemp", str(short_path / "temp")]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*command, str(suite)], capture_output=True, text=True, env=alone)
    assert "6 passed" in done.stdout, done.stdout
    assert log.read_text() == "made\n"


ALONE = """
import pytest

def test_alone(peerlock_node, once_per_session):
    assert once_per_session("x", lambda: [1]) == once_per_session("x", lambda: [2]) == [1]
    with peerlock_node.lock("y") as grant:
        assert not grant.is_lost
    with pytest.raises(ZeroDivisionError):
        once_per_session("fails", lambda: 1 / 0)
    assert once_per_session("fails", lambda: "then") == "then"
    assert once_per_session("a/b " * 200, lambda: 3) == 3
"""


def test_without_workers(short_path: Path) -> None:
    (short_path / "conftest.py").write_text('pytest_plugins = ["peerlock.contrib.pytest"]')
    (short_path / "test_alone.py").write_text(ALONE)
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null"]
    command += ["--rootdir", str(short_path), "--basetemp", str(short_path / "temp")]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=short_path, capture_output=True, text=True, env=alone
    )
    assert "1 passed" in done.stdout, done.stdout
