"""Generated histories of requests, as people and processes make them of a writer.

Several owners and scopes, requests of every kind and rank, bulk requests, policies that change,
clocks that jump back, ids that are used again, processes that start anew, and logs that are
exported and imported. Some requests are delivered again, and some ids name something else.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from palimpsest.contracts.answers import Answer, Done, Refused
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import REQUEST, AnyRequest, MergeRequest, SeparateRequest
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.embedder import DEFAULT_MODEL
from palimpsest.streams.log.import_log import import_lines
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.serve import PendingRequest, serve
from tests.laws.oracle import Oracle
from tests.streams.write.runtime import Runtime

OWNERS = ("ada", "bob", "cy")
NAMESPACES = ("default", "work")
SOURCES = ("bot", "form")
RANKS = ("rule", "judge", "agent", "review", "person")
SPEAKERS = ("agent", "person")
WORDS = ("green tea with milk", "two cats on the old stove", "the boat is on the lake")
ENDS = ("", " today", " again", " and honey", " no more")
FORMS: tuple[Callable[[str], str], ...] = (
    str,
    str.upper,
    str.title,
    lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
)
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
        self._files = 0
        self._now = datetime(2026, 1, 2, tzinfo=UTC)
        self._said = 0
        self.asked: list[tuple[AnyRequest, Answer]] = []
        self.happened: Counter[str] = Counter()
        self.runtime = self._opened(self._random.choice(POLICIES))

    def _opened(self, policy: Policy) -> Runtime:
        return Runtime(
            self._folder / f"{self._files}.sqlite", policy=policy, clock=lambda: self._now
        )

    def play(self, steps: int) -> None:
        """Let so many things happen; AssertionError for what breaks a law."""
        try:
            for _ in range(steps):
                self._step()
            self.check()
        finally:
            self.runtime.close()

    def _step(self) -> None:
        self._now += timedelta(seconds=self._random.choice((0, 1, 60, 90_000, -3_600)))
        [kind] = self._random.choices(
            ("say", "ask", "again", "other", "restart", "move"), (40, 40, 12, 6, 1, 1)
        )
        getattr(self, f"_{kind}")()

    # -- what happens --------------------------------------------------------------------------

    def _say(self) -> None:
        draw = self._random
        self._said += 1
        number = draw.randint(1, self._said) if draw.random() < 0.05 else self._said
        text = draw.choice(FORMS if draw.random() < 0.3 else FORMS[:1])(
            draw.choice(WORDS) + draw.choice(ENDS)
        )
        row: dict[str, Any] = {
            "owner_id": draw.choice(OWNERS),
            "namespace": draw.choice(NAMESPACES if draw.random() < 0.2 else NAMESPACES[:1]),
            "text": draw.choice((text, text, text, "green tea with milk and the boat")),
            "id": str(number),
            "source": draw.choice(SOURCES),
            "session_id": draw.choice(("s", "t", None)),
            "confidence": draw.choice((0.2, 0.8)),
        }
        if draw.random() < 0.2:
            row["occurred_at"] = self._earlier().isoformat()
        given = {name: value for name, value in row.items() if value is not None}
        [outcome] = self.runtime.submit(given)
        self.happened[f"say {outcome.result}"] += 1

    def _earlier(self) -> datetime:
        return self._now - timedelta(hours=self._random.randint(-5, 500))

    def _ask(self) -> None:
        kind = self._random.choice(sorted(KINDS))
        fields = KINDS[kind](self)
        if fields is None:
            return
        request = REQUEST.validate_python(
            {"request": kind, "request_id": str(UUID(int=self._random.getrandbits(128))), **fields}
        )
        before = self.head
        answer = self._answer(request)
        self.asked.append((request, answer))
        what = type(answer).__name__.lower()
        self.happened[f"{kind} {what}"] += 1
        assert self.head > before or "done_before" in getattr(answer, "result", {})

    def _again(self) -> None:
        """L16: a request delivered again is answered as it was, and writes nothing."""
        if not self.asked:
            return
        request, answer = self._random.choice(self.asked)
        before = self.head
        assert self._answer(request) == answer, f"{request.request} is answered otherwise"
        assert self.head == before, f"{request.request} writes when it comes again"
        self.happened[f"again {type(answer).__name__.lower()}"] += 1

    def _other(self) -> None:
        """L16: the same id with other content is refused, and writes nothing."""
        if not self.asked:
            return
        request, answer = self._random.choice(self.asked)
        if isinstance(answer, Done) and "done_before" in answer.result:
            return
        others = [one for one, _ in self.asked if one.request != request.request]
        other = self._random.choice([*others, request])
        changed = {"request_id": request.request_id, "because": "something else"}
        before = self.head
        refused = self._answer(other.model_copy(update=changed))
        assert isinstance(refused, Refused), "an id is used for two things"
        assert refused.reason == "id_conflict"
        assert self.head == before
        self.happened["other"] += 1

    def _restart(self) -> None:
        policy = self.runtime.writer.policy
        self.runtime.close()
        self.runtime = self._opened(policy)
        self.happened["restart"] += 1

    def _move(self) -> None:
        """The log is exported, and imported into another store."""
        lines, policy = self.runtime.lines(), self.runtime.writer.policy
        self.runtime.close()
        self._files += 1
        self.runtime = self._opened(policy)
        import_lines(self.runtime.log, lines)
        assert self.runtime.lines() == lines
        self.happened["move"] += 1

    @property
    def head(self) -> int:
        """How many events there are."""
        return self.runtime.log.head()

    def _answer(self, request: AnyRequest) -> Answer:
        """What a request is answered, as it travels."""
        [answer] = serve(self.runtime.writer, [PendingRequest(request)])
        if isinstance(answer, Done):
            return Done(orjson.loads(orjson.dumps(answer.result)))
        return answer

    # -- what must hold ------------------------------------------------------------------------

    def check(self) -> None:
        """The memories are those of the oracle, and no text lives twice; the fold is the state."""
        oracle = Oracle.of(self.runtime.lines())
        for owner in OWNERS:
            ledger = self.runtime.writer.ledger(owner)
            memories = ledger.memories()
            ours = {frozenset(one.id for one in memory.members) for memory in memories}
            assert ours == oracle.memories(owner)
            faces = {one.id: memory.face.text for memory in memories for one in memory.members}
            assert oracle.faults(owner, faces) == []
        assert self.runtime.ledger_matches_log()

    # -- what requests name --------------------------------------------------------------------

    def ledgers(self) -> list[Ledger]:
        """The owners' ledgers."""
        return [self.runtime.writer.ledger(owner) for owner in OWNERS]

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
        """Two of whom something was said, or any other two."""
        said = [
            {"a": one.a, "b": one.b}
            for one, _ in self.asked
            if isinstance(one, MergeRequest | SeparateRequest)
        ]
        return self._random.choice(said) if said and self._random.random() < 0.8 else self.pair()

    def pair(self) -> dict[str, Any] | None:
        """Two candidates of one owner."""
        found = self.entries()
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
        everyone = (entry for ledger in self.ledgers() for entry in ledger.entries.values())
        waiting = [entry for entry in everyone if entry.open]
        if not waiting:
            return None
        entry = self._random.choice(waiting)
        answer = self.choice("same", "different", "unavailable", "compose", "update")
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
        rank = self.choice("review", "agent", "person")
        return {**named, "rank": rank, "with_consequences": self.choice(True, False)}

    def run(self) -> dict[str, Any]:
        """A batch run that is due."""
        due = self._now.replace(hour=0, minute=0, second=0)
        return {"owner_id": self.choice(*OWNERS), "step": "dedupe", "due": due}


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
    "confirm": lambda story: _of_edge(story, standing=True, rank=story.choice("review", "person")),
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
    "end_session": lambda story: {"owner_id": story.choice(*OWNERS), "session_id": "s"},
    "run": Story.run,
    "set_policy": lambda story: {"policy": story.choice(*POLICIES).model_dump(mode="json")},
}
