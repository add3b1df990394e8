"""The graphs of the kernels, as ONNX models; importing `onnx` costs a reading process 50 ms."""

from __future__ import annotations

from onnx import NodeProto, TensorProto, helper


def widening() -> bytes:
    """`narrow`, (n, d) of float16, as float32."""
    return _model(
        [helper.make_node("Cast", ["narrow"], ["answer"], to=TensorProto.FLOAT)],
        {"narrow": (TensorProto.FLOAT16, ["n", "d"])},
        ["n", "d"],
    )


def products_of_rows(*, double: bool) -> bytes:
    """The products of all rows of `a`, (n, d), with all rows of `b`, (m, d)."""
    kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
    return _model(
        [helper.make_node("Gemm", ["a", "b"], ["answer"], transB=1)],
        {"a": (kind, ["n", "d"]), "b": (kind, ["m", "d"])},
        ["n", "m"],
        kind,
    )


def scaled_integer_products() -> bytes:
    """`(queries @ codes) * steps + offsets`, (b, d) and (d, n) to (b, n)."""
    return _model(
        [
            helper.make_node("MatMulInteger", ["queries", "codes"], ["whole"]),
            helper.make_node("Cast", ["whole"], ["products"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["products", "steps"], ["scaled"]),
            helper.make_node("Add", ["scaled", "offsets"], ["answer"]),
        ],
        {
            "queries": (TensorProto.UINT8, ["b", "d"]),
            "codes": (TensorProto.INT8, ["d", "n"]),
            "steps": (TensorProto.FLOAT, ["n"]),
            "offsets": (TensorProto.FLOAT, ["n"]),
        },
        ["b", "n"],
    )


def _model(
    nodes: list[NodeProto],
    inputs: dict[str, tuple[int, list[str]]],
    answer: list[str],
    kind: int = TensorProto.FLOAT,
) -> bytes:
    graph = helper.make_graph(
        nodes,
        "search",
        [helper.make_tensor_value_info(name, *shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info("answer", kind, answer)],
    )
    opset = [helper.make_opsetid("", 17)]
    model: bytes = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    return model
