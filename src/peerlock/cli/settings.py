"""The settings of an algorithm, as options and in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.settings import SETTINGS, choices, default_for
from peerlock.cli.output import Finite

F = TypeVar("F", bound=Callable[..., Any])


shared_option = click.option(
    "--shared",
    type=Finite(0, 1),
    default=0.0,
    help="Probability that a request is a reader's.",
)


def settings_options(command: F) -> F:
    """An option for each of the catalogue's SETTINGS."""
    for name, setting in reversed(tuple(SETTINGS.items())):
        option = click.option(
            f"--{name}", type=setting.type, metavar=setting.form, help=setting.help
        )
        command = option(command)
    return command


def described(entry: Algorithm) -> str:
    """The option of an algorithm and its values; empty if it has none."""
    if not entry.takes:
        return ""
    setting = SETTINGS[entry.takes]
    kinds = ", ".join(choices(entry)) or setting.help.rstrip(".")
    return f"--{entry.takes} {setting.form}: {kinds}; {by_default(entry)}"


def by_default(entry: Algorithm) -> str:
    words = SETTINGS[entry.takes].default_in_words or default_for(entry, 1)
    return f"by default {words}"


def in_words(used: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in used.items())
