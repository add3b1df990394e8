"""A source as it is after the cleaning: in its own form, beside the original (docs/import.md)."""

from __future__ import annotations

import shlex
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from palimpsest.contracts.errors import UsageError
from palimpsest.import_notes import Note, notes_of
from palimpsest.local_gateway import LocalGateway
from palimpsest.projections.analysts import query
from palimpsest.sources import FieldMapping, Place, Source, open_source
from palimpsest.sources.contract import Fields, Item, Kind, Trust
from palimpsest.sources.copies import Edit, may_say, refuse_target, write_copy
from palimpsest.sources.mapping import MEM0, value_of, vector_like
from palimpsest.sources.spool import PREVIEW
from palimpsest.streams.embedder import Embedding, Engine, Progress
from palimpsest.streams.intake import Prepared, RawRow, RowCounter, understand

MOST_CHANGES = 200
"""The default of the most changes in one run, as in the clean-up of the design `layered`."""
REPORT = ".report.json"
"""What the report's file is called, behind the name of the copy."""
EXACT = "hash_exact"
"""A text lives once in a store, so such a join stands; the copy can have both rows all the same."""
_EACH = 5_000
"""Rows between two reports of progress."""
_MEMBERS = """
SELECT c.candidate_id, c.producer_id, c.memory_id, c.living, c.text, m.face, m.face_of
FROM candidates c LEFT JOIN memories m USING (memory_id) WHERE c.source = ? ORDER BY c.position
"""
_JOINS = """
SELECT j.decision_id, j.candidate_id, j.joined_to, j.decision FROM joins j
WHERE j.standing AND j.memory_id IN (SELECT memory_id FROM candidates WHERE source = ?)
"""


@dataclass(frozen=True, slots=True)
class _Member:
    """A row's candidate in the store: its memory, and what speaks for that."""

    id: str
    row_id: str
    memory_id: str
    living: bool
    text: str
    face: str | None
    face_of: str | None


@dataclass(slots=True)
class _Memory:
    """The rows of a source that are one memory, and the one that stays for all of them."""

    members: list[_Member] = field(default_factory=list)

    @property
    def kept(self) -> _Member | None:
        """Who speaks, if that is a row of the source; else who came in first; None if none lives.

        Of equal rows the surest and newest comes in first (`spool`).
        """
        living = [one for one in self.members if one.living]
        if not living:
            return None
        return next((one for one in living if one.id == one.face_of), living[0])


class _Cleaned:
    """What the store made of a source's rows."""

    def __init__(self, gateway: LocalGateway, source: str) -> None:
        gateway.refresh()
        rows = query(gateway.projections, _MEMBERS, [source])
        self.of = {member.id: member for member in (_Member(*row.values()) for row in rows)}
        self._memories: dict[str, _Memory] = defaultdict(_Memory)
        for member in self.of.values():
            self._memories[member.memory_id].members.append(member)
        self._kept = {name: memory.kept for name, memory in self._memories.items()}
        self.says_otherwise = any(
            one is not None and one.text != one.face for one in self._kept.values()
        )
        self._edges: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        for join in query(gateway.projections, _JOINS, [source]):
            decision, newer, older, kind = join.values()
            self._edges[newer].append((older, decision, kind))
            self._edges[older].append((newer, decision, kind))

    def change(self, member: _Member) -> dict[str, Any] | None:
        """What becomes of a row; None where it stays as it is."""
        kept = self._kept[member.memory_id]
        ids = {"old_id": member.row_id, "memory_id": member.memory_id}
        if kept is None:
            take_back = f"palimpsest restore --candidate {member.id}"
            return ids | {"change": "forgotten", "keep_id": None, "take_back": take_back}
        if member.id != kept.id:
            return ids | {"change": "removed", "keep_id": kept.row_id} | self._joined(member, kept)
        if member.text != member.face:
            return ids | {
                "change": "text",
                "keep_id": member.row_id,
                "take_back": _keeping(member.row_id),
            }
        return None

    def _joined(self, member: _Member, kept: _Member) -> dict[str, Any]:
        """The first join on the way from a row to the one that stays: without it, both stay."""
        came: dict[str, tuple[str, str]] = {}
        waiting, seen = deque([member.id]), {member.id}
        while waiting:
            at = waiting.popleft()
            for other, decision, kind in self._edges[at]:
                if other not in seen:
                    seen.add(other)
                    came[other] = came.get(at, (decision, kind))
                    waiting.append(other)
        decision, kind = came[kept.id]
        return {
            "decision": kind,
            "decision_id": decision,
            "take_back": (
                _keeping(member.row_id)
                if kind == EXACT
                else f"palimpsest unmerge --decision {decision}"
            ),
        }


def _keeping(row_id: str) -> str:
    return f"palimpsest export … --keep {shlex.quote(row_id)}"


def noted(gateway: LocalGateway, path: Path, source: str | None) -> Note:
    """The note of the import from a path; UsageError where there is none, or several."""
    found = [
        note
        for note in notes_of(gateway.folder)
        if note.path == str(path.absolute()) and source in (None, note.source)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"nothing was imported from {path} into this store")
    names = ", ".join(note.source for note in found)
    raise UsageError(f"several imports are from {path}: name one with --source ({names})")


def export(
    gateway: LocalGateway,
    path: Path,
    to: Path,
    *,
    source: str | None,
    keep: Collection[str],
    max_changes: int,
    trust: Trust,
    dry_run: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Write a source, cleaned, to `to`, and say what changed and how to take any of it back.

    Rows whose ids are in `keep` stay. Of more than `max_changes` changes the first ones are made,
    and the rest is counted as `left`. The report is also in a file beside the copy. RefusedError
    where `to` is there already; UsageError where nothing was imported from there.
    """
    note = noted(gateway, path, source)
    history = Path(note.history) if note.history else None
    place = Place(path, note.table, note.query, history, trust)
    refuse_target(place, to)
    opened, mapping = open_source(place), note.mapping()
    cleaned = _Cleaned(gateway, note.source)
    engine = _engine(gateway, note) if cleaned.says_otherwise else None
    changes = _Changes(max_changes)
    says = may_say(opened.kind, mapping, embeds=engine is not None)
    speaks = mapping.fields["text"][0] if says else None
    for row in _rows(opened, note):
        if row.number % _EACH == 0:
            progress(f"compared {row.number:,} rows", opened.share)
        changes.take(row, cleaned, keep, speaks)
    report = {
        "source": note.source,
        "original": str(path),
        "to": str(to),
        "dry_run": dry_run,
        **changes.report(),
        "take_back": (
            f"{path} is unchanged. To keep a row, carry out its `take_back` and export to another"
            " place, or name the row with --keep."
        ),
    }
    if not dry_run:
        progress(f"writing {to.name}", None)
        edits = changes.edits
        if engine is not None:
            edits = _embedded(engine, edits, opened.kind, mapping)
        write_copy(opened.kind, place, to, edits, mapping)
        to.with_name(to.name + REPORT).write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))
    return report


class _Row(NamedTuple):
    """A row of the source with its number, its candidate's id ("" for none) and its text."""

    number: int
    item: Item
    candidate: str
    text: str


@dataclass(slots=True)
class _Changes:
    """What an export does to the rows: the first `most` changes are made, all are counted."""

    most: int
    rows: int = 0
    found: int = 0
    unknown: int = 0
    edits: list[Edit] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)

    def take(self, row: _Row, cleaned: _Cleaned, keep: Collection[str], speaks: str | None) -> None:
        """Take a row up; `speaks` is the field in which a row of the copy may say another text."""
        self.rows = row.number
        member = cleaned.of.get(row.candidate)
        if member is None or member.text != row.text:  # its id may be that of another row
            self.unknown += 1
            return
        change = cleaned.change(member)
        if change is None or change["old_id"] in keep:
            return
        face = member.face if change["change"] == "text" else None
        if face is None:
            self._change(row, change, None)
        elif speaks is not None and isinstance(row.item, dict) and not row.item.keys() >= MEM0:
            self._change(row, change, {speaks: face})
        else:
            ids = {name: change[name] for name in ("old_id", "memory_id")}
            self.left.append({"row": row.number, **ids, "memory_says": face[:PREVIEW]})

    def _change(self, row: _Row, change: dict[str, Any], values: Fields | None) -> None:
        self.found += 1
        if len(self.edits) < self.most:
            self.edits.append(Edit(row.number, row.item, values))
            preview = row.text[:PREVIEW]
            self.changed.append({"row": row.number, **change, "assertion_preview": preview})

    def report(self) -> dict[str, Any]:
        """What was found, counted, and row by row."""
        return {
            "rows": self.rows,
            "changes": self.found,
            "unknown": self.unknown,
            "left_as_they_are": len(self.left),
            "changed": len(self.changed),
            "left": self.found - len(self.changed),
            "changed_rows": self.changed,
            "rows_left_as_they_are": self.left[: self.most],
        }


def _engine(gateway: LocalGateway, note: Note) -> Engine | None:
    """What made the vectors of a source, if that is known and is what embeds here."""
    if note.model is None or note.model != gateway.policy_in_force().model:
        return None
    engine = gateway.embedder().engine
    return engine if engine.model == note.model else None


def _embedded(
    engine: Engine, edits: Sequence[Edit], kind: Kind, mapping: FieldMapping
) -> list[Edit]:
    """The edits, with vectors of the texts that are new."""
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
    """A new vector for a row, in the way its own is kept; none for a row that has none."""
    assert isinstance(item, dict), "no other row says another text"
    vector = made.vector.astype(np.float32)
    before = value_of(item, field)
    if before is None and kind == "chroma":  # it is in the index alone
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
