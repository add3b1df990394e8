"""An engine that costs next to nothing, so that the rest of the time is the pipeline's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.identity import digest
from palimpsest.streams.embedder import DEFAULT_MODEL, Embedding


class StubEngine:
    """Unit vectors of hashed bags of words: texts that share words are near each other.

    It has the default model's name, because the policy `standard` has thresholds for that.
    """

    name = "stub"
    model = DEFAULT_MODEL
    dimension = 384

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._words: NDArray[np.float32] = np.empty((256, self.dimension), np.float32)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts; the same text gives the same vector in every process."""
        bags = [[*map(self._row, text.casefold().split() or [""])] for text in texts]
        starts = np.cumsum([0, *(len(bag) for bag in bags[:-1])])
        rows = np.array([row for bag in bags for row in bag])
        sums = np.add.reduceat(self._words[rows], starts, axis=0)
        units = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return [Embedding(unit, False, ()) for unit in units.astype(np.float16)]

    def _row(self, word: str) -> int:
        row = self._rows.get(word)
        if row is None:
            row = self._rows[word] = len(self._rows)
            if row == len(self._words):
                self._words = np.concatenate([self._words, np.empty_like(self._words)])
            seed = int(digest(word.encode())[:16], 16)
            self._words[row] = np.random.default_rng(seed).standard_normal(self.dimension)
        return row
