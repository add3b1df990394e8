"""The arguments and rows of mem0's own class, as far as they differ from its client's."""

from __future__ import annotations

import asyncio
import hashlib
import heapq
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import wraps
from itertools import accumulate
from operator import itemgetter
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.candidate import Text
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.limits import PYTHON
from palimpsest.contracts.model import first_rule, rule_of
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import SetExpiryRequest
from palimpsest.contracts.shown import Found
from palimpsest.integrations.mem0.bodies import Add, MessageBody, ending
from palimpsest.integrations.mem0.filters import (
    COMPARISONS,
    FIELDS,
    SAID_BY,
    Filters,
    parse_filters,
    parts_of,
)
from palimpsest.integrations.mem0.rows import Row, history_rows, repeat_of, row_of
from palimpsest.integrations.nearest import nearest_of
from palimpsest.queries.memories import to_expire

SOURCE = "mem0"
UNSAID: Any = object()
ENTITIES = ("user_id", "agent_id", "run_id")
PROMOTED = ("actor_id", "role")
"""Values of the metadata that mem0 shows beside it."""
LEAVE_OUT = (
    "leave it out; add takes messages, user_id, agent_id, run_id, metadata, timestamp,"
    " expiration_date and infer"
)
LEAST_SCORE = 0.1
"""The `threshold` of a search that names none."""
QUERIES: TypeAdapter[str] = TypeAdapter(Text)
Result = TypeVar("Result")


def awaited(call: Callable[..., Result]) -> Callable[..., Coroutine[Any, Any, Result]]:
    """A call of `Memory` as a coroutine of a class with a `memory`; it runs on a thread."""

    @wraps(call)
    async def made(of: Any, /, *args: Any, **more: Any) -> Result:
        return await asyncio.to_thread(call, of.memory, *args, **more)

    return made


def found_by(memories: Palimpsest, memory_id: str | None) -> Found | None:
    """The memory of an id; None if it is unknown or forgotten."""
    try:
        found = None if memory_id is None else memories.get(memory_id)
    except RefusedError:
        return None
    return None if found is None or found["state"] == "retracted" else found


def known_by(memories: Palimpsest, memory_id: str) -> Found:
    """The memory of an id; ValueError in mem0's words if there is none."""
    found = found_by(memories, memory_id)
    if found is None:
        raise ValueError(f"Memory with id {memory_id} not found")
    return found


def forget_all(memories: Palimpsest, wanted: Filters) -> None:
    """Forget an owner's memories that pass, expired ones too."""
    if ids := [row["id"] for row in rows_of(memories, wanted, show_expired=True)]:
        memories.forget(ids)


def read_messages(messages: Any, **more: Any) -> Add:
    """Parse the arguments of `add`. ValueError, which quotes no text, if one is wrong."""
    who = entities(more)
    ends = last_day(more.get("expiration_date"))
    given = [messages] if isinstance(messages, str | dict) else messages
    if not isinstance(given, list):
        raise ValueError("messages must be str, dict, or list[dict]")
    given = [{"role": "user", "content": item} if isinstance(item, str) else item for item in given]
    try:
        return Add.model_validate({**more, **who, "expiration_date": ends, "messages": given})
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_context=False, include_url=False)[0]
        told = LEAVE_OUT if wrong["type"] == "extra_forbidden" else rule_of(wrong)
        raise ValueError(f"{'.'.join(map(str, wrong['loc']))}: {told}") from None


def speaker_of(message: MessageBody, *, infer: bool) -> Row:
    """The speaker of a message, which mem0 keeps unless it extracts memories (`infer`)."""
    return {} if infer else {"role": message.role, "actor_id": message.name}


def candidates_of(body: Add, said: Sequence[Row]) -> Iterator[Row]:
    """The candidates of messages, each with its speaker."""
    who = body.named()
    about = {name: who[name] for name in SAID_BY if name in who}
    common = {"owner_id": owner_of(who), "session_id": body.run_id, **body.when()}
    for message, by in zip(body.wanted(), said, strict=True):
        yield {**common, "text": message.text(), "metadata": {**body.metadata, **about, **by}}


def more_about(memory: Found, metadata: Mapping[str, Any] | None) -> Row:
    """A memory's metadata with more values; the speaker is kept."""
    identity = {name: memory["metadata"].get(name) for name in (*SAID_BY, "actor_id")}
    kept = {name: value for name, value in identity.items() if value is not None}
    return {**memory["metadata"], **(metadata or {}), **kept}


def last_day(given: Any) -> date | None:
    """An `expiration_date` as mem0 reads it. ValueError in mem0's words if it is not a date."""
    if isinstance(given, datetime):
        return given.date()
    if given is None or isinstance(given, date):
        return given
    if not isinstance(given, str):
        raise ValueError("expiration_date must be a date string in YYYY-MM-DD format.")
    try:
        return date.fromisoformat(given)
    except ValueError:
        wrong = "expiration_date must be a valid date in YYYY-MM-DD format."
        raise ValueError(wrong) from None


def change(
    memories: Palimpsest, memory: Found, text: str | None, metadata: Any, expiration_date: Any
) -> None:
    """Change a memory's text or expiry, or add to its metadata. ValueError without any of these.

    If the memory has expired, its expiry is set first: an expired memory's text cannot change.
    """
    if text is None and metadata is None and expiration_date is UNSAID:
        raise ValueError("At least one of text, metadata, or expiration_date must be provided.")
    if not isinstance(metadata, Mapping | None):
        raise ValueError("metadata must be a dict, such as {'mood': 'good'}")
    ends = None if expiration_date is UNSAID else ending(last_day(expiration_date))
    is_over = memory["state"] == "expired"
    if is_over and expiration_date is not UNSAID:
        memory = _end(memories, memory, ends)
    if text is not None or metadata is not None:
        _say(memories, memory, text, metadata)
    if not is_over and expiration_date is not UNSAID:
        _end(memories, memory, ends)


def _end(memories: Palimpsest, memory: Found, ends: datetime | None) -> Found:
    """Set when a memory expires, or that it never does; returns the resulting memory."""
    for one in to_expire(memories.reader, memory["memory_id"], ends):
        asked = {"request_id": request_id(), "candidate_id": one, "expires_at": ends}
        memories.writer.ask(SetExpiryRequest.model_validate(asked))
    return memories.get(memory["memory_id"])


def _say(memories: Palimpsest, memory: Found, text: str | None, metadata: Any) -> None:
    about, said = more_about(memory, metadata), memory["face"] if text is None else text
    named = memory["memory_id"]
    done = memories.update(named, said, merge=True, source=SOURCE, metadata=about)
    if metadata is not None and not done["changed"]:  # the same text, with more about it
        again = {"owner_id": memory["owner_id"], **repeat_of(memory, said), "metadata": about}
        memories.submit([again], source=SOURCE)


def changes_of(memories: Palimpsest, memory_id: str) -> list[Row]:
    """Each change of a memory's text; empty for an unknown id."""
    try:
        history = memories.history(memory_id)
    except RefusedError:
        return []
    said = {"is_deleted": history["state"] == "retracted", "actor_id": None, "role": None}
    rows = [{**row, **said} for row in history_rows(history)]
    return [{name: row[name] for name in row if name != "user_id"} for row in rows]


def owners_meant(memories: Palimpsest, filters: Any) -> Iterator[Filters]:
    """The filters for each owner they apply to: the user, or all owners if none is named.

    ValueError if they are malformed.
    """
    given = dict(filters or {})
    who = entities(given)
    rest = {name: value for name, value in given.items() if name not in ENTITIES}
    about = {name: who[name] for name in SAID_BY if name in who}
    owners = [who["user_id"]] if "user_id" in who else memories.reader.owners()
    for owner_id in owners:
        try:
            wanted = parse_filters({**beside_metadata(rest), **about, "user_id": owner_id})
        except UsageError as error:
            raise ValueError(str(error)) from None
        yield wanted


def expired_too(given: Mapping[str, Any]) -> dict[str, bool]:
    """Whether expired memories are also requested."""
    return {"show_expired": bool(given.get("show_expired"))}


def rows_of(memories: Palimpsest, wanted: Filters, *, show_expired: bool = False) -> Iterator[Row]:
    """The memories of an owner that pass, the latest first."""
    after = None
    while True:
        page = memories.list(
            wanted.user_id,
            limit=PYTHON.listed,
            after=after,
            metadata=wanted.metadata,
            show_expired=show_expired,
        )
        for memory in page["memories"]:
            if wanted.keep(row_of(wanted.user_id, memory)):
                yield item_of(wanted.user_id, memory)
        after = page["next"]
        if after is None:
            return


def entities(given: Mapping[str, Any]) -> dict[str, str]:
    """The ids among arguments or filters; ValueError if there is none, or one is not an id."""
    if several := [n for n in ENTITIES if isinstance(given.get(n), Mapping | list | tuple | set)]:
        raise ValueError(f"{several[0]} must be one id, such as 'ada'")
    who = {name: str(given[name]).strip() for name in ENTITIES if given.get(name) is not None}
    if not who:
        raise ValueError(
            f"name at least one of {', '.join(ENTITIES)}: add(..., user_id='ada'),"
            " search(..., filters={'user_id': 'ada'})"
        )
    if blank := [name for name, value in who.items() if not value]:
        raise ValueError(f"{blank[0]} is blank: give an id such as 'ada', or leave it out")
    return who


def owner_of(who: Mapping[str, str]) -> str:
    """The user; without one, the agent or the run is the owner."""
    return who.get("user_id") or next(f"{name}:{value}" for name, value in who.items())


def refuse_wrong(given: Mapping[str, Any], filters: Any, top_k: int, threshold: float = 0) -> None:
    """ValueError for ids given outside the filters, and for an argument of a wrong type or size."""
    if wrong := [name for name in ENTITIES if name in given]:
        raise ValueError(f"{', '.join(wrong)}: use filters={dict.fromkeys(wrong, '...')} instead")
    if given.get("reference_date") is not None:
        raise ValueError("reference_date: leave it out; no score depends on a date")
    if not isinstance(filters, Mapping | None):
        raise ValueError("filters must be a dict, such as {'user_id': 'ada'}")
    if type(top_k) is not int or top_k < 0:
        raise ValueError("top_k must be a whole number, 0 or more")
    if type(threshold) not in (int, float) or not -1 <= threshold <= 1:
        raise ValueError("threshold must be a number from -1 to 1")
    if not isinstance(given.get("show_expired"), bool | None):
        raise ValueError("show_expired must be true or false")


def require_query(query: Any) -> None:
    """ValueError for a query that is no text, or is blank or too long."""
    try:
        QUERIES.validate_python(query)
    except ValidationError as error:
        raise ValueError(f"query: {first_rule(error)}") from None


def nearest(
    memories: Palimpsest, wanted: Filters, query: str, k: int, *, show_expired: bool = False
) -> list[Row]:
    """The `k` memories of an owner that pass and are nearest to a query, best first."""
    owner_id = wanted.user_id
    if wanted.conditions:
        ids = {row["id"] for row in rows_of(memories, wanted, show_expired=show_expired)}
        found = nearest_of(memories, owner_id, query, ids, k, show_expired=show_expired)
    else:
        found = memories.recall(
            owner_id, query, k=k, metadata=wanted.metadata, show_expired=show_expired
        )
    return [item_of(owner_id, memory) for memory in found]


def merged(found: Iterable[Sequence[Row]]) -> list[Row]:
    """The hits of several owners as one list, best first; those of each owner keep their order.

    Each hit therefore ranks by the best score among it and the owner's later hits: the newest
    memory of a frame comes first, at the rank of the frame's best.
    """
    placed = []
    for rows in found:
        best = [*accumulate((row["score"] for row in reversed(rows)), max)]
        placed.append(zip(reversed(best), rows, strict=True))
    return [row for _, row in heapq.merge(*placed, key=itemgetter(0), reverse=True)]


def beside_metadata(filters: Mapping[str, Any]) -> Row:
    """Move filters on metadata, which mem0 names beside its own fields, under `metadata`."""
    found: Row = {}
    about: Row = {}
    for name, asked in filters.items():
        if name in ("AND", "OR", "NOT"):
            found[name] = [beside_metadata(one) for one in parts_of(asked)]
        elif name == "metadata" and isinstance(asked, dict) and asked.keys() - COMPARISONS.keys():
            raise UsageError("name keys of the metadata beside the ids, not under `metadata`")
        else:
            (found if name in FIELDS or name == "user_id" else about)[name] = asked
    return {**found, "metadata": about} if about else found


def item_of(owner_id: str, memory: Mapping[str, Any]) -> Row:
    """A memory as mem0 shows it; one of an agent or a run alone has no user."""
    row = row_of(owner_id, memory)
    metadata = row["metadata"]
    ids = {name: row[name] for name in ("agent_id", "run_id") if row[name] is not None}
    alone = owner_id in {f"{name}:{value}" for name, value in ids.items()}
    popped = {name: metadata.pop(name, None) for name in PROMOTED}
    promoted = {name: value for name, value in popped.items() if value is not None}
    return {
        "id": row["id"],
        "memory": row["memory"],
        "hash": hashlib.md5(row["memory"].encode(), usedforsecurity=False).hexdigest(),
        "metadata": metadata or None,
        "score": memory.get("score"),
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        **{name: row[name] for name in ("expiration_date",) if name in row},
        **({} if alone else {"user_id": owner_id}),
        **ids,
        **promoted,
    }
