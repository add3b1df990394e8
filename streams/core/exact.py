"""The candidates that a text repeats: verbatim, folded, or forgotten ones (docs/exact.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from palimpsest.contracts.candidate import Candidate, CandidateFields
from palimpsest.contracts.events import Content
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.ledger import Distinct, Entry, Ledger
from palimpsest.streams.core.text import bare, differences, folded, identity_of, search_hash

FOLDED = "folded"
"""The check that the evidence of an exact repeat names if the repeat is not verbatim."""


class Twin(NamedTuple):
    """The candidate that a text repeats, and how the two differ."""

    entry: Entry
    differs: tuple[str, ...]


def verbatim_target(ledger: Ledger, namespace: str, content: Content) -> Entry | None:
    """The candidate that a verbatim repeat joins, if there is one.

    Older events have no verbatim hash: a candidate with the same search form counts for them.
    """
    if content.verbatim is not None:
        distinct = ledger.distinct(namespace, identity_of(content))
        return distinct.target if distinct else None
    first = _first(ledger.of_search_form(namespace, search_hash(content)))
    return first.target if first else None


def folded_target(
    ledger: Ledger, candidate: CandidateFields | Candidate, content: Content, policy: Policy
) -> Twin | None:
    """The living candidate that a text repeats exactly by the policy, but not verbatim; or None.

    As in every check, candidates of a protected category neither join nor are joined.
    """
    if policy.exact == "verbatim":
        return None
    same = ledger.of_search_form(candidate.namespace, search_hash(content))
    if policy.exact == "folded" and same:
        protected, form = policy.protected_categories, folded(content.text)
        same = [
            entry
            for entry in same
            if candidate.category not in protected
            and folded(entry.text) == form
            and not is_protected(entry, protected)
        ]
    first = _first(same)
    if first is None or first.target is None or not first.target.living:
        return None
    return Twin(first.target, differences(first.text, content.text))


def forgotten_text(ledger: Ledger, namespace: str, content: Content) -> Entry | None:
    """The latest forgotten candidate with a text's search form; None if there is none."""
    same = ledger.of_search_form(namespace, search_hash(content))
    gone = [entry for distinct in same if (entry := distinct.forgotten) is not None]
    return max(
        gone, key=lambda entry: entry.forgotten.order if entry.forgotten else 0, default=None
    )


def forgotten_words(ledger: Ledger, namespace: str, text: str) -> list[Entry]:
    """The forgotten candidates whose search form has the same words as this text's.

    So the texts may differ in punctuation, white space and case. Texts that may be said again
    (`again` is `allow`) are left out.
    """
    scope = ledger.scopes.get(namespace)
    words = bare(text) if scope is not None and scope.forgotten_words else ""
    same = scope.forgotten_words.get(words, ()) if scope is not None and words else ()
    return [entry for distinct in same if (entry := distinct.guarded) is not None]


def is_protected(distinct: Distinct, categories: tuple[str, ...]) -> bool:
    """Whether any living candidate with this text is in one of the categories."""
    for entry in distinct.members if categories else ():
        if entry.living and entry.fields.category in categories:
            return True  # a loop, because every neighbour is asked about
    return False


def _first(texts: Iterable[Distinct]) -> Distinct | None:
    """The text to join: first living targets, then texts with a candidate, then the earliest."""
    targets = [(text, target) for text in texts if (target := text.target) is not None]
    if not targets:
        return None
    first, _ = min(targets, key=lambda of: (not of[1].living, not of[0].members, of[1].place))
    return first
