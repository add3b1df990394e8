"""Two judges: a cheaper one, whose certified answers settle, and another that gets the rest.

Each has its own service, cache, budget and limits (docs/judge.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Self

from msgspec import structs

from palimpsest.contracts import policy
from palimpsest.contracts.evidence import FirstAnswer, RecordedJudge, Verdict
from palimpsest.streams.judge.certificate import JudgeCertificate, read_certificate
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.models import Cost
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side
from palimpsest.streams.judge.recorded import as_first
from palimpsest.streams.judge.settings import FirstJudgeSettings, JudgeSettings
from palimpsest.streams.judge.storage import FIRST_FILE

_log = logging.getLogger(__name__)

PAUSE_SECONDS = 30.0
"""How long the first judge is not asked after it was unavailable, so that pairs do not wait for it
before they go to the second."""
_FIELDS = FirstAnswer.__struct_fields__


@dataclass(slots=True)
class _State:
    """What judges under any rules share: when the first is asked again, and whether we warned."""

    certificate: JudgeCertificate | None
    away_until: float = 0.0
    warned: bool = False


class TwoJudges:
    """Asks a first judge about each pair, and a second one if that answer is not certified.

    Only the second composes texts and reviews joins. Like `Judge`, it is an async context manager;
    both judges close with it.
    """

    def __init__(self, first: Judge, second: Judge, state: _State) -> None:
        self._first, self._second, self._state = first, second, state
        self._entered = AsyncExitStack()

    def by(self, rules: policy.Judge) -> TwoJudges:
        """The two judges under other rules."""
        return TwoJudges(self._first.by(rules), self._second.by(rules), self._state)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as entering:
            for judge in (self._second, self._first):
                entering.callback(judge.close)
            for judge in (self._second, self._first):
                await entering.enter_async_context(judge)
            self._entered = entering.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._entered.aclose()

    @cached_property
    def recorded(self) -> RecordedJudge:
        """Both, as the log records them; available only inside the context."""
        first = as_first(self._first.recorded, self._state.certificate)
        return structs.replace(self._second.recorded, first=first)

    @property
    def cost(self) -> Cost:
        """The cost of all requests so far, to both."""
        return self._first.cost + self._second.cost

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """One verdict per pair, in order; all must be of one owner.

        A verdict of the first judge names its certificate; a verdict of the second has the first's
        answer, if that was asked.
        """
        if self._second.rules.ask == "compose" or self._is_away:
            return self._of_both(await self._second.compare(pairs))
        verdicts = await self._first.compare_once(pairs)
        self._notice(verdicts)
        certificate = self._state.certificate
        rest: list[int] = []
        for place, verdict in enumerate(verdicts):
            if certificate is not None and certificate.settles(verdict):
                verdicts[place] = structs.replace(verdict, certificate=certificate.data)
            else:
                rest.append(place)
        others = await self._second.compare([pairs[place] for place in rest]) if rest else []
        for place, other in zip(rest, others, strict=True):
            said = {name: getattr(verdicts[place], name) for name in _FIELDS}
            verdicts[place] = structs.replace(other, first=FirstAnswer(**said))
        return self._of_both(verdicts)

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        """One text composed from several, given oldest first."""
        made = await self._second.compose(sources)
        return replace(made, verdict=self._of_both([made.verdict])[0])

    def owe(self, pair: JudgedPair, verdict: Verdict) -> None:
        """Like `Judge.owe`; each judge keeps the cost of its own answer."""
        if verdict.certificate is not None:
            self._first.owe(pair, verdict)
            return
        self._second.owe(pair, verdict)
        if verdict.first is not None:
            self._first.owe(pair, verdict.first)

    async def review(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """Like `Judge.review`."""
        return self._of_both(await self._second.review(pairs))

    def _of_both(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Verdicts that name the two judges, except those for which neither was asked."""
        return [
            structs.replace(verdict, judge=self.recorded.hash)
            if verdict.judge or (verdict.first and verdict.first.protocol)
            else verdict
            for verdict in verdicts
        ]

    @property
    def _is_away(self) -> bool:
        return asyncio.get_running_loop().time() < self._state.away_until

    def _notice(self, verdicts: Sequence[Verdict]) -> None:
        """Pause the first judge if it is unavailable; warn once if its certificate is void."""
        if any(verdict.answer == "unavailable" for verdict in verdicts):
            self._state.away_until = asyncio.get_running_loop().time() + PAUSE_SECONDS
        certificate = self._state.certificate
        if certificate is None or self._state.warned:
            return
        for verdict in verdicts:
            if verdict.probability is not None and not certificate.is_about(verdict):
                self._state.warned = True
                _log.warning(
                    "the first judge's answers settle nothing: its certificate is about model %s"
                    " and prompt %s, and %s answered %s",
                    *(certificate.model, certificate.prompt, verdict.model, verdict.prompt),
                )
                return


def open_judge(
    folder: Path,
    rules: policy.Judge,
    settings: JudgeSettings,
    clock: Callable[[], datetime],
    *,
    recorded: bool = True,
) -> Judge | TwoJudges:
    """The judge or the two judges of the settings, which keep their files in a store's folder.

    `recorded` is as for `Judge.beside`. A warning is logged if the first judge has no certificate.
    Raises UsageError if its certificate cannot be read.
    """
    if settings.first is None:
        return Judge.beside(folder, rules, settings, clock, recorded=recorded)
    certificate = certificate_of(settings.first)
    if certificate is None:
        _log.warning(
            "the first judge (%s) has no certificate, so its answers are recorded and settle"
            " nothing: make one with `palimpsest calibrate` (docs/judge.md)",
            settings.first.model,
        )
    second = Judge.beside(folder, rules, settings, clock, recorded=recorded)
    try:
        first = Judge.beside(
            folder, rules, settings.first, clock, recorded=recorded, name=FIRST_FILE
        )
    except BaseException:
        second.close()
        raise
    return TwoJudges(first, second, _State(certificate))


def certificate_of(settings: FirstJudgeSettings) -> JudgeCertificate | None:
    """The certificate of a first judge, if it has one. Raises UsageError if it cannot be read."""
    return None if settings.certificate is None else read_certificate(settings.certificate)
