"""`extract`: a conversation's file to candidates, with a service of its own for as long."""

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
from palimpsest.streams.extract.extracting import Extracted, extract
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.settings import JudgeSettings


def extract_candidates(
    lines: Iterable[bytes],
    about: dict[str, str],
    report: Callable[[dict[str, Any]], None],
    *,
    rules: Rules,
    settings: JudgeSettings,
    folder: Path | None = None,
) -> Extracted:
    """Tell each candidate of a conversation as it comes; the sum of it all.

    The day's budget is kept in `folder`, a store's, and without one for this call alone. UsageError
    for a line that is no message, and where the service cannot be used.
    """
    messages = read_conversation(lines)

    async def run(where: Path) -> Extracted:
        total = Extracted()
        judge = Judge.beside(where, rules, settings, lambda: datetime.now(UTC))
        async with judge:
            async for found in extract(judge.service, rules.model, messages, about):
                for row in found.rows:
                    report(row)
                _add(total, found)
        return total

    with ExitStack() as stack:
        where = folder or Path(stack.enter_context(TemporaryDirectory()))
        return asyncio.run(run(where))


def _add(total: Extracted, found: Extracted) -> None:
    total.rows += found.rows
    total.parts += found.parts
    total.unanswered += found.unanswered
    total.unusable += found.unusable
