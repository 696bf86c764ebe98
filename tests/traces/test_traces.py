"""What each format of a trace promises to those who open it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path
from time import process_time
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerlock.core.peer import label
from peerlock.traces import (
    FORMATS,
    Kind,
    Step,
    Trace,
    jsonl,
    must_know,
    shiviz,
    text,
    timescale,
    write,
)
from peerlock.traces.diagram import Fate
from peerlock.traces.labels import box_around
from peerlock.traces.layout import lay_out
from peerlock.traces.spans import Span, SpanState, flights, spans


@dataclass(frozen=True)
class Request:
    number: int


@dataclass(frozen=True)
class Reply:
    pass


@dataclass(frozen=True)
class Privilege:
    queue: tuple[int, ...]
    last: tuple[int, ...]


@dataclass(frozen=True)
class TokenMissing:
    note: str


def send(time: float, a: int, b: int, message: Any, flight: int) -> Step:
    return Step(time, Kind.SEND, a, peer=b, message=message, flight=flight)


def receive(time: float, a: int, b: int, message: Any, flight: int) -> Step:
    return Step(time, Kind.RECEIVE, b, peer=a, message=message, flight=flight)


def lose(time: float, a: int, b: int, message: Any, flight: int) -> Step:
    return Step(time, Kind.LOSE, b, peer=a, message=message, flight=flight)


def handshake() -> Trace:
    """1 asks 2, is let in, and leaves."""
    steps = [
        Step(0.0, Kind.REQUEST, 1),
        send(0.0, 1, 2, Request(1), 1),
        receive(1.25, 1, 2, Request(1), 1),
        send(1.25, 2, 1, Reply(), 2),
        receive(2.5, 2, 1, Reply(), 2),
        Step(2.5, Kind.ENTER, 1, fence=4),
        Step(3.5, Kind.LEAVE, 1),
    ]
    return Trace("ricart-agrawala", 2, seed=7, steps=steps)


def mishaps() -> Trace:
    """Everything that can go wrong, once."""
    steps = [
        send(0.0, 1, 2, Request(1), 1),
        send(0.0, 1, 3, Request(1), 2),
        lose(0.0, 1, 3, Request(1), 2),
        receive(1.0, 1, 2, Request(1), 1),
        receive(1.5, 1, 2, Request(1), 1),
        Step(2.0, Kind.TIMER, 1, note="resend"),
        Step(2.5, Kind.REQUEST, 3),
        Step(3.0, Kind.CRASH, 3),
        Step(4.0, Kind.RESTART, 3),
        Step(4.5, Kind.ENTER, 1, fence=1),
        Step(5.0, Kind.ENTER, 2, fence=1),
        Step(5.0, Kind.VIOLATION, 2, note="1 and 2 are inside together"),
        send(5.5, 2, 3, Reply(), 3),
    ]
    return Trace("broken", 3, steps=steps)


def busy(nodes: int = 15, messages: int = 300) -> Trace:
    """Each in turn asks everyone, and everyone answers."""
    trace = Trace("busy", nodes, seed=1)
    steps = trace.steps
    for k in range(messages // 2):
        asker = k // (nodes - 1) % nodes + 1
        other = (asker + k % (nodes - 1)) % nodes + 1
        time = 0.37 * k
        steps.append(send(time, asker, other, Request(k), 2 * k))
        steps.append(receive(time + 5 + k % 3, asker, other, Request(k), 2 * k))
        steps.append(send(time + 5 + k % 3, other, asker, Reply(), 2 * k + 1))
        steps.append(receive(time + 9 + k % 4, other, asker, Reply(), 2 * k + 1))
    steps.sort(key=lambda step: step.time)
    return trace


BUSY = busy()
SAMPLES = {
    "handshake": handshake(),
    "mishaps": mishaps(),
    "busy": busy(5, 60),
    "empty": Trace("nothing happens", 3),
    "alone": Trace(
        "alone", 1, steps=[Step(0.0, Kind.REQUEST, 1), Step(0.0, Kind.ENTER, 1, fence=1)]
    ),
    "one time": Trace("at once", 2, steps=handshake().steps[:2]),
}


@pytest.fixture(params=SAMPLES, name="trace")
def any_trace(request: pytest.FixtureRequest) -> Trace:
    return SAMPLES[request.param]


# Choice of format


@pytest.mark.parametrize("ending", [*FORMATS, ".trace.json", ".SVG"])
def test_the_ending_chooses_the_format(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"run{ending}"
    write(handshake(), file)
    expected = FORMATS[file.suffix.lower()](handshake())
    assert file.read_text("utf-8") == expected


def test_an_unknown_ending_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'run\.png': use \.txt, \.jsonl, \.svg, \.html"):
        write(handshake(), tmp_path / "run.png")
    assert not list(tmp_path.iterdir())


def test_the_ending_can_be_asked_for_before_a_long_run() -> None:
    must_know("run.trace.json")
    with pytest.raises(ValueError, match=r"invalid trace file 'run': use"):
        must_know("run")


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_takes_every_trace(ending: str, trace: Trace) -> None:
    assert FORMATS[ending](trace) == FORMATS[ending](trace)


EVERYTHING = """
import sys
from peerlock.traces import FORMATS, jsonl
trace = jsonl.read(sys.stdin)
sys.stdout.write("".join(render(trace) for render in FORMATS.values()))
"""


def test_the_output_does_not_depend_on_the_hash_seed() -> None:
    def output(seed: str) -> bytes:
        return subprocess.run(
            [sys.executable, "-c", EVERYTHING],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            input=jsonl.render(mishaps()).encode(),
            capture_output=True,
            check=True,
        ).stdout

    assert output("1") == output("2")


# Spans


def test_a_wait_ends_at_the_entry_and_a_section_when_left() -> None:
    waits, inside = Span(SpanState.WAITING, 1, 0, 5), Span(SpanState.INSIDE, 1, 5, 6)
    assert spans(handshake()) == [waits, inside]


def test_a_crash_ends_the_wait_and_a_restart_the_downtime() -> None:
    found = [span for span in spans(mishaps()) if span.node == 3]
    assert found == [Span(SpanState.WAITING, 3, 6, 7), Span(SpanState.DOWN, 3, 7, 8)]


def test_a_flight_knows_all_its_ends() -> None:
    twice, lost, out = flights(mishaps())
    assert (twice.send, twice.arrivals, twice.losses) == (0, (3, 4), ())
    assert (lost.send, lost.arrivals, lost.losses) == (1, (), (2,))
    assert (out.send, out.arrivals, out.losses) == (12, (), ())


# Text


def test_text_reads_like_a_story() -> None:
    assert FORMATS[".txt"](handshake()).splitlines() == [
        "ricart-agrawala, 2 nodes, seed 7",
        "",
        "  0.00  1 requests",
        "  0.00  1 ──▶ 2  REQUEST(1) is sent",
        "  1.25  1 ──▶ 2  REQUEST(1) arrives",
        "  1.25  2 ──▶ 1  REPLY is sent",
        "  2.50  2 ──▶ 1  REPLY arrives",
        "  2.50  1 enters, fence 4",
        "  3.50  1 leaves",
    ]


def test_text_tells_mishaps_too() -> None:
    story = [line.split(maxsplit=1)[1] for line in text.lines(mishaps())]
    assert "1 ──▶ 3  REQUEST(1) is lost" in story
    assert story[5:9] == ["1 timer resend fires", "3 requests", "3 crashes", "3 restarts"]
    assert "2 VIOLATION: 1 and 2 are inside together" in story


def test_steps_of_a_checker_are_numbered_without_decimals() -> None:
    trace = Trace("checked", 12, steps=[Step(3, Kind.LEAVE, 2), Step(14, Kind.LEAVE, 12)])
    assert list(text.lines(trace)) == ["     3   2 leaves", "    14  12 leaves"]


def test_very_short_times_are_told_apart() -> None:
    steps = [Step(0.00012, Kind.REQUEST, 1), Step(0.00057, Kind.LEAVE, 1)]
    assert [s.split()[0] for s in text.lines(Trace("quick", 1, steps=steps))] == [
        "0.000120",
        "0.000570",
    ]


def test_a_step_alone_makes_a_line() -> None:
    assert text.line(handshake().steps[5]) == "    2.50  1 enters, fence 4"


def test_a_line_stays_one_harmless_line() -> None:
    step = Step(1.0, Kind.VIOLATION, 1, note="a\nb\x1b[31m")
    assert text.line(step).endswith("VIOLATION: a\ufffdb\ufffd[31m")


# JSON lines


def test_jsonl_has_a_header_and_an_object_a_step() -> None:
    header, *steps = map(json.loads, FORMATS[".jsonl"](handshake()).splitlines())
    assert header == {
        "format": "peerlock trace",
        "version": 1,
        "algorithm": "ricart-agrawala",
        "nodes": 2,
        "seed": 7,
    }
    assert len(steps) == 7
    message = {"type": "REQUEST", "fields": {"number": 1}}
    assert steps[1] == {
        "time": 0.0,
        "kind": "send",
        "node": 1,
        "peer": 2,
        "message": message,
        "flight": 1,
    }
    assert steps[5] == {"time": 2.5, "kind": "enter", "node": 1, "fence": 4}


def test_jsonl_read_back_is_the_same_trace(trace: Trace) -> None:
    written = FORMATS[".jsonl"](trace)
    again = jsonl.read(written.splitlines())
    assert jsonl.render(again) == written
    assert text.render(again) == text.render(trace)


def test_jsonl_keeps_the_fields_of_messages() -> None:
    message = Privilege((2, 5), (0, 1))
    trace = Trace("token", 2, steps=[send(0.1, 1, 2, message, 1)])
    (step,) = jsonl.read(jsonl.render(trace).splitlines())
    assert label(step.message) == label(message) == "PRIVILEGE([2 5], [0 1])"
    assert (step.message.queue, step.message.last) == ((2, 5), (0, 1))


def test_jsonl_names_a_message_as_the_papers_do() -> None:
    trace = Trace("x", 2, steps=[send(0.1, 1, 2, TokenMissing("?"), 1)])
    (step,) = jsonl.read(jsonl.render(trace).splitlines())
    assert label(step.message) == "TOKEN_MISSING(?)"


def test_jsonl_refuses_what_is_no_trace() -> None:
    for lines in ([], ['{"version": 99}']):
        with pytest.raises(ValueError, match="not a peerlock trace"):
            jsonl.read(lines)


# SVG

SVG = "{http://www.w3.org/2000/svg}"


def drawn(trace: Trace) -> ElementTree.Element:
    return ElementTree.fromstring(FORMATS[".svg"](trace))


def having(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [e for e in root.iter() if name in e.get("class", "").split()]


def test_svg_is_well_formed_and_says_what_it_is(trace: Trace) -> None:
    root = drawn(trace)
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert title.text == text.title(trace)
    assert description is not None
    assert f"{len(flights(trace))} messages" in (description.text or "")


def test_svg_has_exactly_one_arrow_a_message(trace: Trace) -> None:
    arrows = having(drawn(trace), "message")
    sends = [i for i, step in enumerate(trace) if step.kind is Kind.SEND]
    assert sorted(int(arrow.get("data-steps", "").split()[0]) for arrow in arrows) == sends


def test_svg_has_a_life_line_a_node() -> None:
    names = [name.text for name in having(drawn(mishaps()), "name")]
    assert names == ["node 1", "node 2", "node 3"]


def test_svg_shows_a_wait_and_a_section_with_its_fence() -> None:
    root = drawn(handshake())
    (waits,), (section,), (fence,) = (
        having(root, name) for name in ("waits", "section", "fence")
    )
    assert (waits.get("data-steps"), section.get("data-steps")) == ("0 5", "5 6")
    assert "".join(fence.itertext()).endswith("4")


def test_svg_shows_loss_duplicate_and_what_is_still_under_way() -> None:
    twice, lost, out = lay_out(mishaps()).arrows
    assert [leg.fate for leg in twice.legs] == [Fate.ARRIVES, Fate.AGAIN]
    assert [leg.fate for leg in lost.legs] == [Fate.LOST]
    assert [leg.fate for leg in out.legs] == [Fate.UNDER_WAY]


def test_a_lost_message_never_reaches_a_node() -> None:
    diagram = lay_out(mishaps())
    (leg,) = diagram.arrows[1].legs
    assert leg.end.x > leg.start.x
    assert leg.end.y not in diagram.rows.values()


def test_svg_dots_the_life_line_of_a_crashed_node() -> None:
    assert len(having(drawn(mishaps()), "down")) == 1


def test_svg_marks_those_who_are_inside_together() -> None:
    root = drawn(mishaps())
    sections = [s for s in having(root, "section") if "clashing" in s.get("class", "")]
    assert [s.get("data-steps") for s in sections] == ["9", "10"]
    assert len(having(root, "clash")) == 1
    (alarm,) = having(root, "alarm")
    assert "1 and 2 are inside together" in "".join(alarm.itertext())


def test_readers_inside_together_are_no_alarm() -> None:
    steps = [Step(0.0, Kind.ENTER, 1), Step(1.0, Kind.ENTER, 2), Step(2.0, Kind.LEAVE, 1)]
    root = drawn(Trace("readers", 2, steps=steps))
    assert len(having(root, "section")) == 2
    assert not having(root, "clashing")


def test_the_text_of_a_violation_is_crossed_by_no_line_of_another() -> None:
    steps = [Step(float(t), Kind.VIOLATION, 1, note=f"no. {t}") for t in range(5)]
    alarms = lay_out(Trace("bad", 2, steps=steps)).alarms
    for mine, other in combinations(alarms, 2):
        between = min(mine.text_at.x, mine.x) < other.x < max(mine.text_at.x, mine.x)
        assert not between or other.text_at.y > mine.text_at.y


def test_a_long_label_is_shortened_and_told_in_full_in_the_tooltip() -> None:
    message = Privilege((2, 5), (0, 1, 0, 0, 0, 0, 0, 0))
    (arrow,) = lay_out(Trace("t", 2, steps=[send(0.0, 1, 2, message, 1)])).arrows
    assert arrow.label == "PRIVILEGE([2 5], [0…)"
    assert label(message) in arrow.story


def test_labels_do_not_overlap() -> None:
    arrows = [arrow for arrow in lay_out(BUSY).arrows if arrow.label_at]
    assert len(arrows) > 290
    boxes = [box_around(a.label_at, a.label) for a in arrows if a.label_at]
    for a, b in combinations(boxes, 2):
        apart_x = a.right < b.left or b.right < a.left
        apart_y = a.bottom < b.top or b.bottom < a.top
        assert apart_x or apart_y


def test_messages_between_the_same_points_are_drawn_apart() -> None:
    steps = [send(0.0, 1, 2, Request(1), 1), send(0.0, 1, 2, Reply(), 2)]
    steps += [receive(1.0, 1, 2, Request(1), 1), receive(1.0, 1, 2, Reply(), 2)]
    first, second = lay_out(Trace("t", 2, steps=steps)).arrows
    assert first.legs[0].bend != second.legs[0].bend


def test_an_arrow_swerves_round_an_event_it_has_no_part_in() -> None:
    steps = [send(0, 1, 3, Request(1), 1), send(0, 1, 2, Request(1), 2)]
    steps += [receive(1, 1, 2, Request(1), 2), receive(2, 1, 3, Request(1), 1)]
    through, to = lay_out(Trace("checked", 3, steps=steps)).arrows
    assert through.legs[0].bend
    assert not to.legs[0].bend


HOSTILE = "</text><script>alert('x')</script>&amp;\"\x00\n\ud800"


def hostile() -> Trace:
    message = TokenMissing(HOSTILE)
    steps = [
        send(0.0, 1, 2, message, 1),
        receive(1.0, 1, 2, message, 1),
        Step(2.0, Kind.TIMER, 1, note=HOSTILE),
        Step(3.0, Kind.VIOLATION, 1, note=HOSTILE),
    ]
    return Trace(HOSTILE, 2, steps=steps)


def test_svg_escapes_hostile_text() -> None:
    root = drawn(hostile())
    assert not list(root.iter(f"{SVG}script"))
    assert "<script>" in "".join(root.itertext())


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_svg_is_well_formed_whatever_a_note_says(note: str) -> None:
    steps = [Step(0.0, Kind.VIOLATION, 1, note=note)]
    drawn(Trace(note, 1, steps=steps))


def test_svg_follows_the_colour_scheme_and_loads_nothing() -> None:
    page = FORMATS[".svg"](handshake())
    assert "prefers-color-scheme: dark" in page
    assert set(re.findall(r"https?://[^\"]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "var(" not in page.replace("know classes and currentColor, but not var()", "")


# The scale of time


def test_time_never_runs_backwards(trace: Trace) -> None:
    scale = lay_out(trace).scale
    places = [scale.place(step.time) for step in trace]
    assert all(a <= b for a, b in pairwise(places))


def test_a_long_silence_is_cut() -> None:
    scale = timescale.fit([0.0, 1.0, 2.0, 1e9], flight=1.0, wanted=0.0, left=0.0)
    assert scale.cuts() == [(2.0, 1e9)]
    assert scale.ticks() == [0.0, 1.0, 2.0, 1e9]
    assert scale.place(1e9) < 500


def test_without_silence_time_is_linear() -> None:
    scale = timescale.fit([0.0, 0.5, 1.5, 2.5], flight=1.0, wanted=0.0, left=0.0)
    widths = [scale.place(b) - scale.place(a) for a, b in pairwise((0, 1, 2))]
    assert widths[0] == pytest.approx(widths[1])
    assert not scale.cuts()


def test_a_crowded_run_is_drawn_wider_but_not_without_end() -> None:
    few, many, more = (lay_out(busy(3, n)).width for n in (20, 200, 600))
    assert few < many < more < timescale.WIDEST + 300


# HTML


class Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs


def test_html_lists_every_step_beside_the_drawing(trace: Trace) -> None:
    page = Page(FORMATS[".html"](trace))
    assert page.tags["li"] == len(trace)
    linked = {value for name, value in page.attributes if name == "data-steps"}
    steps = {int(i) for value in linked for i in (value or "").split()}
    assert steps <= set(range(len(trace)))


def test_html_stands_alone() -> None:
    names = {name for name, _ in Page(FORMATS[".html"](handshake())).attributes}
    assert not names & {"src", "href", "srcset", "xlink:href"}


def test_html_can_hide_each_message_type() -> None:
    page = FORMATS[".html"](handshake())
    assert re.findall(r'<button[^>]* data-type="(\d)"', page) == ["0", "1"]


def test_html_escapes_hostile_text() -> None:
    page = Page(FORMATS[".html"](hostile()))
    assert page.tags["script"] == 3


# ShiViz


def test_shiviz_finds_every_event_with_the_expression_of_the_first_line() -> None:
    first, second, log = FORMATS[".shiviz"](handshake()).split("\n", 2)
    assert second == ""
    parser = first.replace("(?<", "(?P<").replace(r"\S*) (?P<clock>{", r"\S*) (?P<clock>\{")
    events = [found.groupdict() for found in re.finditer(parser, log)]
    assert [event["host"] for event in events] == [
        f"node{step.node}" for step in handshake()
    ]
    assert events[1]["event"] == "REQUEST(1) is sent to 2, at 0"
    assert json.loads(events[2]["clock"]) == {"node1": 2, "node2": 1}


def test_vector_clocks_follow_the_messages() -> None:
    clocks = [clock for _, clock in shiviz.vector_clocks(handshake())]
    assert clocks == [
        {1: 1},
        {1: 2},
        {1: 2, 2: 1},
        {1: 2, 2: 2},
        {1: 3, 2: 2},
        {1: 4, 2: 2},
        {1: 5, 2: 2},
    ]


def test_every_host_counts_its_own_events_from_one() -> None:
    own = defaultdict(list)
    for i, clock in shiviz.vector_clocks(BUSY):
        node = BUSY.steps[i].node
        own[node].append(clock[node])
    assert len(own) == BUSY.nodes
    assert all(counts == list(range(1, len(counts) + 1)) for counts in own.values())


def test_shiviz_tells_a_loss_at_its_sender() -> None:
    log = FORMATS[".shiviz"](mishaps())
    assert "REQUEST(1) is sent to 3, and lost, at 0\nnode1" in log


def test_no_event_of_shiviz_looks_like_a_clock() -> None:
    steps = [Step(0.0, Kind.TIMER, 1, note="x {1}")]
    assert "timer x (1) fires" in FORMATS[".shiviz"](Trace("t", 1, steps=steps))


# Chrome trace


def events(trace: Trace) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(FORMATS[".json"](trace))["traceEvents"]
    return found


def of(phase: str, trace: Trace) -> list[dict[str, Any]]:
    return [event for event in events(trace) if event["ph"] == phase]


def test_chrome_names_a_thread_a_node() -> None:
    names = [e for e in of("M", mishaps()) if e["name"] == "thread_name"]
    assert [(e["tid"], e["args"]["name"]) for e in names] == [
        (1, "node 1"),
        (2, "node 2"),
        (3, "node 3"),
    ]


def test_chrome_shows_a_unit_of_time_as_a_millisecond() -> None:
    slices = {e["name"]: e for e in of("X", handshake())}
    assert slices["waiting"]["ts"] == 0.0
    assert slices["inside, fence 4"]["dur"] == pytest.approx(1000.0, abs=2)
    assert slices["REQUEST(1) arrives"]["ts"] == 1250.0


def test_chrome_draws_an_arrow_for_each_arrival(trace: Trace) -> None:
    starts = {e["id"]: e for e in of("s", trace)}
    ends = {e["id"]: e for e in of("f", trace)}
    assert starts.keys() == ends.keys()
    assert len(ends) == sum(step.kind is Kind.RECEIVE for step in trace)
    assert all(starts[i]["ts"] < ends[i]["ts"] for i in ends)
    places = {(e["tid"], e["ts"]) for e in of("X", trace)}
    assert {(e["tid"], e["ts"]) for e in [*starts.values(), *ends.values()]} <= places


def test_chrome_slices_of_a_thread_nest(trace: Trace) -> None:
    slices = of("X", trace)
    for a, b in combinations(slices, 2):
        if a["tid"] == b["tid"]:
            (a1, a2), (b1, b2) = nanoseconds(a), nanoseconds(b)
            assert a2 <= b1 or b2 <= a1 or a1 <= b1 <= b2 <= a2 or b1 <= a1 <= a2 <= b2


def nanoseconds(event: dict[str, Any]) -> tuple[int, int]:
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def test_chrome_shows_violations_to_everyone() -> None:
    instants = {e["cat"]: e["s"] for e in of("i", mishaps())}
    assert instants == {
        "lose": "t",
        "timer": "t",
        "crash": "t",
        "restart": "t",
        "violation": "g",
    }


# Speed


@pytest.mark.parametrize("ending", FORMATS)
def test_fifteen_nodes_and_three_hundred_messages_take_less_than_a_second(
    ending: str,
) -> None:
    begin = process_time()
    FORMATS[ending](BUSY)
    assert process_time() - begin < 1.0
