"""An embedding function: what it returns is checked, and what it raises is its own."""

from __future__ import annotations

import pytest
from numpy.typing import ArrayLike

from palimpsest.streams.embedder import ModelUnusable
from palimpsest.streams.embedder.function_engine import FunctionEngine


@pytest.mark.parametrize("kind", [TypeError, ValueError, RuntimeError])
def test_an_error_of_the_function_is_raised_as_it_is(kind: type[Exception]) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        raise kind("no such region")

    with pytest.raises(kind, match="no such region"):
        FunctionEngine(embed, "mine")


@pytest.mark.parametrize("rows", [[["x"]], [[1.0], [2.0]], [1.0], [[0.0]], [[float("nan")]]])
def test_anything_but_vectors_is_refused(rows: list[list[float]]) -> None:
    with pytest.raises(ModelUnusable, match="mine returned"):
        FunctionEngine(lambda texts: rows, "mine")


def test_a_refusal_counts_the_texts() -> None:
    with pytest.raises(ModelUnusable, match=r"shape \(2, 1\) for 1 text, not \(1, dimension\)"):
        FunctionEngine(lambda texts: [[1.0], [2.0]], "mine")


def test_a_refusal_quotes_nothing_that_the_function_returned() -> None:
    def embed(texts: list[str]) -> ArrayLike:
        return [[1.0]] if texts == ["word"] else [texts]

    with pytest.raises(ModelUnusable) as refused:
        FunctionEngine(embed, "mine").embed(["Ada is ill."])

    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__
