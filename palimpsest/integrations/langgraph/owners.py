"""Whose memories a namespace, or the prefix of a search, means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from palimpsest.contracts.errors import UsageError
from palimpsest.integrations.langgraph.namespaces import Namespace


@dataclass(frozen=True, slots=True)
class NamespaceOwners:
    """The owner of each namespace; if any are `accepted`, no other owner is."""

    owner_of: Callable[[Namespace], str | None]
    accepted: Sequence[str]

    def meant(self, prefix: Namespace) -> Sequence[str]:
        """The owner of a prefix; if it names none, all owners that the store was opened for."""
        if self._named(prefix) is None and self.accepted:
            return self.accepted
        return (self.one(prefix),)

    def one(self, namespace: Namespace) -> str:
        """The owner of a namespace; UsageError if it has none, or one that is not accepted."""
        owner_id = self._named(namespace)
        if owner_id is None:
            raise UsageError(
                "this namespace, or prefix, has no owner: `owner_of` must name one, because no call"
                " reaches the memories of all owners; `owners` says whose may be searched together"
            )
        if self.accepted and owner_id not in self.accepted:
            raise UsageError("the owner of this namespace is not among `owners`")
        return owner_id

    def _named(self, namespace: Namespace) -> str | None:
        try:
            return self.owner_of(namespace) or None
        except LookupError:
            return None
