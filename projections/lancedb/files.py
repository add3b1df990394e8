"""Checks the files of LanceDB's folder, and replaces the folder with a new one.

LanceDB is an extra. A process without it leaves the folder as it is, and a process with it brings
the folder up to date. A store that should stay small says in a file that it has no such tables;
`rebuild lancedb` creates them.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from palimpsest.contracts.errors import StoreError
from palimpsest.projections.base.files import remove
from palimpsest.projections.base.source import Effect

STATE = "position.json"
WITHOUT = "without-lancedb"
"""The name of that file, which is in the store's folder."""


@cache
def is_installed() -> bool:
    """Whether this installation has LanceDB."""
    return find_spec("lancedb") is not None


def is_kept(projections: Path) -> bool:
    """Whether LanceDB's tables are among the projections that this process keeps up to date."""
    return is_installed() and not (projections.parent / WITHOUT).exists()


def leave_out(store: Path) -> None:
    """Give a new store no tables of LanceDB."""
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    (store / WITHOUT).touch(mode=0o600)


def sizes(folder: Path) -> dict[str, int]:
    """The size of each file by its path. `rglob` takes seven times as long: too slow per commit."""
    found: dict[str, int] = {}
    for entry in os.scandir(folder) if folder.is_dir() else ():
        if entry.is_dir():
            inside = sizes(folder / entry.name)
            found |= {f"{entry.name}/{name}": size for name, size in inside.items()}
        else:
            found[entry.name] = entry.stat().st_size
    return found


def check_files(table: str, recorded: dict[str, int], found: dict[str, int]) -> None:
    """Raise StoreError if a recorded file is missing or has a different size."""
    for name, size in recorded.items():
        if found.get(name) != size:
            raise StoreError(f"LanceDB's {table}.lance/{name} is missing or has a different size")


def swap(built: Path, live: Path, effect: Effect) -> None:
    """Replace the live folder with one that was built beside it."""
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
    """Finish a swap that was interrupted between its two steps, and remove its leftovers."""
    old = live.with_name(live.name + ".old")
    if not live.exists() and old.exists():
        (built if (built / STATE).exists() else old).rename(live)
    remove(old)
    remove(built)
