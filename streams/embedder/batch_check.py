"""The check that an engine's vectors do not depend on the batch (docs/design.md, Embedding).

Dynamic quantisation scales by the contents of the batch, so a text's vector, and with it a
decision, would depend on timing. Such an engine is refused before it embeds anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.embedder.contract import Engine, ModelUnusable

TOLERANCE = 1e-4
"""Maximum difference of a component between a text's vectors alone and in a batch, unrounded."""

_SENTENCES = (
    "She lives in Berlin.",
    "The deploy to production failed twice because the token of the registry had expired.",
    "tea",
    "He said that nothing at all had changed since the third of March, 2021!",
    (
        "Prefers window seats, vegetarian meals and hotels that are close to the station, whenever "
        "the company pays for them; otherwise the night train, with 3 changes at most."
    ),
    "1 000 000 %$",
)


class Measurable(Engine, Protocol):
    """An engine that also returns its vectors before rounding."""

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Float32 vectors of shape (texts, dimension), in the order of the texts."""


def refuse_if_batch_dependent(engine: Measurable) -> None:
    """Embed a few sentences alone and in a batch; raise ModelUnusable if their vectors differ."""
    together = engine.vectors(_SENTENCES)
    alone = np.concatenate([engine.vectors([sentence]) for sentence in _SENTENCES])
    difference = float(np.abs(together - alone).max())
    if not difference <= TOLERANCE:  # written so that NaN is refused, too
        raise ModelUnusable(
            f"{engine.model} on {engine.name}: a text's vector changes by {difference:.1e} with "
            "the texts beside it (dynamic quantisation does that); use a model in full precision"
        )
