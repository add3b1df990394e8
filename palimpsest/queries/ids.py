"""What a person names by an id, or by its beginning as git has it: a candidate or a decision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from palimpsest.backends.embedded import LocalGateway
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import AnyEvent, Decided, Joined, Redecided, Settled
from palimpsest.contracts.identity import decision_id_of, decision_id_or_unchanged
from palimpsest.contracts.requests import Selection
from palimpsest.contracts.urn import Urn, is_urn
from palimpsest.projections.duckdb.queries import query

Kind = Literal["candidate", "decision", "letter", "memory"]

SHORTEST = 8
MOST_LISTED = 10
_TOO_SHORT = re.compile(rf"(?i)[0-9a-f]{{4,{SHORTEST - 1}}}")
_BEGINNING = re.compile(rf"(?i)[0-9a-f][0-9a-f-]{{{SHORTEST - 1},34}}")
_FOUND = {
    "candidate": "SELECT DISTINCT candidate_id AS id FROM candidates WHERE starts_with(id, ?)",
    "decision": "SELECT DISTINCT decision_id AS id FROM decisions WHERE starts_with(id, ?)",
    "letter": "SELECT DISTINCT decision_id AS id FROM decisions"
    " WHERE decision = 'invalid' AND starts_with(id, ?)",
}


class Named(NamedTuple):
    """What an id is of. For a decision, `candidate_id` is whose it is; else the id's own."""

    kind: Kind
    id: str
    candidate_id: str


def full_id(gateway: LocalGateway, typed: str, *kinds: Kind) -> str:
    """Expand an abbreviated id. Anything else is returned unchanged.

    A memory's id is that of its earliest candidate, a dead letter's that of its decision. Of a URN
    it is the id in it. UsageError lists the ids that begin so where they are several, and asks for
    more of one that is too short.
    """
    if is_urn(typed):
        return _id_in(gateway, typed)
    if _TOO_SHORT.fullmatch(typed):
        raise UsageError(f"{typed} is too short: give {SHORTEST} characters of an id, or more")
    if not _BEGINNING.fullmatch(typed):
        return typed
    gateway.refresh()
    wanted = dict.fromkeys("candidate" if kind == "memory" else kind for kind in kinds)
    found = sorted(
        (row["id"], kind)
        for kind in wanted
        for row in query(gateway.projections, _FOUND[kind], [typed.lower()])
    )
    if len(found) > 1:
        listed = "".join(f"\n  {kind} {one}" for one, kind in found[:MOST_LISTED])
        more = len(found) - MOST_LISTED
        rest = f"\n  and {more} more" if more > 0 else ""
        raise UsageError(f"{typed} is the beginning of several ids:{listed}{rest}")
    return found[0][0] if found else typed


def named(gateway: LocalGateway, typed: str) -> Named:
    """What an id or its beginning names; an unknown one is taken for a candidate's."""
    found = full_id(gateway, typed, "candidate", "decision")
    recorded = gateway.log.find(found)
    event = recorded.event if recorded else None
    if isinstance(event, Decided | Settled | Joined | Redecided):
        return Named("decision", found, event.subject)
    return Named("memory" if members(gateway, found) > 1 else "candidate", found, found)


def named_update(gateway: LocalGateway, some_id: str) -> bool:
    """Whether an id is that of a decision, which an update is named by, and of no candidate."""
    recorded = gateway.log.find(some_id)
    return recorded is not None and isinstance(recorded.event, Decided | Joined)


def members(gateway: LocalGateway, memory_id: str) -> int:
    """How many candidates a memory has; none where this is no memory's id."""
    gateway.refresh()
    text = "SELECT count(*) AS n FROM candidates WHERE memory_id = ?"
    [row] = query(gateway.projections, text, [memory_id])
    count: int = row["n"]
    return count


def bare(gateway: LocalGateway, given: Any) -> Any:
    """An id, several, or a selection, with the ids for the URNs among them; all else as it is.

    UsageError for what is no URN, or names an id of another owner or namespace.
    """
    match given:
        case str() if is_urn(given):
            return _id_in(gateway, given)
        case Selection(candidate_id=str() as one) if is_urn(one):
            return given.model_copy(update={"candidate_id": _id_in(gateway, one)})
        case Sequence() if not isinstance(given, str):
            return [bare(gateway, one) for one in given]
        case _:
            return given


def _id_in(gateway: LocalGateway, urn: str) -> str:
    """The id in a URN; one that is not known here stays for others to refuse."""
    named = Urn.parse(urn)
    admitted = _admission(gateway, named.id)
    if admitted is None:
        return named.id
    if (admitted.owner_id, admitted.data.candidate.namespace) != (named.owner_id, named.namespace):
        raise UsageError(
            f"{named.id} is no id of owner {named.owner_id} in namespace {named.namespace}, as the"
            " URN says"
        )
    return named.id


def _admission(gateway: LocalGateway, some_id: str) -> Decided | None:
    """The first decision on the candidate that an id is, or that a decision is about."""
    event: AnyEvent | None = None
    for one in (decision_id_or_unchanged(some_id), some_id):
        recorded = gateway.log.find(one)
        event = recorded.event if recorded else None
        if event is not None:
            break
    if isinstance(event, Settled | Joined | Redecided):
        recorded = gateway.log.find(decision_id_of(event.subject))
        event = recorded.event if recorded else None
    return event if isinstance(event, Decided) else None
