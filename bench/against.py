"""Compares figures with those of another commit, in turns: machines differ, ratios less."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import orjson

HERE = Path(__file__).parents[1]

Lines = Sequence[dict[str, Any]]


@dataclass(slots=True)
class Compared:
    """One figure of both commits: the median of each round."""

    name: str
    unit: str
    at_most: bool
    before: list[float] = field(default_factory=list)
    now: list[float] = field(default_factory=list)

    @property
    def times(self) -> float | None:
        """How many times better it is now; None if one commit does not measure it."""
        if not (self.before and self.now):
            return None
        before, now = median(self.before), median(self.now)
        return before / now if self.at_most else now / before


def against(
    ref: str,
    names: Sequence[str],
    options: Sequence[str],
    report: Callable[[str], object],
    rounds: int,
) -> list[Compared]:
    """Measure figures here and at `ref`, in turns, a number of rounds.

    Each commit is measured by its own benchmark, so a figure whose meaning changed is not
    comparable. Raises CalledProcessError if a commit or one of its figures does not exist.
    """
    compared: dict[str, Compared] = {}
    with worktree(ref) as other:
        for number in range(1, rounds + 1):
            for name in names:
                for folder in (other, HERE):
                    where = ref if folder is other else "here"
                    report(f"round {number} of {rounds}: {name}, {where} ...")
                    _note(compared, measured(folder, name, options), now=folder is HERE)
    return list(compared.values())


@contextmanager
def worktree(ref: str) -> Iterator[Path]:
    """The files of a commit, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as scratch:
        folder = Path(scratch) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(folder), ref)
        try:
            yield folder
        finally:
            _git("worktree", "remove", "--force", str(folder))


def _git(*words: str) -> None:
    subprocess.run(["git", "-C", str(HERE), *words], check=True)


def measured(folder: Path, name: str, options: Sequence[str]) -> Lines:
    """The lines of a figure measured by a folder's code, in this interpreter and its libraries."""
    command = [sys.executable, "-m", "bench", "--json", *options, name]
    ran = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE)
    return [orjson.loads(line) for line in ran.stdout.splitlines()]


def _note(compared: dict[str, Compared], lines: Lines, *, now: bool) -> None:
    for line in lines:
        one = compared.setdefault(
            line["name"], Compared(line["name"], line["unit"], line["at_most"])
        )
        (one.now if now else one.before).append(line["median"])
