"""The engine `sentence-transformers`: any of its models, on torch, on a GPU if available."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from palimpsest.contracts.extras import extra_message
from palimpsest.streams.embedder.contract import (
    INT8_MODEL,
    Embedding,
    EngineMissing,
    ModelNotFound,
    ModelUnusable,
    Progress,
)
from palimpsest.streams.embedder.resolve import MULTILINGUAL_MODEL, locate
from palimpsest.streams.embedder.tokens import Tokeniser, Tokens, embeddings


class SentenceTransformersEngine:
    """Embeds texts with sentence-transformers in full precision."""

    name = "sentence-transformers"

    def __init__(self, model: str, progress: Progress) -> None:
        """Load `model`. Raises EngineMissing, ModelNotFound or ModelUnusable."""
        self.model, folder = locate(model)
        if self.model in {INT8_MODEL, MULTILINGUAL_MODEL}:
            raise ModelUnusable(f"{self.model} is a graph of the engine onnx: set that engine")
        progress("starting sentence-transformers", None)
        # Half-precision weights are widened: every engine computes in the same precision.
        self._model = _load(str(folder or self.model)).float()
        self.dimension = int(self._model.get_embedding_dimension())
        self._reader = reader_of(self.model, self._model)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts, in their order; see `Engine`."""
        read = self._reader.read(texts)
        windows = [window for tokens in read for window in tokens.windows]
        return embeddings(read, self.vectors([*texts, *windows]).astype(np.float16))

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise the texts without embedding them."""
        return self._reader.read(texts)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors before rounding, of shape (texts, dimension), to compare engines."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        # The library sorts by length itself.
        rows: NDArray[np.float32] = self._model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False
        )
        return rows


def _load(model: str) -> Any:
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError as error:
        needs = extra_message("the engine sentence-transformers", "sentence-transformers")
        raise EngineMissing(f"{needs} (with torch, several gigabytes)") from error
    try:
        return library.SentenceTransformer(model)
    except OSError as error:
        raise ModelNotFound(
            f"{model} is not on this machine and cannot be fetched from the hub; connect once, or "
            "give the path of the model's folder"
        ) from error


def reader_of(name: str, model: Any) -> Tokeniser:
    """The reader of a loaded model's texts. Raises ModelUnusable without a fast tokenizer."""
    fast = getattr(model.tokenizer, "backend_tokenizer", None)
    if fast is None:
        raise ModelUnusable(
            f"{name} has no fast tokenizer, which finds the words that the model cannot tell apart"
        )
    # A copy: the reader's settings must not affect the model.
    copy = Tokenizer.from_str(fast.to_str())
    return Tokeniser(copy, int(model.max_seq_length), model.tokenizer.unk_token)
