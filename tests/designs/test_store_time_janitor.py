"""designs/store-time.md: the janitor, the dedup log, its review and session ids, in its words.

On whole stores, embedded and following a cluster; the local judge's server is behind the real SDK.
"""

from __future__ import annotations

import logging
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.contracts.identity import session_of
from palimpsest.contracts.requests import Selection
from palimpsest.streams.dedupe.key_tokens import STOPWORDS, key_tokens, sharing_pairs
from palimpsest.streams.judge.settings import JudgeSettings
from tests.palimpsest.jobs.conftest import STORE_TIME, unguarded
from tests.palimpsest.jobs.speaker import Speaker

LONGER = "Cleo paints small wooden boats in the shed behind the house daily"
SHORTER = "Cleo paints small wooden boats in the shed behind the house"
HOOKS = [f"the spare key of the boat shed is on the hook of {metal}" for metal in ("brass", "iron")]
"""Near, without a cue; the judge says that they differ."""


def old_memories(ada: Speaker, *texts: str) -> list[str]:
    """Texts that nothing was compared with when they were stored."""
    ids = ada.say(*texts)
    ada.under(STORE_TIME)
    return ids


def rejected(ada: Speaker, *texts: str) -> None:
    """Two texts of the gray zone, joined because neither a judge nor the guard is asked."""
    off = STORE_TIME.judge.model_copy(update={"enabled": False})
    ada.under(unguarded(STORE_TIME).model_copy(update={"judge": off}))
    ada.say(*texts)
    ada.under(STORE_TIME)
    assert reviews(ada) == ["unreviewed"]


def reviews(ada: Speaker) -> list[str]:
    """What reviews said of the rejection."""
    rows = ada.rows("dedup_log", "review_status", "decision = 'fallback_reject'")
    return [row["review_status"] for row in rows]


def dedupe(ada: Speaker, asking: JudgeSettings) -> dict[str, Any]:
    return ada.store.dedupe(owner_id=ada.name, judge=asking)


def review(ada: Speaker, asking: JudgeSettings) -> dict[str, Any]:
    return ada.store.review(owner_id=ada.name, judge=asking)


# -- nightly janitor deduplication -----------------------------------------------------------------


def test_extract_key_tokens_not_stopwords() -> None:
    assert key_tokens("She has been with the two dogs of Ada in Oslo") == {"dog", "ada", "oslo"}
    assert not key_tokens(" ".join(STOPWORDS))


def made_up(count: int) -> list[str]:
    """Memories of words from a row, the frequent ones more often: as language has them."""
    chance = random.Random(5)
    names = [f"word{number}" for number in range(900)]
    weights = [1 / (place + 5) for place in range(len(names))]
    return [" ".join(chance.choices(names, weights, k=9)) for _ in range(count)]


def test_candidates_sharing_tokens_about_30_per_memory_vs_full_scan() -> None:
    tokens = [key_tokens(text) for text in made_up(467)]
    pairs = sharing_pairs(tokens, 30)
    assert len(pairs) <= 0.15 * 467 * 466 / 2
    assert all(tokens[a] & tokens[b] for a, b in pairs)


def test_vector_similarity_on_candidates_only(ada: Speaker, asking: JudgeSettings) -> None:
    old_memories(ada, LONGER, SHORTER, *HOOKS, "Ben keeps bees")
    answer = dedupe(ada, asking)
    assert (answer["memories"], answer["pairs"], answer["all_pairs"]) == (5, 6, 10)


def test_batch_pairs_to_haiku_for_confirmation(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    old_memories(ada, LONGER, SHORTER, *HOOKS)
    answer = dedupe(ada, asking)
    assert answer["asked"] == {"same": 1, "different": 1}
    assert server.calls == 1, "both pairs in one request"
    assert server.requests[0]["model"] == STORE_TIME.judge.model


def test_batching_packs_by_context_window_and_budget_safety_cap_500() -> None:
    assert (STORE_TIME.judge.share, STORE_TIME.judge.most) == (0.5, 500)


def test_tracks_already_merged_ids_within_each_run_prevents_cascading_merges(
    ada: Speaker, asking: JudgeSettings
) -> None:
    words = LONGER.split()
    chain = [" ".join(words[: len(words) - cut]) for cut in range(3)]
    old_memories(ada, *chain)
    assert len(dedupe(ada, asking)["joined"]) == 1
    assert len(ada.rows("memories")) == 2
    assert len(dedupe(ada, asking)["joined"]) == 1


def test_individual_merges_that_fail_are_warnings_not_errors(
    ada: Speaker,
    asking: JudgeSettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Somebody retracts one of a pair between the plan and its merge."""
    bread = "Nora bakes dark rye bread on every second friday for the whole street"
    first, *_ = old_memories(ada, LONGER, SHORTER, f"{bread} gladly", bread)
    store = ada.store
    ask_each = store.writer.ask_each

    def overtaken(requests: Any) -> Any:
        if requests and store.show(first)["living"]:
            store.retract(Selection(candidate_id=first))
        return ask_each(requests)

    monkeypatch.setattr(store.writer, "ask_each", overtaken)
    with caplog.at_level(logging.WARNING):
        answer = dedupe(ada, asking)
    assert [one["reason"] for one in answer["refused"]] == ["not_living"]
    assert [one["newer_text"] for one in answer["joined"]] == [bread]
    assert " failed: " in caplog.text
    assert "Nora" not in caplog.text


def test_merged_nodes_come_back_with_what_hung_on_them(ada: Speaker, asking: JudgeSettings) -> None:
    """The document deletes them, with edges, decay and log; here they are joined, and come back."""
    _, newer = old_memories(ada, LONGER, SHORTER)
    ada.store.access(newer)
    ada.say(SHORTER, source="again")
    columns = "memory_id, face, members, accesses, topics, created_at"
    before = ada.rows("memories", columns)
    [joined] = dedupe(ada, asking)["joined"]
    assert ada.rows("memories", columns) != before
    ada.store.unmerge(decision_id=joined["decision_id"])
    assert ada.rows("memories", columns) == before
    history = ada.rows("dedup_log", "decision", f"candidate_id = '{newer}'")
    assert history == [{"decision": "llm_reject"}, {"decision": "reversed"}]


# -- dedup log -------------------------------------------------------------------------------------


def test_dedup_log_has_every_column(ada: Speaker, asking: JudgeSettings) -> None:
    """`existing_id` is its existing_node_id, `llm_reasoning` its haiku_reasoning."""
    older, _ = old_memories(ada, LONGER, SHORTER)
    dedupe(ada, asking)
    [row] = ada.rows(
        "dedup_log",
        "new_text, existing_id, existing_text, similarity, decision, llm_reasoning,"
        " review_status, owner_id",
    )
    assert row == {
        "new_text": SHORTER,
        "existing_id": older,
        "existing_text": LONGER,
        "similarity": 0.9636,
        "decision": "llm_reject",
        "llm_reasoning": "by shared words: same",
        "review_status": "unreviewed",
        "owner_id": ada.name,
    }


# -- review pipeline -------------------------------------------------------------------------------


def test_hash_exact_entries_are_auto_confirmed(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.say("Ada has a dog", "ada  has a dog")
    assert review(ada, asking)["exact"] == 1
    [row] = ada.rows("dedup_log", "decision, review_status")
    assert row == {"decision": "hash_exact", "review_status": "confirmed"}
    assert server.calls == 0


@pytest.mark.parametrize(
    ("texts", "status"), [((LONGER, SHORTER), "confirmed"), (tuple(HOOKS), "reversed")]
)
def test_embedding_based_rejections_are_sent_to_opus_for_review(
    ada: Speaker,
    server: JudgeServer,
    asking: JudgeSettings,
    texts: tuple[str, str],
    status: str,
) -> None:
    """Unreviewed becomes confirmed or reversed; a reversed fact is restored."""
    rejected(ada, *texts)
    review(ada, asking)
    assert reviews(ada) == [status]
    assert {asked["model"] for asked in server.requests} == {STORE_TIME.judge.review_model}
    assert len(ada.rows("memories")) == (1 if status == "confirmed" else 2)


def test_reverse_safety_check_no_duplicate_creation(ada: Speaker, asking: JudgeSettings) -> None:
    """A reversed text that came again meanwhile is one living memory of its hash, not two."""
    rejected(ada, *HOOKS)
    ada.say(HOOKS[1], source="again")
    review(ada, asking)
    living = ada.rows("candidates", "DISTINCT hash, memory_id")
    assert len(living) == len({row["hash"] for row in living}) == 2


# -- session id ------------------------------------------------------------------------------------


def test_current_session_memories_excluded_from_search_results(ada: Speaker) -> None:
    ada.say("Ada likes boats", session_id="now")
    ada.say("Ada sold boats", session_id="then")
    assert ada.recall("boats", session_id="now") == ["Ada sold boats"]


def test_compaction_time_gate_pre_compaction_memories_re_injectable(ada: Speaker) -> None:
    ada.say("Ada likes boats", session_id="now")
    ada.store.compact_session(ada.name, "now")
    ada.say("Ada sold boats", session_id="now")
    assert ada.recall("boats", session_id="now") == ["Ada likes boats"]


def test_fallback_hash_of_first_message_timestamp(ada: Speaker) -> None:
    began = datetime(2026, 3, 1, 12, tzinfo=UTC)
    ada.say("Ada likes boats", session_began_at=began.isoformat())
    assert ada.recall("boats", session_of(began)) == []
    assert ada.recall("boats", "another") == ["Ada likes boats"]
