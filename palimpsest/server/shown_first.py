"""Two-step operations: the token of a dry run stands for exactly the result that it showed."""

from __future__ import annotations

import hashlib

import orjson

from palimpsest.process.output import plain
from palimpsest.server.bodies import ForgottenAll
from palimpsest.server.intents import Intents
from palimpsest.server.problems import ProblemError


def token_of(shown: object) -> str:
    """A token, 32 hex digits, for the result of a dry run: another result has another token."""
    shown_bytes = orjson.dumps(shown, default=plain, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(shown_bytes).hexdigest()[:32]


def require_token(given: str, token: str) -> None:
    """Raise a problem if the result would differ from the one that was shown."""
    if given != token:
        moved = "the result is no longer what the dry run showed: look again"
        raise ProblemError(409, "refused", moved, reason="moved_on")


async def forget_all(intents: Intents, token: str | None, because: str | None) -> ForgottenAll:
    """Forget all memories of an owner that were shown; without a token, show them."""
    dry_run = token is None
    done = await intents.forget_all(expect=token, dry_run=dry_run, because=because)
    return ForgottenAll(
        done=not dry_run,
        token=done["token"] if done is not None and dry_run else None,
        forgotten=None if done is None or dry_run else done["forgotten"],
        candidates=[] if done is None else done["candidates"],
    )
