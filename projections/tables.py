"""The tables that DuckDB's views stand on, and the rows of a commit for each of them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import orjson
import pyarrow as pa

from contracts.events import PolicySet
from contracts.evidence import Neighbour
from projections.columns import (
    MOMENT,
    NEIGHBOURS,
    REAL,
    TEXT,
    TEXTS,
    WHOLE,
    YES_NO,
    Column,
    Table,
    Value,
)
from projections.facts import (
    DecisionRow,
    decision_row,
    score,
    verdict_rows,
    verdict_that_counts,
)
from projections.rows import Gone, MemoryState, Rows

LAYOUT = 1
"""Raised when a column changes: segments of another layout are made anew from the log."""


def _column(name: str, kind: pa.DataType, value: Value | str | None = None) -> Column:
    if value is None or isinstance(value, str):
        return Column(name, kind, attrgetter(value or name))
    return Column(name, kind, value)


def _join(name: str) -> Value:
    return lambda row: getattr(row.join, name) if row.join is not None else None


def _field(name: str) -> Value:
    return lambda row: getattr(row.fields, name) if row.fields is not None else None


def _evidence(name: str) -> Value:
    return lambda row: getattr(row.evidence, name) if row.evidence is not None else None


def _invalid(name: str) -> Value:
    return lambda row: getattr(row.invalid.data, name) if row.invalid is not None else None


def _neighbours(row: DecisionRow) -> tuple[Neighbour, ...]:
    return row.evidence.neighbours if row.evidence is not None else ()


def _said(name: str) -> Value:
    def value(row: DecisionRow) -> Any:
        verdict = verdict_that_counts(row)
        return getattr(verdict, name) if verdict is not None else None

    return value


def _of_living(name: str) -> Value:
    """A column of a memory that stays empty where it is gone."""
    return lambda row: getattr(row, name) if isinstance(row, MemoryState) else None


DECISIONS = Table(
    "decisions",
    ("position",),
    (
        _column("position", WHOLE),
        _column("decision_id", TEXT),
        _column("decision", TEXT),
        _column("owner_id", TEXT),
        _column("namespace", TEXT, _field("namespace")),
        _column("candidate_id", TEXT),
        _column("joined_to", TEXT, _join("to")),
        _column("similarity", REAL, _join("similarity")),
        _column("face_rule", TEXT, _join("face")),
        _column("rank", TEXT),
        _column("decided_at", MOMENT),
        _column("policy", TEXT, _evidence("policy")),
        _column("check", TEXT, _evidence("check")),
        _column("cues", TEXTS, lambda row: row.nearest.cues if row.nearest is not None else ()),
        _column("nearest_id", TEXT, lambda row: row.nearest.candidate_id if row.nearest else None),
        _column("nearest_similarity", REAL, lambda row: score(row.nearest)),
        _column("asked", TEXTS, _evidence("asked")),
        _column("neighbours", NEIGHBOURS, _neighbours),
        _column("llm_answer", TEXT, _said("answer")),
        _column("llm_reasoning", TEXT, _said("reasoning")),
        _column("actor", TEXT),
        _column("because", TEXT),
        _column("source", TEXT, lambda row: row.fields.source if row.fields else _origin(row)),
        _column("session_id", TEXT, _field("session_id")),
        _column("reason", TEXT, _invalid("reason")),
        _column("detail", TEXT, _invalid("detail")),
        _column("digest", TEXT, _invalid("digest")),
    ),
)


def _origin(row: DecisionRow) -> str | None:
    return row.invalid.data.origin if row.invalid is not None else None


CANDIDATES = Table(
    "candidates",
    ("candidate_id",),
    (
        _column("candidate_id", TEXT, "entry.id"),
        _column("memory_id", TEXT),
        _column("owner_id", TEXT, "entry.fields.owner_id"),
        _column("namespace", TEXT, "entry.fields.namespace"),
        _column("text", TEXT),
        _column("source", TEXT, "entry.fields.source"),
        _column("producer_id", TEXT, "entry.fields.id"),
        _column("session_id", TEXT, "entry.fields.session_id"),
        _column("category", TEXT, "entry.fields.category"),
        _column("kind", TEXT, "entry.fields.kind"),
        _column("confidence", REAL, "entry.fields.confidence"),
        _column("importance", REAL, "entry.fields.importance"),
        _column("intensity", REAL, "entry.fields.intensity"),
        _column("topics", TEXTS, "entry.fields.topics"),
        _column("metadata", TEXT, lambda row: _json(row.entry.fields.metadata)),
        _column("occurred_at", MOMENT, "entry.fields.occurred_at"),
        _column("decided_at", MOMENT, "entry.decided_at"),
        _column("decision_id", TEXT, "entry.decision_id"),
        _column("decision", TEXT, "entry.decision"),
        _column("hash", TEXT, "entry.distinct.hash"),
        _column("living", YES_NO),
        _column("pending", YES_NO),
        _column("position", WHOLE),
    ),
)


def _json(value: Any) -> str | None:
    return orjson.dumps(value).decode() if value else None


MEMORY_COLUMNS = (
    ("owner_id", TEXT),
    ("namespace", TEXT),
    ("face", TEXT),
    ("face_of", TEXT),
    ("composed", YES_NO),
    ("members", WHOLE),
    ("topics", TEXTS),
    ("status", TEXT),
    ("needs_composition", YES_NO),
    ("accesses", WHOLE),
    ("last_accessed", MOMENT),
    ("created_at", MOMENT),
    ("updated_at", MOMENT),
    ("occurred_at", MOMENT),
)
"""What both projections say about a memory, beside its id and position."""

MEMORIES = Table(
    "memories",
    ("memory_id",),
    (
        _column("memory_id", TEXT, lambda row: row.key if isinstance(row, Gone) else row.memory_id),
        *(_column(name, kind, _of_living(name)) for name, kind in MEMORY_COLUMNS),
        _column("living", YES_NO, lambda row: isinstance(row, MemoryState)),
        _column("position", WHOLE),
    ),
    buries=True,
)
REVIEWS = Table(
    "reviews",
    ("decision_id",),
    (
        _column("decision_id", TEXT),
        _column("review_status", TEXT, "review"),
        _column("position", WHOLE),
    ),
)
VERDICTS = Table(
    "verdicts",
    ("position", "ordinal"),
    (
        _column("position", WHOLE),
        _column("ordinal", WHOLE),
        _column("event_id", TEXT),
        _column("owner_id", TEXT),
        _column("candidate_id", TEXT),
        _column("answered_at", MOMENT),
        _column("neighbour_id", TEXT, "verdict.neighbour_id"),
        _column("answer", TEXT, "verdict.answer"),
        _column("reasoning", TEXT, "verdict.reasoning"),
        _column("model", TEXT, "verdict.model"),
        _column("prompt", TEXT, "verdict.prompt"),
        _column("input_tokens", WHOLE, "verdict.input_tokens"),
        _column("output_tokens", WHOLE, "verdict.output_tokens"),
        _column("cost_usd", REAL, "verdict.cost_usd"),
        _column("seconds", REAL, "verdict.seconds"),
    ),
)
POLICIES = Table(
    "policies",
    ("position",),
    (
        _column("position", WHOLE),
        _column("policy", TEXT, "event.data.hash"),
        _column("name", TEXT, lambda row: row.event.data.policy.get("name")),
        _column("rules", TEXT, lambda row: _json(row.event.data.policy)),
        _column("actor", TEXT, "event.data.actor"),
        _column("set_at", MOMENT, "event.time"),
    ),
)
TABLES = (DECISIONS, CANDIDATES, MEMORIES, REVIEWS, VERDICTS, POLICIES)


def rows_by_table(rows: Rows) -> dict[str, list[Any]]:
    """The rows of a commit for each table."""
    decisions = [row for fact in rows.facts if (row := decision_row(fact)) is not None]
    return {
        "decisions": decisions,
        "candidates": list(rows.candidates.values()),
        "memories": list(rows.memories.values()),
        "reviews": list(rows.reviews.values()),
        "verdicts": [row for fact in rows.facts for row in verdict_rows(fact)],
        "policies": [fact for fact in rows.facts if isinstance(fact.event, PolicySet)],
    }


def arrow_tables(rows: Rows) -> dict[str, pa.Table]:
    """The Arrow tables of a commit; a table without rows is left out."""
    by_table = rows_by_table(rows)
    return {table.name: table.arrow(found) for table in TABLES if (found := by_table[table.name])}
