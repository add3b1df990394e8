"""A day of an agent under every preset: `python -m bench day --data DIR`.

Fifty sessions of twenty rows: the facts of a day (`day.jsonl`), each in five wordings, among rows
of real streams; eight of the facts change. Runs without a judge, and with one that knows the facts.
"""

from __future__ import annotations

import argparse
import logging
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid5

from msgspec import structs
from rich.table import Table

from bench.designs import BEGIN, DESIGNS, Clock, Driven, KnownTexts, LabelJudge, Row
from bench.embedding import distinct
from bench.printing import print_line, print_wide
from bench.rows import shipped_rows
from bench.scratch import scratch_folder, scratch_store
from bench.vectors import KeptVectors
from palimpsest import Palimpsest
from palimpsest.contracts.evidence import Answer
from palimpsest.contracts.identity import NAMESPACE
from palimpsest.contracts.policy import Judge as Rules
from palimpsest.contracts.requests import SetNamesRequest, SettleRequest
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.embedder import Engine, load_engine
from palimpsest.streams.policies import load_policy

OWNER = "ada"
NAMES = {
    "home": ("Ada",),
    "work": ("Ada",),
    "studio": ("Jonas",),
    "chat": ("Sofia",),
    "harbour": ("Noor",),
    "ward": ("Priya",),
    "darkroom": ("Tobias",),
    "desk": ("Marcus",),
    "thesis": ("Elif",),
    "journeys": ("Rosa", "Rosa Delgado"),
    "orchard": ("Kofi", "Kofi Mensah"),
    "garage": ("Lena",),
    "loft": ("Ines",),
    "bakery": ("Mateo",),
    "campus": ("Yuki",),
    "practice": ("Dana",),
    "tabletop": ("Petra",),
    "allotment": ("Gwen",),
    "freelance": ("Omar",),
    "family": ("Hannah",),
    "oncall": ("Ravi",),
    "fells": ("Callum",),
    "salon": ("Brianna",),
    "bench": ("Henrik",),
    "rank": ("Yusuf",),
    "yard": ("Aoife",),
    "games": ("Thiago",),
    "leeds": ("Gareth",),
    "nairobi": ("Achieng", "Achieng Odhiambo"),
    "ferry": ("Tamsin",),
    "werkstatt": ("Miriam", "die Nutzerin", "ich"),
    "kissaten": ("健太", "ユーザー", "私"),
}
"""The names of each day's owner, which are declared together with *the user* and *I*."""
SESSIONS, SESSION_ROWS = 50, 20
OF_OTHERS = ("i ", "i'", "my ")
"""How rows begin in which other people speak of themselves: left out, because *I* is the owner."""
FACTS = shipped_rows("day.jsonl")
"""The facts of 32 days, one of them in German and one in Japanese, each in five wordings, with a
question. `after` is the fact after a change, if it changes. On 21 days some facts have texts
`near` them, which state something else."""


Gold = tuple[int, bool]
"""The number of the fact that a row states, and whether it states it after the change."""


class GoldJudge(LabelJudge):
    """A judge that always knows whether two rows state the same fact, a change of it, or two facts.

    Each row about no fact of the day counts as a fact of its own.
    """

    def __init__(
        self, gold: dict[str, Gold], labels: dict[str, str], texts: dict[str, str], rules: Rules
    ) -> None:
        super().__init__(labels, texts, rules)
        self._facts = gold
        self._ask = rules.ask

    def says(self, a: str, b: str) -> Answer:
        """The right answer about the older and the newer candidate."""
        said = super().says(a, b)
        one, other = self._facts.get(a), self._facts.get(b)
        changes = one is not None and other is not None and one[0] == other[0] and one != other
        if said == "different" and changes and other is not None and other[1]:
            return "different" if self._ask == "same" else "update"
        return said


class Told(Driven):
    """A store of a day's rows, with batch rules once the day is over.

    A text composed about a change states the fact after the change.
    """

    over = False

    def run_batch(self, due: datetime) -> None:
        """Run the batch rules at the end of the day, and not at the end of a session."""
        if self.over:
            super().run_batch(due)

    def _settled(self, entry: Entry) -> SettleRequest:
        request = super()._settled(entry)
        verdict = request.verdicts[-1]
        if self.policy.judge.ask == "compose" and verdict.answer == "update":
            composes = (*request.verdicts[:-1], structs.replace(verdict, answer="compose"))
            return request.model_copy(update={"verdicts": composes, "composed": entry.text})
        return request


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a preset made of a day, whose facts have 100 wordings and eight changes.

    `memories` counts the memories with these texts. `mixed` counts those of them that also hold
    something else, and those that hold a text near a fact with something else. `lost` are the
    changed facts whose question a stale text answers first, or nothing does. `kept` counts the
    questions about unchanged facts whose first hit answers them, `judged` the pairs that the judge
    was asked about.
    """

    day: str
    preset: str
    judge: bool
    names: bool
    memories: int
    mixed: int
    lost: tuple[str, ...]
    kept: int
    judged: int
    pending: int


def rows(day: str, data: Path | None) -> tuple[list[Row], dict[str, Gold]]:
    """The rows of a day in order, with the gold of those about its facts."""
    said = _texts(day, data)
    found = [_row(number, text, fact) for number, (text, fact) in enumerate(said)]
    gold = {row.id: fact for row, (_, fact) in zip(found, said, strict=True) if fact}
    return found, gold


def _texts(day: str, data: Path | None) -> list[tuple[str, Gold | None]]:
    """The texts of a day in order: those of its facts, among texts of real streams."""
    chance = random.Random(1)
    early: list[tuple[str, Gold | None]] = []
    late: list[tuple[str, Gold | None]] = []
    for number, fact in enumerate(fact for fact in FACTS if fact["day"] == day):
        for text in fact["wordings"]:
            is_early = "after" in fact or chance.random() < 0.5
            (early if is_early else late).append((text, (number, False)))
        if "after" in fact:
            late.append((fact["after"], (number, True)))
        for near in fact.get("near", ()):
            (early if chance.random() < 0.5 else late).append((near, None))
    rest = (text for _, text in distinct(data, SESSIONS * SESSION_ROWS * 100))
    others = [text for text in rest if not text.lower().startswith(OF_OTHERS)]
    chance.shuffle(others)
    for part in (early, late):
        while len(part) < SESSIONS * SESSION_ROWS // 2:
            part.append((others.pop(), None))
        chance.shuffle(part)
    return early + late


def _row(number: int, text: str, fact: Gold | None) -> Row:
    at = BEGIN + number * timedelta(minutes=1)
    fields = {
        "owner_id": OWNER,
        "text": text,
        "id": str(number),
        "source": "day",
        "session_id": str(number // SESSION_ROWS),
        "occurred_at": at.isoformat(),
    }
    return Row(fields, at, "/".join(map(str, fact)) if fact else text, timed=True)


def run_one(
    day: str, preset: str, engine: Engine, data: Path | None, *, judged: bool, named: bool
) -> Remembered:
    """Run a preset on a day, for an owner with or without names, with or without a judge."""
    said, gold = rows(day, data)
    policy = load_policy(preset)
    labels = {row.id: row.gold or "" for row in said} if judged else {}
    judge = GoldJudge(gold, labels, {row.id: row.said["text"] for row in said}, policy.judge)
    clock = Clock()
    with scratch_store(engine, clock, policy) as store:
        driven = Told(store, clock, policy, judge)
        if named:
            names = (*NAMES[day], "the user", "I")
            request_id = str(uuid5(NAMESPACE, "names"))
            store.ask([SetNamesRequest(request_id=request_id, owner_id=OWNER, names=names)])
        for start in range(0, len(said), SESSION_ROWS):
            part = said[start : start + SESSION_ROWS]
            driven.run_day(part, [(OWNER, part[0].said["session_id"])])
        clock.now += timedelta(days=1)
        driven.over = True
        driven.run_batch(clock.now)
        ledger = driven.ledger(OWNER)
        about = {ledger.entries[one].memory.id for one in gold}
        store.projections.show()
        lost, kept = _recalled(day, store.folder, clock.now)
        return Remembered(
            day,
            preset,
            judged,
            named,
            memories=len(about),
            mixed=_mixed(day, said, gold, ledger, about),
            lost=lost,
            kept=kept,
            judged=judge.pairs,
            pending=sum(bool(entry.open) for entry in ledger.entries.values()),
        )


def _mixed(
    day: str, said: Sequence[Row], gold: dict[str, Gold], ledger: Ledger, about: set[str]
) -> int:
    """How many memories hold several things, and one of them is a fact or a text near one."""
    states: defaultdict[str, set[str]] = defaultdict(set)
    for row in said:
        fact = str(gold[row.id][0]) if row.id in gold else row.said["text"]
        states[ledger.entries[row.id].memory.id].add(fact)
    near = {text for fact in FACTS if fact["day"] == day for text in fact.get("near", ())}
    return sum(
        len(facts) > 1 and (memory in about or not near.isdisjoint(facts))
        for memory, facts in states.items()
    )


def _recalled(day: str, folder: Path, now: datetime) -> tuple[tuple[str, ...], int]:
    """The changed facts that do not answer their question before the old ones do.

    Also the number of questions about unchanged facts whose first hit answers them.
    """
    lost, kept = [], 0
    with Palimpsest.open(folder, create=False) as store:
        for fact in (fact for fact in FACTS if fact["day"] == day):
            faces = [hit["face"] for hit in store.recall(OWNER, fact["question"], as_of=now)]
            told = {*fact["wordings"], fact.get("after", fact["wordings"][0])}
            near = fact.get("near", ())  # may contain a wording: *The brother of Yusuf lives …*
            answers = [
                face for face in faces if face not in near and any(text in face for text in told)
            ]
            if "after" not in fact:
                kept += bool(answers) and answers[0] == faces[0]
            elif answers[:1] != [fact["after"]]:
                lost.append(fact["after"])
    return tuple(lost), kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every preset on days of one person each; print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench day", description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with streams/; default: made-up rows")
    choices, default = [*DESIGNS, "multilingual"], "default: those of the default model"
    parser.add_argument("--presets", nargs="+", choices=choices, help=default)
    parser.add_argument("--days", nargs="+", choices=NAMES, default=["home", "work"])
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    asked = parser.parse_args(arguments)
    logging.disable(logging.WARNING)  # that nobody answers is part of the measurement
    presets = asked.presets or DESIGNS
    model, *others = {load_policy(preset).model for preset in presets}
    if others:
        parser.error("--presets: these use several models")
    engine = load_engine(model)
    results: list[Remembered] = []
    with (
        scratch_folder() as folder,
        closing(KeptVectors(folder / "vectors.sqlite", engine)) as kept,
    ):
        for day in asked.days:
            texts = {row.said["text"] for row in rows(day, asked.data)[0]}
            known = KnownTexts(engine, kept.of(texts))
            for preset, judged, named in _ways(presets):
                one = run_one(day, preset, known, asked.data, judged=judged, named=named)
                results.append(one)
                if asked.json:
                    print_line(asdict(one))
    if not asked.json:
        print_wide(_table(results))
    return 0


def _ways(presets: Sequence[str]) -> Iterator[tuple[str, bool, bool]]:
    """Each preset with and without a judge, if it asks one, and with and without names."""
    for preset in presets:
        judges = (False, True) if load_policy(preset).judge.enabled else (False,)
        yield from product([preset], judges, (False, True))


def _table(results: Sequence[Remembered]) -> Table:
    headings = "day preset judge names memories mixed corrections kept judged lost".split()
    shown = Table(*headings, title="A day of an agent")
    for one in results:
        answers = sum(fact["day"] == one.day and "after" in fact for fact in FACTS)
        cells: list[Any] = [one.day, one.preset, "yes" if one.judge else "-"]
        cells += ["yes" if one.names else "-", one.memories, one.mixed]
        cells += [f"{answers - len(one.lost)} of {answers}", one.kept, one.judged or "-"]
        shown.add_row(*map(str, cells), "\n".join(one.lost))
    return shown
