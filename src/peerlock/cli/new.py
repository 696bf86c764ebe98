"""`peerlock new`: a working algorithm to start from, and its test."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from peerlock.algorithms.lookup import algorithm
from peerlock.cli.names import AlgorithmName
from peerlock.cli.output import console
from peerlock.core.errors import UsageError
from peerlock.lab.new import SKELETON, algorithm_file, file_of_tests, module_name


@click.command()
@click.argument("name")
@click.option(
    "--from",
    "base",
    type=AlgorithmName(),
    metavar="ALGORITHM",
    help="Copy this algorithm.  [default: a token that one node lends]",
)
def new(name: str, base: str | None) -> None:
    """Write NAME.py, an algorithm that passes `check`, and its test, for you to change."""
    begun = algorithm(base) if base else SKELETON
    if begun.verdict != "holds":
        raise UsageError(f"{begun.name} is known to be wrong: copy another algorithm")
    module = module_name(name)
    files = {
        Path(f"{module}.py"): algorithm_file(name, begun),
        Path(f"test_{module}.py"): file_of_tests(name, begun),
    }
    for path in files:
        if path.exists():
            raise UsageError(f"{path} exists already: choose another name, or move it")
    out = console()
    for path, text in files.items():
        write(path, text)
        out.print(f"[green]wrote {escape(str(path))}[/]")
    out.print(f"\nNow try: peerlock check ./{module}.py")


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
