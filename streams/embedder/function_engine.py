"""An engine around a function that embeds texts: the caller's own, or a service's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.policy import Policy
from palimpsest.streams.embedder.contract import Embedding, Engine, ModelUnusable

EmbedFunction = Callable[[list[str]], ArrayLike]
"""Embeds texts; returns one row of numbers for each, all of one length (texts, dimension)."""


class FunctionEngine:
    """Runs a function as a model; its vectors are normalised and rounded like any other's.

    If a text is longer than `characters`, the rest is embedded in windows of that length. The
    engine embeds a word when it is created, to learn the dimension. A function is assumed to send
    texts elsewhere, unless it has a true attribute `local`. Raises ModelUnusable if the function
    returns anything but vectors.
    """

    def __init__(
        self, embed: EmbedFunction, model: str, *, name: str = "function", characters: int = 8_000
    ) -> None:
        self.name, self.model = name, model
        self.is_remote = not getattr(embed, "local", False)
        self._function = embed
        self._characters = characters
        self.dimension = self._vectors(["word"]).shape[1]

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts, in their order; see `Engine`."""
        parts = [self._parts(text) for text in texts]
        rows = iter(self._vectors([part for some in parts for part in some], self.dimension))
        found = []
        for some in parts:
            first, *windows = islice(rows, len(some))
            stacked = np.stack(windows) if windows else None
            found.append(Embedding(first, bool(windows), (), windows=stacked))
        return found

    def _parts(self, text: str) -> list[str]:
        size = self._characters
        return [text[start : start + size] for start in range(0, len(text), size)] or [text]

    def _vectors(self, texts: list[str], dimension: int | None = None) -> NDArray[np.float16]:
        """The function's vectors, of unit length before they are rounded."""
        if not texts:
            return np.empty((0, dimension or 0), np.float16)
        returned = self._function(texts)
        try:
            rows = np.asarray(returned, np.float64)
        except (TypeError, ValueError):  # numpy's error quotes what was returned
            raise ModelUnusable(f"{self.model} returned no rows of numbers of one length") from None
        fits = rows.ndim == 2 and len(rows) == len(texts) and dimension in {None, rows.shape[1]}
        if not fits:
            raise ModelUnusable(
                f"{self.model} returned an array of shape {rows.shape} for"
                f" {counted(len(texts), 'text')}, not ({len(texts)}, {dimension or 'dimension'})"
            )
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths) & (lengths > 0)):
            raise ModelUnusable(f"{self.model} returned a vector of zeros, or with NaN or infinity")
        unit: NDArray[np.float16] = (rows / lengths).astype(np.float16)
        return unit


def require_local(engine: Engine, policy: Policy) -> None:
    """Raise UsageError if the policy keeps some texts local and the engine may send them elsewhere.

    It refuses all texts, because those few, left without vectors, would be compared with nothing.
    """
    if policy.local_only and isinstance(engine, FunctionEngine) and engine.is_remote:
        raise UsageError(
            "the policy keeps some texts local (`local_only`), and the embedder may send them"
            " elsewhere: set a model of this machine, a service at a private address, or a function"
            " whose attribute `local` is true"
        )
