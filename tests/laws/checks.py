"""The laws as checks: each takes a generated history and raises AssertionError where it fails."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import combinations, takewhile
from operator import ne
from typing import NoReturn
from unittest.mock import patch
from uuid import uuid5

from hypothesis import assume
from msgspec import structs

from palimpsest.contracts.commands import (
    Admit,
    Forget,
    Merge,
    Reinstate,
    Restore,
    Retract,
    Separate,
    Settle,
    Undo,
    Unmerge,
    Update,
    Withdraw,
)
from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    Joined,
    Refused,
    RefusedData,
    Reinstated,
    Retracted,
    Reversed,
    Settled,
    Vector,
)
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.identity import NAMESPACE, candidate_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import ReinstateRequest, UnmergeRequest
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.core import neighbour_lookup
from palimpsest.streams.core.decide import decide
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.expand import reinstate_commands, unmerge_commands
from palimpsest.streams.core.faces import fold_face
from palimpsest.streams.core.ledger import Edge, Entry, Ledger, Memory
from palimpsest.streams.core.separations import (
    separated_pair,
    separated_pairs,
    separation,
    statement_on,
)
from palimpsest.streams.core.walk import holds
from palimpsest.streams.retrieval import ScopeIndex
from tests.laws.histories import Act, Playback, Say, play
from tests.laws.world import (
    Command,
    Picture,
    World,
    by_brute_force,
    fold,
    picture,
    vector_at,
)

EXACT = ("hash_exact", "recent_capture")


def accepted(events: list[AnyEvent]) -> bool:
    """Whether a command was carried out."""
    return not any(isinstance(event, Refused) for event in events)


def join_of(event: AnyEvent) -> str | None:
    """The decision of an event that joined, as an un-merge names it."""
    match event:
        case Decided() | Settled() | Joined() if event.data.join is not None:
            return event.id
        case _:
            return None


def probe(word: str, decision_id: str) -> str:
    """The id of a command that a law gives beside the story's own."""
    return str(uuid5(NAMESPACE, f"{word}:{decision_id}"))


def request_of(decision_id: str) -> str:
    """The id of the request that takes a join out, and of all that is done because of it."""
    return probe("un-merge", decision_id)


def unmerged(world: World, decision_id: str) -> list[AnyEvent]:
    """Take a join out of a world."""
    command = Unmerge(
        command_id=probe("unmerged", decision_id),
        owner_id=world.ledger.owner_id,
        decision_id=decision_id,
        cause=request_of(decision_id),
    )
    return world.run(command, seconds=0)


def reinstated(world: World, decision_id: str) -> list[AnyEvent]:
    """Put a join back."""
    command = Reinstate(
        command_id=probe("reinstated", decision_id),
        owner_id=world.ledger.owner_id,
        decision_id=decision_id,
    )
    return world.run(command, seconds=0)


Everything = tuple[Picture, dict[str, object]]


def everything(ledger: Ledger) -> Everything:
    """Members, faces, ids and vectors of the memories, and what is asked, held and answered."""
    return picture(ledger), questions(ledger)


def l1_unmerge_restores(policy: Policy, story: list[Act]) -> None:
    """After each join: un-merging it at once gives what was before, with that pair separated."""
    told = Playback(World(policy))
    for act in story:
        before = list(told.world.log)
        told.follow(act)
        events = told.world.log[len(before) :]
        if len(events) == 1 and join_of(events[0]):
            after = _folded(policy, told.world.log, told.world.now)
            if accepted(unmerged(after, events[0].id)):
                never = _folded(policy, before, told.world.now)
                _without_its_join(never, events[0])
                _same(after.ledger, never.ledger)


def _folded(policy: Policy, log: list[AnyEvent], now: datetime) -> World:
    world = World(policy)
    world.ledger, world.log, world.now = fold("ada", log), list(log), now
    return world


def _without_its_join(world: World, event: AnyEvent) -> None:
    """What an event says beside its join; and the pair is separated, for that much stays.

    A newcomer arrives on its own; of a settlement its answers remain.
    """
    assert isinstance(event, Decided | Settled | Joined)
    join = event.data.join
    assert join is not None
    match event:
        case Decided():
            data = structs.replace(event.data, decision="stored", join=None, composition=None)
            alone: AnyEvent | None = structs.replace(event, data=data)
        case Settled():
            alone = _verdicts_only(event)
        case _:
            alone = None
    world.now = event.time
    if alone is not None:
        evolve(world.ledger, alone)
        world.log.append(alone)
    a, b = event.data.candidate_id if isinstance(event, Joined) else event.subject, join.to
    command = Separate(command_id=probe("apart", event.id), owner_id="ada", a=a, b=b)
    if world.ledger.entries[a].memory is not world.ledger.entries[b].memory:
        world.run(command, seconds=0)


def _verdicts_only(event: Settled) -> Refused:
    """The answers of a settlement, as if they had settled nothing."""
    data = RefusedData(
        command="settle",
        reason="separated",
        detail="",
        candidate_id=event.data.candidate_id,
        verdicts=event.data.evidence.verdicts,
        rank=event.data.rank,
    )
    return Refused(id=event.id, subject=event.id, time=event.time, partitionkey="ada", data=data)


def _same(ours: Ledger, theirs: Ledger) -> None:
    assert picture(ours) == picture(theirs)
    assert questions(ours) == questions(theirs)


def l2_late_equals_at_once(policy: Policy, story: list[Act], which: int) -> None:
    """Un-merging a join made on arrival, late or at once, gives the same memories."""
    _compare_suffixes(policy, story, which, without=False)


def l2_equals_never(policy: Policy, story: list[Act], which: int) -> None:
    """Un-merging a join made on arrival gives what would be there had it never happened."""
    _compare_suffixes(policy, story, which, without=True)


def _compare_suffixes(policy: Policy, story: list[Act], which: int, *, without: bool) -> None:
    told = play(policy, story)
    joins = [
        (number, event)
        for number, (_, events) in enumerate(told.steps)
        for event in events
        if isinstance(event, Decided | Settled) and join_of(event)
        if event.data.decision not in EXACT and not by_person(event)
    ]
    assume(joins)
    number, join = joins[which % len(joins)]
    commands = [command for command, _ in told.steps]

    def begin(world: World, start: list[Command]) -> None:
        if without:
            _start_without(world, start, join)
            return
        for command in start:
            world.run(command)
        assume(accepted(unmerged(world, join.id)))

    late, other = _run_both(policy, commands, number, begin)
    assume(accepted(unmerged(late, join.id)))
    if without and join.id != told.steps[number][1][0].id:
        return
    assume(not _came_too_late(late, other))
    _same(late.ledger, other.ledger)


def l2_withdrawing_equals_never(policy: Policy, story: list[Act], which: int) -> None:
    """A merge that is withdrawn, however late, leaves what would be there had nobody said it."""
    told = play(policy, story)
    merges = [
        (number, command)
        for number, (command, events) in enumerate(told.steps)
        if isinstance(command, Merge) and events and accepted(events)
    ]
    assume(merges)
    number, merge = merges[which % len(merges)]

    def begin(world: World, start: list[Command]) -> None:
        for command in start[:-1]:
            world.run(command)
        world.now = told.steps[number][1][0].time

    # Delivered again it is heard once here, and must not be heard at all there.
    commands = [c for n, (c, _) in enumerate(told.steps) if n <= number or c is not merge]
    late, other = _run_both(policy, commands, number, begin)
    taken_back = Withdraw(command_id=probe("back", "merge"), owner_id="ada", a=merge.a, b=merge.b)
    assume(accepted(late.run(taken_back)))
    assume(not _came_too_late(late, other))
    _same(late.ledger, other.ledger)


def _came_too_late(late: World, other: World) -> bool:
    """Whether an answer that settled there is free here only when it can join nothing any more.

    Another word has made the two one memory meanwhile, or the newer one with a better neighbour,
    which closes its question as another answer does; or a better one is ruled out no more; or
    another answer has them apart, or an earlier one that was held back with it has joined one of
    them to somebody from whom the other is separated; or the text that it was about is gone, or one
    of the two is retracted. Or it composes what cannot be kept: brought there it closed the
    question, and held back here it waits while the two are separated.
    """
    ledger = late.ledger
    if any(other.ledger.entries[one.id].closed and _composes(one) for one in ledger.held.values()):
        return True
    freed = [e for e in ledger.edges.values() if e.standing and e.freed]
    for newer_id, older_id in _joined(other, by="judge") - _joined(late):
        newer, older = ledger.entries[newer_id], ledger.entries[older_id]
        said = newer.answers.get(older_id, ())
        standing = [one.given.order for one in said if holds(ledger, one)]
        if newer.memory is older.memory or newer.closed or (said and not standing):
            return True
        better = [*takewhile(partial(ne, older_id), _asked_of(ledger, newer_id))]
        if any(ledger.entries[one].memory is newer.memory for one in better):
            return True
        if any(separation(ledger, newer, ledger.entries[one]) is None for one in better):
            return True
        if any(one.while_retracted for one in said) and not (newer.living and older.living):
            return True
        if standing and _answered_since(ledger, newer, older, min(standing)):
            return True
        apart = separated_pair(ledger, newer.memory, older.memory)
        if standing and apart and any(_won(edge, newer, older, min(standing)) for edge in freed):
            return True
    return False


def _won(freed: Edge, a: Entry, b: Entry, order: int) -> bool:
    """Whether an answer that was given before `order` has joined one of two to somebody else."""
    given = [one.given.order for one in freed.newer.answers[freed.older.id]]
    return freed.newer.memory in (a.memory, b.memory) and min(given) < order


def _composes(held: Entry) -> bool:
    """Whether an answer that is held back composes."""
    assert held.held is not None, "it is held"
    return any(one.verdict.answer == "compose" for one in held.answers[held.held])


def _answered_since(ledger: Ledger, a: Entry, b: Entry, order: int) -> bool:
    """Whether a later answer separates the memories of two."""
    pairs = separated_pairs(ledger, a.memory, b.memory)
    words = (statement_on(ledger, x.id, y.id) for x, y in pairs)
    return any(word and word.rank == "judge" and word.order > order for word in words)


def _joined(world: World, by: str | None = None) -> set[tuple[str, str]]:
    """The pairs of standing joins."""
    edges = world.ledger.edges.values()
    return {(e.newer.id, e.older.id) for e in edges if e.standing and by in (None, e.rank)}


def _run_both(
    policy: Policy,
    commands: list[Command],
    number: int,
    begin: Callable[[World, list[Command]], None],
) -> tuple[World, World]:
    """The history with a join, and the one that `begin`s without it, or with it taken out at once.

    An operator's command that is refused in one history alone is left out of both, as is one that
    separates other pairs in it: it was said of other memories; with it goes all that its request
    did. So is a verdict that only the merge
    let through ("overtaken", see docs): two verdicts that contradict each other settle in the order
    in which they can.
    """
    start, rest = commands[: number + 1], commands[number + 1 :]
    while True:
        late, other = World(policy), World(policy)
        for command in start:
            late.run(command)
        begin(other, start)
        tried = [(command, _runs_alike(late, other, command)) for command in rest]
        unlike = {_request(command) for command, alike in tried if not alike}
        if not unlike:
            return late, other
        unlike.discard(None)
        rest = [command for command, alike in tried if alike and _request(command) not in unlike]


def _request(command: Command) -> str | None:
    """The request about a whole memory, or a reversed join, that a command is a part of."""
    return getattr(command, "cause", None)


def _start_without(world: World, start: list[Command], join: Decided | Settled) -> None:
    """Carry out the commands, the last one's decision without its join; the pair is separated.

    For the separation of an un-merge stays: that much is never as if nothing had been.
    """
    for command in start[:-1]:
        world.run(command)
    events = _copy(world).run(start[-1])
    assume([event.id for event in events] == [join.id])
    _without_its_join(world, join)


def _copy(world: World) -> World:
    copy = World(world.policy)
    copy.ledger, copy.now = fold(world.ledger.owner_id, world.log), world.now
    return copy


def _runs_alike(late: World, other: World, command: Command) -> bool:
    """Carry a command out in both histories; whether it meant the same in both."""
    unites = isinstance(command, Merge | Reinstate)
    if unites and _overrules(late, command) != _overrules(other, command):
        return False
    by_intent = isinstance(command, Update | Undo | Forget | Retract | Restore | Reinstate)
    if by_intent and _would_say(late, command) != _would_say(other, command):
        return False
    if isinstance(command, Admit):
        return _arrive_alike(command, late, other)
    if isinstance(command, Settle):
        return _settle_alike(command, late, other)
    here, there = (apart(late), apart(other)) if isinstance(command, Unmerge) else (None, None)
    freed_late, freed_other = late.run(command), other.run(command)
    if accepted(freed_late) != accepted(freed_other):
        return False
    if not _settlements(freed_late) <= _settlements(freed_other):
        return False  # the merge let an answer through that another one overtakes without it
    # A memory taken apart is a word about all of its pairs, whichever joins had made it.
    return here is None or there is None or apart(late) - here == apart(other) - there


def _would_say(world: World, command: Command) -> list[object]:
    """What a command about a memory comes to: an update of another face is another word.

    So is forgetting another memory: who of it was retracted before comes back by no repeat either.
    """
    entries = world.ledger.entries
    named = command.memories if isinstance(command, Forget) else ()
    meant = [entries[one].memory.members for one in named if one in entries]
    return [
        *([entry.id for entry in members] for members in meant),
        *(
            (event.type, event.subject, getattr(event.data, "join", None))
            for event in decide(command, *world.at_present())
        ),
    ]


def _settlements(events: list[AnyEvent]) -> set[tuple[str, str]]:
    """The joins by held answers that a command has freed: who joined whom."""
    return {
        (event.subject, event.data.join.to)
        for event in events
        if isinstance(event, Settled) and event.data.join is not None
    }


def apart(world: World) -> set[tuple[str, str]]:
    """The pairs of separated candidates."""
    return {(a.id, b.id) for a, b in separated(world.ledger)}


def _settle_alike(command: Settle, late: World, other: World) -> bool:
    """A verdict means the same, or the merge holds it back; save one that composes a known text.

    Or the merge closes its question, as the two are one memory already: then it joins nothing.
    """
    text = command.composition.content.hash if command.composition else None
    known = text in _composed(late) | _composed(other)
    here, there = late.run(command), other.run(command)
    if not accepted(there):
        return not accepted(here)
    alike = not any(map(join_of, here)) or _meaning(here) == _meaning(there)
    assert alike or known, "it rested on a merge"
    return alike and not (known and any(map(join_of, here)) != any(map(join_of, there)))


def _meaning(events: list[AnyEvent]) -> list[object]:
    """What decisions say: the word, and the join."""
    decided = (event for event in events if isinstance(event, Decided | Settled))
    return [(event.data.decision, event.data.join) for event in decided]


def _composed(world: World) -> set[str]:
    """The hashes of all texts that joins ever composed."""
    edges = world.ledger.edges.values()
    return {text.content.hash for edge in edges for text in edge.texts.values()}


def _overrules(world: World, command: Command) -> set[frozenset[str]] | None:
    """The separated pairs that a person's word unites; None where the two are one memory already.

    A word that meets others in the two histories is not the same word in both.
    """
    pair = _united(world.ledger, command)
    if pair is None or pair[0].memory is pair[1].memory:
        return None
    pairs = separated_pairs(world.ledger, pair[0].memory, pair[1].memory)
    return {frozenset((x.id, y.id)) for x, y in pairs}


def _united(ledger: Ledger, command: Command) -> tuple[Entry, Entry] | None:
    """The two of which a word says that they are the same, where both are known."""
    if isinstance(command, Reinstate):
        edge = ledger.edges.get(command.decision_id)
        return None if edge is None else (edge.older, edge.newer)
    assert isinstance(command, Merge), "no other word unites two memories"
    known = [ledger.entries[one] for one in (command.a, command.b) if one in ledger.entries]
    return (known[0], known[1]) if len(known) == 2 else None


def _arrive_alike(command: Admit, late: World, other: World) -> bool:
    """No decision on arrival rests on a merge, save on the text that a merge composed."""
    here, there = _meaning(late.run(command)), _meaning(other.run(command))
    composed = _composed(late) | _composed(other)
    assert here == there or command.content.hash in composed, "it rested on a merge"
    return here == there


def questions(ledger: Ledger) -> dict[str, object]:
    """What is asked, open, held, answered and closed, by candidate: a part of what people see.

    What was said of a text that speaks for nobody here is not about anything here.
    """
    return {
        entry.id: (
            tuple(_asked_of(ledger, entry.id)),
            entry.pending,
            entry.open,
            entry.id in ledger.held,
            answered(ledger, entry),
            entry.closed,
        )
        for entry in ledger.entries.values()
        if entry.asked
    }


def answered(ledger: Ledger, entry: Entry) -> list[tuple[str, str]]:
    """The answers that hold about a candidate and those that it was asked about."""
    asked = [neighbour.candidate_id for neighbour in entry.asked]
    return sorted(
        {
            (one.verdict.neighbour_id, one.verdict.answer)
            for neighbour_id in asked
            for one in entry.answers.get(neighbour_id, ())
            if holds(ledger, one) and not _of_its_own_text(ledger, entry, one.speaker)
        }
    )


def _of_its_own_text(ledger: Ledger, entry: Entry, speaker: str) -> bool:
    """Whether it was said of a text that the candidate is a source of: it falls with their join."""
    edge = ledger.composed_by.get(speaker)
    return edge is not None and entry.id in edge.texts[speaker].sources


def l3_twice_is_once(policy: Policy, story: list[Act]) -> None:
    """Every command delivered twice, and all of them again at the end, changes nothing."""
    told = Playback(World(policy))
    for act in story:
        told.follow(act)
        if told.steps:
            assert told.world.run(told.steps[-1][0]) == []
    before = state(told.world.ledger)
    for command, _ in told.steps:
        assert told.world.run(command) == []
    assert state(told.world.ledger) == before
    assert state(fold("ada", told.world.log)) == before


def l4_nothing_outside(policy: Policy, story: list[Act]) -> None:
    """`reversed` leaves every memory alone but the one that it cuts, and every question.

    Save the questions about somebody in it: they may open again, and their answers become free.
    """
    ledger = Ledger("ada")
    for event in play(policy, story).world.log:
        if isinstance(event, Reversed) and event.data.decision_id in ledger.edges:
            cut = ledger.edges[event.data.decision_id].newer.memory
            members = {entry.id for entry in cut.members}
            before = _others(ledger, members)
            evolve(ledger, event)
            assert _others(ledger, members) == before
            assert {m for s in picture(ledger).values() for m, _ in s.members} >= members
        else:
            evolve(ledger, event)


def _others(ledger: Ledger, members: set[str]) -> Everything:
    """The memories and the questions that have none of these in them."""
    seen_by_id, asked = everything(ledger)
    return (
        {i: s for i, s in seen_by_id.items() if not members & {m for m, _ in s.members}},
        {i: q for i, q in asked.items() if members.isdisjoint({i, *_asked_of(ledger, i)})},
    )


def _asked_of(ledger: Ledger, candidate_id: str) -> list[str]:
    return [one.candidate_id for one in ledger.entries[candidate_id].asked]


def l5_partition(policy: Policy, story: list[Act]) -> None:
    """Memories are the components of standing joins; each join is inside one scope."""
    told = Playback(World(policy))
    for act in story:
        told.follow(act)
        ledger = told.world.ledger
        expected = components(ledger)
        found = {m.id: [entry.id for entry in m.members] for m in ledger.memories()}
        assert found == {members[0]: members for members in expected}
        for edge in ledger.edges.values():
            assert edge.newer.fields.namespace == edge.older.fields.namespace
        for memory in ledger.memories():
            assert all(entry.memory is memory for entry in memory.members)
            assert memory.living == any(entry.living for entry in memory.members)


def components(ledger: Ledger) -> list[list[str]]:
    """By the simplest means: labels that spread over standing joins until nothing changes."""
    label = {entry_id: place for place, entry_id in enumerate(ledger.entries)}
    changed = True
    while changed:
        changed = False
        for edge in ledger.edges.values():
            low = min(label[edge.newer.id], label[edge.older.id])
            if edge.standing and label[edge.newer.id] != label[edge.older.id]:
                label[edge.newer.id] = label[edge.older.id] = low
                changed = True
    groups: dict[int, list[str]] = defaultdict(list)
    for entry_id, at in label.items():
        groups[at].append(entry_id)
    return list(groups.values())


def l6_one_memory_per_text(policy: Policy, story: list[Act]) -> None:
    """At every moment, one memory in a scope has a text: its living candidates', or composed."""
    told = Playback(World(policy))
    for act in story:
        told.follow(act)
        homes: dict[tuple[str, str], set[str]] = defaultdict(set)
        for entry in told.world.ledger.entries.values():
            if entry.living:
                homes[entry.fields.namespace, entry.distinct.hash].add(entry.memory.id)
        for memory in told.world.ledger.memories():
            if memory.living:
                homes[memory.namespace, memory.face.hash].add(memory.id)
        assert all(len(memories) == 1 for memories in homes.values())


def state(ledger: Ledger) -> dict[str, object]:
    """All that a ledger says, as values."""
    return {
        "picture": picture(ledger),
        "edges": {e.id: (e.standing, e.place, len(e.texts)) for e in ledger.edges.values()},
        "entries": {
            e.id: (e.place, e.decided_at, e.pending, e.asked, e.accesses, e.last_accessed)
            for e in ledger.entries.values()
        },
        "questions": questions(ledger),
        "separated": [(a.id, b.id) for a, b in separated(ledger)],
        "said": {
            pair: [(one.event_id, one.separated, one.rank, one.withdrawn) for one in said]
            for a, others in ledger.statements.items()
            for b, said in others.items()
            if (pair := (a, b))
        },
        "reviews": ledger.reviews,
        "rows": {
            name: [(row.hash, row.target and row.target.id) for row in scope.rows]
            for name, scope in ledger.scopes.items()
            if scope.rows
        },
        "unembedded": {first: row.hash for first, row in ledger.unembedded.items()},
        "seen": (ledger.seen, ledger.last_time, ledger.texts),
    }


def l7_fold_is_live(policy: Policy, story: list[Act], chance: random.Random) -> None:
    """At every prefix, with every event as its bytes, delivered once or again and again."""
    told = Playback(World(policy))
    once, often = Ledger("ada"), Ledger("ada")
    for act in story:
        start = len(told.world.log)
        told.follow(act)
        for event in told.world.log[start:]:
            line = encode(event)
            assert encode(decode(line)) == line
            evolve(once, decode(line))
            evolve(often, decode(line))
            for again in chance.sample(told.world.log, 1):
                if again.id in often.events:
                    evolve(often, again)
        assert state(once) == state(told.world.ledger)
        assert state(often) == state(told.world.ledger)


def l8_redo_restores(policy: Policy, story: list[Act], which: int) -> None:
    """Un-merging a standing join and reinstating it gives what was there.

    Verdicts that the join had held back are held back again.
    """
    told = play(policy, story)
    edges = told.edges(standing=True)
    assume(edges)
    edge = edges[which % len(edges)]
    before = everything(told.world.ledger)
    assume(accepted(unmerged(told.world, edge.id)))
    put_back(told.world, edge.id)
    assert everything(told.world.ledger) == before


def put_back(world: World, decision_id: str) -> None:
    """Take a reversal back, with all that was done because of it; nothing may be in the way."""
    request = ReinstateRequest(request_id=probe("put back", decision_id), decision_id=decision_id)
    for command in reinstate_commands(world.ledger, request, world.policy):
        events = world.run(command, seconds=0)
        assert events
        assert accepted(events)


def taken_apart_stays_apart(policy: Policy, story: list[Act], which: int) -> None:
    """No two parts of a memory taken apart whole can be joined again by anything automatic.

    Save where both have the same text: an update went back to it.
    And when all of it is taken back, all is as it was.
    """
    told = play(policy, story)
    ledger = told.world.ledger
    whole = [memory for memory in ledger.memories() if len(memory.members) > 2]
    assume(whole)
    memory = whole[which % len(whole)]
    members, before = list(memory.members), everything(ledger)
    request = UnmergeRequest(request_id=probe("apart", memory.id), memory_id=memory.id)
    asked_for = unmerge_commands(ledger, request)
    assume(asked_for)
    for command in asked_for:
        assume(accepted(told.world.run(command, seconds=0)))
    for a, b in combinations({entry.memory for entry in members}, 2):
        texts = {entry.distinct.hash for entry in a.members}
        alike = any(entry.distinct.hash in texts for entry in b.members)
        assert alike or separated_pair(ledger, a, b) is not None
    for command in reversed(asked_for):
        put_back(told.world, command.decision_id)
    assert everything(ledger) == before


def a_persons_face_survives(policy: Policy, story: list[Act]) -> None:
    """After a newcomer's or a batch's join, the face that a person chose speaks still.

    A late verdict is folded at its newcomer's arrival, before the person's word: it may change what
    the side says that the person chose (law L2 wants that).
    """
    ledger = Ledger("ada")
    for event in play(policy, story).world.log:
        chosen = {
            memory.face.hash: memory.members[0]
            for memory in ledger.memories()
            if memory.face.chosen
        }
        evolve(ledger, event)
        if isinstance(event, Decided | Joined) and not by_person(event):
            for entry in chosen.values():
                assert not entry.memory.living or entry.memory.face.hash in chosen


def l9_separations_bind(policy: Policy, story: list[Act]) -> None:
    """After an automatic event, no separated pair is one memory that was not one before."""
    ledger = Ledger("ada")
    for event in play(policy, story).world.log:
        before = {entry.id: entry.memory.id for entry in ledger.entries.values()}
        evolve(ledger, event)
        if isinstance(event, Decided | Settled | Joined) and not by_person(event):
            for a, b in separated(ledger):
                together = a.memory is b.memory
                assert not together or before[a.id] == before[b.id]


def batches_leave_questions_open(policy: Policy, story: list[Act]) -> None:
    """A batch's join makes nobody one memory with whom the judge is being asked about.

    Save who was so before: a person, or a settlement, may have joined the two another way.
    """
    ledger = Ledger("ada")
    for event in play(policy, story).world.log:
        before = {entry.id: (entry.open, entry.memory.id) for entry in ledger.entries.values()}
        evolve(ledger, event)
        if isinstance(event, Joined) and not by_person(event):
            for entry_id, (still_open, home) in before.items():
                for asked in still_open:
                    other = ledger.entries[asked]
                    together = other.memory is ledger.entries[entry_id].memory
                    assert not together or home == before[other.id][1]


def by_person(event: Decided | Settled | Joined) -> bool:
    """Whether a person said it."""
    return event.data.rank in ("person", "agent")


def separated(ledger: Ledger) -> Iterable[tuple[Entry, Entry]]:
    """Every pair that somebody separated, in so many words or by taking a memory apart."""
    for a, b in combinations(ledger.entries.values(), 2):
        if separation(ledger, a, b) is not None:
            yield a, b


def l10_no_way_back(policy: Policy, story: list[Act]) -> None:
    """An automatic event that is no repeat never makes a displaced face speak again."""
    ledger = Ledger("ada")
    log = play(policy, story).world.log
    for number, event in enumerate(log):
        before = {entry.id: entry.memory.face for entry in ledger.entries.values()}
        evolve(ledger, event)
        if not isinstance(event, Decided | Settled | Joined) or join_of(event) is None:
            continue
        assert event.data.join is not None
        if event.data.join.face == "repeat" or by_person(event):
            continue
        now = ledger.entries[event.data.join.to].memory
        if not all(entry.living for entry in now.members):
            continue
        for entry in now.members:
            face = before.get(entry.id)
            back = face is not None and now.face.hash in face.displaced
            if back and not _by_a_repeat(now):
                assert isinstance(event, Settled)
                told = (fold("ada", log[:end]).entries[entry.id] for end in (number, number + 1))
                assert any(_by_moments(one.memory) for one in told)


def _by_moments(memory: Memory) -> bool:
    """Whether another face would speak, had nobody said when it happened.

    A late verdict is folded at its newcomer's arrival (law L2): what it has speak there may have
    happened earlier than what came since.
    """
    spoke = memory.face.hash
    for entry in memory.members:
        entry.moment = None
    return fold_face(memory.members, memory.edges())[0].hash != spoke


def _by_a_repeat(memory: Memory) -> bool:
    """Whether a repeat has brought the face back: a late verdict is folded before it (law L2)."""
    without = [
        replace(edge, face="keep", ranked=False) if edge.face == "repeat" else edge
        for edge in memory.edges()
    ]
    face, _ = fold_face(memory.members, without)
    return face.hash != memory.face.hash


def l11_owners_are_apart(policies_: Policy, stories: tuple[list[Act], list[Act]]) -> None:
    """Two owners taking turns have what each has alone."""
    first, second = Playback(World(policies_, "ada")), Playback(World(policies_, "bob"))
    for number in range(max(map(len, stories))):
        for told, story in zip((first, second), stories, strict=True):
            before = [everything(t.world.ledger) for t in (first, second) if t is not told]
            if number < len(story):
                told.follow(story[number])
            assert [everything(t.world.ledger) for t in (first, second) if t is not told] == before
    assert everything(first.world.ledger) == everything(play(policies_, stories[0]).world.ledger)
    alone = play(policies_, stories[1], "bob").world.ledger
    assert everything(second.world.ledger) == everything(alone)


def l12_as_of(policy: Policy, story: list[Act]) -> None:
    """What the log said up to a position, it says for ever."""
    told = Playback(World(policy))
    answers: list[tuple[int, Everything]] = []
    for act in story:
        told.follow(act)
        answers.append((len(told.world.log), everything(told.world.ledger)))
    for position, answer in answers:
        assert everything(fold("ada", told.world.log[:position])) == answer


def l14_order_of_neighbours(policy: Policy, story: list[Act], chance: random.Random) -> None:
    """A search that returns its neighbours in any order leads to the same events."""

    def shuffled(ledger: Ledger, admit: Admit) -> tuple[Neighbour, ...]:
        found = list(by_brute_force(policy)(ledger, admit))
        chance.shuffle(found)
        return tuple(found)

    ours = play(policy, story).world.log
    assert ours == play(policy, story, retrieve=shuffled).world.log


class ModelAskedError(AssertionError):
    """Somebody asked a model, a search or the guard, who must not be asked."""


def must_not_be_asked(*_: object, **__: object) -> NoReturn:
    """Stands where a model, a search or the guard would be."""
    raise ModelAskedError


def l13_no_model(policy: Policy, story: list[Act]) -> None:
    """Folding the log, trying and carrying out every un-merge and its reinstatement."""
    told = play(policy, story)
    with (
        patch.object(neighbour_lookup, "read", must_not_be_asked),
        patch.object(neighbour_lookup, "compare", must_not_be_asked),
    ):
        world = World(policy, retrieve=must_not_be_asked)
        world.ledger, world.log = fold("ada", told.world.log), list(told.world.log)
        world.now = told.world.now
        for edge in [edge for edge in world.ledger.edges.values() if edge.standing]:
            if accepted(unmerged(_copy(world), edge.id)) and accepted(unmerged(world, edge.id)):
                reinstated(world, edge.id)


class Windows:
    """Retrieval from the real indexes, which look a window of newcomers up at once."""

    def __init__(self, policy: Policy, size: int) -> None:
        self.policy = policy
        self.size = size
        self.indexes: dict[str, ScopeIndex] = {}
        self.foreseen: dict[str, Vector] = {}

    def index(self, ledger: Ledger, namespace: str) -> ScopeIndex:
        """The index of a scope."""
        if namespace not in self.indexes:
            scope = ledger.scope(namespace)
            self.indexes[namespace] = ScopeIndex(scope, self.policy)
        return self.indexes[namespace]

    def retrieve(self, ledger: Ledger, admit: Admit) -> tuple[Neighbour, ...]:
        """One newcomer's neighbours, when its turn comes.

        A story's candidates are numbered as they come, so one may have another's number where an
        act before it in the window brought one more, or none.
        """
        index, vector = self.index(ledger, admit.candidate.namespace), admit.content.vector
        if vector is not None and self.foreseen.get(admit.candidate_id, vector) != vector:
            index.prefetch({admit.candidate_id: vector})
        return index.neighbours(ledger, admit)

    def tell(self, story: list[Act]) -> list[AnyEvent]:
        """The log of a story whose newcomers are looked up window by window."""
        told = Playback(World(self.policy, retrieve=self.retrieve))
        for start in range(0, len(story), self.size):
            window = story[start : start + self.size]
            if self.size > 1:
                self._prefetch(told.world.ledger, [act for act in window if isinstance(act, Say)])
            for act in window:
                told.follow(act)
        return told.world.log

    def _prefetch(self, ledger: Ledger, window: list[Say]) -> None:
        scopes: dict[str, dict[str, Vector]] = defaultdict(dict)
        for number, act in enumerate(window, len(ledger.entries)):
            newcomer = candidate_id(ledger.owner_id, "grid", f"c{number}")
            scopes[act.namespace][newcomer] = self.foreseen[newcomer] = vector_at(act.point)
        for namespace, newcomers in scopes.items():
            self.index(ledger, namespace).prefetch(newcomers)


def l15_batch_size(policy: Policy, story: list[Act], size: int) -> None:
    """Newcomers looked up one by one, or a window at a time; and without an index at all."""
    one_by_one = Windows(policy, 1).tell(story)
    assert Windows(policy, size).tell(story) == one_by_one
    if policy.search == "candidates" and not policy.protected_categories:
        by_hand = play(policy, story).world.log
        assert _decisions(by_hand) == _decisions(one_by_one)


def _decisions(log: list[AnyEvent]) -> list[object]:
    decided = (event for event in log if isinstance(event, Decided))
    return [(e.subject, e.data.decision, e.data.join, e.data.evidence.asked) for e in decided]


def touched_is_all(policy: Policy, story: list[Act]) -> None:
    """`Touched` names every memory that an event changed, and every candidate that moved."""
    ledger = Ledger("ada")
    for event in play(policy, story).world.log:
        before = picture(ledger)
        homes = {e.id: (e.memory.id, e.living, e.pending) for e in ledger.entries.values()}
        touched = evolve(ledger, event)
        after = picture(ledger)
        changed = {i for i in before | after if before.get(i) != after.get(i)}
        assert changed <= set(touched.memories)
        gone = {i for i, memory in touched.memories.items() if memory is None}
        assert gone == {i for i in touched.memories if i not in after}
        for entry in ledger.entries.values():
            if homes.get(entry.id) != (entry.memory.id, entry.living, entry.pending):
                assert entry.id in touched.entries


def texts_to_compose(ledger: Ledger) -> dict[str, tuple[str, ...]]:
    """The join of each memory whose text has to be composed anew, with the sources left.

    From the present alone: which one it is, a face says that is folded from the start.
    """
    found = {}
    for memory in ledger.memories():
        lacking = fold_face(memory.members, memory.edges())[0].lacking
        if lacking is not None:
            living = {entry.id for entry in memory.members if entry.living}
            assert lacking.edge in memory.edges()
            assert living.issuperset(lacking.sources)
            assert len(lacking.sources) > 1, "a single one speaks for itself"
            texts = lacking.edge.texts.values()
            assert not any(living.issuperset(text.sources) for text in texts)
            found[lacking.edge.id] = lacking.sources
    return found


def lost_texts_are_kept(policy: Policy, story: list[Act]) -> None:
    """After each event the fold knows which texts are missing, and `Touched` says what is new."""
    ledger = Ledger("ada")
    waiting: set[str] = set()
    for event in play(policy, story).world.log:
        before = dict(ledger.composing)
        touched = evolve(ledger, event)
        now = texts_to_compose(ledger)
        assert {edge_id: lost.sources for edge_id, lost in ledger.composing.items()} == now
        new = {i for i, lost in ledger.composing.items() if before.get(i) != lost}
        assert {i for i, waits in touched.texts.items() if waits} == new
        assert {ledger.composing[i].event_id for i in new} <= {event.id}
        waiting |= {i for i, waits in touched.texts.items() if waits}
        waiting -= {i for i, waits in touched.texts.items() if not waits}
        assert waiting == set(now)


def face_is_a_fold(policy: Policy, story: list[Act]) -> None:
    """The face that was continued newcomer by newcomer is the one folded from the start."""
    told = Playback(World(policy))
    for act in story:
        told.follow(act)
        for memory in told.world.ledger.memories():
            anew, _ = fold_face(memory.members, memory.edges())
            assert memory.face == anew


def made_of(policy: Policy, story: list[Act]) -> Counter[str]:
    """What a story is made of: whether the generators reach everything."""
    counted: Counter[str] = Counter()
    ledger = Ledger("ada")
    settled: Counter[str] = Counter()
    retracted: dict[str, set[str]] = {}
    for event in play(policy, story).world.log:
        pending = {entry.id for entry in ledger.entries.values() if entry.pending}
        counted[event.type.split(".")[1]] += 1
        match event:
            case Joined() if by_person(event):
                counted["a person merges who waits"] += not pending.isdisjoint(
                    (event.data.candidate_id, event.data.join.to)
                )
                counted["a person chooses the face"] += event.data.join.former is True
            case Joined():
                counted["a batch joins"] += 1
            case Settled():
                counted["settled again"] += event.subject in settled
                settled[event.subject] += 1
                counted["an answer is freed"] += event.data.cause is not None
                counted["freed after a retraction"] += event.data.cause is not None and bool(
                    retracted.get(event.subject)
                )
                counted["settled by composing"] += event.data.join is not None and (
                    event.data.join.face == "text"
                )
            case Refused() if event.data.command == "settle":
                counted["an answer is held"] += event.data.reason in ("separated", "not_living")
                counted["a second request"] += event.data.reason == "not_pending"
            case Reversed():
                counted["a word is taken back"] += event.data.decision_id in ledger.separations
                counted["un-merged while an answer is held"] += bool(ledger.held)
                edge = ledger.edges.get(event.data.decision_id)
                cut = {member.id for member in edge.newer.memory.members} if edge else set()
                counted["retracted between a held answer and its un-merge"] += any(
                    not cut.isdisjoint((held_id, ledger.entries[held_id].held))
                    and not gone.isdisjoint(cut | {held_id})
                    for held_id, gone in retracted.items()
                )
            case Reinstated():
                back = ledger.edges.get(event.data.decision_id)
                again = back is not None and settled[back.newer.id] > 1
                counted["reinstated after a second settlement"] += again
            case Retracted():
                for gone in retracted.values():
                    gone.add(event.subject)
            case Decided():
                counted["it happened earlier"] += event.data.moment is not None
            case _:
                pass
        counted["texts lost"] += sum(evolve(ledger, event).texts.values())
        retracted = {held_id: retracted.get(held_id, set()) for held_id in ledger.held}
    counted["a story with a reversal"] = counted["reversed"] > 0
    return counted


Law = Callable[[Policy, list[Act]], None]
OF_ANY_STORY: tuple[Law, ...] = (
    l1_unmerge_restores,
    l3_twice_is_once,
    l4_nothing_outside,
    l5_partition,
    l6_one_memory_per_text,
    l9_separations_bind,
    l10_no_way_back,
    l12_as_of,
    l13_no_model,
)
"""The laws that need only a policy and a story: for policies with generators of their own."""
