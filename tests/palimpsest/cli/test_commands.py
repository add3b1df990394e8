"""The effect of each command on a store, and the keys of its JSON that others rely on."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import tomllib
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal
from unicodedata import normalize
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest
from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.backends.paths import LOG_FILE
from palimpsest.cli.commands.maintenance import (
    ENOUGH_BYTES,
    PLATFORM_KEYS,
    DoctorFinding,
    _graph_cache,
    finding_line,
)
from palimpsest.cli.main import app
from palimpsest.cli.shell import REFUSED
from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.identity import digest, invalid_id
from palimpsest.process.output import Output
from palimpsest.streams import embedder
from palimpsest.streams.cluster import topics
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.embedder import DEFAULT_MODEL, source
from palimpsest.streams.embedder.function_engine import FunctionEngine
from palimpsest.streams.embedder.notes import Notes
from palimpsest.streams.embedder.onnx.graph_cache import default_cache_dir
from palimpsest.streams.guard import guard_hash, tables_of
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.storage import FILE, Budget
from palimpsest.streams.log.dead_letters import DeadLetters, NewDeadLetter
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies.languages import load_language
from tests.palimpsest.cli.conftest import CommandLine, by_length, row

EXAMPLES = Path(__file__).parents[3] / "examples"
PARIS = "Ada lives in Paris near the canal"
TEA = "Ada drinks green tea every single morning"


@pytest.fixture
def stocked(palimpsest: CommandLine) -> CommandLine:
    """Ada's two memories, one of them said twice."""
    palimpsest.holds(row(PARIS), row(TEA), row(PARIS, session_id="monday"))
    return palimpsest


def test_ingest_sums_up_by_decision(palimpsest: CommandLine) -> None:
    summary = palimpsest.ingest(row(PARIS), row(TEA), row(PARIS, session_id="monday"))
    assert summary["rows"] == 3
    assert summary["decisions"] == {"stored": 2, "hash_exact": 1}
    assert (summary["known"], summary["invalid"], summary["interrupted"]) == (0, 0, False)


def test_the_same_file_twice_changes_nothing(palimpsest: CommandLine) -> None:
    palimpsest.ingest(row(PARIS), row(PARIS), row(TEA))
    before = palimpsest.json("status")
    again = palimpsest.ingest(row(PARIS), row(PARIS), row(TEA))
    assert again["known"] == 3
    assert again["decisions"] == {}
    assert palimpsest.json("status") == before


def test_ingest_reads_gzip_and_standard_input(palimpsest: CommandLine) -> None:
    packed = palimpsest.folder / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(row(PARIS)).encode() + b"\n"))
    assert palimpsest.json("ingest", str(packed))["decisions"] == {"stored": 1}
    ran = palimpsest("--json", "ingest", "-", stdin=json.dumps(row(TEA)) + "\n")
    assert ran.document["decisions"] == {"stored": 1}


def test_ingest_renames_fields_and_names_the_source(palimpsest: CommandLine) -> None:
    file = palimpsest.file([{"user": "ada", "content": PARIS}])
    options = ["--map", "user=owner_id", "--map", "content=text", "--source", "chat"]
    palimpsest.json("ingest", file, *options)
    shown = palimpsest.json("show", "--candidate", palimpsest.ids()[0])
    assert (shown["owner_id"], shown["text"], shown["source"]) == ("ada", PARIS, "chat")


Form = Literal["NFC", "NFD"]


@pytest.mark.parametrize(("written", "typed"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_field_is_renamed_however_its_accents_are_written(
    palimpsest: CommandLine, written: Form, typed: Form
) -> None:
    file = palimpsest.file([{"owner_id": "ada", normalize(written, "énoncé"): PARIS}])
    answer = palimpsest.json("ingest", file, "--map", f"{normalize(typed, 'énoncé')}=text")
    assert (answer["decisions"], answer["remarks"]) == ({"stored": 1}, [])


def test_a_renaming_that_is_none_is_wrong_usage(palimpsest: CommandLine) -> None:
    assert palimpsest("ingest", palimpsest.file([]), "--map", "text").status == 2


def test_invalid_rows_are_named_and_the_rest_goes_on(palimpsest: CommandLine) -> None:
    summary = palimpsest.ingest(row(PARIS), "no json", row(" "), row(TEA), status=1)
    assert summary["invalid"] == 2
    assert summary["decisions"] == {"stored": 2}
    assert [one["row"] for one in summary["invalid_rows"]] == [2, 3]
    assert [one["reason"] for one in summary["invalid_rows"]] == ["not_json", "field"]
    assert palimpsest.json("status")["invalid"] == 2


def test_an_invalid_row_of_several_files_is_named_by_its_place_in_its_own(
    palimpsest: CommandLine,
) -> None:
    good = palimpsest.file([row(PARIS), row(TEA)], "good.jsonl")
    wrong = palimpsest.file([row(f"{TEA} twice"), "no json"], "wrong.jsonl")
    ran = palimpsest("--json", "ingest", good, wrong)
    [invalid] = ran.document["invalid_rows"]
    assert (ran.status, invalid["file"], invalid["row"]) == (1, str(wrong), 2)
    assert f"{wrong}, row 2: not_json" in palimpsest("ingest", good, wrong).out


def test_unknown_fields_are_named_once_and_a_wrong_expiry_is_refused(
    palimpsest: CommandLine,
) -> None:
    event = {"specversion": "1.0", "type": "palimpsest.candidate.v1", "source": "s", "id": "1"}
    rows = [
        row(PARIS, categroy="place"),
        row(TEA, categroy="drink", metadata={"known": 1}),
        {**event, "data": row(f"{TEA} twice", colour="red")},
        row(f"{PARIS} still", ttl="soon"),
    ]
    ran = palimpsest("--json", "ingest", palimpsest.file([json.dumps(one) for one in rows]))
    told = "unknown fields are kept as metadata: categroy, colour; --map renames a misspelt one"
    assert (ran.status, ran.document["remarks"]) == (1, [told])
    assert ran.err.count(told) == 1
    [refused] = ran.document["invalid_rows"]
    assert (refused["row"], "ttl: must be a number with a unit" in refused["detail"]) == (4, True)
    mapped = palimpsest.file([{"user": "ada", "content": PARIS}], "mapped.jsonl")
    assert (
        palimpsest.json("ingest", mapped, "--map", "user=owner_id", "--map", "content=text")[
            "remarks"
        ]
        == []
    )


def test_status_counts(stocked: CommandLine) -> None:
    status = stocked.json("status")
    expected = {"candidates": 3, "memories": 2, "joins": 1, "pending": 0, "invalid": 0}
    assert {name: status[name] for name in expected} == expected
    assert status["decisions"] == {"stored": 2, "hash_exact": 1}
    assert set(status["lag"]) == {"lancedb", "duckdb"}
    assert set(status["lag"].values()) == {0}


def test_recall_finds_the_memory(stocked: CommandLine) -> None:
    found = stocked.json("recall", "ada", "who drinks tea every morning", "-k", "1")
    assert [memory["face"] for memory in found] == [TEA]
    assert {"memory_id", "face", "score", "members"} <= set(found[0])
    assert stocked.json("recall", "nobody", "tea") == []


def test_recall_as_of_answers_as_it_was(stocked: CommandLine) -> None:
    assert stocked.json("recall", "ada", "tea", "--as-of", "0") == []
    before_tea = stocked.json("recall", "ada", "tea", "--as-of", "2")
    assert [memory["face"] for memory in before_tea] == [PARIS]


def test_show_has_every_member_with_its_join(stocked: CommandLine) -> None:
    first, _, second = stocked.ids()
    memory = stocked.json("show", first)
    assert (memory["memory_id"], memory["owner_id"], memory["face"]) == (first, "ada", PARIS)
    assert [member["candidate_id"] for member in memory["members"]] == [first, second]
    joined = memory["members"][1]
    assert (joined["joined_to"], joined["decision"]) == (first, "hash_exact")
    assert {"text", "decision_id", "similarity"} <= set(joined)
    assert stocked.json("show", second) == memory


def test_who_came_back_by_another_join_is_not_marked_as_taken_out(
    stocked: CommandLine,
) -> None:
    first, tea, _ = stocked.ids()
    stocked.ingest(row("Ada plays cello"))
    cello = stocked.ids()[-1]
    joined = stocked.json("merge", first, cello)["decision_id"]
    stocked.json("unmerge", "--decision", joined)

    def marked(memory: str) -> bool:
        members = stocked.json("show", memory)["members"]
        [found] = [member["reversed"] for member in members if member["candidate_id"] == cello]
        return bool(found)

    assert marked(cello)
    stocked.json("merge", tea, cello)
    assert not marked(tea)


def test_show_draws_a_tree(stocked: CommandLine) -> None:
    first, _, second = stocked.ids()
    drawn = stocked("show", first)
    assert drawn.status == 0
    assert drawn.out.count(PARIS) == 3
    assert "└── " in drawn.out
    assert "hash_exact" in drawn.out
    assert second in drawn.out


def test_show_needs_one_of_two(stocked: CommandLine) -> None:
    assert stocked("show").status == 2
    assert stocked("show", "a", "--candidate", "b").status == 2


def test_decisions_are_one_document_a_line_newest_last(stocked: CommandLine) -> None:
    listed = stocked("--json", "decisions", "--owner", "ada").documents
    assert [one["decision"] for one in listed] == ["stored", "stored", "hash_exact"]
    assert [one["position"] for one in listed] == sorted(one["position"] for one in listed)
    kept = stocked("--json", "decisions", "--decision", "stored", "--limit", "1").documents
    assert [one["candidate_id"] for one in kept] == [stocked.ids()[1]]
    assert stocked("--json", "decisions", "--since", "2999-01-01").out == ""
    assert stocked("--json", "decisions", "--since", "2001-01-01T00:00Z").documents == listed
    assert stocked("decisions", "--since", "yesterday").status == 2


def test_a_kind_that_no_decision_is_of_is_wrong_usage(stocked: CommandLine) -> None:
    ran = stocked("decisions", "--decision", "nope")
    assert ran.status == 2
    assert "hash_exact" in ran.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("not a log\n", "line 1 is not an event of Palimpsest (it is not JSON)"),
        ("7\n", "line 1 is not an event of Palimpsest (it is not a JSON object)"),
        ('{"text": "Ada sings."}\n', "line 1 is not an event of Palimpsest (it has no `type`)"),
        ('{"type": "x"}\n', "(its `type` is not known to this version)"),
        ("", "is empty"),
    ],
)
@pytest.mark.parametrize("made", [False, True])
def test_what_is_no_log_leaves_no_store(
    palimpsest: CommandLine, tmp_path: Path, content: str, told: str, made: bool
) -> None:
    if made:
        palimpsest.store.mkdir(parents=True)
    (tmp_path / "log").write_text(content)
    ran = palimpsest("log", "import", str(tmp_path / "log"))
    assert ran.status == 4
    assert told in " ".join(ran.err.split())
    assert not (palimpsest.store / "log.sqlite").exists()
    assert palimpsest.store.exists() is made


def test_decisions_for_people_name_the_ids(stocked: CommandLine) -> None:
    told = stocked("decisions").out
    assert all(candidate in told for candidate in stocked.ids())


def test_merge_then_unmerge_then_reinstate(stocked: CommandLine) -> None:
    first, tea, _ = stocked.ids()
    merged = stocked.json("merge", first, tea, "--face", "B", "--because", "one routine")
    assert [memory["face"] for memory in merged["memories"]] == [TEA]
    decision = merged["decision_id"]
    shown = stocked.json("unmerge", "--decision", decision, "--dry-run")
    assert stocked.json("status")["memories"] == 1
    undone = stocked.json("unmerge", "--decision", decision)
    assert undone.pop("cause") == undone.pop("undo")
    assert undone | {"consequences": [], "overtaken": []} == shown
    assert undone["reversed"] == [decision]
    assert sorted(memory["face"] for memory in undone["memories"]) == sorted([PARIS, TEA])
    assert {"memory_id", "face", "members"} <= set(undone["memories"][0])
    assert stocked.json("status")["memories"] == 2
    stocked.json("reinstate", decision)
    assert stocked.json("status")["memories"] == 1


def test_an_id_is_undone_and_done_again_with_the_precise_command(stocked: CommandLine) -> None:
    first, tea, _ = stocked.ids()
    decision = stocked.json("merge", first, tea)["decision_id"]
    shown = stocked("undo", decision, "--dry-run")
    assert "would be undone" in shown.out
    assert f"unmerge --decision {decision}" in " ".join(shown.out.split())
    assert stocked.json("status")["memories"] == 1
    assert stocked.json("undo", decision)["reversed"] == [decision]
    assert stocked.json("status")["memories"] == 2
    assert f"reinstate {decision}" in " ".join(stocked("redo", decision).out.split())
    assert stocked.json("status")["memories"] == 1
    cause = stocked.json("retract", "--owner", "ada", "--yes")["cause"]
    assert f"restore --cause {cause}" in " ".join(stocked("undo", cause, "--dry-run").out.split())
    stocked.json("undo", cause)
    assert stocked.json("status")["memories"] == 1


def test_a_join_is_reinstated_by_its_id_or_by_options_not_both(stocked: CommandLine) -> None:
    first, tea, _ = stocked.ids()
    decision = stocked.json("merge", first, tea)["decision_id"]
    stocked.json("unmerge", "--decision", decision)
    both = stocked("reinstate", decision, "--owner", "ben")
    assert both.status == 2
    assert "not both" in both.err
    assert stocked.json("status")["memories"] == 2


def test_unmerge_by_candidate_and_by_memory(stocked: CommandLine) -> None:
    first, tea, _ = stocked.ids()
    decision = stocked.json("merge", first, tea)["decision_id"]
    assert stocked.json("unmerge", "--candidate", tea)["reversed"] == [decision]
    again = stocked.json("reinstate", decision)["decision_id"]
    assert stocked.json("unmerge", "--memory", first)["reversed"] == [again]


def test_the_face_is_one_of_the_two(stocked: CommandLine) -> None:
    first, tea, second = stocked.ids()
    assert stocked("merge", first, tea, "--face", "C").status == 2
    assert stocked("merge", first, tea, "--face", second).status == 2
    assert stocked("merge", first, tea, "--face", tea).status == 0


def test_separate_and_confirm(stocked: CommandLine) -> None:
    first, tea, _ = stocked.ids()
    assert len(stocked.json("separate", first, tea)["memories"]) == 2
    refused = stocked("--json", "merge", first, tea)
    assert refused.status in {0, 3}
    decision = stocked("--json", "decisions", "--decision", "hash_exact").documents[0]
    stocked.json("confirm", decision["decision_id"])
    rows = stocked.json("sql", "SELECT review_status FROM dedup_log WHERE decision = 'hash_exact'")
    assert rows == [{"review_status": "confirmed"}]


def test_reverse_counts_first_and_then_does(stocked: CommandLine) -> None:
    first, tea, _ = stocked.ids()
    decision = stocked.json("merge", first, tea)["decision_id"]
    selection = ["--decision", "manual_join", "--owner", "ada"]
    planned = stocked.json("reverse", *selection, "--dry-run")
    [join] = planned.pop("joins")
    assert planned.pop("asks") == 0
    assert planned == {"reversed": [decision], "refused": [], "owners": 1}
    assert stocked.json("status")["memories"] == 1
    done = stocked.json("reverse", *selection)
    assert done == planned | {"cause": done["cause"], "undo": done["cause"]}
    assert stocked.json("status")["memories"] == 2
    assert "0 joins" in stocked("reverse", *selection).out
    assert (join["decision_id"], join["decision"]) == (decision, "manual_join")
    assert (join["older"], join["older_text"], join["newer_text"]) == (first, PARIS, TEA)


def test_a_reversal_is_taken_back_by_its_cause(stocked: CommandLine) -> None:
    """Joins that were removed before stay removed."""
    first, tea, second = stocked.ids()
    before = stocked.json("merge", first, second)["decision_id"]
    stocked.json("unmerge", before)
    kept = stocked.json("merge", first, tea)["decision_id"]
    stocked.json("merge", tea, second)
    told = stocked("reverse", "--decision", "manual_join", "--yes")
    assert "2 joins of 1 owner reversed" in told.out
    way = told.out.split("to take it back: palimpsest ")[1].split()
    assert way[0] == "undo"
    planned = stocked.json("reinstate", "--decision", "manual_join", "--dry-run")
    assert len(planned["reinstated"]) == 3
    back = stocked.json(*way)
    assert kept in back["reinstated"]
    assert (len(back["reinstated"]), before in back["reinstated"]) == (2, False)
    assert stocked(*way).status == REFUSED


def test_reversals_are_taken_back_in_bulk(stocked: CommandLine) -> None:
    first, tea, _ = stocked.ids()
    decision = stocked.json("merge", first, tea)["decision_id"]
    selection = ["--decision", "manual_join", "--owner", "ada"]
    stocked.json("reverse", *selection)
    told = stocked("reinstate", *selection, "--dry-run")
    assert "1 join of 1 owner would be reinstated" in told.out
    assert all(text in told.out for text in (PARIS, TEA, decision))
    assert stocked.json("status")["memories"] == 2
    done = stocked.json("reinstate", *selection)
    [event] = done.pop("events")
    assert done == {"reinstated": [decision], "refused": [], "owners": 1, "undo": event}
    rows = stocked.json("sql", f"SELECT event FROM events WHERE event_id = '{event}'")
    assert rows == [{"event": "reinstated"}]
    assert stocked.json("status")["memories"] == 1
    assert stocked("reinstate", *selection).status == 1
    assert stocked("reinstate", decision, *selection).status == 2
    assert stocked("reinstate").status == 2


@pytest.mark.parametrize("command", ["reverse", "reinstate", "retract", "restore"])
@pytest.mark.parametrize("how", [["--dry-run"], ["--yes"], []])
def test_a_selection_that_means_nothing_says_so(
    stocked: CommandLine, command: str, how: list[str]
) -> None:
    ran = stocked(command, "--source", "rows.jsnol", *how)
    assert ran.status == 1
    assert "nothing matches" in ran.err


def test_about_nothing_nobody_is_asked(
    stocked: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Output, "asks", True)
    ran = stocked("retract", "--source", "rows.jsnol")
    assert "Do it?" not in ran.err
    assert (ran.status, "nothing matches" in ran.err) == (1, True)


def test_without_a_terminal_many_need_a_yes(stocked: CommandLine) -> None:
    refused = stocked("--json", "retract", "--owner", "ada")
    assert refused.status == 2
    assert "3 candidates of 1 owner would be retracted" in refused.document["error"]["detail"]
    assert stocked("retract", "--decision", "stored").status == 2, "two are many"
    assert len(stocked.json("recall", "ada", PARIS)) == 2
    assert len(stocked.json("retract", "--owner", "ada", "--yes")["retracted"]) == 3
    assert stocked.json("recall", "ada", PARIS) == []


def test_a_dry_run_shows_the_candidates_that_it_means(stocked: CommandLine) -> None:
    planned = stocked.json("retract", "--owner", "ada", "--dry-run")
    assert [candidate["text"] for candidate in planned["candidates"]] == [PARIS, TEA, PARIS]
    assert [candidate["candidate_id"] for candidate in planned["candidates"]] == planned[
        "retracted"
    ]
    assert stocked("retract", "--owner", "ada", "--dry-run").out.count(PARIS) == 2


def test_retract_and_restore(stocked: CommandLine) -> None:
    _, tea, _ = stocked.ids()
    told = stocked("retract", "--candidate", tea, "--dry-run")
    assert "1 candidate of 1 owner would be retracted" in told.out
    assert stocked.json("retract", "--candidate", tea)["retracted"] == [tea]
    faces = [memory["face"] for memory in stocked.json("recall", "ada", TEA)]
    assert faces == [PARIS]
    assert stocked.json("restore", "--candidate", tea)["restored"] == [tea]
    assert stocked.json("recall", "ada", TEA, "-k", "1")[0]["face"] == TEA


@pytest.mark.parametrize(("answer", "memories", "status"), [("n", 2, 1), ("y", 1, 0)])
def test_a_person_sees_how_many_and_is_asked(
    stocked: CommandLine, monkeypatch: pytest.MonkeyPatch, answer: str, memories: int, status: int
) -> None:
    monkeypatch.setattr(Output, "asks", True)
    _, tea, _ = stocked.ids()
    ran = stocked("retract", "--candidate", tea, stdin=answer + "\n")
    assert "1 candidate of 1 owner would be retracted" in ran.err
    assert ran.status == status
    assert stocked.json("status")["memories"] == memories
    assert "Do it?" not in stocked("restore", "--candidate", tea, "--yes").err


def test_the_undo_of_letting_in_says_that_it_does_not_return_to_the_queue(
    stocked: CommandLine,
) -> None:
    _, tea, _ = stocked.ids()
    stocked.json("forget", tea)
    back = stocked.json("restore", "--candidate", tea)["undo"]
    shown = " ".join(stocked("undo", back, "--dry-run").out.split())
    assert "would be forgotten again, and not in the review queue" in shown
    assert "is forgotten again, and not" in " ".join(stocked("undo", back).out.split())


def test_what_was_forgotten_at_once_is_restored_whole_or_not(stocked: CommandLine) -> None:
    _, tea, _ = stocked.ids()
    gone = stocked.json("forget", tea)["forgotten"]
    both = stocked("restore", "--forgotten", gone, "--owner", "bob")
    assert (both.status, "no other selection" in both.err) == (2, True)
    assert stocked.json("restore", "--forgotten", gone)["restored"] == [tea]


@pytest.mark.parametrize("command", ["reverse", "reinstate", "retract", "restore"])
def test_a_bulk_command_must_say_which(stocked: CommandLine, command: str) -> None:
    assert stocked(command, "--yes").status == 2
    assert stocked(command, "--decision", "nonsense").status == 2
    assert stocked(command, "--since", "soon").status == 2


def test_rebuild_and_verify(stocked: CommandLine) -> None:
    assert stocked.json("verify")["differences"] == 0
    stocked.json("rebuild")
    stocked.json("rebuild", "duckdb")
    verified = stocked.json("verify")
    assert verified["differences"] == 0
    assert verified["checked"] > 0
    assert stocked("rebuild", "postgres").status == 2


def test_a_store_without_events_is_rebuilt(palimpsest: CommandLine) -> None:
    decisions = "SELECT count(*) AS n FROM decisions"
    Palimpsest.open(palimpsest.store).close()
    assert palimpsest("rebuild").status == 0
    assert palimpsest.json("verify")["differences"] == 0
    assert palimpsest.json("sql", decisions) == [{"n": 0}]
    palimpsest.json("add", "ada", "Ada likes tea")
    assert palimpsest.json("sql", decisions) == [{"n": 1}]


def test_sql_answers_rows_as_objects(stocked: CommandLine) -> None:
    query = "SELECT decision, count(*) AS n FROM decisions GROUP BY 1 ORDER BY 1"
    assert stocked.json("sql", query) == [
        {"decision": "hash_exact", "n": 1},
        {"decision": "stored", "n": 2},
    ]
    assert "hash_exact" in stocked("sql", query).out


def test_sql_gives_what_json_has_no_type_for(stocked: CommandLine) -> None:
    query = (
        "SELECT 'nan'::DOUBLE AS a, 1.5::DECIMAL(4,2) AS b, DATE '2026-03-01' AS c,"
        " 2::HUGEINT ** 70 AS d, [1, 2] AS e, {'x': NULL} AS f, '\\xAA'::BLOB AS g,"
        " INTERVAL 1 DAY AS h"
    )
    answer = stocked.json("sql", query)[0]
    assert answer["a"] == "NaN"
    assert (answer["b"], answer["c"], answer["e"]) == (1.5, "2026-03-01", [1, 2])
    assert (answer["f"], answer["g"]) == ({"x": None}, "aa")


def test_sql_shows_numbers_that_are_not_finite(stocked: CommandLine) -> None:
    query = "SELECT ['NaN'::DOUBLE, 10.0::DOUBLE ** 400, -10.0::DOUBLE ** 401, NULL] AS a"
    assert stocked.json("sql", query) == [{"a": ["NaN", "Infinity", "-Infinity", None]}]
    assert "-Infinity" in stocked("sql", query).out


# projections.duckdb.queries.query takes these for damage, and cannot describe an empty result.
@pytest.mark.parametrize(
    "query",
    [
        "SELEKT",
        "SELECT * FROM nowhere",
        "CREATE TABLE t (a INT)",
        "DROP VIEW decisions",
        "",
    ],
)
def test_sql_reads_only_what_is_there(stocked: CommandLine, query: str) -> None:
    ran = stocked("sql", query)
    assert ran.status == 2
    assert ran.out == ""
    assert stocked.json("status")["candidates"] == 3


def test_sql_without_a_query_says_how_to_open_the_file(stocked: CommandLine) -> None:
    document = stocked.json("sql")
    assert Path(document["file"]).is_file()
    assert set(document["open"]) == {"CLI", "Python", "DBeaver"}
    assert "DBeaver" in stocked("sql").out
    ran = stocked("sql", "--param", "owner=ada")
    assert (ran.status, "--param goes with a query" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sql", "--views", "nowhere/views.duckdb"], "there is no folder nowhere"),
        (["clean", "rows.jsonl", "--separate", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["import", "rows.jsonl", "--history", "nowhere.db"], "there is no history nowhere.db"),
    ],
    ids=" ".join,
)
def test_a_file_that_is_not_there_is_wrong_usage(
    stocked: CommandLine, words: list[str], told: str
) -> None:
    stocked.file([row(PARIS)], "rows.jsonl")
    ran = stocked(*words)
    assert (ran.status, told in ran.err) == (2, True), ran.err


def test_the_log_goes_out_and_in_byte_for_byte(stocked: CommandLine) -> None:
    first, second = stocked.folder / "first.jsonl", stocked.folder / "second.jsonl"
    count = stocked.json("log", "export", str(first))["events"]
    assert count == len(first.read_bytes().splitlines())
    copy = CommandLine(stocked.folder / "elsewhere")
    assert copy.json("log", "import", str(first))["events"] == count
    copy.json("log", "export", str(second))
    assert second.read_bytes() == first.read_bytes()
    assert copy.json("status") == stocked.json("status")
    assert copy("log", "import", str(first)).status == 2


def test_a_refused_connection_is_not_reported_as_an_unreadable_file(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(topics, "read_topics", refused)
    ran = palimpsest("--bootstrap", "127.0.0.1:1", "log", "import", palimpsest.file([], "x.jsonl"))
    assert ran.status == 1
    assert "Connection refused" in ran.err
    assert "cannot be read" not in ran.err


def test_an_export_overwrites_nothing_unasked(stocked: CommandLine) -> None:
    file = stocked.folder / "backup.jsonl"
    file.write_text("precious")
    refused = stocked("log", "export", str(file))
    assert refused.status == 2
    assert "--force" in refused.err
    assert file.read_text() == "precious"
    count = stocked.json("log", "export", str(file), "--force")["events"]
    assert len(file.read_bytes().splitlines()) == count


@pytest.mark.parametrize(
    ("what", "status"), [(OSError(28, "No space left"), 2), (KeyboardInterrupt(), 130)], ids=str
)
def test_an_export_that_was_cut_short_leaves_no_part(
    stocked: CommandLine, monkeypatch: pytest.MonkeyPatch, what: BaseException, status: int
) -> None:
    """A part of a log reads like a log: an import would take it for the whole."""

    def begin(_reader: object, out: IO[bytes], _progress: object) -> int:
        out.write(b"{}\n")
        raise what

    file = stocked.folder / "backup.jsonl"
    file.write_text("of yesterday")
    before = sorted(stocked.folder.iterdir())
    monkeypatch.setattr("palimpsest.jobs.log_files.write_log", begin)
    assert stocked("log", "export", str(file), "--force").status == status
    assert stocked("log", "export", str(stocked.folder / "new.jsonl")).status == status
    assert sorted(stocked.folder.iterdir()) == before
    assert file.read_text() == "of yesterday"


def test_a_log_can_be_exported_to_standard_output(stocked: CommandLine) -> None:
    file = stocked.folder / "backup.jsonl"
    stocked.json("log", "export", str(file))
    for words in ((), ("--json",)):
        ran = stocked("log", "export", "-", *words)
        assert ran.out.encode() == file.read_bytes()
        assert f"{len(ran.documents)} events written" in ran.err


def test_a_store_may_be_in_a_folder_of_any_name(palimpsest: CommandLine) -> None:
    """To DuckDB and SQLite, `?` and `#` in a path have a meaning of their own."""
    palimpsest.store = palimpsest.folder / "a?b #c%20[d]*'e" / "store"
    palimpsest.ingest(row(PARIS))
    assert palimpsest.json("recall", "ada", PARIS)[0]["face"] == PARIS
    assert palimpsest.json("sql", "SELECT count(*) AS n FROM decisions") == [{"n": 1}]
    palimpsest.json("rebuild")
    assert palimpsest.json("verify")["differences"] == 0


def test_policies(stocked: CommandLine) -> None:
    names = [policy["name"] for policy in stocked.json("policy", "list")]
    assert "standard" in names
    standard = stocked.json("policy", "show", "standard")
    assert stocked.json("policy", "show") == standard
    own = stocked.folder / "mine.toml"
    own.write_text(stocked("policy", "show", "standard").out.replace('"standard"', '"mine"', 1))
    checked = stocked.json("policy", "check", str(own))
    assert (checked["name"], checked["hash"] != standard["hash"]) == ("mine", True)
    stocked.json("policy", "set", str(own))
    assert stocked.json("policy", "show")["hash"] == checked["hash"]


def test_a_policy_of_the_settings_that_the_store_does_not_have_is_said(
    stocked: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    settings = stocked.folder / "palimpsest.toml"
    settings.write_text('policy = "layered"')
    for command, told in (("status", 1), ("status", 1), ("policy set layered", 0), ("status", 0)):
        caplog.clear()
        assert stocked(*command.split()).status == 0
        assert caplog.text.count("keeps its policy standard (sha256:") == told, command


def test_a_language_is_recorded_with_the_policy_and_another_file_is_told(
    palimpsest: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    """Two texts join by it; the file is not needed again, and a differing one is reported."""
    own, dutch = palimpsest.folder / "mine.toml", palimpsest.folder / "nl.toml"
    rules = palimpsest("policy", "show", "standard").out
    own.write_text('languages = ["nl.toml"]\n' + rules)
    shutil.copy(EXAMPLES / "languages" / "nl.toml", dutch)
    palimpsest.json("policy", "set", str(own))
    texts = "Ada heeft drie honden en een kat.", "Ada heeft 3 honden en een kat."
    palimpsest.ingest(*map(row, texts))
    [decision] = palimpsest.json("sql", "FROM joins")
    assert decision["decision"] == "auto_reject"
    shown = palimpsest.json("show", "--candidate", decision["candidate_id"])
    assert shown["evidence"]["guard"] == guard_hash(tables_of([load_language(dutch)]))
    in_force = palimpsest.json("policy", "show")
    (palimpsest.folder / "palimpsest.toml").write_text('policy = "mine.toml"')
    caplog.clear()
    palimpsest("status")
    assert "keeps its policy" not in caplog.text
    dutch.write_text(dutch.read_text().replace('"niet geen', '"niet geen amper'))
    palimpsest("status")
    assert "for the languages nl, the store uses what it recorded" in caplog.text
    dutch.unlink()
    (palimpsest.folder / "palimpsest.toml").unlink()
    assert palimpsest("rebuild").status == 0
    assert palimpsest.json("verify")["differences"] == 0
    assert palimpsest.json("policy", "show") == in_force
    assert "nl" in palimpsest("policy", "explain").out


def test_a_language_is_added_to_a_preset(palimpsest: CommandLine) -> None:
    files = [str(EXAMPLES / "languages" / f"{code}.toml") for code in ("nl", "tr")]
    added = palimpsest("policy", "set", "standard", "--language", files[0], "--language", files[1])
    assert "nl, tr" in added.out
    assert [one["code"] for one in palimpsest.json("policy", "show")["languages"]] == ["nl", "tr"]
    wrong = palimpsest("policy", "set", "standard", "--language", "fy.toml")
    assert wrong.status == 2
    assert "there is no language file fy.toml" in wrong.err


def test_a_policy_is_explained_by_its_own_numbers(stocked: CommandLine) -> None:
    explained = stocked.json("policy", "explain", "layered")
    assert explained["name"] == "layered"
    assert explained["hash"] == stocked.json("policy", "show", "layered")["hash"]
    assert stocked.json("policy", "explain")["name"] == "standard", "the one in force"
    drawn = stocked("policy", "explain", "layered").out
    assert " ".join(drawn.split()) == " ".join(" ".join(explained["sentences"]).split())


def test_what_is_no_preset_is_shown_as_json(stocked: CommandLine) -> None:
    own = stocked.folder / "mine.toml"
    own.write_text(stocked("policy", "show", "standard").out.replace('"standard"', '"mine"', 1))
    shown = stocked("policy", "show", str(own)).out
    assert json.loads(shown) == stocked.json("policy", "show", str(own))


def test_a_policy_without_the_setting_of_exact_repeats_is_said_to_fold_them(
    palimpsest: CommandLine,
) -> None:
    """As before the setting existed; a policy that names either value gets no such remark."""
    own = palimpsest.folder / "before.toml"
    rules = palimpsest("policy", "show", "standard").out
    own.write_text(rules.replace('exact = "verbatim"\n', ""))
    for command in (("policy", "check", str(own)), ("policy", "set", str(own))):
        ran = palimpsest(*command)
        assert ran.status == 0
        assert "does not set `exact`" in " ".join(ran.err.split())
    assert palimpsest.json("status")["policy"]["exact"] is None
    assert "does not set `exact`" in " ".join(palimpsest("status").out.split())
    assert "search form" in " ".join(palimpsest("policy", "explain").out.split())
    before = palimpsest.json("status")["position"]
    assert palimpsest.json("policy", "set", "store-time")["exact"] == "folded"
    assert palimpsest.json("status")["policy"]["exact"] == "folded"
    assert palimpsest.json("status", "--as-of", str(before))["policy"]["exact"] is None
    assert "exact" not in palimpsest("status").out
    assert "case and white space" in " ".join(palimpsest("policy", "explain").out.split())


def test_a_checked_policy_is_told_in_one_order(palimpsest: CommandLine) -> None:
    own = palimpsest.folder / "mine.toml"
    rules = palimpsest("policy", "show", "standard").out
    own.write_text(re.sub(r"(?m)^description = .*", 'description = "For one tenant"', rules))
    lines = palimpsest("policy", "check", str(own)).out.splitlines()
    assert [line.split()[0] for line in lines] == "name hash search model description".split()
    assert "For one tenant" in lines[-1]


def test_a_wrong_policy_is_reported_with_its_key(stocked: CommandLine) -> None:
    own = stocked.folder / "mine.toml"
    text = stocked("policy", "show", "standard").out
    own.write_text(text.replace("threshold = 0.85", "treshold = 0.85"))
    wrong = stocked("policy", "check", str(own))
    assert wrong.status == 2
    assert "treshold" in wrong.err
    assert stocked("policy", "set", str(own)).status == 2
    assert stocked("policy", "check", "nothing.toml").status == 2


def test_dead_letters_keep_the_bytes(palimpsest: CommandLine) -> None:
    broken = b'{"owner_id": "ada", "text": "\xff"}'
    palimpsest.ingest(row(PARIS), broken, status=1)
    [letter] = palimpsest.json("dead-letters", "list")
    assert (letter["reason"], letter["size"]) == ("not_utf8", len(broken))
    shown = palimpsest.json("dead-letters", "show", letter["id"])
    assert base64.b64decode(shown["base64"]) == broken
    assert shown["text"] is None
    assert r"\xff" in palimpsest("dead-letters", "show", letter["id"]).out
    written = CliRunner().invoke(
        app, ["--store", str(palimpsest.store), "dead-letters", "show", letter["id"], "--raw"]
    )
    assert written.stdout_bytes == broken
    assert palimpsest.json("dead-letters", "list", "--state", "retried") == []
    assert palimpsest.json("dead-letters", "retry", status=1)["invalid"] == 1
    assert palimpsest("dead-letters", "show", "nothing").status == 3


def test_dead_letters_are_listed_a_page_at_a_time(palimpsest: CommandLine) -> None:
    palimpsest.ingest(row(PARIS), *(b"no json %d" % number for number in range(5)), status=1)
    whole = palimpsest.json("dead-letters", "list", "--all")
    assert len(whole) == 5
    last = whole[1]["id"]
    first = palimpsest("--json", "dead-letters", "list", "--limit", "2")
    assert json.loads(first.out) == whole[:2]
    assert f"--after {last}" in first.err
    assert palimpsest("dead-letters", "list", "--limit", f"{2**63 - 1}").status == 0
    assert palimpsest("dead-letters", "list", "--limit", f"{2**63}").status == 2
    end = palimpsest("--json", "dead-letters", "list", "--limit", "3", "--after", last[:12])
    assert json.loads(end.out) == whole[2:]
    assert "--after" not in end.err
    assert palimpsest("dead-letters", "list", "--after", "nothing").status == 3


def test_a_retry_renames_and_gives_the_ids_that_the_first_reading_would_have(
    palimpsest: CommandLine,
) -> None:
    told = [{"owner_id": "ada", "content": text} for text in (PARIS, TEA)]
    file = palimpsest.file(told)
    palimpsest.json("ingest", file, "--source", "chat", status=1)
    assert palimpsest.json("dead-letters", "retry", status=1)["invalid"] == 2
    retried = palimpsest.json("dead-letters", "retry", "--map", "content=text")
    assert retried["decisions"] == {"stored": 2}
    assert len(palimpsest.json("dead-letters", "list", "--state", "retried")) == 2
    again = palimpsest.json("ingest", file, "--source", "chat", "--map", "content=text")
    assert (again["known"], again["decisions"]) == (2, {})


def test_a_retry_that_another_process_decides_on_is_renamed_too(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process reads the row again in its original form."""
    given: list[dict[str, str]] = []
    submit = EmbeddedWriter.submit

    def noted(writer: EmbeddedWriter, inputs: Any, renames: Any) -> Any:
        given.append(renames)
        return submit(writer, inputs, renames)

    palimpsest.ingest({"owner_id": "ada", "content": PARIS}, status=1)
    monkeypatch.setattr(EmbeddedWriter, "submit", noted)
    palimpsest.json("dead-letters", "retry", "--map", "content=text")
    assert given == [{"content": "text"}]


def test_a_letter_of_which_only_the_beginning_was_kept_is_not_retried(
    palimpsest: CommandLine,
) -> None:
    """The row was too large for a topic; its kept beginning may be a valid, but different, row."""
    palimpsest.ingest(row(PARIS))
    whole = json.dumps(row(TEA)).encode() + b" " * 9
    error = InvalidInputError("field", "too large")
    at, sha = datetime(2026, 1, 2, tzinfo=UTC), digest(whole)
    cut = NewDeadLetter(invalid_id(sha), whole[:-9], error, "topic/0/1", at, sha, len(whole))
    with Log.open(palimpsest.store / LOG_FILE) as log, log.transaction():
        DeadLetters(log).follow(cut)
    retried = palimpsest.json("dead-letters", "retry", status=1)
    assert (retried["invalid"], retried["decisions"]) == (1, {})
    [letter] = palimpsest.json("dead-letters", "list")
    assert letter["state"] == "open"
    assert palimpsest.json("status")["candidates"] == 1


def test_schemas_are_written(palimpsest: CommandLine) -> None:
    folder = palimpsest.folder / "made" / "schemas"
    document = palimpsest.json("schemas", str(folder))
    assert sorted(document["files"]) == sorted(path.name for path in folder.iterdir())
    assert "asyncapi.json" in document["files"]
    count = len(document["files"])
    assert palimpsest("schemas", str(folder)).out.startswith(f"{count} files in {folder}\n")


def test_doctor_finds_the_store_well(stocked: CommandLine) -> None:
    document = stocked.json("doctor")
    names = {finding["name"] for finding in document["findings"]}
    assert document["healthy"]
    assert {"python", "model", "store", "writer", "log", "lancedb"} <= names
    missing = [finding for finding in document["findings"] if not finding["found"]]
    assert all(one["remedy"] for one in missing)


def test_doctor_reads_the_model_whatever_was_noted_of_it(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = tmp_path / "model"
    model.write_bytes(b"weights")
    notes = Notes(default_cache_dir())
    monkeypatch.setattr("palimpsest.streams.embedder.notes.SETTLED_NS", 0)
    notes.write(model, "sha256", "0123")
    assert notes.read(model, "sha256") == "0123"
    palimpsest("doctor")
    assert notes.read(model, "sha256") is None


def test_doctor_does_not_blame_the_model_for_notes_that_it_cannot_drop(
    stocked: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(_: Notes) -> None:
        raise PermissionError("not yours")

    monkeypatch.setattr(Notes, "forget", forget)
    [model] = [one for one in stocked.json("doctor")["findings"] if one["name"] == "model"]
    assert model["found"]
    assert model["detail"].endswith(
        "; files that were checked before are not read again: not yours"
    )


def test_doctor_fails_where_something_needed_is_missing(
    stocked: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODEL", "./no-such-folder")
    ran = stocked("doctor")
    assert ran.status == 1
    assert "no-such-folder" in ran.out


def test_doctor_tries_the_embedding_service_in_place_of_a_model(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("PROTOCOL", "openai"),
        ("MODEL", "small"),
        ("BASE_URL", "http://127.0.0.1:9/v1"),
        ("RETRIES", "0"),
    ):
        monkeypatch.setenv(f"PALIMPSEST_EMBEDDER_{name}", value)
    done = palimpsest("--json", "doctor")
    [model] = [one for one in json.loads(done.out)["findings"] if one["name"] == "model"]
    assert (done.status, model["found"]) == (1, False)
    assert "no connection" in model["detail"]
    assert "look at [embedder]" in model["remedy"]


def test_doctor_says_that_the_policy_lets_no_text_go_to_the_embedding_service(
    stocked: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_EMBEDDER_PROTOCOL", "openai")
    monkeypatch.setenv("PALIMPSEST_EMBEDDER_MODEL", DEFAULT_MODEL)
    monkeypatch.setattr(source, "_service", lambda _: FunctionEngine(by_length([]), DEFAULT_MODEL))
    for local in ("", 'local_only = ["health"]\n'):
        rules = stocked.folder / "rules.toml"
        rules.write_text(local + stocked("policy", "show", "standard").out)
        stocked.json("policy", "set", str(rules))
        found = json.loads(stocked("--json", "doctor").out)["findings"]
        [model] = [one for one in found if one["name"] == "model"]
        assert model["found"] is not bool(local)
        assert ("local_only" in model["detail"]) is bool(local)


def test_doctor_suggests_the_extras_that_there_are(palimpsest: CommandLine) -> None:
    file = Path(__file__).parents[3] / "pyproject.toml"
    extras = set(tomllib.loads(file.read_text())["project"]["optional-dependencies"]) - {"dev"}
    names = {finding["name"] for finding in palimpsest.json("doctor")["findings"]}
    assert {name for name in names if name.startswith("extra ")} == {f"extra {e}" for e in extras}


def test_doctor_says_whether_the_judge_can_be_asked(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never shows the key."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (without,) = _judge_of(palimpsest)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-to-be-shown")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:8089")
    (with_one,) = _judge_of(palimpsest)
    assert (without["found"], with_one["found"]) == (False, True)
    assert "8089" in with_one["detail"]
    assert "not-to-be-shown" not in palimpsest("doctor").out


def test_doctor_knows_the_judges_protocol(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PALIMPSEST_JUDGE_PROTOCOL", "openai-chat")
    monkeypatch.setenv("PALIMPSEST_JUDGE_MODEL", "local")
    (without,) = _judge_of(palimpsest)
    monkeypatch.setenv("PALIMPSEST_JUDGE_BASE_URL", "http://127.0.0.1:11434/v1")
    (local,) = _judge_of(palimpsest)
    assert (without["found"], local["found"]) == (False, True)
    assert "OPENAI_API_KEY" in without["remedy"]
    assert local["detail"].startswith("openai-chat: no key")


def test_doctor_knows_the_judges_platform(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_JUDGE_MODEL", "a-clouds-name")
    for platform, variables in PLATFORM_KEYS.items():
        for name in variables:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PALIMPSEST_JUDGE_PLATFORM", platform)
        (without,) = _judge_of(palimpsest)
        monkeypatch.setenv(variables[-1], "not-to-be-shown")
        (with_one,) = _judge_of(palimpsest)
        assert (without["found"], with_one["found"]) == (False, True)
        assert without["remedy"].endswith(variables[-1])
        assert with_one["detail"] == f"{platform}: {variables[-1]} in the environment"


def _judge_of(palimpsest: CommandLine) -> list[dict[str, Any]]:
    findings = palimpsest.json("doctor")["findings"]
    return [finding for finding in findings if finding["name"] == "judge"]


def test_doctor_marks_what_is_missing_by_whether_it_is_needed() -> None:
    def line(**found: Any) -> str:
        whole = {"found": True, "detail": "d", "remedy": "do so", **found}
        return finding_line(DoctorFinding("x", **whole)).plain

    assert line() == "✓ x: d"
    assert line(found=False) == "✗ x: d\n    do so"
    assert line(found=False, needed=False) == "- x: d\n    do so"
    assert line(found=False, remedy=None) == "✗ x: d"


def test_a_cache_that_is_not_there_yet_can_be_made_where_its_parent_can_be_written(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "not" / "there"
    found = _graph_cache(folder)
    assert (found.found, found.detail) == (True, f"{folder}, 0 graphs")
    folder.mkdir(parents=True)
    (folder / "a.onnx").touch()
    (folder / "notes.json").touch()
    assert _graph_cache(folder).detail == f"{folder}, 1 graph"


def test_doctor_finds_what_keeps_a_store_from_working(
    stocked: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(name: str) -> dict[str, Any]:
        """The last finding with this name: a projection is named after its package."""
        ran = stocked("--json", "doctor")
        *_, one = (finding for finding in ran.document["findings"] if finding["name"] == name)
        assert ran.document["healthy"] is (ran.status == 0)
        assert ran.document["healthy"] is (one["found"] or not one["needed"])
        return dict(one)

    position = stocked.json("status")["position"]
    assert found("log")["detail"] == f"{position} events read, none damaged"
    assert found("lancedb")["detail"] == "0 events behind"
    assert found("graph cache")["needed"] is False
    assert "standard, with thresholds for all-MiniLM-L6-v2" in found("policy")["detail"]
    with monkeypatch.context() as meanwhile:
        for free, enough in ((ENOUGH_BYTES, True), (ENOUGH_BYTES - 1, False)):
            meanwhile.setattr("shutil.disk_usage", lambda _, n=free: Mock(free=n))
            disk = found("disk")
            assert (disk["found"], disk["detail"]) == (enough, "0.1 GB free")
    with WriterLock(stocked.store):
        assert found("writer")["detail"] == "another process is writing"
    assert found("writer")["detail"] == "no process is writing"
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(embedder, "load_engine", Mock(side_effect=ValueError("no weights")))
        model = found("model")
    assert (model["found"], "ValueError: no weights" in model["detail"]) == (False, True)


def test_doctor_reports_a_damaged_log(stocked: CommandLine) -> None:
    (stocked.store / LOG_FILE).write_bytes(b"no database" * 1_000)
    ran = stocked("--json", "doctor")
    [log] = [finding for finding in ran.document["findings"] if finding["name"] == "log"]
    assert (ran.status, log["found"], log["remedy"]) == (1, False, "restore it from a copy")


def test_doctor_and_status_say_that_the_judge_refused_its_last_request(
    stocked: CommandLine,
) -> None:
    file = stocked.store / FILE
    with closing(Budget(file, JudgeSettings(), lambda: datetime.now(UTC))) as budget:
        budget.note_refusal("the service refuses the key (status 401)")
    document = stocked.json("doctor")
    [judge] = [one for one in document["findings"] if one["name"] == "judge's last request"]
    assert "status 401" in judge["detail"]
    assert document["healthy"]
    assert stocked.json("status")["judge"]["refused"]["why"] in judge["detail"]
    with closing(Budget(file, JudgeSettings(), lambda: datetime.now(UTC))) as budget:
        budget.note_acceptance()
    assert stocked.json("status")["judge"]["refused"] is None
    file.write_bytes(b"damaged")
    assert "delete it" in stocked.json("status")["judge"]["refused"]["why"]


def test_doctor_needs_no_store(palimpsest: CommandLine) -> None:
    assert palimpsest.json("doctor")["healthy"]
    assert not palimpsest.store.exists()


@pytest.mark.parametrize("command", ["dedupe", "review run", "review next"])
def test_an_unknown_owner_is_reported(stocked: CommandLine, command: str) -> None:
    ran = stocked(*command.split(), "--owner", "adda")
    assert ran.status == 1
    assert "there is no owner adda" in ran.err


def test_check_says_what_would_become_of_a_text(palimpsest: CommandLine) -> None:
    palimpsest.holds(row("every winter two cats sleep near our stove"))
    [candidate] = palimpsest.ids()
    ran = palimpsest("check", "ada", "each winter two cats sleep near our stove")
    assert ran.status == 0
    assert "nothing was written" in ran.out
    answer = palimpsest.json("check", "ada", "two cats", "--field", "namespace=other")
    assert (answer["decision"], answer["neighbours"]) == ("stored", [])
    answer = palimpsest.json("check", "ada", " every winter two cats sleep near our stove")
    assert answer["decision"] == "hash_exact"
    assert answer["neighbour"]["candidate_id"] == candidate
    invalid = palimpsest("check", "ada", "tea", "--field", "confidence=much")
    assert invalid.status == 1
    assert "confidence" in invalid.err
    assert palimpsest("check", "ada", "tea", "--field", "confidence").status == 2
    assert palimpsest.json("status")["candidates"] == 1


def test_one_memory_is_added(palimpsest: CommandLine) -> None:
    said = palimpsest("add", "ada", "Ada has a dog", "--session", "s", "--json").document
    assert (said["result"], said["decision"]) == ("decided", "stored")
    again = palimpsest("add", "ada", "-", "--json", stdin="Ada has a dog").document
    assert again["joined_to"] == said["candidate_id"]
    assert palimpsest("add", "ada", " ").status == 1


def test_rows_without_an_owner_get_one(palimpsest: CommandLine) -> None:
    rows = [
        {"text": "Ada sails"},
        {"text": "Ada rows", "user": None},
        {"text": "Bob sails", "user": "bob"},
        5,
    ]
    file = palimpsest.folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ingested = ("ingest", str(file), "--owner", "ada", "--map", "user=owner_id", "--json")
    first = palimpsest(*ingested)
    assert (first.document["decisions"], first.document["invalid"]) == ({"stored": 3}, 1)
    assert palimpsest(*ingested).document["known"] == 3
    counted = [palimpsest("list", one, "--json").document["total"] for one in ("ada", "bob")]
    assert counted == [2, 1]
    table = palimpsest.folder / "rows.csv"
    table.write_text("text\nAda climbs\n")
    assert palimpsest("ingest", str(table), "--owner", "ada", "--json").document["rows"] == 1
    assert palimpsest("ingest", str(table)).status == 1


def test_a_document_is_one_line_for_every_reader(palimpsest: CommandLine) -> None:
    said = "first\u2028second\u2029third"
    palimpsest("add", "ada", said)
    listed = palimpsest("list", "ada", "--json")
    assert not {"\u2028", "\u2029"} & {*listed.out}
    assert listed.document["memories"][0]["face"] == said
