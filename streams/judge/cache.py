"""Verdicts that were paid for, by the hashes of the two texts, the prompt and the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streams.judge.notes import connect, telling


@dataclass(frozen=True, slots=True)
class Key:
    """What an answer is remembered by; `older` and `newer` are hashes in hex.

    Of a composition `newer` is the hash over all sources but the oldest.
    """

    older: str
    newer: str
    prompt: str
    model: str

    @property
    def row(self) -> tuple[bytes, bytes, str, str]:
        """The key as it is stored."""
        return bytes.fromhex(self.older), bytes.fromhex(self.newer), self.prompt, self.model


@dataclass(frozen=True, slots=True)
class Known:
    """An answer that is remembered; `text` only where one was composed."""

    answer: str
    reason: str | None = None
    text: str | None = None


class VerdictCache:
    """A file of answers. It can be deleted at any time: what is needed again is asked again.

    No text of a memory is in it but those that the judge composed, and short reasons.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._connection = connect(file)

    def get(self, key: Key) -> Known | None:
        """What was answered before, if it was."""
        sql = (
            "SELECT answer, reason, text FROM answers"
            " WHERE older = ? AND newer = ? AND prompt = ? AND model = ?"
        )
        with telling(self._file):
            row = self._connection.execute(sql, key.row).fetchone()
        return None if row is None else Known(*row)

    def put(self, key: Key, known: Known) -> None:
        """Remember an answer, at once."""
        sql = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)"
        values = (*key.row, known.answer, known.reason, known.text)
        with telling(self._file):
            self._connection.execute(sql, values)

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()
