"""What an agent can do over MCP: each tool is an intent, with the names that mem0's server has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel, Field, TypeAdapter

from palimpsest.contracts.answers import Forgotten, Session, Updated
from palimpsest.contracts.model import Strict
from palimpsest.contracts.shown import Found, History, Page
from palimpsest.queries.find import Plan
from palimpsest.server.bodies import (
    BECAUSE,
    Added,
    Because,
    Find,
    Forget,
    ForgetAll,
    ForgetFound,
    ForgottenAll,
    FoundMemories,
    ListBody,
    NewMemory,
    OneSession,
    SearchQuery,
    SomeId,
    Update,
)
from palimpsest.server.intents import Intents
from palimpsest.server.mcp import prose
from palimpsest.server.mcp.prose import DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES, Line
from palimpsest.server.problems import ProblemError
from palimpsest.server.shown_first import forget_all, require_token, token_of
from palimpsest.server.typed_dicts import readable

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool: what it takes and gives; `reads` alone, or `destroys` what a person may miss."""

    name: str
    says: str
    takes: type[BaseModel]
    gives: Any
    run: Callable[[Intents, Any], Awaitable[Any]]
    tells: Callable[[Any, Any], list[Line]]
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


class Content(Strict):
    """How much text an answer may have."""

    content_bytes: Annotated[int, Field(ge=LEAST_BYTES, le=MOST_BYTES)] = Field(
        DEFAULT_BYTES, description="Bytes of the answer's text; longer memories are previews."
    )


class SearchArguments(SearchQuery, Content):
    """What to look for."""

    def fields(self) -> dict[str, Any]:
        """The question's keywords."""
        fields = super().fields()
        del fields["content_bytes"]
        return fields


class ListArguments(ListBody, Content):
    """Which memories."""

    def fields(self) -> dict[str, Any]:
        """The list's keywords."""
        fields = super().fields()
        del fields["content_bytes"]
        return fields


class FindArguments(Find, Content):
    """Which memories are meant."""


class OneMemory(Strict):
    """A memory, by any id that was ever its or its candidates'."""

    memory_id: SomeId = Field(
        description="The id that an answer shows, whole or its beginning; ids of before work, too."
    )


class ReadArguments(OneMemory, Content):
    """A memory to read."""


class UpdateArguments(OneMemory, Update):
    """A memory, and what it says from now on."""

    def fields(self) -> dict[str, Any]:
        """The keywords of an update."""
        return self.model_dump(exclude={"text", "memory_id"})


class ForgetArguments(OneMemory, Forget):
    """A memory, and why."""

    def fields(self) -> dict[str, Any]:
        """The keywords of a forgetting."""
        return self.model_dump(exclude={"memory_id"})


class UndoArguments(Strict):
    """What to take back: a join or an update by its `decision_id`; a forgetting by its name.

    A memory means its last update. Without the `token` of a dry run it only shows what would be.
    """

    id: SomeId = Field(
        description="The `decision_id` of a join or a change, the `forgotten` of a forgetting, or"
        " a memory's id for its last change."
    )
    token: SomeId | None = Field(
        None, description="The token of a first call without one, which shows what would be."
    )
    because: Because | None = Field(None, description=BECAUSE)


class Undone(TypedDict):
    """What was done, or would be: then `token` is what to call it with."""

    done: bool
    token: str | None
    result: JsonObject


async def _add(intents: Intents, arguments: NewMemory) -> JsonObject:
    [outcome] = await intents.add([arguments.fields()])
    if outcome["result"] == "invalid":
        raise ProblemError(422, "invalid", outcome["detail"], reason=outcome["reason"])
    return outcome


async def _search(intents: Intents, arguments: SearchQuery) -> JsonObject:
    return {"memories": await intents.search(arguments.query, **arguments.fields())}


async def _list(intents: Intents, arguments: ListBody) -> Page:
    return await intents.list(**arguments.fields())


async def _get(intents: Intents, arguments: OneMemory) -> Found:
    return await intents.get(arguments.memory_id)


async def _history(intents: Intents, arguments: OneMemory) -> History:
    return await intents.history(arguments.memory_id)


async def _end_session(intents: Intents, arguments: OneSession) -> Session:
    return await intents.end_session(arguments.session_id)


async def _compact_session(intents: Intents, arguments: OneSession) -> Session:
    return await intents.compact_session(arguments.session_id)


OF_REQUESTS = frozenset({"events", "carried_out"})
"""What of an answer has the ids of events: those of a dry run are not those of what is done."""


async def _undo(intents: Intents, arguments: UndoArguments) -> Undone:
    shown = await intents.undo_any(arguments.id, dry_run=True, because=arguments.because)
    token = token_of({key: value for key, value in shown.items() if key not in OF_REQUESTS})
    if arguments.token is None:
        return Undone(done=False, token=token, result=dict(shown))
    require_token(arguments.token, token)
    done = await intents.undo_any(arguments.id, dry_run=False, because=arguments.because)
    return Undone(done=True, token=None, result=dict(done))


async def _update(intents: Intents, arguments: UpdateArguments) -> Updated:
    return await intents.update(arguments.memory_id, arguments.text, **arguments.fields())


async def _forget(intents: Intents, arguments: ForgetArguments) -> Forgotten:
    return await intents.forget(arguments.memory_id, **arguments.fields())


async def _find(intents: Intents, arguments: Find) -> Plan:
    return await intents.find(
        arguments.query, by=arguments.by, k=arguments.k, namespace=arguments.namespace
    )


async def _forget_found(intents: Intents, arguments: ForgetFound) -> Forgotten:
    return await intents.forget_found(arguments.memory_ids, **arguments.fields())


async def _forget_all(intents: Intents, arguments: ForgetAll) -> ForgottenAll:
    return await forget_all(intents, arguments.token, arguments.because)


TOOLS = (
    Tool(
        "add_memory",
        "Remember something about the user. Repeats and rewordings join what is known already.",
        NewMemory,
        Added,
        _add,
        lambda _, answer: prose.added(answer),
    ),
    Tool(
        "search_memories",
        "Find memories by meaning, best first.",
        SearchArguments,
        FoundMemories,
        _search,
        lambda _, answer: prose.searched(answer),
        reads=True,
    ),
    Tool(
        "get_memories",
        "List memories page by page, the latest first; `next` of one page is `after` of the next.",
        ListArguments,
        Page,
        _list,
        lambda _, answer: prose.listed(answer),
        reads=True,
    ),
    Tool(
        "get_memory",
        "Show a memory with all its wordings.",
        ReadArguments,
        Found,
        _get,
        lambda _, answer: prose.got(answer),
        reads=True,
    ),
    Tool(
        "memory_history",
        "Show everything that happened to a memory, in order, with who did it and why.",
        ReadArguments,
        History,
        _history,
        lambda _, answer: prose.told(answer),
        reads=True,
    ),
    Tool(
        "update_memory",
        "Change what a memory says, when it is no longer so. `expect` refuses where somebody else"
        " changed it meanwhile.",
        UpdateArguments,
        Updated,
        _update,
        lambda said, answer: prose.updated(answer, dry_run=said.dry_run),
        destroys=True,
    ),
    Tool(
        "delete_memory",
        "Forget a memory with all its wordings; `undo` brings it back.",
        ForgetArguments,
        Forgotten,
        _forget,
        lambda said, answer: prose.forgotten(answer, dry_run=said.dry_run),
        destroys=True,
    ),
    Tool(
        "find_memories",
        "Find which memories are meant: all that contain these words (`why`: word or alias), and"
        " the nearest by meaning (`cosine`), which are perhaps not meant. `token` covers each of"
        " them as it is now.",
        FindArguments,
        Plan,
        _find,
        lambda _, answer: prose.found(answer),
        reads=True,
    ),
    Tool(
        "delete_found_memories",
        "Forget memories that `find_memories` showed, those that you name, with its token: nothing"
        " if one of them has changed since. Name those that contain the words; others only if the"
        " user means them. `undo` brings them back.",
        ForgetFound,
        Forgotten,
        _forget_found,
        lambda said, answer: prose.forgotten(answer, dry_run=said.dry_run),
        destroys=True,
    ),
    Tool(
        "delete_all_memories",
        "Forget all memories of the user. Call it without `token` first: it shows what would be"
        " forgotten. Then call it with the token that this gave, if the user agrees.",
        ForgetAll,
        ForgottenAll,
        _forget_all,
        lambda _, answer: prose.forgotten_all(answer),
        destroys=True,
    ),
    Tool(
        "undo",
        "Take back a wrong join of two memories, a change, or a forgetting of your own. Call it"
        " without `token` first: it shows what would be, and which later decisions rested on it."
        " Then call it with the token that this gave.",
        UndoArguments,
        Undone,
        _undo,
        lambda _, answer: prose.undone(answer),
        destroys=True,
    ),
    Tool(
        "end_session",
        "Report that a conversation ended. Similar memories of it become one, if the policy says"
        " so.",
        OneSession,
        Session,
        _end_session,
        lambda _, answer: prose.session(answer, "ended"),
    ),
    Tool(
        "compact_session",
        "Report that a conversation was compacted: its later searches with `exclude_session` find"
        " what it said before.",
        OneSession,
        Session,
        _compact_session,
        lambda _, answer: prose.session(answer, "was compacted"),
    ),
)
