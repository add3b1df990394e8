"""The ONNX graph of a model's folder: the exported one, or one built from the weights and kept.

A kept graph is named by the hash of the weights, of how it is built, and of its own bytes:
`<weights>.<version>.<content>.onnx`. So it is found without a second file, appears by one rename,
and whatever is damaged does not carry its own name any more and is built again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load_file

from palimpsest.streams.embedder.bert_graph import GRAPH_VERSION, BertShape, build_bert_graph
from palimpsest.streams.embedder.contract import ModelUnusable, Progress
from palimpsest.streams.embedder.model_folder import ModelFolder


def default_cache_dir() -> Path:
    """Where built graphs are kept: $XDG_CACHE_HOME/palimpsest, by default ~/.cache/palimpsest."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palimpsest"


def graph_of(folder: ModelFolder, cache_dir: Path, progress: Progress) -> Path | bytes:
    """The graph's file, or its bytes where the cache cannot be written.

    Raises ModelUnusable where the folder has neither a graph nor weights that one is built from.
    """
    if folder.exported.is_file():
        return folder.exported
    if not folder.weights.is_file():
        raise ModelUnusable(f"{folder.name}: neither onnx/model.onnx nor model.safetensors")
    key = f"{_digest(folder.weights)}.{GRAPH_VERSION}"
    return _kept(cache_dir, key) or _build(folder, cache_dir, key, progress)


def _kept(cache_dir: Path, key: str) -> Path | None:
    for path in cache_dir.glob(f"{key}.*.onnx"):
        if path.name == f"{key}.{_digest(path)}.onnx":
            return path
        path.unlink(missing_ok=True)
    return None


def _build(folder: ModelFolder, cache_dir: Path, key: str, progress: Progress) -> Path | bytes:
    progress(f"building the graph of {folder.name} from its weights, once", None)
    shape = BertShape.read(folder.config)
    try:
        weights = load_file(folder.weights)
    except SafetensorError as error:
        raise ModelUnusable(f"{folder.weights} cannot be read: {error}") from error
    graph: bytes = build_bert_graph(weights, shape).SerializeToString()
    try:
        return _keep(graph, cache_dir, key)
    except OSError as error:
        progress(f"the graph cannot be kept in {cache_dir} ({error}); it is built at each start", 1)
        return graph


def _keep(graph: bytes, cache_dir: Path, key: str) -> Path:
    cache_dir.mkdir(parents=True, exist_ok=True)
    path = cache_dir / f"{key}.{hashlib.sha256(graph).hexdigest()[:16]}.onnx"
    with tempfile.NamedTemporaryFile(dir=cache_dir, suffix=".part", delete=False) as file:
        part = Path(file.name)
        try:
            file.write(graph)
            file.flush()
            part.replace(path)
        except BaseException:
            part.unlink()
            raise
    return path


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
