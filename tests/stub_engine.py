"""An engine that needs no model: texts with the same words are near, and nothing is learned."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.embedder import DEFAULT_MODEL, INT8_MODEL, Embedding, ModelUnusable
from palimpsest.streams.embedder.tokens import Tokens

DIMENSION = 384
LONGEST = 64
"""Words that the engine sees of a text; the rest is in windows of a quarter as many."""
NO_TOKEN = ("🍕", "🍣")
"""Words that the engine cannot read, as the real model cannot."""
UNPLUGGED = "unplugged"
"""The first time that a process embeds a text with this word, the engine is down."""
_plugged: set[str] = set()


class StubEngine:
    """A bag of hashed words as a unit vector; it says that it is the default model.

    The cosine of two texts is the share of words that they have in common, so tests can tell
    from a text alone in which zone of a policy it falls.
    """

    name = "stub"
    model = DEFAULT_MODEL
    dimension = DIMENSION

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts; what was asked for is kept in `embedded`."""
        if down := {text for text in texts if UNPLUGGED in text} - _plugged:
            _plugged.update(down)
            raise ModelUnusable("the stub engine is unplugged")
        self.embedded += texts
        return [_embedding(text) for text in texts]

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """What the model would be told of the texts."""
        return [
            Tokens([], bool(windows := windows_of(text)), _unknown(text), windows) for text in texts
        ]


class BeforeWindows(StubEngine):
    """The engine as it was when it embedded the beginning of a long text alone."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [replace(one, windows=None) for one in super().embed(texts)]


class OtherStub(StubEngine):
    """Another model: it sees the first letters of words, in fewer numbers."""

    name, model, dimension = "other stub", "other", 32

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """As the stub, of texts whose words are cut, with shorter vectors."""
        return [_shortened(_embedding(initials_of(text))) for text in texts]


class Int8Stub(StubEngine):
    """The same under the name of the model in integers of eight bits."""

    model = INT8_MODEL


def initials_of(text: str) -> str:
    """The first three letters of each word."""
    return " ".join(word[:3] for word in text.split()) or text


def _shortened(one: Embedding) -> Embedding:
    windows = None if one.windows is None else np.stack([*map(shortened, one.windows)])
    return replace(one, vector=shortened(one.vector), windows=windows)


def shortened(vector: NDArray[np.float16]) -> NDArray[np.float16]:
    """A vector added up to the other model's dimension, of unit length before it is rounded."""
    numbers = vector.astype(np.float32).reshape(-1, OtherStub.dimension).sum(axis=0)
    unit: NDArray[np.float16] = (numbers / np.linalg.norm(numbers)).astype(np.float16)
    return unit


def _embedding(text: str) -> Embedding:
    windows = windows_of(text)
    return Embedding(
        vector_of(" ".join(text.split()[:LONGEST]) if windows else text),
        truncated=bool(windows),
        unknown=_unknown(text),
        windows=np.stack([vector_of(window) for window in windows]) if windows else None,
    )


def windows_of(text: str) -> tuple[str, ...]:
    """The text after its first words, in parts that overlap by a quarter."""
    words, size = text.split(), LONGEST // 4
    starts = range(LONGEST - size // 4, len(words) - size // 4, size - size // 4)
    return tuple(" ".join(words[start : start + size]) for start in starts)


def _unknown(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split() if word in NO_TOKEN)


def vector_of(text: str) -> NDArray[np.float16]:
    """The vector of a text, of unit length before it is rounded."""
    vector = np.zeros(DIMENSION, np.float32)
    for word in text.casefold().split() or [text]:
        digest = hashlib.sha256(word.encode()).digest()
        vector[int.from_bytes(digest[:4], "little") % DIMENSION] += 1.0
    return (vector / np.linalg.norm(vector)).astype(np.float16)


def load_stub(model: str = DEFAULT_MODEL, *_args: Any, **_kwargs: Any) -> StubEngine:
    """Stands in for `streams.embedder.load_engine`: the default model, or one of those above."""
    others = {other.model: other for other in (OtherStub, Int8Stub)}
    return others.get(model, StubEngine)()
