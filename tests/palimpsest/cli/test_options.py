"""Every option of a command, and every default, reaches the store."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from palimpsest import streams
from palimpsest.api.store import Palimpsest
from palimpsest.cli.commands import cluster, ingestion, serving
from palimpsest.cli.demo import judge as demo_judge
from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.client.__main__ import main as client_main
from palimpsest.contracts.errors import TransientError
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import JoinSelection, Selection
from palimpsest.jobs import extract as extracting
from palimpsest.jobs import import_source as importing
from palimpsest.process import logs
from palimpsest.server import linking
from palimpsest.server.endpoint import Endpoint
from palimpsest.settings.serve import ServeSettings
from palimpsest.settings.settings import Settings
from palimpsest.sources import SourcePlace
from palimpsest.streams.cluster import setup
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.extract.extract import Extraction
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.policies import load_policy
from tests.palimpsest.cli.conftest import CommandLine, row
from tests.tables import each

MARCH, APRIL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
PERIOD = ("--since", "2026-03-01", "--until", "2026-04-01T02:00+02:00")
ACTOR = "grace"

Ask = Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]


@pytest.fixture(name="line")
def stocked(palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A store with two memories of Ada's, and a named person."""
    palimpsest.holds(row("a kettle"), row("some tea"))
    monkeypatch.setenv("PALIMPSEST_ACTOR", ACTOR)
    return palimpsest


@pytest.fixture(name="ask")
def asked_of_the_store(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs a command; returns the arguments of its call of a store's method, which ends it."""

    def ask(method: str, *words: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        asked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

        def called(_: Palimpsest, *args: Any, **named: Any) -> None:
            asked.append((args, named))
            raise typer.Exit

        monkeypatch.setattr(Palimpsest, method, called)
        ran = line(*words)
        assert ran.status == 0, ran.err
        [only] = asked
        return only

    return ask


NARROWED = (
    "--category",
    "c",
    "--metadata",
    "page=2",
    "--metadata",
    "who=a=b",
    *PERIOD,
    "--show-expired",
)
NARROWLY = {
    "category": "c",
    "metadata": {"page": 2, "who": "a=b"},
    "since": MARCH,
    "until": APRIL,
    "show_expired": True,
}
WIDELY: dict[str, Any] = {
    "category": None,
    "metadata": {},
    "since": None,
    "until": None,
    "show_expired": False,
}


def test_recall(ask: Ask) -> None:
    assert ask("recall", "recall", "ada", "tea") == (
        ("ada", "tea"),
        {
            **WIDELY,
            "k": 5,
            "as_of": None,
            "session_id": None,
            "min_confidence": None,
            "former": False,
            "fold": True,
            "hybrid": False,
            "min_score": None,
            "max_tokens": None,
            "namespace": None,
        },
    )
    words = ("-k", "3", "--namespace", "n", "--as-of", "7", "--session", "s", *NARROWED)
    also = ("--min-confidence", "1", "--former", "--no-fold", "--hybrid")
    short = ("--min-score", ".5", "--max-tokens", "9")
    assert ask("recall", "recall", "ada", "tea", *words, *also, *short)[1] == {
        **NARROWLY,
        "k": 3,
        "as_of": 7,
        "session_id": "s",
        "min_confidence": 1.0,
        "former": True,
        "hybrid": True,
        "min_score": 0.5,
        "max_tokens": 9,
        "fold": False,
        "namespace": "n",
    }


def test_list(ask: Ask) -> None:
    assert ask("list", "list", "ada") == (
        ("ada",),
        {**WIDELY, "limit": 50, "after": None, "former": False, "namespace": None},
    )
    words = ("--namespace", "n", "--limit", "3", "--after", "x", "--former", *NARROWED)
    assert ask("list", "list", "ada", *words)[1] == {
        **NARROWLY,
        "limit": 3,
        "after": "x",
        "former": True,
        "namespace": "n",
    }


@pytest.mark.parametrize(
    ("words", "by"),
    [
        ((), ["words", "meaning"]),
        (("--by", "meaning"), ["meaning"]),
        (("--by", "words"), ["words"]),
    ],
)
def test_find(words: tuple[str, ...], by: list[str], ask: Ask) -> None:
    asked = ask("find", "find", "ada", "tea", *words)
    assert asked == (("ada", "tea"), {"by": by, "k": 5, "namespace": None, "show_expired": False})
    also = ("-k", "1", "--namespace", "n", "--show-expired")
    more = ask("find", "find", "ada", "tea", *words, *also)
    assert more[1] == {"by": by, "k": 1, "namespace": "n", "show_expired": True}


@pytest.mark.parametrize(("query", "count"), [("tea", 1), ("coffee", 0)])
def test_a_search_that_finds_nothing_is_done(query: str, count: int, line: CommandLine) -> None:
    assert len(line.json("find", "ada", query, "--by", "words")["hits"]) == count
    assert len(line.json("recall", "ada", query, "--min-score", "0.99")) <= count
    assert len(line.json("list", "ada", "--category", query)["memories"]) == 0


def test_renew(ask: Ask, line: CommandLine) -> None:
    kettle = line.ids()[0]
    words = ("renew", kettle[:13], "2026-03-01", "--because", "still used")
    assert ask("renew", *words) == ((kettle, MARCH), {"actor": ACTOR, "because": "still used"})


def test_triangles(ask: Ask) -> None:
    assert ask("triangles", "triangles", "ada") == (("ada",), {"at_least": 0.85, "limit": 50})
    words = ("--at-least", "0", "-k", "1")
    assert ask("triangles", "triangles", "ada", *words)[1] == {"at_least": 0.0, "limit": 1}


def test_likeness(ask: Ask) -> None:
    assert ask("likeness", "likeness", "ada") == (("ada",), {"at_least": 0.9, "limit": 50})
    words = ("--at-least", "0", "--limit", "1")
    assert ask("likeness", "likeness", "ada", *words)[1] == {"at_least": 0.0, "limit": 1}


@pytest.mark.parametrize(
    ("words", "method"),
    [
        ((), "check"),
        (("--duplicate",), "check_duplicate"),
        (("--dedup-result",), "dedup_result"),
    ],
)
def test_check(words: tuple[str, ...], method: str, ask: Ask, line: CommandLine) -> None:
    command = ("check", "ada", "tea", *words)
    assert ask(method, *command) == (({"owner_id": "ada", "text": "tea"},), {"source": "check"})
    also = ("--field", "category=a=b", "--field", "text=other", "--source", "chat")
    candidate = {"category": "a=b", "owner_id": "ada", "text": "tea"}
    assert ask(method, *command, *also) == ((candidate,), {"source": "chat"})
    assert line(*command, "--duplicate", "--dedup-result").status == 2


@pytest.mark.parametrize("form", ["--duplicate", "--dedup-result"])
def test_a_check_in_another_form_is_of_the_same_candidate(form: str, ask: Ask) -> None:
    asked = ask("check", "check", "ada", "tea", form, "--source", "chat")
    assert asked == (({"owner_id": "ada", "text": "tea"},), {"source": "chat"})


def test_following_and_a_wait_are_one_too_many(line: CommandLine) -> None:
    assert line("changes", "--follow", "--wait", "1").status == 2


def test_decisions(ask: Ask) -> None:
    nothing = {"owner_id": None, "decision": None, "since": None, "limit": 50, "as_of": None}
    assert ask("decisions", "decisions") == ((), nothing)
    words = ("--owner", "ada", "--decision", "stored", "--limit", "3", "--as-of", "2026-04-01")
    assert ask("decisions", "decisions", *words, "--since", "2026-03-01")[1] == {
        "owner_id": "ada",
        "decision": "stored",
        "since": MARCH,
        "limit": 3,
        "as_of": APRIL,
    }


def test_sql(ask: Ask) -> None:
    words = ("sql", "SELECT $a", "--param", "a=1", "--param", "b=x=y")
    assert ask("sql", *words) == (("SELECT $a", {"a": "1", "b": "x=y"}), {})


def test_status_and_show(ask: Ask, line: CommandLine) -> None:
    kettle, tea = line.ids()
    assert ask("status", "status", "--as-of", "0") == ((), {"as_of": 0})
    assert ask("show", "show", kettle, "--as-of", "3") == ((kettle,), {"as_of": 3})
    assert ask("show_candidate", "show", "--candidate", tea) == ((tea,), {"as_of": None})


MANY = ("--owner", "ada", "--source", "rows.jsonl", "--decision", "stored", *PERIOD)
SELECTED: dict[str, Any] = {
    "owner_id": "ada",
    "source": "rows.jsonl",
    "decision": "stored",
    "since": MARCH,
    "until": APRIL,
}
JOINED = ("--policy", "abc", "--below", "0.5", "--folded")


@pytest.mark.parametrize(
    ("command", "method", "also", "joins"),
    [
        ("reverse", "reverse", JOINED, {"policy": "abc", "below": 0.5, "folded": True}),
        (
            "reinstate",
            "reinstate_many",
            (*JOINED, "--cause", "9"),
            {"policy": "abc", "below": 0.5, "folded": True, "cause": "9"},
        ),
        ("retract", "retract", (), {}),
        ("restore", "restore", ("--cause", "9"), {"cause": "9"}),
    ],
)
def test_many_at_once(
    command: str,
    method: str,
    also: tuple[str, ...],
    joins: dict[str, Any],
    ask: Ask,
    line: CommandLine,
) -> None:
    kind: type[Selection] = JoinSelection if "policy" in joins else Selection
    _, tea = line.ids()
    words = (*MANY, "--candidate", tea[:12], *also, "--because", "why")
    selection = kind(**SELECTED, candidate_id=tea, **joins)
    how = {"because": "why", "actor": ACTOR}
    assert ask(method, command, *words, "--yes") == ((selection,), {**how, "dry_run": False})
    for asks_first in (("--dry-run",), ("--yes", "--dry-run"), ()):
        asked = ask(method, command, *words, *asks_first)
        assert asked == ((selection,), {**how, "dry_run": True})
    bare = ask(method, command, "--owner", "ada", "--yes")
    assert bare == ((kind(owner_id="ada"),), {"because": None, "actor": ACTOR, "dry_run": False})


def test_unmerge_takes_out_repeats_that_are_not_verbatim(ask: Ask, line: CommandLine) -> None:
    how = {"because": "why", "actor": ACTOR}
    words = ("--folded", "--because", "why")
    selection = JoinSelection(folded=True)
    assert ask("reverse", "unmerge", *words, "--yes") == ((selection,), {**how, "dry_run": False})
    assert ask("reverse", "unmerge", *words) == ((selection,), {**how, "dry_run": True})
    _, tea = line.ids()
    for also in ((tea,), ("--candidate", tea), ("--with-consequences",)):
        assert line("unmerge", "--folded", *also).status == 2


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("unmerge", "decision"),
        ("unmerge", "candidate"),
        ("unmerge", "memory"),
        ("unmerge", None),
        ("reverse", None),
    ],
)
def test_unmerge(command: str, kind: str | None, ask: Ask, line: CommandLine) -> None:
    kettle, tea = line.ids()
    decision = line.json("merge", kettle, tea)["decision_id"]
    typed = {"decision": decision, "candidate": tea, "memory": kettle, None: decision}[kind]
    named = ("--" + kind, typed) if kind else (typed,)
    ids: dict[str, str | None] = dict.fromkeys(("decision_id", "candidate_id", "memory_id"))
    ids[f"{kind or 'decision'}_id"] = typed
    how = {"dry_run": False, "because": None, "actor": ACTOR}
    whole = {"with_consequences": False} if command == "unmerge" else {}
    assert ask("unmerge", command, *named) == ((), {**ids, **how, **whole})
    words = ("--dry-run", "--because", "why")
    also = ("--with-consequences",) if command == "unmerge" else ()
    how |= {"dry_run": True, "because": "why"}
    whole = {"with_consequences": True} if command == "unmerge" else {}
    assert ask("unmerge", command, *named, *words, *also) == ((), {**ids, **how, **whole})


def test_one_at_a_time(ask: Ask, line: CommandLine) -> None:
    kettle, tea = line.ids()
    decision = line.json("show", "--candidate", kettle)["decision_id"]
    why = ("--because", "why")
    said = {"actor": ACTOR, "because": "why"}
    assert ask("reinstate", "reinstate", decision, "--dry-run", *why) == (
        (decision,),
        {"dry_run": True, **said},
    )
    forgotten = ask("restore", "restore", "--forgotten", "f", "--dry-run", *why)
    assert forgotten == ((), {"forgotten": "f", "dry_run": True, **said})
    assert ask("confirm", "confirm", decision, *why) == ((decision,), said)
    assert ask("separate", "separate", kettle, tea, *why) == ((kettle, tea), said)
    assert ask("withdraw", "withdraw", kettle, tea, *why) == ((kettle, tea), said)
    faces = {(): None, ("--face", "A"): kettle, ("--face", "B"): tea, ("--face", tea): tea}
    for words, face in faces.items():
        assert ask("merge", "merge", kettle, tea, *words, *why) == (
            (kettle, tea),
            {"face": face, **said},
        )
    for answer in ("same", "different"):
        words = ("review", answer, decision, tea, *why)
        assert ask(f"review_{answer}", *words) == ((decision, tea), said)


def test_what_an_agent_wants(ask: Ask, line: CommandLine) -> None:
    kettle, tea = line.ids()
    said = {"actor": ACTOR, "because": None}
    assert ask("update", "update", kettle, "a pot") == (
        (kettle, "a pot"),
        {"expect": None, "merge": False, "dry_run": False, **said},
    )
    words = ("--expect", "v", "--merge", "--dry-run", "--because", "why")
    assert ask("update", "update", kettle, "a pot", *words)[1] == {
        "expect": "v",
        "merge": True,
        "dry_run": True,
        "actor": ACTOR,
        "because": "why",
    }
    assert ask("undo", "undo", tea, "--dry-run") == ((tea,), {"dry_run": True, **said})
    assert ask("forget", "forget", kettle, tea) == (
        ([kettle, tea],),
        {"again": "ask", "dry_run": False, "expect": None, **said},
    )
    again = ("--again", "refuse", "--dry-run", "--because", "why", "--expect", "v")
    assert ask("forget", "forget", kettle, *again) == (
        ([kettle],),
        {"again": "refuse", "dry_run": True, "expect": "v", "actor": ACTOR, "because": "why"},
    )
    plan: dict[str, Any] = {"hits": [{"memory_id": kettle}], "token": "t"}
    file = line.file([json.dumps(plan)], "plan.json")
    assert ask("forget", "forget", "--plan", file)[0] == (plan,)


def test_runs_and_reviews(ask: Ask, line: CommandLine) -> None:
    (_, asked) = ask("dedupe", "dedupe", "--owner", "ada", "--dry-run", "--force")
    (_, bare) = ask("dedupe", "dedupe", "--plan", "t", "--because", "why")
    names = ("owner_id", "dry_run", "force", "plan", "actor", "because")
    assert [asked[name] for name in names] == ["ada", True, True, None, ACTOR, None]
    assert [bare[name] for name in names] == [None, False, False, "t", ACTOR, "why"]
    assert ask("review", "review", "run", "--owner", "ada")[1]["owner_id"] == "ada"
    waits = ask("next_review", "review", "next", "--owner", "ada", "--skip", "2")
    assert waits[1] == {"owner_id": "ada", "skip": 2}
    asked = ask("embed", "embed", "--owner", "ada", "--long", "--dry-run")[1]
    assert [asked[name] for name in ("owner_id", "long", "dry_run")] == ["ada", True, True]
    assert ask("rebuild", "rebuild")[0] == ([],)
    assert ask("rebuild", "rebuild", "duckdb")[0] == (["duckdb"],)


@pytest.mark.parametrize("failing", [None, "review", "dedupe"])
def test_what_is_due_is_done_as_the_settings_say(
    failing: str | None, line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, datetime, JudgeSettings]] = []
    levels: list[int] = []

    def step(name: str) -> Callable[..., dict[str, Any]]:
        def called(_: Palimpsest, *, due: datetime, judge: JudgeSettings) -> dict[str, Any]:
            asked.append((name, due, judge))
            if name == failing:
                raise TransientError("busy")
            return {"name": name}

        return called

    for name in ("review", "dedupe"):
        monkeypatch.setattr(Palimpsest, name, step(name))
        monkeypatch.setenv(f"PALIMPSEST_SCHEDULE_{name.upper()}", "00:00")
    monkeypatch.setattr(logs, "log_to_standard_error", levels.append)
    monkeypatch.setenv("PALIMPSEST_JUDGE_RETRIES", "0")
    ran = line("--json", "schedule", "--once")
    assert ran.status == (0 if failing is None else 1)
    done = [
        (document["step"], document["answer"], document["failed"]) for document in ran.documents
    ]
    assert done == [
        (name, None, "busy") if name == failing else (name, {"name": name}, None)
        for name in ("review", "dedupe")
    ]
    assert [(name, due.hour, judge) for name, due, judge in asked] == [
        (name, 0, JudgeSettings(retries=0)) for name in ("review", "dedupe")
    ]
    assert levels == [logging.WARNING]


def test_a_schedule_needs_a_time(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "log_to_standard_error", lambda _: None)
    ran = line("schedule", "--once")
    assert (ran.status, "nothing is scheduled" in ran.err) == (2, True)


def test_policies(ask: Ask) -> None:
    asked = ask("set_policy", "policy", "set", "layered")
    assert asked == ((load_policy("layered"),), {"actor": ACTOR})


def test_sessions(ask: Ask) -> None:
    for command, method in (("end", "end_session"), ("compacted", "compact_session")):
        asked = ask(method, "session", command, "monday", "--owner", "ada")
        assert asked == (("ada", "monday"), {})


def test_letters(ask: Ask) -> None:
    page = {"limit": 101, "after": None}
    assert ask("dead_letters", "dead-letters", "list") == ((None,), page)
    asked = ask("dead_letters", "dead-letters", "list", "--state", "open", "--all")
    assert asked == (("open",), page | {"limit": None})
    letter = "0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11"
    words = ("dead-letters", "retry", letter, "--map", "content=text")
    assert ask("retry_dead_letters", *words) == (([letter],), {"mapping": {"content": "text"}})
    assert ask("retry_dead_letters", "dead-letters", "retry") == ((None,), {"mapping": {}})


def test_export(ask: Ask, line: CommandLine) -> None:
    args, named = ask("export_source", "export", "a.jsonl", "--to", "b.jsonl")
    assert [str(one) for one in args] == ["a.jsonl", "b.jsonl"]
    del named["progress"]
    assert named == {
        "source": None,
        "texts": "original",
        "keep": (),
        "max_changes": 200,
        "trust": False,
        "dry_run": False,
    }
    words = ("--source", "s", "--keep", "1", "--keep", "2", "--max-changes", "0", "--trust")
    more = ("--texts", "face", "--dry-run")
    _, named = ask("export_source", "export", "a", "--to", "b", *words, *more)
    del named["progress"]
    assert named == {
        "source": "s",
        "texts": "face",
        "keep": ["1", "2"],
        "max_changes": 0,
        "trust": True,
        "dry_run": True,
    }


# -- servers, workers and clusters ---------------------------------------------------------------


SERVED = ("--host", "::1", "--port", "0", "--tokens", "t.toml", "--idle", "7")
NAMES = ("--allowed-host", "a", "--allowed-host", "b")


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ((), ("127.0.0.1", 7077, None, [], None)),
        ((*SERVED, *NAMES), ("::1", 0, Path("t.toml"), ["a", "b"], 7.0)),
    ],
)
def test_serve(
    words: tuple[str, ...],
    asked: tuple[Any, ...],
    palimpsest: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[Any, ...]] = []

    async def run(
        _opened: object, _only: object, wanted: ServeSettings, *_: Any, **how: Any
    ) -> None:
        where = (wanted.host, wanted.port, wanted.tokens_file, [*wanted.allowed_hosts])
        ran.append((*where, how["idle"]))
        how["on_ready"](Endpoint(url="http://there", pid=1), "http://there/link")

    monkeypatch.setattr("palimpsest.server_process.run.serve", run)
    monkeypatch.setattr(logs, "log_to_standard_error", lambda: None)
    monkeypatch.setattr(serving, "SILENT", ())
    assert palimpsest.json("serve", *words) == {
        "url": "http://there",
        "pid": 1,
        "store": str(palimpsest.store),
        "review": "http://there/link",
    }
    assert ran == [asked]


def test_worker(palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("instance", "data", "standby", "web_port", "letters_per_minute")
    ran: list[tuple[Any, ...]] = []
    free: list[int | None] = []

    async def topics(_: Connection) -> Topics:
        return Topics()

    def run(settings: Settings, connection: Connection, *_: object) -> None:
        ran.append((connection.bootstrap, *(getattr(settings, name) for name in names)))

    monkeypatch.setattr(cluster, "_check_topics", topics)
    monkeypatch.setattr(cluster, "_run_worker", run)
    monkeypatch.setattr(cluster, "_require_free", free.append)
    monkeypatch.setattr(logs, "log_to_standard_error", lambda: None)
    monkeypatch.setenv("PALIMPSEST_ENGINE", "none")
    words = ("worker", "--bootstrap", "b:1")
    also = ("--instance", "i", "--data", "d", "--standby", "--web-port", "7")
    assert palimpsest(*words).status == 0
    assert palimpsest(*words, *also, "--letters-per-minute", "0").status == 0
    assert ran == [
        ("b:1", None, None, False, None, None),
        ("b:1", "i", Path("d"), True, 7, 0),
    ]
    assert free == [None, 7]


def test_project(palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[Path, str, int | None]] = []
    free: list[int | None] = []

    async def follow(
        folder: Path, connection: Connection, count: Callable[[int], None], port: int | None
    ) -> None:
        ran.append((folder, connection.bootstrap, port))
        count(2)
        count(3)

    monkeypatch.setattr(cluster, "_follow", follow)
    monkeypatch.setattr(cluster, "_require_free", free.append)
    monkeypatch.setattr(logs, "log_to_standard_error", lambda: None)
    done = palimpsest.json("project", "--bootstrap", "b:1", "--web-port", "7")
    assert done == {"store": str(palimpsest.store), "records": 5}
    palimpsest.json("project", "--bootstrap", "b:1")
    assert ran == [(palimpsest.store, "b:1", 7), (palimpsest.store, "b:1", None)]
    assert free == [7, None]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("create",), (None, None)),
        (("create", "--partitions", "8", "--replication", "2"), (8, 2)),
        (("check",), (None,)),
        (("check", "--partitions", "8"), (8,)),
    ],
)
def test_topics(
    words: tuple[str, ...],
    asked: tuple[int | None, ...],
    palimpsest: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[tuple[Any, ...]] = []

    async def done(connection: Connection, *args: int | None) -> list[Any]:
        given.append((connection.bootstrap, *args))
        return []

    monkeypatch.setattr(setup, words[0], done)
    named = palimpsest.json("topics", *words, "--bootstrap", "b:1")
    assert named == {"fine": True, "topics": []}
    assert given == [("b:1", *asked)]


@pytest.mark.parametrize(
    ("words", "asked"),
    [((), (8089, 0.0, False)), (("--port", "0", "--delay", "0.5"), (0, 0.5, False))],
)
def test_demo_judge(
    words: tuple[str, ...],
    asked: tuple[int, float, bool],
    palimpsest: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[tuple[int, float, bool]] = []

    class Noted(JudgeServer):
        def __init__(self, port: int, delay: float, *, keep: bool) -> None:
            made.append((port, delay, keep))
            super().__init__(0, delay, keep=keep)

        def start(self) -> None:
            raise OSError("taken")

    monkeypatch.setattr(demo_judge, "JudgeServer", Noted)
    assert palimpsest("demo-judge", *words).status == 2
    assert made == [asked]


# -- conversations and existing stores -----------------------------------------------------------


SAID = [{"text": "Ada sings.", "user": "ada", "id": n} for n in (1, 2)]


def test_import(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    models: list[str | None] = []
    look_at, bring_in = importing.look_at, importing.bring_in

    def noted(*args: Any, **named: Any) -> Any:
        looked.append((args, named))
        return look_at(SourcePlace(args[0].path), **named)

    def brought(*args: Any, model: str | None, **named: Any) -> Any:
        models.append(model)
        return bring_in(*args, model=model, **named)

    monkeypatch.setattr(importing, "look_at", noted)
    monkeypatch.setattr(importing, "bring_in", brought)
    path = line.file(SAID, "said.jsonl")
    assert line.json("import", path, "--yes")["rows"] == 2
    bare: dict[str, Any] = {"source": None, "owner": None, "renames": {}}
    assert looked.pop() == ((SourcePlace(Path(path), None, None, None, trust=False),), bare)
    words = ("--table", "t", "--query", "q", "--history", "h", "--trust", "--map", "user=owner_id")
    also = ("--owner", "eve", "--source", "elsewhere", "--model-of-vectors", "m")
    assert line.json("import", path, *words, *also, "--yes")["decisions"] != {}
    assert looked.pop() == (
        (SourcePlace(Path(path), "t", "q", Path("h"), trust=True),),
        {"source": "elsewhere", "owner": "eve", "renames": {"user": "owner_id"}},
    )
    assert models == [None, "m"]
    before = line.json("status")["position"]
    assert "repeats" in line.json("import", path, "--source", "again", "--dry-run")
    assert line.json("status")["position"] == before


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ((), {"role": "operator"}),
        (
            ("--name", "lin", "--role", "reviewer", "--owners", "ada|bob"),
            {"name": "lin", "role": "reviewer", "owners": "ada|bob"},
        ),
    ],
)
def test_a_link_to_the_review_page(
    words: tuple[str, ...],
    wanted: dict[str, str],
    palimpsest: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Any, ...]] = []

    def link(*args: Any) -> str:
        asked.append(args)
        return "http://there/"

    server = Endpoint(url="http://there", pid=1)
    monkeypatch.setattr(serving, "server_of", lambda _: lambda: server)
    monkeypatch.setattr(linking, "ask_for_link", link)
    monkeypatch.setenv("PALIMPSEST_TOKEN", "a token")
    assert palimpsest.json("review", "open", *words) == {"review": "http://there/"}
    assert asked == [(server, "a token", wanted)]


WRONG_URLS = ("memories.example", "ftp://memories.example", "http://", "http://a:b", "http://[a")


@pytest.mark.parametrize("url", WRONG_URLS)
def test_mcp_needs_the_url_of_a_server(
    url: str,
    palimpsest: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PALIMPSEST_TOKEN", "a token")
    words = ("mcp", "--owner", "ada", "--url", url)
    ran = palimpsest(*words)
    assert (ran.status, "https://memories.example" in ran.err) == (2, True)
    with pytest.raises(SystemExit) as ended:
        client_main(words)
    assert ended.value.code == 2
    assert "https://memories.example" in capsys.readouterr().err


def test_extract(palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def noted(lines: Any, about: dict[str, str], _write: Any, **named: Any) -> Extraction:
        asked.append({"lines": [*lines], "about": about, **named})
        return Extraction()

    monkeypatch.setattr(extracting, "extract_candidates", noted)
    chat = palimpsest.file(["a line"], "chat.jsonl")
    with monkeypatch.context() as closed:
        closed.setattr(ingestion, "get_binary_stream", lambda _: pytest.fail("it may be closed"))
        assert palimpsest("extract", chat, "--owner", "ada").status == 0
    assert asked.pop() == {
        "lines": [b"a line\n"],
        "about": {"owner_id": "ada"},
        "policy": load_policy("replace-or-merge"),
        "settings": JudgeSettings(),
        "folder": None,
    }
    palimpsest.ingest(row("a kettle"))
    monkeypatch.setenv("PALIMPSEST_POLICY", "layered")
    monkeypatch.setenv("PALIMPSEST_JUDGE_RETRIES", "0")
    words = ("--namespace", "n", "--session", "s")
    assert palimpsest("extract", "-", "--owner", "ada", *words, stdin="piped").status == 0
    assert asked.pop() == {
        "lines": [b"piped"],
        "about": {"owner_id": "ada", "namespace": "n", "session_id": "s"},
        "policy": load_policy("layered"),
        "settings": JudgeSettings(retries=0),
        "folder": palimpsest.store,
    }


def test_extract_keeps_local_what_the_stores_own_policy_keeps_local(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The settings name no policy, or another one; the store has recorded its own."""
    asked: list[tuple[str, ...]] = []

    def noted(*_: Any, policy: Policy, **_named: Any) -> Extraction:
        asked.append(policy.local_only)
        return Extraction()

    monkeypatch.setattr(extracting, "extract_candidates", noted)
    standard = (Path(streams.__path__[0]) / "policies" / "standard.toml").read_text()
    palimpsest.file([f'local_only = ["zoe"]\n{standard}'], "own.toml")
    assert palimpsest("policy", "set", "own.toml").status == 0
    chat = palimpsest.file(["a line"], "chat.jsonl")
    assert palimpsest("extract", chat, "--owner", "zoe").status == 0
    assert asked == [("zoe",)]
    monkeypatch.setenv("PALIMPSEST_MODEL", "multilingual-e5-small")
    assert palimpsest("extract", chat, "--owner", "zoe").status == 0
    assert caplog.text == "", "only the policy is read"
    assert asked == [("zoe",)] * 2
    (palimpsest.store / "log.sqlite").write_bytes(b"damaged")
    assert palimpsest("extract", chat, "--owner", "zoe").status == 4, "what is local is unknown"
    assert len(asked) == 2


@each(
    "words",
    [
        ("sql", "SELECT 1", "--param", "a"),
        ("sql", "SELECT 1", "--param", "=1"),
        ("list", "ada", "--metadata", "page"),
        ("list", "ada", "--metadata", "=2"),
        ("check", "ada", "tea", "--field", "=a"),
        ("ingest", "rows.jsonl", "--map", "=text"),
        ("ingest", "rows.jsonl", "--map", "text="),
        ("unmerge", "a", "--decision", "b"),
        ("unmerge", "--decision", "a", "--memory", "b"),
        ("restore", "--forgotten", "f", "--candidate", "c"),
        ("reverse", "a", "--below", "0"),
        ("forget",),
        ("forget", "a", "--plan", "plan.json"),
        ("forget", "--query", "tea"),
        ("forget", "--plan", "plan.json", "--expect", "v"),
        ("forget", "a", "--owner", "ada"),
        ("forget", "a", "--again", "never"),
    ],
)
def test_options_that_say_nothing_or_too_much_are_wrong(
    words: tuple[str, ...], line: CommandLine
) -> None:
    assert line(*words).status == 2
    assert line.json("status")["memories"] == 2


@pytest.mark.parametrize("count", [0, 2])
def test_a_session_of_several_owners_asks_for_one(count: int, palimpsest: CommandLine) -> None:
    rows = [row("a", owner, session_id="monday") for owner in ("ada", "bob")[:count]]
    palimpsest.holds(*rows, row("b", "eve"))
    ran = palimpsest("session", "end", "monday")
    assert ran.status == 2
    told = "2 owners have" if count else "no owner has"
    assert f"{told} candidates in this session" in " ".join(ran.err.split())
