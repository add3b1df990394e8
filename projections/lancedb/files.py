"""LanceDB's folder on the disk: its files, and how one that was built replaces the live one."""

from __future__ import annotations

import os
from pathlib import Path

from palimpsest.contracts.errors import StoreError
from palimpsest.projections.base.files import remove
from palimpsest.projections.base.source import Effect

STATE = "position.json"


def sizes(folder: Path) -> dict[str, int]:
    """Each file's size by its path; `rglob` takes seven times as long, and this is every commit."""
    found: dict[str, int] = {}
    for entry in os.scandir(folder) if folder.is_dir() else ():
        if entry.is_dir():
            inside = sizes(folder / entry.name)
            found |= {f"{entry.name}/{name}": size for name, size in inside.items()}
        else:
            found[entry.name] = entry.stat().st_size
    return found


def check_files(table: str, recorded: dict[str, int], found: dict[str, int]) -> None:
    """StoreError where a file that was recorded is missing or has another size."""
    for name, size in recorded.items():
        if found.get(name) != size:
            raise StoreError(f"LanceDB's {table}.lance/{name} is missing or has another size")


def swap(built: Path, live: Path, effect: Effect) -> None:
    """Put a folder that was built beside in the place of the live one."""
    old = live.with_name(live.name + ".old")
    remove(old)
    effect("swap:aside")
    if live.exists():
        live.rename(old)
    effect("swap:in")
    built.rename(live)
    effect("swap:done")
    remove(old)


def finish_swap(built: Path, live: Path) -> None:
    """Finish a swap that was stopped between its two steps; remove what one left behind."""
    old = live.with_name(live.name + ".old")
    if not live.exists() and old.exists():
        (built if (built / STATE).exists() else old).rename(live)
    remove(old)
    remove(built)
