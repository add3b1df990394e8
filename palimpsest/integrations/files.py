"""An owner's memories as files: a file is a namespace, each of its lines a memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from posixpath import normpath
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from palimpsest.api.agent import Agent
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.limits import PYTHON
from palimpsest.contracts.model import first_rule
from palimpsest.contracts.shown import Shown

PATHS: TypeAdapter[str] = TypeAdapter(Name)


class MemoryFiles:
    """The files below a folder of one agent, such as `/memories`; paths begin with that folder.

    A line that repeats an earlier one of the file joins its memory, and is shown once. Lines are
    in the order in which they were first written; blank ones are not kept. UsageError for a path
    outside the folder or an impossible change; RefusedError if the store refuses. Every part of a
    change is tried before the first is made, so a refusal changes nothing, unless the memories
    change meanwhile.
    """

    def __init__(self, agent: Agent, folder: str, source: str) -> None:
        self._agent = agent
        self._folder = folder
        self._source = source

    def path(self, given: str) -> str:
        """A path in its shortest form; UsageError if it is outside the folder, or malformed."""
        whole = normpath(given)
        if not _is_in(whole, self._folder):
            raise UsageError(f"the path must be in {self._folder}")
        try:
            return PATHS.validate_python(whole)
        except ValidationError as error:
            raise UsageError(f"path: {first_rule(error)}") from None

    def lines(self, path: str) -> list[str]:
        """The lines of a file; empty if there is no such file."""
        return [memory["face"] for memory in self._memories_of(path)]

    def below(self, path: str) -> list[str]:
        """The path of the file at a path, or the paths of all files of the folder there."""
        return sorted({memory["namespace"] for memory in self._all(path)})

    def write(self, path: str, wanted: Iterable[str]) -> None:
        """Set the lines of a file: changed ones are updated, missing ones forgotten.

        A line that only moves stays as it is. Raises UsageError if all lines are blank.
        """
        before = self._memories_of(path)
        lines = [line.strip() for line in wanted if line.strip()]
        if not lines:
            raise UsageError("a file needs a line that is not blank")
        if not before:
            self._require_no_file_above(path)
        changes = _changes(before, lines)
        self._require_kept(path, changes.added)
        for dry_run in (True, False):
            for memory, line in changes.changed:
                self._agent.update(
                    memory["memory_id"], line, dry_run=dry_run, merge=True, source=self._source
                )
            self._forget(changes.gone, dry_run=dry_run)
        self._add(path, changes.added)

    def remove(self, path: str) -> None:
        """Forget every line of a file, or of all files of a folder, reversibly."""
        self._forget([*self._all(path)])

    def move(self, old: str, new: str) -> None:
        """Move a file, or a folder's files: write the lines to `new`, and forget the old ones.

        Raises UsageError if `new` is in `old`.
        """
        if _is_in(new, old):
            raise UsageError(f"{new} is in {old} itself")
        self._require_no_file_above(new)
        moved = [*self._all(old)][::-1]
        files: dict[str, list[str]] = {}
        for memory in moved:
            files.setdefault(new + memory["namespace"][len(old) :], []).append(memory["face"])
        for path, lines in files.items():
            self._require_kept(path, lines)
        for path, lines in files.items():
            self._add(path, lines)
        self._forget(moved)

    def _require_no_file_above(self, path: str) -> None:
        above = next((one for one in self.below(self._folder) if _is_in(path, one)), None)
        if above is not None:
            raise UsageError(f"{above} is a file, not a folder")

    def _all(self, path: str) -> Iterator[Shown]:
        return (memory for memory in self._listed() if _is_in(memory["namespace"], path))

    def _memories_of(self, path: str) -> list[Shown]:
        return [*self._listed(namespace=path)][::-1]

    def _listed(self, **narrowed: Any) -> Iterator[Shown]:
        page = self._agent.list(limit=PYTHON.listed, **narrowed)
        yield from page["memories"]
        while page["next"] is not None:
            page = self._agent.list(limit=PYTHON.listed, after=page["next"], **narrowed)
            yield from page["memories"]

    def _require_kept(self, path: str, lines: Sequence[str]) -> None:
        """Raise if a line cannot be added: it is invalid, or repeats a forgotten one."""
        for line in lines:
            found = self._agent.check({"text": line, "namespace": path}, source=self._source)
            _require_recalled(found["reason"], found["detail"])

    def _add(self, path: str, lines: Sequence[str]) -> None:
        if lines:
            rows = [{"text": line, "namespace": path} for line in lines]
            for outcome in self._agent.submit(rows, source=self._source):
                _require_recalled(outcome.reason, outcome.detail)  # one may be forgotten meanwhile

    def _forget(self, memories: Sequence[Shown], *, dry_run: bool = False) -> None:
        if memories:
            self._agent.forget([memory["memory_id"] for memory in memories], dry_run=dry_run)


class _LineChanges(NamedTuple):
    """What turns the memories of a file into new lines, besides those that stay."""

    changed: list[tuple[Shown, str]]
    gone: list[Shown]
    added: list[str]


def _changes(before: Sequence[Shown], lines: Sequence[str]) -> _LineChanges:
    faces = [memory["face"] for memory in before]
    staying = {*faces} & {*lines}
    changes = _LineChanges([], [], [])
    matched = SequenceMatcher(a=faces, b=lines, autojunk=False)
    for _, start, end, first, last in matched.get_opcodes():
        leaving = [memory for memory in before[start:end] if memory["face"] not in staying]
        coming = [line for line in lines[first:last] if line not in staying]
        changes.changed.extend(zip(leaving, coming, strict=False))
        changes.gone.extend(leaving[len(coming) :])
        changes.added.extend(coming[len(leaving) :])
    return changes


def lines_of_range(given: Any, count: int) -> range:
    """The numbers of the lines to show: all, or from a first to a last; a last of -1 is the end.

    UsageError for anything else.
    """
    match given:
        case None:
            return range(1, count + 1)
        case [int(first), int(last)] if first <= count and (last == -1 or last >= max(first, 1)):
            return range(max(first, 1), (count if last == -1 else min(last, count)) + 1)
        case _:
            raise UsageError(
                f"view_range must be a first and a last line: the file has lines 1 to {count}"
            )


def kept_once(repeats: int) -> str:
    """The end of a sentence about a file, some of whose lines joined others; empty if none did."""
    if not repeats:
        return ""
    say, are = ("says", "is") if repeats == 1 else ("say", "are")
    return f"; {counted(repeats, 'line')} {say} what others do, and {are} kept once"


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _require_recalled(reason: str | None, detail: str | None) -> None:
    if reason is not None:
        raise RefusedError(reason, detail or "a line is not kept")
