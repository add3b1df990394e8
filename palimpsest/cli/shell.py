"""Turns errors into exit statuses and messages (docs/commands.md)."""

from __future__ import annotations

import os
import sys
import traceback
from copy import copy
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from palimpsest.cli.index import LISTED, Commands
from palimpsest.contracts.errors import (
    InvalidInputError,
    ModelError,
    RefusedError,
    StoreError,
    TransientError,
    UsageError,
    WrongFileError,
)
from palimpsest.process.import_shims import import_help
from palimpsest.process.output import Output, drop, reader_has_left
from palimpsest.process.signals import INTERRUPTED

FAILED = 1
WRONG_USAGE = 2
REFUSED = 3
NO_STORE = 4
OUR_FAULT = 70
"""The status of a bug (EX_SOFTWARE in sysexits.h), distinct from that of a failed `verify`."""
WITH_VALUE = ("--store", "--bootstrap", "--prefix")
"""Common options with a value that may follow the command, like `--json`."""
HELP = frozenset({"--help", "-h"})
NEAR = {
    "init": "ingest",
    "load": "ingest",
    "ls": "list, decisions or review next",
    "query": "recall or sql",
    "search": "recall or find",
    "delete": "forget (reversible) or unmerge",
    "remove": "forget (reversible) or unmerge",
    "rm": "forget (reversible) or unmerge",
    "hide": "forget or retract",
    "edit": "update",
    "join": "merge",
    "split": "unmerge or separate",
    "backup": "log export",
    "config": "policy show",
    "info": "status",
    "stats": "status",
}
"""Command names of other tools, with our commands that do the same."""


@dataclass(frozen=True)
class Problem:
    """An error; with `--json` it is printed as `{"error": …}`."""

    kind: str
    detail: str
    reason: str | None = None


class Shell(TyperGroup):
    """All commands: accepts common options anywhere, and reports all errors in the same way."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands()

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the command line; wrong usage keeps its status even if it cannot be reported."""
        try:
            return super().main(*args, **settings)
        except OSError as full:
            if not isinstance(full.__context__, typer.TyperException):
                raise
            drop(sys.stderr)
            sys.exit(full.__context__.exit_code)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help from the index: no command is imported for it."""
        outlined = copy(self)
        outlined.commands = {
            name: TyperCommand(name=name, help=listed.line) for name, listed in LISTED.items()
        }
        super(Shell, outlined).format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse common options, even after the command; without a command, print the help."""
        first, rest = _common_first(args)
        if "--store=" in first or ("--store", "") in pairwise(first):  # a variable without a value
            ctx.fail("--store is blank: `.` is this folder")
        if not rest or HELP.intersection(rest):
            import_help()
        try:
            return super().parse_args(
                ctx, [*first, *rest] if rest or ctx.resilient_parsing else rest
            )
        except OSError as error:  # the version, the help or the completion cannot be printed
            raise typer.Exit(_report(ctx, *_meaning(error))) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; for another tool's word, suggest the command here."""
        near = None if args[0] in self.commands else NEAR.get(args[0])
        if near is not None:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; exit with its status."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError as error:
            if not reader_has_left(sys.stdout):
                raise typer.Exit(_report(ctx, *_meaning(error))) from None
            drop(sys.stdout)
        except typer.TyperException as error:
            from palimpsest.contracts.model import in_our_words

            error.message = in_our_words(error.message)
            _print_document(ctx, Problem("usage", error.format_message()))
            raise
        except KeyboardInterrupt:
            problem = Problem("interrupted", "interrupted; what was committed stays")
            raise typer.Exit(_report(ctx, problem, INTERRUPTED)) from None
        except Exception as error:  # noqa: BLE001 - any error is reported, without texts of memories
            raise typer.Exit(_report(ctx, *_meaning(error))) from None


def _common_first(args: list[str]) -> tuple[list[str], list[str]]:
    """Split the arguments into common options, in any position, and the rest."""
    end = args.index("--") if "--" in args else len(args)
    words = iter(args[:end])
    first: list[str] = []
    rest: list[str] = []
    for word in words:
        name, sign, _ = word.partition("=")
        if name in WITH_VALUE:
            first += [word] if sign else [word, *islice(words, 1)]
        else:
            (first if word == "--json" else rest).append(word)
    return first, [*rest, *args[end:]]


def _report(ctx: Any, problem: Problem, status: int) -> int:
    _print_document(ctx, problem)
    _print_problem(problem.detail)
    return status


def _print_problem(detail: str) -> None:
    try:
        Output(as_json=False).problem(detail)
    except OSError:
        drop(sys.stderr)  # it cannot be reported; the exit status remains


def _print_document(ctx: Any, problem: Problem) -> None:
    if ctx.params.get("as_json"):
        error = {name: value for name, value in asdict(problem).items() if value is not None}
        try:
            Output(as_json=True).answer({"error": error}, str)
        except OSError as full:
            if problem.kind != "system":  # which most likely says the same
                _print_problem(f"standard output: {full.strerror}")


def _meaning(error: Exception) -> tuple[Problem, int]:
    match error:
        case RefusedError(reason=reason, detail=detail):
            from palimpsest.contracts.answers import WITHOUT_MODEL

            if reason in WITHOUT_MODEL:  # as the model's error if it is executed in this process
                return Problem("model", detail, reason), FAILED
            return Problem("refused", f"refused: {detail} ({reason})", reason), REFUSED
        case UsageError():
            return Problem("usage", str(error)), WRONG_USAGE
        case StoreError():
            return Problem("store", str(error)), NO_STORE
        case TransientError():
            return Problem("busy", str(error)), FAILED
        case WrongFileError():
            return Problem("wrong_file", str(error)), FAILED
        case InvalidInputError(reason=reason, detail=detail):
            return Problem("invalid", detail, reason), FAILED
        case ModelError():
            return Problem("model", str(error)), FAILED
        case OSError(strerror=str(what)):
            where = error.filename or "standard output or another stream"
            return Problem("system", f"{where}: {what}"), FAILED
        case _:
            return Problem("bug", _print_traceback(error)), OUR_FAULT


def _print_traceback(error: Exception) -> str:
    """Print a bug's traceback without its message, which may quote a memory; return the advice."""
    try:
        if os.environ.get("PALIMPSEST_DEBUG"):
            traceback.print_exception(error, file=sys.stderr)
        else:
            traceback.print_tb(error.__traceback__, file=sys.stderr)
    except OSError:
        drop(sys.stderr)  # it cannot be reported; the exit status remains
    return (
        f"this is a bug: {type(error).__name__}. Its message may quote a memory and is left out;"
        " PALIMPSEST_DEBUG=1 shows it"
    )
