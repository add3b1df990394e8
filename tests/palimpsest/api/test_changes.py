"""The feed from Python and at the command line; its law is in tests/laws/test_feed.py."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest
from palimpsest.api import reads
from palimpsest.cli.main import app
from palimpsest.contracts.errors import UsageError
from palimpsest.queries.changes import ChangeFeed


def test_who_waits_for_changes_keeps_no_other_thread_waiting(memories: Palimpsest) -> None:
    memories.submit([{"owner_id": "ada", "text": "Ada rows"}])
    after = memories.changes("ada")["next"]
    with ThreadPoolExecutor() as threads:
        begun = threading.Event()

        def wait() -> list[str]:
            begun.set()
            page = memories.changes("ada", after=after, wait=60)
            return [memory["face"] for memory in page["memories"]]

        waiting = threads.submit(wait)
        begun.wait()
        memories.submit([{"owner_id": "bob", "text": "Bob bakes"}])
        memories.submit([{"owner_id": "ada", "text": "Ada sings"}])
        assert waiting.result(60) == ["Ada sings"]


def test_who_waits_for_changes_sleeps_between_two_looks(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = [0.0]
    looked = 0

    def now() -> float:
        nonlocal looked
        looked += 1
        assert looked < 100, "it must sleep, not spin"
        return sum(slept)

    clock = SimpleNamespace(monotonic=now, sleep=slept.append)
    monkeypatch.setattr(reads, "time", clock)
    assert memories.changes("ada", wait=0.2)["changes"] == []
    assert sum(slept) >= 0.2


def test_an_agents_handle_reads_its_owner_and_sees_nothing_forgotten(memories: Palimpsest) -> None:
    memories.submit([{"owner_id": "bob", "text": "Bob bakes"}])
    ada = memories.agent("ada")
    [added] = ada.submit("Ada rows")
    ada.forget([str(added.memory_id)])
    page = ada.changes(limit=1)
    assert [memory["face"] for memory in page["memories"]] == [""]
    assert page["next"] == added.decision_id
    assert "position" not in page["changes"][0]
    rest = ada.changes(after=str(page["next"]))
    assert [gone["memory_id"] for gone in rest["gone"]] == [added.memory_id]
    [bobs] = memories.changes("bob")["changes"]
    for wrong in (bobs["event_id"], "no-id"):
        with pytest.raises(UsageError, match="`next` of a page"):
            ada.changes(after=wrong)
    with pytest.raises(UsageError, match="the log ends at position"):
        memories.changes(after=99)


def test_what_is_kept_for_the_next_pages_is_bounded_also_for_a_single_owner(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.queries.changes.MOST_KEPT", 40)
    memories.submit([{"owner_id": "ada", "text": f"Ada rows {n} boats"} for n in range(30)])
    feed = ChangeFeed(memories.reader)
    for after in range(29, 0, -1):
        assert len(feed.page("ada", after, 1)["changes"]) == 1
        assert sum(kept.size for kept in feed._kept["ada"]) == feed._size <= 40


def test_a_page_ends_early_where_its_memories_are_large(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.queries.changes.MOST_MEMBERS", 3)
    memories.submit([{"owner_id": "ada", "text": "Ada rows"} for _ in range(5)])
    lengths, after, count = [], 0, 1
    while count:
        page = memories.changes("ada", after=after)
        count, after = len(page["changes"]), int(page["next"])
        lengths.append(count)
        assert sum(len(memory["members"]) for memory in page["memories"]) <= 3
    assert lengths[0] > 1
    assert sum(lengths) == 5


def test_the_command_shows_pages_of_all_or_one_owner(memories: Palimpsest) -> None:
    for owner in ("ada", "bob"):
        memories.submit([{"owner_id": owner, "text": f"{owner} rows"}])
    store = ["--store", str(memories.folder)]
    told = CliRunner().invoke(app, [*store, "--json", "changes", "bob", "--limit", "1"])
    page = json.loads(told.stdout)
    assert [change["owner_id"] for change in page["changes"]] == ["bob"]
    assert [memory["face"] for memory in page["memories"]] == ["bob rows"]
    drawn = CliRunner().invoke(app, [*store, "changes"])
    assert drawn.exit_code == 0
    assert "policy_set" in drawn.stdout
    assert drawn.stdout.count("came in") == 2
    end = CliRunner().invoke(app, [*store, "changes", "bob", "--after", str(page["next"])])
    assert "nothing after" in end.stdout


def test_following_shows_each_page_as_it_comes(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.submit([{"owner_id": "ada", "text": "Ada rows"}])
    asked = []
    changes = Palimpsest.changes

    def until_it_waits(*args: object, **kwargs: object) -> object:
        asked.append(kwargs["wait"])
        page = changes(*args, **(kwargs | {"wait": 0}))  # type: ignore[arg-type]
        if not page["changes"]:
            raise KeyboardInterrupt
        return page

    monkeypatch.setattr(Palimpsest, "changes", until_it_waits)
    store = ["--store", str(memories.folder)]
    told = CliRunner().invoke(app, [*store, "--json", "changes", "--limit", "1", "--follow"])
    assert told.exit_code == 130
    *pages, problem = [json.loads(line) for line in told.stdout.splitlines()]
    assert "interrupted" in str(problem)
    assert [page["changes"][0]["event"] for page in pages] == ["policy_set", "decided"]
    assert all(asked)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
