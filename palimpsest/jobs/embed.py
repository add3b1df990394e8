"""Embeds texts that were stored while the model was down, and windows of older long texts."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.requests import EmbedRequest


def embed_late(
    writer: StoreWriter,
    owner_id: str | None,
    progress: Callable[[int, int], None] | None,
    *,
    long: bool,
    dry_run: bool,
) -> dict[str, int]:
    """Embed texts that have no vector, owner by owner; RefusedError if the model is down.

    With `long`, long texts without windows instead. A dry run counts what would be done as `left`.
    """
    waiting = (
        _without_windows(writer) if long else writer.reader.log.verifications.owners_unembedded()
    )
    owners = {owner: n for owner, n in waiting.items() if n and owner_id in (None, owner)}
    done, left = 0, sum(owners.values())
    for owner, texts in () if dry_run else owners.items():
        others, here = left - texts, texts
        while here:
            request = EmbedRequest(request_id=str(uuid4()), owner_id=owner, long=long)
            answer = writer.ask(request)
            done, here = done + answer["embedded"], answer["left"]
            left = others + here
            if progress is not None and done + left:
                progress(done, left)
    return {"embedded": done, "left": left}


def _without_windows(writer: StoreWriter) -> dict[str, int]:
    """The number of long texts without windows, by owner."""
    ledgers = (writer.reader.ledger(owner) for owner in writer.reader.log.owners_with_long_texts())
    return {ledger.owner_id: len(ledger.without_windows()) for ledger in ledgers}
