"""What a row means to the writer: a candidate ready to be decided on, a notice, or an error."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson
from pydantic import ValidationError

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.events import Content
from palimpsest.contracts.identity import candidate_id
from palimpsest.streams.core.text import content_of
from palimpsest.streams.intake.parsing import NO_RENAMES, Notice, parse
from palimpsest.streams.intake.rows import RawRow


@dataclass(frozen=True, slots=True)
class Prepared:
    """A candidate with all that is known of it before its owner's ledger is looked at.

    `content` has the hashes of its text, and as `fingerprint` one of everything the producer said,
    so that the same id with other content is noticed.
    """

    candidate: Candidate
    candidate_id: str
    content: Content

    @property
    def fingerprint(self) -> str | None:
        """That of everything the producer said."""
        return self.content.fingerprint


Meaning = Prepared | Notice | InvalidInputError


def understand(row: RawRow, renames: Mapping[str, str] = NO_RENAMES) -> Meaning:
    """What a row means; an input that cannot be read is returned as the error about it."""
    return meaning_of(
        lambda: parse(
            row.raw, source=row.source, repeat=row.repeat, reading=row.reading, renames=renames
        )
    )


def meaning_of(parsing: Callable[[], Candidate | Notice]) -> Meaning:
    """What `parsing` returns, prepared, or an error equal to the one that it raises.

    Not that one: its traceback holds the frames of all callers, and they hold the inputs with their
    errors. The collector rests, and objects of pydantic in such a cycle are never freed.
    """
    try:
        parsed = parsing()
    except InvalidInputError as error:
        reason, detail = error.reason, error.detail
    else:
        return prepare(parsed) if isinstance(parsed, Candidate) else parsed
    return InvalidInputError(reason, detail)


def prepare(candidate: Candidate) -> Prepared:
    """Compute a candidate's ids and hashes."""
    return Prepared(
        candidate,
        candidate_id(candidate.owner_id, candidate.source, candidate.id),
        content_of(candidate.text, fingerprint=_fingerprint(candidate)),
    )


def matches_former_fingerprint(raw: bytes, ready: Prepared, fingerprint: str | None) -> bool:
    """Whether an earlier version would have given an event this fingerprint.

    They took the envelope's `time` for the candidate's moment where its data had none. So what they
    recorded is known when it is sent again.
    """
    if ready.candidate.occurred_at is not None or b'"specversion"' not in raw:
        return False
    event = orjson.loads(raw)
    if "specversion" not in event:
        return False
    fields = ready.candidate.__dict__ | {"occurred_at": event.get("time")}
    try:
        return _fingerprint(Candidate.model_validate(fields)) == fingerprint
    except ValidationError:
        return False


def _fingerprint(candidate: Candidate) -> str:
    """Half a SHA-256 in hex. Absent fields do not count, so that later ones change nothing."""
    fields = {name: value for name, value in candidate.__dict__.items() if value or value == 0}
    return hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]
