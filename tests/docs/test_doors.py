"""The page of the doors: every operation at each of them, or why it is absent there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from palimpsest import Palimpsest
from palimpsest.api.agent import Agent
from palimpsest.server.http.feed import Feeds
from palimpsest.server.http.operations import HttpOperation
from palimpsest.server.http.v1 import all_operations
from palimpsest.server.mcp.tools import tools_of
from palimpsest.server.operations import OPERATIONS, OWNER
from tests.docs.pages import text_of
from tests.palimpsest.cli.test_help import COMMANDS
from tests.tables import each

PAGE = "docs/doors.md"
DOORS = ("python", "agent", "command line", "http", "mcp")
_ROW = re.compile(r"^\| (`.+) \|$", re.MULTILINE)
_NAME = re.compile(r"`([^`]+)`")
_REASON = re.compile(r"\((\d+)\)")


@dataclass(frozen=True)
class Row:
    """An operation of the table: its name at each door, None if it is absent there."""

    operation: str
    names: dict[str, str | None]
    reasons: dict[str, str | None]


def rows() -> Iterator[Row]:
    table = text_of(PAGE).partition("## Environment")[0]
    for line in _ROW.findall(table):
        first, *cells = line.split(" | ")
        names = {door: _NAME.search(cell) for door, cell in zip(DOORS, cells, strict=True)}
        why = {door: _REASON.search(cell) for door, cell in zip(DOORS, cells, strict=True)}
        yield Row(
            first.strip("`"),
            {door: found and found[1] for door, found in names.items()},
            {door: found and found[1] for door, found in why.items()},
        )


ROWS = {row.operation: row for row in rows()}
HTTP: dict[str, HttpOperation] = {
    operation.name: operation
    for operation in all_operations(Feeds(None))  # type: ignore[arg-type]
}


def test_the_table_has_every_operation_and_no_other() -> None:
    assert {*ROWS} == {*HTTP}


def calls_of(kind: type) -> set[str]:
    return {name for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))}


@each("row", ROWS.values())
def test_an_operation_is_at_its_doors_under_these_names(row: Row) -> None:
    declared = HTTP[row.operation]
    assert row.names["http"] == f"{declared.method} {declared.path.removeprefix(OWNER)}"
    known = {"python": calls_of(Palimpsest), "agent": calls_of(Agent), "command line": {*COMMANDS}}
    for door, there in known.items():
        name = row.names[door]
        assert name is None or name in there, door
    tool = next((one.tool for one in OPERATIONS if one.name == row.operation), None)
    assert row.names["mcp"] == tool


@each("row", ROWS.values())
def test_an_absence_has_a_reason(row: Row) -> None:
    reasons = {*re.findall(r"^(\d+)\. ", text_of(PAGE), flags=re.MULTILINE)}
    for door, name in row.names.items():
        assert name is not None or row.reasons[door] in reasons, door
    of_agents = tools_of("agent").keys()
    tool = row.names["mcp"]
    role = HTTP[row.operation].role
    if tool is not None and role == "agent":
        assert (row.reasons["mcp"] == "3") is (tool not in of_agents)
    if row.names["agent"] is None and role == "reviewer":
        assert row.reasons["agent"] == "5", "it is for people"


def test_no_call_of_an_agents_handle_and_no_tool_is_missing_in_the_table() -> None:
    assert calls_of(Agent) == {row.names["agent"] for row in ROWS.values()} - {None}
    assert {*tools_of("operator")} == {row.names["mcp"] for row in ROWS.values()} - {None}


def test_every_reason_is_used() -> None:
    used = {number for row in ROWS.values() for number in row.reasons.values() if number}
    listed = re.findall(r"^(\d+)\. ", text_of(PAGE), flags=re.MULTILINE)
    assert sorted(used, key=int) == listed
