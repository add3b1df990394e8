"""The graphs of the kernels, as ONNX models."""

from __future__ import annotations

from palimpsest.streams.onnx_model import (
    DOUBLE,
    FLOAT,
    FLOAT16,
    INT8,
    UINT8,
    OnnxModel,
    node,
    value,
)


def widening() -> bytes:
    """`narrow`, (n, d) of float16, as float32."""
    return _model(
        [_node("Cast", ["narrow"], "answer", to=FLOAT)],
        {"narrow": (FLOAT16, ["n", "d"])},
        ["n", "d"],
    )


def products_of_rows(*, double: bool) -> bytes:
    """The products of all rows of `a`, (n, d), with all rows of `b`, (m, d)."""
    kind = DOUBLE if double else FLOAT
    return _model(
        [_node("Gemm", ["a", "b"], "answer", transB=1)],
        {"a": (kind, ["n", "d"]), "b": (kind, ["m", "d"])},
        ["n", "m"],
        kind,
    )


def scaled_integer_products() -> bytes:
    """`(queries @ codes) * steps + offsets`, (b, d) and (d, n) to (b, n)."""
    return _model(
        [
            _node("MatMulInteger", ["queries", "codes"], "whole"),
            _node("Cast", ["whole"], "products", to=FLOAT),
            _node("Mul", ["products", "steps"], "scaled"),
            _node("Add", ["scaled", "offsets"], "answer"),
        ],
        {
            "queries": (UINT8, ["b", "d"]),
            "codes": (INT8, ["d", "n"]),
            "steps": (FLOAT, ["n"]),
            "offsets": (FLOAT, ["n"]),
        },
        ["b", "n"],
    )


def _node(operator: str, inputs: list[str], output: str, **attributes: int) -> bytes:
    return node(operator, inputs, [output], "", "", attributes)


def _model(
    nodes: list[bytes],
    inputs: dict[str, tuple[int, list[str]]],
    answer: list[str],
    kind: int = FLOAT,
) -> bytes:
    puts = [value(name, *shape) for name, shape in inputs.items()]
    return OnnxModel(
        "search", nodes, [], puts, [value("answer", kind, answer)], {"": 17}, 8
    ).encode()
