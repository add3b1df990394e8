"""Whose memories a namespace, or the prefix of a search, means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from palimpsest.contracts.errors import UsageError
from palimpsest.integrations.langgraph.namespaces import Namespace


@dataclass(frozen=True, slots=True)
class NamespaceOwners:
    """Maps namespaces to owners. If `accepted` is not empty, no other owner is accepted."""

    owner_of: Callable[[Namespace], str | None]
    accepted: Sequence[str]

    def meant(self, prefix: Namespace) -> Sequence[str]:
        """The owner of a prefix, or all `accepted` ones if it names none.

        Raises UsageError as `one` does.
        """
        if self._named(prefix) is None and self.accepted:
            return self.accepted
        return (self.one(prefix),)

    def one(self, namespace: Namespace) -> str:
        """The owner of a namespace; UsageError if it has none, or one that is not accepted."""
        owner_id = self._named(namespace)
        if owner_id is None:
            raise UsageError(
                "this namespace, or prefix, has no owner: `owner_of` must name one; to search the"
                " memories of several owners together, open the store with `owners`"
            )
        if self.accepted and owner_id not in self.accepted:
            raise UsageError("the owner of this namespace is not among `owners`")
        return owner_id

    def _named(self, namespace: Namespace) -> str | None:
        try:
            return self.owner_of(namespace) or None
        except LookupError:
            return None
