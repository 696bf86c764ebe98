"""How a command line names an algorithm: by name, file, module or entry point."""

from __future__ import annotations

import sys
from typing import Any

import click
from click.shell_completion import CompletionItem

from peerlock.algorithms.index import INDEX


class AlgorithmName(click.ParamType):  # type: ignore[type-arg]
    """What `lookup.algorithm` accepts; modules are also found in the current directory."""

    name = "algorithm"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if ":" in value and "" not in sys.path:
            sys.path.insert(0, "")
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names from the catalogue, without importing it; or a file."""
        names = [CompletionItem(name) for name in INDEX if name.startswith(incomplete)]
        return names or [CompletionItem(incomplete, type="file")]
