"""The metrics of designs/namespaced.md, "Monitoring": counted from the log, and by a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from palimpsest import Palimpsest
from palimpsest.contracts.identity import decision_id_of
from palimpsest.projections.duckdb.dedup_metrics import dedup_metrics
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.skips import named_namespaces
from tests.designs.test_namespaced import TEXT, near

SAID = (
    ("decisions", TEXT),
    ("decisions", TEXT),
    ("decisions", near(94)),
    ("decisions", near(92)),
    ("learnings", TEXT),
    ("learnings", near(88)),
    ("my secrets", "a text of my own"),
    ("my secrets", "a text of my own"),
)


@pytest.fixture(name="store")
def submitted(tmp_path: Path) -> Iterator[Palimpsest]:
    with Palimpsest.open(tmp_path / "store", policy="namespaced") as made:
        made.submit([{"owner_id": "ada", "namespace": n, "text": t} for n, t in SAID])
        yield made


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Our metrics as Prometheus parses a text; buckets as numbers."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith("palimpsest_dedup") and not sample.name.endswith("_created"):
                labels = {k: str(float(v)) if k == "le" else v for k, v in sample.labels.items()}
                found[sample.name, tuple(sorted(labels.items()))] = round(sample.value, 4)
    return found


def value(store: Palimpsest, name: str, **labels: str) -> float:
    return samples(store.metrics())[f"palimpsest_dedup_{name}", tuple(sorted(labels.items()))]


def test_counters(store: Palimpsest) -> None:
    assert value(store, "checks_total", namespace="decisions", result="duplicate") == 3
    assert value(store, "checks_total", namespace="decisions", result="unique") == 1
    assert value(store, "skipped_total", namespace="decisions", reason="recent") == 1
    assert value(store, "skipped_total", namespace="decisions", reason="semantic") == 2
    assert value(store, "skipped_total", namespace="learnings", reason="semantic") == 1


def test_the_reason_exact(store: Palimpsest) -> None:
    store.set_policy(store.policy.model_copy(update={"enabled": False}))
    store.submit({"owner_id": "ada", "namespace": "decisions", "text": TEXT})
    assert value(store, "skipped_total", namespace="decisions", reason="exact") == 1


def test_similarity_score_for_semantic_matches(store: Palimpsest) -> None:
    assert value(store, "similarity_score_count", namespace="decisions") == 2
    assert value(store, "similarity_score_sum", namespace="decisions") == 1.86
    assert value(store, "similarity_score_bucket", namespace="decisions", le="0.92") == 1
    assert value(store, "similarity_score_bucket", namespace="decisions", le="0.94") == 2


def test_unnamed_namespaces_are_other_and_no_urn_is_a_label(store: Palimpsest) -> None:
    text = store.metrics()
    assert "secret" not in text
    assert "palimpsest:" not in text
    assert value(store, "skipped_total", namespace="other", reason="recent") == 1


def test_a_worker_counts_the_same(store: Palimpsest) -> None:
    worker, ledger = Metrics(), Ledger("ada")
    events = [one.event for one in store.reader.log.of_owner("ada")]
    named = named_namespaces(store.policy)
    worker.decided([(0, event, evolve(ledger, event)) for event in events], named)
    counted = samples(worker.text().decode())
    assert counted == samples(store.metrics())
    assert len(events) == len(SAID) == len({decision_id_of(e.subject) for e in events})


def test_check_durations_are_a_workers(store: Palimpsest) -> None:
    worker = Metrics()
    worker.checked("semantic", 0.3)
    counted = samples(worker.text().decode())
    name = "palimpsest_dedup_check_duration_ms_bucket"
    assert counted[name, (("check_type", "semantic"), ("le", "0.25"))] == 0
    assert counted[name, (("check_type", "semantic"), ("le", "0.5"))] == 1
    assert "duration" not in store.metrics()


def test_a_label_is_quoted_as_prometheus_wants(store: Palimpsest) -> None:
    odd = 'say "a\\b"\nline'
    store.submit({"owner_id": "ada", "namespace": odd, "text": "odd"})
    store.reader.refresh()
    found = samples(dedup_metrics(store.reader.projections, {odd}))
    labels = (("namespace", odd), ("result", "unique"))
    assert found["palimpsest_dedup_checks_total", labels] == 1
