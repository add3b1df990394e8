"""A dry run of a batch run as a table, JSON and a page; and the run does exactly that."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import pytest

from palimpsest.cli.dedupe_report import (
    MOST_CLUSTERS,
    MOST_EXAMPLES,
    clusters,
    drawn,
)
from palimpsest.cli.pictures import LONGEST, compared, text_of
from palimpsest.contracts.answers import Pairing
from palimpsest.projections.duckdb.activity import Scored
from palimpsest.streams.policies import load_policy
from tests.long import long_but
from tests.palimpsest.cli.conftest import CommandLine
from tests.palimpsest.web.site import PHONE, a_browser, complaints
from tests.tables import each

SMALL = 320
"""Width of the narrowest phone, in pixels."""
LEGIBLE = 10
"""Minimum height of a line, in pixels: the charts are drawn for a wide screen."""
HOSTILE = "</title><script>alert(1)</script> \u202e\x1b[31m"
WORDS = "every single morning Ada walks her two old dogs along the quiet river"
DOGS = [f"{WORDS} {last}" for last in ("bank", "path", "side")]
ROWS = [
    *({"id": str(n), "owner_id": "ada", "text": text} for n, text in enumerate(DOGS)),
    {"id": "b1", "owner_id": "bob", "text": f"{WORDS} {HOSTILE} one"},
    {"id": "b2", "owner_id": "bob", "text": f"{WORDS} {HOSTILE} two"},
    {"id": "b3", "owner_id": "bob", "text": "Bob bakes bread."},
]


class Read(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data

    def count(self, tag: str, of: str) -> int:
        return sum(
            of in (found.get("class") or "").split() for name, found in self.tags if name == tag
        )


@pytest.fixture(name="full")
def with_duplicates(palimpsest: CommandLine) -> CommandLine:
    """Rows that were never compared: `importance` stores all, and compares in its batch rules."""
    palimpsest.json("policy", "set", "importance")
    palimpsest.json("import", palimpsest.file(ROWS), "--yes")
    return palimpsest


def dedupe(palimpsest: CommandLine, *words: str, status: int = 0) -> Any:
    return palimpsest.json("dedupe", "--force", *words, status=status)


def test_the_page_has_everything_in_it(full: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    answer = dedupe(full, "--dry-run", "--html", str(file))
    page = file.read_text()
    read = Read(page)
    names = Counter(tag for tag, _ in read.tags)
    assert names["html"] == names["body"] == 1
    assert names.keys().isdisjoint({"script", "link", "img", "iframe", "object"})
    assert not any({"src", "href", "onclick"} & found.keys() for _, found in read.tags)
    assert "url(" not in page
    assert "@import" not in page
    assert len(answer["joined"]) == 3
    assert "3 pairs of memories would be joined" in read.said
    assert f"palimpsest dedupe --force --plan {answer['plan']}" in read.said
    assert names["svg"] == 1, "no text was compared as it came in"
    assert "On arrival, no text was compared with a neighbour." in read.said
    assert read.count("rect", "bar") >= 1
    assert read.count("rect", "zone") == 2
    assert "from 0.75: joined" in read.said, "the threshold of the run, not of arrivals"


def test_the_page_shows_what_was_compared_on_arrival(palimpsest: CommandLine) -> None:
    palimpsest.json("policy", "set", "store-time")
    palimpsest.json("import", palimpsest.file(ROWS), "--yes")
    file = palimpsest.folder / "report.html"
    dedupe(palimpsest, "--dry-run", "--html", str(file))
    read = Read(file.read_text())
    assert Counter(tag for tag, _ in read.tags)["svg"] == 2
    assert "from 0.88: asked" in read.said


def test_the_page_of_some_owners_shows_what_was_compared_of_theirs(
    palimpsest: CommandLine,
) -> None:
    palimpsest.json("policy", "set", "store-time")
    palimpsest.json("import", palimpsest.file([*ROWS[:3], ROWS[-1]]), "--yes")
    for owner, charts in (("ada", 2), ("bob", 1)):
        file = palimpsest.folder / f"{owner}.html"
        dedupe(palimpsest, "--dry-run", "--owner", owner, "--html", str(file))
        read = Read(file.read_text())
        assert Counter(tag for tag, _ in read.tags)["svg"] == charts


@pytest.mark.parametrize("scheme", long_but("light", of=["light", "dark"]))
def test_everybody_can_read_the_page(
    full: CommandLine, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    """Also on a phone: axe-core finds nothing, and the letters are not those of a wide screen.

    Nor does an endless word make the page wider.
    """
    file = tmp_path / "report.html"
    endless = [
        {"owner_id": "o" * 100, "text": f"{'w' * 200} {WORDS} {number}"}
        for number in ("one", "two", "three")
    ]
    full.json("import", full.file(endless, "endless.jsonl"), "--yes")
    dedupe(full, "--dry-run", "--html", str(file))
    with a_browser() as browser:
        phone = browser.new_context(
            viewport={"width": PHONE["width"], "height": PHONE["height"]},
            is_mobile=True,
            color_scheme=scheme,
        )
        page = phone.new_page()
        page.goto(file.as_uri())
        assert complaints(page) == []
        for width in (PHONE["width"], SMALL):
            page.set_viewport_size({"width": width, "height": PHONE["height"]})
            wide = page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
            assert wide == [width, width]
            letters = page.evaluate(
                "() => [...document.querySelectorAll('svg text')]"
                ".map(one => one.getBoundingClientRect().height)"
            )
            assert min(letters) > LEGIBLE


def test_texts_are_nothing_but_texts(full: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    dedupe(full, "--dry-run", "--html", str(file))
    read = Read(file.read_text())
    assert "<script>alert(1)</script>" in read.said
    assert "\\u202e\\x1b[31m" in read.said
    assert "\u202e" not in read.said


def test_words_that_differ_are_marked(full: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    dedupe(full, "--dry-run", "--html", str(file))
    page = file.read_text()
    assert "<del>one</del>" in page
    assert "<ins>two</ins>" in page
    assert "3 memories become one" in page


def test_the_run_does_just_what_was_shown(full: CommandLine) -> None:
    shown = dedupe(full, "--dry-run")
    done = dedupe(full, "--plan", shown["plan"])
    done_pairs, shown_pairs = (
        [{**one, "decision_id": None} for one in answer["joined"]] for answer in (done, shown)
    )
    assert done_pairs == shown_pairs
    assert done["plan"] == shown["plan"]
    assert dedupe(full, "--plan", shown["plan"], status=3)["error"]["reason"] == "another_plan"


def test_what_was_not_shown_is_not_done(full: CommandLine) -> None:
    shown = dedupe(full, "--dry-run")
    full.json(
        "import", full.file([ROWS[0] | {"id": "9", "text": f"{WORDS} end"}], "more.jsonl"), "--yes"
    )
    error = dedupe(full, "--plan", shown["plan"], status=3)["error"]
    assert error["reason"] == "another_plan"
    assert "since then ada has 1 stored" in error["detail"]
    assert full.json("sql", "SELECT count(*) AS n FROM joins") == [{"n": 0}]


def test_the_table_says_how_to_do_just_that(full: CommandLine) -> None:
    words = ("dedupe", "--force", "--owner", "bob")
    plan = full.json(*words, "--dry-run")["plan"]
    said = f"palimpsest dedupe --owner bob --force --plan {plan}"
    assert said in full(*words, "--dry-run").out
    assert len(full.json(*words, "--plan", plan)["joined"]) == 1


def test_a_run_that_is_not_allowed_yet_explains_how(palimpsest: CommandLine) -> None:
    """The first two obstacles for somebody who has just imported a store."""
    path = palimpsest.file(ROWS)
    palimpsest.json("import", path, "--yes")
    refused = palimpsest("dedupe", "--dry-run")
    assert refused.status == 3
    has_none = refused.err.replace("\n", " ")
    assert "`palimpsest policy set` chooses one that has it (importance, namespaced, " in has_none
    assert "layered" not in has_none
    palimpsest.json("policy", "set", "importance")
    few = palimpsest("dedupe", "--dry-run").out
    assert "the policy requires more than 10" in few
    assert "to include these: --force" in few
    assert "--force" not in palimpsest("dedupe", "--dry-run", "--force").out.partition("plan")[0]


def pair(older: str, newer: str, similarity: float = 0.9, **also: Any) -> Pairing:
    whole: Any = {
        "owner_id": "ada",
        "decision": "superseded",
        "similarity": similarity,
        "older": older,
        "newer": newer,
        "older_text": older.upper(),
        "newer_text": newer.upper(),
        "reasoning": None,
    }
    made: Pairing = whole | also
    return made


def test_clusters_are_what_the_joins_connect() -> None:
    found = clusters([pair("a", "b"), pair("c", "d"), pair("e", "f"), pair("b", "d")])
    assert sorted(map(sorted, found)) == [["A", "B", "C", "D"], ["E", "F"]]


def test_texts_of_a_cluster_are_in_the_order_of_the_joins_however_large_its_parts() -> None:
    """A pair that is joined twice changes nothing."""
    joins = [pair(*names) for names in ("bc", "de", "ab", "ad", "ef", "ge", "xy", "be", "gx")]
    assert clusters(joins) == [[*"GABCDEFXY"]]
    star = [pair(f"{number:03}", "hub") for number in range(300)]
    assert clusters(star) == [[*(f"{number:03}" for number in reversed(range(300))), "HUB"]]


def page(*joined: Pairing, scored: tuple[Scored, ...] = (), **also: Any) -> Read:
    """The page of a run of these joins."""
    answer = {"joined": joined, "dry_run": True, "memories": 2_000, "owners": 1, "pairs": 3}
    whole = {**answer, "left": 4, **also}
    return Read(drawn(whole, load_policy("importance"), scored, "palimpsest <this>"))


def test_the_page_of_a_run_has_the_ids_that_undo_its_joins(full: CommandLine) -> None:
    file = full.folder / "report.html"
    joined = dedupe(full, "--html", str(file))["joined"]
    said = Read(file.read_text()).said
    assert "Nothing is written yet" not in said
    assert joined
    for join in joined:
        assert f"palimpsest unmerge --decision {join['decision_id']}" in said


def in_order(said: str, *words: str) -> bool:
    places = [said.find(word) for word in words]
    return -1 not in places and places == sorted(places)


def test_a_page_counts_what_was_looked_at() -> None:
    read = page(pair("a", "b"))
    counts = ("memories2,000", "owners1", "pairs looked at3", "left for the judge4")
    assert in_order(read.said, "1 pair of memories would be joined", *counts)
    assert "To do just this: palimpsest <this>" in read.said
    done = page(pair("a", "b"), dry_run=False)
    assert "1 pair of memories was joined" in done.said
    assert "To do just this" not in done.said
    nothing = page().said
    assert "Largest clusters" not in nothing
    assert "Examples to judge" not in nothing


def test_the_largest_clusters_come_first_and_no_more_than_ten() -> None:
    pairs = [pair(f"a{n}", f"b{n}") for n in range(MOST_CLUSTERS)]
    read = page(*pairs, pair("a3", "c"))
    assert read.said.count("memories become one") == MOST_CLUSTERS
    said = read.said.partition("Largest clusters")[2]
    assert in_order(said, "3 memories become oneA3B3C", "2 memories become one")
    assert page(*pairs, pair("d", "e")).said.count("memories become one") == MOST_CLUSTERS


def test_the_least_similar_pairs_come_first_and_no_more_than_twenty() -> None:
    pairs = [pair(f"a{n}", f"b{n}", 0.99 - n / 1000) for n in range(MOST_EXAMPLES + 1)]
    read = page(*pairs)
    assert sum(tag == "blockquote" for tag, _ in read.tags) == 2 * MOST_EXAMPLES
    assert in_order(read.said, "0.9700", "0.9710", "0.9890")
    assert "0.9900" not in read.said


@pytest.mark.parametrize(
    ("also", "told", "untold"),
    [
        ({}, (), ("The memory then says", "The judge:")),
        ({"face": "f<1>"}, ("The memory then says: f<1>",), ("The judge:",)),
        ({"face": "f", "composed": "c"}, ("The memory then says: c",), ("says: f",)),
        ({"reasoning": "why <b>"}, ("The judge: why <b>",), ("The memory then says",)),
    ],
)
def test_an_example_says_what_becomes_of_it(
    also: dict[str, Any], told: tuple[str, ...], untold: tuple[str, ...]
) -> None:
    said = page(pair("i1", "i2", 0.12345, decision="llm_merge", **also)).said
    said = said.partition("Examples to judge")[2]
    assert in_order(said, "0.1235 llm_merge · owner ada", "I1", "I2", "i1, i2")
    assert all(one in said for one in told)
    assert not any(one in said for one in untold)


@pytest.mark.parametrize(
    ("similarity", "bar"),
    [(-0.1, "0.00"), (0.0, "0.00"), (0.0199, "0.00"), (0.02, "0.02"), (0.99, "0.98"), (1, "0.98")],
)
def test_a_similarity_has_its_column(similarity: float, bar: str) -> None:
    assert f"{bar}: 1 replaced" in page(pair("a", "b", similarity)).said
    came = page(scored=(Scored(int(similarity * 10_000), "stored", 3),)).said
    assert f"{bar}: 3 kept" in came
    assert "no text was compared with a neighbour" not in came


@each(
    ("older", "newer", "marked"),
    [
        ("a b c", "a x c", ("a <del>b</del> c", "a <ins>x</ins> c")),
        ("a b", "a b", ("a b", "a b")),
        ("a", "a b", ("a", "a <ins>b</ins>")),
        (
            "猫を二匹飼う。",
            "猫を3匹飼う。",
            ("猫を<del>二</del>匹飼う。", "猫を<ins>3</ins>匹飼う。"),
        ),
        ("她住在成都。", "她住在重庆。", ("她住在<del>成都</del>。", "她住在<ins>重庆</ins>。")),
        ("cafe\u0301 a", "cafe b", ("<del>cafe\u0301 a</del>", "<ins>cafe b</ins>")),
        ("<i> a", "a", ("<del>&lt;i&gt;</del> a", "a")),
        ("a  \n b", "a b", ("a b", "a b")),
        ("私は猫が好き", "私は犬が好き", ("私は<del>猫</del>が好き", "私は<ins>犬</ins>が好き")),
        ("她住在巴黎。", "她住在罗马。", ("她住在<del>巴黎</del>。", "她住在<ins>罗马</ins>。")),
        ("Ada は猫", "Ada は 犬", ("Ada は<del>猫</del>", "Ada は <ins>犬</ins>")),
    ],
)
def test_words_that_one_text_has_alone_are_marked(
    older: str, newer: str, marked: tuple[str, str]
) -> None:
    assert compared(older, newer) == marked


def test_of_a_long_text_the_beginning_is_shown() -> None:
    assert text_of("x" * (LONGEST + 1)) == "x" * LONGEST
    assert compared("a " * LONGEST, "a " * LONGEST)[0].count("a") == LONGEST // 2
