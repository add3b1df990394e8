"""The real model, loaded once: what the pages show must be what a reader gets."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from palimpsest.api import store
from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.projections.duckdb import queries
from palimpsest.streams import embedder
from palimpsest.streams.embedder import DEFAULT_MODEL, load_engine
from tests import light


class Remembering:
    """An engine that embeds no text twice: pages use the same ones again and again."""

    def __init__(self, engine: Any) -> None:
        self.model, self.name, self.dimension = engine.model, engine.name, engine.dimension
        self._engine = engine
        self._known: dict[str, Any] = {}

    def embed(self, texts: Sequence[str]) -> list[Any]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._engine.embed(new), strict=True))
        return [self._known[text] for text in texts]


@cache
def _loaded() -> Remembering:
    return Remembering(load_engine())


OTHER = "bge-small-en"
"""The model that a page moves to: to the tests the default one, by another name."""


class ByAnotherName:
    """The default model's engine, as that of another model."""

    def __init__(self, model: str) -> None:
        engine = _loaded()
        self.model, self.name, self.dimension = model, engine.name, engine.dimension
        self.embed = engine.embed


def one_engine(model: str = DEFAULT_MODEL, *_args: Any, **_kwargs: Any) -> Any:
    """Stands in for `load_engine`: the default model, whoever asks, but for the pages' other."""
    return ByAnotherName(model) if model == OTHER else _loaded()


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a page starts is found by its name, and ended when the page is."""
    monkeypatch.chdir(tmp_path)
    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join((programs, os.environ["PATH"])))
    for loads in (store, embedder):
        monkeypatch.setattr(loads, "load_engine", one_engine)
    monkeypatch.setattr(queries, "_write_views", light.write_views)  # some pages open the file
    for name in ("STORE", "POLICY", "MODEL", "ENGINE", "ACTOR"):
        monkeypatch.delenv(f"PALIMPSEST_{name}", raising=False)
    yield
    for file in tmp_path.glob("**/serve.json"):
        os.kill(json.loads(file.read_text())["pid"], signal.SIGTERM)


@pytest.fixture(autouse=True, scope="session")
def _with_a_judge() -> Iterator[None]:
    """What the pages ask the judge, the local stand-in answers."""
    with JudgeServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", "none")
        patch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield
