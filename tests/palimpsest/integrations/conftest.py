"""Stores for adapters to vendors' classes, without a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from tests.stub_engine import load_stub


@pytest.fixture(autouse=True, scope="module")
def _without_a_model() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "load_engine", load_stub)
        yield


@pytest.fixture(name="memories")
def opened(tmp_path: Path) -> Iterator[Palimpsest]:
    """A new, empty store."""
    with Palimpsest.open(tmp_path / "store", by="person") as made:
        yield made
