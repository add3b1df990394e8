"""What was decided and is not in the log yet: deciding fills it, committing empties it."""

from __future__ import annotations

from dataclasses import dataclass, field

from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.write.inputs import Input


@dataclass(slots=True)
class Draft:
    """Events in order, each with what it touched, and what is committed or undone with them.

    `owners` are those whose ledgers have them already; `policy_before` is what was in force before
    the first of them, where one sets another.
    """

    done: list[tuple[AnyEvent, Touched]] = field(default_factory=list)
    owners: set[str] = field(default_factory=set)
    invalid: dict[str, tuple[Input, InvalidInputError]] = field(default_factory=dict)
    policy_before: Policy | None = None
