"""The face: a fold over a memory's standing joins, in the order of their place (docs/design.md).

Newer means that it happened later: if either side states its moment, the later one speaks. What a
person or an agent chose outranks automation: it survives every automatic join but the judge's
answer that a new text replaces the very text that was chosen, and what it displaced does not come
back by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from palimpsest.contracts.events import Composition, Vector

if TYPE_CHECKING:  # the ledger's memories hold faces
    from palimpsest.streams.core.ledger import Distinct, Edge, Entry

NOTHING: Mapping[str, Face] = MappingProxyType({})


class Lacking(NamedTuple):
    """A join whose text does not stand, and the ids of the sources for a new text."""

    edge: Edge
    sources: tuple[str, ...]


class Face(NamedTuple):
    """The text that speaks, a candidate's or a composed one, and the faces that it displaced.

    `text_id` is the event that brought a composed text, `composed` its distinct text in the scope.
    `displaced` maps texts (`Distinct.said`) to the face that an exact repeat of them brings back.
    `behind` are the texts that bring this face back once it is displaced itself. `chosen`: a person
    or an agent chose it, or the judge replaced a chosen one by it. `former` are the texts that such
    choices displaced; `contradicts` are automatic joins that disagree with them, for review.
    """

    speaker: Entry
    composition: Composition | None = None
    text_id: str | None = None
    composed: Distinct | None = None
    behind: frozenset[str] = frozenset()
    displaced: Mapping[str, Face] = NOTHING
    lacking: Lacking | None = None
    chosen: bool = False
    former: frozenset[str] = frozenset()
    contradicts: tuple[str, ...] = ()

    @property
    def needs_composition(self) -> bool:
        """Whether a text must be recomposed from the remaining sources."""
        return self.lacking is not None

    @property
    def text(self) -> str:
        """The text that recall returns."""
        return self.composition.content.text if self.composition else self.speaker.text

    @property
    def distinct(self) -> Distinct:
        """The scope's distinct text that speaks."""
        return self.composed or self.speaker.distinct

    @property
    def hash(self) -> str:
        """The hash of the verbatim text that speaks."""
        return self.distinct.hash

    @property
    def said(self) -> str:
        """The key by which repeats of the text that speaks are recognised."""
        return self.distinct.said

    @property
    def vector(self) -> Vector | None:
        """The vector of the text that speaks."""
        if self.composition is not None:
            own, composed = self.composition.content.vector, self.composed
            if own is None or composed is None or composed.model in {None, own.model}:
                return own
            return composed.vector
        return self.speaker.distinct.vector

    @property
    def sources(self) -> tuple[str, ...]:
        """The candidates that its text comes from: those of a composed text, else the speaker."""
        return self.composition.sources if self.composition else (self.speaker.id,)

    @property
    def voice(self) -> str:
        """The speaker, as a verdict names it: a candidate, or the event that composed the text."""
        return self.text_id or self.speaker.id


def standing_text(edge: Edge, members: Mapping[str, Entry]) -> tuple[str, Composition] | None:
    """A join's first composition all of whose sources are living members, with its event's id."""
    for text_id, text in edge.texts.items():
        if all(source in members and members[source].living for source in text.sources):
            return text_id, text
    return None


def fold_face(members: Sequence[Entry], edges: Iterable[Edge]) -> tuple[Face, bool]:
    """The face of a memory from its members and standing joins, and whether to refold next time.

    A retracted face gives way to the face of the living members alone; a memory without a living
    member keeps its face, and is not recalled. Refolding is needed if a composition does not stand
    or a member is retracted, because a later join may then change what came before it.
    """
    edges = list(edges)
    texted = any(edge.texts for edge in edges)
    by_id = {entry.id: entry for entry in members} if texted else {}
    ordered = sorted(edges, key=lambda edge: _fold_order(edge, by_id))
    refold = not all(entry.living for entry in members) or any(
        edge.texts and _first_does_not_stand(edge, by_id) for edge in ordered
    )
    face = _fold(members, ordered, by_id, living_only=False)
    assert face is not None, "every member has a face when none is left out"
    if not face.speaker.living:
        face = _fold(members, ordered, by_id, living_only=True) or face
    return face, refold


def _first_does_not_stand(edge: Edge, by_id: Mapping[str, Entry]) -> bool:
    found = standing_text(edge, by_id)
    return found is None or found[0] != next(iter(edge.texts))


def _fold_order(edge: Edge, by_id: Mapping[str, Entry]) -> tuple[int, bool, int]:
    """A sort key: a join takes effect at its place, but a composed text after its newest source.

    The judge composes late, from a face that may have come after the newcomer. At the newcomer's
    place, the text would be displaced by what that face had displaced (law L10).
    """
    found = standing_text(edge, by_id) if edge.texts else None
    if found is None:
        return edge.place, False, edge.place
    places = (by_id[source].place for source in found[1].sources)
    return max(edge.place, *places), True, edge.place


class _Parts:
    """Union-find over a memory's members; each part has a face (None if no member counts)."""

    def __init__(self, members: Iterable[Entry], *, living_only: bool) -> None:
        self.parent = {entry: entry for entry in members}
        self.face: dict[Entry, Face | None] = {
            entry: Face(entry) if entry.living or not living_only else None for entry in self.parent
        }

    def root(self, entry: Entry) -> Entry:
        while self.parent[entry] is not entry:
            self.parent[entry] = self.parent[self.parent[entry]]
            entry = self.parent[entry]
        return entry


def _fold(
    members: Sequence[Entry],
    edges: Sequence[Edge],
    by_id: Mapping[str, Entry],
    *,
    living_only: bool,
) -> Face | None:
    parts = _Parts(members, living_only=living_only)
    root = members[0]
    for edge in edges:
        older, newer = parts.root(edge.older), parts.root(edge.newer)
        if older is newer:
            face = parts.face[older]
            if edge.chosen and face and (edge.winner.living or not living_only):
                # The text that a person chose of one memory's two speaks from here on.
                own = Face(edge.winner)
                winner = face if face.said == own.said else own
                parts.face[older] = _put_behind(winner, face)._replace(contradicts=())
            continue
        a, b = parts.face[older], parts.face[newer]
        parts.parent[newer] = root = older
        parts.face[older] = combine(edge, by_id, a, b) if a and b else a or b
    return parts.face[root]


# -- two parts become one ------------------------------------------------------------------------


def combine(edge: Edge, by_id: Mapping[str, Entry], a: Face, b: Face) -> Face:
    """The face of two parts united by a join: `a` of its older candidate, `b` of its newer one.

    `by_id` are the memory's members; it may be empty if no text was ever composed.
    """
    if _moves_forward(edge, a, b):
        return _put_behind(b, a)
    if edge.former or a.chosen or b.chosen:
        return _by_choice(edge, a, b)
    match edge.face:
        case "keep":
            return a._replace(behind=_behind(a, a, b)) if edge.ranked else a
        case "repeat":
            return _repeated(edge, a, b, by_id)
        case "take" if edge.outright:
            return b._replace(behind=_behind(b, a, b)) if edge.ranked else b
        case "take":
            return _later_over_earlier(a, b)
        case "text":
            found = standing_text(edge, by_id)
            if found is not None:
                return _composed(edge, *found, by_id, a, b)
            taken = _later_over_earlier(a, b)
            return taken._replace(lacking=_lacking(edge, by_id, a, b) or taken.lacking)


def _composed(
    edge: Edge, text_id: str, text: Composition, by_id: Mapping[str, Entry], a: Face, b: Face
) -> Face:
    speaker = newest([by_id[source] for source in text.sources])
    assert edge.composed is not None, "a join keeps the distinct texts of its compositions"
    face = Face(speaker, text, text_id, edge.composed[text_id])
    if edge.ranked:
        face = face._replace(behind=_behind(face, a, b))
    return face._replace(displaced=_without({**a.displaced, **b.displaced}, face))


def newest(sources: Sequence[Entry]) -> Entry:
    """The source that happened last; by arrival if none of them states when."""
    if any(entry.moment is not None for entry in sources):
        return max(sources, key=lambda entry: (entry.moment or entry.decided_at, entry.place))
    return max(sources, key=lambda entry: entry.place)


def _behind(winner: Face, a: Face, b: Face) -> frozenset[str]:
    """The texts that bring the winner of two faces back once it is displaced: those of both."""
    return (a.behind | b.behind | {a.said, b.said}) - {winner.said}


def _later_over_earlier(a: Face, b: Face) -> Face:
    """The newer part's face takes the older's place, unless it happened earlier."""
    return _over(a, b) if _earlier(b, a) else _over(b, a)


def _earlier(face: Face, other: Face) -> bool:
    """Whether a face happened before another; False if neither states when: arrival then counts."""
    ours, theirs = face.speaker, other.speaker
    if ours.moment is None and theirs.moment is None:
        return False
    return newest([ours, theirs]) is theirs and ours is not theirs


def _over(winner: Face, loser: Face) -> Face:
    """The winner, having displaced the loser; a repeat of the loser's texts brings it back."""
    back = loser._replace(displaced=NOTHING, lacking=None)
    displaced = {**loser.displaced, **winner.displaced}
    displaced.update((text, back) for text in (*loser.behind, loser.said))
    return winner._replace(displaced=_without(displaced, winner))


def _without(displaced: dict[str, Face], face: Face) -> Mapping[str, Face]:
    """The faces that may come back while this one speaks: neither itself nor those behind it."""
    for text in (face.said, *face.behind):
        displaced.pop(text, None)
    return displaced


def _repeated(edge: Edge, face: Face, newcomer: Face, by_id: Mapping[str, Entry]) -> Face:
    """The face after a repeat, which may bring a displaced face back.

    Not if the repeated text is a source of the standing composition, or if the repeat happened
    before the current face.
    """
    said = _repeats(edge, newcomer)
    back = face.displaced.get(said)
    if back is None or _earlier(newcomer, face):
        return face
    if face.composition is not None:
        sources = (by_id.get(source) for source in face.composition.sources)
        if said in {entry.distinct.said for entry in sources if entry}:
            return face
    if back.said == said:
        back = newcomer._replace(behind=back.behind)
    return _over(back, face)


def _repeats(edge: Edge, newcomer: Face) -> str:
    """The text repeated: the joined candidate's if a repeat is only folded, else its own."""
    return edge.older.distinct.said if edge.differs else newcomer.said


def _lacking(edge: Edge, by_id: Mapping[str, Entry], a: Face, b: Face) -> Lacking | None:
    """The sources to recompose a lost text from: those of the two parts' faces at this place.

    A part that lacks a composed text itself gives the sources of that text. For joins of older
    logs, they are the remaining sources of the lost text. None if fewer than two distinct texts
    remain: a single one speaks for itself.
    """
    parts = (*_to_compose(a), *_to_compose(b))
    sources = parts if edge.ranked else next(iter(edge.texts.values())).sources
    left = {source: by_id[source] for source in sources if source in by_id and by_id[source].living}
    if len({entry.distinct.said for entry in left.values()}) < 2:
        return None
    return Lacking(edge, tuple(left))


def _to_compose(face: Face) -> tuple[str, ...]:
    return face.lacking.sources if face.lacking else face.sources


def _moves_forward(edge: Edge, a: Face, b: Face) -> bool:
    """Whether the judge said that a new value replaces the very text that was chosen."""
    return a.chosen and not b.chosen and edge.forward == a.voice and b.said not in a.former


def _put_behind(winner: Face, loser: Face) -> Face:
    """The winner as a chosen face: nothing automatic brings the loser back."""
    former = winner.former | loser.former | loser.behind | {loser.said}
    chosen = winner._replace(
        chosen=True,
        former=former - {winner.said},
        contradicts=loser.contradicts + winner.contradicts,
    )
    return chosen._replace(displaced=_both(loser, winner, chosen))


def _by_choice(edge: Edge, a: Face, b: Face) -> Face:
    """What was chosen speaks, and automation does not change it: contradictions go to review."""
    if edge.former:
        winner, loser = (b, a) if edge.face == "take" else (a, b)
        return _put_behind(winner, loser)._replace(contradicts=())
    winner, other = (a, b) if a.chosen else (b, a)
    face = winner._replace(former=(a.former | b.former) - {winner.said})
    contradicts = a.contradicts + b.contradicts
    meant = edge.outright and winner is b
    if not (meant and not other.chosen) and _says_otherwise(edge, face, other):
        contradicts = (*contradicts, edge.id)
    return face._replace(displaced=_both(a, b, face), contradicts=contradicts)


def _both(a: Face, b: Face, winner: Face) -> Mapping[str, Face]:
    displaced = _without({**a.displaced, **b.displaced}, winner)
    return {text: face for text, face in displaced.items() if text not in winner.former}


def _says_otherwise(edge: Edge, face: Face, other: Face) -> bool:
    """Whether a join would have chosen another face if none had been chosen."""
    if edge.face == "repeat":
        return _repeats(edge, other) in face.former
    return other.chosen or (not edge.by_person and edge.face in ("take", "text"))
