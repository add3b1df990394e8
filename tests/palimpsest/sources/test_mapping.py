"""The mapping of fields: guessed, given, shown and confirmed."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
import pytest

from palimpsest.contracts.errors import InvalidInputError, UsageError
from palimpsest.process.output import Output
from palimpsest.sources.mapping import as_vector, guess_mapping, value_of, vector_like, with_value
from palimpsest.streams.intake import RawRow, understand
from tests.palimpsest.cli.conftest import CommandLine
from tests.palimpsest.sources.conftest import brought
from tests.tables import each


class Stamp(datetime):
    """A time in the form of a library such as pandas."""


ROW = {"id": 7, "user": "ada", "memory": "Ada sings.", "ts": 1_700_000_000, "vec": [0.5] * 16}


def fields(row: dict[str, Any], **renames: str) -> dict[str, tuple[str, ...]]:
    mapping, _ = guess_mapping([row], renames)
    return mapping.fields


def applied(row: dict[str, Any], owner: str | None = None, **renames: str) -> Any:
    mapping, _ = guess_mapping([row], renames, owner)
    return json.loads(mapping.row(row, "s")[0])


def test_usual_names_are_known() -> None:
    assert fields(ROW) == {"text": ("memory",), "owner_id": ("user",), "id": ("id",)}


@pytest.mark.parametrize("name", ["Inhalt", "texto", "texte", "本文", "内容", "내용"])
def test_a_text_is_known_by_its_name_in_other_languages(name: str) -> None:
    assert fields({"titel": "a title", name: "Ada sings."}) == {"text": (name,)}
    assert fields({"titel": "a title", "data": {name: "Ada sings."}}) == {"text": (f"data.{name}",)}
    assert fields({"text": "Ada sings.", name: "another"}) == {"text": ("text",)}
    assert fields({"titel": "a title", name: 7}) == {}


def test_of_two_texts_in_other_languages_none_is_guessed() -> None:
    assert fields({"texto": "Ada canta.", "inhalt": "Ada singt."}) == {}
    assert fields({"texto": "Ada canta.", "inhalt": "Ada singt.", "usuario": "ada"}) == {}


def test_what_is_given_is_not_guessed() -> None:
    assert fields(ROW, vec="vector", ts="occurred_at", user="session_id") == {
        "vector": ("vec",),
        "occurred_at": ("ts",),
        "session_id": ("user",),
        "text": ("memory",),
        "id": ("id",),
    }
    with pytest.raises(UsageError, match="colour is not one of our fields"):
        fields(ROW, ts="colour")


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (1_700_000_000, "2023-11-14T22:13:20+00:00"),
        (1_700_000_000_000, "2023-11-14T22:13:20+00:00"),
        ("1700000000000", "2023-11-14T22:13:20+00:00"),
        (100_000_000_001, "1973-03-03T09:46:40.001000+00:00"),
        (-1_700_000_000_000, "1916-02-18T01:46:40+00:00"),
    ],
)
def test_a_time_is_in_seconds_or_in_milliseconds(number: object, moment: str) -> None:
    assert applied(ROW | {"ts": number}, ts="occurred_at")["occurred_at"] == moment


@each(
    ("digits", "moment"),
    [
        ("20260315", "2026-03-15"),
        (20260315, "2026-03-15"),
        ("20260315093000", "2026-03-15T09:30:00"),
        (20260315.0, "2026-03-15"),
        (20260315093000.0, "2026-03-15T09:30:00"),
        ("20260315.0", "2026-03-15"),
        (" 20260315", "2026-03-15"),
        (" 20260315093000\n", "2026-03-15T09:30:00"),
        (20260315.5, "1970-08-23T11:51:55.500000+00:00"),
        (20261315, "1970-08-23T12:08:35+00:00"),
        ("1700000000", "2023-11-14T22:13:20+00:00"),
    ],
)
def test_digits_of_a_date_are_no_seconds(digits: object, moment: str) -> None:
    assert applied(ROW | {"ts": digits}, ts="occurred_at")["occurred_at"] == moment


@pytest.mark.parametrize("number", [1e300, -1e18, float("inf"), "nan"])
def test_a_number_that_is_no_time_stays_as_it_is(number: float | str) -> None:
    assert applied(ROW | {"ts": number}, ts="occurred_at")["occurred_at"] == str(number)
    assert "occurred_at" not in fields({"text": "Ada sings.", "date": number})


def test_a_field_is_not_what_its_values_cannot_be() -> None:
    odd = {"content": 3, "memory": "Ada sings.", "confidence": 80, "metadata": "red", "user": [1]}
    odd["date"] = True
    assert fields(odd) == {"text": ("memory",)}


def test_a_column_in_which_no_time_can_be_read_stays_metadata() -> None:
    """Otherwise each row would be invalid, with no remedy."""
    row = {"text": "Ada sings.", "user": "ada", "date": "March 1, 2026"}
    assert "occurred_at" not in fields(row)
    assert applied(row)["metadata"] == {"date": "March 1, 2026"}
    mapping, _ = guess_mapping([row, row | {"date": "2026-03-01"}], {})
    assert mapping.fields["occurred_at"] == ("date",)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (date(2026, 3, 1), "2026-03-01"),
        (datetime(2026, 3, 1, 12, tzinfo=UTC), "2026-03-01T12:00:00+00:00"),
    ],
)
def test_a_time_may_be_kept_as_one(value: object, moment: str) -> None:
    """As Parquet and LanceDB keep times."""
    assert applied({"text": "Ada sings.", "user": "ada", "date": value})["occurred_at"] == moment


def test_a_whole_number_is_a_word_however_it_is_kept() -> None:
    """A table of numbers with a gap contains floats."""
    assert applied({"text": "Ada sings.", "user_id": 17.0, "id": 3})["owner_id"] == "17"
    assert applied({"text": "Ada sings.", "user_id": 17.5})["owner_id"] == 17.5
    assert applied({"text": "Ada sings.", "user_id": True})["owner_id"] is True, "not a number"


def test_a_row_keeps_all_its_fields() -> None:
    assert applied(ROW, ts="occurred_at") == {
        "source": "s",
        "id": "7",
        "text": "Ada sings.",
        "owner_id": "ada",
        "occurred_at": "2023-11-14T22:13:20+00:00",
    }
    assert applied(ROW)["metadata"] == {"ts": 1_700_000_000}


@pytest.mark.parametrize(
    "metadata", [{"user_id": "ada", "page": 3}, '{"user_id": "ada", "page": 3}']
)
def test_what_is_inside_an_object_is_found(metadata: object) -> None:
    said = applied({"page_content": "Ada sings.", "metadata": metadata})
    assert (said["owner_id"], said["metadata"]) == ("ada", {"page": 3})


@pytest.mark.parametrize("depth", [200, 900, 5_000])
@pytest.mark.parametrize(("begin", "end"), [('{"a":', "1}"), ("[", "]"), ('{"a":', ""), ("[", "")])
def test_a_text_that_begins_like_deep_json_is_only_a_text(begin: str, end: str, depth: int) -> None:
    deep = begin * depth + end[:-1] + end[-1:] * depth
    row = {"text": deep, "user": "ada", "topics": deep, "metadata": deep, "vector": deep}
    assert fields(row)["text"] == ("text",)
    assert applied(row, metadata="metadata")["text"] == deep
    assert applied(row, metadata="metadata")["metadata"] == deep


def test_rows_of_mem0_belong_to_whom_they_name_first() -> None:
    row = {"data": "Ada sings.", "hash": "x", "agent_id": "cook", "run_id": "r"}
    users = row | {"user_id": "ada", "created_at": "2026-01-01", "updated_at": "2026-02-01"}
    mapping, _ = guess_mapping([users], {})
    said = json.loads(mapping.row(users, "s")[0])
    assert (said["owner_id"], said["session_id"]) == ("ada", "r")
    assert said["occurred_at"] == "2026-02-01"
    assert said["metadata"] == {"hash": "x", "agent_id": "cook", "created_at": "2026-01-01"}
    assert json.loads(mapping.row(row, "s")[0])["owner_id"] == "cook"


def test_an_owner_is_for_rows_that_name_nobody() -> None:
    assert applied({"text": "Ada sings."}, "bob")["owner_id"] == "bob"
    assert applied({"text": "Ada sings.", "user": "ada"}, "bob")["owner_id"] == "ada"


@pytest.mark.parametrize(
    "value", [[1.0, 2.0], "[1, 2]", np.array([1, 2], np.float16), np.array([1, 2], "<f4").tobytes()]
)
def test_a_vector_is_one_however_it_is_kept(value: object) -> None:
    found = as_vector(value)
    assert found is not None
    assert found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("keep", [list, json.dumps, lambda one: np.array(one, "<f4").tobytes()])
def test_another_vector_is_kept_in_the_same_way_and_is_as_long(keep: Any) -> None:
    before = keep([3.0, 4.0])
    now = vector_like(before, np.array([0.0, 0.5], np.float16))
    assert type(now) is type(before)
    found = as_vector(now)
    assert found is not None
    assert found.tolist() == [0.0, 5.0]


@pytest.mark.parametrize("value", [[], [0.0], [float("nan")], [[1.0]], ["a"], "[1, ", b"abc", 3])
def test_what_is_no_vector_is_none(value: object) -> None:
    assert as_vector(value) is None


@pytest.mark.parametrize(
    ("row", "theirs"),
    [
        ({"content": "a", "text": "b", "user": "ada"}, "text"),
        ({"Content": "a", "user": "ada"}, "Content"),
        ({"inner": {"text": "a"}, "body": "b"}, "body"),
        ({"inner": {"content": "a", "text": "b"}}, "inner.text"),
        ({"inner": {"Text": "a"}}, "inner.Text"),
    ],
)
def test_the_likeliest_name_counts_and_one_inside_an_object_last(
    row: dict[str, Any], theirs: str
) -> None:
    assert fields(row)["text"] == (theirs,)


@each(
    ("ours", "value", "fits"),
    [
        ("confidence", 0, True),
        ("confidence", 1, True),
        ("confidence", "0.5", True),
        ("confidence", 1.01, False),
        ("importance", -0.01, False),
        ("importance", "high", False),
        ("topics", "tea, music", True),
        ("topics", ["tea"], True),
        ("topics", {"tea": 1}, False),
        ("metadata", '{"page": 3}', True),
        ("metadata", '{"page": ', False),
        ("id", {"a": 1}, False),
        ("vector", [0.5] * 15, False),
        ("vector", [0.5] * 16, True),
    ],
)
def test_a_field_is_taken_by_its_values(ours: str, value: object, fits: bool) -> None:
    assert (ours in fields({"text": "Ada sings.", ours: value})) is fits


def test_a_field_without_a_value_is_none_of_ours() -> None:
    empty = dict.fromkeys(("text", "confidence", "topics", "metadata", "id", "vector", "date"))
    assert fields({**empty, "body": "Ada sings."}) == {"text": ("body",)}


def test_a_field_is_judged_by_all_rows_that_have_it() -> None:
    rows: list[Any] = [
        {"text": "a", "confidence": 0.5, "tags": "x"},
        {"text": "b", "confidence": None, "tags": {"x": 1}},
        b"no object",
    ]
    mapping, known = guess_mapping(rows, {})
    assert mapping.fields == {"text": ("text",), "confidence": ("confidence",)}
    assert known == ["text", "confidence", "tags", "tags.x"]


def test_a_field_is_judged_by_all_rows_and_not_by_the_first() -> None:
    """Most of its values decide; for times one is enough, because the others are invalid."""
    row = {"text": "Ada sings.", "user": "ada", "created_at": None, "importance": 1}
    early, late = [row] * 500, row | {"created_at": "2026-03-01", "importance": 70, "room": "attic"}
    mapping, known = guess_mapping(iter([*early, late]), {})
    assert mapping.fields["occurred_at"] == ("created_at",)
    assert mapping.fields["importance"] == ("importance",)
    assert known == [*late]
    mapping, _ = guess_mapping(iter([*early, *[late] * 500]), {})
    assert "importance" not in mapping.fields


@pytest.mark.parametrize(("length", "left_out"), [(15, ()), (16, ("other",))])
def test_a_second_vector_is_left_out_and_a_short_list_is_none(
    length: int, left_out: tuple[str, ...]
) -> None:
    row = {"text": "Ada sings.", "vector": [0.5] * 16, "other": [0.5] * length}
    mapping, _ = guess_mapping([row, {"text": "Ada hums."}], {})
    assert mapping.left_out == left_out
    kept = json.loads(mapping.row(row, "s")[0]).get("metadata", {})
    assert ("other" in kept) is not bool(left_out)


def test_what_mem0_derives_is_left_out_of_its_rows_alone() -> None:
    row = {"data": "Ada sings.", "hash": "x", "user_id": "ada", "text_lemmatized": "ada sing"}
    assert guess_mapping([row], {})[0].left_out == ("text_lemmatized",)
    mixed, _ = guess_mapping([row, {"data": "Ada hums."}], {})
    assert (mixed.left_out, mixed.fields["owner_id"]) == ((), ("user_id",))


@pytest.mark.parametrize(
    ("said", "topics"),
    [
        ("tea,  music ,, ", ["tea", "music"]),
        ('["tea", "music"]', ["tea", "music"]),
        ("[tea", "[tea"),
        (["tea"], ["tea"]),
    ],
)
def test_topics_are_a_list_however_they_are_kept(said: object, topics: object) -> None:
    assert applied({"text": "Ada sings.", "topics": said})["topics"] == topics


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (b"\x01\xff", "01ff"),
        ({3, 1, 2}, [1, 2, 3]),
        (Decimal("1.50"), "1.50"),
        (Stamp(2026, 3, 1, 12), "2026-03-01T12:00:00"),
        ({1: "one"}, {"1": "one"}),
        (np.array([1, 2]), [1, 2]),
    ],
)
def test_metadata_keeps_what_json_has_no_type_for(value: object, kept: object) -> None:
    assert applied({"text": "Ada sings.", "other": value})["metadata"] == {"other": kept}


def test_of_several_given_fields_the_first_that_says_something_counts() -> None:
    renames = {"a": "text", "b": "text"}
    mapping, _ = guess_mapping([{"a": "x", "b": "y"}], renames)
    said = [json.loads(mapping.row(row, "s")[0]) for row in ({"a": "x", "b": "y"}, {"b": "y"})]
    assert [one["text"] for one in said] == ["x", "y"]
    assert said[0]["metadata"] == {"b": "y"}
    assert "metadata" not in said[1]


def test_metadata_of_the_row_stay_and_its_other_fields_join_them() -> None:
    row = {"text": "Ada sings.", "page": 1, "colour": "red", "metadata": {"page": 2}}
    assert applied(row)["metadata"] == {"page": 2, "colour": "red"}
    odd = {"text": "Ada sings.", "words": "red", "page": 1}
    assert applied(odd, words="metadata")["metadata"] == "red", "nothing hides that it is none"


def test_a_row_that_is_no_object_stays_as_it_is() -> None:
    mapping, _ = guess_mapping([ROW], {})
    assert mapping.row(b"no JSON", "s") == (b"no JSON", None)


def test_the_text_and_somebody_whose_it_is_are_needed() -> None:
    nameless, known = guess_mapping([{"text": "Ada sings."}], {}, "ada")
    nameless.require(known)
    mapping, known = guess_mapping([{}], {}, "ada")
    with pytest.raises(UsageError) as told:
        mapping.require(known)
    assert str(told.value) == (
        "no field is known to be the text: give --map THEIRS=text; the rows have no fields"
    )


@pytest.mark.parametrize(
    ("row", "name", "changed"),
    [
        ({"a": 1}, "a", {"a": 9}),
        ({"a.b": 1}, "a.b", {"a.b": 9}),
        ({"a": {"b": 1, "c": 2}}, "a.b", {"a": {"b": 9, "c": 2}}),
        ({"a": '{"b": 1, "c": 2}'}, "a.b", {"a": {"b": 9, "c": 2}}),
        ({}, "a.b", {"a": {"b": 9}}),
        ({}, "a", {"a": 9}),
    ],
)
def test_a_value_changes_where_it_is(row: dict[str, Any], name: str, changed: object) -> None:
    before = json.dumps(row)
    found = with_value(row, name, 9)
    assert found == changed
    assert value_of(found, name) == 9
    assert json.dumps(row) == before


def test_a_value_that_is_not_there_is_none() -> None:
    assert [value_of({"a": {"b": 1}, "c": "d"}, one) for one in ("x", "a.x", "c.x", "x.b")] == [
        None
    ] * 4


# -- at the command line -------------------------------------------------------------------------


def test_nothing_is_imported_that_nobody_confirmed(palimpsest: CommandLine) -> None:
    path = palimpsest.file([ROW])
    ran = palimpsest("import", path)
    assert ran.status == 2
    assert "text      memory" in ran.err
    assert "give --yes" in ran.err
    assert palimpsest("--json", "import", path).status == 2
    assert not palimpsest.store.exists()


def test_a_person_confirms_the_mapping(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Output, "asks", True)
    path = palimpsest.file([ROW])
    assert palimpsest("import", path, stdin="n\n").status == 1
    assert not palimpsest.store.exists()
    ran = palimpsest("import", path, stdin="y\n")
    assert (ran.status, len(brought(palimpsest))) == (0, 1)
    assert "kept as metadata: ts" in ran.err
    assert "left out: vec" in ran.err


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"user": "ada", "words": "Ada sings."}, "--map THEIRS=text; the rows have user, words"),
        ({"who": "ada", "text": "Ada sings."}, "give --owner OWNER, or --map THEIRS=owner_id"),
    ],
)
def test_what_is_missing_is_asked_for(row: Any, told: str, palimpsest: CommandLine) -> None:
    ran = palimpsest("import", palimpsest.file([row]), "--yes")
    assert ran.status == 2
    assert told in ran.err


@pytest.mark.parametrize("form", ["one line", "many lines"])
def test_rows_inside_an_object_are_pointed_at(form: str, palimpsest: CommandLine) -> None:
    """As in the answers of services."""
    answer = {"results": [{"id": "1", "memory": "Ada sings.", "user_id": "ada"}], "relations": []}
    path = palimpsest.file([json.dumps(answer, indent=2 if form == "many lines" else None)])
    ran = palimpsest("import", path, "--yes")
    assert ran.status == 2
    told = "inside `results`" if form == "one line" else "JSON over many lines"
    assert told in " ".join(ran.err.split())
    assert not palimpsest.store.exists()


def test_a_file_of_nothing_that_can_be_read_makes_no_store(palimpsest: CommandLine) -> None:
    path = palimpsest.file(["Dear diary,", "it rains."], "diary.txt")
    for words in (("--yes",), ("--dry-run",)):
        ran = palimpsest("import", path, *words)
        assert ran.status == 2
        assert "none of them is a JSON object" in " ".join(ran.err.split())
    assert not palimpsest.store.exists()


@pytest.mark.parametrize(
    ("rows", "given", "told"),
    [
        ([ROW], "memroy=text", "text: is missing"),
        ([ROW], "metadata.user=owner_id", "owner_id: is missing"),
        (
            [{"user": "ada", "memory": " "}, {"user": "ada", "memory": "\t"}],
            "user=owner_id",
            "text",
        ),
    ],
    ids=["a slip", "not there", "no words"],
)
def test_where_no_row_can_be_read_nothing_is_written(
    rows: list[Any], given: str, told: str, palimpsest: CommandLine
) -> None:
    path = palimpsest.file(rows)
    for words in (("--dry-run",), ("--yes",)):
        ran = palimpsest("import", path, "--map", given, *words)
        assert ran.status == 2
        said = " ".join(ran.err.split())
        assert "no row of rows.jsonl can be read; the first one: " in said
        assert told in said
        assert "the rows have" in said
        assert not palimpsest.store.exists()


def test_a_blank_name_is_refused(palimpsest: CommandLine) -> None:
    assert palimpsest("import", palimpsest.file([ROW]), "--yes", "--source", " ").status == 2


Form = Literal["NFC", "NFD"]


@pytest.mark.parametrize(("written", "typed"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_field_is_mapped_however_its_accents_are_written(
    palimpsest: CommandLine, written: Form, typed: Form
) -> None:
    text = normalize(written, "énoncé")
    path = palimpsest.file([{"user_id": "ada", text: "Ada sings."}])
    told = palimpsest.json("import", path, "--map", f"{normalize(typed, 'énoncé')}=text", "--yes")
    assert told["decisions"] == {"stored": 1}
    [note] = json.loads((palimpsest.store / "imports.json").read_text())
    assert note["fields"] == {"text": [text], "owner_id": ["user_id"]}


def test_a_mapping_can_be_given(palimpsest: CommandLine, tmp_path: Path) -> None:
    path = palimpsest.file([{"who": "ada", "words": "Ada sings.", "n": 1}])
    words = ("--map", "who=owner_id", "--map", "words=text", "--source", "old")
    palimpsest.json("import", path, *words, "--yes")
    [candidate] = brought(palimpsest)
    assert (candidate["owner_id"], candidate["text"], candidate["source"]) == (
        "ada",
        "Ada sings.",
        "old",
    )
    [note] = json.loads((palimpsest.store / "imports.json").read_text())
    assert note["fields"] == {"owner_id": ["who"], "text": ["words"]}
    assert note["path"] == str(Path(path).absolute())


@pytest.mark.parametrize(
    ("theirs", "value", "moment"),
    [
        ("expiration_date", "2030-01-31", "2030-02-01T00:00:00+00:00"),
        ("expires_at", "2030-01-31T12:00:00Z", "2030-01-31T12:00:00Z"),
        ("expires_at", 1_900_000_000, "2030-03-17T17:46:40+00:00"),
    ],
)
def test_when_a_row_expires_is_taken_from_its_source(theirs: str, value: Any, moment: str) -> None:
    assert fields(ROW | {theirs: value})["expires_at"] == (theirs,)
    assert applied(ROW | {theirs: value})["expires_at"] == moment


def test_a_row_with_half_a_surrogate_pair_is_invalid_and_ends_no_import() -> None:
    """JSON in a column can escape half a pair, though UTF-8 cannot encode one."""
    row = {"user_id": "ada", "memory": "likes tea", "metadata": '{"note": "cut \\ud83d"}'}
    mapping, _ = guess_mapping([row], {})
    raw, _ = mapping.row(row, "old")
    meaning = understand(RawRow(raw, "old"))
    assert isinstance(meaning, InvalidInputError)
    assert meaning.reason == "not_utf8"
