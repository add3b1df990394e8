"""Patterns that are compiled at their first use are patterns like any other."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest

from palimpsest.contracts.patterns import compile_later


def test_it_is_compiled_once_when_it_is_first_used() -> None:
    with patch.object(re, "compile", wraps=re.compile) as compiled:
        late = compile_later("(b)|c", re.IGNORECASE)
        assert late.pattern == "(b)|c"
        assert compiled.call_count == 0
        assert late.findall("aBC") == ["B", ""]
        assert late.sub("x", "aBC") == "axx"
        assert late.search("aBC", 2) is not None
        assert compiled.call_count == 1


def test_what_no_pattern_has_is_no_attribute() -> None:
    with pytest.raises(AttributeError):
        getattr(compile_later("a"), "nothing")  # noqa: B009 - mypy knows that there is none
