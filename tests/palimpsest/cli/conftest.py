"""A command line on its own store, without a model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typer.testing import CliRunner

from palimpsest.api import store
from palimpsest.cli.main import app
from palimpsest.contracts.identity import digest
from palimpsest.streams import embedder
from tests.stub_engine import load_stub

T = TypeVar("T")
_said: dict[Path, Any] = {}
"""The results of filling each store on the shelf."""


def by_length(sent: list[str]) -> Callable[[list[str]], list[list[float]]]:
    """A function that embeds texts by their length, and adds them to `sent`."""

    def embed(texts: list[str]) -> list[list[float]]:
        sent.extend(texts)
        return [[1.0, float(len(text))] for text in texts]

    return embed


@dataclass(frozen=True)
class Ran:
    """The output and exit status of a command."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output, which must be exactly one JSON document and a line feed."""
        assert self.out.endswith("\n")
        return json.loads(self.out)

    @property
    def documents(self) -> list[Any]:
        """Standard output as one JSON document per line."""
        return [json.loads(line) for line in self.out.splitlines()]


class CommandLine:
    """Runs commands on one store."""

    def __init__(self, folder: Path, shelf: Path | None = None) -> None:
        self.folder = folder
        self.store = folder / "store"
        self._shelf = shelf or folder

    def __call__(self, *args: str, stdin: str | bytes | None = None) -> Ran:
        return self.bare("--store", str(self.store), *args, stdin=stdin)

    def bare(self, *args: str, stdin: str | bytes | None = None) -> Ran:
        """Run a command without naming a store."""
        done = CliRunner().invoke(app, args, input=stdin)
        return Ran(done.exit_code, done.stdout, done.stderr)

    def json(self, *args: str, status: int = 0) -> Any:
        """The one document that a command prints with --json."""
        ran = self("--json", *args)
        assert ran.status == status, ran.err
        return ran.document

    def file(self, rows: Iterable[Any], name: str = "rows.jsonl") -> str:
        """Write a file of rows; a row that is bytes or a string is written as it is."""
        path = self.folder / name
        path.write_bytes(b"".join(_line(row) + b"\n" for row in rows))
        return str(path)

    def ingest(self, *rows: Any, status: int = 0) -> Any:
        """Ingest rows; return the summary."""
        return self.json("ingest", self.file(rows), status=status)

    def holds(self, *rows: Any) -> None:
        """Make the store of these rows."""
        self.begins(json.dumps(rows), lambda: self.ingest(*rows))

    def begins(self, name: str, fill: Callable[[], T]) -> T:
        """Get the store that `fill` fills, and its result; each name is filled only once.

        The store is put back where its views expect it.
        """
        kept = self._shelf / digest(name.encode())
        self.store, whole = kept / "store", kept / "whole"
        if whole.exists():
            shutil.rmtree(self.store)
            shutil.copytree(whole, self.store)
        else:
            kept.mkdir()
            _said[kept] = fill()
            shutil.copytree(self.store, whole)
        said: T = _said[kept]
        return said

    def ids(self, owner: str = "ada") -> list[str]:
        """The ids of an owner's candidates, in the order of their arrival."""
        rows = self.json(
            "sql",
            "SELECT candidate_id FROM decisions WHERE owner_id = "
            f"'{owner}' AND candidate_id IS NOT NULL ORDER BY position",
        )
        return list(dict.fromkeys(row["candidate_id"] for row in rows))


def _line(row: Any) -> bytes:
    if isinstance(row, bytes):
        return row
    return row.encode() if isinstance(row, str) else json.dumps(row).encode()


ASKS_ALL = """
name = "asks-all"
model = "all-MiniLM-L6-v2"
search = "candidates"

[[checks]]
check = "cosine"
zones = [{ at_least = 0.0, action = "pending" }]
"""
"""A policy that asks the judge about every pair."""


def row(text: str, owner: str = "ada", **fields: Any) -> dict[str, Any]:
    """A minimal row."""
    return {"owner_id": owner, "text": text, **fields}


Row = Callable[..., dict[str, Any]]


@pytest.fixture(name="row")
def row_fixture() -> Row:
    return row


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which filled stores are kept between tests."""
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def palimpsest(tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line in an empty folder, on a store that does not exist yet."""
    for loads in (store, embedder):
        monkeypatch.setattr(loads, "load_engine", load_stub)
    monkeypatch.chdir(tmp_path)
    for name in ("STORE", "POLICY", "ENGINE", "MODEL", "ACTOR"):
        monkeypatch.delenv(f"PALIMPSEST_{name}", raising=False)
    return CommandLine(tmp_path, shelf)
