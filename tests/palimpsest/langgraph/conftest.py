"""LangGraph's store over memories without a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.langgraph import Namespace, PalimpsestStore
from tests.stub_engine import load_stub

ADA = ("memories", "ada")


def owner_of(namespace: Namespace) -> str:
    return namespace[1]


@pytest.fixture(autouse=True, scope="module")
def _without_a_model() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "load_engine", load_stub)
        yield


@pytest.fixture(name="memories")
def opened(tmp_path: Path) -> Iterator[Palimpsest]:
    with Palimpsest.open(tmp_path / "store", by="person") as made:
        yield made


@pytest.fixture(name="items")
def of_langgraph(memories: Palimpsest) -> PalimpsestStore:
    return PalimpsestStore(memories, owner_of=owner_of)
