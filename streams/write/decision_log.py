"""Logs decisions, with fingerprints in place of texts (designs/replace-or-merge)."""

from __future__ import annotations

import logging

from palimpsest.contracts.events import AnyEvent, Composition, Decided, Joined, Settled
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import Judge

_log = logging.getLogger(__name__)


def fingerprint(text_hash: str) -> str:
    """The first 12 digits of a text's hash: `WHERE hash LIKE '…%'` finds it; it reveals no text."""
    return text_hash[:12]


def log_decision(event: AnyEvent, judge: Judge) -> None:
    """Log a decision: checks (debug), composed texts (info), failures (warning).

    A failure is a call to the judge without a usable result: both texts were kept, or the policy's
    fallback decided. If the policy's judge is switched off, nothing failed, because nobody was
    called.
    """
    match event:
        case Decided():
            _log_check(event)
        case Settled() | Joined():
            if event.data.join is not None and event.data.composition is not None:
                _log_merge(event.data.composition)
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
        fingerprint(data.content.hash),
        nearest.candidate_id if nearest else None,
        nearest.cosine if nearest else None,
        data.decision,
    )


def _log_merge(composition: Composition) -> None:
    of = fingerprint(composition.content.hash)
    _log.info("DEDUP_MERGE: %d memories -> %s", len(composition.sources), of)


def _log_failure(event: Settled | Joined, verdicts: tuple[Verdict, ...], judge: Judge) -> None:
    data = event.data
    answers = {verdict.answer for verdict in verdicts}
    if data.decision in ("fallback_supersede", "fallback_reject", "fallback_keep"):
        then = (
            "falling back to replace" if data.join and data.join.face == "take" else "falling back"
        )
        what = "LLM merge failed" if judge.ask == "compose" else "the judge did not answer"
        _log.warning("DEDUP_FAIL: %s, %s: %s %s", what, then, data.decision, event.subject)
    elif data.join is None and not answers.isdisjoint({"unusable", "compose"}):
        _log.warning("DEDUP_FAIL: nothing usable was composed, both stay: %s", event.subject)
