"""Unpacks compressed batches of records within limits: a small one may unpack to gigabytes.

Clients unpack whole batches, and all batches that a broker sent at once. Here only a few are
unpacked at a time. A batch larger than producers normally send is unpacked record by record, and
only as much of each is kept as a writer may read and a dead letter can hold.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import aiokafka.consumer.fetcher as fetching
import cramjam
from aiokafka.record.default_records import DefaultRecordBatch

from palimpsest.streams.intake import MAX_KEPT_BYTES

UNPACKED_BYTES = 32 * 1024 * 1024
"""Maximum unpacked size of a batch; producers send 1 MiB unless configured otherwise."""
CUT = "palimpsest-cut"
"""The only header of a cut record; it has the original size of the value."""
KEY_BYTES = 4096
"""Maximum size of a key that is kept in a cut record."""
AT_ONCE = 1024 * 1024
"""Bytes read from a stream at a time."""
USUAL = 10
"""The usual compression ratio of a batch of texts."""

Unpack = Callable[[Any], bytes]


def bound_unpacking(most: int = UNPACKED_BYTES) -> None:
    """Make aiokafka's consumers in this process unpack batches within limits.

    Snappy is unchanged: it unpacks to at most 21 times its size.
    """
    module = vars(sys.modules[DefaultRecordBatch.__module__])
    module["gzip_decode"] = _bounded("gzip", most, lambda data: _gunzip(data, most))
    module["lz4_decode"] = _bounded("lz4", most, lambda data: _into(cramjam.lz4, data, most))
    module["zstd_decode"] = _bounded("zstd", most, lambda data: _into(cramjam.zstd, data, most))
    vars(fetching)["FetchResult"] = _FetchResult


class _Room:
    """How many bytes of records may still be taken."""

    def __init__(self, left: int) -> None:
        self.left = left


_room: ContextVar[_Room | None] = ContextVar("room", default=None)


@contextmanager
def bytes_at_once(most: int) -> Iterator[None]:
    """Make consumers stop unpacking batches once records of `most` bytes were taken."""
    token = _room.set(_Room(most))
    try:
        yield
    finally:
        _room.reset(token)


def size_of(record: Any) -> int:
    """The bytes of a record that its producer chose."""
    return sum(
        len(part or b"")
        for part in (record.key, record.value, *(value for _, value in record.headers or ()))
    )


class _FetchResult(fetching.FetchResult):  # type: ignore[misc]  # aiokafka has no types for it
    """A broker's records of a partition; batches are unpacked as their records are taken."""

    _partition_records: Any

    def getall(self, max_records: int | None = None) -> list[Any]:
        room = _room.get()
        if room is None:
            everything: list[Any] = super().getall(max_records)
            return everything
        if (
            room.left <= 0
            or not self.has_more()
            or not self.check_assignment(self._topic_partition)
        ):
            return []
        found = []
        for record in self._partition_records:
            found.append(record)
            room.left -= size_of(record)
            if room.left <= 0 or len(found) == max_records:
                self._update_position()
                break
        else:
            self._update_position()
            self._partition_records = None
        return found


def _bounded(codec: str, most: int, whole: Callable[[Any], bytes | None]) -> Unpack:
    def unpack(data: Any) -> bytes:
        unpacked = whole(data)
        return cut(codec, data, most) if unpacked is None else unpacked

    return unpack


def _gunzip(data: Any, most: int) -> bytes | None:
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
    unpacked = unpacking.decompress(data, most)
    return unpacked if unpacking.eof and not unpacking.unused_data else None


def _into(codec: Any, data: Any, most: int) -> bytes | None:
    for size in (min(USUAL * len(data) + AT_ONCE, most), most):
        room = bytearray(size)
        try:
            return bytes(memoryview(room)[: codec.decompress_into(data, room)])
        except cramjam.DecompressionError:
            pass  # there is no room for it, or it is damaged: `cut` finds out
    return None


def cut(codec: str, data: Any, most: int) -> bytes:
    """A batch's records; those that fit into `most` bytes are complete.

    The others have the beginning of their value, or nothing of it, and the header `CUT`.
    """
    import pyarrow as pa  # rarely needed in workers

    stream = _Stream(pa.CompressedInputStream(pa.BufferReader(data), codec))
    kept = bytearray()
    while (length := stream.first_varint()) is not None:
        if len(kept) + length <= most:
            kept += _varint(length) + stream.read(length)
        else:
            record = b"".join(_cut_record(stream, length, max(most - len(kept), 0)))
            kept += _varint(len(record)) + record
    return bytes(kept)


def _cut_record(stream: _Stream, length: int, room: int) -> Iterator[bytes]:
    end = stream.position + length
    yield stream.read(1)
    yield _varint(stream.varint())  # time
    yield _varint(stream.varint())  # offset
    key = stream.varint()
    if key > KEY_BYTES:
        stream.skip(key)
        key = -1
    yield _varint(key) + stream.read(max(key, 0))
    size = stream.varint()
    value = stream.read(min(max(size, 0), MAX_KEPT_BYTES, room))
    stream.skip(end - stream.position)
    yield _varint(len(value)) + value
    told = b"%d" % size
    yield _varint(1) + _varint(len(CUT)) + CUT.encode() + _varint(len(told)) + told


class _Stream:
    """The unpacked stream, read in pieces. EOFError if it ends too early."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._piece = memoryview(b"")
        self.position = 0

    def _take(self, most: int) -> memoryview:
        if not self._piece:
            self._piece = memoryview(self._file.read(AT_ONCE))
        some, self._piece = self._piece[:most], self._piece[most:]
        self.position += len(some)
        return some

    def read(self, size: int) -> bytes:
        """The next `size` bytes."""
        found = bytearray()
        while len(found) < size:
            found += self._some(size - len(found))
        return bytes(found)

    def skip(self, size: int) -> None:
        """Skip `size` bytes."""
        while size > 0:
            size -= len(self._some(size))

    def _some(self, most: int) -> memoryview:
        some = self._take(most)
        if not some:
            raise EOFError("a batch of records ends too early")
        return some

    def first_varint(self) -> int | None:
        """A varint, or None at the end."""
        first = self._take(1)
        return self._varint_of(first[0]) if first else None

    def varint(self) -> int:
        """The next number."""
        return self._varint_of(self.read(1)[0])

    def _varint_of(self, byte: int) -> int:
        value, shift = byte & 0x7F, 7
        while byte & 0x80:
            byte = self.read(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
        return (value >> 1) ^ -(value & 1)


def _varint(value: int) -> bytes:
    """A number as in Kafka's records: zigzag, seven bits per byte."""
    left = (value << 1) if value >= 0 else (-value << 1) - 1
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*found, left))
