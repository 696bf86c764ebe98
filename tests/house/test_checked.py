"""The table of docs/checked.md has the rows that `make check-all` runs."""

from __future__ import annotations

from pathlib import Path

from bench.check_all import RINGS, ROWS, Row, expected, structure

TABLE = Path(__file__).parents[2] / "docs" / "checked.md"
COLUMNS = 11


def test_the_table_of_searches_has_the_rows_of_check_all() -> None:
    lines = TABLE.read_text().splitlines()
    table = [line for line in lines if line.count("|") == COLUMNS + 1]
    _, _, *searches = ([cell.strip() for cell in row.split("|")[1:4]] for row in table)
    assert sorted(map(cells, ROWS)) == sorted(searches)


def test_the_table_of_rings_has_what_check_all_is_to_find() -> None:
    lines = TABLE.read_text().splitlines()
    begin = lines.index(
        "| nodes | values | begun from | states | of them unsafe | verdict |"
    )
    assert lines[begin + 2 : begin + 2 + len(RINGS)] == list(map(expected, RINGS))
    assert not lines[begin + 2 + len(RINGS)]


def cells(row: Row) -> list[str]:
    asked = "without end" if row.requests is None else str(row.requests)
    return [row.name, str(row.nodes), asked]


def test_a_row_says_what_its_network_does_not() -> None:
    options = ("--sites", "2", "--groups", "1", "--crashes", "3", "--no-fences")
    row = Row("central", 3, 1, (*options, "--quorums", "grid"))
    assert list(structure(row)) == ["2 sites", "1 group", "no-fences", "grid"]
