"""The exact cosine of float16 vectors.

A float16 is a multiple of 2**-24, so a product of two is a multiple of 2**-48. While |a||b| < 32 no
partial sum, in whatever order, reaches 2**5 (Cauchy-Schwarz on its terms). So it has at most 53
bits, which a float64 holds without rounding. Dot products and squared norms are exact, and
`dot / sqrt(|a|^2 |b|^2)` is three correctly rounded operations on exact numbers: the same bits for
every batch, order of the dimensions, BLAS and machine.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.search.hits import DECIMALS

LARGEST_SQUARED_NORM: Final = 32.0
"""Below it a float64 sum of float16 products is exact. Embeddings are of unit length."""


def squared_norm(vector: NDArray[np.float16], dimension: int) -> float:
    """The exact squared norm of one vector of shape (dimension,).

    Raises ValueError if it is not float16 of that shape, not finite, or not below 32.
    """
    if vector.dtype != np.float16 or vector.shape != (dimension,):
        raise ValueError(f"need float16 ({dimension},), got {vector.dtype} {vector.shape}")
    wide = vector.astype(np.float64)
    squared = float(wide @ wide)
    if not squared < LARGEST_SQUARED_NORM:
        raise ValueError(f"squared norm {squared} is not below {LARGEST_SQUARED_NORM}")
    return squared


@dataclass(frozen=True, slots=True, eq=False)
class SearchVector:
    """A recorded vector, with values for searching that are computed once.

    Both arrays have shape (dimension,); `squared` is the exact squared norm, `norm` its root.
    """

    recorded: NDArray[np.float16]
    single: NDArray[np.float32]
    squared: float
    norm: float

    @classmethod
    def of(cls, vector: NDArray[np.float16]) -> Self:
        """Prepare a vector (dimension,). Raises ValueError like `squared_norm`."""
        squared = squared_norm(vector, len(vector))
        return cls(vector, vector.astype(np.float32), squared, sqrt(squared))


def squared_norms(
    vectors: NDArray[np.float16], wide: NDArray[np.float64], dimension: int
) -> NDArray[np.float64]:
    """The exact squared norms (b,) of vectors (b, dimension); `wide` are the vectors as float64.

    Raises ValueError like `squared_norm`.
    """
    if vectors.dtype != np.float16 or vectors.shape[1:] != (dimension,):
        raise ValueError(f"need float16 (b, {dimension}), got {vectors.dtype} {vectors.shape}")
    squared: NDArray[np.float64] = np.einsum("ij,ij->i", wide, wide)
    if not (squared < LARGEST_SQUARED_NORM).all():
        raise ValueError(f"a squared norm of {squared.max()} is not below {LARGEST_SQUARED_NORM}")
    return squared


def cosine(a: NDArray[np.float16], b: NDArray[np.float16]) -> float:
    """The exact cosine of two float16 vectors, rounded to four decimals; 0.0 if one is zero.

    Raises ValueError like `squared_norm`.
    """
    squared = np.array([squared_norm(a, len(a)) * squared_norm(b, len(a))])
    dot = np.array([a.astype(np.float64) @ b.astype(np.float64)])
    return round(float(cosines(dot, squared)[0]), DECIMALS)


def cosines(dots: NDArray[np.float64], squared: NDArray[np.float64]) -> NDArray[np.float64]:
    """Dot products divided by the roots of products of squared norms; 0.0 if one is zero."""
    norms = np.sqrt(squared)
    return np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)


def covered(some: NDArray[np.float16], others: NDArray[np.float16]) -> float:
    """Match each vector of both sets with its nearest in the other set; return the lowest cosine.

    The sets have shape (n, dimension). The cosine is exact, and rounded to four decimals. Raises
    ValueError like `squared_norm`.
    """
    dimension = some.shape[1]
    a, b = some.astype(np.float64), others.astype(np.float64)
    mine, theirs = squared_norms(some, a, dimension), squared_norms(others, b, dimension)
    scores = cosines(a @ b.T, np.outer(mine, theirs))
    return round(float(min(scores.max(axis=0).min(), scores.max(axis=1).min())), DECIMALS)
