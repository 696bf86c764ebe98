"""Several hosts in trouble for half a minute; and a judge who would notice."""

import os
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from tests.chaos.history import Fault, Held, History, Life, Write, read
from tests.chaos.judge import judge
from tests.chaos.network import NAMESPACES, PREFIX, why_not
from tests.chaos.play import Play, play
from tests.chaos.report import page
from tests.chaos.summary import summary
from tests.support.postgresql_servers import why_not as no_postgresql

# The seed is one by which these last as long as they must, and no longer.
SHORT = Play(
    seconds=16,
    seed=34,
    lease=2,
    algorithms=("naimi-trehel", "ricart-agrawala", "maekawa", "raymond"),
    each=1,
    kinds=(
        "worker paused",
        "cut in halves",
        "etcd stopped, shortly",
        "worker killed",
        "etcd killed, all of it",
        "one way between hosts",
        "lossy",
    ),
    calm=1,
)


def test_hosts_are_cut_off_killed_and_stopped_and_no_two_hold_a_lock(
    short_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if why := why_not():
        pytest.skip(why)
    history, verdict = play(SHORT, short_path)

    assert verdict.good, "\n".join(verdict.violations)
    assert len({fault.kind for fault in history.faults}) >= 3
    assert verdict.grants > 100
    assert verdict.accepted > 50
    assert len(page(SHORT, history, verdict)) < 1_000_000
    assert not list(NAMESPACES.glob(f"{PREFIX}-{os.getpid()}-*"))
    with capsys.disabled():
        kinds = ", ".join(fault.kind for fault in history.faults)
        print(f"\n  {verdict.grants} grants, {verdict.lost} lost; {kinds}")


def test_the_same_with_postgresql(short_path: Path) -> None:
    if why := why_not() or no_postgresql():
        pytest.skip(why)
    kinds = (
        "worker paused",
        "backends terminated",
        "postgresql stopped, shortly",
        "postgresql killed, quickly back",
        "lagging replica promoted",
    )
    wanted = replace(SHORT, seconds=60, kinds=kinds, engine="postgresql")
    history, verdict = play(wanted, short_path)

    assert verdict.good, "\n".join(verdict.violations)
    assert {fault.kind for fault in history.faults} == set(kinds)
    assert verdict.grants > 100
    assert len(page(wanted, history, verdict)) < 1_000_000


# The judge


def held(who: str, fence: int, since: float, until: float, **more: object) -> Held:
    kind, name = str(more.pop("kind", "exclusive")), str(more.pop("name", "x"))
    made = Held(name, kind, who, fence, since, since - 1, until)
    for key, value in more.items():
        setattr(made, key, value)
    return made


def story(*grants: Held, writes: tuple[Write, ...] = ()) -> History:
    lives = {g.who: Life(g.who, joined=0.0, ended=100.0, lease=3.0) for g in grants}
    for grant in grants:
        lives[grant.who].held.append(grant)
    return History(lives, [], list(writes), calm=90.0)


def test_one_after_the_other_is_right() -> None:
    assert judge(story(held("a", 1, 1, 2), held("b", 2, 2, 3))).good


def test_two_at_a_time_are_noticed() -> None:
    found = judge(story(held("a", 1, 1, 3), held("b", 2, 2, 4)))
    assert "held together" in found.overlaps[0]


def test_readers_may_be_together_but_not_with_a_writer() -> None:
    readers = [held("a", 1, 1, 3, kind="shared"), held("b", 2, 2, 4, kind="shared")]
    assert judge(story(*readers)).good
    assert judge(story(*readers, held("c", 3, 3.5, 5))).overlaps


def test_permits_are_counted() -> None:
    three = [held(w, i, i, 9, kind="permit 2") for i, w in enumerate("abc", 1)]
    assert judge(story(*three[:2])).good
    assert "more than the permits" in judge(story(*three)).overlaps[0]


def test_a_fence_that_falls_is_noticed_also_if_nobody_overlaps() -> None:
    assert judge(story(held("a", 2, 1, 2), held("b", 1, 3, 4))).fences
    assert judge(story(held("a", 2, 1, 2), held("b", 2, 3, 4))).fences


def test_a_write_after_a_newer_fence_is_noticed() -> None:
    late = (
        Write("read", 1, "x", 1, 0, True, "a"),
        Write("read", 2, "x", 2, 0, True, "b"),
        Write("write", 3, "x", 1, 1, True, "a"),
    )
    assert "after 2" in judge(story(held("a", 1, 1, 2), writes=late)).stale[0]


def test_an_update_that_is_lost_is_noticed() -> None:
    twice = tuple(Write("write", f, "x", f, 1, True, "a") for f in (1, 2))
    assert "follows 1" in judge(story(held("a", 1, 0, 1), writes=twice)).stale[0]


def test_who_is_refused_must_not_hold_a_valid_grant() -> None:
    refused = (Write("write", 1.5, "x", 1, 1, False, "a"),)
    assert judge(story(held("a", 1, 1, 2), writes=refused)).stale
    assert judge(story(held("a", 1, 0, 1), writes=refused)).good


def test_who_is_told_late_without_having_been_stopped_is_noticed() -> None:
    lost = held("a", 1, 1, 3, deadline=3.0, told=3.5)
    history = story(lost)
    assert judge(history).told_late
    history.faults.append(Fault("worker paused", "a", 2.0, 3.4, {"who": "a"}))
    assert judge(history).good
    assert judge(history).late == 1
    lost.told = 3.1
    assert judge(history).least_warning == pytest.approx(0.2)


def test_who_goes_on_after_its_lease_is_noticed() -> None:
    assert judge(story(held("a", 1, 1, 3, deadline=3.0, freed=3.2))).good
    assert judge(story(held("a", 1, 1, 3, deadline=3.0, freed=3.5))).told_late


def test_who_still_waits_in_the_end_is_noticed_unless_it_was_killed() -> None:
    history = story(held("a", 1, 1, 2))
    life = history.lives["a"]
    life.ended, life.waiting = None, {0: ("x", 80.0)}
    assert judge(history).unserved
    life.died = 95.0
    assert judge(history).good


def test_a_grant_ends_with_its_holders_lease_or_life(tmp_path: Path) -> None:
    (tmp_path / "store.jsonl").write_text("")
    (tmp_path / "nemesis.jsonl").write_text('["dead", 7.0, "", "host2.1#2", {}]\n')
    begun = '["start", 0.5, 1]\n["lease", 1.0, 9.0]\n["ask", 1.5, 0, "x"]\n'
    begun += '["grant", 2.0, 0, "x", %d, "exclusive"]\n'
    (tmp_path / "host1.1#1.jsonl").write_text(begun % 1 + '["lost", 9.5, "x", 1]\n')
    (tmp_path / "host2.1#2.jsonl").write_text(begun % 2 + '["free", 8.0, "x"')
    (tmp_path / "host3.1#3.jsonl").write_text(begun % 3 + '["free", 4.0, "x", 3]\n')

    history = read(tmp_path)

    assert [grant.until for grant in history.held] == [9.0, 7.0, 4.0]
    assert [grant.deadline for grant in history.held] == [9.0, 9.0, 9.0]
    assert [life.died for life in history.lives.values()] == [inf, 7.0, inf]


def test_a_grant_belongs_to_the_lease_that_was_noted_before_it(tmp_path: Path) -> None:
    (tmp_path / "store.jsonl").write_text("")
    (tmp_path / "nemesis.jsonl").write_text("")
    begun = '["start", 0.5, 1]\n["lease", 1.0, 4.0]\n["ask", 3.0, 0, "x"]\n'
    grant = '["grant", 6.0, 0, "x", 1, "exclusive"]\n["free", 6.01, "x", 1]\n'
    lease = '["lease", 5.99, 9.0]\n'
    (tmp_path / "host1.1#1.jsonl").write_text(begun + lease + grant)
    (tmp_path / "host2.1#2.jsonl").write_text(begun + grant + lease)

    under, without = read(tmp_path).held

    assert (under.until, under.deadline) == (6.01, 9.0)
    assert (without.until, without.deadline) == (4.0, 4.0)


def test_the_summary_names_what_is_wrong() -> None:
    history = story(held("host1.1#1", 1, 1, 3), held("host2.1#2", 2, 2, 4))
    assert "held together" in summary(SHORT, history, judge(history))
