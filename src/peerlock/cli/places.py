"""The options that say where the tasks of a command are performed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from peerlock.lab.executor import Place


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--jobs` and `--on`, given to the command as one `place`."""

    @wraps(command)
    def with_place(jobs: int | None, on: str | None, **options: Any) -> Any:
        return command(place=Place(jobs, on), **options)

    jobs = click.option(
        "--jobs", type=int, help="Number of processes.  [default: one per core]"
    )
    on = click.option(
        "--on",
        metavar="ADDRESS",
        help="A Dask cluster: tcp://HOST:8786, or local:8 for 8 workers here.",
    )
    return jobs(on(with_place))
