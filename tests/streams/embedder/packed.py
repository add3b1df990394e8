"""A packed model of two layers, written and run by code of its own: what tests compare with."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 64, 2, 2, 128, 32
PIECES = {
    "<s>": 0.0,
    "<pad>": 0.0,
    "</s>": 0.0,
    "<unk>": 0.0,
    "▁que": -5.0,
    "ry": -5.0,
    ":": -4.0,
    "▁": -3.0,
    "▁tea": -6.0,
    "▁te": -4.0,
    "a": -5.0,
    "e": -5.0,
    "t": -5.0,
    "茶": -6.0,
    "～": -6.0,
    "é": -6.0,
    "2": -6.0,
}
"""Every piece of the vocabulary with its score; one is not known: 🍕."""

Tensors = dict[str, NDArray[np.float32]]


def tensors() -> Tensors:
    """Random tensors by their names in the file; those of four bits are rounded when written."""
    draw = np.random.default_rng(38)

    def matrix(rows: int, columns: int) -> NDArray[np.float32]:
        return (draw.standard_normal((rows, columns)) / 8).astype(np.float32)

    def vector(size: int, around: float = 0) -> NDArray[np.float32]:
        return (around + draw.standard_normal(size) / 8).astype(np.float32)

    found = {
        "emb.word": matrix(len(PIECES), HIDDEN),
        "emb.pos": matrix(POSITIONS, HIDDEN),
        "emb.type": matrix(2, HIDDEN),
        "emb.ln.w": vector(HIDDEN, 1),
        "emb.ln.b": vector(HIDDEN),
    }
    for layer in range(LAYERS):
        shapes = dict.fromkeys(("q", "k", "v", "ao"), (HIDDEN, HIDDEN))
        shapes |= {"fi": (INNER, HIDDEN), "fo": (HIDDEN, INNER)}
        for part, (rows, columns) in shapes.items():
            found[f"l{layer}.{part}.w"] = matrix(rows, columns)
            found[f"l{layer}.{part}.b"] = vector(rows)
        for part in ("aln", "oln"):
            found[f"l{layer}.{part}.w"] = vector(HIDDEN, 1)
            found[f"l{layer}.{part}.b"] = vector(HIDDEN)
    return found


def in_four_bits(row: NDArray[np.float32]) -> tuple[bytes, list[float]]:
    """32 weights as bytes of the file, and what they are read as."""
    scale = float(np.float16(np.abs(row).max() / 7))
    codes = [min(15, max(0, round(float(weight) / scale) + 8)) for weight in row]
    halves = bytes(low | high << 4 for low, high in zip(codes[:16], codes[16:], strict=True))
    return struct.pack("<e", scale) + halves, [(code - 8) * scale for code in codes]


def write(path: Path) -> Tensors:
    """Write the model; its tensors as the file has them."""
    read: Tensors = {}
    written: dict[str, tuple[int, int, bytes]] = {}
    for name, tensor in tensors().items():
        if tensor.ndim == 2 and name not in ("emb.pos", "emb.type"):
            blocks = [in_four_bits(block) for block in tensor.reshape(-1, 32)]
            read[name] = np.array([w for _, b in blocks for w in b], np.float32).reshape(
                tensor.shape
            )
            written[name] = 1, tensor.size, b"".join(block for block, _ in blocks)
        else:
            read[name] = tensor
            written[name] = 0, tensor.size, tensor.tobytes()
    head = b"E5S1" + struct.pack("<I", 1)
    head += struct.pack("<7ifi", HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32)
    letters = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, letters)])
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, ends[-1])
    head += ends.astype("<u4").tobytes() + np.array([*PIECES.values()], "<f4").tobytes()
    head += b"".join(letters) + struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0xA0, 1, 0x20)
    directory = sum(2 + len(name) + 21 for name in written)
    start, entries, bodies = len(head) + 4 + directory, b"", b""
    for name, (kind, count, body) in written.items():
        entries += struct.pack("<H", len(name)) + name.encode()
        entries += struct.pack("<BIQQ", kind, count, start + len(bodies), len(body))
        bodies += body
    path.write_bytes(head + struct.pack("<i", len(written)) + entries + bodies)
    return read


def run(weights: Mapping[str, NDArray[np.float32]], ids: list[int]) -> NDArray[np.float64]:
    """The vector of one text by the textbook, in double precision."""

    def norm(rows: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        mean = rows.mean(axis=1, keepdims=True)
        deviation = np.sqrt(rows.var(axis=1, keepdims=True) + 1e-12)
        scaled: NDArray[np.float64] = (rows - mean) / deviation * weights[f"{name}.w"]
        return scaled + weights[f"{name}.b"]

    def linear(rows: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        found: NDArray[np.float64] = rows @ weights[f"{name}.w"].T.astype(np.float64)
        return found + weights[f"{name}.b"]

    rows = weights["emb.word"][ids].astype(np.float64) + weights["emb.pos"][: len(ids)]
    rows = norm(rows + weights["emb.type"][0], "emb.ln")
    for layer in (f"l{number}" for number in range(LAYERS)):
        query, key, value = (linear(rows, f"{layer}.{part}") for part in "qkv")
        heads = []
        for head in range(HEADS):
            part = slice(head * HIDDEN // HEADS, (head + 1) * HIDDEN // HEADS)
            scores = np.exp(query[:, part] @ key[:, part].T / math.sqrt(HIDDEN // HEADS))
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, part])
        rows = norm(rows + linear(np.concatenate(heads, axis=1), f"{layer}.ao"), f"{layer}.aln")
        inner = linear(rows, f"{layer}.fi")
        gelu = inner / 2 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        rows = norm(rows + linear(gelu, f"{layer}.fo"), f"{layer}.oln")
    total: NDArray[np.float64] = rows.mean(axis=0)
    return total / np.linalg.norm(total)
