"""Errors by what to do about them: retry, dead-letter, tell the operator, or stop.

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
"""Why an input is `invalid`: a wire value."""


class PalimpsestError(Exception):
    """Anything this system raises on purpose.

    Its arguments are those that it was made of, so that another process gets it whole by pickle.
    """


class TransientError(PalimpsestError):
    """Try again later: something outside is busy or away."""


class InvalidInputError(PalimpsestError):
    """An input that can never be processed: it goes to the dead letters with its bytes.

    `detail` names the field and what is wrong with it; `index` is the place in a list that was
    submitted, from 0.
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
    """An operator's command that could not be; `reason` is a stable word, `detail` a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


class StoreError(PalimpsestError):
    """The store is not there, unreadable or damaged: stop, never guess."""


class NewerError(StoreError):
    """A newer version of Palimpsest wrote this: it is intact, and this process must be upgraded."""


class SearchError(StoreError):
    """A scope cannot be searched: a vector in the log is malformed, or another model's."""


class UsageError(PalimpsestError):
    """A call that makes no sense as it was written."""


def missing_extra(what: str, extra: str) -> UsageError:
    """What is wanted (a noun) needs packages that are missing; the sentence names the cure."""
    return UsageError(f"{what} needs the extra: pip install 'palimpsest-memory[{extra}]'")


class WrongFileError(PalimpsestError):
    """An input whose first rows are all wrong: most likely it is not the file that was meant."""


class ModelError(PalimpsestError):
    """A model or an engine cannot be used; the message says what to do about it."""
