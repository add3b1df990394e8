"""designs/store-time.md: the janitor, the dedup log, its review and session ids, in its words.

On whole stores, with the local judge's server behind the real SDK; what runs on a cluster is the
same requests, and tests/designs/test_store_time.py has the rules of the write time on both.
"""

from __future__ import annotations

import logging
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.identity import session_of
from contracts.requests import Selection
from palimpsest import Palimpsest
from palimpsest.demo_judge import JudgeServer
from streams.dedupe.key_tokens import STOPWORDS, key_tokens
from streams.dedupe.sharing import sharing
from streams.judge.settings import JudgeSettings
from tests.batches.conftest import QUICK, STORE_TIME, Say, opened, say, server

__all__ = ["opened", "say", "server"]

LONGER = "Cleo paints small wooden boats in the shed behind the house daily"
SHORTER = "Cleo paints small wooden boats in the shed behind the house"
HOOKS = [f"the spare key of the boat shed hangs on the hook number {n}" for n in (4, 7)]


@pytest.fixture
def asking(server: JudgeServer) -> JudgeSettings:
    return JudgeSettings(base_url=server.url, **QUICK.model_dump(exclude={"base_url"}))


def old_memories(opened: Palimpsest, say: Say, *texts: str) -> list[str]:
    """Texts that nothing was compared with when they were stored."""
    ids = say(*texts)
    opened.set_policy(STORE_TIME)
    return ids


def rejected(opened: Palimpsest, say: Say, *texts: str) -> str:
    """Two texts of the gray zone, joined because no judge is wanted; the decision."""
    off = STORE_TIME.judge.model_copy(update={"enabled": False})
    opened.set_policy(STORE_TIME.model_copy(update={"judge": off, "name": "off"}))
    say(*texts)
    opened.set_policy(STORE_TIME)
    [row] = opened.sql("SELECT decision_id FROM dedup_log WHERE decision = 'fallback_reject'")
    return str(row["decision_id"])


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
    texts = made_up(467)
    pairs = sharing([key_tokens(text) for text in texts], 30)
    assert len(pairs) <= 0.15 * 467 * 466 / 2
    assert all(key_tokens(texts[a]) & key_tokens(texts[b]) for a, b in pairs)


def test_vector_similarity_on_candidates_only(
    opened: Palimpsest, say: Say, asking: JudgeSettings
) -> None:
    old_memories(opened, say, LONGER, SHORTER, *HOOKS, "Ben keeps bees")
    answer = opened.dedupe(judge=asking)
    assert (answer["memories"], answer["pairs"], answer["all_pairs"]) == (5, 6, 10)


def test_batch_pairs_to_haiku_for_confirmation(
    opened: Palimpsest, say: Say, server: JudgeServer, asking: JudgeSettings
) -> None:
    old_memories(opened, say, LONGER, SHORTER, *HOOKS)
    answer = opened.dedupe(judge=asking)
    assert answer["asked"] == {"same": 1, "different": 1}
    assert server.calls == 1, "both pairs in one request"
    assert server.requests[0]["model"] == STORE_TIME.judge.model


def test_batching_packs_by_context_window_and_budget_safety_cap_500() -> None:
    assert (STORE_TIME.judge.share, STORE_TIME.judge.most) == (0.5, 500)


def test_tracks_already_merged_ids_within_each_run_prevents_cascading_merges(
    opened: Palimpsest, say: Say, asking: JudgeSettings
) -> None:
    words = LONGER.split()
    chain = [" ".join(words[: len(words) - cut]) for cut in range(3)]
    old_memories(opened, say, *chain)
    assert len(opened.dedupe(judge=asking)["joined"]) == 1
    assert len(opened.sql("SELECT memory_id FROM memories")) == 2
    assert len(opened.dedupe(judge=asking)["joined"]) == 1


def test_individual_merges_that_fail_are_warnings_not_errors(
    opened: Palimpsest,
    say: Say,
    asking: JudgeSettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Somebody retracts one of a pair between the plan and its merge."""
    bread = "Nora bakes dark rye bread on every second friday for the whole street"
    first, *_ = old_memories(opened, say, LONGER, SHORTER, f"{bread} gladly", bread)
    ask_each = opened._desk.ask_each

    def overtaken(requests: Any) -> Any:
        if requests and opened.show(first)["living"]:
            opened.retract(Selection(candidate_id=first))
        return ask_each(requests)

    monkeypatch.setattr(opened._desk, "ask_each", overtaken)
    with caplog.at_level(logging.WARNING):
        answer = opened.dedupe(judge=asking)
    assert [one["reason"] for one in answer["refused"]] == ["not_living"]
    assert [one["newer_text"] for one in answer["joined"]] == [bread]
    assert "came to nothing" in caplog.text
    assert "Nora" not in caplog.text


def test_merged_nodes_come_back_with_what_hung_on_them(
    opened: Palimpsest, say: Say, asking: JudgeSettings
) -> None:
    """The document deletes them, with edges, decay and log; here they are joined, and come back."""
    _, newer = old_memories(opened, say, LONGER, SHORTER)
    opened.access(newer)
    opened.submit({"owner_id": "ada", "text": SHORTER}, source="again")
    before = opened.sql("FROM memories ORDER BY memory_id")
    [joined] = opened.dedupe(judge=asking)["joined"]
    opened.unmerge(decision_id=joined["decision_id"])
    columns = ("memory_id", "face", "members", "accesses", "topics", "created_at")
    after = opened.sql("FROM memories ORDER BY memory_id")
    assert [[row[c] for c in columns] for row in after] == [
        [row[c] for c in columns] for row in before
    ]
    history = opened.sql(f"SELECT decision FROM dedup_log WHERE candidate_id = '{newer}'")
    assert [row["decision"] for row in history] == ["llm_reject"]


# -- dedup log -------------------------------------------------------------------------------------


def test_dedup_log_has_every_column(opened: Palimpsest, say: Say, asking: JudgeSettings) -> None:
    """`existing_id` is its existing_node_id, `llm_reasoning` its haiku_reasoning."""
    older, _ = old_memories(opened, say, LONGER, SHORTER)
    opened.dedupe(judge=asking)
    [row] = opened.sql(
        "SELECT new_text, existing_id, existing_text, similarity, decision, llm_reasoning,"
        " review_status, owner_id FROM dedup_log"
    )
    assert row == {
        "new_text": SHORTER,
        "existing_id": older,
        "existing_text": LONGER,
        "similarity": 0.9636,
        "decision": "llm_reject",
        "llm_reasoning": "by shared words: same",
        "review_status": "unreviewed",
        "owner_id": "ada",
    }


# -- review pipeline -------------------------------------------------------------------------------


def test_hash_exact_entries_are_auto_confirmed(
    opened: Palimpsest, say: Say, server: JudgeServer, asking: JudgeSettings
) -> None:
    say("Ada has a dog", "ada  has a dog")
    assert opened.review(judge=asking)["exact"] == 1
    [row] = opened.sql("SELECT decision, review_status FROM dedup_log")
    assert row == {"decision": "hash_exact", "review_status": "confirmed"}
    assert server.calls == 0


@pytest.mark.parametrize(
    ("texts", "status"), [((LONGER, SHORTER), "confirmed"), (tuple(HOOKS), "reversed")]
)
def test_embedding_based_rejections_are_sent_to_opus_for_review(
    opened: Palimpsest,
    say: Say,
    server: JudgeServer,
    asking: JudgeSettings,
    texts: tuple[str, str],
    status: str,
) -> None:
    """Unreviewed becomes confirmed or reversed; a reversed fact is restored."""
    rejected(opened, say, *texts)
    opened.review(judge=asking)
    [row] = opened.sql("SELECT review_status FROM dedup_log WHERE decision = 'fallback_reject'")
    assert row["review_status"] == status
    assert {asked["model"] for asked in server.requests} == {STORE_TIME.judge.review_model}
    living = opened.sql("SELECT memory_id FROM memories")
    assert len(living) == (1 if status == "confirmed" else 2)


def test_reverse_safety_check_no_duplicate_creation(
    opened: Palimpsest, say: Say, asking: JudgeSettings
) -> None:
    """A reversed text that came again meanwhile is one living memory of its hash, not two."""
    rejected(opened, say, *HOOKS)
    opened.submit({"owner_id": "ada", "text": HOOKS[1]}, source="again")
    opened.review(judge=asking)
    rows = opened.sql("SELECT hash, count(DISTINCT memory_id) AS n FROM candidates GROUP BY hash")
    assert [row["n"] for row in rows] == [1, 1]


# -- session id ------------------------------------------------------------------------------------


def recalled(opened: Palimpsest, session: str) -> list[str]:
    return [found["face"] for found in opened.recall("ada", "boats", session_id=session)]


def test_current_session_memories_excluded_from_search_results(opened: Palimpsest) -> None:
    opened.submit(
        [
            {"owner_id": "ada", "text": "Ada likes boats", "session_id": "now"},
            {"owner_id": "ada", "text": "Ada sold boats", "session_id": "then"},
        ]
    )
    assert recalled(opened, "now") == ["Ada sold boats"]


def test_compaction_time_gate_pre_compaction_memories_re_injectable(opened: Palimpsest) -> None:
    opened.submit({"owner_id": "ada", "text": "Ada likes boats", "session_id": "now"})
    opened.compact_session("ada", "now")
    opened.submit({"owner_id": "ada", "text": "Ada sold boats", "session_id": "now"})
    assert recalled(opened, "now") == ["Ada likes boats"]


def test_fallback_hash_of_first_message_timestamp(opened: Palimpsest) -> None:
    began = datetime(2026, 3, 1, 12, tzinfo=UTC)
    opened.submit(
        {"owner_id": "ada", "text": "Ada likes boats", "session_began_at": began.isoformat()}
    )
    assert recalled(opened, session_of(began)) == []
    assert recalled(opened, "another") == ["Ada likes boats"]
