"""A question to the judge becomes the request that its verdicts make (design section 6).

Nothing here knows where questions come from or where requests go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from palimpsest.contracts import policy
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.questions import (
    AnyQuestion,
    AskedNeighbour,
    AskedText,
    ComposeQuestion,
    SettleQuestion,
)
from palimpsest.contracts.requests import ComposeRequest, SettleRequest
from palimpsest.streams.judge.docket import Asked, Docket
from palimpsest.streams.judge.pairs import Composed, Pair, Side
from palimpsest.streams.judge.sharing import Sharing

JudgeOf = Callable[[policy.Judge], Asked]
"""The judge that asks by a policy's rules."""

NEXT: frozenset[Answer] = frozenset({"different", "unusable"})
"""After these the next best neighbour is asked about; any other answer settles."""
FAILED: frozenset[Answer] = frozenset({"unavailable", "unusable"})
"""These are nobody's but the first one's: whoever needs an answer asks, which costs nothing where
the judge remembers it."""
COSTS = ("calls", "input_tokens", "output_tokens", "cost_usd", "seconds")


class Verifier:
    """Asks about the best neighbour first, until one is the same.

    Equal texts that are under way at once, also of two owners, share one call as they would share
    what is remembered of it. An answer that is not remembered is nobody's but the first one's.
    """

    def __init__(self, judge_of: JudgeOf, docket: Docket) -> None:
        self._judge_of = judge_of
        self._docket = docket
        self._pairs: Sharing[Verdict] = Sharing()
        self._texts: Sharing[Composed] = Sharing()

    async def answer(self, question: AnyQuestion) -> SettleRequest | ComposeRequest | None:
        """What the judge's answers ask for; None where no text could be composed anew.

        The request's id follows from the question: asked twice, it is carried out once.
        """
        if isinstance(question, SettleQuestion):
            return await self._settle(question)
        return await self._compose(question)

    async def _settle(self, question: SettleQuestion) -> SettleRequest:
        verdicts: list[Verdict] = []
        composed: str | None = None
        sources: tuple[str, ...] = ()
        for neighbour in question.asked:
            verdict = await self._compare(question, neighbour)
            if verdict.answer == "compose":
                texts = _oldest_first([*neighbour.sources, question.candidate])
                made = await self._made_of(question, texts)
                verdict = _with(verdict, made)
                composed, sources = made.text, tuple(text.candidate_id for text in texts)
            verdicts.append(verdict)
            if verdict.answer not in NEXT:
                break
        return SettleRequest(
            request_id=request_id(question),
            candidate_id=question.subject,
            verdicts=tuple(verdicts),
            composed=composed,
            sources=sources if composed else (),
        )

    async def _compare(self, question: SettleQuestion, neighbour: AskedNeighbour) -> Verdict:
        """The verdict about a neighbour, whichever of the two happened first."""
        about = neighbour.side.candidate_id
        if not question.rules.enabled:
            return Verdict(neighbour_id=about, answer="unavailable", speaker=neighbour.speaker)
        found = await self._asked(
            question, Pair(*_oldest_first([neighbour.side, question.candidate]))
        )
        return found.model_copy(update={"neighbour_id": about, "speaker": neighbour.speaker})

    async def _asked(self, question: SettleQuestion, pair: Pair) -> Verdict:
        judge = self._judge_of(question.rules)
        ask = partial(self._docket.compare, judge, question.owner_id, pair)
        key = (judge, pair.older.hash, pair.newer.hash)
        found, shared = await self._pairs.answer(key, ask)
        if shared and found.answer in FAILED:
            return await ask()
        return _known(found) if shared else found

    async def _compose(self, question: ComposeQuestion) -> ComposeRequest | None:
        if not question.rules.enabled:
            return None
        made = await self._made_of(question, [_side(source) for source in question.sources])
        if made.text is None or not made.text.strip():
            return None
        return ComposeRequest(
            request_id=request_id(question),
            decision_id=question.decision_id,
            text=made.text,
            sources=tuple(source.candidate_id for source in question.sources),
            verdicts=(made.verdict,),
        )

    async def _made_of(self, question: AnyQuestion, texts: list[Side]) -> Composed:
        judge = self._judge_of(question.rules)
        ask = partial(self._docket.compose, judge, question.owner_id, texts)
        found, shared = await self._texts.answer((judge, *(text.hash for text in texts)), ask)
        if shared and found.text is None:
            return await ask()
        verdict = _known(found.verdict).model_copy(update={"neighbour_id": texts[0].candidate_id})
        return replace(found, verdict=verdict) if shared else found


def request_id(question: AnyQuestion) -> str:
    """The id of the request that answers a question: the same whoever answers it, and when.

    A candidate may be asked about more than once: by another decision, about other neighbours, or
    about other texts of theirs. A join may be composed anew more than once: of other sources, or
    because what was made of these was no longer needed when it came, and is again.
    """
    match question:
        case SettleQuestion():
            asked = ",".join(f"{one.side.candidate_id}={one.speaker}" for one in question.asked)
            return event_id(question.decision_id, f"question:{asked}")
        case ComposeQuestion():
            sources = ",".join(source.candidate_id for source in question.sources)
            return event_id(question.decision_id, f"question:{question.lost_by}:{sources}")


def _side(asked: AskedText) -> Side:
    return Side(asked.candidate_id, asked.text, asked.recorded_at)


def _oldest_first(asked: Sequence[AskedText]) -> list[Side]:
    """By their moments; what happened at once stays in the order in which it is given."""
    return [_side(one) for one in sorted(asked, key=lambda one: one.recorded_at)]


def _known(verdict: Verdict) -> Verdict:
    """The verdict about another's equal text, which costs nothing more."""
    free = {name: 0 for name in COSTS if getattr(verdict, name) is not None}
    return verdict.model_copy(update=free)


def _with(verdict: Verdict, made: Composed) -> Verdict:
    """The verdict that a text is to be composed, with what became of that and what both cost."""
    told = made.verdict
    costs = {name: _sum(getattr(verdict, name), getattr(told, name)) for name in COSTS}
    said = {
        "answer": verdict.answer if made.text is not None else told.answer,
        "reasoning": verdict.reasoning or told.reasoning,
        "model": verdict.model or told.model,
        "prompt": verdict.prompt or told.prompt,
    }
    return verdict.model_copy(update=costs | said)


def _sum(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else a + b
