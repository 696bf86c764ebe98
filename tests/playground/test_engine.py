"""The engine of the lab: edits, checks, relations, stories, challenges, simulated runs."""

import json

import pytest

from peerlock.algorithms.index import INDEX
from peerlock.checker import check
from peerlock.playground import answer
from peerlock.playground.checks import moves_of
from peerlock.playground.edits import source_of
from peerlock.playground.relations import relations
from peerlock.playground.run import Run
from peerlock.playground.setup import Setup
from peerlock.playground.tours import CHALLENGES, STORIES
from peerlock.traces.stepping import stepping
from peerlock.traces.waits import cycle
from tests.support.playing import ask, random_run, refused

MAEKAWA = {"algorithm": "maekawa-1985", "nodes": 4, "settings": {"quorums": "grid"}}
SHORTEST = [
    "r2",
    "r3",
    "d3",
    "d1",
    "d5",
    "d6",
    "r4",
    "d7",
    "d8",
    "d4",
    "d2",
    "d9",
    "d11",
    "d10",
]  # to its deadlock
RA = {"algorithm": "ricart-agrawala", "nodes": 3, "settings": {}}


# Every schedule


@pytest.mark.slow
def test_maekawas_deadlock_is_found_in_the_steps_of_the_command_line() -> None:
    verdict = check("maekawa-1985")
    found = ask(do="check", **MAEKAWA, requests="1")

    assert verdict.violation is not None
    assert found["moves"] == SHORTEST
    assert len(SHORTEST) == verdict.violation.depth == 14
    assert found["text"].startswith(f"{verdict.violation.text}: 14 steps, 135,540 states")
    assert moves_of(Setup("maekawa-1985", 4, {"quorums": "grid"}), verdict) is not None


def test_maekawas_deadlock_can_be_seen() -> None:
    seen = ask(do="play", run={**MAEKAWA, "moves": SHORTEST})

    assert (
        seen["status"]["text"] == "deadlock: 2, 3 and 4 wait, and nothing more can happen"
    )
    assert seen["relations"]["cycle"] == [2, 3]
    assert seen["relations"]["owed"] == [{"from": 4, "to": 3, "what": "FAILED"}]
    solved = ask(do="judge", challenge="deadlock", run={**MAEKAWA, "moves": SHORTEST})
    assert solved == {"solved": True, "text": "solved in 14 steps"}


def test_an_algorithm_that_holds_says_how_many_states() -> None:
    lines: list[str] = []
    found = ask(lines.append, do="check", **RA, requests="1", id=7)

    assert found["text"].startswith("holds, 2,935 states")
    told = [json.loads(line)["progress"] for line in lines]
    assert told[-1]["states"] == found["states"]
    assert list(dict.fromkeys(p["phase"] for p in told)) == ["searching", "measuring"]


def test_a_search_that_grows_too_big_is_no_proof() -> None:
    found = ask(do="check", **RA, requests="2", states=1000)
    assert found["verdict"] == "cut"
    assert found["text"].startswith("no proof: the limit of 1,000 states was reached")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"requests": "some"}, "invalid requests 'some'"),
        ({"losses": -1}, "invalid losses -1: use 0 or more"),
        ({"states": "all"}, "invalid states: use a number"),
    ],
)
def test_a_check_that_is_not_one_is_one_line(asked: dict[str, object], words: str) -> None:
    assert words in refused(do="check", **RA, **asked)["text"]


# Edits


def edited(old: str, new: str) -> dict[str, object]:
    source = source_of("ricart-agrawala")
    assert old in source
    return {**RA, "source": source.replace(old, new, 1)}


def test_a_deleted_line_is_noticed() -> None:
    edit = edited("self.reply_deferred |= 1 << j", "self.send(j, REPLY)")
    found = ask(do="check", **edit, requests="1")
    seen = ask(do="play", run={**edit, "moves": found["moves"]})

    assert found["verdict"] == "exclusion"
    assert seen["status"]["text"] == "1 and 2 are inside together"
    assert ask(do="check", **RA, requests="1")["verdict"] == "holds", "ours is untouched"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("self.grant()", "self.grant(", "was never closed"),
        ("class Reply:", "class Reply(Missing):", "NameError: name 'Missing'"),
    ],
)
def test_an_error_of_an_edit_has_its_line(old: str, new: str, words: str) -> None:
    edit = edited(old, new)
    error = refused(do="play", run={**edit, "moves": []})

    assert words in error["text"]
    assert new in str(edit["source"]).splitlines()[error["line"] - 1]


def test_an_edit_that_fails_while_it_runs_ends_the_run_at_its_line() -> None:
    edit = edited("self.requesting_critical_section = True\n", "self.no_such(1)\n")
    status = ask(do="play", run={**edit, "moves": ["r1"]})["status"]

    assert status["text"].startswith("node 1 fails: AttributeError")
    assert "no_such" in str(edit["source"]).splitlines()[status["line"] - 1]


def test_an_edit_that_exits_does_not_end_the_engine() -> None:
    edit = edited("self.requesting_critical_section = True\n", "raise SystemExit\n")
    for asked in (
        {"do": "play", "run": {**edit, "moves": ["r1"]}},
        {"do": "check", **edit},
    ):
        error = refused(**asked)
        assert error["text"] == "SystemExit"
        assert "raise" in str(edit["source"]).splitlines()[error["line"] - 1]


def test_an_edit_keeps_its_entry() -> None:
    error = refused(do="play", run={**RA, "source": "ENTRIES = ()", "moves": []})
    assert error["text"] == "the edit has no entry ricart-agrawala: keep its ENTRIES"


# The second view


@pytest.mark.parametrize(
    ("edges", "found"),
    [
        ([], []),
        ([(1, 2), (2, 3)], []),
        ([(1, 2), (2, 3), (3, 2)], [2, 3]),
        ([(1, 2), (1, 3), (3, 4), (4, 1)], [1, 3, 4]),
    ],
)
def test_a_cycle(edges: list[tuple[int, int]], found: list[int]) -> None:
    assert cycle(edges) == found


def test_the_tree_its_queues_and_its_token() -> None:
    seen = ask(do="play", run={"algorithm": "raymond", "nodes": 3, "moves": ["r3", "d1"]})
    found = seen["relations"]

    assert found["kind"] == "tree"
    assert (found["token"], found["carried"]) == ([], [{"from": 1, "to": 3}])
    assert {"from": 1, "to": 3, "name": "holder"} in found["pointers"]
    assert found["queues"] == {"3": "request_q [3]"}


def test_a_node_that_asks_more_than_a_quorum_waits_for_all_that_it_has_asked() -> None:
    moves = ["r1", "r2", "d2", "d1", "d3"]  # 3 locks itself for 1, which also locked itself
    run = {"algorithm": "majority-spare", "nodes": 3, "moves": moves}
    found = ask(do="play", run=run)["relations"]

    assert found["sets"] == [
        {"node": 1, "members": [1, 2, 3]},
        {"node": 2, "members": [1, 2, 3]},
    ]
    assert {w["why"] for w in found["waits"] if w["from"] == 2} == {
        "member 1 is locked for 1",
        "member 3 is locked for 1",
    }


def test_last_and_next() -> None:
    run = {"algorithm": "naimi-trehel", "nodes": 3, "moves": ["r1", "r2", "d1"]}
    found = ask(do="play", run=run)["relations"]

    assert found["kind"] == "pointers"
    assert found["waits"] == [{"from": 2, "to": 1, "why": "1 will pass the token to 2"}]


def test_a_node_without_the_token_waits_for_the_one_that_has_it() -> None:
    run = {"algorithm": "suzuki-kasami", "nodes": 3, "moves": ["r1", "r2", "r3"]}
    held = ask(do="play", run=run)["relations"]
    run["moves"] = ["r2", "r3", "d1"]  # node 1 has no use for it
    carried = ask(do="play", run=run)["relations"]

    assert {(w["from"], w["why"]) for w in held["waits"]} == {
        (2, "1 has the token"),
        (3, "1 has the token"),
    }
    assert carried["waits"] == [{"from": 3, "to": 2, "why": "the token is on its way to 2"}]


@pytest.mark.parametrize("seed", range(3))
def test_where_replies_are_deferred_the_waits_are_the_replies_that_are_missing(
    seed: int,
) -> None:
    whole = random_run("ricart-agrawala", seed, steps=40)
    again = Run(whole.setup)
    for move in whole.moves:
        again.play(move)
        waits = relations(again)["waits"]
        assert all("has not answered REQUEST" in wait["why"] for wait in waits)
        for node, peer in again.cluster.peers.items():
            missing = sum(wait["from"] == node for wait in waits)
            assert missing == vars(peer)["outstanding_reply_count"]


@pytest.mark.parametrize("name", [n for n, e in INDEX.items() if e.verdict == "holds"])
def test_an_algorithm_that_holds_shows_no_circle(name: str) -> None:
    trace = random_run(name, seed=7, steps=50).trace
    assert [circle for *_, circle, _ in stepping(trace)["waits"] if circle] == []


@pytest.mark.parametrize("name", ["token-ring", "mueller-priority", "chaudhuri-edward"])
def test_what_has_changed_since_the_last_step_adds_up_to_what_is(name: str) -> None:
    whole = random_run(name, seed=1, steps=30)
    again = Run(whole.setup)
    for move in whole.moves:
        again.play(move)
        edges: dict[tuple[int, int], str] = {}
        for _, begun, over, *_ in stepping(again.trace)["waits"]:
            edges = {key: why for key, why in edges.items() if key not in over}
            edges |= {(a, b): why for a, b, why in begun}
        now = relations(again)["waits"]
        assert edges == {(w["from"], w["to"]): w["why"] for w in now}


# Stories, challenges, simulated runs


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_played_to_its_end(name: str) -> None:
    story = ask(do="story", name=name)
    seen = ask(do="play", run=story["run"])
    stops = [stop["at"] for stop in story["stops"]]

    assert seen["status"]["kind"] == "quiet"
    assert stops == sorted(stops)
    assert stops[-1] == len(story["run"]["moves"])


def test_challenges_are_judged() -> None:
    assert "unknown challenge" in refused(do="judge", challenge="x", run=RA)["text"]
    assert ask(do="judge", challenge="next", choice=3)["solved"]
    assert not ask(do="judge", challenge="next", choice=1)["solved"]
    begun = CHALLENGES["deadlock"].setup.as_json() | {"moves": ["r1"]}
    for run in (begun, {**MAEKAWA, "algorithm": "maekawa", "moves": SHORTEST[:2]}, RA):
        found = ask(do="judge", challenge="deadlock", run=run)
        assert found == {"solved": False, "text": ""}
    edit = {**MAEKAWA, "source": source_of("maekawa-1985"), "moves": SHORTEST}
    assert not ask(do="judge", challenge="deadlock", run=edit)["solved"]


def test_the_starvation_that_is_asked_for_is_possible() -> None:
    """The coordinator, node 1, takes turns with node 2, and serves the latest first."""
    played = Run(CHALLENGES["starve"].setup)
    for move in ("r1", "r3", "d1"):
        played.play(move)
    for _ in range(4):
        played.play("r2")
        played.play(f"d{played.cluster.flying[-1].number}")
        inside = min(played.cluster.judge.inside)
        played.play(f"l{inside}")
        while played.cluster.flying:
            played.play(f"d{played.cluster.flying[0].number}")
        if 2 in played.cluster.judge.inside and 1 not in played.cluster.judge.waiting:
            played.play("r1")
            played.play("l2")
            while played.cluster.flying:
                played.play(f"d{played.cluster.flying[0].number}")
    found = ask(do="judge", challenge="starve", run=played.as_json())
    assert found["solved"], played.told


def test_a_simulated_run_counts_as_it_goes() -> None:
    found = ask(do="watch", **RA, load="light", entries=5, latency="constant:1", seed=3)

    assert (found["messages"][-1], found["entries"][-1]) == (20, 5)
    assert found["formula"] == "2(N−1)"
    assert found["places"] == sorted(found["places"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"seed": ""}, "invalid seed: use a number"),
        ({"hold": "long"}, "invalid hold: use a number"),
        ({"hold": "nan"}, "invalid hold nan: use 0 or more"),
        ({"entries": "500"}, "invalid entries 500: use 1 to 200"),
    ],
)
def test_a_simulated_run_that_is_not_one_is_one_line(
    asked: dict[str, object], words: str
) -> None:
    assert refused(do="watch", **RA, **asked)["text"] == words


def test_a_simulated_run_may_be_too_long_to_draw() -> None:
    error = refused(do="watch", algorithm="lamport", nodes=30, entries=100)
    assert "choose fewer entries or nodes" in error["text"]


def test_two_side_by_side_differ_first_where_the_correction_is() -> None:
    left, right = {**MAEKAWA, "moves": SHORTEST}, {**MAEKAWA, "algorithm": "maekawa"}
    found = ask(do="beside", left=left, right=right)
    assert found["difference"]["text"].startswith("step 11, REQUEST(1) 2 → 4 arrives")

    found = ask(do="beside", left=RA, right={**RA, "algorithm": "lamport"}, seed=2)
    assert [found[side]["entries"][-1] for side in ("left", "right")] == [8, 8]


# The protocol


@pytest.mark.parametrize("name", INDEX)
def test_every_algorithm_is_described(name: str) -> None:
    found = ask(do="describe", algorithm=name)
    assert f"class {found['class']}" in found["source"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"do": "dance"}', '{"do": "play"}', "null"]
)
def test_whatever_is_asked_there_is_an_answer(text: str) -> None:
    assert "text" in json.loads(answer(text))["error"]


@pytest.mark.parametrize(
    ("name", "lose", "duplicate"),
    [
        ("ricart-agrawala", False, False),
        ("nishio-li-manning", True, False),
        ("token-ring-regenerated", True, False),
        ("dijkstra-ring", False, True),
    ],
)
def test_faults_are_offered_where_the_network_has_them(
    name: str, lose: bool, duplicate: bool
) -> None:
    forbids = ask(do="play", run={"algorithm": name, "nodes": 3})["forbids"]
    assert (not forbids["lose"], not forbids["duplicate"]) == (lose, duplicate)
    assert all("loss" in why or "duplicates" in why for why in forbids.values() if why)
