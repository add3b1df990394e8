"""A command's output: tables and trees for people, one JSON document for programs.

Only the answer goes to standard output; progress, remarks and errors go to standard error. Texts of
memories are plain text: markup has no effect, and control characters are escaped.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from functools import partial
from math import isfinite
from select import POLLERR, POLLHUP, poll
from threading import Lock, Timer
from typing import IO, TYPE_CHECKING, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Progress as ProgressBar
    from rich.progress import TaskID

PATIENCE = 1.0
"""Seconds after which a command that still runs shows its progress."""
WIDE = 160
"""The maximum width of a table's cell in columns; longer text wraps."""
UNBROKEN = 1 << 20
"""The width for a file or another program, so that no line wraps."""
_JOINERS = "\u200c\u200d"
"""Format characters that scripts and emoji need; they only join or separate their neighbours."""

Progress = Callable[[str, float | None], None]
"""Receives a description of the work, and the share that is done (0-1; None if unknown)."""


class Output:
    """Prints a command's answer, remarks and progress; `as_json` for programs."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._out = _console(stderr=False)
        self._err = _console(stderr=True)
        self._bar: _Bar | None = None

    @property
    def asks(self) -> bool:
        """Whether a person can be asked: standard input and error are terminals; no `--json`."""
        return (
            not self.as_json and self._err.is_terminal and typer.get_text_stream("stdin").isatty()
        )

    def answer(self, document: Any, drawn: Callable[[], RenderableType]) -> None:
        """Print the answer: the document as JSON, or drawn."""
        self._end_progress()
        if self.as_json:
            print_json(document)
        else:
            self._out.print(drawn())

    def stream(self, rows: Iterable[Any], drawn: Callable[[Any], RenderableType]) -> None:
        """Print an answer row by row: one JSON document per line, or each row drawn."""
        for row in rows:
            self.answer(row, partial(drawn, row))
            if _left:
                return

    def remark(self, text: str) -> None:
        """Print a remark to standard error."""
        self._end_progress()
        self._err.print(Text(text))

    def show(self, drawn: RenderableType) -> None:
        """Print something drawn to standard error, such as what a person must confirm."""
        self._end_progress()
        self._err.print(drawn)

    def problem(self, text: str) -> None:
        """Print an error."""
        self._end_progress()
        self._err.print(Text.assemble(("error: ", "bold red"), text))

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Report progress to a bar on the terminal, which appears after the first second.

        A command has one bar; any other output ends it.
        """
        if self._bar is not None or not self._err.is_terminal:
            yield _ignore if self._bar is None else self._bar.report
            return
        self._bar = _Bar(self._err)
        try:
            yield self._bar.report
        finally:
            self._end_progress()
            self._bar = None

    def _end_progress(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Bar:
    """A progress bar that appears if the command takes long enough."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._latest: tuple[str, float | None] = ("working", None)
        self._progress: ProgressBar | None = None
        self._task: TaskID | None = None
        self._closed = False
        self._lock = Lock()
        self._timer = Timer(PATIENCE, self._appear)
        self._timer.daemon = True
        self._timer.start()

    def report(self, what: str, share: float | None) -> None:
        """Show the current work."""
        with self._lock:
            self._latest = what, share
            self._draw()

    def _appear(self) -> None:
        with self._lock:
            if not self._closed:
                self._progress = _start_bar(self._console)
                self._task = self._progress.add_task(self._latest[0], total=None)
                self._draw()

    def _draw(self) -> None:
        if self._progress is not None and self._task is not None:
            what, share = self._latest
            total = None if share is None else 1.0
            self._progress.update(self._task, description=what, total=total, completed=share or 0.0)

    def close(self) -> None:
        """Remove the bar for good."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._progress is not None:
                self._progress.stop()
                self._progress = None


def _start_bar(console: Console) -> ProgressBar:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as ProgressBar

    what = TextColumn("{task.description}", markup=False)
    progress = ProgressBar(what, BarColumn(), TimeElapsedColumn(), console=console, transient=True)
    progress.start()
    return progress


def _ignore(_what: str, _share: float | None) -> None:
    """Ignore progress, as there is no terminal."""


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = UNBROKEN
    return console


def print_json(document: Any) -> None:
    """Write one JSON document and a line feed to standard output, in UTF-8."""
    line = one_line(json.dumps(plain(document), ensure_ascii=False).encode())
    out = typer.get_binary_stream("stdout")
    try:
        out.write(line + b"\n")
        out.flush()
    except BrokenPipeError:
        drop(out)


_left: set[int] = set()
"""The descriptors of streams whose readers, such as `head`, have ended."""


def drop(stream: IO[Any]) -> None:
    """Discard everything written to a stream from now on, because its reader has closed the pipe.

    That is no failure: the command ends as it would have, with its own status.
    """
    _left.add(stream.fileno())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def reader_has_left(stream: IO[Any]) -> bool:
    """Whether a stream is a pipe that nobody reads any more."""
    asked = poll()
    asked.register(stream.fileno(), 0)
    return any(event & (POLLERR | POLLHUP) for _, event in asked.poll(0))


def outlast_readers() -> None:
    """Make Rich call `drop` if a reader has ended, for help pages too; it would exit with 1."""
    Console.on_broken_pipe = lambda console: drop(console.file)  # type: ignore[method-assign, assignment]


def one_line(document: bytes) -> bytes:
    """JSON with U+2028 and U+2029 escaped: some readers end a line there."""
    return document.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")


def plain(value: Any, *, infinite: bool = False) -> Any:
    """A value for JSON: times in ISO 8601, bytes in hex, any other type as text.

    NaN and infinite numbers become null, or with `infinite` their names.
    """
    inside = partial(plain, infinite=infinite)
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else _NAMES[str(value)] if infinite else None
        case Decimal():
            return inside(float(value))
        case datetime() | date() | time_of_day():
            return value.isoformat()
        case bytes():
            return value.hex()
        case dict():
            return {str(key): inside(inner) for key, inner in value.items()}
        case list() | tuple():
            return [inside(inner) for inner in value]
        case _:
            return str(value)


_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def dollars(usd: float | None) -> str:
    """A cost as text; None means that some model that was asked has no known price."""
    return "price unknown" if usd is None else f"${usd:.4f}"


def visible(text: str) -> str:
    """A text on one line, with control and format characters escaped."""
    return "".join(
        c.encode("unicode_escape").decode("ascii") if is_invisible(c) else c for c in text
    )


def is_invisible(character: str) -> bool:
    """Whether it is a control or format character, other than those that scripts need."""
    return unicodedata.category(character) in _INVISIBLE and character not in _JOINERS


_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
