"""Owners in memory: who leaves is gone, without a wait for Python's collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest.streams.core.ledger import Entry
from tests.streams.write.runtime import Runtime


@pytest.fixture
def uncollected() -> Iterator[None]:
    """The collector rests: what holds each other stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_who_leaves_holds_no_memory(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite") as runtime:
        owners = runtime.writer.owners
        for owner in ("who leaves", "who stays"):
            runtime.submit(*({"owner_id": owner, "text": text} for text in ("red", "red", "blue")))
            runtime.told.clear()
        ids = {owner: set(owners.get(owner).ledger.entries) for owner in runtime.log.owners()}
        owners.get("who stays")
        owners.most = 3
        owners.trim()
        assert len(owners) == 1
        there = {one.id for one in gc.get_objects() if isinstance(one, Entry)}
        assert there.isdisjoint(ids["who leaves"])
        assert there >= ids["who stays"]


def test_one_owner_may_be_larger_than_the_bound(tmp_path: Path) -> None:
    """It would be folded anew for each of its rows."""
    with Runtime(tmp_path / "log.sqlite") as runtime:
        runtime.submit(*({"owner_id": "ann", "text": text} for text in ("red", "blue")))
        owners = runtime.writer.owners
        ledger = owners.get("ann").ledger
        owners.most = 1
        owners.trim()
        assert owners.get("ann").ledger is ledger


def test_a_memory_that_grew_is_counted_again_and_a_forgotten_one_no_more(tmp_path: Path) -> None:
    def say(owner: str, *texts: str) -> None:
        runtime.submit(*({"owner_id": owner, "text": text} for text in texts))

    with Runtime(tmp_path / "log.sqlite") as runtime:
        owners = runtime.writer.owners
        owners.most = 3
        say("ann", "red")
        say("bob", "blue")
        assert len(owners) == 2
        say("bob", "green", "white")
        assert owners.loaded("ann") is None
        assert owners.loaded("bob") is not None
        owners.forget({"bob"})
        say("ann", "black")
        say("cleo", "red")
        assert owners.loaded("ann") is not None
