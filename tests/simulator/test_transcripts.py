"""The papers' own examples, told step by step, come out as told."""

from pathlib import Path

import pytest

from peerlock.core.errors import UsageError
from peerlock.simulator.transcript import play
from tests.support.stories import STORIES


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_is_true(path: Path) -> None:
    """If it changed on purpose: python -m tests.support.retell writes it anew."""
    told = path.read_text()
    played, trace = play(told)

    assert played == told
    assert len(trace) > 0


def test_the_stories_are_there() -> None:
    assert {path.stem for path in STORIES} >= {
        "tr869-figures-a-to-j",
        "maekawa-figure-2",
        "maekawa-late-request",
    }


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        ("3 leaves", "3 is not inside"),
        ("1 receives REPLY from 2", "no REPLY is under way from 2 to 1"),
        ("2 dances", "this is not a step"),
        ("2 timer token fires", "2 has set no timer token"),
        ("1 crashes\n1 requests", "1 has crashed"),
        ("2 restarts", "2 has not crashed"),
    ],
)
def test_an_impossible_step_is_named(step: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        play(f"algorithm ricart-agrawala\nnodes 3\n{step}\n")


def test_a_fifo_channel_cannot_be_overtaken() -> None:
    """Node 1's RELEASE would overtake its REPLY."""
    story = """\
algorithm lamport
nodes 2
1 requests
2 requests
2 receives REQUEST from 1
1 receives REQUEST from 2
1 receives REPLY from 2
1 leaves
2 receives RELEASE from 1
"""
    with pytest.raises(UsageError, match="RELEASE would overtake REPLY"):
        play(story)
