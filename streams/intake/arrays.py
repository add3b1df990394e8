"""Reads a JSON array element by element, because an export may not fit into memory."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from palimpsest.streams.intake.rows import MAX_KEPT_BYTES, MAX_ROW_BYTES

if TYPE_CHECKING:
    from typing_extensions import Buffer

_CHUNK = 256 * 1024
_SPACE = re.compile(r"[ \t\r\n]*")
_ELEMENT = json.JSONDecoder()
_SIGN = re.compile(r'\\.?|["\[\]{}]', re.DOTALL)
"""A quote, a bracket, or a backslash and what it escapes, which may be in the next piece."""
_CLOSING = {"[": "]", "{": "}"}
_MARK = "\ufeff"


def begins_array(start: bytes) -> bool:
    """Whether a file begins like a JSON array."""
    return start.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")


def array_rows(
    file: io.BufferedReader, lines: Callable[[io.BufferedReader], Iterator[bytes]]
) -> Iterator[bytes]:
    """The elements of an array with their own bytes; what follows it is read by `lines`."""
    text = _ArrayText(file)
    text.skip(_MARK)
    text.skip("[")
    while text.next_character() != "]":
        element = text.element()
        if element is None:
            break
        yield element
        if text.next_character() == ",":
            text.skip(",")
        elif text.next_character() != "]":
            break
    text.skip("]")
    yield from lines(io.BufferedReader(_Prefixed(text.rest(), file), _CHUNK))


class _ArrayText:
    """A file as text, read on demand; invalid bytes are preserved."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text = ""
        self._at = 0
        self._ended = False

    def _more(self) -> bool:
        """Read on; False at the end."""
        if self._ended:
            return False
        read = self._file.read1(_CHUNK)
        self._ended = not read
        self._text = self._text[self._at :] + self._decoder.decode(read, final=self._ended)
        self._at = 0
        return True

    def next_character(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def skip(self, character: str) -> None:
        """Skip the next character if it is this one."""
        if self.next_character() == character:
            self._at += 1

    def element(self) -> bytes | None:
        """The bytes of the value that begins here, even if it is wrong; None if it has no end."""
        while True:
            try:
                _, end = _ELEMENT.raw_decode(self._text, self._at)
            except (json.JSONDecodeError, RecursionError):
                if len(self._text) - self._at <= MAX_ROW_BYTES and self._more():
                    continue
                return self._closed_element()
            if self._is_over(end) or not self._more():
                return self._taken(end)

    def _closed_element(self) -> bytes | None:
        """The bytes from the bracket that begins here to the one that closes it.

        If they are too many and in one line, only the first of them. None if there is no bracket
        here, if nothing closes it, or if too many bytes are in several lines.
        """
        if self._text[self._at : self._at + 1] not in ("[", "{"):
            return None
        value, length = _OpenValue(), 0
        while True:
            try:
                end = value.read(self._text, self._at + length, len(self._text))
            except ValueError:
                return None
            if end is not None:
                return self._taken(end)[:MAX_KEPT_BYTES]
            length = len(self._text) - self._at
            if length > MAX_KEPT_BYTES:
                break
            if not self._more():
                return None
        if "\n" in self._text[self._at :]:
            return None
        kept = self._taken(len(self._text))[:MAX_KEPT_BYTES]
        self._pass_over(value)
        return kept

    def _pass_over(self, value: _OpenValue) -> None:
        """Skip the rest of a value, or of its line; stop before text with a wrong bracket."""
        while self._more():
            line_end = self._text.find("\n")
            until = len(self._text) if line_end < 0 else line_end
            try:
                end = value.read(self._text, 0, until)
            except ValueError:
                return
            self._at = until if end is None else end
            if end is not None or line_end >= 0:
                return

    def _taken(self, end: int) -> bytes:
        element = self._text[self._at : end]
        self._at = end
        return element.encode("utf-8", "surrogateescape")

    def _is_over(self, end: int) -> bool:
        """Whether a value is complete, which depends on what follows it: a number may continue.

        That can take two more characters after `1`, as in `1.5`, or three, as in `1e+5`.
        """
        after = self._text[end : end + 3]
        return bool(after) and (len(after) == 3 or after[0] not in ".eE")

    def rest(self) -> bytes:
        """The bytes that were read but not used."""
        left = self._text[self._at :].encode("utf-8", "surrogateescape")
        return left + self._decoder.getstate()[0]


class _OpenValue:
    """A value that begins with a bracket, read in pieces until that bracket is closed."""

    def __init__(self) -> None:
        self._closing: list[str] = []
        self._in_string = False
        self._escapes = False

    def read(self, text: str, start: int, until: int) -> int | None:
        """The position after the closing bracket; None if it is not in this piece of the text.

        Raises ValueError at a bracket that closes nothing.
        """
        if start == until:
            return None
        start += self._escapes
        self._escapes = False
        for found in _SIGN.finditer(text, start, until):
            sign = found[0]
            if sign == "\\":
                self._escapes = True
            elif sign == '"':
                self._in_string = not self._in_string
            elif not self._in_string and sign in _CLOSING:
                self._closing.append(_CLOSING[sign])
            elif not self._in_string and sign in ("]", "}"):
                if self._closing.pop() != sign:
                    raise ValueError("wrong bracket")
                if not self._closing:
                    return found.end()
        return None


class _Prefixed(io.RawIOBase):
    """Some bytes, followed by a file."""

    def __init__(self, first: bytes, file: io.BufferedReader) -> None:
        self._first = first
        self._file = file

    def readable(self) -> bool:
        """Always true: the stream is for reading."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read the available bytes, up to the buffer's length."""
        if not self._first:
            return self._file.readinto1(buffer)
        into = memoryview(buffer)
        count = min(len(into), len(self._first))
        into[:count] = self._first[:count]
        self._first = self._first[count:]
        return count
