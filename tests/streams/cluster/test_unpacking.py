"""A batch that unpacks to too much is cut record by record, and every record is still there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from palimpsest.contracts.errors import InvalidInputError
from palimpsest.streams.cluster.records import Record, read
from palimpsest.streams.cluster.unpacking import CUT, bound_unpacking

MOST = 4096
CODECS = {"gzip": 1, "lz4": 3, "zstd": 4}
FITS = [(b"ann", b"x" * 100, [("trace", b"1"), ("none", None)]), (None, None, []), (b"", b"", [])]
LARGE = (b"ann", b"y" * 300_000, [("h", b"z" * 9000)])


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    module = vars(sys.modules[DefaultRecordBatch.__module__])
    before = dict(module)
    bound_unpacking(MOST)
    yield
    module.update(before)


def unpacked(codec: str, records: list[Any]) -> list[Any]:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=CODECS[codec],
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=10**7,
    )
    for offset, (key, value, headers) in enumerate(records):
        assert builder.append(offset, 1_700_000_000_000 + offset, key, value, headers)
    return list(DefaultRecordBatch(bytes(builder.build())))


@pytest.mark.parametrize("codec", CODECS)
def test_what_fits_is_as_it_was_sent(codec: str) -> None:
    found = unpacked(codec, FITS)
    assert [(one.key, one.value, list(one.headers)) for one in found] == FITS
    assert [one.offset for one in found] == [0, 1, 2]


@pytest.mark.parametrize("codec", CODECS)
def test_what_does_not_fit_is_cut_and_told(codec: str) -> None:
    found = unpacked(codec, [*FITS, LARGE, (b"k" * 9000, b"v", []), *FITS])
    assert [one.offset for one in found] == [*range(8)]
    assert [one.timestamp for one in found] == [1_700_000_000_000 + n for n in range(8)]
    kept = [(one.key, one.value, list(one.headers)) for one in found]
    assert kept[:3] == FITS
    cut = [(CUT, b"300000")]
    assert kept[3][0] == b"ann"
    assert LARGE[1].startswith(kept[3][1] or b"no")
    assert MOST // 2 < len(kept[3][1] or b"") <= MOST
    assert kept[3][2] == cut
    assert kept[4] == (None, b"", [(CUT, b"1")])
    assert sum(len(one.value or b"") for one in found) <= MOST
    record = Record("memory.candidates", 0, 3, kept[3][1] or b"", kept[3][0], tuple(cut))
    meaning = read(record, "memory.candidates", 1).meaning
    assert isinstance(meaning, InvalidInputError)
    assert "of its 300000 bytes" in meaning.detail


def test_what_is_damaged_is_no_batch() -> None:
    builder = DefaultRecordBatchBuilder(2, 4, False, -1, -1, -1, 10**7)
    builder.append(0, 0, b"ann", b"x" * 100_000, [])
    with pytest.raises((OSError, EOFError)):
        list(DefaultRecordBatch(bytes(builder.build())[:-9]))
