"""Reads people's statements about pairs from a store's log, as labels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence, Set
from operator import attrgetter

from palimpsest.backends.reader import Reader
from palimpsest.contracts.events import (
    AnyEvent,
    AuditLabel,
    AuditLabelled,
    Confirmed,
    Joined,
    Separated,
    Settled,
)
from palimpsest.contracts.evidence import Verdict
from palimpsest.evaluation.labelled import LabelledPair
from palimpsest.streams.core.ledger import Edge, Ledger, Statement
from palimpsest.streams.core.separations import statement_on

SOURCE = "log"
_PairIds = tuple[str, str]
"""The ids of a pair, the later candidate first."""


def labels_of(reader: Reader, progress: Callable[[str, float | None], None]) -> list[LabelledPair]:
    """The pairs about which a person's statement holds: merged, confirmed, un-merged or separated.

    Joins that an audit's label calls right are included, too; those that it calls wrong count as
    different once they are un-merged. Reviews by a model and decisions by a rule are not labels. If
    a judge gave a probability for the pair, the latest one is included; with two judges, the first
    judge's.
    """
    owners, right = reader.owners(), _audited_right(reader)
    found: list[LabelledPair] = []
    for number, owner in enumerate(owners):
        progress("reading people's verdicts", number / len(owners))
        found += _of_owner(reader, reader.ledger(owner), right)
    return found


def _audited_right(reader: Reader) -> set[str]:
    """The pairs whose latest audit label is `right`, and so is a second person's, if any."""
    labels: dict[tuple[str, bool], AuditLabel] = {}
    for recorded in reader.log.of_owner(""):
        if isinstance(recorded.event, AuditLabelled):
            said = recorded.event.data
            labels[said.pair, bool(said.second)] = said.label
    pairs = {pair for pair, _ in labels}
    return {
        pair
        for pair in pairs
        if all(labels.get((pair, second), "right") == "right" for second in (False, True))
    }


def digest_of(pairs: Sequence[LabelledPair]) -> str:
    """`sha256:` and the hex digest of the pairs and their labels, in any order."""
    lines = sorted(pair.key + pair.label.encode() for pair in pairs)
    return f"sha256:{hashlib.sha256(b''.join(lines)).hexdigest()}"


def _of_owner(reader: Reader, ledger: Ledger, right: Set[str]) -> Iterator[LabelledPair]:
    confirmed, verdicts = _confirmed_and_judged(reader, ledger)

    def label(pair: _PairIds, *, separated: bool) -> LabelledPair:
        newer, older = pair
        labelled = LabelledPair(
            id=f"{newer}+{older}",
            a=ledger.entries[older].text,
            b=ledger.entries[newer].text,
            label="different" if separated else "same",
            source=SOURCE,
        )
        verdict = verdicts.get(frozenset(pair))
        return labelled if verdict is None else labelled.judged(verdict.before or verdict)

    stated = _stated_by_people(ledger)
    for pair, statement in stated.items():
        if not statement.only_takes_back:
            yield label(pair, separated=statement.separated)
    audited = (edge for edge in ledger.edges.values() if edge.id in right)
    for pair in dict.fromkeys((edge.newer.id, edge.older.id) for edge in (*confirmed, *audited)):
        if pair not in stated:
            yield label(pair, separated=False)


def _confirmed_and_judged(
    reader: Reader, ledger: Ledger
) -> tuple[list[Edge], dict[frozenset[str], Verdict]]:
    """The standing joins that people confirmed, and the latest verdict on each pair."""
    confirmed: list[Edge] = []
    verdicts: dict[frozenset[str], Verdict] = {}
    for recorded in reader.log.of_owner(ledger.owner_id):
        match recorded.event:
            case Confirmed(subject=decision, data=data) if data.rank == "person":
                edge = ledger.edges.get(decision)
                if edge is not None and edge.standing and decision in ledger.reviews:
                    confirmed.append(edge)
            case event:
                verdicts |= _judged(event)
    return confirmed, verdicts


def _stated_by_people(ledger: Ledger) -> dict[_PairIds, Statement]:
    """The pairs about which the statement that holds is a person's."""
    found: dict[_PairIds, Statement] = {}
    for one, others in ledger.statements.items():
        for other in others:
            pair = ledger.entries[one], ledger.entries[other]
            older, newer = sorted(pair, key=attrgetter("place"))
            holds = statement_on(ledger, newer.id, older.id)
            if holds is not None and holds.rank == "person":
                found[newer.id, older.id] = holds
    return found


def _judged(event: AnyEvent) -> dict[frozenset[str], Verdict]:
    """The judge's verdicts on pairs, for a verifier or in a batch run, but not in a review."""
    match event:
        case Settled(subject=candidate, data=data):
            said = data.evidence.verdicts
        case Joined(subject=candidate, data=data) if data.evidence is not None:
            said = data.evidence.verdicts
        case Separated(data=separated) if separated.verdicts is not None:
            ends = frozenset({separated.candidate_id, separated.other_id})
            return {ends: separated.verdicts[-1]}
        case _:
            return {}
    return {frozenset({candidate, one.neighbour_id}): one for one in said}
