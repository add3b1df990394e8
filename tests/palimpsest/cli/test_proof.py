"""`evaluate` and `calibrate` at the command line."""

from __future__ import annotations

import re

import pytest

from palimpsest.evaluation.labelled import LabelledPair
from palimpsest.streams import embedder
from palimpsest.streams.embedder import DEFAULT_MODEL
from palimpsest.streams.embedder.function_engine import FunctionEngine
from palimpsest.streams.policies import load_policy, preset_file
from tests.palimpsest.cli.conftest import CommandLine, Row, by_length
from tests.palimpsest.evaluation.test_calibrate import labels

SMALL = [
    {"a": "Ada owns a big red dog", "b": "Ada owns a big red dog.", "label": "same"},
    {"a": "Ben owns a big red dog", "b": "Ben owns a big red dog.", "label": 0, "id": "wrong"},
    {"a": "Cy owns 2 dogs", "b": "Cy owns 3 dogs", "label": "contradiction", "lang": "xx"},
    {"a": "Di sails", "b": "Di sails", "label": "duplicate"},
    {"a": "Ed sails", "b": "Ed sails on the lake", "label": "related"},
]


def rows(pairs: list[LabelledPair]) -> list[dict[str, object]]:
    return [pair._asdict() for pair in pairs]


def test_evaluate_counts_wrong_joins(palimpsest: CommandLine) -> None:
    file = palimpsest.file(SMALL)
    answer = palimpsest.json("evaluate", "--pairs", file)
    total = answer["total"]
    assert (total["different"], total["false_joins"], total["same"], total["found"]) == (2, 1, 1, 1)
    assert total["false_join_bound"] == pytest.approx(0.9747, abs=1e-4)
    assert (answer["exact"], answer["related"], answer["wrong"]) == (1, 1, ["wrong"])
    assert answer["by_check"]["tokens"]["false_joins"] == 1
    assert answer["by_cue"]["number"]["different"] == 1
    assert answer["by_language"]["xx"]["different"] == 1
    shown = palimpsest("evaluate", "--pairs", file)
    assert shown.status == 0
    assert "1 of 2" in shown.out
    assert "Of 2 pairs that must not be joined, 1 was joined" in shown.out
    assert not palimpsest.store.exists()


def test_the_page_is_one_file_that_fetches_nothing(palimpsest: CommandLine) -> None:
    file, page = palimpsest.file(SMALL), palimpsest.folder / "page.html"
    palimpsest.json("evaluate", "--pairs", file, "--html", str(page))
    written = page.read_text("utf-8")
    assert "<svg" in written
    assert "Ben owns a big red dog." in written
    assert re.findall(r"(?:src|href)=|https?://|<script|@import|url\(", written) == []


def test_a_page_escapes_what_labels_say(palimpsest: CommandLine) -> None:
    text = "Ada wrote <script>alert(1)</script> to the log of the old mill near her house"
    file = palimpsest.file([{"a": text, "b": f"{text}.", "label": 0, "source": "<b>s</b>"}])
    page = palimpsest.folder / "page.html"
    palimpsest.json("evaluate", "--pairs", file, "--policy", "layered", "--html", str(page))
    written = page.read_text("utf-8")
    assert "&lt;script&gt;" in written
    assert "<script" not in written
    assert "<b>" not in written


def test_clusters(palimpsest: CommandLine) -> None:
    texts = ["Ada owns a big red dog", "Ada owns a big red dog.", "Grace sails on the lake"]
    members = [
        {"text": text, "cluster": n, "owner_id": "ada"}
        for text, n in zip(texts, "112", strict=True)
    ]
    page = palimpsest.folder / "page.html"
    answer = palimpsest.json(
        "evaluate", "--clusters", palimpsest.file(members), "--html", str(page)
    )
    assert [order["b_cubed"]["f1"] for order in answer["orders"]] == [1.0, 1.0]
    assert "as given" in page.read_text("utf-8")
    assert "as given" in palimpsest("evaluate", "--clusters", palimpsest.file(members)).out


def test_a_wrong_row_is_wrong_usage_with_its_place(palimpsest: CommandLine) -> None:
    file = palimpsest.file([*SMALL, {"a": "a secret text", "label": 1}])
    ran = palimpsest("evaluate", "--pairs", file)
    assert ran.status == 2
    assert "row 6, column b or text_b" in " ".join(ran.err.split())
    assert "secret" not in ran.err


@pytest.mark.parametrize("words", [["evaluate"], ["calibrate"]])
def test_labels_have_to_be_named(palimpsest: CommandLine, words: list[str]) -> None:
    assert palimpsest(*words).status == 2


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "--pairs", "none.jsonl", "--html", "nowhere/page.html"],
        ["calibrate", "--pairs", "none.jsonl", "--html", "nowhere/page.html"],
        ["calibrate", "--pairs", "none.jsonl", "--to", "nowhere/policy.toml"],
        ["calibrate", "--pairs", "none.jsonl", "--judge-to", "nowhere/certificate.json"],
        ["backtest", "layered", "--html", "nowhere/page.html"],
        ["dedupe", "--html", "nowhere/page.html"],
        ["metrics", "--to", "nowhere/metrics.prom"],
        ["judge", "pairs", "none.jsonl", "--to", "nowhere/judged.jsonl"],
    ],
    ids=" ".join,
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    palimpsest: CommandLine, words: list[str]
) -> None:
    palimpsest.ingest()
    ran = palimpsest(*words)
    assert ran.status == 2
    assert f"{words[-2]}: there is no folder nowhere" in ran.err


def test_calibrate_writes_a_policy_that_can_be_set(palimpsest: CommandLine) -> None:
    file, to = palimpsest.file(rows(labels())), palimpsest.folder / "mine.toml"
    page = palimpsest.folder / "page.html"
    words = ["calibrate", "--budget", "0.05", "--pairs", file, "--to", str(to)]
    answer = palimpsest.json(*words, "--html", str(page))
    assert answer["file"] == str(to)
    made = load_policy(str(to))
    assert made.certificate is not None
    assert made.certificate.model_dump() == answer["certificate"]
    assert palimpsest("policy", "set", str(to)).status == 0
    assert palimpsest.json("policy", "show")["certificate"] == answer["certificate"]
    assert "The policy joins from" in palimpsest(*words).out
    assert "<svg" in page.read_text("utf-8")


def test_thresholds_are_tested_as_they_are(palimpsest: CommandLine) -> None:
    file, to = palimpsest.file(rows(labels(120))), palimpsest.folder / "standard.toml"
    page = palimpsest.folder / "page.html"
    words = ["calibrate", "--as-is", "--budget", ".05", "--pairs", file, "--policy", "standard"]
    answer = palimpsest.json(*words, "--to", str(to), "--html", str(page))
    assert answer["certificate"]["held_out"] == 0
    assert load_policy(str(to)).hash == load_policy("standard").hash
    assert "Of 60 joins 0 were wrong" in " ".join(
        palimpsest("policy", "explain", str(to)).out.split()
    )
    shown = " ".join(palimpsest(*words).out.split())
    assert "0 of 60 joins were wrong: at most 4.87%" in shown
    assert "4.87%" in page.read_text("utf-8")
    refused = palimpsest(*words[:2], "--budget", ".04", *words[4:])
    assert refused.status == 3
    assert "labels of the same mix would do" in " ".join(refused.err.split())
    assert palimpsest(*words, "--judge-to", "judge.json").status == 2


def test_what_the_labels_cannot_bear_is_refused(palimpsest: CommandLine) -> None:
    file, to = palimpsest.file(rows(labels(60))), palimpsest.folder / "mine.toml"
    ran = palimpsest("calibrate", "--pairs", file, "--to", str(to))
    assert ran.status == 3
    assert "labels of the same mix would do" in " ".join(ran.err.split())
    assert not to.exists()
    assert palimpsest.json("calibrate", "--pairs", file, status=3)["certificate"] is None


def test_only_one_language(palimpsest: CommandLine) -> None:
    pairs = [pair._replace(language="de" if pair.label == "same" else "fr") for pair in labels(40)]
    words = ["calibrate", "--pairs", palimpsest.file(rows(pairs)), "--language", "de"]
    assert palimpsest.json(*words, status=3)["labels"]["pairs"] == 20


def test_what_people_said_in_a_store_are_labels(palimpsest: CommandLine, row: Row) -> None:
    said = ["Ada owns a big red dog", "Ada owns a big red dog.", "Ada sails", "Ada sails near Rome"]
    palimpsest.ingest(*map(row, said))
    first, second, third, fourth = palimpsest.ids()
    [join] = palimpsest.json("sql", "SELECT decision_id FROM joins")
    palimpsest.json("confirm", join["decision_id"])
    palimpsest.json("separate", third, fourth)
    answer = palimpsest.json("calibrate", "--from-log", status=3)
    assert (answer["labels"]["same"], answer["labels"]["different"]) == (1, 1)
    palimpsest.json("unmerge", "--candidate", second)
    again = palimpsest.json("calibrate", "--from-log", status=3)
    assert (again["labels"]["same"], again["labels"]["different"]) == (0, 2)
    assert again["data"] != answer["data"]
    assert first


def test_no_text_that_a_policy_keeps_local_is_embedded_elsewhere(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the evaluated policy keeps texts local, or only the store's."""
    sent: list[str] = []

    def load(*_: object, **__: object) -> FunctionEngine:
        return FunctionEngine(by_length(sent), DEFAULT_MODEL)

    keeping = palimpsest.folder / "keeping.toml"
    standard = (preset_file("standard") or keeping).read_text()
    keeping.write_text(f'local_only = ["health"]\n{standard}')
    assert palimpsest("policy", "set", str(keeping)).status == 0
    monkeypatch.setattr(embedder, "load_engine", load)
    file = palimpsest.file(SMALL)
    for asked in (
        ["calibrate", "--from-log", "--policy", "standard"],
        ["calibrate", "--pairs", file, "--policy", str(keeping)],
        ["evaluate", "--pairs", file, "--policy", str(keeping)],
    ):
        refused = palimpsest(*asked)
        assert (refused.status, "local_only" in refused.err) == (2, True), refused.err
    assert {*sent} == {"word"}
