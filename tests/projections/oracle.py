"""Every table and view stated once more: slowly, from the log's exported lines alone.

Nothing of ours is imported, so that no mistake of the projector, or of the core under it, can be
made here by the same code. Components are searched anew and faces folded anew after every event;
what is right is read off docs/analysts.md and docs/design.md, Faces.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.projections import oracle_faces, oracle_questions

Row = dict[str, Any]
Tables = dict[str, list[Row]]

DECISIONS = ("decided", "settled", "joined", "redecided", "invalid")
INVISIBLE = re.compile("[\u200b\ufeff\u00ad\u200e\u200f\u061c]")
SENTENCE_ENDS = (".", "!", "?", "…")


def verbatim(text: str) -> str:
    """The text as docs/exact.md calls it verbatim: candidates of a scope that share it are one."""
    return unicodedata.normalize("NFC", INVISIBLE.sub("", text)).strip()


def search_form(text: str) -> str:
    """By what a text is found and forgotten."""
    return " ".join(unicodedata.normalize("NFKC", INVISIBLE.sub("", text)).casefold().split())


def sha256(text: str) -> str:
    """As hashes are recorded."""
    return hashlib.sha256(text.encode()).hexdigest()


def differing(a: str, b: str) -> list[str]:
    """What two texts of one search form differ in, by the kinds of docs/exact.md."""
    a, b = verbatim(a), verbatim(b)
    if a == b:
        return []
    written = [unicodedata.normalize("NFKC", text).split() for text in (a, b)]
    kinds = []
    others = [n for n, (x, y) in enumerate(zip(*written, strict=True)) if x != y]
    if others:
        starts = all(
            written[0][n][1:] == written[1][n][1:]
            and (n == 0 or written[0][n - 1].endswith(SENTENCE_ENDS))
            for n in others
        )
        kinds.append("sentence_case" if starts else "case")
    if re.findall(r"\s+", a) != re.findall(r"\s+", b):
        kinds.append("white_space")
    plain = [" ".join(text.split()).casefold() for text in (a, b)]
    if plain[0] != plain[1] or not kinds:
        kinds.append("compatibility")
    return kinds


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


@dataclass
class Candidate:
    """A candidate as the log has it by now. `place` is the position at which it arrived.

    `said` is by what faces know its text again: the verbatim form, or the hash that was recorded
    where an event said it first that knew no other. `anew` counts how often its text was said after
    all who had said it had expired; composed texts are left out of that.
    """

    id: str
    place: int
    at: datetime
    event_id: str
    data: Row
    position: int
    said: str
    living: bool = True
    expires_at: datetime | None = None
    anew: int = 0
    pending: bool = False
    waits_for: list[str] = field(default_factory=list)
    held: str | None = None
    asked: list[str] = field(default_factory=list)
    asks_beside: bool = False
    closed: bool = False
    answers: list[oracle_questions.Answer] = field(default_factory=list)
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
    def verbatim(self) -> str:
        """Its words, as far as anybody sees them."""
        return verbatim(self.text)

    @property
    def namespace(self) -> str:
        """The section of the owner's memories."""
        return str(self.fields.get("namespace", "default"))

    @property
    def moment(self) -> datetime | None:
        """When it happened, where the log says so."""
        return moment(self.data.get("moment"))

    @property
    def happened(self) -> tuple[datetime, int]:
        """When: as the producer says, not after it was recorded; ties by arrival."""
        said = moment(self.fields.get("occurred_at"))
        return (self.at if said is None else min(said, self.at)), self.place


@dataclass
class Join:
    """A recorded edge; `place` orders the fold of faces."""

    id: str
    newer: Candidate
    older: Candidate
    data: Row
    place: int
    recorded: list[str]
    standing: bool = True
    texts: dict[str, Row] = field(default_factory=dict)
    ranked: bool = False
    by_person: bool = False
    forward: str | None = None

    @property
    def differs(self) -> list[str]:
        """What an exact repeat differs in that is not verbatim; older events did not say it."""
        if self.recorded:
            return self.recorded
        folded = self.data["face"] == "repeat" and self.newer.said == self.older.said
        return differing(self.older.text, self.newer.text) if folded else []


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


@dataclass
class Owner:
    """One owner, after some of its events."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    joins: dict[str, Join] = field(default_factory=dict)
    vectors: dict[tuple[str, str], Row | None] = field(default_factory=dict)
    said: dict[tuple[str, str], str] = field(default_factory=dict)
    updated: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    memory_of: dict[str, str] = field(default_factory=dict)
    words: list[oracle_questions.Statement] = field(default_factory=list)
    taken_apart: list[oracle_questions.TakenApart] = field(default_factory=list)
    again: dict[str, str] = field(default_factory=dict)

    def connect(self) -> None:
        """Find the memory of each candidate: what standing joins connect, by the earliest."""
        beside: dict[str, list[str]] = {candidate: [] for candidate in self.candidates}
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
        return [
            candidate
            for candidate in self.candidates.values()
            if self.memory_of[candidate.id] == memory_id
        ]

    def face(self, candidate_id: str) -> oracle_faces.Face:
        """What speaks for a candidate's memory."""
        members = self.members(self.memory_of[candidate_id])
        ids = {member.id for member in members}
        joins = [join for join in self.joins.values() if join.standing and join.newer.id in ids]
        return oracle_faces.face(members, joins)

    def composed(self, text_id: str) -> Join | None:
        """The join that a composed text belongs to, by the event that brought it."""
        return next((join for join in self.joins.values() if text_id in join.texts), None)

    def text_stands(self, text_id: str) -> bool:
        """Whether a composed text could speak: its join stands, its sources are together.

        A join that is out may have a later one in its place, decided on again with that text.
        """
        join = self.composed(text_id)
        while join is not None and not join.standing and text_id in self.again:
            text_id = self.again[text_id]
            join = self.composed(text_id)
        if join is None or not join.standing:
            return False
        ids = [join.newer.id, *join.texts[text_id]["sources"]]
        return len({self.memory_of[one] for one in ids}) == 1

    def text_vector(self, candidate: Candidate) -> Row | None:
        """The vector of a distinct text."""
        return self.vectors.get((candidate.namespace, candidate.verbatim))

    def says(self, namespace: str, content: Row) -> str:
        """By what faces know a text again, which an event says."""
        words = verbatim(content["text"])
        said = words if content.get("verbatim") else content["hash"]
        return self.said.setdefault((namespace, words), said)


def _said_anew(owner: Owner, newcomer: Candidate) -> int:
    same = [
        one
        for one in owner.candidates.values()
        if (one.namespace, one.verbatim) == (newcomer.namespace, newcomer.verbatim)
    ]
    current = [one for one in same if one.expires_at is None or one.expires_at > newcomer.at]
    if current or not same:
        return current[0].anew if current else 0
    return max(one.anew for one in same) + 1


class Oracle:
    """The log read line by line; `tables` then says what every table has to say."""

    def __init__(self, lines: Iterable[tuple[int, bytes]]) -> None:
        self.owners: dict[str, Owner] = defaultdict(Owner)
        self.candidates: dict[str, Candidate] = {}
        self.events: list[Event] = []
        self.by_id: dict[str, Event] = {}
        self.questions: list[Question] = []
        self.latest: dict[str, Question] = {}
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
        oracle_questions.note(event, owner)
        about = self._fold(event, owner)
        owner.connect()
        for one, memory in owner.memory_of.items():
            if one in before and before[one] != memory:
                owner.candidates[one].position = event.position
        about = [*about, *self._walk(event, owner)]
        for one in about:
            owner.updated[owner.memory_of[one]] = event.position, event.at
        self.events.append(event)
        self.by_id[event.id] = event

    def _walk(self, event: Event, owner: Owner) -> Iterator[str]:
        """Ask anew what every candidate waits for; return those that wait, or do no more."""
        for candidate in owner.candidates.values():
            pending, waits_for, held = oracle_questions.waits(owner, candidate)
            if (pending, waits_for, held) != (
                candidate.pending,
                candidate.waits_for,
                candidate.held,
            ):
                candidate.position = event.position
            if pending != candidate.pending:
                yield candidate.id
            candidate.pending, candidate.waits_for, candidate.held = pending, waits_for, held

    # -- the fold ------------------------------------------------------------------------------

    def _fold(self, event: Event, owner: Owner) -> Iterable[str]:
        """Take an event in; return the candidates whose memories it is about."""
        data = event.data
        match event.name:
            case "decided":
                words = owner.says(data["candidate"].get("namespace", "default"), data["content"])
                one = Candidate(
                    event.subject, event.position, event.at, event.id, data, event.position, words,
                    living=data.get("withheld") is None, expires_at=moment(data.get("expires_at")),
                )  # fmt: skip
                self._keep_text(owner, one)
                owner.candidates[one.id] = self.candidates[one.id] = one
                self._decide(event, owner, one, one.place)
                return [one.id]
            case "settled" | "redecided":
                one = owner.candidates[data["candidate_id"]]
                one.position = event.position
                self._decide(event, owner, one, one.place)
                return [one.id]
            case "joined":
                one = owner.candidates[data["candidate_id"]]
                self._connect(event, owner, one, event.position)
                return [one.id]
            case "reversed" if data["decision_id"] not in owner.joins:
                return []
            case "reversed":
                self.reviews[data["decision_id"]] = "reversed"
                owner.joins[data["decision_id"]].standing = False
                return [data["candidate_id"], data["joined_to"]]
            case "reinstated":
                self.reviews[data["decision_id"]] = "reinstated"
                join = owner.joins[data["decision_id"]]
                join.standing = True
                return [join.newer.id]
            case "confirmed":
                self.reviews[data["decision_id"]] = "confirmed"
                return []
            case "composed":
                join = owner.joins[data["decision_id"]]
                self._compose(event, owner, join)
                return [join.newer.id]
            case "expiry_set":
                one = owner.candidates[data["candidate_id"]]
                one.expires_at, one.position = moment(data.get("expires_at")), event.position
                return [one.id]
            case "retracted" | "restored":
                one = owner.candidates[data["candidate_id"]]
                one.living, one.position = event.name == "restored", event.position
                return [one.id]
            case "accessed":
                said = data.get("uses") or [{"candidate_id": data["candidate_id"], "count": 1}]
                for use in said:
                    one = owner.candidates[use["candidate_id"]]
                    at = moment(use.get("at")) or event.at
                    one.accesses += use["count"]
                    one.accessed = max(at, one.accessed or at)
                return [use["candidate_id"] for use in said]
            case "embedded":
                one = owner.candidates[data["candidate_id"]]
                owner.vectors[one.namespace, one.verbatim] = data["vector"]
                one.position = event.position
                return [one.id]
            case "policy_set":
                self.searches[data["hash"]] = data["policy"].get("search", "")
                return []
            case "separated" | "refused" | "invalid" | "session_ended" | "compacted" | "ran":
                return []
            case "judge_set":
                return []
            case _:
                raise ValueError(event.name)

    def _keep_text(self, owner: Owner, one: Candidate) -> None:
        """The first of a text brings its vector; of before, one without has that of its twin."""
        one.anew = _said_anew(owner, one)
        key, content = (one.namespace, one.verbatim), one.data["content"]
        others = [c for c in owner.candidates.values() if c.namespace == one.namespace]
        if key not in owner.vectors and not content.get("verbatim") and "vector" not in content:
            form = search_form(one.text)
            twins = [owner.text_vector(c) for c in others if search_form(c.text) == form]
            owner.vectors[key] = next((found for found in twins if found is not None), None)
        if not any(c.verbatim == one.verbatim for c in others) and content.get("vector"):
            owner.vectors[key] = content["vector"]
        owner.vectors.setdefault(key, None)

    def _decide(self, event: Event, owner: Owner, one: Candidate, place: int) -> None:
        evidence = event.data["evidence"]
        if event.name != "settled":
            one.asked = evidence.get("asked", [])
            one.closed = event.data["decision"] == "fallback_keep"
            question = Question(
                event.position,
                event.id,
                one,
                one.asked,
                evidence.get("neighbours", []),
                event.at,
                self.compared[event.position],
            )
            self.latest[one.id] = question
            if event.data["decision"] == "pending":
                self.questions.append(question)
            if event.name == "decided":
                one.asks_beside = bool(one.asked) and event.data.get("join") is not None
        elif event.data.get("join") is None:
            one.closed = one.closed or oracle_questions.closes(event, owner, one)
        if event.data.get("join") is not None:
            self._connect(event, owner, one, place)

    def _connect(self, event: Event, owner: Owner, one: Candidate, place: int) -> None:
        said = event.data["join"]
        differs = (event.evidence or {}).get("differs") or []
        join = Join(event.id, one, owner.candidates[said["to"]], said, place, differs)
        join.ranked = any(verdict.get("speaker") is not None for verdict in event.verdicts)
        join.by_person = event.data.get("rank") == "person"
        if said.get("forward"):
            about = [verdict for verdict in event.verdicts if verdict["neighbour_id"] == said["to"]]
            join.forward = (about[0].get("speaker") if about else None) or said["to"]
        owner.joins[event.id] = join
        if event.data.get("composition") is not None:
            self._compose(event, owner, join)

    def _compose(self, event: Event, owner: Owner, join: Join) -> None:
        composition = event.data["composition"]
        content = composition["content"]
        said = owner.says(join.newer.namespace, content)
        join.texts[event.id] = composition | {"said": said}
        key = join.newer.namespace, verbatim(content["text"])
        if key not in owner.vectors:
            owner.vectors[key] = content.get("vector")
        if event.name == "redecided":
            for other in owner.joins.values():
                for text_id, text in other.texts.items() if other.newer is join.newer else ():
                    same = text["content"]["hash"] == content["hash"]
                    if same and text["sources"] == composition["sources"] and other is not join:
                        owner.again[text_id] = event.id

    # -- what was compared ---------------------------------------------------------------------

    def _texts_compared(self, event: Event, owner: Owner) -> dict[str, str]:
        """The text that stood for a candidate when an event compared it, by the candidate."""
        data, join = event.data, event.data.get("join")
        match event.name:
            case "decided" if join is not None and join["face"] == "repeat":
                older, form = owner.candidates[join["to"]], search_form(data["content"]["text"])
                if search_form(older.text) == form:
                    return {}
                return {older.id: self._composed_text(event.owner, form)}
            case "decided" | "settled" | "redecided":
                texts = self._texts_looked_at(event, owner)
                if data.get("withheld") is not None:  # what it rewords is gone, and has no face
                    texts = {i: t for i, t in texts.items() if owner.candidates[i].living}
                return texts
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
            composed = owner.composed(speaker)
            if composed is not None:
                found[verdict["neighbour_id"]] = composed.texts[speaker]["content"]["text"]
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

    def _composed_text(self, owner_id: str, form: str) -> str:
        """The newest composed text of an owner with this search form."""
        texts = [
            composition["content"]["text"]
            for join in self.owners[owner_id].joins.values()
            for composition in join.texts.values()
            if search_form(composition["content"]["text"]) == form
        ]
        return str(texts[-1])
