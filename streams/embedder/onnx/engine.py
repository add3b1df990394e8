"""The engine `onnx`: ONNX Runtime on the processor, in full precision or eight-bit integers.

Each batch runs on one thread, and several batches run in parallel: that is faster than all threads
on one batch, and leaves no thread spinning while other Python threads need the processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from palimpsest.streams.embedder.contract import Embedding
from palimpsest.streams.embedder.formats.model_files import ModelFiles
from palimpsest.streams.embedder.onnx.batches import ENOUGH, batches_by_length, padded
from palimpsest.streams.embedder.onnx.graph_run import Vectors, open_graph
from palimpsest.streams.embedder.tokens import Tokeniser, Tokens, embeddings


class OnnxEngine:
    """Embeds texts with ONNX Runtime; may be used by several threads."""

    name = "onnx"

    def __init__(self, model: ModelFiles, graph: Path | bytes, threads: int) -> None:
        """Open the graph; `threads` batches run at the same time. Raises ModelUnusable."""
        self.model = model.name
        self.dimension = model.dimension
        # Rows of integers are rounded, and padding would influence that.
        self._enough = 0 if model.int8 else ENOUGH
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="onnx")
        opened = self._threads.submit(open_graph, model.name, graph)
        self._reader = Tokeniser(model.read_tokenizer(), model.max_length, model.unknown)
        self._graph = opened.result()

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts, in their order; see `Engine`."""
        read = self._reader.read(texts)
        windows = self._reader.read([window for tokens in read for window in tokens.windows])
        return embeddings(read, self._run([*read, *windows]).astype(np.float16))

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise the texts without embedding them."""
        return self._reader.read(texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """The vectors before rounding, of shape (texts, dimension), to compare engines."""
        return self._run(self._reader.read(texts))

    def _run(self, read: Sequence[Tokens]) -> Vectors:
        lengths = [len(tokens.ids) for tokens in read]
        batches = batches_by_length(lengths, self._enough)
        inputs = [padded([read[text].ids for text in batch]) for batch in batches]
        rows = np.empty((len(read), self.dimension), dtype=np.float32)
        if len(inputs) == 1:  # a single batch does not wait for others' batches
            return self._graph.run(*inputs[0])[np.argsort(batches[0])]
        results = self._threads.map(lambda both: self._graph.run(*both), inputs)
        for batch, result in zip(batches, results, strict=True):
            rows[batch] = result
        return rows
