"""What may be spent in a day, in calls and in money, and what was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from streams.judge.settings import JudgeSettings


class Budget:
    """Calls and money of a day in UTC, kept in a file: another start, or process, goes on with it."""

    def __init__(self, file: Path, settings: JudgeSettings, clock: Callable[[], datetime]) -> None:
        raise NotImplementedError
