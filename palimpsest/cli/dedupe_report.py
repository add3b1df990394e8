"""A batch run, planned or made, as one HTML page; the page fetches and runs nothing."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from palimpsest.backends.reader import Reader
from palimpsest.charts.charts import bin_of, histogram
from palimpsest.charts.kinds import FAMILIES, FAMILY_OF
from palimpsest.charts.zones import zones_of, zones_of_run
from palimpsest.cli.pictures import STYLE, VIEWPORT, compared, svg, text_of
from palimpsest.contracts.answers import Pairing
from palimpsest.contracts.counting import counted
from palimpsest.contracts.policy import Policy
from palimpsest.projections.duckdb.activity import WHOLE, Scored, outcomes
from palimpsest.streams.policies.explain import explain

UNMERGE = "palimpsest unmerge --decision"
MOST_CLUSTERS = 10
MOST_EXAMPLES = 20


def page_of(reader: Reader, answer: Mapping[str, Any], just_this: str) -> str:
    """The page of a batch run's answer, with the policy's decisions on arrival.

    `just_this` is the command that does exactly what a dry run showed.
    """
    reader.refresh()
    policy = reader.policy_in_force()
    owners = sorted({run["owner_id"] for run in answer["runs"]})
    _, scored = outcomes(reader.projections, policy.hash, owners)
    return drawn(answer, policy, scored, just_this)


def drawn(
    answer: Mapping[str, Any], policy: Policy, scored: Sequence[Scored], just_this: str
) -> str:
    """The page as text; `scored` counts the nearest neighbours on arrival."""
    joined: list[Pairing] = answer["joined"]
    return "\n".join(
        (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{VIEWPORT}',
            f"<title>{_title(answer)}</title><style>{STYLE}</style></head><body><main>",
            f"<h1>{_title(answer)}</h1>",
            *_summary(answer, policy, just_this),
            *_similarities(joined, policy, scored),
            *_clusters(joined),
            *_examples(joined),
            "</main></body></html>\n",
        )
    )


def _title(answer: Mapping[str, Any]) -> str:
    count = len(answer["joined"])
    were = "would be" if answer["dry_run"] else "was" if count == 1 else "were"
    return f"{counted(count, 'pair')} of memories {were} joined"


def _summary(answer: Mapping[str, Any], policy: Policy, just_this: str) -> Iterator[str]:
    counts = {
        "memories": answer["memories"],
        "owners": answer["owners"],
        "pairs looked at": answer["pairs"],
        "left for the judge": answer["left"],
    }
    listed = "".join(f"<div><dt>{name}</dt><dd>{n:,}</dd></div>" for name, n in counts.items())
    yield f"<dl>{listed}</dl>"
    if answer["dry_run"]:
        yield f"<p>Nothing is written yet. To do just this: <code>{text_of(just_this)}</code></p>"
    yield f"<p>Every join can be undone: <code>{UNMERGE} ID</code></p>"
    sentences = "".join(f"<li>{text_of(sentence)}</li>" for sentence in explain(policy))
    yield f"<details><summary>The policy {text_of(policy.name)}</summary><ul>{sentences}</ul>"
    yield "</details>"


# -- pictures ------------------------------------------------------------------------------------


def _similarities(
    joined: Sequence[Pairing], policy: Policy, scored: Sequence[Scored]
) -> Iterator[str]:
    pairs: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for join in joined:
        pairs[bin_of(join["similarity"] or 0.0)][FAMILY_OF[join["decision"]]] += 1
    came: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in scored:
        came[bin_of(row.score / WHOLE)][FAMILY_OF[row.decision]] += row.n
    yield "<h2>Similarities</h2>"
    title = "Similarity of the pairs of this run"
    yield from svg(histogram("pairs", title, pairs, [*FAMILIES], zones_of_run(policy)))
    if not came:
        yield "<p>On arrival, no text was compared with a neighbour.</p>"
        return
    title = "Similarity of the nearest neighbour of each text on arrival"
    zones = [zone for zone, _ in zones_of(policy)]
    yield from svg(histogram("came", title, came, [*FAMILIES], zones))


# -- texts ---------------------------------------------------------------------------------------


def _clusters(joined: Sequence[Pairing]) -> Iterator[str]:
    """The largest resulting memories, each with the faces of the memories that this run joins."""
    found = sorted(clusters(joined), key=len, reverse=True)[:MOST_CLUSTERS]
    if found:
        yield "<h2>Largest clusters</h2>"
    for texts in found:
        listed = "".join(f"<li>{text_of(text)}</li>" for text in texts)
        yield f"<details open><summary>{len(texts)} memories become one</summary><ul>{listed}</ul>"
        yield "</details>"


def clusters(joined: Iterable[Pairing]) -> list[list[str]]:
    """The texts connected by the joins, cluster by cluster, in the order of the joins."""
    of: dict[str, deque[tuple[str, str]]] = {}
    for join in joined:
        older = of.setdefault(join["older"], deque([(join["older"], join["older_text"])]))
        newer = of.setdefault(join["newer"], deque([(join["newer"], join["newer_text"])]))
        if older is newer:
            continue
        # The smaller part moves, so that no text moves often.
        if len(older) < len(newer):
            newer.extendleft(reversed(older))
            of.update((name, newer) for name, _ in older)
        else:
            older.extend(newer)
            of.update((name, older) for name, _ in newer)
    whole = {id(cluster): cluster for cluster in of.values()}
    return [[text for _, text in cluster] for cluster in whole.values()]


def _examples(joined: Sequence[Pairing]) -> Iterator[str]:
    """The least similar pairs: mistakes are most likely there."""
    if not joined:
        return
    yield "<h2>Examples to judge</h2><p>The least similar pairs first.</p><ol>"
    for join in sorted(joined, key=lambda pair: pair["similarity"] or 0.0)[:MOST_EXAMPLES]:
        older, newer = compared(join["older_text"], join["newer_text"])
        last = join.get("composed") or join.get("face")
        yield (
            f"<li><p><b>{join['similarity']:.4f}</b> {text_of(join['decision'])} ·"
            f" owner {text_of(join['owner_id'])}</p><blockquote>{older}</blockquote>"
            f"<blockquote>{newer}</blockquote>"
        )
        if last:
            yield f"<p>The memory then says: <q>{text_of(last)}</q></p>"
        if join["reasoning"]:
            yield f"<p>The judge: {text_of(join['reasoning'])}</p>"
        yield f"<p><small>{text_of(join['older'])}, {text_of(join['newer'])}</small></p>"
        decision_id = join.get("decision_id")
        if isinstance(decision_id, str):  # a dry run has none
            yield f"<p>Undo: <code>{UNMERGE} {text_of(decision_id)}</code></p>"
        yield "</li>"
    yield "</ol>"
