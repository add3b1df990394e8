"""The list of owners, and an owner's page: counts, memories page by page, and a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args

from starlette.responses import Response

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.shown import Page
from palimpsest.queries.find import By, Plan
from palimpsest.server.problems import not_found
from palimpsest.web import paths
from palimpsest.web.door import Door, Visit
from palimpsest.web.expiry import Ending, ending_of

MEMORIES = 25
"""Memories per page."""
HITS = 10
"""Maximum number of hits by meaning; hits by words are all shown."""
OWNERS = 100
"""Owners per page."""
How = Literal["both", "words", "meaning"]
BY: dict[How, tuple[By, ...]] = {
    "both": ("words", "meaning"),
    "words": ("words",),
    "meaning": ("meaning",),
}


@dataclass(frozen=True, slots=True)
class OwnerCounts:
    """An owner's counts: `repeats` are living candidates beyond one per memory.

    `memories` are those that have not `expired`, `retracted` all candidates that are not living.
    """

    memories: int
    candidates: int
    repeats: int
    joins: int
    pending: int
    retracted: int
    expired: int


def add(door: Door) -> None:
    """Add the list of owners, and each one's page."""
    door.get("/owners", _owners)
    door.get("/owners/{owner}", _owner)
    door.post("/owners/{owner}/search", _search)


def counts(store: Palimpsest, owner_id: str) -> OwnerCounts:
    """An owner's current counts; a problem for an unknown owner."""
    ledger = store.reader.ledger(owner_id)
    if not ledger.seen:
        raise not_found("this owner is unknown")
    memories = [memory for memory in ledger.memories() if memory.living]
    living = sum(entry.living for entry in ledger.entries.values())
    now = store.reader.clock()
    expired = sum(memory.has_expired(now) for memory in memories)
    return OwnerCounts(
        memories=len(memories) - expired,
        candidates=len(ledger.entries),
        repeats=living - len(memories),
        joins=sum(edge.standing for edge in ledger.edges.values()),
        pending=sum(entry.pending and entry.living for entry in ledger.entries.values()),
        retracted=len(ledger.entries) - living,
        expired=expired,
    )


async def _owners(visit: Visit) -> Response:
    wanted, after = visit.query.get("q", "").strip(), visit.query.get("after", "")

    def found(store: Palimpsest) -> Sequence[str]:
        """The owners of a page, with one more if another page follows."""
        wished = (
            owner_id
            for owner_id in store.reader.log.owners(after)
            if visit.caller.owners.fullmatch(owner_id) and wanted.casefold() in owner_id.casefold()
        )
        return [*islice(wished, OWNERS + 1)]

    owners = await visit.store.call(found)
    return visit.page(
        "owners.html",
        owners=owners[:OWNERS],
        more=owners[OWNERS - 1] if len(owners) > OWNERS else None,
        wanted=wanted,
    )


async def _owner(visit: Visit) -> Response:
    owner_id, after = visit.owner(), visit.query.get("after")
    show_expired = "expired" in visit.query

    def found(store: Palimpsest) -> tuple[OwnerCounts, Page, dict[str, Ending]]:
        had = counts(store, owner_id)
        page = store.list(owner_id, limit=MEMORIES, after=after, show_expired=show_expired)
        return had, page, _endings(store, owner_id, page["memories"])

    had, memories, endings = await visit.store.call(found)
    also = {"expired": "1"} if show_expired else {}
    return _page(visit, owner_id, had, endings, memories=memories, also=also)


def _endings(
    store: Palimpsest, owner_id: str, memories: Iterable[Mapping[str, Any]]
) -> dict[str, Ending]:
    """The memories' expiries, by id."""
    entries, now = store.reader.ledger(owner_id).entries, store.reader.clock()
    ids = [memory["memory_id"] for memory in memories]
    return {name: ending_of(entries[name].memory, now) for name in ids if name in entries}


async def _search(visit: Visit) -> Response:
    """Search by a form, so that the query is in no URL and no browser's history."""
    owner_id, wanted = visit.owner(), visit.form.get("q", "").strip()
    by = visit.form.get("by")
    how: How = "words" if by == "words" else "meaning" if by == "meaning" else "both"
    if not wanted:
        return visit.to(paths.owner(owner_id))

    def found(store: Palimpsest) -> tuple[OwnerCounts, Plan, dict[str, Ending]]:
        had = counts(store, owner_id)
        plan = store.find(owner_id, wanted, by=BY[how], k=HITS, show_expired=True)
        return had, plan, _endings(store, owner_id, plan["hits"])

    had, plan, endings = await visit.store.call(found)
    return _page(visit, owner_id, had, endings, plan=plan, wanted=wanted, how=how)


def _page(
    visit: Visit,
    owner_id: str,
    had: OwnerCounts,
    endings: Mapping[str, Ending],
    *,
    memories: Page | None = None,
    plan: Plan | None = None,
    wanted: str = "",
    how: How = "both",
    also: Mapping[str, str] | None = None,
) -> Response:
    """The page, with memories or with hits; `also` are more parameters of the next page's URL."""
    return visit.page(
        "owner.html",
        owner_id=owner_id,
        counts=had,
        endings=endings,
        also=also or {},
        memories=memories,
        plan=plan,
        wanted=wanted,
        how=how,
        ways=get_args(How),
    )
