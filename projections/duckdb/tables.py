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
    Table,
)
from palimpsest.projections.base.rows import Gone, MemoryState, Rows, as_json
from palimpsest.projections.duckdb.facts import decision_row, score, verdict_rows
from palimpsest.projections.duckdb.statements import event_row, statement_rows, text_row
from palimpsest.streams.core.compared import Spoke
from palimpsest.streams.core.text import search_hash

LAYOUT = 14
"""Incremented when a column or its meaning changes: older segments are then recreated."""


def _spoken(spoken: Mapping[str, Spoke]) -> Sequence[dict[str, Any]]:
    return [
        {"candidate_id": candidate_id, **spoke._asdict()} for candidate_id, spoke in spoken.items()
    ]


_SPOKE = pa.struct([("candidate_id", TEXT), ("speaker", TEXT), ("hash", TEXT), ("certain", YES_NO)])
SPOKEN = Column("spoken", pa.list_(_SPOKE), shape=_spoken)
"""The faces that were compared in place of candidates' own texts."""
DECISIONS = Table(
    "decisions",
    ("position",),
    (
        Column("position", WHOLE),
        Column("decision_id", TEXT),
        Column("decision", TEXT),
        Column("owner_id", TEXT),
        Column("namespace", TEXT, "fields.namespace"),
        Column("candidate_id", TEXT),
        Column("joined_to", TEXT, "join.to"),
        Column("similarity", REAL, "join.similarity"),
        Column("face_rule", TEXT, "join.face"),
        Column("rank", TEXT),
        Column("decided_at", MOMENT),
        Column("policy", TEXT, "evidence.policy"),
        Column("check", TEXT, "evidence.check"),
        Column("cues", TEXTS, "nearest.cues"),
        Column("nearest_id", TEXT, "nearest.candidate_id"),
        Column("nearest_similarity", REAL, "nearest", score),
        Column("asked", TEXTS, "evidence.asked"),
        Column("neighbours", NEIGHBOURS, "evidence.neighbours"),
        Column("llm_answer", TEXT, "verdict.answer"),
        Column("llm_reasoning", TEXT, "verdict.reasoning"),
        Column("actor", TEXT),
        Column("because", TEXT),
        Column("source", TEXT),
        Column("session_id", TEXT, "fields.session_id"),
        Column("reason", TEXT, "invalid.reason"),
        Column("detail", TEXT, "invalid.detail"),
        Column("digest", TEXT, "invalid.digest"),
        Column("event", TEXT),
        Column("cause", TEXT),
        Column("consequence_of", TEXT),
        Column("differs", TEXTS),
        SPOKEN,
    ),
)
WORDS = Table(
    "words",
    ("position",),
    (
        Column("position", WHOLE),
        Column("event_id", TEXT),
        Column("event", TEXT),
        Column("decided_at", MOMENT),
        Column("owner_id", TEXT),
        Column("candidate_id", TEXT),
        Column("other_id", TEXT),
        Column("decision_id", TEXT),
        Column("session_id", TEXT),
        Column("separates", YES_NO),
        Column("withdraws", YES_NO),
        Column("rank", TEXT),
        Column("actor", TEXT),
        Column("because", TEXT),
        Column("cause", TEXT),
        Column("consequence_of", TEXT),
        Column("command", TEXT),
        Column("reason", TEXT),
        Column("detail", TEXT),
        Column("policy", TEXT),
        Column("similarity", REAL),
        Column("llm_answer", TEXT, "verdict.answer"),
        Column("llm_reasoning", TEXT, "verdict.reasoning"),
        SPOKEN,
    ),
)
"""Events other than decisions."""
COMPOSITIONS = Table(
    "compositions",
    ("position",),
    (
        Column("position", WHOLE),
        Column("event_id", TEXT),
        Column("decision_id", TEXT),
        Column("owner_id", TEXT),
        Column("text", TEXT, "composition.content.text"),
        Column("sources", TEXTS, "composition.sources"),
        Column("composed_at", MOMENT),
        Column("hash", TEXT, "composition.content", search_hash),
    ),
)

CANDIDATES = Table(
    "candidates",
    ("candidate_id",),
    (
        Column("candidate_id", TEXT, "entry.id"),
        Column("memory_id", TEXT),
        Column("owner_id", TEXT, "entry.fields.owner_id"),
        Column("namespace", TEXT, "entry.fields.namespace"),
        Column("text", TEXT),
        Column("source", TEXT, "entry.fields.source"),
        Column("producer_id", TEXT, "entry.fields.id"),
        Column("session_id", TEXT, "entry.fields.session_id"),
        Column("category", TEXT, "entry.fields.category"),
        Column("kind", TEXT, "entry.fields.kind"),
        Column("confidence", REAL, "entry.fields.confidence"),
        Column("importance", REAL, "entry.fields.importance"),
        Column("intensity", REAL, "entry.fields.intensity"),
        Column("topics", TEXTS, "entry.fields.topics"),
        Column("metadata", TEXT, "entry.fields.metadata", as_json),
        Column("occurred_at", MOMENT, "entry.fields.occurred_at"),
        Column("decided_at", MOMENT, "entry.decided_at"),
        Column("decision_id", TEXT, "entry.decision_id"),
        Column("decision", TEXT, "entry.decision"),
        Column("hash", TEXT, "entry.distinct.search_hash"),
        Column("verbatim", TEXT, "entry.distinct.hash"),
        Column("living", YES_NO),
        Column("pending", YES_NO),
        Column("waits_for", TEXTS),
        Column("held", TEXT),
        Column("expires_at", MOMENT),
        Column("position", WHOLE),
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
        Column("memory_id", TEXT),
        *(Column(name, kind) for name, kind in MEMORY_COLUMNS),
        Column("confidence", REAL),
        Column("importance", REAL),
        Column("contradicts", TEXTS),
        Column("expires_at", MOMENT),
        Column("living", YES_NO, "status", lambda status: status is not None),
        Column("position", WHOLE),
    ),
    buries=True,
)
REVIEWS = Table(
    "reviews",
    ("decision_id",),
    (
        Column("decision_id", TEXT),
        Column("review_status", TEXT, "review"),
        Column("position", WHOLE),
    ),
)
VERDICTS = Table(
    "verdicts",
    ("position", "ordinal"),
    (
        Column("position", WHOLE),
        Column("ordinal", WHOLE),
        Column("event_id", TEXT),
        Column("owner_id", TEXT),
        Column("candidate_id", TEXT),
        Column("answered_at", MOMENT),
        Column("neighbour_id", TEXT, "verdict.neighbour_id"),
        Column("answer", TEXT, "verdict.answer"),
        Column("reasoning", TEXT, "verdict.reasoning"),
        Column("model", TEXT, "verdict.model"),
        Column("prompt", TEXT, "verdict.prompt"),
        Column("input_tokens", WHOLE, "verdict.input_tokens"),
        Column("output_tokens", WHOLE, "verdict.output_tokens"),
        Column("cost_usd", REAL, "verdict.cost_usd"),
        Column("seconds", REAL, "verdict.seconds"),
        Column("calls", REAL, "verdict.calls"),
        Column("probability", REAL, "verdict.probability"),
        Column("step", TEXT),
        Column("certificate", TEXT, "verdict.certificate"),
        Column("protocol", TEXT, "verdict.protocol"),
        Column("remote", YES_NO, "verdict.remote"),
        Column("judge", TEXT, "verdict.judge"),
    ),
)


def _of_first(name: str, field: str, kind: pa.DataType = TEXT) -> Column:
    def value(first: RecordedFirstJudge | None) -> Any:
        return getattr(first, field, None)

    return Column(name, kind, "event.data.judge.first", value)


JUDGES = Table(
    "judges",
    ("position",),
    (
        Column("position", WHOLE),
        Column("judge", TEXT, "event.data.hash"),
        Column("set_at", MOMENT, "event.time"),
        *(
            Column(name, TEXT, f"event.data.judge.{name}")
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
        Column("position", WHOLE),
        Column("policy", TEXT, "event.data.hash"),
        Column("name", TEXT, "event.data.policy", lambda policy: policy.get("name")),
        Column("rules", TEXT, "event.data.policy", as_json),
        Column("actor", TEXT, "event.data.actor"),
        Column("set_at", MOMENT, "event.time"),
        Column("search", TEXT, "event.data.policy", lambda policy: policy.get("search")),
    ),
)


def _figure(name: str, kind: pa.DataType) -> Column:
    def figure(figures: Figures) -> float | None:
        return figures.get(name)

    return Column(name, kind, "event.data.figures", figure)


RUNS = Table(
    "runs",
    ("position",),
    (
        Column("position", WHOLE),
        Column("event_id", TEXT, "event.id"),
        Column("owner_id", TEXT, "event.partitionkey"),
        Column("step", TEXT, "event.data.step"),
        Column("due", MOMENT, "event.data.due"),
        Column("ran_at", MOMENT, "event.time"),
        Column("policy", TEXT, "event.data.policy"),
        Column("session_id", TEXT, "event.data.session_id"),
        Column("actor", TEXT, "event.data.actor"),
        Column("because", TEXT, "event.data.because"),
        _figure("memories_before", WHOLE),
        _figure("memories_after", WHOLE),
        _figure("removed_count", WHOLE),
        _figure("removal_rate", REAL),
        _figure("duration_ms", REAL),
        Column("figures", TEXT, "event.data.figures", as_json),
    ),
)
"""Batch runs; `figures` has all figures of a run, and the columns before it the common ones."""
STATEMENTS = Table(
    "statements",
    ("position", "ordinal"),
    (
        Column("position", WHOLE),
        Column("ordinal", WHOLE),
        Column("event", TEXT),
        Column("event_id", TEXT),
        Column("decision_id", TEXT),
        Column("owner_id", TEXT),
        Column("candidate_id", TEXT),
        Column("other_id", TEXT),
        Column("separates", YES_NO, "statement.separated"),
        Column("text", TEXT, "statement.text"),
        Column("rank", TEXT, "statement.rank"),
        Column("actor", TEXT),
        Column("because", TEXT),
        Column("cause", TEXT),
        Column("llm_reasoning", TEXT, "reasoning"),
        Column("decided_at", MOMENT),
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
        "memories": [_memory_row(noted) for noted in rows.memories.values()],
        "reviews": [*rows.reviews.values()],
        "verdicts": [row for fact in others for row in verdict_rows(fact)],
        "statements": [row for fact in rows.facts if fact.stated for row in statement_rows(fact)],
        "runs": [fact for fact in others if isinstance(fact.event, Ran)],
        "policies": [fact for fact in others if isinstance(fact.event, PolicySet)],
        "judges": [fact for fact in others if isinstance(fact.event, JudgeSet)],
    }


def _memory_row(noted: MemoryState | Gone) -> MemoryState:
    if isinstance(noted, Gone):
        return MemoryState(**_NOTHING | {"memory_id": noted.key, "position": noted.position})
    return noted


def arrow_tables(rows: Rows) -> dict[str, pa.Table]:
    """The Arrow tables of a commit; a table without rows is left out."""
    by_table = rows_by_table(rows)
    return {table.name: table.arrow(found) for table in TABLES if (found := by_table[table.name])}
