"""Regular expressions that are compiled when they are first used.

Hundreds of patterns tell what a text says, and most processes need few of them: to compile all at
import takes a fifth of the time in which a command starts.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("finditer", "findall", "fullmatch", "match", "search", "split", "sub", "subn")


def compile_later(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but at the first use; so an error in the text is raised there."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    """Takes the methods of the compiled pattern for its own, so that they are found at once."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)
