"""A store that keeps the rows joins what the policy joins, and recognises the rows later."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store as stores
from palimpsest.cleaning.by_store import join_by_store
from palimpsest.cleaning.by_writer import join_by_writer
from palimpsest.cleaning.texts import ScopedText, Texts
from palimpsest.cli.commands.cleaning import StoreOfRows
from palimpsest.streams.policies import load_policy
from tests.stub_engine import load_stub

STANDARD = load_policy("standard")
TEXTS = (
    "Ada has a big dog.",
    "Ada has a large dog.",
    " Ada has a big dog.",
    "Ada has 2 dogs.",
    "Ada has 3 dogs.",
    "ada has a big dog",
)


def quiet(_what: str, _share: float | None) -> None:
    """No progress."""


@pytest.mark.parametrize("seed", [1, 2])
def test_a_store_joins_the_rows_that_the_writer_joins(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "load_engine", load_stub)
    chance = random.Random(seed)
    rows = [
        ScopedText(chance.choice(TEXTS), scope=chance.choice(["", "ada", "bob"])) for _ in range(30)
    ]
    rows.insert(3, ScopedText(None, "no_text: the text is missing"))
    texts = Texts.read(rows)
    expected = {
        (join.row, join.partner, join.rule)
        for joins in ([*texts.repeats()], *join_by_writer(texts, STANDARD, load_stub, quiet))
        for join in joins
    }
    assert {rule for _, _, rule in expected} == {"auto_reject", "hash_exact"}
    heads = []
    for _ in range(2):  # the second time, every row is known
        with Palimpsest.open(tmp_path, by="person") as store:
            joins = [*join_by_store(texts, StoreOfRows(store), quiet)]
            heads.append(store.position)
        assert {(one.row, one.partner, one.rule) for [one] in joins} == expected
    assert heads[0] == heads[1]
