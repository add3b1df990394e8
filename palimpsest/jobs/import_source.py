"""Imports an existing store: open, map the fields, show the result, then decide row by row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from palimpsest.backends.projector_process import is_worth_while
from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import InvalidInputError, UsageError
from palimpsest.jobs.import_notes import Note, refuse_another, remember
from palimpsest.jobs.ingest import NAMED, Summary, summarise
from palimpsest.jobs.wrong_files import advice
from palimpsest.process.cutting import preview
from palimpsest.sources import (
    FieldMapping,
    Item,
    MappedSource,
    Source,
    SourcePlace,
    guess_mapping,
    open_source,
)
from palimpsest.sources.known_vectors import (
    AGREE,
    TRIED,
    KnownVectors,
    TokenisingEngine,
    lowest_agreement,
)
from palimpsest.sources.spool import Spool
from palimpsest.streams.embedder import Progress
from palimpsest.streams.garbage import collector_at_rest
from palimpsest.streams.intake import Prepared, RawRow, understand
from palimpsest.streams.write.inputs import Input

LOOKED_AT = 100
"""Number of first rows that are examined for objects, and read if they have none."""
MANY_ROWS = 30_000
"""An import that reuses vectors projects in a second process if it has at least this many rows.

That process takes more than a second to start, and decodes every event again. For rows without
vectors, the model needs the second core.
"""


def look_at(
    place: SourcePlace,
    *,
    source: str | None = None,
    owner: str | None = None,
    renames: Mapping[str, str] | None = None,
) -> MappedSource:
    """Open a source and guess from all its rows which fields are ours.

    `renames` (theirs to ours) are given, not guessed; rows without an owner belong to `owner`.
    Raises UsageError if this is not a source, or its text or owner cannot be determined.
    """
    if source is not None and not source.strip():
        raise UsageError("the source's name is blank")
    if place.history is not None and not place.history.exists():
        raise UsageError(f"there is no history {place.history}")
    opened = open_source(place)
    given = dict(renames or {})
    rows = opened.rows()
    first = [*islice(rows, LOOKED_AT)]
    mapping, known = guess_mapping(chain(first, rows), given, owner)
    if known or any(isinstance(row, dict) for row in first):
        _refuse_a_wrapping(opened, first, mapping)
        mapping.require(known)
    else:
        _refuse_unreadable(opened, first)
    return MappedSource(place, opened, source or opened.name, mapping, given, known, bool(source))


def _refuse_unreadable(source: Source, first: Sequence[Item]) -> None:
    """UsageError if the first rows are bytes, and none of them can be read."""
    raws = [RawRow(row, source.name) for row in first if isinstance(row, bytes)]
    if raws and all(isinstance(understand(row), InvalidInputError) for row in raws):
        told = advice(raws, {}, table="give it a name that ends in .csv")
        raise UsageError(f"no row of {source.name} can be read: {told}")


def _refuse_a_wrapping(source: Source, first: Sequence[Item], mapping: FieldMapping) -> None:
    """UsageError for a single object with the rows in one of its fields, as services return it."""
    if len(first) > 1 or mapping.fields.get("text") or not isinstance(first[0], dict):
        return
    for name, value in first[0].items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            raise UsageError(
                f"{source.name} is one object, with its rows inside `{name}`: write these to a file"
                f" of their own, as `jq .{name}` does"
            )


@contextmanager
def spool_rows(mapped: MappedSource, absent: float | None, progress: Progress) -> Iterator[Spool]:
    """Copy the rows of a source to a temporary spool, after which the source is not needed.

    UsageError if none of them can be read: the mapping is most likely wrong.
    """
    with Spool(mapped.name) as spool:
        for count in spool.fill(mapped.source.rows(), mapped.mapping, absent):
            progress(f"read {counted(count, 'row')}", mapped.source.share)
        counts = spool.counts()
        if counts.rows and counts.invalid == counts.rows:
            [first] = spool.invalid(1)
            raise UsageError(
                f"no row of {mapped.name} can be read; the first one: {first['detail']}; the"
                f" rows have {', '.join(mapped.known) or 'no fields'}: is the mapping right?"
            )
        yield spool


def foresee_import(mapped: MappedSource, spool: Spool) -> dict[str, Any]:
    """What an import would add, and which rows repeat others exactly."""
    counts = spool.counts()
    repeats = [
        {
            "owner_id": repeat.owner_id,
            "old_id": repeat.old_id,
            "keep_id": repeat.keep_id,
            "assertion_preview": preview(repeat.text),
        }
        for repeat in spool.repeats()
    ]
    conflicts = spool.conflicts(NAMED)
    wrong = sorted([*spool.invalid(NAMED), *conflicts.rows], key=itemgetter("row"))[:NAMED]
    return {
        **mapped.shown(),
        "rows": counts.rows,
        "owners": counts.owners,
        "invalid": counts.invalid + conflicts.count,
        "invalid_rows": wrong,
        "with_vectors": counts.vectors,
        "repeats": repeats,
        "remarks": [*mapped.source.remarks],
    }


def bring_in(
    writer: StoreWriter,
    mapped: MappedSource,
    spool: Spool,
    *,
    model: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """Decide on all rows of a source; returns an ingest's summary, with that of its `vectors`.

    It is idempotent: a known row changes nothing, so an interrupted import can be run again.
    `model` is the model that made the source's vectors, or None if it is unknown. Raises UsageError
    if the source was given no name and its default name belongs to another source.
    """
    note = Note.of(mapped)
    if not mapped.is_named:
        refuse_another(writer.reader.folder, note)
    remember(writer.reader.folder, note)
    total = spool.counts().rows
    known, vectors = _known_vectors(writer, spool, model)
    if known is not None:
        remember(writer.reader.folder, note.model_copy(update={"model": model}))

    def report(summary: Summary) -> None:
        """Report the progress, and the decisions so far."""
        kinds = summary.decisions
        stored, pending = kinds["stored"], kinds["pending"]
        joined = kinds.total() - stored - pending
        counts = f"{stored:,} stored, {joined:,} joined, {pending:,} pending"
        share = summary.rows / total if total else None
        progress(f"{summary.rows:,} of {total:,} rows: {counts}", share)

    with ExitStack() as during:
        during.enter_context(collector_at_rest())
        if known is not None:
            during.enter_context(writer.reader.embedding_by(known))
            if total >= MANY_ROWS and is_worth_while():
                during.enter_context(writer.reader.upkeep.projecting_beside())
        numbers: deque[int] = deque()
        rows = writer.stream(_inputs(spool, known, numbers), {})
        summary = summarise(rows, report, iter(numbers.popleft, None))
    summary.invalid_rows.sort(key=itemgetter("row"))
    summary.remarks = [*mapped.source.remarks]
    return summary.document() | {"vectors": vectors}


def _inputs(spool: Spool, known: KnownVectors | None, numbers: deque[int]) -> Iterator[Input]:
    """The rows in the order of the decisions; `numbers` receives their numbers in the source."""
    for number, row, meaning, vector in spool.in_order():
        numbers.append(number)
        if known is not None and vector is not None and isinstance(meaning, Prepared):
            known.expect(meaning.candidate.text, vector)
        yield Input(row, meaning)


def _known_vectors(
    writer: StoreWriter, spool: Spool, model: str | None
) -> tuple[KnownVectors | None, dict[str, Any]]:
    """An engine that reuses the source's vectors, or None; and the report on these vectors.

    They are reused if a few of them agree with the model's own.
    """
    count = spool.counts().vectors
    report: dict[str, Any] = {"there": count, "taken": False}
    if not count:
        return None, report
    if model is None:
        return None, report | {"because": "their model is unknown: name it with --model-of-vectors"}
    wanted = writer.reader.policy_in_force().model
    if model != wanted:
        return None, report | {"because": f"they are of {model}, and the policy uses {wanted}"}
    engine, samples = writer.reader.embedder().engine, spool.samples(TRIED)
    agreement = round(lowest_agreement(engine, samples), 6)
    report |= {"tried": len(samples), "lowest_cosine": agreement}
    if engine.model != model or not isinstance(engine, TokenisingEngine):
        return None, report | {"because": f"the engine here is that of {engine.model}"}
    if agreement < AGREE:
        again = counted(len(samples), "text")
        because = f"of {again} embedded again, one got another vector (cosine {agreement:.3f})"
        return None, report | {"because": because}
    return KnownVectors(engine), report | {"taken": True}
