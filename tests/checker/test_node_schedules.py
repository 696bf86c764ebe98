"""Whole nodes through every schedule of small stories, and the snapshots that need."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from bench import check_all
from click.testing import CliRunner

from peerlock.algorithms.raymond_k import RaymondK
from peerlock.checker.check import LARGE, check
from peerlock.checker.nodes import LARGE_STORIES, STORIES, Story, node_model, story_named
from peerlock.checker.report import Verdict
from peerlock.cli.check_node import check_node
from peerlock.core.errors import UsageError
from peerlock.core.peer import label
from peerlock.node.node import Node
from peerlock.node.snapshots import OWN, PARTS
from peerlock.traces.trace import Kind
from tests.node.mutants import FOUND_BY, MUTANTS, Mutant
from tests.support.nodes import World

# Fewer states would be fewer schedules; more, a node that remembers what it should not.
PINNED = {
    "two": (1_959, 3_751),
    "three": (171_988, 513_273),
    "newcomer": (423, 715),
    "newcomers": (232_516, 650_368),
    "leave": (1_692, 3_440),
    "death": (43_081, 102_960),
    "return": (8_332, 20_601),
    "lease": (166_658, 515_968),
    "readers": (1_900, 4_390),
    "semaphore": (2_101, 4_623),
    "forgetting": (58_285, 104_060),
}


def searched(story: Story, large: int | None = LARGE) -> Verdict:
    return check(node_model(story), large=large)


def the_mutant(what: str) -> Mutant:
    [mutant] = [mutant for mutant in MUTANTS if mutant.what == what]
    return mutant


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_every_schedule_of_a_story_holds(story: Story) -> None:
    verdict = searched(story)
    assert verdict.violation is None, verdict.violation.text
    assert verdict.complete and verdict.everyone_entered
    coverage = verdict.coverage
    assert (coverage.states, coverage.transitions) == PINNED[story.name]


def test_every_story_has_its_name_and_is_told() -> None:
    names = [story.name for story in STORIES + LARGE_STORIES]
    assert len(set(names)) == len(names) and set(PINNED) == {s.name for s in STORIES}
    assert set(check_all.PINNED) == {story.name for story in LARGE_STORIES}
    with pytest.raises(UsageError, match="deaths"):
        story_named("deaths")


DOCS = Path(__file__).parents[2] / "docs" / "checked.md"


def test_the_docs_have_each_story_with_its_counts() -> None:
    rows = [line.split(" | ") for line in DOCS.read_text().splitlines()]
    written = {
        row[0].strip("| `"): (row[2].replace(",", ""), row[3].replace(",", ""))
        for row in rows
        if len(row) == 5 and row[0].startswith("| `")
    }
    pinned = (PINNED | check_all.PINNED).items()
    assert written == {name: (str(s), str(t)) for name, (s, t) in pinned}


# What is found


def test_the_mutants_are_still_there() -> None:
    assert set(FOUND_BY) <= {mutant.what for mutant in MUTANTS}


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.what in FOUND_BY], ids=str)
def test_a_node_that_errs_is_found_out(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant.apply(monkeypatch)
    violation = searched(story_named(FOUND_BY[mutant.what])).violation
    assert violation is not None
    assert all(label(step.message) for step in violation.trace.steps if step.message)


@pytest.mark.parametrize("large", [0, None], ids=["arrays", "plain"])
def test_a_fence_that_does_not_grow_is_found_by_both_searches(
    large: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_mutant("fences do not travel").apply(monkeypatch)
    violation = searched(story_named("two"), large).violation
    assert violation is not None and violation.property == "fence"
    granted = [step.fence or 0 for step in violation.trace.steps if step.kind is Kind.ENTER]
    assert granted[-1] <= max(granted[:-1])  # the real ones


@pytest.mark.parametrize("large", [0, None], ids=["arrays", "plain"])
def test_what_is_remembered_in_the_end_is_found_by_both_searches(
    large: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_mutant("a home ignores Close of the last member").apply(monkeypatch)
    violation = searched(story_named("two"), large).violation
    assert violation is not None and violation.text == "at rest, 1 remembers 1 homes"


def test_a_semaphore_that_lets_every_user_in_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(RaymondK, "acquire", RaymondK.grant)
    monkeypatch.setattr(RaymondK, "release", lambda self: None)
    violation = searched(story_named("semaphore")).violation
    assert violation is not None and violation.property == "exclusion"


def test_a_user_whose_lease_has_ended_is_told_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    the_mutant("users are not told of a loss").apply(monkeypatch)
    violation = searched(story_named("lease")).violation
    assert violation is not None and "the user was not told" in violation.text


def test_both_searches_find_the_same_states_of_a_story() -> None:
    for name in ("newcomer", "semaphore"):
        plain, arrays = (searched(story_named(name), large) for large in (None, 0))
        assert plain.coverage == arrays.coverage and plain.violation is None


# Snapshots

WIRING = {
    "_circles",
    "_clock",
    "_counts",
    "_fences",
    "_handle",
    "_handlers",
    "_knobs",
    "_locks",
    "_mail",
    "mail",
    "_members_per_elder",
    "_post",
    "_statistics",
    "_succession",
    "clock",
    "drain",
    "fences",
    "homes",
    "knobs",
    "locks",
    "put_back",
    "statistics",
    "take",
    "turnstile",
}


def test_whatever_a_node_has_is_state_or_wiring() -> None:
    node = Node(lambda: 0.0)
    parts = [getattr(node, name) for name in vars(node)]
    for part in [node, *(one for one in parts if type(one) in PARTS)]:
        state = set(OWN if part is node else PARTS[type(part)])
        names = set(vars(part)) if hasattr(part, "__dict__") else set(part.__slots__)
        assert names - state <= WIRING, type(part)


@pytest.mark.parametrize("seed", range(20))
def test_a_restored_node_goes_on_as_if_nothing_had_happened(seed: int) -> None:
    """In the middle of anything: each node is a copy of itself after each step."""
    plain, copied = World(4), World(4)
    for world, restored in ((plain, False), (copied, True)):
        random = Random(seed)
        for _ in range(25):
            one = random.choice(sorted(world.nodes))
            match random.randrange(6):
                case 0 | 1:
                    world.ask(one, random.choice("xy"))
                case 2:
                    for holder in list(world[one].holding())[:1]:
                        world[one].release(holder)
                case 3:
                    world.step()
                case 4:
                    world.pass_time(1)
                case 5 if one > 2:
                    world.die(one)
            if restored:
                for member, node in world.nodes.items():
                    copy = world.add(member)
                    copy.restore(node.snapshot())
                    assert copy.snapshot() == node.snapshot()
    for member, node in plain.nodes.items():
        assert node.snapshot() == copied[member].snapshot()


# The command


def test_the_stories_are_listed() -> None:
    result = CliRunner().invoke(check_node, ["--json"])
    stories = json.loads(result.output)
    assert [one["story"] for one in stories] == [s.name for s in STORIES + LARGE_STORIES]
    assert "any of them dies" in CliRunner().invoke(check_node, []).output


def test_a_story_is_checked_from_the_command_line() -> None:
    result = CliRunner().invoke(check_node, ["newcomer"])
    assert result.exit_code == 0 and "HOLDS" in result.output
    report = json.loads(CliRunner().invoke(check_node, ["two", "--json"]).output)
    assert (report["states"], report["complete"]) == (PINNED["two"][0], True)


def test_a_counterexample_is_told_and_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    the_mutant("holders do not enter the new epoch").apply(monkeypatch)
    drawn = tmp_path / "found.svg"
    result = CliRunner().invoke(check_node, ["newcomer", "--trace", str(drawn)])
    assert result.exit_code == 1 and "VIOLATED" in result.output
    assert "OPENED" in result.output and "<svg" in drawn.read_text()
