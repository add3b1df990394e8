"""Wraps every facade method: takes turns, validates arguments, translates errors.

Arguments are checked against the method's declared types, so that a wrong one raises `UsageError`
here rather than a library's error further in; so does a call with too many or too few arguments.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from functools import cache, wraps
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, get_args
from weakref import WeakSet

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from palimpsest.api.arguments import NAMES
from palimpsest.contracts.arguments import plainly
from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.model import NOT_UNICODE
from palimpsest.contracts.requests import Selection
from palimpsest.process.parameters import Parameters
from palimpsest.process.signals import run_interruptibly
from palimpsest.queries.ids import bare

CLOSED = "this store is closed: open it again with Palimpsest.open"
AT_FORK = "open stores after the fork, in the process that uses them, or start processes by `spawn`"

Kind = TypeVar("Kind", bound=type)
Result = TypeVar("Result")
Method = TypeVar("Method", bound=Callable[..., Any])


class Turn:
    """A store object's lock: its calls run one after another, whichever threads make them.

    Only the process that opened the store may use it, and only until it is closed.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self._process = os.getpid()
        self._closed = False
        _here.open.add(self)

    def __enter__(self) -> None:
        """Take the turn; UsageError as of `require`."""
        self.lock.acquire()
        try:
            self.require()
        except UsageError:
            self.lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self.lock.release()

    def end(self) -> bool:
        """Close it; returns whether the caller must release its resources.

        That is so at the first call, unless this is a forked child.
        """
        first, self._closed = not self._closed, True
        _here.open.discard(self)
        return first and self._process == os.getpid()

    def require(self) -> None:
        """Raise UsageError if it is closed, or in a forked child, which has none of its threads."""
        if self._closed:
            raise UsageError(CLOSED)
        if self._process != os.getpid():
            raise UsageError(
                f"this store was opened by process {self._process}, and a forked child cannot use"
                f" it: {AT_FORK}"
            )
        _here.used = True


class _OpeningProcess:
    """Whether this process has used stores, and whether its parent had when it was forked.

    If the parent had, the child cannot open any: LanceDB would crash there, and SQLite would take
    the parent's locks for its own.
    """

    def __init__(self) -> None:
        self.open: WeakSet[Turn] = WeakSet()
        self.used = False
        self.inherited = False

    def forked(self) -> None:
        """Note that this process is a forked child, and free the turns of its parent's threads."""
        self.inherited = self.inherited or self.used or bool(self.open)
        for turn in self.open:
            turn.lock = RLock()


_here = _OpeningProcess()
os.register_at_fork(after_in_child=_here.forked)


def require_no_inheritance() -> None:
    """Raise UsageError if this process was forked from one that used stores."""
    if _here.inherited:
        raise UsageError(
            "this process was forked from one that had opened a store, and cannot open any:"
            f" {AT_FORK}"
        )


def check_calls(kind: Kind) -> Kind:
    """Make every public method of a class check its arguments and take its turn.

    A wrong argument raises UsageError, an error of the operating system StoreError.
    """
    for name, member in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        match member:
            case FunctionType():
                checked = _with_arguments_checked(member)
                setattr(kind, name, checked if member in _waiting else _in_turn(checked))
            case property(fget=FunctionType() as getter):
                setattr(kind, name, property(_in_turn(getter)))
            case classmethod() | staticmethod():
                setattr(kind, name, type(member)(_with_arguments_checked(member.__func__)))
            case _:
                pass  # a constant
    return kind


_waiting: set[Callable[..., Any]] = set()


def takes_own_turns(method: Method) -> Method:
    """Mark a method that takes the turn itself, so that other calls may run while it waits."""
    _waiting.add(method)
    return method


def _in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Wait for the turn, and call the method."""
        with self.turn.lock:
            return method(self, *args, **kwargs)

    return call


def _with_arguments_checked(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        """Check the arguments, write all ids in the usual form, and call the method."""
        arguments = _arguments(method)
        arguments.check(args, kwargs)
        try:
            args, kwargs = arguments.with_bare_ids(args, kwargs)
            return method(*args, **kwargs)
        except (UnicodeEncodeError, PydanticSerializationError):
            raise UsageError(f"{method.__name__}: an argument {NOT_UNICODE}") from None
        except ValidationError as error:  # raised by the request built from all arguments
            raise UsageError(f"{method.__name__}: {plainly(error)}") from None
        except OSError as error:
            what = f"{error.filename or 'the system'}: {error.strerror or error}"
            raise StoreError(f"{method.__name__} failed: {what}") from error

    return call


class _Arguments(Parameters):
    """The parameters of a method, and which of them are ids."""

    def __init__(self, method: Callable[..., Any]) -> None:
        super().__init__(method)
        self._ids = [name for name, hint in self.hints.items() if _has_ids(hint)]

    def with_bare_ids(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments, with each URN or other spelling of an id replaced by the plain id.

        UsageError for a malformed URN, or one whose owner or namespace is not the id's.
        """
        if not self._ids:
            return args, kwargs
        bound = self.signature.bind(*args, **kwargs)
        for name in self._ids:
            if name in bound.arguments:
                bound.arguments[name] = bare(args[0].reader, bound.arguments[name])
        return bound.args, bound.kwargs


def _has_ids(hint: object) -> bool:
    """Whether the values of a type may be ids, or select by ids."""
    if isinstance(hint, type) and issubclass(hint, Selection):
        return True
    return hint is NAMES or any(
        map(_has_ids, (*get_args(hint), *getattr(hint, "__metadata__", ())))
    )


_arguments = cache(_Arguments)
"""Built when a method is first called."""


def run_to_end(doing: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end on a new event loop; UsageError inside a running one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_interruptibly(doing)
    doing.close()
    raise UsageError(
        "this call runs an event loop of its own: inside a running one, await it with"
        " asyncio.to_thread"
    )
