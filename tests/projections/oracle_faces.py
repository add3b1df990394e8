"""Who speaks for a memory, from docs/design.md (Faces), without the core's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.projections.oracle import Candidate, Join


@dataclass(frozen=True)
class Face:
    """The text that speaks.

    `displaced`: by what a text is known by, the face that an exact repeat of it brings back.
    `behind`: the texts that stand for this face once it is displaced. `chosen`: a person said that
    it speaks; `former` are the texts that persons displaced, and `contradicts` the joins that say
    otherwise.
    """

    speaker: Candidate
    composition: dict[str, Any] | None = None
    voice: str | None = None
    displaced: Mapping[str, Face] = field(default_factory=dict)
    behind: frozenset[str] = frozenset()
    needs_composition: bool = False
    chosen: bool = False
    former: frozenset[str] = frozenset()
    contradicts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What recall returns."""
        return self.composition["content"]["text"] if self.composition else self.speaker.text

    @property
    def said(self) -> str:
        """By what its text is known again."""
        return self.composition["said"] if self.composition else self.speaker.said

    @property
    def sources(self) -> list[str]:
        """The candidates whose words it has."""
        return self.composition["sources"] if self.composition else [self.speaker.id]


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
    return _folded(members, joins, [member.living for member in members]) or found


def _folded(
    members: Sequence[Candidate], joins: Sequence[Join], counts: Sequence[bool]
) -> Face | None:
    everyone = {member.id: member for member in members}
    parts = [
        Part([member], Face(member) if counted else None)
        for member, counted in zip(members, counts, strict=True)
    ]
    for join in sorted(joins, key=lambda join: _when(join, everyone)):
        [older] = [part for part in parts if join.older in part.members]
        [newer] = [part for part in parts if join.newer in part.members]
        if older is newer:
            if join.data.get("chosen"):
                mine = join.newer if join.data["face"] == "take" else join.older
                if older.face is not None and counts[members.index(mine)]:
                    older.face = _preferred(older.face, mine)
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
    return (
        max(join.place, *(everyone[source].place for source in text["sources"])),
        True,
        join.place,
    )


def standing_text(join: Join, everyone: dict[str, Candidate]) -> dict[str, Any] | None:
    """The first text of a join whose sources are all living members."""
    for text in join.texts.values():
        if all(source in everyone and everyone[source].living for source in text["sources"]):
            return text
    return None


def _united(join: Join, everyone: dict[str, Candidate], older: Face, newer: Face) -> Face:
    if _is_moved_forward(join, older, newer):
        waiting = older.contradicts + newer.contradicts
        return replace(_chosen(join, older, newer), contradicts=waiting)
    if join.data.get("former"):
        return _chosen(join, older, newer)
    if older.chosen or newer.chosen:
        return _stays(join, older, newer)
    match join.data["face"]:
        case "keep":
            return _with_both_behind(older, older, newer) if join.ranked else older
        case "repeat":
            return _repeated(join, everyone, older, newer)
        case "take" if join.data.get("outright"):
            return _with_both_behind(newer, older, newer) if join.ranked else newer
        case "take":
            return _taken(older, newer)
        case "text":
            return _composed(join, everyone, older, newer)
        case other:
            raise ValueError(other)


# -- what persons chose ----------------------------------------------------------------------------


def _is_moved_forward(join: Join, older: Face, newer: Face) -> bool:
    """The judge was asked about the very text that a person chose, and called it outdated."""
    asked = join.forward is not None and join.forward == (older.voice or older.speaker.id)
    return asked and older.chosen and not newer.chosen and newer.said not in older.former


def _chosen(join: Join, older: Face, newer: Face) -> Face:
    """A person says who speaks: whatever the other stood for comes back no more by itself."""
    takes = join.data["face"] == "take"
    winner, loser = (newer, older) if takes else (older, newer)
    former = older.former | newer.former | loser.behind | {loser.said}
    former -= {winner.said}
    displaced = _without({**older.displaced, **newer.displaced}, winner, former)
    return replace(winner, chosen=True, former=former, contradicts=(), displaced=displaced)


def _preferred(spoke: Face, speaker: Candidate) -> Face:
    """A person says which member of one memory speaks: what spoke does not return by itself."""
    winner = spoke if spoke.said == speaker.said else Face(speaker)
    former = (spoke.former | spoke.behind | {spoke.said}) - {winner.said}
    displaced = _without(spoke.displaced, winner, former)
    return replace(winner, chosen=True, former=former, contradicts=(), displaced=displaced)


def _stays(join: Join, older: Face, newer: Face) -> Face:
    """What a person chose survives; of two the older one, and a join that says otherwise waits."""
    winner, other = (older, newer) if older.chosen else (newer, older)
    former = (older.former | newer.former) - {winner.said}
    displaced = _without({**older.displaced, **newer.displaced}, winner, former)
    contradicts = older.contradicts + newer.contradicts
    rule = join.data["face"]
    automatic = rule in ("take", "text") and not join.by_person
    if join.data.get("outright") and winner is newer:
        automatic = False
    if _repeats(join, other) in former if rule == "repeat" else other.chosen or automatic:
        contradicts += (join.id,)
    return replace(winner, former=former, displaced=displaced, contradicts=contradicts)


# -- what automation does --------------------------------------------------------------------------


def _repeats(join: Join, newer: Face) -> str:
    """What a repeat says again: its own text, unless it differs from the one that it joins."""
    return join.older.said if join.differs else newer.said


def _repeated(join: Join, everyone: dict[str, Candidate], older: Face, newer: Face) -> Face:
    """A displaced text comes back, or whoever it stood for: not a source of what speaks."""
    said = _repeats(join, newer)
    back = older.displaced.get(said)
    sources = older.sources if older.composition else []
    if said in {everyone[source].said for source in sources if source in everyone}:
        return older
    if back is None or _happened_before(newer, older):
        return older
    if back.said == said:
        back = replace(newer, behind=back.behind)
    return _over(back, older)


def _composed(join: Join, everyone: dict[str, Candidate], older: Face, newer: Face) -> Face:
    text = standing_text(join, everyone)
    if text is not None:
        speaker = _last([everyone[source] for source in text["sources"]])
        found = Face(speaker, text, next(i for i, one in join.texts.items() if one is text))
        if join.ranked:
            found = _with_both_behind(found, older, newer)
        return replace(found, displaced=_without({**older.displaced, **newer.displaced}, found))
    first: dict[str, Any] = next(iter(join.texts.values()), {"sources": []})
    lost = [*older.sources, *newer.sources] if join.ranked else first["sources"]
    left = {everyone[one].said for one in lost if one in everyone and everyone[one].living}
    taken = _taken(older, newer)
    return replace(taken, needs_composition=taken.needs_composition or len(left) > 1)


def _taken(older: Face, newer: Face) -> Face:
    """Who happened later speaks; by arrival where neither says when."""
    return _over(older, newer) if _happened_before(newer, older) else _over(newer, older)


def _happened_before(face: Face, other: Face) -> bool:
    ours, theirs = face.speaker, other.speaker
    if ours.moment is None and theirs.moment is None:
        return False
    return ours is not theirs and _last([ours, theirs]) is theirs


def _last(candidates: Sequence[Candidate]) -> Candidate:
    """Who happened last, ties by arrival; by arrival where nobody says when."""
    if all(candidate.moment is None for candidate in candidates):
        return max(candidates, key=lambda one: one.place)
    return max(candidates, key=lambda one: (one.moment or one.at, one.place))


def _with_both_behind(winner: Face, older: Face, newer: Face) -> Face:
    both = older.behind | newer.behind | {older.said, newer.said}
    return replace(winner, behind=both - {winner.said})


def _over(winner: Face, loser: Face) -> Face:
    """The loser may come back: by its own text, or by one that it had displaced."""
    back = replace(loser, displaced={}, needs_composition=False)
    displaced = {**loser.displaced, **winner.displaced}
    displaced |= dict.fromkeys([*loser.behind, loser.said], back)
    return replace(winner, displaced=_without(displaced, winner))


def _without(
    displaced: Mapping[str, Face], winner: Face, former: frozenset[str] = frozenset()
) -> dict[str, Face]:
    """What may come back: not the winner, what it stands for, nor what a person displaced."""
    gone = {winner.said, *winner.behind, *former}
    return {text: face for text, face in displaced.items() if text not in gone}
