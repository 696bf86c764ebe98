"""The pages about one's own algorithm and about formats do and have what they say."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import peerlock.checker
import peerlock.simulator
import peerlock.traces

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "own-algorithm.md").read_text()
FORMATS = (ROOT / "docs" / "formats.md").read_text()
BLOCKS = re.findall(r"^```(console|python)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_goes_from_nothing_to_a_running_lock(tmp_path: Path) -> None:
    for language, text in BLOCKS:
        if language == "console":
            for line in text.splitlines():
                follow(line.removeprefix("$ "), tmp_path)
        elif text.startswith("# worker.py\n"):
            (tmp_path / "worker.py").write_text(text)
        else:
            shell([sys.executable, "-c", text], tmp_path)
    assert {p.name for p in tmp_path.iterdir()} >= {"wrong.svg", "run.svg", "run.html"}


def follow(line: str, folder: Path) -> None:
    command, _, remark = line.partition("  # exits with ")
    command = re.sub(r"\bpython ", f"{sys.executable} ", command)
    command = re.sub(r"^peerlock ", f"{sys.executable} -m peerlock ", command)
    shell(["bash", "-c", command], folder, int(remark or 0))


def shell(command: list[str], folder: Path, code: int = 0) -> None:
    at_home = {
        "PEERLOCK_CLUSTER": f"sqlite://{folder}/cluster.db",
        "PYTHONPATH": str(folder),
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | at_home,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"


def keys_of(section: str) -> list[str]:
    """Of all the tables in a section of the page."""
    part = re.split(r"^## ", FORMATS, flags=re.MULTILINE)
    (text,) = [p for p in part if p.startswith(f"{section}\n")]
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


SMALL = ["-n", "3", "--entries", "5"]
COMMANDS = {
    "list": [],
    "simulate": ["central", *SMALL],
    "compare": ["central", *SMALL, "--runs", "1", "--load", "heavy"],
    "advise": [*SMALL, "--runs", "1", "--use", "shared lock"],
    "check": ["central", "-n", "2"],
}


def printed(command: str, *arguments: str) -> dict[str, object]:
    words = [sys.executable, "-m", "peerlock", command, *arguments, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return dict(found[0] if isinstance(found, list) else found)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_every_key(command: str) -> None:
    assert list(printed(command, *COMMANDS[command])) == keys_of(f"peerlock {command}")


def test_the_page_has_every_key_of_a_card() -> None:
    shown = list(printed("show", "central"))
    assert shown == [*keys_of("peerlock list"), *keys_of("peerlock show")]


def test_the_page_has_every_key_of_a_trace(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    trace = peerlock.checker.counterexample(
        peerlock.checker.check("token-ring-regenerated", nodes=2)
    )
    assert trace is not None
    peerlock.traces.write(trace, file)
    header, *steps = [json.loads(line) for line in file.read_text().splitlines()]
    found = dict.fromkeys([*header, *(key for step in steps for key in step)])
    assert set(found) == set(keys_of("Traces: .jsonl"))
    kinds = {kind.value for kind in peerlock.traces.Kind}
    (told,) = re.findall(r"^\| `kind` \| (.*) \|", FORMATS, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", told)) == kinds
    assert f"**version {header['version']}**" in FORMATS


# What notebooks can count on

EXPORTS = {
    "checker": "Coverage Limits Model Network Verdict Violation check counterexample "
    "exhibit model",
    "simulator": "Crash Experiment Heavy Level Light Network Partition Report Result "
    "RunFailed Scenario Schedule Spread Summary Violation compare empty_trace simulate",
    "traces": "FORMATS Kind Step Trace draw line lines must_know read write",
}


@pytest.mark.parametrize("name", EXPORTS)
def test_the_labs_exports_are_pinned_and_described(name: str) -> None:
    module = getattr(peerlock, name)
    assert module.__all__ == EXPORTS[name].split()
    for export in module.__all__:
        found = getattr(module, export)
        assert export == "FORMATS" or found.__doc__, export
        assert not str(found.__doc__).startswith(f"{export}("), f"{export} says nothing"
