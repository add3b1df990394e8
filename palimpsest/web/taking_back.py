"""Undoing from a page: the effect is shown first, and carried out only if it is still the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.answers import ConsequenceTold, MemoryPicture, NotDone
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.requests import (
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    SeparateRequest,
    SetExpiryRequest,
    UndoRequest,
    UnmergeRequest,
    WithdrawRequest,
)
from palimpsest.queries.as_of import folded
from palimpsest.queries.undoing import request_for
from palimpsest.server.intents import own_id, require_token, token_of
from palimpsest.streams.core.lazy_copy import glance
from palimpsest.streams.core.ledger import Edge, Ledger
from palimpsest.streams.core.picture import picture
from palimpsest.streams.core.separations import separation
from palimpsest.streams.write.serve import execute

Fate = Literal["new", "swallowed", "retracted", "changed"]


@dataclass(frozen=True, slots=True)
class Became:
    """What happens to a memory; `by` are the memories that get the texts of a swallowed one."""

    fate: Fate
    memory: MemoryPicture
    by: Sequence[MemoryPicture] = ()


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The effect of undoing an id: the memories that change, as they are and as they would be.

    `does` is the kind of request that undoes it; `remember` if that restores forgotten memories,
    `forget` if it forgets a text again.
    `consequences` are the later decisions that depend on it, and `overtaken` the statements of
    people that do; `refused` is what is impossible. The consequences are carried out only if
    `with_consequences`. `changes` says whether memories change: undoing a statement about a pair,
    or one of several joins that hold a memory together, changes none.
    """

    id: str
    does: str
    with_consequences: bool
    before: Sequence[MemoryPicture]
    after: Sequence[MemoryPicture]
    changes: bool
    consequences: Sequence[ConsequenceTold] = ()
    overtaken: Sequence[str] = ()
    refused: Sequence[NotDone] = ()

    @property
    def became(self) -> Sequence[Became]:
        """What would happen to each memory that changes."""
        return became(self.before, self.after)

    @property
    def token(self) -> str:
        """A token for exactly this effect: a different effect has a different token."""
        return token_of(asdict(self))


# -- what can be undone --------------------------------------------------------------------------


def cut_of(edge: Edge) -> str | None:
    """The id that removes a join; None if the join does not stand, or joins identical texts."""
    return edge.id if edge.standing and not edge.exact else None


def undone_by(store: Palimpsest, ledger: Ledger, some_id: str) -> Request[Any] | None:
    """The request that undoes what an id of the owner names; None if that is not possible now."""
    try:
        request = request_for(store.reader, "undo", some_id, by="person", owner_id=ledger.owner_id)
    except RefusedError:
        return None
    _, is_possible = _aim_of(ledger, request)
    return request if is_possible else None


# -- the effect, shown and then carried out ------------------------------------------------------


def foresee(
    store: Palimpsest, owner_id: str, some_id: str, *, with_consequences: bool = True
) -> Foreseen:
    """The effect of undoing what an id names; nothing is written.

    Raises a problem if it is not about this owner, RefusedError if it is impossible.
    """
    request = _request(store, owner_id, some_id, with_consequences=with_consequences)
    if isinstance(request, UnmergeRequest):  # a dry run also lists what depends on it
        request = request.model_copy(update={"dry_run": True})
    trial = store.reader.trial()
    seen, before = trial.ledger(owner_id).seen, _pictures(trial.ledger(owner_id))
    answer = execute(trial, request)
    ledger = trial.ledger(owner_id)
    after = _pictures(ledger)
    aim, _ = _aim_of(ledger, request)
    named = {ledger.entries[candidate_id].memory.id for candidate_id in aim}
    return Foreseen(
        some_id,
        _does(request),
        with_consequences,
        [memory for name, memory in before.items() if name in named or after.get(name) != memory],
        [memory for name, memory in after.items() if name in named or before.get(name) != memory],
        ledger.seen > seen,
        answer.get("consequences", ()),
        answer.get("overtaken", ()),
        answer.get("refused", ()),
    )


def _does(request: Request[Any]) -> str:
    match request:
        case RestoreRequest(forgotten=str()):
            return "remember"
        case RetractRequest(again=str()):
            return "forget"
        case _:
            return str(request.request)


def carry_out(
    store: Palimpsest,
    owner_id: str,
    some_id: str,
    *,
    with_consequences: bool,
    token: str,
    actor: str,
    because: str | None,
) -> Foreseen:
    """Carry out what was shown with this token; a problem if the effect is no longer the same."""
    shown = foresee(store, owner_id, some_id, with_consequences=with_consequences)
    require_token(token, shown.token)
    said = {"actor": actor, "because": because}
    request = _request(store, owner_id, some_id, with_consequences=with_consequences, **said)
    store.writer.ask(request)
    return shown


def _request(
    store: Palimpsest,
    owner_id: str,
    some_id: str,
    *,
    with_consequences: bool,
    **said: str | None,
) -> Request[Any]:
    """The request that undoes what an id of the owner names; a problem if it is another's."""
    own_id(store, owner_id, some_id)
    request = request_for(store.reader, "undo", some_id, by="person", owner_id=owner_id, **said)
    if isinstance(request, UnmergeRequest):
        return request.model_copy(update={"with_consequences": with_consequences})
    return request


def _pictures(ledger: Ledger) -> dict[str, MemoryPicture]:
    entries = glance(ledger.entries)
    return {entry.id: picture(entry.memory) for entry in entries if entry.memory.id == entry.id}


def became_between(
    store: Palimpsest, owner_id: str, since: int | None, until: int | None
) -> Sequence[Became]:
    """The changes of an owner's memories between two positions of the log; empty without both."""
    if since is None or until is None:
        return ()
    with folded(store.reader, owner_id, since) as then:
        before = _pictures(then).values()
    with folded(store.reader, owner_id, until) as then:
        return became(before, _pictures(then).values())


def became(before: Collection[MemoryPicture], after: Collection[MemoryPicture]) -> list[Became]:
    """What happened to each memory that changed, appeared or disappeared."""
    was = {memory["memory_id"]: memory for memory in before if memory["living"]}
    now = {memory["memory_id"]: memory for memory in after if memory["living"]}
    home = {
        member["candidate_id"]: memory for memory in now.values() for member in memory["members"]
    }
    found = [Became("new", memory) for name, memory in now.items() if name not in was]
    for name, memory in was.items():
        if name in now:
            if now[name] != memory:
                found.append(Became("changed", now[name]))
            continue
        ids = (member["candidate_id"] for member in memory["members"])
        homes = {home[some_id]["memory_id"]: home[some_id] for some_id in ids if some_id in home}
        fate: Fate = "swallowed" if homes else "retracted"
        found.append(Became(fate, memory, [*homes.values()]))
    return found


def _aim_of(ledger: Ledger, request: Request[Any]) -> tuple[tuple[str, ...], bool]:
    """The candidates whose memories are shown even if unchanged; and whether it can be undone.

    Uses the ledger in its current state: `request_for` has found what the id names.
    """
    match request:
        case (
            UnmergeRequest(decision_id=str(join))
            | UndoRequest(decision_id=str(join))
            | ReinstateRequest(decision_id=join)
        ):
            edge = ledger.edges[join]
            is_back = isinstance(request, ReinstateRequest)
            possible = not edge.standing if is_back else cut_of(edge) is not None
            return (edge.newer.id, edge.older.id), possible
        case SeparateRequest(a=a, b=b):
            one, other = ledger.entries[a], ledger.entries[b]
            apart = one.memory is not other.memory
            return (a, b), apart and separation(ledger, one, other) is None
        case WithdrawRequest(a=a, b=b):
            return (a, b), True
        case SetExpiryRequest(candidate_id=candidate_id):
            return (candidate_id,), True
        case RetractRequest(selection=chosen) | RestoreRequest(selection=chosen):
            named = (chosen.candidate_id,) if chosen and chosen.candidate_id else ()
            living = all(ledger.entries[name].living for name in named)
            return named, living or isinstance(request, RestoreRequest)
        case _:
            return (), True
