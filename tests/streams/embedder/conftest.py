"""The real model of the package, loaded once, with its built graph in a folder of the test run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.streams.embedder import DEFAULT_MODEL
from palimpsest.streams.embedder.formats.model_folder import ModelFolder
from palimpsest.streams.embedder.onnx.engine import OnnxEngine
from palimpsest.streams.embedder.onnx.graph_cache import graph_of
from palimpsest.streams.embedder.resolve import find_model

Told = list[tuple[str, float | None]]


def quiet(_message: str, _share: float | None) -> None:
    pass


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="session")
def folder() -> ModelFolder:
    found = find_model(DEFAULT_MODEL, quiet)
    assert isinstance(found, ModelFolder)
    return found


@pytest.fixture(scope="session")
def engine(folder: ModelFolder, cache_dir: Path) -> OnnxEngine:
    return OnnxEngine(folder, graph_of(folder, cache_dir, quiet), threads=2)


@pytest.fixture
def copied(folder: ModelFolder, tmp_path: Path) -> Callable[..., Path]:
    """Make a folder of the model by links, with some files left out or written anew."""

    def copy(*, without: tuple[str, ...] = (), **written: str) -> Path:
        new = {name.replace("__", "/"): text for name, text in written.items()}
        root = tmp_path / "my-model"
        for file in folder.path.rglob("*"):
            name = file.relative_to(folder.path).as_posix()
            if file.is_file() and name not in without:
                target = root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(file)
        for name, text in new.items():
            (root / f"{name}.json").unlink(missing_ok=True)
            (root / f"{name}.json").write_text(text, encoding="utf-8")
        return root

    return copy
