"""A wrong file leaves nothing behind, and the message says what the file may be."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.errors import WrongFileError
from palimpsest.jobs.ingest import FIRST_ROWS, IngestProgress
from palimpsest.jobs.wrong_files import advice
from palimpsest.process.output import Output
from palimpsest.streams.intake import RawRow
from tests.palimpsest.cli.conftest import CommandLine, row

NOISE = random.Random(5).randbytes(200_000)


@pytest.fixture
def noise(palimpsest: CommandLine) -> str:
    path = palimpsest.folder / "noise.jsonl"
    path.write_bytes(NOISE)
    return str(path)


@pytest.mark.parametrize("piped", [False, True])
def test_noise_leaves_nothing_behind(palimpsest: CommandLine, noise: str, piped: bool) -> None:
    palimpsest.ingest(row("Ada lives in Paris"))
    before = palimpsest.json("status")["position"]
    words = ["-"] if piped else [palimpsest.file([row("Ada paints")], "good.jsonl"), noise]
    ran = palimpsest("--json", "ingest", *words, stdin=NOISE if piped else None)
    assert ran.status == 1
    error = ran.document["error"]
    assert (error["kind"], "--keep-going" in error["detail"]) == ("wrong_file", True)
    assert "the first 100 rows" in error["detail"]
    assert palimpsest.json("status")["position"] == before


def test_it_is_read_all_the_same_where_that_is_wanted(palimpsest: CommandLine) -> None:
    file = palimpsest.file(["no json"] * (FIRST_ROWS + 5) + [row("Ada paints")])
    assert palimpsest("ingest", file).status == 1
    summary = palimpsest.json("ingest", file, "--keep-going", status=1)
    assert (summary["rows"], summary["decisions"]) == (FIRST_ROWS + 6, {"stored": 1})


@pytest.mark.parametrize(("answer", "rows"), [("n", 0), ("y", FIRST_ROWS)])
def test_a_person_is_asked(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch, answer: str, rows: int
) -> None:
    palimpsest.ingest(row("Ada lives in Paris"))
    monkeypatch.setattr(Output, "asks", True)
    ran = palimpsest("ingest", palimpsest.file(["no json"] * FIRST_ROWS, "x"), stdin=answer + "\n")
    assert "none of the first 100 rows of" in " ".join(ran.err.split())
    assert ran.status == 1
    assert (palimpsest.json("status")["invalid"] > 0) == (rows > 0)


def test_a_wrong_file_makes_no_store(palimpsest: CommandLine, noise: str) -> None:
    folder = palimpsest.folder
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(NOISE)[:1000])
    for words, status in [
        ((noise,), 1),
        ((str(folder),), 2),
        (("not-there.jsonl",), 2),
        ((str(folder / "cut.jsonl.gz"),), 2),
    ]:
        assert palimpsest("ingest", *words).status == status
        assert not palimpsest.store.exists()
    assert palimpsest("ingest", "-", stdin=NOISE).status == 1
    assert palimpsest("log", "import", noise).status == 4
    assert palimpsest("log", "import", "not-there.jsonl").status == 2
    assert not palimpsest.store.exists()


def test_a_file_without_rows_is_reported(palimpsest: CommandLine) -> None:
    empty = palimpsest.file([], "empty.jsonl")
    ran = palimpsest("--json", "ingest", empty, palimpsest.file([row("Ada paints")]))
    assert (ran.status, ran.document["remarks"]) == (0, [f"{empty} has no rows"])


def test_one_wrong_row_is_reported_in_the_singular(palimpsest: CommandLine) -> None:
    ran = palimpsest("--json", "ingest", palimpsest.file(["no json"]))
    assert "the only row of" in ran.document["remarks"][0]


def test_a_table_s_line_with_too_many_cells_says_so(palimpsest: CommandLine) -> None:
    Path("rows.csv").write_text("owner_id,text\nada,one,two\n")
    [wrong] = palimpsest.json("ingest", "rows.csv", status=1)["invalid_rows"]
    assert wrong["reason"] == "not_an_object"
    assert "if it has too many cells" in wrong["detail"]


def test_one_right_row_among_the_first_is_enough(palimpsest: CommandLine) -> None:
    rows = ["no json"] * (FIRST_ROWS - 1) + [row("Ada paints")] + ["no json"] * FIRST_ROWS
    assert palimpsest.ingest(*rows, status=1)["rows"] == 2 * FIRST_ROWS


def test_a_few_wrong_rows_are_kept_with_what_they_lack(palimpsest: CommandLine) -> None:
    rows = [{"user": "ada", "content": f"Ada has {n} boats", "when": 5} for n in range(3)]
    ran = palimpsest("ingest", palimpsest.file(rows))
    assert ran.status == 1
    told = " ".join(ran.err.split())
    assert "the rows have content, user, when" in told
    assert "--map content=text --map user=owner_id" in told
    assert palimpsest.json("status")["invalid"] == 3


def test_the_api_raises(palimpsest: CommandLine, noise: str) -> None:
    with Palimpsest.open(palimpsest.store) as store:
        with pytest.raises(WrongFileError, match="none of the first 100 rows"):
            store.ingest([noise])
        assert store.status()["position"] == 0


def test_the_api_reads_files_as_it_is_told(palimpsest: CommandLine) -> None:
    folder = palimpsest.folder
    (folder / "table").write_text("who,words\nada,Ada sings\n")
    (folder / "noisy").write_text("no json\n" * FIRST_ROWS)
    told: list[int] = []
    with Palimpsest.open(palimpsest.store) as store:
        read = store.ingest(
            folder / "table",
            source="s",
            mapping={"who": "owner_id", "words": "text"},
            form="csv",
            progress=lambda one: told.append(one.rows),
        )
        assert (read.rows, dict(read.decisions)) == (1, {"stored": 1})
        assert store.ingest(folder / "noisy", keep_going=True).invalid == FIRST_ROWS
        [row] = store.sql("SELECT owner_id, source, text FROM candidates")
    assert row == {"owner_id": "ada", "source": "s", "text": "Ada sings"}
    assert told == [1]


def advice_on(*rows: Any, **renames: str) -> str:
    raws = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    return advice([RawRow(raw, "f") for raw in raws], renames)


SECRET = "Ada's secret"


def test_what_it_may_be_is_reported_without_a_word_of_it() -> None:
    csv = (b"owner_id,text", b"ada," + SECRET.encode())
    assert "this looks like CSV" in advice_on(*csv)
    assert "this looks like CSV" in advice_on(b"a;b;c", b"1;2;3", b"4;5;6")
    assert "none of them is a JSON object" in advice_on(b"\xff\x00", b"7")
    assert "none of them is a JSON object" in advice_on(SECRET.encode(), b"one, two, three")
    assert "only 1 of them" in advice_on({"text": SECRET}, SECRET)
    assert "UTF-16" in advice_on(f'{{"text": "{SECRET}"}}'.encode("utf-16"))
    assert "not in UTF-8" in advice_on({"text": SECRET}, b'{"text": "\xe9"}')
    assert "over many lines" in advice_on(b"{", b'"owner_id": "ada",', b'"text": "x"', b"}")
    assert "over many lines" in advice_on(b'{"owner_id": "ada",', b'"text": "x"}')
    assert "`text`" in advice_on({SECRET: 1, "owner_id": "ada"})
    assert "`owner_id`" not in advice_on({"user": "ada", "note": SECRET}, user="owner_id")
    assert "owner_id: " in advice_on({"owner_id": 5, "text": SECRET})
    event = {"specversion": "1.0", "type": "x", "id": "1", "source": "s", "data": {"a": SECRET}}
    assert "type is not known" in advice_on(event)
    assert not any(
        SECRET in advice_on(one) for one in (SECRET, {"text": SECRET}, {SECRET: 1}, event)
    )


def test_a_table_and_an_array_are_read(palimpsest: CommandLine) -> None:
    table, array = Path("rows.csv"), Path("rows.json")
    table.write_text("user,content\nada,Ada lives in Paris\n")
    array.write_text(json.dumps([row("Ada drinks tea"), row("Ada paints")], indent=1))
    names = ["--map", "user=owner_id", "--map", "content=text"]
    assert palimpsest.json("ingest", str(table), *names)["decisions"] == {"stored": 1}
    assert sum(palimpsest.json("ingest", str(array))["decisions"].values()) == 2
    ran = palimpsest("--json", "ingest", "-", "--format", "csv", stdin="owner_id,text\nben,Hi Ben")
    assert ran.document["decisions"] == {"stored": 1}


def test_progress_shows_what_is_decided(palimpsest: CommandLine) -> None:
    """The whole file is read ahead while the first of its three windows is decided on."""
    long = "Ada has a boat " * 130
    file = palimpsest.file(row(long, f"owner {number}") for number in range(1400))
    told: list[IngestProgress] = []
    with Palimpsest.open(palimpsest.store) as store:
        store.ingest([file], progress=told.append)
    size = Path(file).stat().st_size
    assert told[0].rows < 700
    assert told[0].bytes_read / size < 0.7
    assert [one.bytes_read for one in told] == sorted(one.bytes_read for one in told)
    assert told[-1].bytes_read == size
