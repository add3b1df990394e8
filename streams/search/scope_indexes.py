"""Finds neighbours outside a writer, in a ledger whose decisions are being made again."""

from __future__ import annotations

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.search.scope_index import ScopeIndex


class ScopeIndexes:
    """Search indexes over one ledger, created on first use.

    If `framed`, the candidates that share a newcomer's frame are among its neighbours.
    """

    def __init__(self, *, framed: bool = False) -> None:
        self._framed = framed
        self._made: dict[tuple[str, str], ScopeIndex] = {}

    def neighbours(self, ledger: Ledger, admit: Admit, policy: Policy) -> tuple[Neighbour, ...]:
        """A newcomer's neighbours, as a writer would find them."""
        namespace = admit.candidate.namespace
        if admit.content.vector is None and not policy.compares_words:
            return ()
        key = (namespace, policy.hash)
        index = self._made.get(key)
        if index is None:
            scope = ledger.scope(namespace)
            index = self._made[key] = ScopeIndex(scope, policy)
        near = index.neighbours(ledger, admit)
        return index.with_framed(admit, near, ledger.names) if self._framed else near
