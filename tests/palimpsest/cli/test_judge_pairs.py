"""From labelled pairs to a first judge that settles: `judge pairs`, `calibrate --judge-to`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.streams.judge.certificate import read_certificate
from tests.palimpsest.cli.conftest import ASKS_ALL, CommandLine

SETTINGS = """
[judge]
base_url = "{url}"
model = "judge-5"

[judge.first]
protocol = "systemone"
base_url = "{url}"
model = "cheap-1"
retries = 0
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[JudgeServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    monkeypatch.chdir(tmp_path)
    with JudgeServer() as running:
        Path("palimpsest.toml").write_text(SETTINGS.format(url=running.url))
        Path("asks.toml").write_text(ASKS_ALL)
        yield running


def write_pairs(count: int) -> None:
    """Write labelled pairs, of which half say the same by the rules of the stand-in."""
    rows = (
        {"a": f"Ada has {n} big dogs.", "b": f"ada has {n} big dogs", "label": "same"}
        if n % 2
        else {"a": f"Ada has {n} dogs.", "b": f"Build {n} runs at night.", "label": "different"}
        for n in range(count)
    )
    Path("labelled.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def test_a_first_judge_gets_its_certificate(palimpsest: CommandLine, server: JudgeServer) -> None:
    write_pairs(300)
    told = palimpsest.json("judge", "pairs", "labelled.jsonl", "--to", "judged.jsonl")
    assert told == {"pairs": 300, "without_probability": 0, "file": "judged.jsonl"}
    asked = server.calls
    assert asked == -(-300 // 16)
    assert palimpsest.json("judge", "pairs", "labelled.jsonl", "--to", "judged.jsonl") == told
    assert server.calls == asked, "the answers are cached"
    words = ("--pairs", "judged.jsonl", "--policy", "asks.toml", "--budget", ".1")
    answer = palimpsest.json("calibrate", *words, "--judge-to", "first.json")
    found = read_certificate(Path("first.json"))
    assert answer["judge_file"] == "first.json"
    assert found.model == "cheap-1"
    assert found.prompt.startswith("compare-relation@sha256:")
    assert found.same is not None
    assert found.same.threshold <= 0.96
    assert found.different is not None


def test_what_the_labels_cannot_bear_is_refused(
    palimpsest: CommandLine, server: JudgeServer
) -> None:
    write_pairs(20)
    palimpsest("judge", "pairs", "labelled.jsonl", "--to", "judged.jsonl")
    words = ("calibrate", "--policy", "asks.toml", "--judge-to", "first.json", "--pairs")
    for file, why in (("judged.jsonl", "labels would do"), ("labelled.jsonl", "judge pairs")):
        ran = palimpsest(*words, file)
        assert ran.status == 3
        assert why in ran.err
    assert not Path("first.json").exists()


def test_pairs_without_a_probability_are_told(palimpsest: CommandLine, server: JudgeServer) -> None:
    write_pairs(4)
    server.always = Fault(500)
    words = ("judge", "pairs", "labelled.jsonl", "--to", "judged.jsonl")
    assert palimpsest.json(*words, status=1)["without_probability"] == 4


def test_the_doctor_tries_both(palimpsest: CommandLine, server: JudgeServer) -> None:
    findings = palimpsest.json("judge", "doctor", status=1)["findings"]
    found = {finding["name"]: finding for finding in findings}
    assert found["model"]["detail"] == "judge-5"
    assert found["first: model"]["detail"] == "cheap-1"
    assert "settle nothing" in found["first: certificate"]["detail"]
    Path("first.json").write_text("{}")
    with Path("palimpsest.toml").open("a") as file:
        file.write('certificate = "first.json"\n')
    findings = palimpsest.json("judge", "doctor", status=1)["findings"]
    [certificate] = [one for one in findings if one["name"] == "first: certificate"]
    assert certificate["needed"]
    assert not certificate["found"]
