"""What the laws' checks share: to take out and put back, and what has to be equal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from uuid import uuid5

from palimpsest.contracts.commands import (
    Reinstate,
    Unmerge,
)
from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    Joined,
    Refused,
    Settled,
)
from palimpsest.contracts.identity import NAMESPACE
from palimpsest.contracts.requests import ReinstateRequest
from palimpsest.streams.core.expand import reinstate_commands
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.separations import separation, statement_on
from palimpsest.streams.core.walk import holds
from tests.laws.world import (
    Picture,
    World,
    fold,
    picture,
)
from tests.projections.oracle import verbatim


def is_verbatim(ledger: Ledger, event: Decided | Settled | Joined) -> bool:
    """Whether it joined a verbatim repeat of a candidate's text, or of a composed one.

    Told from the texts: a repeat that was folded is a join like any other.
    """
    join = event.data.join
    if not isinstance(event, Decided) or join is None or join.face != "repeat":
        return False
    said = verbatim(event.data.content.text)
    return said in map(verbatim, (ledger.entries[join.to].text, *composed_texts(ledger)))


def composed_texts(ledger: Ledger) -> list[str]:
    """All texts that joins ever composed."""
    edges = ledger.edges.values()
    return [text.content.text for edge in edges for text in edge.texts.values()]


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


def same(ours: Ledger, theirs: Ledger) -> None:
    """Both have the same memories and separations, and the same is asked, held and answered."""
    assert picture(ours) == picture(theirs)
    assert questions(ours) == questions(theirs)
    assert apart_in(ours) == apart_in(theirs)


def copied(world: World) -> World:
    """Another world of the same log at the same time."""
    copy = World(world.policy)
    copy.ledger, copy.now = fold(world.ledger.owner_id, world.log), world.now
    return copy


def apart(world: World) -> set[tuple[str, str]]:
    """The pairs of separated candidates."""
    return apart_in(world.ledger)


def apart_in(ledger: Ledger) -> set[tuple[str, str]]:
    """The same, of a ledger."""
    return {(a.id, b.id) for a, b in separated(ledger)}


def questions(ledger: Ledger) -> dict[str, object]:
    """What is asked, open, held, answered and closed, by candidate: a part of what people see.

    What was said of a text that speaks for nobody here is not about anything here.
    """
    return {
        entry.id: (
            tuple(asked_of(ledger, entry.id)),
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
    """The answers that hold about a candidate and those that it was asked about.

    `unavailable` about a question that was closed is left out: `closed` says so already.
    """
    asked = [neighbour.candidate_id for neighbour in entry.asked]
    return sorted(
        {
            (answer.verdict.neighbour_id, answer.verdict.answer)
            for neighbour_id in asked
            for answer in entry.answers.get(neighbour_id, ())
            if holds(ledger, answer) and not _of_its_own_text(ledger, entry, answer.speaker)
            if not (entry.closed and answer.verdict.answer == "unavailable")
        }
    )


def _of_its_own_text(ledger: Ledger, entry: Entry, speaker: str) -> bool:
    """Whether it was said of a text that the candidate is a source of: it falls with their join."""
    edge = ledger.composed_by.get(speaker)
    return edge is not None and entry.id in edge.texts[speaker].sources


def asked_of(ledger: Ledger, candidate_id: str) -> list[str]:
    """Whom the judge is asked about, best first."""
    return [one.candidate_id for one in ledger.entries[candidate_id].asked]


def put_back(world: World, decision_id: str) -> None:
    """Take a reversal back, with all that was done because of it; nothing may be in the way."""
    request = ReinstateRequest(request_id=probe("put back", decision_id), decision_id=decision_id)
    for command in reinstate_commands(world.ledger, request, world.policy):
        events = world.run(command, seconds=0)
        assert events
        assert accepted(events)


def by_person(event: Decided | Settled | Joined) -> bool:
    """Whether a person said it."""
    return event.data.rank in ("person", "agent")


def said_of_pairs(ledger: Ledger) -> dict[tuple[str, str], tuple[bool, str]]:
    """Whether each pair is said to be two, and by whom, where anything that was said holds."""
    found = {
        (a, b): statement_on(ledger, a, b) for a, those in ledger.statements.items() for b in those
    }
    return {pair: (one.separated, one.rank) for pair, one in found.items() if one is not None}


def separated(ledger: Ledger) -> Iterable[tuple[Entry, Entry]]:
    """Every pair that somebody separated, explicitly or by taking a memory apart."""
    for a, b in combinations(ledger.entries.values(), 2):
        if separation(ledger, a, b) is not None:
            yield a, b
