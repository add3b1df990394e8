"""Claude's memory tool: files whose lines are memories (docs/agents.md).

Needs the extra `judge`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.extras import require_extra
from palimpsest.integrations.files import MemoryFiles, kept_once, lines_of_range

with require_extra("palimpsest.anthropic", "judge"):
    from anthropic.lib.tools import ToolError
    from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

    from palimpsest.integrations.memory_commands import errors_for_model, read_command

ROOT = "/memories"
SOURCE = "anthropic"
"""The source of every candidate, and the actor of every change."""


class PalimpsestMemoryTool(BetaAbstractMemoryTool):
    """One owner's memories as Claude's files. A repeated fact is kept once; deleting is reversible.

    Further arguments are those of the SDK's class.
    """

    def __init__(self, memories: Palimpsest, owner_id: str, **options: Any) -> None:
        super().__init__(**options)
        self._files = MemoryFiles(memories.agent(owner_id, actor=SOURCE), ROOT, SOURCE)

    def call(self, input: object) -> Any:  # noqa: A002 - the base's own name
        """Carry out a model's command, which the SDK would convert without checking it."""
        return self.execute(input)

    def execute(self, command: Any) -> Any:
        """Carry out a command; ToolError if an argument is wrong or the store refuses."""
        with errors_for_model():
            return super().execute(read_command(command))

    def view(self, command: Any) -> str:
        """The lines of a file, numbered, or the files of a folder."""
        path = self._files.path(command.path)
        if lines := self._files.lines(path):
            wanted = lines_of_range(command.view_range, len(lines))
            shown = _numbered((number, lines[number - 1]) for number in wanted)
            return f"Here's the content of {path} with line numbers:\n{shown}"
        files = self._files.below(path)
        if not files and path != ROOT:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return "\n".join((f"Here're the files in {path}:", *files))

    def create(self, command: Any) -> str:
        """Create a file; it must not exist."""
        path = self._files.path(command.path)
        if self._files.below(path):
            raise ToolError(f"File {path} already exists")
        given = [line for line in command.file_text.split("\n") if line.strip()]
        self._files.write(path, given)
        repeats = len(given) - len(self._files.lines(path))
        return f"File created successfully at: {path}{kept_once(repeats)}"

    def str_replace(self, command: Any) -> str:
        """Replace a text that occurs exactly once in a file; it may span lines."""
        path, lines = self._existing(command.path)
        content = "\n".join(lines)
        found = content.count(command.old_str)
        if found != 1:
            why = "appears more than once" if found else "did not appear verbatim"
            raise ToolError(f"No replacement was performed, old_str {why} in {path}.")
        return self._edit(path, content.replace(command.old_str, command.new_str))

    def insert(self, command: Any) -> str:
        """Add lines at the end, whatever `insert_line` says: a file keeps the order of writing."""
        path, lines = self._existing(command.path)
        if command.insert_line < 0:
            raise ToolError("Invalid insert_line: it must be 0 or more.")
        if not command.insert_text.strip():
            raise ToolError("Nothing was changed: insert_text is blank")
        return self._edit(path, "\n".join((*lines, command.insert_text)))

    def delete(self, command: Any) -> str:
        """Forget a file, or a folder."""
        path = self._removable(command.path)
        self._files.remove(path)
        return f"Successfully deleted {path}"

    def rename(self, command: Any) -> str:
        """Give a file or a folder another path."""
        old, new = self._removable(command.old_path), self._files.path(command.new_path)
        if self._files.below(new):
            raise ToolError(f"The destination {new} already exists")
        self._files.move(old, new)
        return f"Successfully renamed {old} to {new}"

    def clear_all_memory(self) -> str:
        """Forget everything in files."""
        self._files.remove(ROOT)
        return "All memory cleared"

    def _existing(self, given: str) -> tuple[str, list[str]]:
        path = self._files.path(given)
        lines = self._files.lines(path)
        if not lines:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return path, lines

    def _removable(self, given: str) -> str:
        path = self._files.path(given)
        if path == ROOT:
            raise ToolError(f"The {ROOT} directory itself stays as it is")
        if not self._files.below(path):
            raise ToolError(f"The path {path} does not exist")
        return path

    def _edit(self, path: str, content: str) -> str:
        self._files.write(path, content.split("\n"))
        edited = _numbered(enumerate(self._files.lines(path), start=1))
        return f"The memory file has been edited. It is now:\n{edited}"


class AsyncPalimpsestMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for an asynchronous client; its calls run on threads."""

    def __init__(self, memories: Palimpsest, owner_id: str, **options: Any) -> None:
        super().__init__(**options)
        self._tool = PalimpsestMemoryTool(memories, owner_id)

    async def call(self, input: object) -> Any:  # noqa: A002 - the base's own name
        """Carry out a model's command."""
        return await self.execute(input)

    async def _execute(self, command: Any) -> Any:
        return await asyncio.to_thread(self._tool.execute, command)

    execute = view = create = str_replace = insert = delete = rename = _execute

    async def clear_all_memory(self) -> str:
        """Forget everything in files."""
        return await asyncio.to_thread(self._tool.clear_all_memory)


def _numbered(lines: Iterable[tuple[int, str]]) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in lines)
