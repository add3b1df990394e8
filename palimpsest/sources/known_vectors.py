"""Reuses a source's vectors, if samples show that the same model made them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from palimpsest.sources.mapping import Array
from palimpsest.streams.embedder import Embedding, Engine
from palimpsest.streams.embedder.tokens import Tokens

TRIED = 20
"""Number of rows that are embedded again before a source's vectors are trusted."""
AGREE = 0.999
"""Minimum cosine between a vector and its recomputation; smaller differences are rounding."""
WAITING = 16_384
"""Vectors kept for texts on their way to the writer; texts beyond it are embedded."""
ORIGIN = "import"
"""The recorded engine of a vector that came from a source."""


@runtime_checkable
class TokenisingEngine(Engine, Protocol):
    """An engine that can tokenise texts without embedding them."""

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """The texts as the model reads them."""


class KnownVectors:
    """An engine that embeds only long texts, and those whose vector it was not told to `expect`."""

    def __init__(self, engine: TokenisingEngine) -> None:
        self._engine = engine
        self.name, self.model, self.dimension = engine.name, engine.model, engine.dimension
        self._waiting: OrderedDict[str, Array] = OrderedDict()
        self._lock = Lock()

    def expect(self, text: str, vector: Array) -> None:
        """Keep a text's vector, if it has the right length, for when the text is embedded."""
        if len(vector) != self.dimension:
            return
        with self._lock:
            self._waiting[text] = vector
            while len(self._waiting) > WAITING:
                self._waiting.popitem(last=False)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts, in order; see `Engine`."""
        with self._lock:
            known = {text: self._waiting[text] for text in texts if text in self._waiting}
        read = dict(zip(known, self._engine.read([*known]), strict=True))
        for text in [text for text, tokens in read.items() if tokens.truncated]:
            del known[text], read[text]  # the source has one vector for it, without windows
        new = [text for text in dict.fromkeys(texts) if text not in known]
        made = dict(zip(new, self._engine.embed(new) if new else (), strict=True))
        for (text, tokens), vector in zip(read.items(), _of_unit_length(known), strict=True):
            made[text] = Embedding(vector, tokens.truncated, tokens.unknown, ORIGIN)
        return [made[text] for text in texts]


def _of_unit_length(known: Mapping[str, Array]) -> NDArray[np.float16]:
    """The vectors of some texts as recorded, (texts, dimension)."""
    if not known:
        return np.empty((0, 0), np.float16)
    vectors = np.stack([*known.values()])
    lengths: Array = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / lengths).astype(np.float16)


def lowest_agreement(engine: Engine, samples: Sequence[tuple[str, Array]]) -> float:
    """The lowest cosine between given vectors and the engine's vectors of the same texts.

    -1 if there are none, or if their lengths differ.
    """
    made = engine.embed([text for text, _ in samples])
    return min(
        (
            _cosine(embedding.vector.astype(np.float32), given)
            for embedding, (_, given) in zip(made, samples, strict=True)
        ),
        default=-1.0,
    )


def _cosine(a: Array, b: Array) -> float:
    if a.shape != b.shape:
        return -1.0
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
