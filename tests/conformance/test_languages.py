"""A user's language in both runtimes: recorded with the policy, and known to whoever decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from palimpsest.contracts.events import Decided, PolicySet
from palimpsest.contracts.requests import PolicyRequest
from palimpsest.streams.guard import guard_hash, tables_of
from palimpsest.streams.policies import load_policy
from palimpsest.streams.policies.languages import load_language
from tests.conformance.runtime import Runtime
from tests.conformance.test_conformance import events, folded, fresh, row

DUTCH = load_language(Path(__file__).parents[2] / "examples" / "languages" / "nl.toml")
TEXTS = (
    "Ada heeft drie honden en een kat.",
    "Ada heeft 3 honden en een kat.",
    "Ada heeft vier honden en een kat.",
)
"""The first two say the same, in Dutch alone."""
OWNERS = ("ada", "ben", "cleo", "dora")
"""In both partitions of a cluster."""


def rules(*, dutch: bool) -> dict[str, Any]:
    """`standard`, which joins what the guard lets pass from .7 on, with the language or without."""
    dumped = load_policy("standard").model_dump(mode="json")
    [cosine] = (check for check in dumped["checks"] if check["check"] == "cosine")
    cosine["zones"] = [{"at_least": 0.7, "action": "auto_reject", "guard": True}]
    dumped["languages"] = [DUTCH.model_dump(mode="json")] if dutch else []
    return dumped


def say_all(runtime: Runtime, owner: str) -> list[str]:
    """What becomes of the texts of an owner, the memories counted by their members."""
    told = runtime.submit([row(text, number, owner) for number, text in enumerate(TEXTS)])
    assert runtime.memories(owner) == folded(runtime, owner)
    return [outcome["decision"] for outcome in told]


def test_a_language_is_known_from_the_policy_that_has_it_on(runtime: Runtime) -> None:
    """No process that decides has its file: one that takes over reads the words in the log."""
    runtime.ask(PolicyRequest(request_id=fresh(), policy=rules(dutch=False)))
    assert "auto_reject" not in say_all(runtime, "eve")
    runtime.ask(PolicyRequest(request_id=fresh(), policy=rules(dutch=True)))
    half = len(OWNERS) // 2
    for owner in OWNERS[:half]:
        assert say_all(runtime, owner)[1:] == ["auto_reject", "pending"]
    runtime.restart()
    for owner in OWNERS[half:]:
        assert say_all(runtime, owner)[1:] == ["auto_reject", "pending"]
        assert sorted(memory["members"] for memory in runtime.memories(owner)) == [1, 2]

    recorded = events(runtime)
    dutch = {
        event.data.hash
        for event in recorded
        if isinstance(event, PolicySet)
        and event.data.policy.get("languages") == [DUTCH.model_dump(mode="json")]
    }
    joins = [
        event
        for event in recorded
        if isinstance(event, Decided) and event.data.decision == "auto_reject"
    ]
    assert {event.owner_id for event in joins} == {*OWNERS}
    assert {event.data.evidence.policy for event in joins} == dutch
    guard = guard_hash(tables_of((DUTCH,)))
    assert {event.data.evidence.guard for event in joins} == {guard}
