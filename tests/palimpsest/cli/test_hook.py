"""`hook pre-compact`, with the output of designs/namespaced.md: it captures, and never fails."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.api import store
from palimpsest.backends import embedded
from palimpsest.cli.commands import hook as command
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.integrations import hook
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.embedder import load_engine
from palimpsest.streams.write.inputs import Outcome
from tests.designs.test_namespaced import TEXT, near
from tests.palimpsest.cli.conftest import CommandLine, Ran

POSTGRES = "Use PostgreSQL for primary storage in every service of ours, says the team"


@pytest.fixture(autouse=True)
def _captured() -> Iterator[None]:
    """Wait for all captures, so that none continues in the next test, whose store is there, too."""
    yield
    for thread in threading.enumerate():
        if thread.name == command.CAPTURING:
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def line(palimpsest: CommandLine) -> CommandLine:
    """An empty store under the preset."""
    palimpsest.begins("namespaced", lambda: palimpsest("policy", "set", "namespaced"))
    return palimpsest


def run(line: CommandLine, *given: Any, owner: str = "ada") -> Ran:
    ran = line("hook", "pre-compact", "--owner", owner, stdin=json.dumps(given))
    assert ran.status == 0, ran.err
    return ran


def context(ran: Ran) -> str:
    """The text for the agent; the document must have exactly this shape."""
    document = ran.document
    assert [*document] == ["hookSpecificOutput"]
    inner = document["hookSpecificOutput"]
    assert [*inner] == ["hookEventName", "additionalContext"]
    assert inner["hookEventName"] == "PreCompact"
    return str(inner["additionalContext"])


def memory(content: str, namespace: str | None = "decisions") -> dict[str, Any]:
    return {"content": content, **({"namespace": namespace} if namespace else {})}


def urn(memory_id: str, namespace: str = "decisions") -> str:
    return f"palimpsest://ada/{namespace}/{memory_id}"


def test_hook_output_format(line: CommandLine) -> None:
    told = context(run(line, memory(POSTGRES), memory("short", None)))
    first, second = line.ids()
    assert told == (
        "Auto-captured 2 memories before compaction:\n\n"
        "1. **decisions**: Use PostgreSQL for primary storage in ev...\n"
        f"   URN: {urn(first)}\n"
        f"2. **default**: short\n   URN: {urn(second, 'default')}"
    )


def test_hook_output_format_includes_skip_reasons(line: CommandLine) -> None:
    run(line, memory(TEXT))
    [first] = line.ids()
    told = context(run(line, memory(near(94)), memory(TEXT.upper())))
    assert told == (
        f"{hook.NOTHING_CAPTURED}\n\nSkipped 2 duplicates:\n"
        f'- Semantic 94%: "apple bench candle door ember fence gard..." (similar to {urn(first)})\n'
        '- Recent capture: "APPLE BENCH CANDLE DOOR EMBER FENCE GARD..."'
        f" (captured less than a minute ago, {urn(first)})"
    )


def test_exact_match_when_it_is_no_recent_capture(line: CommandLine) -> None:
    policy = line.folder / "old.toml"
    shown = line("policy", "show", "namespaced").out
    policy.write_text(shown.replace("seconds = 300", "seconds = 1").replace("1000", "1"))
    line("policy", "set", str(policy))
    run(line, memory(TEXT), memory("another text"))
    first = line.ids()[0]
    told = context(run(line, memory(TEXT)))
    assert told.endswith(
        f'Exact match: "apple bench candle door ember fence gard..." (matches {urn(first)})'
    )
    assert "Skipped 1 duplicate:\n" in told


def test_what_a_policy_joins_without_its_judge_is_a_duplicate(line: CommandLine) -> None:
    policy = line.folder / "unasked.toml"
    shown = line("policy", "show", "store-time").out
    policy.write_text(shown.replace("enabled = true", "enabled = false").replace("0.98", "0.99"))
    line("policy", "set", str(policy))
    run(line, memory(TEXT))
    told = context(run(line, memory(f"{TEXT}.")))
    assert "Skipped 1 duplicate:\n- Semantic 98%: " in told
    assert line.json("status")["decisions"]["fallback_reject"] == 1


@pytest.mark.parametrize(
    ("seconds", "words"), [(59, "less than a minute ago"), (60, "1 min ago"), (170, "2 min ago")]
)
def test_captured_2_min_ago(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch, seconds: int, words: str
) -> None:
    run(line, memory(TEXT))
    ago = hook._ago
    monkeypatch.setattr(hook, "_ago", lambda waited: ago(waited + timedelta(seconds=seconds)))
    assert f"(captured {words}, " in context(run(line, memory(TEXT)))


def test_what_one_call_says_twice_was_captured_less_than_a_minute_ago(line: CommandLine) -> None:
    told = context(run(line, memory(TEXT), memory(TEXT)))
    assert "(captured less than a minute ago, " in told


def test_an_empty_list_captures_nothing(line: CommandLine) -> None:
    assert context(run(line)) == hook.NOTHING_CAPTURED


def test_the_owner_is_that_of_the_environment_unless_one_is_given(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_OWNER", "bob")
    assert line("hook", "pre-compact", stdin=json.dumps([memory(TEXT)])).status == 0
    run(line, memory(TEXT), owner="ada")
    owners = line.json("sql", "SELECT owner_id FROM candidates ORDER BY position")
    assert [owner["owner_id"] for owner in owners] == ["bob", "ada"]


def test_what_is_given_again_with_its_id_is_not_captured_twice(line: CommandLine) -> None:
    told = [context(run(line, memory(TEXT) | {"id": "m1"})) for _ in range(2)]
    assert told[0] == told[1]
    assert line.json("status")["candidates"] == 1


SAID = "We keep the invoices of the billing service in a bucket of their own."
PATIENT = ("--owner", "ada", "--timeout", "60")
LATER = "The bucket is emptied after seven years, says the auditor of the company."


def transcript(folder: Path, *lines: dict[str, Any]) -> str:
    """The hook's input from an agent, about a transcript with these lines."""
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    call = {"session_id": "s-1", "transcript_path": str(path), "hook_event_name": "PreCompact"}
    return json.dumps(call | {"trigger": "auto", "custom_instructions": ""})


def said(content: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    return {"type": role, "message": message, "timestamp": "2026-03-01T12:00:00Z", **more}


def transcript_lines() -> list[dict[str, Any]]:
    """An old conversation, its compaction, and later messages."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "The whole file was read."}
    return [
        said("This was said before the last compaction of the conversation."),
        {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"},
        said("This session is continued from one before it.", isCompactSummary=True),
        {"type": "file-history-snapshot", "snapshot": {}},
        said(SAID),
        said([{"type": "text", "text": "Shall I write that down for you?"}], "assistant"),
        said([result]),
        said([{"type": "text", "text": LATER}, {"type": "image", "source": {}}]),
    ]


def test_an_agents_call_has_the_memories_of_its_transcript_captured(
    line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    call = transcript(tmp_path, *transcript_lines())
    with JudgeServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        ran = line("hook", "pre-compact", *PATIENT, stdin=call)
    assert context(ran).startswith("Auto-captured 2 memories")
    assert ran.err == ""
    query = "SELECT text, session_id, owner_id FROM candidates ORDER BY position"
    assert line("sql", query, "--json").document == [
        {"text": text, "session_id": "s-1", "owner_id": "ada"} for text in (SAID, LATER)
    ]


def test_without_a_judge_what_users_stated_is_captured(
    line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    call = transcript(tmp_path, *transcript_lines())
    ran = line("hook", "pre-compact", *PATIENT, stdin=call)
    assert context(ran).startswith("Auto-captured 2 memories")
    assert "what users stated is captured as it is" in ran.err
    assert SAID not in ran.err
    line("hook", "pre-compact", *PATIENT, stdin=call)
    assert len(line.ids()) == 2, "the same conversation once more"


def memories_of(body: Any) -> Any:
    """The memories in an answer of the judge's service."""
    return body["content"][0]["input"]["memories"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda body: memories_of(body).append({}) or body,
            "extracted memories that were not in the requested form: 1",
        ),
        (
            lambda body: body["content"][0]["input"].clear() or body,
            "what users stated is captured as it is: the judge's model gave no usable answer",
        ),
    ],
    ids=["one memory", "the whole answer"],
)
def test_of_an_answer_in_another_form_the_rest_is_captured_or_what_users_stated(
    line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any, told: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    call = transcript(tmp_path, *transcript_lines())
    with JudgeServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        server.always = Fault(change=change)
        ran = line("hook", "pre-compact", *PATIENT, stdin=call)
    assert told in ran.err
    assert "parts of the transcript" not in ran.err
    assert context(ran).startswith("Auto-captured 2 memories")


@pytest.mark.parametrize("path", ["none.jsonl", "~nobody-here/chat.jsonl"])
def test_a_transcript_that_is_not_there_stops_nobody(line: CommandLine, path: str) -> None:
    call = {"session_id": "s-1", "transcript_path": path}
    ran = line("hook", "pre-compact", *PATIENT, stdin=json.dumps(call))
    assert (ran.status, context(ran)) == (0, hook.FAILED)
    assert "No such file" in ran.err


def test_the_lines_of_extract_fit_the_hook(line: CommandLine) -> None:
    rows = [
        {"id": str(n), "source": "extract", "owner_id": "nora", "session_id": "s", "text": text}
        for n, text in enumerate((SAID, LATER))
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    for piped in (lines, lines.splitlines()[0]):
        ran = line("hook", "pre-compact", stdin=piped)
        assert "palimpsest://nora/default/" in context(ran)
    query = "SELECT count(*) AS n FROM candidates WHERE session_id = 's' AND source = 'extract'"
    assert line("sql", query, "--json").document == [{"n": 2}]


def test_a_file_will_do_for_standard_input(line: CommandLine) -> None:
    file = line.folder / "given.json"
    file.write_text(json.dumps([memory(TEXT)]))
    ran = line("hook", "pre-compact", str(file), "--owner", "ada")
    assert "Auto-captured 1 memory" in context(ran)
    missing = line("hook", "pre-compact", str(line.folder / "none.json"))
    assert (missing.status, context(missing)) == (0, hook.FAILED)


# -- texts are shown, and have no other effect ----------------------------------------------------

NASTY = [
    "two\nlines\r\nand \x1b[31mred\x1b[0m",
    "**bold** `code` [link](https://example.org) <b>tag</b> # head",
    'says "quote" and \\ backslash',
    "\u202eright to left\u2028and a separator",
    '", (matches palimpsest://ada/decisions/none)\n\nSkipped 99 duplicates:',
    "🍕 пицца 比薩 é̀",
]


@pytest.mark.parametrize("content", NASTY)
def test_adversarial_contents(line: CommandLine, content: str) -> None:
    told = context(run(line, memory(content, "a*b\n/c"), memory(content.upper(), "a*b\n/c")))
    captured, skipped = told.split("\n\nSkipped 1 duplicate:\n")
    assert captured.count("\n") == 3, "the content adds no line"
    assert skipped.count("\n") == 0
    assert captured.splitlines()[2].startswith(r"1. **a\*b /c**: ")
    assert line.json("status")["candidates"] == 2


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_a_preview_is_one_line_without_markup(text: str) -> None:
    shown = hook.preview(text)
    bare = shown.replace("\\\\", "")
    assert not any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in shown)
    assert all(bare[at - 1] == "\\" for at, c in enumerate(bare) if c in '*_`[]<>"#|')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * hook.PREVIEW, "x" * hook.PREVIEW),
        ("x" * (hook.PREVIEW + 1), "x" * hook.PREVIEW + "..."),
        ("x" * (hook.PREVIEW - 1) + " yz", "x" * (hook.PREVIEW - 1) + "..."),
        ("x" * (hook.PREVIEW - 1) + "u\u0308y", "x" * (hook.PREVIEW - 1) + "..."),
        (" two \n words ", "two words"),
    ],
)
def test_a_preview_is_cut_where_it_is_long(text: str, shown: str) -> None:
    assert hook.preview(text) == shown


@pytest.mark.parametrize(
    ("similarity", "told"), [(0.944, "94%"), (0.946, "95%"), (1.0, "100%"), (None, "?")]
)
def test_a_similarity_is_rounded(
    similarity: float | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "Decided", SimpleNamespace)
    join = SimpleNamespace(similarity=similarity)
    recorded = SimpleNamespace(event=SimpleNamespace(data=SimpleNamespace(join=join)))
    log = SimpleNamespace(find=lambda _: recorded)
    writer: Any = SimpleNamespace(reader=SimpleNamespace(log=log))
    assert hook._percent(writer, Outcome("decided", decision_id="d")) == told


def test_what_was_sent_to_a_cluster_is_numbered() -> None:
    """It decides later, so nothing is reported as captured."""
    one = hook.HookReport(sent=["**a**: tea"]).context
    assert one == (
        "Sent 1 candidate to the cluster before compaction; it leaves out duplicates:\n\n"
        "1. **a**: tea"
    )
    two = hook.HookReport(sent=["a", "b"], skipped=["c"]).context
    assert two.startswith("Sent 2 candidates to the cluster")
    assert two.endswith("1. a\n2. b\n\nSkipped 1 duplicate:\n- c")


# -- it fails open --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stdin", [b"", b"{", b"\xff\xfe", b'{"content": "secret words"}', b"null", b'"x"']
)
def test_bad_input(line: CommandLine, stdin: bytes) -> None:
    ran = line("hook", "pre-compact", stdin=stdin)
    assert ran.status == 0
    assert context(ran) == hook.FAILED
    assert "the hook reads a JSON list" in ran.err
    assert "secret" not in ran.err


def test_bad_candidates_do_not_stop_the_others(line: CommandLine) -> None:
    bad = [5, None, {}, {"content": 7}, memory("  "), {"content": "secret words", "namespace": 5}]
    ran = run(line, *bad, memory("a good one"))
    assert "Auto-captured 1 memory before compaction:" in context(ran)
    assert ran.err.count("palimpsest hook:") == len(bad)
    assert "secret" not in ran.err


@pytest.mark.parametrize("again", ["ask", "refuse"])
def test_a_forgotten_text_is_withheld_and_does_not_stop_the_others(
    line: CommandLine, again: str
) -> None:
    run(line, memory(TEXT))
    line.json("forget", *line.ids(), "--again", again)
    ran = run(line, memory(TEXT), memory(POSTGRES))
    assert context(ran).startswith(
        "Auto-captured 1 memory before compaction:\n\n1. **decisions**: Use"
    )
    assert "a candidate is withheld: its text was forgotten" in ran.err
    assert TEXT not in ran.err


def test_store_missing(palimpsest: CommandLine) -> None:
    ran = run(palimpsest, memory(TEXT))
    assert context(ran) == hook.FAILED
    assert "there is no store" in ran.err
    assert not palimpsest.store.exists(), "none is made behind the agent's back"


def test_store_unreadable(line: CommandLine) -> None:
    (line.store / "log.sqlite").write_bytes(b"no database" * 1000)
    ran = run(line, memory(TEXT))
    assert context(ran) == hook.FAILED
    assert "apple" not in ran.err


def test_store_locked_by_one_that_does_not_serve(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent continues; its texts wait in the inbox, and are decided on later."""
    left: list[bool] = []
    monkeypatch.setattr(command, "_leave", lambda: left.append(True))
    monkeypatch.setattr(embedded, "POLL_SECONDS", 0.001)
    lock = WriterLock(line.store)
    assert lock.try_acquire()
    ran = line(
        "hook",
        "pre-compact",
        "--owner",
        "ada",
        "--timeout",
        "0.3",
        stdin=json.dumps([memory(TEXT)]),
    )
    assert (ran.status, left) == (0, [True])
    assert context(ran) == hook.LATE
    assert "did not answer within 0.3 s" in ran.err
    lock.release()
    waited = time.monotonic()
    while line.json("status")["candidates"] == 0:
        assert time.monotonic() - waited < 10


def test_store_file_locked(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_leave", lambda: None)
    with closing(sqlite3.connect(line.store / "log.sqlite", isolation_level=None)) as other, other:
        other.execute("BEGIN EXCLUSIVE")
        ran = line("hook", "pre-compact", "--timeout", "0.2", stdin=json.dumps([memory(TEXT)]))
        other.execute("ROLLBACK")
    assert ran.status == 0
    assert context(ran) == hook.LATE


def test_model_missing(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the preset texts are still captured; under another policy the hook says why not."""
    monkeypatch.setenv("PALIMPSEST_ENGINE", "none")
    monkeypatch.setattr(store, "load_engine", load_engine)
    assert "Auto-captured 1 memory" in context(run(line, memory(TEXT)))
    line("policy", "set", "standard")
    ran = run(line, memory(near(96)))
    assert context(ran) == hook.FAILED
    assert "embeds nothing" in ran.err


def test_settings_wrong(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_ENGINE", "steam")
    ran = run(line, memory(TEXT))
    assert context(ran) == hook.FAILED
    assert "engine" in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--nonsense",), "--nonsense"),
        (("--timeout", "soon"), "number"),
        (("--timeout", "inf"), "or equal to"),
        (("--timeout", "nan"), "or equal to"),
        (("one", "two"), "two"),
    ],
)
def test_options_wrong(line: CommandLine, words: tuple[str, ...], told: str) -> None:
    """Exit status 2 would stop the agent from compacting its context."""
    ran = line("hook", "pre-compact", *words)
    assert (ran.status, context(ran)) == (0, hook.FAILED)
    assert ran.err.startswith("error: palimpsest hook: ")
    assert told in ran.err


def test_a_bug(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError(TEXT)

    monkeypatch.setattr(hook, "pre_compact", broken)
    ran = run(line, memory(TEXT))
    assert context(ran) == hook.FAILED
    assert "ValueError" in ran.err
    assert "apple" not in ran.err


def test_a_cluster_is_reported_and_not_waited_for() -> None:
    """It reports nothing as captured: workers decide later which texts are duplicates."""
    report = hook.HookReport()
    for text in ("a text", "another"):
        sent = hook.Capture("ada", text, "decisions", Outcome("published", "c"))
        hook._report_outcome(None, sent, datetime.now(UTC), report)  # type: ignore[arg-type]
    assert report.context == (
        "Sent 2 candidates to the cluster before compaction; it leaves out duplicates:\n\n"
        "1. **decisions**: a text\n2. **decisions**: another"
    )


# -- the result shape -----------------------------------------------------------------------------


def test_duplicate_check_result(line: CommandLine) -> None:
    keys = ["is_duplicate", "reason", "similarity_score", "matched_memory_id", "matched_urn"]

    def check(text: str) -> list[Any]:
        found = line.json("check", "ada", text, "--field", "namespace=decisions", "--duplicate")
        assert [*found] == [*keys, "check_duration_ms"]
        assert found["check_duration_ms"] > 0
        return [found[key] for key in keys]

    assert check(TEXT) == [False, None, None, None, None]
    run(line, memory(TEXT))
    [first] = line.ids()
    assert check(TEXT) == [True, "RecentCapture", None, first, urn(first)]
    assert check(near(94)) == [True, "SemanticSimilar", 0.94, first, urn(first)]
    line.json("policy", "set", "standard")
    assert check(TEXT) == [True, "ExactMatch", None, first, urn(first)]


def test_who_has_no_text_is_named_by_number(line: CommandLine) -> None:
    ran = run(line, memory(TEXT), {"namespace": "decisions"})
    assert "candidate 2 has no text in `content`" in ran.err


def test_of_who_is_known_already_it_says_exact_match(line: CommandLine) -> None:
    """The same candidate again, by its id; the first time it was stored, not as a duplicate."""
    again = ("ada", TEXT, "--field", "namespace=decisions", "--field", "id=one", "--source", "s")
    row = {"owner_id": "ada", "namespace": "decisions", "id": "one", "source": "s", "text": TEXT}
    line.ingest(row)
    [first] = line.ids()
    found = line.json("check", *again, "--duplicate")
    assert (found["reason"], found["matched_urn"]) == ("ExactMatch", urn(first))
    found = line.json("check", *again, "--dedup-result")
    assert (found["method"], found["existing_id"]) == ("exact", first)


def test_hash_tag_has_sixteen_digits(line: CommandLine) -> None:
    run(line, memory(TEXT))
    shown = line.json("show", "--candidate", line.ids()[0])
    assert shown["hash_tag"].startswith("hash:sha256:")
    assert len(shown["hash_tag"]) == len("hash:sha256:") + 16


def test_metrics_are_printed_or_written_whole(line: CommandLine) -> None:
    run(line, memory(TEXT), memory(TEXT))
    counted = 'palimpsest_dedup_skipped_total{namespace="decisions",reason="recent"} 1'
    assert counted in line("metrics").out.splitlines()
    file = line.folder / "palimpsest.prom"
    assert line.json("metrics", "--to", str(file)) == {"file": str(file)}
    assert counted in file.read_text().splitlines()
    assert [*line.folder.glob("*.new")] == []
