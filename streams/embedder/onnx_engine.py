"""The engine `onnx`: ONNX Runtime on the processor, in full precision.

Batches hold texts of nearly the same number of tokens, and about the same number of tokens each.
Every batch runs on one thread of its own, several beside each other: that is faster than all
threads on one batch, and leaves no thread spinning while other Python threads want the processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from streams.embedder.contract import Embedding, ModelUnusable
from streams.embedder.model_folder import ModelFolder
from streams.embedder.tokens import Reader, Tokens

Vectors = NDArray[np.float32]

TOKENS_PER_BATCH = 1024
"""Padding included."""


class OnnxEngine:
    """Embeds texts with ONNX Runtime; safe to be used by several threads."""

    name = "onnx"

    def __init__(self, folder: ModelFolder, graph: Path | bytes, threads: int) -> None:
        """Load the graph; raise ModelUnusable where ONNX Runtime does not take it."""
        self.model = folder.name
        self._reader = Reader(folder)
        self._session = _session(folder.name, graph)
        self._inputs = {put.name for put in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0]
        self.dimension = int(self._output.shape[-1])
        self._workers = ThreadPoolExecutor(threads, thread_name_prefix="embedder")

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts, in their order; see `Engine`."""
        read = self._reader.read(texts)
        rows = self._run(read).astype(np.float16)
        return [
            Embedding(row, tokens.truncated, tokens.unknown)
            for row, tokens in zip(rows, read, strict=True)
        ]

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """The vectors before they are rounded, of shape (texts, dimension): to compare engines."""
        return self._run(self._reader.read(texts))

    def _run(self, read: Sequence[Tokens]) -> Vectors:
        rows = np.empty((len(read), self.dimension), dtype=np.float32)
        batches = list(batches_by_length(read))
        results = self._workers.map(
            self._run_batch, ([read[i] for i in batch] for batch in batches)
        )
        for batch, result in zip(batches, results, strict=True):
            rows[batch] = result
        return rows

    def _run_batch(self, batch: Sequence[Tokens]) -> Vectors:
        ids, mask = padded(batch)
        if self._output.name == "vectors":
            return self._session.run(None, {"ids": ids, "mask": mask})[0]
        raise NotImplementedError


def batches_by_length(read: Sequence[Tokens]) -> Iterator[list[int]]:
    """Group the indices of texts, longest first, so that no batch exceeds TOKENS_PER_BATCH."""
    order = sorted(range(len(read)), key=lambda i: -len(read[i].ids))
    while order:
        size = max(1, TOKENS_PER_BATCH // len(read[order[0]].ids))
        yield order[:size]
        order = order[size:]


def padded(batch: Sequence[Tokens]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Token ids, padded with 0 on the right, and the mask: 1 where there is a token."""
    shape = len(batch), max(len(tokens.ids) for tokens in batch)
    ids, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens.ids)] = tokens.ids
        mask[row, : len(tokens.ids)] = 1
    return ids, mask


def _session(name: str, graph: Path | bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    source = graph if isinstance(graph, bytes) else str(graph)
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common base but Exception
        raise ModelUnusable(f"{name}: ONNX Runtime does not load its graph: {error}") from error
