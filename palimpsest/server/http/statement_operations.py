"""HTTP operations that change memories: update, forget, restore, undo, merge, separate."""

from __future__ import annotations

from palimpsest.contracts.answers import (
    Agreed,
    Apart,
    Forgotten,
    Merged,
    PutBack,
    Restorations,
    Session,
    Undone,
    Unmerged,
    Updated,
)
from palimpsest.server import bodies
from palimpsest.server.http.operations import MEMORIES, OWNER, Call, Operation
from palimpsest.server.shown_first import forget_all


async def _update(asked: Call) -> Updated:
    body = asked.body
    return await asked.intents().update(asked.ids["memory"], body.text, **body.fields())


async def _forget(asked: Call) -> Forgotten:
    how = {**asked.query.model_dump(), **asked.body.model_dump()}
    return await asked.intents().forget(asked.ids["memory"], **how)


async def _forget_found(asked: Call) -> Forgotten:
    return await asked.intents().forget_found(asked.body.memory_ids, **asked.body.fields())


async def _end_session(asked: Call) -> Session:
    return await asked.intents().end_session(asked.body.session_id)


async def _compact_session(asked: Call) -> Session:
    return await asked.intents().compact_session(asked.body.session_id)


async def _restore(asked: Call) -> Restorations:
    return await asked.intents().restore(asked.body.forgotten, because=asked.body.because)


async def _forget_all(asked: Call) -> bodies.ForgottenAll:
    return await forget_all(asked.intents(), asked.body.token, asked.body.because)


async def _undo(asked: Call) -> Undone:
    body = asked.body
    return await asked.intents().undo(body.id, dry_run=body.dry_run, because=body.because)


async def _unmerge(asked: Call) -> Unmerged:
    body = asked.body
    return await asked.intents().unmerge(
        body.target(),
        dry_run=body.dry_run,
        consequences=body.with_consequences,
        because=body.because,
    )


async def _reinstate(asked: Call) -> PutBack:
    body = asked.body
    return await asked.intents().reinstate(
        body.decision_id, dry_run=body.dry_run, because=body.because
    )


async def _merge(asked: Call) -> Merged:
    body = asked.body
    return await asked.intents().merge(body.a, body.b, face=body.face, because=body.because)


async def _separate(asked: Call) -> Apart:
    return await asked.intents().separate(asked.body.a, asked.body.b, because=asked.body.because)


async def _confirm(asked: Call) -> Agreed:
    return await asked.intents().confirm(asked.body.decision_id, because=asked.body.because)


OPERATIONS = [
    Operation(
        "update_memory",
        "PATCH",
        f"{MEMORIES}/{{memory}}",
        "Change a memory's text; fails if `expect` is no longer its version.",
        Updated,
        _update,
        bodies.Update,
        writes=True,
    ),
    Operation(
        "forget_memory",
        "DELETE",
        f"{MEMORIES}/{{memory}}",
        "Forget a memory with all its wordings, reversibly; fails if `expect` is no longer its"
        " version.",
        Forgotten,
        _forget,
        bodies.Reason,
        query=bodies.ForgetQuery,
        writes=True,
    ),
    Operation(
        "forget_found_memories",
        "POST",
        f"{MEMORIES}/forget",
        "Forget exactly what a plan of `find` shows; fails with `moved_on` if that has changed.",
        Forgotten,
        _forget_found,
        bodies.ForgetFound,
        writes=True,
    ),
    Operation(
        "restore",
        "POST",
        f"{OWNER}/restore",
        "Restore all that was forgotten at once; for people.",
        Restorations,
        _restore,
        bodies.Restore,
        role="reviewer",
        writes=True,
    ),
    Operation(
        "forget_all_memories",
        "POST",
        f"{MEMORIES}/forget-all",
        "Forget all of the owner's memories; without a `token`, only show them and the token.",
        bodies.ForgottenAll,
        _forget_all,
        bodies.ForgetAll,
        writes=True,
    ),
    Operation(
        "end_session",
        "POST",
        f"{OWNER}/sessions/end",
        "Report that a conversation ended: its memories are consolidated if the policy says so.",
        Session,
        _end_session,
        bodies.OneSession,
        writes=True,
    ),
    Operation(
        "compact_session",
        "POST",
        f"{OWNER}/sessions/compacted",
        "Report that a conversation was compacted: `exclude_session` covers only later memories.",
        Session,
        _compact_session,
        bodies.OneSession,
        writes=True,
    ),
    Operation(
        "undo",
        "POST",
        f"{OWNER}/undo",
        "Undo an update, by its decision or candidate, or the last one of a memory.",
        Undone,
        _undo,
        bodies.TakeBack,
        writes=True,
    ),
    Operation(
        "unmerge",
        "POST",
        f"{OWNER}/unmerge",
        "Remove a join; `dry_run` shows the result, and the decisions that depend on the join.",
        Unmerged,
        _unmerge,
        bodies.Undo,
        writes=True,
    ),
    Operation(
        "reinstate",
        "POST",
        f"{OWNER}/reinstate",
        "Take a reversal back, with everything that was done because of it.",
        PutBack,
        _reinstate,
        bodies.Reinstate,
        writes=True,
    ),
    Operation(
        "merge",
        "POST",
        f"{OWNER}/merge",
        "Declare two candidates the same; for people.",
        Merged,
        _merge,
        bodies.Merge,
        role="reviewer",
        writes=True,
    ),
    Operation(
        "separate",
        "POST",
        f"{OWNER}/separate",
        "Declare two candidates different; for people.",
        Apart,
        _separate,
        bodies.Pair,
        role="reviewer",
        writes=True,
    ),
    Operation(
        "confirm",
        "POST",
        f"{OWNER}/confirm",
        "Confirm a decision; for people.",
        Agreed,
        _confirm,
        bodies.Confirm,
        role="reviewer",
        writes=True,
    ),
]
