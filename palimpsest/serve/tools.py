"""What an agent can do over MCP: each tool is an intent, with the names that mem0's server has."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict

import orjson
from pydantic import BaseModel, TypeAdapter

from palimpsest.contracts.candidate import Name, Share, Text
from palimpsest.contracts.model import Strict
from palimpsest.contracts.shown import Found, History, Page
from palimpsest.output import plain
from palimpsest.serve.bodies import (
    Added,
    Because,
    FoundMemories,
    ListBody,
    NewMemory,
    Some,
    SomeId,
)
from palimpsest.serve.intents import Intents
from palimpsest.serve.problems import ProblemError
from palimpsest.serve.typed_dicts import readable

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool: what it takes and gives; `reads` alone, or `destroys` what a person may miss."""

    name: str
    says: str
    takes: type[BaseModel]
    gives: Any
    run: Callable[[Intents, Any], Awaitable[Any]]
    reads: bool = False
    destroys: bool = False

    @cached_property
    def input_schema(self) -> JsonObject:
        """What a client checks its arguments by."""
        return self.takes.model_json_schema()

    @cached_property
    def output_schema(self) -> JsonObject:
        """What a client checks the answer by."""
        return TypeAdapter(readable(self.gives)).json_schema(mode="serialization")


class SearchArguments(Strict):
    """What to look for, in any words."""

    query: Text
    k: Some = 5
    namespace: Name | None = None
    session_id: Name | None = None
    min_confidence: Share | None = None


class OneMemory(Strict):
    """A memory, by any id that was ever its or its candidates'."""

    memory_id: SomeId


class UndoArguments(Strict):
    """What to take back: the `decision_id` of a join.

    Without the `token` of a dry run it only shows what would be.
    """

    decision_id: SomeId
    token: str | None = None
    with_consequences: bool = False
    because: Because | None = None


class Undone(TypedDict):
    """What was done, or would be: then `token` is what to call it with."""

    done: bool
    token: str | None
    result: JsonObject


async def _add(intents: Intents, said: NewMemory) -> JsonObject:
    [outcome] = await intents.add([said.fields()])
    if outcome["result"] == "invalid":
        raise ProblemError(422, "invalid", outcome["detail"], reason=outcome["reason"])
    return outcome


async def _search(intents: Intents, said: SearchArguments) -> JsonObject:
    asked = said.model_dump(exclude={"query"})
    return {"memories": await intents.search(said.query, **asked)}


async def _list(intents: Intents, said: ListBody) -> Page:
    return await intents.list(**said.fields())


async def _get(intents: Intents, said: OneMemory) -> Found:
    return await intents.get(said.memory_id)


async def _history(intents: Intents, said: OneMemory) -> History:
    return await intents.history(said.memory_id)


async def _undo(intents: Intents, said: UndoArguments) -> Undone:
    async def undo(*, dry_run: bool) -> JsonObject:
        return await intents.unmerge(
            {"decision_id": said.decision_id},
            dry_run=dry_run,
            consequences=said.with_consequences,
            because=said.because,
        )

    shown = await undo(dry_run=True)
    token = token_of(shown)
    if said.token is None:
        return Undone(done=False, token=token, result=shown)
    require_token(said.token, token)
    return Undone(done=True, token=None, result=await undo(dry_run=False))


def token_of(shown: object) -> str:
    """What stands for a dry run as it was shown: another outcome is another token."""
    told = orjson.dumps(shown, default=plain, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(told).hexdigest()[:32]


def require_token(given: str, token: str) -> None:
    """A problem where what would be is not what was shown."""
    if given != token:
        raise ProblemError(
            409,
            "refused",
            "it is not any more what the dry run showed: look again",
            reason="moved_on",
        )


TOOLS = (
    Tool(
        "add_memory",
        "Remember something about the user. Repeats and rewordings join what is known already.",
        NewMemory,
        Added,
        _add,
    ),
    Tool(
        "search_memories",
        "Find memories by meaning, best first.",
        SearchArguments,
        FoundMemories,
        _search,
        reads=True,
    ),
    Tool(
        "get_memories",
        "List memories page by page, the latest first; `next` of one page is `after` of the next.",
        ListBody,
        Page,
        _list,
        reads=True,
    ),
    Tool(
        "get_memory",
        "Show a memory with all its wordings.",
        OneMemory,
        Found,
        _get,
        reads=True,
    ),
    Tool(
        "memory_history",
        "Show everything that happened to a memory, in order, with who did it and why.",
        OneMemory,
        History,
        _history,
        reads=True,
    ),
    Tool(
        "undo",
        "Take back a join of two memories that are not the same. Call it without `token` first: it"
        " shows what would be, and which later decisions rested on the join. Then call it with the"
        " token that this gave.",
        UndoArguments,
        Undone,
        _undo,
        destroys=True,
    ),
)
