"""Whole nodes under faults: hundreds of seeds, and proof that they would notice."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from peerlock.core.peer import RemoteError
from peerlock.node import links
from peerlock.node.presence import POLL
from peerlock.simulator import places
from peerlock.simulator.cluster import Cluster, ClusterStory
from peerlock.simulator.places import Places, QueuePlace
from peerlock.simulator.witness import Held, Misrule, Witness
from tests.node.mutants import MUTANTS, Mutant
from tests.node.rewritten import ALL as REWRITTEN
from tests.node.rewritten import SEEDS as BY_SEEDS
from tests.node.rewritten import Rewritten
from tests.support.hosts import FarAway, suspended_for
from tests.support.presences import LEASE, ME, OTHER, member, younger_member
from tests.support.tellings import telling

CHUNK = 50
SEEDS = 300

# A mutant is tried with all of them; first with those that have caught what few others do.
TELLING = (301, 280, 1522, 194, 110, 68, 71, 49, 23, 27, 38, 25, 19, 16, 13, 12)
TRIED = tuple(dict.fromkeys((*TELLING, *range(1, SEEDS + 1))))


@pytest.mark.parametrize("first", range(1, SEEDS + 1, CHUNK))
def test_no_seed_ends_in_misrule(first: int) -> None:
    for seed in range(first, first + CHUNK):
        try:
            outcome = Cluster(ClusterStory(seed)).run()
        except Exception as error:
            error.add_note(f"replay it with: python -m bench.soak --seed {seed} --log")
            raise
        assert outcome.grants > 0


def test_links_that_are_full_most_of_the_time_slow_down_and_do_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(links, "FULL", 3)
    monkeypatch.setattr(places, "IN_TURN", frozenset())  # requests are held back
    for seed in range(1, 41):
        assert Cluster(ClusterStory(seed)).run().grants > 0


# One seed is one run


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_seed_is_one_run(seed: int) -> None:
    outcome, log = telling(seed)
    assert (outcome, log) == telling(seed)
    assert outcome == Cluster(ClusterStory(seed)).run()  # telling changes nothing
    assert outcome != Cluster(ClusterStory(seed + 1)).run()


def test_a_run_depends_on_no_order_of_hashing() -> None:
    code = "from tests.support.tellings import telling; print([*map(telling, range(1, 9))])"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashing in ("0", "1", "4711")
    }
    assert len(outputs) == 1
    assert "Outcome" in outputs.pop()


# No vacuous success


def test_what_can_happen_does_happen() -> None:
    happened: Counter[str] = Counter()
    outcomes = [Cluster(ClusterStory(seed)).run() for seed in range(1, 61)]
    for outcome in outcomes:
        happened.update(outcome.happened)
    for what in (
        "crash",
        "join",
        "lag",
        "leave",
        "lose",
        "pause",
        "permits in use together",
        "readers together",
        "refuse",
        "sever",
        "slow",
        "stall",
        "stop clocks",
        "stumble",
        "suspend",
        "view during recovery",
    ):
        assert happened[what] >= 10, what
    for rare in ("gap noticed", "first member's end in recovery", "places kept"):
        assert happened[rare] >= 1, rare
    assert sum(outcome.lost for outcome in outcomes) >= 3
    assert sum(outcome.grants for outcome in outcomes) >= 5_000
    assert sum(outcome.views for outcome in outcomes) >= 500


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.caught_by == "seeds"], ids=str)
def test_a_mutant_is_caught_by_a_seed(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant.apply(monkeypatch)
    for seed in TRIED:
        try:
            Cluster(ClusterStory(seed)).run()
        except (Misrule, RemoteError, AssertionError, ValueError):
            return
    pytest.fail(f"{SEEDS} seeds have not noticed that {mutant}")


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.caught_by != "seeds"], ids=str)
def test_a_mutant_is_caught_by_the_test_of_its_part(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught = partial(found_test(mutant.caught_by), *mutant.arguments)
    caught()  # which passes without the mutant
    mutant.apply(monkeypatch)
    with pytest.raises((AssertionError, LookupError, StopIteration, ValueError)):
        caught()


def test_there_are_enough_mutants_and_each_is_another() -> None:
    assert len({mutant.what for mutant in MUTANTS}) == len(MUTANTS) >= 80


# The witness


def held(who: str, fence: int, shared: bool = False, valid: bool = True) -> Held:
    return Held(who, fence, shared, lambda: valid)


def test_two_may_not_hold_a_lock_together() -> None:
    witness = Witness(lambda: 0.0, 0.0)
    witness.granted("x", 0, held("a", 1))
    witness.granted("y", 0, held("b", 1))
    with pytest.raises(Misrule, match=r"a \(fence 1\) and b \(fence 2\) hold x together"):
        witness.granted("x", 0, held("b", 2))


def test_who_has_left_or_is_no_longer_valid_is_not_inside() -> None:
    witness = Witness(lambda: 0.0, 0.0)
    first = held("a", 1)
    witness.granted("x", 0, first)
    witness.left("x", first)
    witness.granted("x", 0, held("b", 2, valid=False))
    witness.granted("x", 0, held("c", 3))
    assert witness.grants == 3


def test_readers_may_be_inside_together_and_no_writer_with_them() -> None:
    witness = Witness(lambda: 0.0, 0.0)
    witness.granted("x", 0, held("a", 1, shared=True))
    witness.granted("x", 0, held("b", 1, shared=True))
    assert witness.together == 1
    with pytest.raises(Misrule, match="together"):
        witness.granted("x", 0, held("c", 2))


def test_fences_must_grow() -> None:
    witness = Witness(lambda: 0.0, 0.0)
    witness.granted("x", 0, held("a", 7, valid=False))
    with pytest.raises(Misrule, match="b's fence 7 for x follows 7"):
        witness.granted("x", 0, held("b", 7))


def test_as_many_as_there_are_permits() -> None:
    witness = Witness(lambda: 0.0, 0.0)
    for who in "ab":
        witness.granted("x", 2, held(who, 1))
    assert witness.permitted == 1
    with pytest.raises(Misrule, match="x, which has 2 permits"):
        witness.granted("x", 2, held("c", 2))


def test_a_name_is_not_a_lock_and_a_semaphore_at_once() -> None:
    witness = Witness(lambda: 0.0, 0.0)
    witness.granted("x", 2, held("a", 1, valid=False))
    witness.granted("x", 0, held("b", 2))
    with pytest.raises(Misrule, match="take x for different things"):
        witness.granted("x", 2, held("c", 3))


def test_a_loser_is_told_a_margin_before_the_next_one_gets_it() -> None:
    now = 0.0
    witness = Witness(lambda: now, 0.3)
    first = held("a", 1)
    witness.granted("x", 0, first)
    witness.left("x", first)
    witness.lost("x", first)
    now = 0.2
    with pytest.raises(Misrule, match="b gets x, and a had no time to stop"):
        witness.granted("x", 0, held("b", 2, valid=False))
    now = 0.3
    witness.granted("x", 0, held("c", 3))


# The judge of places


class Waiting:
    """A few requests on a clock, judged."""

    def __init__(self, calm: float = 0.0, whole: float = 0.0) -> None:
        self.now = 1.0
        self.places = Places(lambda: self.now, lambda: calm, lambda: whole)

    def ask(self, who: str, after: float = 1.0, **changes: Any) -> QueuePlace:
        self.now += after
        place = QueuePlace(who, self.now, False, True, lambda: True)
        place = replace(place, **changes)
        self.places.asks("x", place)
        return place

    def grant(self, place: QueuePlace, algorithm: str = "naimi-trehel") -> None:
        self.places.granted("x", place, algorithm)


OVERTAKEN = "gets x, asked for at .*, before a, which has waited since"


def test_a_request_made_clearly_later_is_not_served_first() -> None:
    waiting = Waiting()
    waiting.ask("a")
    later = waiting.ask("b")
    with pytest.raises(Misrule, match=OVERTAKEN):
        waiting.grant(later)


def test_a_request_made_clearly_before_is_served_first_and_counted() -> None:
    waiting = Waiting()
    first, second = waiting.ask("a"), waiting.ask("b")
    waiting.grant(first)
    assert waiting.places.compared == 1
    waiting.places.over("x", first)
    waiting.grant(second)


def test_a_request_of_one_that_probes_reads_or_is_out_has_no_place() -> None:
    waiting = Waiting()
    waiting.ask("a", counts=lambda: False)
    waiting.grant(waiting.ask("b"))


@pytest.mark.parametrize("in_epoch", [True, False])
@pytest.mark.parametrize("whole", [0.0, 5.0])
def test_a_newcomer_has_its_place_unless_a_dead_process_counts_as_a_member(
    in_epoch: bool, whole: float
) -> None:
    waiting = Waiting(whole=whole)
    waiting.ask("a", asked_in_epoch=in_epoch)
    later = waiting.ask("b")
    if whole and not in_epoch:
        waiting.grant(later)
    else:
        with pytest.raises(Misrule, match=OVERTAKEN):
            waiting.grant(later)


def test_places_are_judged_in_calm_and_where_the_algorithm_keeps_them() -> None:
    troubled = Waiting(calm=5.0)
    troubled.ask("a")
    troubled.grant(troubled.ask("b"))
    ring = Waiting()
    ring.ask("a")
    ring.grant(ring.ask("b"), "suzuki-kasami")
    close = Waiting()
    close.ask("a")
    close.grant(close.ask("b", after=0.1))


def test_while_a_process_cannot_see_new_views_newcomers_have_no_place() -> None:
    cluster = Cluster(ClusterStory(1))
    process = cluster.begin()
    assert cluster.faults.whole_since() == 0.0
    cluster.faults.refuse()
    assert cluster.faults.whole_since() == process.refused_until + POLL
    assert cluster.faults.calm_since() == 0.0  # those in an epoch keep theirs


@pytest.mark.parametrize(
    "seed",
    [
        4_024_659,  # the home's engine answers with errors, and a newcomer waits
        5_011_987,  # the engine answers a member late
        4_049_834,  # a connection breaks twice, and is dialled again after a pause
        7_047_446,  # an epoch waits for a process that cannot see the view it was opened in
        9_013_972,  # a wall clock is corrected while its process rests
        9_060_181,  # a newcomer asks a home that has moved, and has not seen that
    ],
)
def test_what_faults_excuse_is_not_judged(seed: int) -> None:
    Cluster(ClusterStory(seed)).run()


def test_what_was_asked_for_by_a_user_that_gave_up_has_its_place() -> None:
    waiting = Waiting()
    gave_up = waiting.ask("b")
    waiting.ask("a")
    waiting.places.over("x", gave_up)
    waiting.grant(waiting.ask("b"))


def test_a_writer_behind_a_reader_that_gave_up_is_not_judged() -> None:
    waiting = Waiting()
    reader = waiting.ask("a", shared=True, counts=lambda: False)
    waiting.ask("a", after=0.0)
    waiting.places.over("x", reader)
    waiting.grant(waiting.ask("b"))


def test_readers_and_permits_leave_time_to_those_that_they_exclude() -> None:
    witness = Witness(lambda: 0.0, 0.3)
    for name, permits, shared in (("x", 0, True), ("y", 2, False)):
        first = held("a", 1, shared)
        witness.granted(name, permits, first)
        witness.left(name, first)
        witness.lost(name, first)
        witness.granted(name, permits, held("b", 2, shared))
    with pytest.raises(Misrule, match="no time to stop"):
        witness.granted("y", 2, held("c", 3))


# Mutants of what ships


@pytest.mark.parametrize("mutant", REWRITTEN, ids=str)
def test_a_mutant_of_what_ships_is_caught(
    mutant: Rewritten, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant.apply(monkeypatch)
    if mutant.caught_by != BY_SEEDS:
        assert fails(mutant.caught_by, monkeypatch)
        return
    for seed in TRIED:
        try:
            Cluster(ClusterStory(seed)).run()
        except (Misrule, RemoteError, AssertionError, LookupError):
            return
    pytest.fail(f"{SEEDS} seeds have not noticed that {mutant}")


def fails(name: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    try:
        run_test(name, monkeypatch)
    except (Exception, pytest.fail.Exception):
        return True
    return False


def found_test(name: str) -> Callable[..., None]:
    """Of another room."""
    module, function = name.split(".")
    (path,) = Path(__file__).parents[1].glob(f"*/{module}.py")
    test: Callable[..., None] = getattr(
        import_module(f"tests.{path.parent.name}.{module}"), function
    )
    return test


def run_test(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of another file, with what pytest would give it."""
    test = found_test(name)
    monkeypatch.setattr("tests.support.loops.PATIENCE", 2.0)
    given: dict[str, Callable[[], Any]] = {
        "alone": lambda: member(),
        "pair": lambda: member(ME, OTHER),
        "younger": younger_member,
        "loop": lambda: "asyncio",
        "suspended": lambda: suspended_for(monkeypatch),
        "monkeypatch": lambda: monkeypatch,
        "cluster": lambda: f"memory://mutants of {name}",
        "first": lambda: "take",
        "pause": lambda: LEASE,
        "kind": lambda: FarAway,
    }
    with warnings.catch_warnings(action="ignore"):
        test(**{wanted: given[wanted]() for wanted in signature(test).parameters})


@pytest.mark.parametrize("mutant", REWRITTEN, ids=str)
def test_without_its_mutant_a_test_passes(
    mutant: Rewritten, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mutant.caught_by != BY_SEEDS:
        run_test(mutant.caught_by, monkeypatch)
