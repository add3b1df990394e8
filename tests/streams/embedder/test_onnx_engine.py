"""What the vectors of all-MiniLM-L6-v2 on ONNX Runtime must be, whatever the speed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from palimpsest.streams.embedder.batch_check import refuse_if_batch_dependent
from palimpsest.streams.embedder.onnx.engine import OnnxEngine

BERLIN = "She lives in Berlin."
MOVED = "Her home is in Berlin."
TEA = "The kettle is broken again."

LONG = "A very long sentence, with commas, that goes on and on until nobody listens any more."

REFERENCE = [
    (BERLIN, MOVED, 0.9027465),
    (BERLIN, TEA, 0.0861023),
    ("The meeting is on March 3.", "The meeting is on March 4.", 0.9279829),
    ("I love 🍕", "I do not love 🍕", 0.6388363),
    ("x", LONG, 0.1324625),
    ("Лондон is the capital.", "London is the capital.", 0.4376165),
    ("tea " * 300, "tea " * 40, 0.8125616),
]
"""Cosines that sentence-transformers 6.2.0 gave on torch 2.15.0, in full precision."""


def cosine(engine: OnnxEngine, one: str, other: str) -> float:
    first, second = (row.astype(np.float64) for row in engine.vectors([one, other]))
    return float(first @ second)


def vectors(engine: OnnxEngine, texts: list[str]) -> list[NDArray[np.float16]]:
    return [embedding.vector for embedding in engine.embed(texts)]


def test_a_vector_is_normalised_and_rounded(engine: OnnxEngine) -> None:
    (vector,) = vectors(engine, [BERLIN])
    assert vector.dtype == np.float16
    assert vector.shape == (engine.dimension,) == (384,)
    assert np.linalg.norm(vector.astype(np.float64)) == pytest.approx(1, abs=1e-3)
    assert np.linalg.norm(engine.vectors([BERLIN])) == pytest.approx(1, abs=1e-6)


def test_a_rewording_is_nearer_than_another_subject(engine: OnnxEngine) -> None:
    assert cosine(engine, BERLIN, MOVED) > 0.7
    assert cosine(engine, BERLIN, TEA) < 0.3


@pytest.mark.parametrize(("one", "other", "expected"), REFERENCE)
def test_cosines_are_those_of_sentence_transformers(
    engine: OnnxEngine, one: str, other: str, expected: float
) -> None:
    assert cosine(engine, one, other) == pytest.approx(expected, abs=2e-6)


def test_a_vector_does_not_depend_on_the_batch(engine: OnnxEngine) -> None:
    texts = [("so it goes " * words).strip() for words in (1, 2, 3, 5, 8, 40, 90)] * 10
    together = engine.vectors([*texts, BERLIN])
    alone = np.concatenate([engine.vectors([text]) for text in [*texts[:7], BERLIN]])
    assert np.abs(together[:7] - alone[:7]).max() <= 1e-6
    assert np.abs(together[-1] - alone[-1]).max() <= 1e-6


def test_the_order_is_kept(engine: OnnxEngine) -> None:
    texts = [TEA * 30, BERLIN, MOVED * 4, "tea", BERLIN * 9]
    forward, backward = engine.vectors(texts), engine.vectors(texts[::-1])
    assert np.abs(forward - backward[::-1]).max() <= 1e-6
    assert np.abs(forward[1] - forward[3]).max() > 0.01


def test_the_order_of_a_few_short_texts_is_kept_too(engine: OnnxEngine) -> None:
    """They are one batch, in which the longest is first."""
    together = engine.vectors(["tea", BERLIN, "a cup"])
    alone = np.concatenate([engine.vectors([text]) for text in ("tea", BERLIN, "a cup")])
    assert np.abs(together - alone).max() <= 1e-6


def test_nothing_gives_nothing(engine: OnnxEngine) -> None:
    assert engine.embed([]) == []
    assert engine.vectors([]).shape == (0, 384)


def test_only_a_text_of_more_than_256_tokens_is_truncated(engine: OnnxEngine) -> None:
    # [CLS] and [SEP] are two of them.
    fits, longer = engine.embed(["tea " * 254, "tea " * 255])
    assert (fits.truncated, longer.truncated) == (False, True)
    assert np.array_equal(fits.vector, longer.vector)


def test_the_windows_of_a_long_text_are_embedded_as_texts_of_their_own(engine: OnnxEngine) -> None:
    """Whatever is beside them: a short text before and after, and the same text alone."""
    text = " ".join(f"word{n}" for n in range(200))
    before, long, after = engine.embed(["tea", text, BERLIN])
    assert before.windows is None
    assert after.windows is None
    assert long.windows is not None
    [tokens] = engine.read([text])
    alone = np.stack([one.vector for one in engine.embed(tokens.windows)])
    assert np.abs(long.windows.astype(np.float32) - alone.astype(np.float32)).max() <= 1e-3
    assert np.abs(after.vector - engine.embed([BERLIN])[0].vector).max() <= 1e-3


def test_words_that_the_model_cannot_tell_apart_are_named(engine: OnnxEngine) -> None:
    pizza, sushi, known = engine.embed(["I love 🍕", "I love 🍣", "I love both"])
    assert np.array_equal(pizza.vector, sushi.vector)
    assert (pizza.unknown, sushi.unknown, known.unknown) == (("🍕",), ("🍣",), ())


def test_an_engine_whose_vectors_do_not_depend_on_the_batch_is_taken(engine: OnnxEngine) -> None:
    refuse_if_batch_dependent(engine)
