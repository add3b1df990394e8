"""Shared by the pages of `dedupe` and `clean`: charts as SVG, two texts compared, the style."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from palimpsest.charts.charts import Chart
from palimpsest.process.cutting import place_to_cut
from palimpsest.process.differing import Run, differing
from palimpsest.process.output import visible

LONGEST = 2_000
"""Maximum number of shown characters of a text."""


def svg(chart: Chart) -> Iterator[str]:
    """A chart as parts of an SVG, with its legend."""
    title, description = text_of(chart.title), text_of(chart.description)
    yield f"<figure><figcaption>{title}</figcaption>"
    size = f"0 0 {chart.width:g} {chart.height:g}"
    yield f'<svg viewBox="{size}" role="img" aria-label="{title}"><desc>{description}</desc>'
    for kind, rects in (("zone", chart.zones), ("bar", chart.bars)):
        for rect in rects:
            yield (
                f'<rect class="{kind} s{rect.series}" x="{rect.x}" y="{rect.y}"'
                f' width="{rect.width}" height="{rect.height}">'
                f"<title>{text_of(rect.title)}</title></rect>"
            )
    for row in chart.rows:
        yield f'<path d="M{chart.left} {row.y}H{chart.right}"/>'
        yield f'<text class="amount" x="{row.x}" y="{row.y + 4}">{text_of(row.label)}</text>'
    for label in chart.labels:
        yield f'<text class="label" x="{label.x}" y="{label.y}">{text_of(label.label)}</text>'
    keys = "".join(f'<li class="k{series}">{text_of(kind)}</li>' for series, kind in chart.legend)
    yield f'</svg><ul class="legend">{keys}</ul></figure>'


def compared(older: str, newer: str) -> tuple[str, str]:
    """Both texts as HTML; words that the other text lacks are marked."""
    left, right = differing(*(" ".join(_cut(text).split()) for text in (older, newer)))
    return _marked(left, "del"), _marked(right, "ins")


def _marked(runs: Iterable[Run], mark: str) -> str:
    """Runs as HTML; spaces around marked words are not marked."""
    return "".join(
        re.sub(
            r"\S(?:.*\S)?",
            lambda words: f"<{mark}>{text_of(words[0])}</{mark}>",
            text,
            flags=re.DOTALL,
        )
        if only
        else text_of(text)
        for text, only in runs
    )


def text_of(text: str) -> str:
    """A text without markup, and with control characters escaped."""
    return escape(visible(_cut(text)))


def _cut(text: str) -> str:
    return text[: place_to_cut(text, LONGEST)]


VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">'
_COLOURS = ("#5b6b7c", "#9fb4c9", "#1d6fb8", "#7a3fb0", "#c98a00", "#b3261e")
_SERIES = "".join(
    f".s{n}{{fill:{colour}}}.k{n}::before{{background:{colour}}}"
    for n, colour in enumerate(_COLOURS)
)
STYLE = (
    ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif;"
    "color:CanvasText;background:Canvas}"
    "main{max-width:48rem;margin:auto;padding:1rem;overflow-wrap:anywhere}"
    "dl{display:flex;flex-wrap:wrap;gap:1.5rem}"
    "dd{margin:0;font-size:1.4rem}figure{margin:1rem 0}svg{width:100%;height:auto}"
    "svg path{stroke:#8884}svg text{font-size:11px;fill:currentColor}.amount{text-anchor:end}"
    "@media(max-width:40rem){svg{overflow:visible}svg text{font-size:26px}}"
    ".label{text-anchor:middle}.zone{opacity:.2}.legend{display:flex;gap:1rem;list-style:none}"
    ".legend li::before{content:'';display:inline-block;width:.8em;height:.8em;margin-right:.3em}"
    "blockquote,li,q{unicode-bidi:plaintext}"
    "blockquote{margin:.25rem 0;padding:.25rem .75rem;border-left:3px solid #8888}"
    "del{background:#d3302f33;text-decoration:none}ins{background:#2e7d3233;text-decoration:none}"
    f"{_SERIES}"
)
