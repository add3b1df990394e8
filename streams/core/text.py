"""The three forms of a text: verbatim, folded, and the search form (docs/exact.md)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator

from palimpsest.contracts.events import Content, Vector, Verbatim

NORMALISER = "nfkc-casefold-space/1"
"""Version of `normalise`; it is recorded beside every hash."""
VERBATIM = "nfc-visible-trim/1"
"""Version of `verbatim`; it is recorded beside every hash."""

_INVISIBLE = re.compile("[\u200b\ufeff\u00ad\u200e\u200f\u061c]")
"""Invisible characters. Bidirectional overrides are kept: they change how a text reads."""
_AFTER_UNICODE_14 = re.compile(
    "([\u05c8\u05c9\u0897\u1acf-\u1af0\U000105c9\U000105d2\U000105da\U000105e4"
    "\U00010d69-\U00010d6d\U00010ecb-\U00010ecf\U00010ef0-\U00010efb\U00010efd-\U00010eff"
    "\U00011382-\U00011385\U0001138b\U0001138e\U00011390\U00011391\U000113b8\U000113bb"
    "\U000113c2\U000113c5\U000113c7-\U000113c9\U000113ce-\U000113d0\U00011f41\U00011f42"
    "\U0001611e-\U00016129\U0001612f\U00016d63\U00016d67-\U00016d6a\U0001d127\U0001d128"
    "\U0001d250-\U0001d252\U0001d25b\U0001d25c\U0001d25f\U0001d280\U0001d281\U0001e08f"
    "\U0001e4ec-\U0001e4ef\U0001e5ee\U0001e5ef\U0001e6e3\U0001e6e6\U0001e6ee\U0001e6ef"
    "\U0001e6f5])"
)
"""Characters up to Unicode 18 that NFC reorders or composes, and that Unicode 14 does not have.

They are left unchanged, so that every Python version gives a text the same identity: 3.11, the
oldest supported, has the tables of Unicode 14, and NFC never changes for characters in these.
"""
_SPACE = re.compile(r"\s+")
_SENTENCE_ENDS = (".", "!", "?", "…")


def normalise(text: str) -> str:
    """NFKC, case folded, with each run of white space as one space, and none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def text_hash(text: str) -> str:
    """SHA-256 of the normalised text, in hex."""
    return _sha256(normalise(text))


def visible(text: str) -> str:
    """The text without invisible characters."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def verbatim(text: str) -> str:
    """The text in NFC, without invisible characters, and without white space at its ends."""
    if not text.isascii():
        text = visible(text)
        parts = _AFTER_UNICODE_14.split(text)  # every other part is such a character
        text = "".join(
            part if number % 2 else unicodedata.normalize("NFC", part)
            for number, part in enumerate(parts)
        )
    return text.strip()


def folded(text: str) -> str:
    """The verbatim text in lower case, each run of white space as one space."""
    return _collapsed(verbatim(text).lower())


def search_form(text: str) -> str:
    """The form that texts are found and forgotten by: `normalise`, without invisible characters."""
    return normalise(visible(text))


def bare(text: str) -> str:
    """The words of the search form, without punctuation; empty if it has no word."""
    return " ".join(re.findall(r"\w+", search_form(text)))


def content_of(
    text: str, *, fingerprint: str | None = None, vector: Vector | None = None
) -> Content:
    """A text with the hashes of its forms, as events record it."""
    return Content(
        text=text,
        hash=text_hash(text),
        normaliser=NORMALISER,
        fingerprint=fingerprint,
        vector=vector,
        verbatim=Verbatim(hash=verbatim_hash(text), normaliser=VERBATIM),
    )


def verbatim_hash(text: str) -> str:
    """SHA-256 of the verbatim text, in hex."""
    return _sha256(verbatim(text))


def identity_of(content: Content) -> str:
    """The hash of the verbatim text; computed for older events, which do not have it."""
    return content.verbatim.hash if content.verbatim is not None else verbatim_hash(content.text)


def search_hash(content: Content) -> str:
    """The hash of the search form."""
    text = content.text
    if text.isascii() or _INVISIBLE.search(text) is None:
        return content.hash
    return _sha256(search_form(text))


def differences(a: str, b: str) -> tuple[str, ...]:
    """How two texts of one search form differ verbatim; empty if they do not.

    The kinds are `sentence_case` (only in the first letters of sentences), `case`, `white_space`
    and `compatibility`, which includes superscripts and ligatures but not decomposed accents.
    """
    a, b = verbatim(a), verbatim(b)
    found = [_case(a, b)]
    if _SPACE.findall(a) != _SPACE.findall(b):
        found.append("white_space")
    if _collapsed(a).casefold() != _collapsed(b).casefold():
        found.append("compatibility")
    kinds = tuple(edit for edit in found if edit is not None)
    return kinds or (("compatibility",) if a != b else ())


def _case(a: str, b: str) -> str | None:
    """The kind of difference in case between two texts, if any."""
    pairs = list(zip(*map(_words, (a, b)), strict=False))
    differing = [(x, y, starts) for (x, starts), (y, _) in pairs if x != y]
    if not differing:
        return None
    at_starts = all(starts and x[1:] == y[1:] for x, y, starts in differing)
    return "sentence_case" if at_starts else "case"


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """The words without compatibility forms, each with a flag for the start of a sentence."""
    starts = True
    for word in unicodedata.normalize("NFKC", text).split():
        yield word, starts
        starts = word.endswith(_SENTENCE_ENDS)


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
