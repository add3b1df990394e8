"""Every command's help says what it does, with a valid example, and is documented."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from palimpsest.cli.index import LISTED
from palimpsest.cli.main import app
from palimpsest.cli.shell import Shell
from tests.palimpsest.cli.conftest import CommandLine
from tests.tables import each

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "commands.md"
ROOT: Any = typer.main.get_command(app)


def commands(group: Any = ROOT, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command with its name, without groups."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands())
DESIGNED = (
    "ingest, add, clean, import, export, status, metrics, recall, find, likeness, check, show,"
    " why, triangles,"
    " decisions, changes, list, get, history, update, undo, redo, forget,"
    " merge, separate,"
    " withdraw, confirm, pin, renew, names, reinstate, retract, restore, unmerge, reverse,"
    " evaluate, backtest, calibrate,"
    " audit open, audit next, audit label, audit status, audit certify,"
    " audit recall, audit check, rebuild, verify, embed,"
    " sql, log export, log import,"
    " policy list, policy show, policy explain, policy check, policy set, schemas,"
    " dead-letters list,"
    " dead-letters show, dead-letters retry, doctor, topics create, topics check,"
    " topics restore, worker,"
    " project, verifier, judge doctor, judge pairs, serve, mcp,"
    " demo-judge, dedupe, schedule, review run, review next, review same, review different,"
    " review open,"
    " extract, prompt extract,"
    " hook pre-compact,"
    " session id, session end, session compacted"
).split(", ")


def example(command: Any) -> list[str]:
    prefix, _, line = command.epilog.partition(": ")
    assert prefix == "Example"
    words = shlex.split(line.partition(" > ")[0])
    assert words[0] == "palimpsest"
    return words[1:]


def test_all_commands_of_the_design_are_there() -> None:
    assert sorted(COMMANDS) == sorted(DESIGNED)


@each("name", COMMANDS)
def test_help_has_what_it_does_and_an_example(palimpsest: CommandLine, name: str) -> None:
    helped = palimpsest(*name.split(), "--help")
    words = " ".join(helped.out.split())
    assert helped.status == 0
    assert COMMANDS[name].help.split("\n")[0].split()[0] in words
    assert "Example: palimpsest" in words


@each("name", COMMANDS)
def test_no_word_of_a_help_is_taken_for_markup(palimpsest: CommandLine, name: str) -> None:
    """Names of settings are in brackets, which a terminal's help may take for a style."""
    command = COMMANDS[name]
    said = [command.help, *(getattr(one, "help", None) or "" for one in command.params)]
    bracketed = re.findall(r"\[[a-z_]+\]", " ".join(said))
    helped = palimpsest(*name.split(), "--help").out
    assert [one for one in bracketed if one not in helped] == []


@each("name", COMMANDS)
def test_each_example_can_be_typed(name: str) -> None:
    """The parser accepts it; nothing is run.

    Each context knows its parent: a command keeps the names of its help option from its first one.
    """
    words, command, context = example(COMMANDS[name]), ROOT, None
    while hasattr(command, "commands"):
        context = command.make_context("palimpsest", words, parent=context)
        words = context._protected_args + context.args
        command = command.commands[words.pop(0)]
    assert command is COMMANDS[name]
    command.make_context(name, words, parent=context)


def sections() -> dict[str, str]:
    parts = re.split(r"^### `(.+)`$", DOCUMENTATION.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_command_is_documented_and_no_other() -> None:
    assert sorted(sections()) == sorted(COMMANDS)


@each("name", COMMANDS)
def test_the_documentation_has_every_option_and_the_example(name: str) -> None:
    section = sections()[name]
    options = {
        option
        for parameter in COMMANDS[name].params
        for option in parameter.opts
        if option.startswith("-") and option != "--help"
    }
    assert {option for option in options if f"`{option}" not in section} == set()
    documented = re.findall(r"^- `(-[-\w]+)[^`]*`(?:, `(-\w))?", section, flags=re.MULTILINE)
    assert {option for names in documented for option in names if option} == options
    assert COMMANDS[name].epilog.removeprefix("Example: ") in section


def test_without_a_command_it_helps(palimpsest: CommandLine) -> None:
    helped = palimpsest()
    assert helped.status == 2
    assert "Usage" in helped.out + helped.err


def test_the_version_is_printed(palimpsest: CommandLine) -> None:
    told = palimpsest("--version")
    assert told.status == 0
    assert re.fullmatch(r"palimpsest \d+\.\d+\.\d+\n", told.out)


COSTLY = (
    "lancedb",
    "duckdb",
    "onnxruntime",
    "pyarrow",
    "numpy",
    "asyncio",
    "huggingface_hub",
    "markdown_it",
    "pydantic",
    "pygments",
    "tokenizers",
    "aiokafka",
    "faust",
    "anthropic",
)


IMPORTED = """
import sys
from palimpsest.cli.start import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def imported_by(*words: str) -> set[str]:
    """The modules that a process of the command line imports."""
    command = [sys.executable, "-c", IMPORTED, *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(ran.stderr.splitlines()[-1].split())


def commands_in(modules: set[str]) -> set[str]:
    """Those of the modules that have commands."""
    return modules & {f"palimpsest.cli.commands.{listed.module}" for listed in LISTED.values()}


def test_help_imports_nothing_costly_and_no_command() -> None:
    modules = imported_by("--help")
    assert "typer.rich_utils" in modules
    assert set(COSTLY) & modules == set()
    assert commands_in(modules) == set()


def test_a_command_imports_no_other_command() -> None:
    assert commands_in(imported_by("merge", "--help")) == {"palimpsest.cli.commands.statements"}


def test_the_help_is_what_the_commands_would_make_of_it(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = palimpsest("--help").out
    monkeypatch.delattr(Shell, "format_help")
    assert listed == palimpsest("--help").out


@each("name", LISTED)
def test_the_line_of_a_command_is_the_first_paragraph_of_its_help(name: str) -> None:
    paragraph = ROOT.commands[name].help.split("\n\n")[0]
    assert LISTED[name].line == " ".join(paragraph.split())


def test_what_help_leaves_out_is_there_for_others() -> None:
    code = (
        "from palimpsest.process.import_shims import import_help; import_help()\n"
        "import typer.rich_utils, rich\n"
        "print(hasattr(rich, 'markdown'), typer.rich_utils.Markdown.__module__)\n"
        "from rich import markdown, traceback\n"
        "print(markdown.Markdown('*a*').parsed[0].type, hasattr(traceback, 'install'))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["False rich.markdown", "paragraph_open True"]
