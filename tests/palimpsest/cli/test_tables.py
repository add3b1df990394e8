"""Answers that a person can read."""

from __future__ import annotations

from tests.palimpsest.cli.conftest import CommandLine


def test_a_wide_view_is_printed_row_by_row(palimpsest: CommandLine) -> None:
    palimpsest.ingest({"owner_id": "ada", "text": "Ada has a big dog."})
    told = palimpsest("sql", "FROM decisions").out
    candidate = palimpsest.ids()[0]
    lines = [line.split() for line in told.splitlines()]
    assert ["candidate_id", candidate] in lines
    assert ["decision", "stored"] in lines


def test_a_narrow_one_is_a_table(palimpsest: CommandLine) -> None:
    palimpsest.ingest({"owner_id": "ada", "text": "Ada has a big dog."})
    told = palimpsest("sql", "SELECT decision, count(*) AS n FROM decisions GROUP BY ALL").out
    assert [line.split() for line in told.splitlines()][::2] == [["decision", "n"], ["stored", "1"]]


def test_a_figure_has_no_remains_of_adding_up(palimpsest: CommandLine) -> None:
    palimpsest.ingest({"owner_id": "ada", "text": "Ada has a big dog."})
    told = palimpsest("sql", "SELECT 203.0000000000002::DOUBLE AS calls, 0.1234567 AS score").out
    assert told.split()[-2:] == ["203.0", "0.1234567"]
