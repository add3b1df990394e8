"""The ONNX graph of a model: the exported one, or one built from the weights and cached.

A cached graph is two files. The weights are named by the hash of the model's weights, the version
of the graph, and the hash of their own bytes: `<model>.<version>.<content>.weights`. The graph that
refers to them, `<model>.<version>.<weights>.<content>.onnx`, appears last, by one rename. So the
names alone say which files belong together, and a damaged file does not match its own name: then
both are built again.
ONNX Runtime maps separate weights into memory, where all processes of a machine share them, whereas
it would copy weights inside a graph.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from palimpsest.streams.embedder.contract import ModelUnusable, Progress
from palimpsest.streams.embedder.formats.model_files import ModelFiles
from palimpsest.streams.embedder.notes import DIGITS, Notes, write_whole
from palimpsest.streams.embedder.onnx.bert_graph import BertGraph, BertShape
from palimpsest.streams.embedder.onnx.int8_graph import Int8Graph
from palimpsest.streams.onnx_model import OnnxModel

GRAPH_VERSION = 3
"""Part of a cached graph's name: raise it whenever the same weights give another graph."""
INT8_GRAPH_VERSION = 1
"""Like `GRAPH_VERSION`, for graphs in integers."""

APART = 1024
"""Constants of more than this number of bytes are stored with the weights, outside the graph."""


def default_cache_dir() -> Path:
    """The folder of built graphs: $XDG_CACHE_HOME/palimpsest, or ~/.cache/palimpsest."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palimpsest"


def graph_of(model: ModelFiles, cache_dir: Path, progress: Progress) -> Path | bytes:
    """The graph's file, or its bytes if the cache cannot be written.

    Raises ModelUnusable if the model has neither a graph nor usable weights.
    """
    if model.exported is not None and not model.int8:
        return model.exported
    if not model.weights.is_file():
        raise ModelUnusable(f"{model.name}: neither onnx/model.onnx nor model.safetensors")
    notes = Notes(cache_dir)
    version = f"int8-{INT8_GRAPH_VERSION}" if model.int8 else GRAPH_VERSION
    key = f"{notes.digest_of(model.weights)}.{version}"
    return _kept(cache_dir, key, notes) or _build(model, cache_dir, key, progress)


def _kept(cache_dir: Path, key: str, notes: Notes) -> Path | None:
    for graph in cache_dir.glob(f"{key}.*.onnx"):
        of_weights, of_graph = graph.name.split(".")[-3:-1]
        weights = cache_dir / f"{key}.{of_weights}.weights"
        named = {weights: of_weights, graph: of_graph}
        if all(file.is_file() and notes.digest_of(file) == name for file, name in named.items()):
            return graph
        for file in named:
            file.unlink(missing_ok=True)
    return None


def _build(model: ModelFiles, cache_dir: Path, key: str, progress: Progress) -> Path | bytes:
    progress(f"building the graph of {model.name} from its weights, once", None)
    build = Int8Graph if model.int8 else BertGraph
    graph = build(model.read_weights(), BertShape.read(model.config)).build()
    try:
        return _keep(graph, cache_dir, key)
    except OSError as error:
        progress(f"the graph cannot be kept in {cache_dir} ({error}); it is built at each start", 1)
        return graph.encode()


def _keep(graph: OnnxModel, cache_dir: Path, key: str) -> Path:
    """Write the weights, then the graph without them."""
    large = [tensor for tensor in graph.tensors if len(tensor.data) > APART]
    of_weights = _digest(tensor.data for tensor in large)
    weights = cache_dir / f"{key}.{of_weights}.weights"
    write_whole(weights, (tensor.data for tensor in large))
    written = graph.encode(weights.name, large)
    path = cache_dir / f"{key}.{of_weights}.{_digest([written])}.onnx"
    write_whole(path, [written])
    return path


def _digest(parts: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:DIGITS]
