"""`given(...).when(...).then(...).shows(...)`: histories that read as their own description.

Candidates are named by a word. `then` compares every event of the last command, in order, each as
a short sentence (`told`); `shows` compares every living memory: its face and its living members.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal, Self
from uuid import uuid5

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.commands import (
    Access,
    Admit,
    Combine,
    Compose,
    Confirm,
    EndSession,
    Forget,
    Merge,
    Operation,
    RecordRun,
    Redecide,
    Reinstate,
    Restore,
    Retract,
    Separate,
    SetExpiry,
    SetNames,
    Settle,
    Undo,
    Unmerge,
    Update,
    Withdraw,
)
from palimpsest.contracts.events import (
    Again,
    AnyEvent,
    BatchJoin,
    BatchStep,
    Composition,
    Content,
    Decided,
    Embedded,
    Erased,
    FaceRule,
    FirstDecision,
    Invalid,
    Join,
    Joined,
    JudgeSet,
    PolicySet,
    Rank,
    Redecided,
    Refused,
    Reversed,
    Separated,
    Settled,
    Settlement,
    Speaker,
    Vector,
)
from palimpsest.contracts.evidence import Answer, Evidence, Neighbour, Verdict
from palimpsest.contracts.identity import NAMESPACE, candidate_id, digest
from palimpsest.contracts.policy import (
    CosineCheck,
    Judge,
    Policy,
    RecentCheck,
    SessionCheck,
    TokenCheck,
    Zone,
)
from palimpsest.streams.core.decide import execute
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Edge, Ledger, Memory, Statement
from palimpsest.streams.core.separations import separation
from palimpsest.streams.core.text import content_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def policy(
    *checks: TokenCheck | SessionCheck | RecentCheck | CosineCheck,
    unavailable: str = "keep",
    protected: tuple[str, ...] = (),
    neighbours: int = 3,
    search: str = "candidates",
) -> Policy:
    """A policy of these checks; without any, the zones of `PLAIN`."""
    return Policy.model_validate(
        {
            "name": "spec",
            "model": "by-hand",
            "search": search,
            "protected_categories": protected,
            "checks": checks or (ZONES,),
            "judge": Judge.model_validate({"neighbours": neighbours, "unavailable": unavailable}),
        }
    )


ZONES = CosineCheck(
    check="cosine",
    top=10,
    zones=(
        Zone(at_least=0.95, action="superseded"),
        Zone(at_least=0.9, action="auto_reject"),
        Zone(at_least=0.7, action="pending"),
    ),
)
PLAIN = policy()
"""From .95 the newer takes the face, from .90 the older keeps it, from .70 the judge is asked."""

TAKE, KEEP, ASK = 0.97, 0.92, 0.8
"""Similarities in the zones of `PLAIN`."""


class History:
    """An owner's ledger and log, driven by steps; the clock moves one second a step."""

    def __init__(self, policy: Policy = PLAIN, owner_id: str = "ada") -> None:
        self.policy = policy
        self.owner_id = owner_id
        self.ledger = Ledger(owner_id)
        self.log: list[AnyEvent] = []
        self.new: list[AnyEvent] = []
        self.now = BEGIN
        self.commands = 0
        self.last: Admit | Operation | None = None

    def memory(self, name: str) -> Memory:
        """The memory of a candidate."""
        return self.ledger.entries[self.id(name)].memory

    def id(self, name: str) -> str:
        """The id of the candidate with this name, known or not."""
        return candidate_id(self.owner_id, "spec", name)

    def name(self, known_id: str) -> str:
        """The name of a candidate."""
        entry = self.ledger.entries.get(known_id)
        return entry.fields.id if entry else "?"

    def text(self, name: str) -> str:
        """What a candidate said."""
        return self.ledger.entries[self.id(name)].text

    def join(self, newer: str, older: str | None = None) -> Edge:
        """The latest join whose newer candidate this is, whether it stands or not."""
        edges = self.ledger.entries[self.id(newer)].edges
        return [
            edge
            for edge in edges
            if self.name(edge.newer.id) == newer and older in (None, self.name(edge.older.id))
        ][-1]

    def fresh(self) -> str:
        """A command id that was not given out before."""
        self.commands += 1
        return str(uuid5(NAMESPACE, f"spec:{self.owner_id}:{self.commands}"))

    def do(self, *steps: Step) -> Self:
        """Carry out steps one after the other."""
        for step in steps:
            self.now += SECOND
            self.carry_out(step(self))
        return self

    def carry_out(self, command: Admit | Operation) -> None:
        """Carry out one command; `new` are its events."""
        self.last = command
        self.new = [event for event, _ in execute(command, self.ledger, self.policy, self.now)]
        self.log += self.new

    when = do

    def again(self) -> Self:
        """Deliver the last command a second time."""
        assert self.last is not None
        self.carry_out(self.last)
        return self

    def then(self, *sentences: str) -> Self:
        """Compare the events of the last command."""
        assert [describe_event(self, event) for event in self.new] == list(sentences)
        return self

    def shows(self, expected: Mapping[str, str]) -> Self:
        """Compare the living memories: `{face: "names of its living members by arrival"}`."""
        assert self.faces() == dict(expected)
        assert faces(self, replayed(self)) == dict(expected), "the replay differs"
        return self

    def faces(self) -> dict[str, str]:
        """What `shows` compares; `*` after a face says that it needs a composition."""
        return faces(self, self.ledger)

    def detail(self) -> str:
        """The detail of the refusal that the last command met."""
        (event,) = self.new
        assert isinstance(event, Refused)
        return event.data.detail


Step = Callable[[History], Admit | Operation]


def given(*steps: Step, policy: Policy = PLAIN) -> History:
    """A history in which these steps were carried out."""
    return History(policy).do(*steps)


def replayed(history: History) -> Ledger:
    """The ledger folded from the log alone."""
    ledger = Ledger(history.owner_id)
    for event in history.log:
        evolve(ledger, event)
    return ledger


def faces(history: History, ledger: Ledger) -> dict[str, str]:
    """Every living memory as `shows` writes it."""
    return {_face(memory): _living(memory) for memory in ledger.memories() if memory.living}


def _face(memory: Memory) -> str:
    return memory.face.text + ("*" if memory.face.needs_composition else "")


def _living(memory: Memory) -> str:
    return " ".join(entry.fields.id for entry in memory.members if entry.living)


def describe_event(history: History, event: AnyEvent) -> str:
    """An event as a sentence: who, what, with whom."""
    name = history.name
    match event:
        case Decided(data=decided):
            subject = f"{name(event.subject)} {decided.decision}"
            return f"{subject} {name(decided.join.to)}" if decided.join else subject
        case Settled(data=later) | Joined(data=later) | Redecided(data=later):
            subject = f"{name(later.candidate_id)} {later.decision}"
            return f"{subject} {name(later.join.to)}" if later.join else subject
        case Reversed(data=cut):
            word = "reversed" if cut.separates else "reversed (still together)"
            if cut.is_withdrawal:
                word = "withdrawn"
            return f"{word} {name(cut.candidate_id)} {name(cut.joined_to)}"
        case Separated(data=pair):
            return f"separated {name(pair.candidate_id)} {name(pair.other_id)}"
        case Refused(data=refused):
            return f"refused {refused.reason}"
        case Invalid(data=invalid):
            return f"invalid {invalid.reason}"
        case PolicySet() | JudgeSet() | Erased() | Embedded():
            return event.type.split(".")[1]
        case _:
            return _about(history, event)


def _about(history: History, event: AnyEvent) -> str:
    word = event.type.split(".")[1]
    about = history.ledger.edges.get(event.subject)
    if about is not None:
        return f"{word} {history.name(about.newer.id)} {history.name(about.older.id)}"
    known = event.subject in history.ledger.entries
    return f"{word} {history.name(event.subject) if known else event.subject}"


def vector(*numbers: float) -> Vector:
    """A hand-made vector; the core never looks into it."""
    data = base64.b64encode(struct.pack(f"<{len(numbers)}e", *numbers)).decode()
    return Vector(model="by-hand", engine="by-hand", dimension=len(numbers), data=data)


def content(text: str, at: tuple[float, ...] | None = None, fingerprint: str = "") -> Content:
    """What is recorded of a text."""
    return content_of(
        text,
        fingerprint=fingerprint or digest(text.encode()),
        vector=vector(*at) if at else vector(float(len(text))),
    )


def say(
    name: str,
    text: str,
    sees: Mapping[str, float] | None = None,
    *,
    words: Mapping[str, float] | None = None,
    rewords: Mapping[str, float] | None = None,
    after: float = 0,
    **fields: str | float,
) -> Step:
    """A candidate; `sees` are its neighbours' cosines and `words` their Jaccard scores.

    `rewords` are the cosines of forgotten texts that wait with their rewordings.

    `after` seconds are waited first (below nought: the producer's clock went back).
    """

    def step(history: History) -> Admit:
        history.now += after * SECOND
        scores = {**dict.fromkeys(words or {}), **(sees or {})}
        neighbours = tuple(
            Neighbour(
                candidate_id=history.id(other),
                cosine=cosine,
                jaccard=(words or {}).get(other),
            )
            for other, cosine in scores.items()
        )
        row = {"owner_id": history.owner_id, "source": "spec", "id": name, "text": text, **fields}
        return Admit(
            candidate_id=history.id(name),
            candidate=Candidate.model_validate(row).fields(),
            content=content(text),
            digest=digest(repr(row).encode()),
            neighbours=neighbours,
            forgotten=_at(history, rewords),
        )

    return step


def _at(history: History, cosines: Mapping[str, float] | None) -> tuple[Neighbour, ...]:
    return tuple(
        Neighbour(candidate_id=history.id(other), cosine=cosine)
        for other, cosine in (cosines or {}).items()
    )


def composition(history: History, text: str, sources: str) -> Composition:
    """A composed text and its sources, by name."""
    ids = tuple(history.id(source) for source in sources.split())
    return Composition(content=content(text), sources=ids)


def judge(
    name: str,
    *,
    text: str = "",
    sources: str = "",
    rank: Rank = "judge",
    speaker: str | None = None,
    **answers: Answer,
) -> Step:
    """The judge's answers about a pending candidate, best neighbour first, and a composed text.

    `speaker` is whose text was compared, if not those that are asked about now.
    """

    def step(history: History) -> Settle:
        return Settle(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            candidate_id=history.id(name),
            verdicts=tuple(
                Verdict(
                    neighbour_id=history.id(other),
                    answer=answer,
                    speaker=None if speaker is None else history.id(speaker),
                )
                for other, answer in answers.items()
            ),
            composition=composition(history, text, sources) if sources else None,
            rank=rank,
        )

    return step


def pin(name: str, after: float = 0, rank: Speaker = "person") -> Step:
    """A candidate never expires, by a person; `after` seconds are waited first."""
    return set_expiry(name, None, after, rank)


def set_expiry(name: str, ttl: float | None, after: float = 0, rank: Speaker = "person") -> Step:
    """A candidate expires `ttl` seconds from then, or never; `after` seconds are waited first."""

    def step(history: History) -> SetExpiry:
        history.now += after * SECOND
        return SetExpiry(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            candidate_id=history.id(name),
            expires_at=None if ttl is None else history.now + ttl * SECOND,
            rank=rank,
        )

    return step


def set_names(*names: str) -> Step:
    """The owner is called by these names from then on."""

    def step(history: History) -> SetNames:
        return SetNames(command_id=history.fresh(), owner_id=history.owner_id, names=tuple(names))

    return step


def merge(a: str, b: str, face: str | None = None) -> Step:
    """A person says that the two are the same; `face` names whose side speaks."""
    return lambda history: Merge(
        command_id=history.fresh(),
        owner_id=history.owner_id,
        actor="eve",
        a=history.id(a),
        b=history.id(b),
        face=history.id(face) if face else None,
    )


def combine(
    a: str,
    b: str,
    decision: BatchJoin = "llm_reject",
    *,
    text: str = "",
    sources: str = "",
    cosine: float | None = None,
    outright: bool = False,
) -> Step:
    """A batch run joins two candidates: the newer speaks where it supersedes, a text if given."""

    def step(history: History) -> Combine:
        seen = Neighbour(candidate_id=history.id(a), cosine=cosine)
        taken = decision in ("superseded", "fallback_supersede")
        return Combine(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            a=history.id(a),
            b=history.id(b),
            decision=decision,
            face="text" if sources else "take" if taken else "keep",
            composition=composition(history, text, sources) if sources else None,
            evidence=Evidence(policy=history.policy.hash, check="dedupe", neighbours=(seen,)),
            outright=outright,
        )

    return step


def separate(a: str, b: str, rank: Rank = "person") -> Step:
    """Somebody of this rank says that the two are not the same."""
    return lambda history: Separate(
        command_id=history.fresh(),
        owner_id=history.owner_id,
        a=history.id(a),
        b=history.id(b),
        rank=rank,
    )


def withdraw(a: str, b: str) -> Step:
    """A person takes back that the two are not the same."""
    return lambda history: Withdraw(
        command_id=history.fresh(), owner_id=history.owner_id, a=history.id(a), b=history.id(b)
    )


def unmerge(
    newer: str, older: str | None = None, *, rank: Rank = "person", after: str | None = None
) -> Step:
    """Take the latest join of this newer candidate out, as a consequence of the one of `after`."""

    def take_out(history: History) -> Unmerge:
        command_id = history.fresh()
        return Unmerge(
            command_id=command_id,
            owner_id=history.owner_id,
            decision_id=history.join(newer, older).id,
            rank=rank,
            consequence_of=history.join(after).id if after else None,
            cause=command_id,
        )

    return take_out


def for_request(request_id: str, step: Step) -> Step:
    """The same command, as a part of what a request asks for."""

    def with_cause(history: History) -> Admit | Operation:
        command = step(history)
        assert isinstance(command, Unmerge | Redecide | Reinstate)
        return command.model_copy(update={"cause": request_id})

    return with_cause


def redecide(
    name: str,
    decision: FirstDecision | Settlement,
    to: str | None = None,
    *,
    after: str,
    face: FaceRule = "keep",
    asks: str = "",
    text: str = "",
) -> Step:
    """Decide on a candidate as it would have been without the latest join of `after`.

    `text` is composed of the two that the decision joins.
    """

    def step(history: History) -> Redecide:
        asked = tuple(history.id(one) for one in asks.split())
        near = tuple(Neighbour(candidate_id=one, cosine=0.84) for one in asked)
        return Redecide(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            candidate_id=history.id(name),
            consequence_of=history.join(after).id,
            decision=decision,
            join=Join(to=history.id(to), face=face) if to else None,
            composition=composition(history, text, f"{to} {name}") if text else None,
            evidence=Evidence(policy=history.policy.hash, neighbours=near, asked=asked),
        )

    return step


def reinstate(newer: str, older: str | None = None, *, rank: Rank = "person") -> Step:
    """Put the latest join of this newer candidate back."""
    return lambda history: Reinstate(
        command_id=history.fresh(),
        owner_id=history.owner_id,
        decision_id=history.join(newer, older).id,
        rank=rank,
    )


def on_decision(kind: type[Unmerge | Reinstate], decision_id: str) -> Step:
    """A word about a decision, by its id."""
    return lambda history: kind(
        command_id=history.fresh(), owner_id=history.owner_id, decision_id=decision_id
    )


def confirm(name: str) -> Step:
    """A review agrees with a candidate's first decision."""
    return lambda history: Confirm(
        command_id=history.fresh(),
        owner_id=history.owner_id,
        decision_id=history.ledger.entries[history.id(name)].decision_id,
    )


def compose(newer: str, text: str, sources: str) -> Step:
    """A composed text made anew for the join of this newer candidate."""
    return lambda history: Compose(
        command_id=history.fresh(),
        owner_id=history.owner_id,
        decision_id=history.join(newer).id,
        composition=composition(history, text, sources),
    )


def on(kind: type[Retract | Restore | Access], name: str) -> Step:
    """A word about one candidate."""
    return lambda history: kind(
        command_id=history.fresh(), owner_id=history.owner_id, candidate_id=history.id(name)
    )


def retract(name: str) -> Step:
    """Forget a candidate, reversibly."""
    return on(Retract, name)


def update(
    memory: str,
    name: str,
    text: str,
    *,
    expect: str | None = None,
    merges: bool = False,
    rank: Speaker = "person",
    sees: Mapping[str, float] | None = None,
    rewords: Mapping[str, float] | None = None,
) -> Step:
    """The memory of a candidate says another text, which comes as a candidate of this name.

    `sees` and `rewords` as in `say`.
    """

    def step(history: History) -> Update:
        said = Candidate(owner_id=history.owner_id, source="spec", id=name, text=text)
        return Update(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            memory=history.id(memory),
            candidate_id=history.id(name),
            candidate=said,
            content=content(text),
            expect=expect,
            merge=merges,
            rank=rank,
            neighbours=_at(history, sees),
            forgotten=_at(history, rewords),
        )

    return step


def undo(name: str, *, rank: Speaker = "person") -> Step:
    """Take back the update that brought a text."""

    def step(history: History) -> Undo:
        edges = history.ledger.entries[history.id(name)].edges
        [update] = [e for e in edges if e.over and history.name(e.winner.id) == name]
        return Undo(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            decision_id=update.id,
            rank=rank,
        )

    return step


def forget(
    *names: str,
    again: Again = "allow",
    earlier: Literal["refuse"] | None = None,
    expect: str | None = None,
) -> Step:
    """Forget the memories of these candidates."""

    def step(history: History) -> Forget:
        return Forget(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            memories=tuple(history.id(name) for name in names),
            expect=expect,
            again=again,
            earlier=earlier,
            cause="forgetting",
        )

    return step


def restore(name: str) -> Step:
    """Take a retraction back."""
    return on(Restore, name)


def access(name: str) -> Step:
    """The memory of a candidate was used."""
    return on(Access, name)


def end_session(session: str) -> Step:
    """A producer's session ended."""
    return lambda history: EndSession(
        command_id=history.fresh(), owner_id=history.owner_id, session_id=session
    )


def ran(step: BatchStep, **figures: float) -> Step:
    """A batch run over the owner's memories."""
    return lambda history: RecordRun(
        command_id=history.fresh(),
        owner_id=history.owner_id,
        step=step,
        due=history.now,
        figures=figures,
    )


def separated(history: History, a: str, b: str) -> Statement | None:
    """What holds two candidates apart, if anything does."""
    entries = history.ledger.entries
    return separation(history.ledger, entries[history.id(a)], entries[history.id(b)])
