"""Who was said not to be the same as whom, and what a question has come to (docs/design.md).

Without the core's code: every candidate is walked anew after every event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.projections.oracle import Candidate, Event, Owner

RANKS = ("rule", "judge", "agent", "review", "person")
JOINING = ("same", "update", "compose", "unavailable")


@dataclass(frozen=True)
class Answer:
    """What a verdict said of a candidate and a neighbour, of whose text."""

    neighbour: str
    speaker: str
    answer: str


@dataclass
class Statement:
    """Who was said to be, or not to be, the same as whom; `text`: only while that text stands."""

    event: Event
    number: int
    pair: tuple[str, str]
    separates: bool
    rank: str
    text: str | None = None
    reasoning: str | None = None
    taken_back: bool = False

    @property
    def weight(self) -> tuple[int, int, int]:
        """The highest rank wins, then the latest."""
        return RANKS.index(self.rank), self.event.position, self.number


@dataclass
class TakenApart:
    """A memory that one request took apart, the joins that it took out, and when it did last."""

    cause: str
    members: set[str]
    position: int = 0
    joins: dict[str, tuple[str, str]] = field(default_factory=dict)

    def parts(self, a: str, b: str) -> bool:
        """Whether both are ends of joins that are still out."""
        ends = Counter(end for join in self.joins.values() for end in join)
        return ends[a] > 0 and ends[b] > 0


# -- what is said of pairs -------------------------------------------------------------------------


def note(event: Event, owner: Owner) -> None:
    """Take in what an event says of pairs, before it is folded."""
    data = event.data
    match event.name:
        case "settled" | "refused" if data.get("command", "settle") == "settle":
            about = owner.candidates.get(data.get("candidate_id") or "")
            if about is not None:
                _keep_answers(event, owner, about)
        case "separated":
            _say(event, owner, data["candidate_id"], data["other_id"], separates=True)
        case "joined":
            _say(event, owner, data["candidate_id"], data["join"]["to"], separates=False)
        case "reversed" if data["decision_id"] not in owner.joins or data.get("withdraws"):
            for word in owner.words:
                back = word.event.data.get("decision_id") if not word.separates else None
                named = data["decision_id"] in (word.event.id, back)
                word.taken_back = word.taken_back or named
        case "reversed" if data["separates"]:
            _say(event, owner, data["candidate_id"], data["joined_to"], separates=True)
            _take_apart(event, owner)
        case "reinstated":
            join = owner.joins[data["decision_id"]]
            for apart in owner.taken_apart:
                apart.joins.pop(join.id, None)
            for word in owner.words:
                out = word.event.name == "reversed" and word.event.data["decision_id"] == join.id
                word.taken_back = word.taken_back or out
            _say(event, owner, join.newer.id, join.older.id, separates=False)
        case _:
            pass


def _say(event: Event, owner: Owner, a: str, b: str, *, separates: bool) -> None:
    reasons = [verdict.get("reasoning") for verdict in event.verdicts]
    reasoning = reasons[0] if reasons and event.name == "separated" else None
    word = Statement(event, 0, (a, b), separates, event.data["rank"], reasoning=reasoning)
    owner.words.append(word)


def _take_apart(event: Event, owner: Owner) -> None:
    """One of the joins that a request takes out of a memory."""
    data = event.data
    if data.get("cause") is None:
        return
    pair = data["candidate_id"], data["joined_to"]
    known = [one for one in owner.taken_apart if one.cause == data["cause"]]
    found = next((one for one in known if pair[0] in one.members), None)
    if found is None:
        memory = owner.memory_of[pair[0]]
        members = {one for one, where in owner.memory_of.items() if where == memory}
        found = TakenApart(data["cause"], members)
        owner.taken_apart.append(found)
    found.joins[data["decision_id"]] = pair
    found.position = event.position


def held(owner: Owner, a: str, b: str) -> Statement | None:
    """The word about a pair that holds: the latest of the highest rank, if it is not void."""
    words = [
        word
        for word in owner.words
        if set(word.pair) == {a, b} and not word.taken_back
        if word.text is None or owner.text_stands(word.text)
    ]
    return max(words, key=lambda word: word.weight, default=None)


def separated(owner: Owner, one: Candidate, other: Candidate) -> bool:
    """Whether the two are apart: by a word, or as parts of a memory taken apart since."""
    word = held(owner, one.id, other.id)
    if word is not None and word.separates:
        return True
    said = 0 if word is None else word.event.position
    return one.said != other.said and any(
        apart.position > said and apart.parts(one.id, other.id) for apart in owner.taken_apart
    )


# -- answers ---------------------------------------------------------------------------------------


def _keep_answers(event: Event, owner: Owner, one: Candidate) -> None:
    """Keep an event's answers up to the first that joins; of two about one text, the first."""
    before = list(one.answers)
    for number, verdict in enumerate(_up_to_joining(event)):
        neighbour = verdict["neighbour_id"]
        if neighbour not in owner.candidates:
            continue
        speaker = verdict.get("speaker") or neighbour
        binds = verdict.get("speaker") is not None or event.name == "settled"
        new = not _known(before, neighbour, speaker)
        if verdict["answer"] == "different" and binds and new:
            _differs(event, owner, one, number, verdict, speaker)
        if not _known(one.answers, neighbour, speaker):
            one.answers.append(Answer(neighbour, speaker, verdict["answer"]))


def _up_to_joining(event: Event) -> Iterator[dict[str, Any]]:
    for verdict in event.verdicts:
        yield verdict
        if verdict["answer"] in JOINING:
            return


def _known(answers: list[Answer], neighbour: str, speaker: str) -> bool:
    return any((answer.neighbour, answer.speaker) == (neighbour, speaker) for answer in answers)


def _differs(
    event: Event,
    owner: Owner,
    one: Candidate,
    number: int,
    verdict: dict[str, Any],
    speaker: str,
) -> None:
    """The candidate is apart from whose text it was compared with: of a composed one, a source.

    The neighbour, if it is one of them.
    """
    composed = owner.composed(speaker)
    other = speaker
    if composed is not None:
        sources = [s for s in composed.texts[speaker]["sources"] if s != one.id]
        asked = verdict["neighbour_id"]
        other = asked if asked in sources or not sources else sources[0]
    if other in owner.candidates:
        rank = event.data.get("rank") or "judge"
        told = verdict.get("reasoning")
        text = speaker if composed is not None else None
        owner.words.append(Statement(event, number, (one.id, other), True, rank, text, told))


def closes(event: Event, owner: Owner, one: Candidate) -> bool:
    """Whether a settlement without a join leaves nothing to ask; old verdicts name no speaker.

    A text that could not be kept: unless a better neighbour, or that one, is its memory already.
    """
    if event.data["decision"] == "fallback_keep":
        return True
    composes = [v["neighbour_id"] for v in event.verdicts if v["answer"] == "compose"]
    beside = bridges(owner, one)
    own = [owner.memory_of[asked] == owner.memory_of[one.id] and not beside for asked in one.asked]
    first = own.index(True) if True in own else len(own)
    if any(one.asked.index(neighbour) < first for neighbour in composes if neighbour in one.asked):
        return True
    return bool(event.verdicts) and not any(v.get("speaker") for v in event.verdicts)


# -- the walk --------------------------------------------------------------------------------------


def waits(owner: Owner, one: Candidate) -> tuple[bool, list[str], str | None]:
    """Whether a candidate is pending, whom the judge has yet to compare, whose answer is held back.

    Best neighbour first. In one memory with it: closed, unless it asks beside its own join. Apart,
    answered otherwise, or unanswered and retracted: on to the next. Unanswered: open. An answer
    that joins: it is held back.
    """
    if one.closed:
        return False, [], None
    open_: list[str] = []
    for other in (owner.candidates[neighbour] for neighbour in one.asked):
        if owner.memory_of[other.id] == owner.memory_of[one.id]:
            if bridges(owner, one):
                continue
            break
        if separated(owner, one, other):
            continue
        answer = _answer(owner, one, other)
        if answer is None and other.living:
            open_.append(other.id)
        if answer in JOINING:
            return True, open_ if one.living else [], None if open_ else other.id
    return bool(open_), open_ if one.living else [], None


def bridges(owner: Owner, one: Candidate) -> bool:
    """Whether it asks beside its own first join, which stands: who is with it is passed over."""
    join = owner.joins.get(one.event_id)
    return one.asks_beside and join is not None and join.standing


def _answer(owner: Owner, one: Candidate, other: Candidate) -> str | None:
    answers = [
        said.answer
        for said in one.answers
        if said.neighbour == other.id and _still_about(owner, other, said.speaker)
    ]
    joining = [answer for answer in answers if answer in JOINING]
    return (joining + answers + [None])[0]


def _still_about(owner: Owner, other: Candidate, speaker: str) -> bool:
    """Whose text it was is in the neighbour's memory; a composed text could still speak there."""
    if speaker == other.id:
        return True
    where = owner.memory_of[other.id]
    if speaker in owner.memory_of:
        return owner.memory_of[speaker] == where
    join = owner.composed(speaker)
    return (
        join is not None and owner.memory_of[join.newer.id] == where and owner.text_stands(speaker)
    )
