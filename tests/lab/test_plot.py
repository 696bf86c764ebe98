"""Figures of a comparison: bars for one size, curves that can be told apart, no spread of
one run."""

from typing import Any

import pytest

from peerlock.lab import plot
from peerlock.lab.plot_quorums import drawn
from peerlock.quorums.availability import availability
from peerlock.quorums.systems import quorum_system
from peerlock.simulator.experiment import Result, Spread


def result(name: str, nodes: int, runs: int = 3, load: str = "light") -> Result:
    spread = Spread(4.0 * nodes, 0.5, 3.0 * nodes, 5.0 * nodes)
    return Result(name, nodes, load, runs, spread, spread, spread, spread, 1)


@pytest.fixture
def pyplot() -> Any:
    pytest.importorskip("matplotlib")
    return plot.import_pyplot()


def test_one_size_is_bars_with_names_and_units(pyplot: Any) -> None:
    figure = plot.bars(pyplot, [result("a", 9), result("b", 9)])
    upper, lower = figure.axes
    names = [label.get_text() for label in upper.get_yticklabels()]

    assert names == ["a", "b"]
    assert upper.get_title() == "light load, 9 nodes"
    assert lower.get_xlabel() == "response time (time units)"
    assert len(upper.patches) == 2
    pyplot.close(figure)


def test_curves_that_coincide_have_marks_side_by_side(pyplot: Any) -> None:
    figure = plot.curves(pyplot, [result(name, n) for name in "ab" for n in (3, 9)])
    one, other = (container.lines[0] for container in figure.axes[0].containers)

    assert list(one.get_ydata()) == list(other.get_ydata())
    assert all(a < b for a, b in zip(one.get_xdata(), other.get_xdata(), strict=True))
    assert one.get_linestyle() != other.get_linestyle()
    pyplot.close(figure)


def test_each_curve_is_named_beside_its_end(pyplot: Any) -> None:
    figure = plot.curves(pyplot, [result(name, n) for name in "abc" for n in (3, 9)])
    for axes in figure.axes:
        names = {text.get_text(): text for text in axes.texts}
        heights = sorted(text.xyann[1] for text in names.values())

        assert set(names) == set("abc")
        assert heights == pytest.approx([-plot.NAME, 0, plot.NAME], abs=0.01)
    assert figure.axes[-1].get_xlabel() == "number of nodes"
    pyplot.close(figure)


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ([0, 50, 100], [0, 50, 100]),
        ([0, 4, 100], [-3, 7, 100]),
        ([0, 0, 0, 12], [-12, -2, 8, 18]),
        ([], []),
    ],
)
def test_names_are_moved_apart_no_more_than_needed(
    places: list[float], moved: list[float]
) -> None:
    assert plot.apart(places, 10) == pytest.approx(moved)


def test_several_kinds_of_quorums_share_a_figure(pyplot: Any) -> None:
    systems = [quorum_system(kind, 7) for kind in ("grid", "plane", "majority")]
    figure = drawn(pyplot, [(system, availability(system)) for system in systems])
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]

    assert names[0] == "majority, 7 nodes"
    assert len(names) == 4
    assert len({line.get_linestyle() for line in figure.axes[0].get_lines()[:3]}) == 3
    pyplot.close(figure)


@pytest.mark.parametrize(("runs", "shown"), [(1, None), (3, [0.5])])
def test_a_single_run_has_no_spread(runs: int, shown: list[float] | None) -> None:
    found = result("a", 3, runs)
    assert plot.whiskers([found], [found.response_time]) == shown
