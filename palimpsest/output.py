"""What a command says: tables and trees for people, one JSON document for programs.

Standard output has the answer alone; progress, remarks and errors go to standard error. Texts of
memories are only text: nothing in them is markup, and what would steer a terminal is made visible.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from functools import partial
from math import isfinite
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds after which a command that still runs shows its progress."""
WIDE = 160
"""Columns of a table's cell, at most: beyond them its text goes on below."""
UNBROKEN = 1 << 20
"""Columns of a file or another program: no line of text is broken there."""
_JOINERS = "\u200c\u200d"
"""Format characters that scripts and emoji need, and that only join or part what is beside them."""

Tell = Callable[[str, float | None], None]
"""Told what is being done, and which share of it is done (0-1; None where that is not known)."""


class Output:
    """Where a command's answer, remarks and progress go; `as_json` for programs."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._out = _console(stderr=False)
        self._err = _console(stderr=True)
        self._bar: _Bar | None = None

    @property
    def asks(self) -> bool:
        """Whether there is a person to ask: a terminal on both sides, and no JSON wanted."""
        return (
            not self.as_json and self._err.is_terminal and typer.get_text_stream("stdin").isatty()
        )

    def answer(self, document: Any, drawn: Callable[[], RenderableType]) -> None:
        """Print the answer: the document as JSON, or what is drawn of it."""
        self._end_progress()
        if self.as_json:
            write_json(document)
        else:
            self._out.print(drawn())

    def stream(self, rows: Iterable[Any], drawn: Callable[[Any], RenderableType]) -> None:
        """Print an answer of many parts: JSON one a line, or each as it is drawn."""
        for row in rows:
            self.answer(row, partial(drawn, row))

    def remark(self, text: str) -> None:
        """Say something beside the answer."""
        self._end_progress()
        self._err.print(Text(text))

    def show(self, drawn: RenderableType) -> None:
        """Draw something beside the answer, such as what a person is asked about."""
        self._end_progress()
        self._err.print(drawn)

    def problem(self, text: str) -> None:
        """Say what went wrong."""
        self._end_progress()
        self._err.print(Text.assemble(("error: ", "bold red"), text))

    @contextmanager
    def progress(self) -> Iterator[Tell]:
        """Give what is told of long work to a bar on the terminal, after the first second.

        One bar serves a whole command; whatever else is printed ends it.
        """
        if self._bar is not None or not self._err.is_terminal:
            yield _silent if self._bar is None else self._bar.tell
            return
        self._bar = _Bar(self._err)
        try:
            yield self._bar.tell
        finally:
            self._end_progress()
            self._bar = None

    def _end_progress(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Bar:
    """A progress bar that appears by itself when there is something to wait for."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told: tuple[str, float | None] = ("working", None)
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._closed = False
        self._lock = Lock()
        self._timer = Timer(PATIENCE, self._appear)
        self._timer.daemon = True
        self._timer.start()

    def tell(self, what: str, share: float | None) -> None:
        """Show what is being done."""
        with self._lock:
            self._told = what, share
            self._draw()

    def _appear(self) -> None:
        with self._lock:
            if not self._closed:
                self._progress = _started(self._console)
                self._task = self._progress.add_task(self._told[0], total=None)
                self._draw()

    def _draw(self) -> None:
        if self._progress is not None and self._task is not None:
            what, share = self._told
            total = None if share is None else 1.0
            self._progress.update(self._task, description=what, total=total, completed=share or 0.0)

    def close(self) -> None:
        """Take the bar away for good."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._progress is not None:
                self._progress.stop()
                self._progress = None


def _started(console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    what = TextColumn("{task.description}", markup=False)
    progress = Progress(what, BarColumn(), TimeElapsedColumn(), console=console, transient=True)
    progress.start()
    return progress


def _silent(_what: str, _share: float | None) -> None:
    """Nobody watches."""


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = UNBROKEN
    return console


def write_json(document: Any) -> None:
    """Write one JSON document and a line feed to standard output, in UTF-8."""
    line = json.dumps(plain(document), ensure_ascii=False) + "\n"
    out = typer.get_binary_stream("stdout")
    out.write(line.encode())
    out.flush()


def plain(value: Any) -> Any:
    """A value as JSON knows it: times in ISO 8601, NaN as null, bytes in hex, else as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else None
        case Decimal():
            return plain(float(value))
        case datetime() | date() | time_of_day():
            return value.isoformat()
        case bytes():
            return value.hex()
        case dict():
            return {str(key): plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case _:
            return str(value)


def visible(text: str) -> str:
    """A text in one line of what can be seen: control and format characters as their escapes."""
    return "".join(
        _escaped(c) if unicodedata.category(c) in _UNSEEN and c not in _JOINERS else c for c in text
    )


_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
