"""Resolves ids of candidates and decisions, which may be abbreviated as in git."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from uuid import UUID

from palimpsest.backends.reader import Reader
from palimpsest.contracts.candidate import not_blank
from palimpsest.contracts.errors import RefusedError, UsageError, no_such_id
from palimpsest.contracts.events import AnyEvent, Decided, Joined, Redecided, Retracted, Settled
from palimpsest.contracts.identity import decision_id_of, decision_id_or_unchanged, event_id
from palimpsest.contracts.requests import Selection
from palimpsest.contracts.urn import Urn, is_urn
from palimpsest.projections.duckdb.queries import query
from palimpsest.streams.core.expand import FORGET

Kind = Literal["candidate", "decision", "letter", "memory"]

SHORTEST = 8
MOST_LISTED = 10
_TOO_SHORT = re.compile(rf"(?i)[0-9a-f]{{4,{SHORTEST - 1}}}")
_BEGINNING = re.compile(rf"(?i)[0-9a-f][0-9a-f-]{{{SHORTEST - 1},34}}")
_WITHIN = re.compile(r"(?i)(?<![\w-])[0-9a-f]{8}(?:[0-9a-f-]{0,27}[0-9a-f])?(?![\w-])")
"""An id, or its beginning, in a longer text."""
_WORD = re.compile(r"[\w-]+")
_NEITHER_WORD_NOR_NUMBER = re.compile(r"(?i)-|[0-9][a-f]|[a-f][0-9]")
_FOUND = {
    "candidate": "SELECT DISTINCT candidate_id AS id FROM candidates WHERE starts_with(id, ?)",
    "decision": "SELECT DISTINCT decision_id AS id FROM decisions WHERE starts_with(id, ?)",
    "letter": "SELECT DISTINCT decision_id AS id FROM decisions"
    " WHERE decision = 'invalid' AND starts_with(id, ?)",
}


class ResolvedId(NamedTuple):
    """The kind of an id. `candidate_id` is the candidate of a decision, else the id itself."""

    kind: Kind
    id: str
    candidate_id: str


def full_id(reader: Reader, typed: str, *kinds: Kind) -> str:
    """Expand an abbreviated id, also in a URN; return any other as `bare` does.

    A memory's id is that of its earliest candidate, a dead letter's that of its decision. Raises
    UsageError if the id is blank, too short or ambiguous, or as `bare` does for a URN.
    """
    if is_urn(typed):
        named = Urn.parse(typed)
        return _id_in(reader, named._replace(id=full_id(reader, named.id, *kinds)))
    try:
        not_blank(typed)
    except ValueError as wrong:
        raise UsageError(f"the id {wrong}") from None
    typed = _usual(typed)
    if _TOO_SHORT.fullmatch(typed):
        raise UsageError(f"{typed} is too short: give {SHORTEST} characters of an id, or more")
    if not _BEGINNING.fullmatch(typed):
        return typed
    reader.refresh()
    wanted = dict.fromkeys("candidate" if kind == "memory" else kind for kind in kinds)
    found = sorted(
        (row["id"], kind)
        for kind in wanted
        for row in query(reader.projections, _FOUND[kind], [typed.lower()])
    )
    if len(found) > 1:
        listed = "".join(f"\n  {kind} {full}" for full, kind in found[:MOST_LISTED])
        more = len(found) - MOST_LISTED
        rest = f"\n  and {more} more" if more > 0 else ""
        raise UsageError(f"{typed} is the beginning of several ids:{listed}{rest}")
    return found[0][0] if found else typed


def resolve_id(reader: Reader, typed: str) -> ResolvedId:
    """Resolve an id or an abbreviated one; an unknown id counts as a candidate's.

    Raises UsageError as `full_id` does.
    """
    found = full_id(reader, typed, "candidate", "decision")
    recorded = reader.log.find(found)
    event = recorded.event if recorded else None
    if isinstance(event, Decided | Settled | Joined | Redecided):
        return ResolvedId("decision", found, event.subject)
    return ResolvedId("memory" if count_members(reader, found) > 1 else "candidate", found, found)


def count_members(reader: Reader, memory_id: str) -> int:
    """The number of candidates of a memory; 0 if this is not a memory's id."""
    reader.refresh()
    text = "SELECT count(*) AS n FROM candidates WHERE memory_id = ?"
    [row] = query(reader.projections, text, [memory_id])
    count: int = row["n"]
    return count


def require_owned(reader: Reader, owner_id: str | None, *ids: str | None) -> None:
    """Raise RefusedError, with the message for unknown ids, if one of these is another owner's.

    They are ids of candidates, memories or decisions. Unknown ids pass, and without an owner any.
    """
    if owner_id is None:
        return
    for id_ in filter(None, ids):
        if not {reader.log.owner_of(decision_id_or_unchanged(id_)), reader.log.owner_of(id_)} <= {
            None,
            owner_id,
        }:
            raise RefusedError("unknown_candidate", no_such_id(id_))


def forgetting_of(reader: Reader, owner_id: str, forgotten: str) -> Retracted:
    """The first event of the request to forget that has the id `forgotten`.

    Raises RefusedError if this owner has no such request.
    """
    try:
        recorded = reader.log.find(event_id(event_id(forgotten, FORGET), "0"))
    except ValueError:
        recorded = None
    event = recorded.event if recorded else None
    if not isinstance(event, Retracted) or event.owner_id != owner_id:
        raise RefusedError("unknown_decision", no_such_id(forgotten))
    return event


def bare(reader: Reader, given: Any) -> Any:
    """Replace URNs and other spellings of UUIDs by plain ones, in an id, ids or a selection.

    Raises UsageError for a malformed URN, or one whose owner or namespace is not the id's.
    """
    match given:
        case str():
            return _id_in(reader, Urn.parse(given)) if is_urn(given) else _usual(given)
        case Selection(candidate_id=str() as candidate_id):
            return given.model_copy(update={"candidate_id": bare(reader, candidate_id)})
        case Sequence():
            return [bare(reader, item) for item in given]
        case _:
            return given


def _usual(some_id: str) -> str:
    """The only id in a text, or its beginning; a whole UUID as this system writes it.

    Models and people copy an id with its surroundings, as in `"…"` and `(id …, 2026-01-31)`. Beside
    other words, a date (`20260131`) or a word (`deadbeef`) does not count as an id. A text without
    an id, or with several, is returned unchanged.
    """
    found = _WITHIN.findall(some_id)
    if len(_WORD.findall(some_id)) > 1:
        found = [*filter(_NEITHER_WORD_NOR_NUMBER.search, found)]
    some_id = found[0] if len(found) == 1 else some_id
    try:
        return str(UUID(some_id))
    except ValueError:
        return some_id


def _id_in(reader: Reader, named: Urn) -> str:
    """The id in a URN. If it is unknown here, a later step refuses it."""
    named = named._replace(id=_usual(named.id))
    admitted = _admission(reader, named.id)
    if admitted is None:
        return named.id
    if (admitted.owner_id, admitted.data.candidate.namespace) != (named.owner_id, named.namespace):
        raise UsageError(
            f"{named.id} does not belong to owner {named.owner_id} in namespace"
            f" {named.namespace}, as the URN says"
        )
    return named.id


def _admission(reader: Reader, some_id: str) -> Decided | None:
    """The first decision on the candidate with this id, or on the candidate of this decision."""
    event: AnyEvent | None = None
    for some in (decision_id_or_unchanged(some_id), some_id):
        recorded = reader.log.find(some)
        event = recorded.event if recorded else None
        if event is not None:
            break
    if isinstance(event, Settled | Joined | Redecided):
        recorded = reader.log.find(decision_id_of(event.subject))
        event = recorded.event if recorded else None
    return event if isinstance(event, Decided) else None
