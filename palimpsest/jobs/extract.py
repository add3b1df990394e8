"""`extract`: candidates from a conversation's file, by the judge's service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.policy import Judge as Rules
from palimpsest.streams.extract.conversation import read_conversation
from palimpsest.streams.extract.extract import Extraction, extract, statements
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

    The day's budget is kept in `folder`, a store's; without it, the budget covers this call only.
    Raises UsageError for a line that is not a message, and if the service cannot be used.
    """
    messages = read_conversation(lines)

    async def run(where: Path) -> Extraction:
        total = Extraction()
        judge = Judge.beside(where, rules, settings, lambda: datetime.now(UTC))
        async with judge:
            async for found in extract(judge.service, judge.rules.model, messages, about):
                for row in found.rows:
                    write(row)
                _add(total, found)
        return total

    with ExitStack() as stack:
        where = folder or Path(stack.enter_context(TemporaryDirectory()))
        return asyncio.run(run(where))


def transcript_candidates(
    transcript: Path,
    about: dict[str, str],
    *,
    rules: Rules,
    settings: JudgeSettings,
    folder: Path,
) -> tuple[list[dict[str, Any]], list[str]]:
    """The candidates of an agent's transcript, and the problems.

    If the judge's service cannot be used, the users' statements become candidates verbatim: before
    an agent's context is compacted, too much is better than nothing. Raises UsageError for a line
    that is not a message, OSError if the file cannot be read.
    """
    lines = transcript.expanduser().read_bytes().splitlines()
    messages, rows = read_conversation(lines), list[dict[str, Any]]()
    if not messages:
        return [], []
    try:
        found = extract_candidates(
            lines, about, rows.append, rules=rules, settings=settings, folder=folder
        )
    except UsageError as error:
        return statements(messages, about), [f"what users stated is captured as it is: {error}"]
    if found.unanswered and not rows:
        problem = "what users stated is captured as it is: the judge's service did not answer"
        return statements(messages, about), [problem]
    lost = found.unanswered + found.unusable
    return rows, [f"{lost} of {found.parts} parts of the transcript gave nothing"] if lost else []


def _add(total: Extraction, found: Extraction) -> None:
    total.rows += found.rows
    total.parts += found.parts
    total.unanswered += found.unanswered
    total.unusable += found.unusable
