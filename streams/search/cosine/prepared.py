"""Prepares recorded vectors for searching, and caches them, because two windows use each."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Iterable
from typing import Final

import numpy as np

from palimpsest.streams.search.cosine.kernels import widened
from palimpsest.streams.search.exact import LARGEST_SQUARED_NORM, SearchVector

MOST: Final = 1024
"""The vectors of two windows: first they are queries, then they become rows."""


class SearchVectors:
    """Prepares recorded vectors (float16 in base64) for searching, and caches the latest."""

    def __init__(self) -> None:
        self._latest: dict[str, SearchVector] = {}

    def of(self, data: str) -> SearchVector:
        """One vector. Raises ValueError if it cannot be searched."""
        found = self._latest.get(data)
        if found is None:
            found = SearchVector.of(np.frombuffer(a2b_base64(data), dtype="<f2"))
            self._remember({data: found})
        return found

    def kept(self, data: str) -> SearchVector | None:
        """One vector, if it was prepared lately."""
        return self._latest.get(data)

    def prepare(self, many: Iterable[str]) -> None:
        """Prepare many vectors together, in a third of the time. Invalid ones are left out."""
        new = [data for data in many if data not in self._latest]
        if len({len(data) for data in new}) != 1:
            return  # none, or of several dimensions: `of` prepares each on its own
        recorded = np.frombuffer(b"".join(map(a2b_base64, new)), dtype="<f2")
        recorded = recorded.reshape(len(new), -1)
        single = widened(recorded)
        squared = np.vecdot(*[single.astype(np.float64)] * 2)
        norms = np.sqrt(squared).tolist()
        each = zip(new, recorded, single, squared.tolist(), norms, strict=True)
        self._remember(
            {
                data: SearchVector(numbers, wide, square, norm)
                for data, numbers, wide, square, norm in each
                if square < LARGEST_SQUARED_NORM
            }
        )

    def _remember(self, found: dict[str, SearchVector]) -> None:
        if len(self._latest) + len(found) > 2 * MOST:
            self._latest = dict([*self._latest.items()][-MOST:])
        self._latest |= found
