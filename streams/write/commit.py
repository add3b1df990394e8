"""A commit as a value: the decisions, and everything that is committed with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from palimpsest.contracts.answers import Answer, SoFar
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.log.dead_letters import NewDeadLetter
from palimpsest.streams.write.inputs import Input, Outcome

Address = int | str
"""The address of an answer, opaque to the writer: an item of the inbox, or a request's id."""


class Reply(NamedTuple):
    """An answer and its address; the answer to submitted candidates is a list of outcomes."""

    address: Address
    answer: Answer | SoFar | list[Outcome]

    def to_json(self) -> object:
        """The answer in its serialised form."""
        return self.answer if isinstance(self.answer, list) else self.answer.to_json()


class DigestedAnswer(NamedTuple):
    """The digest of a request, and its answer."""

    digest: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class InputOffset:
    """The last offset of an input topic that a commit completes.

    It has the topic's id, because a topic that is deleted and created again starts over.
    """

    topic: str
    topic_id: str
    offset: int


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """The questions to the judge that a commit opens, each with its owner.

    `candidates` are those whose question opened, `texts` the joins whose text must be recomposed.
    Questions that opened and closed within the commit are left out.
    """

    candidates: dict[str, str]
    texts: dict[str, str]


@dataclass(slots=True)
class Commit:
    """The decisions that are not in the log yet: deciding fills it, a runtime appends it.

    `events` are in order, each with its changes. `offsets` are the inputs that the commit
    completes. To undo it, `owners` has those whose ledgers already have the events, and
    `policy_before` the policy to restore if one of the events sets another. `rejected` are the ids
    of invalid inputs. `uses` are notices of gathered uses that came too soon: a runtime keeps them
    until the owner's last uses are a minute old. `answered` has the answers of its requests, by id.
    """

    events: list[tuple[AnyEvent, Touched]] = field(default_factory=list)
    dead_letters: list[NewDeadLetter] = field(default_factory=list)
    answers: list[Reply] = field(default_factory=list)
    offsets: list[InputOffset] = field(default_factory=list)
    owners: set[str] = field(default_factory=set)
    rejected: set[str] = field(default_factory=set)
    uses: list[Input] = field(default_factory=list)
    policy_before: Policy | None = None
    answered: dict[str, DigestedAnswer] = field(default_factory=dict)

    @property
    def questions(self) -> OpenQuestions:
        """The questions for the judge after this commit, from the events' changes."""
        open_questions = OpenQuestions({}, {})
        for event, touched in self.events:
            _note(open_questions.candidates, touched.questions, event.owner_id)
            _note(open_questions.texts, touched.texts, event.owner_id)
        return open_questions


def _note(noted: dict[str, str], changed: dict[str, bool], owner_id: str) -> None:
    for subject, waits in changed.items():
        if waits:
            noted[subject] = owner_id
        else:
            noted.pop(subject, None)
