"""Vectors that follow: texts that were stored while the model was down are embedded later."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from palimpsest.contracts.requests import EmbedRequest
from palimpsest.local_gateway import LocalGateway


def embed_late(
    gateway: LocalGateway, owner_id: str | None, progress: Callable[[int, int], None] | None
) -> dict[str, int]:
    """Embed what waits for its vector, owner by owner; RefusedError where the model is down."""
    waiting = gateway.log.verifications.owners_unembedded()
    owners = {one: n for one, n in waiting.items() if owner_id in (None, one)}
    done, left = 0, sum(owners.values())
    for owner, texts in owners.items():
        others, here = left - texts, texts
        while here:
            request = EmbedRequest(request_id=str(uuid4()), owner_id=owner)
            answer = gateway.ask(request)
            done, here = done + answer["embedded"], answer["left"]
            left = others + here
            if progress is not None and done + left:
                progress(done, left)
    return {"embedded": done, "left": left}
