"""The operator's hour in small: every command is run, on made-up texts, in minutes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench.hour import SETS, STREAM, Goal, Texts, read_texts, spend
from bench.sentences import sentences


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Pairs of a set: as many that say the same, one without its last mark, as that do not."""
    for number, text in enumerate(islice(sentences(), count)):
        said = f"{text.removesuffix('.')} in {1_900 + number}"
        yield {"a": f"{said}.", "b": said, "label": "duplicate"}
        yield {"a": f"{said}.", "b": f"{said}5.", "label": "contradiction"}


def write(file: Path, found: Iterable[dict[str, Any]]) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in found))


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    """What the bench reads of its data."""
    data = tmp_path / "data"
    data.mkdir()
    write(data / "pairs" / f"{SETS[0]}.jsonl", rows(240))
    for name in SETS[1:]:
        write(data / "pairs" / f"{name}.jsonl", [])
    stream = [
        {"owner_id": "e2e:Alba", "text": f"Alba {what}", "gold_cluster": cluster}
        for what, cluster in (("is by a river", "1"), ("lies by a river", "1"), ("is dear", "2"))
    ]
    write(data / "streams" / f"{STREAM}.jsonl", stream)
    return read_texts(data, 10_000)


def test_it_knows_which_texts_say_the_same(texts: Texts) -> None:
    assert texts.same("Alba is by a river", "Alba lies by a river")
    assert not texts.same("Alba is by a river", "Alba is dear")
    assert not texts.same("Alba is by a river", "nobody wrote this")
    assert not texts.same("nobody wrote this", "nor this")
    kept_out = {pair["a"] for pair in texts.labels}
    assert kept_out
    assert kept_out.isdisjoint(row["text"] for row in texts.rows)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_joins_are_certified_thresholds_set_and_joins_certified_anew(
    tmp_path: Path, texts: Texts
) -> None:
    goal = Goal(target=0.1, budget=0.1, page=shutil.which("chromium") is not None)
    (folder := tmp_path / "hour").mkdir()
    found = spend(folder, texts, goal, lambda _line: None)
    first, anew = found["first"], found["anew"]
    assert first["joins"] < anew["joins"]
    for certified in (first, anew):
        assert certified["wrong"] / certified["joins"] <= certified["bound"] <= goal.target
        assert certified["labels"] < certified["joins"]
    assert found["calibrated"]["joined"] > 0 == found["calibrated"]["wrong"]
    assert found["calibrated"]["void"]
    assert found["differences"] == 0
    assert (folder / "backtest.html").stat().st_size > 1_000
