"""Calls of mem0's classes, and their answers, without parts that differ between two stores.

`python calls.py FOLDER [AsyncMemory]` prints the answers of mem0's own class, `Memory` unless
another is named; test_class.py compares them with ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

TIMES = ("created_at", "updated_at", "score")


class Answers:
    """Collects the answers and errors of calls; ids are numbered in order of appearance."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self._ids: dict[str, str] = {}

    def of(self, call: Callable[..., Any], *words: Any, **more: Any) -> Any:
        """Make a call; keep its answer, or that it was refused: mem0 has its own error classes."""
        try:
            answer = call(*words, **more)
        except Exception:  # noqa: BLE001 - another answer than the other class's fails the test
            answer = "refused"
        self.all.append([call.__name__, self._plain(answer)])
        return answer

    def _plain(self, value: Any) -> Any:
        match value:
            case dict():
                return {
                    key: self._ids.setdefault(inner, f"id {len(self._ids)}")
                    if key in ("id", "memory_id") and isinstance(inner, str)
                    else type(inner).__name__
                    if key in TIMES
                    else self._plain(inner)
                    for key, inner in sorted(value.items())
                    if inner is not None or key not in ("metadata", "expiration_date")
                }
            case list():
                return [self._plain(inner) for inner in value]
            case _:
                return value


def calls(memory: Any) -> list[Any]:
    """The answers to a program's typical calls."""
    answers = Answers()
    of = answers.of
    ada = {"user_id": "ada"}
    conversation = [
        {"role": "system", "content": "Be kind"},
        {"role": "user", "name": "ada l", "content": "the ferry leaves the harbour at noon"},
        {"role": "assistant", "content": "bring a coat because of wind"},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    first = of(memory.add, conversation, **ada, infer=False)["results"][0]["id"]
    of(memory.add, "seven apples lie on a table", **ada, metadata={"room": 1}, infer=False)
    of(
        memory.add,
        {"role": "user", "content": "green tea tastes bitter"},
        agent_id="cook",
        infer=False,
    )
    of(memory.add, "her bicycle has a flat tyre", **ada, agent_id="cook", run_id="r", infer=False)
    of(memory.add, "nobody owns this", infer=False)
    of(memory.add, 5, **ada, infer=False)
    of(memory.get, first)
    of(memory.get, "00000000-0000-4000-8000-000000000000")
    for filters in (
        ada,
        {**ada, "room": 1},
        {**ada, "room": {"gte": 2}},
        {**ada, "agent_id": "cook"},
        {"agent_id": "cook", "role": "user", "run_id": "r"},
        {"user_id": "bob"},
        {},
    ):
        found = memory.get_all(filters=filters)["results"] if filters else None
        if found is not None:
            answers.all.append([str(filters), sorted(one["memory"] for one in found)])
    of(memory.get_all, user_id="ada")
    of(memory.get_all, filters={})
    of(memory.get_all, filters=ada, top_k=-1)
    of(memory.search, "seven apples lie on a table", filters=ada, top_k=1)
    of(memory.search, "seven apples", filters={**ada, "room": 1}, threshold=0.0)
    of(memory.search, "seven apples", user_id="ada")
    of(memory.update, first, text="the ferry leaves the harbour at dusk")
    of(memory.update, first, metadata={"boat": "red"})
    of(memory.update, first)
    of(memory.update, "00000000-0000-4000-8000-000000000000", text="who")
    of(memory.get, first)
    changes = memory.history(first)
    answers.all.append(
        [[change["event"], change["old_memory"], change["new_memory"]] for change in changes[:2]]
    )
    answers.all.append(sorted(changes[0]))
    for last_day in ("2999-12-30", "some day", 5, None):
        of(memory.update, first, expiration_date=last_day)
        of(memory.get, first)
    for last_day in ("2020-01-31", "2999-12-30"):
        of(memory.update, first, metadata={"boat": "blue"}, expiration_date=last_day)
        for show_expired in (False, True):
            found = memory.get_all(filters=ada, show_expired=show_expired)["results"]
            answers.all.append(sorted(one["memory"] for one in found))
        of(memory.get, first)
    of(memory.update, first, "the ferry leaves at dawn", None, None)
    of(memory.get, first)
    of(memory.delete, first)
    of(memory.delete, first)
    of(memory.get, first)
    answers.all.append(memory.history(first)[-1]["event"])
    of(memory.delete_all, user_id="ada", agent_id="cook")
    of(memory.delete_all)
    of(memory.delete_all, user_id="ada")
    answers.all.append(
        [len(memory.get_all(filters=one)["results"]) for one in (ada, {"agent_id": "cook"})]
    )
    return answers.all


class Awaiting:
    """An asynchronous memory whose calls are awaited one by one, with their names."""

    def __init__(self, memory: Any, run: Callable[[Any], Any]) -> None:
        self._memory, self._run = memory, run

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._memory, name)

        def awaited(*words: Any, **more: Any) -> Any:
            return self._run(call(*words, **more))

        awaited.__name__ = name
        return awaited


if __name__ == "__main__":
    opened = import_module("memory").opened  # beside this script
    kind = getattr(import_module("mem0"), sys.argv[2] if sys.argv[2:] else "Memory")
    with asyncio.Runner() as runner:
        own = opened(Path(sys.argv[1]), "qdrant", kind)
        awaits = iscoroutinefunction(kind.add)
        print(json.dumps(calls(Awaiting(own, runner.run) if awaits else own)))
