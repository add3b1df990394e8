"""Who speaks for a memory, from section 2 of the design, without the core's code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.projections.oracle import Candidate, Join


@dataclass(frozen=True)
class Face:
    """The text that speaks; `displaced` are the hashes of what an exact repeat may bring back."""

    speaker: Candidate
    composition: dict[str, Any] | None = None
    displaced: frozenset[str] = frozenset()
    needs_composition: bool = False

    @property
    def text(self) -> str:
        """What recall returns."""
        return self.composition["content"]["text"] if self.composition else self.speaker.text

    @property
    def hash(self) -> str:
        """Its hash."""
        return self.composition["content"]["hash"] if self.composition else self.speaker.hash


@dataclass
class Part:
    """Members that the joins so far connect."""

    members: list[Candidate]
    face: Face | None


def face(members: Sequence[Candidate], joins: Sequence[Join]) -> Face:
    """What speaks for these members; where that is retracted, what speaks for the living alone."""
    found = _folded(members, joins, [True] * len(members))
    assert found is not None
    if found.speaker.living:
        return found
    return _folded(members, joins, [one.living for one in members]) or found


def _folded(
    members: Sequence[Candidate], joins: Sequence[Join], counts: Sequence[bool]
) -> Face | None:
    everyone = {one.id: one for one in members}
    parts = [
        Part([one], Face(one) if counted else None)
        for one, counted in zip(members, counts, strict=True)
    ]
    for join in sorted(joins, key=lambda join: _when(join, everyone)):
        [older] = [part for part in parts if join.older in part.members]
        [newer] = [part for part in parts if join.newer in part.members]
        if older is newer:
            continue
        parts.remove(newer)
        older.members += newer.members
        if older.face is None or newer.face is None:
            older.face = older.face or newer.face
        else:
            older.face = _united(join, everyone, older.face, newer.face)
    [whole] = parts
    return whole.face


def _when(join: Join, everyone: dict[str, Candidate]) -> tuple[int, bool, int]:
    """At its place; a composed text that stands not before its newest source, after others."""
    text = standing_text(join, everyone)
    if text is None:
        return join.place, False, join.place
    return max(join.place, *(everyone[one].place for one in text["sources"])), True, join.place


def standing_text(join: Join, everyone: dict[str, Candidate]) -> dict[str, Any] | None:
    """The first text of a join whose sources are all living members."""
    for text in join.texts.values():
        if all(one in everyone and everyone[one].living for one in text["sources"]):
            return text
    return None


def _united(join: Join, everyone: dict[str, Candidate], older: Face, newer: Face) -> Face:
    match join.data["face"]:
        case "keep":
            return older
        case "repeat":
            sources = older.composition["sources"] if older.composition else []
            hashes = {everyone[one].hash for one in sources if one in everyone}
            if newer.hash in older.displaced and newer.hash not in hashes:
                return _taken(older, newer)
            return older
        case "take":
            return _taken(older, newer)
        case "text":
            text = standing_text(join, everyone)
            if text is None:
                first: dict[str, Any] = next(iter(join.texts.values()), {"sources": []})
                left = [one for one in first["sources"] if one in everyone and everyone[one].living]
                taken = _taken(older, newer)
                return Face(
                    taken.speaker,
                    taken.composition,
                    taken.displaced,
                    taken.needs_composition or len(left) > 1,
                )
            speaker = max((everyone[one] for one in text["sources"]), key=lambda one: one.place)
            displaced = (older.displaced | newer.displaced) - {text["content"]["hash"]}
            return Face(speaker, text, displaced)
        case other:
            raise ValueError(other)


def _taken(older: Face, newer: Face) -> Face:
    displaced = (older.displaced | newer.displaced | {older.hash}) - {newer.hash}
    return Face(newer.speaker, newer.composition, displaced, newer.needs_composition)
