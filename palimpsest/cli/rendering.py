"""Draws answers on a terminal. Every text from a store passes through `shown`."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from palimpsest.charts.kinds import happened
from palimpsest.contracts.counting import counted
from palimpsest.process.output import WIDE, dollars, plain, visible

if TYPE_CHECKING:
    from palimpsest.contracts.shown import Found, History, Page, Recalled
    from palimpsest.streams.judge.storage import ServiceRefusal

# -- tables and lists ----------------------------------------------------------------------------


SHOWN_BYTES = 4096
"""Maximum number of bytes shown of a dead letter; `--raw` shows all."""

SHOWN_MANY = 20
"""Maximum number of entries shown of an answer about many; `--json` shows all."""

COLUMNS = 8
"""Maximum number of columns of a table: with ids, more are too wide for any terminal."""


def shown(value: object, style: str = "") -> Text:
    """A value as plain text, without markup; numbers without floating-point noise."""
    if isinstance(value, float):
        value = float(f"{value:.12g}")
    return Text("" if value is None else visible(str(value)), style=style, overflow="fold")


def fields(answer: Mapping[str, Any]) -> RenderableType:
    """Names and values, one per line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(max_width=WIDE)
    for name, value in answer.items():
        inner = plain(value)
        text = json.dumps(inner, ensure_ascii=False) if isinstance(inner, dict | list) else value
        grid.add_row(shown(name, "dim"), shown(text))
    return grid


def listed(title: str, names: Iterable[str]) -> RenderableType:
    """A title and a list."""
    return Group(shown(title), *(shown(f"  {name}") for name in names))


def paragraphs(sentences: Iterable[str]) -> RenderableType:
    """Sentences, separated by empty lines."""
    return Group(*(line for sentence in sentences for line in (shown(sentence), shown(""))))


def as_json(document: Any) -> RenderableType:
    """A document as indented JSON."""
    return Text(json.dumps(plain(document), ensure_ascii=False, indent=2))


def _counts(rows: Iterable[tuple[str, int]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right")
    for name, count in rows:
        grid.add_row(f"{count:,}", shown(name))
    return grid


def summary_table(summary: Mapping[str, Any]) -> RenderableType:
    """The outcomes of an ingest's rows."""
    counts = [
        ("rows", summary["rows"]),
        *((f"  {happened(kind)}", count) for kind, count in sorted(summary["decisions"].items())),
        *((f"  {what}", summary[name]) for name, what in _ALSO.items() if summary[name]),
    ]
    rate = summary["rows"] / summary["seconds"] if summary["seconds"] else 0.0
    pace = shown(f"{summary['seconds']:.1f} s, {rate:,.0f} rows/s", "dim")
    return Group(_counts(counts), pace, *_invalid(summary["invalid_rows"]))


def _invalid(rows: Iterable[Mapping[str, Any]]) -> Iterator[RenderableType]:
    for row in rows:
        file = f"{visible(row['file'])}, " if "file" in row else ""
        yield shown(f"{file}row {row['row']}: {row['reason']}: {row['detail']}")


_ALSO = {
    "known": "known already",
    "heard": "sessions and accesses recorded",
    "invalid": "invalid",
    "published": "published to the cluster",
}


def mapping_table(brought: Mapping[str, Any]) -> RenderableType:
    """The mapping of a source: our fields with theirs, and what becomes of the others."""
    grid = Table.grid(padding=(0, 2))
    for ours, theirs in brought["mapping"].items():
        grid.add_row(shown(ours, "dim"), shown(", else ".join(theirs)))
    others = [
        shown(f"{what}: {', '.join(brought[name])}")
        for name, what in (("as_metadata", "kept as metadata"), ("left_out", "left out"))
        if brought[name]
    ]
    owner = brought["owner"]
    whose = [shown(f"rows without an owner belong to {visible(owner)}")] if owner else []
    return Group(shown(f"{brought['source']} ({brought['kind']})", "bold"), grid, *whose, *others)


def foreseen_table(foreseen: Mapping[str, Any]) -> RenderableType:
    """The effect of an import: the mapping, counts, and which rows repeat which."""
    repeats = foreseen["repeats"]
    names = ("rows", "owners", "invalid", "with_vectors")
    counts = [(name.replace("_", " "), foreseen[name]) for name in names]
    more = len(repeats) - SHOWN_MANY
    return Group(
        mapping_table(foreseen),
        _counts([*counts, ("repeat another row's text", len(repeats))]),
        *_listing(repeats, ("old_id", "keep_id", "assertion_preview")),
        *([shown(f"and {more:,} more: --json lists them all")] if more > 0 else []),
        *_invalid(foreseen["invalid_rows"]),
        *(shown(remark) for remark in foreseen["remarks"]),
    )


def _listing(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[Table]:
    """The first rows as a table; nothing if there are none."""
    if not rows:
        return
    listing = Table(box=SIMPLE_HEAD)
    for name in columns:
        listing.add_column(name, overflow="fold")
    for row in rows[:SHOWN_MANY]:
        listing.add_row(*(shown(row[name]) for name in columns))
    yield listing


def export_report(report: Mapping[str, Any]) -> RenderableType:
    """The rows that a copy leaves out or changes, and how to take each change back."""
    rows = report["changed_rows"]
    counts = [
        ("rows", report["rows"]),
        ("changed in the copy", report["changed"]),
        *(
            (what, report[name])
            for name, what in (
                ("left", "not changed yet: --max-changes allows more"),
                ("left_as_they_are", "stay unchanged, though their memory has another text"),
                ("unknown", "not in the store, left unchanged"),
            )
            if report[name]
        ),
    ]
    more = len(rows) - SHOWN_MANY
    where = "nothing is written" if report["dry_run"] else f"written to {report['to']}"
    return Group(
        _counts(counts),
        *_listing(rows, ("old_id", "change", "keep_id", "assertion_preview", "take_back")),
        *([shown(f"and {more:,} more: the report and --json have them all")] if more > 0 else []),
        shown(where, "bold"),
        *([shown(report["take_back"])] if rows else []),
        *([shown(_WHY_LEFT)] if report["left_as_they_are"] else []),
    )


_WHY_LEFT = (
    "Sources of a composed text stay; --texts face makes one row of them, with that text."
    " A row with a vector gets another text only if --model-of-vectors named its model at the"
    " import, and it is the policy's; rows of mem0 and Qdrant never do."
    " The report has these rows with the texts of their memories."
)


def vectors_sentence(vectors: Mapping[str, Any]) -> str:
    """Whether and why a source's vectors were used."""
    if vectors["taken"]:
        return (
            f"its vectors were used: {vectors['tried']} of {vectors['there']:,} texts were embedded"
            f" again and agree (lowest cosine {vectors['lowest_cosine']:.4f})"
        )
    return f"its vectors were not used, so the texts are embedded: {vectors['because']}"


VECTORS_STAY_IN_THE_LOG = (
    "the log only grows, so these vectors stay in it, for un-merges, replays and answers as of an"
    " earlier time; they are no longer kept in memory"
)
THRESHOLDS_OF_THE_OLD_MODEL = (
    "the thresholds are still those of the old model: `palimpsest calibrate` finds those of the"
    " new one, and `palimpsest policy set` puts them in force (docs/embedder.md)"
)
EXACT_UNSET = (
    "this policy does not set `exact`, so texts that differ only in case, white space or"
    " compatibility characters are joined, as in earlier versions. The presets of this version set"
    ' it; in a policy of your own, set exact = "verbatim" or exact = "folded"'
)


def status_table(status: Mapping[str, Any]) -> RenderableType:
    """Counts, the decisions by kind, and the positions of the log and the projections."""
    shown_apart = "alike_ids behind decisions judge lag policy position unnamed verified".split()
    rare = ("folded", "unembedded")
    counts = [
        (name, status[name])
        for name in status
        if name not in shown_apart and (status[name] or name not in rare)
    ]
    kinds = [(f"  {happened(kind)}", count) for kind, count in status["decisions"].items()]
    policy, judge = status["policy"], status["judge"]
    calls = counted(round(judge["calls"]), "call")
    spent = f"{counted(judge['verdicts'], 'verdict')}, {calls}, {dollars(judge['usd'])}"
    refused = judge["refused"]
    lag = ", ".join(f"{name} {events} behind" for name, events in status["lag"].items())
    if status["behind"] is not None:
        lag = f"{lag}; {counted(status['behind'], 'record')} behind the cluster"
    return Group(
        _counts([*counts, ("decisions", sum(status["decisions"].values())), *kinds]),
        shown(f"{judge['waiting']:,} waiting for the judge; {spent}", "dim"),
        *([shown(judge_refused(refused), "red")] if refused else []),
        shown(f"log at position {status['position']}; {lag}", "dim"),
        shown(f"policy {policy['name']} {policy['hash']}", "dim"),
        *([shown(EXACT_UNSET, "yellow")] if policy["exact"] is None else []),
        shown(*_last_verification(status["verified"])),
        *([shown(_unnamed(status["unnamed"]), "yellow")] if status["unnamed"] else []),
        *([shown(_alike(status["alike_ids"]), "yellow")] if status["alike_ids"] else []),
    )


def _unnamed(owners: int) -> str:
    return (
        f"{counted(owners, 'owner')} called by several names, such as I and the user: declare them"
        " with `palimpsest names OWNER NAME...`, so that texts with different names are compared"
    )


def _alike(ids: int) -> str:
    return (
        f"{counted(ids, 'owner id')} in several Unicode forms (é as one character or two): each"
        " form is an owner of its own, so let producers write ids in one form, such as NFC"
    )


def _last_verification(last: Mapping[str, Any] | None) -> tuple[str, str]:
    """The last result of `verify` and its time, with a style."""
    if last is None:
        return "never verified", "dim"
    when = f"verified {last['at']} at position {last['position']:,}"
    if last["damage"]:
        return f"{when}: {last['damage']}", "red"
    style = "red" if last["differences"] else "dim"
    return f"{when}: {counted(last['differences'], 'difference')}", style


def judge_refused(refusal: ServiceRefusal) -> str:
    """Why the judge's service refuses every request, and since when."""
    since = f" since {refusal['at']}" if refusal["at"] else ""
    return f"the judge cannot be asked{since}: {refusal['why']}"


MARKS: Sequence[Literal["folded", "unsettled"]] = ("folded", "unsettled")
"""Fields of a hit that name other memories."""


def recalled(found: Sequence[Recalled]) -> RenderableType:
    """The memories found, each with its score, face and other wordings."""
    if not found:
        return shown("nothing found", "dim")
    lines: list[RenderableType] = []
    for memory in found:
        lines.append(Text.assemble(f"{memory['score']:.3f}  ", shown(memory["face"], "bold")))
        count = len(memory["members"])
        about = [memory["memory_id"], counted(count, "wording")]
        about += [
            f"{counted(len(memory[mark]), 'memory')} {mark}" for mark in MARKS if memory[mark]
        ]
        about += [
            f"{field} {memory[field]:.2f}"
            for field in ("confidence", "importance")
            if memory.get(field) is not None
        ]
        about += _ending(memory)
        lines.append(shown(f"       {'  '.join(about)}", "dim"))
        former = (member["text"] for member in memory["members"] if member["relation"] == "former")
        lines += [shown(f"       former: {text}", "dim") for text in former]
    return Group(*lines)


def _ending(memory: Mapping[str, Any]) -> list[str]:
    """When a memory expires or expired; empty if it never does."""
    if not (ends := memory.get("expires_at")):
        return []
    is_over = datetime.fromisoformat(ends) <= datetime.now(UTC)
    return [f"{'expired' if is_over else 'expires'} {ends[:19]}"]


def page(found: Page) -> RenderableType:
    """Memories as a table, with the option that gives the next page."""
    if not found["memories"]:
        return shown("no memories", "dim")
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("memory", "namespace", "updated", "wordings", "face"):
        table.add_column(name, max_width=WIDE, justify="right" if name == "wordings" else "left")
    for memory in found["memories"]:
        entries = (memory["memory_id"], memory["namespace"], memory["updated_at"][:19])
        row = (*entries, len(memory["members"]), memory["face"])
        table.add_row(*map(shown, row))
    more = f"; more with --after {found['next']}" if found["next"] else ""
    return Group(table, shown(f"{counted(found['total'], 'memory')}{more}", "dim"))


def found_memory(memory: Found) -> RenderableType:
    """The current memory of an id: its face, and each wording with its origin."""
    tree = Tree(Group(shown(memory["face"], "bold"), shown(_about(memory), "dim")))
    for member in memory["members"]:
        origin = [
            happened(member["decision"]),
            f"from {member['source']}",
            member["session_id"],
            member["occurred_at"],
        ]
        about = "  ".join(str(part) for part in origin if part)
        former = "  former" * (member["relation"] == "former")
        tree.add(
            Group(
                shown(member["text"]),
                Text.assemble(shown(about, "cyan"), shown(former, "yellow")),
                shown(f"candidate {member['candidate_id']}", "dim"),
            )
        )
    return tree


def history(found: History) -> RenderableType:
    """Every event of a memory: what it did, who did it and why, and the face after it."""
    lines: list[RenderableType] = [
        Group(shown(found["face"], "bold"), shown(_about(found), "dim")),
    ]
    face = None
    for event in found["events"]:
        lines.append(_event(event))
        if event.get("face") != face:
            face = event.get("face")
            lines.append(Text.assemble("    face: ", shown(face)))
    return Group(*lines)


def changes(page: Mapping[str, Any]) -> RenderableType:
    """Every event of a page: its owner and position, what it did, who did it and why."""
    lines: list[RenderableType] = []
    for event in page["changes"]:
        lines += (shown(f"{event['position']}  {event['owner_id']}", "bold"), _event(event))
    return Group(*lines) if lines else shown(f"nothing after {page['next']}", "dim")


def plan(found: Mapping[str, Any]) -> RenderableType:
    """The memories found, each with the reason."""
    if not found["hits"]:
        return shown("nothing found", "dim")
    lines: list[RenderableType] = []
    for hit in found["hits"]:
        why = f"{hit['score']:.3f}" if hit["why"] == "cosine" else hit["why"]
        lines.append(Text.assemble(f"{why:<7}", shown(hit["face"], "bold")))
        if hit["why"] == "alias":
            lines.append(shown(f"       by: {hit['text']}"))
        wordings = counted(len(hit["members"]), "candidate")
        lines.append(shown(f"       {hit['memory_id']}  {wordings}", "dim"))
    return Group(*lines, shown(f"token {found['token']}", "dim"))


def decision_lines(row: Mapping[str, Any]) -> RenderableType:
    """One decision, on lines that no terminal breaks."""
    similarity = row.get("similarity")
    score = "" if similarity is None else f"  {similarity:.4f}"
    head = Text.assemble(
        shown(happened(row["decision"]), "bold"),
        shown(f"{score}  {row.get('decided_at')}  at position {row.get('position')}"),
        shown("  taken back" if row.get("standing") is False else "", "yellow"),
    )
    names = ("owner_id", "decision_id", "candidate_id", "joined_to")
    ids = [shown(f"  {n:<13}{row[n]}", "dim") for n in names if row.get(n) is not None]
    return Group(head, *ids)


def query_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The rows of a query as a table, or one by one if there are too many columns."""
    if not rows:
        return shown("no rows", "dim")
    if len(rows[0]) > COLUMNS:
        return Group(*(Group(fields(row), Text()) for row in rows))
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in rows[0]:
        numbers = all(isinstance(row[name], int | float) for row in rows)
        table.add_column(shown(name), justify="right" if numbers else "left", max_width=WIDE)
    for row in rows:
        table.add_row(*(shown(value) for value in row.values()))
    return table


def ways_to_open(file: Path) -> dict[str, str]:
    """How to open the file of views with common tools."""
    return {
        "CLI": f"duckdb -readonly '{file}'",
        "Python": f"duckdb.connect({str(file)!r}, read_only=True)",
        "DBeaver": f"new connection > DuckDB > path {file}",
    }


def views(file: Path, ways: Mapping[str, str]) -> RenderableType:
    """The path of the views, and how to open them."""
    return Group(shown(file, "bold"), fields(ways))


def verified(found: Mapping[str, Any]) -> RenderableType:
    """The number of differences, and each of them."""
    details = [shown(f"  {detail}") for detail in found.get("details", [])]
    differences = counted(found["differences"], "difference")
    return Group(shown(f"{differences}, {found['checked']} checked"), *details)


def bulk_count(verb: str, done: str, answer: Mapping[str, Any]) -> str:
    """How many joins or candidates a bulk request concerns."""
    what = "join" if done in ("reversed", "reinstated") else "candidate"
    others = _count("refused", answer)
    refused = f"; {others} refused" if others else ""
    count, owners = counted(_count(done, answer), what), counted(answer["owners"], "owner")
    asks = answer.get("asks", 0)
    asked = f"; {counted(asks, 'question')} to the judge would be open again" if asks else ""
    return f"{count} of {owners} {verb}{refused}{asked}"


def selected(done: str, answer: Mapping[str, Any]) -> int:
    """The number of joins or candidates in a selection, including refused ones."""
    return _count(done, answer) + _count("refused", answer)


def _count(name: str, answer: Mapping[str, Any]) -> int:
    left_out: int = answer.get("left_out", {}).get(name, 0)
    return len(answer[name]) + left_out


def bulk(verb: str, done: str, answer: Mapping[str, Any]) -> RenderableType:
    """The result of a bulk request, with refusals; a dry run shows the texts."""
    items = [*answer.get("joins", ()), *answer.get("candidates", ())]
    more = len(items) - SHOWN_MANY
    rest = [shown(f"  … and {more:,} more; --json shows all", "dim")] if more > 0 else []
    each = (_selected_one(item) for item in items[:SHOWN_MANY])
    count = shown(bulk_count(verb, done, answer))
    return Group(count, *each, *rest, *_refused(answer), *_way_back(answer))


def _way_back(answer: Mapping[str, Any]) -> list[Text]:
    """The command that undoes what was done, if one does."""
    if not answer.get("undo"):
        return []
    return [shown(f"to take it back: palimpsest undo {answer['undo']}", "dim")]


def _selected_one(item: Mapping[str, Any]) -> RenderableType:
    """A join with its two texts, or a candidate with its own."""
    score = "" if item.get("similarity") is None else f"  {item['similarity']:.4f}"
    about = f"  {item['owner_id']}  {happened(item['decision'])}{score}  from {item['source']}"
    texts = [item["text"]] if "text" in item else [item["older_text"], item["newer_text"]]
    name = item.get("decision_id") or item["candidate_id"]
    return Group(shown(f"{about}  {name}", "dim"), *(shown(f"    {text}") for text in texts))


def dead_letters(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Dead letters, each in two lines."""
    if not found:
        return shown("no dead letters", "dim")
    return Group(
        *(
            Group(
                Text.assemble(
                    shown(letter["id"], "bold"), shown(f"  {letter['state']}  {letter['origin']}")
                ),
                shown(
                    f"  {letter['reason']}: {letter['detail']} ({counted(letter['size'], 'byte')})"
                ),
            )
            for letter in found
        )
    )


def dead_letter(about: Mapping[str, Any], original: bytes) -> RenderableType:
    """A dead letter with the beginning of its bytes, escaped if they are not UTF-8."""
    more = len(original) - SHOWN_BYTES
    decoder = getincrementaldecoder("utf-8")("backslashreplace")
    text = decoder.decode(original[:SHOWN_BYTES], final=more <= 0)  # leaves out a cut character
    rest = [shown(f"… {counted(more, 'more byte')}; --raw gives all", "dim")] if more > 0 else []
    if len(original) < about["size"]:
        rest.append(shown(f"only the first {len(original):,} bytes were kept", "dim"))
    return Group(fields(about), Text(), shown(text), *rest)


# -- trees: memories, candidates and changes -----------------------------------------------------


Member = Mapping[str, Any]


def memory_tree(memory: Mapping[str, Any]) -> RenderableType:
    """A memory: its face, and under each member those that joined it, by arrival."""
    tree = Tree(Group(shown(memory["face"], "bold"), shown(_about(memory), "dim")))
    branches: dict[str, Tree] = {}
    for member in memory["members"]:
        above = branches.get(member.get("joined_to") or "", tree)
        branches[member["candidate_id"]] = above.add(_label(member))
    return Group(tree, *_timeline(memory))


def _about(memory: Mapping[str, Any]) -> str:
    living = memory.get("living", memory.get("state") != "retracted")
    marks = [
        *([] if living else ["retracted"]),
        *(["pending"] if memory.get("state") == "pending" else []),
        *_ending(memory),
        *([f"moved from {memory['id']}"] if memory.get("moved") else []),
        *(["needs composition"] if memory.get("needs_composition") else []),
    ]
    where = f"{memory['owner_id']} / {memory['namespace']}"
    return "  ".join([f"memory {memory['memory_id']}", where, *marks])


def _label(member: Member) -> RenderableType:
    reason = Text.assemble(shown(_reason(member), "cyan"), shown(_marks(member), "yellow"))
    lines = [
        shown(member["text"]),
        reason,
        shown(f"candidate {member['candidate_id']}  decision {member['decision_id']}", "dim"),
    ]
    if member.get("reasoning"):
        lines.append(shown(f"the judge: {member['reasoning']}", "dim"))
    lines += [
        shown(
            f"also {also['decision']} to {also['joined_to']}  decision {also['decision_id']}", "dim"
        )
        for also in member.get("supports", [])
    ]
    return Group(*lines)


def _reason(member: Member) -> str:
    similarity, covered = member.get("similarity"), member.get("covered")
    parts = [
        happened(member["decision"]),
        *([] if similarity is None else [f"similarity {similarity:.4f}"]),
        *([] if covered is None else [f"covered {covered:.4f}"]),
        *([f"by the check {member['check']}"] if member.get("check") else []),
        *([f"from {member['source']}"] if member.get("source") else []),
        *([str(member["decided_at"])] if member.get("decided_at") else []),
    ]
    return "  ".join(parts)


def _marks(member: Member) -> str:
    marks = [f"cue {cue}" for cue in member.get("cues", [])]
    if not member.get("living", True):
        marks.append("retracted")
    if member.get("pending"):
        marks.append("pending")
    return "".join(f"  {mark}" for mark in marks)


def candidate_tree(candidate: Mapping[str, Any]) -> RenderableType:
    """A candidate: its decision, the neighbours considered, its joins and its memory."""
    place = (candidate["owner_id"], candidate["namespace"], candidate.get("session_id"))
    where = " / ".join(part for part in place if part)
    tree = Tree(Group(shown(candidate["text"], "bold"), shown(where, "dim")))
    tree.add(_label(candidate))
    looked_at = _looked_at(candidate.get("evidence") or {})
    if looked_at:
        branch = tree.add(shown("looked at"))
        for line in looked_at:
            branch.add(line)
    for join in candidate.get("joins", []):
        standing = "" if join["standing"] else " (reversed since)"
        about = f"{standing}  {join['decision']}  decision {join['decision_id']}"
        tree.add(shown(f"joined with {join['joined_to']}{about}"))
    tree.add(
        Group(
            shown(f"in the memory {candidate['memory_id']}"),
            shown(candidate["face"], "bold"),
        )
    )
    return Group(tree, *_timeline(candidate))


def _timeline(record: Mapping[str, Any]) -> list[RenderableType]:
    """The later statements, in order; empty if there are none."""
    entries = record.get("timeline", [])
    return [shown("timeline", "bold"), *map(_event, entries)] if entries else []


def _event(event: Mapping[str, Any]) -> RenderableType:
    who = " ".join(str(event[name]) for name in ("rank", "actor") if event.get(name))
    pair = " and ".join(event[name] for name in ("candidate_id", "other_id") if event.get(name))
    because = [event[name] for name in ("because", "reasoning", "detail") if event.get(name)]
    if event.get("consequence_of"):
        because.append(f"as a consequence of {event['consequence_of']}")
    kind = " ".join(event[name] for name in ("event", "decision", "command") if event.get(name))
    line = Text.assemble(
        shown(f"  {event['decided_at']}  "),
        shown(kind, "cyan"),
        shown("".join(f"  {part}" for part in (who, *dict.fromkeys(because)) if part)),
    )
    answers = f"  answers {event['answers']}" if event.get("answers") else ""
    return Group(
        line,
        shown(f"    {event['did']}"),
        shown(f"    {pair}  event {event['event_id']}{answers}", "dim"),
    )


def _looked_at(evidence: Mapping[str, Any]) -> Sequence[RenderableType]:
    asked = evidence.get("asked", [])
    lines: list[RenderableType] = []
    for neighbour in evidence.get("neighbours", []):
        scored = [(name, neighbour.get(name)) for name in ("cosine", "covered", "jaccard")]
        scores = "  ".join(f"{name} {score:.4f}" for name, score in scored if score is not None)
        cues = "".join(f"  cue {cue}" for cue in neighbour.get("cues", []))
        judge = "  asked the judge" if neighbour["candidate_id"] in asked else ""
        about = shown(f"{neighbour['candidate_id']}  {scores}{cues}{judge}", "dim")
        lines.append(Group(shown(neighbour["text"]), about) if neighbour.get("text") else about)
    for verdict in evidence.get("verdicts", []):
        record = f"the judge on {verdict['neighbour_id']}: {verdict['answer']}"
        lines.append(shown(f"{record}  {verdict.get('reasoning', '')}"))
    floors = [
        f"{floor['check']} {'over ' * ('exclusive' in floor)}{floor['at_least']:g} {floor['then']}"
        for floor in evidence.get("thresholds", [])
    ]
    return [*lines, shown(f"thresholds: {', '.join(floors)}", "dim")] if lines and floors else lines


def alike(pairs: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Pairs of memories with their scores and URNs."""
    lines: list[RenderableType] = []
    for pair in pairs:
        lines.append(shown(f"{pair['similarity']:.4f}", "bold"))
        for name in ("a", "b"):
            lines += [shown(f"  {pair[f'{name}_face']}"), shown(f"  {pair[name]}", "dim")]
    return Group(*lines) if lines else shown("no similar memories across namespaces", "dim")


def checked(answer: Mapping[str, Any]) -> RenderableType:
    """The decision on a checked candidate: what, why, and the neighbours considered."""
    similarity = answer["similarity"]
    score = "" if similarity is None else f"  {similarity:.4f}"
    neighbour = answer["neighbour"] or {}
    lines: list[RenderableType] = [
        Text.assemble(shown(_foreseen(answer), "bold"), shown(score)),
    ]
    if answer["result"] == "decided" and answer["reason"] is not None:
        lines.append(shown(answer["detail"]))
    elif neighbour:
        verb = "a judge would be asked about" if answer["memory_id"] is None else "it would join"
        lines += [shown(f"{verb} the memory {neighbour['memory_id']}"), shown(neighbour["face"])]
    looked_at = Tree(shown("looked at"))
    for line in _looked_at(answer):
        looked_at.add(line)
    if looked_at.children:
        lines.append(looked_at)
    took = shown(f"{answer['duration_ms']:.1f} ms; nothing was written", "dim")
    return Group(*lines, took)


def _foreseen(answer: Mapping[str, Any]) -> str:
    match answer["result"]:
        case "known":
            return f"known: {happened(answer['decision'])}"
        case "invalid":
            return f"invalid: {answer['reason']}: {answer['detail']}"
        case _:
            return happened(answer["decision"])


def changed(verb: str, answer: Mapping[str, Any]) -> RenderableType:
    """The outcome of a statement: the decisions affected and the resulting memories."""
    ids = answer.get("reversed") or [answer.get("decision_id") or answer.get("event_id")]
    head = [shown(f"{verb}: {decision_id}") for decision_id in ids if decision_id] or [shown(verb)]
    trees = (_memory(memory) for memory in answer.get("memories", []))
    consequences = [_consequence(consequence) for consequence in answer.get("consequences", [])]
    mood = "would be " if verb.startswith("would be") else ""
    mark = "without it, later decisions would be"
    mark = f"{mood}carried out" if "carried_out" in answer else mark
    title = [shown(f"{mark}:", "yellow")] if consequences else []
    return Group(*head, *_refused(answer), *trees, *title, *consequences, *_way_back(answer))


def reinstated(answer: Mapping[str, Any], *, dry_run: bool) -> RenderableType:
    """The result of taking a reversal back: joins that return, and joins that are removed."""
    mood = "would be " if dry_run else ""
    back = [shown(f"{mood}reinstated: {decision_id}") for decision_id in answer["reinstated"]]
    made = dict.fromkeys(answer["taken_back"], "made because of the reversal")
    made |= {
        decision_id: f"{made[decision_id]}, and confirmed by a review"
        for decision_id in answer["confirmed"]
    }
    out = [
        shown(f"{mood}taken back: {decision_id} ({why})", "yellow")
        for decision_id, why in made.items()
    ]
    memories = map(_memory, answer["memories"])
    return Group(*back, *out, *_refused(answer), *memories, *_way_back(answer))


def _refused(answer: Mapping[str, Any]) -> list[Text]:
    return [
        shown(
            f"refused: {refusal['decision_id']}: {refusal['detail']} ({refusal['reason']})",
            "yellow",
        )
        for refusal in answer.get("refused", [])
    ]


def _consequence(consequence: Mapping[str, Any]) -> Tree:
    """A later decision that would have been different."""
    was, then = consequence["was"], consequence["would_be"]
    asks = f", never asked about {', '.join(consequence['asks'])}" if consequence["asks"] else ""
    line = f"{_outcome(was)} would be {_outcome(then)}{asks}"
    tree = Tree(Group(shown(consequence["text"]), shown(consequence["candidate_id"], "dim")))
    tree.add(shown(line))
    return tree


def _outcome(record: Mapping[str, Any]) -> str:
    return f"{record['decision']} {record['joined_to'] or ''}".rstrip()


def _memory(memory: Mapping[str, Any]) -> Tree:
    tree = Tree(Group(shown(memory["face"], "bold"), shown(_about(memory), "dim")))
    for member in memory["members"]:
        mark = "" if member.get("living", True) else "  retracted"
        tree.add(Group(shown(member["text"]), shown(f"{member['candidate_id']}{mark}", "dim")))
    return tree
