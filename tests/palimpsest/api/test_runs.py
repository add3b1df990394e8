"""What a batch run leaves in the log of the process that carries it out."""

from __future__ import annotations

import pytest

from palimpsest import Palimpsest
from palimpsest.streams.policies import load_policy
from tests.designs.test_importance import window


def test_what_a_person_should_look_at_is_logged_too(
    memories: Palimpsest, caplog: pytest.LogCaptureFixture
) -> None:
    memories.set_policy(load_policy("importance"))
    memories.submit([{"owner_id": "ada", "text": window(start)} for start in range(3)])
    [told] = memories.dedupe(force=True)["runs"]
    assert told["warnings"] == ["67% of the memories were absorbed: the threshold may be too low"]
    assert f"dedupe of owner 'ada': {told['warnings'][0]}" in caplog.messages


def test_an_owner_cannot_write_to_the_terminal_by_the_log(
    memories: Palimpsest, caplog: pytest.LogCaptureFixture
) -> None:
    memories.set_policy(load_policy("importance"))
    owner = "ada\x1b[2J\u202e"
    memories.submit([{"owner_id": owner, "text": window(start)} for start in range(3)])
    assert memories.dedupe(force=True)["runs"][0]["warnings"]
    [logged] = [message for message in caplog.messages if "of owner" in message]
    assert r"of owner 'ada\x1b[2J\u202e': " in logged
    assert logged.isprintable()
