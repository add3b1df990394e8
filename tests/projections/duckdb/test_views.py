"""What analysts see, and that they can see it from anywhere and at any time."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fsspec.implementations.local import LocalFileSystem

from palimpsest.contracts.commands import (
    Confirm,
    Forget,
    Merge,
    Reinstate,
    Restore,
    Retract,
    Settle,
    Unmerge,
)
from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.events import Composition
from palimpsest.contracts.evidence import Verdict
from palimpsest.projections.base.files import remove
from palimpsest.projections.base.source import no_effect
from palimpsest.projections.duckdb import queries as analysts
from palimpsest.projections.duckdb.compaction import compact
from palimpsest.projections.duckdb.queries import ensure_views, query, views_file, write_views
from palimpsest.projections.duckdb.segments import FOLDER, Segment, listed
from palimpsest.projections.duckdb.views import Place, views
from palimpsest.projections.projector import Projector
from tests.long import long_but
from tests.projections.histories import JUDGES, History, content_of

NEAR = ("The ferry leaves at noon.", "The ferry leaves at noon")


def show(folder: Path, history: History) -> None:
    projector = Projector(folder, history.log)
    projector.start()
    projector.close()


def show_each(folder: Path, *texts: str) -> None:
    """Show a history in which each text has a segment of its own."""
    history = History()
    for text in texts:
        history.admit("ada", text)
        show(folder, history)


def one(folder: Path, text: str) -> dict[str, object]:
    rows = query(folder, text)
    assert len(rows) == 1, rows
    return rows[0]


def test_a_join_and_its_reversal(tmp_path: Path) -> None:
    history = History()
    a = history.admit("ada", "She keeps a kettle.")
    b = history.admit("ada", "A kettle is hers.")
    history.run(Merge(command_id=history.fresh(), owner_id="ada", a=a, b=b, actor="kim"))
    show(tmp_path, history)
    join = one(tmp_path, "FROM joins")
    assert (join["candidate_id"], join["joined_to"], join["memory_id"]) == (b, a, a)
    assert (join["standing"], join["decision"], join["actor"]) == (True, "manual_join", "kim")
    assert join["review_status"] == "unreviewed"
    assert one(tmp_path, "SELECT memory_id, members FROM memories") == {
        "memory_id": a,
        "members": 2,
    }
    reverse = Unmerge(
        command_id=history.fresh(), owner_id="ada", decision_id=str(join["decision_id"])
    )
    history.run(reverse)
    show(tmp_path, history)
    join = one(tmp_path, "FROM joins")
    assert (join["standing"], join["memory_id"], join["review_status"]) == (False, b, "reversed")
    assert {row["memory_id"] for row in query(tmp_path, "FROM memories")} == {a, b}
    stored = query(tmp_path, "FROM decisions WHERE decision = 'stored'")
    assert [row["standing"] for row in stored] == [None, None]


def test_the_log_of_what_was_compared(tmp_path: Path) -> None:
    history = History()
    a = history.admit("ada", "The orchard is sold.")
    b = history.admit("ada", "They sold the orchard to a cousin.", (a, 0.81))
    history.admit("ada", " The orchard is sold.")
    verdict = Verdict(
        neighbour_id=a,
        answer="different",
        reasoning="one names the buyer",
        model="judge-1",
        prompt="compare@1",
        input_tokens=200,
        output_tokens=20,
        cost_usd=0.25,
        seconds=1.5,
        calls=0.5,
    )
    show(tmp_path, history)
    waiting = one(tmp_path, "FROM review_queue WHERE waits_as = 'pending'")
    assert (waiting["existing_text"], waiting["similarity"]) == ("The orchard is sold.", 0.81)
    history.run(
        Settle(command_id=history.fresh(), owner_id="ada", candidate_id=b, verdicts=(verdict,))
    )
    show(tmp_path, history)
    compared = query(tmp_path, "FROM dedup_log ORDER BY position")
    assert [row["decision"] for row in compared] == ["pending", "hash_exact", "llm_keep"]
    assert [row["similarity"] for row in compared] == [0.81, 1.0, 0.81]
    assert {row["existing_id"] for row in compared} == {a}
    assert compared[2]["llm_reasoning"] == "one names the buyer"
    assert not query(tmp_path, "FROM review_queue")
    cost = one(tmp_path, "FROM judge_cost")
    assert (cost["model"], cost["prompt"], cost["calls"]) == ("judge-1", "compare@1", 0.5)
    assert (cost["verdicts"], cost["known"], cost["unavailable"]) == (1, 0, 0)
    assert (cost["input_tokens"], cost["cost_usd"], cost["seconds"]) == (200, 0.25, 1.5)
    assert cost["day"] == compared[2]["decided_at"].date()
    rate = one(tmp_path, "FROM removal_rate")
    assert (rate["candidates"], rate["memories"], rate["removed"]) == (3, 2, 1)
    assert rate["rate"] == pytest.approx(1 / 3)


def test_what_a_confirming_review_by_the_model_cost_is_counted(tmp_path: Path) -> None:
    history = History()
    a = history.admit("ada", "She keeps a kettle.")
    b = history.admit("ada", "A kettle is hers.")
    merge = Merge(command_id=history.fresh(), owner_id="ada", a=a, b=b)
    [joined] = history.run(merge)
    verdict = Verdict(neighbour_id=a, answer="same", model="judge-1", cost_usd=0.25, calls=1.0)
    history.run(
        Confirm(
            command_id=history.fresh(),
            owner_id="ada",
            decision_id=joined.id,
            rank="review",
            verdicts=(verdict,),
        )
    )
    show(tmp_path, history)
    assert one(tmp_path, "FROM judge_cost")["cost_usd"] == 0.25


@pytest.mark.parametrize(
    ("second", "cost"),
    [
        ({"cost_usd": 0.5, "calls": 1.0}, 0.75),
        ({"cost_usd": None, "calls": 1.0}, None),
        ({"cost_usd": None, "calls": 0.0}, 0.25),
    ],
)
def test_a_cost_that_is_not_known_in_whole_is_no_number(
    tmp_path: Path, second: dict[str, Any], cost: float | None
) -> None:
    history = History()
    a = history.admit("ada", "She keeps a kettle.")
    b = history.admit("ada", "A kettle is hers.")
    merge = Merge(command_id=history.fresh(), owner_id="ada", a=a, b=b)
    [joined] = history.run(merge)
    for paid in ({"cost_usd": 0.25, "calls": 1.0}, second):
        verdict = Verdict(neighbour_id=a, answer="same", model="judge-1", **paid)
        history.run(
            Confirm(
                command_id=history.fresh(),
                owner_id="ada",
                decision_id=joined.id,
                rank="review",
                verdicts=(verdict,),
            )
        )
    show(tmp_path, history)
    told = one(tmp_path, "FROM judge_cost")
    assert (told["verdicts"], told["cost_usd"]) == (2, cost)


def test_who_waits_because_of_a_forgetting_is_shown_until_a_person_decides(tmp_path: Path) -> None:
    history = History()
    a = history.admit("ada", NEAR[0])
    name = history.fresh()
    forget = Forget(command_id=name, owner_id="ada", memories=(a,), again="ask", cause=name)
    history.run(forget)
    b = history.admit("ada", "At noon the ferry leaves.", rewords=((a, 0.81),))
    c = history.admit("ada", NEAR[0])
    show(tmp_path, history)
    queue = query(tmp_path, "FROM review_queue")
    assert [(row["candidate_id"], row["similarity"]) for row in queue] == [(b, 0.81), (c, 1.0)]
    assert {(row["waits_as"], row["existing_id"]) for row in queue} == {("forgotten", a)}
    assert {row["existing_text"] for row in queue} == {NEAR[0]}
    history.run(Restore(command_id=history.fresh(), owner_id="ada", candidate_id=b))
    confirm = Confirm(
        command_id=history.fresh(), owner_id="ada", decision_id=queue[1]["decision_id"]
    )
    history.run(confirm)
    show(tmp_path, history)
    assert not query(tmp_path, "FROM review_queue")


def test_automatic_rejections_wait_for_a_review(tmp_path: Path) -> None:
    history = History()
    texts = [NEAR, ("The lantern hangs high up.", "The lantern hangs high up")]
    for (first, second), cosine in zip(texts, (0.99, 0.95), strict=True):
        a = history.admit("ada", first)
        history.admit("ada", second, (a, cosine))
    show(tmp_path, history)
    queue = query(tmp_path, "FROM review_queue")
    assert [(row["decision"], row["similarity"]) for row in queue] == [
        ("auto_reject", 0.95),
        ("auto_reject", 0.99),
    ]
    confirm = Confirm(
        command_id=history.fresh(), owner_id="ada", decision_id=queue[0]["decision_id"]
    )
    history.run(confirm)
    show(tmp_path, history)
    assert [row["similarity"] for row in query(tmp_path, "FROM review_queue")] == [0.99]
    outcome = one(tmp_path, "FROM policy_outcomes WHERE decision = 'auto_reject'")
    assert (outcome["n"], outcome["confirmed"], outcome["reversed"]) == (2, 1, 0)
    assert outcome["mean_similarity"] == pytest.approx(0.97)


def test_a_join_that_was_put_back_waits_again_until_it_is_confirmed(tmp_path: Path) -> None:
    history = History()
    a = history.admit("ada", NEAR[0])
    history.admit("ada", NEAR[1], (a, 0.99))
    show(tmp_path, history)
    waiting = one(tmp_path, "FROM review_queue")
    about: dict[str, Any] = {"owner_id": "ada", "decision_id": waiting["decision_id"]}
    history.run(Unmerge(command_id=history.fresh(), **about))
    show(tmp_path, history)
    assert not query(tmp_path, "FROM review_queue")
    history.run(Reinstate(command_id=history.fresh(), **about))
    show(tmp_path, history)
    assert one(tmp_path, "FROM review_queue") == waiting
    assert one(tmp_path, "FROM joins")["review_status"] == "reinstated"
    history.run(Confirm(command_id=history.fresh(), **about))
    show(tmp_path, history)
    assert not query(tmp_path, "FROM review_queue")


def test_what_is_retracted_and_what_is_nobodys(tmp_path: Path) -> None:
    history = History()
    a = history.admit("ada", "The tunnel floods in March.")
    history.run(Retract(command_id=history.fresh(), owner_id="ada", candidate_id=a))
    history.nobody()
    show(tmp_path, history)
    assert query(tmp_path, "FROM memories") == []
    assert one(tmp_path, "SELECT living, memory_id FROM candidates") == {
        "living": False,
        "memory_id": a,
    }
    invalid = one(tmp_path, "FROM decisions WHERE decision = 'invalid'")
    assert (invalid["owner_id"], invalid["reason"], invalid["source"]) == (None, "not_json", "f")
    assert one(tmp_path, "SELECT name FROM policies") == {"name": "standard"}


@pytest.mark.usefixtures("own_views")
def test_a_copied_store_never_shows_the_others_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History()
    history.admit("ada", "A blanket lies on the bench.")
    here, there = tmp_path / "here", tmp_path / "it's [1] *there"
    show(here, history)
    shutil.copytree(here, there)
    history.admit("ada", "The bench was painted.")
    show(here, history)
    with duckdb.connect(str(there / "palimpsest.duckdb"), read_only=True) as database:
        for view in ("memories", "decisions", "log_position", "daily"):
            with pytest.raises(duckdb.Error, match="moved or copied"):
                database.execute(f"FROM {view}").fetchall()
    assert ensure_views(there)
    assert not ensure_views(there)
    monkeypatch.chdir("/")
    with duckdb.connect(str(there / "palimpsest.duckdb"), read_only=True) as database:
        assert database.execute("SELECT count(*) FROM memories").fetchone() == (1,)
    assert len(query(here, "FROM memories")) == 2


def test_the_views_are_not_opened_to_know_that_they_are_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless what was recorded of them is not of these bytes, or torn."""
    show(tmp_path, History())
    views, record = views_file(tmp_path), tmp_path / analysts.RECORD
    with monkeypatch.context() as patch:
        patch.setattr(duckdb, "connect", None)
        assert not ensure_views(tmp_path)
    record.write_bytes(record.read_bytes()[:-3])
    assert ensure_views(tmp_path)
    views.write_bytes(views.read_bytes()[:-7])
    assert ensure_views(tmp_path)
    assert query(tmp_path, "FROM log_position") == [{"position": 0}]


@pytest.mark.usefixtures("own_views")
def test_a_moved_store_works_after_a_command_that_writes(tmp_path: Path) -> None:
    history = History()
    history.admit("ada", "The compass points to the door.")
    show(tmp_path / "a" / "projections", history)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    moved = tmp_path / "b" / "projections"
    assert len(query(moved, "FROM memories")) == 1
    with (
        duckdb.connect(str(views_file(moved)), read_only=True) as database,
        pytest.raises(duckdb.Error, match="palimpsest sql"),
    ):
        database.execute("FROM memories")
    elsewhere = tmp_path / "views.duckdb"
    write_views(moved, elsewhere)  # as somebody does who reads another's disk
    show(moved, history)
    for file in (views_file(moved), elsewhere):
        with duckdb.connect(str(file), read_only=True) as database:
            assert database.execute("SELECT count(*) FROM memories").fetchone() == (1,)
    with pytest.raises(UsageError, match="exists already"):
        write_views(moved, elsewhere)


@pytest.mark.usefixtures("own_views")
def test_an_analyst_who_opens_the_file_for_writing_is_in_nobodys_way(tmp_path: Path) -> None:
    history = History()
    history.admit("ada", "The lantern hangs by the gate.")
    show(tmp_path, history)
    with held(views_file(tmp_path)):
        analysts._waiting.clear()
        assert len(query(tmp_path, "FROM memories")) == 1
        history.admit("ada", "The well is behind the barn.")
        show(tmp_path, history)
        assert len(query(tmp_path, "FROM memories")) == 2
    show(tmp_path, history)
    with duckdb.connect(str(views_file(tmp_path)), read_only=True) as database:
        assert database.execute("SELECT count(*) FROM memories").fetchone() == (2,)
        assert database.execute("FROM duckdb_tables()").fetchall() == []


HOLDS = """
import sys, duckdb
database = duckdb.connect(sys.argv[1])
database.execute("CREATE TABLE mine AS SELECT 1; DROP VIEW memories")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(file: Path) -> Iterator[None]:
    """While the block runs, another process keeps the file open for writing, and changes it."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as analyst:
        assert analyst.stdout is not None
        assert analyst.stdin is not None
        assert analyst.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            analyst.stdin.close()


ASKS = """
import signal, sys
from pathlib import Path
from palimpsest.projections.duckdb.queries import query
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
print("asks", flush=True)
try:
    query(Path(sys.argv[1]), sys.argv[2])
except KeyboardInterrupt:
    print("interrupted")
"""
TAKES_DAYS = "SELECT count(*) FROM range(100000000000) t(a), range(1000) u(b) WHERE a * b % 7 = 3"


def test_an_interrupt_ends_a_query(tmp_path: Path) -> None:
    show(tmp_path, History())
    with subprocess.Popen(
        [sys.executable, "-c", ASKS, str(tmp_path), TAKES_DAYS], stdout=subprocess.PIPE, text=True
    ) as analyst:
        assert analyst.stdout is not None
        assert analyst.stdout.readline() == "asks\n"
        time.sleep(1)  # so that the query has most likely begun
        analyst.send_signal(signal.SIGINT)
        try:
            assert analyst.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            analyst.kill()


@pytest.mark.usefixtures("own_views")
def test_it_is_reached_through_a_link_and_attached(tmp_path: Path) -> None:
    history = History()
    history.admit("ada", "A violin rests in its case.")
    show(tmp_path / "store", history)
    (tmp_path / "link").symlink_to(tmp_path / "store")
    assert len(query(tmp_path / "link", "FROM memories")) == 1
    with duckdb.connect() as database:
        database.execute(f"ATTACH '{views_file(tmp_path / 'link')}' AS mine (READ_ONLY)")
        assert database.execute("SELECT count(*) FROM mine.memories").fetchone() == (1,)


def test_older_versions_of_duckdb_can_open_it(tmp_path: Path) -> None:
    show(tmp_path, History())
    with duckdb.connect(str(views_file(tmp_path)), read_only=True) as database:
        tags = database.execute("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchone()
    assert tags is not None
    assert "v1.2" in tags[0]["storage_version"]


def test_columns_of_one_name_are_told_apart_and_none_is_lost(tmp_path: Path) -> None:
    ensure_views(tmp_path)
    [row] = query(tmp_path, "SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS a")
    assert row == {"a": 1, "a_2": 2, "a_1": 3, "a_3": 4}


@pytest.mark.parametrize("text", ["", " \n", ";", "-- a comment"])
def test_a_text_without_a_query_is_refused(tmp_path: Path, text: str) -> None:
    ensure_views(tmp_path)
    with pytest.raises(UsageError, match="there is no query"):
        query(tmp_path, text)


def test_errors_say_whose_they_are(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no views"):
        query(tmp_path, "SELECT 1")
    show(tmp_path, History())
    with pytest.raises(UsageError, match="nowhere"):
        query(tmp_path, "FROM nowhere")
    with pytest.raises(UsageError, match="only queries"):
        query(tmp_path, "CREATE TABLE t (x INT)")
    assert query(tmp_path, "SELECT ? AS x", [1]) == [{"x": 1}]


def test_an_instance_of_duckdb_waits_for_the_next_query_of_its_store(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("here", "there", "elsewhere")]
    here, there, elsewhere = folders
    for folder in folders:
        ensure_views(folder)
    analysts._waiting.clear()
    query(here, "FROM log_position")
    [instance] = analysts._waiting
    query(there, "FROM log_position")
    query(here, "FROM memories")
    assert instance in analysts._waiting
    spilling = "SELECT current_setting('temp_directory') AS folder"
    for folder in (here, there):
        assert one(folder, spilling) == {"folder": f"{views_file(folder).resolve()}.tmp"}
    with pytest.raises(UsageError):
        query(here, "FROM nowhere")
    assert instance not in analysts._waiting
    query(here, "SELECT 1")
    query(elsewhere, "SELECT 1")
    assert [kept.folder for kept in analysts._waiting] == [here.resolve(), elsewhere.resolve()]


def test_a_query_of_the_catalog_sees_every_view(tmp_path: Path) -> None:
    ensure_views(tmp_path)
    everything = {(name,) for name in views(Place(""))}
    for text in (
        "SELECT view_name AS name FROM duckdb_views() WHERE NOT internal",
        "SELECT table_name AS name FROM information_schema.tables",
        "SHOW TABLES",
        "SELECT view_name AS name FROM duckdb_views WHERE NOT internal",
        "SELECT name FROM SQLITE_MASTER",
    ):
        analysts._waiting.clear()
        query(tmp_path, "FROM memories")
        assert {(row["name"],) for row in query(tmp_path, text)} == everything
        assert query(tmp_path, "FROM MEMORIES") == []


def test_the_catalog_has_its_comments_after_queries_of_every_view(tmp_path: Path) -> None:
    ensure_views(tmp_path)
    for name in views(Place("")):
        query(tmp_path, f"FROM {name} LIMIT 0")
    comments = "SELECT comment FROM duckdb_views() WHERE NOT internal"
    assert all(row["comment"] for row in query(tmp_path, comments))


def test_queries_at_once_have_an_instance_each(tmp_path: Path) -> None:
    ensure_views(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(
            lambda n: query(tmp_path, "SELECT ? AS n FROM log_position", [n]), range(80)
        )
        assert [rows[0]["n"] for rows in found] == [*range(80)]
    assert len(analysts._waiting) <= analysts.KEPT


FORKS = """
import os, sys
from pathlib import Path
from palimpsest.projections.duckdb.queries import (_waiting, query)
folder = Path(sys.argv[1])
assert query(folder, "SELECT 1 AS n") and _waiting
if (child := os.fork()) == 0:
    assert not _waiting
    sys.exit(query(folder, "SELECT 7 AS n")[0]["n"])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
query(folder, "SELECT 1 AS n")
"""


def test_a_child_of_a_fork_ends_well(tmp_path: Path) -> None:
    """Of an instance that its parent has it lacks the threads: closing one would be a crash."""
    ensure_views(tmp_path)
    subprocess.run([sys.executable, "-c", FORKS, tmp_path], timeout=60, check=True)


def test_a_query_spills_beside_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_views(tmp_path)
    analysts._waiting.clear()
    monkeypatch.setitem(analysts._LIMITS, "memory_limit", "24MB")
    monkeypatch.setitem(analysts._LIMITS, "threads", 1)
    count = "SELECT count(*) AS n FROM (SELECT random() AS r FROM range(2_000_000) ORDER BY r)"
    assert one(tmp_path, count) == {"n": 2_000_000}
    analysts._waiting.pop().database.close()
    assert [*tmp_path.glob("*.tmp")] == []


def test_a_segment_that_leaves_while_it_is_read_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was merged into another a minute ago: the query finds what it said there."""
    history = History()
    history.admit("ada", "A kettle is hers.")
    show(tmp_path, history)
    listed_once = analysts._listed_once
    gone = 'IO Error: Cannot open file "position.parquet": No such file or directory'
    leaving = [duckdb.IOException(gone)]

    def rows(*asked: Any) -> list[list[dict[str, Any]]]:
        if leaving:
            raise leaving.pop()
        return listed_once(*asked)

    monkeypatch.setattr(analysts, "_listed_once", rows)
    assert len(query(tmp_path, "FROM memories")) == 1
    leaving += [duckdb.IOException(gone)] * analysts.LISTINGS
    with pytest.raises(StoreError, match="cannot be read"):
        query(tmp_path, "FROM memories")
    assert leaving == []


def test_a_segment_that_leaves_between_listing_and_reading_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaced segments stay for a minute, but a machine may have slept longer than that."""
    show_each(tmp_path, "A kettle is hers.", "A violin is hers.")
    old = [segment for segment in listed(tmp_path) if segment.end > 0]
    files = analysts._files

    def lists(folder: Path) -> dict[str, list[str]]:
        found = files(folder)
        if old:
            compact(tmp_path, old, no_effect)
        while old:
            remove(old.pop().path)
        return found

    monkeypatch.setattr(analysts, "_files", lists)
    assert len(query(tmp_path, "FROM candidates")) == 2
    assert old == []


def test_a_segment_that_is_merged_while_a_query_lists_it_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list may have neither the segment, which left, nor the merged one, which came."""
    show_each(tmp_path, "A kettle is hers.", "A violin is hers.")
    old = listed(tmp_path)[-1].path
    beside, merged = tmp_path / "beside", old.with_suffix(".1")
    moves = [(beside, merged), (old, beside)]

    def lists(folder: Path) -> list[Segment]:
        found = [segment for segment in listed(folder) if not moves or segment.path != old]
        while moves:
            Path.rename(*moves.pop())
        return found

    monkeypatch.setattr(analysts, "listed", lists)
    assert len(query(tmp_path, "FROM candidates")) == 2
    assert moves == []


def test_a_segment_that_was_replaced_is_not_read(tmp_path: Path) -> None:
    """In a store that is written all the time, most segments are such for a minute."""
    show_each(tmp_path, "A kettle is hers.", "A violin is hers.", "A boat is hers.")
    old = [segment for segment in listed(tmp_path) if segment.end > 0]
    compact(tmp_path, old, no_effect)
    for path in [path for segment in old for path in segment.path.glob("*.parquet")]:
        path.write_bytes(b"what nobody reads")
    assert len(query(tmp_path, "FROM candidates")) == 3
    assert len(query(tmp_path, "SHOW ALL TABLES")) == len(views(Place("")))


def compose(history: History) -> None:
    """Two memories joined by a text that the judge composed of them."""
    a = history.admit("ada", "The violin is old.")
    b = history.admit("ada", "The violin is hers.", (a, 0.81))
    text = Composition(content=content_of("The old violin is hers."), sources=(a, b))
    verdict = Verdict(neighbour_id=a, answer="compose", reasoning="both", model="judge-1")
    history.run(
        Settle(
            command_id=history.fresh(),
            owner_id="ada",
            candidate_id=b,
            verdicts=(verdict,),
            composition=text,
        )
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Projections whose last segment is a commit that changes what every view shows."""
    folder = tmp_path_factory.mktemp("written")
    history = History(3).steps(60)
    history.take()
    show(folder, history)
    history.nobody()
    history.judged_by(JUDGES[0])
    compose(history.steps(90))
    show(folder, history)
    return folder.resolve()


def shown(folder: Path, view: str, before: int | None) -> tuple[list[str], int]:
    """A view's rows, and how often it lists; the last segment comes before one of the listings."""
    last, coming, file = listed(folder)[-1].path, folder / "coming", folder / "views"
    last.rename(coming)
    watched = LocalFileSystem(skip_instance_cache=True)
    glob = watched.glob
    listings: list[str] = []

    def listing(path: str) -> Any:
        if len(listings) == before:
            coming.rename(last)
        listings.append(path)
        return glob(path)

    watched.glob = listing
    with duckdb.connect(str(file)) as database:
        database.register_filesystem(watched)
        place = Place(f"local://{folder / FOLDER}", str(file))
        rows = database.execute(views(place)[view]).fetchall()
    if before is None:
        coming.rename(last)
    return sorted(map(repr, rows)), len(listings)


@pytest.mark.parametrize(
    "view",
    long_but("memories", "dedup_log", of=views(Place("", ""))),
)
def test_a_commit_while_a_view_is_read_shows_whole_or_not_at_all(written: Path, view: str) -> None:
    """Whichever of the view's tables have been listed by then."""
    earlier, listings = shown(written, view, None)
    later, _ = shown(written, view, 0)
    assert earlier != later
    for number in range(1, listings):
        assert shown(written, view, number)[0] == earlier
