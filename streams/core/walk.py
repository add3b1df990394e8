"""The state of a candidate's question: a walk over its neighbours, best first (docs/design.md).

Questions and answers are facts about pairs, like joins, and are never cleared. Which are open, held
back or closed follows from them and from the current memories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from palimpsest.contracts.evidence import Verdict
from palimpsest.streams.core.ledger import Answer, Answered, Entry, Ledger
from palimpsest.streams.core.refusal import Refusal
from palimpsest.streams.core.separations import composed, separated_pair, separation, text_stands
from palimpsest.streams.core.touched import Touched

JOINING = frozenset({"same", "update", "compose", "unavailable"})
"""Answers that settle a candidate: `unavailable` does by the policy's fallback."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Nothing is left to ask or to do."""


@dataclass(frozen=True, slots=True)
class Open:
    """The judge has to be asked about these neighbours, best first."""

    neighbours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Due:
    """An answer that joins; `hindrance` is what holds it back, if anything does."""

    answer: Answer
    hindrance: Refusal | None = None


Step = Closed | Open | Due


def walk(ledger: Ledger, entry: Entry, answers: Sequence[Answer] = ()) -> Step:
    """The state of a candidate's question, as if `answers` were recorded, too."""
    if not entry.closed:
        for neighbour, other in _in_order(ledger, entry):
            if other.memory is entry.memory:
                if bridges(entry):
                    continue
                return Closed()
            answer = (
                None if _ruled_out(ledger, entry, other) else _answer(ledger, entry, other, answers)
            )
            if answer is None:
                if other.living and not _ruled_out(ledger, entry, other):
                    return Open(_unanswered(ledger, entry, neighbour, answers))
            elif answer.verdict.answer in JOINING:
                return Due(answer, _hindrance(ledger, entry, other, answer, answers))
    return Closed()


def bridges(entry: Entry) -> bool:
    """Whether its first decision both joined it and asked the judge, and the join stands.

    The walk then skips members of its own memory; otherwise it would end at the first of them.
    """
    return entry.asks_beside and any(
        edge.id == entry.decision_id and edge.standing for edge in entry.edges
    )


def _in_order(ledger: Ledger, entry: Entry) -> Iterator[tuple[str, Entry]]:
    for neighbour in entry.asked:
        yield neighbour.candidate_id, ledger.entries[neighbour.candidate_id]


def _ruled_out(ledger: Ledger, entry: Entry, other: Entry) -> bool:
    return separation(ledger, entry, other) is not None


def _unanswered(
    ledger: Ledger, entry: Entry, first: str, answers: Sequence[Answer]
) -> tuple[str, ...]:
    """The unanswered neighbours from `first` on, up to one that is joined or whose answer joins."""
    found: list[str] = []
    for candidate_id, other in _in_order(ledger, entry):
        if not found and candidate_id != first:
            continue
        if other.memory is entry.memory:
            if bridges(entry):
                continue
            break
        if not other.living or _ruled_out(ledger, entry, other):
            continue
        answer = _answer(ledger, entry, other, answers)
        if answer is None:
            found.append(candidate_id)
        elif answer.verdict.answer in JOINING:
            break
    return tuple(found)


def _answer(ledger: Ledger, entry: Entry, other: Entry, newer: Sequence[Answer]) -> Answer | None:
    """The answer that holds about a pair: the first that joins, else the latest."""
    found: Answer | None = None
    answers: Iterable[Answer] = (*entry.answers.get(other.id, ()), *newer)
    for answer in answers:
        if answer.verdict.neighbour_id != other.id or not holds(ledger, answer):
            continue
        if answer.verdict.answer in JOINING:
            return answer
        found = answer
    return found


def holds(ledger: Ledger, answer: Answer) -> bool:
    """Whether an answer is still about its neighbour."""
    return still_about(ledger, ledger.entries[answer.verdict.neighbour_id], answer.speaker)


def still_about(ledger: Ledger, other: Entry, speaker_id: str) -> bool:
    """Whether an answer is still about a neighbour, whose memory its speaker must still be in."""
    if speaker_id == other.id:
        return True
    speaker = ledger.entries.get(speaker_id)
    if speaker is not None:
        return speaker.memory is other.memory
    text = composed(ledger, speaker_id)
    return (
        text is not None
        and text[0].newer.memory is other.memory
        and text_stands(ledger, speaker_id)
    )


def _hindrance(
    ledger: Ledger, entry: Entry, other: Entry, answer: Answer, answers: Sequence[Answer]
) -> Refusal | None:
    """What holds a joining answer back: an earlier retraction, or a separation (law L9)."""
    if answer.while_retracted and not (entry.living and other.living):
        return Refusal("not_living", "one of the pair is retracted")
    pair = separated_pair(ledger, entry.memory, other.memory)
    if pair is not None:
        return Refusal("separated", f"candidates {pair[0].id} and {pair[1].id} are separated")
    for given in answers:
        apart = ledger.entries.get(given.speaker)
        if given.verdict.answer == "different" and apart and apart.memory is other.memory:
            return Refusal(
                "separated",
                f"the same answers say {answer.verdict.answer} of {other.id} and different of"
                f" {apart.id}, and these are one memory",
            )
    return None


# -- kept up to date by the fold -----------------------------------------------------------------


def record(ledger: Ledger, entry: Entry, given: Answered) -> None:
    """Keep the answers about a candidate; if two are about the same texts, only the first."""
    for verdict in up_to_joining(given.verdicts):
        other = ledger.entries.get(verdict.neighbour_id)
        if other is None or answered(entry, verdict):
            continue
        answer = answer_of(entry, other, verdict, given)
        before = entry.answers.get(other.id, ())
        entry.answers = {**entry.answers, other.id: (*before, answer)}
        for candidate_id in (other.id, *ends(ledger, answer.speaker)):
            watch(ledger, candidate_id, entry)


def up_to_joining(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """The verdicts up to the first that joins: after that one the judge is not asked."""
    for verdict in verdicts:
        yield verdict
        if verdict.answer in JOINING:
            return


def answered(entry: Entry, verdict: Verdict) -> bool:
    """Whether there is already an answer about these texts."""
    speaker = verdict.speaker or verdict.neighbour_id
    return any(answer.speaker == speaker for answer in entry.answers.get(verdict.neighbour_id, ()))


def answer_of(entry: Entry, other: Entry, verdict: Verdict, given: Answered) -> Answer:
    """A verdict as an answer, with its speaker and all that it came with."""
    retracted = not (entry.living and other.living)
    return Answer(verdict, verdict.speaker or other.id, given, retracted)


def ends(ledger: Ledger, speaker: str) -> tuple[str, ...]:
    """The candidates that determine whether a speaker still speaks."""
    edge = ledger.composed_by.get(speaker)
    if edge is None:
        return (speaker,)
    return (edge.newer.id, edge.older.id, *edge.texts[speaker].sources)


def watch(ledger: Ledger, candidate_id: str, entry: Entry) -> None:
    """Register an entry whose question is to be walked again when a candidate moves."""
    ledger.watchers.setdefault(candidate_id, {})[entry.id] = entry


def keep_questions(ledger: Ledger, touched: Touched) -> None:
    """Walk all questions again that an event may have changed; add changed ones to `touched`."""
    again = {entry.id: entry for entry in touched.asking}
    again.update((entry.id, entry) for entry in touched.stirred if entry.asked)
    if ledger.watchers:
        for stirred in touched.stirred:
            again |= ledger.watchers.get(stirred.id, {})
    for entry in again.values():
        step = walk(ledger, entry)
        still = step.neighbours if isinstance(step, Open) and entry.living else ()
        if still != entry.open:
            entry.open = still
            touched.questions[entry.id] = bool(still)
            touched.entries[entry.id] = entry
        held = step.answer.verdict.neighbour_id if isinstance(step, Due) else None
        if held is not None:
            ledger.held[entry.id] = entry
        else:
            ledger.held.pop(entry.id, None)
        if held != entry.held:
            entry.held = held
            touched.entries[entry.id] = entry
        if entry.pending != (not isinstance(step, Closed)):
            entry.pending = not entry.pending
            touched.entries[entry.id] = entry
            touched.memory(entry.memory)
