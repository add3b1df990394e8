"""The interface of a model's files for engines, whatever the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from tokenizers import Tokenizer

from palimpsest.streams.embedder.formats.weights import Weights


class ModelFiles(Protocol):
    """A model on this machine. Methods raise ModelUnusable for a damaged file."""

    @property
    def name(self) -> str:
        """The name that the log records."""

    @property
    def max_length(self) -> int:
        """The maximum number of tokens of its input."""

    @property
    def config(self) -> dict[str, Any]:
        """The shape of the transformer, as in a Hugging Face config.json."""

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""

    @property
    def unknown(self) -> str:
        """The token for anything that its vocabulary lacks."""

    @property
    def int8(self) -> bool:
        """Whether its weights are run as eight-bit integers."""

    @property
    def exported(self) -> Path | None:
        """An ONNX graph that came with it."""

    @property
    def weights(self) -> Path:
        """The file of its weights; a graph is built from it if none came with the model."""

    def read_tokenizer(self) -> Tokenizer:
        """Its tokenizer, which adds the special tokens that the model expects around a text."""

    def read_weights(self) -> Weights:
        """Its weights."""
