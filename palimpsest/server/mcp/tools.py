"""The tools of an agent over MCP: each is an intent, named as in mem0's server."""

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
    """A tool, with its input and output; `reads` only, or `destroys` what a person may miss."""

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
        """The schema that a client checks the arguments with."""
        return self.takes.model_json_schema()

    @cached_property
    def output_schema(self) -> JsonObject:
        """The schema that a client checks the answer with."""
        return TypeAdapter(readable(self.gives)).json_schema(mode="serialization")


class Content(Strict):
    """The maximum size of an answer's text."""

    content_bytes: Annotated[int, Field(ge=LEAST_BYTES, le=MOST_BYTES)] = Field(
        DEFAULT_BYTES, description="Maximum bytes of the answer's text; long memories are cut."
    )


class SearchArguments(SearchQuery, Content):
    """Arguments of a search."""

    def fields(self) -> dict[str, Any]:
        """The keywords of a search."""
        fields = super().fields()
        del fields["content_bytes"]
        return fields


class ListArguments(ListBody, Content):
    """Arguments of a list."""

    def fields(self) -> dict[str, Any]:
        """The keywords of a list."""
        fields = super().fields()
        del fields["content_bytes"]
        return fields


class FindArguments(Find, Content):
    """Arguments of `find_memories`."""


class OneMemory(Strict):
    """A memory, by any id that it or its candidates ever had."""

    memory_id: SomeId = Field(
        description="An id from an answer, complete or abbreviated; former ids work, too."
    )


class ReadArguments(OneMemory, Content):
    """A memory to read."""


class UpdateArguments(OneMemory, Update):
    """A memory, and its new text."""

    def fields(self) -> dict[str, Any]:
        """The keywords of an update."""
        return self.model_dump(exclude={"text", "memory_id"})


class ForgetArguments(OneMemory, Forget):
    """A memory to forget, and why."""

    def fields(self) -> dict[str, Any]:
        """The keywords of `forget`."""
        return self.model_dump(exclude={"memory_id"})


class UndoArguments(Strict):
    """What to undo: a join or an update by its `decision_id`, a forgetting by its name.

    A memory's id means its last update. Without the `token` of a dry run, it only shows the result.
    """

    id: SomeId = Field(
        description="The `decision_id` of a join or a change, the `forgotten` of a forgetting, or"
        " a memory's id for its last change."
    )
    token: SomeId | None = Field(
        None, description="The token from a first call without one, which shows the result."
    )
    because: Because | None = Field(None, description=BECAUSE)


class Undone(TypedDict):
    """The result, done or as a dry run; a dry run has the `token` for the second call."""

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
"""Fields of an answer with ids of events, which differ between a dry run and the real call."""


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
        "Remember something about the user. Repeats and rewordings join the memory that is known.",
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
        "Change a memory's text when it is no longer true. With `expect`, it fails if somebody"
        " else has changed the memory.",
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
        "Find memories: all that contain these words (`why`: word or alias), and the nearest by"
        " meaning (`cosine`), which may be unrelated. `token` covers each of them in its current"
        " state.",
        FindArguments,
        Plan,
        _find,
        lambda _, answer: prose.found(answer),
        reads=True,
    ),
    Tool(
        "delete_found_memories",
        "Forget memories that `find_memories` showed: those that you name, with its token. If one"
        " of them has changed since, nothing is forgotten. Name those with the words, others"
        " only if the user means them. `undo` brings them back.",
        ForgetFound,
        Forgotten,
        _forget_found,
        lambda said, answer: prose.forgotten(answer, dry_run=said.dry_run),
        destroys=True,
    ),
    Tool(
        "delete_all_memories",
        "Forget all memories of the user. Call it without `token` first: it shows what would be"
        " forgotten. If the user agrees, call it again with the token of that answer.",
        ForgetAll,
        ForgottenAll,
        _forget_all,
        lambda _, answer: prose.forgotten_all(answer),
        destroys=True,
    ),
    Tool(
        "undo",
        "Undo a wrong join of two memories, a change, or a forgetting of your own. Call it without"
        " `token` first: it shows the result, and which later decisions depend on it. Then call it"
        " again with the token of that answer.",
        UndoArguments,
        Undone,
        _undo,
        lambda _, answer: prose.undone(answer),
        destroys=True,
    ),
    Tool(
        "end_session",
        "Report that a conversation ended. Similar memories of it are joined if the policy says"
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
