"""The tables below DuckDB's views, and their rows in a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from palimpsest.contracts.events import Decided, Figures, JudgeSet, PolicySet, Ran
from palimpsest.contracts.evidence import RecordedFirstJudge
from palimpsest.projections.base.columns import (
    MOMENT,
    NEIGHBOURS,
    REAL,
    TEXT,
    TEXTS,
    WHOLE,
    YES_NO,
    Column,
    Shape,
    Table,
)
from palimpsest.projections.base.rows import Gone, MemoryState, Rows, as_json
from palimpsest.projections.duckdb.facts import decision_row, score, verdict_rows
from palimpsest.projections.duckdb.statements import event_row, statement_rows, text_row
from palimpsest.streams.core.compared import Spoke
from palimpsest.streams.core.text import search_hash

LAYOUT = 14
"""Incremented when a column or its meaning changes: older segments are then recreated."""


def _column(
    name: str, kind: pa.DataType, path: str | None = None, shape: Shape | None = None
) -> Column:
    return Column(name, kind, path or name, shape)


def _spoken(spoken: Mapping[str, Spoke]) -> Sequence[dict[str, Any]]:
    return [
        {"candidate_id": candidate_id, **spoke._asdict()} for candidate_id, spoke in spoken.items()
    ]


_SPOKE = pa.struct([("candidate_id", TEXT), ("speaker", TEXT), ("hash", TEXT), ("certain", YES_NO)])
SPOKEN = _column("spoken", pa.list_(_SPOKE), shape=_spoken)
"""The faces that were compared in place of candidates' own texts."""
DECISIONS = Table(
    "decisions",
    ("position",),
    (
        _column("position", WHOLE),
        _column("decision_id", TEXT),
        _column("decision", TEXT),
        _column("owner_id", TEXT),
        _column("namespace", TEXT, "fields.namespace"),
        _column("candidate_id", TEXT),
        _column("joined_to", TEXT, "join.to"),
        _column("similarity", REAL, "join.similarity"),
        _column("face_rule", TEXT, "join.face"),
        _column("rank", TEXT),
        _column("decided_at", MOMENT),
        _column("policy", TEXT, "evidence.policy"),
        _column("check", TEXT, "evidence.check"),
        _column("cues", TEXTS, "nearest.cues"),
        _column("nearest_id", TEXT, "nearest.candidate_id"),
        _column("nearest_similarity", REAL, "nearest", score),
        _column("asked", TEXTS, "evidence.asked"),
        _column("neighbours", NEIGHBOURS, "evidence.neighbours"),
        _column("llm_answer", TEXT, "verdict.answer"),
        _column("llm_reasoning", TEXT, "verdict.reasoning"),
        _column("actor", TEXT),
        _column("because", TEXT),
        _column("source", TEXT),
        _column("session_id", TEXT, "fields.session_id"),
        _column("reason", TEXT, "invalid.reason"),
        _column("detail", TEXT, "invalid.detail"),
        _column("digest", TEXT, "invalid.digest"),
        _column("event", TEXT),
        _column("cause", TEXT),
        _column("consequence_of", TEXT),
        _column("differs", TEXTS),
        SPOKEN,
    ),
)
WORDS = Table(
    "words",
    ("position",),
    (
        _column("position", WHOLE),
        _column("event_id", TEXT),
        _column("event", TEXT),
        _column("decided_at", MOMENT),
        _column("owner_id", TEXT),
        _column("candidate_id", TEXT),
        _column("other_id", TEXT),
        _column("decision_id", TEXT),
        _column("session_id", TEXT),
        _column("separates", YES_NO),
        _column("withdraws", YES_NO),
        _column("rank", TEXT),
        _column("actor", TEXT),
        _column("because", TEXT),
        _column("cause", TEXT),
        _column("consequence_of", TEXT),
        _column("command", TEXT),
        _column("reason", TEXT),
        _column("detail", TEXT),
        _column("policy", TEXT),
        _column("similarity", REAL),
        _column("llm_answer", TEXT, "verdict.answer"),
        _column("llm_reasoning", TEXT, "verdict.reasoning"),
        SPOKEN,
    ),
)
"""Events other than decisions."""
COMPOSITIONS = Table(
    "compositions",
    ("position",),
    (
        _column("position", WHOLE),
        _column("event_id", TEXT),
        _column("decision_id", TEXT),
        _column("owner_id", TEXT),
        _column("text", TEXT, "composition.content.text"),
        _column("sources", TEXTS, "composition.sources"),
        _column("composed_at", MOMENT),
        _column("hash", TEXT, "composition.content", search_hash),
    ),
)

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
        _column("metadata", TEXT, "entry.fields.metadata", as_json),
        _column("occurred_at", MOMENT, "entry.fields.occurred_at"),
        _column("decided_at", MOMENT, "entry.decided_at"),
        _column("decision_id", TEXT, "entry.decision_id"),
        _column("decision", TEXT, "entry.decision"),
        _column("hash", TEXT, "entry.distinct.search_hash"),
        _column("verbatim", TEXT, "entry.distinct.hash"),
        _column("living", YES_NO),
        _column("pending", YES_NO),
        _column("waits_for", TEXTS),
        _column("held", TEXT),
        _column("expires_at", MOMENT),
        _column("position", WHOLE),
    ),
)


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
    ("intensity", REAL),
    ("metadata", TEXT),
)
"""Columns of a memory that both projections have, besides its id and position."""

MEMORIES = Table(
    "memories",
    ("memory_id",),
    (
        _column("memory_id", TEXT),
        *(_column(name, kind) for name, kind in MEMORY_COLUMNS),
        _column("confidence", REAL),
        _column("importance", REAL),
        _column("contradicts", TEXTS),
        _column("expires_at", MOMENT),
        _column("living", YES_NO, "status", lambda status: status is not None),
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
        _column("calls", REAL, "verdict.calls"),
        _column("probability", REAL, "verdict.probability"),
        _column("step", TEXT),
        _column("certificate", TEXT, "verdict.certificate"),
        _column("protocol", TEXT, "verdict.protocol"),
        _column("remote", YES_NO, "verdict.remote"),
        _column("judge", TEXT, "verdict.judge"),
    ),
)


def _of_first(name: str, field: str, kind: pa.DataType = TEXT) -> Column:
    def value(first: RecordedFirstJudge | None) -> Any:
        return getattr(first, field, None)

    return _column(name, kind, "event.data.judge.first", value)


JUDGES = Table(
    "judges",
    ("position",),
    (
        _column("position", WHOLE),
        _column("judge", TEXT, "event.data.hash"),
        _column("set_at", MOMENT, "event.time"),
        *(
            _column(name, TEXT, f"event.data.judge.{name}")
            for name in ("protocol", "platform", "model", "review_model", "address")
        ),
        *(
            _of_first(f"first_{name}", name)
            for name in ("protocol", "platform", "model", "address")
        ),
        _of_first("certificate", "certificate"),
        _of_first("same_from", "same", REAL),
        _of_first("different_below", "different", REAL),
    ),
)
"""A row for each time that another judge answered; `first_…` is the first of two."""
POLICIES = Table(
    "policies",
    ("position",),
    (
        _column("position", WHOLE),
        _column("policy", TEXT, "event.data.hash"),
        _column("name", TEXT, "event.data.policy", lambda policy: policy.get("name")),
        _column("rules", TEXT, "event.data.policy", as_json),
        _column("actor", TEXT, "event.data.actor"),
        _column("set_at", MOMENT, "event.time"),
        _column("search", TEXT, "event.data.policy", lambda policy: policy.get("search")),
    ),
)


def _figure(name: str, kind: pa.DataType) -> Column:
    def figure(figures: Figures) -> float | None:
        return figures.get(name)

    return _column(name, kind, "event.data.figures", figure)


RUNS = Table(
    "runs",
    ("position",),
    (
        _column("position", WHOLE),
        _column("event_id", TEXT, "event.id"),
        _column("owner_id", TEXT, "event.partitionkey"),
        _column("step", TEXT, "event.data.step"),
        _column("due", MOMENT, "event.data.due"),
        _column("ran_at", MOMENT, "event.time"),
        _column("policy", TEXT, "event.data.policy"),
        _column("session_id", TEXT, "event.data.session_id"),
        _column("actor", TEXT, "event.data.actor"),
        _column("because", TEXT, "event.data.because"),
        _figure("memories_before", WHOLE),
        _figure("memories_after", WHOLE),
        _figure("removed_count", WHOLE),
        _figure("removal_rate", REAL),
        _figure("duration_ms", REAL),
        _column("figures", TEXT, "event.data.figures", as_json),
    ),
)
"""Batch runs; `figures` has all figures of a run, and the columns before it the common ones."""
STATEMENTS = Table(
    "statements",
    ("position", "ordinal"),
    (
        _column("position", WHOLE),
        _column("ordinal", WHOLE),
        _column("event", TEXT),
        _column("event_id", TEXT),
        _column("decision_id", TEXT),
        _column("owner_id", TEXT),
        _column("candidate_id", TEXT),
        _column("other_id", TEXT),
        _column("separates", YES_NO, "statement.separated"),
        _column("text", TEXT, "statement.text"),
        _column("rank", TEXT, "statement.rank"),
        _column("actor", TEXT),
        _column("because", TEXT),
        _column("cause", TEXT),
        _column("llm_reasoning", TEXT, "reasoning"),
        _column("decided_at", MOMENT),
    ),
)
"""Statements about pairs; `text` is the event of the composed text that the statement is about."""
TABLES = (
    DECISIONS,
    WORDS,
    COMPOSITIONS,
    CANDIDATES,
    MEMORIES,
    REVIEWS,
    VERDICTS,
    POLICIES,
    JUDGES,
    RUNS,
    STATEMENTS,
)


_NOTHING: dict[str, Any] = dict.fromkeys(MemoryState.__struct_fields__)


def rows_by_table(rows: Rows) -> dict[str, Sequence[Any]]:
    """The rows of a commit for each table."""
    others = [fact for fact in rows.facts if not isinstance(fact.event, Decided)]
    return {
        "decisions": [row for fact in rows.facts if (row := decision_row(fact)) is not None],
        "words": [word for fact in others if (word := event_row(fact)) is not None],
        "compositions": [text for fact in rows.facts if (text := text_row(fact)) is not None],
        "candidates": [*rows.candidates.values()],
        "memories": [
            MemoryState(**_NOTHING | {"memory_id": m.key, "position": m.position})
            if isinstance(m, Gone)
            else m
            for m in rows.memories.values()
        ],
        "reviews": [*rows.reviews.values()],
        "verdicts": [row for fact in others for row in verdict_rows(fact)],
        "statements": [row for fact in rows.facts if fact.stated for row in statement_rows(fact)],
        "runs": [fact for fact in others if isinstance(fact.event, Ran)],
        "policies": [fact for fact in others if isinstance(fact.event, PolicySet)],
        "judges": [fact for fact in others if isinstance(fact.event, JudgeSet)],
    }


def arrow_tables(rows: Rows) -> dict[str, pa.Table]:
    """The Arrow tables of a commit; a table without rows is left out."""
    by_table = rows_by_table(rows)
    return {table.name: table.arrow(found) for table in TABLES if (found := by_table[table.name])}
