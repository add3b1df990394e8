"""The figures of a worker: what counts, what is advised, and when it is not well."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from palimpsest.contracts.errors import TransientError, UsageError
from palimpsest.contracts.events import AnyEvent
from palimpsest.server import health as pages
from palimpsest.streams.cluster.health import FOLLOWED
from palimpsest.streams.cluster.records import Outgoing
from palimpsest.streams.cluster.registry import Figure, Name
from palimpsest.streams.cluster.worker import metrics as metrics_module
from palimpsest.streams.cluster.worker.metrics import (
    DEDUP_FIGURES,
    FIGURES,
    CountedEmbedder,
    Metrics,
)
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.embedder.function_engine import FunctionEngine
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.vectors import Vectors
from tests.streams.core.spec import ASK, KEEP, forget, given, judge, merge, retract, say, unmerge
from tests.stub_engine import StubEngine
from tests.tables import each

DOCS = Path(__file__).parents[3] / "docs"
TOLD = (
    *((figure, "cluster.md") for figure in (*FIGURES, *DEDUP_FIGURES, *FOLLOWED)),
    *((figure, "http.md") for figure in pages.FIGURES),
)
"""Each figure, and the page that tells of it."""


def test_the_lists_have_every_name_once() -> None:
    for figures in (FIGURES, DEDUP_FIGURES, FOLLOWED, pages.FIGURES):
        names = [figure.name for figure in figures]
        assert len(names) == len(set(names))
    assert {figure.name for figure, _ in TOLD} == {*get_args(Name)}


@each(("figure", "page"), TOLD)
def test_each_figure_has_its_advice(figure: Figure, page: str) -> None:
    told = (DOCS / page).read_text(encoding="utf-8").splitlines()
    lines = [line for line in told if line.startswith(f"| `{figure.name}")]
    assert any(f"| {figure.says} | {figure.advice} |" in line for line in lines)
    assert figure.advice.endswith(".")


def test_the_queue_of_the_embedder_is_empty_when_it_is_done() -> None:
    metrics = Metrics()
    embedder = CountedEmbedder(StubEngine(), metrics)
    assert len(embedder.submit(["Ada sings.", "Ada sails."]).result()) == 2
    embedder.close()
    told = metrics.text().decode().splitlines()
    assert "palimpsest_embedder_queue 0.0" in told
    assert 'palimpsest_stage_seconds_count{stage="embed"} 1.0' in told


def test_counting_does_not_hide_that_an_embedder_sends_texts_elsewhere() -> None:
    """A worker counts every embedder, so its `local_only` rests on this."""
    sent: list[str] = []

    def elsewhere(texts: list[str]) -> list[list[float]]:
        sent.extend(texts)
        return [[1.0, 2.0] for _ in texts]

    embedder = CountedEmbedder(FunctionEngine(elsewhere, "own"), Metrics())
    policy = load_policy("standard").model_copy(update={"local_only": ("health",)})
    vectors = Vectors(lambda: embedder)
    for ask in (
        lambda: vectors.submit(["Ada sings."], policy),
        lambda: vectors.required("Ada sings.", policy),
    ):
        with pytest.raises(UsageError, match="local_only"):
            ask()
    embedder.close()
    assert sent == ["word"]


def test_lag_that_is_forgotten_is_not_told_until_it_is_set_again() -> None:
    metrics = Metrics()
    metrics.set("palimpsest_lag", 7, "memory.candidates", "0")
    metrics.forget_lag()
    assert "palimpsest_lag{" not in metrics.text().decode()


def test_verdicts_are_counted_with_what_they_cost() -> None:
    """Also those that were refused: they were paid for."""
    history = given(say("a", "Tea"), say("b", "Milk"), say("c", "Chai", {"a": ASK, "b": ASK}))
    history.when(retract("a"), judge("c", a="same"), judge("c", b="unavailable"))
    metrics = counted(history.log)
    told = metrics.text().decode().splitlines()
    assert 'palimpsest_verdicts_total{answer="same"} 1.0' in told
    assert 'palimpsest_verdicts_total{answer="unavailable"} 1.0' in told
    assert "palimpsest_judge_usd_total 0.0" in told


def test_a_candidate_that_is_refused_as_forgotten_counts_as_one() -> None:
    """Producers published it: the sum is compared with what they did."""
    history = given(say("a", "Tea"))
    history.when(forget("a", again="refuse"))
    history.when(say("b", "Tea"))
    assert history.log[-1].type == "palimpsest.refused.v1"
    assert "palimpsest_candidates_total 2.0" in counted(history.log).text().decode().splitlines()


def test_only_what_the_brokers_took_counts_as_a_dead_letter() -> None:
    metrics, letter = (
        Metrics(),
        Outgoing("letters", b"", headers=(("palimpsest-reason", b"field"),)),
    )
    taken = 'palimpsest_dead_letters_total{reason="field"} 1.0'

    async def refuse(*_: object) -> int | None:
        raise TransientError("away")

    async def accept(*_: object) -> int | None:
        return 3

    with pytest.raises(TransientError):
        asyncio.run(metrics.watching(refuse)((), [letter], ()))
    assert "palimpsest_dead_letters_total{" not in metrics.text().decode()
    asyncio.run(metrics.watching(accept)((), [letter], ()))
    assert taken in metrics.text().decode().splitlines()


def test_the_scores_are_those_of_semantic_duplicates_alone() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Tea"))
    told = counted(history.log).text().decode().splitlines()
    assert 'palimpsest_dedup_similarity_score_count{namespace="other"} 1.0' in told
    assert 'palimpsest_dedup_skipped_total{namespace="other",reason="exact"} 1.0' in told


def test_what_is_settled_joined_reversed_and_composed_counts_under_its_namespace() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": ASK}), say("c", "Milk"))
    history.when(judge("b", a="same"), merge("c", "a"), unmerge("c"))
    told = counted(history.log).text().decode().splitlines()
    kinds = [line.partition('decision="')[2].partition('"')[0] for line in told if of_default(line)]
    assert sorted(kinds) == ["llm_reject", "manual_join", "pending", "reversed", "stored"]


def of_default(line: str) -> bool:
    return line.startswith("palimpsest_decisions_total") and 'namespace="default"' in line


def test_namespaces_that_producers_make_up_are_distinguished_up_to_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics_module, "MOST_NAMESPACES", 2)
    history = given(*(say(name, name, namespace=name) for name in ("x", "y", "z", "x2", "y2")))
    told = counted(history.log).text().decode()
    assert {*re.findall('palimpsest_decisions_total.*namespace="([^"]*)"', told)} == {
        "x",
        "y",
        "other",
    }


def counted(log: Sequence[AnyEvent]) -> Metrics:
    """Figures of events that the brokers have."""
    metrics, ledger = Metrics(), Ledger("ada")
    metrics.decided([(0, event, evolve(ledger, event)) for event in log])
    return metrics
