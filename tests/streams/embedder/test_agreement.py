"""The engines give the same vectors: on a thousand real texts (docs/design.md, Embedding)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from palimpsest.streams.embedder import load_engine
from palimpsest.streams.embedder.batch_check import Measurable
from palimpsest.streams.embedder.onnx.engine import OnnxEngine
from palimpsest.streams.embedder.sentence_transformers_engine import SentenceTransformersEngine

# torch and transformers warn about themselves.
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

STATED = 1e-5
"""The largest difference of a cosine, between two texts or of one text's two vectors."""

MEMORIES = Path(__file__).parents[3] / "examples" / "data" / "memories.jsonl.gz"


@pytest.fixture(scope="module")
def texts() -> list[str]:
    lines = gzip.decompress(MEMORIES.read_bytes()).splitlines()
    distinct = dict.fromkeys(orjson.loads(line)["text"] for line in lines)
    return list(distinct)[:1000]


@pytest.fixture(scope="module")
def onnx(tmp_path_factory: pytest.TempPathFactory) -> OnnxEngine:
    engine = load_engine(cache_dir=tmp_path_factory.mktemp("graphs"))
    assert isinstance(engine, OnnxEngine)
    return engine


@pytest.fixture(scope="module")
def reference() -> SentenceTransformersEngine:
    engine = load_engine(engine="sentence-transformers")
    assert isinstance(engine, SentenceTransformersEngine)
    return engine


def exact(engine: Measurable, texts: list[str]) -> NDArray[np.float64]:
    rows = engine.vectors(texts).astype(np.float64)
    unit: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def test_the_engines_agree_on_a_thousand_real_texts(
    onnx: OnnxEngine, reference: SentenceTransformersEngine, texts: list[str]
) -> None:
    assert len(texts) == 1000
    ours, theirs = exact(onnx, texts), exact(reference, texts)
    same = float(np.abs(1 - (ours * theirs).sum(axis=1)).max())
    between = float(np.abs(ours @ ours.T - theirs @ theirs.T).max())
    component = float(np.abs(ours - theirs).max())
    print(f"same text {same:.1e}, between texts {between:.1e}, a component {component:.1e}")
    assert max(same, between) <= STATED


def test_the_engines_say_the_same_of_what_the_model_cannot_tell(
    onnx: OnnxEngine, reference: SentenceTransformersEngine
) -> None:
    texts = ["I love 🍕", "tea " * 254, "tea " * 255, "Лондон 🦀 и 🦀", ""]
    ours, theirs = onnx.embed(texts), reference.embed(texts)
    assert [(one.truncated, one.unknown) for one in ours] == [
        (one.truncated, one.unknown) for one in theirs
    ]
    for one, other in zip(ours, theirs, strict=True):
        assert np.allclose(one.vector, other.vector, atol=1e-3)


def test_the_engines_name_the_same_model(
    onnx: OnnxEngine, reference: SentenceTransformersEngine
) -> None:
    assert (onnx.model, onnx.dimension) == (reference.model, reference.dimension)
    assert reference.embed([]) == []
