"""Answers travel as the JSON that every version has sent, and are read back as they were."""

from __future__ import annotations

import pytest

from palimpsest.contracts.answers import (
    EMBEDDER_DOWN,
    MODEL_UNUSABLE,
    OTHER_MODEL,
    Answer,
    Apart,
    Done,
    Failed,
    JsonObject,
    Misused,
    NewExpiry,
    PutBack,
    Refused,
    Reinstatements,
    Restorations,
    Retractions,
    SoFar,
    TakenBack,
    Undone,
    Unmerged,
    from_json,
    merged,
    result,
    result_or_refusal,
)
from palimpsest.contracts.errors import RefusedError, StoreError, UsageError

ANSWERS: list[tuple[Answer, JsonObject]] = [
    (Done({"reversed": ["a"]}), {"done": {"reversed": ["a"]}}),
    (Refused("supported", "it is"), {"refused": {"reason": "supported", "detail": "it is"}}),
    (Misused("no policy"), {"usage": "no policy"}),
    (Failed("ZeroDivisionError"), {"failed": "ZeroDivisionError"}),
]


@pytest.mark.parametrize(("answer", "wire"), ANSWERS)
def test_an_answer_travels_and_comes_back(answer: Answer, wire: JsonObject) -> None:
    assert answer.to_json() == wire
    assert from_json(wire) == answer


def test_what_undo_and_redo_answer_has_the_keys_of_each_request_that_they_stand_for() -> None:
    kinds = (Undone, Unmerged, PutBack, Apart, NewExpiry)
    in_bulk = (Reinstatements, Restorations, Retractions)
    keys = {key for kind in (*kinds, *in_bulk) for key in kind.__annotations__}
    keys.add("token")  # which the server adds
    assert keys == set(TakenBack.__annotations__)


def test_progress_travels_and_is_no_answer() -> None:
    assert SoFar(7).to_json() == {"so_far": 7}
    with pytest.raises(StoreError, match="cannot be read"):
        from_json(SoFar(7).to_json())


@pytest.mark.parametrize(
    "wire",
    [
        {},
        {"done": 1},
        {"done": []},
        {"refused": {"reason": "why"}},
        {"refused": {"reason": 1, "detail": "d"}},
        {"refused": {"reason": "why", "detail": 1}},
        {"failed": {}},
        {"usage": 1},
    ],
)
def test_what_is_no_answer_is_not_taken_for_one(wire: JsonObject) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        from_json(wire)


def test_what_was_done_is_the_result_and_anything_else_is_raised() -> None:
    done, refused, misused, failed = (answer for answer, _ in ANSWERS)
    assert result(done) == result_or_refusal(done) == {"reversed": ["a"]}
    assert isinstance(result_or_refusal(refused), RefusedError)
    with pytest.raises(RefusedError, match="supported: it is"):
        result(refused)
    for read in (result, result_or_refusal):
        with pytest.raises(UsageError, match="no policy"):
            read(misused)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            read(failed)


def test_what_one_partition_did_does_not_hide_that_another_did_not_understand() -> None:
    done, refused, misused, failed = (answer for answer, _ in ANSWERS)
    assert merged([done, misused, refused]) == misused
    assert merged([refused, failed, done]) == failed
    for reason in (EMBEDDER_DOWN, MODEL_UNUSABLE):
        down = Refused(reason, "the model is down")
        assert merged([done, down, refused]) == down
    lacking = Refused(OTHER_MODEL, "a vector of it is missing for 3 texts")
    assert merged([refused, lacking]) == lacking
    told = merged([done, lacking, refused])
    assert isinstance(told, Refused)
    assert told.detail.startswith(f"{lacking.detail}. 1 of 3 partitions have switched")
