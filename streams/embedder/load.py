"""Loads an engine by name."""

from __future__ import annotations

import os
from pathlib import Path

from palimpsest.streams.embedder.batch_check import Measurable, refuse_if_batch_dependent
from palimpsest.streams.embedder.contract import (
    DEFAULT_MODEL,
    Engine,
    EngineMissing,
    Progress,
)
from palimpsest.streams.embedder.notes import Notes
from palimpsest.streams.embedder.onnx.graph_cache import default_cache_dir, graph_of
from palimpsest.streams.embedder.resolve import find_model
from palimpsest.streams.onnx import runtime


def load_engine(
    model: str = DEFAULT_MODEL,
    engine: str = "onnx",
    *,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> Engine:
    """Load `model` (a folder, a model's name, or a hub name) into `engine`.

    `cache_dir` is the folder for built graphs, by default that of `default_cache_dir`.
    Raises ModelNotFound, ModelUnusable or EngineMissing, each with advice, and ValueError for an
    unknown engine. The engine `none` always raises EngineMissing; if the policy continues without a
    model, only exact repeats and checks by words join.
    """
    return _load(model, engine, cache_dir or default_cache_dir(), progress or _silent)


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _load(model: str, engine: str, cache_dir: Path, tell: Progress) -> Measurable:
    match engine:
        case "onnx":
            from palimpsest.streams.embedder.onnx.engine import OnnxEngine

            files = find_model(model, tell)
            graph = graph_of(files, cache_dir, tell)
            loaded = OnnxEngine(files, graph, usable_cores())
            _check_once(loaded, graph, Notes(cache_dir))
            return loaded
        case "sentence-transformers":
            from palimpsest.streams.embedder.sentence_transformers_engine import (
                SentenceTransformersEngine,
            )

            other = SentenceTransformersEngine(model, tell)
            refuse_if_batch_dependent(other)
            return other
        case "none":
            raise EngineMissing("the engine `none` embeds nothing: set another one")
        case _:
            raise ValueError(f"no engine {engine}: there are onnx, sentence-transformers and none")


def _check_once(engine: Measurable, graph: Path | bytes, notes: Notes) -> None:
    """Check that vectors do not depend on the batch, unless this graph passed the check before."""
    if isinstance(graph, bytes):
        refuse_if_batch_dependent(engine)
        return
    where = f"{runtime().__version__} {os.uname().nodename}"
    if notes.read(graph, "batches") != where:
        refuse_if_batch_dependent(engine)
        notes.write(graph, "batches", where)


def _silent(_message: str, _share: float | None) -> None:
    pass
