"""Reads a model's folder: its shape, its token limit, and its pooling.

The format is that of sentence-transformers (modules.json, 1_Pooling/config.json,
sentence_bert_config.json) around a Hugging Face transformer (config.json, tokenizer.json). Features
that the `onnx` engine lacks are refused, because a vector that the model's authors did not intend
looks like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import orjson
from tokenizers import Tokenizer

from palimpsest.streams.embedder.contract import ModelUnusable
from palimpsest.streams.embedder.formats.weights import Weights

_MODULES = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model in a folder; see `ModelFiles`. With `int8`, it is run in eight-bit integers."""

    name: str
    path: Path
    dimension: int
    max_length: int
    config: dict[str, Any]
    int8: bool = False

    unknown: ClassVar[str] = "[UNK]"

    @property
    def exported(self) -> Path | None:
        """The ONNX graph that the hub's repositories have, if it is there."""
        path = self.path / "onnx" / "model.onnx"
        return path if path.is_file() else None

    @property
    def weights(self) -> Path:
        """The file of the weights; a graph is built from it if there is no exported one."""
        return self.path / "model.safetensors"

    def read_tokenizer(self) -> Tokenizer:
        """The tokenizer that its file describes; ModelUnusable if it cannot be read."""
        file = self.path / "tokenizer.json"
        try:
            return Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises plain exceptions
            raise ModelUnusable(f"{file} cannot be read: {error}") from error

    def read_weights(self) -> Weights:
        """Every tensor in the weights; ModelUnusable if they cannot be read."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            return load_file(self.weights)
        except SafetensorError as error:
            raise ModelUnusable(f"{self.weights} cannot be read: {error}") from error


def read_model_folder(name: str, path: Path, *, int8: bool = False) -> ModelFolder:
    """Read and check the configuration in `path`. Raises ModelUnusable if it is not supported."""
    config = _json(path / "config.json")
    if not (path / "tokenizer.json").is_file():
        raise ModelUnusable(
            f"{name}: no tokenizer.json in {path}; save the model with a fast tokenizer"
        )
    try:
        _check_modules(name, path)
        dimension, max_length = int(config["hidden_size"]), _max_length(path, config)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelUnusable(
            f"{name}: the engine onnx cannot use the configuration in {path} ({error!r}); use the"
            " engine sentence-transformers"
        ) from error
    return ModelFolder(name, path, dimension, max_length, config, int8)


def _check_modules(name: str, path: Path) -> None:
    modules = _json(path / "modules.json")
    kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
    if kinds not in (list(_MODULES), list(_MODULES[:2])):
        raise ModelUnusable(
            f"{name}: made of {', '.join(kinds)}; the engine onnx runs Transformer, Pooling and "
            "Normalize only. The engine sentence-transformers runs any"
        )
    pooling = _json(path / str(modules[1]["path"]) / "config.json")
    if not _is_mean(pooling):
        raise ModelUnusable(
            f"{name}: its pooling is not the mean of all tokens, which is all that the engine onnx "
            "does; use the engine sentence-transformers"
        )


def _is_mean(pooling: dict[str, Any]) -> bool:
    on = {key for key, value in pooling.items() if key.startswith("pooling_mode") and value}
    if isinstance(pooling.get("pooling_mode"), str):
        return bool(pooling["pooling_mode"] == "mean")
    return on == {"pooling_mode_mean_tokens"}


def _max_length(path: Path, config: dict[str, Any]) -> int:
    limit = int(config.get("max_position_embeddings", 512))
    settings = path / "sentence_bert_config.json"
    if not settings.is_file():
        return limit
    read = _json(settings)
    if read.get("do_lower_case"):
        raise ModelUnusable(f"{path.name}: lower-cases outside its tokenizer, which is unsupported")
    return min(int(read.get("max_seq_length") or limit), limit)


def _json(path: Path) -> Any:
    try:
        return orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise ModelUnusable(
            f"no {path.name} in {path.parent}: not the folder of a sentence-transformers model"
        ) from None
    except orjson.JSONDecodeError as error:
        raise ModelUnusable(f"{path} is not JSON: {error}") from error
