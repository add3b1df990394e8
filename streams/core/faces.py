"""The face: a fold over a memory's standing joins, in the order of their place (design 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contracts.events import Composition
from streams.core.ledger import Edge, Entry, Face


def own_face(entry: Entry) -> Face:
    """Each candidate is its own face to begin with."""
    return Face(entry)


def standing_text(edge: Edge, members: set[Entry]) -> Composition | None:
    """The first composition of a join whose sources are all living members, if any."""
    ids = {entry.id for entry in members if entry.living}
    return next((text for text in edge.texts if ids.issuperset(text.sources)), None)


def combine(
    edge: Edge, text: Composition | None, by_id: dict[str, Entry], a: Face, b: Face
) -> Face:
    """The face of two parts united by a join; `a` and `b` hold its older and newer candidate."""
    match edge.face:
        case "keep":
            return a
        case "repeat":
            return _taken(a, b) if _comes_back(a, b, by_id) else a
        case "take":
            return _taken(a, b)
        case "text" if text is not None:
            speaker = max((by_id[source] for source in text.sources), key=lambda e: e.place)
            return Face(speaker, text, (a.displaced | b.displaced) - {text.content.hash})
        case "text":
            return _taken(a, b, edge if _several_left(edge, by_id) else None)


def _taken(a: Face, b: Face, lacking: Edge | None = None) -> Face:
    displaced = (a.displaced | b.displaced | {a.hash}) - {b.hash}
    return Face(b.speaker, b.composition, displaced, lacking or b.lacking)


def _comes_back(face: Face, newcomer: Face, by_id: dict[str, Entry]) -> bool:
    """Only a face that was displaced comes back, and no source of the standing composition."""
    if newcomer.hash not in face.displaced:
        return False
    if face.composition is None:
        return True
    sources = (by_id.get(source) for source in face.composition.sources)
    return newcomer.hash not in {entry.distinct.hash for entry in sources if entry}


def _several_left(edge: Edge, by_id: dict[str, Entry]) -> bool:
    """A single source that is left needs no composition: it speaks for itself."""
    sources = edge.texts[0].sources if edge.texts else ()
    return sum(1 for source in sources if source in by_id and by_id[source].living) > 1


class _Parts:
    """Union-find over a memory's members, each part with its face (None: nobody of it counts)."""

    def __init__(self, members: Iterable[Entry], *, living_only: bool) -> None:
        self.parent = {entry: entry for entry in members}
        self.face: dict[Entry, Face | None] = {
            entry: own_face(entry) if entry.living or not living_only else None
            for entry in self.parent
        }

    def root(self, entry: Entry) -> Entry:
        while self.parent[entry] is not entry:
            self.parent[entry] = self.parent[self.parent[entry]]
            entry = self.parent[entry]
        return entry


def fold_face(members: Sequence[Entry], edges: Iterable[Edge]) -> tuple[Face, bool]:
    """The face of a memory from its members and standing joins, and whether to refold next time.

    A retracted face gives way to the face of the living members alone; a memory without a living
    member keeps its face, and is not recalled. Refolding is needed where a composition does not
    stand or a member is retracted, because a later join may then change what came before it.
    """
    everyone, places = set(members), {entry.id: entry.place for entry in members}
    ordered = sorted(edges, key=lambda edge: _moment(edge, everyone, places))
    refold = not all(entry.living for entry in members) or any(
        edge.texts and standing_text(edge, everyone) is not edge.texts[0] for edge in ordered
    )
    face = _fold(members, ordered, living_only=False)
    assert face is not None, "every member has a face when none is left out"
    if not face.speaker.living:
        face = _fold(members, ordered, living_only=True) or face
    return face, refold


def _moment(edge: Edge, members: set[Entry], places: dict[str, int]) -> tuple[int, bool, int]:
    """When a join speaks: at its place, but a composed text not before its newest source.

    The judge composes late, of a face that may have come after the newcomer. Spoken at the
    newcomer's place, the text would be displaced by what that face had displaced (law L10).
    """
    text = standing_text(edge, members) if edge.texts else None
    if text is None:
        return edge.place, False, edge.place
    return max(edge.place, *(places[source] for source in text.sources)), True, edge.place


def _fold(members: Sequence[Entry], edges: Sequence[Edge], *, living_only: bool) -> Face | None:
    parts = _Parts(members, living_only=living_only)
    by_id = {entry.id: entry for entry in members}
    everyone = set(members)
    root = members[0]
    for edge in edges:
        older, newer = parts.root(edge.older), parts.root(edge.newer)
        if older is newer:
            continue
        a, b = parts.face[older], parts.face[newer]
        parts.parent[newer] = root = older
        if a is None or b is None:
            parts.face[older] = a or b
        else:
            text = standing_text(edge, everyone) if edge.texts else None
            parts.face[older] = combine(edge, text, by_id, a, b)
    return parts.face[root]
