"""For agents of OpenAI's SDK: a session and tools (docs/agents.md); needs extra `openai-agents`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from palimpsest.api.outcomes import EARLIER, say_outcome
from palimpsest.api.store import Palimpsest
from palimpsest.contracts import errors
from palimpsest.contracts.counting import counted
from palimpsest.contracts.extras import require_extra
from palimpsest.contracts.requests import Selection
from palimpsest.streams.extract.conversation import text_of

with require_extra("palimpsest.openai_agents", "openai-agents"):
    from agents import FunctionTool, SQLiteSession, TResponseInputItem, function_tool
    from agents.exceptions import ModelBehaviorError

SOURCE = "openai-agents"
"""The source of every candidate, and the actor of every change."""
FILE = "openai-agents.db"
_log = logging.getLogger(__name__)


class PalimpsestSession(SQLiteSession):
    """A conversation of one owner; the user's messages become memories.

    The SDK keeps the history itself, item by item and verbatim, in a file in the store's folder.
    With `infer`, the judge's model extracts memories; else each message becomes one. Popping a
    user's message retracts the latest candidate with its text; clearing a session retracts none.
    """

    def __init__(
        self,
        memories: Palimpsest,
        owner_id: str,
        session_id: str,
        *,
        infer: bool = False,
        file: Path | None = None,
        **options: Any,
    ) -> None:
        place = f"{quote(owner_id, safe='')}/{session_id}"
        super().__init__(place, file or memories.folder / FILE, **options)
        self._memories = memories
        self._owner_id = owner_id
        self._conversation = session_id
        self._infer = infer

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep the items, and remember what the user says in them."""
        await super().add_items(items)
        said = [item for item in items if _is_users(item)]
        if said:
            await asyncio.to_thread(self._remember, said)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the latest item; None if there is none."""
        item = await super().pop_item()
        if item is not None and _is_users(item):
            await asyncio.to_thread(self._take_back, text_of(dict(item).get("content")))
        return item

    def _remember(self, said: Sequence[Any]) -> None:
        about: dict[str, Any] = {"session_id": self._conversation, "infer": self._infer}
        try:
            self._memories.add(said, self._owner_id, source=SOURCE, **about)
        except (errors.TransientError, errors.ModelError) as error:  # the conversation goes on
            _log.warning("what the user said is not remembered: %s", error)
        except errors.InvalidInputError as error:
            if len(said) == 1:
                _log.warning("a message of the user is not remembered: %s", error)
                return
            for item in said:
                self._remember([item])

    def _take_back(self, text: str) -> None:
        """Retract the latest candidate of this conversation with this text."""
        ours = (SOURCE, self._conversation)
        entries = self._memories.reader.ledger(self._owner_id).entries.values()
        said = [one for one in entries if (one.fields.source, one.fields.session_id) == ours]
        same = [entry.id for entry in said if entry.living and entry.text == text]
        if same:
            latest = Selection(candidate_id=same[-1])
            self._memories.retract(latest, actor=SOURCE, because="taken back")


def _told(_context: Any, error: Exception) -> str:
    """What a model reads about its mistake or a refusal; quotes no memory, raises other errors."""
    if isinstance(error, ModelBehaviorError):
        return "Nothing was changed: give the tool the arguments of its schema, and no others"
    if not isinstance(error, errors.PalimpsestError):
        raise error
    return f"Nothing was changed: {error}"


def _is_users(item: Any) -> bool:
    return bool(item.get("role") == "user")


def memory_tools(memories: Palimpsest, owner_id: str) -> list[FunctionTool]:
    """Tools with which a model remembers, finds, corrects and forgets facts about one owner.

    It cannot name another owner, and cannot overrule a person; what it forgets can be restored.
    """
    owner = memories.agent(owner_id, actor=SOURCE)

    @function_tool(failure_error_function=_told)
    async def remember(fact: str) -> str:
        """Remember a fact about the user, as a sentence that is clear without the conversation."""
        [kept] = await asyncio.to_thread(owner.submit, fact, source=SOURCE)
        told = [say_outcome(asdict(kept), kept.memory_id or "")]
        if kept.frame:
            told.append(EARLIER.format(way="correct_memory, its id, this fact"))
            told += [f"{one['id']}: {one['assertion']}" for one in kept.frame]
        return "\n".join(told)

    @function_tool(failure_error_function=_told)
    async def search_memories(question: str, min_score: float | None = None) -> str:
        """Find what is known about the user, the nearest first, each with the id of its memory.

        Hardly related memories are left out; a `min_score` of -1 shows them, too.
        """
        least: Any = "model" if min_score is None else max(-1.0, min(min_score, 1.0))
        found = await asyncio.to_thread(owner.recall, question, min_score=least)
        told = [f"{it['memory_id']}: {it['face']}" for it in found] or ["Nothing related is known."]
        if found.weaker:
            weaker = counted(found.weaker, "weaker memory")
            told.append(f"{weaker} left out: min_score -1 shows them.")
        return "\n".join(told)

    @function_tool(failure_error_function=_told)
    async def correct_memory(memory_id: str, fact: str) -> str:
        """Change a memory that is no longer true; `fact` is the whole new sentence."""
        done = await asyncio.to_thread(owner.update, memory_id, fact, merge=True)
        return "Changed." if done["changed"] else "Unchanged: it says so already."

    @function_tool(failure_error_function=_told)
    async def forget_memory(memory_id: str) -> str:
        """Forget a memory, if the user asks for it."""
        gone = await asyncio.to_thread(owner.forget, [memory_id])
        return f"Forgotten: {counted(len(gone['candidates']), 'wording')}."

    return [remember, search_memories, correct_memory, forget_memory]
