"""A LangGraph `BaseStore` over memories, without duplicates (docs/langgraph.md).

Needs the extra `langgraph`. An item has a namespace, a key and a value; the value's text becomes a
candidate, with the value as its metadata. A key's value is that of its latest living candidate,
whichever memory it joined: `get` reads candidates, `search` reads memories.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any, TypeVar, cast
from urllib.parse import unquote
from uuid import UUID, uuid5

import orjson
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from pydantic import TypeAdapter, ValidationError

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.candidate import Metadata, Text
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.identity import candidate_id
from palimpsest.contracts.model import same_json
from palimpsest.contracts.requested import name_request
from palimpsest.contracts.requests import Selection
from palimpsest.integrations.nearest import nearest_of
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.text import verbatim_hash

SOURCE = "langgraph"
"""The source of every candidate, and the key of the item in its metadata."""
TEXT_FIELDS = ("text", "content", "memory")
PUTS = UUID("7c0e4b62-94c1-5b7f-8a3d-2f1f6f0f9a27")
"""Namespace for the ids of puts, so that a put repeated after a crash has the same id."""

LEAST_RENEWED = 0.01
"""Minimum renewal of an item by a read, as a share of its `ttl`: each renewal is an event."""

Namespace = tuple[str, ...]
Value = Mapping[str, Any]
Checked = TypeVar("Checked")
_VALUES: TypeAdapter[dict[str, Any]] = TypeAdapter(Metadata)
_TEXTS: TypeAdapter[str] = TypeAdapter(Text)


def text_of_value(value: Value) -> str:
    """A value's text: its `text`, `content` or `memory`, or that of an inner value; else its JSON.

    The text is what is compared and searched.
    """
    return _text_field(value) or orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _text_field(value: Value) -> str | None:
    for name in TEXT_FIELDS:
        found = value.get(name)
        if isinstance(found, Mapping):
            found = _text_field(found)
        if isinstance(found, str) and found.strip():
            return found
    return None


class PalimpsestStore(BaseStore):
    """Long-term memory of a LangGraph agent, in an open store of memories.

    `owner_of` maps a namespace, or the prefix of a search, to the owner of its memories. If it
    returns None, or raises LookupError because the namespace is too short, a search or a list of
    namespaces covers all `owners`, if they are given; anything else raises UsageError. With
    `owners`, no other owner is accepted. `text_of` maps a value to its text. `ttl` has LangGraph's
    defaults for items that expire: `default_ttl` in minutes, and `refresh_on_read`. Expired items
    are never found, and never deleted.
    """

    supports_ttl = True

    def __init__(
        self,
        memories: Palimpsest,
        *,
        owner_of: Callable[[Namespace], str | None],
        owners: Sequence[str] = (),
        text_of: Callable[[Value], str] = text_of_value,
        ttl: TTLConfig | None = None,
    ) -> None:
        self.ttl_config = ttl
        self._memories = memories
        self._owner_of = owner_of
        self._owners = tuple(dict.fromkeys(owners))
        self._text_of = text_of

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: first the reads, then the last put of each key.

        Raises UsageError for a namespace without an owner, and for a value that is not JSON or has
        too long a text; earlier puts stay. A wrong number is refused before anything is done.
        """
        wanted = [*ops]
        for op in wanted:
            _require_arguments(op)
        with self._memories.turn.lock:
            results = [self._read(op) for op in wanted]
            puts = {(op.namespace, op.key): op for op in wanted if isinstance(op, PutOp)}
            for op in puts.values():
                self._write(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `batch`, on a thread."""
        return await asyncio.to_thread(self.batch, [*ops])

    # -- reads -------------------------------------------------------------------------------------

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                kept = self._items(self._owner(op.namespace)).current.get((op.namespace, op.key))
                if kept is not None and op.refresh_ttl:
                    self._refresh(kept)
                return None if kept is None else kept.item()
            case SearchOp():
                found = self._search(op)
                for kept, _ in found if op.refresh_ttl else ():
                    self._refresh(kept)
                return cast("Result", [kept.searched(score) for kept, score in found])
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None
            case _:
                raise UsageError(f"LangGraph's {type(op).__name__} is not supported")

    def _refresh(self, kept: Kept) -> None:
        """Renew an item for its whole `ttl`, if that adds at least a hundredth of it."""
        ttl, ends = kept.entry.fields.ttl, kept.entry.expires_at
        if ttl is None or ends is None:
            return
        now = self._memories.reader.clock()
        if now + timedelta(seconds=ttl) - ends < timedelta(seconds=ttl * LEAST_RENEWED):
            return
        with suppress(RefusedError):  # another process was first, or a person pinned it
            self._memories.renew(kept.entry.id, now + timedelta(seconds=ttl), actor=SOURCE)

    def _search(self, op: SearchOp) -> list[tuple[Kept, float | None]]:
        """The matching items of all owners meant: by score, else in the order of the owners."""
        owners = self._owners_meant(op.namespace_prefix)
        found = [one for owner_id in owners for one in self._search_in(self._items(owner_id), op)]
        if op.query and len(owners) > 1:
            found.sort(key=_score, reverse=True)
        return found[op.offset : op.offset + op.limit]

    def _search_in(self, items: _Items, op: SearchOp) -> list[tuple[Kept, float | None]]:
        """One item per memory: of those that pass, the one with the face, else the latest.

        Returns enough items for the requested page and all pages before it.
        """
        passing = items.by_memory(op.namespace_prefix, op.filter or {})
        if not op.query:
            found = sorted(passing.values(), key=items.place)
            return [(kept, None) for kept in found[: op.offset + op.limit]]
        namespaces = {kept.entry.fields.namespace for kept in passing.values()}
        near = nearest_of(
            self._memories,
            items.owner_id,
            op.query,
            passing,
            op.offset + op.limit,
            namespaces.pop() if len(namespaces) == 1 else None,
        )
        return [(passing[hit["memory_id"]], hit["score"]) for hit in near]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        prefixes = [
            _until_wildcard(condition)
            for condition in conditions
            if condition.match_type == "prefix"
        ]
        owners = self._owners_meant(max(prefixes, key=len, default=()))
        found = {
            namespace[: op.max_depth]
            for owner_id in owners
            for namespace, _ in self._items(owner_id).current
            if all(_matches(condition, namespace) for condition in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _items(self, owner_id: str) -> _Items:
        ledger = self._memories.reader.ledger(owner_id)
        return _Items(ledger, self._memories.reader.clock())

    def _owners_meant(self, prefix: Namespace) -> Sequence[str]:
        """The owner of a prefix; if it names none, all owners that the store was opened for."""
        if self._named_owner(prefix) is None and self._owners:
            return self._owners
        return (self._owner(prefix),)

    def _owner(self, namespace: Namespace) -> str:
        owner_id = self._named_owner(namespace)
        if owner_id is None:
            raise UsageError(
                "this namespace, or prefix, has no owner: `owner_of` must name one, because no call"
                " reaches the memories of all owners; `owners` says whose may be searched together"
            )
        if self._owners and owner_id not in self._owners:
            raise UsageError("the owner of this namespace is not among `owners`")
        return owner_id

    def _named_owner(self, namespace: Namespace) -> str | None:
        try:
            return self._owner_of(namespace) or None
        except LookupError:
            return None

    # -- writes ------------------------------------------------------------------------------------

    def _write(self, op: PutOp) -> None:
        items = self._items(self._owner(op.namespace))
        kept = items.current.get((op.namespace, op.key))
        if op.value is None:
            self._delete(items.living(op), items.owner_id)
        elif kept is None or op.ttl or kept.expires or not same_json(kept.value, op.value):
            self._put(op, _check_value(_VALUES, {**op.value}, "a value"), items, kept)

    def _put(self, op: PutOp, value: dict[str, Any], items: _Items, kept: Kept | None) -> None:
        """Record the new value: an update if only this key has the memory, else a new text."""
        before = items.living(op)
        number = len(items.of_key(op))
        try:
            words = orjson.dumps([op.namespace, op.key, number, value], option=orjson.OPT_SORT_KEYS)
        except TypeError:  # the only values of JSON that it does not write
            raise UsageError(
                "a value has an integer of more than 64 bits: put it as text"
            ) from None
        put_id = str(uuid5(PUTS, words.decode()))
        marked = {"key": op.key, "value": value}
        if kept is not None:
            marked["first"] = kept.first
        metadata = {SOURCE: marked}
        text = _check_value(_TEXTS, self._text_of(value), "the text of a value")
        lasts = op.ttl is None and kept is not None and not kept.expires
        alone = kept if kept is not None and lasts and items.alone(kept) else None
        if alone and self._update(alone, text, put_id, metadata, items.owner_id):
            return
        row = {"owner_id": items.owner_id, "namespace": written(op.namespace), "id": put_id}
        ttl = None if op.ttl is None else op.ttl * 60.0
        [outcome] = self._memories.submit(
            {**row, "text": text, "metadata": metadata, "ttl": ttl}, source=SOURCE
        )
        if outcome.result == "invalid":
            raise UsageError(f"the item cannot be kept: {outcome.detail}")
        decided = outcome.result != "published"
        if decided and outcome.candidate_id not in self._items(items.owner_id).living_ids(op):
            raise RefusedError(
                "forgotten",
                "a person has forgotten this text, or one that it rewords, and decides whether it"
                " may come back: the key keeps its value",
            )
        self._retract([kept for kept in before if kept.memory.id != outcome.memory_id])

    def _update(
        self, kept: Kept, text: str, put_id: str, metadata: dict[str, Any], owner_id: str
    ) -> bool:
        """Change the memory's text; returns whether this put is its candidate now.

        It is not if the memory has this text already, or if a person's statement forbids it.
        """
        if kept.entry.distinct.hash == verbatim_hash(text):
            return False
        try:
            with name_request(put_id):
                done = self._memories.update(
                    kept.entry.id,
                    text,
                    merge=True,
                    by="agent",
                    owner_id=owner_id,
                    source=SOURCE,
                    metadata=metadata,
                    because="put",
                )
        except RefusedError:
            return False  # it is then submitted, and the policy decides
        return done["candidate_id"] == candidate_id(owner_id, SOURCE, put_id)

    def _delete(self, entries: Sequence[Entry], owner_id: str) -> None:
        """Forget the memories that only this key is in; retract its candidates from all others."""
        own = set(entries)
        whole = [e for e in entries if all(m in own for m in e.memory.members if m.living)]
        if whole:
            ids = list(dict.fromkeys(entry.memory.id for entry in whole))
            self._memories.forget(
                ids, again="allow", by="agent", owner_id=owner_id, actor=SOURCE, because="deleted"
            )
        self._retract([entry for entry in entries if entry not in whole])

    def _retract(self, entries: Sequence[Entry]) -> None:
        """Retract candidates, reversibly, the latest first."""
        for entry in reversed(entries):
            self._memories.retract(
                Selection(candidate_id=entry.id), actor=SOURCE, because="put or deleted"
            )


def _require_arguments(op: Op) -> None:
    """UsageError for a value that is no dict, and for a number that is none, or too small."""
    for name in ("value", "filter"):
        if not isinstance(getattr(op, name, None), Mapping | None):
            raise UsageError(f"`{name}` must be a dict")
    for name, least in (("limit", 0), ("offset", 0), ("max_depth", 1)):
        number = getattr(op, name, None)
        if number is not None and (type(number) is not int or number < least):
            raise UsageError(f"`{name}` must be a whole number, {least} or more")
    ttl = getattr(op, "ttl", None)
    if ttl is not None and (type(ttl) not in (int, float) or not 0 < ttl < inf):
        raise UsageError("`ttl` must be a number of minutes, more than 0: 7 days are 10_080")


def _score(found: tuple[Kept, float | None]) -> float:
    return found[1] or 0.0


def _check_value(kind: TypeAdapter[Checked], found: Any, what: str) -> Checked:
    """A value in the form that the log keeps; UsageError if it cannot."""
    try:
        return kind.validate_python(found)
    except ValidationError as error:
        rule = error.errors(include_input=False, include_context=False)[0]["msg"]
        raise UsageError(f"{what} breaks a rule: {rule.removeprefix('Value error, ')}") from None


# -- the items ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """A key's item: the candidate with its value, and the key's first candidate."""

    entry: Entry
    oldest: Entry

    @property
    def expires(self) -> bool:
        """Whether it expires at all."""
        return self.entry.expires_at is not None

    @property
    def key(self) -> str:
        """Its key in the namespace."""
        return cast("str", _marked(self.entry)["key"])

    @property
    def value(self) -> dict[str, Any]:
        """The value that was put."""
        return cast("dict[str, Any]", _marked(self.entry)["value"])

    @property
    def namespace(self) -> Namespace:
        """Its namespace."""
        return read(self.entry.fields.namespace)

    @property
    def first(self) -> str:
        """The id of the item's first candidate."""
        return self.oldest.id

    def item(self) -> Item:
        """As LangGraph's item; the value is the caller's own."""
        return Item(**self._fields())

    def searched(self, score: float | None = None) -> SearchItem:
        """As the result of a search."""
        return SearchItem(**self._fields(), score=score)

    def _fields(self) -> dict[str, Any]:
        return {
            "value": deepcopy(self.value),
            "key": self.key,
            "namespace": self.namespace,
            "created_at": self.oldest.decided_at,
            "updated_at": self.entry.decided_at,
        }


class _Items:
    """An owner's items, from the current ledger; without those that have expired by `at`."""

    def __init__(self, ledger: Ledger, at: datetime) -> None:
        self.owner_id = ledger.owner_id
        self._by_key: dict[tuple[Namespace, str], list[Entry]] = {}
        self._namespaces: dict[Namespace, int] = {}
        for entry in ledger.entries.values():
            if entry.fields.source == SOURCE and SOURCE in entry.fields.metadata:
                namespace = read(entry.fields.namespace)
                place = (namespace, _marked(entry)["key"])
                self._by_key.setdefault(place, []).append(entry)
                self._namespaces.setdefault(namespace, entry.place)
        self.current = {
            place: Kept(latest, ledger.entries.get(_marked(latest).get("first", ""), latest))
            for place, entries in self._by_key.items()
            if (latest := _latest(entries)) is not None
            and (latest.expires_at is None or latest.expires_at > at)
        }

    def of_key(self, op: PutOp) -> list[Entry]:
        """Every candidate that was ever put under a key, in order."""
        return self._by_key.get((op.namespace, op.key), [])

    def living(self, op: PutOp) -> list[Entry]:
        """Those that were not retracted."""
        return [entry for entry in self.of_key(op) if entry.living]

    def living_ids(self, op: PutOp) -> set[str]:
        """The ids of the living ones."""
        return {entry.id for entry in self.living(op)}

    def place(self, kept: Kept) -> tuple[int, int]:
        """The order of items: by their namespaces' first item, then by their own."""
        return self._namespaces[kept.namespace], kept.oldest.place

    def alone(self, kept: Kept) -> bool:
        """Whether no other key is in the same memory."""
        return not any(
            other is not kept and other.entry.memory is kept.entry.memory
            for other in self.current.values()
        )

    def by_memory(self, prefix: Namespace, wanted: Value) -> dict[str, Kept]:
        """For each memory with an item that passes, the item to show, by the memory's id."""
        found: dict[str, Kept] = {}
        for kept in sorted(self.current.values(), key=_speaks_last):
            memory = kept.entry.memory
            if memory.former:
                continue
            if kept.namespace[: len(prefix)] == prefix and passes(kept.value, wanted):
                found[memory.id] = kept
        return found


def _speaks_last(kept: Kept) -> tuple[bool, int]:
    return kept.entry.memory.face.speaker is kept.entry, kept.entry.place


def _latest(entries: Sequence[Entry]) -> Entry | None:
    return next((entry for entry in reversed(entries) if entry.living), None)


def _marked(entry: Entry) -> dict[str, Any]:
    return cast("dict[str, Any]", entry.fields.metadata[SOURCE])


def written(namespace: Namespace) -> str:
    """A namespace of LangGraph as one of ours: `("memories", "ada")` is `memories.ada`."""
    return ".".join(part.replace("%", "%25").replace(".", "%2E") for part in namespace)


def read(namespace: str) -> Namespace:
    """Reverse `written`."""
    return tuple(map(unquote, namespace.split(".")))


def _until_wildcard(condition: MatchCondition) -> Namespace:
    path = tuple(condition.path)
    return path[: path.index("*")] if "*" in path else path


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)]
    if condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", found) for wanted, found in zip(path, part, strict=True))


# -- filters -------------------------------------------------------------------------------------

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": lambda a, b: _compared(operator.gt, a, b),
    "$gte": lambda a, b: _compared(operator.ge, a, b),
    "$lt": lambda a, b: _compared(operator.lt, a, b),
    "$lte": lambda a, b: _compared(operator.le, a, b),
}


def passes(value: Value, wanted: Value) -> bool:
    """Whether a value meets all conditions, by LangGraph's operators."""
    return all(_fits(value.get(name), asked) for name, asked in wanted.items())


def _fits(value: Any, asked: Any) -> bool:
    if isinstance(asked, Mapping):
        if any(name.startswith("$") for name in asked):
            return all(_comparison(name)(value, other) for name, other in asked.items())
        return isinstance(value, Mapping) and passes(value, asked)
    if isinstance(asked, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(asked):
            return False
        return all(_fits(one, other) for one, other in zip(value, asked, strict=True))
    return bool(value == asked)


def _comparison(name: str) -> Callable[[Any, Any], bool]:
    try:
        return _COMPARISONS[name]
    except KeyError:
        raise UsageError(f"filters have {', '.join(_COMPARISONS)}") from None


def _compared(compare: Callable[[float, float], bool], value: Any, other: Any) -> bool:
    """A comparison of numbers, which may be written as text; anything else does not pass."""
    numbers = [*_numbers((value, other))]
    return len(numbers) == 2 and compare(*numbers)


def _numbers(values: Iterable[Any]) -> Iterator[float]:
    for value in values:
        try:
            yield float(value)
        except (TypeError, ValueError):
            return
