"""A copy of a ledger for a trial: beside sets of ids, only what is read is copied.

An object is copied together with all that it refers to: the members of its memory, their joins, and
the candidates with the same text. So no part of the copy leads back to the original, which must not
change as long as the copy is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from copy import copy
from dataclasses import fields, replace
from itertools import chain
from typing import Any, TypeVar, cast, overload

from palimpsest.streams.core.ledger import (
    Distinct,
    Edge,
    Entry,
    Ledger,
    Memory,
    Scope,
    SplitMemory,
    Statement,
)

Value = TypeVar("Value")


def lazy_copy(ledger: Ledger) -> Ledger:
    """A ledger that can be changed without changing this one."""
    made = _like(ledger, _Copies())
    made.expiring = ledger.expiring.copy()  # `heapq` takes lists only; these name candidates by id
    return made


def glance(values: Mapping[str, Value]) -> Iterable[Value]:
    """The values of a ledger's dict, to be looked at and not changed: nothing is copied."""
    return values.unread() if isinstance(values, _LazyDict) else values.values()


def _like(original: Value, copies: _Copies) -> Value:
    """A ledger or a scope with lazy copies of its dicts and lists, and copies of its sets."""
    made = copy(original)
    for field in fields(cast("Any", made)):
        setattr(made, field.name, copies.of(getattr(original, field.name)))
    return made


class _Copies:
    """The copies made so far, each once, by the originals."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}
        self._stated: dict[Statement, _LazyList[Statement]] = {}
        self._unfinished: list[Any] = []

    def of(self, value: Value) -> Value:
        """The copy of a value; the value itself if nothing changes it."""
        made: Any = value
        match value:
            case Entry() | Edge() | Memory() | Distinct() | Statement() | SplitMemory():
                made = self._begin(value)
                while self._unfinished:  # a memory has thousands of members: no recursion
                    self._finish(self._unfinished.pop())
            case Scope():
                made = _like(value, self)
            case dict():
                made = _LazyDict(value, self)
            case list():
                made = _LazyList(value, self)
                if value and isinstance(value[0], Statement):
                    # Both candidates of a pair have the same list.
                    made = self._stated.setdefault(value[0], made)
            case set():
                made = value.copy()  # of ids: .1 ms for 5,000
            case _ if type(value) is tuple:
                made = tuple(map(self.of, cast("tuple[Any, ...]", value)))
        return cast("Value", made)

    def latest(self, original: Value) -> Value:
        """The copy of an object; the object itself if it was not copied."""
        made: Value = self._made.get(original, original)
        return made

    def _begin(self, original: Value) -> Value:
        made: Value | None = self._made.get(original)
        if made is None:
            made = self._made[original] = copy(original)
            self._unfinished.append(made)
        return made

    def _each(self, originals: Iterable[Value]) -> list[Value]:
        return [self._begin(original) for original in originals]

    def _finish(self, made: Entry | Edge | Memory | Distinct | Statement | SplitMemory) -> None:
        """Replace what a copy shares with its original by copies."""
        match made:
            case Entry():
                made.distinct, made.memory = self._begin(made.distinct), self._begin(made.memory)
                made.edges = self._each(made.edges) or ()
                made.apart = tuple(self._each(made.apart))
                made.updates = tuple(self._each(made.updates))
            case Edge():
                made.newer, made.older = self._begin(made.newer), self._begin(made.older)
                made.over = made.over and self._begin(made.over)
                made.texts = made.texts.copy()
                texts = made.composed and {
                    i: self._begin(text) for i, text in made.composed.items()
                }
                made.composed = texts
                if made.reversed_by is not None and made.reversed_by.apart is not None:
                    apart = self._begin(made.reversed_by.apart)
                    made.reversed_by = replace(made.reversed_by, apart=apart)
            case Memory():
                made.members = self._each(made.members)
                made.apart = made.apart and self._begin(made.apart)
                made.divided = made.divided and {*self._each(made.divided)}
                made.refold()
            case Distinct():
                made.members = self._each(made.members)
                made.alias = made.alias and self._begin(made.alias)
                made.composed_for = tuple(self._each(made.composed_for))
                made.beside = made.beside and made.beside.copy()
            case SplitMemory():
                made.ends = Counter(made.ends)
            case Statement():
                pass


class _LazyDict(MutableMapping[str, Value]):
    """A dict whose values are copied when they are read; in the order of the original."""

    def __init__(self, original: dict[str, Value], copies: _Copies) -> None:
        self._original, self._copies = original, copies
        self._own: dict[str, Value] = {}
        self._gone: set[str] = set()

    def __getitem__(self, key: str) -> Value:
        if key not in self._own:
            if key in self._gone:
                raise KeyError(key)
            self._own[key] = self._copies.of(self._original[key])
        return self._own[key]

    def __setitem__(self, key: str, value: Value) -> None:
        self._own[key] = value

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self._own.pop(key, None)
        if key in self._original:
            self._gone.add(key)

    def clear(self) -> None:
        """Remove all keys at once: `MutableMapping` goes through those that are gone for each."""
        self._own.clear()
        self._gone.update(self._original)

    def __contains__(self, key: object) -> bool:
        return key in self._own or (key in self._original and key not in self._gone)

    def __iter__(self) -> Iterator[str]:
        return chain((key for key in self._original if key not in self._gone), self._added())

    def __len__(self) -> int:
        return len(self._original) - len(self._gone) + len(self._added())

    def unread(self) -> Iterator[Value]:
        """The values; those that were not copied are the original's own.

        What was copied with another value may have changed without having been read here.
        """
        for key in self:
            yield self._own[key] if key in self._own else self._copies.latest(self._original[key])

    def _added(self) -> list[str]:
        return [key for key in self._own if key not in self._original or key in self._gone]


class _LazyList(Sequence[Value]):
    """A list that only grows, whose items are copied when they are read."""

    def __init__(self, original: list[Value], copies: _Copies) -> None:
        self._original, self._copies = original, copies
        self._added: list[Value] = []

    @overload
    def __getitem__(self, at: int) -> Value: ...
    @overload
    def __getitem__(self, at: slice) -> list[Value]: ...
    def __getitem__(self, at: int | slice) -> Value | list[Value]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        begun = len(self._original)
        at = range(len(self))[at]
        return self._copies.of(self._original[at]) if at < begun else self._added[at - begun]

    def __len__(self) -> int:
        return len(self._original) + len(self._added)

    def append(self, value: Value) -> None:
        self._added.append(value)

    def __iadd__(self, values: Iterable[Value]) -> _LazyList[Value]:
        self._added += values
        return self
