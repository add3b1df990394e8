"""What the benchmark is made of; nothing here looks at a clock."""

from __future__ import annotations

import subprocess
from itertools import islice
from pathlib import Path

import numpy as np
import orjson
import pytest

from bench import against as comparing
from bench.__main__ import main
from bench.against import Compared
from bench.figure import Measured, Scale
from bench.filling import fill
from bench.identifying import issues
from bench.machine import machine
from bench.registry import FIGURES
from bench.scratch import scratch_store
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.owners import fold_owner


def test_sentences_are_distinct_and_the_same_each_time() -> None:
    first = [*islice(sentences(), 2_000)]
    assert first == [*islice(sentences(), 2_000)]
    assert len(set(first)) == 2_000
    assert all(5 <= len(text.split()) <= 25 for text in first)


def test_the_stub_distinguishes_texts_by_their_words_alone() -> None:
    texts = ["Maya sold a canoe", "maya sold a CANOE", "Maya sold a kettle", "nothing alike", ""]
    vectors = np.stack([e.vector for e in StubEngine().embed(texts)]).astype(np.float32)
    again = StubEngine().embed(texts[::-1])[::-1]
    assert all(np.array_equal(e.vector, v) for e, v in zip(again, vectors, strict=True))
    cosines = vectors @ vectors[0]
    assert cosines[:2] == pytest.approx(1, abs=2e-3)
    assert 0.5 < cosines[2] < 0.9
    assert abs(cosines[3]) < 0.3


def test_a_filled_log_folds_into_what_was_said(tmp_path: Path) -> None:
    said = [(f"owner {n % 3}", text) for n, text in enumerate(islice(sentences(), 30))]
    with Log.create(tmp_path / "log.sqlite") as log:
        fill(log, said, load_policy("standard"))
        assert log.count() == 31
        folded = [fold_owner(log, f"owner {n}") for n in range(3)]
    texts = [(f"owner {n}", e.text) for n in range(3) for e in folded[n].entries.values()]
    assert sorted(texts) == sorted(said)
    assert all(e.distinct.vector for ledger in folded for e in ledger.entries.values())


def test_a_scratch_store_decides_and_projects() -> None:
    said = [("Ada", text) for text in islice(sentences(), 20)]
    with scratch_store(StubEngine()) as store:
        store.ingest(said)
        known = [*store.outcomes(said)]
        repeats = [*store.outcomes(said, "elsewhere")]
        store.projections.show()
        head = store.log.head()
        assert store.projections.projector.positions() == {"lancedb": head, "duckdb": head}
    assert {one.result for one in known} == {"known"}
    assert {repeat.decision for repeat in repeats} == {"hash_exact"}


def test_made_up_issues_are_sentences() -> None:
    assert next(issues(Scale("small"))) == f"KAFKA-1000: {next(sentences())}"


def test_a_figure_holds_by_its_median() -> None:
    assert Measured("speed", "/s", [1.0, 9.0, 8.0], 8.0).holds
    assert not Measured("time", "ms", [1.0, 9.0, 8.0], 7.0, at_most=True).holds
    assert Measured("nothing to reach", "", [1.0]).holds is None
    assert Scale("small").of(1, 2, 3) == 1


def test_a_figure_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["owers"])
    told = capsys.readouterr().err
    assert all(name in told for name in FIGURES)


def test_the_machine_is_described_in_a_line() -> None:
    assert "cores" in machine()
    assert "\n" not in machine()


def test_two_commits_are_compared_by_their_medians() -> None:
    faster = Compared("speed", "/s", at_most=False, before=[9.0, 10.0, 50.0], now=[20.0, 30.0, 1.0])
    assert faster.times == 2
    slower = Compared("time", "ms", at_most=True, before=[1.0], now=[4.0])
    assert slower.times == 0.25
    assert Compared("new", "ms", at_most=True, now=[4.0]).times is None


SPEEDS = """
print('{"name": "speed", "unit": "/s", "at_most": false, "median": %d}')
"""


def committed(folder: Path, speed: int) -> None:
    """A repository whose benchmark measures nothing but says a speed."""
    bench = folder / "bench"
    bench.mkdir(parents=True, exist_ok=True)
    (bench / "__init__.py").touch()
    (bench / "__main__.py").write_text(SPEEDS % speed)
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", str(speed)]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


def test_each_commit_is_measured_by_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(comparing, "HERE", tmp_path / "tree")
    committed(tmp_path / "tree", 2)
    committed(tmp_path / "tree", 3)
    main(["--json", "--against", "HEAD~1", "repeats"])
    [line] = map(orjson.loads, capsys.readouterr().out.splitlines())
    assert (line["before"], line["now"], line["times"]) == ([2] * 3, [3] * 3, 1.5)
    main(["--against", "HEAD~1", "repeats"])
    assert "1.50" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="nothing was compared"):
        main(["--against", "no-such-commit", "repeats"])
