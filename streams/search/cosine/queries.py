"""A batch of queries, prepared once for all rows."""

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.search.cosine.kernels import ZERO, widened
from palimpsest.streams.search.exact import squared_norms

LARGEST_CODE: Final = 63


class CoarseQueries:
    """Unit queries as codes; `residuals` (b,) are their distances from `(codes - 64) * steps`."""

    def __init__(self, unit: NDArray[np.float64]) -> None:
        largest = np.abs(unit).max(axis=1, initial=0.0)
        self.steps = np.where(largest > 0, largest, 1.0) / LARGEST_CODE
        whole = np.rint(unit / self.steps[:, None])
        self.codes = (whole + ZERO).astype(np.uint8)
        self.residuals = np.linalg.norm(unit - whole * self.steps[:, None], axis=1)


class Queries:
    """Queries of shape (b, d): wide for exact products, and of unit length for the scans.

    Raises ValueError as `squared_norms` does.
    """

    def __init__(self, queries: NDArray[np.float16], dimension: int) -> None:
        self.wide: NDArray[np.float64] = widened(queries).astype(np.float64)
        self.squared = squared_norms(queries, self.wide, dimension)

    def __len__(self) -> int:
        return len(self.wide)

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        """The queries divided by their lengths, with zero vectors unchanged; rounded."""
        return self._unit.astype(np.float32)

    @cached_property
    def coarse(self) -> CoarseQueries:
        """The unit queries as seven-bit codes."""
        return CoarseQueries(self._unit)

    @cached_property
    def _unit(self) -> NDArray[np.float64]:
        norms = np.sqrt(self.squared)[:, None]
        unit: NDArray[np.float64] = np.divide(
            self.wide, norms, out=np.zeros_like(self.wide), where=norms > 0
        )
        return unit
