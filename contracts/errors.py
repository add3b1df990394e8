"""Errors, by what to do about them: retry, dead-letter, tell the operator, or stop.

Messages carry owners, ids and positions, never the text of a memory.
"""

from __future__ import annotations

from typing import Literal

InvalidReason = Literal[
    "not_json",
    "not_utf8",
    "not_an_object",
    "unknown_type",
    "field",
    "id_conflict",
    "wrong_partition",
]
"""Why an input is `invalid`; wire values."""


class PalimpsestError(Exception):
    """Base of everything that this system raises on purpose.

    `args` are the constructor's arguments, so that it can be pickled to another process.
    """


class TransientError(PalimpsestError):
    """Retry later: something outside is busy or unavailable."""


class InvalidInputError(PalimpsestError):
    """An input that can never be processed: its bytes go to the dead letters.

    `detail` names the field and what is wrong with it; `index` is its place in the submitted list,
    from 0.
    """

    def __init__(self, reason: InvalidReason, detail: str, index: int | None = None) -> None:
        super().__init__(reason, detail, index)
        self.reason: InvalidReason = reason
        self.detail = detail
        self.index = index

    def __str__(self) -> str:
        what = f"{self.reason}: {self.detail}"
        return what if self.index is None else f"candidate {self.index}: {what}"


class RefusedError(PalimpsestError):
    """An operator's command that was refused; `reason` is a stable word, `detail` a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


def no_such_id(some_id: str | None = None) -> str:
    """The message for an unknown id, or another owner's; HTTP and MCP do not quote the id.

    Nor is one quoted that has a space: it is the text of a memory, passed by mistake.
    """
    quoted = some_id is not None and len(some_id.split()) == 1
    what = f"the id {some_id}" if quoted else "this id"
    return f"nothing here has {what}: lists, histories and decisions show ids"


class StoreError(PalimpsestError):
    """The store is missing, unreadable or damaged: stop, never guess."""


class DiskFullError(StoreError):
    """There is no space for this write; everything before it is intact."""


class NewerError(StoreError):
    """A newer version of Palimpsest wrote this: it is intact, and this process must be upgraded."""


class SearchError(StoreError):
    """A scope cannot be searched: a vector in the log is malformed, or another model's."""


class UsageError(PalimpsestError):
    """A call that makes no sense as written."""


class WrongFileError(PalimpsestError):
    """An input whose first rows are all invalid: it is most likely the wrong file."""


class ModelError(PalimpsestError):
    """A model or an engine cannot be used; the message says what to do about it."""
