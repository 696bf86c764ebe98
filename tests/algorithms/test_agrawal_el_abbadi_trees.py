"""Agrawal and El Abbadi's tree quorums "can be generalized to arbitrary trees"."""

from __future__ import annotations

from typing import cast

import pytest

from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.topology import Tree, topology
from peerlock.quorums.tree_quorums import tree_quorum
from peerlock.simulator import Crash, Level, Light, Scenario, simulate
from peerlock.simulator import Network as Wires
from peerlock.simulator.by_hand import ByHand

NAME = "agrawal-el-abbadi-trees"
ODD = "edges:1-2,1-3,1-4,2-5,2-6,4-7,7-8,7-9"


def asked(node: int, spec: str, n: int, *down: int) -> tuple[int, ...] | None:
    return tree_quorum(node, n, down, cast(Tree, topology(spec, n)))


def test_a_quorum_is_a_path_from_the_root_to_a_leaf() -> None:
    assert asked(5, ODD, 9) == (1, 2, 5)
    assert asked(3, ODD, 9) == (1, 3)
    assert asked(7, ODD, 9) in ((1, 4, 7, 8), (1, 4, 7, 9))


def test_who_is_down_is_replaced_by_paths_from_all_its_children() -> None:
    assert asked(5, ODD, 9, 2) in ((1, 5, 6), (1, 3))
    assert asked(3, ODD, 9, 1) in (
        (2, 3, 4, 5, 7, 8),
        (2, 3, 4, 6, 7, 9),
        (2, 3, 4, 5, 7, 9),
    )
    assert asked(3, "star", 4, 1) == (2, 3, 4)


def test_without_a_leaf_another_path_is_taken_if_there_is_one() -> None:
    assert asked(5, ODD, 9, 5) is not None
    assert asked(1, "line", 4, 4) is None


def test_on_the_binary_tree_it_is_the_same() -> None:
    for n in (3, 7, 15):
        for node in range(1, n + 1):
            assert asked(node, "tree", n) == tree_quorum(node, n)
            assert asked(node, "tree", n, 1) == tree_quorum(node, n, (1,))


@pytest.mark.parametrize("spec", ["line", "star", "tree:3", ODD])
def test_an_entry_costs_three_for_each_other_node_of_the_path(spec: str) -> None:
    for node in range(1, 10):
        run = ByHand(NAME, 9, topology=topology(spec, 9))
        run.request(node)
        run.settle()
        assert run.judge.inside == {node}
        run.leave(node)
        run.settle()
        assert run.sent == 3 * (len(asked(node, spec, 9) or ()) - 1)


def test_wider_trees_ask_fewer() -> None:
    wide, narrow = (
        simulate(Scenario(NAME, 40, 80, Light(), topology=spec)).messages_per_entry
        for spec in ("tree:3", "tree")
    )
    assert wide < narrow


@pytest.mark.parametrize(
    ("requests", "spec", "crashes", "coverage"),
    [
        ((1, 1, 1, 1), "tree:3", 0, (2612, 5991, 21)),
        ((1, 1, 1, 0), "tree:3", 1, (9541, 28975, 22)),
        ((1, 1, 1, 0), "edges:1-2,1-3,3-4", 0, (2148, 5551, 21)),
    ],
    ids=str,
)
def test_it_holds(
    requests: tuple[int, ...], spec: str, crashes: int, coverage: tuple[int, int, int]
) -> None:
    network = Network(True, crashes=crashes)
    report = check(model(NAME, len(requests), requests, network, topology=spec))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


@pytest.mark.parametrize("spec", ["tree:3", ODD])
def test_runs_survive_a_failure(spec: str) -> None:
    for seed in range(5):
        wires = Wires(fifo=True, crashes=(Crash(seed % 3 + 1, 5.0 * seed),))
        report = simulate(
            Scenario(NAME, 9, 60, Level(0.1), wires, topology=spec, seed=seed)
        )
        assert report.max_inside == 1
        assert report.entries >= 59
