"""A person's statements: merge, separate, un-merge, reinstate (docs/design.md)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from palimpsest.contracts.commands import Merge, Reinstate, Separate, Unmerge, Withdraw
from palimpsest.contracts.events import (
    RANKS,
    AnyEvent,
    FaceRule,
    Join,
    Joined,
    JoinedData,
    OnCandidateData,
    OnDecisionData,
    Rank,
    Redecided,
    Reinstated,
    Restored,
    Reversed,
    ReversedData,
    Separated,
    SeparatedData,
    Settled,
    SettledData,
)
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.edges import edge_of
from palimpsest.streams.core.envelope import head
from palimpsest.streams.core.faces import fold_face
from palimpsest.streams.core.graph import joins_of_update, path, smaller_side
from palimpsest.streams.core.indexes import new_text
from palimpsest.streams.core.ledger import Edge, Entry, Ledger, Reversal, Statement
from palimpsest.streams.core.refusal import (
    Refusal,
    a_rank,
    chain,
    unknown_candidate,
    unknown_decision,
)
from palimpsest.streams.core.separations import (
    agreed,
    by_size,
    separated_pairs,
    separation,
    stated_pairs,
    statement_on,
)
from palimpsest.streams.core.text import identity_of

Seen = TypeVar("Seen")

TWO_HOMES = Refusal(
    "same_text", "the same text would live in two memories, but it may live in one only"
)
REPEATED_TEXT = Refusal(
    "same_text",
    "it repeats a text that was composed of the other's, and that text can live in one memory only",
)
Result = list[AnyEvent] | Refusal
Pair = tuple[Entry, Entry]


def merge(command: Merge, ledger: Ledger, now: datetime) -> Result:
    """`manual_join`: a person states that two candidates are the same."""
    pair = pair_of(ledger, command.a, command.b)
    if isinstance(pair, Refusal):
        return pair
    older, newer = pair
    if not (older.living and newer.living):
        return Refusal("not_living", "one of the two is retracted: restore it first")
    if command.face not in (None, older.id, newer.id):
        return Refusal("not_a_face", f"the face must be {older.id} or {newer.id}")
    if any(e.standing and e.by_person and e.other(newer) is older for e in newer.edges):
        return Refusal(
            "standing_already",
            "a person has said so already: `withdraw` that first, to choose who speaks",
        )
    found = conflict(ledger, older, newer, rank="person", beside=[(older, newer)])
    if found is not None:
        return found
    face: FaceRule = "take" if command.face == newer.id else "keep"
    chose = True if command.face is not None else None
    data = JoinedData(
        decision="manual_join",
        candidate_id=newer.id,
        join=Join(to=older.id, face=face, similarity=None, former=chose, chosen=chose),
        rank="person",
        actor=command.actor,
        because=command.because,
    )
    joined = Joined(**head(command, newer.id, now), data=data)
    return spoken_twice(ledger, joined) or [joined]


def pair_of(ledger: Ledger, a: str, b: str) -> Pair | Refusal:
    """Two known candidates of one scope, the older first; else a refusal."""
    for candidate_id in (a, b):
        if candidate_id not in ledger.entries:
            return unknown_candidate(candidate_id)
    if a == b:
        return Refusal("same_candidate", "a candidate is always the same as itself")
    first, second = ledger.entries[a], ledger.entries[b]
    if first.fields.namespace != second.fields.namespace:
        return Refusal("two_namespaces", "joins stay inside one namespace")
    return (first, second) if first.place < second.place else (second, first)


def conflict(
    ledger: Ledger, older: Entry, newer: Entry, *, rank: Rank, beside: Sequence[Pair] = ()
) -> Refusal | None:
    """A refusal that lists all statements of this rank or higher that the union would contradict.

    It names the joins that would connect each pair. Statements about the pairs in `beside` are
    ignored.
    """
    if older.memory is newer.memory:
        return None
    aside = [set(pair) for pair in beside]
    found: list[str] = []
    highest: Rank = rank
    # A person may unite pairs of a memory that was split as a whole.
    pairs = separated_pairs if rank == "rule" else stated_pairs
    for x, y in pairs(ledger, older.memory, newer.memory):
        statement = separation(ledger, x, y) if rank == "rule" else statement_on(ledger, x.id, y.id)
        if {x, y} in aside or statement is None or not statement.separated:
            continue
        if RANKS[statement.rank] < RANKS[rank]:
            continue
        highest = max(highest, statement.rank, key=lambda rank: RANKS[rank])
        a, b = (x, y) if x.memory is older.memory else (y, x)
        ways = " and ".join(filter(None, (chain(older, a), chain(b, newer))))
        found.append(f"{a.id} and {b.id}" + (f", through {ways}" if ways else ""))
    if not found:
        return None
    return Refusal(
        "separated",
        f"{a_rank(highest)} said that these are not the same, but they would be in one memory:"
        f" {'; '.join(found)}",
    )


def separate(command: Separate, ledger: Ledger, policy: Policy, now: datetime) -> Result:
    """`separated`; also settles a pending candidate that waited only for this answer."""
    pair = pair_of(ledger, command.a, command.b)
    if isinstance(pair, Refusal):
        return pair
    older, newer = pair
    if older.memory is newer.memory:
        through = f"they are one memory through {chain(older, newer)}: un-merge one of these first"
        repeat = "they have the same text, which lives in one memory: retract one of them"
        return Refusal("one_memory", repeat if older.distinct is newer.distinct else through)
    held = statement_on(ledger, older.id, newer.id)
    if held is not None and held.separated and RANKS[held.rank] >= RANKS[command.rank]:
        return Refusal("standing_already", f"{a_rank(held.rank)} has separated them already")
    data = SeparatedData(
        candidate_id=newer.id,
        other_id=older.id,
        rank=command.rank,
        actor=command.actor,
        because=command.because,
        verdicts=command.verdicts,
        similarity=command.similarity,
    )
    separated = Separated(**head(command, newer.id, now), data=data)
    return [separated, *_settled_by(command, ledger, policy, pair, now)]


def _settled_by(
    command: Separate, ledger: Ledger, policy: Policy, pair: Pair, now: datetime
) -> list[AnyEvent]:
    older, newer = pair
    sides = ((older, newer), (newer, older))
    return [
        _kept(command, policy, entry, step, now)
        for step, (entry, other) in enumerate(sides, 1)
        if _nothing_left_to_ask(ledger, entry, other)
    ]


def _nothing_left_to_ask(ledger: Ledger, entry: Entry, other: Entry) -> bool:
    """Whether a candidate waits for nothing but an answer about the other."""
    return entry.pending and entry.id not in ledger.held and set(entry.open) <= {other.id}


def _kept(command: Separate, policy: Policy, entry: Entry, step: int, now: datetime) -> Settled:
    data = SettledData(
        decision="llm_keep",
        candidate_id=entry.id,
        evidence=Evidence(policy=policy.hash, check="person"),
        rank=command.rank,
        actor=command.actor,
        because=command.because,
    )
    return Settled(**head(command, entry.id, now, step), data=data)


def unmerge(command: Unmerge, ledger: Ledger, now: datetime) -> Result:
    """`reversed`: one join is reversed and its pair separated (docs/design.md, Un-merge)."""
    edge = _edge(ledger, command.decision_id)
    if isinstance(edge, Refusal):
        return edge
    if not edge.standing:
        return Refusal("not_standing", f"decision {edge.id} is reversed already")
    stated = _agreed(command, ledger, edge)
    if stated is not None and RANKS[stated.rank] > RANKS[command.rank]:
        return Refusal("outranked", f"{a_rank(stated.rank)} said that the two are the same")
    if edge.over is not None and RANKS[edge.rank] > RANKS[command.rank]:
        return Refusal("outranked", f"{a_rank(edge.rank)} made this update")
    side = smaller_side(edge)
    if side is None and not edge.by_person:
        rest = path(edge.newer, edge.older, without=edge) or []
        persons = ", ".join(e.id for e in rest if e.by_person) or ", ".join(e.id for e in rest)
        return Refusal("supported", f"the two stay one memory by {persons}: un-merge that first")
    if text_lives_twice(ledger, edge, side):
        return TWO_HOMES
    if command.consequence_of is None and edge.repeats_a_composition:
        return REPEATED_TEXT
    data = ReversedData(
        decision_id=edge.id,
        candidate_id=edge.newer.id,
        joined_to=edge.older.id,
        separates=side is not None and command.consequence_of is None,
        rank=command.rank,
        actor=command.actor,
        because=command.because,
        verdicts=command.verdicts,
        consequence_of=command.consequence_of,
        cause=command.cause,
        withdraws=True if _only_withdraws(command, ledger, edge, side) else None,
    )
    return [Reversed(**head(command, edge.id, now), data=data)]


def _only_withdraws(command: Unmerge, ledger: Ledger, edge: Edge, side: set[Entry] | None) -> bool:
    """Whether an un-merge separates nothing, so that it only withdraws a person's merge."""
    if side is not None or command.consequence_of is not None:
        return False
    return edge.decision == "manual_join" and _apart_before(ledger, edge) is None


def _apart_before(ledger: Ledger, edge: Edge) -> Statement | None:
    """A person's separation of a merged pair that would hold again without the merge.

    Separations of a lower rank or by a split memory do not count: other pairs may overrule them.
    """
    before = statement_on(ledger, edge.older.id, edge.newer.id, without=edge.id)
    if before is None or not before.separated or before.rank != "person":
        return None
    return before


def _agreed(command: Unmerge, ledger: Ledger, edge: Edge) -> Statement | None:
    """The statement that the two are the same; for a consequence, only one made since the join was.

    A consequence that was reversed by mistake and reinstated counts as before.
    """
    if command.consequence_of is not None:
        since = agreed(ledger, edge)
        return since if since is not None and since.order >= edge.order else None
    stated = statement_on(ledger, edge.newer.id, edge.older.id)
    return None if stated is None or stated.separated else stated


def _edge(ledger: Ledger, decision_id: str) -> Edge | Refusal:
    edge = ledger.edges.get(decision_id)
    if edge is not None:
        return edge
    if decision_id in ledger.decisions:
        return Refusal("not_a_join", f"decision {decision_id} joined nothing")
    return unknown_decision(decision_id)


def text_lives_twice(ledger: Ledger, edge: Edge, side: set[Entry] | None) -> bool:
    """Whether a text would live in two memories if a join were reversed, which splits off `side`.

    It would if it lives on both sides, or if it is a composed face that another candidate has by
    now. `side` is None if the memory stays whole.
    """
    memory = edge.newer.memory
    if side is not None and _same_text_on_both_sides(edge, side):
        return True
    joins = [join for join in memory.edges() if join is not edge]
    parts = [side, set(memory.members) - side] if side else [set(memory.members)]
    return memory.texted and any(face_elsewhere(ledger, part, joins) for part in parts)


def face_elsewhere(
    ledger: Ledger, members: Collection[Entry], joins: Iterable[Edge]
) -> Entry | None:
    """A candidate outside these members that has the text of their face, or speaks it as a face.

    `joins` may include more than the members' joins. The face may be a composed text, which no
    member has as its own.
    """
    ordered, inside = sorted(members, key=lambda entry: entry.place), set(members)
    face, _ = fold_face(ordered, [join for join in joins if join.newer in inside])
    same = ledger.distinct(ordered[0].fields.namespace, face.hash)
    if same is None or not face.speaker.living or all(entry.expired for entry in members):
        return None
    others = (member for member in same.members if member.living and not member.expired)
    twin = next((member for member in others if member not in inside), None)
    return twin or same.spoken_outside({member.memory for member in inside})


def _same_text_on_both_sides(edge: Edge, side: set[Entry]) -> bool:
    """Whether a text would live on both sides, as a candidate's own or as a composed face."""
    memory = edge.newer.memory
    texts = {entry.distinct for entry in side if entry.living}
    if any(
        other.living and other.memory is memory and other not in side
        for distinct in texts
        for other in distinct.members
    ):
        return True
    if not memory.texted:
        return False
    ours = [entry for entry in memory.members if entry in side]
    theirs = [entry for entry in memory.members if entry not in side]
    joins = [join for join in memory.edges() if join is not edge]
    return bool(_texts(ours, joins) & _texts(theirs, joins))


def _texts(members: list[Entry], joins: list[Edge]) -> set[str]:
    """The hashes of the texts that would live in a part, including a composed face."""
    everyone = set(members)
    face, _ = fold_face(members, [join for join in joins if join.newer in everyone])
    texts = {entry.distinct.hash for entry in members if entry.living}
    return texts | {face.hash} if face.speaker.living else texts


def withdraw(command: Withdraw, ledger: Ledger, now: datetime) -> Result:
    """`reversed`: withdraws the latest statement about a pair that is in force."""
    pair = pair_of(ledger, command.a, command.b)
    if isinstance(pair, Refusal):
        return pair
    older, newer = pair
    joins = [
        edge
        for edge in newer.edges
        if edge.standing and edge.decision == "manual_join" and edge.older is older
    ]
    merged = min(joins, key=lambda edge: edge.over is not None, default=None)
    if merged is not None and merged.over is not None:
        return Refusal("not_a_statement", f"decision {merged.id} is an update: undo it")
    if merged is not None:
        return _withdraw_merge(command, ledger, merged, now)
    stated = separation(ledger, older, newer)
    if stated is None:
        return Refusal("not_separated", "there is no statement about these two")
    if stated is not statement_on(ledger, older.id, newer.id):
        return Refusal(
            "not_a_statement",
            f"request {stated.event_id} split their memory: reinstate what it reversed, or"
            " merge the two",
        )
    if stated.event_id not in ledger.separations:
        return Refusal(
            "not_a_statement",
            _apart_by(stated.event_id, newer),
        )
    data = ReversedData(
        decision_id=stated.event_id,
        candidate_id=newer.id,
        joined_to=older.id,
        separates=False,
        rank="person",
        actor=command.actor,
        because=command.because,
    )
    return [Reversed(**head(command, stated.event_id, now), data=data)]


def _apart_by(event_id: str, entry: Entry) -> str:
    """A sentence that names the event that keeps a candidate apart, and how to take that back."""
    cuts = (
        edge for edge in entry.edges if edge.reversed_by and edge.reversed_by.event_id == event_id
    )
    cut = next(cuts, None)
    if cut is None:
        return f"an answer, event {event_id}, keeps them apart: merge the two if they are the same"
    return (
        f"reversal {event_id} of decision {cut.id} keeps them apart: reinstate that decision,"
        " or merge the two"
    )


def _withdraw_merge(command: Withdraw, ledger: Ledger, edge: Edge, now: datetime) -> Result:
    """Withdraw a merge as if it had never been stated: its pair is not separated."""
    stated = statement_on(ledger, edge.newer.id, edge.older.id)
    if stated is None or edge.id not in (stated.event_id, stated.back):
        return Refusal(
            "not_a_statement",
            f"after the merge something else was stated about the two: un-merge {edge.id}",
        )
    side = smaller_side(edge)
    if text_lives_twice(ledger, edge, side):
        return TWO_HOMES
    before = _apart_before(ledger, edge)
    if side is None and before is not None:
        rest = ", ".join(e.id for e in path(edge.newer, edge.older, without=edge) or ())
        return Refusal(
            "supported",
            f"event {before.event_id} keeps the two apart, and {rest} would hold them together:"
            " un-merge that first",
        )
    data = ReversedData(
        decision_id=edge.id,
        candidate_id=edge.newer.id,
        joined_to=edge.older.id,
        separates=False,
        rank="person",
        actor=command.actor,
        because=command.because,
        withdraws=True,
    )
    return [Reversed(**head(command, edge.id, now), data=data)]


def reinstate(command: Reinstate, ledger: Ledger, now: datetime) -> Result:
    """`reinstated`: takes a reversal back; if it undid an update, its text is restored, too."""
    edge = _edge(ledger, command.decision_id)
    if isinstance(edge, Refusal):
        return edge
    if edge.standing:
        return Refusal("standing_already", f"decision {edge.id} stands")
    joins = _undone_at_once(edge) if edge.over is not None else _barred_with(command, edge, ledger)
    refusal = _bars_any(command, ledger, edge, joins)
    if refusal is not None:
        return refusal
    withdrawn = withdrawn_by(joins[0])
    twin = twin_of(withdrawn, ledger, joins) if withdrawn else _face_beside(ledger, joins)
    if twin is not None:
        return Refusal("same_text", f"its text lives in another memory, as candidate {twin.id}")
    said: Any = {"actor": command.actor, "because": command.because, "cause": command.cause}
    back: list[AnyEvent] = []
    for join in joins:
        data = OnDecisionData(decision_id=join.id, rank=command.rank, **said)
        back.append(Reinstated(**head(command, join.id, now, len(back)), data=data))
    if withdrawn is not None:
        again = OnCandidateData(candidate_id=withdrawn.id, **said)
        back.append(Restored(**head(command, withdrawn.id, now, len(back)), data=again))
    return back


def _bars_any(
    command: Reinstate, ledger: Ledger, edge: Edge, joins: Sequence[Edge]
) -> Refusal | None:
    """A refusal if one of the joins that come back together with `edge` cannot come back."""
    for join in joins:
        refusal = _bars_reinstating(command, ledger, join, joins)
        if refusal is not None:
            return refusal
    if edge.over is None or len(joins) == 1:
        return None
    ends = (join.other(edge.winner) for join in joins)  # the newcomer connects them
    return conflict(ledger, *sorted(ends, key=lambda end: end.place), rank=command.rank)


def twin_of(entry: Entry, ledger: Ledger, joins: Sequence[Edge] = ()) -> Entry | None:
    """Another candidate with the text of `entry`, or with the face that `joins` would lead to."""
    homes = {entry.memory, *(end.memory for join in joins for end in (join.newer, join.older))}
    return entry.distinct.lives_outside(homes) or _face_beside(ledger, joins, entry)


def _face_beside(ledger: Ledger, joins: Sequence[Edge], back: Entry | None = None) -> Entry | None:
    """Another candidate with the composed face that would result if joins or `back` came back."""
    homes = {end.memory.id: end.memory for join in joins for end in (join.newer, join.older)}
    if back is not None:
        homes[back.memory.id] = back.memory
    if not any(join.texts for join in joins) and not any(home.texted for home in homes.values()):
        return None
    members = {entry for memory in homes.values() for entry in memory.members}
    standing = [join for memory in homes.values() for join in memory.edges()]
    return seen_as(back, lambda: face_elsewhere(ledger, members, [*standing, *joins]), living=True)


def spoken_twice(ledger: Ledger, event: Joined | Settled | Redecided) -> Refusal | None:
    """A refusal if, after a join, a memory's face would be a composed text that lives elsewhere."""
    data = event.data
    if data.join is None:
        return None
    newer, older = ledger.entries[data.candidate_id], ledger.entries[data.join.to]
    if not (newer.memory.texted or older.memory.texted):
        return None
    place = ledger.seen + 1 if isinstance(event, Joined) else newer.place
    join = edge_of(ledger, event, newer, data.join, place, data.rank)
    if data.composition is not None:
        content = data.composition.content
        text = ledger.distinct(newer.fields.namespace, identity_of(content))
        join.texts = {event.id: data.composition}
        join.composed = {event.id: text or new_text(newer.fields.namespace, content)}
    twin = _face_beside(ledger, [join])
    if twin is None:
        return None
    return Refusal(
        "same_text",
        "the memory would show a composed text that lives in another memory, as candidate"
        f" {twin.id}: join the two first, or retract that candidate",
    )


def seen_as(entry: Entry | None, look: Callable[[], Seen], *, living: bool) -> Seen:
    """The result of `look` as if a candidate were living, or were not."""
    if entry is None:
        return look()
    was = entry.living
    entry.living = living
    try:
        return look()
    finally:
        entry.living = was


def _undone_at_once(edge: Edge) -> tuple[Edge, ...]:
    """A reversed join, with the update's other join if one undo reversed both."""
    joins = joins_of_update(edge)
    orders = [join.reversed_by.order for join in joins if join.reversed_by is not None]
    together = len(orders) == len(joins) and orders[-1] - orders[0] == len(joins) - 1
    return joins if together else (edge,)


def _barred_with(command: Reinstate, edge: Edge, ledger: Ledger) -> tuple[Edge, ...]:
    """A reversed join, with the others whose reversals keep the same two memories apart.

    None of them could come back without the rest. The same request reversed them, or the command
    names them, too.
    """
    if edge.reversed_by is None:
        return (edge,)
    cause = edge.reversed_by.cause or edge.id
    found = (
        other
        for other, reversal in _reversed_between(ledger, edge)
        if reversal.cause == cause or other.id in command.also
    )
    return (edge, *found)


def _reversed_between(ledger: Ledger, edge: Edge) -> Iterator[tuple[Edge, Reversal]]:
    """Other reversed joins between the two memories of a join, of pairs that are separated."""
    if edge.older.memory is edge.newer.memory:
        return
    small, big = by_size(edge.older.memory, edge.newer.memory)
    found: dict[Pair, list[tuple[Edge, Reversal]]] = {}
    for entry in small.members:
        for one in entry.edges:
            other = one.other(entry)
            between = other.memory is big and {entry, other} != {edge.older, edge.newer}
            if between and one.reversed_by is not None:
                found.setdefault((entry, other), []).append((one, one.reversed_by))
    for pair in separated_pairs(ledger, small, big) if found else ():
        yield from found.get(pair, ())


def _bars_reinstating(
    command: Reinstate, ledger: Ledger, edge: Edge, joins: Sequence[Edge]
) -> Refusal | None:
    """Why a join cannot be reinstated together with all of `joins`; None if it can."""
    held = statement_on(ledger, edge.older.id, edge.newer.id)
    if held is not None and held.separated and RANKS[held.rank] > RANKS[command.rank]:
        return Refusal("separated", f"{a_rank(held.rank)} has separated the pair")
    taken_by = edge.reversed_by.rank if edge.reversed_by is not None else command.rank
    if RANKS[taken_by] > RANKS[command.rank]:
        return Refusal("outranked", f"{a_rank(taken_by)} took this back")
    beside = [(join.older, join.newer) for join in joins]
    refusal = conflict(ledger, edge.older, edge.newer, rank=command.rank, beside=beside)
    if refusal is None:
        return None
    others = [other.id for other, _ in _reversed_between(ledger, edge) if other not in joins]
    if not others:
        return refusal
    way = f"un-merging {', '.join(others)} said so: reinstate all of them at once, by a selection"
    return replace(refusal, detail=f"{refusal.detail}; {way}")


def withdrawn_by(edge: Edge) -> Entry | None:
    """The candidate that an update had added and that undoing the update retracted.

    None if undoing it retracted none, or the candidate is living again.
    """
    withdrew = edge.reversed_by is not None and edge.reversed_by.withdrew
    return edge.newer if withdrew and not edge.newer.living else None
