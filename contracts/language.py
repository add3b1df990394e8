"""A language that a user adds: the words by which the guard recognises it (docs/guard.md)."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from palimpsest.contracts.model import Strict
from palimpsest.contracts.patterns import compile_later

_WORD = compile_later(r"[^\W\d_]+(?:['\-][^\W\d_]+)*")
_UNSPACED = compile_later(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def _split(given: Any) -> Any:
    """Split a string at its spaces; a list is returned unchanged."""
    return given.split() if isinstance(given, str) else given


def _word(word: str) -> str:
    if not _WORD.fullmatch(word) or word != word.lower():
        raise ValueError(f"{word!r} is not a single word in lower case")
    if _UNSPACED.search(word):
        raise ValueError(f"{word!r} is in a script without spaces, which a file cannot add")
    return word


Word = Annotated[str, AfterValidator(_word)]
Words = Annotated[tuple[Word, ...], BeforeValidator(_split)]
Value = Annotated[int, Field(ge=2, le=99)]


class Language(Strict):
    """Words of a language that puts spaces between words, all in lower case.

    `words` identify the language of a text: function words and a few everyday ones. `numbers` are
    words that have no other meaning, with their values; `number_parts` turn a number beside them
    into another number, or into no count. `months` and `days` begin with January and Monday; each
    entry has its names and abbreviations. `starts` begin sentences and are not names.
    """

    code: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{2,8})*$")]
    words: Annotated[Words, Field(min_length=10)]
    negators: Annotated[Words, Field(min_length=1)]
    numbers: dict[Word, Value] = {}
    number_parts: Words = ()
    months: Annotated[tuple[Words, ...], Field(max_length=12)] = ()
    days: Annotated[tuple[Words, ...], Field(max_length=7)] = ()
    starts: Words = ()

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.code == "en":
            raise ValueError("code: English is built in, and no file can change it")
        for key, count, first in (("months", 12, "January"), ("days", 7, "Monday")):
            if (names := getattr(self, key)) and (len(names) != count or () in names):
                raise ValueError(f"{key}: {count} entries are needed, from {first} on, none empty")
        return self

    @cached_property
    def text(self) -> str:
        """The whole language as one JSON text, as it is recorded."""
        return self.model_dump_json()
