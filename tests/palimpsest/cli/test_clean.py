"""`clean` at the command line."""

from __future__ import annotations

import csv
import errno
import gzip
import json
import re
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

import pytest

from palimpsest.cleaning import documents
from palimpsest.streams.embedder import source
from palimpsest.streams.embedder.function_engine import FunctionEngine
from tests.palimpsest.cli.conftest import CommandLine, by_length
from tests.palimpsest.web.site import PHONE, a_browser

DOG, LARGE = "Ada has a big dog.", "Ada has a large dog."
HOSTILE = "</script><script>alert(1)</script> \u202e"
FILE = f"id,user,text\n1,ada,{DOG}\n2,ada,{LARGE}\n3,bob,{DOG}\n4,ada,\n5,ada,{DOG}\n"


@pytest.fixture(name="palimpsest")
def without_a_store(palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """Commands that name no store, unless a test does."""
    monkeypatch.setattr(CommandLine, "__call__", CommandLine.bare)
    return palimpsest


def table(palimpsest: CommandLine, content: str = FILE, name: str = "rows.csv") -> str:
    (palimpsest.folder / name).write_text(content, "utf-8")
    return name


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_copy_without_duplicates_and_no_store(palimpsest: CommandLine) -> None:
    file = table(palimpsest)
    answer = palimpsest.json("clean", file, "--by", "user", "--duplicates", "d.jsonl", status=1)
    assert Path("rows.clean.csv").read_text() == f"id,user,text\n1,ada,{DOG}\n3,bob,{DOG}\n4,ada,\n"
    assert (answer["rows"], answer["kept"], answer["removed"]) == (5, 3, 2)
    assert answer["rules"] == {"auto_reject": 1, "hash_exact": 1}
    assert answer["unreadable_rows"] == [
        {"row": 4, "reason": "no_text", "detail": "the text is missing"}
    ]
    first, second = rows_of(Path("d.jsonl"))
    assert (first["row"], first["partner_row"], first["kept_row"]) == (2, 1, 1)
    assert (first["text"], first["partner_text"], first["rule"]) == (LARGE, DOG, "auto_reject")
    assert (second["row"], second["score"], second["rule"]) == (5, 1.0, "hash_exact")
    assert not palimpsest.store.exists()


def test_rows_of_several_owners_are_joined_with_a_hint(palimpsest: CommandLine) -> None:
    file = table(palimpsest, f"user_id,text\nada,{DOG}\nbob,{DOG}\n")
    hint = "--by user_id"
    assert hint in palimpsest("clean", file, "--dry-run", "--report", "r.html").out
    assert palimpsest.json("clean", file, "--dry-run")["owner"] == "user_id"
    assert palimpsest.json("clean", file, "--dry-run", "--by", "user_id")["owner"] is None
    table(palimpsest, f"user_id,text\nada,{DOG}\nada,{DOG}\n")
    assert hint not in palimpsest("clean", file, "--dry-run").out


Form = Literal["NFC", "NFD"]


@pytest.mark.parametrize(("written", "typed"), [("NFC", "NFD"), ("NFD", "NFC")])
@pytest.mark.parametrize("source", ["rows.csv", "rows.jsonl", "-"])
def test_a_column_is_found_however_its_accents_are_written(
    palimpsest: CommandLine, written: Form, typed: Form, source: str
) -> None:
    text, user = (normalize(written, name) for name in ("énoncé", "propriété"))
    content = f"{user},{text}\nada,{DOG}\nada,{DOG}\nbob,{DOG}\n"
    if source == "rows.jsonl":
        rows = ({user: owner, text: DOG} for owner in ("ada", "ada", "bob"))
        content = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)
    given = None if source == "-" else table(palimpsest, content, source)
    columns = ("--text", normalize(typed, "énoncé"), "--by", normalize(typed, "propriété"))
    ran = palimpsest("clean", given or "-", "--to", "-", *columns, stdin=None if given else content)
    assert ran.out == content.replace(*_without_the_second(content))


def _without_the_second(content: str) -> tuple[str, str, int]:
    """As arguments of `replace`: the first of two equal rows in the place of both."""
    row = next(line for line in content.splitlines(keepends=True) if content.count(line) == 2)
    return row * 2, row, 1


def test_the_summary_is_short(palimpsest: CommandLine) -> None:
    file = table(palimpsest, FILE.replace("4,ada,\n", ""))
    ran = palimpsest("clean", file, "--within", ".6", "--keep", "longest")
    assert ran.status == 0, ran.err
    assert "3 removed, 1 kept: the longest of each group" in ran.out
    assert len(ran.out.splitlines()) <= 10


def test_the_column_by_which_a_row_is_the_newest_is_named(palimpsest: CommandLine) -> None:
    rows = f"text,created_at\n{DOG},2026-03-02\n{LARGE},2026-03-01\n"
    ran = palimpsest("clean", table(palimpsest, rows), "--keep", "newest")
    assert "1 kept: the newest of each group, by created_at" in ran.out
    assert Path("rows.clean.csv").read_text() == f"text,created_at\n{DOG},2026-03-02\n"
    without = table(palimpsest, f"text\n{DOG}\n{LARGE}\n", "without.csv")
    assert "group, which is the last" in palimpsest("clean", without, "--keep", "newest").out


def test_nothing_is_overwritten_unless_forced(palimpsest: CommandLine) -> None:
    file = table(palimpsest)
    Path("rows.clean.csv").write_text("mine")
    refused = palimpsest("clean", file)
    assert refused.status == 3
    assert "--force" in refused.err
    assert Path("rows.clean.csv").read_text() == "mine"
    assert palimpsest("clean", file, "--to", file, "--force").status == 2
    assert palimpsest("clean", file, "--to", "a.csv", "--report", "a.csv").status == 2
    assert palimpsest("clean", file, "--to", "nowhere/a.csv").status == 2
    assert palimpsest("clean", file, "--force").status == 1
    assert Path("rows.clean.csv").read_text().startswith("id,user")


def test_a_dry_run_writes_nothing(palimpsest: CommandLine) -> None:
    file = table(palimpsest)
    answer = palimpsest.json("clean", file, "--report", "r.html", "--dry-run", status=1)
    assert (answer["removed"], answer["dry_run"]) == (3, True)
    assert [path.name for path in palimpsest.folder.iterdir()] == [file]


def test_a_full_disk_leaves_no_part_and_what_was_there(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = table(palimpsest)
    Path("rows.clean.csv").write_text("before")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "d.csv")

    monkeypatch.setattr(documents, "duplicates_of", full)
    ran = palimpsest("clean", file, "--duplicates", "d.csv", "--force")
    assert ran.status == 1
    assert "No space left on device" in ran.err
    assert sorted(path.name for path in palimpsest.folder.iterdir()) == ["rows.clean.csv", file]
    assert Path("rows.clean.csv").read_text() == "before"


def test_standard_input_and_output(palimpsest: CommandLine) -> None:
    for given, want in (
        (f"{DOG}\nBen sails\n{DOG}\n", f"{DOG}\nBen sails\n"),
        (f"n,text\n1,{DOG}\n2,{DOG}\n", f"n,text\n1,{DOG}\n"),
        (f'{{"text": "{DOG}"}}\n' * 2, f'{{"text": "{DOG}"}}\n'),
    ):
        ran = palimpsest("clean", "-", "--to", "-", stdin=given)
        assert (ran.status, ran.out) == (0, want)
        assert "1 removed" in ran.err
    assert palimpsest("clean", "-", stdin=DOG).status == 2
    tried = palimpsest("--json", "clean", "-", "--dry-run", stdin=f"{DOG}\n{DOG}\n")
    assert tried.document["removed"] == 1


def test_duplicates_as_a_table(palimpsest: CommandLine) -> None:
    palimpsest("clean", table(palimpsest), "--duplicates", "d.csv", "--within", ".5")
    with Path("d.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [row["kept_row"] for row in rows] == ["1", "1", "1"]
    assert rows[0]["partner_text"] == DOG


def test_the_page_fetches_nothing_and_escapes_texts(palimpsest: CommandLine) -> None:
    text = f"Ada has a big dog {HOSTILE}"
    file = palimpsest.file([{"text": text}, {"text": f"{text} now"}, {"text": DOG}, {"text": 5}])
    palimpsest("clean", file, "--within", ".8", "--report", "r.html")
    page = Path("r.html").read_text("utf-8")
    assert page.count("<svg") == 2
    assert re.findall(r"(?:src|href)=|https?://|@import|url\(", page) == []
    assert len(re.findall("<script", page)) == 2
    assert "\u202e" not in re.sub(r'data-[ab]="[^"]*"', "", page)
    assert "1 row cannot be read, and stays" in page
    assert f"<h1>1 duplicate in {file}</h1>" in page
    assert "row 4: the text" in page


def test_marked_pairs_stay_apart(palimpsest: CommandLine) -> None:
    marks = palimpsest.file([{"text": LARGE, "partner_text": DOG}], "separate.jsonl")
    answer = palimpsest.json("clean", table(palimpsest), "--separate", marks, status=1)
    assert (answer["rules"], answer["separated"], answer["held"]) == ({"hash_exact": 2}, 1, 1)
    wrong = palimpsest.file([{"text": LARGE}], "wrong.jsonl")
    ran = palimpsest("clean", "rows.csv", "--separate", wrong, "--force")
    assert (ran.status, LARGE in ran.err) == (2, False)
    assert "line 1" in ran.err


def test_a_policy_that_composes_keeps_the_rows_own_text(palimpsest: CommandLine) -> None:
    long = "Ada walks two old dogs every single morning along the quiet river"
    file = palimpsest.file([{"text": long}, {"text": f"{long} bank"}, {"text": long}])
    ran = palimpsest("clean", file, "--policy", "replace-or-merge", "--keep", "newest")
    assert "each row keeps its own" in ran.out
    assert rows_of(Path("rows.clean.jsonl"))[-1] == {"text": long}


def test_marks_are_kept_in_the_page_and_saved_for_the_next_run(palimpsest: CommandLine) -> None:
    """The page is opened from a folder, without a server; earlier marks are saved again."""
    earlier = palimpsest.file([{"text": HOSTILE, "partner_text": DOG}], "earlier.jsonl")
    two = "Ben owns\r\ntwo cats now"  # as spreadsheets write lines of a cell
    rows = [DOG, LARGE, two, "Ben owns\r\n2 cats now"]
    file = palimpsest.file([{"text": text} for text in rows])
    options = ("clean", file, "--within", ".5", "--force")
    palimpsest(*options, "--report", "r.html", "--separate", earlier)
    with a_browser() as browser:
        page = browser.new_page(viewport={"width": PHONE["width"], "height": PHONE["height"]})
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(Path("r.html").absolute().as_uri())
        assert page.locator("#save").is_disabled()
        for word in ("large", "Ben"):
            page.locator("li", has_text=word).get_by_label("not these").first.check()
        page.reload()
        assert page.locator("#marked").inner_text() == "2 pairs are marked"
        with page.expect_download() as download:
            page.locator("#save").click()
        download.value.save_as("separate.jsonl")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert wrong == []
    saved = rows_of(Path("separate.jsonl"))
    assert {frozenset(pair.values()) for pair in saved} == {
        frozenset((DOG, LARGE)),
        frozenset(rows[2:]),
        frozenset((HOSTILE, DOG)),
    }
    palimpsest(*options, "--separate", "separate.jsonl")
    assert [row["text"] for row in rows_of(Path("rows.clean.jsonl"))] == rows


def test_the_copy_is_named_before_the_ending_that_tells_its_form(palimpsest: CommandLine) -> None:
    for name, copy in (("a.b.csv", "a.b.clean.csv"), ("c", "c.clean"), (".d", ".d.clean")):
        assert palimpsest.json("clean", table(palimpsest, f"text\n{DOG}\n", name))["to"] == copy
    packed = Path("e.jsonl.gz")
    packed.write_bytes(gzip.compress(b'{"text": "a"}\n'))
    assert palimpsest.json("clean", packed.name)["to"] == "e.clean.jsonl.gz"
    assert palimpsest("clean", ".").status == 2


def test_a_copy_is_not_named_like_another_form(palimpsest: CommandLine) -> None:
    ran = palimpsest("clean", table(palimpsest), "--to", "copy.jsonl")
    assert ran.status == 2
    assert "copy.jsonl" in ran.err
    assert not Path("copy.jsonl").exists()
    assert palimpsest("clean", "rows.csv", "--to", "copy").status == 1


def test_a_clean_that_is_kept_can_be_undone_later(palimpsest: CommandLine) -> None:
    file = table(
        palimpsest, f"id,user,text\n1,ada,{DOG}\n2,ada,{LARGE}\n3,ada,{DOG}\n4,bob,{DOG}\n"
    )
    words = ("clean", file, "--by", "user", "--store", "kept", "--duplicates", "d.csv", "--force")
    answer = palimpsest.json(*words)
    assert (answer["removed"], answer["store"]) == (2, "kept")
    assert answer["rules"] == palimpsest.json("clean", file, "--by", "user", "--dry-run")["rules"]
    with Path("d.csv").open(encoding="utf-8") as rows:
        [join] = [row for row in csv.DictReader(rows) if row["rule"] == "auto_reject"]
    assert not (Path("kept") / "projections" / "lancedb").exists()
    assert palimpsest.json("--store", "kept", "verify")["differences"] == 0
    palimpsest.json("--store", "kept", "unmerge", join["decision_id"], "--yes")
    assert palimpsest.json(*words)["removed"] == 1
    assert Path("rows.clean.csv").read_text("utf-8").count("Ada has a") == 3
    palimpsest.json("--store", "kept", "reinstate", join["decision_id"])
    assert palimpsest.json(*words)["removed"] == 2
    assert palimpsest.json("--store", "kept", "verify")["differences"] == 0
    palimpsest.json("--store", "kept", "rebuild", "lancedb")
    assert (Path("kept") / "projections" / "lancedb").exists()
    assert palimpsest.json("--store", "kept", "verify")["differences"] == 0


def test_a_store_keeps_the_rows_of_one_file_under_one_policy(palimpsest: CommandLine) -> None:
    file = table(palimpsest, f"text\n{DOG}\n")
    palimpsest.json("clean", file, "--store", "kept")
    other = table(palimpsest, f"text\n{LARGE}\n")
    refused = palimpsest("clean", other, "--store", "kept", "--force")
    assert (refused.status, "that are not rows of this file" in refused.err) == (2, True)
    refused = palimpsest("clean", file, "--store", "kept", "--force", "--policy", "layered")
    assert (refused.status, "name that policy" in refused.err) == (2, True)
    assert palimpsest("clean", file, "--store", "kept", "--dry-run").status == 2


def test_a_service_embeds_in_place_of_the_policys_model_unless_texts_are_local(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(source, "_service", lambda _: FunctionEngine(by_length(sent), "small"))
    monkeypatch.setenv("PALIMPSEST_EMBEDDER_PROTOCOL", "openai")
    monkeypatch.setenv("PALIMPSEST_EMBEDDER_MODEL", "small")
    shown = palimpsest("policy", "show", "standard").out
    rules = palimpsest.folder / "rules.toml"
    rules.write_text(shown.replace("all-MiniLM-L6-v2", "small"))
    file = table(palimpsest, f"text\n{DOG}\n{LARGE}\n")
    arguments = ["clean", file, "--within", ".9", "--policy", str(rules)]
    assert palimpsest.json(*arguments, "--dry-run")["kept"] == 1
    assert DOG in sent
    sent.clear()
    rules.write_text(f'local_only = ["health"]\n{rules.read_text()}')
    refused = palimpsest(*arguments)
    assert (refused.status, "local_only" in refused.err) == (2, True)
    assert {*sent} == {"word"}
