"""Maekawa's section 6.3 bounds what a request waits for at a member: there is no bound."""

import pytest

from peerlock.algorithms.card import card
from peerlock.algorithms.lookup import algorithm
from peerlock.simulator import Scenario, simulate
from peerlock.simulator.load import Schedule

# The one that waits, and two that take turns; they are not in its set, nor hear its number.
PASSED = {
    "maekawa": (7, 3, (1, 2)),
    "maekawa-takeover": (7, 3, (1, 2)),
    "majority": (5, 2, (1, 5)),
    "weighted-majority": (5, 2, (1, 5)),
}


def overtaken(name: str, ahead: int) -> int:
    """By how many entries, if the number of the one that waits is so far ahead."""
    nodes, waits, (one, other) = PASSED[name]
    alone = [(20.0 * i, waits) for i in range(ahead)]
    now = 20.0 * ahead + 50
    turns = [
        (now + 4 * i + after, node)
        for i in range(ahead + 5)
        for after, node in ((0, one), (2, other))
    ]
    asked = tuple(sorted([*alone, *turns, (now + 0.5, waits)]))
    return simulate(
        Scenario(name, nodes, len(asked), Schedule(asked), hold=2.0)
    ).max_overtaken


@pytest.mark.parametrize("name", PASSED)
def test_nodes_that_have_not_heard_of_a_request_pass_it_without_bound(name: str) -> None:
    """Where the paper has K−1, which is 2 here, and N−1 is 6 or 4."""
    assert (overtaken(name, 3), overtaken(name, 10)) == (7, 21)
    assert "later ones with a smaller number" in card(algorithm(name)).facts["fairness"]
