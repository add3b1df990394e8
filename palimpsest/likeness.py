"""Likeness across namespaces: a report on an owner's memories, which joins nothing."""

from __future__ import annotations

from itertools import islice
from typing import TypedDict

import numpy as np

from palimpsest.contracts.urn import Urn
from palimpsest.local_gateway import LocalGateway
from palimpsest.streams.core.ledger import Memory
from palimpsest.streams.retrieval import vector_of
from palimpsest.streams.search import pairs_above


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
    ledger = gateway.ledger(owner_id, however_large=True)
    assert ledger is not None, "asked for however large"
    living = [one for one in ledger.memories() if one.living and one.face.vector is not None]
    if not living:
        return []
    vectors = np.stack([vector_of(v) for memory in living if (v := memory.face.vector)])
    across = (
        (similarity, living[a], living[b])
        for similarity, a, b in pairs_above(vectors, at_least)
        if living[a].namespace != living[b].namespace
    )
    return [_shown(owner_id, *one) for one in islice(across, limit)]


def _shown(owner_id: str, similarity: float, older: Memory, newer: Memory) -> Alike:
    return Alike(
        similarity=similarity,
        a=str(Urn(owner_id, older.namespace, older.id)),
        b=str(Urn(owner_id, newer.namespace, newer.id)),
        a_face=older.face.text,
        b_face=newer.face.text,
    )
