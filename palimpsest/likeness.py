"""Likeness across namespaces: a report on an owner's memories, which joins nothing."""

from __future__ import annotations

from itertools import combinations
from typing import TypedDict

import numpy as np

from palimpsest.contracts.urn import Urn
from palimpsest.local_gateway import LocalGateway
from palimpsest.projections.recall import DECIMALS
from palimpsest.streams.core.ledger import Memory
from palimpsest.streams.retrieval import vector_of
from palimpsest.streams.write.owners import fold_owner

CHUNK = 1024


class Alike(TypedDict):
    """Two memories of different namespaces that are near each other, the earlier one first."""

    similarity: float
    a: str
    b: str
    a_face: str
    b_face: str


def across_namespaces(
    gateway: LocalGateway, owner_id: str, at_least: float, limit: int
) -> list[Alike]:
    """Pairs of living memories of different namespaces by cosine, the nearest first.

    Memories whose text has no vector are left out.
    """
    ledger = fold_owner(gateway.log, owner_id)
    by_namespace: dict[str, list[Memory]] = {}
    for memory in ledger.memories():
        if memory.living and memory.face.vector is not None:
            by_namespace.setdefault(memory.namespace, []).append(memory)
    found: list[tuple[float, Memory, Memory]] = []
    for ours, theirs in combinations(by_namespace.values(), 2):
        found += _near(ours, theirs, at_least)
    found.sort(key=lambda one: (-one[0], one[1].members[0].place, one[2].members[0].place))
    return [_shown(owner_id, *one) for one in found[:limit]]


def _near(
    ours: list[Memory], theirs: list[Memory], at_least: float
) -> list[tuple[float, Memory, Memory]]:
    found: list[tuple[float, Memory, Memory]] = []
    others = _units(theirs)
    for start in range(0, len(ours), CHUNK):
        some = ours[start : start + CHUNK]
        cosines = (_units(some) @ others.T).round(DECIMALS)
        for row, column in np.argwhere(cosines >= at_least):
            pair = sorted((some[row], theirs[column]), key=lambda m: m.members[0].place)
            found.append((float(cosines[row, column]), pair[0], pair[1]))
    return found


def _units(memories: list[Memory]) -> np.typing.NDArray[np.float64]:
    """Their faces' vectors, (memories, dimension), of unit length."""
    vectors = [vector_of(v).astype(np.float64) for m in memories if (v := m.face.vector)]
    numbers = np.stack(vectors)
    units: np.typing.NDArray[np.float64] = numbers / np.linalg.norm(numbers, axis=1, keepdims=True)
    return units


def _shown(owner_id: str, similarity: float, older: Memory, newer: Memory) -> Alike:
    return Alike(
        similarity=similarity,
        a=str(Urn(owner_id, older.namespace, older.id)),
        b=str(Urn(owner_id, newer.namespace, newer.id)),
        a_face=older.face.text,
        b_face=newer.face.text,
    )
