"""`peerlock serve`: a long-running member, with metrics for monitoring.

It keeps the cluster alive while other members come and go, and serves

  /metrics   for Prometheus
  /healthz   200 as long as its event loop responds; if it does not, a restart may help
  /readyz    200 while locks can be acquired here

An outage of etcd is no reason for a restart: members continue until their lease ends, and
join again by themselves when etcd is back.  A process that is restarted meanwhile has lost
its place and cannot join before that.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from peerlock.api.meeting import Reach
from peerlock.api.tasks import LockNode, join
from peerlock.cli.cluster import complain_about_cluster
from peerlock.cli.descriptors import must_have_descriptors
from peerlock.cli.logs import LoggedCommand, log, log_option, prepare_log
from peerlock.cli.output import (
    cluster_option,
    lease_option,
    reach_options,
)
from peerlock.core.errors import UsageError
from peerlock.monitoring.web import Answer, Pages, served
from peerlock.runtime.host import Host
from peerlock.supervision.joining import member

if TYPE_CHECKING:
    from prometheus_client.core import Metric

OFTEN = 0.2  # seconds between checks for changes that are logged
ENDING = (signal.SIGTERM, signal.SIGINT)


@click.command(cls=LoggedCommand)
@click.option(
    "--metrics",
    default="127.0.0.1:9753",
    show_default=True,
    metavar="HOST:PORT",
    help="Address of /metrics, /healthz and /readyz.",
)
@log_option
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
    """Run a member until SIGTERM or Ctrl-C, with metrics for Prometheus.

    Locks do not need such a process.  It is useful where members come and go all the time,
    and for monitoring: view, members, losses, messages, holders.

    Exit codes: 0 ended by SIGTERM or Ctrl-C; 2 wrong usage; 69 the cluster is unreachable.
    """
    prepare_log(log_format)
    must_have_descriptors()
    with complain_about_cluster():
        node = join(cluster, lease=lease, reach=reach, thread=False)
        asyncio.run(stay(node, metrics, pages_about(node.host)))


async def stay(node: LockNode, metrics: str, pages: Pages) -> None:
    end_when_told()
    with suppress(asyncio.CancelledError):  # by `end_when_told`
        async with served(metrics, pages) as where:
            log.info("joining", extra={"metrics": where})
            async with member(node):
                log.info("joined", extra={"member": node.host.node.me, "metrics": where})
                await watch(node.host)


def end_when_told() -> None:
    """The first signal cancels this task, wherever it is; further signals are ignored.

    asyncio removes its own handlers before the process ends, and a second signal in between
    would change the exit code.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def end() -> None:
        if not task.cancelling():  # a second signal may have come early
            log.info("leaving")
            task.cancel()

    def nothing(*_: object) -> None:
        """Not SIG_IGN: Python would print an error for a signal that has already
        arrived."""

    def told(*_: object) -> None:
        for number in ENDING:
            signal.signal(number, nothing)
        with suppress(RuntimeError):  # the loop is closed: the process is ending anyway
            loop.call_soon_threadsafe(end)

    for number in ENDING:
        signal.signal(number, told)


async def watch(host: Host) -> None:
    """Log a line for every change that an operator may want to know."""
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


def pages_about(host: Host) -> Pages:
    registry = metrics_of(host)
    return {
        "/metrics": lambda: (200, latest(registry)),
        "/healthz": lambda: (200, b"ok\n"),
        "/readyz": lambda: answer(ready(host)),
    }


def ready(host: Host) -> str:
    """Why it is not ready; empty if it is."""
    if not host.node.member:
        return "not a member"
    return "" if host.node.running else str(host.trouble or "a new view is being entered")


def answer(why_not: str) -> Answer:
    return (503, f"{why_not}\n".encode()) if why_not else (200, b"ok\n")


def metrics_of(host: Host) -> Any:
    try:
        from prometheus_client import CollectorRegistry
    except ImportError:
        raise UsageError("serve needs an extra: pip install 'peerlock[serve]'") from None
    registry = CollectorRegistry()
    registry.register(Collector(host))
    return registry


def latest(registry: Any) -> bytes:
    from prometheus_client import generate_latest

    return generate_latest(registry)


class Collector:
    """Reads the counts of the node whenever it is queried."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        node = self._host.node
        counted = node.statistics.copy()
        for name, text, value in (
            ("grants", "Grants to local users", counted.grants),
            ("hand_overs", "Grants that needed no message", counted.handed_over),
            ("waited_seconds", "Total waiting time of local users", counted.waited),
            ("lost", "Grants that were lost", counted.lost),
            ("views", "Views seen", counted.views),
            ("link_resends", "Messages sent again over a new connection", counted.resent),
            (
                "remote_errors",
                "Messages that were refused as invalid",
                counted.remote_errors,
            ),
            ("strangers", "Connections that stayed anonymous", self._host.door.strangers),
        ):
            yield CounterMetricFamily(f"peerlock_{name}", text, value=value)
        messages = CounterMetricFamily(
            "peerlock_messages", "Messages sent, by type", labels=["type"]
        )
        for kind, count in sorted(counted.messages.items()):
            messages.add_metric([kind], count)
        yield messages
        lease = max(0.0, node.deadline - node.clock())
        for name, text, number in (
            ("view", "Number of the view", node.view.number),
            ("members", "Members of the view", len(node.view.members)),
            ("ready", "1 while locks can be acquired", int(not ready(self._host))),
            ("names", "Names that are open here", len(node.locks)),
            ("holders", "Local users that hold a lock", len(list(node.holding()))),
            ("waiters", "Local users waiting", len(list(node.waiting()))),
            ("lease_seconds", "Remaining seconds of the lease", lease),
        ):
            yield GaugeMetricFamily(f"peerlock_{name}", text, value=number)
