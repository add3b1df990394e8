"""What a producer offers: one text and what is known about it (design section 1)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, StringConstraints, model_validator

from contracts.model import Model, Timestamp

MAX_TEXT_BYTES = 32 * 1024
DEFAULT_NAMESPACE = "default"


def _no_nul(value: str) -> str:
    if "\x00" in value:
        raise ValueError("contains a NUL character")
    return value


def _fits(value: str) -> str:
    if not value.strip():
        raise ValueError("is blank")
    if len(value) > MAX_TEXT_BYTES // 4 and len(value.encode()) > MAX_TEXT_BYTES:
        raise ValueError(f"is over {MAX_TEXT_BYTES} bytes of UTF-8")
    return _no_nul(value)


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("is blank")
    return _no_nul(value)


Text = Annotated[str, StringConstraints(strict=True), AfterValidator(_fits)]
Name = Annotated[str, StringConstraints(strict=True, max_length=512), AfterValidator(_not_blank)]
Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
Kind = Literal["fact", "perception"]


class CandidateFields(Model):
    """A candidate without its text: what may stay readable when the text is sealed."""

    owner_id: Name
    source: Name
    id: Name
    namespace: Name = DEFAULT_NAMESPACE
    session_id: Name | None = None
    occurred_at: Timestamp | None = None
    category: Name | None = None
    kind: Kind = "fact"
    confidence: Share | None = None
    importance: Share | None = None
    intensity: Share | None = None
    topics: tuple[Name, ...] = ()
    metadata: dict[str, JsonValue] = {}


_FIELDS = frozenset(CandidateFields.model_fields) | {"text"}


class Candidate(CandidateFields):
    """One text that a producer offers as a memory; immutable.

    `created_at` is accepted for `occurred_at`; fields that are not known are kept in `metadata`.
    """

    text: Text

    @model_validator(mode="before")
    @classmethod
    def _keep_unknown_fields(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        row = dict(row)
        created = row.pop("created_at", None)
        if created is not None and row.get("occurred_at") is None:
            row["occurred_at"] = created
        for name in [name for name, value in row.items() if value is None and name in _FIELDS]:
            if name not in ("owner_id", "text"):
                del row[name]
        unknown = {name: row.pop(name) for name in set(row) - _FIELDS}
        if unknown and isinstance(row.get("metadata", {}), dict):
            row["metadata"] = unknown | row.get("metadata", {})
        return row

    def fields(self) -> CandidateFields:
        """Everything but the text; nothing is validated twice."""
        values = self.__dict__.copy()
        del values["text"]
        return CandidateFields.model_construct(**values)
