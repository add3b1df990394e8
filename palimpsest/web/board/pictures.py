"""The contents of a pair's page: its words, its evidence, and what depends on it."""

from __future__ import annotations

from typing import Any

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.evidence import Cue
from palimpsest.queries.path import path
from palimpsest.streams.core.ledger import Entry
from palimpsest.streams.core.moment import moment
from palimpsest.streams.guard.places import cue_places
from palimpsest.web.board.answers import Sides
from palimpsest.web.board.waiting import WaitingPair
from palimpsest.web.board.word_diff import Piece, cue_kind, word_diff
from palimpsest.web.expiry import ending_of

FEW_EVENTS = 1_000
"""If an owner has at most this many events, what depends on a join is computed at once."""
MOST_MEMBERS = 12
"""Maximum number of members of a memory shown beside a pair."""


def picture(store: Palimpsest, pair: WaitingPair, sides: Sides) -> dict[str, Any]:
    """Everything on the page of a pair, by the names of its template."""
    texts = pair.older_text or sides.older.text, pair.newer_text or sides.newer.text
    vectors = (sides.older.distinct.vector, sides.newer.distinct.vector)
    unknown_old, unknown_new = (vector.unknown if vector is not None else () for vector in vectors)
    cues = [Cue(cue) for cue in pair.cues]
    old, new = word_diff(*texts, cue_places(*texts, cues, unknown=(unknown_old, unknown_new)))
    memory = sides.older.memory
    join = sides.ledger.edges.get(pair.decision_id)
    few = sides.ledger.seen <= FEW_EVENTS
    return {
        "pair": pair,
        "version": sides.version,
        "older": _side(store, sides.older, old, own_text=pair.older_text is not None),
        "newer": _side(store, sides.newer, new, own_text=pair.newer_text is not None),
        "cues": [(cue, cue_kind(cue)) for cue in pair.cues],
        "memory": {
            "memory_id": memory.id,
            "face": memory.text,
            "size": len(memory.members),
            "members": [entry.text for entry in memory.members[:MOST_MEMBERS]],
        },
        "together": memory is sides.newer.memory,
        "steps": path(store.reader, pair.decision_id, sides.newer, sides.older, join),
        "removal": removal(store, pair) if few else None,
    }


def removal(store: Palimpsest, pair: WaitingPair) -> dict[str, Any]:
    """The result of removing the join: its memories, and later decisions that depend on it.

    Nothing depends on a pair that is not joined yet.
    """
    nothing: dict[str, Any] = {"refused": None, "memories": [], "consequences": []}
    if not pair.is_joined:
        return nothing
    try:
        foreseen = store.unmerge(decision_id=pair.decision_id, by="person", dry_run=True)
    except RefusedError as refused:
        return {**nothing, "refused": refused.detail}
    later = foreseen.get("consequences", [])
    return {**nothing, "memories": foreseen["memories"], "consequences": later}


def _side(
    store: Palimpsest, entry: Entry, pieces: list[Piece], *, own_text: bool
) -> dict[str, Any]:
    """A candidate and its compared words, with its own text if a different text was compared."""
    return {
        "own_text": entry.text if own_text else None,
        "candidate_id": entry.id,
        "pieces": pieces,
        "moment": moment(entry),
        "decided_at": entry.decided_at,
        "source": entry.fields.source,
        "session": entry.fields.session_id,
        "ending": ending_of(entry, store.reader.clock()),
    }
