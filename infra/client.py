"""Writes the calls of `palimpsest-client` from the server's OpenAPI document.

`python -m infra.client`. A test compares the file with this module's output, so they stay equal.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.server.http.feed import Feeds
from palimpsest.server.http.openapi import document
from palimpsest.server.http.v1 import all_operations

CALLS = Path(__file__).parents[1] / "palimpsest" / "client" / "calls.py"
REFERENCE = "#/components/schemas/"
SIMPLE = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
HEAD = '''"""The operations of a server, from its OpenAPI document, by `infra/client.py`.

Arguments that are None are not sent, so the server's defaults hold.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from .exchange import Answer, ClientRequest
'''
CLASS = '''class {name}:
    """Each operation, as a {what}."""

    {head} _call(self, wanted: ClientRequest[Answer]) -> Answer:
        """Send it and return the answer; raises the server's problem."""
        raise NotImplementedError
'''

Schema = Mapping[str, Any]


def written() -> str:
    """The module: the types of answers, and each operation in both classes."""
    described = document(all_operations(Feeds.__new__(Feeds)))  # its routes are not used
    schemas: Mapping[str, Schema] = described["components"]["schemas"]
    operations = [
        (method.upper(), path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    kinds = _kinds(schemas, [operation for _, _, operation in operations])
    types = [_type_class(name, schemas[name]) for name in sorted(kinds)]
    calls = [
        _call(method, path, operation, schemas, asynchronous=asynchronous)
        for asynchronous in (False, True)
        for method, path, operation in operations
    ]
    half = len(calls) // 2
    parts = [
        HEAD,
        *types,
        CLASS.format(name="Calls", what="call that blocks", head="def"),
        *calls[:half],
        CLASS.format(name="AsyncCalls", what="coroutine", head="async def"),
        *calls[half:],
    ]
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(CALLS), "-"]
    done = subprocess.run(
        ruff, input="\n\n".join(parts), text=True, check=True, capture_output=True
    )
    return done.stdout


def _kinds(schemas: Mapping[str, Schema], operations: list[Schema]) -> set[str]:
    """The schemas that calls name: those of answers, and those within bodies."""
    waiting = [_answer(operation) for operation in operations]
    waiting += [
        field
        for operation in operations
        for field in _body(operation, schemas).get("properties", {}).values()
    ]
    found: set[str] = set()
    while waiting:
        for name in _references(waiting.pop()):
            if name not in found and schemas[name].get("properties"):
                found.add(name)
                waiting.append(schemas[name])
    return found


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(REFERENCE)
        for part in schema.values():
            yield from _references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _references(part)


def _answer(operation: Schema) -> Schema:
    found: Schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    return found


def _body(operation: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """The schema of the body; empty if there is none."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        [name] = _references(content["schema"])
        return schemas[name]
    return {}


def _type_class(name: str, schema: Schema) -> str:
    required = schema.get("required", ())
    fields = [
        f"    {field}: {_type(of) if field in required else f'NotRequired[{_type(of)}]'}\n"
        for field, of in schema["properties"].items()
    ]
    says = schema.get("description", f"The schema `{name}` of the server.")
    return f"class {name}(TypedDict):\n{_docstring(says, 4)}\n{''.join(fields)}"


def _docstring(says: str, indent: int) -> str:
    margin = " " * indent
    first, *rest = says.split("\n")
    lines = [f'{margin}"""{first}', *(f"{margin}{line}".rstrip() for line in rest)]
    return "\n".join(lines) + (f'\n{margin}"""\n' if rest else '"""\n')


def _type(schema: Schema) -> str:
    """The Python type of a schema's values."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.removeprefix(REFERENCE)
            return "Any" if name == "JsonValue" else name
        case {"anyOf": list(parts)}:
            return " | ".join(dict.fromkeys(map(_type, parts)))
        case {"const": value}:
            return f"Literal[{value!r}]"
        case {"enum": list(values)}:
            return f"Literal[{', '.join(map(repr, values))}]"
        case {"type": "array"}:
            return f"list[{_type(schema.get('items', {}))}]"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"dict[str, {_type(values)}]"
        case {"type": "object"}:
            return "dict[str, Any]"
        case {"type": "string", "format": "date-time"}:
            return "datetime | str"
        case {"type": str(kind)}:
            return SIMPLE[kind]
        case _:
            return "Any"


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of an operation, by where they are sent; `must` names the required ones."""

    ids: Sequence[str]
    query: Mapping[str, Schema]
    body: Mapping[str, Schema]
    must: frozenset[str]
    writes: bool

    @classmethod
    def of(cls, operation: Schema, schemas: Mapping[str, Schema]) -> _Arguments:
        listed = operation["parameters"]
        query = {one["name"]: one for one in listed if one["in"] == "query"}
        body = _body(operation, schemas)
        must = [name for name, one in query.items() if one["required"]]
        return cls(
            ids=[one["name"] for one in listed if one["in"] == "path"],
            query={name: one["schema"] for name, one in query.items()},
            body=body.get("properties", {}),
            must=frozenset([*must, *body.get("required", ())]),
            writes=any(one["name"] == "Idempotency-Key" for one in listed),
        )

    def declared(self) -> str:
        """The parameters of the method, the required ones first."""
        kinds = {name: _type(of) for name, of in {**self.query, **self.body}.items()}
        named = [f"{name}: {kind}" for name, kind in kinds.items() if name in self.must]
        named += [
            f"{name}: {_or_none(kind)} = None"
            for name, kind in kinds.items()
            if name not in self.must
        ]
        if self.writes:
            named.append("key: str | None = None")
        taken = ["self", *(f"{name}: str" for name in self.ids)]
        return ", ".join([*taken, "*", *named] if named else taken)

    def sent(self) -> str:
        """The arguments of the request, after its method and path."""
        given = {
            "ids": _dict(self.ids),
            "query": _dict(self.query),
            "body": _dict(self.body),
            "key": "key" if self.writes else "",
            "writes": "True" if self.writes else "",
        }
        return "".join(f", {name}={value}" for name, value in given.items() if value)


def _call(
    method: str,
    path: str,
    operation: Schema,
    schemas: Mapping[str, Schema],
    *,
    asynchronous: bool,
) -> str:
    arguments = _Arguments.of(operation, schemas)
    head, wait = ("async def", "await ") if asynchronous else ("def", "")
    answer = _type(_answer(operation))
    says = _docstring(_wrapped(operation, writes=arguments.writes), 8)
    request = f"ClientRequest({method!r}, {path!r}{arguments.sent()})"
    return (
        f"    {head} {operation['operationId']}({arguments.declared()}) -> {answer}:\n"
        f"{says}        return {wait}self._call({request})\n"
    )


def _or_none(kind: str) -> str:
    return kind if "None" in kind.split(" | ") else f"{kind} | None"


def _wrapped(operation: Schema, *, writes: bool) -> str:
    """The docstring of an operation: what it does, and what it needs."""
    more = operation["description"]
    if writes:
        more += " Repeated with the same `key`, it is done once."
    return f"{operation['summary']}\n\n{textwrap.fill(more, 88)}"


def _dict(names: Iterable[str]) -> str:
    pairs = ", ".join(f"{name!r}: {name}" for name in names)
    return f"{{{pairs}}}" if pairs else ""


if __name__ == "__main__":
    CALLS.write_text(written(), encoding="utf-8")
