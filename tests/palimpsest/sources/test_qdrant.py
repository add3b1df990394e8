"""A foreign pickle cannot run anything here."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.process.output import Output
from palimpsest.sources.contract import SourcePlace
from palimpsest.sources.copies import RowEdit, write_copy
from palimpsest.sources.mapping import FieldMapping
from palimpsest.sources.qdrant import QdrantSource, locate_file
from tests.palimpsest.cli.conftest import CommandLine


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.file),)


def collection(folder: Path, point: bytes) -> Path:
    """A collection with one point."""
    inside = folder / "collection" / "notes"
    inside.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"collections": {"notes": {}}}))
    with closing(sqlite3.connect(inside / "storage.sqlite")) as connection:
        connection.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        connection.execute("INSERT INTO points VALUES ('x', ?)", [point])
        connection.commit()
    return folder


def test_a_pickle_runs_nothing(palimpsest: CommandLine, tmp_path: Path) -> None:
    made = tmp_path / "made"
    point = pickle.dumps(Evil(made))
    folder = collection(tmp_path / "theirs", point)
    ran = palimpsest("import", str(folder), "--trust", "--yes")
    assert ran.status == 2
    assert f"not one of Qdrant's: {os.mkdir.__module__}.mkdir" in ran.err
    assert not made.exists()
    pickle.loads(point)
    assert made.exists(), "it would have"


def test_what_mem0_keeps_beside_the_memories_is_read_where_it_is_named(tmp_path: Path) -> None:
    folder = collection(tmp_path, b"")
    (folder / "meta.json").write_text('{"collections": {"notes": {}, "mem0migrations": {}}}')
    meant = {
        table: locate_file(SourcePlace(folder, table)).parent.name
        for table in (None, "mem0migrations")
    }
    assert meant == {None: "notes", "mem0migrations": "mem0migrations"}
    (folder / "meta.json").write_text('{"collections": {"mem0migrations": {}}}')
    assert locate_file(SourcePlace(folder)).parent.name == "mem0migrations", "there is nothing else"


DAMAGED = (
    b"\x8c\x01\xff.",  # no UTF-8
    b"I x\n.",  # no number
    b"\x95" + b"\xff" * 8,  # more than any memory
    b"cdecimal\nDecimal\n(Vx\ntR.",  # no such value
)


@pytest.mark.parametrize(
    "point", [b"", b"\x80\x04N.", b"no pickle", pickle.dumps({"id": 1}), *DAMAGED]
)
def test_what_is_no_point_is_reported(
    point: bytes, palimpsest: CommandLine, tmp_path: Path
) -> None:
    folder = collection(tmp_path / "theirs", point)
    ran = palimpsest("import", str(folder), "--trust", "--yes")
    assert ran.status == 2
    assert "a point cannot be read" in ran.err


def test_a_person_is_asked_first(
    palimpsest: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Output, "asks", True)
    folder = collection(tmp_path / "theirs", b"")
    ran = palimpsest("import", str(folder), stdin="n\n")
    assert ran.status == 1
    assert "do you trust it" in ran.err
    assert "a point cannot be read" not in ran.err
    assert "a point cannot be read" in palimpsest("import", str(folder), stdin="y\n").err


class Point:
    """Pickled like the client's own model, with its state in pydantic's form."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def __getstate__(self) -> dict[str, Any]:
        return {"__dict__": self.fields, "__pydantic_fields_set__": set(self.fields)}


@pytest.fixture(name="theirs")
def of_qdrant(monkeypatch: pytest.MonkeyPatch) -> type[Point]:
    module = ModuleType("qdrant_client.models")
    module.__dict__["Point"] = Point
    for name in ("qdrant_client", module.__name__):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(Point, "__module__", module.__name__)
    return Point


def read(folder: Path, *points: Any) -> QdrantSource:
    """A trusted collection of these points."""
    where = collection(folder, b"") / "collection" / "notes" / "storage.sqlite"
    with closing(sqlite3.connect(where)) as connection, connection:
        connection.execute("DELETE FROM points")
        connection.executemany(
            "INSERT INTO points VALUES (?, ?)",
            [(str(number), pickle.dumps(point)) for number, point in enumerate(points)],
        )
    return QdrantSource(SourcePlace(folder, trust=True))


def test_a_point_that_was_written_twice_is_what_came_last(
    theirs: type[Point], tmp_path: Path
) -> None:
    source = read(
        tmp_path,
        theirs(id=7, payload={"data": "old", "id": "not it"}, vector=[0.5]),
        theirs(id="b", payload=None, vector=None),
        theirs(id=7, payload={"data": "new", "id": "not it"}, vector=[0.25]),
    )
    for _ in range(2):
        assert [*source.rows()] == [
            {"id": "7", "data": "new", "vector": [0.25]},
            {"id": "b"},
        ]
        assert source.share == 1.0


@pytest.mark.parametrize(
    ("names", "vector"),
    [(("dense",), [0.5]), (("dense", "sparse"), [0.5]), (("dense", "other"), None), ((), None)],
)
def test_of_vectors_by_name_the_only_dense_one_is_taken(
    names: tuple[str, ...], vector: object, theirs: type[Point], tmp_path: Path
) -> None:
    each = {"dense": [0.5], "other": [0.1], "sparse": theirs(indices=[1], values=[0.5])}
    source = read(tmp_path, theirs(id=1, vector={name: each[name] for name in names}))
    [row] = source.rows()
    assert isinstance(row, dict)
    assert row.get("vector") == vector


def test_it_is_read_by_those_alone_who_trust_it(tmp_path: Path) -> None:
    folder = collection(tmp_path, b"")
    told: list[str] = []

    def ask(why: str) -> bool:
        told.append(why)
        return False

    for trust in (False, ask):
        with pytest.raises(UsageError, match="confirm it with --trust"):
            QdrantSource(SourcePlace(folder, trust=trust))
    assert "run a program" in told[0]


@pytest.mark.parametrize("meta", ["{", "{}", "[]", '{"collections": 3}'])
def test_a_folder_that_names_no_collections_is_reported(meta: str, tmp_path: Path) -> None:
    folder = collection(tmp_path, b"")
    (folder / "meta.json").write_text(meta)
    with pytest.raises(UsageError, match="names no collections"):
        locate_file(SourcePlace(folder))


def test_every_version_of_a_point_that_goes_is_gone(theirs: type[Point], tmp_path: Path) -> None:
    points = [theirs(id=one, payload={"n": n}) for n, one in enumerate((7, "b", 7))]
    source = read(tmp_path / "theirs", *points)
    place = SourcePlace(tmp_path / "theirs", trust=True)
    (place.path / ".lock").touch()
    edits = [RowEdit(1, {"id": "7"}, None)]
    write_copy("qdrant", place, tmp_path / "copy", edits, FieldMapping({"id": ("id",)}))
    assert [*QdrantSource(SourcePlace(tmp_path / "copy", trust=True)).rows()] == [
        {"n": 1, "id": "b"}
    ]
    assert not (tmp_path / "copy" / ".lock").exists()
    assert len([*source.rows()]) == 2
