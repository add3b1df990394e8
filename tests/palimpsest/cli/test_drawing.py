"""The lines of each drawing of an answer, and what it leaves out."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console, RenderableType

from palimpsest.cli import rendering
from palimpsest.cli.commands.judge import (
    _counts_as_text,
    _dedupe_report,
    _just_this,
    _review_report,
)
from palimpsest.cli.rendering import SHOWN_BYTES, SHOWN_MANY


def lines(drawn: RenderableType) -> list[str]:
    """A drawing as lines of words, without columns or the branches of a tree."""
    console = Console(file=io.StringIO(), width=400)
    console.print(drawn)
    assert isinstance(console.file, io.StringIO)
    words = console.file.getvalue().translate(dict.fromkeys(map(ord, "│├└─"), " "))
    return [" ".join(line.split()) for line in words.splitlines() if line.strip()]


def test_a_value_is_text_and_nothing_else() -> None:
    assert [str(rendering.shown(one)) for one in (None, 0, False, "[b]\x1b\n", 0.1 + 0.2)] == [
        "",
        "0",
        "False",
        "[b]\\x1b\\n",
        "0.3",
    ]


def test_fields_have_lists_and_objects_as_json() -> None:
    answer: dict[str, Any] = {"a": {"é": [1, None]}, "b": [], "c": "x", "d": None}
    assert lines(rendering.fields(answer)) == ['a {"é": [1, null]}', "b []", "c x", "d"]


SUMMARY: dict[str, Any] = {
    "rows": 3_000,
    "decisions": {"stored": 2_000, "hash_exact": 1},
    "known": 4,
    "heard": 5,
    "invalid": 6,
    "published": 7,
    "seconds": 2.0,
    "invalid_rows": [{"row": 2, "reason": "field", "detail": "no text"}],
}


def test_a_summary_counts_what_there_is() -> None:
    assert lines(rendering.summary_table(SUMMARY)) == [
        "3,000 rows",
        "1 repeated (hash_exact)",
        "2,000 stored",
        "4 known already",
        "5 sessions and accesses recorded",
        "6 invalid",
        "7 published to the cluster",
        "2.0 s, 1,500 rows/s",
        "row 2: field: no text",
    ]
    none = dict.fromkeys(("known", "heard", "invalid", "published", "seconds"), 0)
    nothing = SUMMARY | none | {"rows": 0, "decisions": {}, "invalid_rows": []}
    assert lines(rendering.summary_table(nothing)) == ["0 rows", "0.0 s, 0 rows/s"]


BROUGHT: dict[str, Any] = {
    "source": "notes",
    "kind": "file",
    "mapping": {"text": ["data", "memory"], "id": ["key"]},
    "owner": None,
    "as_metadata": [],
    "left_out": [],
}


def test_a_mapping_names_what_becomes_of_every_field() -> None:
    head = ["notes (file)", "text data, else memory", "id key"]
    assert lines(rendering.mapping_table(BROUGHT)) == head
    more = BROUGHT | {"owner": "a\nda", "as_metadata": ["x", "y"], "left_out": ["v"]}
    assert lines(rendering.mapping_table(more)) == [
        *head,
        "rows without an owner belong to a\\nda",
        "kept as metadata: x, y",
        "left out: v",
    ]


@pytest.mark.parametrize("count", [0, 1, SHOWN_MANY, SHOWN_MANY + 1])
def test_of_repeats_the_first_are_listed(count: int) -> None:
    repeats = [
        {"old_id": f"old{n}", "keep_id": f"keep{n}", "assertion_preview": f"text{n}"}
        for n in range(count)
    ]
    foreseen = BROUGHT | {
        "rows": 1_000,
        "owners": 2,
        "invalid": 3,
        "with_vectors": 4,
        "repeats": repeats,
        "invalid_rows": [{"row": 9, "reason": "field", "detail": "no text"}],
        "remarks": ["a remark"],
    }
    found = lines(rendering.foreseen_table(foreseen))
    assert found[3:8] == [
        "1,000 rows",
        "2 owners",
        "3 invalid",
        "4 with vectors",
        f"{count} repeat another row's text",
    ]
    listed = [f"old{n} keep{n} text{n}" for n in range(min(count, SHOWN_MANY))]
    assert [one for one in found if one.startswith("old")] == [
        *(["old_id keep_id assertion_preview"] if count else []),
        *listed,
    ]
    assert ("and 1 more: --json lists them all" in found) is (count > SHOWN_MANY)
    assert found[-2:] == ["row 9: field: no text", "a remark"]


@pytest.mark.parametrize("count", [0, SHOWN_MANY, SHOWN_MANY + 1])
def test_an_export_says_where_it_is_and_how_to_go_back(count: int) -> None:
    names = ("old_id", "change", "keep_id", "assertion_preview", "take_back")
    report: dict[str, Any] = {
        "rows": 100,
        "changed": count,
        "left": 0,
        "left_as_they_are": 0,
        "unknown": 0,
        "changed_rows": [{name: f"{name}{n}" for name in names} for n in range(count)],
        "dry_run": False,
        "to": "copy.jsonl",
        "take_back": "how to go back",
    }
    found = lines(rendering.export_report(report))
    assert found[:2] == ["100 rows", f"{count} changed in the copy"]
    assert "written to copy.jsonl" in found
    assert ("how to go back" in found) is bool(count)
    assert (" ".join(names) in found) is bool(count)
    assert sum(one.startswith("old_id") for one in found) == (1 + SHOWN_MANY if count else 0)
    more = "and 1 more: the report and --json have them all"
    assert (more in found) is (count > SHOWN_MANY)
    also = {"left": 1, "left_as_they_are": 2, "unknown": 3, "dry_run": True}
    found = lines(rendering.export_report(report | also))
    assert found[2:5] == [
        "1 not changed yet: --max-changes allows more",
        "2 stay unchanged, though their memory has another text",
        "3 not in the store, left unchanged",
    ]
    assert "nothing is written" in found
    assert "written to copy.jsonl" not in found
    assert "--model-of-vectors" in found[-1]


STATUS: dict[str, Any] = {
    "candidates": 1_000,
    "folded": 0,
    "unembedded": 0,
    "decisions": {"stored": 600, "hash_exact": 400},
    "judge": {"waiting": 1, "verdicts": 2, "calls": 3.0, "usd": 0.5, "refused": None},
    "lag": {"lancedb": 0, "duckdb": 7},
    "verified": None,
    "unnamed": 0,
    "alike_ids": 0,
    "behind": None,
    "policy": {"name": "standard", "hash": "abc", "exact": "verbatim"},
    "position": 12,
}


def test_a_status_says_that_ids_in_two_forms_are_two_owners() -> None:
    *_, hint = lines(rendering.status_table(STATUS | {"alike_ids": 1}))
    assert hint.startswith("1 owner id in several Unicode forms")


def test_a_status_says_why_the_judge_is_not_asked() -> None:
    refused = {"at": "2026-11-30T12:00:00+00:00", "why": "the service refuses the key"}
    judge = STATUS["judge"] | {"refused": refused}
    drawn = lines(rendering.status_table(STATUS | {"judge": judge}))
    said = "the judge cannot be asked since 2026-11-30T12:00:00+00:00: the service refuses the key"
    assert said in drawn


def test_a_status_has_all_its_counts() -> None:
    assert lines(rendering.status_table(STATUS)) == [
        "1,000 candidates",
        "1,000 decisions",
        "600 stored",
        "400 repeated (hash_exact)",
        "1 waiting for the judge; 2 verdicts, 3 calls, $0.5000",
        "log at position 12; lancedb 0 behind, duckdb 7 behind",
        "policy standard abc",
        "never verified",
    ]
    waiting = {"behind": 1_234, "folded": 3, "unembedded": 5}
    found = lines(rendering.status_table(STATUS | waiting))
    assert found[1:3] == ["3 folded", "5 unembedded"]
    assert found[-3].endswith("duckdb 7 behind; 1,234 records behind the cluster")
    hint = " ".join(lines(rendering.status_table(STATUS | {"unnamed": 2}))[8:])
    assert hint.startswith("2 owners called by several names")


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        ({"differences": 0, "damage": None}, "0 differences"),
        ({"differences": 1_234, "damage": None}, "1,234 differences"),
        ({"differences": 0, "damage": "page 2 is damaged"}, "page 2 is damaged"),
    ],
)
def test_a_status_says_what_verify_found_last(outcome: dict[str, Any], sentence: str) -> None:
    verified = {"at": "2026-11-26T20:00:00+00:00", "position": 12, "checked": 40, **outcome}
    drawn = " ".join(lines(rendering.status_table(STATUS | {"verified": verified})))
    assert f"verified 2026-11-26T20:00:00+00:00 at position 12: {sentence}" in drawn


def member(text: str, **also: Any) -> dict[str, Any]:
    return {"text": text, "relation": "wording", **also}


def test_a_recalled_memory_has_what_is_known_of_it() -> None:
    memory: Any = {
        "score": 0.9876,
        "face": "Ada sings.",
        "memory_id": "m",
        "members": [member("a"), member("was", relation="former")],
        "folded": [],
        "unsettled": ["x", "y"],
        "confidence": 0.0,
        "importance": None,
    }
    assert lines(rendering.recalled([memory])) == [
        "0.988 Ada sings.",
        "m 2 wordings 2 memories unsettled confidence 0.00",
        "former: was",
    ]
    other = memory | {"folded": ["x"], "unsettled": [], "importance": 0.5, "members": [member("a")]}
    assert lines(rendering.recalled([other]))[1:] == [
        "m 1 wording 1 memory folded confidence 0.00 importance 0.50"
    ]
    assert lines(rendering.recalled([])) == ["nothing found"]


@pytest.mark.parametrize(("total", "counted"), [(1, "1 memory"), (2_000, "2,000 memories")])
def test_a_page_says_how_the_next_one_is_asked_for(total: int, counted: str) -> None:
    memory = {
        "memory_id": "m",
        "namespace": "n",
        "updated_at": "2026-01-02T03:04:05.678+00:00",
        "members": [member("a")] * 3,
        "face": "Ada sings.",
    }
    found: Any = {"memories": [memory], "total": total, "next": "m"}
    head, row, last = (line for line in lines(rendering.page(found)))
    assert head == "memory namespace updated wordings face"
    assert row == "m n 2026-01-02T03:04:05 3 Ada sings."
    assert last == f"{counted}; more with --after m"
    found["next"] = None
    assert lines(rendering.page(found))[-1] == counted
    found["memories"] = []
    assert lines(rendering.page(found)) == ["no memories"]


MEMORY: dict[str, Any] = {
    "memory_id": "m",
    "owner_id": "ada",
    "namespace": "n",
    "face": "Ada sings.",
    "members": [],
}


@pytest.mark.parametrize(
    ("about", "marks"),
    [
        ({}, ""),
        ({"living": False}, " retracted"),
        ({"state": "retracted"}, " retracted"),
        ({"state": "pending"}, " pending"),
        ({"living": True, "state": "living"}, ""),
        ({"moved": True, "id": "old"}, " moved from old"),
        ({"needs_composition": True}, " needs composition"),
    ],
)
def test_a_memory_says_in_what_state_it_is(about: dict[str, Any], marks: str) -> None:
    assert lines(rendering.memory_tree(MEMORY | about))[1] == f"memory m ada / n{marks}"


def test_a_wording_says_where_it_came_from() -> None:
    one = {
        "text": "Ada sang.",
        "decision": "stored",
        "source": "chat",
        "session_id": None,
        "occurred_at": "2026-01-01",
        "relation": "former",
        "candidate_id": "c",
    }
    found = lines(rendering.found_memory(MEMORY | {"members": [one]}))  # type: ignore[arg-type]
    assert found == [
        "Ada sings.",
        "memory m ada / n",
        "Ada sang.",
        "stored from chat 2026-01-01 former",
        "candidate c",
    ]


def test_a_member_says_why_it_is_there() -> None:
    bare = {"text": "a", "candidate_id": "c", "decision_id": "d", "decision": "stored"}
    full = bare | {
        "candidate_id": "e",
        "joined_to": "c",
        "similarity": 0.0,
        "check": "cosine",
        "source": "chat",
        "decided_at": "2026-01-01",
        "cues": ["number", "name"],
        "living": False,
        "pending": True,
        "reasoning": "the same",
        "supports": [{"decision": "judged", "joined_to": "x", "decision_id": "y"}],
    }
    why = "stored similarity 0.0000 by the check cosine from chat 2026-01-01"
    found = lines(rendering.memory_tree(MEMORY | {"members": [bare, full]}))
    assert found[2:] == [
        "a",
        "stored",
        "candidate c decision d",
        "a",
        f"{why} cue number cue name retracted pending",
        "candidate e decision d",
        "the judge: the same",
        "also judged to x decision y",
    ]


EVENT: dict[str, Any] = {
    "decided_at": "2026-01-01",
    "event": "joined",
    "did": "a person joined it",
    "event_id": "e",
    "candidate_id": "c",
}


def test_an_event_says_who_and_why_each_thing_once() -> None:
    assert lines(rendering._event(EVENT)) == [
        "2026-01-01 joined",
        "a person joined it",
        "c event e",
    ]
    more = {
        "rank": "person",
        "actor": "bob",
        "other_id": "d",
        "because": "same",
        "reasoning": "same",
        "detail": "more",
        "consequence_of": "x",
        "decision": "manual_join",
        "command": "merge",
        "answers": "q",
    }
    assert lines(rendering._event(EVENT | more)) == [
        "2026-01-01 joined manual_join merge person bob same more as a consequence of x",
        "a person joined it",
        "c and d event e answers q",
    ]


@pytest.mark.parametrize("name", ["because", "reasoning", "detail"])
def test_an_event_has_its_reason_from_wherever_it_is(name: str) -> None:
    assert lines(rendering._event(EVENT | {name: "why"}))[0] == "2026-01-01 joined why"


def test_a_history_names_the_face_when_it_changes() -> None:
    events = [EVENT | {"face": one} for one in ("a", "a", "b", None, "b")]
    found: Any = MEMORY | {"events": events}
    faces = [line for line in lines(rendering.history(found)) if line.startswith("face:")]
    assert faces == ["face: a", "face: b", "face:", "face: b"]


def test_a_plan_says_why_each_memory_may_be_meant() -> None:
    hit = {"face": "Ada sings.", "members": ["a"], "memory_id": "m", "score": 0.98765, "text": "x"}
    found = {"hits": [hit | {"why": "cosine"}, hit | {"why": "alias"}], "token": "t"}
    assert lines(rendering.plan(found)) == [
        "0.988 Ada sings.",
        "m 1 candidate",
        "alias Ada sings.",
        "by: x",
        "m 1 candidate",
        "token t",
    ]
    assert lines(rendering.plan({"hits": [], "token": "t"})) == ["nothing found"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({}, ["stored at d at position 3"]),
        ({"similarity": 0.0}, ["stored 0.0000 at d at position 3"]),
        ({"standing": True}, ["stored at d at position 3"]),
        ({"standing": False}, ["stored at d at position 3 taken back"]),
        (
            {"joined_to": "x", "owner_id": "ada", "candidate_id": "c", "decision_id": "i"},
            [
                "stored at d at position 3",
                "owner_id ada",
                "decision_id i",
                "candidate_id c",
                "joined_to x",
            ],
        ),
    ],
)
def test_a_decision_has_its_ids(row: dict[str, Any], told: list[str]) -> None:
    whole = {"decision": "stored", "decided_at": "at d", "position": 3} | row
    assert lines(rendering.decision_lines(whole)) == told


@pytest.mark.parametrize(("columns", "is_table"), [(8, True), (9, False)])
def test_rows_are_a_table_while_their_columns_are_few(columns: int, is_table: bool) -> None:
    rows = [{f"c{n}": n for n in range(columns)} for _ in range(2)]
    found = lines(rendering.query_table(rows))
    assert (len(found) == 3) is is_table
    assert lines(rendering.query_table([])) == ["no rows"]


BULK: dict[str, Any] = {"owners": 1, "refused": [], "retracted": ["a"], "reversed": ["a", "b"]}
REFUSED = {"decision_id": "d", "detail": "a person said so", "reason": "outranked"}


@pytest.mark.parametrize(
    ("done", "answer", "told"),
    [
        ("retracted", {}, "1 candidate of 1 owner done"),
        ("reversed", {"owners": 2_000}, "2 joins of 2,000 owners done"),
        ("reversed", {"refused": [REFUSED]}, "2 joins of 1 owner done; 1 refused"),
        ("reversed", {"left_out": {"reversed": 10}}, "12 joins of 1 owner done"),
        ("reversed", {"left_out": {"refused": 3}}, "2 joins of 1 owner done; 3 refused"),
        (
            "reversed",
            {"asks": 1},
            "2 joins of 1 owner done; 1 question to the judge would be open again",
        ),
    ],
)
def test_a_bulk_request_is_counted(done: str, answer: dict[str, Any], told: str) -> None:
    whole = BULK | answer
    assert rendering.bulk_count("done", done, whole) == told
    assert rendering.selected("reversed", whole) == 2 + len(whole["refused"]) + sum(
        whole.get("left_out", {}).values()
    )


@pytest.mark.parametrize("count", [1, SHOWN_MANY, SHOWN_MANY + 2])
def test_a_bulk_request_lists_what_it_means(count: int) -> None:
    about = {"owner_id": "ada", "decision": "judged", "source": "chat"}
    join = about | {
        "decision_id": "d",
        "candidate_id": "c",
        "older_text": "older",
        "newer_text": "newer",
        "similarity": 0.5,
    }
    alone = about | {"candidate_id": "c", "text": "said", "similarity": None}
    items = [join, *[alone] * (count - 1)]
    answer = BULK | {"joins": items[:1], "candidates": items[1:], "refused": [REFUSED]}
    found = lines(rendering.bulk("done", "reversed", answer))
    assert found[1:4] == ["ada judged 0.5000 from chat d", "older", "newer"]
    assert found.count("ada judged from chat c") == min(count, SHOWN_MANY) - 1
    assert ("… and 2 more; --json shows all" in found) is (count > SHOWN_MANY)
    assert found[-1] == "refused: d: a person said so (outranked)"


LETTER = {"id": "l", "state": "open", "origin": "a/1", "reason": "field", "detail": "no text"}


def test_letters_are_listed_with_their_reasons() -> None:
    assert lines(rendering.dead_letters([LETTER | {"size": 7}])) == [
        "l open a/1",
        "field: no text (7 bytes)",
    ]
    assert lines(rendering.dead_letters([])) == ["no dead letters"]


@pytest.mark.parametrize(
    ("kept", "size", "told"),
    [
        (10, 10, []),
        (10, 11, ["only the first 10 bytes were kept"]),
        (SHOWN_BYTES, SHOWN_BYTES, []),
        (SHOWN_BYTES + 1, SHOWN_BYTES + 1, ["… 1 more byte; --raw gives all"]),
    ],
)
def test_a_letter_says_what_is_missing_of_it(kept: int, size: int, told: list[str]) -> None:
    found = lines(rendering.dead_letter({"size": size}, b"x" * kept))
    assert [one for one in found[1:] if not one.startswith("xx")] == told
    assert "".join(found[1:]).count("x") == min(kept, SHOWN_BYTES)


def test_a_dead_letter_is_cut_between_characters() -> None:
    original = ("xx" + "日" * SHOWN_BYTES).encode()
    found = "".join(lines(rendering.dead_letter({"size": len(original)}, original)))
    assert "日" in found
    assert "\\x" not in found


def test_a_candidate_shows_what_was_looked_at() -> None:
    evidence = {
        "asked": ["n2"],
        "neighbours": [
            {"candidate_id": "n1", "cosine": 0.5, "jaccard": 0.0, "cues": ["number"], "text": "b"},
            {"candidate_id": "n2", "cosine": None},
        ],
        "verdicts": [{"neighbour_id": "n2", "answer": "same", "reasoning": "it is"}],
        "thresholds": [{"check": "cosine", "at_least": 0.9, "then": "joined"}],
    }
    candidate = MEMORY | {
        "text": "a",
        "session_id": "s",
        "candidate_id": "c",
        "decision_id": "d",
        "decision": "stored",
        "evidence": evidence,
        "joins": [
            {"standing": standing, "joined_to": "x", "decision": "judged", "decision_id": "y"}
            for standing in (True, False)
        ],
        "timeline": [EVENT],
    }
    assert lines(rendering.candidate_tree(candidate)) == [
        "a",
        "ada / n / s",
        "a",
        "stored",
        "candidate c decision d",
        "looked at",
        "b",
        "n1 cosine 0.5000 jaccard 0.0000 cue number",
        "n2 asked the judge",
        "the judge on n2: same it is",
        "thresholds: cosine 0.9 joined",
        "joined with x judged decision y",
        "joined with x (reversed since) judged decision y",
        "in the memory m",
        "Ada sings.",
        "timeline",
        "2026-01-01 joined",
        "a person joined it",
        "c event e",
    ]
    bare = candidate | {"evidence": None, "joins": [], "timeline": [], "session_id": None}
    found = lines(rendering.candidate_tree(bare))
    assert found[1] == "ada / n"
    assert "looked at" not in found
    assert "timeline" not in found


CHECKED: dict[str, Any] = {
    "result": "decided",
    "decision": "stored",
    "similarity": None,
    "neighbour": None,
    "memory_id": "m",
    "duration_ms": 1.25,
    "reason": None,
    "detail": None,
}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({}, ["stored"]),
        ({"result": "known"}, ["known: stored"]),
        (
            {"result": "invalid", "reason": "field", "detail": "no text"},
            ["invalid: field: no text"],
        ),
        ({"reason": "forgotten", "detail": "it was forgotten"}, ["stored", "it was forgotten"]),
        (
            {"neighbour": {"memory_id": "x", "face": "b"}, "similarity": 0.0},
            ["stored 0.0000", "it would join the memory x", "b"],
        ),
        (
            {"neighbour": {"memory_id": "x", "face": "b"}, "memory_id": None},
            ["stored", "a judge would be asked about the memory x", "b"],
        ),
        (
            {"neighbours": [{"candidate_id": "n", "cosine": 0.5}]},
            ["stored", "looked at", "n cosine 0.5000"],
        ),
    ],
)
def test_a_check_says_what_would_become_of_it(answer: dict[str, Any], told: list[str]) -> None:
    assert lines(rendering.checked(CHECKED | answer)) == [*told, "1.2 ms; nothing was written"]


def test_pairs_across_namespaces_have_both_names() -> None:
    pair = {"similarity": 0.5, "a": "urn:a", "b": "urn:b", "a_face": "x", "b_face": "y"}
    assert lines(rendering.alike([pair])) == ["0.5000", "x", "urn:a", "y", "urn:b"]
    assert lines(rendering.alike([])) == ["no similar memories across namespaces"]


def test_a_change_names_its_decisions_and_what_rested_on_them() -> None:
    consequence = {
        "was": {"decision": "judged", "joined_to": "x"},
        "would_be": {"decision": "stored", "joined_to": None},
        "asks": ["p", "q"],
        "text": "later",
        "candidate_id": "c",
    }
    answer: dict[str, Any] = {
        "reversed": ["d", "e"],
        "refused": [REFUSED],
        "memories": [
            MEMORY
            | {
                "members": [
                    {"text": "a", "candidate_id": "b"},
                    {"text": "f", "candidate_id": "g", "living": False},
                ]
            }
        ],
        "consequences": [consequence],
    }
    assert lines(rendering.changed("reversed", answer)) == [
        "reversed: d",
        "reversed: e",
        "refused: d: a person said so (outranked)",
        "Ada sings.",
        "memory m ada / n",
        "a",
        "b",
        "f",
        "g retracted",
        "without it, later decisions would be:",
        "later",
        "c",
        "judged x would be stored, never asked about p, q",
    ]
    assert lines(rendering.changed("confirmed", {"decision_id": "d"})) == ["confirmed: d"]
    assert lines(rendering.changed("withdrawn", {})) == ["withdrawn"]
    done = answer | {"carried_out": ["c"]}
    assert "carried out:" in lines(rendering.changed("reversed", done))
    assert "would be carried out:" in lines(rendering.changed("would be reversed", done))


DEDUPED: dict[str, Any] = {
    "memories": 2_000,
    "owners": 1,
    "pairs": 5,
    "all_pairs": 1_000,
    "asked": {"same": 2, "different": 3},
    "why_left": {},
    "dry_run": False,
    "cost": {"calls": 4, "usd": 0.25},
    "joined": [],
    "refused": [],
    "runs": [],
}


def test_a_batch_run_reports_what_it_did() -> None:
    pair = {
        "decision": "judged",
        "similarity": 0.5,
        "older_text": "older",
        "newer_text": "newer",
    }
    joined = [pair, pair | {"face": "speaks"}, pair | {"face": "speaks", "composed": "both"}]
    runs = [
        {"owner_id": "bob", "skipped": {"detail": "not due"}},
        {"owner_id": "ada", "warnings": ["few"]},
    ]
    answer = DEDUPED | {
        "joined": joined,
        "refused": [{"a": "x", "b": "y", "reason": "outranked"}],
        "runs": runs,
    }
    told = [
        "memories: 2,000 (owners: 1)",
        "pairs compared: 5 of 1,000 (0.5%)",
        "verdicts: 3 different, 2 same",
        "joined: 3",
        *("judged 0.5000 older", "newer"),
        *("judged 0.5000 older", "newer", "= speaks"),
        *("judged 0.5000 older", "newer", "= both"),
        "failed: x and y (outranked)",
        "skipped: bob: not due",
        "warning: ada: few",
    ]
    assert lines(_dedupe_report(answer, "just this")) == told
    found = lines(_dedupe_report(answer | {"dry_run": True}, "just this"))
    assert found == [
        *told[:3],
        "calls for this dry run: 4 ($0.2500)",
        "would be joined: 3",
        *told[4:-1],
        "to include these: --force",
        told[-1],
        "to do exactly this: just this",
    ]


def test_a_batch_run_of_nothing_is_told_shortly() -> None:
    nothing = DEDUPED | {"all_pairs": 0, "pairs": 0, "asked": {}, "dry_run": True}
    unknown = nothing | {"cost": {"calls": 1, "usd": None}}
    assert lines(_dedupe_report(unknown, "just this")) == [
        "memories: 2,000 (owners: 1)",
        "pairs compared: 0 of 0 (0.0%)",
        "verdicts: none, the judge was not asked",
        "calls for this dry run: 1 (price unknown)",
        "would be joined: 0",
    ]
    free = nothing | {"cost": {"calls": 0, "usd": 0.0}}
    assert not any("calls" in line for line in lines(_dedupe_report(free, "just this")))


def test_calls_that_cost_nothing_have_a_known_price() -> None:
    free = DEDUPED | {"dry_run": True, "cost": {"calls": 2, "usd": 0.0}}
    assert "calls for this dry run: 2 ($0.0000)" in lines(_dedupe_report(free, "just this"))


def test_every_warning_of_a_batch_run_is_told() -> None:
    warned = DEDUPED | {"runs": [{"owner_id": "ada", "warnings": ["one", "two"]}]}
    told = [line for line in lines(_dedupe_report(warned, "")) if line.startswith("warning")]
    assert told == ["warning: ada: one", "warning: ada: two"]


def test_what_a_verifier_did_is_counted_in_a_line_each() -> None:
    counts = {"questions": 0, "answers": {}, "outcomes": {"a": 1, "b": 2}, "waiting": None}
    found = _counts_as_text(counts | {"calls": 1234567.0, "usd": 12345.6789})
    assert {name: str(value) for name, value in found.items()} == {
        "questions": "0",
        "answers": "none",
        "outcomes": "1 a, 2 b",
        "calls": "1234567",
        "usd": "12345.6789",
    }


@pytest.mark.parametrize(
    ("owner", "force", "command"),
    [
        (None, False, "palimpsest dedupe --plan t"),
        ("a b", False, "palimpsest dedupe --owner 'a b' --plan t"),
        ("ada", True, "palimpsest dedupe --owner ada --force --plan t"),
    ],
)
def test_the_command_for_just_this(owner: str | None, force: bool, command: str) -> None:
    assert _just_this("t", owner, force=force) == command


def test_a_review_reports_what_it_found() -> None:
    answer = {
        "exact": 1_000,
        "confirmed": 2,
        "reversed": [{"decision": "judged", "decision_id": "d", "reasoning": "another flat"}],
        "left": 3,
        "why_left": {},
        "refused": [REFUSED],
    }
    assert lines(_review_report(answer)) == [
        "1,000 exact repeats and 2 others confirmed",
        "1 reversed, 3 left unreviewed",
        "reversed: judged d: another flat",
        "refused: d: a person said so (outranked)",
    ]


def test_differences_are_counted_and_listed() -> None:
    found = {"differences": 1, "checked": 2, "details": ["a row is missing"]}
    assert lines(rendering.verified(found)) == ["1 difference, 2 checked", "a row is missing"]
    assert lines(rendering.verified({"differences": 0, "checked": 2})) == [
        "0 differences, 2 checked"
    ]


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        (
            {"taken": True, "tried": 20, "there": 2_000, "lowest_cosine": 0.99951},
            "were used: 20 of 2,000 texts were embedded again and agree (lowest cosine 0.9995)",
        ),
        ({"taken": False, "because": "why"}, "were not used, so the texts are embedded: why"),
    ],
)
def test_what_became_of_vectors_is_a_sentence(vectors: dict[str, Any], told: str) -> None:
    assert rendering.vectors_sentence(vectors) == f"its vectors {told}"
