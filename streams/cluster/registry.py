"""Prometheus metrics: their definitions, and a board with their current values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

Kind = Literal["counter", "gauge", "histogram"]
Name = Literal[
    "palimpsest_candidates",
    "palimpsest_decisions",
    "palimpsest_verdicts",
    "palimpsest_judge_usd",
    "palimpsest_dead_letters",
    "palimpsest_dead_letters_flood",
    "palimpsest_stage_seconds",
    "palimpsest_event_loop_lag_seconds",
    "palimpsest_lag",
    "palimpsest_inputs_deleted",
    "palimpsest_decisions_begin",
    "palimpsest_decisions_expire",
    "palimpsest_records_held",
    "palimpsest_owners_in_memory",
    "palimpsest_partitions",
    "palimpsest_embedder_queue",
    "palimpsest_progress_timestamp_seconds",
    "palimpsest_followed",
    "palimpsest_dedup_checks",
    "palimpsest_dedup_skipped",
    "palimpsest_dedup_check_duration_ms",
    "palimpsest_dedup_similarity_score",
    "palimpsest_requests",
    "palimpsest_request_seconds",
    "palimpsest_requests_running",
]
SECONDS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric: its name (counters get `_total`), its description, and advice for operators.

    `buckets` are the upper bounds of a histogram.
    """

    name: Name
    kind: Kind
    says: str
    advice: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = SECONDS


class Board:
    """The metrics of one process."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        self.registry = CollectorRegistry()
        self._counters: dict[Name, Counter] = {}
        self._gauges: dict[Name, Gauge] = {}
        self._histograms: dict[Name, Histogram] = {}
        for figure in figures:
            words = figure.name, figure.says, figure.labels
            match figure.kind:
                case "counter":
                    self._counters[figure.name] = Counter(*words, registry=self.registry)
                case "gauge":
                    self._gauges[figure.name] = Gauge(*words, registry=self.registry)
                case "histogram":
                    made = Histogram(*words, registry=self.registry, buckets=figure.buckets)
                    self._histograms[figure.name] = made

    def count(self, name: Name, more: float = 1.0, *labels: str) -> None:
        """Increase a counter."""
        counter = self._counters[name]
        (counter.labels(*labels) if labels else counter).inc(more)

    def add(self, name: Name, more: float) -> None:
        """Add to a gauge; the amount may be negative."""
        self._gauges[name].inc(more)

    def set(self, name: Name, value: float, *labels: str) -> None:
        """Set a gauge."""
        gauge = self._gauges[name]
        (gauge.labels(*labels) if labels else gauge).set(value)

    def observe(self, name: Name, value: float, *labels: str) -> None:
        """Add one observation to a histogram."""
        histogram = self._histograms[name]
        (histogram.labels(*labels) if labels else histogram).observe(value)

    def forget_lag(self) -> None:
        """Remove all partitions' lag before it is set again: some may have been revoked."""
        self._gauges["palimpsest_lag"].clear()

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)
