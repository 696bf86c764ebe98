"""Runs by hand: played, linked, exported, moved in time; the same again, byte by byte."""

import pytest

from peerlock.algorithms.index import INDEX
from peerlock.core.errors import UsageError
from peerlock.playground import links, replay
from peerlock.playground.exports import exported
from peerlock.playground.run import Moved, Run, run
from peerlock.playground.setup import Setup, setup
from peerlock.traces import draw
from tests.support.playing import ask, landing, random_run, refused

RA = {"algorithm": "ricart-agrawala", "nodes": 3, "settings": {}}


@pytest.mark.parametrize("name", INDEX)
def test_a_run_its_link_and_its_test_give_the_same_trace(name: str) -> None:
    played = random_run(name)
    again = run(links.decode(links.encode(played.as_json())))
    replayed = replay(name, played.setup.nodes, played.moves, **played.setup.settings)
    space: dict[str, object] = {}
    exec(exported(played, ".py")[1], space)

    space["test_the_run_is_the_same"]()  # type: ignore[operator]
    for form in (".jsonl", ".svg"):
        assert draw(again.trace, form) == draw(replayed, form) == draw(played.trace, form)


def test_the_view_names_what_can_be_done_and_what_has_changed() -> None:
    seen = ask(do="play", run={**RA, "moves": ["r1", "d1"]})

    assert [f["label"] for f in seen["flying"]] == ["REQUEST(1)", "REPLY"]
    assert [n["phase"] for n in seen["nodes"]] == ["waiting", "idle", "idle"]
    assert [a["move"] for a in seen["nodes"][1]["actions"]] == ["r2", "c2"]
    assert seen["did"][1] == ["2: highest_sequence_number 0 → 1"]
    changed = {f["name"] for f in seen["nodes"][1]["fields"] if f["before"] is not None}
    assert changed == {"highest_sequence_number"}


def test_a_run_may_be_continued_from_an_earlier_step() -> None:
    whole = ask(do="play", run={**RA, "moves": ["r1", "d1", "d2"]})
    back = ask(do="play", run={**RA, "moves": ["r1"]})
    other = ask(do="play", run={**RA, "moves": ["r1", "d2"]})

    assert (len(back["told"]), other["told"][1]) == (1, "REQUEST(1) 1 → 3 arrives")
    assert ask(do="play", run={**RA, "moves": ["r1", "d1", "d2"]}) == whole


def test_faults_of_the_network() -> None:
    seen = ask(do="play", run={**RA, "moves": ["r1", "x1", "u2", "d2", "d2", "c3", "s3"]})

    assert "1 ──▶ 2  REQUEST(1) is lost" in seen["steps"]
    assert sum(step == "1 ──▶ 3  REQUEST(1) arrives" for step in seen["steps"]) == 2
    assert seen["nodes"][2]["phase"] == "idle"


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        (["d7"], "message 7 is not under way"),
        (["l1"], "1 is not inside"),
        (["r9"], "there is no node 9"),
        (["r1", "r1"], "1 has a request already"),
        (["c1", "c1"], "1 has crashed already"),
        (["s1"], "1 has not crashed"),
        (["t1:x"], "1 has set no timer x"),
        (["r1:5"], "there are 1 demands"),
        (["dance"], "invalid step 'dance'"),
        ("r1", "the moves must be a list"),
    ],
)
def test_a_move_that_is_not_possible_is_one_line(moves: object, words: str) -> None:
    assert words in refused(do="play", run={**RA, "moves": moves})["text"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": 0}, "use 1 to 60"),
        ({"nodes": 61}, "use 1 to 60"),
        ({"nodes": "many"}, "invalid number of nodes many: use 1 to 60"),
        ({"nodes": 2.5}, "invalid number of nodes 2.5: use 1 to 60"),
        ({"algorithm": "./mine.py"}, "use a name of the catalogue"),
        ({"algorithm": "ricart-agrawal"}, "did you mean ricart-agrawala?"),
        ({"settings": {"quorums": "plane"}}, "is not built on a choice of quorums"),
        ({"algorithm": "maekawa", "settings": {"quorums": "given:1/2"}}, "one set of 1..3"),
        ({"algorithm": "raymond-k", "settings": {"permits": "x"}}, "invalid setting"),
        ({"source": "#" * 200_001}, "the edit is too long"),
    ],
)
def test_a_setup_that_is_not_one_is_one_line(change: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        setup(RA | change)


@pytest.mark.parametrize("link", ["", "0abc", "1", "1!!!", "1abcdef", "1q1YqVrJSKEpVslJQ"])
def test_a_damaged_link_is_one_line(link: str) -> None:
    assert refused(do="open", link=link)["text"].startswith("this link is")


def test_a_link_to_a_run_that_is_not_possible_is_one_line() -> None:
    link = links.encode({**RA, "moves": ["r1", "d99"]})
    assert refused(do="open", link=link)["text"] == "message 99 is not under way"
    many = links.encode({**RA, "moves": ["r1"] * 2001})
    assert "at most 2,000" in refused(do="open", link=many)["text"]
    whole = links.encode({**RA, "moves": ["r1", "d1"]})
    assert ask(do="open", link=whole) == {**RA, "moves": ["r1", "d1"]}


def test_a_violation_ends_the_run() -> None:
    ties = {"algorithm": "ricart-agrawala-ties", "nodes": 2, "settings": {}}
    found = ask(do="check", **ties, requests="1")
    seen = ask(do="play", run={**ties, "moves": found["moves"]})

    assert seen["status"]["kind"] == "broken"
    assert seen["steps"][-1].endswith("are inside together")
    assert all(not node["actions"] for node in seen["nodes"])
    assert (
        "the run is over"
        in refused(do="play", run={**ties, "moves": [*found["moves"], "c1"]})["text"]
    )


# Dragging


def test_a_message_may_arrive_later_and_what_depends_on_it_is_left_out() -> None:
    made = Run(setup(RA))
    for move in ("r1", "d1", "d3", "r3"):
        made.play(move)
    moved = Moved(made, 1, 3)

    assert moved.run.told[-1] == "REQUEST(1) 1 → 2 arrives"
    assert moved.dropped == ["REPLY 2 → 1 arrives"]


def test_what_fifo_forbids_says_why() -> None:
    made = Run(Setup("lamport", 2))
    for move in ("r1", "d1", "d2", "l1", "r1"):
        made.play(move)
    first, second = landing(made)[0], made.cluster.flying[1].number
    made.play(f"d{first}")
    made.play(f"d{second}")
    with pytest.raises(UsageError, match="FIFO forbids"):
        Moved(made, 6, 5)


def test_a_message_cannot_arrive_before_it_was_sent() -> None:
    error = refused(do="move", run={**RA, "moves": ["r1", "d1"]}, at=1, to=0)
    assert "it has not been sent then" in error["text"]
