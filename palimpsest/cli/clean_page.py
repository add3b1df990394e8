"""The results of `clean` in words, and as a self-contained page on which pairs can be marked.

A mark says that two texts are not the same. The page saves the marks as a file of separations for
`clean --separate`. It fetches nothing, so that it can be mailed and opened from a folder.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from palimpsest.charts.charts import ChartColumn, bin_of, histogram, stacked
from palimpsest.charts.kinds import happened
from palimpsest.cleaning.clean import Cleaned, Rules
from palimpsest.cleaning.documents import duplicates_of
from palimpsest.cleaning.texts import EXACT
from palimpsest.cleaning.within import WITHIN
from palimpsest.cli.pictures import STYLE, VIEWPORT, compared, svg, text_of
from palimpsest.contracts.counting import counted
from palimpsest.streams.policies.explain import explain

MOST_EXAMPLES = 20
"""Maximum number of examples per rule, those with the lowest scores."""
MOST_GROUPS = 10
MOST_ROWS_OF_A_GROUP = 20
_SIZES = ((2, 2), (3, 3), (4, 4), (5, 9), (10, 49), (50, 1 << 60))
_STRONG = frozenset({"number", "date", "unit", "version", "negation"})
"""Cues of a changed fact: wrong joins are most likely there."""

Duplicate = Mapping[str, Any]


def clean_page(answer: Mapping[str, Any], found: Cleaned, rules: Rules, again: str) -> str:
    """The page as text; `again` is the command that reads the marks."""
    rows = [row for row in duplicates_of(found) if row["rule"] != EXACT]
    key = hashlib.sha256(f"{answer['file']} {len(rows)}".encode()).hexdigest()[:16]
    title = f"{counted(answer['removed'], 'duplicate')} in {answer['file']}"
    return "\n".join(
        (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{VIEWPORT}',
            f"<title>{text_of(title)}</title><style>{STYLE}{_STYLE}</style></head>",
            f'<body data-key="{key}"><main>',
            f"<h1>{text_of(title)}</h1><ul>",
            *(f"<li>{text_of(line)}</li>" for line in summary_lines(answer)),
            f"</ul><details><summary>The policy {text_of(rules.policy.name)}</summary><ul>",
            *(f"<li>{text_of(sentence)}</li>" for sentence in explain(rules.policy)),
            "</ul></details>",
            *_marking(again),
            *_pictures(found, rows),
            *_by_rule(rows, answer),
            *_groups(found),
            *_unreadable(answer),
            _earlier(rules),
            f"</main><script>{_SCRIPT}</script></body></html>\n",
        )
    )


def _marking(again: str) -> Iterator[str]:
    yield (
        "<h2>Not the same?</h2><p>Mark what is wrong below, save the marks, and run the command"
        " again: these pairs then stay apart. This page keeps the marks in this browser.</p>"
        '<p><button type="button" id="save" disabled>Save separate.jsonl</button>'
        ' <output id="marked">nothing is marked</output></p>'
        f"<pre><code>{text_of(again)}</code></pre>"
    )


def _earlier(rules: Rules) -> str:
    """The pairs that were already kept apart: the file that the page saves includes them."""
    pairs = [{"text": text, "partner_text": other} for text, other in rules.separated]
    data = json.dumps(pairs).replace("<", "\\u003c")
    return f'<script type="application/json" id="earlier">{data}</script>'


def _pictures(found: Cleaned, rows: Iterable[Duplicate]) -> Iterator[str]:
    sizes = Counter(Counter(found.stays.values()).values())
    columns = [
        ChartColumn(
            f"{least}" if least == most else f"{least}–{most}" if most < 1 << 60 else f"{least}+",
            {"groups": sum(n for size, n in sizes.items() if least <= size + 1 <= most)},
        )
        for least, most in _SIZES
    ]
    yield "<h2>Sizes and scores</h2>"
    yield from svg(stacked("sizes", "Groups by their number of rows", columns, ["groups"]))
    scores: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        scores[bin_of(row["score"])][row["rule"]] += 1
    rules = sorted({rule for counts in scores.values() for rule in counts})
    if rules:
        title = "Scores of the pairs by rule, verbatim repeats left out"
        yield from svg(histogram("scores", title, scores, rules, ()))


def _by_rule(rows: Sequence[Duplicate], answer: Mapping[str, Any]) -> Iterator[str]:
    """Examples for each rule; for joins by cosine, those with strong cues and a random sample."""
    ordered = sorted(rows, key=lambda row: (row["rule"] != WITHIN, row["rule"], row["score"]))
    for rule, group in groupby(ordered, key=lambda row: row["rule"]):
        some = list(group)
        if rule != WITHIN:
            title = f"{len(some):,} by {rule}: the lowest scores"
            yield from _examples(title, some[:MOST_EXAMPLES])
            continue
        strong = [row for row in some if not _STRONG.isdisjoint(row["stopped"])]
        yield from _examples(
            f"Look at these first: {len(strong):,} by cosine alone, in which a fact may differ",
            strong[:MOST_EXAMPLES],
        )
        drawn = random.Random(0).sample(some, min(len(some), answer["within"]["look_at"]))  # noqa: S311
        yield from _examples(
            f"{len(drawn):,} of {len(some):,} by cosine alone, drawn at random: if all are right,"
            " few of the others are wrong",
            drawn,
        )


def _examples(title: str, rows: Sequence[Duplicate]) -> Iterator[str]:
    if not rows:
        return
    yield f"<h2>{text_of(title)}</h2><ol>"
    for row in rows:
        older, newer = compared(row["partner_text"], row["text"])
        cues = f" · {', '.join(row['stopped'])}" if row["stopped"] else ""
        whole = f'data-a="{_kept(row["text"])}" data-b="{_kept(row["partner_text"])}"'
        yield (
            f"<li><p><b>{row['score']:.4f}</b> {text_of(row['rule'])}{text_of(cues)} ·"
            f" rows {row['partner_row']:,} and {row['row']:,}, kept {row['kept_row']:,}</p>"
            f"<blockquote>{older}</blockquote><blockquote>{newer}</blockquote>"
            f'<p><label><input type="checkbox" class="apart" {whole}> not these</label></p></li>'
        )
    yield "</ol>"


def _kept(text: str) -> str:
    """A text as an attribute that a browser reads unchanged: it would read a bare CR as LF."""
    return escape(text).replace("\r", "&#13;")


def _groups(found: Cleaned) -> Iterator[str]:
    largest = Counter(found.stays.values()).most_common(MOST_GROUPS)
    if not largest:
        return
    yield "<h2>Largest groups</h2>"
    leaving: dict[int, list[int]] = defaultdict(list)
    for row, kept in found.stays.items():
        leaving[kept].append(row)
    for kept, count in largest:
        texts = dict.fromkeys(found.text(row) for row in (kept, *sorted(leaving[kept])))
        listed = "".join(f"<li>{text_of(text)}</li>" for text in [*texts][:MOST_ROWS_OF_A_GROUP])
        yield (
            f"<details open><summary>{count + 1:,} rows, {counted(len(texts), 'text')}; row"
            f" {kept + 1:,} stays</summary><ul>{listed}</ul></details>"
        )


def _unreadable(answer: Mapping[str, Any]) -> Iterator[str]:
    if answer["unreadable"]:
        yield f"<h2>{_unread(answer)}</h2><ul>"
        for row in answer["unreadable_rows"]:
            yield f"<li>row {row['row']:,}: {text_of(row['detail'])}</li>"
        yield "</ul>"


# -- in words ------------------------------------------------------------------------------------


def summary_lines(answer: Mapping[str, Any]) -> list[str]:
    """The summary as about ten sentences, and the unreadable rows."""
    gone = "would be removed" if answer["dry_run"] else "removed"
    by = f", joined only if equal in {' and '.join(answer['by'])}" if answer["by"] else ""
    kept = f"{answer['kept']:,} kept: the {answer['keep']} of each group"
    if answer["keep"] == "newest":
        kept += f", by {answer['moment']}" if answer["moment"] else ", which is the last"
    lines = [
        f"{counted(answer['rows'], 'row')}, texts in {answer['text'] or 'no column'}{by}",
        f"{answer['removed']:,} {gone}, {kept}",
        *(
            f"  {n:,} {'repeated verbatim' if name == EXACT else happened(name)}"
            for name, n in answer["rules"].items()
            if name != WITHIN
        ),
        *_within(answer["within"]),
    ]
    if answer["groups"]:
        lines.append(
            f"{counted(answer['groups'], 'group')}, the largest of {answer['largest']:,} rows"
        )
    if answer["separated"]:
        held = counted(answer["held"], "join")
        lines.append(f"{counted(answer['separated'], 'pair')} kept apart, which prevented {held}")
    if answer["owner"]:
        lines.append(f"rows of different owners may be joined: --by {answer['owner']} prevents it")
    lines.append(f"policy {answer['policy']}, {counted(answer['embedded'], 'text')} embedded")
    if answer["policy_composes"]:
        lines.append("the policy would compose texts: each row keeps its own")
    lines += [f"{name}: {answer[name]}" for name in ("to", "duplicates", "report") if answer[name]]
    if answer["unreadable"]:
        lines.append(f"{_unread(answer)}:")
        lines += [
            f"  row {row['row']}: {row['reason']}: {row['detail']}"
            for row in answer["unreadable_rows"]
        ]
    return lines


def _unread(answer: Mapping[str, Any]) -> str:
    stay = "stays" if answer["unreadable"] == 1 else "stay"
    return f"{counted(answer['unreadable'], 'row')} cannot be read, and {stay}"


def _within(within: Mapping[str, Any] | None) -> Iterator[str]:
    """The joins by cosine alone, and how many of them a person should look at."""
    if within is None:
        return
    joined, look = within["joined"], within["look_at"]
    cues = ", ".join(f"{name} {n:,}" for name, n in within["cues"].items())
    yield (
        f"  {joined:,} by cosine alone, at {within['similarity']:g} or above: the guard would have"
        f" stopped {within['stopped']:,}{f' ({cues})' if cues else ''}"
    )
    if look < joined:
        yield (
            f"  look at {look} of them drawn at random (the report has them): if all are right,"
            " fewer than 5 % are wrong, at 95 % confidence"
        )
    elif joined:
        yield "  look at all of them: no rule stands behind these"


_STYLE = "label{cursor:pointer}pre{white-space:pre-wrap}li:has(:checked){opacity:.5}"
_SCRIPT = """
const key = "palimpsest-clean-" + document.body.dataset.key;
const boxes = [...document.querySelectorAll("input.apart")];
const save = document.getElementById("save"), marked = document.getElementById("marked");
const id = box => JSON.stringify([box.dataset.a, box.dataset.b]);
const chosen = () => [...new Map(boxes.filter(b => b.checked).map(b => [id(b), b])).values()];
const show = () => {
  const count = chosen().length;
  save.disabled = !count;
  marked.value = count ? count + (count === 1 ? " pair is" : " pairs are") + " marked"
    : "nothing is marked";
};
const earlier = JSON.parse(document.getElementById("earlier").textContent);
let kept = [];
try { kept = JSON.parse(localStorage.getItem(key) || "[]"); } catch { /* nothing was kept */ }
for (const box of boxes) {
  box.checked = kept.includes(id(box));
  box.addEventListener("change", () => {
    for (const other of boxes) if (id(other) === id(box)) other.checked = box.checked;
    try { localStorage.setItem(key, JSON.stringify(chosen().map(id))); }
    catch { /* the marks last as long as the page is open */ }
    show();
  });
}
save.addEventListener("click", () => {
  const pairs = chosen().map(b => ({text: b.dataset.a, partner_text: b.dataset.b}));
  const lines = [...earlier, ...pairs].map(pair => JSON.stringify(pair) + "\\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(lines, {type: "application/jsonl"}));
  link.download = "separate.jsonl";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
show();
"""
