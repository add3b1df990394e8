"""The state that labels lead to: order, probes, detection, and the labels still needed."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from palimpsest.auditing.bound import DetectionBound, ErrorBound
from palimpsest.auditing.joins import AuditedJoin
from palimpsest.auditing.order import sealed_order
from palimpsest.auditing.state import (
    Audit,
    audits_of,
    is_probe_slot,
    labels_of,
    strata_of,
    tally_of,
)
from palimpsest.contracts.events import (
    AnyEvent,
    AuditLabel,
    AuditLabelled,
    AuditLabelledData,
    AuditOpened,
    AuditOpenedData,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def joins(count: int) -> dict[str, AuditedJoin]:
    return {
        f"join {n}": AuditedJoin(f"join {n}", "ada", "keep", f"shown {n}", {"policy": "abc"[n % 3]})
        for n in range(count)
    }


def opened(count: int, **more: float) -> Audit:
    fields: dict[str, float] = {"target": 0.1, "confidence": 0.95} | more
    data = AuditOpenedData(position=1, seed="dice", joins=count, digest="d", **fields)  # type: ignore[arg-type]
    return Audit("audit", NOW, data)


def say(audit: Audit, pair: str, label: AuditLabel, shown: str) -> None:
    audit.labels[pair] = AuditLabelledData(audit=audit.id, pair=pair, label=label, shown=shown)


def label_until_certified(
    audit: Audit, population: dict[str, AuditedJoin], probes: list[str], wrong: int = 0
) -> int:
    """Say `wrong` of probes and the first `wrong` joins, else `right`; how many labels it took."""
    labels = 0
    while not (tally := tally_of(audit, population, probes, audit.labels)).certified:
        assert tally.next is not None
        join = population.get(tally.next)
        label: AuditLabel = "wrong" if join is None or tally.errors.labels < wrong else "right"
        say(audit, tally.next, label, join.shown if join else "")
        labels += 1
    return labels


@pytest.mark.parametrize("probes", [0, 3, 30])
def test_the_labels_needed_are_those_that_it_takes(probes: int) -> None:
    audit, population = opened(150, detection=0.01 if probes else 0.0), joins(150)
    names = [f"probe {n}" for n in range(probes)]
    tally = tally_of(audit, population, names, {})
    needed = tally.labels_needed()
    assert label_until_certified(audit, population, names) == needed


@pytest.mark.parametrize("further", [1, 2])
@pytest.mark.parametrize("probes", [0, 30])
def test_the_labels_needed_after_errors_are_those_that_it_takes(probes: int, further: int) -> None:
    audit, population = opened(150, detection=0.01 if probes else 0.0), joins(150)
    names = [f"probe {n}" for n in range(probes)]
    tally = tally_of(audit, population, names, {})
    needed, clean = tally.labels_needed(further), tally.labels_needed()
    assert needed is not None
    assert clean is not None
    assert needed > clean
    assert label_until_certified(audit, population, names, further) == needed


def test_errors_beyond_the_target_are_said_to_be_too_many() -> None:
    tally = tally_of(opened(20, target=0.05), joins(20), [], {})
    assert tally.labels_needed(1) is not None
    assert tally.labels_needed(2) is None


def test_after_an_error_more_labels_are_needed() -> None:
    audit, population = opened(150), joins(150)
    clean = tally_of(audit, population, [], {}).labels_needed()
    first, *_ = sealed_order("dice", population)
    say(audit, first, "unsure", population[first].shown)
    tally = tally_of(audit, population, [], audit.labels)
    needed = tally.labels_needed()
    assert clean is not None
    assert needed is not None
    assert needed + 1 > clean
    assert label_until_certified(audit, population, []) == needed


def test_a_percent_of_ten_thousand_joins_with_probes() -> None:
    """At 95 %, 342 labels before detection; about 460 if detection uses a fifth of the error."""
    audit, population = opened(10_000, target=0.01, detection=0.01), joins(10_000)
    tally = tally_of(audit, population, [f"probe {n}" for n in range(100)], {})
    assert ErrorBound(10_000, 0.05).labels_needed(100) == 342
    assert tally.joins_needed() == 365
    needed = tally.labels_needed()
    assert needed is not None
    assert 440 <= needed <= 490


def test_one_pair_in_ten_is_a_probe_and_none_comes_by_a_rule_that_shows() -> None:
    slots = [slot for slot in range(5_000) if is_probe_slot("dice", slot)]
    assert 400 < len(slots) < 600
    gaps = {after - before for before, after in pairwise(slots)}
    assert min(gaps) == 1
    assert max(gaps) > 30


def test_a_label_counts_where_all_before_it_have_one_and_its_texts_are_the_same() -> None:
    audit, population = opened(20), joins(20)
    order = sealed_order("dice", population)
    for pair in (order[0], order[1], order[3]):
        say(audit, pair, "right", population[pair].shown)
    tally = tally_of(audit, population, [], audit.labels)
    assert (tally.errors.labels, tally.next) == (2, order[2])
    say(audit, order[1], "right", "another text")
    tally = tally_of(audit, population, [], audit.labels)
    assert (tally.errors.labels, tally.next) == (1, order[1])


def event(number: int, data: AuditOpenedData | AuditLabelledData) -> AnyEvent:
    kind = AuditOpened if isinstance(data, AuditOpenedData) else AuditLabelled
    return kind(id=str(number), subject="", time=NOW, partitionkey="", data=data)  # type: ignore[arg-type]


def test_the_latest_label_of_a_pair_counts_and_an_audits_own_before_all() -> None:
    data = opened(3).opened

    def said(audit: str, label: AuditLabel) -> AuditLabelledData:
        return AuditLabelledData(audit=audit, pair="join 1", label=label, shown="shown 1")

    events = [
        event(1, data),
        event(2, said("1", "wrong")),
        event(3, said("1", "right")),
        event(4, data),
        event(5, said("nobody", "wrong")),
    ]
    first, second = audits_of(events)
    assert labels_of([first, second], second)["join 1"].label == "right"
    first, second = audits_of([*events, event(6, said("4", "unsure"))])
    assert labels_of([first, second], first)["join 1"].label == "right"
    assert labels_of([first, second], second)["join 1"].label == "unsure"


def test_strata_have_bounds_of_their_own() -> None:
    audit, population = opened(90), joins(90)
    for pair in sealed_order("dice", population)[:60]:
        join = population[pair]
        wrong = join.made["policy"] == "a"
        say(audit, pair, "wrong" if wrong else "right", join.shown)
    tally = tally_of(audit, population, [], audit.labels)
    strata = {stratum.value: stratum for stratum in strata_of(audit, population, tally)}
    assert {stratum.joins for stratum in strata.values()} == {30}
    assert sum(stratum.labels for stratum in strata.values()) == 60
    assert strata["a"].errors == strata["a"].labels
    assert strata["b"].bound < 0.3 < strata["a"].bound


# -- the law of detection ------------------------------------------------------------------------

JOINS, WRONG, TARGET, DELTA, RUNS = 300, 36, 0.1, 0.1, 120
MISSED = 0.4
"""The share of wrong joins and of probes that the auditor labels as right."""


def certifies_wrongly(run: int, detection: float) -> bool:
    """Whether an audit of 12 % wrong joins certifies 10 % if the auditor misses some."""
    chance = random.Random(run)
    found, missed = ErrorBound(JOINS, DELTA - detection), DetectionBound(detection or DELTA)
    labels = [number < WRONG for number in range(JOINS)]
    chance.shuffle(labels)
    for number, wrong in enumerate(labels[:160]):
        found.see(wrong=wrong and chance.random() >= MISSED)
        if detection and number % 5 == 0:
            missed.see(found=chance.random() >= MISSED)
        least = missed.least if detection else 1.0
        if least and found.most / least <= TARGET * JOINS:
            return True
    return False


def test_an_auditor_who_misses_errors_certifies_wrongly_in_delta_of_the_runs_at_most() -> None:
    assert sum(certifies_wrongly(run, DELTA / 5) for run in range(RUNS)) / RUNS <= DELTA


def test_without_probes_what_is_missed_would_be_certified() -> None:
    assert sum(certifies_wrongly(run, 0.0) for run in range(RUNS)) / RUNS > 3 * DELTA
