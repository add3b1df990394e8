"""The model whose vectors an owner's texts are compared by, and the vectors of other models.

A text has at most one vector of each model. Vectors of models that are not in force are kept beside
the one that is, and compared only once their model is in force. Vectors of different models are
never compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from palimpsest.contracts.events import PolicySet, Vector
from palimpsest.streams.core.ledger import Distinct, Edge, Ledger
from palimpsest.streams.core.touched import Touched


def take_vector(distinct: Distinct, vector: Vector, *, ahead: bool = False) -> None:
    """Give a text a recorded vector: as the one in force, or in `beside` if it is of another model.

    As long as the owner's model has never changed, only vectors recorded `ahead` go to `beside`.
    """
    beside = ahead if distinct.model is None else vector.model != distinct.model
    if beside:
        distinct.beside = {**(distinct.beside or {}), vector.model: vector}
    else:
        distinct.vector = vector


def fold_models(ledger: Ledger, event: PolicySet, touched: Touched) -> None:
    """Compare by another model's vectors from here on, and remove vectors that are dropped."""
    model = event.data.policy["model"]
    if event.data.former is not None:
        ledger.model = model
        for distinct in texts_of(ledger):
            _use(distinct, model)
        # Searches read every text and face again.
        for scope in ledger.scopes.values():
            scope.changed += range(len(scope.rows))
            scope.forgotten += dict.fromkeys(scope.forgotten)
        for memory in ledger.memories():
            ledger.scope(memory.namespace).faces.append(memory.members[0])
        touched.unembedded |= no_longer_unembedded(ledger, model)
        for first in touched.unembedded:
            del ledger.unembedded[first]
    for dropped in event.data.drops or ():
        for distinct in texts_of(ledger):
            if distinct.beside is not None:
                distinct.beside.pop(dropped, None)


def no_longer_unembedded(ledger: Ledger, model: str) -> dict[str, bool]:
    """The texts that wait for a vector but have one of this model, as for `Touched.unembedded`."""
    waiting = ledger.unembedded.items()
    return {first: False for first, text in waiting if text.vector_of(model) is not None}


def texts_of(ledger: Ledger) -> Iterator[Distinct]:
    """Every distinct text, including composed texts and those that are `over`."""
    for scope in ledger.scopes.values():
        for same in scope.by_search.values():
            yield from same


def lacking(ledger: Ledger, model: str) -> Iterator[tuple[str, str | None, Distinct]]:
    """The texts without a vector of a model, with ids: a candidate's and, if composed, its event's.

    Includes retracted and forgotten texts, which may return, but not erased ones.
    """
    for distinct in texts_of(ledger):
        if distinct.text and distinct.vector_of(model) is None:
            if distinct.members:
                yield distinct.members[0].id, None, distinct
            elif distinct.composed_for:
                edge, text_id = _composing(distinct)
                yield edge.newer.id, text_id, distinct


def _composing(distinct: Distinct) -> tuple[Edge, str]:
    """The first join that a text was composed for, and the event that brought it."""
    edge = distinct.composed_for[0]
    return edge, next(i for i, composed in (edge.composed or {}).items() if composed is distinct)


def _use(distinct: Distinct, model: str) -> None:
    """Put the vector of a model in force, and keep the former one in `beside`."""
    held = {**(distinct.beside or {})}
    if distinct.vector is not None:
        held[distinct.vector.model] = distinct.vector
    distinct.model, distinct.vector = model, held.pop(model, None)
    distinct.beside = held or None
