"""The state of audits, from their events: labels, bounds, and the next pair. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import islice

from palimpsest.auditing.bound import DetectionBound, ErrorBound
from palimpsest.auditing.joins import AuditedJoin
from palimpsest.auditing.order import rank_of, sealed_order
from palimpsest.contracts.events import (
    AnyEvent,
    AuditLabelled,
    AuditLabelledData,
    AuditOpened,
    AuditOpenedData,
    Certified,
    CertifiedData,
    Stratum,
)

SECONDS_ARE_ONE_IN = 10
"""One labelled pair in this number goes to a second person, if there is one."""
PROBES_ARE_ONE_IN = 10
"""One pair in this number is known to be wrong, on average."""


@dataclass(slots=True)
class Audit:
    """An audit as it was opened, with the latest label of each pair, and its certificates.

    `seconds` are the labels of a second person.
    """

    id: str
    at: datetime
    opened: AuditOpenedData
    labels: dict[str, AuditLabelledData] = field(default_factory=dict)
    seconds: dict[str, AuditLabelledData] = field(default_factory=dict)
    certified: list[tuple[datetime, CertifiedData]] = field(default_factory=list)

    @property
    def delta(self) -> float:
        """The error probability available for the bound of the joins."""
        return 1.0 - self.opened.confidence - self.opened.detection


def audits_of(events: Iterable[AnyEvent]) -> list[Audit]:
    """The audits of a store in the order of opening, from its events without an owner."""
    audits: dict[str, Audit] = {}
    for event in events:
        match event:
            case AuditOpened():
                audits[event.id] = Audit(event.id, event.time, event.data)
            case AuditLabelled(data=said) if said.audit in audits:
                audit = audits[said.audit]
                (audit.seconds if said.second else audit.labels)[said.pair] = said
            case Certified(data=data) if data.audit in audits:
                audits[data.audit].certified.append((event.time, data))
    return [*audits.values()]


def labels_of(audits: Sequence[Audit], audit: Audit) -> dict[str, AuditLabelledData]:
    """The labels that count for an audit: its own and, for other pairs, those of other audits.

    If two people labelled a pair, the worse label counts.
    """
    found: dict[str, AuditLabelledData] = {}
    for one in (*(other for other in audits if other is not audit), audit):
        found |= one.labels
        found |= {pair: said for pair, said in one.seconds.items() if said.label != "right"}
    return found


def waits_for_second(audit: Audit, person: str | None) -> str | None:
    """The earliest pair that another person has labelled and that this person is also to label.

    The seed selects a tenth of all pairs; None for a person without a name.
    """
    if person is None:
        return None
    for pair, said in audit.labels.items():
        if said.actor not in (None, person) and pair not in audit.seconds:
            drawn = int.from_bytes(rank_of(audit.opened.seed, f"second {pair}")[:4], "big")
            if drawn % SECONDS_ARE_ONE_IN == 0:
                return pair
    return None


@dataclass(frozen=True, slots=True)
class Concordance:
    """How far two people agree on the same pairs; `kappa` is Cohen's, None if it is undefined.

    1 is perfect, 0 is chance level (J. Cohen, Educational and Psychological Measurement 20, 1960).
    It is undefined without pairs, or if both gave the same single label to all pairs.
    """

    pairs: int
    agreed: int
    kappa: float | None


def concordance(audit: Audit) -> Concordance:
    """How far the first and the second person of an audit agree."""
    both = [
        (audit.labels[pair].label, said.label)
        for pair, said in audit.seconds.items()
        if pair in audit.labels
    ]
    agreed = sum(one == other for one, other in both)
    if not both:
        return Concordance(0, 0, None)
    ours, theirs = (Counter(labels) for labels in zip(*both, strict=True))
    chance = sum(count * theirs[label] for label, count in ours.items()) / len(both) ** 2
    kappa = None if chance == 1 else (agreed / len(both) - chance) / (1 - chance)
    return Concordance(len(both), agreed, kappa)


@lru_cache(maxsize=100_000)
def is_probe_slot(seed: str, number: int) -> bool:
    """Whether showing the pair with this number, counted from 0, makes one more probe due."""
    drawn = int.from_bytes(rank_of(seed, f"slot {number}")[:4], "big")
    return drawn % PROBES_ARE_ONE_IN == 0


@dataclass(slots=True)
class AuditTally:
    """How far an audit has got.

    `order` has all joins, and `given` is the number of labels given in this audit. `probes_due` is
    the number of probes that its slots have called for but that were not shown yet. `looked` has
    the joins that count so far, in order, each with whether it is wrong; `curve` is the bound of
    the errors after each. `next` is the pair to look at; None if none is left.
    """

    order: Sequence[str]
    target: float
    seed: str
    given: int
    errors: ErrorBound
    detection: DetectionBound | None
    probes_due: int
    probes_left: int
    next: str | None = None
    looked: list[tuple[AuditedJoin, bool]] = field(default_factory=list)
    curve: list[int] = field(default_factory=list)

    @property
    def joins(self) -> int:
        """The number of all joins."""
        return len(self.order)

    @property
    def detected(self) -> float:
        """The lower bound on the share of wrong joins that is found; 1 without probes."""
        return 1.0 if self.detection is None else self.detection.least

    @property
    def bound(self) -> float:
        """The greatest share of joins that may be wrong, including those that auditors miss."""
        if not self.detected:
            return 1.0
        return min(1.0, self.errors.most / self.detected / self.joins)

    @property
    def certified(self) -> bool:
        """Whether the bound is at most the target."""
        return self.bound <= self.target

    @property
    def shows_probe(self) -> bool:
        """Whether the next pair is a probe."""
        due = self.probes_due > 0 or self.errors.labels == self.joins
        return self.probes_left > 0 and due

    def count(self) -> None:
        """Count a given label: its slot is taken, and the next slot may make a probe due."""
        self.given += 1
        self.probes_due += is_probe_slot(self.seed, self.given)

    def see_probe(self, *, found: bool) -> None:
        """Count the auditor's answer to a probe."""
        assert self.detection is not None
        self.detection.see(found=found)
        self.probes_due -= 1
        self.probes_left -= 1

    def advance(
        self,
        audit: Audit,
        joins: Mapping[str, AuditedJoin],
        probes: Sequence[str],
        labels: Mapping[str, AuditLabelledData],
    ) -> None:
        """Count the labels of joins from the current place in the order, and find the next pair."""
        self.next = None
        for pair in islice(self.order, self.errors.labels, None):
            join, said = joins[pair], labels.get(pair)
            if said is None or said.shown != join.shown:
                self.next = pair
                break
            wrong = said.label != "right"
            self.errors.see(wrong=wrong)
            self.looked.append((join, wrong))
            self.curve.append(self.errors.most)
        if self.shows_probe:
            self.next = next(probe for probe in probes if probe not in audit.labels)

    def joins_needed(self, detected: float = 1.0, further: int = 0) -> int | None:
        """How many more labels of joins reach the target, if `detected` of wrong ones are found.

        The next `further` joins are assumed to be wrong, and no others. None if no number of labels
        is enough.
        """
        most = int(self.target * self.joins * detected + 1e-9)
        return self.errors.labels_needed(most, further)

    def labels_needed(self, further: int = 0) -> int | None:
        """How many labels take the whole bound to the target, if every probe is found.

        The next `further` joins are assumed to be wrong, and no others. None if no number of labels
        is enough. With more probes found, fewer labels of joins are needed, and more joins have
        been shown. So the smallest number of probes that suffices is found by bisection.
        """
        if self.certified:
            return 0
        shown = self._shown_before_probes()

        def needed(probes: int) -> float:
            detected = self.detection.least_after(probes) if self.detection else 1.0
            found = self.joins_needed(detected, further)
            return math.inf if found is None else found

        enough = range(len(shown))
        probes = bisect_left(enough, True, key=lambda probes: needed(probes) <= shown[probes])
        if probes == len(shown):
            return None
        before = shown[probes - 1] if probes else 0
        return max(int(needed(probes)), before) + probes

    def _shown_before_probes(self) -> list[int]:
        """How many more joins are shown before each remaining probe, and after the last."""
        joins, left = 0, self.joins - self.errors.labels
        given, due, shown = self.given, self.probes_due, list[int]()
        while len(shown) < self.probes_left:
            if due > 0 or joins == left:
                shown.append(joins)
                due -= 1
            else:
                joins += 1
            given += 1
            due += is_probe_slot(self.seed, given)
        return [*shown, left]


def tally_of(
    audit: Audit,
    joins: Mapping[str, AuditedJoin],
    probes: Sequence[str],
    labels: Mapping[str, AuditLabelledData],
) -> AuditTally:
    """How far an audit has got, given these labels.

    A join's label counts once all joins before it in the sealed order have one, and as long as its
    texts are those that were shown.
    """
    opened = audit.opened
    tally = AuditTally(
        sealed_order(opened.seed, joins),
        opened.target,
        opened.seed,
        len(audit.labels),
        ErrorBound(len(joins), audit.delta),
        DetectionBound(opened.detection) if opened.detection else None,
        sum(is_probe_slot(opened.seed, slot) for slot in range(len(audit.labels) + 1)),
        len(probes),
    )
    for probe in probes:
        if probe in audit.labels:
            tally.see_probe(found=audit.labels[probe].label != "right")
    tally.advance(audit, joins, probes, labels)
    return tally


def strata_of(audit: Audit, joins: Mapping[str, AuditedJoin], tally: AuditTally) -> list[Stratum]:
    """A bound for each stratum, from its labels alone: the order within it is just as random.

    Each bound is a separate statement at the audit's confidence, divided by the detected share.
    """
    population: Counter[tuple[str, str]] = Counter()
    bounds: dict[tuple[str, str], ErrorBound] = {}
    for join in joins.values():
        population.update(join.made.items())
    for join, wrong in tally.looked:
        for part in join.made.items():
            if part not in bounds:
                bounds[part] = ErrorBound(population[part], audit.delta)
            bounds[part].see(wrong=wrong)
    found = []
    for (by, value), size in sorted(population.items()):
        bound = bounds.get((by, value)) or ErrorBound(size, audit.delta)
        share = min(1.0, bound.most / tally.detected / size) if tally.detected else 1.0
        found.append(
            Stratum(
                by=by,
                value=value,
                joins=size,
                labels=bound.labels,
                errors=bound.errors,
                bound=round(share, 6),
            )
        )
    return found
