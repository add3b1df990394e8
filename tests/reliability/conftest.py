"""Stores with a history to start from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.reliability.processes import Forge
from tests.reliability.rows import ROWS, resting_rows, rows, write

REPLACING = {"PALIMPSEST_POLICY": "replace-or-merge"}


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows with broken ones among them: their file ends an ingest with exit status 1."""
    return write(tmp_path_factory.mktemp("rows") / "rows.jsonl", rows(ROWS, owners=3))


@pytest.fixture(scope="session")
def undisturbed(forge: Forge, file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that took the file in peace; nobody may write to it."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    child = forge.run(store, ["ingest", str(file)], ["verify", "--json"])
    assert child.statuses() == [1, 0], child.printed(0, 2)
    return store


@pytest.fixture(scope="session")
def resting(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which later decisions rested on a merge; nobody may write to it."""
    folder = tmp_path_factory.mktemp("resting")
    file = write(folder / "rows.jsonl", resting_rows(), broken=())
    child = forge.run(folder / "store", ["ingest", str(file)], env=REPLACING)
    assert child.statuses() == [0], child.printed(0, 2)
    return folder / "store"


@pytest.fixture
def copied(undisturbed: Path, tmp_path: Path) -> Path:
    """A copy of it, at another place."""
    return Path(shutil.copytree(undisturbed, tmp_path / "copied"))
