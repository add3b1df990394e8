"""Runs an ONNX graph on the processor: token ids and mask in, normalised vectors out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.embedder.contract import ModelUnusable
from palimpsest.streams.onnx import runtime

Ids = NDArray[np.int32]
Vectors = NDArray[np.float32]

_HIDDEN_STATES = ("last_hidden_state", "token_embeddings")


class Graph(Protocol):
    """An opened graph, which several threads can run at the same time."""

    def run(self, ids: Ids, mask: Ids) -> Vectors:
        """Normalised vectors (texts, dimension) for `ids` and `mask`, both (texts, tokens)."""


def open_graph(name: str, source: Path | bytes) -> Graph:
    """Open a graph of `bert_graph`, or one of the hub's exports, which have no pooling.

    Raises ModelUnusable, with the model's name, if ONNX Runtime cannot load it, or it is
    neither.
    """
    session = _session(name, source)
    outputs = [output.name for output in session.get_outputs()]
    if outputs == ["vectors"]:
        return _Built(session)
    for output in _HIDDEN_STATES:
        if output in outputs:
            return _Exported(session, output)
    raise ModelUnusable(f"{name}: its graph gives {', '.join(outputs)}, not the tokens' states")


class _Built:
    """A graph that includes pooling and norm."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, ids: Ids, mask: Ids) -> Vectors:
        vectors: Vectors = self._session.run(None, {"ids": ids, "mask": mask})[0]
        return vectors


class _Exported:
    """A graph that outputs every token's state, like the hub's exports: it is pooled here."""

    def __init__(self, session: Any, output: str) -> None:
        self._session = session
        self._output = output
        self._inputs = {put.name for put in session.get_inputs()}

    def run(self, ids: Ids, mask: Ids) -> Vectors:
        wide = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {key: value.astype(np.int64) for key, value in wide.items() if key in self._inputs}
        states: Vectors = self._session.run([self._output], feed)[0]
        # The mean's divisor cancels out in the norm.
        total = (mask[:, np.newaxis, :].astype(np.float32) @ states)[:, 0, :]
        pooled: Vectors = total / np.linalg.norm(total, axis=1, keepdims=True)
        return pooled


def _session(name: str, source: Path | bytes) -> Any:
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(
            source if isinstance(source, bytes) else str(source),
            options,
            providers=["CPUExecutionProvider"],
            # The fused operator takes five times as long as its parts (docs/embedder.md).
            disabled_optimizers=["SkipLayerNormFusion", "BiasSkipLayerNormFusion"],
        )
    except Exception as error:  # its exceptions have no common base class
        raise ModelUnusable(f"{name}: ONNX Runtime does not load its graph: {error}") from error
