"""Owners in memory: who leaves is gone, without a wait for Python's collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest.contracts.errors import SearchError
from palimpsest.streams.core.ledger import Entry
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.write import owners as write_owners
from tests.streams.write.runtime import Runtime


@pytest.fixture
def uncollected(set_aside: None) -> Iterator[None]:
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
        owners.most = 4
        owners.trim()
        assert len(owners) == 1
        there = {thing.id for thing in gc.get_objects() if isinstance(thing, Entry)}
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


def test_who_has_no_memories_counts_too(tmp_path: Path) -> None:
    """A server may be asked about any number of owners that it does not know."""
    with Runtime(tmp_path / "log.sqlite") as runtime:
        owners = runtime.writer.owners
        owners.most = 10
        for number in range(30):
            owners.get(f"owner {number}")
            owners.trim()
        assert len(owners) == 10
        assert owners.loaded("owner 29") is not None


def test_a_memory_that_grew_is_counted_again_and_a_forgotten_one_no_more(tmp_path: Path) -> None:
    def say(owner: str, *texts: str) -> None:
        runtime.submit(*({"owner_id": owner, "text": text} for text in texts))

    with Runtime(tmp_path / "log.sqlite") as runtime:
        owners = runtime.writer.owners
        owners.most = 5
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


def test_who_was_asked_about_last_stays(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite") as runtime:
        owners = runtime.writer.owners
        for owner in ("ann", "bob"):
            runtime.submit({"owner_id": owner, "text": "red"})
        owners.get("ann")
        owners.most = 1
        owners.trim()
        assert owners.loaded("ann") is not None
        assert owners.loaded("bob") is None


# -- what others wrote -----------------------------------------------------------------------------


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Runtime]:
    """A writer that has Ann in memory."""
    with Runtime(tmp_path / "log.sqlite") as runtime:
        runtime.submit({"owner_id": "ann", "text": "red"})
        yield runtime


@pytest.fixture
def theirs(ours: Runtime) -> Iterator[Runtime]:
    """Another writer of the same log."""
    with Runtime(Path(ours.log.path)) as runtime:
        yield runtime


def test_it_is_folded_once_though_more_comes_meanwhile(
    ours: Runtime, theirs: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs.submit({"owner_id": "ann", "text": "blue"})
    owners_since = ours.log.owners_since

    def meanwhile(position: int, *, upto: int) -> list[str]:
        found = owners_since(position, upto=upto)
        theirs.submit({"owner_id": "ann", "text": "green"})
        return found

    with monkeypatch.context() as patch:
        patch.setattr(ours.log, "owners_since", meanwhile)
        ours.writer.owners.catch_up()
    for _ in range(2):
        ours.writer.owners.catch_up()
    ledger = ours.writer.owners.loaded("ann")
    assert ledger is not None
    assert ledger.seen == 3
    assert ours.ledger_matches_log()


def test_who_grew_by_it_is_counted_again(ours: Runtime, theirs: Runtime) -> None:
    owners = ours.writer.owners
    ours.submit({"owner_id": "bob", "text": "red"})
    owners.most = 5
    theirs.submit(*({"owner_id": "bob", "text": text} for text in ("blue", "green", "white")))
    owners.catch_up()
    owners.trim()
    assert owners.loaded("ann") is None


def test_of_one_that_cannot_be_folded_nothing_stays(
    ours: Runtime, theirs: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs.submit({"owner_id": "ann", "text": "blue"})

    def unknown(*_: object) -> Touched:
        raise KeyError("a candidate that was never decided on")

    monkeypatch.setattr(write_owners, "evolve", unknown)
    with pytest.raises(KeyError):
        ours.writer.owners.catch_up()
    assert ours.writer.owners.loaded("ann") is None


def test_under_another_policy_all_is_searched_anew(ours: Runtime) -> None:
    owners, rules = ours.writer.owners, ours.writer.policy
    ann = owners.get("ann")
    before = ann.index("default", rules)
    assert ann.index("default", rules) is before
    ann.give_up("elsewhere", SearchError("it is broken"))
    with pytest.raises(SearchError):
        ann.index("elsewhere", rules)
    owners.forget_indexes()
    assert ann.index("default", rules) is not before
    ann.index("elsewhere", rules)
