"""What a record of the candidates' topic means to the writer of its partition."""

from __future__ import annotations

import orjson

from palimpsest.contracts.answers import Done, Refused
from palimpsest.streams.cluster.records import Record, merged, read
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


def test_of_partitions_numbers_and_lists_are_put_together_and_all_else_is_the_same() -> None:
    one = {"reversed": ["a"], "owners": 1, "changed": True, "left_out": {"reversed": 2}}
    other = {"reversed": ["b"], "owners": 2, "changed": True, "left_out": {"refused": 3}}
    told = merged([Done(one), Refused("unknown_candidate", "nobody"), Done(other)])
    assert told == Done(
        {
            "reversed": ["a", "b"],
            "owners": 3,
            "changed": True,
            "left_out": {"reversed": 2, "refused": 3},
        }
    )
    assert isinstance(told, Done)
    assert told.result["changed"] is True, "2 would be no truth value"
