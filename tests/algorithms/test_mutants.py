"""Each mutant is caught, or is harmless and says why."""

from __future__ import annotations

from collections import Counter

import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.checker.check import check
from tests.algorithms.mutants import MUTANTS
from tests.support.mutants import Mutant

CAUGHT = [m for m in MUTANTS if not m.harmless]

# Both searches take twice as long: a sample for `make test`, all for `make test-slow`.
SAMPLE = 5
IN_BOTH = [
    pytest.param(m, marks=[pytest.mark.slow] if i % SAMPLE else [])
    for i, m in enumerate(CAUGHT)
]


@pytest.mark.parametrize("mutant", CAUGHT, ids=str)
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    violation = check(mutant.model(), large=None).violation
    assert violation is not None
    assert violation.property == mutant.verdict


@pytest.mark.parametrize("mutant", IN_BOTH, ids=str)
def test_both_searches_catch_it_in_the_same_way(mutant: Mutant) -> None:
    plain, arrays = (check(mutant.model(), large=large).violation for large in (None, 0))
    assert plain is not None
    assert arrays is not None
    assert (arrays.text, arrays.depth) == (plain.text, plain.depth)


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.harmless], ids=str)
def test_a_harmless_mutant_does_no_harm(mutant: Mutant) -> None:
    assert check(mutant.model()).holds


def test_every_algorithm_has_five_that_are_caught() -> None:
    caught = Counter(mutant.algorithm for mutant in MUTANTS if not mutant.harmless)
    for entry in CATALOGUE:
        if entry.family != "museum":
            assert caught[entry.name] >= 5, entry.name
