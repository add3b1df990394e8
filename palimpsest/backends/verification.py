"""The last result of `verify`, kept in the store's folder and shown by `status`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

import orjson

from palimpsest.projections.base.files import replace_json

VERIFIED_FILE = "verified.json"
_log = logging.getLogger(__name__)


class Verification(TypedDict):
    """The result at the log's head `position`; `damage` is why the log could not be compared."""

    at: str
    position: int
    differences: int
    checked: int
    damage: str | None


def keep_verification(
    folder: Path, at: datetime, position: int, outcome: Mapping[str, Any] | str
) -> None:
    """Save the result: the counts of a comparison, or the damage to the log.

    If the file cannot be written, a warning says so; that does not change the result.
    """
    counts = {"differences": 0, "checked": 0} if isinstance(outcome, str) else outcome
    verification = Verification(
        at=at.isoformat(timespec="seconds"),
        position=position,
        differences=counts["differences"],
        checked=counts["checked"],
        damage=outcome if isinstance(outcome, str) else None,
    )
    file = folder / VERIFIED_FILE
    try:
        replace_json(file, verification)
    except OSError as error:
        _log.warning("%s cannot be written: %s; status will not show this", file, error.strerror)


def last_verification(folder: Path) -> Verification | None:
    """The last result; None if `verify` has not run, or its record cannot be read."""
    try:
        verification: Verification = orjson.loads((folder / VERIFIED_FILE).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return verification
