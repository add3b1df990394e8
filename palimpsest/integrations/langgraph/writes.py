"""Puts, deletions and renewals of items, as operations of the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

import orjson
from langgraph.store.base import PutOp

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.identity import candidate_id
from palimpsest.contracts.model import same_json
from palimpsest.contracts.requested import name_request
from palimpsest.contracts.requests import Selection
from palimpsest.integrations.langgraph.arguments import TEXTS, VALUES, check_value
from palimpsest.integrations.langgraph.items import SOURCE, Items, Kept
from palimpsest.integrations.langgraph.namespaces import written
from palimpsest.integrations.langgraph.values import Value
from palimpsest.streams.core.ledger import Entry
from palimpsest.streams.core.text import verbatim_hash
from palimpsest.streams.write.inputs import Outcome

PUTS = UUID("7c0e4b62-94c1-5b7f-8a3d-2f1f6f0f9a27")
"""Namespace for the ids of puts, so that a put repeated after a crash has the same id."""

LEAST_RENEWED = 0.01
"""Minimum renewal of an item by a read, as a share of its `ttl`: each renewal is an event."""


def write(memories: Palimpsest, owner_id: str, op: PutOp, text_of: Callable[[Value], str]) -> None:
    """Put a value, or delete the key if there is none; a value that is there already stays."""
    items = Items(memories, owner_id)
    kept = items.current.get((op.namespace, op.key))
    if op.value is None:
        _delete(memories, items.living(op.namespace, op.key), owner_id)
    elif (
        kept is None
        or op.ttl
        or kept.expires
        or kept.indexed is (op.index is False)
        or not same_json(kept.value, op.value)
    ):
        value = check_value(VALUES, {**op.value}, "a value")
        _put(memories, op, value, text_of, items, kept)


def renew(memories: Palimpsest, kept: Kept) -> None:
    """Renew an item for its whole `ttl`, if that adds at least a hundredth of it."""
    ttl, ends = kept.entry.fields.ttl, kept.entry.expires_at
    if ttl is None or ends is None:
        return
    now = memories.reader.clock()
    if now + timedelta(seconds=ttl) - ends < timedelta(seconds=ttl * LEAST_RENEWED):
        return
    with suppress(RefusedError):  # another process was first, or a person pinned it
        memories.renew(kept.entry.id, now + timedelta(seconds=ttl), actor=SOURCE)


def _put(
    memories: Palimpsest,
    op: PutOp,
    value: dict[str, Any],
    text_of: Callable[[Value], str],
    items: Items,
    kept: Kept | None,
) -> None:
    """Record the new value by an update, if only this key is in the memory and it never expires.

    Else, and if the update does nothing, a text is submitted, and the key's old ones retracted.
    """
    owner_id = items.owner_id
    before = items.living(op.namespace, op.key)
    number = len(items.of_key(op.namespace, op.key))
    words = orjson.dumps([op.namespace, op.key, number, value], option=orjson.OPT_SORT_KEYS)
    put_id = str(uuid5(PUTS, words.decode()))
    metadata = _metadata(op, value, kept)
    text = check_value(TEXTS, text_of(value), "the text of a value")
    lasts = op.ttl is None and kept is not None and not kept.expires
    alone = kept if kept is not None and lasts and items.alone(kept) else None
    if alone and _update(memories, alone, text, put_id, metadata, owner_id):
        return
    row = {"owner_id": owner_id, "namespace": written(op.namespace), "id": put_id}
    ttl = None if op.ttl is None else op.ttl * 60.0
    [outcome] = memories.submit(
        {**row, "text": text, "metadata": metadata, "ttl": ttl}, source=SOURCE
    )
    _require_kept(memories, owner_id, op, outcome)
    _retract(memories, [entry for entry in before if entry.memory.id != outcome.memory_id])


def _metadata(op: PutOp, value: dict[str, Any], kept: Kept | None) -> dict[str, Any]:
    marked: dict[str, Any] = {"key": op.key, "value": value}
    if op.index is False:
        marked["index"] = False
    if kept is not None:
        marked["first"] = kept.oldest.id
    return {SOURCE: marked}


def _require_kept(memories: Palimpsest, owner_id: str, op: PutOp, outcome: Outcome) -> None:
    """UsageError if the text is invalid, RefusedError if the key's item did not get it."""
    if outcome.result == "invalid":
        raise UsageError(f"the item cannot be kept: {outcome.detail}")
    if outcome.result == "published":
        return
    living = Items(memories, owner_id).living(op.namespace, op.key)
    if outcome.candidate_id not in [entry.id for entry in living]:
        raise RefusedError(
            "forgotten",
            "a person has forgotten this text, or one that it rewords, and decides whether it may"
            " come back: the key keeps its value",
        )


def _update(
    memories: Palimpsest,
    kept: Kept,
    text: str,
    put_id: str,
    metadata: dict[str, Any],
    owner_id: str,
) -> bool:
    """Change the memory's text; returns whether this put has become its candidate.

    It has not if the memory has this text already, or if a person's statement forbids the change.
    """
    if kept.entry.distinct.hash == verbatim_hash(text):
        return False
    try:
        with name_request(put_id):
            done = memories.update(
                kept.entry.id,
                text,
                merge=True,
                by="agent",
                owner_id=owner_id,
                source=SOURCE,
                metadata=metadata,
                because="put",
            )
    except RefusedError:
        return False  # it is then submitted, and the policy decides
    return done["candidate_id"] == candidate_id(owner_id, SOURCE, put_id)


def _delete(memories: Palimpsest, entries: Sequence[Entry], owner_id: str) -> None:
    """Forget the memories that only this key is in; retract its candidates from all others."""
    own = set(entries)
    whole = [e for e in entries if all(m in own for m in e.memory.members if m.living)]
    if whole:
        ids = list(dict.fromkeys(entry.memory.id for entry in whole))
        memories.forget(
            ids, again="allow", by="agent", owner_id=owner_id, actor=SOURCE, because="deleted"
        )
    _retract(memories, [entry for entry in entries if entry not in whole])


def _retract(memories: Palimpsest, entries: Sequence[Entry]) -> None:
    """Retract candidates, reversibly, the latest first."""
    for entry in reversed(entries):
        memories.retract(Selection(candidate_id=entry.id), actor=SOURCE, because="put or deleted")
