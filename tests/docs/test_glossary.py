"""Every decision and every event has its line in the glossary, and no other has."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from palimpsest.contracts.errors import InvalidReason
from palimpsest.contracts.events import AnyEvent, Decision
from palimpsest.contracts.evidence import Cue
from tests.docs.pages import text_of
from tests.tables import each

GLOSSARY = text_of("docs/glossary.md")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", GLOSSARY, flags=re.MULTILINE))
EVENTS = [event.type.split(".")[1] for event in get_args(AnyEvent)]


def values(alias: object) -> set[str]:
    """The words of a `Literal`, of whatever literals it is made."""
    return {
        word for one in get_args(alias) for word in ([one] if isinstance(one, str) else values(one))
    }


def first_column(section: str) -> list[str]:
    rows = [line for line in SECTIONS[section].splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def test_every_decision_has_its_line() -> None:
    assert sorted(first_column("Decisions")) == sorted(values(Decision) | {"manual_join"})


def test_every_event_has_its_line() -> None:
    assert sorted(first_column("Events")) == sorted(EVENTS)


@each("cue", Cue)
def test_every_cue_is_described(cue: Cue) -> None:
    assert f"`{cue}`" in GLOSSARY
    assert f"| `{cue}` |" in text_of("docs/guard.md")


@pytest.mark.parametrize("reason", sorted(values(InvalidReason)))
def test_every_reason_to_be_invalid_is_described(reason: str) -> None:
    assert f"| `{reason}` |" in text_of("docs/producers.md")
