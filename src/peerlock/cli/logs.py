"""The log of a long-running process on stderr: text for people, or JSON for programs."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import TracebackType
from typing import Any

import click

from peerlock.cli.ending import WRONG_USAGE, Failure
from peerlock.core.errors import UsageError

log = logging.getLogger("peerlock")

log_option = click.option(
    "--log",
    "log_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the log on stderr.",
)


def prepare_log(form: str) -> None:
    """One format for all lines, also those of asyncio and other libraries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Words())
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)
    log.setLevel(logging.INFO)
    sys.excepthook = log_the_end


def log_the_end(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    log.critical("failed", exc_info=(kind, error, trace))


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **extras(record),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str)


class Words(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        more = " ".join(f"{key}={value}" for key, value in extras(record).items())
        when = self.formatTime(record, "%Y-%m-%d %H:%M:%S")
        said = f"{when} {record.levelname.lower()} {record.getMessage()} {more}".rstrip()
        if record.exc_info:
            said += f"\n{self.formatException(record.exc_info)}"
        return said


USUAL = set(vars(logging.makeLogRecord({})))


def extras(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in USUAL}


class LoggedCommand(click.Command):
    """With --log json, an error at startup is a line of JSON, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        as_json = "--log=json" in args or ("--log", "json") in pairwise(args)
        with complaints_in_log("json" if as_json else "text"):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with complaints_in_log(ctx.params["log_format"]):
            return super().invoke(ctx)


@contextmanager
def complaints_in_log(form: str) -> Iterator[None]:
    try:
        yield
    except (click.ClickException, Failure, UsageError) as error:
        if form == "text":
            raise
        if not logging.getLogger().handlers:  # the command failed before it did so
            prepare_log(form)
        said, code = str(error), getattr(error, "code", WRONG_USAGE)
        if isinstance(error, click.ClickException):
            said, code = error.format_message(), error.exit_code
        log.error(said)
        raise click.exceptions.Exit(code) from None
