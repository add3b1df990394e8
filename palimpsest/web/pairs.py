"""The queue of pairs that wait for a person."""

from __future__ import annotations

from starlette.responses import Response

from palimpsest.web.door import Door, Visit

_WAITING = "SELECT owner_id, count(*) AS pairs FROM review_queue GROUP BY owner_id ORDER BY 1"


def add(door: Door) -> None:
    """The pages of the queue."""
    door.get("", _waiting)


async def _waiting(visit: Visit) -> Response:
    rows = await visit.store.sql(_WAITING)
    mine = [row for row in rows if visit.caller.owners.fullmatch(row["owner_id"])]
    return visit.page("waiting.html", rows=mine)
