"""A judge that asks a function of the program, not a model; its answers are recorded alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from palimpsest.contracts import policy
from palimpsest.contracts.evidence import Answer, RecordedJudge, Verdict
from palimpsest.streams.judge.judge import LOCAL_ONLY
from palimpsest.streams.judge.models import NOTHING, Cost
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side
from palimpsest.streams.judge.prompts import ANSWERS
from palimpsest.streams.judge.protocols.contract import is_probability

JudgeFunction = Callable[[str, str], str | tuple[str, float]]
"""Returns how the older and the newer of two texts relate: one of the policy's answers, or that
answer with the probability that both say the same."""

PYTHON = "python"
"""The protocol that the log records for a function."""


class OwnJudge:
    """Asks a function about each pair; it writes no text, so it may not answer `compose`.

    Its verdicts name it as the model, and their cost is unknown. Its exceptions are passed on. It
    counts as remote, and gets no local text, unless it has a true attribute `local`.
    """

    def __init__(self, function: JudgeFunction, rules: policy.Judge) -> None:
        self._function = function
        self._name = f"{function.__module__}.{getattr(function, '__qualname__', 'judge')}"
        self.recorded = RecordedJudge(protocol=PYTHON, model=self._name)
        self._rules = rules
        self._is_remote = not getattr(function, "local", False)
        self.cost = NOTHING

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """One verdict per pair, in order."""
        if self._rules.ask == "compose":
            return [Verdict(neighbour_id=p.older.candidate_id, answer="compose") for p in pairs]
        return [self._verdict(pair, ANSWERS[f"compare-{self._rules.ask}"]) for pair in pairs]

    async def review(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """Like `compare`; every answer is `same`, `different` or `unusable`."""
        return [self._verdict(pair, ANSWERS["review"]) for pair in pairs]

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        """An unusable answer: a function composes nothing."""
        about, reason = sources[0].candidate_id, "a function composes no text"
        verdict = Verdict(neighbour_id=about, answer="unusable", reasoning=reason, model=self._name)
        return CompositionAnswer(None, verdict)

    def owe(self, pair: JudgedPair, verdict: Verdict) -> None:
        """Do nothing: answers of a function are not kept, and it is called again."""

    def _verdict(self, pair: JudgedPair, allowed: Sequence[str]) -> Verdict:
        if pair.local and self._is_remote:
            about = pair.older.candidate_id
            return Verdict(neighbour_id=about, answer="unusable", reasoning=LOCAL_ONLY)
        begun = time.monotonic()
        said: Any = self._function(pair.older.text, pair.newer.text)
        seconds = time.monotonic() - begun
        self.cost += Cost(usd=None, seconds=seconds, calls=1)
        answer, probability = said if isinstance(said, tuple) and len(said) == 2 else (said, None)
        sound = probability is None or is_probability(probability)
        usable = sound and isinstance(answer, str) and answer in allowed and answer != "compose"
        reason = "the function gave no usable answer"
        return Verdict(
            neighbour_id=pair.older.candidate_id,
            answer=cast("Answer", answer) if usable else "unusable",
            reasoning=None if usable else reason,
            model=self._name,
            seconds=seconds,
            calls=1.0,
            probability=probability if usable else None,
            remote=self._is_remote,
            judge=self.recorded.hash,
        )
