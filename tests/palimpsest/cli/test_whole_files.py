"""A file that a command writes is whole, or the former one stays, on a full disk, too."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.palimpsest.cli.conftest import CommandLine

PAIR = {"a": "Ada has a dog.", "b": "Ada has the dog.", "label": 1}


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def test_a_file_that_does_not_fit_leaves_the_former_one(tmp_path: Path) -> None:
    former = tmp_path / "candidate.json"
    former.write_text("former")
    said = [sys.executable, "-m", "palimpsest", "schemas", str(tmp_path)]
    # A module that Python compiles here would be cut off as well, and every later process fail.
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        said, capture_output=True, text=True, check=False, env=env, preexec_fn=_limit_files
    )
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "standard output" not in done.stderr
    assert former.read_text() == "former"
    assert [path.name for path in tmp_path.iterdir()] == [former.name]


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "--pairs", "PAIRS", "--html", "PAGE"],
        ["backtest", "layered", "--html", "PAGE"],
    ],
)
def test_a_page_takes_the_place_of_the_former_one(
    palimpsest: CommandLine, words: list[str]
) -> None:
    """It is written beside it: a second name of the former file still has what it had."""
    palimpsest.json("add", "ada", "Ada has a dog.")
    page, former = palimpsest.folder / "page.html", palimpsest.folder / "former.html"
    page.write_text("former")
    os.link(page, former)
    files = {"PAIRS": palimpsest.file([PAIR]), "PAGE": str(page)}
    palimpsest(*(files.get(word, word) for word in words))
    assert "</html>" in page.read_text()
    assert former.read_text() == "former"
