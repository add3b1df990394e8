"""An operation is stated in five places: its request, handler, method, command and table entry.

What an operation is made of is read off the code: by its entry in the table, the request or the
method that this entry names, and who mentions these. So an operation is counted when it is added.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from palimpsest.server.operations import OPERATIONS
from tests.tables import each
from tests.test_layout import ROOT, Tree, parse, within

TABLE = "palimpsest.server.operations"
INTENTS = "palimpsest.server.intents"
HANDLERS = "palimpsest.streams.write.serve"
TWINS = ("palimpsest.api.agent", "palimpsest.api.asynchronous")
"""They pass calls on to a method of the facade, and state nothing but its name."""
WAYS_BACK = ("palimpsest.queries.undoing", "palimpsest.jobs.review", "palimpsest.auditing.audits")
"""Requests that follow from what was done or judged: `undo`, reviews, labels of an audit."""
API = ("palimpsest.api.reads", "palimpsest.api.statements", "palimpsest.api.submissions")
"""The classes of a store's calls, by their subject."""
MOST = 5
SHARED = 3
"""Fields in common from which a class states an operation's parameters again."""


@cache
def tree() -> Tree:
    return parse(ROOT)


def calls_in(node: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call in a node with the name that it calls, without what it is called on."""
    for found in ast.walk(node):
        match found:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield name, found
            case _:
                pass


Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def functions(package: str) -> list[tuple[str, Function]]:
    """Every function of a package that is no property, with its module."""
    return [
        (module, node)
        for module, parsed in tree().items()
        if within(module, (package,)) and module not in TWINS
        for node in ast.walk(parsed)
        if isinstance(node, Function) and "property" not in map(ast.unparse, node.decorator_list)
    ]


@cache
def entries() -> dict[str, ast.Call]:
    """The entries of the table by the names of their operations."""
    found: dict[str, ast.Call] = {}
    for name, call in calls_in(tree()[TABLE]):
        match name, call.args:
            case ("Operation" | "_request", [ast.Constant(value=str(operation)), *_]):
                found[operation] = call
            case _:
                pass
    return found


def request_of(entry: ast.Call) -> str | None:
    """The request of an entry; None if it is made of calls of the facade."""
    named = [arg.id for arg in entry.args if isinstance(arg, ast.Name)]
    return next((name for name in named if name.endswith("Request")), None)


def classes(name: str) -> Iterator[str]:
    """Yield the modules that declare a class."""
    for module, parsed in tree().items():
        if not within(module, ("palimpsest.client",)):
            for node in parsed.body:
                if isinstance(node, ast.ClassDef) and node.name == name:
                    yield module


def handler_of(request: str) -> str:
    """The module of the function that handles a request."""
    [table] = [
        node.value
        for node in tree()[HANDLERS].body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "HANDLERS"
    ]
    assert isinstance(table, ast.Dict)
    [value] = [
        ast.unparse(value)
        for key, value in zip(table.keys, table.values, strict=True)
        if key is not None and ast.unparse(key) == request
    ]
    room, _, name = value.rpartition(".")
    [module] = {
        node.module if room == "" else f"{node.module}.{room}"
        for node in tree()[HANDLERS].body
        if isinstance(node, ast.ImportFrom)
        and (room or name) in [alias.name for alias in node.names]
    }
    return str(module)


@cache
def makers() -> list[tuple[str, str, frozenset[str]]]:
    """Every function of the doors and the facade, with its module and the names that it calls."""
    return [
        (module, function.name, frozenset(name for name, _ in calls_in(function)))
        for room in ("api", "cli", "server", "web", "integrations", "jobs", "queries")
        for module, function in functions(f"palimpsest.{room}")
        if module not in WAYS_BACK
    ]


def facade_of(request: str) -> set[tuple[str, str]]:
    """The methods that make a request, with their modules."""
    return {(module, name) for module, name, called in makers() if request in called}


def methods_of(entry: ast.Call) -> set[str]:
    """The methods of a store that the entry's function calls, by way of `Intents`."""
    carry = {arg.id for arg in entry.args if isinstance(arg, ast.Name)}
    carry |= {name for name, _ in calls_in(entry)}
    carried = [function for _, function in functions(TABLE) if function.name in carry]
    asked = {name for function in carried for name, _ in calls_in(function)}
    found = set()
    for _, function in functions(INTENTS):
        for node in ast.walk(function) if function.name in asked else ():
            match node:
                case ast.Attribute(
                    value=ast.Name(id="store") | ast.Attribute(attr="_store"), attr=name
                ):
                    found.add(name)
                case _:
                    pass
    return found & {function.name for _, function in functions("palimpsest.api")}


@cache
def calling() -> list[tuple[str, str, frozenset[str]]]:
    """Every function of the commands, with its module and the methods of a store that it calls."""
    return [
        (
            module,
            function.name,
            frozenset(
                node.attr
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "store"
            ),
        )
        for module, function in functions("palimpsest.cli.commands")
    ]


def commands_of(methods: set[str]) -> set[str]:
    """The modules with a command that calls one of these methods; by its name, if there is one."""
    calls = {module for module, _, called in calling() if called & methods}
    named = {module for module, name, _ in calling() if name in methods}
    return calls & named or calls


def stated_again(fields: set[str], but: set[str]) -> set[str]:
    """The modules of the doors with another class that declares these fields."""
    found = set()
    for module, parsed in tree().items():
        if within(module, ("palimpsest.server", "palimpsest.web", "palimpsest.integrations")):
            for node in parsed.body:
                if isinstance(node, ast.ClassDef) and node.name not in but:
                    declared = {
                        ast.unparse(n.target) for n in node.body if isinstance(n, ast.AnnAssign)
                    }
                    if len(fields) >= SHARED and fields <= declared:
                        found.add(f"{module}.{node.name}")
    return found


def places_of(name: str) -> set[str]:
    """All places that state an operation."""
    operation = next(one for one in OPERATIONS if one.name == name)
    entry = entries()[name]
    request = request_of(entry)
    taken = {kind.__name__ for kind in operation.takes.__mro__}
    if request is None:
        methods = methods_of(entry)
        facade = {module for module, name, _ in makers() if name in methods} & {*API}
        places = {TABLE, INTENTS, *facade, *classes(operation.takes.__name__)}
    else:
        made = facade_of(request)
        methods = {method for _, method in made}
        facade = {module for module, _ in made}
        places = {TABLE, *classes(request), handler_of(request), *facade}
        taken |= {request}
    fields = {*operation.takes.model_fields} - {"because", "dry_run", "namespace", "limit"}
    return places | commands_of(methods) | stated_again(fields, taken)


def test_the_table_is_read_whole() -> None:
    assert entries().keys() == {operation.name for operation in OPERATIONS}


@each("name", [operation.name for operation in OPERATIONS])
def test_an_operation_is_stated_in_five_places(name: str) -> None:
    places = places_of(name)
    assert len(places) <= MOST, sorted(places)


def test_the_places_of_un_merge_are_those_that_contributing_names() -> None:
    assert places_of("unmerge") == {
        "palimpsest.contracts.requests",
        "palimpsest.streams.write.handlers.unmerge",
        "palimpsest.api.statements",
        "palimpsest.cli.commands.undo",
        TABLE,
    }
