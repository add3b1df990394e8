"""What a model can do after an error: a sentence for each reason, naming only an agent's tools."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pydantic import ValidationError

from palimpsest.server.problems import FIELD_NAME, ProblemError

LOOK = "search_memories, find_memories and get_memories show the ids of this owner's memories"
HISTORY = "memory_history shows what happened to a memory, with the ids that can be undone"
JOINS = "memory_joins shows the joins of a memory, with their ids"
READ_AGAIN = "read it again with get_memory, and repeat the call with the new version"
PREVIEW_AGAIN = "preview it again to get a new token, and repeat the call with it"
BY_PERSON = "only a person can change this: do not try again, tell the user"
NOTHING = "nothing to do: this is already the case"
APART = "they stay apart; if that is wrong, tell the user"
AGAIN = "make the same call again in a few seconds"
GIVE_UP = "do not make the same call again: tell the user"

NEXT_STEPS: Mapping[str, str] = {
    "unknown_candidate": LOOK,
    "unknown_owner": LOOK,
    "not_found": LOOK,
    "unknown_decision": HISTORY,
    "no_update": f"delete_memory forgets a memory; {HISTORY}",
    "not_a_statement": HISTORY,
    "not_undoable": HISTORY,
    "not_undone": NOTHING,
    "not_retracted": HISTORY,
    "not_a_join": JOINS,
    "not_standing": JOINS,
    "standing_already": JOINS,
    "supported": JOINS,
    "moved_on": READ_AGAIN,
    "precondition_failed": READ_AGAIN,
    "another_plan": "preview it again without `token`, and pass the new token",
    "outranked": BY_PERSON,
    "overtaken": BY_PERSON,
    "confirmed": BY_PERSON,
    "forgotten": "the user asked to forget this text: leave it out unless the user says it again",
    "not_living": "it is forgotten; to bring it back, call undo with the id of that forgetting",
    "expired": "only a person can pin it; store the text with add_memory instead",
    "retracted_already": NOTHING,
    "unchanged": NOTHING,
    "one_memory": NOTHING,
    "same_candidate": "name two different memories",
    "same_text": "another memory says this: get_memory shows it, and update_memory with `merge`"
    " unites the two",
    "lives_elsewhere": "call update_memory again with `merge` if both are about the same thing",
    "separated": APART,
    "not_separated": NOTHING,
    "two_namespaces": APART,
    "pending": "a check is under way: look again later",
    "not_pending": NOTHING,
    "not_asked": NOTHING,
    "not_waiting": NOTHING,
    "not_needed": NOTHING,
    "not_a_face": "name one of the two",
    "unusable_text": "write another text",
    "id_conflict": "use another `id`, or leave it out",
    "field": "correct the field, and call again",
    "invalid": "correct it, and call again",
    "bad_request": "correct it, and call again",
    "too_large": "send less at once",
    "forbidden": "this token does not allow it: tell the user",
    "unauthorized": "this token is not accepted: tell the user",
    "embedder_down": AGAIN,
    "unavailable": AGAIN,
    "too_many": AGAIN,
    "timeout": AGAIN,
    "model_unusable": GIVE_UP,
    "model": GIVE_UP,
    "bug": "do something else, and tell the user",
}
"""By the reason of a refusal, else by the kind of a problem (docs/mcp.md)."""

MOST_UNKNOWN = 5


def next_step(problem: ProblemError, fields: Collection[str]) -> str | None:
    """What to do after an error of a tool with these fields; None if its detail suffices."""
    if problem.kind == "invalid" and "errors" in problem.more:
        return f"correct it, and call again; the fields are {', '.join(fields)}"
    if problem.more.get("reason") == "moved_on" and "token" in fields:
        return PREVIEW_AGAIN
    return NEXT_STEPS.get(problem.more.get("reason", problem.kind))


def wrong_fields(error: ValidationError, problem: ProblemError) -> Iterator[str]:
    """What is wrong with the first field, and the unknown names that cannot be a user's text.

    A model that misnames a field sees both the missing name and its own.
    """
    found = error.errors(include_input=False)
    [told] = problem.more["errors"]
    unknown = [str(wrong["loc"][-1]) for wrong in found if wrong["type"] == "extra_forbidden"]
    named = [name for name in unknown if FIELD_NAME.fullmatch(name)][:MOST_UNKNOWN]
    if found[0]["type"] != "extra_forbidden" or unknown[0] not in named:
        yield ": ".join(filter(None, (told["field"], told["rule"])))
    if named:
        listed = ", ".join(f"`{name}`" for name in named)
        yield f"{listed} {'is' if len(named) == 1 else 'are'} unknown here"
