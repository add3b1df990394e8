"""Notes about a file are used until the file is written to."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from palimpsest.streams.embedder import notes
from palimpsest.streams.embedder.notes import Notes, write_whole


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were hashed; changes of a file count as settled at once."""
    files: list[str] = []
    compute = hashlib.file_digest

    def counting(file: Any, name: Any) -> Any:
        files.append(Path(file.name).name)
        return compute(file, name)

    monkeypatch.setattr("hashlib.file_digest", counting)
    monkeypatch.setattr(notes, "SETTLED_NS", 0)
    return files


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.write_bytes(b"weights")
    return path


def test_a_file_is_hashed_once(tmp_path: Path, weights: Path, hashed: list[str]) -> None:
    first = Notes(tmp_path / "cache").digest_of(weights)
    assert first == hashlib.sha256(b"weights").hexdigest()[: len(first)]
    assert Notes(tmp_path / "cache").digest_of(weights) == first
    assert hashed == ["weights"]


def test_a_file_that_was_written_to_is_hashed_again(
    tmp_path: Path, weights: Path, hashed: list[str]
) -> None:
    """Although its size and the time of its last change are what they were."""
    kept, before = Notes(tmp_path / "cache"), weights.stat()
    first = kept.digest_of(weights)
    weights.write_bytes(b"Weights")
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert kept.digest_of(weights) != first
    assert len(hashed) == 2


def test_a_file_that_changed_while_it_was_hashed_is_hashed_again(
    tmp_path: Path, weights: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = hashlib.file_digest

    def changing(file: Any, name: Any) -> Any:
        found = compute(file, name)
        weights.write_bytes(b"other weights")
        return found

    kept = Notes(tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr("hashlib.file_digest", changing)
        first = kept.digest_of(weights)
    assert kept.digest_of(weights) != first


def test_nothing_is_noted_about_a_file_that_may_be_changing(
    tmp_path: Path, weights: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change within the same tick of the clock would leave its times as they are."""
    monkeypatch.setattr(notes, "SETTLED_NS", 3_600_000_000_000)
    kept = Notes(tmp_path / "cache")
    assert kept.digest_of(weights) == kept.digest_of(weights)
    assert len(hashed) == 2
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"1.2.3 abc"])
def test_a_damaged_note_counts_as_missing(
    tmp_path: Path, weights: Path, hashed: list[str], damage: bytes
) -> None:
    kept = Notes(tmp_path / "cache")
    first = kept.digest_of(weights)
    [note] = (tmp_path / "cache").iterdir()
    note.write_bytes(damage)
    assert kept.digest_of(weights) == first
    assert len(hashed) == 2


def test_what_was_forgotten_is_found_out_again(
    tmp_path: Path, weights: Path, hashed: list[str]
) -> None:
    kept = Notes(tmp_path / "cache")
    kept.digest_of(weights)
    kept.forget()
    kept.digest_of(weights)
    assert len(hashed) == 2


def test_subjects_and_files_have_their_own_notes(
    tmp_path: Path, weights: Path, hashed: list[str]
) -> None:
    kept, other = Notes(tmp_path / "cache"), tmp_path / "other"
    other.write_bytes(b"weights")
    kept.write(weights, "colour", "red")
    assert kept.read(weights, "colour") == "red"
    assert kept.read(weights, "size") is None
    assert kept.read(other, "colour") is None
    assert hashed == []


def test_there_are_no_notes_if_nothing_can_be_written(
    tmp_path: Path, weights: Path, hashed: list[str]
) -> None:
    kept = Notes(weights / "cache")
    assert kept.digest_of(weights) == kept.digest_of(weights)
    assert len(hashed) == 2


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_whole(tmp_path / "folder" / "file", [b"begun", None])  # type: ignore[list-item]
    assert list((tmp_path / "folder").iterdir()) == []
