"""Stores of other systems to import, written by their own libraries."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.palimpsest.cli.conftest import CommandLine, palimpsest, shelf

__all__ = ["palimpsest", "shelf"]

COUNT = 1_000
OWNERS = 11
REPEATED = 100
"""Rows of the thousand that repeat another one, with white space around and less confidence."""


def memories(count: int = COUNT) -> list[dict[str, Any]]:
    """Rows in the form of another system; every tenth repeats the one before it."""
    return [_memory(number) for number in range(count)]


def _memory(number: int) -> dict[str, Any]:
    repeats = number % 10 == 9
    said = number - 1 if repeats else number
    words = [hashlib.sha256(f"{said} {place}".encode()).hexdigest()[:7] for place in range(8)]
    text = " ".join(words)
    return {
        "memory_id": f"m{number}",
        "content": f" {text}\n" if repeats else text,
        "user_id": f"owner-{said % OWNERS}",
        "run_id": f"talk-{said % 7}",
        "created_at": f"2026-03-{said % 28 + 1:02}T10:00:00+00:00",
        "confidence": 0.5 if repeats else 0.9,
        "colour": "red",
    }


def digests(path: Path) -> dict[str, str]:
    """The SHA-256 of every file of a source, by its name in it."""
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    return {
        str(file.relative_to(path.parent)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


def brought(palimpsest: CommandLine) -> list[dict[str, Any]]:
    """The fields of the store's candidates."""
    found: list[dict[str, Any]] = palimpsest.json(
        "sql", "SELECT * FROM candidates ORDER BY owner_id, producer_id"
    )
    return found


@pytest.fixture(name="rows")
def thousand() -> list[dict[str, Any]]:
    return memories()
