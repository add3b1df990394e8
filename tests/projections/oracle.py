"""Every table and view stated once more: slowly, from the log's exported lines alone.

Nothing of ours is imported, so that no mistake of the projector, or of the core under it, can be
made here by the same code. Components are searched anew and faces folded anew after every event;
what is right is read off docs/analysts.md and section 2 of the design.
"""

from __future__ import annotations

import base64
import json
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.projections import oracle_faces

Row = dict[str, Any]
Tables = dict[str, list[Row]]

RANKS = ("rule", "judge", "review", "person")
DECISIONS = ("decided", "settled", "joined", "redecided", "invalid")
EXACT = ("hash_exact", "recent_capture")
JOINING = ("same", "update", "compose", "unavailable")


def moment(text: str | None) -> datetime | None:
    """A time of the log, in UTC and without a zone."""
    return (
        None if text is None else datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    )


def numbers(vector: Row | None) -> list[float] | None:
    """A recorded vector: base64 of little-endian float16."""
    if vector is None:
        return None
    raw = base64.b64decode(vector["data"])
    return list(struct.unpack(f"<{len(raw) // 2}e", raw))


@dataclass(frozen=True)
class Answer:
    """What was said of a candidate and a neighbour, for whom the speaker spoke."""

    neighbour: str
    speaker: str
    joins: bool


@dataclass
class Word:
    """What somebody said of a pair; of a composed text, for as long as that stands."""

    event_id: str
    pair: frozenset[str]
    separates: bool
    rank: str
    text: str | None = None
    withdrawn: bool = False


@dataclass
class Apart:
    """A memory that one request takes apart: who its reversals have parted, and how often."""

    cause: str
    members: set[str]
    ends: Counter[str] = field(default_factory=Counter)


@dataclass
class Candidate:
    """A candidate as the log has it by now. `place` is the position at which it arrived."""

    id: str
    place: int
    at: datetime
    event_id: str
    data: Row
    position: int
    living: bool = True
    pending: bool = False
    asked: list[str] = field(default_factory=list)
    closed: bool = False
    answers: list[Answer] = field(default_factory=list)
    accesses: int = 0
    accessed: datetime | None = None

    @property
    def fields(self) -> Row:
        """What the producer said of it."""
        found: Row = self.data["candidate"]
        return found

    @property
    def text(self) -> str:
        """Its own words."""
        found: str = self.data["content"]["text"]
        return found

    @property
    def hash(self) -> str:
        """Of its words, as recorded."""
        found: str = self.data["content"]["hash"]
        return found

    @property
    def namespace(self) -> str:
        """The section of the owner's memories."""
        return str(self.fields.get("namespace", "default"))

    @property
    def happened(self) -> tuple[datetime, int]:
        """When: as the producer says, not after it was recorded; ties by arrival."""
        said = moment(self.fields.get("occurred_at"))
        return (self.at if said is None else min(said, self.at)), self.place

    @property
    def moment(self) -> datetime | None:
        """When it happened, where the log says so: older ones go by arrival."""
        return moment(self.data.get("moment"))


@dataclass
class Join:
    """A recorded edge; `place` orders the fold of faces."""

    id: str
    newer: Candidate
    older: Candidate
    data: Row
    place: int
    ranked: bool = False
    standing: bool = True
    texts: dict[str, Row] = field(default_factory=dict)

    @property
    def former(self) -> bool:
        """Whether a person chose who speaks."""
        return bool(self.data.get("former"))


@dataclass
class Question:
    """What the judge was handed about a candidate."""

    position: int
    event_id: str
    candidate: Candidate
    asked: list[str]
    neighbours: list[Row]
    at: datetime
    texts: dict[str, str]


@dataclass
class Event:
    """A line, read."""

    position: int
    name: str
    id: str
    owner: str
    at: datetime
    subject: str
    data: Row

    @classmethod
    def read(cls, position: int, line: bytes) -> Event:
        """The event of a line."""
        said = json.loads(line)
        at = moment(said["time"])
        assert at is not None
        kind = said["type"].split(".")[1]
        return cls(
            position, kind, said["id"], said["partitionkey"], at, said["subject"], said["data"]
        )

    @property
    def evidence(self) -> Row | None:
        """What the decision rested on."""
        return self.data.get("evidence")

    @property
    def verdicts(self) -> list[Row]:
        """The judge's answers that came with it."""
        if self.name == "decided":
            return []
        found: list[Row] = self.data.get("verdicts") or (self.evidence or {}).get("verdicts", [])
        return found


def _closes(event: Event) -> bool:
    """Whether a settlement kept both for want of an answer, or of a text.

    Older logs, which name no speakers, closed a question with every verdict that kept both.
    """
    if event.data.get("join") is not None:
        return False
    verdicts = event.verdicts
    if event.data["decision"] == "fallback_keep" or any(v["answer"] == "compose" for v in verdicts):
        return True
    return bool(verdicts) and all(v.get("speaker") is None for v in verdicts)


@dataclass
class Owner:
    """One owner, after some of its events."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    joins: dict[str, Join] = field(default_factory=dict)
    vectors: dict[tuple[str, str], Row | None] = field(default_factory=dict)
    updated: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    memory_of: dict[str, str] = field(default_factory=dict)
    words: list[Word] = field(default_factory=list)
    aparts: list[Apart] = field(default_factory=list)
    reversals: dict[str, Event] = field(default_factory=dict)

    def connect(self) -> None:
        """Find the memory of each candidate: what standing joins connect, by the earliest."""
        beside: dict[str, list[str]] = {one: [] for one in self.candidates}
        for join in self.joins.values():
            if join.standing:
                beside[join.newer.id].append(join.older.id)
                beside[join.older.id].append(join.newer.id)
        self.memory_of = {}
        for start in self.candidates:  # in the order of arrival
            reached = [start] if start not in self.memory_of else []
            while reached:
                one = reached.pop()
                self.memory_of[one] = start
                reached += [other for other in beside[one] if other not in self.memory_of]

    def members(self, memory_id: str) -> list[Candidate]:
        """The candidates of a memory, by arrival."""
        return [one for one in self.candidates.values() if self.memory_of[one.id] == memory_id]

    def face(self, candidate_id: str) -> oracle_faces.Face:
        """What speaks for a candidate's memory."""
        members = self.members(self.memory_of[candidate_id])
        ids = {one.id for one in members}
        joins = [join for join in self.joins.values() if join.standing and join.newer.id in ids]
        return oracle_faces.face(members, joins)

    # -- pairs ---------------------------------------------------------------------------------

    def say(
        self, event_id: str, a: str, b: str, separates: bool, rank: str, text: str | None = None
    ) -> None:
        """Keep a word about a pair."""
        self.words.append(Word(event_id, frozenset((a, b)), separates, rank, text))

    def text_stands(self, text_id: str) -> bool:
        """Whether a composed text's join stands, with all of its sources in one memory."""
        for join in self.joins.values():
            if text_id in join.texts:
                where = {self.memory_of[one] for one in join.texts[text_id]["sources"]}
                return join.standing and where == {self.memory_of[join.newer.id]}
        return False

    def separated(self, a: Candidate, b: Candidate) -> bool:
        """By the last word of the highest rank; without one, as parts of a memory taken apart."""
        said = [
            (RANKS.index(word.rank), number, word.separates)
            for number, word in enumerate(self.words)
            if word.pair == {a.id, b.id}
            and not word.withdrawn
            and (word.text is None or self.text_stands(word.text))
        ]
        if said:
            return max(said)[2]
        return a.hash != b.hash and any(
            apart.ends[a.id] > 0 and apart.ends[b.id] > 0 for apart in self.aparts
        )

    def take_apart(self, join: Join, cause: str, by: int) -> None:
        """Count a reversal of a request that takes a memory apart, or one that was taken back."""
        apart = [a for a in self.aparts if a.cause == cause and join.newer.id in a.members]
        if not apart:
            where = self.memory_of[join.newer.id]
            members = {one for one, memory in self.memory_of.items() if memory == where}
            apart = [Apart(cause, members)]
            self.aparts += apart
        for end in (join.newer.id, join.older.id):
            apart[-1].ends[end] += by

    # -- questions (design 2a) -----------------------------------------------------------------

    def waits(self, one: Candidate) -> bool:
        """Whether a candidate's question is open, or its answer held back: a walk, best first."""
        for neighbour in [] if one.closed else one.asked:
            other = self.candidates[neighbour]
            if self.memory_of[other.id] == self.memory_of[one.id]:
                return False
            if self.separated(one, other):
                continue
            answers = [
                answer
                for answer in one.answers
                if answer.neighbour == other.id and self._holds(answer)
            ]
            if any(answer.joins for answer in answers) or (not answers and other.living):
                return True
        return False

    def _holds(self, answer: Answer) -> bool:
        """Whether who spoke is the neighbour, or still of its memory."""
        if answer.speaker == answer.neighbour:
            return True
        where = self.memory_of[answer.neighbour]
        if answer.speaker in self.candidates:
            return self.memory_of[answer.speaker] == where
        composed = [join for join in self.joins.values() if answer.speaker in join.texts]
        return (
            bool(composed)
            and self.memory_of[composed[0].newer.id] == where
            and self.text_stands(answer.speaker)
        )

    def answer(self, event: Event, one: Candidate) -> None:
        """Keep verdicts: up to the first that joins, and of two about the same texts the first."""
        for verdict in event.verdicts:
            neighbour, joins = verdict["neighbour_id"], verdict["answer"] in JOINING
            speaker = verdict.get("speaker") or neighbour
            known = any((a.neighbour, a.speaker) == (neighbour, speaker) for a in one.answers)
            if neighbour in self.candidates and not known:
                one.answers.append(Answer(neighbour, speaker, joins))
                told = event.name == "settled" or verdict.get("speaker") is not None
                if verdict["answer"] == "different" and told:
                    self._tell_apart(event, one, neighbour, speaker)
            if joins:
                return

    def _tell_apart(self, event: Event, one: Candidate, neighbour: str, speaker: str) -> None:
        rank = event.data.get("rank") or "judge"
        if speaker in self.candidates:
            self.say(event.id, one.id, speaker, True, rank)
        else:
            self.say(event.id, one.id, neighbour, True, rank, speaker)

    def text_vector(self, candidate: Candidate) -> Row | None:
        """The vector of a distinct text."""
        return self.vectors.get((candidate.namespace, candidate.hash))


class Oracle:
    """The log read line by line; `tables` then says what every table has to say."""

    def __init__(self, lines: Iterable[tuple[int, bytes]]) -> None:
        self.owners: dict[str, Owner] = defaultdict(Owner)
        self.candidates: dict[str, Candidate] = {}
        self.events: list[Event] = []
        self.by_id: dict[str, Event] = {}
        self.questions: list[Question] = []
        self.reviews: dict[str, str] = {}
        self.compositions: list[Row] = []
        self.compared: dict[int, dict[str, str]] = {}
        self.searches: dict[str, str] = {}
        for position, line in lines:
            self._read(Event.read(position, line))

    def _read(self, event: Event) -> None:
        owner = self.owners[event.owner]
        self.compared[event.position] = self._texts_compared(event, owner)
        before = owner.memory_of
        about = self._fold(event, owner)
        owner.connect()
        for asking in owner.candidates.values():
            pending = owner.waits(asking)
            if pending != asking.pending:
                asking.pending, asking.position = pending, event.position
                owner.updated[owner.memory_of[asking.id]] = event.position, event.at
        for one, memory in owner.memory_of.items():
            if one in before and before[one] != memory:
                owner.candidates[one].position = event.position
        for one in about:
            owner.updated[owner.memory_of[one]] = event.position, event.at
        self.events.append(event)
        self.by_id[event.id] = event

    # -- the fold ------------------------------------------------------------------------------

    def _fold(self, event: Event, owner: Owner) -> Iterable[str]:
        """Take an event in; return the candidates whose memories it is about."""
        data = event.data
        match event.name:
            case "decided":
                return self._decided(event, owner)
            case "settled" | "redecided":
                one = owner.candidates[data["candidate_id"]]
                one.position = event.position
                if event.name == "settled":
                    owner.answer(event, one)
                    one.closed = one.closed or _closes(event)
                self._decide(event, owner, one, one.place)
                return [one.id]
            case "joined":
                one = owner.candidates[data["candidate_id"]]
                other = owner.candidates[data["join"]["to"]]
                owner.say(event.id, one.id, other.id, False, data["rank"])
                self._connect(event, owner, one, event.position)
                return [one.id]
            case "reversed":
                return self._reversed(event, owner)
            case "reinstated":
                return self._reinstated(event, owner)
            case "confirmed":
                self.reviews[data["decision_id"]] = "confirmed"
                return []
            case "composed":
                join = owner.joins[data["decision_id"]]
                self._compose(event, owner, join)
                return [join.newer.id]
            case "retracted" | "restored":
                one = owner.candidates[data["candidate_id"]]
                one.living, one.position = event.name == "restored", event.position
                return [one.id]
            case "accessed":
                one = owner.candidates[data["candidate_id"]]
                one.accesses, one.accessed = one.accesses + 1, event.at
                return [one.id]
            case "embedded":
                one = owner.candidates[data["candidate_id"]]
                owner.vectors[one.namespace, one.hash] = data["vector"]
                one.position = event.position
                return [one.id]
            case "policy_set":
                self.searches[data["hash"]] = data["policy"].get("search", "")
                return []
            case "separated":
                owner.say(event.id, data["candidate_id"], data["other_id"], True, data["rank"])
                return []
            case "refused":
                found = owner.candidates.get(data.get("candidate_id") or "")
                if found is not None and data["command"] == "settle":
                    owner.answer(event, found)
                return []
            case "invalid" | "session_ended" | "compacted":
                return []
            case _:
                raise ValueError(event.name)

    def _decided(self, event: Event, owner: Owner) -> Iterable[str]:
        """A candidate arrives."""
        data = event.data
        one = Candidate(event.subject, event.position, event.at, event.id, data, event.position)
        same = [c for c in owner.candidates.values() if c.namespace == one.namespace]
        key, vector = (one.namespace, one.hash), data["content"].get("vector")
        if vector is not None and one.hash not in {c.hash for c in same}:
            owner.vectors[key] = vector
        owner.vectors.setdefault(key, None)
        owner.candidates[one.id] = self.candidates[one.id] = one
        self._decide(event, owner, one, one.place)
        return [one.id]

    def _reinstated(self, event: Event, owner: Owner) -> Iterable[str]:
        """A reversal taken back."""
        join = owner.joins[event.data["decision_id"]]
        self.reviews[join.id] = "reinstated"
        reversal = owner.reversals[join.id].data
        if reversal["separates"] and reversal.get("cause") is not None:
            owner.take_apart(join, reversal["cause"], -1)
        join.standing = True
        owner.say(event.id, join.newer.id, join.older.id, False, event.data["rank"])
        return [join.newer.id]

    def _reversed(self, event: Event, owner: Owner) -> Iterable[str]:
        """A join taken out, or a separation taken back."""
        data = event.data
        withdrawn = [word for word in owner.words if word.event_id == data["decision_id"]]
        join = owner.joins.get(data["decision_id"])
        if join is None:
            for word in withdrawn:
                word.withdrawn = True
            return []
        self.reviews[join.id] = "reversed"
        join.standing = False
        owner.reversals[join.id] = event
        if data["separates"]:
            owner.say(event.id, data["candidate_id"], data["joined_to"], True, data["rank"])
            if data.get("cause") is not None:
                owner.take_apart(join, data["cause"], 1)
        return [data["candidate_id"], data["joined_to"]]

    def _decide(self, event: Event, owner: Owner, one: Candidate, place: int) -> None:
        evidence = event.data["evidence"]
        if event.name == "redecided" or (event.name == "decided" and evidence.get("asked")):
            one.asked = evidence.get("asked", [])
            one.closed = event.data["decision"] == "fallback_keep"
        if event.data["decision"] == "pending":
            self.questions.append(
                Question(
                    event.position,
                    event.id,
                    one,
                    evidence.get("asked", []),
                    evidence.get("neighbours", []),
                    event.at,
                    self.compared[event.position],
                )
            )
        if event.data.get("join") is not None:
            self._connect(event, owner, one, place)

    def _connect(self, event: Event, owner: Owner, one: Candidate, place: int) -> None:
        said = event.data["join"]
        verdicts = (event.evidence or {}).get("verdicts", [])
        ranked = any(verdict.get("speaker") is not None for verdict in verdicts)
        join = Join(event.id, one, owner.candidates[said["to"]], said, place, ranked)
        owner.joins[event.id] = join
        if event.data.get("composition") is not None:
            self._compose(event, owner, join)

    def _compose(self, event: Event, owner: Owner, join: Join) -> None:
        composition = event.data["composition"]
        join.texts[event.id] = composition
        content = composition["content"]
        key = join.newer.namespace, content["hash"]
        if key not in owner.vectors:
            owner.vectors[key] = content.get("vector")

    # -- what was compared ---------------------------------------------------------------------

    def _texts_compared(self, event: Event, owner: Owner) -> dict[str, str]:
        """The text that stood for a candidate when an event compared it, by the candidate."""
        data, join = event.data, event.data.get("join")
        match event.name:
            case "decided" if join is not None and join["face"] == "repeat":
                older = owner.candidates[join["to"]]
                if older.hash == data["content"]["hash"]:
                    return {}
                return {older.id: self._composed_text(event.owner, data["content"]["hash"])}
            case "decided" | "settled" | "redecided":
                return self._texts_looked_at(event, owner)
            case "joined" if event.evidence is not None and join is not None:
                return self._texts_of_faces(owner, data["candidate_id"], join["to"])
            case "separated" if event.verdicts:
                return self._texts_of_faces(owner, data["candidate_id"], data["other_id"])
            case _:
                return {}

    def _texts_looked_at(self, event: Event, owner: Owner) -> dict[str, str]:
        found: dict[str, str] = {}
        evidence = event.data["evidence"]
        if self.searches.get(evidence["policy"]) == "memories":
            for one in self._looked_at(event):
                found[one] = owner.face(one).text
        for verdict in evidence.get("verdicts", []):
            speaker = verdict.get("speaker")
            texts = {key: text for join in owner.joins.values() for key, text in join.texts.items()}
            if speaker in texts:
                found[verdict["neighbour_id"]] = texts[speaker]["content"]["text"]
            elif speaker is not None:
                found[verdict["neighbour_id"]] = owner.candidates[speaker].text
        return found

    def _looked_at(self, event: Event) -> Iterator[str]:
        evidence = event.data["evidence"]
        yield from (one["candidate_id"] for one in evidence.get("neighbours", []))
        yield from (verdict["neighbour_id"] for verdict in evidence.get("verdicts", []))
        if event.data.get("join") is not None:
            yield event.data["join"]["to"]

    def _texts_of_faces(self, owner: Owner, *ids: str) -> dict[str, str]:
        """A nightly run compares faces; whoever does not speak any more had its own text."""
        faces = {one: owner.face(one) for one in ids}
        return {one: face.text for one, face in faces.items() if face.speaker.id == one}

    def _composed_text(self, owner_id: str, text_hash: str) -> str:
        """The newest composed text of an owner with this hash."""
        texts = [
            composition["content"]["text"]
            for join in self.owners[owner_id].joins.values()
            for composition in join.texts.values()
            if composition["content"]["hash"] == text_hash
        ]
        return str(texts[-1])
