"""URNs: an id with its owner and namespace, `palimpsest://{owner}/{namespace}/{id}`."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Self
from urllib.parse import quote, unquote

from palimpsest.contracts.errors import UsageError

SCHEME = "palimpsest://"
_PARTS = 3


class Urn(NamedTuple):
    """What a URN names; `str` writes it, each part percent-encoded."""

    owner_id: str
    namespace: str
    id: str

    def __str__(self) -> str:
        """The written form: all but ASCII letters, digits and `-._~` is percent-encoded."""
        return SCHEME + "/".join(map(_quoted, self))

    @classmethod
    def parse(cls, written: str) -> Self:
        """Parse a URN. Raises UsageError if it is malformed."""
        parts = written.removeprefix(SCHEME).split("/")
        if not is_urn(written) or len(parts) != _PARTS or not all(parts):
            raise UsageError(f"a URN is written {SCHEME}OWNER/NAMESPACE/ID, each percent-encoded")
        try:
            return cls(*(unquote(part, errors="strict") for part in parts))
        except UnicodeDecodeError:
            raise UsageError(
                "a URN's parts are percent-encoded UTF-8, and this one's are not"
            ) from None


@lru_cache(maxsize=1024)
def _quoted(part: str) -> str:
    """A part, percent-encoded; cached, because owners and namespaces recur."""
    return quote(part, safe="")


def is_urn(text: str) -> bool:
    """Whether a text is meant as a URN, not as a bare id."""
    return text.startswith(SCHEME)
