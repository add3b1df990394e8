"""Candidates, as callers offer them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator

from palimpsest.contracts.candidate import Name
from palimpsest.contracts.errors import InvalidInputError
from palimpsest.jobs.ingest import to_inputs
from palimpsest.streams.write.inputs import Input, Submission


def _no_text(candidates: object) -> object:
    if isinstance(candidates, str | bytes):
        raise ValueError("should be a mapping, such as a dict, or several of them")
    return candidates


Candidates = Annotated[Mapping[str, Any] | Iterable[Mapping[str, Any]], BeforeValidator(_no_text)]
"""One candidate or several, as Python values."""

Candidate = Annotated[Mapping[str, Any], BeforeValidator(_no_text)]
"""One candidate, as Python values."""

IfInvalid = Literal["raise", "collect"]
"""What to do with unreadable candidates: raise an error, or return them as outcomes."""


class Offer(NamedTuple):
    """The candidates of one caller; `submission` names the request, if it has an id."""

    candidates: Candidates
    source: Name = "python"
    invalid: IfInvalid = "raise"
    submission: Submission | None = None


def fields_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a row, which a CloudEvent has in its data."""
    data = row.get("data")
    return data if "specversion" in row and isinstance(data, Mapping) else row


def read_offer(offer: Offer) -> list[Input] | InvalidInputError:
    """Read all candidates of an offer.

    If there are several, returns the error of the first unreadable one, unless `invalid` is
    "collect". A candidate given alone is always returned as an input.
    """
    alone = isinstance(offer.candidates, Mapping)
    rows = [offer.candidates] if alone else offer.candidates
    inputs = to_inputs(rows, offer.source, offer.submission)
    if alone or offer.invalid == "collect":
        return inputs
    for index, item in enumerate(inputs):
        if isinstance(item.meaning, InvalidInputError):
            return InvalidInputError(item.meaning.reason, item.meaning.detail, index)
    return inputs
