"""The pages about one's own algorithm and about formats do and have what they say."""

import json
import logging
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest

import peerlock.checker
import peerlock.simulator
import peerlock.traces
from peerlock.api.status import waiting
from peerlock.cli.certs import as_plain
from peerlock.cli.demo import Show, closing_words
from peerlock.cli.logs import JsonLines
from peerlock.cli.main import COMMANDS as ALL_COMMANDS
from peerlock.cli.main import cli
from peerlock.lab.reproduce.item import Finding
from peerlock.node.terms import demand
from peerlock.node.waiters import Waiter
from peerlock.runtime.certificates import Shown

ROOT = Path(__file__).parents[2]
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


def section(heading: str) -> str:
    parts = re.split(r"^## ", FORMATS, flags=re.MULTILINE)
    (text,) = [part for part in parts if part.startswith(f"{heading}\n")]
    return text


def keys_of(heading: str) -> list[str]:
    """Of all the tables in a section of the page."""
    return re.findall(r"^\| `(\w+)` \|", section(heading), re.MULTILINE)


SMALL = ["-n", "3", "--entries", "5"]
COMMANDS = {
    "list": [],
    "simulate": ["central", *SMALL],
    "compare": ["central", *SMALL, "--runs", "1", "--load", "heavy"],
    "advise": [*SMALL, "--runs", "1", "--use", "shared lock"],
    "check": ["central", "-n", "2"],
    "quorums": ["majority", "-n", "3"],
}


def printed(command: str, *arguments: str) -> dict[str, Any]:
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


@pytest.mark.parametrize("kind", ["agreement:plane", "sanders:maekawa"])
def test_the_page_has_every_key_of_two_sets_for_each_node(kind: str) -> None:
    found, told = printed("quorums", kind, "-n", "3"), section("peerlock quorums")
    halves = [
        value for value in found.values() if isinstance(value, dict) and "sets" in value
    ]
    assert len(halves) == 2
    for key in (*found, *halves[0]):
        assert f"`{key}`" in told, key


def test_the_page_has_every_key_of_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("PEERLOCK_CLUSTER", f"sqlite://{tmp_path}/cluster.db")
    held = printed("lock", "x", "--", sys.executable, "-m", "peerlock", "status")
    (lock,), (member,) = held["locks"], held["members"]
    (holder,) = lock["holders"]
    assert [*held, *lock] == keys_of("peerlock status")
    told = section("peerlock status")
    for key in (*member, *holder, *waiting(Waiter(demand()), 0.0)):
        assert f"`{key}`" in told, key


def test_the_page_has_every_key_of_a_number_that_was_recomputed() -> None:
    finding = Finding("Maekawa 1985", "§8.1", {}, 3, 3, agrees=True, note="")
    assert list(finding.as_dict()) == keys_of("peerlock reproduce")


def test_the_page_has_every_key_of_a_demo() -> None:
    nothing = Show("central", 1.0).result()
    assert list(nothing) == keys_of("peerlock demo")
    assert nothing["messages_per_grant"] is nothing["fairness"] is None
    assert "– messages per grant; fairness – " in str(closing_words(Show("x", 1), nothing))


def test_the_page_has_every_key_of_a_certificate() -> None:
    now = datetime.now(UTC)
    shown = Shown("a.pem", "host", "a", "ca", ("a",), now, now, "00")
    assert list(as_plain(shown, now)) == keys_of("peerlock certs show")


def test_the_page_has_every_key_of_a_line_of_the_log() -> None:
    failed = logging.makeLogRecord({"msg": "failed", "levelname": "ERROR"})
    failed.exc_info = (ValueError, ValueError(), None)
    assert list(json.loads(JsonLines().format(failed))) == keys_of("peerlock serve")


def test_every_command_that_prints_json_is_on_the_page() -> None:
    with click.Context(cli) as context:
        commands = {name: cli.get_command(context, name) for name in ALL_COMMANDS}
    for name, command in commands.items():
        assert command is not None
        if any("--json" in option.opts for option in command.params):
            assert section(f"peerlock {name}")


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
    traces = section("Traces: .jsonl")
    (told,) = re.findall(r"^\| `kind` \| (.*) \|", traces, re.MULTILINE)
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
