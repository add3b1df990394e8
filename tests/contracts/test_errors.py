"""Errors reach another process whole."""

from __future__ import annotations

import pickle

import pytest

from palimpsest.contracts.errors import (
    InvalidInputError,
    PalimpsestError,
    RefusedError,
    no_such_id,
)
from palimpsest.streams.log.damage import DamagedEventError


@pytest.mark.parametrize(
    "error",
    [
        RefusedError("separated", "both were separated"),
        InvalidInputError("field", "owner_id: missing", 3),
        DamagedEventError(7, "names nobody"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_the_same_after_pickle(error: PalimpsestError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_a_text_passed_as_an_id_is_not_quoted() -> None:
    assert "the id m-7:" in no_such_id("m-7")
    for text in ("The PIN is 4711.", " ", ""):
        assert no_such_id(text) == no_such_id()
