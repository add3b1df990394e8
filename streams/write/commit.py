"""One commit as a value: what was decided, and everything that is committed with it."""

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
    """An answer and the address that it goes to; the outcomes are those of candidates."""

    address: Address
    answer: Answer | SoFar | list[Outcome]

    def to_json(self) -> object:
        """The answer as it travels."""
        return self.answer if isinstance(self.answer, list) else self.answer.to_json()


class Answered(NamedTuple):
    """The digest of what a request asked, and what became of it."""

    digest: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class InputOffset:
    """The last offset of an input topic that a commit finishes.

    With the topic's id, because a topic that is deleted and created again starts over.
    """

    topic: str
    topic_id: str
    offset: int


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """What the judge has to be asked because of a commit, by owner.

    `candidates` are those whose question opened, `texts` the joins whose text has to be composed
    anew; each names its owner. What opened and closed again within the commit is not among them.
    """

    candidates: dict[str, str]
    texts: dict[str, str]


@dataclass(slots=True)
class Commit:
    """What was decided and is not in the log yet: deciding fills it, a runtime appends it.

    `events` come in order, each with what it touched. `offsets` are the inputs that the commit
    finishes. Undoing needs the `owners` whose ledgers have the events already, and `policy_before`,
    which was in force before the first of them, if one sets another. `rejected` are the ids of
    invalid inputs. `uses` are notices of gathered uses that came too soon: a runtime keeps them
    until the owner's last are a minute old. `answered` are its requests, by their ids.
    """

    events: list[tuple[AnyEvent, Touched]] = field(default_factory=list)
    dead_letters: list[NewDeadLetter] = field(default_factory=list)
    answers: list[Reply] = field(default_factory=list)
    offsets: list[InputOffset] = field(default_factory=list)
    owners: set[str] = field(default_factory=set)
    rejected: set[str] = field(default_factory=set)
    uses: list[Input] = field(default_factory=list)
    policy_before: Policy | None = None
    answered: dict[str, Answered] = field(default_factory=dict)

    @property
    def questions(self) -> OpenQuestions:
        """What the judge has to be asked once this is committed, by what the events touched."""
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
