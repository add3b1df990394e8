"""What a pickle of somebody's could do, it does not do here."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from palimpsest.output import Output
from palimpsest.sources.contract import Place
from palimpsest.sources.qdrant import located
from tests.cli.conftest import CommandLine


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.file),)


def collection(folder: Path, point: bytes) -> Path:
    """A collection of one point."""
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
    assert f"none of Qdrant's: {os.mkdir.__module__}.mkdir" in ran.err
    assert not made.exists()
    pickle.loads(point)
    assert made.exists(), "it would have"


def test_what_mem0_keeps_beside_the_memories_is_read_where_it_is_named(tmp_path: Path) -> None:
    folder = collection(tmp_path, b"")
    (folder / "meta.json").write_text('{"collections": {"notes": {}, "mem0migrations": {}}}')
    meant = {table: located(Place(folder, table)).parent.name for table in (None, "mem0migrations")}
    assert meant == {None: "notes", "mem0migrations": "mem0migrations"}


@pytest.mark.parametrize("point", [b"", b"\x80\x04N.", b"no pickle", pickle.dumps({"id": 1})])
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
