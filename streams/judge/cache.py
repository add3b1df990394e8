"""Verdicts that were paid for, by the hashes of the two texts, the prompt and the model."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from palimpsest.streams.judge.cost import NOTHING, Cost
from palimpsest.streams.judge.notes import connect, telling


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

    No text of a memory is in it but those that the judge composed, and short reasons. What a dry
    run paid for is *owed*: its cost belongs to the first verdict that is recorded.
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

    def owe(self, key: Key, cost: Cost) -> None:
        """Note what an answer cost that nobody records yet."""
        sql = "INSERT OR REPLACE INTO owed VALUES (?, ?, ?, ?, ?)"
        with telling(self._file):
            self._connection.execute(sql, (*key.row, json.dumps(asdict(cost))))

    def claim(self, key: Key) -> Cost:
        """What an answer cost that nobody has recorded yet: whoever claims it records it."""
        one = " FROM owed WHERE older = ? AND newer = ? AND prompt = ? AND model = ?"
        with telling(self._file):
            if self._connection.execute("SELECT 1" + one, key.row).fetchone() is None:
                return NOTHING
            row = self._connection.execute(f"DELETE{one} RETURNING cost", key.row).fetchone()
        return NOTHING if row is None else Cost(**json.loads(row[0]))

    def put(self, key: Key, known: Known) -> None:
        """Remember an answer, at once."""
        sql = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)"
        values = (*key.row, known.answer, known.reason, known.text)
        with telling(self._file):
            self._connection.execute(sql, values)

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()
