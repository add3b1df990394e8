"""A server that cannot start says why, in its own words."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest, store
from palimpsest.contracts.errors import ModelError
from palimpsest.serve.run import serve
from palimpsest.serve.starting import _not_started
from palimpsest.serve_settings import ServeSettings


def test_without_a_model_it_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_args: Any, **_kwargs: Any) -> Any:
        raise ModelError("there is no model here: install one")

    monkeypatch.setattr(store, "load_engine", missing)
    opened = partial(Palimpsest.open, tmp_path / "store")
    settings = ServeSettings(port=0)
    with pytest.raises(ModelError, match="install one"):
        asyncio.run(serve(opened, settings, asyncio.Event(), told=lambda *_: None))


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("INFO begun\nerror: no model: install one\n", "start: no model: install one ("),
        ("INFO begun\n", "serve.log says why"),
        (None, "serve.log says why"),
    ],
)
def test_who_started_it_is_told_why(tmp_path: Path, log: str | None, told: str) -> None:
    if log is not None:
        (tmp_path / "serve.log").write_text(log)
    assert told in str(_not_started(tmp_path))
