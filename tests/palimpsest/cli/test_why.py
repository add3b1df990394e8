"""`why` and `triangles` at the command line."""

from __future__ import annotations

from typing import Any

from palimpsest.cli import explaining
from palimpsest.cli.shell import REFUSED
from tests.palimpsest.cli.conftest import CommandLine
from tests.palimpsest.cli.test_drawing import lines
from tests.palimpsest.cli.test_statements import PARIS, submit


def test_why_draws_a_path_and_why_two_are_apart(palimpsest: CommandLine) -> None:
    submit(palimpsest, PARIS, PARIS, "The cat sleeps")
    first, again, cat = palimpsest.ids()
    drawn = palimpsest("why", first).out
    assert "equal texts" in drawn
    assert "nothing was near enough to look at" in drawn
    assert palimpsest.json("why", again)["candidates"][0]["joined_to"] == first
    assert "they are in one memory" in palimpsest("why", first, again).out
    palimpsest.json("separate", first, cat, "--because", "two things")
    drawn = palimpsest("why", cat[:8], first[:8]).out
    assert "separated: they were separated" in drawn
    assert "because: two things" in drawn
    found = palimpsest.json("why", first, cat)
    assert found["reasons"][0]["reason"] == "separated"
    assert palimpsest("why", "no id").status == REFUSED


def test_triangles_are_drawn_or_there_are_none(palimpsest: CommandLine) -> None:
    submit(palimpsest, PARIS)
    assert "no separated pair has a third" in palimpsest("triangles", "ada").out
    found: Any = {
        "similarity": 0.5,
        "joined_text": "a",
        "other_text": "b",
        "one_text": "c",
        "joined": "1",
        "other": "2",
        "one": "3",
    }
    assert lines(explaining.triangles([found])) == [
        "0.5000",
        "a",
        "is near b",
        "joined to c",
        "1 2 3",
    ]


def test_every_detail_of_a_reason_is_drawn() -> None:
    side = {"text": "x", "candidate_id": "1", "memory_id": "1", "owner_id": "ada"}
    answer: Any = {
        "older": side,
        "newer": side | {"text": "y"},
        "together": False,
        "reasons": [
            {"reason": "guard", "detail": "it stops", "cues": [], "words": ("two", "")},
            {"reason": "judge", "detail": "no", "because": "why", "model": "m", "at": "now"},
        ],
        "steps": [],
    }
    drawn = lines(explaining.why_not(answer))
    assert "two | (nothing)" in drawn
    assert "because: why" in drawn
    assert "at now model m" in drawn
    assert "nothing that was recorded says why" in "".join(
        lines(explaining.why_not(answer | {"reasons": []}))
    )
