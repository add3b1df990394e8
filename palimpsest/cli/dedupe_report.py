"""A batch run as one HTML page, to review it before it is done; it fetches and runs nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Any

from palimpsest.backends.reader import Reader
from palimpsest.charts.charts import Chart, histogram
from palimpsest.charts.kinds import FAMILIES, FAMILY_OF
from palimpsest.charts.zones import zones_of, zones_of_run
from palimpsest.contracts.answers import Pairing
from palimpsest.contracts.policy import Policy
from palimpsest.process.output import visible
from palimpsest.projections.duckdb.activity import WHOLE, Scored, outcomes
from palimpsest.streams.policies.explain import explain

BINS = 50
"""Columns of a histogram, from 0 to 1."""
MOST_CLUSTERS = 10
MOST_EXAMPLES = 20
LONGEST = 2_000
"""Maximum number of shown characters of a text."""


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
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{_VIEWPORT}',
            f"<title>{_title(answer)}</title><style>{_STYLE}</style></head><body><main>",
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
    pairs = "1 pair" if count == 1 else f"{count:,} pairs"
    were = "would be" if answer["dry_run"] else "was" if count == 1 else "were"
    return f"{pairs} of memories {were} joined"


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
        yield f"<p>Nothing is written yet. To do just this: <code>{_text(just_this)}</code></p>"
    yield "<p>Every join can be undone: <code>palimpsest unmerge --decision ID</code></p>"
    sentences = "".join(f"<li>{_text(sentence)}</li>" for sentence in explain(policy))
    yield f"<details><summary>The policy {_text(policy.name)}</summary><ul>{sentences}</ul>"
    yield "</details>"


# -- pictures ------------------------------------------------------------------------------------


def _similarities(
    joined: Sequence[Pairing], policy: Policy, scored: Sequence[Scored]
) -> Iterator[str]:
    pairs: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for join in joined:
        pairs[_bin(join["similarity"] or 0.0)][FAMILY_OF[join["decision"]]] += 1
    came: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in scored:
        came[_bin(row.score / WHOLE)][FAMILY_OF[row.decision]] += row.n
    yield "<h2>Similarities</h2>"
    title = "Similarity of the pairs of this run"
    yield from _svg(histogram("pairs", title, pairs, BINS, [*FAMILIES], zones_of_run(policy)))
    if not came:
        yield "<p>On arrival, no text was compared with a neighbour.</p>"
        return
    title = "Similarity of the nearest neighbour of each text on arrival"
    zones = [zone for zone, _ in zones_of(policy)]
    yield from _svg(histogram("came", title, came, BINS, [*FAMILIES], zones))


def _bin(similarity: float) -> int:
    return max(0, min(int(similarity * BINS), BINS - 1))


def _svg(chart: Chart) -> Iterator[str]:
    title, description = _text(chart.title), _text(chart.description)
    yield f"<figure><figcaption>{title}</figcaption>"
    size = f"0 0 {chart.width:g} {chart.height:g}"
    yield f'<svg viewBox="{size}" role="img" aria-label="{title}"><desc>{description}</desc>'
    for kind, rects in (("zone", chart.zones), ("bar", chart.bars)):
        for rect in rects:
            yield (
                f'<rect class="{kind} s{rect.series}" x="{rect.x}" y="{rect.y}"'
                f' width="{rect.width}" height="{rect.height}">'
                f"<title>{_text(rect.title)}</title></rect>"
            )
    for row in chart.rows:
        yield f'<path d="M{chart.left} {row.y}H{chart.right}"/>'
        yield f'<text class="amount" x="{row.x}" y="{row.y + 4}">{_text(row.label)}</text>'
    for label in chart.labels:
        yield f'<text class="label" x="{label.x}" y="{label.y}">{_text(label.label)}</text>'
    keys = "".join(f'<li class="k{series}">{_text(kind)}</li>' for series, kind in chart.legend)
    yield f'</svg><ul class="legend">{keys}</ul></figure>'


# -- texts ---------------------------------------------------------------------------------------


def _clusters(joined: Sequence[Pairing]) -> Iterator[str]:
    """The largest resulting memories, each with all its texts."""
    found = sorted(clusters(joined), key=len, reverse=True)[:MOST_CLUSTERS]
    if found:
        yield "<h2>Largest clusters</h2>"
    for texts in found:
        listed = "".join(f"<li>{_text(text)}</li>" for text in texts)
        yield f"<details open><summary>{len(texts)} memories become one</summary><ul>{listed}</ul>"
        yield "</details>"


def clusters(joined: Iterable[Pairing]) -> list[list[str]]:
    """The texts connected by the joins, cluster by cluster, in the order of the joins."""
    of: dict[str, dict[str, str]] = {}
    for join in joined:
        older = of.get(join["older"], {join["older"]: join["older_text"]})
        newer = of.get(join["newer"], {join["newer"]: join["newer_text"]})
        together = {**older, **newer}
        of.update(dict.fromkeys(together, together))
    return [
        [*cluster.values()]
        for cluster in {id(cluster): cluster for cluster in of.values()}.values()
    ]


def _examples(joined: Sequence[Pairing]) -> Iterator[str]:
    """The least similar pairs: mistakes are most likely there."""
    if not joined:
        return
    yield "<h2>Examples to judge</h2><p>The least similar pairs first.</p><ol>"
    for join in sorted(joined, key=lambda pair: pair["similarity"] or 0.0)[:MOST_EXAMPLES]:
        older, newer = _compared(join["older_text"], join["newer_text"])
        last = join.get("composed") or join.get("face")
        yield (
            f"<li><p><b>{join['similarity']:.4f}</b> {_text(join['decision'])} ·"
            f" owner {_text(join['owner_id'])}</p><blockquote>{older}</blockquote>"
            f"<blockquote>{newer}</blockquote>"
        )
        if last:
            yield f"<p>The memory then says: <q>{_text(last)}</q></p>"
        if join["reasoning"]:
            yield f"<p>The judge: {_text(join['reasoning'])}</p>"
        yield f"<p><small>{_text(join['older'])}, {_text(join['newer'])}</small></p></li>"
    yield "</ol>"


def _compared(older: str, newer: str) -> tuple[str, str]:
    """Two texts; the words that the other lacks are marked."""
    a, b = older[:LONGEST].split(), newer[:LONGEST].split()
    left, right = [], []
    for what, a1, a2, b1, b2 in SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes():
        gone, come = _text(" ".join(a[a1:a2])), _text(" ".join(b[b1:b2]))
        left.append(gone if what == "equal" else f"<del>{gone}</del>" if gone else "")
        right.append(come if what == "equal" else f"<ins>{come}</ins>" if come else "")
    return " ".join(filter(None, left)), " ".join(filter(None, right))


def _text(text: str) -> str:
    """A text without markup, and with control characters escaped."""
    return escape(visible(text[:LONGEST]))


_VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">'
_COLOURS = ("#5b6b7c", "#9fb4c9", "#1d6fb8", "#7a3fb0", "#c98a00", "#b3261e")
_SERIES = "".join(
    f".s{n}{{fill:{colour}}}.k{n}::before{{background:{colour}}}"
    for n, colour in enumerate(_COLOURS)
)
_STYLE = (
    ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif;"
    "color:CanvasText;background:Canvas}"
    "main{max-width:48rem;margin:auto;padding:1rem;overflow-wrap:anywhere}"
    "dl{display:flex;flex-wrap:wrap;gap:1.5rem}"
    "dd{margin:0;font-size:1.4rem}figure{margin:1rem 0}svg{width:100%;height:auto}"
    "svg path{stroke:#8884}svg text{font-size:11px;fill:currentColor}.amount{text-anchor:end}"
    "@media(max-width:40rem){svg{overflow:visible}svg text{font-size:26px}}"
    ".label{text-anchor:middle}.zone{opacity:.2}.legend{display:flex;gap:1rem;list-style:none}"
    ".legend li::before{content:'';display:inline-block;width:.8em;height:.8em;margin-right:.3em}"
    "blockquote{margin:.25rem 0;padding:.25rem .75rem;border-left:3px solid #8888}"
    "del{background:#d3302f33;text-decoration:none}ins{background:#2e7d3233;text-decoration:none}"
    f"{_SERIES}"
)
