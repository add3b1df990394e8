"""The hook before an agent's context is compacted: captures memories, and reports to the agent.

The form and the wording follow designs/namespaced.md. Texts are shown as one-line previews, with
control characters and markup escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.candidate import DEFAULT_NAMESPACE
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import Decided, Settled
from palimpsest.contracts.identity import decision_id_of
from palimpsest.contracts.urn import Urn
from palimpsest.jobs.ingest import to_inputs
from palimpsest.process.cutting import place_to_cut
from palimpsest.process.output import visible
from palimpsest.queries.duplicates import reason_of
from palimpsest.streams.core.admit import FORGOTTEN
from palimpsest.streams.write.inputs import Outcome

EVENT = "PreCompact"
SOURCE = "hook:pre-compact"
PREVIEW = 40
"""Number of characters shown of a text."""
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+!|~\"&])")
NOTHING_CAPTURED = "No memories were captured before compaction."
FAILED = "Memories could not be captured before compaction; the hook's errors say why."
LATE = "Memories were not captured in time before compaction; they may be captured a little later."
FORMS = (
    "the hook reads a JSON list of objects with `content` and `namespace`, the lines of"
    " `palimpsest extract`, or an agent's call with its `transcript_path`"
)
_FIELDS = ("id", "source", "session_id", "occurred_at")
"""Optional fields of an entry, beside its text, its owner and its namespace."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A candidate of the hook's input, and its outcome."""

    owner_id: str
    content: str
    namespace: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class HookInput:
    """The hook's input: candidates, or the transcript of a session.

    `about` has the fields that all candidates of the transcript share.
    """

    entries: Sequence[Any] = ()
    transcript: Path | None = None
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class HookReport:
    """The report for the agent (`context`) and for the person (`problems`)."""

    captured: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    """Candidates sent to a cluster, which finds duplicates later."""
    skipped: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def context(self) -> str:
        """The text for the agent."""
        parts = [_sent(self.sent)] if self.sent else [_captured(self.captured)]
        if self.skipped:
            listed = "\n".join(f"- {line}" for line in self.skipped)
            parts.append(f"Skipped {counted(len(self.skipped), 'duplicate')}:\n{listed}")
        return "\n\n".join(parts)


def output(context: str) -> str:
    """The hook's document, one line of JSON."""
    document = {"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": context}}
    return orjson.dumps(document).decode()


def read(raw: bytes) -> HookInput:
    """Parse the hook's input. Raises UsageError, without quoting it, if its form is unknown."""
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return HookInput(_lines(raw))
    if isinstance(found, list):
        return HookInput(found)
    if not isinstance(found, dict):
        raise UsageError(FORMS)
    if isinstance(path := found.get("transcript_path"), str):
        session = found.get("session_id")
        about = {"session_id": session} if isinstance(session, str) and session else {}
        return HookInput((), Path(path), about)
    if "text" in found:
        return HookInput([found])
    raise UsageError(FORMS)


def _lines(raw: bytes) -> list[Any]:
    try:
        if lines := [orjson.loads(line) for line in raw.splitlines() if line.strip()]:
            return lines
        raise UsageError(f"{FORMS}, and this is empty")
    except orjson.JSONDecodeError:
        raise UsageError(f"{FORMS}, and this is not JSON") from None


def pre_compact(
    writer: StoreWriter, owner_id: str, given: Sequence[Any], now: datetime
) -> HookReport:
    """Capture what the hook was given, and report on it.

    Entries without `content` or `text` are left out, and reported by number; `namespace` is
    optional. A candidate with an `id` is captured only once. An entry with its own owner, such as
    those of `extract`, belongs to that owner.
    """
    report = HookReport()
    rows = [_row(owner_id, item) for item in given]
    for number, row in enumerate(rows, 1):
        if row is None:
            report.problems.append(f"candidate {number} has no text in `content`")
    wanted = [row for row in rows if row is not None]
    outcomes = writer.submit(to_inputs(wanted, SOURCE)) if wanted else []
    for row, outcome in zip(wanted, outcomes, strict=True):
        _report_outcome(
            writer, Capture(row["owner_id"], row["text"], row["namespace"], outcome), now, report
        )
    return report


def _row(owner_id: str, item: Any) -> dict[str, Any] | None:
    text = item.get("content", item.get("text")) if isinstance(item, Mapping) else None
    if not isinstance(text, str):
        return None
    row = {"owner_id": item.get("owner_id") or owner_id, "text": text}
    row["namespace"] = item.get("namespace") or DEFAULT_NAMESPACE
    return row | {name: item[name] for name in _FIELDS if name in item}


def _report_outcome(
    writer: StoreWriter, capture: Capture, now: datetime, report: HookReport
) -> None:
    outcome, shown = capture.outcome, preview(capture.content)
    if outcome.result == "invalid":
        report.problems.append(f"a candidate is invalid: {outcome.reason}: {outcome.detail}")
        return
    if outcome.reason == FORGOTTEN:
        report.problems.append(f"a candidate is withheld: {outcome.detail}")
        return
    if outcome.result == "published":
        report.sent.append(f"**{escaped(capture.namespace)}**: {shown}")
        return
    assert outcome.memory_id is not None
    urn = str(Urn(capture.owner_id, capture.namespace, outcome.memory_id))
    match reason_of(outcome.decision or ""):
        case None:
            report.captured.append(f"**{escaped(capture.namespace)}**: {shown}\n   URN: {urn}")
        case "RecentCapture":
            ago = _ago(now - _captured_at(writer, outcome, now))
            report.skipped.append(f'Recent capture: "{shown}" (captured {ago}, {urn})')
        case "ExactMatch":
            report.skipped.append(f'Exact match: "{shown}" (matches {urn})')
        case "SemanticSimilar":
            percent = _percent(writer, outcome)
            report.skipped.append(f'Semantic {percent}: "{shown}" (similar to {urn})')


def _captured(lines: Sequence[str]) -> str:
    if not lines:
        return NOTHING_CAPTURED
    return f"Auto-captured {counted(len(lines), 'memory')} before compaction:\n\n{_numbered(lines)}"


def _sent(lines: Sequence[str]) -> str:
    candidates = counted(len(lines), "candidate")
    begin = f"Sent {candidates} to the cluster before compaction; it leaves out duplicates"
    return f"{begin}:\n\n{_numbered(lines)}"


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _captured_at(writer: StoreWriter, outcome: Outcome, now: datetime) -> datetime:
    earlier = outcome.joined_to
    recorded = None if earlier is None else writer.reader.log.find(decision_id_of(earlier))
    return recorded.event.time if recorded else now


def _percent(writer: StoreWriter, outcome: Outcome) -> str:
    recorded = writer.reader.log.find(outcome.decision_id or "")
    event = recorded.event if recorded else None
    join = event.data.join if isinstance(event, Decided | Settled) else None
    return "?" if join is None or join.similarity is None else f"{join.similarity:.0%}"


def _ago(waited: timedelta) -> str:
    minutes = max(0, int(waited.total_seconds() // 60))  # a text of this call is later than `now`
    return f"{minutes} min ago" if minutes else "less than a minute ago"


# -- texts for display --------------------------------------------------------------------------


def preview(text: str) -> str:
    """The beginning of a text on one line, with markup escaped."""
    line = " ".join(text.split())
    if len(line) > PREVIEW:
        line = f"{line[: place_to_cut(line, PREVIEW)].rstrip()}..."
    return escaped(line)


def escaped(text: str) -> str:
    """A text on one line, with markup and control characters escaped."""
    return visible(_MARKUP.sub(r"\\\1", " ".join(text.splitlines())))
