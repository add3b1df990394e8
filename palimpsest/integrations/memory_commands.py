"""Commands of Claude's memory tool: their arguments, and what the model reads of an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from anthropic.lib.tools import ToolError
from anthropic.types import beta
from pydantic import BaseModel, ValidationError

from palimpsest.contracts.arguments import require_known, wrong_call
from palimpsest.contracts.errors import InvalidInputError, RefusedError, UsageError
from palimpsest.contracts.model import wrong_keys

COMMANDS: Mapping[str, type[BaseModel]] = {
    "view": beta.BetaMemoryTool20250818ViewCommand,
    "create": beta.BetaMemoryTool20250818CreateCommand,
    "str_replace": beta.BetaMemoryTool20250818StrReplaceCommand,
    "insert": beta.BetaMemoryTool20250818InsertCommand,
    "delete": beta.BetaMemoryTool20250818DeleteCommand,
    "rename": beta.BetaMemoryTool20250818RenameCommand,
}


@contextmanager
def errors_for_model() -> Iterator[None]:
    """Turn the model's own mistakes and the store's refusals into errors that the model reads."""
    try:
        yield
    except (InvalidInputError, RefusedError, UsageError) as error:
        raise ToolError(f"Nothing was changed: {error}") from error


def read_command(command: Any) -> Any:
    """A command whose arguments are those that the SDK declares; UsageError names a wrong one.

    A null argument of another command counts as left out.
    """
    given = dict(command) if isinstance(command, Mapping | BaseModel) else {}
    name: Any = given.get("command")
    kind = COMMANDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UsageError(f"`command` must be one of {', '.join(COMMANDS)}")
    takes = kind.model_fields
    given = {key: value for key, value in given.items() if value is not None or key in takes}
    require_known(name, given, takes)
    try:
        return kind.model_validate(given, strict=True)
    except ValidationError as error:
        raise wrong_call(name, wrong_keys(error), takes) from None
