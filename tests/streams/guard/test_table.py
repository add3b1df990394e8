"""docs/guard.md, "What is joined without a judge, and what never": each cell, by trying it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from palimpsest.contracts.commands import Admit, Operation
from palimpsest.contracts.evidence import Cue
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.streams.guard import compare, read
from palimpsest.streams.policies import load_policy, preset_names
from tests.streams.core.spec import History, Step, judge, say, separate
from tests.tables import each

PAGE = Path(__file__).parents[3] / "docs" / "guard.md"
HUNDREDTHS = range(38, 101)
SESSION: dict[str, Any] = {"session_id": "today"}


@dataclass(frozen=True)
class Pair:
    """Two texts of one row of the table, and what else is said of them."""

    older: str
    newer: str
    category: str | None = None
    truncated: bool = False


START = Pair("my cat sleeps on the bed", "My cat sleeps on the bed")
TULIP = Pair("Her rose is Tulip7", "Her rose is tulip7")
NEAR = Pair("Ada has a big dog", "Ada has a large dog")
OTHER_WORDS = Pair("Ada drinks tea at noon", "At midday Ada has some tea")
CUED = (
    Pair("Ada has 2 cats", "Ada has 3 cats"),
    Pair("Ada flies on Monday", "Ada flies on Friday"),
    Pair("Ada runs 5 km", "Ada runs 5 miles"),
    Pair("The app is v2.1", "The app is v2.2"),
    Pair("She likes tea", "She does not like tea"),
    Pair("The dog bit the man", "The man bit the dog"),
    Pair("We met Ada at noon", "We met Grace at noon"),
    Pair("The tea is hot", "The tea is cold"),
    Pair("She left IT early", "She left it early today"),
)
BLIND = (
    Pair("Ada likes дом", "Ada likes дым"),
    Pair(NEAR.older, NEAR.newer, truncated=True),
)

ROWS: dict[str, tuple[Pair, ...]] = {
    "same [verbatim](exact.md) text": (Pair("Ada has a dog", "Ada has a dog "),),
    "other case or white space only": (START, TULIP),
    "near-identical, no cue": (NEAR,),
    "other words, no cue": (OTHER_WORDS,),
    "any cue but the last two": CUED,
    "`unknown_token`, `truncated`": BLIND,
    "one in a protected category": (replace(NEAR, category="constraint"),),
}


def table() -> dict[str, dict[str, str]]:
    """The cells of the page: by row, by preset."""
    text = PAGE.read_text().split("## What is joined without a judge, and what never")[1]
    lines = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    presets = [[name.strip(" `") for name in cell.split(",")] for cell in cells[0][1:]]
    return {
        row[0]: {name: cell for names, cell in zip(presets, row[1:], strict=True) for name in names}
        for row in cells[2:]
    }


def silent(preset: str) -> Policy:
    """The preset with its judge switched off: only rules are left. No text is too short."""
    rules = load_policy(preset)
    judge = rules.judge.model_copy(update={"enabled": False})
    checks = tuple(
        check.model_copy(update={"min_characters": 0}) if isinstance(check, CosineCheck) else check
        for check in rules.checks
    )
    return rules.model_copy(update={"judge": judge, "checks": checks})


def joined_by(policy: Policy, pair: Pair, newer: Step) -> str | None:
    """The decision that joins the pair, if one does."""
    category: dict[str, Any] = {"category": pair.category} if pair.category else {}
    history = History(policy).do(say("a", pair.older, **category, **SESSION), newer)
    edges = history.ledger.entries[history.id("b")].edges
    return edges[0].decision if edges else None


def comes(pair: Pair, *, cosine: float, jaccard: float | None = None, session: bool) -> Step:
    """The newer of a pair, as near to the older as told."""
    words = None if jaccard is None else {"a": jaccard}
    fields = SESSION if session else {}
    said = say("b", pair.newer, {"a": cosine}, words=words, **fields)

    def step(history: History) -> Admit | Operation:
        admit = said(history)
        assert isinstance(admit, Admit)
        assert admit.content.vector is not None
        vector = structs.replace(admit.content.vector, truncated=pair.truncated)
        return structs.replace(admit, content=structs.replace(admit.content, vector=vector))

    return step


def cell(policy: Policy, pair: Pair) -> str:
    """What joins the pair, and from which score, as the page writes it."""
    far = joined_by(policy, pair, comes(pair, cosine=0.0, session=False))
    if far is not None:
        return f"`{far}`"
    return ", ".join(_phrases(policy, pair)) or "never"


def _phrases(policy: Policy, pair: Pair) -> Iterator[str]:
    scores = [hundredths / 100 for hundredths in HUNDREDTHS]
    tokens = [
        joined_by(policy, pair, comes(pair, cosine=0.0, jaccard=score, session=False))
        for score in scores
    ]
    yield from _spans(tokens, "from Jaccard {}")
    alone = [joined_by(policy, pair, comes(pair, cosine=s, session=False)) for s in scores]
    together = [joined_by(policy, pair, comes(pair, cosine=s, session=True)) for s in scores]
    only = [one if one != other else None for one, other in zip(together, alone, strict=True)]
    yield from _spans(only, "from {} in one session")
    yield from _spans(alone, "from {}")


def _spans(found: list[str | None], how: str) -> Iterator[str]:
    """A phrase for each decision, the one at the highest scores first."""
    for decision in dict.fromkeys(one for one in reversed(found) if one is not None):
        places = [place for place, one in enumerate(found) if one == decision]
        assert places == list(range(places[0], places[-1] + 1)), "a decision with a gap"
        after = places[-1] + 1
        ends = after < len(found) and found[after] is None
        span = how.format(_written(places[0])) + (f" to {_written(after)}" if ends else "")
        yield f"`{decision}` {span}"


def _written(place: int) -> str:
    return f"{HUNDREDTHS[place] / 100:.2f}".removeprefix("0")


@each("preset", preset_names())
@each("row", ROWS)
def test_the_table_says_what_is_joined_without_a_judge(preset: str, row: str) -> None:
    policy, told = silent(preset), table()[row][preset]
    for pair in ROWS[row]:
        alike = CUED[0] if pair is TULIP else NEAR
        expected = cell(policy, alike) if told in ("as any other", "as the guard says") else told
        assert cell(policy, pair) == expected


def test_the_table_has_these_rows_and_every_preset() -> None:
    found = table()
    assert [*found] == [*ROWS, "separated before"]
    assert all(set(row) == set(preset_names()) for row in found.values())


def test_the_pairs_are_what_their_rows_say() -> None:
    def seen(pair: Pair) -> tuple[bool, set[Cue]]:
        found = compare(read(pair.older, truncated=pair.truncated), read(pair.newer))
        return found.near_identical, set(found.cues)

    assert seen(NEAR) == seen(START) == (True, set())
    assert seen(TULIP) == (False, {Cue.CASE})
    assert seen(OTHER_WORDS) == (False, set())
    last_two = {Cue.UNKNOWN_TOKEN, Cue.TRUNCATED}
    assert set[Cue]().union(*(seen(pair)[1] for pair in CUED)) == set(Cue) - last_two
    assert set[Cue]().union(*(seen(pair)[1] for pair in BLIND)) == last_two


def gray_zone(preset: str) -> Zone | None:
    """Where a preset leaves pairs to the judge."""
    zones = (zone for check in load_policy(preset).checks for zone in getattr(check, "zones", ()))
    return next((zone for zone in zones if zone.action == "pending"), None)


@pytest.mark.parametrize("preset", [name for name in preset_names() if gray_zone(name)])
def test_a_separated_pair_no_fallback_joins(preset: str) -> None:
    gray = gray_zone(preset)
    assert gray is not None
    history = History(load_policy(preset)).do(
        say("a", OTHER_WORDS.older), say("b", OTHER_WORDS.newer, {"a": gray.at_least})
    )
    assert history.ledger.entries[history.id("b")].pending
    history.do(separate("a", "b"), judge("b", a="unavailable"))
    assert not history.ledger.edges


@pytest.mark.parametrize("preset", preset_names())
def test_a_separated_pair_no_repeat_joins(preset: str) -> None:
    assert table()["separated before"][preset] == "never"
    history = History(load_policy(preset)).do(
        say("a", OTHER_WORDS.older), say("b", OTHER_WORDS.newer), separate("a", "b")
    )
    history.do(say("c", OTHER_WORDS.newer))
    entries = history.ledger.entries
    assert entries[history.id("c")].memory is entries[history.id("b")].memory
    assert entries[history.id("a")].memory is not entries[history.id("b")].memory
