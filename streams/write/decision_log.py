"""Logs decisions, with hashes in place of texts (designs/replace-or-merge)."""

from __future__ import annotations

import logging

from palimpsest.contracts.events import AnyEvent, Content, Decided, Joined, Settled
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import Judge
from palimpsest.streams.core.text import search_hash

_log = logging.getLogger(__name__)


def _short_hash(content: Content) -> str:
    """12 digits that reveal no text: in the analysts' views, `WHERE hash LIKE '…%'` finds it."""
    return search_hash(content)[:12]


def log_decision(event: AnyEvent, judge: Judge) -> None:
    """Log a decision: checks (debug), composed texts (info), failures (warning).

    A failure is a settlement without a usable answer: both texts were kept, or the policy's
    fallback decided. If the policy's judge is switched off, nothing failed.
    """
    match event:
        case Decided():
            _log_check(event)
        case Settled() | Joined():
            if event.data.join is not None and event.data.composition is not None:
                text = event.data.composition
                of = _short_hash(text.content)
                _log.info("DEDUP_MERGE: %d memories -> %s", len(text.sources), of)
            elif judge.enabled and event.data.evidence is not None:
                _log_failure(event, event.data.evidence.verdicts, judge)
        case _:
            pass


def _log_check(event: Decided) -> None:
    if not _log.isEnabledFor(logging.DEBUG):
        return
    data = event.data
    nearest = next(iter(data.evidence.neighbours), None)
    _log.debug(
        "DEDUP_CHECK: %s closest match %s sim=%s -> %s",
        _short_hash(data.content),
        nearest.candidate_id if nearest else None,
        nearest.cosine if nearest else None,
        data.decision,
    )


def _log_failure(event: Settled | Joined, verdicts: tuple[Verdict, ...], judge: Judge) -> None:
    data = event.data
    answers = {verdict.answer for verdict in verdicts}
    composes = judge.ask == "compose"
    if data.decision in ("fallback_supersede", "fallback_reject", "fallback_keep"):
        then = (
            "falling back to replace" if data.join and data.join.face == "take" else "falling back"
        )
        what = "LLM merge failed" if composes else "the judge did not answer"
        _log.warning("DEDUP_FAIL: %s, %s: %s %s", what, then, data.decision, event.subject)
    elif data.join is None and not answers.isdisjoint({"unusable", "compose"}):
        composed = composes or "compose" in answers
        what = "nothing usable was composed" if composed else "the judge's answer was unusable"
        _log.warning("DEDUP_FAIL: %s, both stay: %s", what, event.subject)
