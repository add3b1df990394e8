"""The inputs and outcomes of the writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from palimpsest.contracts.answers import FrameFact, SimilarFact
from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.identity import digest, forgotten_id, invalid_id
from palimpsest.streams.core.admit import FORGOTTEN
from palimpsest.streams.core.frames import by_face_moment, framed, of_one_frame
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.neighbour_lookup import similarity
from palimpsest.streams.guard import begins_otherwise
from palimpsest.streams.intake import Meaning, Notice, RawRow


class Submission(NamedTuple):
    """A request to submit rows: its id, a digest of its contents, and the number of its rows.

    A repeat gets the same outcomes; other contents with its id get `OTHER_REQUEST` for each row.
    """

    request_id: str
    asked: str
    rows: int


@dataclass(frozen=True, slots=True)
class Input:
    """One row of a producer, and its meaning or the reason why it is invalid.

    All rows of a `submission` are consecutive.
    """

    row: RawRow
    meaning: Meaning
    submission: Submission | None = None


def by_submission(
    inputs: Sequence[Input],
) -> Iterator[tuple[Submission | None, Sequence[Input]]]:
    """Inputs in order, grouped by submission; consecutive ones without one are a group, too."""
    start = 0
    while start < len(inputs):
        submission, end = inputs[start].submission, start + 1
        if submission is not None:
            end = start + submission.rows
        else:
            while end < len(inputs) and inputs[end].submission is None:
                end += 1
        yield submission, inputs[start:end]
        start = end


EXPIRED = "expired"
WITHHELD: Mapping[str, Any] = {
    "reason": FORGOTTEN,
    "detail": "its text was forgotten: it is not recalled unless a person brings it back",
}
ENDED: Mapping[str, Any] = {
    "reason": EXPIRED,
    "detail": "it has expired already: a search finds it only with show_expired",
}
"""Why a candidate that is stored is not recalled, as fields of its outcome."""
MOST_OF_FRAME = 2
"""Earlier memories that an outcome names; most frames have one or two."""
CONFLICT = InvalidInputError("id_conflict", "its id is known with other content")

Result = Literal["decided", "known", "invalid", "heard", "published"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one input.

    `decision` is the recorded one, even if the candidate was `known` before; for a new candidate
    that was settled at once, because no judge is asked, it is the settlement. `reason` and `detail`
    explain an invalid input, or why a stored candidate is not recalled: its text was `forgotten`,
    or it has `expired`. `heard` inputs are notices. `published` inputs are decided on by a cluster
    later. `similar_facts` are memories that a new candidate resembles and did not join, if the
    policy wants them.

    `windows` is the number of parts in which a text longer than the model's input is embedded: 1 if
    only its beginning is. `frame` are earlier memories whose texts differ in one value only, newest
    first: if the new text replaces such a memory, use `update`.
    """

    result: Result
    candidate_id: str | None = None
    decision: str | None = None
    decision_id: str | None = None
    joined_to: str | None = None
    memory_id: str | None = None
    reason: str | None = None
    detail: str | None = None
    similar_facts: list[SimilarFact] | None = None
    windows: int | None = None
    frame: list[FrameFact] | None = None

    def __getitem__(self, name: str) -> Any:
        """A field by its name, so that it can be read like all other answers."""
        if name not in self.__slots__:
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> Iterable[str]:
        """The names of the fields: `dict(outcome)` has them with their values."""
        return self.__slots__


OTHER_REQUEST = Outcome(
    "invalid", reason="id_conflict", detail="the key is known with another request"
)
"""The outcome of each row of a submission whose id was used for another request."""


def similar_facts(evidence: Evidence, entries: Mapping[str, Entry]) -> list[SimilarFact] | None:
    """The memories that a candidate resembles, from its evidence, as they are now; None if none."""
    scores = {neighbour.candidate_id: similarity(neighbour) for neighbour in evidence.neighbours}
    found = [
        (entries[candidate_id].memory, scores[candidate_id])
        for candidate_id in evidence.similar or ()
    ]
    return [
        SimilarFact(id=memory.id, assertion=memory.text, similarity=score)
        for memory, score in found
    ] or None


def earlier_of_frame(evidence: Evidence, ledger: Ledger, memory: Memory) -> list[FrameFact] | None:
    """The memories that a newcomer may replace, among those it was compared with; None if none.

    They share its frame, or it reports that their fact has changed; those that state its numbers or
    words are listed, too.
    """
    if not evidence.neighbours:
        return None
    newcomer = framed(memory, ledger.names)
    read = None if ledger.names else newcomer.reading
    by_frame: dict[Memory, bool] = {}
    for neighbour in evidence.neighbours:
        one = ledger.entries[neighbour.candidate_id].memory
        by_frame[one] = by_frame.get(one, False) or neighbour.frame is not None
    found = [
        one
        for one, shares in by_frame.items()
        if one.current
        and one is not memory
        and (
            shares
            or (
                # The first words usually tell two apart, so that the older need not be read.
                not (read and begins_otherwise(one.text, read))
                and of_one_frame(ledger, framed(one, ledger.names), newcomer)
            )
        )
    ]
    found.sort(key=by_face_moment, reverse=True)
    return [FrameFact(id=one.id, assertion=one.text) for one in found[:MOST_OF_FRAME]] or None


def window_count(entry: Entry) -> int | None:
    """The number of parts in which a candidate's text is embedded; None if it fits the model."""
    vector = entry.distinct.vector
    return len(vector.each()) if vector is not None and vector.truncated else None


def why_hidden(entry: Entry, now: datetime) -> Mapping[str, Any]:
    """Why a candidate is not recalled, as fields of its outcome; empty if it is recalled."""
    if not entry.living and entry.forgotten is not None:
        return WITHHELD
    if entry.living and entry.memory.has_expired(now):
        return ENDED
    return {}


def forgotten_again(candidate_id: str) -> Outcome:
    """The outcome of a candidate that is refused because its text was forgotten."""
    return Outcome(
        "decided",
        decision="forgotten",
        decision_id=forgotten_id(candidate_id),
        reason=FORGOTTEN,
        detail="its text was forgotten, and is refused when it comes again",
    )


def rejected(item: Input, error: InvalidInputError) -> Outcome:
    """The outcome of an input that is invalid for this reason."""
    return Outcome(
        "invalid",
        decision="invalid",
        decision_id=invalid_id(digest(item.row.raw)),
        reason=error.reason,
        detail=error.detail,
    )


def why_invalid(meaning: Notice | InvalidInputError) -> InvalidInputError:
    """Why an input is not a candidate."""
    if isinstance(meaning, InvalidInputError):
        return meaning
    return InvalidInputError(
        "unknown_type", "it is not a candidate, and only candidates can be checked"
    )
