"""For shells and beginners: options anywhere, similar names, completion, `-m`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from palimpsest.cli.invocation import complete_columns, complete_kinds
from palimpsest.cli.shell import NEAR, Problem, _common_first, _meaning
from palimpsest.contracts.errors import (
    InvalidInputError,
    ModelError,
    RefusedError,
    StoreError,
    TransientError,
    UsageError,
    WrongFileError,
)
from tests.palimpsest.cli.conftest import CommandLine, row
from tests.palimpsest.cli.test_help import COMMANDS, ROOT
from tests.tables import each


def test_the_store_may_be_named_behind_the_command(palimpsest: CommandLine) -> None:
    palimpsest.holds(row("Ada lives in Paris"))
    for words in (["--store", str(palimpsest.store)], [f"--store={palimpsest.store}"]):
        ran = palimpsest.bare("status", "--json", *words)
        assert (ran.status, ran.document["candidates"]) == (0, 1)
    assert palimpsest.bare("status", "--store", "elsewhere").status == 4


@pytest.mark.parametrize("words", [(), ("--store", "x"), ("--json",), ("policy",), ("session",)])
def test_who_names_no_command_gets_help(palimpsest: CommandLine, words: tuple[str, ...]) -> None:
    helped = palimpsest.bare(*words)
    assert helped.status == 2
    assert "Usage" in helped.out + helped.err
    assert "Commands" in helped.out + helped.err


@pytest.mark.parametrize("words", [(), ("policy",), ("policy", "list"), ("recall",)])
def test_help_has_a_short_name(palimpsest: CommandLine, words: tuple[str, ...]) -> None:
    short, long = palimpsest.bare(*words, "-h"), palimpsest.bare(*words, "--help")
    assert (short.status, short.out) == (0, long.out)


@each("typed", NEAR)
def test_a_word_of_other_tools_gets_its_name_here(palimpsest: CommandLine, typed: str) -> None:
    ran = palimpsest.bare(typed)
    assert ran.status == 2
    assert NEAR[typed].split()[0] in " ".join(ran.err.split())
    known = [*COMMANDS, *ROOT.commands]
    named = NEAR[typed].replace(" (reversible)", "").replace(" or ", ", ").split(", ")
    assert [one for one in named if one not in known] == []


def test_a_typing_error_gets_the_nearest_command(palimpsest: CommandLine) -> None:
    assert "ingest" in palimpsest.bare("injest").err


def completed(*words: str) -> list[str]:
    """The completions that a shell gets for the last word."""
    asked = {
        "_PALIMPSEST_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": " ".join(["palimpsest", *words]),
    }
    ran = subprocess.run(
        [Path(sys.executable).parent / "palimpsest"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.stdout.split()


def test_presets_and_kinds_are_completed() -> None:
    assert completed("policy", "show", "replace") == ["replace-or-merge"]
    assert completed("reverse", "--decision", "llm_") == complete_kinds("llm_")
    assert complete_kinds("llm_") == ["llm_keep", "llm_reject", "llm_merge"]


def test_views_and_columns_are_completed_in_a_query(palimpsest: CommandLine) -> None:
    palimpsest.holds(row("Ada lives in Paris"))
    assert "decided_at" in completed("--store", str(palimpsest.store), "sql", '"SELECT decided_')
    context: Any = _Context(palimpsest)
    found = complete_columns(context, "SELECT decision, decided_")
    assert "SELECT decision, decided_at" in found
    assert complete_columns(context, "FROM dedup_l") == ["FROM dedup_log"]
    palimpsest.store = palimpsest.folder / "none"
    assert complete_columns(context, "SELECT dec") == []


class _Context:
    """A command's context, with a parent that names the store."""

    def __init__(self, line: CommandLine) -> None:
        self._line = line

    def find_root(self) -> _Context:
        return self

    @property
    def params(self) -> dict[str, Any]:
        return {"store": self._line.store}


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "palimpsest", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.startswith("palimpsest ")


def test_a_blank_store_is_not_this_folder(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["--store", ""], ["--store="]):
        assert palimpsest.bare(*words, "status").status == 2
    Path("palimpsest.toml").write_text('store = " "')
    assert palimpsest.bare("status").status == 2
    Path("palimpsest.toml").unlink()
    monkeypatch.setenv("PALIMPSEST_STORE", "")
    assert ".palimpsest" in palimpsest.bare("status").err


def test_no_line_is_broken_for_a_program(palimpsest: CommandLine) -> None:
    """Even long lines: piped output is searched line by line, and commands are copied from it."""
    long = "Ada has a boat " * 30
    palimpsest.ingest(row(long))
    [shown] = palimpsest.ids()
    because = "she said so " * 30
    palimpsest("retract", "--candidate", shown, "--because", because)
    lines = palimpsest("show", shown).out.splitlines()
    assert any(long.strip() in line for line in lines)
    assert any(because.strip() in line for line in lines)


@each(
    ("error", "kind", "detail", "status"),
    [
        (RefusedError("outranked", "no"), "refused", "refused: no (outranked)", 3),
        (UsageError("so not"), "usage", "so not", 2),
        (StoreError("damaged"), "store", "damaged", 4),
        (TransientError("busy"), "busy", "busy", 1),
        (WrongFileError("noise"), "wrong_file", "noise", 1),
        (InvalidInputError("field", "text: none"), "invalid", "text: none", 1),
        (ModelError("away"), "model", "away", 1),
        (RefusedError("embedder_down", "away"), "model", "away", 1),
        (RefusedError("model_unusable", "no JSON"), "model", "no JSON", 1),
        (OSError(28, "No space left", "log"), "system", "log: No space left", 1),
        (OSError(28, "Full"), "system", "standard output or another stream: Full", 1),
    ],
)
def test_an_error_has_a_kind_and_an_exit_status(
    error: Exception, kind: str, detail: str, status: int
) -> None:
    reason = getattr(error, "reason", None)
    assert _meaning(error) == (Problem(kind, detail, reason), status)


@pytest.mark.parametrize(
    ("words", "first", "rest"),
    [
        ("status --json", "--json", "status"),
        ("status --store a b", "--store a", "status b"),
        ("status --store=a b", "--store=a", "status b"),
        ("status --bootstrap a:1 --prefix p", "--bootstrap a:1 --prefix p", "status"),
        ("recall ada -- --json --store x", "", "recall ada -- --json --store x"),
        ("status --storey a", "", "status --storey a"),
        ("status --store", "--store", "status"),
    ],
)
def test_common_options_are_taken_from_wherever_they_stand(
    words: str, first: str, rest: str
) -> None:
    assert _common_first(words.split()) == (first.split(), rest.split())
