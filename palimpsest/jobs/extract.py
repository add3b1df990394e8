"""`extract`: candidates from the file of a conversation, by the judge's service."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from palimpsest.contracts.candidate import DEFAULT_NAMESPACE
from palimpsest.contracts.errors import ModelError, TransientError, UsageError
from palimpsest.contracts.policy import Policy
from palimpsest.process.signals import run_interruptibly
from palimpsest.streams.extract.conversation import (
    INSTRUCTING,
    TIMES,
    Message,
    read_conversation,
    text_of,
)
from palimpsest.streams.extract.extract import Extraction, extract, statements
from palimpsest.streams.home_path import expand_home
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.settings import JudgeSettings

AS_THEY_ARE = "store the messages as they are (`infer` false)"
_log = logging.getLogger(__name__)


def extract_candidates(
    lines: Iterable[bytes],
    about: dict[str, str],
    write: Callable[[dict[str, Any]], None],
    *,
    policy: Policy,
    settings: JudgeSettings,
    folder: Path | None = None,
) -> Extraction:
    """Write each candidate of a conversation as it arrives; returns the totals.

    The day's budget is kept in `folder`, that of a store; without it, the budget covers this call
    only. Raises UsageError for a line that is not a message, if the service cannot be used, or if
    it is remote and the policy keeps the owner or the namespace local.
    """
    messages = read_conversation(lines)
    with ExitStack() as stack:
        where = folder or Path(stack.enter_context(TemporaryDirectory()))
        judge = Judge.beside(where, policy.judge, settings, lambda: datetime.now(UTC))
        return run_interruptibly(_extracted(judge, policy, messages, about, write))


async def _extracted(
    judge: Judge,
    policy: Policy,
    messages: list[Message],
    about: dict[str, str],
    write: Callable[[dict[str, Any]], None],
    *,
    all_or_none: bool = False,
) -> Extraction:
    """The totals; with `all_or_none`, no part is sent after one without a usable answer.

    A repeat then pays only for that one and those after it.
    """
    total = Extraction()
    async with judge:
        named = {about["owner_id"], about.get("namespace", DEFAULT_NAMESPACE)}
        if judge.service.is_remote and not named.isdisjoint(policy.local_only):
            raise UsageError(
                "the policy keeps this owner or namespace local (`local_only`), and the judge's"
                " service is remote: set a local one in [judge]"
            )
        kept = judge.cache if all_or_none else None
        async for found in extract(judge.service, judge.rules.model, messages, about, kept):
            for row in found.rows:
                write(row)
            _add(total, found)
            if all_or_none and (total.unanswered or total.unread):
                break
    return total


async def memories_of(
    messages: Sequence[Mapping[str, Any]],
    about: dict[str, str],
    policy: Policy,
    settings: JudgeSettings,
    *,
    source: str,
    folder: Path,
) -> list[dict[str, Any]]:
    """The candidates that the judge's model extracts, each with the message that it rests on.

    TransientError if the model did not answer for a part, ModelError if an answer was not in the
    requested form: then none may be stored. UsageError as for `extract_candidates`.
    """
    said = [(number, message) for number, message in enumerate(messages, start=1) if _says(message)]
    lines = [_line(one) for _, one in said]
    conversation = read_conversation(lines)
    try:
        judge = Judge.beside(folder, policy.judge, settings, lambda: datetime.now(UTC))
        found = await _extracted(
            judge, policy, conversation, about, lambda _: None, all_or_none=True
        )
    except UsageError as error:
        raise UsageError(f"{error}; or {AS_THEY_ARE}") from None
    if found.unread:
        raise ModelError(
            "the judge's model did not answer in the form that was asked for: nothing is stored;"
            f" {AS_THEY_ARE}, or choose another model (`palimpsest judge doctor` tries it)"
        )
    if found.unanswered:
        raise TransientError(f"the judge's service did not answer ({found.why}): nothing is stored")
    if found.unusable:
        _log.warning("%d extracted memories were not in the requested form", found.unusable)
    rows = []
    for row, number in zip(found.rows, found.messages, strict=True):
        origin = said[number - 1] if 0 < number <= len(said) else None
        about_it = {} if origin is None else {"message": _name_of(*origin)}
        rows.append({**row, "source": source, "metadata": about_it})
    return rows


def transcript_candidates(
    transcript: Path,
    about: dict[str, str],
    *,
    policy: Policy,
    settings: JudgeSettings,
    folder: Path,
) -> tuple[list[dict[str, Any]], list[str]]:
    """The candidates of an agent's transcript, and the problems.

    If the judge's service cannot be used, or no answer can be read, the users' statements become
    candidates verbatim: before an agent's context is compacted, too much is better than nothing.
    Raises UsageError for a line that is not a message, OSError if the file cannot be read.
    """
    lines = expand_home(transcript).read_bytes().splitlines()
    messages, rows = read_conversation(lines), list[dict[str, Any]]()
    if not messages:
        return [], []
    try:
        found = extract_candidates(
            lines, about, rows.append, policy=policy, settings=settings, folder=folder
        )
    except UsageError as error:
        return statements(messages, about), [f"what users stated is captured as it is: {error}"]
    lost, wrong = found.unanswered + found.unread, found.unusable - found.unread
    if lost and not rows:
        unanswered = f"service did not answer ({found.why})"
        why = unanswered if found.unanswered else "model gave no usable answer"
        problem = f"what users stated is captured as it is: the judge's {why}"
        return statements(messages, about), [problem]
    problems = []
    if lost:
        problems.append(f"parts of the transcript without an answer: {lost} of {found.parts}")
    if wrong:
        problems.append(f"extracted memories that were not in the requested form: {wrong}")
    return rows, problems


def spoken(messages: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A candidate with the text of each message, except empty ones and instructions to a model.

    Its metadata has the message's id, or else its number from 1, and its role.
    """
    rows = []
    for number, message in enumerate(messages, start=1):
        if not _says(message):
            continue
        text, role = text_of(message["content"]), message.get("role", "user")
        given = (message[name] for name in TIMES if message.get(name) is not None)
        said = {"message": _name_of(number, message), "role": role}
        rows.append({**about, "text": text, "occurred_at": next(given, None), "metadata": said})
    return rows


def _name_of(number: int, message: Mapping[str, Any]) -> Any:
    """A message's own id, or its number."""
    return number if message.get("id") is None else message["id"]


def _line(message: Mapping[str, Any]) -> bytes:
    """A message as a line of a conversation."""
    times = {name: message[name] for name in TIMES if name in message}
    role = message.get("role", "user")
    return orjson.dumps({**times, "role": role, "content": text_of(message["content"])})


def _says(message: Mapping[str, Any]) -> bool:
    """Whether a message has a text, and is not an instruction to a model."""
    said = message.get("role", "user") not in INSTRUCTING
    return said and bool(text_of(message.get("content")).strip())


def _add(total: Extraction, found: Extraction) -> None:
    total.rows += found.rows
    total.messages += found.messages
    total.parts += found.parts
    total.unanswered += found.unanswered
    total.unread += found.unread
    total.unusable += found.unusable
    total.why = found.why or total.why
