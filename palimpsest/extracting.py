"""`extract`: from a conversation's file to candidates, through the judge's service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from palimpsest.contracts.policy import Judge as Rules
from palimpsest.streams.extract.conversation import read_conversation
from palimpsest.streams.extract.extracting import Extraction, extract
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.settings import JudgeSettings


def extract_candidates(
    lines: Iterable[bytes],
    about: dict[str, str],
    write: Callable[[dict[str, Any]], None],
    *,
    rules: Rules,
    settings: JudgeSettings,
    folder: Path | None = None,
) -> Extraction:
    """Write each candidate of a conversation as it arrives; returns the totals.

    The day's budget is kept in `folder`, a store's; without one it covers this call alone. Raises
    UsageError for a line that is not a message, and if the service cannot be used.
    """
    messages = read_conversation(lines)

    async def run(where: Path) -> Extraction:
        total = Extraction()
        judge = Judge.beside(where, rules, settings, lambda: datetime.now(UTC))
        async with judge:
            async for found in extract(judge.service, rules.model, messages, about):
                for row in found.rows:
                    write(row)
                _add(total, found)
        return total

    with ExitStack() as stack:
        where = folder or Path(stack.enter_context(TemporaryDirectory()))
        return asyncio.run(run(where))


def _add(total: Extraction, found: Extraction) -> None:
    total.rows += found.rows
    total.parts += found.parts
    total.unanswered += found.unanswered
    total.unusable += found.unusable
