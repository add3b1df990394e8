"""Logging of long-running processes to standard error; no line contains a memory's text."""

from __future__ import annotations

import copy
import logging
import math
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable
from types import TracebackType

from palimpsest.contracts.errors import PalimpsestError

FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = "aiokafka faust mode asyncio aiohttp anthropic openai httpx2 httpcore2 uvicorn".split()
"""Libraries that log every step, some of them with contents: only their warnings are logged."""
REPEATING = ("aiokafka", "faust", "mode")
"""Libraries that log a line for each attempt to reach a broker: dozens a second."""
AGAIN_SECONDS = 30.0
"""How long a repeated line of such a library is dropped."""

ErrorInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


def loggable(error: BaseException) -> str:
    """An error for the log: ours by its sentence, others often only by their type.

    The message of another error may quote a memory.
    """
    if isinstance(error, PalimpsestError):
        return str(error)
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, OSError) else name


class PrivateFormatter(logging.Formatter):
    """Formats errors by type and traceback; PALIMPSEST_DEBUG=1 shows their messages."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a line; errors among its arguments are made loggable."""
        shown = copy.copy(record)
        shown.exc_text = None
        if isinstance(shown.args, tuple):
            shown.args = tuple(
                loggable(a) if isinstance(a, BaseException) else a for a in shown.args
            )
        if shown.name == "asyncio":  # its other lines show tasks and so their errors
            shown.msg, shown.args = shown.getMessage().partition("\n")[0], ()
        return super().format(shown)

    def formatException(self, ei: ErrorInfo) -> str:  # noqa: N802 - logging's own name
        """The loggable error, after its traceback unless it is one of our errors."""
        kind, error, trace = ei
        if kind is None or error is None:
            return ""
        if isinstance(error, PalimpsestError):
            return f"{kind.__name__}: {error}"
        return "".join(traceback.format_tb(trace)) + loggable(error)


class Once:
    """A filter that drops a library's repeated lines for a while, and counts them.

    Lines that differ only in their values count as repeated. Other loggers are not filtered.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._last_logged: dict[tuple[str, int, str], float] = {}
        self._left_out: Counter[tuple[str, int, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log the record; if so, it gets the number of lines dropped before it."""
        if record.name.partition(".")[0] not in REPEATING:
            return True
        kind, now = (record.name, record.levelno, str(record.msg)), self._now()
        if now < self._last_logged.get(kind, -math.inf) + AGAIN_SECONDS:
            self._left_out[kind] += 1
            return False
        self._last_logged[kind] = now
        if left_out := self._left_out.pop(kind, 0):
            record.msg = f"{record.msg} (and {left_out:,} more like it)"
        return True


def silence_brokers() -> None:
    """Silence the libraries that log how they reach brokers, unless PALIMPSEST_DEBUG is set.

    The command reports failures itself.
    """
    if not os.environ.get("PALIMPSEST_DEBUG"):
        for name in REPEATING:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def log_to_standard_error(level: int = logging.INFO) -> None:
    """Log to standard error, with errors as `loggable` writes them."""
    handler = logging.StreamHandler()
    debug = os.environ.get("PALIMPSEST_DEBUG")
    handler.setFormatter(logging.Formatter(FORM) if debug else PrivateFormatter(FORM))
    if not debug:
        handler.addFilter(Once())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
