"""Writes ONNX models: the few messages of the format that our graphs need.

The package `onnx` takes 28 MB to do the same, so only the tests use it, to check this module. A
message of protocol buffers is its fields one after the other; each field is its number in ONNX's
`onnx.proto`, and a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, UINT8, INT8, INT32, INT64, FLOAT16, DOUBLE = 1, 2, 3, 6, 7, 10, 11
"""The format's codes for types of numbers."""
_TYPES = {
    np.dtype(np.float32): FLOAT,
    np.dtype(np.int64): INT64,
    np.dtype(np.int8): INT8,
    np.dtype(np.uint8): UINT8,
}
_OF_FLOAT, _OF_INT = 1, 2
"""Kinds of attributes."""
_EXTERNAL = 1
_VARINT, _BYTES, _FIXED32 = 0, 2, 5
"""The wire types of protocol buffers: how a field's value is encoded."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A constant: its name, shape and type, and its bytes in C order."""

    name: str
    shape: tuple[int, ...]
    type: int
    data: bytes

    @classmethod
    def of(cls, name: str, value: NDArray[Any]) -> Tensor:
        """Copy an array of float32, int64, int8 or uint8."""
        return cls(name, value.shape, _TYPES[value.dtype], value.tobytes())

    def encode(self, file: str | None, offset: int) -> bytes:
        """The message; with `file`, it has no data and refers to that file, at `offset`."""
        head = b"".join(_integer(1, size) for size in self.shape) + _integer(2, self.type)
        if file is None:
            return head + _text(8, self.name) + _message(9, self.data)
        there = {"location": file, "offset": str(offset), "length": str(len(self.data))}
        entries = (_text(1, key) + _text(2, value) for key, value in there.items())
        where = b"".join(_message(13, entry) for entry in entries)
        return head + _text(8, self.name) + where + _integer(14, _EXTERNAL)


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A graph with its constants; `nodes`, `inputs` and `outputs` are encoded."""

    name: str
    nodes: Sequence[bytes]
    tensors: Sequence[Tensor]
    inputs: Sequence[bytes]
    outputs: Sequence[bytes]
    operators: Mapping[str, int]
    """The version of each domain's operators."""
    ir_version: int

    def encode(self, file: str | None = None, large: Sequence[Tensor] = ()) -> bytes:
        """The model's bytes; the constants `large` are in `file` instead, one after the other."""
        offsets, offset = {}, 0
        for tensor in large:
            offsets[tensor.name] = offset
            offset += len(tensor.data)
        tensors = (
            tensor.encode(file if tensor.name in offsets else None, offsets.get(tensor.name, 0))
            for tensor in self.tensors
        )
        graph = [
            *(_message(1, node) for node in self.nodes),
            _text(2, self.name),
            *(_message(5, tensor) for tensor in tensors),
            *(_message(11, value) for value in self.inputs),
            *(_message(12, value) for value in self.outputs),
        ]
        domains = [
            _message(8, _text(1, domain) + _integer(2, version))
            for domain, version in self.operators.items()
        ]
        return _integer(1, self.ir_version) + _message(7, b"".join(graph)) + b"".join(domains)


def node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    name: str,
    domain: str,
    attributes: Mapping[str, float],
) -> bytes:
    """An operator applied to named values; attributes are floats and integers."""
    parts = [_text(1, value) for value in inputs]
    parts += [_text(2, value) for value in outputs]
    parts += [_text(3, name), _text(4, operator)]
    parts += [_message(5, _attribute(key, attributes[key])) for key in sorted(attributes)]
    return b"".join(parts) + _text(7, domain)


def value(name: str, type_: int, shape: Sequence[int | str]) -> bytes:
    """An input or output of the graph; a dimension that varies has a name."""
    sizes = (_integer(1, size) if isinstance(size, int) else _text(2, size) for size in shape)
    dimensions = b"".join(_message(1, size) for size in sizes)
    tensor = _integer(1, type_) + _message(2, dimensions)
    return _text(1, name) + _message(2, _message(1, tensor))


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _integer(3, value) + _integer(20, _OF_INT)
    return _text(1, name) + _key(2, _FIXED32) + pack("<f", value) + _integer(20, _OF_FLOAT)


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _integer(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _varint(value)


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode())


def _message(number: int, value: bytes) -> bytes:
    return _key(number, _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """A natural number, seven bits to a byte, the lowest first."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
