"""bench.older: what counts as slower than an older library, and by how much it may be."""

from __future__ import annotations

from math import inf

import pytest
from bench.locks import MEASURES
from bench.older import MORE_IS_BETTER, OURS, Compared
from bench.rivals import IN_TURN, TASKS, THREADS


def compared(letter: str, who: str, column: str, this: float, older: float) -> Compared:
    return Compared(letter, who, column, [this] * 3, [older] * 3)


def test_fewer_grants_are_slower_and_so_is_more_time() -> None:
    assert compared("a", TASKS, "grants/s", 50.0, 100.0).slower == 2.0
    assert compared("b", TASKS, "max/min", 2.0, 1.0).slower == 2.0
    assert compared("c", THREADS, "9 of 10 within", 50.0, 100.0).slower == 0.5


def test_of_all_columns_one_is_better_the_more_there_is() -> None:
    columns = {column for measure in MEASURES.values() for column in measure.columns}
    assert columns == {"grants/s", "max/min", "µs", "9 of 10 within", "ms"}
    assert MORE_IS_BETTER in columns and IN_TURN in OURS


@pytest.mark.parametrize(
    ("letter", "who", "slower", "met"),
    [
        ("c", TASKS, 1.3, True),  # the thread of the node may cost a third
        ("c", IN_TURN, 1.4, False),
        ("c", THREADS, 1.1, False),
        ("e", TASKS, 1.1, False),
        ("e", TASKS, 1.0, True),
    ],
)
def test_only_the_hand_over_of_tasks_may_be_slower(
    letter: str, who: str, slower: float, met: bool
) -> None:
    aim = compared(letter, who, "ms", slower * 100.0, 100.0).aim()
    assert aim.startswith("met " if met else "MISSED ")
    assert aim.endswith("in 3 of 3 turns") is not met


def test_what_was_not_measured_is_unknown() -> None:
    assert compared("b", TASKS, "max/min", inf, inf).aim().startswith("unknown ")
