"""The page in a browser, and Python in the browser beside CPython: what needs npm.

`make test-lab` installs what these need, and builds the page.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from threading import Thread

import pytest
from handbook import lab
from handbook.__main__ import has_lab

from peerlock.algorithms.index import INDEX
from peerlock.lab.serve import Lab
from peerlock.playground import answer
from peerlock.playground.run import Run
from tests.support.playing import random_run

INSTALLED = shutil.which("node") and (lab.LAB / "node_modules" / "pyodide").exists()
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

needs_npm = pytest.mark.skipif(
    not INSTALLED, reason="node or the packages of lab/ are not installed: make lab"
)
needs_page = pytest.mark.skipif(
    not all((page / "index.html").exists() for page in (lab.SITE, lab.PAGE)),
    reason="the page is not built: make lab",
)
needs_browser = pytest.mark.skipif(
    not any(map(shutil.which, CHROMIUM)), reason="Chromium is not installed"
)


def requests() -> list[str]:
    """For every algorithm: a run played at random, as a view and as each file."""
    return [line for name in INDEX for line in _about(random_run(name, steps=16))]


def _about(played: Run) -> list[str]:
    asked = [
        {"do": "play"},
        *({"do": "export", "form": f} for f in (".jsonl", ".svg", ".py")),
    ]
    return [json.dumps({**one, "run": played.as_json()}) for one in asked]


@needs_npm
def test_every_algorithm_gives_the_same_bytes_in_the_browsers_python(
    tmp_path: Path,
) -> None:
    lab.write_sources(tmp_path / "sources.gz")
    asked = requests()
    command = ["node", "test/bytes.mjs", str(tmp_path / "sources.gz")]
    text = "\n".join(asked) + "\n"
    done = subprocess.run(command, cwd=lab.LAB, input=text, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr[-500:]
    answers = done.stdout.splitlines()
    assert len(answers) == len(asked) == 4 * len(INDEX)
    for request, theirs in zip(asked, answers, strict=True):
        assert theirs == answer(request), request[:200]


@pytest.mark.slow
@needs_npm
@needs_page
@needs_browser
def test_the_page_in_a_real_browser() -> None:
    in_chromium()


@pytest.mark.slow
@needs_npm
@needs_page
@needs_browser
def test_the_page_of_peerlock_lab_in_a_real_browser() -> None:
    with Lab(0) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            in_chromium(LAB=server.address)
        finally:
            server.shutdown()
            serving.join()


def in_chromium(**more: str) -> None:
    command = ["node", "--test", "--test-reporter=tap", "test/browser.mjs"]
    done = subprocess.run(
        command,
        cwd=lab.LAB,
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, **more},
    )
    lines = done.stdout.splitlines()
    print(*(line for line in lines if "ready after" in line), sep="\n")  # how it starts
    assert done.returncode == 0, "\n".join(n for n in lines if n.startswith("not ok"))


@needs_npm
@pytest.mark.parametrize(
    "command",
    [("node_modules/typescript/bin/tsc", "--noEmit"), ("--test", "test/history.mjs")],
    ids=["types", "history"],
)
def test_what_needs_no_browser(command: tuple[str, ...]) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("npm_")}
    done = subprocess.run(
        ["node", *command], cwd=lab.LAB, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout


def test_the_lock_file_names_no_registry() -> None:
    locked = (lab.LAB / "package-lock.json").read_text()
    assert '"resolved"' not in locked
    assert "integrity" in locked


@pytest.mark.parametrize("npm", [None, "echo no network >&2; exit 1"])
def test_a_site_without_npm_has_no_lab_and_a_line_says_so(
    npm: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(lab, "LAB", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "package-lock.json").write_text("{}")
    for name in ("npm", "node") if npm else ():
        (tmp_path / name).write_text(f"#!/bin/sh\n{npm}\n")
        (tmp_path / name).chmod(0o755)
    why = "`npm ci` failed: no network" if npm else "npm is not installed"

    assert not has_lab()
    assert capsys.readouterr().out == f"the site has no lab: {why}\n"


def test_the_browser_gets_pure_layers_alone() -> None:
    names = {path.relative_to(lab.SOURCES / "peerlock").parts[0] for path in lab.files()}
    assert names == {*lab.LAYERS, "__init__.py"}
