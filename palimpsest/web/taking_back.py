"""Undoing a step: its effect is shown first, and it is done only if that is still the effect."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, assert_never, get_args
from urllib.parse import urlencode

from palimpsest.api.store import Palimpsest
from palimpsest.backends.requested import request_id
from palimpsest.contracts.answers import ConsequenceTold, MemoryPicture, NotDone
from palimpsest.contracts.requests import (
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    Selection,
    SeparateRequest,
    UndoRequest,
    UnmergeRequest,
    WithdrawRequest,
)
from palimpsest.contracts.shown import Happened
from palimpsest.queries.as_of import folded
from palimpsest.server.intents import (
    own_id,
    require_own_forgetting,
    require_token,
    token_of,
)
from palimpsest.server.problems import not_found
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.operate import withdrawn_by
from palimpsest.streams.core.picture import picture
from palimpsest.streams.core.separations import separation
from palimpsest.streams.write.serve import execute

Fate = Literal["new", "swallowed", "retracted", "changed"]

Verb = Literal[
    "unmerge", "reinstate", "undo", "separate", "withdraw", "retract", "restore", "remember"
]


@dataclass(frozen=True, slots=True)
class Step:
    """A step that undoes something: a verb and the id that it is about.

    That is a decision (`unmerge`, `reinstate`, `undo`), a candidate (`retract`, `restore`), a
    forgetting's name (`remember`), or one candidate of a pair, with `other` as the second.
    """

    verb: Verb
    about: str
    other: str = ""

    def query(self, **more: str) -> str:
        """The step as the query of a URL."""
        return urlencode({name: value for name, value in asdict(self).items() if value} | more)


@dataclass(frozen=True, slots=True)
class Became:
    """The fate of a memory; `by` are the memories that have the texts of a swallowed one."""

    fate: Fate
    memory: MemoryPicture
    by: Sequence[MemoryPicture] = ()


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The effect of a step: the memories that change, as they are and as they would be.

    `consequences` are later decisions that depend on it, `overtaken` later statements of people
    that do; `refused` is what is impossible. Without `with_consequences`, the consequences are not
    carried out. `changes` says whether memories change: a statement about a pair, or a join beside
    others that hold the memory together, changes none.
    """

    step: Step
    with_consequences: bool
    before: Sequence[MemoryPicture]
    after: Sequence[MemoryPicture]
    changes: bool
    consequences: Sequence[ConsequenceTold] = ()
    overtaken: Sequence[str] = ()
    refused: Sequence[NotDone] = ()

    @property
    def became(self) -> Sequence[Became]:
        """The fate of each memory that would change."""
        return became(self.before, self.after)

    @property
    def token(self) -> str:
        """A token for exactly this effect: another effect has another token."""
        return token_of(asdict(self))


def step_of(given: Mapping[str, str]) -> Step:
    """The step in a query or a form; a problem if there is none."""
    verb, about = given.get("verb"), given.get("about")
    known = {verb: verb for verb in get_args(Verb)}
    if verb not in known or not about:
        raise not_found("there is no such step to undo")
    return Step(known[verb], about, given.get("other", ""))


# -- what can be undone --------------------------------------------------------------------------


def cut_of(edge: Edge) -> Step | None:
    """The step that removes a join; None if it is not standing, or joins the same text."""
    if not edge.standing or edge.exact:
        return None
    return Step("unmerge" if edge.over is None else "undo", edge.id)


def way_back(ledger: Ledger, event: Happened) -> Step | None:
    """The step that undoes an event, as things are now; None if it cannot be undone.

    What was done as a consequence of a reversal is undone with that reversal.
    """
    cause = ledger.edges.get(event.get("consequence_of", ""))
    if cause is not None and not cause.standing:
        return Step("reinstate", cause.id)
    match event["event"]:
        case "decided" | "settled" | "joined" | "redecided":
            edge = ledger.edges.get(event["event_id"])
            return cut_of(edge) if edge is not None else None
        case "reinstated":
            edge = ledger.edges.get(event.get("decision_id", ""))
            return cut_of(edge) if edge is not None else None
        case "reversed":
            return _of_reversal(ledger, event)
        case "separated":
            return _of_separation(ledger, event)
        case "retracted":
            return _of_retraction(ledger.entries[event["candidate_id"]])
        case "restored":
            entry = ledger.entries[event["candidate_id"]]
            return Step("retract", entry.id) if entry.living else None
        case _:
            return None


def _of_reversal(ledger: Ledger, event: Happened) -> Step | None:
    edge = ledger.edges.get(event.get("decision_id", ""))
    if edge is not None:
        return None if edge.standing else Step("reinstate", edge.id)
    a, b = _pair(ledger, event)
    together = a.memory is b.memory
    return None if together or separation(ledger, a, b) else Step("separate", b.id, a.id)


def _of_separation(ledger: Ledger, event: Happened) -> Step | None:
    a, b = _pair(ledger, event)
    holds = separation(ledger, a, b)
    stated = holds is not None and holds.event_id == event["event_id"]
    return Step("withdraw", b.id, a.id) if stated else None


def _pair(ledger: Ledger, event: Happened) -> tuple[Entry, Entry]:
    return ledger.entries[event["candidate_id"]], ledger.entries[event["other_id"]]


def _of_retraction(entry: Entry) -> Step | None:
    if entry.living:
        return None
    if entry.forgotten is not None:
        return Step("remember", entry.forgotten.cause)
    undone = next((edge for edge in entry.edges if withdrawn_by(edge) is entry), None)
    return Step("restore", entry.id) if undone is None else Step("reinstate", undone.id)


# -- shown, and then done ------------------------------------------------------------------------


def foresee(
    store: Palimpsest, owner_id: str, step: Step, *, with_consequences: bool = True
) -> Foreseen:
    """The effect of a step now; nothing is written.

    Raises a problem if it is not about this owner, RefusedError if it is impossible.
    """
    _require_own(store, owner_id, step)
    trial = store.reader.trial()
    seen, before = trial.ledger(owner_id).seen, _pictures(trial.ledger(owner_id))
    request = _request(owner_id, step, with_consequences, dry_run=True)
    answer = execute(trial, request)
    ledger = trial.ledger(owner_id)
    after = _pictures(ledger)
    named = {ledger.entries[candidate_id].memory.id for candidate_id in _about(ledger, step)}
    return Foreseen(
        step,
        with_consequences,
        [memory for name, memory in before.items() if name in named or after.get(name) != memory],
        [memory for name, memory in after.items() if name in named or before.get(name) != memory],
        ledger.seen > seen,
        answer.get("consequences", ()),
        answer.get("overtaken", ()),
        answer.get("refused", ()),
    )


def carry_out(
    store: Palimpsest,
    owner_id: str,
    step: Step,
    *,
    with_consequences: bool,
    token: str,
    actor: str,
    because: str | None,
) -> Foreseen:
    """Do what was shown with this token; a problem if the effect is no longer the same."""
    shown = foresee(store, owner_id, step, with_consequences=with_consequences)
    require_token(token, shown.token)
    asked = _request(owner_id, step, with_consequences, actor=actor, because=because)
    store.writer.ask(asked)
    return shown


def _pictures(ledger: Ledger) -> dict[str, MemoryPicture]:
    return {memory.id: picture(memory) for memory in ledger.memories()}


def became_between(
    store: Palimpsest, owner_id: str, since: int | None, until: int | None
) -> Sequence[Became]:
    """The fate of an owner's memories between two positions of the log; empty without both."""
    if since is None or until is None:
        return ()
    with folded(store.reader, owner_id, since) as then:
        before = _pictures(then).values()
    with folded(store.reader, owner_id, until) as then:
        return became(before, _pictures(then).values())


def became(before: Collection[MemoryPicture], after: Collection[MemoryPicture]) -> list[Became]:
    """The fate of each memory that changed, appeared or disappeared."""
    was = {memory["memory_id"]: memory for memory in before if memory["living"]}
    now = {memory["memory_id"]: memory for memory in after if memory["living"]}
    home = {
        member["candidate_id"]: memory for memory in now.values() for member in memory["members"]
    }
    found = [Became("new", memory) for name, memory in now.items() if name not in was]
    for name, memory in was.items():
        if name not in now:
            homes = (home.get(member["candidate_id"]) for member in memory["members"])
            by = list({into["memory_id"]: into for into in homes if into is not None}.values())
            found.append(Became("swallowed" if by else "retracted", memory, by))
        elif now[name] != memory:
            found.append(Became("changed", now[name]))
    return found


def _about(ledger: Ledger, step: Step) -> tuple[str, ...]:
    """The candidates whose memories are shown, even if they do not change."""
    edge = ledger.edges.get(step.about)
    return _candidates(step) if edge is None else (edge.newer.id, edge.older.id)


def _candidates(step: Step) -> tuple[str, ...]:
    """The candidates that a step names."""
    match step.verb:
        case "separate" | "withdraw":
            return (step.about, step.other)
        case "retract" | "restore":
            return (step.about,)
        case _:
            return ()


def _require_own(store: Palimpsest, owner_id: str, step: Step) -> None:
    if step.verb == "remember":
        require_own_forgetting(store, owner_id, step.about)
        return
    for some_id in (step.about, *_candidates(step)):
        own_id(store, owner_id, some_id)


def _request(
    owner_id: str,
    step: Step,
    with_consequences: bool,
    *,
    dry_run: bool = False,
    actor: str | None = None,
    because: str | None = None,
) -> Request:
    """The request of a step; a dry run of an un-merge also tells what depends on it."""
    stated: Any = {"request_id": request_id(), "actor": actor, "because": because}
    match step.verb:
        case "unmerge":
            stated |= {"with_consequences": with_consequences, "dry_run": dry_run}
            return UnmergeRequest(decision_id=step.about, **stated)
        case "reinstate":
            return ReinstateRequest(decision_id=step.about, **stated)
        case "undo":
            return UndoRequest(decision_id=step.about, owner_id=owner_id, **stated)
        case "separate":
            return SeparateRequest(a=step.about, b=step.other, **stated)
        case "withdraw":
            return WithdrawRequest(a=step.about, b=step.other, **stated)
        case "retract":
            return RetractRequest(selection=_only(owner_id, step.about), **stated)
        case "restore":
            return RestoreRequest(selection=_only(owner_id, step.about), **stated)
        case "remember":
            return RestoreRequest(forgotten=step.about, **stated)
        case _:
            assert_never(step.verb)


def _only(owner_id: str, candidate_id: str) -> Selection:
    return Selection(owner_id=owner_id, candidate_id=candidate_id)
