"""The interface of an engine and its embeddings (docs/design.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.errors import ModelError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The model that the policy `standard` is calibrated for."""

INT8_MODEL = "all-MiniLM-L6-v2-int8"
"""The same weights as eight-bit integers. They give other vectors, so this is a model of its own.
The policy `standard-int8` is calibrated for it."""

Progress = Callable[[str, float | None], None]
"""Receives a description of the work, and the share done (0-1; None if unknown)."""


def ignore_progress(_what: str, _share: float | None) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedding of one text, as recorded in the log.

    `vector` has the shape (dimension,); it is L2-normalised, then rounded to float16. `truncated`
    says that the vector covers only the first tokens of the text (256 for all-MiniLM-L6-v2);
    `windows`, of shape (windows, dimension), then has the vectors of the rest. `unknown` has the
    distinct words that the model cannot tell apart, casefolded, in order of appearance: the model
    reads all of them as the same token, so texts that differ only there get the same vector.
    `origin` is recorded as the engine's name if the vector came from elsewhere.
    """

    vector: NDArray[np.float16]
    truncated: bool
    unknown: tuple[str, ...]
    origin: str | None = None
    windows: NDArray[np.float16] | None = None


@runtime_checkable
class Engine(Protocol):
    """Runs one model, on several threads if need be.

    The vector of a text never depends on the texts beside it.
    """

    @property
    def name(self) -> str:
        """The recorded name of the engine, such as `onnx` or `openai`."""

    @property
    def model(self) -> str:
        """The recorded name of the model; vectors of different models are never compared."""

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts; the result is in their order and independent of internal batches."""


class ModelNotFound(ModelError):
    """The model's files are not on this machine and cannot be downloaded."""


class ModelUnusable(ModelError):
    """The model is there, but the engine cannot run it, or would compute wrong vectors."""


class ServiceUnavailable(ModelError):
    """The model may be back soon: its service does not answer, or it has just failed.

    An answer without embeddings counts as no answer.
    """


class EngineMissing(ModelUnusable):
    """The engine needs an extra that is not installed, or is `none`."""
