"""A call works or raises a PalimpsestError, whatever its arguments and whenever it is made."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, get_type_hints

import pytest

from palimpsest import Palimpsest, PalimpsestError, RefusedError, StoreError, UsageError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.model import NOT_JSON, NOT_UNICODE
from palimpsest.contracts.requests import ComposeRequest, JoinSelection, Selection, SettleRequest
from palimpsest.streams.policies import load_policy
from tests.tables import each

A = "0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11"
B = "7d3c9c63-0c1e-5d55-8f06-5f7b64a1c2f0"
NOBODY = Selection(owner_id="nobody")
VERDICT = Verdict(neighbour_id=B, answer="same", reasoning="alike")
SETTLING = SettleRequest(request_id=A, candidate_id=A, verdicts=(VERDICT,))
COMPOSING = ComposeRequest(request_id=A, decision_id=A, text="Both.", sources=(A, B))


def nothing(*_: object) -> None:
    """Ignore progress."""


def unusable(_texts: list[str]) -> list[list[float]]:
    """An embedder of the caller's that returns nothing, so that no switch of models succeeds."""
    return []


SAID = {"actor": "grace", "because": "so"}
NARROWED = {
    "namespace": "default",
    "category": "plan",
    "metadata": {"page": 1},
    "since": datetime(2026, 1, 1, tzinfo=UTC),
    "until": "2027-01-01",
    "show_expired": True,
}
NOTHING_THERE = ("import_log", "export_source")
"""Calls whose file does not exist, or from which nothing was imported."""
CALLS: dict[str, dict[str, Any]] = {
    "add": {
        "messages": [{"role": "user", "content": "She moved."}],
        "owner_id": "ada",
        "infer": False,
        "session_id": "s",
        "namespace": "default",
        "source": "s",
        "judge": None,
    },
    "agent": {"owner_id": "ada", "actor": "helper"},
    "access": {"candidate_id": A, "owner_id": "ada"},
    "audits": {"actor": "grace", "progress": nothing},
    "ask_judge": {"judge": None, "patience": 0.0},
    "behind": {},
    "changes": {"owner_id": "ada", "after": 0, "limit": 1, "wait": 0.0},
    "check": {"candidate": {"owner_id": "ada", "text": "She moved."}, "source": "s"},
    "dedup_result": {"candidate": {"owner_id": "ada", "text": "She moved."}, "source": "s"},
    "check_duplicate": {"candidate": {"owner_id": "ada", "text": "She moved."}, "source": "s"},
    "compact_session": {"owner_id": "ada", "session_id": "s", **SAID},
    "compose": {"request": COMPOSING},
    "confirm": {"decision_id": A, "owner_id": "ada", **SAID},
    "dead_letter": {"letter_id": A},
    "dead_letters": {"state": "open", "limit": 1, "after": A},
    "decisions": {
        "owner_id": "ada",
        "decision": "stored",
        "since": datetime(2026, 1, 1, tzinfo=UTC),
        "limit": 1,
        "as_of": 1,
    },
    "dedupe": {
        "owner_id": "ada",
        "dry_run": True,
        "force": True,
        "plan": None,
        "due": None,
        "judge": None,
        "progress": nothing,
        **SAID,
    },
    "embed": {"owner_id": "ada", "long": True, "dry_run": True, "progress": nothing},
    "drop_old_vectors": {"actor": "grace", "dry_run": True},
    "embed_with": {"model": "own", "embedder": unusable, "progress": nothing},
    "plan_embedding": {"model": "own", "embedder": unusable},
    "switch_model": {"model": "unheard-of", "policy": None, "actor": "grace"},
    "end_session": {"owner_id": "ada", "session_id": "s", **SAID},
    "export_log": {"file": "exported.jsonl", "progress": nothing},
    "find": {
        "owner_id": "ada",
        "query": "Oslo",
        "by": ["words"],
        "k": 1,
        "namespace": "default",
        "show_expired": True,
    },
    "get": {"memory_id": A, "owner_id": "ada"},
    "history": {"memory_id": A, "owner_id": "ada"},
    "forget": {
        "what": [A],
        "expect": "v",
        "again": "refuse",
        "by": "agent",
        "owner_id": "ada",
        "dry_run": True,
        **SAID,
    },
    "import_log": {"path": "imported", "file": "not-there.jsonl", "progress": nothing},
    "export_source": {
        "path": "rows.jsonl",
        "texts": "face",
        "to": "cleaned.jsonl",
        "source": "s",
        "keep": ["1"],
        "max_changes": 200,
        "trust": True,
        "dry_run": True,
        "progress": nothing,
    },
    "import_source": {
        "path": "rows.jsonl",
        "table": None,
        "query": None,
        "history": None,
        "mapping": {},
        "owner": "ada",
        "source": "s",
        "model_of_vectors": None,
        "trust": True,
        "dry_run": True,
        "progress": nothing,
    },
    "ingest": {
        "files": ["rows.jsonl"],
        "source": "s",
        "mapping": {},
        "form": None,
        "keep_going": False,
        "owner": "ada",
        "expires_in": "7d",
        "progress": nothing,
    },
    "pin": {"memory_id": A, "until": "2999-01-01", "owner_id": "ada", **SAID},
    "names": {"owner_id": "ada"},
    "set_names": {"owner_id": "ada", "names": ["Ada", "I"], **SAID},
    "renew": {"candidate_id": A, "expires_at": "2999-01-01", "owner_id": "ada", **SAID},
    "likeness": {"owner_id": "ada", "at_least": 0.9, "limit": 1},
    "list": {"owner_id": "ada", "limit": 1, "after": None, "former": True, **NARROWED},
    "backtest": {
        "policy": "layered",
        "owner": "ada",
        "since": None,
        "compares_anew": True,
        "processes": 1,
        "progress": nothing,
    },
    "triangles": {"owner_id": "ada", "at_least": 0.9, "limit": 1},
    "why": {"some_id": A, "owner_id": "ada"},
    "why_not": {"a": A, "b": B, "owner_id": "ada"},
    "merge": {"a": A, "b": B, "face": A, "owner_id": "ada", **SAID},
    "metrics": {},
    "next_review": {"owner_id": "ada", "skip": 1},
    "open": {
        "path": "another",
        "create": True,
        "policy": "standard",
        "engine": "onnx",
        "model": "all-MiniLM-L6-v2",
        "embedder": None,
        "progress": nothing,
        "cluster": None,
        "wait": "visible",
        "accept_loss": False,
        "by": "person",
    },
    "owners_of_session": {"session_id": "s"},
    "rebuild": {"which": ["duckdb"], "progress": nothing},
    "recall": {
        "owner_id": "ada",
        "query": "where does she live?",
        "k": 2,
        "as_of": 1,
        "session_id": "s",
        "min_confidence": 0.5,
        "former": True,
        "fold": False,
        "hybrid": None,
        "min_score": 0.5,
        "max_tokens": 9,
        **NARROWED,
    },
    "redo": {"some_id": A, "by": "agent", "owner_id": "ada", "dry_run": True, **SAID},
    "reinstate": {"decision_id": A, "owner_id": "ada", "dry_run": True, "by": "person", **SAID},
    "reinstate_many": {"selection": JoinSelection(owner_id="nobody"), "dry_run": True, **SAID},
    "restore": {"selection": NOBODY, "forgotten": None, "owner_id": "ada", "dry_run": True, **SAID},
    "retract": {"selection": NOBODY, "dry_run": True, **SAID},
    "retry_dead_letters": {"letter_ids": [A], "mapping": {}},
    "reverse": {"selection": JoinSelection(owner_id="nobody"), "dry_run": True, **SAID},
    "review": {"owner_id": "ada", "due": None, "judge": None, "progress": nothing},
    "review_different": {"decision_id": A, "existing_id": B, "owner_id": "ada", **SAID},
    "review_same": {"decision_id": A, "existing_id": B, "owner_id": "ada", **SAID},
    "separate": {"a": A, "b": B, "owner_id": "ada", **SAID},
    "set_policy": {"policy": load_policy("standard"), "actor": "grace"},
    "settle": {"requests": [SETTLING]},
    "show": {"memory_id": A, "owner_id": "ada", "as_of": 1},
    "show_candidate": {"candidate_id": A, "owner_id": "ada", "as_of": 1},
    "sql": {"query": "SELECT count(*) FROM memories WHERE owner_id = ?", "parameters": ["ada"]},
    "status": {"as_of": 1},
    "submit": {
        "candidates": {"owner_id": "ada", "text": "She moved."},
        "source": "s",
        "invalid": "raise",
    },
    "submit_each": {"offers": [({"owner_id": "ada", "text": "She moved."}, "s", "collect")]},
    "undo": {"some_id": A, "by": "agent", "owner_id": "ada", "dry_run": True, **SAID},
    "unmerge": {
        "decision_id": A,
        "candidate_id": None,
        "memory_id": None,
        "dry_run": True,
        "with_consequences": False,
        "by": "person",
        "owner_id": "ada",
        **SAID,
    },
    "update": {
        "memory_id": A,
        "text": "She moved.",
        "expect": "v",
        "merge": True,
        "by": "agent",
        "owner_id": "ada",
        "source": "s",
        "session_id": "s",
        "occurred_at": datetime(2026, 1, 1, tzinfo=UTC),
        "metadata": {"a": 1},
        "dry_run": True,
        **SAID,
    },
    "verify": {"progress": nothing},
    "wait_for": {"position": 0, "timeout": 0.1},
    "withdraw": {"a": A, "b": B, "owner_id": "ada", **SAID},
}
"""Every method, with valid values for all its arguments."""
ANYWHERE = {"close", "import_log", "open"}
"""Calls that need no open store."""
READ = {"policy", "position", "reader", "sql_file", "writer"}
"""Properties."""
WRONG: tuple[Any, ...] = (
    None, True, -1, 0, 2**70, 1.5, float("nan"), "", " ", "\x00", "\ud800", "no such", b"no such",
    ["\ud800"], [], [None],
    [""], ["no such"], {}, {"a": 1}, {1: 2}, (), object(), nothing, Path("no such"), Path(),
    datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC), NOBODY, range(3),
    ({"x": {1, 2}} for _ in range(2)),
)  # fmt: skip


def public() -> set[str]:
    return {name for name in dir(Palimpsest) if not name.startswith("_")}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Palimpsest]:
    """One store for all wrong calls; their effects on it are not checked."""
    with (
        pytest.MonkeyPatch.context() as patch,
        Palimpsest.open(tmp_path_factory.mktemp("shared") / "store") as store,
    ):
        patch.chdir(tmp_path_factory.mktemp("here"))
        _write_rows()
        store.submit({"owner_id": "ada", "text": "She lives in Oslo."})
        yield store


def _write_rows() -> None:
    """Write the file that the calls name."""
    Path("rows.jsonl").write_text('{"owner_id": "ada", "text": "She sails."}\n')


def call(store: Palimpsest, name: str, arguments: Mapping[str, Any]) -> None:
    """Call a method, or read a property; a store that this opens is closed again."""
    found = getattr(store, name)
    done = found(**arguments) if name in CALLS else found
    if isinstance(done, Palimpsest):
        done.close()


def raised(store: Palimpsest, name: str, arguments: Mapping[str, Any]) -> PalimpsestError | None:
    """The error of ours that a call raises, if any; any other error fails the test."""
    try:
        call(store, name, arguments)
    except PalimpsestError as error:
        return error
    return None


def test_every_method_and_argument_is_tried() -> None:
    assert set(CALLS) == public() - READ - {"close"}
    for name, arguments in CALLS.items():
        hints = set(get_type_hints(getattr(Palimpsest, name))) - {"return"}
        packed = {"attribution": set(SAID), "narrowed": set(NARROWED)}
        unpacked = set().union(*(names for one, names in packed.items() if one in hints))
        assert set(arguments) == (hints - set(packed)) | unpacked, name


@each("name", sorted(CALLS))
def test_right_calls_work_or_are_refused(shared: Palimpsest, name: str) -> None:
    error = raised(shared, name, CALLS[name])
    assert not isinstance(error, UsageError) or name in NOTHING_THERE
    if isinstance(error, RefusedError):
        assert "unknown" in error.reason or error.reason in (
            "not_waiting",
            "no_batch_rules",
            "other_model",
        )


@pytest.mark.filterwarnings("ignore:unknown fields are kept")
@each(("name", "argument"), [(name, one) for name, given in CALLS.items() for one in given])
def test_wrong_arguments_raise_our_errors(shared: Palimpsest, name: str, argument: str) -> None:
    said = [raised(shared, name, CALLS[name] | {argument: wrong}) for wrong in WRONG]
    errors = [error for error in said if error is not None]
    assert errors, "some of them must be wrong"
    assert all(str(error).strip() for error in errors)


@each(
    ("argument", "wrong"),
    [
        ("k", 0),
        ("max_tokens", 0),
        ("min_confidence", -0.1),
        ("min_confidence", 1.1),
        ("min_score", -1.1),
        ("min_score", 1.1),
    ],
)
def test_recall_refuses_what_is_out_of_range(
    shared: Palimpsest, argument: str, wrong: float
) -> None:
    given: dict[str, Any] = {argument: wrong}
    with pytest.raises(UsageError, match=argument):
        shared.recall("ada", "Oslo", **given)


def refusals(store: Palimpsest) -> dict[str, str]:
    """The error of each method and property that needs the store, by its name."""
    found = {}
    for name in sorted(public() - ANYWHERE):
        with pytest.raises(UsageError) as refused:
            call(store, name, CALLS.get(name, {}))
        found[name] = str(refused.value)
    return found


@pytest.fixture(name="there")
def there_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the file that the calls name."""
    monkeypatch.chdir(tmp_path)
    _write_rows()


@pytest.mark.usefixtures("there")
def test_after_close_every_call_says_so(memories: Palimpsest) -> None:
    memories.submit({"owner_id": "ada", "text": "She lives in Oslo."})
    memories.close()
    memories.close()
    for name, said in refusals(memories).items():
        assert said == "this store is closed: open it again with Palimpsest.open", name
    with pytest.raises(UsageError, match="this store is closed"), memories:
        pass


def in_child(doing: Callable[[], object]) -> Any:
    """The result of a forked child, as JSON; the child ends without this process's clean-up."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(doing()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        said = told.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(said)


@pytest.mark.usefixtures("there")
@pytest.mark.filterwarnings("ignore")  # of forking beside threads: that is what happens to people
def test_in_a_forked_child_every_call_says_so(memories: Palimpsest, tmp_path: Path) -> None:
    memories.submit({"owner_id": "ada", "text": "She lives in Oslo."})

    def use() -> dict[str, str]:
        found = refusals(memories)
        with pytest.raises(UsageError, match="forked from one that had opened a store") as refused:
            Palimpsest.open(tmp_path / "another")
        memories.close()
        return found | {"open": str(refused.value)}

    found = in_child(use)
    for name, said in found.items():
        assert f"process {os.getpid()}" in said or name == "open", name
        assert "open stores after the fork" in said, name
    assert memories.submit({"owner_id": "ada", "text": "She sails."})[0].decision == "stored"


@pytest.mark.filterwarnings("ignore")  # of forking beside threads: that is what happens to people
@pytest.mark.parametrize("of", ["store", "audits"])
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent(
    memories: Palimpsest, of: str
) -> None:
    """The thread had the turn during the fork, and does not exist in the child."""
    calls: dict[str, Callable[[], object]] = {
        "store": partial(memories.list, "ada"),
        "audits": memories.audits().check,
    }

    def use() -> str:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)  # ends a child that waits
        with pytest.raises(UsageError) as refused:
            calls[of]()
        memories.close()
        return str(refused.value)

    has_turn, done = Event(), Event()

    def take_turn() -> None:
        with memories.turn.lock:
            has_turn.set()
            done.wait()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(take_turn)
        has_turn.wait()
        try:
            assert "open stores after the fork" in in_child(use)
        finally:
            done.set()


def test_a_child_of_a_process_that_only_made_a_store_can_open_it(tmp_path: Path) -> None:
    """As a server does before it forks its workers."""
    program = f"""
import os, sys
from palimpsest import Palimpsest
from palimpsest.api import store
from tests.stub_engine import load_stub

store.load_engine = load_stub
Palimpsest.open({str(tmp_path / "store")!r}).close()
child = os.fork()
with Palimpsest.open({str(tmp_path / "store")!r}) if child == 0 else open(os.devnull) as memories:
    if child == 0:
        memories.submit({{"owner_id": "ada", "text": "She sails."}})
        found = memories.recall("ada", "sails")
        os._exit(7 if [one["face"] for one in found] == ["She sails."] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 7


def test_several_threads_take_turns(memories: Palimpsest) -> None:
    def say(number: int) -> str | None:
        memories.recall("ada", "something")
        memories.status()
        said = {"owner_id": "ada", "text": f"word{number} other{number} third{number}"}
        return memories.submit(said)[0].decision

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(say, range(8))) == ["stored"] * 8
    assert memories.status()["candidates"] == 8


def test_a_batch_run_within_an_event_loop_says_what_to_do(memories: Palimpsest) -> None:
    async def run() -> None:
        with pytest.raises(UsageError, match=r"asyncio\.to_thread"):
            memories.review()
        assert (await asyncio.to_thread(memories.review))["confirmed"] == 0

    asyncio.run(run())


def test_an_unknown_argument_is_not_dropped(memories: Palimpsest) -> None:
    with pytest.raises(UsageError, match=r"'becaus'; it takes a, b, .*because"):
        memories.separate(A, B, becaus="typed wrongly")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="'owner_id'; it takes candidates, source, invalid"):
        memories.submit("She sails.", owner_id="ada")  # type: ignore[arg-type, call-arg]
    with pytest.raises(UsageError, match="missing a required argument: 'query'; it takes owner_id"):
        memories.recall("ada")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("recall", {"k": 0}, "recall: `k` should be greater than or equal to 1"),
        ("recall", {"query": ""}, "recall: `query` is blank"),
        ("unmerge", {"memory_id": A}, "unmerge: name exactly one of"),
        ("unmerge", {"decision_id": None}, "unmerge: name exactly one of"),
        ("update", {"metadata": {"a": [date(2026, 1, 1)]}}, f"`metadata` {NOT_JSON}"),
        ("update", {"metadata": {"a": ["\ud800"]}}, f"`metadata` {NOT_UNICODE}"),
        ("update", {"metadata": {"\ud800": 1}}, f"`metadata` {NOT_UNICODE}"),
        ("decisions", {"decision": "auto_rejct"}, "decisions: `decision` should be one of stored,"),
        ("submit", {"candidates": "She sails."}, "submit: `candidates` should be a mapping"),
        ("ingest", {"files": "nowhere.jsonl"}, "there is no file 'nowhere.jsonl'"),
        ("ingest", {"mapping": []}, "ingest: `mapping` should be a valid dictionary"),
        ("reverse", {"selection": {"owner": "ada"}}, "reverse: `selection` has no field 'owner'"),
        ("settle", {"requests": [{}]}, "settle: `requests` lacks the field 'request_id'"),
        ("open", {"path": ""}, "open: `path` is blank"),
        ("open", {"engine": "steam"}, "open: `engine` should be 'onnx', "),
    ],
    ids=str,
)
def test_what_is_reported(shared: Palimpsest, name: str, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        call(shared, name, CALLS[name] | wrong)
    assert said in str(refused.value)


def test_a_file_is_named_as_such_or_in_a_list(shared: Palimpsest) -> None:
    for files in ("rows.jsonl", Path("rows.jsonl"), ["rows.jsonl"], (Path("rows.jsonl"),)):
        assert shared.ingest(files).rows == 1


def test_what_is_no_json_is_invalid_and_the_rest_goes_on(memories: Palimpsest) -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    strange: list[Any] = [
        {"owner_id": "ada", "text": "x", "metadata": {1}},
        5,
        None,
        "text",
        Odd(),
        deep,
    ]
    good = {"owner_id": "ada", "text": "She sails."}
    rows = [*strange, good, {"owner_id": "ada", "text": Odd()}]
    outcomes = memories.submit(rows, invalid="collect")
    assert [outcome.result for outcome in outcomes] == ["invalid"] * 6 + ["decided", "invalid"]
    assert {outcome.reason for outcome in outcomes if outcome.result == "invalid"} == {"not_json"}
    assert all("plain JSON" in (outcome.detail or "") for outcome in outcomes if outcome.reason)
    letters = [memories.dead_letter(letter["id"])[1] for letter in memories.dead_letters()]
    assert letters[:2] == [b"{'owner_id': 'ada', 'text': 'x', 'metadata': {1}}", b"5"]
    assert memories.submit([]) == []
    assert memories.retry_dead_letters([]).rows == 0, "named are none, not all"
    assert memories.retry_dead_letters().rows == len(memories.dead_letters())


@pytest.mark.filterwarnings("ignore:unknown fields are kept as metadata")
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"confidence": math.nan}, "confidence"),
        ({"importance": -math.inf, "occurred_at": datetime(2026, 1, 1, tzinfo=UTC)}, "importance"),
        ({"metadata": {"readings": [1.5, math.nan]}}, "metadata"),
        ({"mood": math.inf}, "metadata"),
    ],
    ids=["nan", "infinite", "in metadata", "a field of one's own"],
)
def test_a_number_that_json_does_not_know_is_invalid_and_its_field_named(
    memories: Palimpsest, fields: dict[str, Any], named: str
) -> None:
    said = {"owner_id": "ada", "text": "She sails."}
    rows = [said | fields, said | {"category": None}]
    wrong, right = memories.submit(rows, invalid="collect")
    assert (wrong.result, wrong.reason) == ("invalid", "not_json")
    assert (wrong.detail or "").startswith(f"{named}: JSON has no NaN")
    assert right.result == "decided"


def test_a_store_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").touch()
    with pytest.raises(StoreError, match="is a file, and a store is a folder"):
        Palimpsest.open(tmp_path / "notes.jsonl")
