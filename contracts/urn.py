"""URNs: a memory's id with whose it is and where, `palimpsest://{owner}/{namespace}/{id}`."""

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
        """As it is written: letters, digits and `-._~` are themselves, all else is encoded."""
        return SCHEME + "/".join(map(_quoted, self))

    @classmethod
    def parse(cls, written: str) -> Self:
        """Read a URN; UsageError if it is malformed."""
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
    """A part as it stands in a URN; owners and namespaces come again and again."""
    return quote(part, safe="")


def is_urn(text: str) -> bool:
    """Whether a text means to be a URN, and no bare id."""
    return text.startswith(SCHEME)
