"""Joins by cosine alone: finds rewordings without a judge, and says what the guard would stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from palimpsest.cleaning.texts import RowJoin, Texts
from palimpsest.cleaning.vectors import TextVectors
from palimpsest.contracts.counting import counted
from palimpsest.streams.embedder import Progress
from palimpsest.streams.guard import compare, kept_reading
from palimpsest.streams.search.exact import cosine

WITHIN = "within"
"""The rule that joins by cosine alone."""
LEAST_WITHIN = 0.5
"""The lowest cosine that may join two texts."""
_BLOCK = 256
_CHUNK = 16_384
_SLACK = 1e-4
"""How far a product in single precision may fall below a floor that the exact cosine reaches."""

Single = NDArray[np.float32]


def join_within(
    rows: Sequence[int],
    texts: Texts,
    similarity: float,
    vectors: TextVectors,
    unite: Callable[[int, int], bool],
    progress: Progress,
) -> list[RowJoin]:
    """Join each row to the nearest earlier row that stays, if their cosine reaches `similarity`.

    `rows` are those of all scopes, in order of preference. So each removed row is this near to one
    that stays, and chains of joins cannot drift further. `unite` records the join of two rows, or
    returns False if it is forbidden. Ties go to the earlier of `rows`.
    """
    vectors.prepare(texts.of[row] for row in rows)
    scope_of = {number: scope for scope, numbers in texts.scopes.items() for number in numbers}
    by_scope: dict[object, list[int]] = {}
    for row in rows:
        by_scope.setdefault(scope_of[texts.of[row]], []).append(row)
    found: list[RowJoin] = []
    done = 0
    for some in by_scope.values():
        progress(f"comparing {counted(len(rows), 'text')}", done / len(rows))
        found += _join_scope(some, texts, similarity, vectors, unite)
        done += len(some)
    return found


def _join_scope(
    rows: Sequence[int],
    texts: Texts,
    similarity: float,
    vectors: TextVectors,
    unite: Callable[[int, int], bool],
) -> Iterator[RowJoin]:
    kept: list[int] = []
    matrix = np.empty((len(rows), len(vectors[texts.of[rows[0]]].vector)), np.float32)
    for start in range(0, len(rows), _BLOCK):
        some = rows[start : start + _BLOCK]
        recorded = [vectors[texts.of[row]].vector for row in some]
        block = _unit(recorded)
        near = _near(block, matrix[: len(kept)], similarity)
        among = block @ block.T >= similarity - _SLACK
        before, stayed = len(kept), list[int]()
        for number, row in enumerate(some):
            places = [
                *near[number],
                *(before + n for n, other in enumerate(stayed) if among[number, other]),
            ]
            scored = sorted(
                (-cosine(vectors[texts.of[kept[place]]].vector, recorded[number]), place)
                for place in places
            )
            for negative, place in scored:
                if -negative >= similarity and unite(row, kept[place]):
                    stopped = stopped_by(texts, vectors, row, kept[place])
                    yield RowJoin(row, kept[place], WITHIN, -negative, stopped)
                    break
            else:
                matrix[len(kept)] = block[number]
                kept.append(row)
                stayed.append(number)


def _near(block: Single, kept: Single, similarity: float) -> list[list[int]]:
    """For each vector of a block, the indices of the kept vectors that may be near enough."""
    near: list[list[int]] = [[] for _ in block]
    for start in range(0, len(kept), _CHUNK):
        scores = block @ kept[start : start + _CHUNK].T
        for number, place in np.argwhere(scores >= similarity - _SLACK).tolist():
            near[number].append(start + place)
    return near


def _unit(vectors: Sequence[NDArray[np.float16]]) -> Single:
    """Vectors of unit length, (b, dimension); a zero vector stays zero."""
    rows = np.stack(vectors).astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), np.float32)


def stopped_by(texts: Texts, vectors: TextVectors, row: int, other: int) -> tuple[str, ...]:
    """The cues for which the guard would stop the join of two rows; empty if it would not."""
    one, two = (
        kept_reading(texts.texts[number], unknown=vectors[number].unknown)
        for number in (texts.of[row], texts.of[other])
    )
    seen = compare(one, two)
    cues = tuple(map(str, seen.cues))
    return cues or (() if seen.near_identical else ("differs",))
