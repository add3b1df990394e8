"""What is written is what the package `onnx` writes of the same graph, byte by byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from palimpsest.streams.onnx_model import (
    FLOAT,
    INT32,
    INT64,
    OnnxModel,
    Tensor,
    node,
    value,
)

NAMES = st.text(min_size=1, max_size=200)
"""Longer than one byte counts."""
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["axis", "epsilon", "p", "to"]),
    st.integers(0, 2**62) | st.floats(width=32, allow_nan=False),
)
NODES = st.tuples(NAMES, st.lists(NAMES, max_size=3), st.lists(NAMES, max_size=3), NAMES, NAMES)
SHAPES = st.lists(st.integers(0, 5), max_size=3)
VALUES = st.tuples(
    NAMES, st.sampled_from([FLOAT, INT32, INT64]), st.lists(NAMES | st.integers(0, 2**40))
)


@given(NODES, ATTRIBUTES)
def test_a_node(parts: tuple[str, list[str], list[str], str, str], given: dict[str, float]) -> None:
    operator, inputs, outputs, name, domain = parts
    attributes: dict[str, Any] = given
    expected = helper.make_node(operator, inputs, outputs, name, domain=domain, **attributes)
    assert node(operator, inputs, outputs, name, domain, given) == expected.SerializeToString()


@given(VALUES)
def test_a_value(parts: tuple[str, int, list[str | int]]) -> None:
    assert value(*parts) == helper.make_tensor_value_info(*parts).SerializeToString()


@given(st.lists(st.tuples(NAMES, SHAPES, st.booleans()), unique_by=lambda made: made[0]))
def test_a_model_with_and_without_its_constants(made: list[tuple[str, list[int], bool]]) -> None:
    arrays = {
        name: np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
        for name, shape, whole in made
        for kind in [np.int64 if whole else np.float32]
    }
    large = [Tensor.of(name, array) for name, array in arrays.items() if array.size > 4]
    ours = OnnxModel(
        "graph",
        [node("Add", ["a", "b"], ["c"], "n0", "", {})],
        [Tensor.of(name, array) for name, array in arrays.items()],
        [value("a", FLOAT, ["texts", 2])],
        [value("c", FLOAT, ["texts", 2])],
        {"": 17, "com.microsoft": 1},
        8,
    )
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    theirs = model(tensors)
    assert ours.encode() == theirs.SerializeToString()
    offset = 0
    for tensor in theirs.graph.initializer:
        if tensor.name in {one.name for one in large}:
            set_external_data(tensor, "file", offset, len(tensor.raw_data))
            offset += len(tensor.raw_data)
            tensor.ClearField("raw_data")
    assert ours.encode("file", large) == theirs.SerializeToString()


def model(tensors: list[TensorProto]) -> onnx.ModelProto:
    """The same as the package makes it."""
    [put, made] = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["texts", 2]) for name in "ac"
    ]
    add = helper.make_node("Add", ["a", "b"], ["c"], "n0", domain="")
    graph = helper.make_graph([add], "graph", [put], [made], tensors)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)
