"""A conversation is remembered message by message, with the message that each memory came from."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest import InvalidInputError, Palimpsest, UsageError

PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
SAID: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind"},
    {"role": "user", "content": "Ada has a dog", "at": "2026-03-01T12:00:00Z"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
    {"role": "assistant", "content": [PICTURE, {"type": "text", "text": "What a dog"}], "id": "m4"},
    {"role": "user", "content": "  "},
    {"role": "user", "content": [PICTURE]},
]


def test_each_message_is_kept_with_where_it_came_from(memories: Palimpsest) -> None:
    outcomes = memories.add(SAID, "ada", infer=False, session_id="s", namespace="chat")
    assert [outcome.decision for outcome in outcomes] == ["stored", "stored"]
    answer, said = memories.list("ada", namespace="chat")["memories"]
    assert (said["face"], said["metadata"]) == ("Ada has a dog", {"message": 2, "role": "user"})
    assert said["occurred_at"] == "2026-03-01T12:00:00+00:00"
    assert answer["face"] == "What a dog"
    assert answer["metadata"] == {"message": "m4", "role": "assistant"}
    [wording] = said["members"]
    assert (wording["session_id"], wording["source"]) == ("s", "conversation")


def test_a_text_alone_is_a_message(memories: Palimpsest) -> None:
    [one] = memories.add("Ada has a dog", "ada", infer=False)
    [again] = memories.agent("ada").add({"content": "Ada has a dog"}, infer=False)
    assert (one.decision, again.decision) == ("stored", "hash_exact")
    assert memories.add([], "ada", infer=False) == []


@pytest.mark.parametrize("content", [5, {"text": "Ada has a cat"}, True])
def test_a_content_of_another_type_is_refused_as_over_http(
    memories: Palimpsest, content: object
) -> None:
    with pytest.raises(UsageError, match="message 2: its `content` must be a text"):
        memories.add([{"content": "Ada has a dog"}, {"content": content}], "ada", infer=False)
    assert memories.list("ada")["total"] == 0
    [one] = memories.add({"content": ({"type": "text", "text": "A dog"},)}, "ada", infer=False)
    assert one.decision == "stored"


def test_find_wants_words_and_a_way_as_over_http(memories: Palimpsest) -> None:
    memories.add("Ada has a dog", "ada", infer=False)
    with pytest.raises(UsageError, match="`query` is blank"):
        memories.find("ada", " ")
    with pytest.raises(UsageError, match=r"`by` .* at least 1 item"):
        memories.find("ada", "dog", by=[])


@pytest.mark.parametrize("wrong", [{"content": "x" * 40_000}, {"content": "y", "at": "soon"}])
def test_all_messages_are_stored_or_none(memories: Palimpsest, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        memories.add([*SAID, wrong], "ada", infer=False)
    assert memories.list("ada")["total"] == 0


@pytest.mark.parametrize("name", ["at", "timestamp"])
@pytest.mark.parametrize("infer", [False, True])
def test_a_wrong_time_is_told_under_its_own_name(
    memories: Palimpsest, name: str, *, infer: bool
) -> None:
    said: list[dict[str, Any]] = [{"content": None}, {"content": "Ada", name: "yesterday"}]
    with pytest.raises(InvalidInputError, match=f"message 2: `{name}` must be an ISO 8601 time"):
        memories.add(said, "ada", infer=infer)


def test_without_a_key_it_is_said_how_to_do_without(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(UsageError, match=r"needs a key .* or store the messages as they are"):
        memories.add("Ada has a dog", "ada")
