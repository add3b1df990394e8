"""A model's weights by name, in the form that graphs are built from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
"""Number of weights of a row that share a scale, in a four-bit matrix."""


@dataclass(frozen=True, slots=True)
class FourBits:
    """A matrix with four bits per weight: a weight is (code - 8) times the scale of its block.

    `codes` are uint8 of shape (rows, columns), and `scales` float32 of (rows, columns / BLOCK).
    """

    codes: NDArray[np.uint8]
    scales: NDArray[np.float32]

    def packed(self) -> NDArray[np.uint8]:
        """Two codes per byte, the first in the lower half: (rows, columns / 2)."""
        return self.codes[:, ::2] | self.codes[:, 1::2] * np.uint8(16)

    def widened(self) -> NDArray[np.float32]:
        """The weights, of shape (rows, columns)."""
        return (self.codes.astype(np.float32) - 8) * self.scales.repeat(BLOCK, axis=1)


Weights = Mapping[str, NDArray[Any] | FourBits]
"""Weights by the names that they have in a Hugging Face BERT."""
