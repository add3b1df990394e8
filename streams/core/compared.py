"""The text that an event compared for a candidate; projections show exactly that text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from palimpsest.contracts.events import (
    AnyEvent,
    Content,
    Decided,
    Join,
    Joined,
    Redecided,
    Separated,
    Settled,
)
from palimpsest.contracts.evidence import Evidence, Verdict
from palimpsest.streams.core.admit import FORGOTTEN
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.text import search_hash


class Spoke(NamedTuple):
    """The candidate that spoke for a memory before an event; `hash` is that of a composed text.

    `certain`: this text was compared, whatever the policy searched. Otherwise it was compared only
    under `search: memories`, and the candidate's own text under `search: candidates`.
    """

    speaker: str
    hash: str | None
    certain: bool


def compared(ledger: Ledger, event: AnyEvent) -> dict[str, Spoke]:
    """The speaker for each compared candidate; candidates that spoke for themselves are left out.

    Call it before the event is folded. If a verdict names its speaker, that one is used; otherwise
    the speaker of the face before the event.
    """
    match event:
        case Decided():
            data = event.data
            if data.join is not None and data.join.face == "repeat":
                return _repeated(ledger, data.join, data.content)
            found = _looked_at(ledger, data.evidence, data.join)
            if data.evidence.check == FORGOTTEN:  # forgotten candidates have no face
                found = {i: spoke for i, spoke in found.items() if not ledger.entries[i].forgotten}
            return found
        case Settled() | Redecided():
            return _looked_at(ledger, event.data.evidence, event.data.join)
        case Joined() if event.data.evidence is not None:
            return _faces(ledger, (event.data.candidate_id, event.data.join.to))
        case Separated() if event.data.verdicts:
            return _faces(ledger, (event.data.candidate_id, event.data.other_id))
        case _:
            return {}


def _repeated(ledger: Ledger, join: Join, content: Content) -> dict[str, Spoke]:
    """An exact repeat of a composed text joins one of its sources."""
    older, hashed = ledger.entries[join.to], search_hash(content)
    return {} if older.distinct.search_hash == hashed else {older.id: Spoke(older.id, hashed, True)}


def _looked_at(ledger: Ledger, evidence: Evidence, join: Join | None) -> dict[str, Spoke]:
    if not (evidence.neighbours or evidence.verdicts or join):
        return {}
    ids = dict.fromkeys(evidence.asked)
    ids.update(dict.fromkeys(n.candidate_id for n in evidence.neighbours[:1]))
    ids.update(dict.fromkeys(verdict.neighbour_id for verdict in evidence.verdicts))
    if join is not None:
        ids[join.to] = None
    found: dict[str, Spoke] = {}
    for entry in _known(ledger, ids):
        if len(entry.memory.members) == 1:
            continue  # the usual case: it speaks for itself
        face = entry.memory.face
        if face.composition is not None:
            found[entry.id] = Spoke(face.speaker.id, search_hash(face.composition.content), False)
        elif face.speaker is not entry:
            found[entry.id] = Spoke(face.speaker.id, None, False)
    for verdict in evidence.verdicts:
        spoke = _speaker_of(ledger, verdict)
        if spoke is not None:
            found[verdict.neighbour_id] = spoke
    return found


def _speaker_of(ledger: Ledger, verdict: Verdict) -> Spoke | None:
    """The speaker that the verdict names: a candidate, or the event that composed the text."""
    if verdict.speaker is None:
        return None
    edge = ledger.composed_by.get(verdict.speaker)
    if edge is None:
        return Spoke(verdict.speaker, None, True)
    return Spoke(verdict.neighbour_id, search_hash(edge.texts[verdict.speaker].content), True)


def _faces(ledger: Ledger, ids: Iterable[str]) -> dict[str, Spoke]:
    """The composed faces that a batch run compared; it names each face by its speaker.

    A candidate that no longer speaks is left out: another join of the run displaced it, and its own
    text was compared.
    """
    return {
        entry.id: Spoke(entry.id, search_hash(composition.content), True)
        for entry in _known(ledger, ids)
        if (composition := entry.memory.face.composition) is not None
        and entry.memory.face.speaker is entry
    }


def _known(ledger: Ledger, ids: Iterable[str]) -> list[Entry]:
    return [
        entry for candidate_id in ids if (entry := ledger.entries.get(candidate_id)) is not None
    ]
