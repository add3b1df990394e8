"""What a memory is worth as it is read: decayed from recorded facts, written nowhere."""

from __future__ import annotations

from datetime import timedelta

from palimpsest.contracts.commands import Access
from palimpsest.contracts.events import Use
from palimpsest.contracts.policy import Absent, Decay, Policy
from palimpsest.streams.core.ledger import Memory
from palimpsest.streams.core.worth import decayed, last_use, uses, worth
from tests.streams.core.spec import KEEP, History, access, given, policy, retract, say, unmerge

FADING = Decay(field="confidence", rate=0.01, after_days=1, floor=0.05, since="access")
DAY = timedelta(days=1)


def ruled(decay: Decay | None = FADING, **absent: float) -> Policy:
    return policy().model_copy(update={"decay": decay, "absent": Absent(**absent)})


def memory(history: History, name: str = "a") -> Memory:
    return history.ledger.entries[history.id(name)].memory


def test_it_loses_a_share_each_day() -> None:
    assert decayed(0.9, FADING, 7 * DAY) == round(0.9 * 0.99**7, 4) == 0.8389
    assert decayed(0.9, FADING, 36 * timedelta(hours=1)) == round(0.9 * 0.99**1.5, 4)


def test_it_begins_to_fade_after_some_days_and_then_counts_all_of_them() -> None:
    assert decayed(0.9, FADING, DAY - timedelta(seconds=1)) == 0.9
    assert decayed(0.9, FADING, DAY) == 0.891
    assert decayed(0.9, FADING, -DAY) == 0.9


def test_it_fades_to_the_floor_and_never_rises_to_it() -> None:
    assert decayed(0.9, FADING, 3650 * DAY) == 0.05
    assert decayed(0.03, FADING, 3650 * DAY) == 0.03


def test_five_percent_a_month_are_a_rate_per_thirty_days() -> None:
    monthly = Decay(field="importance", rate=0.05, days=30, since="creation")
    assert decayed(0.8, monthly, 60 * DAY) == round(0.8 * 0.95**2, 4)
    assert decayed(0.123456, monthly, 0 * DAY) == 0.123456


def test_the_most_confident_living_member_counts() -> None:
    history = given(
        say("a", "Tea", confidence=0.4),
        say("b", "Mate", {"a": KEEP}, confidence=0.8),
        say("c", "Chai", {"a": KEEP}),
    )
    at = history.now
    assert worth(memory(history), "confidence", ruled(), at) == 0.8
    assert worth(memory(history), "confidence", ruled(confidence=0.9), at) == 0.9
    history.when(retract("b"))
    assert worth(memory(history), "confidence", ruled(), at) == 0.4


def test_who_says_nothing_has_what_the_policy_has_for_it() -> None:
    history = given(say("a", "Tea"))
    assert worth(memory(history), "confidence", ruled(), history.now) is None
    assert worth(memory(history), "importance", ruled(importance=0.5), history.now) == 0.5


def test_the_other_field_does_not_fade() -> None:
    history = given(say("a", "Tea", confidence=0.9, importance=0.7))
    late = memory(history).members[0].decided_at + 7 * DAY
    assert worth(memory(history), "importance", ruled(), late) == 0.7
    assert worth(memory(history), "confidence", ruled(), late) == 0.8389
    assert worth(memory(history), "confidence", ruled(None), late) == 0.9


def test_an_access_and_a_join_restart_it() -> None:
    history = given(say("a", "Tea"), say("x", "Boat"))
    began = memory(history).members[0].decided_at
    assert last_use(memory(history)) == began
    history.when(access("a"))
    used = history.now
    assert last_use(memory(history)) == used > began
    history.when(say("b", "Mate", {"a": KEEP}))
    assert last_use(memory(history)) == history.now > used
    assert uses(memory(history)) == 2
    history.when(unmerge("b"))
    assert (last_use(memory(history)), uses(memory(history))) == (used, 1)
    assert last_use(memory(history, "x")) < used


def test_since_creation_no_use_counts() -> None:
    aging = FADING.model_copy(update={"since": "creation"})
    history = given(say("a", "Tea", confidence=0.9), access("a"))
    began = memory(history).members[0].decided_at
    assert worth(memory(history), "confidence", ruled(aging), began + 7 * DAY) == 0.8389


def test_gathered_uses_are_counted_at_their_time() -> None:
    history = given(say("a", "Tea"), say("b", "Boat"))
    earlier = memory(history).members[0].decided_at + timedelta(milliseconds=10)
    said = Access(
        command_id=history.fresh(),
        owner_id=history.owner_id,
        candidate_id=history.id("a"),
        uses=(
            Use(candidate_id=history.id("a"), count=3, at=earlier),
            Use(candidate_id=history.id("b"), at=earlier + 1000 * DAY),
            Use(candidate_id="unknown", at=earlier),
        ),
    )
    history.when(lambda _: said).then("accessed a").again().then()
    assert (uses(memory(history)), last_use(memory(history))) == (3, earlier)
    assert last_use(memory(history, "b")) == history.ledger.last_time, "never in the future"
    assert history.ledger.uses_recorded == history.ledger.last_time


def test_uses_that_are_told_late_leave_the_last_use_as_it_is() -> None:
    """Another process may tell of an earlier use after a later one was recorded."""
    history = given(say("a", "Tea"), access("a"))
    last = last_use(memory(history))
    early = Use(candidate_id=history.id("a"), at=last - timedelta(milliseconds=10))
    history.when(
        lambda history: Access(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            candidate_id=history.id("a"),
            uses=(early,),
        )
    )
    assert (uses(memory(history)), last_use(memory(history))) == (2, last)


def test_reading_it_again_changes_nothing() -> None:
    history = given(say("a", "Tea", confidence=0.9))
    late = memory(history).members[0].decided_at + 30 * DAY
    found = [worth(memory(history), "confidence", ruled(), late) for _ in range(5)]
    assert found == [0.6657] * 5
