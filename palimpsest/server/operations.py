"""Every operation on an owner's memories, declared once: HTTP's routes and MCP's tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from pydantic import BaseModel, Field

from palimpsest.contracts.answers import Checked, Names, NewExpiry, TakenBack
from palimpsest.contracts.limits import NETWORK
from palimpsest.contracts.model import REAL, WHOLE, Strict, Timestamp
from palimpsest.contracts.requests import (
    BECAUSE,
    CandidateId,
    ConfirmRequest,
    ForgetRequest,
    MemoryId,
    MergeRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    SeparateRequest,
    SessionRequest,
    SetExpiryRequest,
    SetNamesRequest,
    UnmergeRequest,
    UpdateRequest,
    WithdrawRequest,
)
from palimpsest.contracts.shown import Found, History, Page, ShownMemory
from palimpsest.queries.find import Plan
from palimpsest.queries.triangles import Triangle
from palimpsest.queries.undoing import Way
from palimpsest.queries.why import Explanation, WhyNot
from palimpsest.server import bodies
from palimpsest.server.bodies import OF_ID, Because, SomeId, parameters
from palimpsest.server.intents import Intents
from palimpsest.server.problems import ProblemError
from palimpsest.settings.serve import Role

OWNER = "/v1/owners/{owner}"
MEMORIES = f"{OWNER}/memories"
MEMORY = f"{MEMORIES}/{{memory}}"

Carry = Callable[[Intents, Any], Awaitable[Any]]


@dataclass(frozen=True)
class Operation:
    """An operation on one owner's memories, for callers with the `role`.

    `takes` is the model of its parameters, including those in the path, and `carry` does the work.
    `write` is its kind of write, which an idempotency key makes repeatable; None for reads. `tool`
    is its name over MCP, without the parameters that are `hidden`; None if it is not a tool. With
    `tool_role` only callers with that role get the tool: an agent's list has to stay short.
    `advice` is what a model reads instead of what it `says`. An operation that `destroys` may
    remove something that a person would miss.
    """

    name: str
    method: str
    path: str
    says: str
    answer: Any
    takes: type[BaseModel]
    carry: Carry
    write: str | None = None
    role: Role = "agent"
    tool: str | None = None
    tool_role: Role | None = None
    advice: str = ""
    destroys: bool = False
    hidden: frozenset[str] = frozenset()

    async def run(self, intents: Intents, given: Any) -> Any:
        """Run it for a caller; a problem if the caller's role does not suffice."""
        intents.require_role(self.role)
        return await self.carry(intents, given)


# -- parameters of requests ------------------------------------------------------------------------


class Pin(Strict):
    """A memory that is kept."""

    id: SomeId = Field(description="A memory's id, or that of any of its candidates.")
    until: Timestamp | None = Field(None, description="Until this time, instead of for ever.")
    because: Annotated[Because | None, BECAUSE] = None


class NewTime(Strict):
    """When a memory expires from now on."""

    expires_at: Timestamp = Field(description="The new time, with a zone.")


class Nothing(Strict):
    """No parameters, or none besides the owner."""


class OneMemory(Strict):
    """A memory, by any id that it or its candidates ever had."""

    memory_id: Annotated[MemoryId, *OF_ID]


OneSession = parameters("OneSession", SessionRequest, without=["because"])


class SelectedCandidates(Strict):
    """A selection of the owner's candidates."""

    selection: bodies.OwnSelection = Field(description="Candidates that match all fields.")


class SelectedJoins(Strict):
    """A selection of the owner's joins."""

    selection: bodies.OwnJoinSelection = Field(description="Joins that match all fields.")


class RestoredCandidates(Strict):
    """A selection of candidates; absent if `forgotten` names what comes back."""

    selection: bodies.OwnSelection | None = Field(None, description="Which candidates come back.")


def _request(
    name: str,
    path: str,
    says: str,
    kind: type[Request[Any]],
    *,
    method: str = "POST",
    takes: type[BaseModel] | None = None,
    write: str | None = None,
    fixed: Mapping[str, str] | None = None,
    tool: str | None = None,
    **more: Any,
) -> Operation:
    """An operation that is one request to the store: the request's fields are its parameters.

    Its tool has its own name by default.
    """
    write = write or name

    async def carry(intents: Intents, given: Any) -> Any:
        fields = dict(given)
        if kind is ForgetRequest:
            fields = _forgetting(fields)
        return await intents.ask(write, kind, **fields, **(fixed or {}))

    takes = takes or parameters("".join(map(str.capitalize, name.split("_"))), kind)
    more["tool"] = tool or name
    return Operation(name, method, path, says, answer_of(kind), takes, carry, write, **more)


def _forgetting(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request to forget one memory, or those that a plan has shown."""
    if "memory_id" in fields:
        fields["memory_ids"] = (fields.pop("memory_id"),)
    if "token" in fields:
        fields["expect"] = fields.pop("token")
    return fields


def answer_of(kind: type[Request[Any]]) -> Any:
    """The type of a request's answer."""
    bases: Any = vars(kind)["__orig_bases__"]
    return get_args(bases[0])[0]


# -- operations that are more than one request -----------------------------------------------------


def _by_name(method: Callable[..., Awaitable[Any]]) -> Carry:
    """Call a method of the intents with the parameters as keywords."""
    return lambda intents, given: method(intents, **dict(given))


async def _add(intents: Intents, given: bodies.NewMemory) -> Any:
    [outcome] = await intents.add([given.fields()])
    if outcome["result"] == "invalid":
        raise ProblemError(422, "invalid", outcome["detail"], reason=outcome["reason"])
    return outcome


async def _add_many(intents: Intents, given: bodies.NewMemories) -> Any:
    return {"memories": await intents.add([memory.fields() for memory in given.memories])}


async def _add_messages(intents: Intents, given: bodies.Conversation) -> Any:
    messages = [message.model_dump(mode="json", exclude_none=True) for message in given.messages]
    about = {"namespace": given.namespace, "session_id": given.session_id}
    return {"memories": await intents.add_messages(messages, infer=given.infer, about=about)}


async def _search(intents: Intents, given: bodies.Search) -> Any:
    found = await intents.search(given.query, **given.fields())
    return {"memories": found, "weaker": found.weaker, "min_score": found.min_score}


async def _forget_all(intents: Intents, given: bodies.ForgetAll) -> bodies.ForgottenAll:
    """Forget all memories of an owner that were shown; without a token, show them."""
    dry_run = given.token is None
    done = await intents.forget_all(expect=given.token, dry_run=dry_run, because=given.because)
    return bodies.ForgottenAll(
        done=not dry_run,
        token=done["token"] if done is not None and dry_run else None,
        forgotten=None if done is None or dry_run else done["forgotten"],
        candidates=[] if done is None else done["candidates"],
    )


def _taking(way: Way) -> Carry:
    async def take(intents: Intents, given: bodies.TakeBody) -> Any:
        return await intents.take(
            way, given.id, dry_run=given.dry_run, token=given.token, because=given.because
        )

    return take


class SomeCandidate(Strict):
    """A candidate or a memory, by its id."""

    some_id: Annotated[CandidateId, *OF_ID]


class TwoCandidates(SomeCandidate):
    """Two candidates of one owner, by their ids."""

    other_id: Annotated[CandidateId, *OF_ID]


class TriangleQuery(Strict):
    """How near the third must be, and the number of triangles."""

    at_least: Annotated[float, Field(ge=0, le=1), REAL] = Field(0.85, description="Lowest cosine.")
    limit: Annotated[int, Field(ge=1, le=NETWORK.listed), WHOLE] = Field(
        50, description="How many at most."
    )


class Show(OneMemory):
    """A memory, and the time or position to show it at; for reviewers and operators."""

    as_of: bodies.When = Field(None, description=bodies.AS_OF)


OPERATIONS = (
    Operation(
        "add_memory",
        "POST",
        MEMORIES,
        "Add a memory; the answer has the decision.",
        bodies.Added,
        bodies.NewMemory,
        _add,
        write="add",
        tool="add_memory",
        hidden=frozenset({"ttl"}),
        advice="Remember something about the user. Repeats and rewordings join a known memory.",
    ),
    Operation(
        "add_memories",
        "POST",
        f"{MEMORIES}/batch",
        "Add several memories, decided on in order.",
        bodies.AddedMany,
        bodies.NewMemories,
        _add_many,
        write="add",
    ),
    Operation(
        "add_messages",
        "POST",
        f"{MEMORIES}/messages",
        "Add the memories of a conversation, or each of its messages as it is.",
        bodies.AddedMessages,
        bodies.Conversation,
        _add_messages,
        write="add",
        tool="add_messages",
        hidden=frozenset({"infer"}),
        advice="Remember what was said in a conversation.",
    ),
    Operation(
        "search_memories",
        "POST",
        f"{MEMORIES}/search",
        "The memories nearest to a question, best first.",
        bodies.FoundMemories,
        bodies.Search,
        _search,
        tool="search_memories",
        hidden=frozenset({"fold", "hybrid", "max_tokens", "min_score"}),
        advice="Find memories by meaning, best first.",
    ),
    Operation(
        "find_memories",
        "POST",
        f"{MEMORIES}/find",
        "Find memories by whole words, then suggest some by meaning. The plan has a token.",
        Plan,
        bodies.Find,
        _by_name(Intents.find),
        tool="find_memories",
        advice="Find memories: all that contain these words, and the nearest by meaning, which may"
        " be unrelated. Its token is for `delete_found_memories`.",
    ),
    Operation(
        "check_memory",
        "POST",
        f"{MEMORIES}/check",
        "Show the decision on a memory without adding it.",
        Checked,
        bodies.NewMemory,
        lambda intents, given: intents.check(given.fields()),
        tool="check_memory",
        hidden=frozenset(bodies.NewMemory.model_fields) - {"text", "namespace"},
    ),
    Operation(
        "list_memories",
        "GET",
        MEMORIES,
        "A page of the owner's memories, the latest first.",
        Page,
        bodies.ListQuery,
        lambda intents, given: intents.list(**given.fields()),
    ),
    Operation(
        "list_some_memories",
        "POST",
        f"{MEMORIES}/list",
        "A page of the memories whose metadata has the given values.",
        Page,
        bodies.ListBody,
        lambda intents, given: intents.list(**given.fields()),
        tool="get_memories",
        advice="List memories, the latest first.",
    ),
    Operation(
        "get_memory",
        "GET",
        MEMORY,
        "The current memory, by any id that it or its candidates ever had.",
        Found,
        OneMemory,
        _by_name(Intents.get),
        tool="get_memory",
        advice="Show a memory with all its wordings.",
    ),
    Operation(
        "show_history",
        "GET",
        f"{MEMORY}/history",
        "Every event of a memory, in order.",
        History,
        OneMemory,
        _by_name(Intents.history),
        tool="memory_history",
        advice="Show what happened to a memory, in order, with who did it and why.",
    ),
    Operation(
        "show_memory",
        "GET",
        f"{MEMORY}/joins",
        "A memory with every member, its join and its evidence.",
        ShownMemory,
        Show,
        _by_name(Intents.show),
        tool="memory_joins",
        advice="Show the joins of a memory's wordings, with their ids for `undo`.",
    ),
    Operation(
        "explain",
        "GET",
        f"{OWNER}/why/{{some_id}}",
        "Why a candidate, or each member of a memory, is where it is: the path of its decision.",
        Explanation,
        SomeCandidate,
        _by_name(Intents.why),
        tool="why",
        advice="Show by which checks and scores a wording joined its memory, or did not.",
    ),
    Operation(
        "explain_pair",
        "GET",
        f"{OWNER}/why/{{some_id}}/{{other_id}}",
        "Why two candidates are not in one memory, the decisive reason first.",
        WhyNot,
        TwoCandidates,
        _by_name(Intents.why_not),
        tool="why_not",
        tool_role="reviewer",
    ),
    Operation(
        "list_triangles",
        "GET",
        f"{OWNER}/triangles",
        "Pairs that a person separated, with a third that is joined to one and near the other.",
        list[Triangle],
        TriangleQuery,
        _by_name(Intents.triangles),
        tool="triangles",
        tool_role="reviewer",
    ),
    _request(
        "update_memory",
        MEMORY,
        "Change a memory's text; fails if `expect` is no longer its version.",
        UpdateRequest,
        method="PATCH",
        write="update",
        advice="Change a memory's text when it is no longer true.",
        destroys=True,
    ),
    _request(
        "forget_memory",
        MEMORY,
        "Forget a memory with all its wordings, reversibly; fails if `expect` is no longer its"
        " version.",
        ForgetRequest,
        method="DELETE",
        takes=parameters("Forget", OneMemory, ForgetRequest, without=["memory_ids", "again"]),
        write="forget",
        tool="delete_memory",
        advice="Forget a memory with all its wordings; `undo` brings it back.",
        destroys=True,
    ),
    _request(
        "forget_found_memories",
        f"{MEMORIES}/forget",
        "Forget exactly what a plan of `find` shows; fails with `moved_on` if that has changed.",
        ForgetRequest,
        takes=parameters("ForgetFound", bodies.OfPlan, ForgetRequest, without=["expect"]),
        write="forget_found",
        tool="delete_found_memories",
        advice="Forget all or some of what `find_memories` showed, with its token; nothing if one"
        " of them has changed. `undo` brings them back.",
        destroys=True,
    ),
    Operation(
        "forget_all_memories",
        "POST",
        f"{MEMORIES}/forget-all",
        "Forget all of the owner's memories; without a `token`, only show them and the token.",
        bodies.ForgottenAll,
        bodies.ForgetAll,
        _forget_all,
        write="forget_all",
        tool="delete_all_memories",
        advice="Forget all memories of the user. Without `token` it only shows them: if the user"
        " agrees, call it again with that answer's token.",
        destroys=True,
    ),
    Operation(
        "undo",
        "POST",
        f"{OWNER}/undo",
        "Undo what an id names: a join, a change, a forgetting, a statement or a whole request; a"
        " dry run has a token.",
        TakenBack,
        bodies.TakeBody,
        _taking("undo"),
        write="undo",
        tool="undo",
        advice="Undo a wrong join, a change, or a forgetting of your own. Without `token` it only"
        " shows the result: then call it again with that answer's token.",
        destroys=True,
    ),
    Operation(
        "redo",
        "POST",
        f"{OWNER}/redo",
        "Do again what was undone, named by the id that was undone; a dry run has a token.",
        TakenBack,
        bodies.TakeBody,
        _taking("redo"),
        write="redo",
        tool="redo",
        advice="Do again what `undo` took back, by its id, in two calls.",
        destroys=True,
    ),
    _request(
        "unmerge",
        f"{OWNER}/unmerge",
        "Remove a join; `dry_run` shows the result, and the decisions that depend on the join.",
        UnmergeRequest,
        tool_role="reviewer",
        destroys=True,
    ),
    _request(
        "reinstate",
        f"{OWNER}/reinstate",
        "Take a reversal back, and undo everything that was done because of it.",
        ReinstateRequest,
        tool_role="reviewer",
        destroys=True,
    ),
    _request(
        "end_session",
        f"{OWNER}/sessions/end",
        "Report that a conversation ended: its memories are consolidated if the policy says so.",
        SessionRequest,
        takes=OneSession,
        fixed={"request": "end_session"},
        advice="Report that a conversation ended: similar memories of it may be joined.",
    ),
    _request(
        "compact_session",
        f"{OWNER}/sessions/compacted",
        "Report that a conversation was compacted: `exclude_session` covers only later memories.",
        SessionRequest,
        takes=OneSession,
        fixed={"request": "compact"},
        advice="Report that a conversation was compacted: its later searches find what it said.",
    ),
    _request(
        "merge",
        f"{OWNER}/merge",
        "Declare two candidates the same.",
        MergeRequest,
        role="reviewer",
        destroys=True,
    ),
    _request(
        "separate",
        f"{OWNER}/separate",
        "Declare two candidates different.",
        SeparateRequest,
        role="reviewer",
        destroys=True,
    ),
    _request(
        "withdraw",
        f"{OWNER}/withdraw",
        "Take back the latest statement about a pair, a merge or a separation.",
        WithdrawRequest,
        role="reviewer",
        destroys=True,
    ),
    Operation(
        "pin",
        "POST",
        f"{OWNER}/pin",
        "Keep a memory that expires, or has expired, for ever or until a time.",
        NewExpiry,
        Pin,
        lambda intents, given: intents.pin(given.id, until=given.until, because=given.because),
        write="pin",
        role="reviewer",
        tool="pin",
    ),
    Operation(
        "renew",
        "POST",
        f"{OWNER}/renew",
        "Change when a memory expires; one that never does can only be changed by a person.",
        NewExpiry,
        parameters("Renew", NewTime, SetExpiryRequest),
        _by_name(Intents.renew),
        write="renew",
        tool="renew",
        advice="Move the time when a memory expires, if it does.",
    ),
    Operation(
        "names",
        "GET",
        f"{OWNER}/names",
        "The names that texts call the owner by.",
        Names,
        Nothing,
        _by_name(Intents.names),
        tool="names",
    ),
    _request(
        "set_names",
        f"{OWNER}/names",
        "Declare the names that texts call the owner by; texts that differ only in these may be"
        " joined.",
        SetNamesRequest,
        role="reviewer",
    ),
    _request("confirm", f"{OWNER}/confirm", "Confirm a decision.", ConfirmRequest, role="reviewer"),
    _request(
        "reverse",
        f"{OWNER}/reverse",
        "Remove all joins of a selection, except verbatim repeats.",
        ReverseRequest,
        takes=parameters("Reverse", SelectedJoins, ReverseRequest),
        role="reviewer",
        destroys=True,
    ),
    _request(
        "reinstate_many",
        f"{OWNER}/reinstate-many",
        "Take back the reversals of all joins of a selection.",
        ReinstateManyRequest,
        takes=parameters("ReinstateMany", SelectedJoins, ReinstateManyRequest),
        role="reviewer",
        destroys=True,
    ),
    _request(
        "retract",
        f"{OWNER}/retract",
        "Hide the candidates of a selection from searches; joins are kept.",
        RetractRequest,
        takes=parameters(
            "Retract", SelectedCandidates, RetractRequest, without=["again", "earlier"]
        ),
        role="reviewer",
        destroys=True,
    ),
    _request(
        "restore",
        f"{OWNER}/restore",
        "Restore all that was forgotten together, or the candidates of a selection.",
        RestoreRequest,
        takes=parameters("Restore", RestoredCandidates, RestoreRequest),
        role="reviewer",
        destroys=True,
    ),
)
"""All operations in the order of the documentation. Those without a `write` are reads."""
