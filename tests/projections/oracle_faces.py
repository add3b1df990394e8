"""Who speaks for a memory, from section 2 of the design, without the core's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.projections.oracle import Candidate, Join


@dataclass(frozen=True)
class Face:
    """The text that speaks.

    `displaced` has, by the hash of a text, the face that an exact repeat of it brings back;
    `behind` are the hashes that stand for this face once it is displaced. A person may have
    `chosen` it; what persons displaced is `former`.
    """

    speaker: Candidate
    composition: dict[str, Any] | None = None
    displaced: Mapping[str, Face] = field(default_factory=dict)
    behind: frozenset[str] = frozenset()
    needs_composition: bool = False
    chosen: bool = False
    former: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """What recall returns."""
        return self.composition["content"]["text"] if self.composition else self.speaker.text

    @property
    def hash(self) -> str:
        """Its hash."""
        return self.composition["content"]["hash"] if self.composition else self.speaker.hash

    @property
    def sources(self) -> list[str]:
        """Whose words it has."""
        return self.composition["sources"] if self.composition else [self.speaker.id]

    def among(self, displaced: Mapping[str, Face]) -> Face:
        """This face, with what it may give way to again: not itself, nor what is behind it."""
        own = {self.hash, *self.behind, *self.former}
        return replace(self, displaced={k: v for k, v in displaced.items() if k not in own})


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
    if join.former or older.chosen or newer.chosen:
        return _as_a_person_said(join, older, newer)
    match join.data["face"]:
        case "keep":
            return replace(older, behind=_behind(older, older, newer)) if join.ranked else older
        case "repeat":
            return _repeated(everyone, older, newer)
        case "take":
            return _later(older, newer)
        case "text":
            text = standing_text(join, everyone)
            if text is not None:
                return _composed(join, everyone, text, older, newer)
            taken = _later(older, newer)
            lost = _has_lost_a_text(join, everyone, older, newer)
            return replace(taken, needs_composition=taken.needs_composition or lost)
        case other:
            raise ValueError(other)


def newest(candidates: Sequence[Candidate]) -> Candidate:
    """Who happened last: by moments where any of them says when, else by arrival."""
    if any(one.moment is not None for one in candidates):
        return max(candidates, key=lambda one: (one.moment or one.at, one.place))
    return max(candidates, key=lambda one: one.place)


def _is_earlier(face: Face, other: Face) -> bool:
    """Whether it happened before the other, where either says when."""
    ours, theirs = face.speaker, other.speaker
    if ours.moment is None and theirs.moment is None:
        return False
    return ours is not theirs and newest([ours, theirs]) is theirs


def _later(older: Face, newer: Face) -> Face:
    return _over(older, newer) if _is_earlier(newer, older) else _over(newer, older)


def _over(winner: Face, loser: Face) -> Face:
    """The loser may come back, by a repeat of it or of what stands for it."""
    back = replace(loser, displaced={}, needs_composition=False)
    again = dict.fromkeys((*loser.behind, loser.hash), back)
    displaced = {**loser.displaced, **winner.displaced, **again}
    own = {winner.hash, *winner.behind}
    return replace(winner, displaced={k: v for k, v in displaced.items() if k not in own})


def _behind(winner: Face, older: Face, newer: Face) -> frozenset[str]:
    return (older.behind | newer.behind | {older.hash, newer.hash}) - {winner.hash}


def _repeated(everyone: dict[str, Candidate], older: Face, newer: Face) -> Face:
    back = older.displaced.get(newer.hash)
    if back is None or _is_earlier(newer, older):
        return older
    sources = older.composition["sources"] if older.composition else []
    if newer.hash in {everyone[one].hash for one in sources if one in everyone}:
        return older
    if back.hash == newer.hash:
        back = replace(newer, behind=back.behind)
    return _over(back, older)


def _composed(
    join: Join, everyone: dict[str, Candidate], text: dict[str, Any], older: Face, newer: Face
) -> Face:
    face = Face(newest([everyone[one] for one in text["sources"]]), text)
    if join.ranked:
        face = replace(face, behind=_behind(face, older, newer))
    return face.among({**older.displaced, **newer.displaced})


def _has_lost_a_text(join: Join, everyone: dict[str, Candidate], older: Face, newer: Face) -> bool:
    """Whether two texts or more are left to compose: one speaks for itself."""
    first: dict[str, Any] = next(iter(join.texts.values()), {"sources": []})
    sources = [*older.sources, *newer.sources] if join.ranked else first["sources"]
    left = {everyone[one].hash for one in sources if one in everyone and everyone[one].living}
    return len(left) > 1


def _as_a_person_said(join: Join, older: Face, newer: Face) -> Face:
    """What a person chose speaks on, and what it displaced is former: no repeat brings it back."""
    former = older.former | newer.former
    if join.former:
        winner, loser = (newer, older) if join.data["face"] == "take" else (older, newer)
        former |= loser.behind | {loser.hash}
    else:
        winner = older if older.chosen else newer
    chosen = replace(winner, chosen=True, former=former - {winner.hash})
    return chosen.among({**older.displaced, **newer.displaced})
