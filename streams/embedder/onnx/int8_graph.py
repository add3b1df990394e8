"""The same encoder with matrix products in eight-bit integers: a model with a name of its own.

Input and output are those of `bert_graph`, but the texts of a batch have the same length, so
attention has no mask.

Each token's row is scaled by its own largest number, so no row depends on another, and a text's
vector is the same to the last bit whatever texts of its length are beside it. The products of
integers are exact on every processor, so processors differ only in how they round what stays in
floating point (docs/embedder.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.embedder.onnx.bert_graph import BertGraph

OUTLIERS = (63, 99, 127, 157, 223, 267, 319, 338)
"""Channels of all-MiniLM-L6-v2 with values up to 8 or even 30, whereas most stay below 4. They are
multiplied in floating point: if they determined the scale, the others would keep five bits, and the
error of cosines would double (docs/embedder.md)."""

RAISE = 0.17
"""GELU is never below minus this number; after adding it, the values use all eight bits."""

_SIGNED, _UNSIGNED = 128, 0
"""The integers that stand for zero, in rows with and without negative numbers."""

_LARGEST = 127
_FUSED = "com.microsoft"


def quantise(weight: NDArray[np.float64]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Eight-bit integers for a weight of shape (channels, outputs), and the scale of each output.

    Processors without VNNI add the products of two neighbouring channels in 16 bits, each up to 255
    times a weight, so the scale keeps the sum of two neighbouring weights within 128.
    """
    pairs = np.abs(weight[0::2] + weight[1::2]).max(axis=0)
    scale = np.maximum(np.abs(weight).max(axis=0), pairs) / _LARGEST
    return np.rint(weight / scale).astype(np.int8), scale


class Int8Graph(BertGraph):
    """Builds the graph; see `BertGraph`."""

    opset = 18

    def embeddings(self) -> str:
        """Like the full graph's, and adds the zero points, one per row, that all layers share."""
        rows = super().embeddings()
        count = self._add("Shape", [rows], start=0, end=1)
        for zero in (_SIGNED, _UNSIGNED):
            point = self._constant(f"zero.{zero}", np.array([zero], np.uint8))
            self._add("Expand", [point, count], outputs=[f"zeros.{zero}"])
        return rows

    def layer(self, at: str, rows: str) -> str:
        """Like the full graph's, with its weights quantised."""
        parts = [f"{at}.query", f"{at}.key", f"{at}.value"]
        weight, bias = self._query_key_value(f"{at}.attention.self")
        together = self._multiply_but_outliers(f"{at}.attention.self", rows, weight)
        self._add("Split", [together], outputs=parts, axis=1, num_outputs=3)
        attended = self._add(
            "MultiHeadAttention",
            [*map(self._texts, parts), self._constant(f"{at}.attention.self.bias", bias)],
            domain=_FUSED,
            num_heads=self._shape.heads,
        )
        output = f"{at}.attention.output"
        weight, bias = self._dense(output)
        inner, _ = self._multiply(output, self._rows(attended), weight)
        rows = self._add_and_norm(output, inner, bias, rows)
        wide = f"{at}.intermediate"
        weight, bias = self._dense(wide)
        inner = self._multiply_but_outliers(wide, rows, weight)
        bias_of_wide = self._constant(f"{wide}.bias", bias)
        activated = self._add("BiasGelu", [inner, bias_of_wide], domain=_FUSED)
        raised = self._add("Add", [activated, self._number("raise", RAISE)])
        output = f"{at}.output"
        weight, bias = self._dense(output)
        inner, used = self._multiply(output, raised, weight, signed=False)
        lowered = bias - RAISE * used.sum(axis=0)
        return self._add_and_norm(output, inner, lowered.astype(np.float32), rows)

    def _multiply_but_outliers(self, at: str, rows: str, weight: NDArray[np.float32]) -> str:
        """`rows` times `weight`, with the outliers' part in floating point."""
        kept = np.ones((len(weight), 1), np.float32)
        kept[list(OUTLIERS)] = 0
        # An outlier's integer may be clipped, because its weights are zero there.
        measured = self._add("Mul", [rows, self._constant("kept", kept[:, 0])])
        product, _ = self._multiply(at, rows, weight * kept, measured)
        outliers = self._constant("outliers", np.array(OUTLIERS))
        part = self._add("Gather", [rows, outliers], axis=1)
        exact = self._constant(f"{at}.outliers", weight[list(OUTLIERS)])
        return self._add("Gemm", [part, exact, product])

    def _multiply(
        self,
        at: str,
        rows: str,
        weight: NDArray[np.float32],
        measured: str | None = None,
        *,
        signed: bool = True,
    ) -> tuple[str, NDArray[np.float64]]:
        """`rows` times `weight` in integers, and the weight as the integers represent it.

        A row is scaled by the largest number in `measured`, by default `rows`; without `signed`, no
        number is negative.
        """
        integers, weight_scale = quantise(weight.astype(np.float64))
        measured = measured or rows
        if signed:
            measured = self._add("Abs", [measured])
        zero, steps = (_SIGNED, _LARGEST) if signed else (_UNSIGNED, 255)
        largest = self._add("ReduceMax", [measured, self._axis()], keepdims=0)
        scale = self._add("Mul", [largest, self._number(f"1/{steps}", 1 / steps)])
        product = self._add(
            "MatMulIntegerToFloat",
            [
                self._add("QuantizeLinear", [rows, scale, f"zeros.{zero}"], axis=0),
                self._constant(f"{at}.integers", integers),
                self._number("one", 1),
                self._constant(f"{at}.scale", weight_scale.astype(np.float32)),
                f"zero.{zero}",
            ],
            domain=_FUSED,
        )
        scaled = self._add("Mul", [product, self._add("Unsqueeze", [scale, self._axis()])])
        return scaled, integers * weight_scale

    def _add_and_norm(self, at: str, inner: str, bias: NDArray[np.float32], skip: str) -> str:
        skip = self._add("Add", [skip, self._constant(f"{at}.bias", bias)])
        norm = self._norm(f"{at}.LayerNorm")
        total = self._add("Add", [inner, skip])
        return self._add("LayerNormalization", [total, *norm], epsilon=self._shape.epsilon)

    def _dense(self, at: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weight, of shape (channels, outputs), and bias."""
        return self._weight(f"{at}.dense.weight").T, self._weight(f"{at}.dense.bias")

    def _axis(self) -> str:
        return self._constant("axis", np.array([1]))

    def _number(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value, np.float32))
