"""The protocols of decision models: typed questions about a text, answered by probabilities.

Two questions are asked about each pair: which label fits, and whether both say the same. If the two
answers contradict each other, the texts count as different. The labels are always sent in the same
order, because the order matters to some models.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any, Literal, cast

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.judge.prompts import ANSWERS, Name, Prompt, PromptDecision, decision
from palimpsest.streams.judge.protocols.contract import (
    REFUSED,
    Asked,
    JudgeMessage,
    NoMessageError,
    adds_up,
    is_probability,
)
from palimpsest.streams.judge.protocols.openai_client import Reported, body_of, open_client
from palimpsest.streams.judge.settings import ServiceSettings

EVEN = 0.5
"""Not a calibrated threshold: a choice of *same* with a lower probability contradicts itself."""


class _Labelled(BaseModel):
    value: str | bool
    probability: Any


class _Choice(BaseModel):
    """A choice with the probability of each label: a list from one vendor, a map from the other."""

    type: Literal["choice"]
    choice: Any
    probabilities: dict[str, Any] | list[_Labelled]

    @property
    def by_label(self) -> dict[Any, Any]:
        """The probability of each label; empty if a label has two."""
        if isinstance(self.probabilities, dict):
            return self.probabilities
        found = {probability.value: probability.probability for probability in self.probabilities}
        return found if len(found) == len(self.probabilities) else {}


class _DecisionAnswer(BaseModel):
    """The fields of a reply that we read: the answers, by the names of their questions."""

    model_config = ConfigDict(frozen=True)

    answers: dict[str, Any] | list[Any]
    model: str | None = None
    usage: Reported = None


class _Decisions:
    """What both protocols share: the client, the questions about pairs, and what answers mean.

    `yes` is the kind of the second question, and the field of its answer that has the probability.
    """

    key: str
    url: str
    yes: tuple[str, str]
    most = 100
    writes = False

    def __init__(self, settings: ServiceSettings) -> None:
        self._client = open_client(settings, self.key, self.url)
        self.address = str(self._client.base_url)

    def form(self, prompt: Prompt) -> Prompt:
        """The questions that replace a prompt about pairs."""
        if prompt.name not in ANSWERS:
            raise UsageError(
                f"a decision model writes no text, and the prompt {prompt.name} asks for one:"
                " set protocol anthropic or openai-chat in [judge]"
            )
        found = decision(cast("Name", prompt.name))
        asked = asdict(found) | {"labels": [*found.choices], "yes": self.yes[0]}
        return Prompt(prompt.name, found.task, asked)

    def read(self, body: bytes, asked: Asked) -> JudgeMessage:
        """The pairs with two valid answers, as the tool's input; other pairs are left out."""
        try:
            answer = _DecisionAnswer.model_validate_json(body)
        except ValidationError:
            raise NoMessageError from None
        answers = self._by_name(answer.answers)
        found = {pair: self._of_pair(pair, answers, asked) for pair in range(1, asked.pairs + 1)}
        entries = [
            {"pair": pair, "answer": said[0], "reason": said[1]}
            for pair, said in found.items()
            if said is not None
        ]
        refused = any(isinstance(a, dict) and a.get("type") == "refusal" for a in answers.values())
        if refused and not entries:
            return JudgeMessage(answer.usage, answer.model, why=REFUSED)
        return JudgeMessage(
            answer.usage,
            answer.model,
            {"answers": entries},
            probabilities={pair: said[2] for pair, said in found.items() if said is not None},
        )

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    def _by_name(self, answers: Any) -> dict[Any, Any]:
        return answers if isinstance(answers, dict) else {}

    def _of_pair(
        self, pair: int, answers: dict[Any, Any], asked: Asked
    ) -> tuple[str, str, float] | None:
        """Answer, reason and probability of a pair; None unless both questions have valid ones."""
        questions = _decision(asked)
        chosen, yes = (answers.get(name) for name in _names(pair))
        kind, field = self.yes
        if not (isinstance(yes, dict) and yes.get("type") == kind):
            return None
        try:
            choice = _Choice.model_validate(chosen)
        except ValidationError:
            return None
        same = yes.get(field)
        if not (
            is_probability(same) and adds_up(choice.choice, choice.by_label, questions.choices)
        ):
            return None
        answer, reason = questions.means[choice.choice], ""
        if answer == "same" and same < EVEN:
            answer = "different"
            reason = "the choice is same, but the probability that they are is below one half"
        return answer, reason, float(same)


class OpenAIDecisions(_Decisions):
    """`/decisions` of the vendor, or of a server that speaks it."""

    key = "OPENAI_API_KEY"
    url = "OPENAI_BASE_URL"
    yes = ("predicate", "probability")

    async def send(self, asked: Asked) -> bytes:
        """Send the request; return the answer's body."""
        text = _decision(asked)
        questions: list[Any] = []
        for pair in range(1, asked.pairs + 1):
            choice, same = _names(pair)
            choices = [{"value": k, "description": v} for k, v in text.choices.items()]
            questions += [
                {
                    "type": "choice",
                    "name": choice,
                    "instructions": text.choice.format(pair=pair),
                    "choices": choices,
                },
                {"type": "predicate", "name": same, "instructions": text.same.format(pair=pair)},
            ]
        create = self._client.decisions.with_raw_response.create
        messages: list[Any] = [
            {"type": "message", "role": "developer", "content": text.task},
            {"type": "message", "role": "user", "content": asked.payload},
        ]
        return await body_of(
            create(model=asked.model, input=messages, questions=questions, timeout=asked.seconds)
        )

    def _by_name(self, answers: Any) -> dict[Any, Any]:
        listed = answers if isinstance(answers, list) else []
        named = [one for one in listed if isinstance(one, dict)]
        found = {one["name"]: one for one in named if isinstance(one.get("name"), str)}
        return found if len(found) == len(named) else {}


class SystemOne(_Decisions):
    """`/systemone`, at many hosts and local servers; its vendor's own SDK sends only to `/v1`."""

    key = "TYPESAFE_API_KEY"
    url = "TYPESAFE_BASE_URL"
    yes = ("noul", "noul")

    def __init__(self, settings: ServiceSettings) -> None:
        if not (settings.base_url or os.environ.get(self.url)):
            raise UsageError(
                f"protocol systemone needs an address: set base_url of [judge], or {self.url}"
            )
        super().__init__(settings)

    async def send(self, asked: Asked) -> bytes:
        """Send the request; return the answer's body."""
        text = _decision(asked)
        questions: dict[str, Any] = {}
        for pair in range(1, asked.pairs + 1):
            choice, same = _names(pair)
            questions[choice] = {
                "type": "choice",
                "instructions": text.choice.format(pair=pair),
                "criteria": text.choices,
            }
            questions[same] = {"type": "noul", "instructions": text.same.format(pair=pair)}
        body = {
            "model": asked.model,
            "state": {"task": text.task, "memories": asked.payload},
            "questions": questions,
        }
        options: Any = {"timeout": asked.seconds}
        return await body_of(
            self._client.post("/systemone", body=body, cast_to=httpx2.Response, options=options)
        )


def _decision(asked: Asked) -> PromptDecision:
    return decision(cast("Name", asked.prompt.name))


def _names(pair: int) -> tuple[str, str]:
    """The names of the two questions about a pair."""
    return f"pair_{pair}", f"same_{pair}"
