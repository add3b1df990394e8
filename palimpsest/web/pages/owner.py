"""The list of owners, and an owner's page: counts, memories page by page, and a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from starlette.responses import Response

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.shown import Page
from palimpsest.queries.find import By, Plan
from palimpsest.server.problems import not_found
from palimpsest.web import paths
from palimpsest.web.door import Door, Visit

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
    """An owner's counts: `repeats` are living candidates beyond one per memory."""

    memories: int
    candidates: int
    repeats: int
    joins: int
    pending: int
    retracted: int


def add(door: Door) -> None:
    """The list of owners, and each one's page."""
    door.get("/owners", _owners)
    door.get("/owners/{owner}", _owner)
    door.post("/owners/{owner}/search", _search)


def counts(store: Palimpsest, owner_id: str) -> OwnerCounts:
    """An owner's current counts; a problem for an unknown owner."""
    ledger = store.reader.ledger(owner_id)
    if not ledger.seen:
        raise not_found("this owner is unknown")
    memories = sum(memory.living for memory in ledger.memories())
    living = sum(entry.living for entry in ledger.entries.values())
    return OwnerCounts(
        memories=memories,
        candidates=len(ledger.entries),
        repeats=living - memories,
        joins=sum(edge.standing for edge in ledger.edges.values()),
        pending=sum(entry.pending and entry.living for entry in ledger.entries.values()),
        retracted=len(ledger.entries) - living,
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
        paths=paths,
    )


async def _owner(visit: Visit) -> Response:
    owner_id, after = visit.owner(), visit.query.get("after")

    def found(store: Palimpsest) -> tuple[OwnerCounts, Page]:
        had = counts(store, owner_id)
        return had, store.list(owner_id, limit=MEMORIES, after=after)

    had, memories = await visit.store.call(found)
    return _page(visit, owner_id, had, memories=memories)


async def _search(visit: Visit) -> Response:
    """Search by a form, so that the query is in no URL and no browser's history."""
    owner_id, wanted = visit.owner(), visit.form.get("q", "").strip()
    by = visit.form.get("by")
    how: How = "words" if by == "words" else "meaning" if by == "meaning" else "both"
    if not wanted:
        return visit.to(paths.owner(owner_id))

    def found(store: Palimpsest) -> tuple[OwnerCounts, Plan]:
        had = counts(store, owner_id)
        return had, store.find(owner_id, wanted, by=BY[how], k=HITS)

    had, plan = await visit.store.call(found)
    return _page(visit, owner_id, had, plan=plan, wanted=wanted, how=how)


def _page(
    visit: Visit,
    owner_id: str,
    had: OwnerCounts,
    *,
    memories: Page | None = None,
    plan: Plan | None = None,
    wanted: str = "",
    how: How = "both",
) -> Response:
    """The page, with a page of memories or with hits."""
    return visit.page(
        "owner.html",
        owner_id=owner_id,
        counts=had,
        memories=memories,
        plan=plan,
        wanted=wanted,
        how=how,
        ways=get_args(How),
        paths=paths,
    )
