"""The picture at the top of the README, from a real run: `python -m handbook.demo`."""

from __future__ import annotations

import asyncio
import io
import re
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from handbook.book import ROOT
from peerlock.cli.demo import Show, closing_words, picture, play
from peerlock.node.terms import LOCK

PICTURE = ROOT / "docs" / "demo.svg"
NODES, SECONDS, WIDTH = 5, 10.0, 74
AFTERWARDS = 0.3  # seconds after the kill, for the picture

# Rich's own loads a font from elsewhere.
FORMAT = re.sub(r" *@font-face \{\{.*?\n    \}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.S)
FORMAT = FORMAT.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


async def run(console: Console, show: Show, folder: Path) -> None:
    playing = asyncio.ensure_future(play(show, NODES, folder, quiet=True))
    while show.recovered_ms is None and not playing.done():
        await asyncio.sleep(0.01)
    await asyncio.sleep(AFTERWARDS)
    console.print("[bold]$ peerlock demo[/bold]")
    console.print(f"{NODES} processes, one lock, by {show.algorithm}.")
    console.print(picture(show))
    await playing
    console.print(closing_words(show, show.result()))


def main() -> None:
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False
    )
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(console, Show(LOCK, SECONDS), Path(folder)))
    drawn = console.export_svg(title="peerlock demo", code_format=FORMAT, unique_id="demo")
    PICTURE.write_text("".join(f"{line.rstrip()}\n" for line in drawn.splitlines()))


if __name__ == "__main__":
    main()
