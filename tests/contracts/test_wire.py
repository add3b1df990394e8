"""Events as bytes: what is written is read again, and nothing unknown is guessed over."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings

from palimpsest.contracts.errors import NewerError, StoreError
from palimpsest.contracts.events import AnyEvent, Retracted
from palimpsest.contracts.wire import (
    UPCASTERS,
    VERSION,
    decode,
    decode_exported,
    encode,
    envelope_of,
)
from tests.contracts.examples import events
from tests.long import examples
from tests.tables import each

TYPE = re.compile(r"palimpsest\.[a-z_]+\.v\d+")

RETRACTED: dict[str, Any] = {
    "specversion": "1.0",
    "id": str(UUID(int=1)),
    "source": "palimpsest",
    "type": "palimpsest.retracted.v1",
    "subject": "c",
    "time": "2026-03-01T12:00:00Z",
    "partitionkey": "ada",
    "datacontenttype": "application/json",
    "data": {"candidate_id": "c"},
}


def line(**changes: Any) -> bytes:
    return orjson.dumps(RETRACTED | changes)


@given(events())
@settings(max_examples=examples(200))
def test_what_is_written_is_read_again(event: AnyEvent) -> None:
    assert decode(encode(event)) == event
    assert encode(decode(encode(event))) == encode(event)


@given(events())
@settings(max_examples=examples(200))
def test_an_envelope_is_what_the_event_is_filed_by(event: AnyEvent) -> None:
    filed = envelope_of(encode(event))
    assert (filed.id, filed.type, filed.owner_id) == (event.id, event.type, event.owner_id)


@given(events())
@settings(max_examples=examples(200))
def test_an_event_is_one_line_with_what_cloudevents_requires(event: AnyEvent) -> None:
    written = encode(event)
    envelope = orjson.loads(written)
    assert b"\n" not in written
    assert envelope["specversion"] == "1.0"
    assert all(isinstance(envelope[name], str) for name in ("id", "source", "type"))
    assert TYPE.fullmatch(envelope["type"])


def test_every_type_has_a_version_of_its_own() -> None:
    types = [kind.type for kind in get_args(AnyEvent)]
    assert len(set(types)) == len(types)
    assert all(TYPE.fullmatch(name) for name in types)


def test_fields_of_a_later_minor_version_are_ignored() -> None:
    later = line(severity="high", data={"candidate_id": "c", "mood": "calm"})
    assert decode(later) == decode(line())


@pytest.mark.parametrize("version", ["palimpsest.retracted.v2", "palimpsest.unheard_of.v1", ""])
def test_an_unknown_version_is_refused(version: str) -> None:
    with pytest.raises(StoreError, match="position 7 cannot be read"):
        decode(line(type=version), position=7)
    with pytest.raises(StoreError, match="cannot be read"):
        envelope_of(line(type=version))


NO_EVENTS = [b"", b"nonsense", b"[]", b"null", b"{}", line()[:-1], line(type=[]), line(type={})]


@each("broken", [*NO_EVENTS, line(data={}), line(time="yesterday")])
def test_what_is_no_event_is_refused(broken: bytes) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        decode(broken)


@each("broken", [*NO_EVENTS, line(id=7), line(partitionkey=None)])
def test_what_has_no_envelope_is_not_filed(broken: bytes) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        envelope_of(broken)


def test_a_refusal_does_not_quote_what_it_refuses() -> None:
    with pytest.raises(StoreError) as refused:
        decode(line(data={"candidate_id": ["a secret of Ada's"]}), position=3)
    assert "secret" not in str(refused.value)


def test_an_old_version_is_upcast_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event of two versions ago, when the type said `forgotten`, is read as today's."""

    def from_minus_one(envelope: dict[str, Any]) -> dict[str, Any]:
        return envelope | {"type": "palimpsest.retracted.v0"}

    def from_zero(envelope: dict[str, Any]) -> dict[str, Any]:
        data = {"candidate_id": envelope["data"]["candidate"]}
        return envelope | {"type": "palimpsest.retracted.v1", "data": data}

    monkeypatch.setitem(UPCASTERS, "palimpsest.forgotten.v0", from_minus_one)
    monkeypatch.setitem(UPCASTERS, "palimpsest.retracted.v0", from_zero)
    old = line(type="palimpsest.forgotten.v0", data={"candidate": "c"})
    assert decode(old) == decode(line())
    assert isinstance(decode(old), Retracted)
    assert envelope_of(old) == envelope_of(line())


def test_an_old_event_that_is_damaged_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def unchanged(envelope: dict[str, Any]) -> dict[str, Any]:
        return envelope | {"type": "palimpsest.retracted.v1"}

    monkeypatch.setitem(UPCASTERS, "palimpsest.retracted.v0", unchanged)
    with pytest.raises(StoreError, match="position 9 cannot be read"):
        decode(line(type="palimpsest.retracted.v0", data={}), position=9)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (b"nonsense", "it is not JSON"),
        (b'{"a":' * 50_000, "it is not JSON"),
        (b"[]", "it is not a JSON object"),
        (b"{}", "it has no `type`"),
        (line(type="palimpsest.retracted.v2"), "its `type` is not known to this version"),
    ],
)
def test_a_refusal_says_plainly_why(broken: bytes, why: str) -> None:
    for position, what in ((None, "an event"), (7, "the event at position 7")):
        with pytest.raises(StoreError) as refused:
            decode(broken, position)
        assert str(refused.value).startswith(f"{what} cannot be read ({why})")
    with pytest.raises(StoreError) as exported:
        decode_exported(broken, 3)
    assert str(exported.value).startswith(f"line 3 is not an event of Palimpsest ({why})")


def test_only_damage_is_to_be_restored_and_an_unknown_event_wants_a_newer_version() -> None:
    newer = r"; if a newer version of Palimpsest wrote it, upgrade this one$"
    for position in (None, 7):
        with pytest.raises(StoreError, match=newer):
            decode(line(type="palimpsest.foreseen.v1"), position)
    with pytest.raises(StoreError, match=r"; restore log\.sqlite from a copy$"):
        decode(b"nonsense", 7)


NEEDS = f"needs Palimpsest 9.2 or newer, and this is {VERSION}: upgrade this one"


@pytest.mark.parametrize(
    "newer",
    [
        line(type="palimpsest.foreseen.v1", requires="9.2"),
        line(requires="9.2"),
        line(requires="9.2", data={"candidate_id": 7}),
        line(requires="9.2", mood="calm"),
        line(requires="9.2", requestid=7),
    ],
)
def test_an_event_that_needs_a_newer_version_names_it(newer: bytes) -> None:
    kind = "palimpsest.foreseen.v1" if b"foreseen" in newer else "palimpsest.retracted.v1"
    for position, what in ((None, "an event"), (7, "the event at position 7")):
        with pytest.raises(NewerError) as refused:
            decode(newer, position)
        assert str(refused.value) == f"{what} ({kind}) {NEEDS}"
    with pytest.raises(NewerError) as exported:
        decode_exported(newer, 3)
    assert str(exported.value) == f"the event of line 3 ({kind}) {NEEDS}"
    with pytest.raises(NewerError):
        envelope_of(newer)


@pytest.mark.parametrize("version", ["0.1", "0.1.0", "0.0.9"])
def test_an_event_that_needs_no_newer_version_is_read(version: str) -> None:
    read = decode(line(requires=version))
    assert read.requires == version
    assert encode(read) == encode(decode(encode(read)))
    assert envelope_of(line(requires=version)).id == envelope_of(line()).id


@pytest.mark.parametrize("version", ["0.1.1", "0.10", "1", "0.2.0rc1", "soon", ""])
def test_what_cannot_be_compared_is_newer(version: str) -> None:
    with pytest.raises(NewerError):
        decode(line(requires=version))


def test_an_unknown_value_may_be_of_a_newer_version_or_damage() -> None:
    unknown = line(data={"candidate_id": "c", "again": "perhaps"})
    with pytest.raises(StoreError, match=r"upgrade this one; else restore log\.sqlite"):
        decode(unknown, 7)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["version"] == VERSION


def test_what_is_absent_is_not_written() -> None:
    assert b"null" not in encode(decode(line()))
