"""The size of an installation: each distribution that Palimpsest brings, the largest first.

`python -m bench installed [--extras serve,lancedb] [--of palimpsest-client]`. It follows the
requirements of installed distributions, so other packages of the environment do not count.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rich.console import Console
from rich.table import Table

MOST_SHOWN = 16


@dataclass(frozen=True, slots=True)
class InstalledSize:
    """The bytes of one distribution: its files, and the bytecode compiled from them."""

    name: str
    version: str
    files: int
    bytecode: int


def main(arguments: Sequence[str]) -> None:
    """Print a table, and the sum."""
    parser = argparse.ArgumentParser(prog="python -m bench installed", description=__doc__)
    parser.add_argument("--extras", default="", help="extras such as serve,lancedb; default: none")
    parser.add_argument("--of", default="palimpsest-memory", help="the distribution")
    asked = parser.parse_args(arguments)
    try:
        sizes = installed(asked.of, frozenset(filter(None, asked.extras.split(","))))
    except PackageNotFoundError as missing:
        sys.exit(f"{missing.name} is not installed")
    table = Table("distribution", "version", "MB", "with bytecode")
    for size in sizes[:MOST_SHOWN]:
        table.add_row(size.name, size.version, *_megabytes([size]))
    if rest := sizes[MOST_SHOWN:]:
        table.add_row(f"{len(rest)} others", "", *_megabytes(rest))
    table.add_section()
    table.add_row(f"{len(sizes)} in all", "", *_megabytes(sizes))
    Console().print(table)


def installed(name: str, extras: frozenset[str] = frozenset()) -> list[InstalledSize]:
    """A distribution with all that it requires, directly or not; the largest first.

    Raises PackageNotFoundError if one of them is missing.
    """
    found: dict[str, InstalledSize] = {}
    read: set[tuple[str, str]] = set()
    waiting = [(name, extra) for extra in {"", *extras}]
    while waiting:
        key, extra = waiting.pop()
        if (key, extra) in read:
            continue
        read.add((key, extra))
        one = distribution(key)
        found[key] = _size(one)
        for line in one.requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                to = canonicalize_name(needed.name)
                waiting += [(to, wanted) for wanted in {"", *needed.extras}]
    return sorted(found.values(), key=lambda size: -size.files)


def _size(one: Distribution) -> InstalledSize:
    files = bytecode = 0
    for path in one.files or ():
        try:
            size = Path(path.locate()).stat().st_size
        except FileNotFoundError:  # pip records bytecode that may have been removed
            continue
        if path.suffix == ".pyc":
            bytecode += size
        else:
            files += size
    return InstalledSize(one.metadata["Name"], one.version, files, bytecode)


def _megabytes(sizes: Iterable[InstalledSize]) -> tuple[str, str]:
    sizes = [*sizes]
    files = sum(size.files for size in sizes)
    return f"{files / 1e6:.1f}", f"{(files + sum(size.bytecode for size in sizes)) / 1e6:.1f}"
