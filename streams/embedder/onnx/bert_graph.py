"""A BERT sentence encoder as an ONNX graph, built from its weights without torch.

Input: `ids` and `mask`, int32 of shape (texts, tokens); the mask is 1 for each token.
Output: `vectors`, float32 of shape (texts, dimension), the mean over the tokens, L2-normalised.
The operators of the domain com.microsoft are those that ONNX Runtime itself would fuse nodes into;
they are used directly, so that speed does not depend on the optimizer's pattern matching.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.embedder.contract import ModelUnusable
from palimpsest.streams.embedder.formats.weights import BLOCK, FourBits, Weights
from palimpsest.streams.onnx_model import FLOAT, INT32, OnnxModel, Tensor, node, value

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
        """Read them from a config.json.

        Raises ModelUnusable if one is missing, or if the model is no plain BERT with exact GELU.
        """
        kind = config.get("model_type"), config.get("hidden_act")
        positions = config.get("position_embedding_type", "absolute")
        if kind != ("bert", "gelu") or positions != "absolute":
            raise ModelUnusable(
                f"weights of a {kind[0]} with {kind[1]} and {positions} positions: a graph is "
                "built for BERT with gelu and absolute positions only; use a model that has "
                "onnx/model.onnx, or the engine sentence-transformers"
            )
        return cls(
            int(_number(config, "num_hidden_layers")),
            int(_number(config, "num_attention_heads")),
            _number(config, "layer_norm_eps"),
        )


def _number(config: Mapping[str, Any], key: str) -> float:
    try:
        return float(config[key])
    except (LookupError, TypeError, ValueError):
        raise ModelUnusable(
            f"config.json of this BERT has no number {key}; use a model that has onnx/model.onnx,"
            " or the engine sentence-transformers"
        ) from None


class BertGraph:
    """The nodes and constants so far; the methods add some, and return the name of their output.

    Everything except the attention works on rows, one per token: (texts * tokens, dimension).
    """

    opset = 17

    def __init__(self, weights: Weights, shape: BertShape) -> None:
        self._weights = weights
        self._shape = shape
        self._nodes: list[bytes] = []
        self._constants: dict[str, Tensor] = {}
        self._dimension = len(self._weight("embeddings.LayerNorm.weight"))

    def build(self) -> OnnxModel:
        """Build the whole graph. Raises ModelUnusable if a weight is missing."""
        hidden = self.embeddings()
        for layer in range(self._shape.layers):
            hidden = self.layer(f"encoder.layer.{layer}", hidden)
        self.pool(hidden)
        return self.model()

    def embeddings(self) -> str:
        """Each token's rows before the first layer."""
        # Every text has segment 0, so the segment's vector can be added to each position's.
        segment = self._weight("embeddings.token_type_embeddings.weight")[0]
        positions = self._weight("embeddings.position_embeddings.weight") + segment
        words = self._weights.get("embeddings.word_embeddings.weight")
        if isinstance(words, FourBits):
            embedded = self._embedded_of_four_bits(words, positions)
        else:
            word = self._constant("word", self._weight("embeddings.word_embeddings.weight"))
            inputs = ["ids", "", word, self._constant("positions", positions), ""]
            embedded = self._add(
                "EmbedLayerNormalization",
                [*inputs, *self._norm("embeddings.LayerNorm")],
                outputs=["embedded", "unused"],
                domain=_FUSED,
                epsilon=self._shape.epsilon,
            )
        size = self._constant("size", np.array([self._dimension]))
        sizes = self._add("Shape", ["ids"])
        self._add("Concat", [sizes, size], outputs=["texts_tokens_dimension"], axis=0)
        return self._rows(embedded)

    def _embedded_of_four_bits(self, words: FourBits, positions: NDArray[np.float32]) -> str:
        """Embeddings from a vocabulary kept in four bits; widened, it would take 384 MB."""
        word = self._add(
            "GatherBlockQuantized",
            [self._constant("word", words.packed()), "ids", self._constant("scales", words.scales)],
            domain=_FUSED,
            quantize_axis=1,
            block_size=BLOCK,
            bits=4,
        )
        tokens = self._add("Shape", ["ids"], start=1, end=2)
        first = self._constant("first", np.array([0]))
        place = self._add("Slice", [self._constant("positions", positions), first, tokens])
        total = self._add("Add", [word, place])
        norm = self._norm("embeddings.LayerNorm")
        return self._add("LayerNormalization", [total, *norm], epsilon=self._shape.epsilon)

    def layer(self, at: str, rows: str) -> str:
        """The rows after the layer whose weights' names begin with `at`."""
        own = f"{at}.attention.self"
        weight_and_bias = zip(("weight", "bias"), self._query_key_value(own), strict=True)
        constants = [self._constant(f"{own}.{name}", value) for name, value in weight_and_bias]
        attended = self._add(
            "Attention",
            [self._texts(rows), *constants, "mask"],
            domain=_FUSED,
            num_heads=self._shape.heads,
        )
        rows = self._project_and_add(f"{at}.attention.output", self._rows(attended), rows)
        weight = self._transposed(f"{at}.intermediate.dense.weight")
        bias = self._constant_of(f"{at}.intermediate.dense.bias")
        wide = self._add("MatMul", [rows, weight])
        activated = self._add("BiasGelu", [wide, bias], domain=_FUSED)
        return self._project_and_add(f"{at}.output", activated, rows)

    def pool(self, rows: str) -> None:
        """Turn the rows after the last layer into `vectors`."""
        axis = self._constant("axis", np.array([1]))
        weight = self._add("Cast", ["mask"], to=FLOAT)
        weight = self._add("Unsqueeze", [weight, axis])
        total = self._add("Squeeze", [self._add("MatMul", [weight, self._texts(rows)]), axis])
        # The mean's divisor cancels out in the norm that follows, so the sum suffices.
        self._add("LpNormalization", [total], outputs=["vectors"], axis=1, p=2)

    def model(self) -> OnnxModel:
        """The graph of all nodes and constants so far."""
        return OnnxModel(
            "sentence encoder",
            self._nodes,
            [*self._constants.values()],
            [value(name, INT32, ["texts", "tokens"]) for name in ("ids", "mask")],
            [value("vectors", FLOAT, ["texts", self._dimension])],
            {"": self.opset, _FUSED: 1},
            _IR_VERSION,
        )

    def _query_key_value(self, at: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weight, of shape (dimension, 3 * dimension), and bias."""
        parts = ("query", "key", "value")
        weight = np.concatenate([self._weight(f"{at}.{part}.weight").T for part in parts], axis=1)
        bias = np.concatenate([self._weight(f"{at}.{part}.bias") for part in parts])
        return weight, bias

    def _project_and_add(self, at: str, inner: str, skip: str) -> str:
        # Gemm adds the skip connection for free; SkipLayerNormalization takes five times as long.
        weight = self._transposed(f"{at}.dense.weight")
        skip = self._add("Add", [skip, self._constant_of(f"{at}.dense.bias")])
        total = self._add("Gemm", [inner, weight, skip])
        norm = self._norm(f"{at}.LayerNorm")
        return self._add("LayerNormalization", [total, *norm], epsilon=self._shape.epsilon)

    def _rows(self, texts: str) -> str:
        shape = self._constant("rows", np.array([-1, self._dimension]))
        return self._add("Reshape", [texts, shape])

    def _texts(self, rows: str) -> str:
        return self._add("Reshape", [rows, "texts_tokens_dimension"])

    def _transposed(self, name: str) -> str:
        return self._constant(name, self._weight(name).T)

    def _norm(self, at: str) -> list[str]:
        return [self._constant_of(f"{at}.{part}") for part in ("weight", "bias")]

    def _constant_of(self, name: str) -> str:
        return self._constant(name, self._weight(name))

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        self._constants[name] = Tensor.of(name, array)
        return name

    def _weight(self, name: str) -> NDArray[np.float32]:
        found = self._weights.get(name)
        if found is None:
            raise ModelUnusable(f"the weights of this model have no {name}")
        return found.widened() if isinstance(found, FourBits) else found.astype(np.float32)

    def _add(
        self,
        operator: str,
        inputs: list[str],
        *,
        outputs: list[str] | None = None,
        domain: str = "",
        **attributes: float,
    ) -> str:
        name = f"n{len(self._nodes)}"
        outputs = outputs or [name]
        self._nodes.append(node(operator, inputs, outputs, name, domain, attributes))
        return outputs[0]
