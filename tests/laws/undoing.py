"""L1 and L2 as checks: a join that is taken out, at once or late, leaves no trace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from itertools import takewhile
from operator import ne

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
    Settled,
)
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.decide import decide
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.separations import (
    separated_pair,
    separated_pairs,
    separation,
    statement_on,
)
from palimpsest.streams.core.walk import holds
from tests.laws.common import (
    accepted,
    apart,
    asked_of,
    by_person,
    composed_texts,
    copied,
    is_verbatim,
    join_of,
    probe,
    same,
    unmerged,
)
from tests.laws.histories import Act, Playback, play
from tests.laws.world import (
    Command,
    World,
    fold,
)
from tests.projections.oracle import search_form


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
                same(after.ledger, never.ledger)


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
        if not is_verbatim(told.world.ledger, event) and not by_person(event)
    ]
    assume(joins)
    number, join = joins[which % len(joins)]
    commands = [command for command, _ in told.steps]

    def begin(world: World, start: list[Command]) -> None:
        if without:
            start_without(world, start, join)
            return
        for command in start:
            world.run(command)
        assume(accepted(unmerged(world, join.id)))

    late, other = _run_both(policy, commands, number, begin)
    assume(accepted(unmerged(late, join.id)))
    if without and join.id != told.steps[number][1][0].id:
        return
    assume(not _came_too_late(late, other))
    same(late.ledger, other.ledger)


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
    same(late.ledger, other.ledger)


def _came_too_late(late: World, other: World) -> bool:
    """Whether an answer that settled there is free here only when it can join nothing any more.

    Another word has made the two one memory meanwhile, or the newer one with a better neighbour,
    so that nothing is left to ask; or a better one is ruled out no more; or another answer has them
    apart, or an earlier one that was held back with it has joined one of them to somebody from whom
    the other is separated; or the text that it was about is gone, or one of the two is retracted.
    Or it composes what cannot be kept: brought there it closed the question, and held back here it
    waits while the two are separated.
    """
    ledger = late.ledger
    if any(other.ledger.entries[one.id].closed and _composes(one) for one in ledger.held.values()):
        return True
    freed = [e for e in ledger.edges.values() if e.standing and e.freed]
    for newer_id, older_id in _joined(other, by="judge") - _joined(late):
        newer, older = ledger.entries[newer_id], ledger.entries[older_id]
        said = newer.answers.get(older_id, ())
        standing = [one.given.order for one in said if holds(ledger, one)]
        if newer.memory is older.memory or (said and not standing):
            return True
        better = [*takewhile(partial(ne, older_id), asked_of(ledger, newer_id))]
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
    given = [answer.given.order for answer in freed.newer.answers[freed.older.id]]
    return freed.newer.memory in (a.memory, b.memory) and min(given) < order


def _composes(held: Entry) -> bool:
    """Whether an answer that is held back composes."""
    assert held.held is not None, "it is held"
    return any(answer.verdict.answer == "compose" for answer in held.answers[held.held])


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

    def both() -> tuple[World, World]:
        late, other = World(policy), World(policy)
        for command in start:
            late.run(command)
        begin(other, start)
        return late, other

    return run_alike(both, rest, _runs_alike)


def run_alike(
    both: Callable[[], tuple[World, World]],
    rest: list[Command],
    alike: Callable[[World, World, Command], bool],
) -> tuple[World, World]:
    """Carry out in two histories what means the same in both; else all that its request did goes.

    What is left out changes what comes after it, so both begin anew until nothing has to go.
    """
    while True:
        here, there = both()
        unlike = next((n for n, one in enumerate(rest) if not alike(here, there, one)), None)
        if unlike is None:
            return here, there
        request = _request(rest[unlike])
        rest = [
            one
            for n, one in enumerate(rest)
            if n != unlike and (request is None or _request(one) != request)
        ]


def _request(command: Command) -> str | None:
    """The request about a whole memory, or a reversed join, that a command is a part of."""
    return getattr(command, "cause", None)


def start_without(world: World, start: list[Command], join: Decided | Settled) -> None:
    """Carry out the commands, the last one's decision without its join; the pair is separated.

    For the separation of an un-merge stays: that much is never as if nothing had been.
    """
    for command in start[:-1]:
        world.run(command)
    events = copied(world).run(start[-1])
    assume([event.id for event in events] == [join.id])
    _without_its_join(world, join)


def _runs_alike(late: World, other: World, command: Command) -> bool:
    """Carry a command out in both histories; whether it meant the same in both."""
    unites = isinstance(command, Merge | Reinstate)
    if unites and overrules(late, command) != overrules(other, command):
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


def _settle_alike(command: Settle, late: World, other: World) -> bool:
    """A verdict means the same, or the merge holds it back; save one that composes a known text.

    Or the merge closes its question, as the two are one memory already: then it joins nothing.
    """
    text = search_form(command.composition.content.text) if command.composition else None
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
    """The search forms of all texts that joins ever composed."""
    return {*map(search_form, composed_texts(world.ledger))}


def overrules(world: World, command: Command) -> set[frozenset[str]] | None:
    """The separated pairs that a person's word unites; None if the two are one memory already.

    A word that meets others in the two histories is not the same word in both.
    """
    pair = _united(world.ledger, command)
    if pair is None or pair[0].memory is pair[1].memory:
        return None
    pairs = separated_pairs(world.ledger, pair[0].memory, pair[1].memory)
    return {frozenset((x.id, y.id)) for x, y in pairs}


def _united(ledger: Ledger, command: Command) -> tuple[Entry, Entry] | None:
    """The two that a statement says are the same, if both are known."""
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
    known = search_form(command.content.text) in composed
    assert here == there or known, "it rested on a merge"
    return here == there
