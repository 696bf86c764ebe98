"""Mutants of mishra-srimani-bounded."""

from tests.algorithms.mutants.mishra_srimani_checks import CHECKS

MUTANTS = (*CHECKS,)
