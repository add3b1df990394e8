"""What a record of the candidates' topic means to the writer of its partition."""

from __future__ import annotations

import orjson

from palimpsest.streams.cluster.records import Record, read
from palimpsest.streams.intake import Prepared

TOPIC = "memory.candidates"


def meaning(offset: int, **fields: str) -> Prepared:
    value = orjson.dumps({"owner_id": "ada", "text": "Ada lives in Berlin"} | fields)
    found = read(Record(TOPIC, 0, offset, value), TOPIC, partitions=1).meaning
    assert isinstance(found, Prepared)
    return found


def test_a_bare_row_is_a_new_saying_at_each_offset_and_the_same_when_it_is_read_again() -> None:
    assert meaning(4) == meaning(4)
    assert meaning(4).candidate_id != meaning(5).candidate_id


def test_a_row_with_an_id_is_the_same_candidate_at_each_offset() -> None:
    assert meaning(4, id="1") == meaning(5, id="1")
