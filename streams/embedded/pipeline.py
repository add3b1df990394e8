"""Rows in, outcomes out: reading, embedding and deciding overlap (docs/design.md, Embedding)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

from palimpsest.streams.write.inputs import Input, Outcome, by_submission
from palimpsest.streams.write.windows import WINDOW_BYTES, Window
from palimpsest.streams.write.writer import Writer

WINDOW = 512
"""Maximum inputs per window: enough to sort texts by length, so few that a crash loses little."""
AHEAD = 2
"""Windows that are embedded ahead, while one is decided on."""
PATIENCE = 0.05
"""Seconds that a window waits for more rows before it continues with those it has."""


class _End:
    """The end of the input, with the reader's error, if it failed."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class ReadAhead:
    """Inputs read on a thread of their own, so that a slow producer never blocks decisions."""

    def __init__(self, inputs: Iterable[Input]) -> None:
        self._read_ahead: deque[Input | _End] = deque()
        self._arrived = threading.Event()
        self._room = threading.Event()
        self._stop = threading.Event()
        self._end: _End | None = None
        self._thread = threading.Thread(target=self._read, args=(inputs,), daemon=True)
        self._thread.start()

    def _read(self, inputs: Iterable[Input]) -> None:
        end = _End(None)
        try:
            for item in inputs:
                self._put(item)
                if self._stop.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - raised where the rows are used
            end = _End(error)
        self._put(end)

    def _put(self, item: Input | _End) -> None:
        """Queue an item. Wake only a waiting reader: a thread switch costs as much as five rows."""
        while len(self._read_ahead) >= WINDOW * 2 and not self._stop.is_set():
            self._room.clear()
            if len(self._read_ahead) >= WINDOW * 2:
                self._room.wait(PATIENCE)
        self._read_ahead.append(item)
        if not self._arrived.is_set():
            self._arrived.set()

    def next_window(self) -> list[Input]:
        """The available inputs, up to a window; fewer, or none, if the reader pauses."""
        window: list[Input] = []
        size = 0
        while len(window) < WINDOW and size < WINDOW_BYTES and self._end is None:
            if self._read_ahead:
                item = self._read_ahead.popleft()
                if isinstance(item, _End):
                    self._end = item
                else:
                    window.append(item)
                    size += len(item.row.raw)
            elif not self._has_more():
                break
        self._room.set()
        return window

    def _has_more(self) -> bool:
        self._arrived.clear()
        return bool(self._read_ahead) or self._arrived.wait(PATIENCE)

    @property
    def ended(self) -> bool:
        """Whether everything was returned; raises the reader's error, if it failed."""
        if self._end is not None and self._end.error is not None:
            raise self._end.error
        return self._end is not None

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()


def run(
    writer: Writer, rows: ReadAhead, between: Callable[[], object]
) -> Iterator[Sequence[Outcome]]:
    """Outcomes window by window, in the order of the rows; after each, `between` serves others.

    While a window is decided on, the next ones are embedded. Raises the reader's error, if any.
    """
    opened: deque[Window] = deque()
    try:
        while True:
            window = rows.next_window()
            if window:
                opened.append(writer.open_window(window))
            if opened and (len(opened) > AHEAD or not window):
                yield writer.close_window(opened.popleft())
                between()
            elif not window:
                between()
                if rows.ended:
                    return
    finally:
        for left in opened:
            writer.forget_window(left)


def decide_all(writer: Writer, inputs: Sequence[Input]) -> list[Outcome]:
    """The outcomes of a few inputs, without a reader's thread."""
    outcomes: list[Outcome] = []
    for window in windows_of(inputs):
        outcomes += writer.close_window(writer.open_window(window, ahead=False))
    return outcomes


def windows_of(inputs: Sequence[Input]) -> Iterator[Sequence[Input]]:
    """Inputs in order as windows; a submission is within one, because it is one commit."""
    window: list[Input] = []
    for submission, some in by_submission(inputs):
        for part in [[item] for item in some] if submission is None else [some]:
            if window and len(window) + len(part) > WINDOW:
                yield window
                window = []
            window += part
    if window:
        yield window
