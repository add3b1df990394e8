"""Estimates of how many duplicates were missed: opened, labelled pair by pair, and reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypedDict, get_args

from palimpsest.auditing.apart import ApartPair, Population, population, texts_of
from palimpsest.auditing.joins import AuditScope, PairTexts, population_digest
from palimpsest.auditing.order import rank_of, sealed_order
from palimpsest.auditing.recall import (
    AT_RANDOM,
    EDGES,
    Interval,
    StratumCounts,
    allocation,
    exact_interval,
    interval,
    pilot,
    stratum_of,
)
from palimpsest.auditing.recorded import RecordedAudits, drawn, full_pair, population_moved
from palimpsest.auditing.state import Audit, labels_of
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import AuditLabel, AuditLabelledData, AuditOpenedData
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import OpenAuditRequest

LABELS = 200
"""Default number of labels of an estimate."""


class RecallQuestion(TypedDict):
    """Two texts of one scope that are in two memories; None for a text that has been forgotten.

    `ids` are the candidates, the older one first, for `merge`.
    """

    audit: str
    pair: str
    number: int
    question: str
    wrong_if: str
    older: str | None
    newer: str | None
    ids: list[str]


class Estimate(TypedDict):
    """How many of these pairs say the same: `missed` among the labels, and an `estimate` for all.

    `at_least` and `under` bound the scores of a stratum. Both are None for the strata together, and
    for random pairs.
    """

    at_least: float | None
    under: float | None
    pairs: int
    labels: int
    missed: int
    estimate: float
    low: float
    high: float


class RecallStatus(TypedDict):
    """How many duplicates were missed: an estimate at the given confidence.

    `near` estimates how many texts joined no other although the nearest text found for them says
    the same; `strata` are its parts by score. `at_random` is for all other pairs of one scope.
    `recall` is the number of joins divided by that of joins and near pairs that say the same.
    `planned` is the number of labels that the estimate needs. `unsure` is the number of pairs
    labelled as unsure; they count as the same. `found` has the candidates of pairs labelled as the
    same, for `merge`.
    """

    audit: str
    position: int
    confidence: float
    seed: str
    planned: int
    labels: int
    unsure: int
    joins: int
    near: Estimate
    at_random: Estimate
    strata: list[Estimate]
    recall: float
    recall_low: float
    recall_high: float
    found: list[list[str]]


class RecallLabelDone(TypedDict):
    """A label that was recorded; nothing is joined by it."""

    audit: str
    pair: str
    label: AuditLabel
    status: RecallStatus


@dataclass(slots=True)
class RecallPlan:
    """The pairs to label, in order, given the labels so far.

    `counts` has an item for each stratum, and a last one for the pairs drawn at random.
    `size` is the number of all pairs to label; until the pilot is done, `order` has only its pairs
    and those drawn at random.
    """

    counts: list[StratumCounts]
    size: int
    order: list[ApartPair] = field(default_factory=list)
    next: ApartPair | None = None


class Recalls:
    """The estimates of a store: every call names one, or means the latest."""

    def __init__(self, log: RecordedAudits) -> None:
        self._log = log
        self._kept: dict[str, Population] = {}
        self._planned: tuple[str, int, RecallPlan] | None = None

    def open(
        self,
        *,
        labels: int = LABELS,
        confidence: float = 0.95,
        owners: str | None = None,
        since: datetime | None = None,
        seed: str | None = None,
        position: int | None = None,
        because: str | None = None,
    ) -> RecallStatus:
        """Seal a position of the log, then draw pairs to label from those that are not joined.

        Raises UsageError as `Audits.open` does, and if there is no such pair.
        """
        with self._log.turn:
            if labels < 1:
                raise UsageError("--labels: give the number of pairs to label, such as 200")
            if not 0.5 <= confidence < 1.0:
                raise UsageError(
                    f"a confidence of {confidence:g}: it must be at least .5 and below 1"
                )
            sealed = self._log.sealed(AuditScope(owners, since), seed, position)
            seed, own_id = drawn(seed), request_id()
            found = population(sealed, seed, round(labels * AT_RANDOM), self._log.progress)
            if not found.near:
                raise UsageError(
                    f"at position {sealed.position} there is no pair to label: each text that"
                    " joined no other waits for the judge, is kept apart by a person, or has no"
                    " nearest text in the log (as in decisions of earlier versions, or under a"
                    " policy that compares no meaning)"
                )
            opened = AuditOpenedData(
                position=sealed.position,
                seed=seed,
                joins=len(found.near),
                digest=population_digest([*found.near]),
                target=1.0,
                confidence=confidence,
                owners=owners,
                since=since,
                recall=labels,
                offsets=sealed.offsets,
            )
            self._log.writer.ask(
                OpenAuditRequest(
                    request_id=own_id, opened=opened, actor=self._log.actor, because=because
                )
            )
            self._kept[event_id(own_id, "0")] = found
            return self._status(*self._found(event_id(own_id, "0")))

    def next(self, audit: str | None = None) -> RecallQuestion | None:
        """The pair to look at; None if all drawn pairs have a label."""
        with self._log.turn:
            found, audits = self._found(audit)
            pair = self._plan(found, audits).next
            return None if pair is None else self._question(found, pair)

    def label(
        self,
        pair: str,
        label: AuditLabel,
        *,
        audit: str | None = None,
        because: str | None = None,
        actor: str | None = None,
    ) -> RecallLabelDone:
        """Say whether the pair that `next` showed is rightly apart; `wrong` if they say the same.

        Nothing is joined. Raises RefusedError (`not_waiting`) for a pair that was not shown yet,
        UsageError for another label.
        """
        if label not in get_args(AuditLabel):
            raise UsageError("a label must be right, wrong or unsure")
        with self._log.turn:
            found, audits = self._found(audit)
            known = self._population(found)
            waiting = self._plan(found, audits).next
            pair = full_pair(pair, waiting.id if waiting else None, found.labels)
            shown = (known.near | known.at_random)[pair].shown
            self._log.label(found, pair, label, shown, actor=actor, because=because)
            return {
                "audit": found.id,
                "pair": pair,
                "label": label,
                "status": self._status(*self._found(found.id)),
            }

    def status(self, audit: str | None = None) -> RecallStatus:
        """The estimate from the labels so far, with its interval."""
        with self._log.turn:
            return self._status(*self._found(audit))

    def _found(self, wanted: str | None) -> tuple[Audit, list[Audit]]:
        return self._log.found(wanted, lambda audit: audit.opened.recall is not None)

    def _population(self, audit: Audit) -> Population:
        """The pairs of an estimate, as they were when it was opened."""
        if audit.id not in self._kept:
            opened = audit.opened
            sealed = self._log.sealed(
                AuditScope(opened.owners, opened.since), None, opened.position
            )
            drawn_pairs = round((opened.recall or 0) * AT_RANDOM)
            found = population(sealed, opened.seed, drawn_pairs, self._log.progress)
            if population_digest([*found.near]) != opened.digest:
                raise population_moved(opened.position)
            self._kept[audit.id] = found
        return self._kept[audit.id]

    def _plan(self, audit: Audit, audits: Sequence[Audit]) -> RecallPlan:
        """The plan given the labels so far; it is kept until there is another event."""
        kept, events = self._planned, len(self._log.recorded)
        if kept is None or kept[:2] != (audit.id, events):
            plan = planned(audit, self._population(audit), labels_of(audits, audit))
            kept = self._planned = audit.id, events, plan
        return kept[2]

    def _question(self, audit: Audit, pair: ApartPair) -> RecallQuestion:
        texts: PairTexts = texts_of(pair, self._log.writer.reader.ledger(pair.owner_id))
        return {
            "audit": audit.id,
            "pair": pair.id,
            "number": len(audit.labels) + 1,
            "question": "They are in two memories. Do they say the same?",
            "wrong_if": "wrong if they do",
            "older": texts.older,
            "newer": texts.newer,
            "ids": [pair.older, pair.newer],
        }

    def _status(self, audit: Audit, audits: Sequence[Audit]) -> RecallStatus:
        found, labels = self._population(audit), labels_of(audits, audit)
        plan = self._plan(audit, audits)
        *strata, at_random = plan.counts
        confidence = audit.opened.confidence
        said = [(pair, labels[pair.id].label) for pair in plan.order if _said(pair, labels)]
        near = _estimate(strata, interval(strata, confidence))
        return {
            "audit": audit.id,
            "position": audit.opened.position,
            "confidence": confidence,
            "seed": audit.opened.seed,
            "planned": plan.size,
            "labels": len(said),
            "unsure": sum(label == "unsure" for _, label in said),
            "joins": found.joins,
            "near": near,
            "at_random": _estimate([at_random], exact_interval(at_random, confidence)),
            "strata": [
                _estimate([stratum], exact_interval(stratum, confidence), at_least, under)
                for stratum, at_least, under in zip(
                    strata, (None, *EDGES), (*EDGES, None), strict=True
                )
                if stratum.pairs
            ],
            "recall": _recall(found.joins, near["estimate"]),
            "recall_low": _recall(found.joins, near["high"]),
            "recall_high": _recall(found.joins, near["low"]),
            "found": [[pair.older, pair.newer] for pair, label in said if label == "wrong"],
        }


def planned(audit: Audit, found: Population, labels: Mapping[str, AuditLabelledData]) -> RecallPlan:
    """The pairs to label: first random ones and the pilot's, then those that its labels choose."""
    seed, wanted = audit.opened.seed, audit.opened.recall or 0
    strata = [_Stratum() for _ in range(len(EDGES) + 1)]
    for pair_id in sealed_order(seed, found.near):
        pair = found.near[pair_id]
        strata[stratum_of(pair.score or 0.0)].pairs.append(pair)
    at_random = [*found.at_random.values()]
    sizes = pilot([len(stratum.pairs) for stratum in strata], wanted - len(at_random))
    order = _mixed(seed, [*at_random, *_take(strata, sizes)])
    if all(_said(pair, labels) for pair in order):
        more = allocation([stratum.counts(labels) for stratum in strata], wanted - len(order))
        order += _mixed(seed, _take(strata, more))
    counts = [stratum.counts(labels) for stratum in strata]
    counts.append(_counts(found.others, at_random, labels))
    waiting = next((pair for pair in order if not _said(pair, labels)), None)
    size = len(at_random) + min(wanted - len(at_random), len(found.near))
    return RecallPlan(counts, size, order, waiting)


@dataclass(slots=True)
class _Stratum:
    """The pairs of a range of scores, in sealed order; the first `taken` are to be labelled."""

    pairs: list[ApartPair] = field(default_factory=list)
    taken: int = 0

    def counts(self, labels: Mapping[str, AuditLabelledData]) -> StratumCounts:
        return _counts(len(self.pairs), self.pairs[: self.taken], labels)


def _take(strata: Sequence[_Stratum], sizes: Sequence[int]) -> list[ApartPair]:
    """Take the next pairs of each stratum."""
    found: list[ApartPair] = []
    for stratum, size in zip(strata, sizes, strict=True):
        found += stratum.pairs[stratum.taken : stratum.taken + size]
        stratum.taken += size
    return found


def _mixed(seed: str, pairs: Iterable[ApartPair]) -> list[ApartPair]:
    """The pairs in an order that does not reveal the stratum."""
    return sorted(pairs, key=lambda pair: rank_of(seed, pair.id))


def _said(pair: ApartPair, labels: Mapping[str, AuditLabelledData]) -> bool:
    """Whether a pair has a label for its current texts."""
    return pair.id in labels and labels[pair.id].shown == pair.shown


def _counts(
    size: int, some: Sequence[ApartPair], labels: Mapping[str, AuditLabelledData]
) -> StratumCounts:
    said = [labels[pair.id].label for pair in some if _said(pair, labels)]
    return StratumCounts(size, len(said), sum(label != "right" for label in said))


def _estimate(
    strata: Sequence[StratumCounts],
    found: Interval,
    at_least: float | None = None,
    under: float | None = None,
) -> Estimate:
    return {
        "at_least": at_least,
        "under": under,
        "pairs": sum(stratum.pairs for stratum in strata),
        "labels": sum(stratum.labels for stratum in strata),
        "missed": sum(stratum.missed for stratum in strata),
        "estimate": round(found.estimate, 1),
        "low": round(found.low, 1),
        "high": round(found.high, 1),
    }


def _recall(joins: int, missed: float) -> float:
    """The share of joins among joins and missed duplicates; 1 if there are neither."""
    return round(joins / (joins + missed), 4) if joins + missed else 1.0
