"""What the fold keeps beside memories: indexed texts, texts to recompose, reviews."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.contracts.events import Composition, Content, Decided
from palimpsest.streams.core.faces import newest
from palimpsest.streams.core.ledger import Distinct, Edge, Entry, Ledger, Lost, Memory, Review
from palimpsest.streams.core.models import take_vector
from palimpsest.streams.core.text import bare, identity_of, search_hash
from palimpsest.streams.core.touched import Touched


def index_entry(ledger: Ledger, entry: Entry, distinct: Distinct, event: Decided) -> None:
    """Index a new candidate by text, row and session."""
    scope = ledger.scope(distinct.namespace)
    if not distinct.members:
        if not any(distinct.members for distinct in scope.by_search[distinct.search_hash]):
            ledger.texts += 1
        if event.data.content.vector is not None:
            take_vector(distinct, event.data.content.vector)
        distinct.row = len(scope.rows)
        scope.rows.append(distinct)
    elif distinct.current is None and distinct.row is not None:
        scope.changed.append(distinct.row)
    if distinct.members:
        distinct.members.append(entry)
    else:
        distinct.members = [entry]  # reserves no room, because most texts have one member
    entry.text_number = ledger.texts
    if entry.fields.session_id is not None:
        scope.sessions.setdefault(entry.fields.session_id, []).append(entry)


def distinct_text(ledger: Ledger, namespace: str, content: Content) -> Distinct:
    """The scope's distinct text of a content; a new one if there is none or that one is `over`.

    Older events recorded no vector for a repeat: its text gets that of the text that it repeats.
    """
    scope, hashed = ledger.scope(namespace), identity_of(content)
    found = scope.by_hash.get(hashed)
    if found is None or found.over:
        found = scope.by_hash[hashed] = new_text(namespace, content)
        found.model = ledger.model
        same = scope.by_search.get(found.search_hash, ())
        if content.verbatim is None and content.vector is None:
            found.vector = next(
                (distinct.vector for distinct in same if distinct.vector is not None), None
            )
        scope.by_search[found.search_hash] = (*same, found)
    return found


def new_text(namespace: str, content: Content) -> Distinct:
    """A distinct text for a content, not yet in any scope."""
    hashed = identity_of(content)
    said = content.hash if content.verbatim is None else hashed
    return Distinct(hashed, namespace, search_hash(content), said, content.text)


def add_text(ledger: Ledger, edge: Edge, composition: Composition, text_id: str) -> None:
    """Keep a composed text with its join, so that repeats of it find the text or its newest source.

    `text_id` is the event that brought it. The newest source becomes the text's alias, unless a
    candidate has the text, or the alias is one of these sources already.
    """
    edge.texts[text_id] = composition
    ledger.composed_by[text_id] = edge
    content = composition.content
    distinct = distinct_text(ledger, edge.newer.fields.namespace, content)
    edge.composed = {**(edge.composed or {}), text_id: distinct}
    if edge not in distinct.composed_for:
        distinct.composed_for += (edge,)
    sources = [ledger.entries[source] for source in composition.sources]
    if not distinct.members and distinct.alias not in sources:
        distinct.alias = newest(sources)
        if content.vector is not None:
            take_vector(distinct, content.vector)


def keep_recomposed(ledger: Ledger, edge: Edge, text_id: str) -> None:
    """Map former ids of a text to its new id, so that statements about it still hold.

    Needed if its candidate is decided again with the same text.
    """
    text = edge.texts.get(text_id)
    if text is None:
        return
    of_it = (text.content.hash, text.sources)
    for former in (other for other in edge.newer.edges if other is not edge):
        for former_id, other in former.texts.items():
            if (other.content.hash, other.sources) == of_it:
                ledger.recomposed[former_id] = text_id


def keep_unembedded(ledger: Ledger, distinct: Distinct, down: bool, touched: Touched) -> None:
    """Keep whether a text waits for its vector; `down`: the model was down when it came."""
    first, text = distinct.members[0].id, distinct.members[0].text
    lacks = distinct.vector is None and text != "" and (down or first in ledger.unembedded)
    if lacks == (first in ledger.unembedded):
        return
    touched.unembedded[first] = lacks
    if lacks:
        ledger.unembedded[first] = distinct
    else:
        del ledger.unembedded[first]


def index_row(ledger: Ledger, entry: Entry) -> None:
    """Make searches read a candidate's row again."""
    if entry.distinct.row is not None:
        ledger.scope(entry.fields.namespace).changed.append(entry.distinct.row)


def keep_forgotten(ledger: Ledger, entry: Entry) -> None:
    """Register a forgotten candidate and its composed texts, to be compared with newcomers.

    Whether its forgetting still applies is checked when a newcomer arrives.
    """
    scope, memory = ledger.scope(entry.fields.namespace), entry.memory
    gone = [(entry.distinct, entry.text)]
    for edge in memory.edges() if memory.texted else ():
        for text_id, composition in edge.texts.items():
            distinct = (edge.composed or {})[text_id]
            if distinct.alias is entry:
                gone.append((distinct, composition.content.text))
    scope.forgotten += gone
    for distinct, text in gone:
        same = scope.forgotten_words.setdefault(bare(text), [])
        if distinct not in same:
            same.append(distinct)


def keep_review(ledger: Ledger, decision_id: str, review: Review | None, touched: Touched) -> None:
    """Keep the result of a decision's review; None removes it."""
    if review is None:
        ledger.reviews.pop(decision_id, None)
    else:
        ledger.reviews[decision_id] = review
    touched.reviews[decision_id] = review


def index_face(ledger: Ledger, memory: Memory, touched: Touched) -> None:
    """Make searches read a memory's face again, and projections the memory."""
    touched.memory(memory)
    ledger.scope(memory.namespace).faces.append(memory.members[0])


def keep_lost_texts(ledger: Ledger, event_id: str, touched: Touched) -> None:
    """Keep which texts must be recomposed in the memories that an event changed.

    If the remaining sources of a text change, the question to the judge is a new one. The judge is
    not asked about a concatenated text: the rule that made it makes it again.
    """
    if not ledger.composed_by:
        return
    changed = [memory for memory in touched.memories.values() if memory is not None]
    lost: dict[str, tuple[str, ...]] = {}
    for memory in changed:
        lacking = memory.face.lacking if memory.texted else None
        if lacking is not None:
            lost[lacking.edge.id] = lacking.sources
    if not (lost or ledger.composing):
        return
    held = [edge_id for edge_id in ledger.composing if _is_in(ledger.edges[edge_id], changed)]
    for gone in (edge_id for edge_id in held if edge_id not in lost):
        del ledger.composing[gone]
        touched.texts[gone] = False
    for edge_id, left in lost.items():
        known = ledger.composing.get(edge_id)
        if known is None or known.sources != left:
            ledger.composing[edge_id] = Lost(left, event_id)
            touched.texts[edge_id] = ledger.edges[edge_id].decision != "concatenated"


def _is_in(edge: Edge, memories: Sequence[Memory]) -> bool:
    """Whether a join is in one of these memories, or is reversed."""
    return not edge.standing or edge.newer.memory in memories
