"""What is wrong with the arguments of a call: an error that names the field and what to do.

Every public call and constructor reports its arguments in this way, never with a library's error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import NODEFAULT, structs
from pydantic import BaseModel, TypeAdapter, ValidationError

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.light import Light
from palimpsest.contracts.model import rule_of

_FIELD = {"extra_forbidden": "has no field", "missing": "lacks the field"}


def wrong_call(name: str, problem: str, takes: Iterable[str]) -> UsageError:
    """The error of a call or a constructor, with the arguments that it takes."""
    return UsageError(f"{name}: {problem}; it takes {', '.join(takes)}")


def plainly(error: ValidationError) -> str:
    """What is wrong with each argument; never its value, which may be a memory's text."""
    found: dict[str, list[str]] = {}
    for problem in error.errors(include_input=False, include_context=False, include_url=False):
        messages = found.setdefault(f"`{problem['loc'][0]}` " if problem["loc"] else "", [])
        message = rule_of(problem)
        if problem["type"] in _FIELD and len(problem["loc"]) > 1:  # in a selection or a request
            if messages:
                continue  # report one at a time: the others are not alternatives
            message = f"{_FIELD[problem['type']]} {str(problem['loc'][-1])[:40]!r}"
        if message not in messages:
            messages.append(message)
    return "; ".join(f"{name}{', or '.join(values)}" for name, values in found.items())


def require_known(name: str, given: Iterable[str], takes: Mapping[str, Any]) -> None:
    """Raise UsageError, worded as Python words it, for the first unknown keyword."""
    for unknown in given:
        if unknown not in takes:
            raise wrong_call(name, f"got an unexpected keyword argument {unknown[:40]!r}", takes)


def _require_fields(
    name: str, args: tuple[Any, ...], given: Mapping[str, Any], needed: Iterable[str], takes: Any
) -> None:
    if args:
        raise wrong_call(name, "takes its fields by name", takes)
    for missing in needed:
        if missing not in given:
            raise wrong_call(name, f"missing a required argument: {missing!r}", takes)


def _wrong_values(name: str, error: ValidationError, takes: Iterable[str]) -> UsageError:
    """A constructor's error. Unless each problem is about one field, it lists all fields."""
    if all(problem["loc"] for problem in error.errors(include_input=False, include_context=False)):
        return UsageError(f"{name}: {plainly(error)}")
    return wrong_call(name, plainly(error), takes)


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class Constructed(ModelMetaclass):
    """The metaclass of models that users construct: a wrong argument raises UsageError.

    That holds for calls of the class only; parsing raises pydantic's error.
    """

    if not TYPE_CHECKING:  # else the types of arguments would no longer be checked

        def __call__(self, *args: Any, **given: Any) -> Any:
            """Construct an instance."""
            takes = self.model_fields
            needed = [name for name, field in takes.items() if field.is_required()]
            if self.model_config.get("extra") == "forbid":
                require_known(self.__name__, given, takes)
            _require_fields(self.__name__, args, given, needed, takes)
            try:
                return super().__call__(**given)
            except ValidationError as error:
                raise _wrong_values(self.__name__, error, takes) from None


class ConstructedLight(type(Light)):  # type: ignore[misc]
    """The same for parts of events: the constructor of a `Light` validates nothing."""

    if not TYPE_CHECKING:

        def __call__(self, *args: Any, **given: Any) -> Any:
            """Construct an instance."""
            fields, needed = _fields_of(self)
            require_known(self.__name__, given, fields)
            _require_fields(self.__name__, args, given, needed, fields)
            try:
                return msgspec.convert(given, self)
            except msgspec.ValidationError as wrong:
                try:
                    _adapter(self).validate_python(given)
                except ValidationError as error:
                    raise _wrong_values(self.__name__, error, fields) from None
                # pydantic accepts the value because it converts it, such as "1" to 1. msgspec's
                # message names the field and both types.
                raise UsageError(f"{self.__name__}: {wrong}") from None


@cache
def _fields_of(kind: type[Light]) -> tuple[dict[str, Any], list[str]]:
    """The fields, and the names of those without a default; finding them takes a while."""
    fields = {field.name: field for field in structs.fields(kind)}
    needed = [
        name
        for name, field in fields.items()
        if field.default is NODEFAULT and field.default_factory is NODEFAULT
    ]
    return fields, needed


@cache
def _adapter(kind: type[Light]) -> TypeAdapter[Light]:
    return TypeAdapter(kind)
