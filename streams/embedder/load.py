"""Loading an engine by name: from the model's files to something that embeds."""

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
from palimpsest.streams.embedder.graph_cache import default_cache_dir, graph_of
from palimpsest.streams.embedder.resolve import find_model


def load_engine(
    model: str = DEFAULT_MODEL,
    engine: str = "onnx",
    *,
    cache_dir: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Engine:
    """Load `model` (a folder, a model's name, or a hub name) into `engine`.

    `threads` is how many batches `onnx` runs beside each other, by default one on each usable core.
    `cache_dir` keeps the graphs that it built, by default $XDG_CACHE_HOME/palimpsest. Raises
    ModelNotFound, ModelUnusable or EngineMissing, each with what to do, and ValueError for an
    unknown engine. The engine `none` is always missing: where the policy continues without a model,
    only exact repeats are found.
    """
    tell = progress or _silent
    loaded = _load(model, engine, cache_dir or default_cache_dir(), threads or usable_cores(), tell)
    refuse_if_batch_dependent(loaded)
    return loaded


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _load(model: str, engine: str, cache_dir: Path, threads: int, tell: Progress) -> Measurable:
    match engine:
        case "onnx":
            from palimpsest.streams.embedder.onnx_engine import OnnxEngine

            folder = find_model(model, tell)
            return OnnxEngine(folder, graph_of(folder, cache_dir, tell), threads)
        case "sentence-transformers":
            from palimpsest.streams.embedder.sentence_transformers_engine import (
                SentenceTransformersEngine,
            )

            return SentenceTransformersEngine(model, tell)
        case "none":
            raise EngineMissing("the engine `none` embeds nothing: set another one")
        case _:
            raise ValueError(f"no engine {engine}: there are onnx, sentence-transformers and none")


def _silent(_message: str, _share: float | None) -> None:
    pass
