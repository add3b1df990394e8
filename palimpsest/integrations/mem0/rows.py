"""Memories and their histories in mem0's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from palimpsest.contracts.shown import Happened, History
from palimpsest.integrations.mem0.filters import SAID_BY
from palimpsest.streams.core.admit import FORGOTTEN
from palimpsest.streams.core.skips import skipped_for

Row = dict[str, Any]


def row_of(owner_id: str, memory: Mapping[str, Any]) -> Row:
    """A memory in mem0's form; its agent, app and run are those of the latest member.

    `created_at` is the time of the event, which mem0's `timestamp` sets.
    """
    metadata = dict(memory["metadata"])
    about = {name: metadata.pop(name, None) for name in SAID_BY}
    last: Row = {}
    if ends := memory.get("expires_at"):  # the last day that begins, in UTC, before that
        before = datetime.fromisoformat(ends) - timedelta(microseconds=1)
        last = {"expiration_date": str(before.date())}
    return {
        "id": memory["memory_id"],
        "memory": memory["face"],
        "user_id": owner_id,
        **last,
        **about,
        "metadata": metadata,
        "categories": [],
        "created_at": memory["occurred_at"] or memory["created_at"],
        "updated_at": memory["updated_at"],
        "version": memory["version"],
    }


def repeat_of(memory: Mapping[str, Any], text: str) -> Row:
    """A candidate that repeats a memory's text, with the memory's expiry."""
    again = {"text": text, "namespace": memory["namespace"]}
    ends = memory.get("expires_at")
    return again if ends is None else {**again, "expires_at": ends}


def added_row(outcome: Mapping[str, Any], memory: Mapping[str, Any] | None) -> Row:
    """A message's outcome, and the memory that it is in, if that is shown.

    `NONE` if the text was known or forgotten, `UPDATE` if it became the face of a known memory.
    """
    if outcome["reason"] == FORGOTTEN:
        return {"id": outcome["candidate_id"], "memory": None, "event": "NONE"}
    if outcome["memory_id"] is None:  # a cluster decides later
        return {"id": outcome["candidate_id"], "memory": None, "event": "ADD"}
    if memory is None:
        return {"id": outcome["memory_id"], "memory": None, "event": "NONE"}
    # The outcome of a known candidate does not say what it joined.
    began = outcome["joined_to"] is None and skipped_for(outcome["decision"]) is None
    speaks = any(
        member["candidate_id"] == outcome["candidate_id"] and member["text"] == memory["face"]
        for member in memory["members"]
    )
    event = "ADD" if began else "UPDATE" if speaks else "NONE"
    return {"id": memory["memory_id"], "memory": memory["face"], "event": event}


def history_rows(history: History) -> Iterator[Row]:
    """One row for each change of the memory's text, and one if it is forgotten.

    Members of a forgotten memory leave one by one; the faces in between are not changes.
    """
    gone = history["state"] == "retracted"
    last = history["events"][-1].get("cause")
    before: str | None = None
    for event in history["events"]:
        face = event.get("face")
        leaves = gone and event["event"] in ("retracted", "reversed") and event.get("cause") == last
        if face not in (None, before) and not leaves:
            yield _happened(history, event, "ADD" if before is None else "UPDATE", before, face)
            before = face
    if gone:
        yield _happened(history, history["events"][-1], "DELETE", before, None)


def _happened(
    history: History, event: Happened, what: str, old: str | None, new: str | None
) -> Row:
    return {
        "id": event["event_id"],
        "memory_id": history["memory_id"],
        "user_id": history["owner_id"],
        "event": what,
        "old_memory": old,
        "new_memory": new,
        "created_at": event["decided_at"],
        "updated_at": event["decided_at"],
    }
