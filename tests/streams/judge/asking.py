"""The judge in front of the local server, through the real SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.contracts import policy
from palimpsest.contracts.evidence import Verdict
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side
from palimpsest.streams.judge.settings import JudgeSettings

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
RETRIES = 2
Result = TypeVar("Result")


def side(text: str, name: str = "older", after: int = 0) -> Side:
    return Side(name, text, BEGIN + timedelta(hours=after))


def pair(older: str, newer: str, name: str = "older") -> JudgedPair:
    return JudgedPair(side(older, name), side(newer, "newer", 1))


class Asking:
    """A judge that is opened for one question at a time, in one folder."""

    def __init__(self, server: JudgeServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.now = BEGIN
        self.is_dry_run = False
        self.rules = policy.Judge(ask="same")
        self.settings = JudgeSettings(base_url=server.url, retries=RETRIES, calls_per_second=1000)

    def ruled(self, **rules: Any) -> Asking:
        self.rules = policy.Judge(**{"ask": "same", **rules})
        return self

    def set(self, **settings: Any) -> Asking:
        self.settings = self.settings.model_copy(update=settings)
        return self

    def by(self, question: Callable[[Judge], Awaitable[Result]]) -> Result:
        async def asked() -> Result:
            judge = Judge.beside(
                self.folder,
                self.rules,
                self.settings,
                lambda: self.now,
                recorded=not self.is_dry_run,
            )
            async with judge:
                return await question(judge)

        return asyncio.run(asked())

    def compare(self, *pairs: JudgedPair) -> list[Verdict]:
        return self.by(lambda judge: judge.compare(pairs))

    def review(self, *pairs: JudgedPair) -> list[Verdict]:
        return self.by(lambda judge: judge.review(pairs))

    def compose(self, *sources: Side) -> CompositionAnswer:
        return self.by(lambda judge: judge.compose(sources))

    def answers(self, *pairs: JudgedPair) -> list[str]:
        return [verdict.answer for verdict in self.compare(*pairs)]


def answers(verdicts: Sequence[Verdict]) -> list[str]:
    return [verdict.answer for verdict in verdicts]
