"""The embedding model in force and its dimension, derived from the log. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from palimpsest.contracts.events import AnyEvent, Decided, Embedded, PolicySet, Vector


@dataclass(slots=True)
class Models:
    """The model in force, and the dimension of each model's latest vector, with their positions.

    Parts of the log can be noted in any order, with the same result: the later position counts.
    `in_force` is the model that the latest policy has thresholds for; `latest` maps the name of a
    model to a position and a dimension.
    """

    in_force: tuple[int, str | None] = (0, None)
    latest: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, recorded: dict[str, Any]) -> Models:
        """Reverse `as_dict`, from JSON."""
        position, model = recorded["in_force"]
        latest = {name: (at, dimension) for name, (at, dimension) in recorded["latest"].items()}
        return cls((position, model), latest)

    def as_dict(self) -> dict[str, Any]:
        """The form that is stored."""
        return {"in_force": self.in_force, "latest": self.latest}

    def note(self, position: int, event: AnyEvent) -> None:
        """Note an event."""
        match event:
            case Decided():
                self._embedded(position, event.data.content.vector)
            case Embedded():
                self._embedded(position, event.data.vector)
            case PolicySet():
                self._in_force(position, event.data.policy.get("model"))
            case _:
                pass

    def add(self, other: Models) -> None:
        """Merge with the models of other events."""
        self._in_force(*other.in_force)
        for model, (position, dimension) in other.latest.items():
            self._latest(model, position, dimension)

    def _embedded(self, position: int, vector: Vector | None) -> None:
        if vector is not None:
            self._latest(vector.model, position, vector.dimension)

    def _latest(self, model: str, position: int, dimension: int) -> None:
        known = self.latest.get(model)
        if known is None or known[0] < position:
            self.latest[model] = position, dimension

    def _in_force(self, position: int, model: str | None) -> None:
        if position > self.in_force[0]:
            self.in_force = position, model

    @property
    def dimension(self) -> int | None:
        """The dimension of the latest vector of the model in force, else of the latest vector.

        None if there is no vector.
        """
        found = self.latest.get(self.in_force[1] or "") or max(self.latest.values(), default=None)
        return found[1] if found is not None else None
