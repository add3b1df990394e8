"""Another process can open a store at any moment of its creation; failures are repaired."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from palimpsest import Palimpsest, StoreError
from palimpsest.api import store
from palimpsest.backends import reader as store_reader
from palimpsest.backends import upkeep
from palimpsest.backends.paths import LOG_FILE
from palimpsest.contracts.errors import TransientError, UsageError
from palimpsest.contracts.policy import Policy
from palimpsest.settings.settings import read_settings
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.embedder import DEFAULT_MODEL, INT8_MODEL, Engine
from palimpsest.streams.log import database
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import default_policy, load_policy
from tests.long import long_but
from tests.stub_engine import StubEngine, load_stub

ADA = {"owner_id": "ada", "text": "She lives in Oslo."}


def while_made(monkeypatch: pytest.MonkeyPatch, doing: Callable[[], object]) -> None:
    """Do something once, between the steps that make the next file."""
    statements = database._statements
    todo = [doing]

    def interrupted() -> Iterator[str]:
        for number, statement in enumerate(statements()):
            if number == 2 and todo:
                todo.pop()()
            yield statement

    monkeypatch.setattr(database, "_statements", interrupted)


def test_nobody_finds_half_of_a_new_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / LOG_FILE

    def look() -> None:
        with pytest.raises(StoreError, match="there is no store"):
            Log.open(path)
        assert not path.exists()

    while_made(monkeypatch, look)
    Log.create(path).close()
    assert [file.name for file in tmp_path.iterdir()] == [LOG_FILE]
    with Log.open(path) as log:
        assert log.row("PRAGMA journal_mode") == ("wal",)
        assert log.row("PRAGMA page_size") == (database.PAGE_BYTES,)


def test_whoever_is_slower_takes_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / LOG_FILE

    def be_faster() -> None:
        with Log.create(path) as log, log.transaction():
            log.execute("INSERT INTO owners (owner_id) VALUES ('ada')")

    while_made(monkeypatch, be_faster)
    with Log.create(path) as log:
        assert list(log.owners()) == ["ada"]
    assert [file.name for file in tmp_path.iterdir()] == [LOG_FILE]


def test_a_disk_without_links_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", no_link)
    with Log.create(tmp_path / LOG_FILE) as log:
        assert log.head() == 0
    assert [file.name for file in tmp_path.iterdir()] == [LOG_FILE]


def ask(store: Palimpsest, what: str) -> object:
    match what:
        case "status":
            return store.status()["memories"]
        case "sql":
            return store.sql("SELECT count(*) AS n FROM memories")[0]["n"]
        case _:
            return len(store.recall("ada", "Oslo"))


@pytest.mark.parametrize("what", ["status", "sql", "recall"])
def test_a_second_process_waits_for_the_views_of_a_new_store(tmp_path: Path, what: str) -> None:
    """The other process is already writing, but has not made the projections yet."""
    store, lock = tmp_path / "store", WriterLock(tmp_path / "store")
    with Palimpsest.open(store) as second:
        assert lock.try_acquire()
        later = Timer(0.1, lock.release)
        later.start()
        assert ask(second, what) == 0
        later.join()


def test_waiting_too_long_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "PATIENCE_SECONDS", 0.0)
    with (
        Palimpsest.open(tmp_path / "store") as second,
        WriterLock(tmp_path / "store"),
        pytest.raises(TransientError, match="another process is writing"),
    ):
        second.status()


def test_views_that_are_there_are_not_waited_for(tmp_path: Path) -> None:
    with Palimpsest.open(tmp_path / "store", wait="visible") as second:
        second.submit(ADA)
        with WriterLock(tmp_path / "store"):
            assert second.status()["memories"] == 1


def test_a_policy_that_another_process_put_in_force_decides_here_too(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with (
        Palimpsest.open(folder, wait="visible") as first,
        Palimpsest.open(folder, wait="visible") as second,
    ):
        first.submit(ADA)
        second.set_policy(load_policy("replace-or-merge"))
        first.submit({"owner_id": "ada", "text": "A lantern hangs high up."})
        rows = first.sql("SELECT policy FROM decisions ORDER BY position")
        assert [row["policy"] for row in rows] == [
            load_policy("standard").hash,
            load_policy("replace-or-merge").hash,
        ]


def failing(name: str) -> Callable[[str], None]:
    """Simulate a disk that fails once, at an effect."""
    left = [name]

    def effect(what: str) -> None:
        if what in left:
            left.remove(what)
            raise OSError(28, "No space left on device")

    return effect


@pytest.mark.parametrize(
    "where",
    long_but(
        "segment:written",
        "swap:in",
        of=["segment:written", "comparing", "swap:aside", "swap:in", "swap:done"],
    ),
)
def test_after_a_failed_rebuild_all_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    effect = failing(where)
    with Palimpsest.open(tmp_path / "store") as store:
        store.submit(ADA)
        store.reader.upkeep._live.projector._effect = effect

        def progress(what: str, _share: float) -> None:
            effect(what)

        with pytest.raises(StoreError, match="the disk is full"):
            store.rebuild(progress=progress)
        assert store.submit({"owner_id": "ada", "text": "Her kettle sings."})[0].result == "decided"
        assert [one["face"] for one in store.recall("ada", "Her kettle sings.", k=1)] == [
            "Her kettle sings."
        ]
        assert store.verify()["differences"] == 0
        assert store.rebuild()["lancedb"]["differences"] == 0


def test_who_waits_for_a_position_waits_for_all_projections(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.submit(ADA)
    head = memories.position
    seen = [(head, 0), (0, head), (head, head)]
    reached = iter({"lancedb": lance, "duckdb": duck} for lance, duck in seen)
    monkeypatch.setattr(store_reader, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(memories.reader, "positions", lambda: next(reached))
    memories.wait_for(head)
    assert [*reached] == []


def test_a_policy_that_is_put_back_is_in_force_again(memories: Palimpsest) -> None:
    for name in ("layered", "standard", "layered"):
        memories.set_policy(load_policy(name))
        assert memories.policy.name == name


def test_the_model_that_is_named_is_loaded_when_a_text_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[tuple[str, ...]] = []

    def load(*named: str, **_: object) -> Engine:
        loaded.append(named)
        return load_stub()

    monkeypatch.setattr(store, "load_engine", load)
    with Palimpsest.open(tmp_path / "store", model="a model", engine="onnx") as opened:
        assert opened.status()["candidates"] == 0
        assert loaded == []
        opened.submit(ADA)
        opened.submit(ADA)
    assert loaded == [("a model", "onnx")]


def test_a_store_loads_the_model_of_its_policy_unless_a_new_one_names_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a setting a store keeps its model, so that vectors of two models are never mixed."""
    loaded: list[str] = []

    def load(model: str, *_: object, **__: object) -> Engine:
        loaded.append(model)
        return load_stub(model)

    monkeypatch.setattr(store, "load_engine", load)
    with Palimpsest.open(tmp_path / "store", policy="standard-int8") as opened:
        opened.submit(ADA)
    with Palimpsest.open(tmp_path / "store") as opened:
        opened.submit({**ADA, "text": "She lives in Rome."})
    with Palimpsest.open(tmp_path / "store", model=DEFAULT_MODEL) as opened:
        opened.submit({**ADA, "text": "She lives in Paris."})
    assert loaded == [INT8_MODEL] * 3


class OfAnyModel(StubEngine):
    """The stub under the name of any model."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self.model = model


@pytest.fixture(name="loaded")
def models_loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that stores load, in order."""
    found: list[str] = []

    def load(model: str, *_: object, **__: object) -> OfAnyModel:
        found.append(model)
        return OfAnyModel(model)

    monkeypatch.setattr(store, "load_engine", load)
    return found


@pytest.mark.parametrize(
    ("model", "policy", "chosen"),
    [
        (None, None, "standard"),
        (None, "multilingual", "multilingual"),
        ("multilingual-e5-small", None, "multilingual"),
        ("multilingual-e5-small", "multilingual", "multilingual"),
        (INT8_MODEL, None, "standard-int8"),
        (None, "standard-int8", "standard-int8"),
    ],
)
def test_model_and_policy_follow_from_each_other(
    tmp_path: Path, loaded: list[str], model: str | None, policy: str | None, chosen: str
) -> None:
    with Palimpsest.open(tmp_path, model=model, policy=policy) as made:
        made.submit(ADA)
        assert made.policy.name == chosen
    with Palimpsest.open(tmp_path) as again:
        again.submit(ADA | {"text": "She plays the cello."})
        assert again.policy.name == chosen
    assert loaded == [load_policy(chosen).model] * 2


@pytest.mark.parametrize("prefix", ["sentence-transformers/", "./models/"])
@pytest.mark.parametrize("name", ["multilingual-e5-small", INT8_MODEL])
def test_the_preset_follows_from_the_model_however_it_is_named(
    tmp_path: Path, loaded: list[str], monkeypatch: pytest.MonkeyPatch, prefix: str, name: str
) -> None:
    """By its name on the hub, or by its folder; in a call and in the settings."""
    monkeypatch.chdir(tmp_path)
    Path("models", name).mkdir(parents=True)
    chosen = load_policy(default_policy(name))
    assert chosen.model == name
    with Palimpsest.open(tmp_path / "store", model=prefix + name) as made:
        assert made.policy == chosen
    assert read_settings(model=prefix + name).policy_of_new_store() == chosen
    assert loaded == []


def test_no_model_is_used_with_the_thresholds_of_another(tmp_path: Path, loaded: list[str]) -> None:
    with (
        Palimpsest.open(tmp_path, model="multilingual-e5-small", policy="standard") as made,
        pytest.raises(UsageError, match=r"thresholds for all-MiniLM-L6-v2, not for multilingual"),
    ):
        made.submit(ADA)
    assert loaded == ["multilingual-e5-small"]


def test_the_multilingual_preset_is_standard_at_other_thresholds() -> None:
    standard, multilingual = load_policy("standard"), load_policy("multilingual")

    def without_numbers(policy: Policy) -> str:
        rules = policy.model_dump_json(exclude={"name", "description", "model", "judge"})
        return re.sub(r"\d+\.\d+", "n", rules)

    assert without_numbers(standard) == without_numbers(multilingual)
    assert (standard.model, multilingual.model) == ("all-MiniLM-L6-v2", "multilingual-e5-small")


@pytest.mark.parametrize(
    ("writer", "cluster"),
    [("EmbeddedWriter", None), ("ClusterWriter", {"bootstrap": "localhost:1"})],
)
def test_a_store_that_cannot_be_opened_leaves_its_log_closed(
    writer: str, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs: list[Log] = []

    def fail(reader: store_reader.Reader, *_: object) -> None:
        logs.append(reader.log)
        raise UsageError("an extra is missing")

    monkeypatch.setattr(store, writer, fail)
    with pytest.raises(UsageError, match="an extra is missing"):
        Palimpsest.open(tmp_path, cluster=cluster)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        logs[0].count()


@pytest.mark.parametrize("name", ["back\\slash", "line\nbreak", "d" * 200 + "/" + "e" * 240])
def test_no_store_is_made_where_its_databases_would_not_open(tmp_path: Path, name: str) -> None:
    """Else the first memory would be recorded, and no view would ever show it."""
    folder = tmp_path / ("p" * 100) / name
    with pytest.raises(StoreError, match="a store cannot be in"):
        Palimpsest.open(folder)
    assert not folder.exists()
