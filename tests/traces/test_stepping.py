"""What a page says beside its drawing: states as they change, waits, and why."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from peerlock.playground import replay
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import empty_trace, simulate
from peerlock.traces import Kind, Step, Trace, html, jsonl, svg
from peerlock.traces.stepping import moves, stepping, why_it_waits
from tests.support.chromium import PROGRAM, browsing

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def deadlock() -> Trace:
    moves = "r2 r3 d3 d1 d5 d6 r4 d7 d8 d4 d2 d9 d11 d10"
    return replay("maekawa-1985", 4, moves, quorums="grid")


def simulated(name: str, nodes: int, entries: int) -> Trace:
    scenario = Scenario(name, nodes, entries=entries)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    return trace


def test_a_new_state_belongs_to_the_step_that_caused_it(deadlock: Trace) -> None:
    states = stepping(deadlock)["states"]
    assert [node for step, node, _ in states if step < 0] == [1, 2, 3, 4]
    step, node, changed = states[4]
    assert (step, node) == (0, 2)
    assert changed["requesting"] == "true"
    assert changed["locked_members"] == "{2}"
    assert {step for step, _, _ in states} <= {-1, *moves(deadlock)}


def test_the_deadlock_is_a_circle_with_its_reasons(deadlock: Trace) -> None:
    *_, (_, _, _, circle, owed) = stepping(deadlock)["waits"]
    reasons = {
        (a, b): why for _, begun, *_ in stepping(deadlock)["waits"] for a, b, why in begun
    }
    assert circle == [2, 3]
    assert owed == [(4, 3, "FAILED")]
    assert reasons[2, 3] == "member 1 is locked for 3"
    assert reasons[3, 2] == "member 4 is locked for 2"


@pytest.mark.parametrize(
    "name", ["ricart-agrawala", "maekawa", "majority-spare", "raymond", "naimi-trehel"]
)
def test_a_correct_run_has_no_circle_and_ends_without_waits(name: str) -> None:
    edges = set()
    for _, begun, over, circle, _ in stepping(simulated(name, 7, 12))["waits"]:
        edges |= {(a, b) for a, b, _ in begun}
        edges -= set(over)
        assert not circle
    assert not edges


def test_a_drawing_of_a_deadlock_says_why(deadlock: Trace) -> None:
    text = "deadlock: 2, 3 and 4 wait, and nothing more can happen"
    steps = [*deadlock.steps, Step(14.0, Kind.VIOLATION, 2, note=text)]
    wrong = replace(deadlock, steps=steps)
    assert why_it_waits(wrong) == [
        "2 waits for 3: member 1 is locked for 3.",
        "3 waits for 2: member 4 is locked for 2.",
        "4 owes FAILED to 3: an earlier request is ahead of 3's, and 3 does not know.",
    ]
    assert why_it_waits(deadlock) == []
    assert svg.render(wrong) == (DOCS / "maekawa-1985.svg").read_text()


def test_waits_end_with_the_answers() -> None:
    cluster = ByHand("ricart-agrawala", 3)
    cluster.request(1)
    cluster.settle()
    waits = [(begun, over) for _, begun, over, *_ in stepping(cluster.trace)["waits"]]
    assert waits[0][0] == [
        (1, 2, "2 has not answered REQUEST(1)"),
        (1, 3, "3 has not answered REQUEST(1)"),
    ]
    assert [over for _, over in waits[1:]] == [[(1, 2)], [(1, 3)]]


def test_the_last_steps_of_a_long_run_know_the_state_before_them() -> None:
    trace = simulated("ricart-agrawala", 3, 20)
    whole = stepping(trace)["states"]
    trace.keep(10)
    states = stepping(trace)["states"]
    assert len(trace) == 10
    assert [node for step, node, _ in states if step < 0][:3] == [1, 2, 3]
    assert states[-1][1:] == whole[-1][1:]


def test_a_trace_from_a_file_has_no_states(deadlock: Trace) -> None:
    assert stepping(jsonl.read(jsonl.render(deadlock).splitlines())) == {}


def test_the_page_holds_the_data_and_no_end_of_a_script_within(deadlock: Trace) -> None:
    page = html.render(deadlock)
    found = re.search(r'<script type="application/json" id="data">([^<]*)</script>', page)
    assert found
    assert json.loads(found[1])["moves"] == moves(deadlock)


@pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")
def test_the_page_in_a_browser(deadlock: Trace, tmp_path: Path) -> None:
    (tmp_path / "run.html").write_text(html.render(deadlock))
    (tmp_path / "browser").mkdir()
    with browsing(tmp_path / "browser") as browser:
        browser.size(390)
        browser.go(f"file://{tmp_path}/run.html#step=1")
        browser.until("document.querySelectorAll('.new').length")
        now = "document.getElementById('now').textContent"
        count = "document.querySelectorAll('{}').length".format
        shown = (
            "[...document.querySelectorAll('#steps li')].filter(e => e.offsetHeight).length"
        )

        assert browser.value("document.querySelector('.new').textContent").startswith(
            "highest"
        )
        assert browser.value(shown) == 1
        assert "Circle" not in browser.value(now)
        browser.value("location.hash = '#step=25'")
        browser.until(f"{now}.includes('Circle of waits: 2 → 3 → 2')")
        assert browser.value(count("path.circle")) == 2
        assert browser.value(count("path.owed")) == 1
        browser.value("document.querySelector('[data-action=play]').click()")
        browser.until("location.hash == '#step=1'")
        assert (
            browser.value("document.querySelector('[data-action=play]').textContent")
            == "pause"
        )
        wide = "document.documentElement.scrollWidth > innerWidth"
        assert not browser.value(wide)
        browser.size(900, 60)  # a flat window leaves no room for the diagram
        browser.until("document.getElementById('stage').clientHeight < 30")
        browser.value("document.querySelector('[data-action=fit]').click()")
        assert browser.complaints == []
