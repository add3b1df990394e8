"""For agents of OpenAI's SDK: a session and tools (docs/agents.md); needs extra `openai-agents`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from palimpsest.api.store import Palimpsest
from palimpsest.contracts import errors
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.extras import require_extra
from palimpsest.contracts.requests import Selection
from palimpsest.process.parameters import check_arguments
from palimpsest.streams.extract.conversation import text_of
from palimpsest.streams.extract.extract import states

with require_extra("palimpsest.openai_agents", "openai-agents"):
    from agents import SQLiteSession, TResponseInputItem

    from palimpsest.integrations.openai_tools import SOURCE, memory_tools

__all__ = ["FILE", "SOURCE", "PalimpsestSession", "memory_tools"]

FILE = "openai-agents.db"
_log = logging.getLogger(__name__)


class PalimpsestSession(SQLiteSession):
    """A conversation of one owner; the user's messages become memories.

    The SDK keeps the history itself, item by item and verbatim, in a file in the store's folder.
    With `infer`, the judge's model extracts memories; else each message that is more than questions
    and courtesies becomes one. Popping a user's message retracts the latest candidate with its
    text; clearing a session retracts none.
    """

    @check_arguments
    def __init__(
        self,
        memories: Palimpsest,
        owner_id: Name,
        session_id: Name,
        *,
        infer: bool = False,
        file: str | Path | None = None,
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
        if not self._infer:  # a question would be the best answer to itself
            said = [item for item in said if states(_text_of(item))]
        if said:
            await asyncio.to_thread(self._remember, said)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the latest item; None if there is none."""
        item = await super().pop_item()
        if item is not None and _is_users(item):
            await asyncio.to_thread(self._take_back, _text_of(item))
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


def _is_users(item: Any) -> bool:
    return bool(item.get("role") == "user")


def _text_of(item: Any) -> str:
    return text_of(item.get("content"))
