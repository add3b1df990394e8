"""The presets beside each other, on a small stream with labels: counts add up, charts are drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.designs import DESIGNS, STEP, Result, draw, rows, run_one, table
from bench.sentences import sentences
from tests.long import long_but
from tests.stub_engine import StubEngine


@pytest.fixture(name="file")
def labelled(tmp_path: Path) -> Path:
    """Four owners, each of whom says the same things in several wordings and once more exactly."""
    file = tmp_path / "labelled.jsonl"
    made = sentences()
    with file.open("w") as out:
        for number in range(60):
            text = next(made)
            wordings = [text, f"{text} indeed", text] if number % 3 == 0 else [text]
            for wording in wordings:
                row = {"owner_id": f"o{number % 4}", "text": wording, "gold_cluster": str(number)}
                out.write(json.dumps(row) + "\n")
    return file


def test_what_a_stream_lacks_is_drawn_the_same_each_time(file: Path) -> None:
    said = rows(file)
    assert [row.said for row in said] == [row.said for row in rows(file)]
    assert said[1].at - said[0].at == STEP
    assert len({row.said["session_id"] for row in said}) > 4
    assert {row.said["category"] for row in said} == {"observation", "constraint"}
    assert len(rows(file, limit=7)) == 7


@pytest.mark.parametrize("preset", long_but("layered", of=DESIGNS))
def test_a_preset_is_run_over_the_days_of_a_stream(file: Path, preset: str) -> None:
    said = rows(file)
    result = run_one("labelled", preset, said, StubEngine())
    assert result.rows == len(said) == 100
    assert result.memories == result.rows - sum(result.joins.values())
    assert result.joins.get("hash_exact", 0) + result.joins.get("recent_capture", 0) >= 20
    assert result.pending == 0
    assert result.recall is not None
    assert result.recall > 0.3
    assert (result.judged > 0) == (result.usd > 0)


def test_the_results_are_shown_and_drawn(file: Path, tmp_path: Path) -> None:
    results: list[Result] = [
        run_one("labelled", preset, rows(file, 20), StubEngine()) for preset in DESIGNS[:2]
    ]
    assert table(results).row_count == 2
    draw(results, tmp_path / "chart.svg")
    assert "<svg" in (tmp_path / "chart.svg").read_text()
