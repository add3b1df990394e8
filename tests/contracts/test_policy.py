"""A policy's hash names its rules for ever: later fields, left alone, do not change it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import pytest
from msgspec import structs
from pydantic import ValidationError

from palimpsest import Palimpsest, StoreError
from palimpsest.backends.paths import LOG_FILE
from palimpsest.contracts.errors import NewerError
from palimpsest.contracts.events import PolicySet
from palimpsest.contracts.policy import (
    ADDED,
    CosineCheck,
    Judge,
    PairsDedupe,
    Policy,
    Since,
    TokenCheck,
    recorded_policy,
)
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.core.record import policy_event
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from tests.streams.core.spec import PLAIN

STANDARD = load_policy("standard")


def asking(**rules: Any) -> Policy:
    own = STANDARD.judge.model_dump(include={"frames", "bridges", "of_owner"})
    judge = Judge.model_validate(own | rules)
    return STANDARD.model_copy(update={"judge": judge})


def test_the_hashes_of_the_first_version_stand() -> None:
    """They are in recorded logs; rules that did not exist then change nothing of them."""
    cosine = STANDARD.checks[-1].model_copy(update={"near_identical": None})
    rules = {"exact": None, "checks": (*STANDARD.checks[:-1], cosine), "judge": Judge()}
    first = STANDARD.model_copy(update=rules)
    assert first.hash == "sha256:6095c471dba351ec"
    assert PLAIN.hash == "sha256:794b9720de9f8a1c"


def test_what_is_said_as_it_is_anyway_does_not_count() -> None:
    assert asking(ask="relation", most=500).hash == STANDARD.hash


@pytest.mark.parametrize(
    "rules",
    [
        {"ask": "same"},
        {"model": "another"},
        {"review_model": "another"},
        {"share": 0.4},
        {"most": 10},
        {"neighbours": 1},
        {"unavailable": "reject"},
    ],
)
def test_other_rules_have_another_hash(rules: dict[str, Any]) -> None:
    assert asking(**rules).hash != STANDARD.hash


def test_a_recorded_policy_holds_all_its_rules_and_has_its_hash() -> None:
    recorded = asking(ask="same").model_dump(mode="json")
    assert recorded["judge"]["model"] == STANDARD.judge.model
    assert Policy.model_validate(recorded).hash == asking(ask="same").hash


def test_a_recorded_policy_without_the_later_fields_has_its_hash() -> None:
    policy = asking(frames=0, bridges=False, of_owner=None)
    recorded = policy.model_dump(mode="json")
    later = [n for n, field in Judge.model_fields.items() if ADDED in field.metadata]
    for name in later:
        del recorded["judge"][name]
    assert later
    assert Policy.model_validate(recorded).hash == policy.hash


@pytest.mark.parametrize("lower", [0.9, 0.95])
def test_a_zone_that_is_not_below_the_one_before_it_is_refused(lower: float) -> None:
    zones = [{"at_least": 0.9, "action": "superseded"}, {"at_least": lower, "action": "pending"}]
    with pytest.raises(ValidationError, match="must be below"):
        CosineCheck.model_validate({"check": "cosine", "zones": zones})


def test_thresholds_by_namespace_need_exactly_one_zone() -> None:
    zones = [{"at_least": 0.9, "action": "superseded"}, {"at_least": 0.8, "action": "pending"}]
    for some, fits in ((zones[:1], True), (zones, False)):
        rules = {"check": "cosine", "zones": some, "namespaces": {"plans": 0.7}}
        if fits:
            [zone] = CosineCheck.model_validate(rules).zones_of("plans")
            assert (zone.at_least, zone.action) == (0.7, "superseded")
        else:
            with pytest.raises(ValidationError, match="exactly one zone"):
                CosineCheck.model_validate(rules)


def test_a_threshold_of_a_namespace_may_be_zero_and_is_of_it_alone() -> None:
    rules = {"check": "cosine", "zones": [{"at_least": 0.9, "action": "superseded"}]}
    check = CosineCheck.model_validate(rules | {"namespaces": {"plans": 0.0}})
    assert [zone.at_least for zone in check.zones_of("plans")] == [0.0]
    assert [zone.at_least for zone in check.zones_of("others")] == [0.9]


def test_the_one_nearest_is_enough_unless_a_memory_counts_itself() -> None:
    assert PairsDedupe(rule="pairs", above=0.7, top=1).top == 1
    with pytest.raises(ValidationError, match="must be 2 or more with counts_itself"):
        PairsDedupe(rule="pairs", above=0.7, top=1, counts_itself=True)


def test_each_check_stands_once() -> None:
    recent = {"check": "recent", "seconds": 5}
    rules = STANDARD.model_dump() | {"checks": [recent, recent | {"seconds": 6}]}
    with pytest.raises(ValidationError, match="each check may appear only once"):
        Policy.model_validate(rules)


def test_a_policy_that_is_off_has_no_active_checks_and_compares_no_words() -> None:
    words = TokenCheck(check="tokens", threshold=0.9)
    policy = STANDARD.model_copy(update={"checks": (words,)})
    assert policy.active == (words,)
    assert policy.compares_words
    off = policy.model_copy(update={"enabled": False})
    assert off.active == ()
    assert not off.compares_words
    assert not policy.model_copy(update={"checks": ()}).compares_words


def test_the_description_changes_no_hash_and_the_name_does() -> None:
    assert STANDARD.model_copy(update={"description": "another"}).hash == STANDARD.hash
    assert STANDARD.model_copy(update={"name": "another"}).hash != STANDARD.hash


class Later(Policy):
    """The policies of a next version, with a setting more."""

    foresight: Annotated[int, ADDED, Since("9.2")] = 0
    hindsight: Annotated[int, ADDED, Since("9.10")] = 0


def later(**settings: int) -> PolicySet:
    policy = Later.model_validate(STANDARD.model_dump() | settings)
    return policy_event(policy, str(uuid4()), None, datetime(2026, 1, 1, tzinfo=UTC))


def test_settings_of_a_newer_version_that_are_left_alone_change_nothing() -> None:
    event = later()
    assert event.requires is None
    assert "foresight" in event.data.policy
    assert recorded_policy(event.data) == STANDARD
    assert recorded_policy(event.data).hash == event.data.hash


def test_a_setting_of_a_check_may_be_unknown_at_its_default_and_no_check() -> None:
    event = policy_event(STANDARD, str(uuid4()), None, datetime(2026, 1, 1, tzinfo=UTC))
    *others, cosine = event.data.policy["checks"]
    known = structs.replace(
        event.data, policy=event.data.policy | {"checks": [*others, cosine | {"foresight": 0}]}
    )
    assert recorded_policy(known) == STANDARD
    other = structs.replace(known, hash="another")
    with pytest.raises(NewerError, match=r"\(checks\.\d\.cosine\.foresight\)"):
        recorded_policy(other)
    check = structs.replace(
        known, policy=event.data.policy | {"checks": [*others, cosine, {"check": "foresight"}]}
    )
    with pytest.raises(NewerError, match=r"\(checks\.\d\): upgrade this one$"):
        recorded_policy(check)


def test_a_policy_says_which_version_knows_its_settings() -> None:
    assert later(foresight=1).requires == "9.2"
    assert later(foresight=1, hindsight=1).requires == "9.10"
    with pytest.raises(NewerError, match=r"needs Palimpsest 9\.2 or newer"):
        decode(encode(later(foresight=1)))


def test_a_policy_of_a_newer_version_names_what_to_upgrade(tmp_path: Path) -> None:
    event = policy_event(STANDARD, str(uuid4()), None, datetime(2026, 1, 1, tzinfo=UTC))
    rules = event.data.policy | {"foresight": 1}
    newer = structs.replace(event, data=structs.replace(event.data, policy=rules, hash="another"))
    with Log.create(tmp_path / LOG_FILE) as log, log.transaction():
        log.append([newer])
    with Palimpsest.open(tmp_path) as store, pytest.raises(StoreError) as refused:
        store.status()
    assert str(refused.value) == (
        "the policy 'standard' was recorded by a newer version of Palimpsest, with settings that"
        " this one does not know (foresight): upgrade this one"
    )


def test_a_policy_that_a_newer_version_allows_is_not_taken_for_a_bug() -> None:
    """It has the same check twice, which is found once the unknown setting is left out."""
    event = policy_event(STANDARD, str(uuid4()), None, datetime(2026, 1, 1, tzinfo=UTC))
    *others, cosine = event.data.policy["checks"]
    rules = event.data.policy | {"checks": [*others, cosine, cosine], "foresight": 0}
    with pytest.raises(NewerError, match=r"does not know \(foresight\)"):
        recorded_policy(structs.replace(event.data, policy=rules))
