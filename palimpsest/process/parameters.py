"""Checks the arguments of a function against the types that it declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, Unpack, cast, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, ValidationError, create_model

from palimpsest.contracts.arguments import plainly, require_known, wrong_call
from palimpsest.contracts.errors import UsageError

Call = TypeVar("Call", bound=Callable[..., Any])


class Parameters:
    """The parameters of a function, with their types."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
        self.signature = inspect.signature(function)
        takes = self.signature.parameters.values()
        self._in_order = [p.name for p in takes if p.kind is p.POSITIONAL_OR_KEYWORD]
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        self._required = {p.name for p in takes if p.default is p.empty and p.kind not in several}
        self.hints: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        self._more: list[str] = []
        for name, hint in get_type_hints(function, include_extras=True).items():
            if get_origin(hint) is Unpack:
                self._more.append(name)
                fields |= get_type_hints(get_args(hint)[0], include_extras=True)
            elif name != "return":
                self.hints[name] = fields[name] = hint
        config = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True)
        # All are optional here: `bind` reports missing arguments.
        optional: dict[str, Any] = {name: (hint, None) for name, hint in fields.items()}
        self._model = create_model(self.name, __config__=config, **optional)

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """UsageError if an argument is unknown or missing, has a wrong type or is out of range."""
        values = self._by_name(args, kwargs)
        values.pop("self", None)
        values.pop("cls", None)
        require_known(self.name, values, self._model.model_fields)
        try:
            self._model.model_validate(values)
        except ValidationError as error:
            raise UsageError(f"{self.name}: {plainly(error)}") from None

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name; UsageError if one is missing, or there are too many."""
        given = dict(zip(self._in_order, args, strict=False)) | kwargs
        if len(given) == len(args) + len(kwargs) and self._required <= given.keys():
            return given  # `bind` would say the same, and takes ten times as long
        try:
            given = self.signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise wrong_call(self.name, str(error), self._model.model_fields) from None
        for name in self._more:
            given |= given.pop(name, {})
        return given


def check_arguments(function: Call) -> Call:
    """Make a function check its arguments: a wrong one is a UsageError."""
    parameters = cache(lambda: Parameters(function))

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        """Check the arguments and call the function."""
        parameters().check(args, kwargs)
        return function(*args, **kwargs)

    return cast("Call", call)


def made_by(way: str) -> Callable[[Call], Call]:
    """Decorate a constructor that users do not call: UsageError names the `way` to get the object.

    It is raised for a call whose arguments do not fit.
    """

    def decorate(construct: Call) -> Call:
        signature = inspect.signature(construct)

        @wraps(construct)
        def call(self: Any, *args: Any, **kwargs: Any) -> None:
            """Check that the arguments fit, and construct."""
            try:
                signature.bind(self, *args, **kwargs)
            except TypeError:
                raise UsageError(f"{type(self).__name__}: {way}") from None
            construct(self, *args, **kwargs)

        return cast("Call", call)

    return decorate
