"""Mutants of weighted-majority-spare, which has the rules of majority-spare."""

from tests.algorithms.mutants.majority_spare import MUTANTS

__all__ = ("MUTANTS",)
