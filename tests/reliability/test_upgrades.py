"""A store that a newer version wrote to: this one says which it needs, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from palimpsest.backends.paths import LOG_FILE
from palimpsest.contracts.wire import VERSION
from palimpsest.streams.log.log import Log
from tests.cluster.newer import FORESEE, KIND
from tests.long import long_but
from tests.reliability.processes import Forge

SENTENCE = f"({KIND}) needs Palimpsest 9.2 or newer, and this is {VERSION}: upgrade this one"
ROWS = [
    {"owner_id": "ada", "text": "Ada rows a boat", "id": "1"},
    {"owner_id": "ada", "text": "The cat sleeps", "id": "2"},
]


def written(path: Path, *rows: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
def store(tmp_path: Path, newer: Forge) -> Path:
    """A store to which the next version has written what only it knows."""
    rows = written(tmp_path / "rows.jsonl", *ROWS)
    folder = tmp_path / "store"
    assert newer.run(folder, ["ingest", str(rows)]).status == 0
    update = ["update", memory_in(folder, newer), "Ada sails a boat", "--because", FORESEE]
    assert newer.run(folder, update).status == 0
    return folder


def memory_in(store: Path, newer: Forge) -> str:
    """The id of a memory, as the next version shows it."""
    shown = newer.run(store, ["--json", "list", "ada"]).answer()
    return str(shown["memories"][0]["memory_id"])


def lines(store: Path) -> list[bytes]:
    with Log.open(store / LOG_FILE) as log:
        return [line for _, line in log.lines()]


@pytest.mark.parametrize(
    "command",
    long_but(
        ["recall", "ada", "boat"],
        ["ingest", "more.jsonl"],
        ["rebuild"],
        of=[
            ["recall", "ada", "boat"],
            ["ingest", "more.jsonl"],
            ["update", "ada's", "Ada sold the boat"],
            ["rebuild"],
            ["verify"],
            ["list", "ada"],
        ],
    ),
    ids=lambda command: command[0],
)
def test_an_older_version_names_the_one_that_it_needs(
    store: Path, forge: Forge, newer: Forge, command: list[str]
) -> None:
    more = written(store.parent / "more.jsonl", {"owner_id": "ada", "text": "It rains", "id": "3"})
    words = {"more.jsonl": str(more), "ada's": memory_in(store, newer)}
    before = lines(store)
    ended = forge.run(store, [words.get(word, word) for word in command])
    assert ended.status == 4, ended.printed(stream=2)
    assert SENTENCE in " ".join(ended.printed(stream=2).split())
    assert "restore" not in ended.printed(stream=2)
    assert lines(store) == before
    assert newer.run(store, ["ingest", str(more)], ["verify"]).statuses() == [0, 0]


def test_an_older_version_imports_nothing_of_it(store: Path, forge: Forge, newer: Forge) -> None:
    export = store.parent / "log.jsonl"
    assert newer.run(store, ["log", "export", str(export)]).status == 0
    other = store.parent / "other"
    ended = forge.run(other, ["log", "import", str(export)])
    assert ended.status == 4
    assert f"the event of line 5 {SENTENCE}" in " ".join(ended.printed(stream=2).split())
    assert newer.run(other, ["log", "import", str(export)]).status == 0
    assert lines(other) == lines(store)


def test_other_owners_go_on(store: Path, forge: Forge) -> None:
    rows = written(store.parent / "bob.jsonl", {"owner_id": "bob", "text": "It rains", "id": "1"})
    ended = forge.run(store, ["ingest", str(rows)], ["--json", "recall", "bob", "rain"])
    assert ended.statuses() == [0, 0], ended.printed(0, 2)
