"""Expiry: candidates become hidden from reads and newcomers at a set moment (docs/expiry.md).

Expiring records no event: whether a candidate has expired follows from the moment of a query, or of
the event that is decided or folded. A ledger knows which candidates have expired at its own moment,
and `advance` moves it to another one: a decision rests on the moment that its event records.
"""

from __future__ import annotations

from datetime import datetime
from heapq import heappop, heappush

from palimpsest.contracts.commands import SetExpiry
from palimpsest.contracts.events import ExpirySet, ExpirySetData
from palimpsest.streams.core.envelope import head
from palimpsest.streams.core.indexes import index_row
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.operate import Result
from palimpsest.streams.core.refusal import Refusal, unknown_candidate
from palimpsest.streams.core.touched import Touched


def advance(ledger: Ledger, moment: datetime) -> None:
    """Move a ledger to a moment: exactly the candidates whose time has come are expired.

    It marks their rows and faces, so that searches read them again. If the clock goes back after a
    dry run, so does the ledger.
    """
    expiring = ledger.expiring
    if ledger.moment is not None and moment < ledger.moment:
        ledger.moment = moment
        for entry in ledger.entries.values():
            if entry.expired and entry.expires_at is not None and entry.expires_at > moment:
                entry.expired = False
                heappush(ledger.expiring, (entry.expires_at, entry.place, entry.id))
                _search_again(ledger, entry)
    while expiring and expiring[0][0] <= moment:
        at, _, candidate_id = heappop(expiring)
        entry = ledger.entries[candidate_id]
        if entry.expires_at == at and not entry.expired:
            entry.expired, ledger.moment = True, moment
            _search_again(ledger, entry)


def begin_expiry(ledger: Ledger, entry: Entry) -> None:
    """Note when a candidate expires, or that it has already expired at the ledger's last time."""
    at = entry.expires_at
    entry.expired = at is not None and ledger.last_time is not None and at <= ledger.last_time
    if at is not None and not entry.expired:
        heappush(ledger.expiring, (at, ledger.seen, entry.id))


def set_expiry(command: SetExpiry, ledger: Ledger, now: datetime) -> Result:
    """One `expiry_set` event: the candidate expires at another time, or never.

    An expired candidate comes back only if its text has not been said again since: two current
    memories never share a text.
    """
    entry = ledger.entries.get(command.candidate_id)
    if entry is None:
        return unknown_candidate(command.candidate_id)
    if entry.expires_at == command.expires_at:
        at = entry.expires_at
        when = "never expires" if at is None else f"expires at {at.isoformat()}"
        return Refusal("unchanged", f"this changes nothing: candidate {entry.id} {when}")
    if command.rank == "agent" and not entry.living:
        other = next((one.id for one in reversed(entry.memory.members) if one.living), None)
        do = "restore it first" if other is None else f"renew {other}, which its memory still has"
        return Refusal("not_living", f"candidate {entry.id} is hidden: {do}")
    if command.rank == "agent" and None in (entry.expires_at, command.expires_at):
        return Refusal("outranked", "only a person may decide whether a memory expires at all")
    if command.rank == "agent" and entry.pins:
        return Refusal("outranked", "a person has decided when it expires")
    if entry.expired and (command.expires_at is None or command.expires_at > now):
        twin = _said_since(ledger, entry)
        if twin is not None:
            return Refusal(
                "same_text", f"its text was said again since, as candidate {twin.id}: pin that"
            )
    data = ExpirySetData(
        candidate_id=entry.id,
        expires_at=command.expires_at,
        was=entry.expires_at,
        rank=command.rank,
        actor=command.actor,
        because=command.because,
    )
    return [ExpirySet(**head(command, entry.id, now), data=data)]


def fold_expiry_set(ledger: Ledger, event: ExpirySet, touched: Touched) -> None:
    """Change an expiry; if the text is current again, repeats of it join it again.

    An expiry that a person set stands until a person sets the one before it again.
    """
    entry, data = ledger.entries[event.data.candidate_id], event.data
    if entry.pins and data.expires_at == entry.pins[-1].data.was:
        entry.pins = entry.pins[:-1]
    else:
        entry.pins = (*entry.pins, event) if data.rank == "person" else ()
    entry.expires_at = data.expires_at
    begin_expiry(ledger, entry)
    if not entry.expired:
        ledger.scope(entry.fields.namespace).by_hash[entry.distinct.hash] = entry.distinct
    _search_again(ledger, entry)
    touched.entries[entry.id] = entry
    touched.memory(entry.memory)


def _said_since(ledger: Ledger, entry: Entry) -> Entry | None:
    """A candidate whose text an expired one, or its memory's composed text, would duplicate."""
    memory = entry.memory
    same = ledger.distinct(memory.namespace, entry.distinct.hash)
    if same is not None and same is not entry.distinct and not same.over:
        return same.lives_outside(()) or same.members[0]
    twin = entry.distinct.lives_outside({memory})
    if twin is None and memory.texted:
        spoken = ledger.distinct(memory.namespace, memory.face.hash)
        twin = None if spoken is None else spoken.lives_outside({memory})
    return twin


def _search_again(ledger: Ledger, entry: Entry) -> None:
    index_row(ledger, entry)
    ledger.scope(entry.fields.namespace).faces.append(entry.memory.members[0])
