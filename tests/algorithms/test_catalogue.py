"""Every algorithm of the papers is here, under its name, and can be run and checked."""

import json
import re
from pathlib import Path

import pytest

from peerlock.algorithms.card import card
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.lookup import algorithm
from peerlock.cli.main import main

LISTED = [
    line.split()
    for line in (Path(__file__).parent / "data" / "catalogue.txt").read_text().splitlines()
    if not line.startswith("#")
]

# Where three nodes take minutes, two are not trivial.
SMALLER = {"bouabdallah-laforest": 2, "chandy-misra": 2, "nishio-li-manning": 2}

each_listed = pytest.mark.parametrize("name", [name for name, *_ in LISTED])


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> object:
    with pytest.raises(SystemExit) as end:
        main([*map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert end.value.code in (0, None), err
    return json.loads(out)


def test_the_list_has_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    listed = said(capsys, "list")
    assert isinstance(listed, list)
    assert {name for name, *_ in LISTED} <= {entry["name"] for entry in listed}


def test_those_that_are_to_serve_locks_do() -> None:
    for name, *mark in LISTED:
        assert bool(algorithm(name).serves) == bool(mark), name


@each_listed
def test_it_can_be_simulated(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = said(capsys, "simulate", name, "-n", 4, "--entries", 30)
    assert isinstance(report, dict)
    assert report["entries"] == 30


@each_listed
def test_it_can_be_checked(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = said(capsys, "check", name, "-n", SMALLER.get(name, 3), "-r", 1)
    assert isinstance(report, dict)
    assert report["complete"]
    assert report["states"] > 10


@pytest.mark.parametrize(
    "entry",
    [a for a in CATALOGUE if a.family != "museum" and not a.serves],
    ids=lambda a: a.name,
)
def test_the_card_says_why_it_does_not_serve(entry: Algorithm) -> None:
    reason = r"for the lab|serves no real locks|does not serve locks"
    assert any(re.search(reason, departure) for departure in card(entry).departures)
