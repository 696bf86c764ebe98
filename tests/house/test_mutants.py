"""The table of docs/mutants.md has the node's mutants, and what finds each of them."""

from __future__ import annotations

from pathlib import Path

from tests.node.mutants import FOUND_BY, MUTANTS, Mutant

TABLE = Path(__file__).parents[2] / "docs" / "mutants.md"
HEADING = "| what is wrong | found by a schedule of | caught by |"


def test_the_table_of_the_nodes_mutants_is_that_of_the_list() -> None:
    lines = TABLE.read_text().splitlines()
    begin = lines.index(HEADING) + 2
    assert lines[begin : begin + len(MUTANTS)] == list(map(row, MUTANTS))
    assert not lines[begin + len(MUTANTS)]


def row(mutant: Mutant) -> str:
    story = f"`{FOUND_BY[mutant.what]}`" if mutant.what in FOUND_BY else "–"
    by = mutant.caught_by
    test = by if by == "seeds" else f"`{by.partition('.')[2]}`"
    return f"| {mutant.what} | {story} | {test} |"
