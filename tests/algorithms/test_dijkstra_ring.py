"""Dijkstra's ring with K states: one privilege, and back to it from every state."""

from typing import Any

import pytest

from peerlock.algorithms.dijkstra_ring import AGAIN, DijkstraRing, State
from peerlock.checker.model import model
from peerlock.checker.stabilisation import convergence
from peerlock.core.errors import UsageError
from peerlock.core.peer import Enter, Send, SetTimer
from peerlock.simulator import Heavy, Scenario, simulate
from peerlock.simulator.load import Schedule

THREE = (1, 2, 3)
LINE = ("check", "dijkstra-ring", "-n", 2, "--everywhere")


def told(peer: DijkstraRing) -> list[object]:
    return [effect for effect in peer.drain() if not isinstance(effect, SetTimer)]


# The rules


def test_node_1_has_the_privilege_if_the_values_are_equal() -> None:
    peer = DijkstraRing(1, THREE, value=2)
    peer.receive(3, State(1))
    assert told(peer) == []
    peer.receive(3, State(2))
    assert told(peer) == [Send(2, State(3))]


def test_another_has_it_if_they_differ() -> None:
    peer = DijkstraRing(2, THREE, value=2)
    peer.receive(1, State(2))
    assert told(peer) == []
    peer.receive(1, State(5))
    assert told(peer) == [Send(3, State(5))]


def test_node_1_counts_modulo_k() -> None:
    peer = DijkstraRing(1, THREE, values=6, value=5)
    peer.receive(3, State(5))
    assert told(peer) == [Send(2, State(0))]


def test_the_privilege_is_kept_while_its_node_is_inside() -> None:
    peer = DijkstraRing(2, THREE)
    peer.acquire()
    peer.receive(1, State(1))
    assert told(peer) == [Enter()]
    peer.timer(AGAIN)
    assert told(peer) == []
    peer.release()
    assert told(peer) == [Send(3, State(1))]


def test_a_state_is_told_again_when_all_is_silent() -> None:
    peer = DijkstraRing(3, THREE, value=4)
    peer.timer(AGAIN)
    assert told(peer) == [Send(1, State(4))]


# Counts


@pytest.mark.parametrize("n", [2, 5, 25])
def test_one_message_an_entry_when_all_compete(n: int) -> None:
    report = simulate(Scenario("dijkstra-ring", n, 50 * n, Heavy()))
    assert report.messages_per_entry == pytest.approx(1.0, abs=0.05)


def test_without_bound_when_nobody_asks() -> None:
    late = simulate(Scenario("dijkstra-ring", 5, 1, Schedule(((1000.0, 3),))))
    later = simulate(Scenario("dijkstra-ring", 5, 1, Schedule(((10000.0, 3),))))
    assert later.messages_per_entry > 9 * late.messages_per_entry > 1000


# From every state


@pytest.mark.parametrize(
    ("values", "beginnings", "states", "unsafe"),
    [(4, 901, 4415, 1541), (5, 1621, 7965, 2513)],
)
def test_from_every_state_one_privilege_is_left(
    values: int, beginnings: int, states: int, unsafe: int
) -> None:
    found = convergence(model("dijkstra-ring", 2, None, values=values))
    assert found.holds
    assert (found.beginnings, found.states, found.unsafe) == (beginnings, states, unsafe)


def test_of_three_nodes_too_the_states_are_counted() -> None:
    """With few values; `make check-all` has 6, with which they converge."""
    found = convergence(model("dijkstra-ring", 3, None, values=2))
    assert (found.beginnings, found.states, found.unsafe) == (2917, 26159, 21807)
    assert "again and again" in found.failure


@pytest.mark.parametrize("values", [2, 3])
def test_with_fewer_values_than_places_two_go_round_for_ever(values: int) -> None:
    """The paper's K ≥ N is for machines that read their neighbour's memory."""
    found = convergence(model("dijkstra-ring", 2, None, values=values))
    assert not found.holds
    assert "again and again" in found.failure


def test_a_plain_token_ring_cannot_say_what_a_fault_leaves_behind() -> None:
    with pytest.raises(UsageError, match="does not say what a fault may leave behind"):
        convergence(model("token-ring", 2, None))


def test_the_command_tells_whether_it_converges(peerlock: Any) -> None:
    good = peerlock(*LINE, "--json")
    assert (good.code, good.json["converges"], good.json["states"]) == (0, True, 4415)
    assert "CONVERGES" in peerlock(*LINE).out
    bad = peerlock(*LINE, "--values", 3)
    assert bad.code == 1
    assert "DOES NOT CONVERGE" in bad.out
    cut = peerlock(*LINE, "--max-states", 1000)
    assert cut.code == 3
    assert "CUT SHORT" in cut.out
    assert peerlock("check", "token-ring", "--everywhere").code == 2
