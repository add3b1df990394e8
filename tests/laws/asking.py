"""Generated histories of requests, as people and processes make them of a writer.

Several owners and scopes, requests of every kind and rank, bulk requests, policies that change,
clocks that jump back, ids that are used again, rows submitted under a key, processes that start
anew or die at a commit, and logs that are exported and imported; embedded by two doors, and in a
cluster's partition. Some requests are delivered again, by any door and actor or together with
others, some come as a dry run first, and some ids name something else.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch
from uuid import UUID

import orjson

from palimpsest.contracts.answers import Answer, Done, Refused
from palimpsest.contracts.evidence import Evidence, Neighbour, Verdict
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import (
    REQUEST,
    AnyRequest,
    MergeRequest,
    RetractRequest,
    ReverseRequest,
    SeparateRequest,
    SettleRequest,
    UpdateRequest,
)
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.embedder import DEFAULT_MODEL
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.handlers import bulk
from palimpsest.streams.write.inputs import OTHER_REQUEST, Input, Outcome, Submission
from palimpsest.streams.write.owners import fold_owner
from tests.laws.doors import Death, Embedded, Killed, Partition
from tests.laws.expiries import Expiries
from tests.laws.oracle import Oracle
from tests.streams.write.runtime import inputs, pictures

Result = TypeVar("Result")

OWNERS = ("ada", "bob", "cy")
NAMESPACES = ("default", "work")
SOURCES = ("bot", "form")
RANKS = ("rule", "judge", "agent", "review", "person")
SPEAKERS = ("agent", "person")
ACTORS = (None, "ann", "ben")
NAMES = ((), ("Ada", "the user"), ("Ada", "the user", "I"))
WORDS = ("green tea with milk", "two cats on the old stove", "the boat is on the lake")
ENDS = ("", " today", " again", " and honey", " no more")
FORMS: tuple[Callable[[str], str], ...] = (
    str,
    str.upper,
    str.title,
    lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
)
VECTOR = {"model": "other", "engine": "stub", "dimension": 2, "data": "ADwAAA=="}
"""Along the first of two axes."""
AUDIT = {
    "position": 1,
    "seed": "1 2",
    "joins": 1,
    "digest": "d",
    "target": 0.01,
    "confidence": 0.95,
}
LABEL = {"audit": "an audit", "pair": "x", "label": "right", "shown": "s"}
CERTIFICATE = {
    "audit": "an audit",
    **dict.fromkeys(("joins", "labels", "errors", "probes", "found", "most"), 1),
    **dict.fromkeys(("detected", "bound"), 1.0),
}
CONSOLIDATE = load_policy("layered").model_dump(mode="json")["consolidate"]


def _policy(search: str, action: str, at_least: float) -> Policy:
    return Policy.model_validate(
        {
            "name": f"{search} {action}",
            "model": DEFAULT_MODEL,
            "search": search,
            "checks": [
                {
                    "check": "cosine",
                    "zones": [
                        {"at_least": 0.9, "action": action},
                        {"at_least": at_least, "action": "pending"},
                    ],
                    "top": 5,
                }
            ],
            "dedupe": {"rule": "pairs", "above": 0.85},
            "consolidate": CONSOLIDATE,
        }
    )


POLICIES = (
    _policy("candidates", "auto_reject", 0.6),
    _policy("candidates", "pending", 0.5),
    _policy("memories", "superseded", 0.7),
    _policy("memories", "auto_reject", 0.5),
)


class Story:
    """A writer on a log, and the requests that it was asked, with what they were answered."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._folder = folder
        self._places = 0
        self._now = datetime(2026, 1, 2, tzinfo=UTC)
        self._said = 0
        self._death = Death()
        self.asked: list[tuple[AnyRequest, Answer]] = []
        self.submitted: list[tuple[list[Input], list[Outcome]]] = []
        self.happened: Counter[str] = Counter()
        self._owners = self._random.choice((OWNERS, OWNERS[:1]))
        policy = self._random.choice(POLICIES)
        kind = self._random.choice((Embedded, Embedded, Partition))
        self.house: Embedded | Partition = kind(folder, policy, lambda: self._now, self._death)
        self.happened[kind.__name__.lower()] += 1

    def play(self, steps: int) -> None:
        """Let `steps` things happen; AssertionError for what breaks a law."""
        with closing(self.house), patch.object(bulk, "STEPS", 2):
            for _ in range(steps):
                self._step()
            self.check()

    def _step(self) -> None:
        self._now += timedelta(seconds=self._random.choice((0, 1, 60, 90_000, -3_600)))
        [kind] = self._random.choices(
            "say ask again other look submit together restart move check".split(),
            (38, 38, 12, 6, 4, 6, 3, 1, 1, 2),
        )
        getattr(self, kind if kind == "check" else f"_{kind}")()

    def _alive(self, act: Callable[[], Result], *, in_parts: bool = False) -> Result:
        """Do something in a process that may die of it, then do it in the next one."""
        if self._random.random() < (0.6 if in_parts else 0.04):
            self._death.commits = self._random.choice((2, 3) if in_parts else (1, 1, 2))
            self._death.durable = self._random.random() < 0.5
        try:
            return act()
        except Killed:
            self.happened["killed"] += 1
            self.house.restart()
        finally:
            self._death.commits = 0
        return act()

    # -- what happens --------------------------------------------------------------------------

    def _say(self) -> None:
        draw = self._random
        self._said += 1
        number = draw.randint(1, self._said) if draw.random() < 0.05 else self._said
        text = draw.choice(FORMS if draw.random() < 0.3 else FORMS[:1])(
            draw.choice(WORDS) + draw.choice(ENDS)
        )
        row: dict[str, Any] = {
            "owner_id": draw.choice(self._owners),
            "namespace": draw.choice(NAMESPACES if draw.random() < 0.2 else NAMESPACES[:1]),
            "text": draw.choice((text, text, text, "green tea with milk and the boat")),
            "id": str(number),
            "source": draw.choice(SOURCES),
            "session_id": draw.choice(("s", "t", None)),
            "confidence": draw.choice((0.2, 0.8)),
        }
        if draw.random() < 0.2:
            row["occurred_at"] = self._earlier().isoformat()
        if draw.random() < 0.1:
            row["expires_at"] = self._later().isoformat()
        given = {name: value for name, value in row.items() if value is not None}
        said = inputs([given])
        for outcome in self._alive(lambda: self.house.submit(said)):
            what = outcome.reason if outcome.reason == "forgotten" else outcome.result
            self.happened[f"say {what}"] += 1

    def _submit(self) -> None:
        """Rows under a key are one request: delivered again, they are answered as they were."""
        if isinstance(self.house, Partition):
            return
        draw = self._random
        before = self.head
        if self.submitted and draw.random() < 0.5:
            rows, outcomes = draw.choice(self.submitted)
            [submission] = {row.submission for row in rows}
            assert submission is not None
            if draw.random() < 0.5:
                rows = [replace(row, submission=submission._replace(asked="other")) for row in rows]
                outcomes = [OTHER_REQUEST] * len(rows)
            assert self.house.submit(rows) == outcomes, "rows under a key are answered otherwise"
            assert self.head == before, "rows under a key write when they come again"
            self.happened["submit again"] += 1
            return
        owner, key = draw.choice(OWNERS), str(UUID(int=draw.getrandbits(128)))
        asked = [one.request_id for one, answer in self.asked if self._is_recorded(answer)]
        is_taken = bool(asked) and draw.random() < 0.2
        key = draw.choice(asked) if is_taken else key
        texts = [draw.choice(WORDS) + draw.choice(ENDS) for _ in range(draw.randint(1, 3))]
        said = [
            {"owner_id": owner, "text": text, "id": f"{key}/{number}", "source": "bot"}
            for number, text in enumerate(texts)
        ]
        submission = Submission(key, "asked", len(said))
        rows = [replace(item, submission=submission) for item in inputs(said)]
        outcomes = self._alive(lambda: self.house.submit(rows))
        if is_taken:
            assert outcomes == [OTHER_REQUEST] * len(rows), "a request's id is used for rows"
            assert self.head == before
            return
        self.submitted.append((rows, outcomes))
        self.happened["submit"] += 1

    def _earlier(self) -> datetime:
        return self._now - timedelta(hours=self._random.randint(-5, 500))

    def _later(self) -> datetime:
        return self._now + timedelta(hours=self._random.randint(-5, 50))

    def expiry(self) -> dict[str, Any] | None:
        """A candidate, mostly one that expires, and when it does from now on, if ever."""
        found = [entry for ledger in self.ledgers() for entry in ledger.entries.values()]
        ends = [entry for entry in found if entry.expires_at is not None]
        if not found:
            return None
        return {
            "candidate_id": self._random.choice(ends or found).id,
            "expires_at": self.choice(None, self._later(), self._later()),
            "rank": self.choice(*SPEAKERS),
        }

    def drawn(self, kinds: Sequence[str]) -> AnyRequest | None:
        """A request of one of some kinds, if there is anything for it to name."""
        kind = self._random.choice(kinds)
        fields = KINDS[kind](self)
        if fields is None:
            return None
        own = {
            "request": kind,
            "request_id": str(UUID(int=self._random.getrandbits(128))),
            "actor": self.choice(*ACTORS),
            "asked": self.choice(None, None, None, None, f"{self._random.getrandbits(128):032x}"),
        }
        return REQUEST.validate_python(own | fields)

    def _ask(self) -> None:
        kinds = [kind for kind in sorted(KINDS) for _ in range(OFTEN.get(kind, 2))]
        if any(ledger.composing for ledger in self.ledgers()):
            kinds += ["compose"] * len(kinds)
        request = self.drawn(kinds)
        if request is not None:
            self._new(request)

    def _new(self, request: AnyRequest) -> Answer:
        """A request that was not there before."""
        before = self.head
        in_parts = isinstance(request, ReverseRequest | RetractRequest)
        answer = self._alive(lambda: self._answer(request), in_parts=in_parts)
        self._note(request, answer)
        assert self.head > before or not self._is_recorded(answer)
        return answer

    def _note(self, request: AnyRequest, answer: Answer) -> None:
        self.asked.append((request, answer))
        self.happened[f"{request.request} {type(answer).__name__.lower()}"] += 1
        if isinstance(request, SettleRequest) and isinstance(answer, Done):
            faces = (ledger.entries.get(request.candidate_id) for ledger in self.ledgers())
            deep = max(len(face.memory.face.sources) for face in faces if face is not None)
            self.happened["composed of three"] += deep > 2

    def _is_recorded(self, answer: Answer) -> bool:
        """Whether the log has an answer: that of a run which was done before is told by the run."""
        return not (isinstance(answer, Done) and "done_before" in answer.result)

    def _look(self) -> None:
        """A dry run writes nothing and does not use its id: what is asked for real does as told."""
        request = self.drawn(LOOKS)
        if request is None:
            return
        before = self.head
        look = request.model_copy(update={"dry_run": True})
        told = self._answer(look)
        assert self.head == before, "a dry run writes"
        self.happened[f"look {type(told).__name__.lower()}"] += 1
        if self.choice(True, False):
            answer = self._new(request)
            if isinstance(answer, Refused) and _may_go_unforeseen(request, answer):
                return
            assert type(answer) is type(told), "a dry run does otherwise than is done"
            if isinstance(answer, Done) and isinstance(told, Done):
                done, shown = untimed(answer.result), untimed(told.result)
                differ = [one for one in done.keys() & shown.keys() if done[one] != shown[one]]
                assert differ == [], f"a dry run of {request.request} tells otherwise"

    def _together(self) -> None:
        """Small requests in one transaction, one of them twice, and an id for two things."""
        drawn = [self.drawn(TOGETHER) for _ in range(self._random.randint(1, 4))]
        several = [one for one in drawn if one is not None]
        if not several:
            return
        first = several[0]
        other = first.model_copy(update={"because": "something else", "asked": None})
        house = self.house
        answers = self._alive(lambda: house.ask_together([*several, first, other]))
        *new, again, conflict = answers
        assert again == new[0], "a request of one transaction is answered otherwise"
        assert isinstance(conflict, Refused)
        assert conflict.reason == "id_conflict"
        for request, answer in zip(several, new, strict=True):
            self._note(request, answer)
        self.happened["together"] += 1

    def _again(self) -> None:
        """L16: a request delivered again is answered as it was, and writes nothing."""
        if not self.asked:
            return
        request, answer = self._random.choice(self.asked)
        before = self.head
        again = request.model_copy(update={"actor": self.choice(*ACTORS)})
        if request.asked is not None:
            again = again.model_copy(update={"because": "said otherwise"})
        assert self._answer(again) == answer, f"{request.request} is answered otherwise"
        assert self.head == before, f"{request.request} writes when it comes again"
        self.happened[f"again {type(answer).__name__.lower()}"] += 1

    def _other(self) -> None:
        """L16: the same id with other content is refused, and writes nothing."""
        if not self.asked:
            return
        request, answer = self._random.choice(self.asked)
        if not self._is_recorded(answer):
            return
        named = [request.request_id]
        named += [one[0].submission.request_id for one, _ in self.submitted if one[0].submission]
        others = [one for one, _ in self.asked if one.request != request.request]
        other = self._random.choice([*others, request])
        changed = {
            "request_id": self._random.choice(named),
            "because": "something else",
            "asked": self.choice(None, "0" * 32),
        }
        before = self.head
        refused = self._answer(other.model_copy(update=changed))
        assert isinstance(refused, Refused), "an id is used for two things"
        assert refused.reason == "id_conflict"
        assert self.head == before
        self.happened["other"] += 1

    def _restart(self) -> None:
        self.house.restart()
        self.happened["restart"] += 1

    def _move(self) -> None:
        """All that was recorded is brought to another place."""
        self._places += 1
        folder = self._folder / str(self._places)
        folder.mkdir()
        self.house.move(folder)
        self.happened["move"] += 1

    @property
    def head(self) -> int:
        """How many events there are."""
        return self.house.log.head()

    def _answer(self, request: AnyRequest) -> Answer:
        """What a request is answered, by one of the doors."""
        return self.house.ask(request, self._random.choice(self.house.doors))

    # -- what must hold ------------------------------------------------------------------------

    def check(self) -> None:
        """The memories are those of the oracle, and no text lives twice; the fold is the state."""
        lines = [line for _, line in self.house.log.lines()]
        oracle, events = Oracle.of(lines), [orjson.loads(line) for line in lines]
        for owner in OWNERS:
            expired = self._expired(owner, events)
            ledger = self.house.writer.ledger(owner)
            memories = ledger.memories()
            ours = {frozenset(member.id for member in memory.members) for memory in memories}
            assert ours == oracle.memories(owner)
            composed = [memory for memory in memories if memory.face.composition is not None]
            faces = {
                member.id: memory.face.text for memory in composed for member in memory.members
            }
            assert oracle.faults(owner, faces, expired) == []
            assert {one for one, entry in ledger.entries.items() if entry.expired} == expired
            assert pictures(ledger) == pictures(fold_owner(self.house.log, owner))
        self._check_causes(events)

    def _expired(self, owner: str, events: Sequence[dict[str, Any]]) -> set[str]:
        """Whose time has come now, or at the latest event of their owner, if that is later."""
        expiries = Expiries(now=self._now)
        for event in events:
            if event.get("partitionkey") == owner:
                expiries.take(event)
        expired = {one for one in expiries.ends if expiries.expired(one, expiries.now)}
        self.happened["expired"] += len(expired)
        return expired

    def _check_causes(self, events: Sequence[dict[str, Any]]) -> None:
        """The answer of a bulk request names all that it took out, also if it was cut short."""
        done: dict[tuple[str, str], set[str]] = {}
        for event in events:
            data, kind = event["data"], event["type"].split(".")[1]
            about = data.get("decision_id") if kind == "reversed" else data.get("candidate_id")
            done.setdefault((kind, data.get("cause")), set()).add(about)
        for request, answer in self.asked:
            if isinstance(request, ReverseRequest | RetractRequest) and isinstance(answer, Done):
                kind = "reversed" if request.request == "reverse" else "retracted"
                named = set(answer.result[kind])
                assert named == done.get((kind, request.request_id), set()), "it leaves out some"

    # -- what requests name --------------------------------------------------------------------

    def ledgers(self) -> list[Ledger]:
        """The owners' ledgers."""
        return [self.house.writer.ledger(owner) for owner in OWNERS]

    def entries(self) -> Sequence[Entry]:
        """The candidates of one of the owners."""
        return list(self._random.choice(self.ledgers()).entries.values())

    def entry(self) -> Entry | None:
        """One of the candidates."""
        found = self.entries()
        return self._random.choice(found) if found else None

    def edge(self, *, standing: bool) -> Edge | None:
        """One of the joins; sometimes one for which there is nothing to do."""
        wanted = standing if self._random.random() < 0.9 else not standing
        edges = (edge for ledger in self.ledgers() for edge in ledger.edges.values())
        found = [edge for edge in edges if edge.standing is wanted]
        return self._random.choice(found) if found else None

    def updated(self) -> dict[str, Any] | None:
        """A candidate of an update, or any other."""
        edges = (edge for ledger in self.ledgers() for edge in ledger.edges.values())
        found = [edge.newer for edge in edges if edge.over is not None] or self.entries()
        return {"candidate_id": self._random.choice(found).id} if found else None

    def paired(self) -> dict[str, Any] | None:
        """Two about which something was said, or any other two."""
        said = [
            {"a": one.a, "b": one.b}
            for one, _ in self.asked
            if isinstance(one, MergeRequest | SeparateRequest)
        ]
        return self._random.choice(said) if said and self._random.random() < 0.8 else self.pair()

    def pair(self) -> dict[str, Any] | None:
        """Two candidates of one owner, seldom of two."""
        found = self.entries()
        if self._random.random() < 0.05:
            found = [entry for ledger in self.ledgers() for entry in ledger.entries.values()]
        if len(found) < 2:
            return None
        a, b = self._random.sample(found, 2)
        return {"a": a.id, "b": b.id}

    def choice(self, *of: Any) -> Any:
        """One of some values."""
        return self._random.choice(of)

    def selection(self, *, out: bool) -> dict[str, Any]:
        """What a bulk request means; of several owners, too."""
        causes = [one.request_id for one, _ in self.asked]
        kinds: list[dict[str, Any]] = [
            {"owner_id": self._random.choice(OWNERS)},
            {"owner_id": self._random.choice(OWNERS), "until": self._now - timedelta(hours=2)},
            {"source": self._random.choice(SOURCES)},
            {"since": self._now - timedelta(hours=2)},
            {"decision": self.choice("hash_exact", "auto_reject", "superseded", "stored")},
        ]
        if causes and not out:
            kinds += [{"cause": self._random.choice(causes)}] * 3
        chosen: dict[str, Any] = self._random.choice(kinds)
        return chosen

    def forgotten(self) -> str | None:
        """The name of a forgetting."""
        names = [
            one.request_id
            for one, answer in self.asked
            if one.request == "forget" and isinstance(answer, Done)
        ]
        return self._random.choice(names) if names else None

    def verdicts(self) -> dict[str, Any] | None:
        """What a judge answers about a candidate that waits."""
        waiting = [
            (len(ledger.entries[entry.open[0]].memory.face.sources), entry)
            for ledger in self.ledgers()
            for entry in ledger.entries.values()
            if entry.open
        ]
        if not waiting:
            return None
        _, entry = self._random.choice(waiting)
        answer = self.choice("same", "different", "unavailable", "update", "compose")
        if self.choice(True, False):  # a text of ever more sources
            _, entry = max(waiting, key=lambda one: one[0])
            answer = "compose"
        verdict = Verdict(neighbour_id=entry.open[0], answer=answer)
        text = f"{self.choice(*WORDS)} and {self.choice(*WORDS)}"
        composed = self.choice(text, "green tea with milk and the boat")
        return {
            "candidate_id": entry.id,
            "verdicts": (verdict,),
            "composed": composed if answer == "compose" else None,
        }

    def update(self) -> dict[str, Any] | None:
        """Another text for a memory, sometimes of another time."""
        entry = self.entry()
        if entry is None:
            return None
        return {
            "memory_id": entry.id,
            "owner_id": self.choice(None, None, None, None, None, *OWNERS),
            "expect": self.choice(None, None, None, entry.memory.face.speaker.id, entry.id),
            "text": self.choice(*FORMS)(self.choice(*WORDS) + self.choice(*ENDS)),
            "rank": self.choice(*SPEAKERS),
            "merge": self.choice(True, False),
            "occurred_at": self.choice(None, self._earlier()),
        }

    def forget(self) -> dict[str, Any] | None:
        """Some memories, with any word on what comes again."""
        found = self.entries()
        if not found:
            return None
        ids = [one.id for one in self._random.sample(found, min(len(found), self.choice(1, 1, 2)))]
        again = self.choice(None, "ask", "allow", "refuse")
        return {"memory_ids": tuple(ids), "again": again, "rank": self.choice(*SPEAKERS)}

    def unmerge(self) -> dict[str, Any] | None:
        """A join out, or those of a memory."""
        entry, edge = self.entry(), self.edge(standing=True)
        if entry is None or edge is None:
            return None
        named = self.choice(
            {"decision_id": edge.id}, {"candidate_id": edge.newer.id}, {"memory_id": entry.id}
        )
        rank = self.choice(*RANKS)
        return {**named, "rank": rank, "with_consequences": self.choice(True, False)}

    def run(self) -> dict[str, Any]:
        """A batch run that is due, or the record of one that a judge took part in."""
        due = self._now.replace(hour=0, minute=0, second=0)
        figures = self.choice(None, None, {"pairs": 1})
        step = self.choice("dedupe", "review") if figures else "dedupe"
        return {
            "owner_id": self.choice(*OWNERS),
            "step": step,
            "due": due,
            "figures": figures,
            "force": self.choice(True, False),
        }

    def combine(self) -> dict[str, Any] | None:
        """A join of a batch run, by a rule or by the judge."""
        pair = self.pair()
        if pair is None:
            return None
        decision, face = self.choice(("auto_reject", "keep"), ("superseded", "take"))
        evidence = Evidence(
            policy=self.house.writer.policy.hash,
            neighbours=(Neighbour(candidate_id=pair["a"], cosine=0.9),),
        )
        rank = self.choice("rule", "judge")
        return {**pair, "decision": decision, "face": face, "evidence": evidence, "rank": rank}

    def compose(self) -> dict[str, Any] | None:
        """A text for a join that lost its own, or for any other."""
        lost = [
            (decision_id, tuple(left.sources))
            for ledger in self.ledgers()
            for decision_id, left in ledger.composing.items()
        ]
        edge = self.edge(standing=True)
        if not lost and edge is not None:
            lost = [(edge.id, (edge.older.id, edge.newer.id))]
        if not lost:
            return None
        decision_id, sources = self._random.choice(lost)
        text = f"{self.choice(*WORDS)} and {self.choice(*WORDS)}"
        return {"decision_id": decision_id, "text": text, "sources": sources}

    def vectors(self) -> dict[str, Any] | None:
        """Another model's vector of a candidate's text."""
        owner = self.choice(*OWNERS)
        entries = [*self.house.writer.ledger(owner).entries.values()]
        if not entries:
            return None
        name = self._random.choice(entries).id
        return {"owner_id": owner, "vectors": ({"candidate_id": name, "vector": VECTOR},)}

    def audit(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """A record about an audit, with a pair of its own if it is about one."""
        return {**record, **({"pair": self.choice(*"xyz")} if "pair" in record else {})}

    def session(self) -> dict[str, Any]:
        """A session of an owner, which may have said nothing."""
        return {"owner_id": self.choice(*OWNERS), "session_id": self.choice("s", "t", "u")}


def _may_go_unforeseen(request: AnyRequest, refused: Refused) -> bool:
    """Whether a dry run need not tell a refusal.

    It shows what `merge` would do. And it asks no model (L13): it does not see that an agent's new
    text rewords what was forgotten.
    """
    if not isinstance(request, UpdateRequest):
        return False
    rewords = refused.reason == "forgotten" and refused.detail.startswith("this rewords")
    return refused.reason == "lives_elsewhere" or (rewords and request.rank == "agent")


def untimed(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """A result without how long it took."""
    if "figures" not in result:
        return result
    timed = {**result["figures"], "duration_ms": None}
    return {**result, "figures": timed}


def _of_entry(story: Story, name: str) -> dict[str, Any] | None:
    entry = story.entry()
    return None if entry is None else {name: entry.id}


def _of_edge(story: Story, *, standing: bool, **more: Any) -> dict[str, Any] | None:
    edge = story.edge(standing=standing)
    return None if edge is None else {"decision_id": edge.id, **more}


def _with(fields: dict[str, Any] | None, **more: Any) -> dict[str, Any] | None:
    return None if fields is None else fields | more


def _remembered(story: Story) -> dict[str, Any]:
    name = story.forgotten()
    if name is None or story.choice(True, False):
        return {"selection": story.selection(out=False)}
    return {"forgotten": name}


KINDS: dict[str, Callable[[Story], dict[str, Any] | None]] = {
    "merge": lambda story: story.pair(),
    "separate": lambda story: _with(story.pair(), rank=story.choice(*RANKS)),
    "withdraw": Story.paired,
    "confirm": lambda story: _of_edge(story, standing=True, rank=story.choice(*RANKS)),
    "reinstate": lambda story: _of_edge(story, standing=False, rank=story.choice(*SPEAKERS)),
    "unmerge": Story.unmerge,
    "reverse": lambda story: {"selection": story.selection(out=True)},
    "reinstate_many": lambda story: {"selection": story.selection(out=False)},
    "update": Story.update,
    "undo": lambda story: _with(story.updated(), rank=story.choice(*SPEAKERS)),
    "forget": Story.forget,
    "retract": lambda story: {"selection": story.selection(out=True)},
    "restore": _remembered,
    "settle": Story.verdicts,
    "access": lambda story: _of_entry(story, "candidate_id"),
    "combine": Story.combine,
    "compose": Story.compose,
    "embed": lambda story: {"owner_id": story.choice(*OWNERS), "long": story.choice(True, False)},
    "end_session": Story.session,
    "compact": Story.session,
    "run": Story.run,
    "set_expiry": Story.expiry,
    "set_names": lambda story: {"owner_id": story.choice(*OWNERS), "names": story.choice(*NAMES)},
    "set_policy": lambda story: {"policy": story.choice(*POLICIES).model_dump(mode="json")},
    "add_vectors": Story.vectors,
    "submit": lambda story: {"owner_id": story.choice(*OWNERS)},
    "refuse": lambda story: {
        "named": story.choice(*"xyz"),
        "owner_id": story.choice(None, *OWNERS),
        "reason": "nothing_to_undo",
        "detail": "nothing undoes it",
    },
    "open_audit": lambda story: {"opened": story.audit(AUDIT)},
    "label_audit": lambda story: {"labelled": story.audit(LABEL)},
    "certify": lambda story: {"certified": story.audit(CERTIFICATE)},
}
UNRECORDED = frozenset({"check"})
"""Requests that write nothing, so that none has a first answer."""
OFTEN = {"settle": 16, "forget": 4, "update": 4, "reinstate": 6, "withdraw": 4}
RARE = "reinstate_many restore add_vectors submit refuse open_audit label_audit certify"
OFTEN |= dict.fromkeys(RARE.split(), 1)
"""How often a kind is drawn, if not twice: what takes out or brings back all of an owner hides the
rest of a story, and what no ledger folds adds nothing to it."""
LOOKS = [
    *("reinstate", "unmerge", "reverse", "reinstate_many", "update", "undo", "forget"),
    *("retract", "restore", "run"),
]
"""Requests that have a dry run."""
TOGETHER = ["settle", "compose", "combine", "separate", "confirm"]
"""Requests of which many are carried out in one transaction."""
