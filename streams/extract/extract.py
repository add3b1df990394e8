"""Extracts memories from a conversation, part by part, and validates every answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from palimpsest.contracts.candidate import MAX_TEXT_BYTES
from palimpsest.contracts.identity import session_of
from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.extract.conversation import Message, parts
from palimpsest.streams.extract.courtesies import is_courtesy
from palimpsest.streams.extract.sentences import asks, only_asks, sentences_of
from palimpsest.streams.judge.prompts import Prompt, tool
from palimpsest.streams.search.content import HAN, KANA

if TYPE_CHECKING:
    from palimpsest.streams.judge.service import Service, ServiceReply
    from palimpsest.streams.judge.storage import VerdictCache

PART_BYTES = 24_000
"""The bytes of a conversation in one request: about eight thousand tokens."""
FEWEST_WORDS = 4
"""Sentences with fewer words are not remembered unless a model says so."""
_DENSE = rf"{HAN}{KANA}\uac00-\ud7a3"
_WORD = compile_later(rf"[{_DENSE}]|(?:(?![{_DENSE}])\w)\S*?(?=[\s{_DENSE}]|$)")
"""A word; in Chinese, Japanese and Korean a character counts as one."""
ANSWERS = 40
"""The number of entries for which an answer has room (`streams.judge.messages.answer_limit`)."""


@dataclass(slots=True)
class Extraction:
    """Extracted candidates: `rows` fit for `ingest`, and counts.

    `messages` has the number of the message that each row rests on, from 1; 0 if that is unknown.
    `unanswered` counts parts without an answer, and `unread` parts whose whole answer was cut off
    or in another form than requested. `unusable` counts the latter parts, and single memories in
    another form. `why` is the reason of the last part without an answer.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    parts: int = 0
    unanswered: int = 0
    unread: int = 0
    unusable: int = 0
    why: str = ""


class _Memory(BaseModel):
    model_config = ConfigDict(strict=True)

    content: str
    message: int = 0


@cache
def extract_prompt() -> Prompt:
    """The shipped prompt, with its tool: for memories of one to three sentences."""
    text = files("palimpsest.streams.extract").joinpath("extract.md").read_text(encoding="utf-8")
    entry = {
        "content": {"type": "string", "description": "The fact, in one to three sentences."},
        "message": {"type": "integer", "description": "The number of the message it rests on."},
    }
    schema = {
        "type": "object",
        "properties": entry,
        "required": list(entry),
        "additionalProperties": False,
    }
    listed = {"type": "array", "items": schema, "description": "One entry for each memory."}
    return Prompt("extract", text, tool("remember", "Give all memories.", {"memories": listed}))


async def extract(
    service: Service,
    model: str,
    messages: list[Message],
    about: dict[str, str],
    kept: VerdictCache | None = None,
) -> AsyncIterator[Extraction]:
    """The candidates of a conversation, part by part; all of them have the fields in `about`.

    The session is the one in `about`; if there is none, its id follows from the time of the first
    message. Answers about parts are kept in `kept` until the caller has asked for all: if it ends
    at a part that gave nothing, a repeat pays only for that part and those after it.
    """
    first = next((message.at for message in messages if message.at), None)
    if first is not None:
        about = {"session_id": session_of(first)} | about
    from palimpsest.streams.judge.judge import end_if_cancelled  # late: without a judge, not needed

    asked = service.exchange.form(extract_prompt())
    requests: list[bytes] = []
    for part in parts(messages, PART_BYTES):
        payload = _payload(part)
        requests.append(hashlib.sha256(f"{asked.id}\n{model}\n{payload}".encode()).digest())
        known = kept.part(requests[-1]) if kept else None
        if known is not None:
            yield _read(known, part, about)
            continue
        reply = await service.ask(asked, model, payload, ANSWERS, finish=kept is not None)
        found = _answered(reply, part, about)
        if kept and not (found.unanswered or found.unread):
            kept.keep_part(requests[-1], reply.given)
            end_if_cancelled()
        yield found
    if kept:
        kept.drop_parts(requests)


def _payload(part: Sequence[tuple[int, Message]]) -> str:
    listed = [
        {
            "number": number,
            "role": message.role,
            "at": message.at.isoformat() if message.at else None,
            "content": message.content,
        }
        for number, message in part
    ]
    return json.dumps({"messages": listed}, ensure_ascii=True)


def _answered(
    reply: ServiceReply, part: Sequence[tuple[int, Message]], about: dict[str, str]
) -> Extraction:
    if reply.outcome == "unavailable":
        return Extraction(parts=1, unanswered=1, why=reply.why)
    if reply.outcome == "unusable" or reply.cut:
        return Extraction(parts=1, unread=1, unusable=1)
    return _read(reply.given, part, about)


def statements(messages: Sequence[Message], about: dict[str, str]) -> list[dict[str, Any]]:
    """The candidates of a conversation, found without a model: its users' statements, verbatim.

    Questions, courtesies and sentences with too few words are left out.
    """
    numbered = [*enumerate(messages, start=1)]
    stated = [
        {"content": sentence, "message": number}
        for number, message in numbered
        if message.role == "user"
        for sentence in sentences_of(message.content)
        if len(_WORD.findall(sentence)) >= FEWEST_WORDS
        and not (asks(sentence) or is_courtesy(sentence))
    ]
    return _read({"memories": stated}, numbered, about).rows


def states(text: str) -> bool:
    """Whether a text has a sentence that is neither a courtesy nor a mere question.

    A question may state something about its speaker: *Can you remember that I'm vegetarian?*
    """
    return any(
        _WORD.search(one) and not (only_asks(one) or is_courtesy(one)) for one in sentences_of(text)
    )


def _read(given: Any, part: Sequence[tuple[int, Message]], about: dict[str, str]) -> Extraction:
    listed = given.get("memories") if isinstance(given, dict) else None
    if not isinstance(listed, list):
        return Extraction(parts=1, unread=1, unusable=1)
    found = Extraction(parts=1)
    times = {number: message.at for number, message in part}
    ids: set[str] = set()
    for item in listed:
        row = _row(item, times, about)
        if row is None:
            found.unusable += 1
        elif row["id"] not in ids:
            ids.add(row["id"])
            found.rows.append(row)
            found.messages.append(item.get("message", 0))
    return found


def _row(item: Any, times: dict[int, datetime | None], about: dict[str, str]) -> Any:
    """A candidate for `ingest`, with an id derived from it; None if it is unusable."""
    try:
        memory = _Memory.model_validate(item)
        text = memory.content.strip()
        size = len(text.encode())
    except (ValidationError, UnicodeEncodeError):
        return None
    if not text or "\0" in text or size > MAX_TEXT_BYTES:
        return None
    row = {**about, "text": text}
    at = times.get(memory.message)
    if at is not None:
        row["occurred_at"] = at.isoformat()
    # The same for the same memory of a session, so that extraction is idempotent.
    canonical = json.dumps(row, sort_keys=True, ensure_ascii=True)
    return {"id": hashlib.sha256(canonical.encode()).hexdigest()[:32], "source": "extract", **row}
