"""Generated histories: policies with drawn thresholds, and acts that any history can follow.

An act names candidates, joins and open questions by number, counted round, so that every list of
acts is a history and shrinks to a short one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain, product
from typing import Literal, TypedDict, assert_never

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import structs

from palimpsest.contracts import event_data
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
    RecordRun,
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
from palimpsest.contracts.events import AnyEvent, BatchJoin, Composition, Rank, Speaker
from palimpsest.contracts.evidence import Answer, Evidence, Verdict
from palimpsest.contracts.policy import Exact, Policy
from palimpsest.contracts.policy import Judge as Judging
from palimpsest.contracts.requests import ReinstateRequest, RestoreRequest, UnmergeRequest
from palimpsest.streams.core.expand import reinstate_commands, restore_commands, unmerge_commands
from palimpsest.streams.core.ledger import Edge, Entry
from palimpsest.streams.core.version import version_of
from tests.laws.world import (
    POINTS,
    PREDICATES,
    SUBJECTS,
    WIDTH,
    Command,
    Retrieve,
    World,
    admit_at,
    admit_sentence,
    content_at,
    text_at,
)
from tests.long import elsewhere

COSINES = [1 - step / WIDTH for step in range(9)]
JACCARDS = [1.0, 0.6, 0.3333]
EXACTS: tuple[Exact | None, ...] = (None, "verbatim", "folded")


_floors = st.sets(st.sampled_from(COSINES), min_size=1, max_size=3)
_hairs = st.sampled_from([0.0, 0.0, 0.0001])
_actions = st.sampled_from(["auto_reject", "superseded", "pending"])
_yes_or_no = st.booleans()
_cosines = st.sampled_from(COSINES)
_jaccards = st.sampled_from(JACCARDS)
_lasts = st.integers(1, 4)
_searches = st.sampled_from(["candidates", "memories"])
_protected = st.sampled_from([(), ("gotcha",)])
_judges = st.builds(
    Judging,
    neighbours=st.integers(1, 3),
    unavailable=st.sampled_from(["keep", "reject", "supersede"]),
)


@st.composite
def policies(draw: st.DrawFn, search: str | None = None) -> Policy:
    """A policy whose thresholds lie on the grid, or a hair above it."""
    floors = sorted(draw(_floors), reverse=True)
    hair = draw(_hairs)
    zones = [
        {
            "at_least": min(1.0, floor + hair),
            "action": draw(_actions),
            "guard": draw(_yes_or_no) and draw(_yes_or_no),
        }
        for floor in floors
    ]
    proven = 0.25 if hair else None  # no draw: histories stay as they are
    checks: list[dict[str, object]] = [
        {"check": "cosine", "zones": zones, "top": 20, "near_identical": proven}
    ]
    if draw(_yes_or_no):
        threshold, guard = draw(_jaccards), draw(_yes_or_no)
        checks.insert(0, {"check": "tokens", "threshold": threshold, "guard": guard})
    if draw(_yes_or_no):
        threshold, last = draw(_cosines), draw(_lasts)
        checks.insert(0, {"check": "session", "threshold": threshold, "last": last, "guard": False})
    if draw(_yes_or_no):
        capacity = len(floors) if len(floors) > 1 else None  # no draw: histories stay as they are
        checks.append({"check": "recent", "seconds": 3, "capacity": capacity})
    policy = Policy.model_validate(
        {
            "name": "drawn",
            "model": "grid",
            "search": search or draw(_searches),
            "protected_categories": draw(_protected),
            "checks": checks,
            "judge": draw(_judges),
        }
    )
    exact = EXACTS[(policy.judge.neighbours + len(floors)) % len(EXACTS)]  # no draw, as above
    asked = policy.judge.neighbours - 1 if policy.search == "candidates" else 0  # no draw
    more: dict[str, object] = {"frames": asked, "bridges": asked > 0}
    more["of_owner"] = 0.5 if asked > 1 else None
    judge = policy.judge.model_copy(update=more)
    return policy.model_copy(update={"exact": exact, "judge": judge})


@dataclass(frozen=True)
class Say:
    """A candidate with the text of a point."""

    point: int
    sign: str = ""
    namespace: str = "default"
    session: str | None = None
    category: str | None = None
    hours_ago: int | None = None
    importance: float | None = None
    ttl: float | None = None


@dataclass(frozen=True)
class Judge:
    """Answers about a candidate, in the order of those asked about; those that wait come first."""

    which: int
    answers: tuple[Answer, ...]
    point: int = 0


@dataclass(frozen=True)
class Pair:
    """A person (or somebody of a lower rank) about two candidates."""

    same: bool
    a: int
    b: int
    rank: Rank = "person"
    newer_speaks: bool = False


BATCH: dict[Literal["keep", "take", "text"], BatchJoin] = {
    "keep": "llm_reject",
    "take": "superseded",
    "text": "llm_merge",
}


SAID: dict[Literal["keep", "take", "text"], Answer] = {
    "keep": "same",
    "take": "update",
    "text": "compose",
}


@dataclass(frozen=True)
class Batch:
    """A batch rule about two candidates, with a composed text of the point where it says so.

    `outright`: it chooses the newer part's face whatever happened first.
    """

    a: int
    b: int
    face: Literal["keep", "take", "text"] = "keep"
    point: int = 0
    outright: bool = False


@dataclass(frozen=True)
class OnJoin:
    """A word about a join: taken out if it stands, else put back."""

    which: int
    standing: bool = True


@dataclass(frozen=True)
class OnCandidate:
    """A word about a candidate."""

    word: str
    which: int


@dataclass(frozen=True)
class Whole:
    """A memory taken apart, or (with `back`) a reversal taken back with all its request did."""

    which: int
    back: bool = False


@dataclass(frozen=True)
class TakeBack:
    """A person's word that two are not the same, or that they are, taken back."""

    which: int


@dataclass(frozen=True)
class Recompose:
    """A text made anew for a memory that needs one."""

    point: int


@dataclass(frozen=True)
class Again:
    """An earlier command delivered a second time."""

    which: int


@dataclass(frozen=True)
class Change:
    """An update of a candidate's memory; `current`: it names the version, `stale` another one."""

    which: int
    point: int
    sign: str = ""
    expecting: Literal["anything", "current", "stale"] = "anything"
    rank: Speaker = "person"
    merge: bool = False


@dataclass(frozen=True)
class Unchange:
    """An update taken back: one of those that stand."""

    which: int
    rank: Speaker = "person"


@dataclass(frozen=True)
class Forgetting:
    """A memory forgotten."""

    which: int
    again: event_data.Again = "allow"


@dataclass(frozen=True)
class Remembering:
    """All of a forgetting taken back."""

    which: int


@dataclass(frozen=True)
class HoldBack:
    """Words that hold an answer back, in a row, for chance says them so too seldom.

    A newcomer waits for the judge. Somebody of its neighbour's memory, or who is merged into it, is
    separated from the newcomer, and the judge says "same". Then one of the three is retracted, if
    `gone` says so, and the join goes that has them in one memory, if `cut` does.
    """

    which: int
    other: int = 0
    gone: Literal["nobody", "newcomer", "neighbour", "other"] = "nobody"
    cut: bool = True


@dataclass(frozen=True)
class SettleAgain:
    """A settlement's join goes, the judge answers about the next, and the join comes back."""

    which: int
    answer: Answer = "same"
    back: bool = True


@dataclass(frozen=True)
class Renew:
    """Another expiry of a candidate, some seconds from then; a pin if it has none."""

    which: int
    ttl: int | None = None
    rank: Speaker = "person"


@dataclass(frozen=True)
class Sentence:
    """A candidate that says something of somebody."""

    subject: int
    predicate: int


@dataclass(frozen=True)
class Call:
    """By which names the owner is called from then on."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Nothing:
    """What every other act shrinks to."""


Act = (
    Nothing
    | Say
    | Judge
    | Pair
    | Batch
    | OnJoin
    | OnCandidate
    | Whole
    | TakeBack
    | Recompose
    | Again
    | Change
    | Unchange
    | Forgetting
    | Remembering
    | HoldBack
    | SettleAgain
    | Renew
    | Sentence
    | Call
)

ANSWERS: tuple[Answer, ...] = (
    "same", "different", "update", "compose", "unavailable", "unusable"
)  # fmt: skip
numbers = st.integers(0, 15)
answers: SearchStrategy[Answer] = st.sampled_from(ANSWERS)


class Kind:
    """Acts of one kind: what each of their fields may be; what comes more often is named so."""

    def __init__(self, make: Callable[..., Act], **fields: Sequence[object]) -> None:
        self._make = make
        self._fields = fields

    def act(self, numbers: Sequence[int]) -> Act:
        """The act that a number for each field says, counted round."""
        chosen = zip(self._fields.items(), numbers, strict=False)
        return self._make(**{name: among[number % len(among)] for (name, among), number in chosen})


FIELDS = 6
"""No kind has more."""
ACT_BYTES = 2 * (1 + FIELDS)
"""How long the draw of an act is."""


@st.composite
def among(draw: st.DrawFn, *kinds: Kind) -> Act:
    """An act of one of these kinds; a kind that is named more often comes more often.

    All of it is one draw of bytes, two for the kind and for each field: a draw of its own for each
    took longer than the histories themselves.
    """
    drawn = draw(st.binary(min_size=ACT_BYTES, max_size=ACT_BYTES))
    kind, *numbers = (int.from_bytes(drawn[at : at + 2]) for at in range(0, ACT_BYTES, 2))
    return kinds[kind % len(kinds)].act(numbers)


WHICH = range(16)
FEWER = settings(max_examples=max(1, elsewhere() // 4))
"""For a policy, or a failure, that changes one thing of the histories that test_laws draws."""
FEW = settings(max_examples=max(1, settings().max_examples // 4))
"""The same where every break is found among the first twelve: half of those in `make test`."""
SAYS = Kind(
    Say,
    point=range(POINTS),
    sign=(
        *("", "upper:", "!", "?", "start:", "", "!", "?", "space:", "upper:"),
        *("wide:", "upper:?", "hidden:", "", "ends:!", "hidden:?"),
    ),
    namespace=("default",) * 7 + ("work",),
    session=(None, "s"),
    category=(None, None, None, "gotcha"),
    hours_ago=(None, None, 1, 2),
)
JUDGES = Kind(
    Judge,
    which=WHICH,
    answers=[heard[:most] for heard in product(ANSWERS, repeat=3) for most in (1, 2, 3)],
    point=range(POINTS),
)
PAIRS = Kind(
    Pair,
    same=(False, True, True),
    a=WHICH,
    b=WHICH,
    rank=("person", "person", "review", "judge"),
    newer_speaks=(False, True, True),
)
BATCHES = Kind(
    Batch,
    a=WHICH,
    b=WHICH,
    face=("keep", "take", "text"),
    point=range(POINTS),
    outright=(False, True),
)
ON_JOINS = Kind(OnJoin, which=WHICH, standing=(True, True, False))
ON_CANDIDATES = Kind(
    OnCandidate,
    word=(
        *("retract", "retract", "restore", "restore", "confirm", "access", "end"),
        *("retract", "retract", "restore", "confirm", "access", "ran"),
    ),
    which=WHICH,
)
WHOLES = Kind(Whole, which=WHICH, back=(False, True, True))
TAKE_BACKS = Kind(TakeBack, which=WHICH)
HOLD_BACKS = Kind(
    HoldBack,
    which=WHICH,
    other=WHICH,
    gone=("nobody", "newcomer", "neighbour", "other"),
    cut=(True, True, False),
)
SETTLE_AGAINS = Kind(
    SettleAgain,
    which=WHICH,
    answer=("same", "same", "different", "update"),
    back=(True, True, False),
)
RECOMPOSES = Kind(Recompose, point=range(POINTS))
AGAINS = Kind(Again, which=WHICH)
CHANGES = Kind(
    Change,
    which=WHICH,
    point=range(POINTS),
    sign=("", "", "!", "", "hidden:", "upper:"),
    expecting=("anything", "anything", "current", "stale"),
    rank=("person", "person", "agent"),
    merge=(False, True),
)
FORGETTINGS = Kind(Forgetting, which=WHICH, again=("allow", "ask", "refuse"))
REMEMBERINGS = Kind(Remembering, which=WHICH)
UNCHANGES = Kind(Unchange, which=WHICH, rank=("person", "person", "agent"))
KINDS = [
    Kind(Nothing), *[SAYS] * 12, *[JUDGES] * 5, *[PAIRS] * 3, *[BATCHES] * 4, *[ON_JOINS] * 4,
    *[ON_CANDIDATES] * 3, WHOLES, *[TAKE_BACKS] * 2, *[RECOMPOSES] * 2, AGAINS, *[HOLD_BACKS] * 2,
    *[SETTLE_AGAINS] * 2,
]  # fmt: skip


class Head(TypedDict):
    """What every operator's command says."""

    command_id: str
    owner_id: str


@dataclass
class Playback:
    """A history as it was told: each command with its events."""

    world: World
    steps: list[tuple[Command, list[AnyEvent]]] = field(default_factory=list)

    def follow(self, act: Act) -> None:
        """Turn an act into a command of this world and carry it out, if there is such a thing."""
        match act:
            case Whole():
                commands: Iterable[Command | None] = self._whole(act)
            case Remembering():
                commands = self._remembered(act)
            case HoldBack():
                commands = self._hold_back(act)
            case SettleAgain():
                commands = self._settle_again(act)
            case _:
                commands = [self.command(act)]
        for command in commands:
            if command is not None:
                self.steps.append((command, self.world.run(command)))

    def command(self, act: Act) -> Command | None:
        """The command that an act means now; None if there is nothing to name."""
        match act:
            case Nothing() | Whole() | Remembering() | HoldBack() | SettleAgain():
                return None
            case Say():
                return self._say(act)
            case Judge():
                return self._judge(act)
            case Pair():
                return self._pair(act)
            case Batch():
                return self._batch(act)
            case OnJoin():
                return self._on_join(act)
            case OnCandidate():
                return self._on_candidate(act)
            case TakeBack():
                return self._take_back(act)
            case Recompose():
                return self._recompose(act)
            case Change():
                return self._change(act)
            case Unchange():
                return self._unchange(act)
            case Forgetting():
                return self._forget(act)
            case Renew():
                return self._renew(act)
            case Sentence():
                name = f"c{len(self.world.ledger.entries)}"
                owner_id = self.world.ledger.owner_id
                return admit_sentence(owner_id, name, act.subject, act.predicate)
            case Call():
                return SetNames(**self._head(), names=act.names)
            case Again():
                return self.steps[act.which % len(self.steps)][0] if self.steps else None
            case _:
                assert_never(act)

    def _say(self, act: Say) -> Admit:
        return admit_at(
            self.world.ledger.owner_id,
            f"c{len(self.world.ledger.entries)}",
            act.point,
            act.sign,
            namespace=act.namespace,
            session_id=act.session,
            category=act.category,
            hours_ago=act.hours_ago,
            importance=act.importance,
            ttl=act.ttl,
        )

    def _renew(self, act: Renew) -> SetExpiry | None:
        entry = self._entry(act.which)
        if entry is None:
            return None
        ends = None if act.ttl is None else self.world.now + timedelta(seconds=act.ttl)
        return SetExpiry(**self._head(), candidate_id=entry.id, expires_at=ends, rank=act.rank)

    def _whole(self, act: Whole) -> Sequence[Command]:
        """What a request about a memory, or about a reversed join, comes to."""
        ledger, request_id = self.world.ledger, self.world.fresh()
        if act.back:
            edges = self.edges(standing=False)
            if not edges:
                return []
            decision_id = edges[act.which % len(edges)].id
            back = ReinstateRequest(request_id=request_id, decision_id=decision_id)
            return reinstate_commands(ledger, back, self.world.policy)
        memories = [memory for memory in ledger.memories() if len(memory.members) > 1]
        if not memories:
            return []
        memory_id = memories[act.which % len(memories)].id
        return unmerge_commands(ledger, UnmergeRequest(request_id=request_id, memory_id=memory_id))

    def _hold_back(self, act: HoldBack) -> Iterator[Command]:
        """One command at a time: each names what the ones before it made."""
        waiting = [entry for entry in self.world.ledger.entries.values() if entry.open]
        if not waiting:
            return
        newcomer = waiting[act.which % len(waiting)]
        neighbour = self.world.ledger.entries[newcomer.open[0]]
        if not _joins(neighbour):
            others = [
                e for e in self._scope() if e.memory not in (newcomer.memory, neighbour.memory)
            ]
            if others:
                other = others[act.other % len(others)]
                yield Merge(**self._head(), a=neighbour.id, b=other.id)
        joins = _joins(neighbour)
        if not joins:
            return
        join = joins[act.other % len(joins)]
        other = join.older if join.newer is neighbour else join.newer
        yield Separate(**self._head(), a=newcomer.id, b=other.id)
        yield self._says(newcomer, neighbour.id, "same")
        if act.gone != "nobody":
            three = {"newcomer": newcomer, "neighbour": neighbour, "other": other}
            yield Retract(**self._head(), candidate_id=three[act.gone].id)
        if act.cut:
            yield self._takes_out(join)

    def _settle_again(self, act: SettleAgain) -> Iterator[Command]:
        """The same; of who waits to be settled, or was."""
        several = [e for e in self.world.ledger.entries.values() if len(e.asked) > 1]
        asked = [e for e in several if e.open or _settled(e)]
        if not asked:
            return
        entry = asked[act.which % len(asked)]
        if not _settled(entry):
            yield self._says(entry, entry.open[0], "same")
        join = _settled(entry)
        if join is None:
            return
        yield self._takes_out(join)
        if entry.open:
            yield self._says(entry, entry.open[0], act.answer)
        if act.back:
            yield Reinstate(**self._head(), decision_id=join.id)

    def _says(self, entry: Entry, neighbour_id: str, answer: Answer) -> Settle:
        verdicts = (Verdict(neighbour_id=neighbour_id, answer=answer),)
        return Settle(**self._head(), candidate_id=entry.id, verdicts=verdicts)

    def _change(self, act: Change) -> Update | None:
        entry = self._entry(act.which)
        if entry is None:
            return None
        newcomer = admit_at(
            self.world.ledger.owner_id,
            f"u{len(self.world.ledger.entries)}",
            act.point,
            act.sign,
            namespace=entry.fields.namespace,
        )
        current = version_of(entry.memory) if act.expecting == "current" else None
        return Update(
            **self._head(),
            memory=entry.id,
            candidate_id=newcomer.candidate_id,
            candidate=Candidate(
                **structs.asdict(newcomer.candidate), text=text_at(act.point, act.sign)
            ),
            content=newcomer.content,
            expect="stale" if act.expecting == "stale" else current,
            merge=act.merge,
            rank=act.rank,
        )

    def _forget(self, act: Forgetting) -> Forget | None:
        entry = self._entry(act.which)
        if entry is None:
            return None
        head = self._head()
        memory, cause = (entry.id,), head["command_id"]
        return Forget(**head, memories=memory, again=act.again, cause=cause)

    def _remembered(self, act: Remembering) -> Sequence[Command]:
        entries = self.world.ledger.entries.values()
        causes = list(dict.fromkeys(e.forgotten.cause for e in entries if e.forgotten))
        if not causes:
            return []
        cause = causes[act.which % len(causes)]
        request = RestoreRequest(request_id=self.world.fresh(), forgotten=cause)
        return restore_commands(self.world.ledger, request)

    def _unchange(self, act: Unchange) -> Undo | None:
        updates = [edge for edge in self.edges(standing=True) if edge.over is not None]
        if not updates:
            return None
        chosen = updates[act.which % len(updates)]
        return Undo(**self._head(), decision_id=chosen.id, rank=act.rank)

    def _take_back(self, act: TakeBack) -> Withdraw | None:
        merges = [edge for edge in self.edges(standing=True) if edge.decision == "manual_join"]
        kinds = (
            [*self.world.ledger.separations.values()],
            [(edge.older.id, edge.newer.id) for edge in merges],
        )
        pairs = kinds[act.which % 3 == 0] or kinds[0] or kinds[1]
        if not pairs:
            return None
        a, b = pairs[act.which // 3 % len(pairs)]
        return Withdraw(**self._head(), a=a, b=b)

    def _head(self) -> Head:
        return {"command_id": self.world.fresh(), "owner_id": self.world.ledger.owner_id}

    def _entry(self, which: int) -> Entry | None:
        entries = list(self.world.ledger.entries.values())
        return entries[which % len(entries)] if entries else None

    def _judge(self, act: Judge) -> Settle | None:
        asked = [entry for entry in self.world.ledger.entries.values() if entry.asked]
        waiting = [entry for entry in asked if entry.pending] or asked
        if not waiting:
            return None
        entry = waiting[act.which % len(waiting)]
        verdicts = tuple(
            Verdict(neighbour_id=neighbour.candidate_id, answer=answer)
            for neighbour, answer in zip(entry.asked, act.answers, strict=False)
        )
        composing = next((v for v in verdicts if v.answer == "compose"), None)
        other = self.world.ledger.entries[composing.neighbour_id] if composing else None
        return Settle(
            **self._head(),
            candidate_id=entry.id,
            verdicts=verdicts,
            composition=self._composed(act.point, entry, other) if other else None,
        )

    @staticmethod
    def _composed(point: int, entry: Entry, other: Entry) -> Composition:
        """Of all sources of the standing face and the newcomer, as the judge is asked to."""
        face = other.memory.face
        sources = face.composition.sources if face.composition else (face.speaker.id,)
        return Composition(content=content_at(point, "?"), sources=(*sources, entry.id))

    def _pair(self, act: Pair) -> Command | None:
        two = self._two(act.a, act.b)
        if two is None:
            return None
        a, b = two
        if not act.same:
            return Separate(**self._head(), a=a.id, b=b.id, rank=act.rank)
        newer = max(a, b, key=lambda entry: entry.place)
        face = newer.id if act.newer_speaks else None
        return Merge(**self._head(), a=a.id, b=b.id, face=face)

    def _two(self, first: int, second: int) -> tuple[Entry, Entry] | None:
        """Two candidates of one scope."""
        entries = self._scope()
        if len(entries) < 2:
            return None
        a = entries.pop(first % len(entries))
        return a, entries[second % len(entries)]

    def _scope(self) -> list[Entry]:
        """The candidates of the scope that most are in."""
        return [e for e in self.world.ledger.entries.values() if e.fields.namespace == "default"]

    def _batch(self, act: Batch) -> Command | None:
        two = self._two(act.a, act.b)
        if two is None:
            return None
        older, newer = sorted(two, key=lambda entry: entry.place)
        text = self._composed(act.point, newer, older) if act.face == "text" else None
        return Combine(
            **self._head(),
            a=newer.id,
            b=older.id,
            decision=BATCH[act.face],
            face=act.face,
            outright=act.outright,
            composition=text,
            evidence=Evidence(
                policy=self.world.policy.hash,
                verdicts=(Verdict(neighbour_id=older.id, answer=SAID[act.face]),),
            ),
        )

    def edges(self, *, standing: bool) -> list[Edge]:
        """The joins that stand, or those that do not, in the order of their events."""
        edges = self.world.ledger.edges.values()
        return [edge for edge in edges if edge.standing is standing]

    def _on_join(self, act: OnJoin) -> Command | None:
        edges = self.edges(standing=act.standing)
        if not edges:
            return None
        edge = edges[act.which % len(edges)]
        if act.standing:
            return self._takes_out(edge)
        return Reinstate(**self._head(), decision_id=edge.id)

    def _takes_out(self, edge: Edge) -> Unmerge:
        """An un-merge, which always belongs to a request."""
        head = self._head()
        return Unmerge(**head, decision_id=edge.id, cause=head["command_id"])

    def _on_candidate(self, act: OnCandidate) -> Command | None:
        entry = self._entry(act.which)
        if entry is None:
            return None
        match act.word:
            case "retract":
                return Retract(**self._head(), candidate_id=entry.id)
            case "restore":
                gone = [e for e in self.world.ledger.entries.values() if not e.living]
                again = gone[act.which % len(gone)] if gone else entry
                return Restore(**self._head(), candidate_id=again.id)
            case "confirm":
                return Confirm(**self._head(), decision_id=entry.decision_id)
            case "access":
                return Access(**self._head(), candidate_id=entry.id)
            case "ran":
                return RecordRun(
                    **self._head(), step="dedupe", due=self.world.now, figures={"n": 1}
                )
            case _:
                return EndSession(**self._head(), session_id="s")

    def _recompose(self, act: Recompose) -> Compose | None:
        edges = self.world.ledger.edges.values()
        needy = [e for e in edges if e.texts and e.newer.memory.face.needs_composition]
        if not needy:
            return None
        lacking = needy[0].newer.memory.face.lacking
        assert lacking is not None, "it needs one"
        text = Composition(content=content_at(act.point, "."), sources=lacking.sources)
        return Compose(**self._head(), decision_id=lacking.edge.id, composition=text)


def _joins(entry: Entry) -> list[Edge]:
    """The standing joins of a candidate."""
    return [edge for edge in entry.edges if edge.standing]


def _settled(entry: Entry) -> Edge | None:
    """The standing join that an answer about a candidate made."""
    own = (edge for edge in _joins(entry) if edge.newer is entry)
    return next((edge for edge in own if edge.rank == "judge"), None)


def play(
    policy: Policy, story: list[Act], owner_id: str = "ada", retrieve: Retrieve | None = None
) -> Playback:
    """Follow the acts of a story."""
    told = Playback(World(policy, owner_id, retrieve))
    for act in story:
        told.follow(act)
    return told


_SPELLED = ("", "upper:", "", "start:", "", "space:", "wide:", "hidden:")
_BEGINNING = Kind(Say, point=range(6), hours_ago=(None, None, 1), sign=_SPELLED)
_beginnings = st.lists(among(_BEGINNING), max_size=6)
_CUTS = Kind(OnJoin, which=WHICH)


def _with_a_cut(
    kinds: Sequence[Kind], fewest: int, most: int, *then: Kind
) -> SearchStrategy[list[Act]]:
    """Acts of these kinds; in their midst a join is taken out, if there is one, and `then`."""
    half = st.lists(among(*kinds), min_size=fewest, max_size=most)
    midst = (among(kind).map(lambda act: [act]) for kind in (_CUTS, *then))
    return st.builds(lambda *parts: [*chain(*parts)], half, *midst, half)


stories = st.builds(operator.add, _beginnings, _with_a_cut(KINDS, 7, 20))
"""Stories of everything, of which many begin with candidates that are close to each other."""

questions = st.lists(among(SAYS, JUDGES, PAIRS), min_size=15, max_size=40)
"""Stories of candidates, answers and people's words alone."""

HELD_BACK: list[Act] = [
    *(Say(point=0), Say(point=1), Judge(0, ("same",))),
    *(Say(point=2), Pair(same=False, a=2, b=0), Judge(0, ("same",))),
    *(Say(point=3), Pair(same=False, a=3, b=0), Judge(1, ("different", "same"))),
]
"""A join, and two verdicts that it holds back: if it goes, the first of them bars the second."""

_LEAVE = Kind(OnCandidate, word=("retract", "restore"), which=WHICH)
_FREEING = (
    *[SAYS] * 3, *[JUDGES] * 3, *[PAIRS] * 3, *[ON_JOINS] * 4, _LEAVE, HOLD_BACKS,
    *[SETTLE_AGAINS] * 2,
)  # fmt: skip
waiting = _with_a_cut(_FREEING, 2, 10).map(lambda then: HELD_BACK + then)
"""Stories of verdicts that wait for a join to go."""

arrivals = st.lists(among(SAYS), min_size=15, max_size=40)
"""Stories of candidates alone."""

COMPOSED: list[Act] = [
    Say(point=0),
    *(act for n in (1, 2, 3) for act in (Say(point=n), Judge(0, ("compose",), point=n + 4))),
]
"""A text composed of two, of three, of four."""

_CLOSE = Kind(Say, point=range(6), sign=_SPELLED)
_COMBINES = Kind(Batch, a=WHICH, b=WHICH, face=("text",), point=range(POINTS))
_COMPOSES = Kind(Judge, which=WHICH, answers=[("compose",)], point=range(POINTS))
_LOSING = (
    *(_CLOSE, _COMPOSES, JUDGES, PAIRS, BATCHES, ON_JOINS, ON_JOINS, _LEAVE),
    *(_COMBINES, _COMBINES, _LEAVE, RECOMPOSES),
)
losses = _with_a_cut(_LOSING, 4, 10, _LEAVE, RECOMPOSES).map(lambda then: COMPOSED + then)
"""Stories of a composed text, and of sources that leave and come back."""

_SAID_OFTEN = Kind(Say, point=range(3), sign=_SPELLED)
_CHANGING = among(
    *[SAYS] * 6, *[JUDGES] * 3, PAIRS, BATCHES, *[ON_JOINS] * 3, *[ON_CANDIDATES] * 3, WHOLES,
    RECOMPOSES, AGAINS, *[CHANGES] * 7, *[UNCHANGES] * 2, *[FORGETTINGS] * 3, *[REMEMBERINGS] * 3,
    *[_SAID_OFTEN] * 5,
)  # fmt: skip
changes = st.builds(operator.add, _beginnings, st.lists(_CHANGING, min_size=15, max_size=40))
"""Stories in which memories are updated, and updates are taken back."""

_AGAIN = Kind(Say, point=range(4, 8), sign=("?", "?", "", "upper:?"))
_TO_IT = Kind(Change, which=WHICH, point=range(4, 8), sign=("?",), merge=(False, True))
_COME_AND_GO = among(
    *[_AGAIN] * 4, *[FORGETTINGS] * 3, *[REMEMBERINGS] * 3, *[_LEAVE] * 3, *[_TO_IT] * 2,
    *(UNCHANGES, ON_JOINS, ON_JOINS, TAKE_BACKS, PAIRS, _COMPOSES, _COMBINES),
)  # fmt: skip
retold = st.lists(_COME_AND_GO, min_size=4, max_size=16).map(lambda then: COMPOSED + then)
"""Stories of composed texts that are said again, forgotten and brought back."""

AT_ONCE = 1e-9
"""No seconds: it has expired when it comes."""
_FOR_A_WHILE = Kind(
    Say,
    point=range(POINTS),
    sign=("", "", "!", "?", "upper:", "hidden:"),
    session=(None, "s"),
    ttl=(2, 4, 7, 12, None, 2, 4, AT_ONCE),
)
_SOON_SAID_AGAIN = Kind(Say, point=range(3), sign=("", "", "!"), ttl=(2, 3, 5, 9, None))
_RENEWALS = Kind(Renew, which=WHICH, ttl=(None, 1, 4, 9), rank=("person", "person", "agent"))
_EXPIRING = (
    *[_FOR_A_WHILE] * 7, *[_SOON_SAID_AGAIN] * 5, *[JUDGES] * 3, *[PAIRS] * 2, *[BATCHES] * 2,
    *[ON_JOINS] * 3, *[ON_CANDIDATES] * 2, WHOLES, RECOMPOSES, AGAINS, *[_RENEWALS] * 3,
)  # fmt: skip
expiring = _with_a_cut(_EXPIRING, 7, 18)
"""Stories in which much expires, a second an act, and is said again, prolonged and pinned."""

CALLED: tuple[tuple[str, ...], ...] = (
    (),
    ("Ada", "the user", "I"),
    ("Ada", "I"),
    ("I", "the user"),
    ("Bob", "the user"),
)
SENTENCES = Kind(Sentence, subject=range(len(SUBJECTS)), predicate=range(len(PREDICATES)))
_CALLS = Kind(Call, names=CALLED)
_CALLING = (
    *[SENTENCES] * 10, *[_CALLS] * 3, *[JUDGES] * 2, PAIRS, *[ON_JOINS] * 2, ON_CANDIDATES,
    WHOLES, AGAINS,
)  # fmt: skip
calling = st.builds(operator.add, st.lists(among(_CALLS), max_size=1), _with_a_cut(_CALLING, 7, 18))
"""Stories of sentences about an owner who is called by names, which change."""

GUARDED = Policy.model_validate(
    {
        "name": "guarded",
        "model": "grid",
        "search": "candidates",
        "checks": [
            {
                "check": "cosine",
                "zones": [{"at_least": 0.5, "action": "pending"}],
                "near_identical": 0.4,
            }
        ],
    }
)
"""A policy whose rules join what the guard finds near-identical alone."""

ASKING = Policy.model_validate(
    {
        "name": "asking",
        "model": "grid",
        "search": "candidates",
        "checks": [{"check": "cosine", "zones": [{"at_least": 0.5, "action": "pending"}]}],
    }
)
"""A policy that leaves every question to the judge."""
