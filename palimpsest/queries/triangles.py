"""Triangles: a pair that a person separated, with a third joined to one and near the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from palimpsest.backends.reader import Reader
from palimpsest.queries.why import cosine
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.separations import separation


class Triangle(TypedDict):
    """`joined` is in the memory of `one`, and near `other`, which a person separated from `one`."""

    owner_id: str
    one: str
    other: str
    joined: str
    similarity: float
    one_text: str
    other_text: str
    joined_text: str


def triangles(reader: Reader, owner_id: str, at_least: float, limit: int) -> list[Triangle]:
    """An owner's triangles by cosine, the nearest first.

    Either the separation may be wrong, or the third may belong to the other instead.
    """
    ledger = reader.ledger(owner_id)
    found = [
        _shown(score, one, other, third)
        for one, other in _separated(ledger)
        for third in one.memory.members
        if third is not one and third.living and third.distinct is not one.distinct
        if (score := _score(third, other)) is not None and score >= at_least
    ]
    found.sort(key=lambda triangle: -triangle["similarity"])
    return found[:limit]


def _separated(ledger: Ledger) -> Iterator[tuple[Entry, Entry]]:
    """The living candidates in two memories that a person separated: each pair in both orders."""
    for some_id, others in ledger.statements.items():
        for other_id in others:
            if some_id > other_id:
                continue
            pair = ledger.entries[some_id], ledger.entries[other_id]
            stated = separation(ledger, *pair)
            apart = stated is not None and stated.rank == "person"
            if apart and pair[0].memory is not pair[1].memory and all(e.living for e in pair):
                yield pair
                yield pair[1], pair[0]


def _score(one: Entry, other: Entry) -> float | None:
    mine, theirs = one.distinct.vector, other.distinct.vector
    return None if mine is None or theirs is None else cosine(mine, theirs)


def _shown(score: float, one: Entry, other: Entry, third: Entry) -> Triangle:
    return {
        "owner_id": one.fields.owner_id,
        "one": one.id,
        "other": other.id,
        "joined": third.id,
        "similarity": round(score, 4),
        "one_text": one.text,
        "other_text": other.text,
        "joined_text": third.text,
    }
