"""One join, one death of a bystander: what a hundred whole processes say, and which names
notice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from bench.crowd import NAMES, Crowd, Said

from peerlock.node.presence import Presence
from peerlock.node.views import View

MEMBERS = 100
each_kind = pytest.mark.parametrize("between_machines", [False, True])


@each_kind
@pytest.mark.parametrize("event", [Crowd.join, Crowd.death])
def test_a_join_and_a_death_cost_two_messages_per_member_at_most_and_touch_no_name(
    event: Callable[[Crowd], Said], between_machines: bool
) -> None:
    crowd = Crowd(1, MEMBERS, between_machines)
    before, members = crowd.state(), len(crowd.engine.table.view.members)
    usual = crowd.said_after().total
    assert len(before) == NAMES and members == MEMBERS
    assert usual > 0  # one of the names is handed on
    sent = event(crowd).total - usual
    assert abs(len(crowd.engine.table.view.members) - members) == 1
    assert sent <= 2 * MEMBERS
    assert crowd.state() == before


def test_it_would_be_noticed_if_each_member_told_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd = Crowd(1, MEMBERS)
    usual = crowd.said_after().total
    see = Presence._go_with

    def tell_all(self: Presence, view: View) -> None:
        see(self, view)
        for member in self._addresses:
            if member != self.node.me:
                self._untold.add(member)
                self.wanted(member)

    monkeypatch.setattr(Presence, "_go_with", tell_all)
    assert crowd.join().total - usual > 2 * MEMBERS


def test_one_seed_is_one_figure() -> None:
    said = [Crowd(7, 40).join() for _ in range(2)]
    assert said[0] == said[1]
