"""Reads arguments as models write them, if they can mean only one thing.

Models pass null for what they leave out, numbers and lists as text, whole numbers where a text is
expected, and a whole object in place of the id that it contains. The schemas refuse these forms
(docs/mcp.md), so they are read here.
"""

from __future__ import annotations

from types import NoneType
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ValidationError

from palimpsest.contracts.candidate import MAX_METADATA_DEPTH
from palimpsest.contracts.model import Strict, deeper_than, read_json, utf8, write_json

Taken = TypeVar("Taken", bound=Strict)

UNDOABLE = ("undo", "decision_id", "memory_id")
"""Fields of an answer that name what `undo` or `redo` takes, the most exact first."""
IDS: dict[str, tuple[str, ...]] = {
    "memory_id": ("memory_id", "id"),
    "candidate_id": ("candidate_id", "memory_id", "id"),
    "some_id": ("memory_id", "candidate_id", "id"),
    "id": UNDOABLE,
    "memory_ids": ("memory_id", "id"),
}
"""For each argument that is an id, the fields of an object that may name it."""
AS_JSON = {"True": "true", "False": "false", "None": "null"}
AROUND = " []'\""
"""What surrounds the values of a list as Python writes it."""


def read_arguments(takes: type[Taken], given: dict[str, Any]) -> Taken:
    """The arguments of a tool; ValidationError if they do not fit in another form either."""
    asked = _without_null(takes, given)
    try:
        return takes.model_validate_json(write_json(asked))
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
    for name in wrong & asked.keys() & takes.model_fields.keys():
        asked[name] = _meant(takes, name, asked[name])
    return takes.model_validate_json(write_json(_without_null(takes, asked)))


def _without_null(takes: type[Strict], given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if not _left_out(takes, name, value)}


def _left_out(takes: type[Strict], name: str, value: Any) -> bool:
    """Whether the value is null, and the argument is optional but cannot be null."""
    field = takes.model_fields.get(name)
    if value is not None or field is None or field.is_required():
        return False
    return NoneType not in get_args(field.annotation)


def _meant(takes: type[Strict], name: str, value: Any) -> Any:
    """Another form of a value that was refused; the value itself if there is none."""
    annotation = takes.model_fields[name].annotation
    is_list = tuple in _kinds(annotation)
    if type(value) is int and str in _kinds(annotation):
        value = str(value)
    elif isinstance(value, str):
        value = _parsed(value)
        if is_list and isinstance(value, str) and name != "messages":
            value = [bare for one in value.split(",") if (bare := one.strip(AROUND))]
    if name in IDS:
        value = [_id(name, one) for one in value] if isinstance(value, list) else _id(name, value)
        if not is_list and isinstance(value, list) and len(value) == 1:
            [value] = value
    return [value] if is_list and isinstance(value, dict) else value


def _kinds(annotation: Any) -> set[Any]:
    """The types of values that a field takes; lists are tuples."""
    inner = (get_args(one)[0] if get_args(one) else one for one in get_args(annotation))
    return {get_origin(one) or one for one in (annotation, *inner)}


def _parsed(text: str) -> Any:
    """The value of a text that is JSON or a constant of Python's; any other text itself."""
    try:
        found = read_json(utf8(AS_JSON.get(text, text)))
    except ValueError:
        return text
    return text if deeper_than(found, MAX_METADATA_DEPTH) else found


def _id(name: str, value: Any) -> Any:
    """The id in an object that has one."""
    if not isinstance(value, dict):
        return value
    return next((value[key] for key in IDS[name] if isinstance(value.get(key), str)), value)
