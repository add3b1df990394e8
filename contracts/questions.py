"""Questions to the judge, as they wait in a store and on `memory.verifications` (docs/design.md).

They are wire format: a reader needs nothing else to ask the judge.
"""

from __future__ import annotations

import operator
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from palimpsest.contracts.model import Model, WireTime
from palimpsest.contracts.policy import Judge


class AskedText(Model):
    """A text as it is compared, and the candidate that it stands for.

    `recorded_at` is the text's moment: when it happened, as far as is known, else when it was
    recorded. Questions of older versions have the time of recording there. A `local` text is not
    sent to a remote service.
    """

    candidate_id: str
    text: str
    recorded_at: WireTime
    local: Annotated[bool, Field(exclude_if=operator.not_)] = False


class AskedNeighbour(Model):
    """One that the newcomer is compared with.

    `face` are the sources of the text that speaks for the neighbour's memory, oldest first, where
    that is another than the neighbour's own: a composed text is made of them and the newcomer.
    `speaker` is whose text is compared, as the verdict names it.
    """

    side: AskedText
    face: tuple[AskedText, ...] = ()
    speaker: str | None = None

    @property
    def sources(self) -> tuple[AskedText, ...]:
        """What a text composed with the newcomer is made of, oldest first, the newcomer apart."""
        return self.face or (self.side,)


class _Question(Model):
    """Whose memories it is about, and by which rules of which policy the judge is asked.

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
        """What it is about: the candidate."""
        return self.candidate.candidate_id


class ComposeQuestion(_Question):
    """A text recomposed of the sources, oldest first, for the join that lost its own.

    `lost_by` is the event since which it lacks one, of just these sources.
    """

    question: Literal["compose"] = "compose"
    decision_id: str
    lost_by: str = ""
    sources: Annotated[tuple[AskedText, ...], Field(min_length=1)]

    @property
    def subject(self) -> str:
        """What it is about: the join."""
        return self.decision_id


AnyQuestion = Annotated[SettleQuestion | ComposeQuestion, Field(discriminator="question")]
QUESTION: TypeAdapter[AnyQuestion] = TypeAdapter(AnyQuestion)
