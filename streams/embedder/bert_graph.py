"""A BERT sentence encoder as an ONNX graph, built from its weights without torch.

Input: `ids` and `mask`, int32 of shape (texts, tokens), the mask being 1 where there is a token.
Output: `vectors`, float32 of shape (texts, dimension), the mean over the tokens, L2-normalised.
The operators of the domain com.microsoft are those that ONNX Runtime itself fuses such a graph to;
they are written at once, so that the speed does not hang on a pattern being recognised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from streams.embedder.contract import ModelUnusable

Weights = Mapping[str, NDArray[Any]]

GRAPH_VERSION = 1
"""Raised whenever the graph that is built from the same weights changes: part of its cached name."""

_OPSET = 17
_IR_VERSION = 8
_FUSED = "com.microsoft"


@dataclass(frozen=True, slots=True)
class BertShape:
    """The numbers of a BERT's config.json that its graph needs."""

    layers: int
    heads: int
    epsilon: float

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> BertShape:
        """Read them; raise ModelUnusable where the model is no plain BERT with exact GELU."""
        kind = config.get("model_type"), config.get("hidden_act")
        positions = config.get("position_embedding_type", "absolute")
        if kind != ("bert", "gelu") or positions != "absolute":
            raise ModelUnusable(
                f"weights of a {kind[0]} with {kind[1]} and {positions} positions: a graph is built "
                "for BERT with gelu and absolute positions only; use a model that has "
                "onnx/model.onnx, or the engine sentence-transformers"
            )
        return cls(
            int(config["num_hidden_layers"]),
            int(config["num_attention_heads"]),
            float(config["layer_norm_eps"]),
        )


def build_bert_graph(weights: Weights, shape: BertShape) -> onnx.ModelProto:
    """Build the graph; raise ModelUnusable where a weight is missing."""
    graph = _Graph(weights, shape)
    hidden = graph.embeddings()
    for layer in range(shape.layers):
        hidden = graph.layer(f"encoder.layer.{layer}", hidden)
    graph.pool(hidden)
    return graph.model()


class _Graph:
    """The nodes and constants so far; every method adds some and returns its output's name."""

    def __init__(self, weights: Weights, shape: BertShape) -> None:
        self._weights = weights
        self._shape = shape
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def embeddings(self) -> str:
        word = self._constant("word", self._weight("embeddings.word_embeddings.weight"))
        # Every text is of segment 0, so the segment's vector can be added to each position's.
        segment = self._weight("embeddings.token_type_embeddings.weight")[0]
        positions = self._weight("embeddings.position_embeddings.weight") + segment
        inputs = ["ids", "", word, self._constant("positions", positions), ""]
        return self._add(
            "EmbedLayerNormalization",
            [*inputs, *self._norm("embeddings.LayerNorm")],
            outputs=["embedded", "unused"],
            epsilon=self._shape.epsilon,
        )

    def layer(self, at: str, hidden: str) -> str:
        attended = self._add(
            "Attention",
            [hidden, *self._query_key_value(f"{at}.attention.self"), "mask"],
            num_heads=self._shape.heads,
        )
        hidden = self._project_and_add(f"{at}.attention.output", attended, hidden)
        wide = self._matmul(f"{at}.intermediate.dense", hidden)
        bias = self._constant_of(f"{at}.intermediate.dense.bias")
        activated = self._add("BiasGelu", [wide, bias])
        return self._project_and_add(f"{at}.output", activated, hidden)

    def pool(self, hidden: str) -> None:
        weight = self._add("Cast", ["mask"], domain="", to=TensorProto.FLOAT)
        row = self._add("Unsqueeze", [weight, self._constant("row", np.array([1]))], domain="")
        total = self._add("MatMul", [row, hidden], domain="")
        flat = self._add("Squeeze", [total, self._constant("row", np.array([1]))], domain="")
        # The mean's divisor cancels out in the norm that follows, so the sum is as good.
        self._add("LpNormalization", [flat], outputs=["vectors"], domain="", axis=1, p=2)

    def model(self) -> onnx.ModelProto:
        size = len(self._weight("embeddings.LayerNorm.weight"))
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "tokens"])
            for name in ("ids", "mask")
        ]
        output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", size])
        graph = helper.make_graph(
            self._nodes, "sentence encoder", inputs, [output], list(self._constants.values())
        )
        domains = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=domains, ir_version=_IR_VERSION)

    def _query_key_value(self, at: str) -> list[str]:
        parts = ("query", "key", "value")
        weight = np.concatenate([self._weight(f"{at}.{part}.weight").T for part in parts], axis=1)
        bias = np.concatenate([self._weight(f"{at}.{part}.bias") for part in parts])
        return [self._constant(f"{at}.weight", weight), self._constant(f"{at}.bias", bias)]

    def _project_and_add(self, at: str, inner: str, skip: str) -> str:
        projected = self._matmul(f"{at}.dense", inner)
        inputs = [projected, skip, *self._norm(f"{at}.LayerNorm")]
        bias = self._constant_of(f"{at}.dense.bias")
        return self._add("SkipLayerNormalization", [*inputs, bias], epsilon=self._shape.epsilon)

    def _matmul(self, at: str, hidden: str) -> str:
        weight = self._constant(f"{at}.weight", self._weight(f"{at}.weight").T)
        return self._add("MatMul", [hidden, weight], domain="")

    def _norm(self, at: str) -> list[str]:
        return [self._constant_of(f"{at}.{part}") for part in ("weight", "bias")]

    def _constant_of(self, name: str) -> str:
        return self._constant(name, self._weight(name))

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def _weight(self, name: str) -> NDArray[np.float32]:
        try:
            return self._weights[name].astype(np.float32)
        except KeyError:
            raise ModelUnusable(f"the weights of this model have no {name}") from None

    def _add(
        self,
        operator: str,
        inputs: list[str],
        *,
        outputs: list[str] | None = None,
        domain: str = _FUSED,
        **attributes: Any,
    ) -> str:
        name = f"n{len(self._nodes)}"
        outputs = outputs or [name]
        node = helper.make_node(operator, inputs, outputs, name, domain=domain, **attributes)
        self._nodes.append(node)
        return outputs[0]
