"""An agent's host reports on a conversation; what its session recalls afterwards."""

from __future__ import annotations

from tests.palimpsest.cli.conftest import CommandLine, Row


def recalled(palimpsest: CommandLine, *more: str) -> list[str]:
    found = palimpsest.json("recall", "ada", "ferry", "-k", "9", *more)
    return sorted(memory["face"] for memory in found)


def test_a_session_hears_its_own_words_again_after_a_compaction(
    palimpsest: CommandLine, row: Row
) -> None:
    palimpsest.ingest(
        row("The ferry is old", session_id="first"), row("The ferry is slow", session_id="now")
    )
    assert recalled(palimpsest) == ["The ferry is old", "The ferry is slow"]
    assert recalled(palimpsest, "--session", "now") == ["The ferry is old"]
    assert palimpsest.json("session", "compacted", "now") == {"session_id": "now"}
    assert recalled(palimpsest, "--session", "now") == ["The ferry is old", "The ferry is slow"]
    assert recalled(palimpsest, "--session", "now", "--as-of", "3") == ["The ferry is old"]


def test_a_session_without_an_id_has_the_hash_of_its_first_messages_time(
    palimpsest: CommandLine, row: Row
) -> None:
    palimpsest.ingest(row("The ferry is slow", session_began_at="2026-03-01T12:00:00Z"))
    named = palimpsest.json("session", "id", "2026-03-01T13:00:00+01:00")["session_id"]
    assert recalled(palimpsest, "--session", named) == []
    palimpsest.json("session", "end", named)


def test_whose_session_must_be_known(palimpsest: CommandLine, row: Row) -> None:
    palimpsest.ingest(row("a", session_id="s"), row("b", owner="ben", session_id="s"))
    assert "--owner" in palimpsest("session", "compacted", "s").err
    assert "--owner" in palimpsest("session", "end", "nobody's").err
    palimpsest.json("session", "compacted", "s", "--owner", "ben")
