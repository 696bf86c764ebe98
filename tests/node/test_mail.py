"""Links between members, batches, back pressure: one test for each rule of node/mail.py."""

from __future__ import annotations

import pytest

from peerlock.core.peer import RemoteError
from peerlock.node import links, mail
from peerlock.node.fences import Fences
from peerlock.node.links import UNTOLD, Link
from peerlock.node.mail import EARLY, OF_HOMES
from peerlock.node.terms import settle
from peerlock.node.wire import (
    Batch,
    Close,
    Epoch,
    Formed,
    Go,
    Message,
    Open,
    Opened,
    Probe,
    Probed,
    Reform,
    Refused,
    Stale,
    Tell,
    Told,
)
from tests.support.nodes import CLOCKED, LOCK, World, said

SAID = Probe("x")
NAIMI = settle(LOCK, 0)

# One link for as long as both are in


def test_links_go_on_counting_over_views() -> None:
    world = World(3)
    world.use(1, 2, 3, wanted=CLOCKED)
    user = world.ask(2, wanted=CLOCKED)
    under_way = world.collect()
    assert under_way and all(parcel.batch.first > 1 for parcel in under_way)
    world.join(4)
    world.deliver(*under_way)  # as valid as before
    world.settle()
    assert user.holds
    assert world.remote_errors == 0


def test_what_was_lost_before_a_view_comes_again_after_it() -> None:
    world = World(3)
    world.use(1, 2, 3, wanted=CLOCKED)
    user = world.ask(2, wanted=CLOCKED)
    world.collect()  # lost with the connections
    world.join(4)
    world.settle()
    assert user.waits
    for member in (1, 3):
        world[2].connected(member)
    world.settle()
    assert user.holds


def test_a_link_ends_when_one_side_is_out() -> None:
    world = World(3)
    world.use(1, 2, 3, wanted=CLOCKED)
    world.ask(2, wanted=CLOCKED)
    (late,) = (parcel for parcel in world.collect() if parcel.to == 3)
    world.see(1, 3)
    world.deliver(late)
    assert world[3].drain() == [] and world[3].remembers()["early"] == 0
    assert world[3].remembers()["links"] == 0


def test_what_arrives_twice_is_taken_once() -> None:
    world = World(2)
    holder, other = world.get(1), world.ask(2)
    while parcels := world.collect():
        world.deliver(*parcels, *parcels)
    world.release(holder)
    world[1].turn()
    while parcels := world.collect():
        world.deliver(*parcels, *parcels)
    assert other.holds
    assert world.remote_errors == 0


def test_what_was_lost_comes_again_over_the_next_connection() -> None:
    world = World(2)
    user = world.ask(2)
    world.collect()  # and lost
    world.settle()
    assert not user.holds
    world[2].connected(1, again=True)
    world.settle()
    assert user.holds
    assert world[2].statistics.resent == 2  # Told, which was not acknowledged yet, and Open


def test_after_a_gap_nothing_is_taken_until_all_comes_again() -> None:
    """A gap is an error: the host then ends the connection, and another one is made."""
    world = World(2)
    world.ask(2, "first")
    world.collect()  # lost
    world.ask(2, "second", CLOCKED)
    world.ask(2, "third")
    with pytest.raises(RemoteError, match="message 3 follows 1"):
        world.settle()
    assert world[1].remembers()["homes"] == 0
    world[2].connected(1)
    world.settle()
    assert world[1].remembers()["homes"] == 3


def test_the_last_batch_on_a_live_connection_is_not_lost_in_silence() -> None:
    """Nothing follows it that could show the gap, but what goes unanswered is repeated."""
    world = World(2)
    world.pass_time(2)
    user = world.ask(2)
    world.collect()  # lost: an Open, and nothing else is to be said
    world[2].tick()
    assert world.settle() == []  # it may be on its way
    world[2].tick()
    world.settle()
    assert user.holds


def test_the_last_batches_on_a_live_connection_are_not_lost_in_silence() -> None:
    world = World(2)
    world.pass_time(2)
    users = []
    for name in "abc":
        users.append(world.ask(2, name))
        world.collect()  # lost
    world[2].tick()
    world[2].tick()
    with pytest.raises(RemoteError, match="message 4 follows 1"):
        world.settle()
    world[2].connected(1)
    world.settle()
    assert all(user.holds for user in users)


def test_what_came_is_acknowledged_at_the_next_tick() -> None:
    world = World(2)
    world.get(2)
    assert world[1].remembers()["links"] > 0
    world.pass_time(1)
    assert world[1].remembers()["links"] == world[2].remembers()["links"] == 0
    assert world.settle() == []  # and an acknowledgement is not acknowledged


def test_much_that_came_is_acknowledged_without_a_tick() -> None:
    link, other, fences = Link(), Link(), Fences()
    fences.enter(1)
    for _ in range(UNTOLD - 1):
        link.post(SAID)
    other.accept(link.batch(2, fences), fences)
    assert other.received - other.told < UNTOLD and other.owes_acknowledgement
    link.post(SAID)
    other.accept(link.batch(2, fences), fences)
    assert other.received - other.told == UNTOLD
    link.accept(other.batch(1, fences), fences)
    assert link.unacknowledged == 0
    assert not other.owes_acknowledgement


def test_an_acknowledgement_that_was_lost_is_repeated() -> None:
    """What is sent again as nobody has acknowledged it is acknowledged again."""
    world = World(2)
    world.get(2)
    world[2].tick()
    world.collect()  # lost: only acknowledgements
    world.pass_time(4)
    assert world[1].remembers()["links"] == 0
    assert world.settle() == []


def test_nobody_can_acknowledge_what_was_never_sent() -> None:
    world = World(2)
    before, fence = world[1].remembers(), world[1].fences.highest
    limit = world[1].fences.limit
    batch = Batch(
        1, world.number, 1, received=1_000, fence=fence + 77, limit=limit, messages=()
    )
    with pytest.raises(RemoteError, match="message 1000 was acknowledged, and never sent"):
        world[1].receive(2, batch)
    assert world[1].remembers() == before
    assert world[1].fences.highest == fence


# Members that we have not seen yet, or no longer


def test_batches_of_a_member_that_we_have_not_seen_are_kept_until_we_have() -> None:
    world = World(2)
    world.add(3)
    view = world.next_view(1, 2, 3)
    world.show(3)
    world.show(2)
    user = world.ask(3)
    world.settle()
    assert user.waits
    assert world[1].waits_for_view and world[1].remembers()["early"] == 1
    world.show(1, view)
    assert not world[1].waits_for_view
    world.settle()
    assert user.holds
    assert world[1].remembers()["early"] == 0


def test_all_early_batches_are_kept_in_order() -> None:
    world = World(2)
    world.add(3)
    world.next_view(1, 2, 3)
    world.show(3)
    users = []
    for i in range(20):
        users.append(world.ask(3, f"name {i}"))
        world.step()  # a batch for each
    assert world[1].remembers()["early"] == 20
    world.show(1)
    world.show(2)
    world.settle()
    assert all(user.holds for user in users)
    assert world.remote_errors == 0


def test_while_we_join_batches_for_whom_we_shall_be_are_kept() -> None:
    """A member may have heard of our joining before we have the engine's answer."""
    world = World(2)
    world.use(1)
    node = world.add(3)
    view = world.next_view(1, 2, 3)
    world.show(1)
    world.show(2)
    world[1].mail.post(3, Probe("x"))
    world.carry()
    assert node.remembers()["early"] == 1 and node.waits_for_view
    node.see(view, 3)
    assert said(world.carry(), Probed) == 1
    assert world.remote_errors == 0


def test_a_batch_of_any_other_stranger_is_late_and_dropped() -> None:
    world = World(2)
    world.die(1)
    world.settle()
    world[2].receive(1, Batch(2, 1, 1, 0, 0, 0, (Probe("x"),)))
    assert world[2].remembers()["early"] == 0
    assert world[2].drain() == [] and world.remote_errors == 0


def test_a_stranger_that_never_joins_leaves_nothing() -> None:
    world = World(2)
    world[1].receive(9, Batch(1, 1, 1, 0, 0, 0, (Open(1, "x", LOCK, 0.0),)))
    assert world[1].remembers()["early"] == 1
    world.next_view(1, 2)
    world.number = 20
    world.see(1, 2)
    world.settle()
    assert world[1].remembers()["early"] == 0
    assert world[1].remembers()["homes"] == 0


def test_what_comes_from_members_that_never_come_is_bounded() -> None:
    world = World(2)
    batch = Batch(1, 1, 1, 0, 0, 0, ())
    for _ in range(EARLY):
        world[1].receive(99, batch)
    with pytest.raises(RemoteError, match="too much from members"):
        world[1].receive(99, batch)
    assert world[1].remembers()["early"] == EARLY


def test_what_is_meant_for_a_former_self_is_dropped() -> None:
    world = World(2)
    world.ask(2)
    (parcel,) = world.collect()
    world.deliver(parcel._replace(batch=parcel.batch._replace(to=7)))
    assert world[1].remembers()["homes"] == 0
    world.deliver(parcel)
    assert world[1].remembers()["homes"] == 1


# Views that we have not seen yet


def test_what_is_said_to_a_home_in_a_view_to_come_is_kept_until_it_is_seen() -> None:
    """Here to a home that does not know yet that it is one."""
    world = World(3)
    view = world.next_view(2, 3)
    del world.nodes[1]
    world.show(3, view)
    user = world.ask(3)
    world.settle()
    assert user.waits and world[2].waits_for_view
    assert world[2].remembers()["homes"] == 0
    world.show(2, view)
    world.settle()
    assert user.holds and not world[2].waits_for_view


def test_what_comes_after_a_kept_message_does_not_overtake_it() -> None:
    """To a home: Close, kept for a view; then Open, which must not be closed by it."""
    world = World(2)
    world.use(2)
    epoch = world.lock(2).epoch
    number = world.number + 1
    seen = world.number
    world.say(2, 1, Close(number, "x", epoch), Open(seen, "x", LOCK, 0.0))
    assert world[1].remembers()["early"] == 2
    assert world[1].homes.epoch_of("x") == epoch
    world.next_view(1, 2)
    world.show(1)
    world.carry()
    assert world[1].remembers()["early"] == 0
    assert world[1].homes.epoch_of("x") > epoch  # it was closed, and opened again


def test_messages_within_a_circle_wait_for_no_view() -> None:
    world = World(3)
    world.use(1, 2, 3, wanted=CLOCKED)
    world.add(4)
    world.next_view(1, 2, 3, 4)
    world.show(2)  # and 1 and 3 have not seen it yet
    user = world.ask(2, wanted=CLOCKED)
    world.settle()
    assert user.holds


def test_a_member_that_is_out_leaves_nothing_that_was_kept() -> None:
    world = World(3)
    world.say(3, 1, Open(world.number + 1, "x", LOCK, 0.0))
    assert world[1].remembers()["early"] == 1
    world.die(3)
    world.settle()
    assert world[1].remembers() == {"locks": 0, "homes": 0, "links": 0, "early": 0}


def test_a_member_that_is_out_itself_keeps_nothing_for_the_one_that_it_becomes() -> None:
    world = World(3)
    world.say(3, 1, Open(world.number + 1, "x", LOCK, 0.0))
    assert world[1].remembers()["early"] == 1
    world[1].lose_everything()
    assert world[1].remembers()["early"] == 0


# Views that cannot be

HUGE = 2**40
FORGED: dict[type, Message] = {
    Open: Open(HUGE, "x", LOCK, 0.0),
    Reform: Reform(HUGE, "x", Epoch(HUGE, 1)),
    Formed: Formed(HUGE, "x", Epoch(HUGE, 1), True, True, 0.0),
    Opened: Opened(HUGE, "x", Epoch(HUGE, 1), NAIMI, (1, 2), (), ()),
    Refused: Refused(HUGE, "x", LOCK, "so"),
    Close: Close(HUGE, "x", Epoch(1, 1)),
    Tell: Tell(HUGE, 1, (2,), ()),
    Told: Told(HUGE, 1, (), False),
    Stale: Stale(HUGE, "x", HUGE),
}


def honest(world: World, name: str) -> Open:
    return Open(world.number, name, LOCK, 0.0)


def test_the_list_of_forged_messages_is_whole() -> None:
    assert FORGED.keys() == OF_HOMES


@pytest.mark.parametrize("kind", FORGED, ids=lambda kind: kind.__name__)
def test_what_waits_for_a_view_that_cannot_be_is_a_counted_error(kind: type) -> None:
    """What its sender says afterwards has waited, and is heard then."""
    world = World(2)
    node = world[1]
    world.say(2, 1, FORGED[kind], honest(world, "y"))
    assert node.waits_for_view and node.remembers()["early"] == 2
    assert node.remembers()["homes"] == 0
    node.view_asked()
    assert not node.waits_for_view  # one question is enough
    assert node.remembers()["early"] == 2 and world.remote_errors == 0
    node.view_answered()
    assert node.remembers()["early"] == 0 and world.remote_errors == 1
    assert node.homes.circle_of("y") == (2,) and not node.waits_for_view


def test_what_comes_after_the_question_waits_for_the_next() -> None:
    """The view may have been made after the engine was read."""
    world = World(2)
    node = world[1]
    node.view_asked()
    world.say(2, 1, honest(world, "y")._replace(view=world.number + 1))
    node.view_answered()
    assert node.waits_for_view and node.remembers()["early"] == 1
    node.view_asked()
    world.see(1, 2)
    node.view_answered()
    assert node.remembers()["early"] == 0 and world.remote_errors == 0
    assert node.homes.circle_of("y") == (2,)


def test_what_comes_after_the_question_calls_for_another_one_at_once() -> None:
    """Although the question was put for what the same member has said before."""
    world = World(2)
    node = world[1]
    world.say(2, 1, FORGED[Open])
    node.view_asked()
    assert not node.waits_for_view
    world.say(2, 1, FORGED[Close])
    assert node.waits_for_view


def test_what_cannot_be_is_dropped_and_what_comes_later_waits() -> None:
    world = World(2)
    node = world[1]
    world.say(2, 1, FORGED[Open], honest(world, "y"))
    node.view_asked()
    world.say(2, 1, FORGED[Close], honest(world, "z"))
    node.view_answered()
    assert node.homes.circle_of("y") == (2,) and node.homes.circle_of("z") == ()
    assert world.remote_errors == 1 and node.waits_for_view
    node.view_asked()
    node.view_answered()
    assert node.homes.circle_of("z") == (2,) and world.remote_errors == 2


def test_a_question_that_failed_shows_nothing() -> None:
    """The node has asked twice, and has one answer: to the second question."""
    world = World(2)
    node = world[1]
    node.view_asked()
    world.say(2, 1, FORGED[Open])
    node.view_asked()
    node.view_answered()
    assert world.remote_errors == 1 and node.remembers()["early"] == 0


def test_one_that_says_what_cannot_be_holds_up_no_other_member() -> None:
    world = World(3)
    world.say(3, 1, FORGED[Open])
    assert world.get(2).holds
    assert world[1].remembers()["early"] == 1


def test_a_stranger_that_cannot_be_a_member_is_a_counted_error() -> None:
    """A member of that number would be in a view that the answer has."""
    world = World(2)
    node = world[1]
    node.receive(HUGE, Batch(1, HUGE, 1, 0, 0, 0, (honest(world, "y"),)))
    assert node.waits_for_view
    node.view_asked()
    assert not node.waits_for_view
    world.see(1, 2)  # another view, heard meanwhile, says nothing of it
    assert not node.waits_for_view and node.remembers()["early"] == 1
    node.view_answered()
    assert node.remembers()["early"] == 0 and node.statistics.remote_errors == 1


def test_while_a_node_is_out_an_answer_shows_nothing() -> None:
    """It has asked as the member that it was, and has not seen the answer."""
    world = World(2)
    world.add(3)
    view = world.next_view(1, 2, 3)
    world.show(3, view)
    user = world.ask(3)
    world.carry()
    node = world[1]
    node.view_asked()
    node.lose_everything()
    node.view_answered()
    assert node.remembers()["early"] == 1 and node.statistics.remote_errors == 0
    assert user.waits


def test_what_is_kept_of_a_member_is_bounded_and_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch too many is refused, and comes again over the next connection."""
    monkeypatch.setattr(mail, "AHEAD", 3)
    world = World(3)
    view = world.next_view(1, 2, 3)
    world.show(2, view)
    users = [world.ask(2, f"name {i}") for i in range(3)]
    world.carry()
    for i in range(3, 8):
        users.append(world.ask(2, f"name {i}"))
        with pytest.raises(RemoteError, match="2 sends too much in views"):
            world.carry()
    assert world[1].remembers()["early"] == 3
    assert world.get(3).holds  # others are heard
    world.show(1, view)
    world[2].connected(1, again=True)
    world.settle()
    assert all(user.holds for user in users)
    assert world.remote_errors == 0


# To ourselves


def test_what_we_tell_ourselves_takes_no_link() -> None:
    world = World(1)
    user = world.ask(1)
    assert user.holds
    world.release(user)
    assert world.settle() == []
    assert world[1].remembers()["links"] == 0
    assert not world[1].statistics.messages


# Full links


def test_a_full_link_holds_back_new_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(2)
    names = [f"name {i}" for i in range(20)]
    for name in names:
        world.use(1, 2, name=name, wanted=CLOCKED)
    world.pass_time(1)
    monkeypatch.setattr(links, "FULL", 5)
    users = [world.ask(2, name, CLOCKED) for name in names]
    assert world[2].remembers()["links"] == 5  # nobody has carried anything yet
    world.pass_time(10)
    assert all(user.holds for user in users)


def test_what_others_ask_for_is_answered_over_a_full_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(2)
    names = [f"name {i}" for i in range(10)]
    for name in names:
        world.use(1, 2, name=name, wanted=CLOCKED)
    world.pass_time(1)
    monkeypatch.setattr(links, "FULL", 1)
    held_back = world.ask(1, "name 0", CLOCKED)
    assert world[1].mail.has_full_links
    monkeypatch.setattr(links, "FULL", 10_000)  # of the other side
    users = [world.ask(2, name, CLOCKED) for name in names[1:]]
    parcels = world.collect()
    monkeypatch.setattr(links, "FULL", 1)
    world.deliver(*parcels)
    world.carry()
    assert all(user.holds for user in users) and held_back.holds


def test_what_is_held_back_and_given_up_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(2)
    for name in ("first", "second"):
        world.use(1, 2, name=name, wanted=CLOCKED)
    world.pass_time(1)
    requests = world[1].statistics.messages["Request"]
    monkeypatch.setattr(links, "FULL", 1)
    first, user = world.ask(1, "first", CLOCKED), world.ask(1, "second", CLOCKED)
    world[1].give_up(user)
    world.pass_time(2)
    assert first.holds and user.told == []
    assert world[1].statistics.messages["Request"] == requests + 1


def test_a_home_that_does_not_listen_is_not_spoken_to_without_end() -> None:
    """A name is given back once, and not again at each sweep."""
    world = World(3, remember=5.0)
    for i in range(20):
        world.use(2, 3, name=f"name {i}", wanted=CLOCKED)
    world.pass_time(1)
    assert world[2].remembers() == {"locks": 20, "homes": 0, "links": 0, "early": 0}
    for _ in range(50):
        world.now += 5.0
        world[2].tick()  # and nothing is carried
    assert world[2].remembers()["links"] <= 20


# Kinds


def test_every_kind_of_message_is_counted_by_its_name() -> None:
    world = World(2)
    world.use(2, 1)
    counted = world[1].statistics.messages + world[2].statistics.messages
    for kind in (Open, Opened, Formed, Go):
        assert counted[kind.__name__] >= 1, kind
