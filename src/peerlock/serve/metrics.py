"""The pages for monitoring: /metrics for Prometheus, /healthz and /readyz."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from peerlock.core.errors import UsageError
from peerlock.runtime.host import Host
from peerlock.serve.api import Api
from peerlock.serve.http import TEXT, Handler, HttpRequest, Response

if TYPE_CHECKING:
    from prometheus_client.core import Metric

PROMETHEUS = b"text/plain; version=0.0.4; charset=utf-8"
PUBLIC = ("/healthz", "/readyz")

Pages = Mapping[str, Callable[[], Response]]


def handler(pages: Pages) -> Handler:
    def handle(request: HttpRequest) -> Response:
        if request.method not in ("GET", "HEAD"):
            return Response(405, b"GET and HEAD, nothing else\n", TEXT)
        if request.path not in pages:
            return Response(404, b"try /metrics\n", TEXT)
        return pages[request.path]()

    return handle


def pages_about(host: Host, api: Api | None) -> Pages:
    registry = metrics_of(host, api)
    return {
        "/metrics": lambda: Response(200, latest(registry), PROMETHEUS),
        "/healthz": lambda: Response(200, b"ok\n", TEXT),
        "/readyz": lambda: readiness(host),
    }


def readiness(host: Host) -> Response:
    why_not = reason_not_ready(host)
    return Response(503 if why_not else 200, f"{why_not or 'ok'}\n".encode(), TEXT)


def reason_not_ready(host: Host) -> str:
    """Empty if it is ready."""
    if not host.node.member:
        return "not a member"
    return "" if host.node.running else str(host.trouble or "a new view is being entered")


def metrics_of(host: Host, api: Api | None) -> Any:
    try:
        from prometheus_client import CollectorRegistry
    except ImportError:
        raise UsageError("serve needs an extra: pip install 'peerlock[serve]'") from None
    registry = CollectorRegistry()
    registry.register(Collector(host, api))
    return registry


def latest(registry: Any) -> bytes:
    from prometheus_client import generate_latest

    return generate_latest(registry)


class Collector:
    """Reads the counts of the node whenever it is queried."""

    def __init__(self, host: Host, api: Api | None) -> None:
        self._host = host
        self._api = api

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name, text, value in self._counts():
            yield CounterMetricFamily(f"peerlock_{name}", text, value=value)
        messages = CounterMetricFamily(
            "peerlock_messages", "Messages sent, by type", labels=["type"]
        )
        counted = self._host.node.statistics.copy()
        for kind, count in sorted(counted.messages.items()):
            messages.add_metric([kind], count)
        yield messages
        for name, text, value in self._gauges():
            yield GaugeMetricFamily(f"peerlock_{name}", text, value=value)

    def _counts(self) -> Iterator[tuple[str, str, float]]:
        counted = self._host.node.statistics.copy()
        yield "grants", "Grants to local users", counted.grants
        yield "hand_overs", "Grants that needed no message", counted.handed_over
        yield "waited_seconds", "Total waiting time of local users", counted.waited
        yield "lost", "Grants that were lost", counted.lost
        yield "views", "Views seen", counted.views
        yield "link_resends", "Messages sent again over a new connection", counted.resent
        refused = "Messages that were refused as invalid"
        yield "remote_errors", refused, counted.remote_errors
        strangers = self._host.door.strangers
        yield "strangers", "Connections that stayed anonymous", strangers

    def _gauges(self) -> Iterator[tuple[str, str, float]]:
        node, ready = self._host.node, not reason_not_ready(self._host)
        lease = max(0.0, node.deadline - node.clock())
        yield "view", "Number of the view", node.view.number
        yield "members", "Members of the view", len(node.view.members)
        yield "ready", "1 while locks can be acquired", int(ready)
        yield "names", "Names that are open here", len(node.locks)
        yield "holders", "Local users that hold a lock", len(list(node.holding()))
        yield "waiters", "Local users waiting", len(list(node.waiting()))
        yield "lease_seconds", "Remaining seconds of the lease", lease
        if self._api is not None:
            yield "sessions", "Open sessions of the API", len(self._api.sessions)
            yield "claims", "Claims of these sessions", self._api.sessions.claims
