"""A day of an agent without a judge: facts that change, among a thousand others."""

from __future__ import annotations

import random
from pathlib import Path

from bench.embedding import distinct
from bench.figure import Measured, Scale
from bench.opened import scratch_palimpsest
from bench.rows import shipped_rows

OWNER = "ada"
SESSION = 20
"""Rows per session."""
CORRECTIONS = shipped_rows("corrections.jsonl")
"""Facts before and after a change, with a question that either answers."""
FIRST = 8
"""The first corrections, of eight different kinds; the others were written to find misses."""


def corrections(scale: Scale) -> list[Measured]:
    """How many corrections a `recall` of 5 finds with the new fact before the old one."""
    rows = scale.of(200, 1_000, 1_000)
    return [
        Measured(
            "corrections with the new fact first",
            f"of {len(asked)}",
            [float(sum(_found_first(asked, rows, scale.data)))],
            reach,
            note=f"a day of {rows:,} rows, without a judge",
        )
        for asked, reach in ((CORRECTIONS[:FIRST], FIRST), (CORRECTIONS, None))
    ]


def _found_first(asked: list[dict[str, str]], rows: int, data: Path | None) -> list[bool]:
    said = _day(asked, rows, data)
    with scratch_palimpsest() as store:
        for start in range(0, len(said), SESSION):
            about = {"owner_id": OWNER, "session_id": str(start)}
            store.submit([{**about, "text": text} for text in said[start : start + SESSION]])
        return [
            _first(one, [hit["face"] for hit in store.recall(OWNER, one["question"])])
            for one in asked
        ]


def _first(one: dict[str, str], faces: list[str]) -> bool:
    """Whether the new fact is found, and comes before the old one."""
    among = [face for face in faces if face in (one["before"], one["after"])]
    return among[:1] == [one["after"]]


def _day(asked: list[dict[str, str]], rows: int, data: Path | None) -> list[str]:
    """Other facts, with the old facts in their first half and the new ones in their second."""
    chance = random.Random(1)
    others = [text for _, text in distinct(data, rows * 10)]
    chance.shuffle(others)
    said = others[: rows - 2 * len(asked)]
    half = len(said) // 2
    before, after = said[:half], said[half:]
    for one in asked:
        before.insert(chance.randrange(len(before)), one["before"])
        after.insert(chance.randrange(len(after)), one["after"])
    return before + after
