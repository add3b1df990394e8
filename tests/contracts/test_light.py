"""Structs and pydantic agree: one declaration, two readers, one writer."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import NODEFAULT, MsgspecError, Struct, json, structs
from pydantic import ValidationError

from palimpsest.contracts.candidate import CandidateFields
from palimpsest.contracts.commands import Access, Combine
from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.event_data import Use
from palimpsest.contracts.events import EVENT, AnyEvent, Decided, Ran
from palimpsest.contracts.evidence import Cue, Evidence, Neighbour, Verdict
from palimpsest.contracts.light import Light, to_json, wire_fields
from palimpsest.contracts.requests import SettleRequest
from palimpsest.contracts.schema import event_file
from palimpsest.contracts.wire import decode, decode_exported, encode
from tests.contracts.examples import events
from tests.long import examples
from tests.recorded.replay import FOLDER
from tests.tables import each

SCHEMAS = Path(__file__).parents[2] / "contracts" / "schemas"
KINDS: tuple[type[Any], ...] = get_args(AnyEvent)
LOGS = sorted(FOLDER.glob("*.jsonl"))
LINES = [line for log in LOGS for line in log.read_bytes().splitlines()]
OWN: json.Decoder[AnyEvent] = json.Decoder(AnyEvent)
"""What reads our own lines, without pydantic."""


def alike(one: Any, other: Any) -> bool:
    """Whether two values are of the same types and the same to the last bit, at any depth."""
    if type(one) is not type(other):
        return False
    match one:
        case Struct():
            names = type(one).__struct_fields__
            return all(alike(getattr(one, name), getattr(other, name)) for name in names)
        case dict():
            same = len(one) == len(other)
            pairs = zip(one.items(), other.items(), strict=False)
            return same and all(a == b and alike(x, y) for (a, x), (b, y) in pairs)
        case list() | tuple():
            same = len(one) == len(other)
            return same and all(alike(x, y) for x, y in zip(one, other, strict=False))
        case datetime():
            return bool(one == other and one.utcoffset() == other.utcoffset())
        case float():
            return bool(one.hex() == other.hex())
        case _:
            return bool(one == other)


def check(line: bytes) -> None:
    """Both readers take a line of ours, make the same of it, and it is written as it was."""
    light, checked = OWN.decode(line), EVENT.validate_json(line)
    assert alike(light, checked)
    assert encode(light) == encode(checked) == line


# -- one declaration -----------------------------------------------------------------------------


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An event's schema and those of the objects in it."""
    yield schema
    yield from (one for one in schema.get("$defs", {}).values() if "properties" in one)


def lights(kind: type[Light] = Light) -> Iterator[type[Light]]:
    for one in kind.__subclasses__():
        if one.__module__.startswith("palimpsest."):
            yield one
        yield from lights(one)


LIGHTS = {kind.__name__: kind for kind in lights()}


def disagreements(kind: type[Light], schema: dict[str, Any]) -> list[str]:
    """How a struct differs from its schema: fields, their order, what is optional."""
    fields = wire_fields(kind)
    defaults = {
        name: orjson.loads(orjson.dumps(field.default))
        for name, field in fields.items()
        if field.default is not NODEFAULT
    }
    frozen = schema["properties"]
    wrong = [] if [*fields] == [*frozen] else ["the order of its fields"]
    in_order = [name for name in fields if name != "type"]
    wrong += [] if in_order == [*kind.__struct_fields__] else ["the order of its attributes"]
    shown = {name: one.get("const", one.get("default")) for name, one in frozen.items()}
    wrong += [f"its default of {name}" for name in defaults if shown.get(name) != defaults[name]]
    constant = {"specversion", "source", "type"} if "type" in fields else set()
    required = {*schema["required"]} - constant
    needed = fields.keys() - defaults.keys()
    wrong += [f"whether {name} is required" for name in sorted(required ^ needed)]
    return wrong


@each("kind", KINDS)
def test_a_struct_and_its_frozen_schema_agree(kind: type[Any]) -> None:
    schema = orjson.loads((SCHEMAS / event_file(kind)).read_bytes())
    found = {part["title"]: disagreements(LIGHTS[part["title"]], part) for part in parts(schema)}
    assert kind.__name__ in found
    assert not any(found.values()), found


class Swapped(Light):
    """As `Neighbour`, with two fields in another order, a default and a field that is optional."""

    cosine: float | None = None
    candidate_id: str = ""
    jaccard: float | None = 0.5
    near_identical: bool | None = None
    cues: tuple[Cue, ...] = ()


def test_a_struct_that_disagrees_is_noticed() -> None:
    [schema] = (
        part
        for part in parts(orjson.loads((SCHEMAS / event_file(Decided)).read_bytes()))
        if part["title"] == "Neighbour"
    )
    assert disagreements(Neighbour, schema) == []
    assert disagreements(Swapped, schema) == [
        "the order of its fields",
        "its default of candidate_id",
        "its default of jaccard",
        "whether candidate_id is required",
    ]


# -- two readers, one writer ---------------------------------------------------------------------


@each("log", LOGS)
def test_every_recorded_line_is_the_same_to_both(log: Path) -> None:
    for line in log.read_bytes().splitlines():
        check(line)


@given(events())
@settings(max_examples=examples(200))
def test_a_generated_line_is_the_same_to_both(event: AnyEvent) -> None:
    line = encode(event)
    check(line)
    assert alike(OWN.decode(line), event)


def test_a_line_with_another_order_of_fields_is_noticed() -> None:
    swapped = encode(decode(LINES[0])).replace(b'"specversion":"1.0",', b"", 1)
    swapped = swapped[:-1] + b',"specversion":"1.0"}'
    with pytest.raises(AssertionError):
        check(swapped)


METADATA: list[Any] = [
    1e16,
    1e22,
    1.7976931348623157e308,
    5e-324,
    -0.0,
    0.1,
    123456789.123456789,
    2**53 + 1,
    2**63,
    2**64 - 1,
    2**70,
    -(2**70),
    None,
    [None, {"a": None, "b": [None, [], {}]}],
    {"": {"a": {"b": {"c": None}}}},
    True,
    "\u2028\u0000\U0001f600",
]


def decided(metadata: dict[str, Any]) -> Decided:
    first = next(event for event in map(decode, LINES) if isinstance(event, Decided))
    fields = structs.replace(first.data.candidate, metadata=metadata)
    return structs.replace(first, data=structs.replace(first.data, candidate=fields))


@each("value", METADATA)
def test_metadata_come_back_as_they_went(value: Any) -> None:
    event = decided({"value": value, "among": [value, 1]})
    check(encode(event))
    assert alike(decode(encode(event)), event)


def test_numbers_are_written_as_ever() -> None:
    line = encode(decided({"a": 1e16, "b": 2**70, "c": 1.5e-7, "d": 1.0}))
    assert b'{"a":1e+16,"b":1180591620717411303424,"c":1.5e-7,"d":1.0}' in line


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
@settings(max_examples=examples(200))
def test_any_metadata_are_the_same_to_both(metadata: dict[str, Any]) -> None:
    event = decided(metadata)
    check(encode(event))
    assert alike(decode(encode(event)), event)


@given(st.dictionaries(st.text(), st.integers(0, 2**70) | st.floats(0, 1e300)))
def test_a_run_counts_integers_and_floats_apart(figures: dict[str, int | float]) -> None:
    ran = example(Ran)
    event = structs.replace(ran, data=structs.replace(ran.data, figures=figures))
    check(encode(event))
    assert alike(decode(encode(event)), event)


def example(kind: type[Any]) -> Any:
    """Some value of a kind with nothing but what is required."""
    fields = wire_fields(kind).items()
    needed = {name: one.annotation for name, one in fields if one.default is NODEFAULT}
    return kind(**{name: _some(annotation) for name, annotation in needed.items()})


def _some(annotation: Any) -> Any:
    if hasattr(annotation, "__metadata__"):
        return _some(annotation.__origin__)
    if isinstance(annotation, type) and issubclass(annotation, Light):
        return example(annotation)
    if annotation is datetime:
        return datetime(2026, 3, 1, tzinfo=UTC)
    plain: dict[Any, Any] = {str: "x", int: 3, bool: True, float: 0.5}
    if annotation in plain:
        return plain[annotation]
    origin, arguments = getattr(annotation, "__origin__", None), get_args(annotation)
    if origin is dict:
        return {}
    if origin is tuple:
        return ()
    return arguments[0] if origin is Literal else _some(arguments[0])


@each("kind", KINDS)
def test_every_default_is_written_and_read_again(kind: type[Any]) -> None:
    """Beside None, which is left out; and what is left out is the default."""
    event = example(kind)
    check(encode(event))
    assert alike(decode(encode(event)), event)
    for name, field in wire_fields(kind).items():
        written = orjson.loads(encode(event))
        if field.default is None:
            assert name not in written
            check_read(orjson.dumps(written | {name: None}), event)
        elif field.default is not NODEFAULT and name != "type":
            assert written.pop(name) == field.default
            check_read(orjson.dumps(written), event)
    data = type(event.data)
    for name, field in wire_fields(data).items():
        if field.default is NODEFAULT:
            continue
        written = orjson.loads(encode(event))
        if field.default is None:
            assert name not in written["data"]
            written["data"][name] = None
        else:
            assert written["data"].pop(name) == orjson.loads(orjson.dumps(field.default))
        check_read(orjson.dumps(written), event)


def check_read(line: bytes, event: AnyEvent) -> None:
    assert alike(OWN.decode(line), event)
    assert alike(EVENT.validate_json(line), event)


# -- what no version of ours wrote ---------------------------------------------------------------

PLAIN = orjson.loads(next(line for line in LINES if b'"palimpsest.accessed.v1"' in line))
PLAIN["data"]["uses"] = [{"candidate_id": "c", "count": 2, "at": "2026-03-01T12:00:00Z"}]
LINE = orjson.dumps(PLAIN)
USE = b'"at":"2026-03-01T12:00:00Z"'
TIME = b'"time":"%s"' % PLAIN["time"].encode()
assert USE in LINE
assert TIME in LINE


def with_time(time: bytes) -> bytes:
    return LINE.replace(TIME, b'"time":' + time)


def with_data(words: bytes) -> bytes:
    return LINE.replace(b'"data":{', b'"data":{' + words + b",")


FOREIGN = {
    "as it is": LINE,
    "white space": b" " + LINE.replace(b",", b" ,\n"),
    "without a zone": with_time(b'"2026-03-01T12:00:00"'),
    "another zone": with_time(b'"2026-03-01T12:00:00.5+05:30"'),
    "a zone of none": with_time(b'"2026-03-01T12:00:00-00:00"'),
    "a blank": with_time(b'"2026-03-01 12:00:00z"'),
    "a day": with_time(b'"2026-03-01"'),
    "no seconds": with_time(b'"2026-03-01T12:00Z"'),
    "seconds since 1970": with_time(b"1772366400"),
    "seconds since 1970 as a text": with_time(b'"1772366400"'),
    "a leap second": with_time(b'"2026-03-01T23:59:60Z"'),
    "no such day": with_time(b'"2026-02-30T12:00:00Z"'),
    "no such zone": with_time(b'"2026-03-01T12:00:00+25:00"'),
    "the year 0": with_time(b'"0000-03-01T12:00:00Z"'),
    "a use without a zone": LINE.replace(USE, b'"at":"2026-03-01T12:00:00"'),
    "a use in seconds": LINE.replace(USE, b'"at":1772366400'),
    "a use at no time": LINE.replace(USE, b'"at":null'),
    "no use": LINE.replace(b'"count":2', b'"count":0'),
    "uses as a text": LINE.replace(b'"count":2', b'"count":"2"'),
    "uses as a float": LINE.replace(b'"count":2', b'"count":2.0'),
    "half a use": LINE.replace(b'"count":2', b'"count":2.5'),
    "uses as a truth": LINE.replace(b'"count":2', b'"count":true'),
    "uses beyond 64 bits": LINE.replace(b'"count":2', b'"count":%d' % 2**70),
    "a later field": with_data(b'"mood":"calm"'),
    "a later field that is broken": with_data(b'"mood":"\xff"'),
    "a later field of the envelope": LINE.replace(b'"data":', b'"severity":"high","data":'),
    "a field twice": with_data(b'"actor":"bob","actor":"ada"'),
    "a field twice, once wrong": with_data(b'"actor":7,"actor":"ada"'),
    "null for a text": LINE.replace(b'"candidate_id":', b'"candidate_id":null,"was":', 1),
    "a number for a text": with_data(b'"actor":7'),
    "a lone surrogate": with_data(b'"actor":"\\ud800"'),
    "a lone surrogate before a text": with_data(b'"actor":"\\ud800x\\u0041"'),
    "a pair of surrogates": with_data(b'"actor":"\\ud83d\\ude00"'),
    "no UTF-8": with_data(b'"actor":"\xff"'),
    "half a character": with_data(b'"actor":"\xe2\x82"'),
    "a line feed in a text": with_data(b'"actor":"\n"'),
    "a wrong escape": with_data(b'"actor":"\\x"'),
    "NUL": with_data(b'"actor":"\\u0000"'),
    "another specversion": LINE.replace(b'"1.0"', b'"2.0"'),
    "no data": LINE.replace(b'"data":{', b'"was":{'),
    "data of a text": LINE[: LINE.index(b'"data":')] + b'"data":"x"}',
    "data of a list": LINE[: LINE.index(b'"data":')] + b'"data":[]}',
    "another type": LINE.replace(b"accessed.v1", b"accessed.v2"),
    "no type": LINE.replace(b'"type":', b'"was":'),
    "a type twice": LINE[:-1] + b',"type":"palimpsest.accessed.v1"}',
    "two types": LINE[:-1] + b',"type":"palimpsest.retracted.v1"}',
    "more after it": LINE + b" 1",
    "two lines": LINE + LINE,
    "a mark of byte order": b"\xef\xbb\xbf" + LINE,
    "cut": LINE[:-1],
    "a list": b"[]",
    "nothing": b"",
}
FLOATS = {
    "an integer": b"1",
    "as a text": b'"0.5"',
    "not a number": b"NaN",
    "infinite": b"Infinity",
    "too large": b"1e400",
    "beyond 64 bits": b"%d" % 2**70,
    "minus zero": b"-0",
    "many digits": b"0.1000000000000000055511151231257827021181583404541015625",
    "true": b"true",
}
JOINED = next(line for line in LINES if b'"similarity":1.0' in line)
MORE = encode(decided({"a": 1}))
FOREIGN |= {
    "metadata twice": MORE.replace(b'{"a":1}', b'{"a":1,"b":2,"a":{"c":1,"c":null}}'),
    "metadata of null": MORE.replace(b'{"a":1}', b"null"),
    "metadata of a list": MORE.replace(b'{"a":1}', b"[1]"),
    "metadata not a number": MORE.replace(b'{"a":1}', b'{"a":NaN}'),
    "metadata that are infinite": MORE.replace(b'{"a":1}', b'{"a":[Infinity, -Infinity]}'),
    "metadata too large": MORE.replace(b'{"a":1}', b'{"a":1e999}'),
    "metadata with a lone surrogate": MORE.replace(b'{"a":1}', b'{"\\ud800":1}'),
    "topics of null": MORE.replace(b'"topics":[', b'"topics":[null,'),
}
FOREIGN |= {
    f"a score: {name}": JOINED.replace(b'"similarity":1.0', b'"similarity":' + value, 1)
    for name, value in FLOATS.items()
}


def outcome(line: bytes, *, exported: bool) -> Any:
    try:
        return decode_exported(line, 1) if exported else decode(line, 1)
    except StoreError as error:
        return str(error)


@each("name", FOREIGN)
def test_what_is_not_ours_is_read_or_refused_as_pydantic_does(name: str) -> None:
    """`decode_exported` has pydantic alone; only the sentence about what is wrong differs."""
    found, checked = (outcome(FOREIGN[name], exported=one) for one in (False, True))
    if isinstance(checked, str):
        assert isinstance(found, str)
        what = checked[checked.index("(") : checked.index(")")]
        assert what in found
    else:
        assert alike(found, checked)


NOT_OURS = {
    "without a zone",
    "no use",
    "uses as a text",
    "half a use",
    "uses as a truth",
    "a later field",
    "no UTF-8",
    "a lone surrogate",
    "another specversion",
    "another type",
    "a score: not a number",
    "a score: too large",
}


@each("name", sorted(NOT_OURS))
def test_the_decoder_of_our_lines_refuses_what_we_never_wrote(name: str) -> None:
    with pytest.raises((MsgspecError, ValueError)):
        OWN.decode(FOREIGN[name])


def test_of_foreign_lines_these_differences_are_known() -> None:
    """No version wrote the seventh digit of a second, a use in another zone, or deep nesting."""
    digits = with_time(b'"2026-03-01T12:00:00.1234567Z"')
    assert decode(digits).time.microsecond == 123457
    assert decode_exported(digits, 1).time.microsecond == 123456
    zone = LINE.replace(USE, b'"at":"2026-03-01T13:00:00+01:00"')
    assert decode(zone) == decode_exported(zone, 1)
    assert encode(decode(zone)) != encode(decode_exported(zone, 1))
    deep = encode(decided({"a": 1})).replace(b'{"a":1}', b'{"a":%s1%s}' % (b"[" * 300, b"]" * 300))
    assert isinstance(decode(deep), Decided)
    with pytest.raises(StoreError, match="it is not JSON"):
        decode_exported(deep, 1)


# -- as values -----------------------------------------------------------------------------------


@given(events())
@settings(max_examples=examples(200))
def test_an_event_is_a_value(event: AnyEvent) -> None:
    """Spawned processes get events, and a copy is equal."""
    for twin in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
        assert alike(twin, event)
        assert twin == event
    assert not gc.is_tracked(event)


@each("kind", LIGHTS.values())
def test_a_struct_takes_fields_by_name_and_is_frozen(kind: type[Any]) -> None:
    made = example(kind)
    with pytest.raises((TypeError, UsageError)):  # of the kinds that users construct
        kind("x")
    with pytest.raises((TypeError, UsageError), match="mood"):
        kind(mood="calm")
    with pytest.raises(AttributeError, match="immutable"):
        setattr(made, kind.__struct_fields__[0], "x")
    assert made == example(kind)


def test_a_default_belongs_to_one_value() -> None:
    one, other = (CandidateFields(owner_id="ada", source="chat", id=n) for n in "12")
    one.metadata["a"] = 1
    assert other.metadata == {}


def test_the_standard_library_and_orjson_do_not_take_it_for_a_dataclass() -> None:
    """It has the mark of one for pydantic's serializer: nothing may lose fields by that."""
    with pytest.raises(TypeError):
        orjson.dumps(example(Neighbour))
    with pytest.raises(AttributeError):
        dataclasses.replace(example(Neighbour), candidate_id="b")
    with pytest.raises(AttributeError):
        dataclasses.asdict(example(Neighbour))


# -- at the borders ------------------------------------------------------------------------------

HEAD: dict[str, Any] = {"command_id": "1", "owner_id": "ada"}


def test_a_value_that_somebody_made_is_validated_like_any_other() -> None:
    """A verdict that was read from elsewhere, say, or changed."""
    head: dict[str, Any] = {"request_id": str(UUID(int=1)), "candidate_id": "a"}
    right = Verdict(neighbour_id="b", answer="same", calls=0.5)
    assert SettleRequest(**head, verdicts=(right,)).verdicts == (right,)
    wrong: Any = structs.replace(right, answer="perhaps")
    with pytest.raises(ValidationError) as refused:
        SettleRequest.model_validate({**head, "verdicts": (right, wrong)})
    [error] = refused.value.errors()
    assert error["loc"] == ("verdicts", 1, "answer")


def test_values_in_a_value_are_validated() -> None:
    near: Any = Neighbour(candidate_id="c", cosine="near")  # type: ignore[arg-type]
    evidence = Evidence(policy="p", neighbours=(near,))
    with pytest.raises(ValidationError, match=r"evidence\.neighbours\.0\.cosine"):
        Combine(**HEAD, a="a", b="b", decision="auto_reject", face="keep", evidence=evidence)


def test_values_that_come_as_json_are_validated() -> None:
    given = {"candidate_id": "c", "uses": [{"candidate_id": "c", "at": "2026-03-01T12:00+01:00"}]}
    made = Access.model_validate(HEAD | given)
    assert made.uses == (Use(candidate_id="c", at=datetime(2026, 3, 1, 11, tzinfo=UTC)),)
    assert made.uses[0].at.tzinfo is UTC


@pytest.mark.parametrize(
    ("use", "place", "problem"),
    [
        ({"count": 0}, "uses.0.count", "greater than or equal to 1"),
        ({"at": 1772366400}, "uses.0.at", "must be an ISO 8601 time, as a string"),
        ({"candidate_id": None}, "uses.0.candidate_id", "valid string"),
        (None, "uses.0", "valid dictionary or instance of Use"),
    ],
)
def test_what_breaks_a_rule_is_refused_as_in_a_model(use: Any, place: str, problem: str) -> None:
    right = {"candidate_id": "c", "at": "2026-03-01T12:00:00Z"}
    wrong = None if use is None else right | use
    with pytest.raises(ValidationError) as refused:
        Access.model_validate(HEAD | {"candidate_id": "c", "uses": [wrong]})
    [error] = refused.value.errors()
    assert ".".join(map(str, error["loc"])) == place
    assert problem in error["msg"]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_cannot_say_is_refused(number: float) -> None:
    evidence = {"policy": "p", "neighbours": [{"candidate_id": "c", "cosine": number}]}
    with pytest.raises(ValidationError, match="finite"):
        Combine.model_validate(
            HEAD
            | {"a": "a", "b": "b", "decision": "auto_reject", "face": "keep", "evidence": evidence}
        )


def test_as_json_it_is_what_is_written() -> None:
    verdict = Verdict(neighbour_id="b", answer="same", seconds=1.5)
    assert to_json(verdict, exclude_none=True) == {
        "neighbour_id": "b",
        "answer": "same",
        "seconds": 1.5,
    }
    assert [*to_json(verdict)] == [*wire_fields(Verdict)]
    assert to_json(verdict)["calls"] is None
    cue = to_json(Neighbour(candidate_id="b", cues=(Cue.NUMBER,)))["cues"]
    assert cue == ["number"]
    assert not isinstance(cue[0], Enum)
