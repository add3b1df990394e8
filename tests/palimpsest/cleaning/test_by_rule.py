"""Joins found with few vectors equal those of the writer, which embeds everything."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest import Palimpsest
from palimpsest.cleaning.by_rule import block_of, decides_by_words, join_by_rule
from palimpsest.cleaning.by_writer import join_by_writer
from palimpsest.cleaning.texts import RowJoin, ScopedText, Texts
from palimpsest.cleaning.vectors import TextVectors
from palimpsest.contracts.policy import CosineCheck, Policy, TokenCheck, Zone
from palimpsest.streams.embedder import Embedding
from palimpsest.streams.guard import passes, read
from palimpsest.streams.guard.edits.moves import MOVE
from palimpsest.streams.guard.edits.table import EDITS
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.streams.search.exact import cosine
from tests.long import examples
from tests.stub_engine import StubEngine

STANDARD = load_policy("standard")
TOP = 5
"""The number of nearest texts that `standard` compares by cosine."""
MEMORIES = Path(__file__).parents[3] / "examples" / "data" / "memories.jsonl.gz"
SUBJECTS = ("Ada", "ada", "The user", "User", "A man", "The little girl")
VERBS = ("has", "likes", "doesn't have", "does not have", "is riding", "riding", "bought")
OBJECTS = (
    *("a big dog", "a large dog", "two dogs", "2 dogs", "3 dogs", "a small dog", "🍕", "🍣"),
    *("the couch", "the sofa", "tea every day", "tea daily", "an 5km run", "an 5 km run"),
)
SENTENCES = st.builds(
    lambda *parts: " ".join(parts[:-1]) + parts[-1],
    st.sampled_from(SUBJECTS),
    st.sampled_from(VERBS),
    st.sampled_from(OBJECTS),
    st.sampled_from(("", ".", "!", "  ", "\u200b")),
)
LONG = st.builds(lambda text, tail: f"{text} " + "and walks it " * 30 + tail, SENTENCES, SENTENCES)


def by_words(texts: Texts, policy: Policy) -> list[list[RowJoin]]:
    vectors = TextVectors(texts.texts, StubEngine, _ignore)
    return join_by_rule(texts, policy, vectors, _ignore)


def by_writer(texts: Texts, policy: Policy) -> list[RowJoin]:
    return [join for [join] in join_by_writer(texts, policy, StubEngine, _ignore)]


def _ignore(_what: str, _share: float | None) -> None:
    pass


def table(rows: Sequence[str], scopes: int = 1) -> Texts:
    return Texts.read(ScopedText(text, scope=number % scopes) for number, text in enumerate(rows))


CLOSE = st.builds(
    "{} has a {} dog{}".format,
    st.sampled_from(("Ada", "Ben")),
    st.sampled_from(("big", "large", "small")),
    st.sampled_from(("", ".")),
)
"""Few sentences, so that most tables have joins; the Jaccard of two of them is .6 or 1."""
SCORES = (0.3, 0.6, 0.8, 0.9, 0.97)
POLICIES = st.builds(
    lambda tokens, cosine, order: STANDARD.model_copy(
        update={"checks": tuple(order(check for check in (tokens, cosine) if check is not None))}
    ),
    st.none()
    | st.builds(
        TokenCheck,
        check=st.just("tokens"),
        threshold=st.sampled_from(SCORES),
        top=st.sampled_from((1, 2, 5)),
        exclusive=st.booleans(),
    ),
    st.none()
    | st.builds(
        lambda near, joins, asks, least: CosineCheck(
            check="cosine",
            top=TOP,
            near_identical=near,
            min_characters=least,
            zones=(
                Zone(at_least=joins, action="auto_reject", guard=True),
                *((Zone(at_least=asks, action="pending"),) if asks < joins else ()),
            ),
        ),
        st.none() | st.sampled_from(SCORES),
        st.sampled_from(SCORES),
        st.sampled_from(SCORES),
        st.sampled_from((0, 19, 40)),
    ),
    st.sampled_from((list, lambda checks: [*checks][::-1])),
)
"""Policies whose every join asks the guard, with thresholds between the sentences' scores."""


@given(st.lists(CLOSE | SENTENCES | LONG, max_size=6), st.sampled_from((1, 2)), POLICIES)
def test_few_texts_join_as_the_writer_joins_them(
    rows: list[str], scopes: int, policy: Policy
) -> None:
    texts = table(rows, scopes)
    assert decides_by_words(policy)
    assert [joins[0] for joins in by_words(texts, policy)] == by_writer(texts, policy)


@pytest.mark.parametrize(("least", "joined"), [(17, True), (18, False)])
def test_short_texts_are_not_compared_by_cosine(least: int, joined: bool) -> None:
    zone = Zone(at_least=1.0, action="pending")
    check = CosineCheck(
        check="cosine", near_identical=0.4, min_characters=least, zones=(zone,), top=TOP
    )
    policy = STANDARD.model_copy(update={"checks": (check,)})
    texts = table(["Ada has a large dog", "Ada has a big dog"])
    mine = [joins[0] for joins in by_words(texts, policy)]
    assert mine == by_writer(texts, policy)
    assert bool(mine) is joined


class _CannotReadLarge(StubEngine):
    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [
            replace(seen, unknown=("large",)) if "large" in text else seen
            for text, seen in zip(texts, super().embed(texts), strict=True)
        ]


def test_a_word_that_only_the_engine_cannot_read_keeps_texts_apart() -> None:
    texts = table(["Ada has a large dog", "Ada has a big dog"])
    vectors = TextVectors(texts.texts, _CannotReadLarge, _ignore)
    assert join_by_rule(texts, STANDARD, vectors, _ignore) == []
    assert [*join_by_writer(texts, STANDARD, _CannotReadLarge, _ignore)] == []
    assert by_words(texts, STANDARD)


@pytest.mark.parametrize(("floor", "joined"), [(0.95, False), (0.9, True)])
def test_each_window_of_a_long_text_needs_its_counterpart(floor: float, joined: bool) -> None:
    """The texts differ only in their ends, which their first vectors do not show."""
    begin = "Ada walks with the dog and " * 13 + "Ada walks with the dog"
    rows = [f"{begin}. She likes tea {often}." for often in ("daily", "every day")]
    texts = table(rows)
    for near_identical, zone in (
        (floor, Zone(at_least=1.0, action="pending")),
        (None, Zone(at_least=floor, action="auto_reject", guard=True)),
    ):
        check = CosineCheck(check="cosine", near_identical=near_identical, zones=(zone,))
        policy = STANDARD.model_copy(update={"checks": (check,)})
        mine = [joins[0] for joins in by_words(texts, policy)]
        assert mine == by_writer(texts, policy)
        assert bool(mine) is joined


@settings(max_examples=examples(200))
@given(st.lists(CLOSE | SENTENCES, min_size=10, max_size=60))
def test_of_many_texts_only_those_beyond_the_nearest_join_besides(rows: list[str]) -> None:
    """The policy compares the five nearest; here all near-identical ones are compared."""
    texts = table(rows)
    mine = {joins[0].row: joins[0] for joins in by_words(texts, STANDARD)}
    writers = {join.row: join for join in by_writer(texts, STANDARD)}
    assert writers.keys() <= mine.keys()
    vectors = {row: StubEngine().embed([text])[0].vector for row, text in enumerate(rows)}
    for row, join in mine.items():
        if writers.get(row) != join:
            earlier = [first for first in texts.first if first < row]
            nearer = [
                other
                for other in earlier
                if cosine(vectors[other], vectors[row]) >= join.score and other != join.partner
            ]
            assert len(nearer) >= TOP


def test_no_pair_that_the_guard_lets_pass_is_in_two_blocks() -> None:
    pairs = [pair for edit in (*EDITS, MOVE) for pair in edit.passes]
    texts = sorted(
        {text for pair in (*pairs, *(p for e in EDITS for p in e.fails)) for text in pair}
    )
    readings = [read(text) for text in texts]
    near = [(a, b) for a, b in combinations(readings, 2) if passes(a, b)]
    assert len(near) >= len(EDITS)
    assert [(a.text, b.text) for a, b in near if block_of(a) != block_of(b)] == []


@given(st.lists(SENTENCES, min_size=2, max_size=12, unique=True))
def test_blocks_miss_no_pair_of_generated_texts(rows: list[str]) -> None:
    readings = [read(text) for text in rows]
    for a, b in combinations(readings, 2):
        assert not passes(a, b) or block_of(a) == block_of(b)


def test_only_policies_whose_every_join_asks_the_guard_are_decided_by_words() -> None:
    deciding = [name for name in preset_names() if decides_by_words(load_policy(name))]
    assert deciding == ["standard"]


def test_the_joins_of_real_memories_are_those_of_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.api.store.load_engine", lambda *_, **__: StubEngine())
    rows = [json.loads(line) for line in gzip.decompress(MEMORIES.read_bytes()).splitlines()]
    texts = Texts.read(ScopedText(row["text"], scope=row["owner_id"]) for row in rows)
    mine = {(j.row, j.partner, j.rule) for j in texts.repeats()}
    mine |= {(j[0].row, j[0].partner, j[0].rule) for j in by_words(texts, STANDARD)}
    with Palimpsest.open(tmp_path / "store", policy=STANDARD) as store:
        store.submit(
            [
                {"owner_id": row["owner_id"], "text": row["text"], "id": str(number)}
                for number, row in enumerate(rows)
            ],
            source="rows",
        )
        known = store.sql("SELECT candidate_id, producer_id FROM candidates")
        of = {row["candidate_id"]: int(row["producer_id"]) for row in known}
        joins = store.sql("SELECT candidate_id, joined_to, decision FROM joins")
    assert mine == {(of[j["candidate_id"]], of[j["joined_to"]], j["decision"]) for j in joins}
    assert len(mine) > 50
