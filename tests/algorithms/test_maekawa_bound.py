"""Maekawa's worst case is not 5(K−1) messages an entry: it is below 6(K−1)."""

from __future__ import annotations

from collections import Counter

import pytest

from peerlock.lab.reproduce.maekawa import most_in_common
from peerlock.lab.reproduce.worst import (
    all_at_once,
    common_members,
    most_for,
    on_a_mesh,
)
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.simulator.load import Load
from peerlock.traces.trace import Kind


@pytest.mark.parametrize(("members", "entries"), [(2, 5), (3, 4), (4, 6), (4, 10), (7, 30)])
def test_preempted_again_and_again_an_entry_costs_more_than_the_papers_worst_case(
    members: int, entries: int
) -> None:
    measured = common_members(members, entries)
    assert measured == pytest.approx(most_for(members, entries))
    assert 5 * members < measured < 6 * members


@pytest.mark.parametrize(("members", "entries"), [(2, 2), (2, 3)])
def test_no_schedule_costs_more_than_the_formula(members: int, entries: int) -> None:
    """Larger ones are searched by `peerlock reproduce`."""
    most = most_in_common(members, entries)
    assert most == pytest.approx(most_for(members, entries))
    assert common_members(members, entries) == pytest.approx(most)


def test_a_plane_whose_nodes_all_ask_at_once_passes_the_papers_worst_case() -> None:
    assert 85 < all_at_once(307) < 102


def test_a_mesh_passes_the_worst_case_of_the_lecture() -> None:
    """Which is five messages for each of the 2√n−1 members, the node itself among them."""
    assert 5 * (2 * 22 - 1) < on_a_mesh(22, 6) < 6 * (2 * 22 - 2)


@pytest.mark.parametrize("load", [Heavy(), Level(0.1)], ids=repr)
@pytest.mark.parametrize(("n", "quorums"), [(7, "plane"), (13, "plane"), (9, "grid")])
def test_a_request_costs_six_at_a_member_and_why(n: int, quorums: str, load: Load) -> None:
    """The steps of the argument, in runs: what each REQUEST can cause."""
    scenario = Scenario("maekawa", n, 30 * n, load, quorums=quorums)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    sent = Counter(type(s.message).__name__ for s in trace if s.kind is Kind.SEND)
    assert sent["Failed"] + sent["Inquire"] <= sent["Request"]
    assert sent["Relinquish"] <= sent["Inquire"]
    assert sent["Locked"] == sent["Request"] + sent["Relinquish"]
    assert sent["Release"] == sent["Request"]
