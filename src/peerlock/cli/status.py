"""`peerlock status`: the members of a cluster, and the holders and waiters of its locks."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from peerlock.api.meeting import Reach
from peerlock.api.status import survey
from peerlock.cli.cluster import complain_about_cluster, must_be_of_many_processes
from peerlock.cli.descriptors import must_have_descriptors
from peerlock.cli.options import CERTIFICATES, INSECURE
from peerlock.cli.output import (
    cluster_option,
    console,
    json_option,
    plain_table,
    print_json,
    taking,
)

EVERY = 0.5  # seconds, with --watch


@click.command()
@json_option
@click.option("--watch", is_flag=True, help="Repeat twice a second, until Ctrl-C.")
@cluster_option
@taking(CERTIFICATES)
@taking(INSECURE)
def status(
    as_json: bool,
    watch: bool,
    cluster: str | None,
    certificates: str | None,
    insecure: bool,
) -> None:
    """Show the members, and the holders and waiters of each lock, in order.

    This does not join the cluster, and does not disturb its members.

    Exit codes: 0 success, also if the cluster has no members; 2 wrong usage; 69 the cluster
    is unreachable; 130 interrupted.
    """
    must_have_descriptors()
    must_be_of_many_processes(cluster)
    reach = Reach(certificates=certificates, insecure=insecure)
    with complain_about_cluster():
        if watch and not as_json:
            keep_showing(cluster, reach)
            return
        while True:
            found = look(cluster, reach)
            if as_json:
                print_json(found)
            else:
                console().print(picture(found))
            if not watch:
                return
            time.sleep(EVERY)


def look(cluster: str | None, reach: Reach) -> dict[str, Any]:
    return asyncio.run(survey(cluster, reach))


def keep_showing(cluster: str | None, reach: Reach) -> None:
    with Live(picture(look(cluster, reach)), console=console(), auto_refresh=False) as live:
        while True:
            time.sleep(EVERY)
            live.update(picture(look(cluster, reach)), refresh=True)


def picture(found: dict[str, Any]) -> RenderableType:
    if not found["members"]:
        return Text("This cluster has no members.")
    apart = any(member["address"] for member in found["members"])
    where = ["at"] if apart else []
    members = plain_table("member", "pid", *where, "label", "", numbers=frozenset({0, 1}))
    for member in found["members"]:
        silent = "" if member["answers"] else "does not answer"
        at = [member["address"] or ""] if apart else []
        label = member["label"] or ""
        members.add_row(str(member["id"]), str(member["pid"]), *at, label, silent)
    parts: list[RenderableType] = [Text(f"View {found['view']}", style="bold"), members]
    if found["locks"]:
        parts += [Text(), locks_table(found["locks"])]
    else:
        parts += [Text("\nNo lock is held or waited for.")]
    return Group(*parts)


def locks_table(locks: list[dict[str, Any]]) -> RenderableType:
    table = plain_table("lock", "by", "held by pid", "for", "fence", "then pid", "since")
    for lock in locks:
        holders, waiters = lock["holders"], lock["waiters"]
        for i in range(max(len(holders), len(waiters))):
            cells = [lock["name"], kind(lock)] if i == 0 else ["", ""]
            cells += holder_cells(holders[i]) if i < len(holders) else ["", "", ""]
            cells += waiter_cells(waiters[i]) if i < len(waiters) else ["", ""]
            table.add_row(*cells)
    return table


def kind(lock: dict[str, Any]) -> str:
    by = lock["algorithm"] or "opening"
    return f"{by}, {lock['permits']} permits" if lock["permits"] else by


def holder_cells(holder: dict[str, Any]) -> list[str]:
    return [user(holder), ago(holder["held_for"]), str(holder["fence"])]


def waiter_cells(waiter: dict[str, Any]) -> list[str]:
    return [user(waiter), ago(waiter["waited_for"])]


def user(of_lock: dict[str, Any]) -> str:
    where = f" at {of_lock['address']}" if of_lock["address"] else ""
    return f"{of_lock['pid']}{where}{' shared' if of_lock['shared'] else ''}"


def ago(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min"
