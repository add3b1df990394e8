"""LanceDB's vectors are as long as the log says now, by whatever batches it was projected."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import lancedb
import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from palimpsest.contracts.commands import Merge, Retract
from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.events import (
    AnyEvent,
    Embedded,
    EmbeddedData,
    PolicySet,
    PolicySetData,
    Vector,
)
from palimpsest.projections.base.models import Models
from palimpsest.projections.base.vectors import Numbers, Packed, decoded, numbers_of, of_dimension
from palimpsest.projections.batch import batches
from palimpsest.projections.compare import ProjectionComparison, compare_lance
from palimpsest.projections.lancedb import store as lance
from palimpsest.projections.lancedb.files import STATE
from palimpsest.projections.lancedb.store import LanceStore, read_state
from palimpsest.projections.projector import Projector
from palimpsest.projections.verify import verify
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from tests.long import examples, long_but
from tests.projections.histories import STANDARD, START, History, MemoryLog, vector_of
from tests.projections.recall.recalled import recall, recall_as_of

SIZES = {"test": 12, "other": 4, "third": 7}
TABLES = ("candidates", "memories")


def of(text: str, model: str = "test") -> Vector:
    """The vector of a text under a model, whose vectors are of its own length."""
    whole = np.frombuffer(base64.b64decode(vector_of(text).data), "<f2")[: SIZES[model]]
    half = (whole.astype(np.float32) / np.linalg.norm(whole.astype(np.float32))).astype("<f2")
    data = base64.b64encode(half.tobytes()).decode()
    return Vector(model=model, engine="test", dimension=SIZES[model], data=data)


def happened(history: History, event: AnyEvent) -> None:
    """An event that no command of this version makes, as an imported log has it."""
    ledger = history.ledgers.setdefault(event.owner_id, Ledger(event.owner_id))
    history.changes.add(history.log.append(event), event, evolve(ledger, event))


def set_policy(history: History, model: str) -> None:
    policy = STANDARD.model_copy(update={"model": model})
    data = PolicySetData(hash=policy.hash, policy=policy.model_dump(mode="json"))
    happened(
        history,
        PolicySet(id=history.fresh(), subject=policy.hash, time=START, partitionkey="", data=data),
    )


def embed(history: History, owner: str, candidate: str, model: str) -> None:
    text = history.ledgers[owner].entries[candidate].text
    data = EmbeddedData(candidate_id=candidate, vector=of(text, model))
    happened(
        history,
        Embedded(id=history.fresh(), subject=candidate, time=START, partitionkey=owner, data=data),
    )


def project(folder: Path, log: MemoryLog) -> None:
    projector = Projector(folder, log)
    projector.start()
    projector.close()
    found = verify(log, folder)
    assert found["differences"] == 0, found["details"]


def shown(projector: Projector, folder: Path, history: History) -> None:
    """Project what was touched, as it is done live."""
    projector.submit(history.take())
    projector.flush()
    found = verify(history.log, folder)
    assert found["differences"] == 0, found["details"]


def recalled(folder: Path, log: MemoryLog, text: str, model: str = "test") -> list[str]:
    """The faces that Ada recalls, now and as of now: the same."""
    query = decoded([of(text, model)], SIZES[model])[0].astype(np.float32)
    now = recall(folder, log, "ada", query, 9)
    assert now == recall_as_of(log, "ada", query, 9, None, log.head())
    return [one["face"] for one in now]


def dimension(folder: Path) -> int:
    opened = (lancedb.connect(folder / "lancedb").open_table(name) for name in TABLES)
    (found,) = {table.schema.field("vector").type.list_size for table in opened}
    return int(found)


# -- what the log says ------------------------------------------------------------------------


def test_a_log_that_begins_with_foreign_vectors_is_recalled_from(tmp_path: Path) -> None:
    """As an imported one may, in which another model had the same name."""
    history = History()
    foreign = structs.replace(of("The harbour freezes.", "other"), model="test")
    history.admit("ada", "The harbour freezes.", vector=foreign)
    project(tmp_path, history.log)
    history.admit("ada", "A ferry crosses it.")
    history.admit("ada", "The kettle sings.")
    project(tmp_path, history.log)
    said = ["The kettle sings.", "A ferry crosses it."]
    assert recalled(tmp_path, history.log, said[0]) == said
    project(tmp_path / "anew", history.log)
    assert recalled(tmp_path / "anew", history.log, said[0]) == said


def test_texts_that_were_embedded_again_are_found_by_the_new_model(tmp_path: Path) -> None:
    history = History()
    set_policy(history, "test")
    texts = ["The harbour freezes.", "A ferry crosses it.", "The kettle sings."]
    ids = [history.admit("ada", text) for text in texts]
    history.run(Merge(command_id=history.fresh(), owner_id="ada", a=ids[0], b=ids[1]))
    project(tmp_path, history.log)
    history.take()
    live = Projector(tmp_path, history.log)
    live.start()
    embed(history, "ada", ids[2], "other")
    shown(live, tmp_path, history)
    assert recalled(tmp_path, history.log, texts[0]) == [texts[0]]
    for one in ids[:2]:
        embed(history, "ada", one, "other")
    set_policy(history, "other")
    shown(live, tmp_path, history)
    live.close()
    for text in texts:
        assert len(recalled(tmp_path, history.log, text, "other")) == 2
    with pytest.raises(StoreError, match="vectors have 4 numbers, and the model's have 12"):
        recalled(tmp_path, history.log, texts[0])


def test_a_foreign_vector_does_not_hide_those_of_the_model_in_force(tmp_path: Path) -> None:
    history = History()
    set_policy(history, "test")
    history.admit("ada", "The kettle sings.")
    history.admit("ada", "The harbour freezes.", vector=of("The harbour freezes.", "other"))
    project(tmp_path, history.log)
    assert recalled(tmp_path, history.log, "The kettle sings.") == ["The kettle sings."]


def noted(events: list[tuple[int, AnyEvent]]) -> Models:
    models = Models()
    for position, event in events:
        models.note(position, event)
    return models


def test_the_model_of_the_policy_counts_and_else_the_latest_vector() -> None:
    history = History()
    assert noted([]).dimension is None
    history.admit("ada", "The kettle sings.", vector=of("x", "third"))
    history.admit("bob", "The harbour freezes.")
    said = [(event.position, event.event) for event in history.log.events]
    assert noted(said).dimension == 12
    for model, wanted in (("third", 7), ("unheard of", 12), ("other", 12), ("test", 12)):
        set_policy(history, model)
        said = [(event.position, event.event) for event in history.log.events]
        assert noted(said).dimension == wanted, model
    assert Models.of(orjson.loads(orjson.dumps(noted(said).as_dict()))) == noted(said)


# -- batches ----------------------------------------------------------------------------------


def log_of(seed: int, steps: list[tuple[str, str]]) -> MemoryLog:
    """A log of two owners in which models come and go, and of a third whose text stays."""
    history = History(seed)
    history.admit("eve", "She waits.", vector=of("She waits.", steps[-1][1]))
    known: list[tuple[str, str]] = []
    for number, (step, model) in enumerate(steps):
        owner = ("ada", "bob")[number % 2]
        if step == "policy":
            set_policy(history, model)
        elif step == "embed" and known:
            embed(history, *history.random.choice(known), model)
        elif step == "retract" and known:
            gone_owner, gone = history.random.choice(known)
            history.run(Retract(command_id=history.fresh(), owner_id=gone_owner, candidate_id=gone))
        else:
            text = f"The {number}th kettle sings."
            known.append((owner, history.admit(owner, text, vector=of(text, model))))
    return history.log


STEPS = st.lists(
    st.tuples(st.sampled_from(["admit", "embed", "policy", "retract"]), st.sampled_from([*SIZES])),
    min_size=4,
    max_size=12,
)


@given(seed=st.integers(0, 99), steps=STEPS, data=st.data())
@settings(max_examples=examples(20))
def test_no_split_into_batches_changes_a_row(
    tmp_path_factory: pytest.TempPathFactory, seed: int, steps: list[tuple[str, str]], data: Any
) -> None:
    log = log_of(seed, steps)
    positions = [event.position for event in log.events]
    ends = data.draw(st.sets(st.sampled_from(positions), min_size=2, max_size=4), "batches end at")
    above = tmp_path_factory.mktemp("split")
    whole = built(above / "whole", log, [])
    with patch("palimpsest.projections.fold.ROWS_AT_ONCE", 1):
        parts = built(above / "parts" / "lancedb", log, sorted(ends))
    found = ProjectionComparison()
    compare_lance(whole, parts.parent, found)
    assert found.differences == 0, found.details
    assert read_state(whole)["dimension"] == read_state(parts)["dimension"]
    assert contents(whole) == contents(parts)
    shutil.rmtree(above)


def built(folder: Path, log: MemoryLog, ends: list[int]) -> Path:
    """The tables, with a commit at each of these positions and at the last one."""
    folder.parent.mkdir(exist_ok=True)
    store = LanceStore(folder)
    store.create()
    for end in [*ends, log.head()]:
        for batch in batches(log, store.position, end):
            store.apply(batch)
        store.commit(end)
    return folder


def contents(folder: Path) -> dict[str, list[str]]:
    """Every row, its vectors too; a distinct text's position is that at which it was written."""
    database, recorded = lancedb.connect(folder), read_state(folder)["tables"]
    return {
        name: sorted(
            repr({**row, "position": None})
            for row in database.open_table(name).search().limit(99).to_list()
        )
        for name in recorded
    }


def test_a_vector_that_was_foreign_comes_back_as_it_was() -> None:
    vectors = [of("a"), of("b", "other"), None, of("c"), of("d", "third")]
    packed, places = Packed.of(vectors)
    now = Numbers(packed, 12)
    column, foreign = now.column(places), now.foreign(places)
    for size in (12, 4, 12, 7, 4, 99, 12):
        column, foreign = of_dimension(column, foreign, size)
        expected = Numbers(packed, size)
        assert column.equals(expected.column(places))
        assert foreign.equals(expected.foreign(places))
    sliced, _ = of_dimension(column.slice(3), foreign.slice(3), 12)
    assert numbers_of(sliced)[0].tolist() == numbers_of(column)[3].tolist()
    assert [len(one) for one in of_dimension(pa.array([], column.type), foreign[:0], 4)] == [0, 0]


# -- the tables -------------------------------------------------------------------------------


class StoppedError(Exception):
    """The process ends here."""


def begun(folder: Path) -> MemoryLog:
    """A projected store, whose log then goes on with another model."""
    history = History()
    set_policy(history, "test")
    texts = ["The harbour freezes.", "A ferry crosses it.", "The kettle sings."]
    ids = [history.admit("ada", text) for text in texts]
    project(folder, history.log)
    for one in ids:
        embed(history, "ada", one, "other")
    set_policy(history, "other")
    return history.log


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MemoryLog]:
    """Such a store and its log, made once; nobody may change them."""
    folder = tmp_path_factory.mktemp("made") / "store"
    return folder, begun(folder)


EFFECTS = [
    "lancedb:position",
    *(f"lancedb:{table}{what}" for table in TABLES for what in (":anew", "", ":changed")),
]


@pytest.mark.parametrize("at", long_but(EFFECTS[0], EFFECTS[-3], of=EFFECTS))
def test_stopped_while_the_dimension_changes_it_goes_on(
    tmp_path: Path, made: tuple[Path, MemoryLog], at: str
) -> None:
    whole, log = made
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    before = log.upto(read_state(store / "lancedb")["position"])

    def stop(name: str) -> None:
        if name == at:
            raise StoppedError(name)

    with pytest.raises(StoppedError):
        Projector(store, log, effect=stop).start()
    assert recalled(store, before, "The kettle sings.")[0] == "The kettle sings."
    project(store, log)
    assert dimension(store) == 4
    assert len(recalled(store, log, "The kettle sings.", "other")) == 3


def test_tables_that_are_recreated_are_indexed_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance, "INDEXED_FROM", 3)
    monkeypatch.setattr(lance, "PAGE_ROWS", 2)
    project(tmp_path, begun(tmp_path))
    for name in TABLES:
        table = lancedb.connect(tmp_path / "lancedb").open_table(name)
        assert len(list(table.list_indices())) == 2, name


def test_tables_of_an_earlier_layout_are_recalled_from_until_somebody_writes(
    tmp_path: Path,
) -> None:
    history = History()
    history.admit("ada", "The kettle sings.")
    project(tmp_path, history.log)
    path = tmp_path / "lancedb" / STATE
    state = orjson.loads(path.read_bytes())
    state |= {"layout": 1}
    del state["models"]
    for name in TABLES:
        table = lancedb.connect(tmp_path / "lancedb").open_table(name)
        table.drop_columns(["foreign_vector"])
        state["tables"][name] |= {"version": table.version}
    path.write_bytes(orjson.dumps(state))
    assert recalled(tmp_path, history.log, "The kettle sings.") == ["The kettle sings."]
    assert verify(history.log, tmp_path)["differences"] > 0
    assert any("earlier layout" in done for done in Projector(tmp_path, history.log).start().done)
    project(tmp_path, history.log)


def test_verify_sees_a_foreign_vector_that_is_another(tmp_path: Path) -> None:
    history = History()
    history.admit("ada", "The harbour freezes.", vector=of("The harbour freezes.", "other"))
    history.admit("ada", "The kettle sings.")
    project(tmp_path, history.log)
    path = tmp_path / "lancedb" / STATE
    state = orjson.loads(path.read_bytes())
    table = lancedb.connect(tmp_path / "lancedb").open_table("memories")
    table.update(where="foreign_vector IS NOT NULL", values={"foreign_vector": "AAAAAAAAAAA="})
    state["tables"]["memories"]["version"] = table.version
    state["models"]["latest"]["test"][1] = 5
    path.write_bytes(orjson.dumps(state))
    found = verify(history.log, tmp_path)
    assert [(detail["table"], detail["what"]) for detail in found["details"]] == [
        ("models", "differs"),
        ("memories", "differs"),
    ]
