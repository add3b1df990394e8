"""Similar memories across namespaces: a report that joins nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import TypeAlias, TypedDict

import numpy as np

from palimpsest.backends.reader import Reader
from palimpsest.contracts.events import Vector
from palimpsest.contracts.urn import Urn
from palimpsest.streams.core.ledger import Memory
from palimpsest.streams.search import pairs_above
from palimpsest.streams.search.scope_index import coverage, vector_of, windows_of

Pair: TypeAlias = tuple[float, Memory, Memory]

ROUNDED = 0.005
"""The largest error of a cosine that comes from storing vectors as float16."""


class Alike(TypedDict):
    """Two similar memories of different namespaces, the earlier one first."""

    similarity: float
    a: str
    b: str
    a_face: str
    b_face: str


def across_namespaces(reader: Reader, owner_id: str, at_least: float, limit: int) -> list[Alike]:
    """Pairs of living memories of different namespaces by cosine, the nearest first.

    A text longer than the model's input is compared window by window, in both directions, and the
    score is that of the least similar window. Memories that are not fully embedded are left out.
    Raises ValueError if the recorded vectors differ in dimension, or one is not finite.
    """
    ledger = reader.ledger(owner_id)
    at = reader.clock()
    living = [
        memory
        for memory in ledger.memories()
        if memory.living
        and not memory.has_expired(at)
        and (vector := memory.face.vector) is not None
        and vector.covers_text
    ]
    found = merge(_short(living, at_least), _long(living, at_least), key=lambda pair: -pair[0])
    across = (pair for pair in found if pair[1].namespace != pair[2].namespace)
    return [_shown(owner_id, *pair) for pair in islice(across, limit)]


def _vector(memory: Memory) -> Vector:
    assert memory.face.vector is not None, "others are left out"
    return memory.face.vector


def _short(living: Sequence[Memory], at_least: float) -> Iterator[Pair]:
    """The pairs of texts that fit the model's input, the nearest first."""
    short = [memory for memory in living if not _vector(memory).truncated]
    if short:
        vectors = np.stack([vector_of(_vector(memory)) for memory in short])
        yield from ((score, short[a], short[b]) for score, a, b in pairs_above(vectors, at_least))


def _long(living: Sequence[Memory], at_least: float) -> list[Pair]:
    """The pairs with a longer text, the nearest first; those that may be near get exact scores."""
    windows = [windows_of(_vector(memory)).astype(np.float32) for memory in living]
    starts = np.cumsum([0, *map(len, windows[:-1])])
    every = np.concatenate(windows) if windows else np.empty((0, 0), np.float32)
    found: list[tuple[float, int, int]] = []
    for at, memory in enumerate(living):
        if not _vector(memory).truncated:
            continue
        scores = every @ windows[at].T
        mine = np.maximum.reduceat(scores, starts).min(axis=1)
        theirs = np.minimum.reduceat(scores.max(axis=1), starts)
        for other in np.flatnonzero(np.minimum(mine, theirs) >= at_least - ROUNDED).tolist():
            if other < at or not _vector(living[other]).truncated:
                score = coverage(_vector(memory), _vector(living[other]))
                if score is not None and score >= at_least:
                    found.append((score, min(at, other), max(at, other)))
    found.sort(key=lambda pair: (-pair[0], *pair[1:]))
    return [(score, living[a], living[b]) for score, a, b in found]


def _shown(owner_id: str, similarity: float, older: Memory, newer: Memory) -> Alike:
    return Alike(
        similarity=similarity,
        a=str(Urn(owner_id, older.namespace, older.id)),
        b=str(Urn(owner_id, newer.namespace, newer.id)),
        a_face=older.text,
        b_face=newer.text,
    )
