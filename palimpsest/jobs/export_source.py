"""Exports a cleaned copy of a source, in its own format (docs/import.md)."""

from __future__ import annotations

import shlex
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson

from palimpsest.backends.reader import Reader
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.jobs.import_notes import Note, notes_of
from palimpsest.process.cutting import preview
from palimpsest.projections.duckdb.queries import query
from palimpsest.sources import FieldMapping, Source, SourcePlace, open_source
from palimpsest.sources.contract import Fields, Item, Kind, Trust
from palimpsest.sources.copies import RowEdit, may_say, refuse_existing, refuse_target, write_copy
from palimpsest.sources.mapping import MEM0, value_of, vector_like
from palimpsest.streams.core.text import verbatim
from palimpsest.streams.embedder import Embedding, Engine, Progress
from palimpsest.streams.intake import Prepared, RawRow, RowCounter, understand

MOST_CHANGES = 200
"""Default limit of changes per run, as in the clean-up of the `layered` design."""
REPORT = ".report.json"
"""The suffix of the report's file, after the name of the copy."""
EXACT = "hash_exact"
"""A text lives only once in a store, so such a join always stands; a copy may keep both rows."""
_EACH = 5_000
"""Rows between two reports of progress."""
_OURS = "SELECT memory_id FROM candidates WHERE source = $source"
_OWNERS = "SELECT owner_id FROM candidates WHERE source = $source"
_MEMBERS = f"""
SELECT c.candidate_id, c.producer_id, c.memory_id, c.source = $source, c.living, c.text,
    m.face, m.face_of, coalesce(m.composed, false)
FROM candidates c LEFT JOIN memories m USING (memory_id)
WHERE c.memory_id IN ({_OURS}) ORDER BY c.position
"""  # noqa: S608 - no values
_JOINS = f"""
SELECT decision_id, candidate_id, joined_to, decision, similarity, standing, face_rule,
    event <> 'joined' AND policy IN (SELECT policy FROM policies WHERE search = 'candidates')
FROM joins WHERE owner_id IN ({_OWNERS}) ORDER BY position
"""  # noqa: S608 - no values
_SOURCES = f"SELECT DISTINCT unnest(sources) FROM compositions WHERE owner_id IN ({_OWNERS})"  # noqa: S608 - no values
Texts = Literal["original", "face"]
"""The texts of a copy's rows: their own, or those of their memories' faces."""


class _Member(NamedTuple):
    """A candidate of a memory that has rows of the source, and that memory's face."""

    id: str
    row_id: str
    memory_id: str
    is_row: bool
    living: bool
    text: str
    face: str | None
    face_of: str | None
    composed: bool

    @property
    def differs(self) -> bool:
        """Whether its memory's face is another text."""
        return self.face is not None and verbatim(self.face) != verbatim(self.text)


class _Join(NamedTuple):
    """A join; `own`: its policy searches candidates, so the texts themselves were compared."""

    decision_id: str
    newer: str
    older: str
    decision: str
    similarity: float | None
    standing: bool
    face_rule: str
    own: bool


class _Groups:
    """Groups of candidates that were united (union-find)."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}
        self.composed: set[str] = set()

    def of(self, one: str) -> str:
        """The representative of a candidate's group."""
        while (above := self._above.get(one, one)) != one:
            self._above[one] = one = self._above.get(above, above)
        return one

    def unite(self, one: str, other: str, *, composed: bool = False) -> None:
        """Unite two groups; the result has a composed text if either had."""
        first, second = self.of(one), self.of(other)
        self._above[second] = first
        if composed or second in self.composed:
            self.composed.add(first)

    def has_composed(self, *candidates: str) -> bool:
        """Whether a group of these ever had a composed text."""
        return any(self.of(candidate) in self.composed for candidate in candidates)


class _Cleaned:
    """What the store made of the source's rows that are unchanged since the import.

    With original texts, the rows of a memory form groups, and one row of each group is kept. Rows
    are in one group if their texts are the same verbatim, or were joined by comparing the texts
    themselves. A composed text belongs to no row, so it replaces none: its sources stay, and so do
    rows that were joined to it. With the texts of faces, a memory is one group.
    """

    def __init__(
        self,
        reader: Reader,
        source: str,
        rows: Iterable[_Row],
        texts: Texts,
        keep: Collection[str],
    ) -> None:
        reader.refresh()
        found = query(reader.projections, _MEMBERS, {"source": source})
        self._all = {member.id: member for member in (_Member(*row.values()) for row in found)}
        there = {  # an id may belong to another row by now
            row.candidate
            for row in rows
            if row.candidate in self._all and self._all[row.candidate].text == row.text
        }
        self.of = {
            name: member for name, member in self._all.items() if member.is_row and name in there
        }
        self._texts, self.keep = texts, keep
        self._edges: dict[str, list[tuple[str, _Join]]] = defaultdict(list)
        self._groups = _Groups()
        joins = query(reader.projections, _JOINS, {"source": source})
        self._group_joined(_Join(*row.values()) for row in joins)
        self._group_repeats()
        sources = query(reader.projections, _SOURCES, {"source": source})
        self._sources = {source for row in sources for source in row.values()}
        members: dict[str, list[_Member]] = defaultdict(list)
        for member in self.of.values():
            members[self._groups.of(member.id)].append(member)
        self._kept = {group: self._first(rows) for group, rows in members.items()}
        self.says_otherwise = any(
            member is not None and self._says_otherwise(member) for member in self._kept.values()
        )

    def _group_joined(self, joins: Iterable[_Join]) -> None:
        ever = _Groups()
        for join in joins:
            pair = join.newer, join.older
            own = join.face_rule != "text" and (join.own or not ever.has_composed(*pair))
            if join.standing and (own or self._texts == "face"):
                self._groups.unite(*pair)
                self._edges[join.newer].append((join.older, join))
                self._edges[join.older].append((join.newer, join))
            ever.unite(*pair, composed=join.face_rule == "text")

    def _group_repeats(self) -> None:
        """Unite the members of each memory whose texts are the same verbatim."""
        first: dict[tuple[str, str], str] = {}
        for member in self._all.values():
            said = member.memory_id, verbatim(member.text)
            self._groups.unite(first.setdefault(said, member.id), member.id)

    def _first(self, rows: Sequence[_Member]) -> _Member | None:
        """The row whose text is the face, else a source of the face, else the first to arrive.

        Of equal rows, the one with the highest confidence, then the newest, arrives first
        (`spool`). None if no row is living.
        """
        living = [row for row in rows if row.living]
        speakers = (member for member in living if member.id == member.face_of)
        return next(speakers, next(filter(self._is_source, living), living[0] if living else None))

    def _is_source(self, row: _Member) -> bool:
        return row.composed and row.id in self._sources

    def _says_otherwise(self, row: _Member) -> bool:
        """Whether a kept row gets its memory's text.

        With the texts of faces it always does, otherwise only if that text is in its group.
        """
        if not row.differs or row.row_id in self.keep:
            return False
        return self._texts == "face" or (
            not row.composed
            and row.face_of is not None
            and self._groups.of(row.face_of) == self._groups.of(row.id)
        )

    def change(self, row: _Member) -> dict[str, Any] | None:
        """The change to a row; None if it stays as it is."""
        kept = self._kept[self._groups.of(row.id)]
        told = {"old_id": row.row_id, "memory_id": row.memory_id, "text": row.text}
        if row.row_id in self.keep:
            return None
        if kept is None:
            take_back = f"palimpsest restore --candidate {row.id}"
            return told | {"change": "forgotten", "keep_id": None, "take_back": take_back}
        if row.id == kept.id:
            become = {"change": "text", "keep_id": row.row_id, "take_back": _keeping(row.row_id)}
            return told | become if self._says_otherwise(row) else None
        if self._texts == "face":
            # If the kept row keeps its own text, no row would have the face, so this one stays.
            stays = kept.row_id in self.keep and kept.differs
        else:
            stays = self._is_source(row)
        if stays:
            return None
        return told | {
            "change": "removed",
            "keep_id": kept.row_id,
            "keep_text": kept.face if self._says_otherwise(kept) else kept.text,
            **self._joined(row, kept),
        }

    def _joined(self, row: _Member, kept: _Member) -> dict[str, Any]:
        """The first join on the path from a row to the kept one: without it, both stay.

        `partner_text` is the text that it was joined to.
        """
        came: dict[str, tuple[str, _Join]] = {}
        waiting, seen = deque([row.id]), {row.id}
        while waiting:
            at = waiting.popleft()
            for other, join in self._edges[at]:
                if other not in seen:
                    seen.add(other)
                    came[other] = came.get(at, (other, join))
                    waiting.append(other)
        partner, first = came.get(kept.id, (kept.id, None))
        told: dict[str, Any] = {"partner": partner, "partner_text": self._all[partner].text}
        if first is None:  # the texts are the same verbatim, so no join connects them
            told |= {"decision": EXACT, "decision_id": None, "similarity": None}
        else:
            told |= {
                "decision": first.decision,
                "decision_id": first.decision_id,
                "similarity": first.similarity,
            }
        exact = told["decision"] == EXACT
        unmerge = f"palimpsest unmerge --decision {told['decision_id']}"
        return told | {"take_back": _keeping(row.row_id) if exact else unmerge}


def _keeping(row_id: str) -> str:
    return f"palimpsest export … --keep {shlex.quote(row_id)}"


def find_note(reader: Reader, path: Path, source: str | None) -> Note:
    """The note of the import from a path, as `source` if given.

    Raises UsageError unless there is exactly one.
    """
    notes = [note for note in notes_of(reader.folder) if note.path == str(path.absolute())]
    found = [note for note in notes if source in (None, note.source)]
    if len(found) == 1:
        return found[0]
    if not notes:
        raise UsageError(f"nothing was imported from {path} into this store")
    names = ", ".join(note.source for note in notes)
    if not found:
        raise UsageError(f"{path} was not imported as {source}: name another --source ({names})")
    raise UsageError(f"there were several imports from {path}: choose one with --source ({names})")


def export(
    reader: Reader,
    path: Path,
    to: Path,
    *,
    source: str | None,
    texts: Texts,
    keep: Collection[str],
    max_changes: int,
    trust: Trust,
    dry_run: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Write a cleaned copy of a source to `to`; returns the changes and how to undo each.

    Rows whose ids are in `keep` stay. At most `max_changes` changes are made, changed texts first;
    the others are counted as `left`. The report is also written to a file beside the copy. Raises
    RefusedError if one of these two exists, or if rows should get the `texts` of their faces and
    cannot; UsageError unless there was one import from this path, as `source` if given, or if the
    copy cannot be at `to`.
    """
    note = find_note(reader, path, source)
    history = Path(note.history) if note.history else None
    place = SourcePlace(path, note.table, note.query, history, trust)
    refuse_target(place, to)
    beside = to.with_name(to.name + REPORT)
    refuse_existing(beside)
    opened, mapping = open_source(place), note.mapping()
    cleaned = _Cleaned(reader, note.source, _rows(opened, note), texts, keep)
    engine = _engine(reader, note) if cleaned.says_otherwise else None
    changes = _Changes(max_changes)
    says = may_say(opened.kind, mapping, embeds=engine is not None)
    speaks = mapping.fields["text"][0] if says else None
    for row in _rows(opened, note):
        if row.number % _EACH == 0:
            progress(f"compared {counted(row.number, 'row')}", opened.share)
        changes.take(row, cleaned, speaks)
    if texts == "face" and changes.unsaid:
        raise RefusedError("texts_stay", _TEXTS_STAY.format(count=counted(changes.unsaid, "row")))
    report = {
        "source": note.source,
        "original": str(path),
        "to": str(to),
        "dry_run": dry_run,
        "texts": texts,
        **changes.report(),
        "take_back": (
            f"{path} is unchanged. To keep a row, run its `take_back` command and export to another"
            " place, or name the row with --keep."
        ),
    }
    if not dry_run:
        progress(f"writing {to.name}", None)
        edits = [edit for edit, _ in changes.made]
        if engine is not None:
            edits = _embedded(engine, edits, opened.kind, mapping)
        write_copy(opened.kind, place, to, edits, mapping)
        beside.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))
    return report


class _Row(NamedTuple):
    """A row of the source with its number, its candidate's id ("" for none) and its text."""

    number: int
    item: Item
    candidate: str
    text: str


@dataclass(slots=True)
class _Changes:
    """The changes of an export: the first `most` are made, all are counted.

    Changed texts come before removals, so that no row is removed before its text is in the copy.
    `unsaid` counts the rows that should get another text but cannot.
    """

    most: int
    rows: int = 0
    found: int = 0
    unknown: int = 0
    unsaid: int = 0
    _texts: list[tuple[RowEdit, dict[str, Any]]] = field(default_factory=list)
    _others: list[tuple[RowEdit, dict[str, Any]]] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)

    def take(self, row: _Row, cleaned: _Cleaned, speaks: str | None) -> None:
        """Add a row's change; `speaks` is the field of the text, None if it cannot be changed."""
        self.rows = row.number
        member = cleaned.of.get(row.candidate)
        if member is None or member.text != row.text:  # its id may belong to another row
            self.unknown += 1
            return
        change = cleaned.change(member)
        # In mem0's rows, hashes and words depend on the text.
        is_plain = isinstance(row.item, dict) and not row.item.keys() >= MEM0
        if change is not None and change["change"] != "text":
            self._change(row, change, None)
        elif change is not None and speaks is not None and is_plain:
            self._change(row, change, {speaks: member.face})
        elif member.living and member.differs and member.row_id not in cleaned.keep:
            self.unsaid += change is not None
            ids = {"old_id": member.row_id, "memory_id": member.memory_id}
            says = {"text": row.text, "memory_says": member.face}
            self.left.append({"row": row.number, **ids, **says})

    def _change(self, row: _Row, change: dict[str, Any], values: Fields | None) -> None:
        self.found += 1
        of_kind = self._others if values is None else self._texts
        if len(of_kind) < self.most:
            told = {"row": row.number, **change, "assertion_preview": preview(row.text)}
            of_kind.append((RowEdit(row.number, row.item, values), told))

    @property
    def made(self) -> list[tuple[RowEdit, dict[str, Any]]]:
        """The changes that are made, in the order of the rows."""
        return sorted(
            [*self._texts, *self._others][: self.most], key=lambda change: change[0].number
        )

    def report(self) -> dict[str, Any]:
        """The findings, counted, and row by row."""
        changed = [told for _, told in self.made]
        return {
            "rows": self.rows,
            "changes": self.found,
            "unknown": self.unknown,
            "left_as_they_are": len(self.left),
            "changed": len(changed),
            "left": self.found - len(changed),
            "changed_rows": changed,
            "rows_left_as_they_are": self.left[: self.most],
        }


_TEXTS_STAY = (
    "{count} cannot get the text of a face: rows of Qdrant and mem0 never do, others only if"
    " --model-of-vectors named the model of their vectors at the import, and it is the policy's."
    " Nothing was written; --texts original leaves such rows as they are"
)


def _engine(reader: Reader, note: Note) -> Engine | None:
    """The engine that made the vectors of a source, if known and in use here; else None."""
    if note.model is None or note.model != reader.policy_in_force().model:
        return None
    engine = reader.embedder().engine
    return engine if engine.model == note.model else None


def _embedded(
    engine: Engine, edits: Sequence[RowEdit], kind: Kind, mapping: FieldMapping
) -> list[RowEdit]:
    """The edits, with vectors for the new texts."""
    text, vector = mapping.fields["text"][0], mapping.fields["vector"][0]
    new = [edit.said[text] for edit in edits if edit.said is not None]
    made = iter(engine.embed(new) if new else ())
    return [
        edit._replace(said=edit.said | _vector(kind, edit.item, vector, next(made)))
        if edit.said is not None
        else edit
        for edit in edits
    ]


def _vector(kind: Kind, item: Item, field: str, made: Embedding) -> Fields:
    """A new vector for a row, in the form of its old one; nothing if it has none."""
    assert isinstance(item, dict), "no other row's text changes"
    vector = made.vector.astype(np.float32)
    before = value_of(item, field)
    if before is None and kind == "chroma":  # only the index has the vector
        before = vector.tobytes()
    return {} if before is None else {field: vector_like(before, vector)}


def _rows(source: Source, note: Note) -> Iterator[_Row]:
    mapping, counter = note.mapping(), RowCounter()
    for number, item in enumerate(source.rows(), 1):
        raw, _ = mapping.row(item, note.source)
        meaning = understand(RawRow(raw, note.source, counter.count(raw)))
        if isinstance(meaning, Prepared):
            yield _Row(number, item, meaning.candidate_id, meaning.candidate.text)
        else:
            yield _Row(number, item, "", "")
