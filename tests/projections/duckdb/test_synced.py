"""What a power cut must not take: files are synced before they are named, and folders after."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from palimpsest.projections.base.files import replace_json
from palimpsest.projections.duckdb.queries import ensure_views
from palimpsest.projections.duckdb.segments import FOLDER, SegmentWriter
from palimpsest.projections.duckdb.views import FILE


class Disk:
    """Remembers of each file and folder what it held when it was synced last."""

    def __init__(self) -> None:
        self._synced: dict[int, object] = {}

    def fsync(self, handle: int) -> None:
        """Stands in for `os.fsync`."""
        self._synced[os.fstat(handle).st_ino] = _held(handle)

    def lacks(self, path: Path) -> bool:
        """Whether a power cut now could leave something else of a file or folder."""
        handle = os.open(path, os.O_RDONLY)
        try:
            return self._synced.get(os.fstat(handle).st_ino) != _held(handle)
        finally:
            os.close(handle)


def _held(handle: int) -> object:
    found = os.fstat(handle)
    return sorted(os.listdir(handle)) if found.st_nlink > 1 else (found.st_size, found.st_mtime_ns)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(os, "fsync", made.fsync)
    return made


def test_a_segment_is_on_the_disk_before_it_has_its_name(tmp_path: Path, disk: Disk) -> None:
    lacking: dict[str, list[Path]] = {}

    def effect(name: str) -> None:
        building = [writer.beside, *writer.beside.iterdir()] if writer.beside.exists() else []
        lacking[name] = [path for path in building if disk.lacks(path)]

    writer = SegmentWriter(tmp_path, 0, effect)
    segment = writer.finish(7, complete=True)
    assert len(lacking["segment:written"]) > 1
    assert lacking["segment:synced"] == []
    assert segment.manifest()["to"] == 7
    assert not disk.lacks(tmp_path / FOLDER), "its name could be lost"


def test_a_state_is_on_the_disk_before_it_replaces_the_one_before(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced: list[bool] = []
    replace = Path.replace

    def replacing(path: Path, target: Path) -> Path:
        replaced.append(disk.lacks(path))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", replacing)
    for state in ({"position": 1}, {"position": 2}):
        replace_json(tmp_path / "state.json", state)
        assert not disk.lacks(tmp_path)
    assert replaced == [False, False]


def test_the_views_are_on_the_disk_before_they_have_their_name(tmp_path: Path, disk: Disk) -> None:
    lacking: dict[str, bool] = {}

    def effect(name: str) -> None:
        beside = tmp_path / f"{FILE}.new"
        lacking[name] = not beside.exists() or disk.lacks(beside)

    assert ensure_views(tmp_path, effect)
    assert not lacking["views:written"]
