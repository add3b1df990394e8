"""The sessions that pages show: typed again, they print what stands there, ids included."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from palimpsest.cli.main import app
from tests.docs.pages import NAMES, blocks


def files_of(name: str) -> str:
    """The files that a page shows by `cat`: its later examples use them, too."""
    text = "\n".join(block.text for block in blocks(name, "console"))
    shown = (f"$ {part}" for part in re.split(r"^\$ ", text, flags=re.MULTILINE))
    return "".join(part for part in shown if part.startswith("$ cat "))


SESSIONS = [
    pytest.param(files_of(name) + block.text, id=f"{name}:{block.line}")
    for name in NAMES
    for block in blocks(name, "console")
]
VARIES = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.+]+|\d+\.\d+ s, [\d,]+ rows/s|\b[01]\.\d{3,4}\b"
    r"|(?<=reversed: )[0-9a-f-]{36}$|(?<=palimpsest undo )[0-9a-f-]{36}$"
)
"""Times, scores that another processor rounds otherwise, joins of a run, named by its time, and
requests, named anew each time."""


def typed(session: str) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines that follow it."""
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield command, shown


def comparable(lines: list[str]) -> list[str]:
    return [VARIES.sub("~", line.rstrip()) for line in lines]


@pytest.mark.parametrize("session", SESSIONS)
def test_session(session: str) -> None:
    for command, shown in typed(session):
        words = shlex.split(command)
        if words[0] == "cat":
            Path(words[1]).write_text("\n".join(shown))
            continue
        assert words[0] == "palimpsest"
        ran = CliRunner().invoke(app, words[1:])
        assert ran.exit_code == 0, ran.output
        printed = ran.stdout.splitlines()
        assert comparable(printed) == comparable(shown)


ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b")


@pytest.mark.parametrize("session", SESSIONS)
def test_every_id_that_is_typed_was_printed_before(session: str) -> None:
    printed: set[str] = set()
    for command, shown in typed(session):
        assert printed.issuperset(ID.findall(command)), command
        printed.update(ID.findall("\n".join(shown)))


def test_the_readme_has_a_session() -> None:
    assert any("palimpsest unmerge" in block.text for block in blocks("README.md", "console"))
