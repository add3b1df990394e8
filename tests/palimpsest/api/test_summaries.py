"""Counts over many rows and over a review, and how Python's values become rows."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from palimpsest.contracts.errors import InvalidInputError
from palimpsest.jobs.ingest import FIRST_ROWS, NAMED, Summary, _wrong, to_inputs
from palimpsest.jobs.review import ReviewResult
from palimpsest.jobs.wrong_files import MOST_NAMED, advice
from palimpsest.streams.intake import Prepared, RawRow
from palimpsest.streams.write.inputs import Outcome


def invalid(number: int) -> Outcome:
    return Outcome("invalid", decision_id=f"d{number}", reason="field", detail=f"row {number}")


def test_a_summary_counts_each_row_by_what_became_of_it() -> None:
    summary = Summary()
    summary.add([Outcome("decided", decision="stored"), Outcome("known"), Outcome("heard")])
    summary.add([Outcome("decided", decision="stored"), Outcome("published"), invalid(6)])
    assert summary.document() == {
        "rows": 6,
        "known": 1,
        "invalid": 1,
        "heard": 1,
        "published": 1,
        "decisions": {"stored": 2},
        "invalid_rows": [
            {"row": 6, "reason": "field", "detail": "row 6", "dead_letter": "d6"},
        ],
        "remarks": [],
        "interrupted": False,
        "seconds": 0.0,
    }


def test_a_summary_names_the_first_invalid_rows_by_where_they_were_read() -> None:
    summary = Summary()
    summary.add(map(invalid, range(NAMED + 1)), iter(range(100, 200)))
    assert summary.invalid == NAMED + 1
    assert [row["row"] for row in summary.invalid_rows] == [*range(100, 100 + NAMED)]


def test_a_review_counts_what_it_did() -> None:
    after = ReviewResult(
        exact=5,
        confirmed=2,
        reversed=[{}, {}],
        refused=[{}],
        asked=Counter(same=7, unavailable=2, unusable=3),
    )
    assert after.document()["left"] == 5
    assert after.figures() == {"exact": 5, "confirmed": 2, "reversed": 2, "refused": 1, "left": 5}


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "the only row of f is wrong"),
        (2, "none of the 2 rows of f is right"),
        (FIRST_ROWS - 1, "none of the 99 rows of f is right"),
        (FIRST_ROWS, "none of the first 100 rows of f is right"),
    ],
)
def test_a_wrong_file_says_how_much_of_it_was_looked_at(count: int, told: str) -> None:
    assert _wrong(count, "f") == told


class Odd:
    """A value that has no form in JSON, and whose `repr` fails."""

    def __repr__(self) -> str:
        raise ValueError("not to be shown")


GOOD = {"owner_id": "ada", "text": "Ada sings."}


@pytest.mark.parametrize(
    ("values", "written"),
    [
        (GOOD, GOOD),
        (MappingProxyType(GOOD), GOOD),
        (
            GOOD | {"occurred_at": datetime(2026, 3, 1, tzinfo=UTC)},
            GOOD | {"occurred_at": "2026-03-01T00:00:00+00:00"},
        ),
        (
            GOOD | {"metadata": {"on": date(2026, 3, 1), "id": UUID(int=0), 1: None}},
            GOOD
            | {
                "metadata": {
                    "on": "2026-03-01",
                    "id": "00000000-0000-0000-0000-000000000000",
                    "1": None,
                }
            },
        ),
        (GOOD | {"session_id": None}, GOOD | {"session_id": None}),
    ],
)
def test_a_row_of_python_is_written_as_json(values: object, written: dict[str, Any]) -> None:
    [found] = to_inputs([values], "s")
    assert json.loads(found.row.raw) == written
    assert isinstance(found.meaning, Prepared)
    assert found.meaning.candidate.source == "s"


@pytest.mark.parametrize(
    ("values", "raw"),
    [
        (5, b"5"),
        (["a"], b"['a']"),
        (Odd(), b"<Odd>"),
        (GOOD | {"metadata": Odd}, None),
        (GOOD | {"metadata": {"x": float("nan")}}, None),
        (GOOD | {"confidence": float("-inf")}, None),
    ],
)
def test_what_json_cannot_say_is_invalid_and_shown_as_python_does(
    values: object, raw: bytes | None
) -> None:
    [found] = to_inputs([values], "s")
    assert isinstance(found.meaning, InvalidInputError)
    assert found.meaning.reason == "not_json"
    if raw is not None:
        assert found.row.raw == raw


def test_rows_of_one_call_are_told_apart_and_are_new_in_each_call() -> None:
    twice = to_inputs([GOOD, GOOD], "s") + to_inputs([GOOD], "s")
    ids = [one.meaning.candidate_id for one in twice if isinstance(one.meaning, Prepared)]
    assert len({*ids}) == 3
    assert [one.row.repeat for one in twice] == [1, 2, 1]


def advised(*rows: bytes, **renames: str) -> str:
    return advice([RawRow(raw, "f") for raw in rows], renames)


def test_of_many_fields_the_first_are_named_and_the_likeliest_is_proposed() -> None:
    names = [f"f{n}" for n in range(MOST_NAMED + 1)]
    many = json.dumps(dict.fromkeys(names, 1)).encode()
    told = advised(many)
    assert ", ".join(names[:MOST_NAMED]) in told
    assert names[-1] not in told
    assert "--map THEIRS=text --map THEIRS=owner_id" in told
    usual = b'{"user": 1, "user_id": 2, "memory": 3, "content": 4, "x": 5}'
    assert "--map content=text --map user_id=owner_id" in advised(usual)
    bare = "no row has `text` and `owner_id`: --map THEIRS=text maps another field to it"
    assert advised(b"{}") == bare
    common = advised(b'{"text": 1, "a": 1, "b": 1}', b'{"text": 1, "b": 1}')
    assert "the rows have b: perhaps" in common


@pytest.mark.parametrize(
    ("lines", "is_csv"),
    [
        ((b"a,b", b"1,2", b"x"), True),
        ((b"a,b", b"1,2", b"x", b"y"), False),
        ((b"a", b"1"), False),
        ((b"a,b c", b"1,2"), True),
        ((b'"a","b"', b"1,2"), True),
        ((b"1,2", b"3,4"), False),
        ((b"a,b", b"\xff,2"), False),
    ],
)
def test_what_looks_like_csv_has_names_and_as_many_cells(
    lines: tuple[bytes, ...], is_csv: bool
) -> None:
    assert ("this looks like CSV" in advised(*lines)) is is_csv
