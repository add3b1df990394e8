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
_SIGN = re.compile(r'\\.|["\[\]{}]', re.DOTALL)
"""A quote, a bracket, or what a backslash escapes."""
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
    yield from lines(io.BufferedReader(_Behind(text.rest(), file), _CHUNK))


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
        """The bytes up to the bracket that closes the one which begins here.

        Of a line with too many, the first of them, up to that bracket or the line's end. None if
        the value does not begin with a bracket, or has no end.
        """
        if self._text[self._at : self._at + 1] not in ("[", "{"):
            return None
        closing, in_string, length, end = list[str](), False, 0, 0
        kept: bytes | None = None
        while True:
            line_end = -1 if kept is None else self._text.find("\n", self._at)
            until = len(self._text) if line_end < 0 else line_end
            for found in _SIGN.finditer(self._text, self._at + length, until):
                sign, end = found[0], found.end()
                if sign == '"':
                    in_string = not in_string
                elif not in_string and sign in _CLOSING:
                    closing.append(_CLOSING[sign])
                elif not in_string and sign in ("]", "}"):
                    if closing.pop() != sign:
                        return kept
                    if not closing:
                        taken = self._taken(end)[:MAX_KEPT_BYTES]
                        return taken if kept is None else kept
            cut = self._text.endswith("\\") and end < len(self._text)
            length = until - self._at - cut
            if length > MAX_KEPT_BYTES and kept is None:
                if "\n" in self._text[self._at :]:
                    return None
                kept = self._text[self._at :].encode("utf-8", "surrogateescape")[:MAX_KEPT_BYTES]
            if kept is not None:
                self._at, length = self._at + length, 0
            if line_end >= 0 or not self._more():
                self._at = until if kept is not None else self._at
                return kept

    def _taken(self, end: int) -> bytes:
        element = self._text[self._at : end]
        self._at = end
        return element.encode("utf-8", "surrogateescape")

    def _is_over(self, end: int) -> bool:
        """Whether a value is complete, which depends on what follows it: a number may continue.

        That can take two more characters after `1`, as in `1.5`, or three, as in `1e+5`.
        """
        behind = self._text[end : end + 3]
        return bool(behind) and (len(behind) == 3 or behind[0] not in ".eE")

    def rest(self) -> bytes:
        """The bytes that were read but not used."""
        left = self._text[self._at :].encode("utf-8", "surrogateescape")
        return left + self._decoder.getstate()[0]


class _Behind(io.RawIOBase):
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
