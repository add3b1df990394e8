"""The real model, loaded once: what the pages show must be what a reader gets."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from palimpsest import store
from streams.embedder import load_engine

_loaded = cache(load_engine)


def one_engine(*_args: Any, **_kwargs: Any) -> Any:
    """Stands in for `load_engine`: the default model, whoever asks."""
    return _loaded()


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(store, "load_engine", one_engine)
    for name in ("STORE", "POLICY", "MODEL", "ENGINE", "ACTOR"):
        monkeypatch.delenv(f"PALIMPSEST_{name}", raising=False)
