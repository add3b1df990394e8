"""What an engine is and what it gives, as the rest of the pipeline knows it (docs/design.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.errors import ModelError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The model that the policy `standard` is calibrated for."""

Progress = Callable[[str, float | None], None]
"""Told what is being done, and which share of it is done (0-1; None where that is not known)."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """What a model makes of one text, as it is recorded in the log.

    `vector` is L2-normalised, then rounded to float16, of shape (dimension,). `truncated` says
    that in it the model saw only the first tokens of the text (256 of all-MiniLM-L6-v2); `windows`,
    of shape (windows, dimension), are then the vectors of the rest. `unknown` holds
    the distinct words that the model cannot tell apart, casefolded, in order of appearance: to the
    model all of them are one token, so texts that differ only there get the same vector. `origin`
    is recorded as the engine's name where the vector is of another one.
    """

    vector: NDArray[np.float16]
    truncated: bool
    unknown: tuple[str, ...]
    origin: str | None = None
    windows: NDArray[np.float16] | None = None


class Engine(Protocol):
    """Runs one model. The vector of a text never depends on the texts beside it.

    May be used by several threads at once.
    """

    @property
    def name(self) -> str:
        """The engine's name as it is recorded: `onnx` or `sentence-transformers`."""

    @property
    def model(self) -> str:
        """The model's name as it is recorded; vectors of two models are never compared."""

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts; the result is in their order, whatever batches are made inside."""


class ModelNotFound(ModelError):
    """The model's files are not on this machine and cannot be fetched."""


class ModelUnusable(ModelError):
    """The model's files are there, but this engine would not give the model's own vectors."""


class EngineMissing(ModelError):
    """The engine needs an extra that is not installed."""
