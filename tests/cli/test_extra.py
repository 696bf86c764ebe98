"""Without click and rich: what works, and what asks for the extra."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))
from peerlock.__main__ import main
main()
"""


def run_without(packages: str, *arguments: str, folder: Path) -> tuple[int, str, str]:
    command = [sys.executable, "-c", WITHOUT, packages, *arguments]
    environment = {**os.environ, "PEERLOCK_CLUSTER": f"sqlite://{folder}/c.db"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("line", ["lock x -- echo done", "--version", "list"])
def test_these_need_no_extra(line: str, short_path: Path) -> None:
    code, out, err = run_without("click,rich", *line.split(), folder=short_path)
    assert (code, err) == (0, "")
    assert out


@pytest.mark.parametrize("packages", ["click", "rich", "click,rich"])
@pytest.mark.parametrize("line", ["status", "demo", "simulate maekawa", ""])
def test_all_others_ask_for_it(packages: str, line: str, short_path: Path) -> None:
    code, out, err = run_without(packages, *line.split(), folder=short_path)
    assert (code, out) == (69, "")
    said = "peerlock: this command needs an extra: pip install 'peerlock[cli]'\n"
    assert err == said


def test_the_help_of_lock_asks_for_it(short_path: Path) -> None:
    code, out, err = run_without("click", "lock", "--help", folder=short_path)
    assert (code, out) == (69, "")
    assert "pip install 'peerlock[cli]'" in err


def test_nobody_pays_for_what_is_not_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert [d.split(">")[0] for d in project["project"]["dependencies"]] == ["msgspec"]
    extras = project["project"]["optional-dependencies"]
    assert not {"dev", "docs", "bench", "fuzz"} & set(extras)
    assert {"dev", "docs", "bench", "fuzz"} <= set(project["dependency-groups"])
    assert "pip install '.[cli]'" in (ROOT / "README.md").read_text()
