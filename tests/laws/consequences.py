"""Un-merging with consequences, as a check: the history without the join is told by its own means.

The same commands in the same order, in a world where the join is not made. The judge says of a
question what it said of the same one; of others it says nothing, and the candidate waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from operator import ne
from uuid import uuid5

from hypothesis import assume
from msgspec import structs

from palimpsest.contracts.commands import (
    Admit,
    Combine,
    EndSession,
    Merge,
    RecordRun,
    Reinstate,
    Separate,
    Settle,
    Unmerge,
)
from palimpsest.contracts.events import (
    AnyEvent,
    Composition,
    Decided,
    Joined,
    Ran,
    Refused,
    Reversed,
    Separated,
    Settled,
)
from palimpsest.contracts.evidence import Answer, Neighbour, Verdict
from palimpsest.contracts.identity import NAMESPACE
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import UnmergeRequest
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.redecide import arrival_join
from palimpsest.streams.core.separations import text_stands
from palimpsest.streams.replay.consequences import ConsequencePlan, commands, plan
from tests.laws.common import (
    accepted,
    apart,
    everything,
    is_verbatim,
    join_of,
    put_back,
    questions,
    request_of,
    unmerged,
)
from tests.laws.histories import Act, Playback, play
from tests.laws.undoing import overrules, run_alike, start_without
from tests.laws.world import POINTS, Command, World, by_brute_force, content_at, content_of, picture

RUNS = (EndSession, RecordRun)
"""The commands that lead to joins of a batch run."""


def equals_without(policy: Policy, story: list[Act], which: int, late: list[Answer]) -> None:
    """With consequences, members, faces and ids are those of the history without the join.

    And so they are when the verdicts have come that only that history needs.
    """
    told = play(policy, story)
    number, join = _chosen(told, which)
    real, other = _both(policy, [command for command, _ in told.steps], number, join)
    assume(_joined_once(real.ledger) and _joined_once(other.ledger))
    assume(_composed_once(real, other))
    assume(_has_vectors(real, other))
    assume(not (isinstance(join, Joined) and _merged_since(real, join)))
    recorded = list(real.log)
    assume(accepted(unmerged(real, join.id)))
    found = planned(real, recorded, join.id)
    assert found.overtaken == (), "all that people said could be said in the other, too"
    named = [consequence.candidate for consequence in found.consequences]
    before = [_as_decided(entry) for entry in named]
    done = carry_out(real, recorded, join.id)
    assume(accepted(done))
    assert all(map(ne, before, map(_as_decided, named))), "named, and stays as it is"
    assert not any(map(_separates, done)), "nobody said so"
    assert picture(real.ledger) == picture(other.ledger)
    assert questions(real.ledger) == questions(other.ledger)
    for command in _verdicts(real.ledger, late):
        here, there = real.run(command), other.run(command)
        assume(accepted(here) == accepted(there))
    assert picture(real.ledger) == picture(other.ledger)


def _as_decided(entry: Entry) -> tuple[object, ...]:
    """What a candidate joined, and how; what it was compared with; and what it waits for."""
    edge = arrival_join(entry)
    join = (edge.older.id, edge.face, [*edge.texts.values()][:1]) if edge else None
    return join, entry.asked, entry.open, entry.closed


def _composed_once(real: World, other: World) -> bool:
    """Whether no waiting answer composes a text that goes out, of other sources than that one's.

    A text that was ever composed is its sources' for good, whichever memories there are: where the
    answer is free at last, its text is not usable, and would be in the history without the first.
    """
    there = {text_hash for text_hash, _ in _texts(other)}
    gone = {text_hash: sources for text_hash, sources in _texts(real) if text_hash not in there}
    refused = (event for event in (*real.log, *other.log) if isinstance(event, Refused))
    waiting = (text for event in refused if (text := _text_of(event)))
    return all(gone.get(text_hash, sources) == sources for text_hash, sources in waiting)


def _has_vectors(real: World, other: World) -> bool:
    """Whether the log has a vector of every text that a run compares in the history without.

    No model is asked for one, so a text that nobody ever put together is compared with nothing.
    """
    known = {text_hash for text_hash, _ in _texts(real)}
    last = max((n for n, event in enumerate(other.log) if isinstance(event, Ran)), default=0)
    made = (e for e in other.log[:last] if isinstance(e, Joined) and e.data.cause != _cause(other))
    return all(text is None or text[0] in known for text in map(_text_of, made))


def _merged_since(world: World, join: Joined) -> bool:
    """Whether memories were joined after the run of a join.

    What the run would have joined instead is joined now, so it is folded after them.
    """
    later = world.log[world.log.index(join) :]
    return any(isinstance(e, Joined) and e.data.cause != join.data.cause for e in later)


def _cause(world: World) -> str | None:
    """What the joins of the last run name."""
    return next((e.data.cause for e in reversed(world.log) if isinstance(e, Joined)), None)


def _texts(world: World) -> set[tuple[str, tuple[str, ...]]]:
    texts = (edge.texts[text_id] for text_id, edge in world.ledger.composed_by.items())
    return {(text.content.hash, text.sources) for text in texts}


def _joined_once(ledger: Ledger) -> bool:
    """Whether nobody reinstated a join of a candidate that had joined another meanwhile."""
    edges = (edge for edge in ledger.edges.values() if edge.standing)
    arrived = [edge.newer.id for edge in edges if edge.place == edge.newer.place]
    return len({*arrived}) == len(arrived)


def _text_of(event: AnyEvent) -> tuple[str, tuple[str, ...]] | None:
    composition = getattr(event.data, "composition", None)
    return (composition.content.hash, composition.sources) if composition else None


def reinstating_restores(policy: Policy, story: list[Act], which: int) -> None:
    """What was carried out because of a reversal is taken back with it: all is as it was."""
    told = play(policy, story)
    _, join = _chosen(told, which)
    world, recorded = told.world, list(told.world.log)
    edge = world.ledger.edges[join.id]
    assume(edge.standing)
    before = everything(world.ledger)
    assume(accepted(unmerged(world, join.id)))
    assume(accepted(carry_out(world, recorded, join.id)))
    put_back(world, join.id)
    assert everything(world.ledger) == before


def made_of(policy: Policy, story: list[Act], which: int) -> Counter[str]:
    """What taking a join out of a story leads to: whether the generators reach everything."""
    told = play(policy, story)
    _, join = _chosen(told, which)
    world, recorded = told.world, list(told.world.log)
    assume(accepted(unmerged(world, join.id)))
    found = planned(world, recorded, join.id)
    done = carry_out(world, recorded, join.id)
    before = len(world.log)
    put_back(world, join.id)
    counted = Counter(event.type.split(".")[1] for event in done)
    counted["overtaken"] = len(found.overtaken)
    counted["asks another"] = sum(bool(consequence.asks) for consequence in found.consequences)
    counted["taken back"] = len(world.log) - before - 1
    return counted


def _chosen(told: Playback, which: int) -> tuple[int, Decided | Settled | Joined]:
    """A join on arrival, or of a run, and the number of its command."""
    joins = [
        (number, event)
        for number, (command, events) in enumerate(told.steps)
        for event in (events if isinstance(command, RUNS) else events[:1])
        if isinstance(event, Decided | Settled | Joined) and join_of(event)
        if isinstance(event, Joined) == isinstance(command, RUNS)
        if not is_verbatim(told.world.ledger, event)
    ]
    assume(joins)
    return joins[which % len(joins)]


def carry_out(world: World, recorded: list[AnyEvent], decision_id: str) -> list[AnyEvent]:
    """What an un-merge with consequences does beside taking the join out, and once only."""
    request = UnmergeRequest(request_id=request_of(decision_id), decision_id=decision_id)
    found = planned(world, recorded, decision_id)
    done: list[AnyEvent] = []
    for command in commands(world.ledger, request, [decision_id], found):
        ready = _with_its_vector(command)
        done += world.run(ready, seconds=0)
        assert world.run(ready, seconds=0) == []
    return done


def _with_its_vector(command: Command) -> Command:
    """A text that nobody put together before is embedded when it is."""
    if not isinstance(command, Combine) or command.composition is None:
        return command
    content = content_of(command.composition.content.text)
    text = structs.replace(command.composition, content=content)
    return command.model_copy(update={"composition": text})


def planned(world: World, recorded: list[AnyEvent], decision_id: str) -> ConsequencePlan:
    """The plan of a world, its join out already."""
    retrieve = by_brute_force(world.policy)

    def search(ledger: Ledger, admit: Admit, _: Policy) -> tuple[Neighbour, ...]:
        return retrieve(ledger, admit)

    policies = {world.policy.hash: world.policy}
    return plan(world.ledger, recorded, [decision_id], policies, search)


def open_questions(ledger: Ledger) -> Mapping[str, tuple[str, ...]]:
    """Who waits for the judge, and about whom."""
    return {entry.id: entry.open for entry in ledger.entries.values() if entry.open}


# -- the history without the join ----------------------------------------------------------------


def _both(
    policy: Policy, told: list[Command], number: int, join: Decided | Settled | Joined
) -> tuple[World, World]:
    """The history as it was, and without; what people said of memories of one alone is left out."""
    start, rest = told[: number + 1], told[number + 1 :]

    def both() -> tuple[World, World]:
        real, other = World(policy), World(policy)
        for command in start:
            real.run(command)
        if isinstance(join, Joined):
            _run_without(other, start, join)
        else:
            start_without(other, start, join)
        return real, other

    return run_alike(both, rest, _means_the_same)


def _run_without(world: World, start: list[Command], join: Joined) -> None:
    """Carry out the commands, the last one, a run, with the pair of the join kept apart."""
    for command in start[:-1]:
        world.run(command)
    assume(accepted(world.run(separation_of(world, join), 0)))
    world.run(start[-1])


def separation_of(world: World, join: Joined) -> Separate:
    """The word of an un-merge, said before the join is made."""
    return Separate(
        command_id=request_of(join.id),
        owner_id=world.ledger.owner_id,
        a=join.data.join.to,
        b=join.data.candidate_id,
    )


def _means_the_same(real: World, other: World, command: Command) -> bool:
    if isinstance(command, Admit):
        real.run(command)
        other.run(command)
        return True
    if isinstance(command, Settle):
        verdicts = [said for event in real.run(command) if (said := _verdicts_of(event))]
        if verdicts:
            said = tuple(_of_the_same_text(real, other, verdict) for verdict in verdicts[0])
            other.run(command.model_copy(update={"verdicts": said}))
        return True
    if isinstance(command, Merge) and overrules(real, command) != overrules(other, command):
        return False
    if isinstance(command, Unmerge | Reinstate) and _pair(real, command) != _pair(other, command):
        return False
    here, there = apart(real), apart(other)
    if accepted(real.run(command)) != accepted(other.run(command)):
        return False
    # A memory taken apart is a word about all of its pairs, whichever joins had made it.
    return apart(real) - here == apart(other) - there


def _separates(event: AnyEvent) -> bool:
    return isinstance(event, Separated) or (isinstance(event, Reversed) and event.data.separates)


def _verdicts_of(event: AnyEvent) -> tuple[Verdict, ...]:
    """What the judge said, and of whose texts."""
    match event:
        case Settled():
            return event.data.evidence.verdicts
        case Refused():
            return event.data.verdicts
        case _:
            return ()


def _of_the_same_text(real: World, other: World, verdict: Verdict) -> Verdict:
    """A verdict of a composed text: the other history may have the same one by another event."""
    speaker = verdict.speaker
    edge = real.ledger.composed_by.get(speaker) if speaker else None
    if edge is None or speaker is None or speaker in other.ledger.composed_by:
        return verdict
    text = edge.texts[speaker]
    same = [
        text_id
        for text_id, there in other.ledger.composed_by.items()
        if (one := there.texts[text_id]).content.hash == text.content.hash
        if one.sources == text.sources
    ]
    standing = [text_id for text_id in same if text_stands(other.ledger, text_id)]
    found = [*same[:1], *standing[:1]]
    return structs.replace(verdict, speaker=found[-1]) if found else verdict


def _pair(world: World, command: Unmerge | Reinstate) -> tuple[str, str] | None:
    """Of whom it is said: a decision may have joined another there."""
    edge = world.ledger.edges.get(command.decision_id)
    return (edge.newer.id, edge.older.id) if edge else None


def _verdicts(ledger: Ledger, late: list[Answer]) -> list[Settle]:
    """Answers to all open questions: drawn, and the same for the same pair."""
    found = []
    for number, (candidate_id, asked) in enumerate(open_questions(ledger).items()):
        answer = late[number % len(late)]
        point = number % POINTS
        verdict = Verdict(neighbour_id=asked[0], answer=answer)
        found.append(
            Settle(
                command_id=str(uuid5(NAMESPACE, f"late {candidate_id}")),
                owner_id=ledger.owner_id,
                candidate_id=candidate_id,
                verdicts=(verdict,),
                composition=_text(ledger, candidate_id, asked[0], point),
            )
        )
    return found


def _text(ledger: Ledger, candidate_id: str, other_id: str, point: int) -> Composition:
    face = ledger.entries[other_id].memory.face
    sources = face.composition.sources if face.composition else (face.speaker.id,)
    content = content_at(point, " then")  # a text that no merge has composed before
    return Composition(content=content, sources=(*sources, candidate_id))
