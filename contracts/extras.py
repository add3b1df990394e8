"""Reports a missing extra, with the line that installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from palimpsest.contracts.errors import UsageError


class MissingExtraError(UsageError, ImportError):
    """A package is missing that an extra installs; `except ImportError` catches it, too."""


def missing_extra(what: str, extra: str) -> MissingExtraError:
    """An error saying that `what` (a noun) needs an extra, and how to install it."""
    return MissingExtraError(extra_message(what, extra))


def extra_message(what: str, extra: str) -> str:
    """The message for a missing extra, with the line that installs it."""
    return f"{what} needs the extra {extra}: pip install 'palimpsest-memory[{extra}]'"


@contextmanager
def require_extra(what: str, extra: str) -> Iterator[None]:
    """Report an import that fails in the body as a missing extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra(what, extra) from error
