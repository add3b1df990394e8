"""Maps a source's fields to ours: guesses from names and values, and converts each row."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from palimpsest.contracts.candidate import end_of
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import deeper_than, write_json
from palimpsest.sources.contract import Fields, Item, Source, SourcePlace
from palimpsest.streams.intake import written_as

Array = NDArray[np.float32]

_USUAL = {
    "text": "text content memory data document page_content fact assertion message body sentence"
    " insight note value",
    "owner_id": "owner_id user_id user owner tenant customer",
    "id": "id memory_id _id uuid key",
    "session_id": "session_id session run_id conversation_id thread_id chat_id episode_id",
    "occurred_at": "occurred_at created_at timestamp time date created inserted_at updated_at",
    "expires_at": "expires_at expiration_date",
    "confidence": "confidence certainty",
    "importance": "importance",
    "category": "category",
    "namespace": "namespace",
    "topics": "topics tags",
    "metadata": "metadata meta properties",
    "vector": "vector embedding embeddings dense",
}
NAMES = {ours: tuple(names.split()) for ours, names in _USUAL.items()}
"""Usual names for each of our fields, likeliest first."""
TEXTS = frozenset(
    "inhalt nachricht notiz erinnerung"
    " texto contenido mensaje nota recuerdo"
    " texte contenu souvenir"
    " 本文 内容 テキスト メモ 記憶 文章 メッセージ"
    " 文本 正文 內容 记忆 消息"
    " 텍스트 내용 본문 메모 기억 메시지".split()
)
"""Names of the text in other languages. One counts in a source without a usual name, if it is the
only one there. Times and owners have none: they would change what earlier imports have read."""
NEEDED = ("text", "owner_id")
MEM0 = frozenset({"data", "hash"})
"""Fields that every mem0 row has."""
OF_MEM0 = {
    "owner_id": ("user_id", "agent_id", "run_id"),
    "occurred_at": ("updated_at", "created_at"),
}
"""For mem0 rows: the names of the owner's field, and of the time of the last update."""
_OURS: defaultdict[str, set[str]] = defaultdict(set)
"""The fields of ours that each usual name may stand for."""
for _ours, _theirs in (*NAMES.items(), *OF_MEM0.items()):
    for _name in _theirs:
        _OURS[_name].add(_ours)
for _name in TEXTS:
    _OURS[_name].add("text")
DERIVED = ("text_lemmatized",)
"""Fields that mem0 derives from the text for its own search."""
_TIMES = ("occurred_at", "expires_at")
_NUMBERS = ("confidence", "importance", "intensity")
_WORDS = ("owner_id", "id", "session_id", "namespace", "category")
_SHORTEST_VECTOR = 16
_DEEPEST = 100
"""Maximum depth of JSON text; candidates need far less, and a plain text may look deeper."""
_DIGITS_OF_A_DATE = re.compile(r"((?:19|20)\d{6})(\d{6})?", re.ASCII)
"""Such as 20260131, or 20260131120000 with a time of day. As seconds since 1970, the first would be
in August 1970; as milliseconds, the second would be after the year 2570."""
_MILLISECONDS = 1e11
"""A larger number must be milliseconds: as seconds it would be after the year 5138."""


@dataclass(frozen=True, slots=True)
class FieldMapping:
    """For each of our fields, its names in the source; the first with a value counts.

    `owner` is the owner of rows without one. `left_out` are the source's unmapped vectors and
    derived fields; all other unmapped fields are kept as metadata.
    """

    fields: dict[str, tuple[str, ...]]
    owner: str | None = None
    left_out: tuple[str, ...] = ()

    def require(self, known: Sequence[str]) -> None:
        """UsageError if the field of the text or the owner is unknown."""
        for ours in NEEDED:
            if not self.fields.get(ours) and not (ours == "owner_id" and self.owner):
                or_else = "--owner OWNER, or " if ours == "owner_id" else ""
                raise UsageError(
                    f"no field is known to be the {ours}: give {or_else}--map THEIRS={ours};"
                    f" the rows have {', '.join(known) or 'no fields'}"
                )

    def row(self, item: Item, source: str) -> tuple[bytes, Array | None]:
        """A row in our form, and its vector, if it has a usable one."""
        if isinstance(item, bytes):
            return item, None
        left = {name: value for name, value in item.items() if name not in self.left_out}
        fields: Fields = {"source": source}
        for ours, names in self.fields.items():
            value = _take(left, names)
            if value is not None:
                fields[ours] = value
        vector = as_vector(fields.pop("vector", None))
        for ours in fields.keys() & _CASTS.keys():
            fields[ours] = _CASTS[ours](fields[ours])
        if self.owner is not None:
            fields.setdefault("owner_id", self.owner)
        metadata = fields.get("metadata")
        if left and isinstance(metadata, dict | None):
            fields["metadata"] = left | (metadata or {})
        return write_json(fields, _plain, _OPTIONS), vector


_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY


def guess_mapping(
    rows: Iterable[Item], renames: dict[str, str], owner: str | None = None
) -> tuple[FieldMapping, list[str]]:
    """Guess the mapping from all rows, read once; returns it with the names of all their fields.

    A field is mapped to one of ours if its name is usual for that and most of its values fit; for
    a time, one fitting value is enough, because an unreadable time makes its row invalid. `renames`
    (theirs to ours) take precedence over guesses. UsageError if one names no field of ours.
    """
    for name in renames.values():
        if name not in NAMES:
            raise UsageError(f"{name} is not one of our fields: there are {', '.join(NAMES)}")
    columns, of_mem0 = _read_columns(rows)
    known = [*columns]
    given = _given_names(renames, known)
    taken = {name for names in given.values() for name in names}
    free = {name: column for name, column in columns.items() if name not in taken}
    fields = dict(given)
    for ours in NAMES:
        if ours not in given and (guessed := _guess(ours, free, of_mem0=of_mem0)):
            fields[ours] = guessed
    mapped = {name for names in fields.values() for name in names}
    vectors = [
        name
        for name, column in columns.items()
        if name not in mapped and "." not in name and column.fits("vector")
    ]
    derived = [name for name in DERIVED if of_mem0 and name in known]
    return FieldMapping(fields, owner, (*vectors, *derived)), known


def _read_columns(rows: Iterable[Item]) -> tuple[dict[str, _Column], bool]:
    """The fields of all rows by name, and whether every row is one of mem0's."""
    columns: defaultdict[str, _Column] = defaultdict(_Column)
    of_mem0 = set[bool]()
    for row in rows:
        if isinstance(row, dict):
            of_mem0.add(row.keys() >= MEM0)
            for name, value in _values(row):
                columns[name].take(name, value)
    return columns, of_mem0 == {True}


def _guess(ours: str, free: Mapping[str, _Column], *, of_mem0: bool) -> tuple[str, ...]:
    """The names of the fields that are probably this one of ours; empty if none is."""
    if of_mem0 and ours in OF_MEM0:
        return _fitting(OF_MEM0[ours], ours, free)
    usual = _fitting(_likely(NAMES[ours], free), ours, free)
    if usual or ours != "text":
        return usual[:1]
    texts = _fitting(_likely([*TEXTS], free), ours, free)
    return texts if len(texts) == 1 else ()


def _fitting(names: Iterable[str], ours: str, free: Mapping[str, _Column]) -> tuple[str, ...]:
    return tuple(name for name in names if name in free and free[name].fits(ours))


def _given_names(renames: dict[str, str], known: Sequence[str]) -> dict[str, tuple[str, ...]]:
    given: dict[str, tuple[str, ...]] = {}
    for theirs, ours in renames.items():
        given[ours] = (*given.get(ours, ()), *(written_as(theirs, known) or [theirs]))
    return given


def _likely(usual: Sequence[str], free: Collection[str]) -> Iterator[str]:
    """Field names that are usual for one of ours, those inside objects last."""
    for name in usual:
        yield from (one for one in free if one.casefold() == name)
    for name in usual:
        yield from (one for one in free if one.rpartition(".")[2].casefold() == name and "." in one)


def _values(row: Fields) -> Iterator[tuple[str, Any]]:
    """A row's fields and those inside its objects, by name."""
    for name, value in row.items():
        yield name, value
        if isinstance(value := _unpack(value), dict):
            yield from ((f"{name}.{inner}", value) for inner, value in value.items())


@dataclass(slots=True)
class _Column:
    """Counts a field's values, and how many of them fit each of our fields."""

    values: int = 0
    could: Counter[str] = field(default_factory=Counter)

    def take(self, name: str, value: Any) -> None:
        """Count a value of the field with this name."""
        if value is not None:
            self.values += 1
            usual = _OURS.get(name.rpartition(".")[2].casefold(), ())
            self.could.update(ours for ours in {*usual, "vector"} if _could_be(ours, value))

    def fits(self, ours: str) -> bool:
        """Whether the field can be this one of ours."""
        fitting = self.could[ours]
        return fitting > 0 and (ours in _TIMES or 2 * fitting > self.values)


def _could_be(ours: str, value: Any) -> bool:
    match ours:
        case "text":
            return isinstance(value, str)
        case "vector":
            vector = as_vector(value)
            return vector is not None and len(vector) >= _SHORTEST_VECTOR
        case "confidence" | "importance":
            number = _number(value)
            return isinstance(number, float | int) and 0 <= number <= 1
        case "occurred_at" | "expires_at":
            return _is_moment(value)
        case "metadata":
            return isinstance(_unpack(value), dict)
        case "topics":
            return isinstance(value, list | str)
        case _:
            return not isinstance(value, list | dict)


def _is_moment(value: Any) -> bool:
    moment = as_moment(value)
    try:
        return isinstance(moment, date) or bool(datetime.fromisoformat(moment))
    except (TypeError, ValueError):
        return False


# -- values --------------------------------------------------------------------------------------


def value_of(row: Fields, name: str) -> Any:
    """A field's value, which may be inside an object; None if there is none."""
    if name in row:
        return row[name]
    outer, dot, inner = name.partition(".")
    inside = _unpack(row.get(outer)) if dot else None
    return inside.get(inner) if isinstance(inside, dict) else None


def _take(left: Fields, names: Sequence[str]) -> Any:
    """Remove and return the value of the first field that has one."""
    for name in names:
        value = value_of(left, name)
        if value is None:
            continue
        if name in left:
            del left[name]
        else:
            outer, _, inner = name.partition(".")
            left[outer] = {
                key: value for key, value in _unpack(left[outer]).items() if key != inner
            }
        return value
    return None


def with_value(row: Fields, name: str, value: Any) -> Fields:
    """A row with a new value in a field, which may be inside an object."""
    if name in row or "." not in name:
        return row | {name: value}
    outer, _, inner = name.partition(".")
    return row | {outer: {**_unpack(row.get(outer) or {}), inner: value}}


def vector_like(value: Any, vector: Array) -> Any:
    """A vector in the same form and length as an existing one."""
    before = as_vector(value)
    assert before is not None, "it was read as one"
    length = np.linalg.norm(before) / np.linalg.norm(vector)
    numbers = (vector.astype(np.float32) * length).astype("<f4")
    match value:
        case bytes():
            return numbers.tobytes()
        case str():
            return json.dumps(numbers.tolist())
        case _:
            return numbers.tolist()


def _unpack(value: Any) -> Any:
    """Parse an object stored as JSON text, as in databases; other values are unchanged."""
    return _parsed(value) if isinstance(value, str) and value.startswith("{") else value


def _parsed(text: str) -> Any:
    """What JSON text says; the text itself if it is not JSON, or is nested too deeply."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if deeper_than(found, _DEEPEST) else found


def as_vector(value: Any) -> Array | None:
    """A vector from any stored form: numbers, JSON, or bytes of float32."""
    try:
        match value:
            case np.ndarray():
                found = value.astype(np.float32)
            case list() if value and isinstance(value[0], float | int):
                found = np.asarray(value, np.float32)
            case str() if value.startswith("["):
                found = np.asarray(_parsed(value), np.float32)
            case bytes() if value and len(value) % 4 == 0:
                found = np.frombuffer(value, "<f4")
            case _:
                return None
    except (ValueError, TypeError):
        return None
    usable = found.ndim == 1 and bool(np.isfinite(found).all()) and bool(found.any())
    return found if usable else None


def _number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _word(value: Any) -> Any:
    """An integer as text, even from a column that became float because of missing values."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def as_moment(value: Any) -> Any:
    """A time as ISO 8601; numbers are seconds or milliseconds since 1970, or digits of a date.

    Anything else is unchanged.
    """
    number = _number(value)
    if isinstance(number, float | int) and not isinstance(number, bool):
        whole = int(number) if isinstance(number, float) and number.is_integer() else number
        if digits := _DIGITS_OF_A_DATE.fullmatch(str(whole)):
            try:
                if digits[2]:
                    return datetime.fromisoformat(f"{digits[1]}T{digits[2]}").isoformat()
                return date.fromisoformat(digits[1]).isoformat()
            except ValueError:
                pass
        seconds = number / 1000 if abs(number) > _MILLISECONDS else number
        try:
            return datetime.fromtimestamp(seconds, UTC).isoformat()
        except (OverflowError, ValueError, OSError):
            return str(value)
    return value


def _topics(value: Any) -> Any:
    if isinstance(value, str):
        if value.startswith("["):
            return _parsed(value)
        return [topic.strip() for topic in value.split(",") if topic.strip()]
    return value


_CASTS = {
    **dict.fromkeys(_NUMBERS, _number),
    **dict.fromkeys(_WORDS, _word),
    "occurred_at": as_moment,
    "expires_at": lambda value: end_of(as_moment(value)),
    "topics": _topics,
    "metadata": _unpack,
}


def _plain(value: Any) -> Any:
    """Convert a value that JSON has no type for."""
    match value:
        case bytes():
            return value.hex()
        case date():
            return value.isoformat()
        case set() | frozenset():
            return sorted(value, key=str)
        case _:
            return str(value)


@dataclass(frozen=True, slots=True)
class MappedSource:
    """A source and its mapping; `name` becomes the `source` of its candidates.

    `is_named`: the name was given, and not derived from the path.
    """

    place: SourcePlace
    source: Source
    name: str
    mapping: FieldMapping
    renames: dict[str, str]
    known: list[str]
    is_named: bool

    def shown(self) -> dict[str, Any]:
        """For a person to confirm: the source's fields for each of ours, and its other fields."""
        mapped = {name for names in self.mapping.fields.values() for name in names}
        mapped |= set(self.mapping.left_out)
        return {
            "source": self.name,
            "kind": self.source.kind,
            "mapping": {ours: [*names] for ours, names in self.mapping.fields.items()},
            "owner": self.mapping.owner,
            "as_metadata": [name for name in self.known if "." not in name and name not in mapped],
            "left_out": [*self.mapping.left_out],
        }
