"""designs/layered.md, the pipeline: one test for each rule, in the document's own words.

The stub engine's cosine is that of two bags of words, so a word said three times weighs three times
as much in it as in the Jaccard, and stopwords count in it alone. The words are such that no two of
them are one to the engine.
"""

from __future__ import annotations

import json
from typing import cast

import numpy as np
import pytest

from palimpsest.contracts.answers import Checked
from palimpsest.contracts.events import Decided, Settled
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.policy import CosineCheck, SessionCheck, Similar, TokenCheck
from palimpsest.contracts.requests import CheckRequest, RetractRequest, Selection
from palimpsest.queries.duplicates import dedup_result
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.streams.search.content import STOPWORDS, content_tokens, jaccard
from tests.designs.owners import Owner, fresh
from tests.stub_engine import vector_of

POLICY = "layered"
RULES = load_policy(POLICY)
TEN = "grip force cup table winch camera motor sensor arm wheel".split()
TEXT = " ".join(TEN)


def words(shared: int, *others: str) -> str:
    """The first words of the text, and others."""
    return " ".join([*TEN[:shared], *others])


def cosine(a: str, b: str) -> float:
    x, y = vector_of(a).astype(float), vector_of(b).astype(float)
    return round(float(x @ y / np.linalg.norm(x) / np.linalg.norm(y)), 4)


def alike(a: str, b: str) -> float:
    return round(jaccard(content_tokens(a), content_tokens(b)), 4)


def last(owner: Owner) -> Decided:
    return [event for event in owner.events() if isinstance(event, Decided)][-1]


def evidence(owner: Owner) -> Evidence:
    return last(owner).data.evidence


def similar(owner: Owner) -> list[tuple[str, float]]:
    """What the last candidate was told of, and how similar it is by its evidence."""
    seen = evidence(owner)
    scores = {n.candidate_id: max(n.cosine or 0, n.jaccard or 0) for n in seen.neighbours}
    return [(one, scores[one]) for one in seen.similar or ()]


# -- overview ------------------------------------------------------------------------------------


def test_three_layers_in_their_order() -> None:
    tokens, near, session = RULES.checks
    assert isinstance(tokens, TokenCheck)
    assert (tokens.threshold, tokens.exclusive, tokens.top, tokens.guard) == (0.70, True, 5, False)
    assert (tokens.tokenizer, tokens.among) == ("content", "full_text")
    assert isinstance(near, CosineCheck)
    assert (near.top, [(zone.at_least, zone.action) for zone in near.zones]) == (
        3,
        [(0.85, "auto_reject")],
    )
    assert isinstance(session, SessionCheck)
    assert (session.threshold, session.nearest, session.guard) == (0.85, 20, False)
    assert RULES.search == "memories"
    assert POLICY in preset_names()


def test_is_dup_false_proceed_to_insert(owner: Owner) -> None:
    _, other = owner.say(TEXT, "a boat on the lake")
    assert other["decision"] == "stored"
    assert owner.faces() == [TEXT, "a boat on the lake"]


# -- layer 1: exact match ------------------------------------------------------------------------


def test_layer_1_exact_match_is_an_instant_reject(owner: Owner) -> None:
    first, second = owner.say(TEXT, TEXT)
    assert (second["decision"], second["joined_to"]) == ("hash_exact", first["candidate_id"])
    assert last(owner).data.content.vector is None


def test_layer_1_hashes_the_text_as_it_is_written(owner: Owner) -> None:
    """The document's hash is of the raw text; ours ignores white space at its ends."""
    _, second, other = owner.say(TEXT, f" {TEXT}", TEXT.upper())
    assert second["decision"] == "hash_exact"
    assert other["decision"] != "hash_exact"


def test_layer_1_same_collection_and_active_alone(owner: Owner) -> None:
    owner.say(TEXT)
    [elsewhere] = owner.say(TEXT, namespace="another collection")
    assert elsewhere["decision"] == "stored"


# -- layer 2: Jaccard token similarity -----------------------------------------------------------


def test_layer_2_over_70_is_a_duplicate(owner: Owner) -> None:
    first, second = owner.say(TEXT, words(8, "wrist"))
    assert alike(TEXT, words(8, "wrist")) == 0.7273
    assert (second["decision"], second["joined_to"]) == ("token_reject", first["candidate_id"])
    assert owner.faces() == [TEXT]


def test_layer_2_at_70_exactly_is_none(owner: Owner) -> None:
    """7 of 10 words: the threshold is exclusive, and the cosine below its own."""
    text = words(7)
    assert (alike(TEXT, text), cosine(TEXT, text)) == (0.7, 0.8367)
    _, second = owner.say(TEXT, text)
    assert second["decision"] == "stored"


def test_layer_2_candidates_are_the_top_5_of_a_full_text_search(owner: Owner) -> None:
    """Five shorter texts with a rarer word in common are ranked before the one that is alike."""
    text = words(9, "beacon", "beacon")
    assert (alike(TEXT, text), cosine(TEXT, text)) == (0.8182, 0.7894)
    short = [f"beacon a{n} b{n} c{n}" for n in range(5)]
    long = [words(9, *(f"w{n}x{i}" for i in range(9))) for n in range(5)]
    owner.say(*long, TEXT, *short)
    [found] = owner.say(text)
    assert found["decision"] == "stored", "it is the sixth"
    other = Owner(owner.runtime, f"{owner.name} four", POLICY)
    other.say(*long, TEXT, *short[:4])
    [found] = other.say(text)
    assert found["decision"] == "token_reject", "now it is the fifth"


@pytest.mark.parametrize("word", ["the", "的", "observation", "root_cause"])
def test_layer_2_stopwords_are_filtered_in_both_english_and_chinese(word: str) -> None:
    assert word in STOPWORDS
    assert alike(TEXT, f"{TEXT} {word}") == 1.0


def test_layer_2_category_words_alone_make_no_false_match(owner: Owner) -> None:
    _, second = owner.say("decision tradeoff boat", "decision tradeoff lamp")
    assert alike("decision tradeoff boat", "decision tradeoff lamp") == 0.0
    assert second["decision"] == "stored"


def test_layer_2_two_empty_token_sets_score_0(owner: Owner) -> None:
    """The document divides by zero there."""
    _, second = owner.say("the decision of the", "is a revert")
    assert second["decision"] == "stored"


def test_layer_2_chinese_is_segmented(owner: Owner) -> None:
    """Without white space the document's words are whole sentences: these two share none."""
    one, two = "我喜欢喝绿茶和吃苹果，她不喜欢", "我喜欢喝绿茶和吃苹果，她喜欢"
    assert not set(one.split()) & set(two.split())
    assert cosine(one, two) == 0.0
    first, second = owner.say(one, two)
    assert (second["decision"], second["joined_to"]) == ("token_reject", first["candidate_id"])


# -- layer 3: cosine vector similarity -----------------------------------------------------------

HEAVY = "lathe lathe lathe lathe lathe"


def test_layer_3_semantic_duplicates_that_use_different_words(owner: Owner) -> None:
    text, other = f"{HEAVY} gear lever", f"{HEAVY} pump crane"
    assert (cosine(text, other), alike(text, other)) == (0.9259, 0.2)
    first, second = owner.say(text, other)
    assert (second["decision"], second["joined_to"]) == ("auto_reject", first["candidate_id"])
    assert owner.faces() == [text]


@pytest.mark.parametrize(("shared", "decision"), [(7, "auto_reject"), (6, "stored")])
def test_layer_3_at_85_exactly_it_is_a_duplicate(owner: Owner, shared: int, decision: str) -> None:
    """The document says > .85 in its table and >= in its code: ours is its code."""
    stop = "the a an is was were to of and in"
    text = f"{stop} {words(10)}"
    other = f"{stop} {words(shared, *'pump crane plate belt'.split()[: 10 - shared])}"
    assert cosine(text, other) == (10 + shared) / 20
    assert alike(text, other) <= 0.7
    _, second = owner.say(text, other)
    assert second["decision"] == decision


CLEAN = f"{HEAVY} gear lever"
BLIND = (f"{HEAVY} gear 🍣 pump", f"{HEAVY} gear 🍕 crane", f"{HEAVY} lever 🍕 🍣")
"""Nearer to it than the next one, and each has words that the model cannot read."""
FOURTH = f"{HEAVY} wrist elbow hinge"


def test_layer_3_top_3_alone_are_looked_at(owner: Owner) -> None:
    """Ours differs: what the model cannot tell apart is not joined; here these are the top 3."""
    assert min(cosine(CLEAN, text) for text in BLIND) > cosine(CLEAN, FOURTH) >= 0.85
    stored = owner.say(FOURTH, *BLIND, session_id="before")
    assert [one["joined_to"] for one in stored] == [None] * 4
    [found] = owner.say(CLEAN, session_id="now")
    assert found["joined_to"] is None
    assert owner.faces() == [FOURTH, *BLIND, CLEAN]


def test_layer_3_what_the_model_is_blind_to_is_kept_without_a_judge(owner: Owner) -> None:
    owner.say(BLIND[0], CLEAN)
    settled = [event.data.decision for event in owner.events() if isinstance(event, Settled)]
    assert settled == ["fallback_keep"]


# -- similar (non-duplicate) tracking ------------------------------------------------------------


def test_similar_facts_from_40_by_jaccard(owner: Owner) -> None:
    text = words(6, *"pump crane plate belt".split())
    first, second = owner.say(TEXT, text)
    assert alike(TEXT, text) == 0.4286
    assert second["decision"] == "stored", "they do not block insertion"
    assert similar(owner) == [(first["candidate_id"], 0.6)], "the higher of the two measures"


def test_similar_facts_from_40_by_cosine(owner: Owner) -> None:
    text = words(4, *"pump crane plate belt chain brake".split())
    first, _ = owner.say(TEXT, text)
    assert (cosine(TEXT, text), alike(TEXT, text)) == (0.4, 0.25)
    assert similar(owner) == [(first["candidate_id"], 0.4)]


def test_similar_facts_none_below_40(owner: Owner) -> None:
    owner.say(TEXT, words(3, *"pump crane plate belt chain brake shaft".split()))
    assert evidence(owner).similar is None


def test_similar_facts_are_of_memories_that_are_there(owner: Owner) -> None:
    [first] = owner.say(TEXT)
    selection = Selection(candidate_id=first["candidate_id"])
    owner.ask(RetractRequest(request_id=fresh(), selection=selection))
    owner.say(words(6, *"pump crane plate belt".split()))
    assert evidence(owner).similar is None


def test_similar_facts_are_for_who_is_no_duplicate(owner: Owner) -> None:
    _, second = owner.say(TEXT, words(9))
    assert second["decision"] == "token_reject"
    assert evidence(owner).similar is None
    assert second.get("similar_facts") is None


def test_similar_facts_id_assertion_similarity(owner: Owner) -> None:
    """In the embedded answer; a cluster's producer has none, and asks for the evidence."""
    first, second = owner.say(TEXT, words(6, *"pump crane plate belt".split()))
    fact = {"id": first["memory_id"], "assertion": TEXT, "similarity": 0.6}
    assert second.get("similar_facts", [fact]) == [fact]
    assert similar(owner) == [(first["candidate_id"], 0.6)]


def test_similar_facts_are_capped(owner: Owner) -> None:
    """The most similar first. The document names no number; ours is a word of the policy."""
    assert RULES.similar == Similar(at_least=0.40, most=5)
    few = RULES.model_copy(update={"similar": Similar(at_least=0.40, most=2)})
    capped = Owner(owner.runtime, owner.name, few)
    capped.say(*(words(4, *(f"w{n}x{i}" for i in range(n + 3))) for n in range(4)))
    capped.say(words(5, *"pump crane plate belt chain".split()))
    scores = [score for _, score in similar(capped)]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)


def test_similar_facts_by_cosine_are_of_the_top_3(owner: Owner) -> None:
    """All five are near enough by cosine, and none by its words."""
    texts = [words(4, *(f"w{n}x{i}" for i in range(3))) for n in range(5)]
    newcomer = words(5, *"pump crane plate belt chain".split())
    assert min(cosine(newcomer, text) for text in texts) > 0.4
    assert max(alike(newcomer, text) for text in texts) < 0.4
    owner.say(*texts)
    owner.say(newcomer)
    assert len(similar(owner)) == 3


# -- session-scoped cosine dedup -----------------------------------------------------------------


@pytest.mark.parametrize(("session", "decision"), [("now", "session_reject"), ("before", None)])
def test_session_cosine_only_check_same_session(
    owner: Owner, session: str, decision: str | None
) -> None:
    """It fires only where those above may not be joined: the three nearest, here."""
    [fourth] = owner.say(FOURTH, session_id=session)
    owner.say(*BLIND)
    [found] = owner.say(CLEAN, session_id="now")
    if decision is not None:
        assert (found["decision"], found["joined_to"]) == (decision, fourth["candidate_id"])
    assert (found["joined_to"] is None) == (decision is None)


def test_session_cosine_what_the_session_took_back_is_not_of_it(owner: Owner) -> None:
    """Another session has said the same text, and it lives."""
    own, _ = owner.say(FOURTH, session_id="now"), owner.say(FOURTH, session_id="before")
    owner.say(*BLIND)
    selection = Selection(candidate_id=own[0]["candidate_id"])
    owner.ask(RetractRequest(request_id=fresh(), selection=selection))
    [found] = owner.say(CLEAN, session_id="now")
    assert found["joined_to"] is None


def test_session_cosine_no_session_is_none(owner: Owner) -> None:
    owner.say(FOURTH, *BLIND)
    [found] = owner.say(CLEAN)
    assert found["joined_to"] is None


@pytest.mark.parametrize(("nearer", "decision"), [(19, "session_reject"), (20, None)])
def test_session_cosine_among_the_20_nearest_of_the_scope(
    owner: Owner, nearer: int, decision: str | None
) -> None:
    """`nearer` candidates, none of which may be joined, were stored before the policy."""
    before = Owner(owner.runtime, owner.name, RULES.model_copy(update={"checks": ()}))
    [own] = before.say(FOURTH, session_id="now")
    before.say(*(f"{HEAVY} gear 🍣 p{number}" for number in range(nearer)))
    now = Owner(owner.runtime, owner.name, POLICY)
    [found] = now.say(CLEAN, session_id="now", id="newcomer")
    if decision is not None:
        assert (found["decision"], found["joined_to"]) == (decision, own["candidate_id"])
    assert (found["joined_to"] is None) == (decision is None)


# -- the answer's shape --------------------------------------------------------------------------


def check_result(owner: Owner, text: str, session: str | None = None) -> tuple[object, ...]:
    """What a check says of a text, but for the facts' texts."""
    row = json.dumps({"owner_id": owner.name, "text": text, "session_id": session})
    request = CheckRequest(request_id=fresh(), owner_id=owner.name, row=row, source="s")
    found = dedup_result(cast("Checked", owner.ask(request)))
    assert [*found] == ["is_dup", "method", "existing_id", "similarity", "similar_facts"]
    facts = [(fact["id"], fact["similarity"]) for fact in found["similar_facts"]]
    return found["is_dup"], found["method"], found["existing_id"], found["similarity"], facts


def test_duplicate_in_the_shape_of_the_document(owner: Owner) -> None:
    text, other = f"{HEAVY} gear lever", f"{HEAVY} pump crane"
    first, heavy = (row["memory_id"] for row in owner.say(TEXT, text))
    assert check_result(owner, TEXT) == (True, "exact", first, 1.0, [])
    assert check_result(owner, words(9)) == (True, "jaccard", first, 0.9, [])
    assert check_result(owner, other) == (True, "cosine", heavy, 0.9259, [])
    near = words(6, *"pump crane plate belt".split())
    assert check_result(owner, near) == (False, "none", None, 0.6, [(first, 0.6)])
    assert check_result(owner, "a boat on the lake") == (False, "none", None, None, [])


def test_duplicate_within_the_session_in_the_shape_of_the_document(owner: Owner) -> None:
    [fourth] = owner.say(FOURTH, session_id="now")
    owner.say(*BLIND)
    assert check_result(owner, CLEAN, "now")[:3] == (True, "session_cosine", fourth["memory_id"])
