"""An operator's hour with a store of real texts: `python -m bench hour --data DIR`.

Labelled texts are ingested under a careful policy, whose questions are answered by a judge that is
sometimes wrong. Then the joins are audited by keyboard and certified; thresholds are calibrated on
other labels, backtested and set; more texts come, and the joins are certified again, this time on
the review page. The simulated person knows the labels, and errs as a real one does. Everything is
done through the commands.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from bench.keying import open_page
from bench.rows import read_rows
from bench.serving import serving
from palimpsest import Palimpsest
from palimpsest.server.endpoint import Endpoint
from palimpsest.server.linking import ask_for_link

SETS = ("breaking_nli", "semantoneg", "sugarcrepe_pp", "pawsx_en", "e2e_slots", "cannot_negation")
"""The files of `DIR/pairs` to use: half of their texts go into the store, half are labels."""
ONE_WORD = "breaking_nli"
"""A set of sentences with one word replaced; some replacements keep the meaning."""
STREAM = "labelled_e2e"
"""A stream of `DIR/streams` with the cluster of each text."""
NEAR_MISSES = 0.05
"""The share of the labels that are pairs of different texts. The sets consist of near misses, of
which a store has far fewer."""
OWNERS = 30
"""Number of owners for each set of pairs; a stream has its own."""
JUDGE_ERRS, PERSON_MISSES, PERSON_ERRS = 0.0004, 0.03, 0.001
"""Error rates: the judge's on different pairs; the person's on wrong joins, and on right ones."""
POLICY = """
name = "careful"
model = "all-MiniLM-L6-v2"
exact = "verbatim"
search = "candidates"
checks = [
    { check = "tokens", threshold = 0.95, guard = true },
    { check = "cosine", top = 5, near_identical = 0.9, zones = [
        { at_least = 0.97, action = "auto_reject", guard = true },
        { at_least = 0.84, action = "pending" },
    ] },
]
judge = { neighbours = 3, unavailable = "keep" }
"""
"""The store's first policy, with guessed thresholds."""
Row = dict[str, str]


@dataclass
class Texts:
    """The rows of a store, the pairs kept out of it, and which texts say the same.

    `meant` has the cluster of each text of an owner; two texts of different clusters are different.
    """

    rows: list[Row] = field(default_factory=list)
    labels: list[Row] = field(default_factory=list)
    meant: dict[tuple[str, str], str] = field(default_factory=dict)

    def same(self, older: str | None, newer: str | None) -> bool:
        """Whether two texts of one owner say the same; False for a text that nobody wrote."""
        return any(
            self.meant.get((owner, older or "")) == self.meant.get((owner, newer or ""), "")
            for owner in self._owners[older or ""]
        )

    def index(self) -> None:
        """Index the texts by owner, once all have been added."""
        self._owners = defaultdict[str, list[str]](list)
        for owner, text in self.meant:
            self._owners[text].append(owner)


def read_texts(data: Path, most: int) -> Texts:
    """Texts of the stream and of the sets, in random order; at most `most` rows."""
    found = Texts()
    for row in read_rows(data / "streams" / f"{STREAM}.jsonl"):
        found.meant[row["owner_id"], row["text"]] = row["gold_cluster"]
    for name in SETS:
        _read_pairs(found, name, read_rows(data / "pairs" / f"{name}.jsonl"))
    found.rows = [{"owner_id": owner, "text": text} for owner, text in [*found.meant][:most]]
    random.Random(7).shuffle(found.rows)
    found.index()
    return found


def _read_pairs(found: Texts, name: str, rows: Iterable[Row]) -> None:
    """Group the pairs that share texts; use half of the groups as labels, the others as rows."""
    pairs = [row for row in rows if row["label"] != "related"]
    near, same, words = _Groups(), _Groups(), _Groups()
    for pair in pairs:
        near.unite(pair["a"], pair["b"])
        if pair["label"] == "duplicate":
            same.unite(pair["a"], pair["b"])
            for ends in _replaced(pair["a"], pair["b"]) if name == ONE_WORD else ():
                words.unite(*ends)
    for pair in pairs:
        drawn = int.from_bytes(sha256(near.of(pair["a"]).encode()).digest()[:4])
        if drawn % 2:
            if pair["label"] == "duplicate" or chance(pair["a"], pair["b"]) < NEAR_MISSES:
                found.labels.append({"a": pair["a"], "b": pair["b"], "label": pair["label"]})
            continue
        for text in (pair["a"], pair["b"]):
            meant = " ".join(map(words.of, same.of(text).split()))
            found.meant[f"{name}-{drawn // 2 % OWNERS}", text] = f"{name}: {meant}"


def _replaced(one: str, other: str) -> list[tuple[str, str]]:
    """The word in which two texts differ, from both; empty if they differ in more."""
    if len(one.split()) != len(other.split()):
        return []
    found = [ends for ends in zip(one.split(), other.split(), strict=True) if ends[0] != ends[1]]
    return found if len(found) == 1 else []


class _Groups:
    """Groups of connected texts."""

    def __init__(self) -> None:
        self._to: dict[str, str] = {}

    def of(self, text: str) -> str:
        """The text that represents a text's group."""
        while (to := self._to.get(text, text)) != text:
            text = to
        return text

    def unite(self, one: str, other: str) -> None:
        """Connect two texts."""
        ends = sorted((self.of(one), self.of(other)))
        self._to[ends[1]] = ends[0]


def chance(*words: str) -> float:
    """A number from 0 to 1, derived from some words."""
    return int.from_bytes(sha256("\n".join(words).encode()).digest()[:8]) / 2**64


class Person:
    """A simulated person, who labels pairs by the gold clusters, with errors."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self.said = Counter[str]()

    def key(self, older: str, newer: str) -> str:
        """The key to press, `r` or `w`."""
        right, luck = self._texts.same(older, newer), chance("person", older, newer)
        key = "wr"[right ^ (luck < (PERSON_ERRS if right else PERSON_MISSES))]
        self.said[key] += 1
        return key


class Hour:
    """A store in a folder, and the commands run on it, with their answers."""

    def __init__(self, folder: Path, texts: Texts, tell: Callable[[str], None]) -> None:
        self.folder = folder
        self.texts = texts
        self.person = Person(texts)
        self._tell = tell
        self.keys_seconds: dict[str, list[float]] = defaultdict(list)

    def json(self, *words: str, status: int = 0) -> Any:
        """Run a command; returns its answer."""
        return orjson.loads(self.ran("--json", *words, status=status).stdout)

    def ran(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command, which must end with `status`; records how long it took."""
        begun = time.perf_counter()
        done = subprocess.run(
            self._command(*words), capture_output=True, text=True, cwd=self.folder, check=False
        )
        seconds = time.perf_counter() - begun
        said = " ".join(word for word in words if word != "--json")
        self._tell(f"{seconds:7.1f} s  palimpsest {said}")
        if done.returncode != status:
            raise RuntimeError(f"{said}: {done.returncode}, not {status}: {done.stderr[-2000:]}")
        return done

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "palimpsest", "--store", "store", *words]

    def ask_judge(self) -> dict[str, Any]:
        """Answer the waiting questions by a judge that errs."""

        def judge(older: str, newer: str) -> str:
            same = self.texts.same(older, newer)
            errs = chance("judge", older, newer) < (0.02 if same else JUDGE_ERRS)
            return "same" if same ^ errs else "different"

        begun = time.perf_counter()
        with Palimpsest.open(self.folder / "store", by="person") as store:
            answer = store.ask_judge(judge=judge)
        self._tell(f"{time.perf_counter() - begun:7.1f} s  the judge: {answer['answers']}")
        return answer

    def label_in_terminal(self) -> None:
        """Label by keys with `audit label`, until the labels suffice, or until no more can help."""
        command = self._command("audit", "label")
        with subprocess.Popen(
            command,
            cwd=self.folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as labelling:
            assert labelling.stdin is not None
            assert labelling.stderr is not None
            older, pressed = "", 0.0
            for line in labelling.stderr:
                name, _, text = line.rstrip("\n").partition(": ")
                if name == "older":
                    older = text
                elif name == "newer":
                    labelling.stdin.write(f"{self.person.key(older, text)}\n")
                    labelling.stdin.flush()
                    pressed = time.perf_counter()
                elif line.startswith("at most "):
                    self.keys_seconds["terminal"].append(time.perf_counter() - pressed)
                    if "enough" in line or "cannot reach" in line:
                        labelling.stdin.write("q\n")
                        labelling.stdin.flush()

    def label_on_page(self) -> None:
        """Label on the review page, in a browser, with the same end."""
        with serving(self.folder / "store") as server, open_page() as page:
            page.set_default_timeout(300_000)  # slow: the first load reads all joins
            endpoint = Endpoint(url=server.url, pid=server.pid, operator=server.operator)
            page.goto(ask_for_link(endpoint, None, {"name": "grace"}))
            page.wait_for_url("**/review")
            page.goto(f"{server.url}/review/sealed")
            while page.locator("#answer").count() and not page.get_by_text("is enough").count():
                older, newer = page.locator(".side .said").all_text_contents()[:2]
                page.evaluate("() => { document.getElementById('board').dataset.before = 'yes'; }")
                pressed = time.perf_counter()
                page.keyboard.press(self.person.key(older, newer))
                page.wait_for_function(
                    "() => !('before' in document.getElementById('board').dataset)"
                )
                self.keys_seconds["page"].append(time.perf_counter() - pressed)

    def wrong(self) -> tuple[int, int]:
        """The number of standing automatic joins that no hash proves, and of the wrong ones."""
        rows = self.json(
            "sql",
            "SELECT older.text AS older, newer.text AS newer FROM joins"
            " JOIN candidates older ON older.candidate_id = joins.joined_to"
            " JOIN candidates newer ON newer.candidate_id = joins.candidate_id"
            " WHERE joins.standing AND joins.decision NOT IN ('hash_exact', 'manual_join')",
        )
        return len(rows), sum(not self.texts.same(row["older"], row["newer"]) for row in rows)


def spend(folder: Path, texts: Texts, goal: Goal, tell: Callable[[str], None]) -> dict[str, Any]:
    """Run the whole hour in an empty folder; returns its figures."""
    hour = Hour(folder, texts, tell)
    later = len(texts.rows) // 4
    _write(folder / "rows.jsonl", texts.rows[later:])
    _write(folder / "later.jsonl", texts.rows[:later])
    _write(folder / "labels.jsonl", texts.labels)
    (folder / "careful.toml").write_text(POLICY, encoding="utf-8")
    (folder / "palimpsest.toml").write_text('policy = "careful.toml"\n', encoding="utf-8")
    hour.ran("--json", "ingest", "rows.jsonl")
    hour.ask_judge()
    found = {"rows": len(texts.rows), "first": _certified(hour, goal, hour.label_in_terminal)}
    found["calibrated"] = _calibrated(hour, goal)
    hour.ran("--json", "ingest", "later.jsonl")
    hour.ask_judge()
    found["anew"] = _certified(
        hour, goal, hour.label_on_page if goal.page else hour.label_in_terminal
    )
    found["differences"] = hour.json("verify")["differences"]
    found["labels"] = hour.person.said
    found["key"] = {door: sorted(s)[len(s) // 2] for door, s in hour.keys_seconds.items()}
    return found


def _write(file: Path, rows: Iterable[Row]) -> None:
    file.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


@dataclass(frozen=True, slots=True)
class Goal:
    """The targets to prove for joins and thresholds, and whether a browser is used."""

    target: float = 0.02
    budget: float = 0.06
    page: bool = True


def _certified(hour: Hour, goal: Goal, label: Callable[[], None]) -> dict[str, Any]:
    """Open an audit, label, certify and check it; also returns the truth about the joins."""
    joins, wrong = hour.wrong()
    opened = hour.json("audit", "open", "--target", str(goal.target))
    if opened["joins"] != joins:
        raise RuntimeError(f"an audit of {opened['joins']} joins, although {joins} stand")
    label()
    status = hour.json("audit", "certify")
    hour.ran("audit", "check", "--max", str(goal.target))
    counted = ("labels", "probes", "probes_found", "errors", "bound")
    by_decision = {s["value"]: s["joins"] for s in status["strata"] if s["by"] == "decision"}
    found = {"joins": joins, "wrong": wrong, **{name: status[name] for name in counted}}
    return found | {"left_wrong": hour.wrong()[1], "by_decision": by_decision}


def _calibrated(hour: Hour, goal: Goal) -> dict[str, Any]:
    """Calibrate thresholds, backtest them, and put them in force, which voids the certificate."""
    made = hour.json(
        *("calibrate", "--pairs", "labels.jsonl", "--policy", "careful.toml"),
        *("--budget", str(goal.budget), "--to", "calibrated.toml"),
    )
    tried = hour.json("backtest", "calibrated.toml", "--html", "backtest.html")
    hour.json("policy", "set", "calibrated.toml")
    void = hour.json("audit", "check", "--max", str(goal.target), status=1)
    certificate = made["certificate"]
    certified = ("joined", "wrong", "held_out_joined", "held_out_wrong")
    return {
        "thresholds": {name: made["policy_test"][name] for name in ("jaccard", "cosine")},
        **{name: certificate[name] for name in certified},
        "changed": tried["changed"],
        "audited": tried["audited"],
        "void": void["problems"],
    }


def main(arguments: Sequence[str]) -> None:
    """Run the hour, and print its figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench hour", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with pairs/, streams/")
    parser.add_argument("--rows", type=int, default=20_000, help="texts; default 20,000")
    parser.add_argument(
        "--target", type=float, default=0.02, help="share of wrong joins; default .02"
    )
    parser.add_argument("--no-page", action="store_true", help="label only in the terminal")
    parser.add_argument("--keep", type=Path, help="a new folder for the store, which is kept")
    asked = parser.parse_args(arguments)
    goal = Goal(target=asked.target, page=not asked.no_page)

    def tell(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with TemporaryDirectory(prefix="palimpsest-bench-") as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(exist_ok=True)
        found = spend(folder, read_texts(asked.data, asked.rows), goal, tell)
    print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
