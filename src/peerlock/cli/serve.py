"""`peerlock serve`: a long-running member, with ports for monitoring and other languages.

It keeps the cluster alive while other members come and go, and serves

  --metrics  /metrics for Prometheus; /healthz, 200 as long as its event loop responds; and
             /readyz, 200 while locks can be acquired here
  --api      locks for programs in any language, over HTTP (`serve/api.py`)
  --web      a live page of the cluster

An outage of etcd is not a reason for a restart: members continue until their lease ends,
and join again by themselves when etcd is back.  A process that is restarted meanwhile has
lost its place and cannot join before that.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from peerlock.api.meeting import Reach, rendezvous
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
from peerlock.membership.engine import Engine
from peerlock.runtime.host import Host
from peerlock.supervision.joining import member

if TYPE_CHECKING:
    from peerlock.serve.ports import Ports

OFTEN = 0.2  # seconds between checks for changes that are logged
ENDING = (signal.SIGTERM, signal.SIGINT)
WHERE = "unix:PATH|HOST:PORT"


class Mode(click.ParamType):  # type: ignore[type-arg]
    name = "mode"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        with suppress(ValueError):
            if isinstance(value, int) or 0 <= int(value, 8) <= 0o777:
                return value if isinstance(value, int) else int(value, 8)
        self.fail(f"{value!r}: use an octal number, such as 660", param, ctx)


class Given(NamedTuple):
    """The options about ports."""

    metrics: str
    api: str | None
    web: str | None
    token_file: str | None
    tls: str | None
    socket_mode: int


@click.command(cls=LoggedCommand)
@click.option(
    "--metrics",
    default="127.0.0.1:9753",
    show_default=True,
    metavar=WHERE,
    help="Address of /metrics, /healthz and /readyz.",
)
@click.option(
    "--api", metavar=WHERE, help="Address of the API for programs in other languages."
)
@click.option("--web", metavar=WHERE, help="Address of a live page of the cluster.")
@click.option(
    "--token-file",
    metavar="FILE",
    help="Clients on TCP show one of these tokens, one in each line.",
)
@click.option(
    "--tls",
    metavar="DIR",
    help="TLS on TCP, with certificates of peerlock certs; clients may show one, too.",
)
@click.option(
    "--socket-mode",
    type=Mode(),
    default="600",
    show_default=True,
    metavar="MODE",
    help="Permissions of Unix sockets.",
)
@log_option
@cluster_option
@lease_option
@reach_options
def serve(
    log_format: str,
    cluster: str | None,
    lease: float | None,
    reach: Reach,
    **ports: Any,
) -> None:
    """Run a member until SIGTERM or Ctrl-C, with metrics for Prometheus.

    Locks do not need such a process.  It is useful where members come and go all the time,
    for monitoring (view, members, losses, messages, holders), for programs in other
    languages (--api), and to watch a cluster (--web).

    Exit codes: 0 ended by SIGTERM or Ctrl-C; 2 wrong usage; 69 the cluster is unreachable.
    """
    prepare_log(log_format)
    must_have_descriptors()
    with complain_about_cluster():
        node = join(cluster, lease=lease, reach=reach, thread=False)
        reading = partial(reader, cluster, reach)
        asyncio.run(stay(node, ports_for(node.host, reading, Given(**ports))))


def reader(cluster: str | None, reach: Reach) -> Engine:
    """Of the members, without being one."""
    return rendezvous(cluster, None, reach)[0]


def ports_for(host: Host, reading: Callable[[], Engine], given: Given) -> Ports:
    try:
        from peerlock.serve.access import Keys, tokens_in
        from peerlock.serve.ports import Ports
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        raise UsageError("serve needs an extra: pip install 'peerlock[serve]'") from None
    tokens = tokens_in(given.token_file) if given.token_file else None
    keys = Keys(tokens, given.tls, given.socket_mode)
    return Ports(host, reading, keys, given.metrics, given.api, given.web)


async def stay(node: LockNode, ports: Ports) -> None:
    end_when_told()
    with suppress(asyncio.CancelledError):  # by `end_when_told`
        async with AsyncExitStack() as stack:
            where = await stack.enter_async_context(ports.open())
            log.info("joining", extra=where)
            await stack.enter_async_context(member(node))
            stack.callback(ports.end_sessions)  # before the node leaves
            log.info("joined", extra={"member": node.host.node.me, **where})
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
