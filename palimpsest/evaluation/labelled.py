"""Reads labelled pairs and clusters from CSV, JSON lines and Parquet.

Errors name the row and, if only one value is wrong, its column.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from palimpsest.contracts.candidate import Name, Text
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.model import first_rule
from palimpsest.streams.core.text import normalise
from palimpsest.streams.intake import RowReader, in_both_forms

Label = Literal["same", "different", "related"]
T = TypeVar("T")

LABELS: dict[str, Label] = {
    **dict.fromkeys(("same", "duplicate", "1", "1.0", "true", "yes"), "same"),
    **dict.fromkeys(
        ("different", "distinct", "contradiction", "0", "0.0", "false", "no"), "different"
    ),
    "related": "related",
}
"""The accepted names of labels, in any case. A contradiction must not be merged either."""

COLUMNS = {
    "a": ("a", "text_a", "text1", "sentence1"),
    "b": ("b", "text_b", "text2", "sentence2"),
    "language": ("language", "lang"),
    "cluster": ("cluster_id", "cluster", "gold_cluster"),
}
"""Columns with several possible names; the first one present counts."""

_TEXT: TypeAdapter[str] = TypeAdapter(Text)
_NAME: TypeAdapter[str] = TypeAdapter(Name)


class LabelledPair(NamedTuple):
    """Two texts and a person's label.

    If the label is `related` (one text says more than the other), neither joining nor keeping them
    apart is an error. `probability` is a judge's probability of *the same*, `model` the model that
    answered, `answer` its answer, and `prompt` the question it was asked.
    """

    id: str
    a: str
    b: str
    label: Label
    language: str | None = None
    source: str | None = None
    probability: float | None = None
    model: str | None = None
    answer: str | None = None
    prompt: str | None = None

    def judged(self, verdict: Verdict) -> LabelledPair:
        """The pair with a judge's verdict, if that has a probability."""
        if verdict.probability is None:
            return self
        return self._replace(
            probability=verdict.probability,
            model=verdict.model,
            answer=verdict.answer,
            prompt=verdict.prompt,
        )

    @property
    def key(self) -> bytes:
        """A digest of the two texts in either order; it decides which half a pair is in."""
        texts = sorted(hashlib.sha256(text.encode()).digest() for text in (self.a, self.b))
        return hashlib.sha256(b"".join(texts)).digest()

    @property
    def exact(self) -> bool:
        """Whether a search treats both as the same text; such pairs are counted separately."""
        return normalise(self.a) == normalise(self.b)


class LabelledMember(NamedTuple):
    """One text, its cluster, and its owner; only texts of the same owner are compared."""

    owner_id: str
    text: str
    cluster: str


@dataclass(frozen=True, slots=True)
class _LabelledRow:
    """A row of a file, for errors that name its place; numbered from 1, without a header."""

    file: Path
    number: int
    values: Mapping[str, Any]

    def wrong(self, column: str, what: str) -> NoReturn:
        """Raise UsageError with file, row and column."""
        raise UsageError(f"{self.file}, row {self.number}, column {column}: {what}")

    def checked(self, column: str, value: object, adapter: TypeAdapter[T]) -> T:
        """A value of the type; UsageError with what is wrong."""
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            return self.wrong(column, first_rule(error))

    def column(self, name: str) -> str | None:
        """The name under which a column is present with a value."""
        names = COLUMNS.get(name, (name,))
        return next((name for name in names if self.values.get(name) not in (None, "")), None)

    def required(self, name: str, adapter: TypeAdapter[T]) -> T:
        """The value of a column; UsageError if there is none."""
        column = self.column(name)
        if column is None:
            self.wrong(" or ".join(COLUMNS.get(name, (name,))), "is missing")
        return self.checked(column, self.values[column], adapter)

    def optional(self, name: str) -> str | None:
        """The value of a column as text, if there is one."""
        column = self.column(name)
        return None if column is None else str(self.values[column])


def read_pairs(files: Iterable[Path], renames: Mapping[str, str]) -> list[LabelledPair]:
    """The labelled pairs of files, in order; `renames` maps their columns to ours.

    UsageError names the file and the first row that is not a labelled pair.
    """
    return [_pair(row) for file in files for row in _rows(file, renames)]


def read_clusters(files: Iterable[Path], renames: Mapping[str, str]) -> list[LabelledMember]:
    """The texts of labelled clusters, in order; raises errors as `read_pairs` does.

    A row is one text with its cluster, or a cluster with all its `texts`.
    """
    return [member for file in files for row in _rows(file, renames) for member in _members(row)]


def digest_of(files: Sequence[Path]) -> str:
    """`sha256:` and the hex digest of the files' bytes, one after the other."""
    found = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            while block := opened.read(1 << 20):
                found.update(block)
    return f"sha256:{found.hexdigest()}"


def _pair(row: _LabelledRow) -> LabelledPair:
    a, b = row.required("a", _TEXT), row.required("b", _TEXT)
    given = str(row.values.get("label", "")).strip().casefold()
    if given not in LABELS:
        row.wrong("label", f"should be one of {', '.join(LABELS)}")
    return LabelledPair(
        id=row.optional("id") or f"{row.file.name}:{row.number}",
        a=a,
        b=b,
        label=LABELS[given],
        language=row.optional("language"),
        source=row.optional("source"),
        probability=_probability(row),
        model=row.optional("model"),
        answer=row.optional("answer"),
        prompt=row.optional("prompt"),
    )


def _probability(row: _LabelledRow) -> float | None:
    given = row.optional("probability")
    if given is None:
        return None
    try:
        value = float(given)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        row.wrong("probability", "should be a number from 0 to 1")
    return value


def _members(row: _LabelledRow) -> Iterator[LabelledMember]:
    cluster = row.optional("cluster")
    if cluster is None:
        row.wrong(" or ".join(COLUMNS["cluster"]), "is missing")
    owner = row.checked("owner_id", row.values.get("owner_id") or "owner", _NAME)
    texts = row.values.get("texts")
    if texts is None:
        yield LabelledMember(owner, row.required("text", _TEXT), cluster)
        return
    if not isinstance(texts, list):
        row.wrong("texts", "should be a list of texts")
    for text in texts:
        yield LabelledMember(owner, row.checked("texts", text, _TEXT), cluster)


def _rows(file: Path, renames: Mapping[str, str]) -> Iterator[_LabelledRow]:
    ours: Mapping[str, str] = in_both_forms(renames)
    for number, row in enumerate(RowReader([file]), 1):
        try:
            values = orjson.loads(row.raw)
        except orjson.JSONDecodeError as error:
            raise UsageError(
                f"{file}, row {number}, column {error.colno}: is not JSON: {error.msg}"
            ) from None
        if not isinstance(values, dict):
            raise UsageError(
                f"{file}, row {number}: is not a JSON object, or has more cells than the first line"
            )
        yield _LabelledRow(
            file, number, {ours.get(name, name): value for name, value in values.items()}
        )
