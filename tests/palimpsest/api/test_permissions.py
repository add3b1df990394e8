"""Only its user can read a store, whatever the process's umask is."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

FILLS = """
import os, sys
os.umask(0)
from palimpsest.process.import_shims import lighten_lancedb
lighten_lancedb()  # half of its start
from palimpsest import Palimpsest
with Palimpsest.open(sys.argv[1]) as memories:
    text = "The lantern hangs by the gate."
    memories.submit({"owner_id": "ada", "text": text, "id": sys.argv[2]})
    memories.recall("ada", "lantern")
    memories.status()
    memories.verify()
    for folder, _, files in os.walk(sys.argv[1]):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            print(oct(os.stat(path).st_mode), path)
"""


def fill(store: Path, row: str) -> list[tuple[int, Path]]:
    """Write to a store without a umask; return the modes of all its files while it is open."""
    ran = subprocess.run(
        [sys.executable, "-c", FILLS, store, row], check=True, capture_output=True, text=True
    )
    lines = [line.split(" ", 1) for line in ran.stdout.splitlines()]
    return [(int(mode, 8), Path(path)) for mode, path in lines]


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, Path]]]:
    """A store, and the modes of its files while it was first open."""
    store = tmp_path_factory.mktemp("new") / "store"
    return store, fill(store, "1")


def test_a_new_store_is_its_users_alone(new: tuple[Path, list[tuple[int, Path]]]) -> None:
    store, modes = new
    assert {path.name for _, path in modes} >= {
        *("log.sqlite", "log.sqlite-wal", "writer.lock", "verified.json")
    }
    lance = store / "projections" / "lancedb"
    for mode, path in modes:
        inside = path != lance and path.is_relative_to(lance)
        if not inside:  # LanceDB makes its files by the umask, but in a private folder
            assert stat.S_IMODE(mode) == (0o700 if stat.S_ISDIR(mode) else 0o600), path


def test_files_that_an_open_store_gets_are_its_users_alone(
    new: tuple[Path, list[tuple[int, Path]]],
) -> None:
    """The modes of its folder and of existing files are unchanged."""
    store, first = new
    before = {path for _, path in first}
    store.chmod(0o755)
    (store / "log.sqlite").chmod(0o644)
    modes = {path: stat.S_IMODE(mode) for mode, path in fill(store, "2")}
    assert (modes[store], modes[store / "log.sqlite"]) == (0o755, 0o644)
    added = {path: mode for path, mode in modes.items() if path not in before}
    segments = [path for path in added if path.suffix == ".parquet"]
    assert segments
    assert {added[path] for path in segments} == {0o600}
