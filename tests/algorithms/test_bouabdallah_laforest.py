"""Bouabdallah and Laforest's: one control token orders the requests for all resources."""

import pytest

from peerlock.algorithms.bouabdallah_laforest import (
    HERE,
    BouabdallahLaforest,
    Control,
    Inquire,
    Request,
    Token,
)
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.bits import bits
from peerlock.core.peer import Enter, RemoteError, Send
from peerlock.simulator import Heavy, Light, Scenario, simulate

THREE = (1, 2, 3)
FIRST, SECOND, BOTH = bits((1,)), bits((2,)), bits((1, 2))


def waiting(wanted: int = BOTH) -> BouabdallahLaforest:
    """Node 2, which has asked for the control token."""
    peer = BouabdallahLaforest(2, THREE)
    peer.acquire_for(wanted)
    assert peer.drain() == [Send(1, Request(2))]
    return peer


def asking_again() -> BouabdallahLaforest:
    """Node 2 has left, the control token has gone to 3, and it asks for the first anew."""
    peer = waiting(FIRST)
    peer.receive(1, Control((HERE, HERE)))
    peer.receive(3, Request(3))
    peer.release()
    peer.acquire_for(FIRST)
    peer.drain()
    return peer


# The control token


def test_whoever_has_the_control_token_and_all_others_enters_at_once() -> None:
    peer = BouabdallahLaforest(1, THREE)
    peer.acquire_for(BOTH)
    assert peer.drain() == [Enter()]


def test_tokens_in_the_control_token_are_taken() -> None:
    peer = waiting()
    peer.receive(1, Control((HERE, HERE)))
    assert peer.drain() == [Enter()]
    assert peer.asked == ((2, 1), (2, 1))


def test_the_last_one_is_inquired_of_for_the_rest() -> None:
    peer = waiting()
    peer.receive(1, Control(((3, 7), HERE)))
    assert peer.drain() == [Send(3, Inquire(1, 7))]
    peer.receive(3, Token(1))
    assert peer.drain() == [Enter()]


def test_nobody_keeps_the_control_token_while_it_waits() -> None:
    peer = waiting()
    peer.receive(3, Request(3))
    peer.receive(1, Control(((3, 7), HERE)))
    assert peer.drain() == [Send(3, Inquire(1, 7)), Send(3, Control(((2, 1), (2, 1))))]


def test_tokens_without_use_go_with_the_control_token() -> None:
    peer = BouabdallahLaforest(1, THREE)
    peer.acquire_for(BOTH)
    peer.release()
    peer.drain()
    peer.receive(3, Request(3))
    assert peer.drain() == [Send(3, Control((HERE, HERE)))]
    assert peer.tokens == 0


# The tokens of the resources


def test_a_token_goes_to_the_heir_at_the_exit() -> None:
    peer = waiting(FIRST)
    peer.receive(1, Control((HERE, HERE)))
    peer.receive(3, Inquire(1, 1))
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Send(3, Token(1))]


def test_an_inquire_after_an_older_request_gets_the_token_at_once() -> None:
    """Though we ask for it again: our new request comes after the sender's."""
    peer = asking_again()
    assert peer.tokens == FIRST
    peer.receive(3, Inquire(1, 1))
    assert peer.drain() == [Send(3, Token(1))]


def test_but_not_one_that_the_new_request_has_got() -> None:
    """Then nobody has asked between the two."""
    peer = waiting(FIRST)
    peer.receive(1, Control((HERE, HERE)))
    peer.release()
    peer.acquire_for(FIRST)
    peer.drain()
    with pytest.raises(RemoteError, match="3 inquires of us for 1, which is not here"):
        peer.receive(3, Inquire(1, 1))
    assert peer.tokens == FIRST


def test_and_one_after_the_new_request_waits_for_it() -> None:
    peer = asking_again()
    peer.receive(1, Inquire(1, 2))
    assert peer.drain() == []
    assert peer.heirs == (1, 0)


@pytest.mark.parametrize(
    "message",
    [Control((HERE,)), Control((HERE, HERE)), Inquire(1, 1), Inquire(5, 1), Token(1)],
    ids=str,
)
def test_senseless_messages_are_refused(message: object) -> None:
    with pytest.raises(RemoteError):
        BouabdallahLaforest(2, THREE).receive(3, message)


# Claims


@pytest.mark.parametrize("n", [4, 16, 64])
@pytest.mark.parametrize("resources", [1, 3])
def test_about_log_n_when_nobody_competes(n: int, resources: int) -> None:
    """The control token brings all the others: it costs what Naimi and Trehel's costs."""
    scenario = Scenario("bouabdallah-laforest", n, 400, Light(), resources=resources)
    harmonic = sum(1 / k for k in range(1, n))
    assert simulate(scenario).messages_per_entry == pytest.approx(harmonic, rel=0.1)


@pytest.mark.parametrize("n", [2, 5, 10, 25])
@pytest.mark.parametrize("resources", [1, 2, 4])
def test_at_most_two_more_for_each_resource_when_all_compete(
    n: int, resources: int
) -> None:
    scenario = Scenario("bouabdallah-laforest", n, 20 * n, Heavy(), resources=resources)
    report = simulate(scenario)
    mean = resources * 2 ** (resources - 1) / (2**resources - 1)  # resources of a request
    assert report.messages_per_entry <= 4 + 2 * mean


def test_with_one_resource_it_holds_for_three() -> None:
    report = check(model("bouabdallah-laforest", 3, 1, resources=1))
    assert report.holds
    assert report.coverage.states == 342
