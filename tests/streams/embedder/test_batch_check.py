"""An engine whose vectors depend on the batch is refused before it embeds anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from palimpsest.streams.embedder import Embedding, ModelUnusable
from palimpsest.streams.embedder.batch_check import TOLERANCE, refuse_if_batch_dependent


class Swayed:
    """An engine whose vectors change by `sway` where other texts are beside."""

    name = "swayed"
    model = "test"
    dimension = 4

    def __init__(self, sway: float) -> None:
        self.sway = sway

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [Embedding(row.astype(np.float16), False, ()) for row in self.vectors(texts)]

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.full((len(texts), self.dimension), 0.5, np.float32)
        return rows if len(texts) == 1 else rows + np.float32(self.sway)


@pytest.mark.parametrize("sway", [0.0, TOLERANCE / 2])
def test_what_rounding_makes_is_taken(sway: float) -> None:
    refuse_if_batch_dependent(Swayed(sway))


@pytest.mark.parametrize("sway", [TOLERANCE * 2, -0.02, float("nan")])
def test_more_is_refused(sway: float) -> None:
    with pytest.raises(ModelUnusable, match="texts beside it"):
        refuse_if_batch_dependent(Swayed(sway))
