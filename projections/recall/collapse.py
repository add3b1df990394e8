"""Shows indistinguishable hits once: only in the answer, never in the log (docs/python.md).

Two memories are folded if a zone of the policy would join their faces without a judge: they are in
one namespace, reach its threshold, are near-identical in order and show no cue, and nobody has
separated them. The threshold `near_identical` is not used: it is so far below the zones that all
memories would have to be read. Every two memories of a fold must meet these conditions.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.events import Vector
from palimpsest.contracts.policy import CosineCheck, Policy
from palimpsest.projections.base.vectors import decoded
from palimpsest.streams.core.ledger import Ledger, Memory
from palimpsest.streams.core.neighbour_lookup import reading_of
from palimpsest.streams.core.separations import separated_pair
from palimpsest.streams.guard import Tables, passes, tables_of

DECIMALS = 4
"""Decimals of scores, everywhere."""


@dataclass(frozen=True, slots=True)
class Folding:
    """The part of a policy that joins without a judge."""

    policy: Policy

    def at_least(self, namespace: str) -> float | None:
        """The lowest cosine that joins without a judge; None if none does."""
        for check in self.policy.active:
            if isinstance(check, CosineCheck):
                zones = check.zones_of(namespace)
                return min((z.at_least for z in zones if z.action != "pending"), default=None)
        return None

    def kind(self, ledger: Ledger, memory: Memory) -> Hashable:
        """What indistinguishable memories share, above all the words that no edit changes.

        So of a thousand memories that differ only in a number, no two are compared.
        """
        tables = tables_of(self.policy.languages)
        reading = reading_of(memory.text, memory.face.vector, ledger.names, tables)
        return memory.namespace, reading.unknown, reading.fixed

    def folds(self, ledger: Ledger, one: Memory, other: Memory) -> bool:
        """Whether two memories are indistinguishable."""
        floor = self.at_least(one.namespace)
        if floor is None or one.namespace != other.namespace:
            return False
        # The guard comes first: texts are read once, but vectors are decoded for each pair.
        mine, theirs, tables = one.face, other.face, tables_of(self.policy.languages)
        return (
            alike(mine.text, mine.vector, theirs.text, theirs.vector, ledger.names, tables)
            and (score := cosine(one.face.vector, other.face.vector)) is not None
            and score >= floor
            and not (self._protected(one) or self._protected(other))
            and _covers(one.face.vector, other.face.vector, floor)
            and separated_pair(ledger, one, other) is None
        )

    def _protected(self, memory: Memory) -> bool:
        protected = self.policy.protected_categories
        return any(entry.fields.category in protected for entry in memory.members)


def alike(
    one: str,
    its: Vector | None,
    other: str,
    others: Vector | None,
    names: tuple[str, ...],
    tables: Tables,
) -> bool:
    """Whether two texts are near-identical in order, without a cue.

    `names` are those of their owner, `tables` those of the policy.
    """
    return passes(reading_of(one, its, names, tables), reading_of(other, others, names, tables))


def _covers(one: Vector | None, other: Vector | None, floor: float) -> bool:
    """Whether each window of either text has a counterpart in the other."""
    if one is None or other is None or not (one.truncated or other.truncated):
        return True
    a, b = (_units(vector) for vector in (one, other))
    scores = np.einsum("ik,jk->ij", a, b).round(DECIMALS)
    return bool(min(scores.max(axis=0).min(), scores.max(axis=1).min()) >= floor)


def _units(vector: Vector) -> NDArray[np.float64]:
    windows = decoded(vector.each(), vector.dimension).astype(np.float64)
    units: NDArray[np.float64] = windows / np.linalg.norm(windows, axis=1, keepdims=True)
    return units


def cosine(one: Vector | None, other: Vector | None) -> float | None:
    """The cosine of two texts; None if one has no vector or only zeros, or their lengths differ."""
    if one is None or other is None or one.dimension != other.dimension:
        return None
    a, b = decoded((one, other), one.dimension).astype(np.float32)
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return round(float(a @ b) / norms, DECIMALS) if norms else None
