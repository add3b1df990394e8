"""The tools over MCP: the operations of the table, named as in mem0's server if it has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any

from pydantic import Field, create_model

from palimpsest.contracts.model import WHOLE, Flag, Strict
from palimpsest.server.bodies import Score
from palimpsest.server.callers import ROLES
from palimpsest.server.intents import Intents
from palimpsest.server.mcp import prose
from palimpsest.server.mcp.prose import DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES, ProseLine
from palimpsest.server.operations import OPERATIONS, Operation
from palimpsest.settings.serve import Role

JsonObject = dict[str, Any]


class AnswerSize(Strict):
    """The maximum size of an answer's text."""

    content_bytes: Annotated[int, Field(ge=LEAST_BYTES, le=MOST_BYTES), WHOLE] = Field(
        DEFAULT_BYTES, description="Most bytes to return."
    )


class SearchSize(AnswerSize):
    """Which hits of a search are shown: by default, hardly related ones are left out."""

    min_score: Score | None = Field(
        None, description="Leave out lower scores (default: hardly related ones; -1: none)."
    )
    max_tokens: Annotated[int, Field(ge=1), WHOLE] | None = Field(
        None, description="About how many tokens of text."
    )
    hybrid: Flag | None = Field(None, description="False: by meaning alone.")


LEFT_OUT = frozenset("$defs title minLength maxLength minItems maxItems".split())
"""Parts of an argument's schema that a model need not know: the server checks them anyway."""
BOUNDS = frozenset({"minimum", "maximum"})
"""Also left out of the schemas of numbers: descriptions or errors give them."""
FOR_PEOPLE = frozenset({"as_of"})
"""Parameters that an agent may not use."""
SHOWN_FIRST = frozenset({"undo", "redo"})
"""Tools that only show the result unless they get the `token` of a call that has shown it."""
SIZES: Mapping[str, type[Strict]] = {
    **dict.fromkeys(("find_memories", "get_memories", "get_memory", "memory_history"), AnswerSize),
    "search_memories": SearchSize,
}
"""Parameters of tools whose answers may be long."""

TELLS: dict[str, Callable[[Any, Any], list[ProseLine]]] = {
    "add_memory": lambda said, answer: prose.added(answer, said.expires_at),
    "add_messages": lambda _, answer: prose.remembered(answer),
    "check_memory": lambda _, answer: prose.checked(answer),
    "search_memories": lambda _, answer: prose.searched(answer),
    "get_memories": lambda _, answer: prose.listed(answer),
    "get_memory": lambda _, answer: prose.got(answer),
    "memory_history": lambda _, answer: prose.told(answer),
    "memory_joins": lambda _, answer: prose.joins(answer),
    "why": lambda _, answer: prose.why(answer),
    "why_not": lambda _, answer: prose.why_not(answer),
    "triangles": lambda _, answer: prose.triangles(answer),
    "names": lambda _, answer: prose.names(answer),
    "update_memory": lambda said, answer: prose.updated(answer, dry_run=said.dry_run),
    "delete_memory": lambda said, answer: prose.forgotten(answer, dry_run=said.dry_run),
    "find_memories": lambda _, answer: prose.found(answer),
    "delete_found_memories": lambda said, answer: prose.forgotten(answer, dry_run=said.dry_run),
    "delete_all_memories": lambda _, answer: prose.forgotten_all(answer),
    "undo": lambda _, answer: prose.taken(answer, "undo"),
    "redo": lambda _, answer: prose.taken(answer, "redo"),
    "pin": lambda _, answer: prose.pinned(answer),
    "renew": lambda _, answer: prose.renewed(answer),
    "end_session": lambda _, answer: prose.session(answer, "ended"),
    "compact_session": lambda _, answer: prose.session(answer, "was compacted"),
}


@dataclass(frozen=True)
class Tool:
    """An operation as a tool, for callers with a role."""

    name: str
    operation: Operation
    role: Role

    @property
    def says(self) -> str:
        """Its description: what it does, and when to call it."""
        return self.operation.advice or self.operation.says

    @property
    def reads(self) -> bool:
        """Whether it writes nothing."""
        return self.operation.write is None

    @cached_property
    def takes(self) -> type[Strict]:
        """The model of its arguments: the operation's parameters."""
        hidden = self.operation.hidden
        if self.role == "agent":
            hidden |= FOR_PEOPLE
        if self.name in SHOWN_FIRST:
            hidden |= {"dry_run"}
        fields: dict[str, Any] = {
            name: (field.annotation, field)
            for name, field in self.operation.takes.model_fields.items()
            if name not in hidden
        }
        return create_model(self.name, __base__=SIZES.get(self.name, Strict), **fields)

    @cached_property
    def input_schema(self) -> JsonObject:
        """The JSON Schema of its arguments, as short as possible."""
        schema = self.takes.model_json_schema()
        brief: JsonObject = _brief(schema, schema.get("$defs", {}))
        return brief

    @property
    def fields(self) -> list[str]:
        """The names of its arguments, required ones first."""
        fields = self.takes.model_fields
        return sorted(fields, key=lambda name: not fields[name].is_required())

    async def run(self, intents: Intents, arguments: Any) -> Any:
        """Carry the operation out."""
        takes = self.operation.takes
        fields = {name: value for name, value in arguments if name in takes.model_fields}
        if isinstance(arguments, SearchSize) and arguments.min_score is None:
            fields["min_score"] = "model"
        if self.name not in SHOWN_FIRST:
            answer = await self.operation.run(intents, takes.model_validate(fields))
            return {self.name: answer} if isinstance(answer, list) else answer
        dry_run = arguments.token is None
        given = takes.model_construct(**fields, dry_run=dry_run)
        result = await self.operation.run(intents, given)
        return {"done": not dry_run, "token": result.pop("token", None), "result": result}

    def tell(self, arguments: Any, answer: Any) -> list[ProseLine]:
        """The lines of its answer, for a model."""
        return TELLS.get(self.name, prose.stated)(arguments, answer)


@cache
def tools_of(role: Role) -> dict[str, Tool]:
    """The tools of a role, by their names."""
    allowed = ROLES[: ROLES.index(role) + 1]
    return {
        operation.tool: Tool(operation.tool, operation, role)
        for operation in OPERATIONS
        if operation.tool is not None and (operation.tool_role or operation.role) in allowed
    }


@cache
def schemas_of(role: Role) -> dict[str, JsonObject]:
    """The schemas of a role's tools as a list shows them, by the tools' names.

    A model reads the whole list, so if an earlier tool describes the fields of an object, later
    tools only name them.
    """
    told: dict[str, tuple[str, JsonObject]] = {}
    listed: dict[str, JsonObject] = {}
    for name, tool in tools_of(role).items():
        parameters: JsonObject = tool.input_schema["properties"]
        shown: JsonObject = {}
        for parameter, schema in parameters.items():
            fields: JsonObject = schema.get("properties", {})
            first, known = told.setdefault(parameter, (name, fields))
            shown[parameter] = schema
            if fields and first != name and fields.items() <= known.items():
                says = f"{schema['description']} As in `{first}`: {', '.join(fields)}."
                shown[parameter] = {"type": "object", "description": says}
        listed[name] = {**tool.input_schema, "properties": shown}
    return listed


def _brief(value: Any, parts: JsonObject) -> Any:
    """A schema without titles, references and anything that a default of null implies."""
    if isinstance(value, list):
        return [_brief(one, parts) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") in ("integer", "number"):
        value = {name: one for name, one in value.items() if name not in BOUNDS}
    if "$ref" in value:
        part = parts[value["$ref"].rpartition("/")[2]]
        beside = {name: one for name, one in value.items() if name != "$ref"}
        return _brief({**part, **beside}, {})
    said = {name: _brief(one, parts) for name, one in value.items() if _is_shown(name, one)}
    if "properties" in value:
        said["properties"] = {name: _brief(one, parts) for name, one in value["properties"].items()}
        said.pop("additionalProperties", None)
    elif said.get("additionalProperties") in ({}, True):
        del said["additionalProperties"]
    match said.pop("anyOf", None):
        case None:
            return said
        case [one, {"type": "null"}]:
            return {**one, **said}
        case several:
            return {**said, "anyOf": [one for one in several if one != {"type": "null"}]}


def _is_shown(name: str, value: Any) -> bool:
    return name not in LEFT_OUT and not (name == "default" and value in (None, False))
