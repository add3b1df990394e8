"""The laws as checks, but L1 and L2: each takes a history and raises AssertionError."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import NoReturn
from unittest.mock import patch

from hypothesis import assume

from palimpsest.contracts.candidate import CandidateFields
from palimpsest.contracts.commands import (
    Admit,
)
from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    Joined,
    Refused,
    Reinstated,
    Retracted,
    Reversed,
    Settled,
    Vector,
)
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.identity import candidate_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import UnmergeRequest
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.core import neighbour_lookup
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.expand import unmerge_commands
from palimpsest.streams.core.expiry import advance
from palimpsest.streams.core.faces import fold_face
from palimpsest.streams.core.ledger import Edge, Entry, Ledger, Memory
from palimpsest.streams.core.separations import (
    separated_pair,
)
from palimpsest.streams.search.scope_index import ScopeIndex
from tests.laws.common import (
    Everything,
    accepted,
    asked_of,
    by_person,
    composed_texts,
    copied,
    everything,
    is_verbatim,
    join_of,
    probe,
    put_back,
    questions,
    reinstated,
    separated,
    unmerged,
)
from tests.laws.histories import Act, Playback, Say, play
from tests.laws.undoing import l1_unmerge_restores
from tests.laws.world import (
    World,
    by_brute_force,
    fold,
    picture,
    vector_at,
    with_framed,
)
from tests.projections.oracle import differing, search_form, verbatim


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
        {i: q for i, q in asked.items() if members.isdisjoint({i, *asked_of(ledger, i)})},
    )


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
                homes[entry.fields.namespace, verbatim(entry.text)].add(entry.memory.id)
        for memory in told.world.ledger.memories():
            if memory.living:
                homes[memory.namespace, verbatim(memory.face.text)].add(memory.id)
        assert all(len(memories) == 1 for memories in homes.values())


def degrees_of_exactness(policy: Policy, story: list[Act]) -> None:
    """Whom a newcomer repeats, and how exactly, follows from the texts and the policy alone."""
    ledger = Ledger("ada")
    told = play(policy, story)
    for event in told.world.log:
        if isinstance(event, Decided) and event.data.rank is None:
            _repeats_as_it_should(policy, ledger, event)
        evolve(ledger, event)
    for edge in told.edges(standing=True):
        if edge.face == "repeat" and not edge.newer.memory.texted:
            _parts_unless_a_text_would_live_twice(told.world, edge)


def _repeats_as_it_should(policy: Policy, ledger: Ledger, event: Decided) -> None:
    fields, text = event.data.candidate, event.data.content.text
    scope = [e for e in ledger.entries.values() if e.fields.namespace == fields.namespace]
    living = [entry for entry in scope if entry.living]
    differs = event.data.evidence.differs or ()
    if any(verbatim(entry.text) == verbatim(text) for entry in living):
        assert is_repeat(event)
        assert not differs
    elif any(_folds(policy, entry, fields, text) for entry in living):
        assert is_repeat(event)
    elif not is_repeat(event):
        assert not differs
    if event.data.join is None or event.data.join.face != "repeat":
        return
    said = [ledger.entries[event.data.join.to].text, *composed_texts(ledger)]
    alike = [one for one in said if _form(policy, one) == _form(policy, text)]
    assert [*differs] in [differing(one, text) for one in alike]


def is_repeat(event: Decided) -> bool:
    """Whether an exact repeat was joined, of whatever degree."""
    return event.data.decision in ("hash_exact", "recent_capture")


def _folds(policy: Policy, entry: Entry, fields: CandidateFields, text: str) -> bool:
    """Whether a policy folds a text into that of a candidate: none of a protected category."""
    if policy.exact == "verbatim" or _form(policy, entry.text) != _form(policy, text):
        return False
    same = [e.fields.category for e in entry.distinct.members if e.living]
    protected = policy.protected_categories if policy.exact == "folded" else ()
    return not any(one in protected for one in (fields.category, *same))


def _form(policy: Policy, text: str) -> str:
    """The form of a text that a policy holds for the same (docs/exact.md)."""
    if policy.exact is None:
        return search_form(text)
    if policy.exact == "verbatim":
        return verbatim(text)
    return " ".join(verbatim(text).lower().split())


def _parts_unless_a_text_would_live_twice(world: World, edge: Edge) -> None:
    side, reached = {edge.newer.id}, [edge.newer]
    while reached:
        one = reached.pop()
        found = [e.other(one) for e in one.edges if e.standing and e is not edge]
        reached += [other for other in found if other.id not in side]
        side |= {other.id for other in found}
    members = [entry for entry in edge.newer.memory.members if entry.living]
    ours = {verbatim(entry.text) for entry in members if entry.id in side}
    theirs = {verbatim(entry.text) for entry in members if entry.id not in side}
    if edge.older.id not in side:
        assert accepted(unmerged(copied(world), edge.id)) == ours.isdisjoint(theirs)


def state(ledger: Ledger) -> dict[str, object]:
    """All that a ledger says as of its last event, as values."""
    if ledger.last_time is not None:
        advance(ledger, ledger.last_time)
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
            again = told.world.log[chance.randrange(len(told.world.log))]
            if again.id in often.events:
                evolve(often, again)
        live = state(told.world.ledger)
        assert state(once) == live
        assert state(often) == live


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


def taken_apart_stays_apart(policy: Policy, story: list[Act], which: int) -> None:
    """No two parts of a memory taken apart whole can be joined again by anything automatic.

    Unless both have the same text: an update went back to it.
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
        texts = {verbatim(entry.text) for entry in a.members}
        alike = any(verbatim(entry.text) in texts for entry in b.members)
        assert alike or separated_pair(ledger, a, b) is not None
    for command in reversed(asked_for):
        if not ledger.edges[
            command.decision_id
        ].standing:  # joins that bar each other come together
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
    """A batch joins no candidate with another that the judge is being asked about.

    Unless they were joined before: a person or a settlement may have joined them another way.
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


def l10_no_way_back(policy: Policy, story: list[Act]) -> None:
    """An automatic event that is not a repeat never makes a displaced face speak again."""
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
        patch.object(neighbour_lookup, "kept_reading", must_not_be_asked),
        patch.object(neighbour_lookup, "compare", must_not_be_asked),
    ):
        world = World(policy, retrieve=must_not_be_asked)
        world.ledger, world.log = fold("ada", told.world.log), list(told.world.log)
        world.now = told.world.now
        for edge in [edge for edge in world.ledger.edges.values() if edge.standing]:
            if accepted(unmerged(copied(world), edge.id)) and accepted(unmerged(world, edge.id)):
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
        return with_framed(self.policy, ledger, admit, index.neighbours(ledger, admit))

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
                if is_repeat(event) and not is_verbatim(ledger, event):
                    counted[f"a repeat is folded, exact = {policy.exact}"] += 1
                    counted.update(event.data.evidence.differs or ())
                elif is_repeat(event):
                    counted[f"a repeat is verbatim, exact = {policy.exact}"] += 1
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
    degrees_of_exactness,
)
"""The laws that need only a policy and a story: for policies with generators of their own."""
