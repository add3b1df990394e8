"""Claude's memory tool compared with the SDK's own for files, and in the SDK's tool loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool
from anthropic.types import beta
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from palimpsest import Palimpsest
from palimpsest.anthropic import AsyncPalimpsestMemoryTool, PalimpsestMemoryTool
from palimpsest.integrations.files import MemoryFiles
from palimpsest.streams.policies import load_policy

Command = dict[str, Any]
EXACT = load_policy("standard").model_copy(update={"enabled": False})
"""A policy that joins only exact repeats."""
PATHS = ("/memories/a.md", "/memories/b/c.md", "/memories/b/d.md", "/memories/b")
LINES = [f"{word} has number {number}" for number, word in enumerate("Ada Bob Eve Kay".split())]


def call(tool: Any, command: str, **arguments: Any) -> str:
    return str(tool.call({"command": command, **arguments}))


@pytest.fixture(name="tool")
def tool_fixture(memories: Palimpsest) -> PalimpsestMemoryTool:
    return PalimpsestMemoryTool(memories, "ada")


paths = st.sampled_from(PATHS)
texts = st.lists(st.sampled_from(LINES), min_size=1, max_size=3, unique=True).map("\n".join)
commands: st.SearchStrategy[Command] = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": paths, "file_text": texts}),
    st.fixed_dictionaries(
        {
            "command": st.just("str_replace"),
            "path": paths,
            "old_str": st.sampled_from([*LINES, "number 1", " has ", "nothing"]),
            "new_str": st.sampled_from(["Kim is here", " owns ", "number 9"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("str_replace"),
            "path": paths,
            "old_str": st.sampled_from([f"{line}\n" for line in LINES]),
            "new_str": st.sampled_from(["", "Kim and "]),
        }
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": paths}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": paths, "new_path": paths}),
)


def done(tool: Any, command: Command) -> bool:
    """Whether a tool carries out a command."""
    try:
        tool.call(command)
    except (ToolError, OSError):
        return False
    return True


def on_disk(folder: Path) -> dict[str, list[str]]:
    """The files of the SDK's tool, as distinct lines: ours keep each once, in another order."""
    return {
        f"/{path.relative_to(folder)}": sorted(
            {line.strip() for line in path.read_text().split("\n")}
        )
        for path in folder.glob("memories/**/*.md")
    }


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(commands, min_size=2, max_size=8))
def test_it_does_what_the_sdks_own_tool_does(
    tmp_path_factory: pytest.TempPathFactory, story: list[Command]
) -> None:
    folder = tmp_path_factory.mktemp("files")
    own = BetaLocalFilesystemMemoryTool(str(folder))
    with Palimpsest.open(folder / "store", policy=EXACT) as memories:
        tool = PalimpsestMemoryTool(memories, "ada")
        beginning = {"command": "create", "path": PATHS[0], "file_text": "\n".join(LINES)}
        for command in (beginning, *story):
            files = on_disk(folder)
            path = command.get("path") or command["old_path"]
            if path == PATHS[-1] and command["command"] == "create" and not files:
                continue  # an empty folder of theirs does not exist in ours
            if path == PATHS[-1] and not any(one.startswith(f"{path}/") for one in files):
                continue  # their empty folders stay; ours are gone with their last file
            if command.get("new_path") == PATHS[-1]:
                continue
            assert done(tool, command) == done(own, command), command
            ours = {one: sorted(tool._files.lines(one)) for one in tool._files.below("/memories")}
            assert ours == on_disk(folder), command


def test_what_is_said_twice_is_there_once_and_nothing_is_lost(
    memories: Palimpsest, tool: PalimpsestMemoryTool
) -> None:
    path = "/memories/people.md"
    call(tool, "create", path=path, file_text="Ada rows\n\nAda sings\n")
    edited = call(tool, "insert", path=path, insert_line=0, insert_text="Ada rows\nAda paints\n")
    assert edited.split("\n")[1:] == ["     1\tAda rows", "     2\tAda sings", "     3\tAda paints"]
    viewed = call(tool, "view", path=path, view_range=[2, 2])
    assert viewed.split("\n")[1:] == ["     2\tAda sings"]
    viewed = call(tool, "view", path=path, view_range=[3, 3])
    assert viewed.split("\n")[1:] == ["     3\tAda paints"], "the last line"
    call(tool, "str_replace", path=path, old_str="Ada sings", new_str="Ada hums")
    assert "Ada hums" in call(tool, "view", path=path)
    hums = next(one for one in memories.list("ada")["memories"] if one["face"] == "Ada hums")
    assert len(memories.history(hums["memory_id"])["events"]) == 2
    assert call(tool, "view", path="/memories").endswith(f"\n{path}")
    forgotten = call(tool, "delete", path="/memories/people.md")
    assert forgotten == "Successfully deleted /memories/people.md"
    assert memories.list("ada")["total"] == 0
    memories.undo(hums["memory_id"])
    assert "Ada hums" in call(tool, "view", path=path)
    assert tool.clear_all_memory() == "All memory cleared"


@pytest.mark.parametrize(
    ("before", "after"), [("abc", "cb"), ("abcd", "dbcx"), ("ab", "ba"), ("abc", "xcay")]
)
def test_a_line_that_moves_within_a_file_is_kept(
    memories: Palimpsest, tool: PalimpsestMemoryTool, before: str, after: str
) -> None:
    was, now = ([f"the line {letter}" for letter in letters] for letters in (before, after))
    call(tool, "create", path=PATHS[0], file_text="\n".join(was))
    ids = {one["face"]: one["memory_id"] for one in memories.list("ada")["memories"]}
    call(tool, "str_replace", path=PATHS[0], old_str="\n".join(was), new_str="\n".join(now))
    left = {one["face"]: one["memory_id"] for one in memories.list("ada")["memories"]}
    assert left.keys() == {*now}
    assert left.items() >= {(line, ids[line]) for line in now if line in ids}


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("view", {"path": "/memories/none.md"}, "does not exist"),
        ("view", {"path": "/memories/../etc/passwd"}, "must be in /memories"),
        ("create", {"path": "/etc/passwd", "file_text": "x"}, "must be in /memories"),
        ("create", {"path": "/memories/x.md", "file_text": " \n"}, "not blank"),
        ("create", {"path": "/memories/x.md", "file_text": "x" * 40_000}, "Nothing was changed"),
        ("str_replace", {"path": "/memories/a.md", "old_str": "Ada", "new_str": "x"}, "more than"),
        ("str_replace", {"path": "/memories/a.md", "old_str": "Eve", "new_str": "x"}, "verbatim"),
        (
            "insert",
            {"path": "/memories/a.md", "insert_line": -1, "insert_text": "x"},
            "must be 0 or more",
        ),
        ("insert", {"path": "/memories/a.md", "insert_line": 0, "insert_text": " "}, "is blank"),
        ("view", {"path": "/memories/a.md", "view_range": [3, 4]}, "lines 1 to 2"),
        ("view", {"path": "/memories/a.md", "view_range": [2, 1]}, "lines 1 to 2"),
        ("view", {"path": "/memories/a.md", "view_range": [-3, -2]}, "lines 1 to 2"),
        ("view", {"path": "/memories/a.md", "view_range": [1]}, "a first and a last line"),
        ("create", {"path": "/memories/a.md/b.md", "file_text": "Ada skis"}, "is a file"),
        ("rename", {"old_path": "/memories/a.md", "new_path": "/memories/a.md/b.md"}, "itself"),
        ("delete", {"path": "/memories"}, "stays as it is"),
        ("rename", {"old_path": "/memories/a.md", "new_path": "/memories/a.md"}, "already exists"),
    ],
)
def test_what_cannot_be_is_told(
    memories: Palimpsest, tool: PalimpsestMemoryTool, command: str, arguments: Any, said: str
) -> None:
    call(tool, "create", path="/memories/a.md", file_text="Ada rows\nAda sings")
    before = memories.list("ada")["total"]
    with pytest.raises(ToolError, match=said):
        call(tool, command, **arguments)
    assert memories.list("ada")["total"] == before


A = {"path": "/memories/a.md"}
WRONG: list[tuple[Any, list[str]]] = [
    ({"command": "create", **A}, ["create", "file_text: it is missing"]),
    ({"command": "create", **A, "file_text": None}, ["file_text: should be a valid string"]),
    ({"command": "view"}, ["view", "path: it is missing"]),
    ({"command": "view", "path": 5}, ["path: should be a valid string"]),
    ({"command": "delete", "path": None}, ["path: should be a valid string"]),
    ({"command": "rename", "old_path": A["path"]}, ["new_path: it is missing"]),
    ({"command": "str_replace", **A, "new_str": "x"}, ["old_str: it is missing"]),
    ({"command": "str_replace", **A, "old_str": None, "new_str": "x"}, ["old_str: should be a"]),
    ({"command": "str_replace", **A, "old_str": "Ada rows"}, ["new_str: it is missing"]),
    ({"command": "insert", **A, "insert_line": "3", "insert_text": "x"}, ["insert_line: should"]),
    ({"command": "insert", **A, "insert_line": True, "insert_text": "x"}, ["insert_line: should"]),
    ({"command": "insert", **A}, ["insert_line: it is missing", "insert_text: it is missing"]),
    ({"command": "view", **A, "view_range": 5}, ["view_range: should be a valid list"]),
    ({"command": "view", **A, "view_range": ["1", "2"]}, ["view_range.0: should be", "range.1"]),
    ({"command": "view", **A, "lines": [1, 2]}, ["unexpected keyword argument 'lines'"]),
    ({"command": "append", **A}, ["command", "view, create, str_replace, insert, delete"]),
    ({"command": ["view"], **A}, ["command", "view, create"]),
    (A, ["command", "view, create"]),
    (None, ["command", "view, create"]),
    ("view", ["command", "view, create"]),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_a_wrong_argument_is_named(
    memories: Palimpsest, tool: PalimpsestMemoryTool, given: Any, said: list[str]
) -> None:
    call(tool, "create", path="/memories/a.md", file_text="Ada rows\nAda sings")
    before = memories.position
    one, both = tool, AsyncPalimpsestMemoryTool(memories, "ada")
    calls: list[Callable[[], Any]] = [
        lambda: one.call(given),
        lambda: asyncio.run(both.call(given)),
    ]
    for calling in calls:
        with pytest.raises(ToolError) as told:
            calling()
        assert [words for words in said if words not in str(told.value)] == [], told.value
        assert "Ada" not in str(told.value)
    assert memories.position == before


@pytest.mark.parametrize("path", ["/memories/" + "a" * 3000, "/memories/a\0b"])
@pytest.mark.parametrize("command", ["view", "create", "insert", "delete"])
def test_a_path_that_no_namespace_can_be_is_an_error_of_the_tool(
    tool: PalimpsestMemoryTool, command: str, path: str
) -> None:
    more: Any = {"create": {"file_text": "x"}, "insert": {"insert_line": 0, "insert_text": "x"}}
    with pytest.raises(ToolError, match="path: "):
        call(tool, command, path=path, **more.get(command, {}))


def test_a_file_that_says_something_twice_is_told_to_say_it_once(
    tool: PalimpsestMemoryTool,
) -> None:
    said = "Ada rows\n\nAda sings\nAda rows\n  Ada rows"
    created = call(tool, "create", path="/memories/a.md", file_text=said)
    assert created == (
        "File created successfully at: /memories/a.md; 2 lines say what others do, and are kept"
        " once"
    )
    one = call(tool, "create", path="/memories/b.md", file_text="Ada rows\nAda rows")
    assert one.endswith("; 1 line says what others do, and is kept once")


def test_a_command_of_the_sdks_own_types_is_checked_too(tool: PalimpsestMemoryTool) -> None:
    wrong: Any = {"command": "create", "path": 5}
    with pytest.raises(ToolError, match="path: should be a valid string"):
        tool.execute(beta.BetaMemoryTool20250818CreateCommand.model_construct(**wrong))
    view = beta.BetaMemoryTool20250818ViewCommand(command="view", path="/memories")
    assert tool.execute(view) == "Here're the files in /memories:"


def test_null_for_what_another_command_takes_is_left_out(tool: PalimpsestMemoryTool) -> None:
    given = {"command": "create", **A, "file_text": "Ada rows", "view_range": None, "old_str": None}
    assert tool.call(given) == "File created successfully at: /memories/a.md"


def test_what_a_person_has_forgotten_is_not_written_again(
    memories: Palimpsest, tool: PalimpsestMemoryTool
) -> None:
    [said] = memories.submit([{"owner_id": "ada", "text": "Ada rows", "namespace": PATHS[0]}])
    memories.forget([str(said.memory_id)], by="person")
    with pytest.raises(ToolError, match="forgotten"):
        call(tool, "create", path=PATHS[0], file_text="Ada rows")
    assert memories.list("ada")["total"] == 0


@pytest.mark.parametrize("wrong", ["x" * 40_000, "Ada dives"])
@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("insert", {"insert_line": 0, "insert_text": "Ada skis\n{wrong}"}),
        ("str_replace", {"old_str": "Ada rows", "new_str": "Ada skis\n{wrong}"}),
        ("str_replace", {"old_str": "Ada rows\nAda sings", "new_str": "Ada skis\n{wrong}"}),
        ("create", {"path": "/memories/new.md", "file_text": "Ada skis\n{wrong}"}),
    ],
)
def test_a_change_that_fails_changes_nothing(
    memories: Palimpsest, tool: PalimpsestMemoryTool, wrong: str, command: str, arguments: Any
) -> None:
    forgotten = [
        {"text": "Ada dives", "namespace": f"/memories/{name}.md"} for name in ("a", "new")
    ]
    said = memories.submit([{"owner_id": "ada", **row} for row in forgotten])
    memories.forget([str(one.memory_id) for one in said], by="person", again="refuse")
    call(tool, "create", path="/memories/a.md", file_text="Ada rows\nAda sings")
    before = memories.list("ada", former=True), memories.position
    filled = {
        name: value.format(wrong=wrong) if isinstance(value, str) else value
        for name, value in arguments.items()
    }
    with pytest.raises(ToolError, match="Nothing was changed"):
        call(tool, command, **({"path": "/memories/a.md"} | filled))
    assert (memories.list("ada", former=True), memories.position) == before


def test_a_file_is_not_moved_if_a_line_of_it_would_be_withheld(
    memories: Palimpsest, tool: PalimpsestMemoryTool
) -> None:
    gone = {"owner_id": "ada", "text": "Ada sings", "namespace": "/memories/b.md"}
    memories.forget([str(memories.submit([gone])[0].memory_id)], by="person")
    call(tool, "create", path="/memories/a.md", file_text="Ada rows\nAda sings")
    before = memories.list("ada"), memories.position
    with pytest.raises(ToolError, match="Nothing was changed"):
        call(tool, "rename", old_path="/memories/a.md", new_path="/memories/b.md")
    assert (memories.list("ada"), memories.position) == before


def test_a_line_that_is_forgotten_while_it_is_added_is_reported(
    memories: Palimpsest, tool: PalimpsestMemoryTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = {"owner_id": "ada", "text": "Ada sings", "namespace": "/memories/a.md"}
    memories.forget([str(memories.submit([gone])[0].memory_id)], by="person")
    monkeypatch.setattr(MemoryFiles, "_require_kept", lambda *_: None)  # it was not yet, then
    with pytest.raises(ToolError):
        call(tool, "create", path="/memories/a.md", file_text="Ada sings")


def test_a_model_reads_and_writes_only_its_own_owner(memories: Palimpsest) -> None:
    tools = {owner: PalimpsestMemoryTool(memories, owner) for owner in ("ada", "bob")}
    for owner, tool in tools.items():
        call(tool, "create", path="/memories/me.md", file_text=f"{owner} rows")
        assert f"{owner} rows" in call(tool, "view", path="/memories/me.md")
    call(tools["bob"], "delete", path="/memories/me.md")
    assert memories.list("ada")["total"] == 1


def test_the_asynchronous_tool_does_the_same(memories: Palimpsest) -> None:
    async def use() -> None:
        tool = AsyncPalimpsestMemoryTool(memories, "ada")
        await tool.call({"command": "create", "path": "/memories/a.md", "file_text": "Ada rows"})
        assert "Ada rows" in str(await tool.call({"command": "view", "path": "/memories/a.md"}))
        with pytest.raises(ToolError):
            await tool.call({"command": "delete", "path": "/memories"})
        assert await tool.clear_all_memory() == "All memory cleared"

    asyncio.run(use())


def scripted(*turns: list[Command]) -> tuple[Callable[[httpx2.Request], Any], list[Any]]:
    """A service that makes these tool calls, turn by turn, and the requests that it received."""
    asked: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        turn = turns[len(asked) - 1] if len(asked) <= len(turns) else []
        content: list[Any] = [
            {"type": "tool_use", "id": f"t{len(asked)}-{n}", "name": "memory", "input": command}
            for n, command in enumerate(turn)
        ] or [{"type": "text", "text": "done"}]
        message = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": content,
            "stop_reason": "tool_use" if turn else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return httpx2.Response(200, json=message)

    return answer, asked


def test_the_sdk_runs_it_for_a_model(memories: Palimpsest, tool: PalimpsestMemoryTool) -> None:
    path = "/memories/ada.md"
    answer, asked = scripted(
        [{"command": "view", "path": "/memories"}],
        [{"command": "create", "path": path, "file_text": "Ada lives in Paris"}],
        [{"command": "str_replace", "path": path, "old_str": "Paris", "new_str": "Rome"}],
        [{"command": "view", "path": path}, {"command": "delete", "path": "/memories"}],
    )
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = Anthropic(api_key="none", http_client=http, max_retries=0)
    runner = client.beta.messages.tool_runner(
        model="claude", max_tokens=100, tools=[tool], messages=[{"role": "user", "content": "hi"}]
    )
    assert runner.until_done().content[0].text == "done"  # type: ignore[union-attr]
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    results = asked[-1]["messages"][-1]["content"]
    assert "Ada lives in Rome" in str(results[0]["content"])
    assert results[1]["is_error"]
    assert memories.recall("ada", "Ada lives in Rome", k=1)[0]["face"] == "Ada lives in Rome"


@pytest.mark.parametrize(
    ("command", "more"), [("view", {}), ("create", {"file_text": "Ada sings."}), ("delete", {})]
)
def test_a_path_with_half_a_character_is_an_error_of_the_tool(
    tool: PalimpsestMemoryTool, command: str, more: Any
) -> None:
    """A model's answer that is cut within an emoji ends with one."""
    with pytest.raises(ToolError, match="path: is not valid Unicode"):
        call(tool, command, path="/memories/a\ud83d", **more)
