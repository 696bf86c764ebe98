"""`peerlock serve`: a node that stays, and tells monitoring how the cluster is.

It keeps the cluster's place while commands come and go, and it has

  /metrics   for Prometheus
  /healthz   200 as long as it runs and can renew its lease
  /readyz    200 when it is a member and everybody is ready
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import click

from peerlock.algorithms.catalogue import UsageError
from peerlock.api.meeting import Reach
from peerlock.api.tasks import LockNode, join
from peerlock.cli.output import (
    cluster_option,
    complain_about_cluster,
    lease_option,
    reach_options,
)
from peerlock.runtime.host import Host
from peerlock.runtime.transport import address, host_and_port

if TYPE_CHECKING:
    from prometheus_client.core import Metric

log = logging.getLogger("peerlock")
OFTEN = 0.2  # seconds between looks at what is worth a line in the log
SLOWEST = 5.0  # seconds for our own loop to answer

Answer = tuple[int, bytes]


@click.command()
@click.option(
    "--metrics",
    default="127.0.0.1:9753",
    show_default=True,
    metavar="HOST:PORT",
    help="Where /metrics, /healthz and /readyz are.",
)
@click.option(
    "--log",
    "log_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to log, on stderr.",
)
@cluster_option
@lease_option
@reach_options
def serve(
    metrics: str,
    log_format: str,
    cluster: str | None,
    lease: float | None,
    reach: Reach,
) -> None:
    """Be a member until SIGTERM or Ctrl-C, with metrics for Prometheus.

    Locks need no such process.  It is worth having where members come and go all the time,
    and where monitoring wants to know: view, members, losses, messages, who holds.
    """
    prepare_log(log_format)
    with complain_about_cluster():
        node = join(cluster, lease=lease, reach=reach)
        web = Web(metrics, node.host)
        try:
            asyncio.run(stay(node, web))
        finally:
            web.close()


async def stay(node: LockNode, web: Web) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with node:
        log.info("joined", extra={"member": node.host.node.me, "metrics": web.address})
        watching = asyncio.ensure_future(watch(node.host))
        await ended.wait()
        watching.cancel()
        log.info("leaving")


async def watch(host: Host) -> None:
    """A line for whatever changes that somebody may want to know of."""
    seen: dict[str, Any] = {}
    while True:
        node = host.node
        now = {
            "view": node.view.number,
            "members": len(node.view.members),
            "member": node.me if node.member else None,
            "running": node.running,
            "lost": node.statistics.lost,
            "trouble": str(host.trouble) if host.trouble else None,
        }
        if now != seen:
            level = logging.WARNING if now["trouble"] or not now["member"] else logging.INFO
            log.log(level, "changed", extra=now)
            seen = now
        await asyncio.sleep(OFTEN)


class Web:
    """Small enough for threads: Prometheus asks once in a while."""

    def __init__(self, where: str, host: Host) -> None:
        registry = metrics_of(host)
        name, port = host_and_port(where)

        def asked(page: Callable[[], Answer]) -> Answer:
            """In the loop, where the node is stepped; if that hangs, we are not well."""

            async def look() -> Answer:
                return page()

            if not host.started:
                return 503, b"not started\n"
            looking = asyncio.run_coroutine_threadsafe(look(), host.loop)
            try:
                return looking.result(SLOWEST)
            except (TimeoutError, RuntimeError):
                return 503, b"the event loop does not answer\n"

        pages: dict[str, Callable[[], Answer]] = {
            "/metrics": lambda: (200, latest(registry)),
            "/healthz": lambda: answer(healthy(host)),
            "/readyz": lambda: answer(ready(host)),
        }

        class Pages(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = pages.get(self.path.partition("?")[0])
                status, body = asked(page) if page else (404, b"try /metrics\n")
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        try:
            self._server = ThreadingHTTPServer((name or "127.0.0.1", port), Pages)
        except OSError as error:
            raise UsageError(f"cannot listen at {where}: {error.strerror}") from None
        self.address = address(*self._server.server_address[:2])  # type: ignore[arg-type]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def healthy(host: Host) -> str:
    """Why not, or nothing."""
    return str(host.trouble) if host.trouble else ""


def ready(host: Host) -> str:
    if not host.node.member:
        return "not a member"
    return "" if host.node.running else "a new view is being entered"


def answer(why_not: str) -> Answer:
    return (503, f"{why_not}\n".encode()) if why_not else (200, b"ok\n")


def metrics_of(host: Host) -> Any:
    try:
        from prometheus_client import CollectorRegistry
    except ImportError:
        raise UsageError("serve needs more: pip install 'peerlock[serve]'") from None
    registry = CollectorRegistry()
    registry.register(Collector(host))
    return registry


def latest(registry: Any) -> bytes:
    from prometheus_client import generate_latest

    return generate_latest(registry)


class Collector:
    """Reads the node's own counts whenever it is asked."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        node = self._host.node
        counted = node.statistics.copy()
        for name, text, value in (
            ("grants", "Grants to local users", counted.grants),
            ("hand_overs", "Grants that needed no message", counted.handed_over),
            ("waited_seconds", "Waiting of local users, all together", counted.waited),
            ("lost", "Grants that were lost", counted.lost),
            ("views", "Views seen", counted.views),
            ("link_resends", "Messages sent again over a new connection", counted.resent),
            ("remote_errors", "Messages that made no sense", counted.remote_errors),
            ("strangers", "Connections that were refused", self._host.strangers),
        ):
            yield CounterMetricFamily(f"peerlock_{name}", text, value=value)
        messages = CounterMetricFamily(
            "peerlock_messages", "Messages sent, by type", labels=["type"]
        )
        for kind, count in sorted(counted.messages.items()):
            messages.add_metric([kind], count)
        yield messages
        lease = max(0.0, node.deadline - time.monotonic())
        for name, text, number in (
            ("view", "Number of the view", node.view.number),
            ("members", "Members of the view", len(node.view.members)),
            ("ready", "1 when locks can be had", int(not ready(self._host))),
            ("names", "Names remembered here", len(node.locks)),
            ("holders", "Local users inside", len(list(node.holding()))),
            ("waiters", "Local users waiting", len(list(node.waiting()))),
            ("lease_seconds", "What is left of our lease", lease),
        ):
            yield GaugeMetricFamily(f"peerlock_{name}", text, value=number)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **extras(record),
        }
        return json.dumps(told, ensure_ascii=False, default=str)


class Words(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        more = " ".join(f"{key}={value}" for key, value in extras(record).items())
        when = self.formatTime(record, "%Y-%m-%d %H:%M:%S")
        return f"{when} {record.levelname.lower()} {record.getMessage()} {more}".rstrip()


USUAL = set(vars(logging.makeLogRecord({})))


def extras(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in USUAL}


def prepare_log(form: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Words())
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
