"""The page of the lab: bundled by npm, once for `peerlock lab` and once for the site.

On the site Python runs in the browser, so its page also has Pyodide, our pure layers,
and a memory snapshot from which Python starts in a second.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from handbook.book import ROOT, up
from peerlock.algorithms.entry import Algorithm
from peerlock.playground import links
from peerlock.playground.moves import actions_in, of_actions
from peerlock.playground.run import Run
from peerlock.playground.setup import Setup
from peerlock.traces.trace import Trace

LAB = ROOT / "lab"
SOURCES = ROOT / "src"
PAGE = SOURCES / "peerlock" / "lab" / "page"
SITE = ROOT / "out" / "site" / "lab"

# What the engine imports, and what it reads beside that.
LAYERS = [
    "core",
    "quorums",
    "algorithms",
    "node",
    "traces",
    "simulator",
    "checker",
    "playground",
]
ENDINGS = (".py", ".css", ".js", ".txt")


class NotBuilt(Exception):
    """Why the page cannot be built here."""


def button(page: str, entry: Algorithm, trace: Trace | None = None) -> str:
    """Opens an algorithm in the lab; a piece of the museum with its counterexample."""
    link = f"#algorithm={entry.name}"
    words = "Play it in the lab"
    if trace is not None and trace.algorithm == entry.name and not entry.medium:
        link, words = f"#run={links.encode(replayed(entry, trace))}", "Replay it in the lab"
    address = f"{up(page)}lab/index.html{link}"
    return f'<p class="lab"><a href="{address}">{words}</a></p>\n'


def replayed(entry: Algorithm, trace: Trace) -> dict[str, Any]:
    """The run by hand that a trace of the checker is."""
    shown = entry.exhibit
    settings = {"quorums": shown.quorums} if shown.quorums else {}
    made = Setup(entry.name, trace.nodes, settings)
    cluster = Run(made).cluster
    moves = of_actions(cluster, actions_in(trace, cluster))
    return {**made.as_json(), "moves": moves}


def main() -> int:
    try:
        bundle(PAGE)
        print(f"built: {PAGE.relative_to(ROOT)}, for peerlock lab")
        bundle(SITE, browser=True)
        print(f"built: {SITE.relative_to(ROOT)}, for any web server")
    except NotBuilt as error:
        print(f"the lab is not built: {error}", file=sys.stderr)
        return 1
    return 0


def bundle(out: Path, browser: bool = False) -> None:
    """Raises NotBuilt where npm is missing or fails."""
    install()
    shutil.rmtree(out, ignore_errors=True)
    run("node", "build.mjs", str(out), *(["--pyodide"] if browser else []))
    if browser:
        write_sources(out / "sources.gz")
        run("node", "snapshot.mjs", str(out / "sources.gz"), str(out / "snapshot.gz"))


def install() -> None:
    """What package-lock.json names, unless it is here; raises NotBuilt if npm does not."""
    if not (shutil.which("npm") and shutil.which("node")):
        raise NotBuilt("npm is not installed")
    mark, wanted = LAB / "node_modules" / ".installed", LAB / "package-lock.json"
    if mark.exists() and mark.read_bytes() == wanted.read_bytes():
        return
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    mark.write_bytes(wanted.read_bytes())


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=LAB, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise NotBuilt(f"`{' '.join(command[:2])}` failed: {''.join(last)[:200]}")


def write_sources(path: Path) -> None:
    """Their texts by their paths; the same sources give the same bytes."""
    texts = {str(file.relative_to(SOURCES)): file.read_text("utf-8") for file in files()}
    path.write_bytes(gzip.compress(json.dumps(texts).encode(), mtime=0))


def files() -> list[Path]:
    package = SOURCES / "peerlock"
    found = [file for layer in LAYERS for file in (package / layer).rglob("*")]
    wanted = (f for f in found if f.suffix in ENDINGS and "arrays" not in f.parts)
    return [package / "__init__.py", *sorted(wanted)]


if __name__ == "__main__":
    sys.exit(main())
