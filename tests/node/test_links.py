"""Links between nodes, directly: gaps, repetitions, acknowledgements."""

from __future__ import annotations

import pytest

from peerlock.core.peer import RemoteError
from peerlock.node import links
from peerlock.node.fences import Fences
from peerlock.node.links import UNTOLD, Link
from peerlock.node.wire import Batch, Message, Probe

FENCES = Fences()
FENCES.enter(1)


def said(*numbers: int) -> tuple[Message, ...]:
    return tuple(Probe(f"message {number}") for number in numbers)


def posted(*numbers: int) -> Link:
    link = Link()
    for message in said(*numbers):
        link.post(message)
    return link


def sent(link: Link) -> Batch:
    return link.batch(1, FENCES)


def test_a_batch_says_what_is_new_and_from_which_number_on() -> None:
    link = posted(1, 2)
    assert sent(link) == Batch(1, 1, 1, 0, 4096, 8192, said(1, 2))
    for message in said(3):
        link.post(message)
    assert sent(link) == Batch(1, 1, 3, 0, 4096, 8192, said(3))
    assert sent(link) == Batch(1, 1, 4, 0, 4096, 8192, ())


def test_each_message_is_accepted_once_and_in_order() -> None:
    sender, receiver = posted(1, 2, 3), Link()
    first = sent(sender)
    assert receiver.accept(first, FENCES) == said(1, 2, 3)
    assert receiver.accept(first, FENCES) == ()
    sender.post(said(4)[0])
    sender.anew()
    assert receiver.accept(sent(sender), FENCES) == said(4)  # what came again is left out
    assert receiver.received == 4


def test_a_gap_is_refused_until_it_is_closed() -> None:
    sender, receiver = posted(1), Link()
    lost = sent(sender)
    sender.post(said(2)[0])
    late = sent(sender)
    for _ in range(2):
        with pytest.raises(RemoteError, match="message 2 follows 0"):
            receiver.accept(late, FENCES)
    assert receiver.received == 0
    assert receiver.accept(lost, FENCES) == said(1)
    assert receiver.accept(late, FENCES) == said(2)


def test_a_new_connection_carries_all_that_is_not_acknowledged() -> None:
    sender, receiver = posted(1, 2, 3), Link()
    receiver.accept(sent(sender)._replace(messages=said(1)), FENCES)
    sender.accept(sent(receiver), FENCES)
    assert sender.unacknowledged == 2
    assert sender.anew() == 2
    again = sent(sender)
    assert (again.first, again.messages) == (2, said(2, 3))


@pytest.mark.parametrize("number", [1, UNTOLD // 2, 3 * UNTOLD])
def test_what_comes_twice_is_acknowledged_again(number: int) -> None:
    """The first acknowledgement may have been lost."""
    sender, receiver = posted(*range(number)), Link()
    receiver.accept(sent(sender), FENCES)
    sent(receiver)  # it never arrives
    assert not receiver.owes_acknowledgement
    sender.anew()
    assert receiver.accept(sent(sender), FENCES) == ()
    assert receiver.owes_acknowledgement
    sender.accept(sent(receiver), FENCES)
    assert sender.unacknowledged == 0
    assert not receiver.owes_acknowledgement


def test_an_acknowledgement_alone_is_not_acknowledged() -> None:
    sender, receiver = posted(1), Link()
    receiver.accept(sent(sender), FENCES)
    sender.accept(sent(receiver), FENCES)
    assert not sender.owes_acknowledgement


def test_a_message_that_nobody_acknowledges_is_repeated_at_the_second_tick() -> None:
    """It was lost although the connection lives: the receiver sees the gap, or has it."""
    sender, receiver = posted(1, 2), Link()
    assert not sender.remind()  # it has not been sent yet
    sent(sender)
    assert sender.remind()
    reminder = sent(sender)
    assert (reminder.first, reminder.messages) == (2, said(2))
    with pytest.raises(RemoteError):
        receiver.accept(reminder, FENCES)
    sender.anew()
    receiver.accept(sent(sender), FENCES)
    sender.accept(sent(receiver), FENCES)
    assert not sender.remind()


def test_what_was_not_sent_yet_is_no_reminder() -> None:
    """It will be sent anyway: nothing may be in a batch twice."""
    sender, receiver = posted(1), Link()
    receiver.accept(sent(sender), FENCES)
    assert not sender.remind()
    for message in said(2, 3):
        sender.post(message)
    assert not sender.remind()  # although 1 was not acknowledged between two ticks
    assert receiver.accept(sent(sender), FENCES) == said(2, 3)


def test_what_is_acknowledged_is_dropped_and_no_more() -> None:
    sender, receiver = posted(1, 2, 3), Link()
    receiver.accept(sent(sender)._replace(messages=said(1, 2)), FENCES)
    acknowledgement = sent(receiver)
    for _ in range(2):
        sender.accept(acknowledgement, FENCES)
        assert list(sender._kept) == list(said(3))


def test_what_was_never_sent_cannot_be_acknowledged() -> None:
    sender = posted(1, 2)
    for received in (3, 4, 1_000):
        with pytest.raises(RemoteError, match="never sent"):
            sender.accept(Batch(1, 1, 1, received, 4096, 8192, ()), FENCES)
    assert sender.unacknowledged == 2


def test_a_link_is_full_and_then_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "FULL", 3)
    sender, receiver = Link(), Link()
    assert [sender.post(message) for message in said(1, 2, 3, 4)] == [
        False,
        False,
        True,
        True,
    ]
    assert sender.full
    receiver.accept(sent(sender), FENCES)
    sender.accept(sent(receiver), FENCES)
    assert not sender.full
