"""Namespaces of LangGraph as ours."""

from __future__ import annotations

import pytest

from palimpsest.integrations.langgraph.namespaces import read, written


@pytest.mark.parametrize("namespace", [("a",), ("a.b", "c"), ("%2E", ".", "%"), ("é /", "*")])
def test_namespaces_are_read_as_they_were_written(namespace: tuple[str, ...]) -> None:
    assert read(written(namespace)) == namespace
