"""A judge that needs no service: it answers by a rule, can be away, and notes what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from palimpsest.contracts.evidence import Answer, RecordedJudge, Verdict
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side

AT = datetime(2026, 1, 2, tzinfo=UTC)


def side(name: str, text: str | None = None) -> Side:
    return Side(name, text or f"text of {name}", AT)


def pair(older: str, newer: str) -> JudgedPair:
    return JudgedPair(side(older), side(newer))


def different(_pair: JudgedPair) -> Answer:
    return "different"


class StandIn:
    """Answers `rule` of each pair, and joins texts with a plus.

    `away`: nobody answers, and `why`. `gate`: an answer waits for it, if it is given.
    """

    def __init__(
        self,
        rule: Callable[[JudgedPair], Answer] = different,
        gate: asyncio.Event | None = None,
        recorded: RecordedJudge | None = None,
    ) -> None:
        self.recorded = recorded
        self.rule = rule
        self.gate = gate
        self.away = False
        self.why: str | None = None
        self.composes: Answer = "compose"
        self.empty = False
        self.asked: list[list[tuple[str, str]]] = []
        self.composed: list[list[str]] = []
        self.under_way = 0
        self.most_under_way = 0

    @property
    def calls(self) -> int:
        return len(self.asked) + len(self.composed)

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        self.asked.append([(p.older.candidate_id, p.newer.candidate_id) for p in pairs])
        await self._wait()
        share = 1 / len(pairs)
        answers = ["unavailable" if self.away else self.rule(pair) for pair in pairs]
        return [
            Verdict(
                neighbour_id=pair.older.candidate_id,
                answer=answer,
                reasoning=self.why,
                model="stand-in",
                prompt="1",
                calls=share,
                input_tokens=10,
                cost_usd=0.25,
                judge=self.recorded.hash if self.recorded else None,
            )
            for pair, answer in zip(pairs, answers, strict=True)
        ]

    def owe(self, pair: JudgedPair, verdict: Verdict) -> None:
        """Keep nothing: no answer is cached."""

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        self.composed.append([source.candidate_id for source in sources])
        await self._wait()
        answer: Answer = "unavailable" if self.away else self.composes
        verdict = Verdict(
            neighbour_id=sources[0].candidate_id, answer=answer, calls=1, cost_usd=0.5
        )
        if answer != "compose":
            return CompositionAnswer(None, verdict)
        text = "" if self.empty else " + ".join(source.text for source in sources)
        return CompositionAnswer(text, verdict)

    async def _wait(self) -> None:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(0)
            if self.gate is not None:
                await self.gate.wait()
        finally:
            self.under_way -= 1
