"""Questions to the judge, as they wait in a store and on `memory.verifications` (docs/design.md).

They are wire format: nothing else is needed to ask the judge.
"""

from __future__ import annotations

import operator
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from palimpsest.contracts.model import Model, WireTime
from palimpsest.contracts.policy import Judge


class AskedText(Model):
    """A text as it is compared, and the candidate that it stands for.

    `recorded_at` is the text's moment: when it happened, if known, else when it was recorded. In
    questions of older versions it is always the time of recording. A `local` text is not sent to a
    remote service.
    """

    candidate_id: str
    text: str
    recorded_at: WireTime
    local: Annotated[bool, Field(exclude_if=operator.not_)] = False


class AskedNeighbour(Model):
    """A neighbour that the newcomer is compared with.

    `face` are the sources of the text that speaks for the neighbour's memory, oldest first, if that
    is not the neighbour's own: a composed text is made of them and the newcomer. `speaker` says
    whose text is compared, as in the verdict.
    """

    side: AskedText
    face: tuple[AskedText, ...] = ()
    speaker: str | None = None

    @property
    def sources(self) -> tuple[AskedText, ...]:
        """The sources of a text composed with the newcomer, oldest first, without the newcomer."""
        return self.face or (self.side,)


class _Question(Model):
    """The owner whose memories it is about, and the policy and its rules for asking the judge.

    `requires` is the first version of Palimpsest that knows these rules; None if all do.
    """

    owner_id: str
    policy: str
    rules: Judge
    requires: str | None = None


class SettleQuestion(_Question):
    """Is the pending candidate the same as one of its gray neighbours? `asked`: best first.

    `decision_id` is the decision that made it pending.
    """

    question: Literal["settle"] = "settle"
    decision_id: str
    candidate: AskedText
    asked: Annotated[tuple[AskedNeighbour, ...], Field(min_length=1)]

    @property
    def subject(self) -> str:
        """The candidate that it is about."""
        return self.candidate.candidate_id


class ComposeQuestion(_Question):
    """Asks for a text recomposed of the sources, oldest first, for a join that has lost its own.

    `lost_by` is the event since which the join has needed a text of exactly these sources.
    """

    question: Literal["compose"] = "compose"
    decision_id: str
    lost_by: str = ""
    sources: Annotated[tuple[AskedText, ...], Field(min_length=1)]

    @property
    def subject(self) -> str:
        """The join that it is about."""
        return self.decision_id


AnyQuestion = Annotated[SettleQuestion | ComposeQuestion, Field(discriminator="question")]
QUESTION: TypeAdapter[AnyQuestion] = TypeAdapter(AnyQuestion)
