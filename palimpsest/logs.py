"""What a process that runs for long writes to standard error: no line quotes a memory."""

from __future__ import annotations

import copy
import logging
import os
import traceback
from types import TracebackType

from contracts.errors import PalimpsestError

FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = ("aiokafka", "faust", "mode", "asyncio", "aiohttp", "anthropic", "httpx2", "httpcore2")
"""Libraries that tell every step they take, some with what they send: warnings are enough."""
SPEAKING = (PalimpsestError, OSError)
"""Errors whose messages are sentences without a text in them."""

ErrorInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


def told(error: BaseException) -> str:
    """An error as it may be logged: most tell what they are alone, as they may quote a memory."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, SPEAKING) else name


class PrivateFormatter(logging.Formatter):
    """Errors by their type and place; PALIMPSEST_DEBUG=1 shows what they say."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line; of an error that is among its arguments, what may be told."""
        said = copy.copy(record)
        said.exc_text = None
        if isinstance(said.args, tuple):
            said.args = tuple(told(a) if isinstance(a, BaseException) else a for a in said.args)
        if said.name == "asyncio":  # its further lines show tasks, and with them their errors
            said.msg, said.args = said.getMessage().partition("\n")[0], ()
        return super().format(said)

    def formatException(self, ei: ErrorInfo) -> str:  # noqa: N802 - logging's own name
        """The way to where it was raised, and what may be told of it."""
        kind, error, trace = ei
        if kind is None or error is None:
            return ""
        return "".join(traceback.format_tb(trace)) + told(error)


def log_to_standard_error(level: int = logging.INFO) -> None:
    """Have everything that this process logs go to standard error, errors without their texts."""
    handler = logging.StreamHandler()
    debug = os.environ.get("PALIMPSEST_DEBUG")
    handler.setFormatter(logging.Formatter(FORM) if debug else PrivateFormatter(FORM))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
