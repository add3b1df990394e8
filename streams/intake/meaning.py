"""The meaning of a row for the writer: a prepared candidate, a notice, or an error."""

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
    """A candidate with everything that does not depend on its owner's ledger.

    `content` has the hashes of its text, and a `fingerprint` of all its fields, so that the same id
    with other contents is detected.
    """

    candidate: Candidate
    candidate_id: str
    content: Content

    @property
    def fingerprint(self) -> str | None:
        """The hash of all fields that the producer sent."""
        return self.content.fingerprint


Meaning = Prepared | Notice | InvalidInputError


def understand(row: RawRow, renames: Mapping[str, str] = NO_RENAMES) -> Meaning:
    """The meaning of a row; if it cannot be read, the error is returned."""
    return meaning_of(
        lambda: parse(
            row.raw, source=row.source, repeat=row.repeat, reading=row.reading, renames=renames
        )
    )


def meaning_of(parsing: Callable[[], Candidate | Notice]) -> Meaning:
    """The prepared result of `parsing`, or an error equal to the one that it raises.

    The error is a copy, because a traceback refers to the frames of all callers, and these to the
    inputs with their errors. While garbage collection pauses, pydantic's objects in such a cycle
    are not freed.
    """
    try:
        parsed = parsing()
    except InvalidInputError as error:
        reason, detail = error.reason, error.detail
    else:
        return prepare(parsed) if isinstance(parsed, Candidate) else parsed
    return InvalidInputError(reason, detail)


def prepare(candidate: Candidate) -> Prepared:
    """Compute a candidate's id and hashes."""
    return Prepared(
        candidate,
        candidate_id(candidate.owner_id, candidate.source, candidate.id),
        content_of(candidate.text, fingerprint=_fingerprint(candidate)),
    )


def matches_former_fingerprint(raw: bytes, ready: Prepared, fingerprint: str | None) -> bool:
    """Whether an earlier version would have given an event this fingerprint.

    That version used the envelope's `time` as the candidate's moment if its data had none. With
    this check, events that it recorded are recognised when they are sent again.
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
    """Half a SHA-256 in hex. Absent fields are left out, so that adding a field changes nothing."""
    fields = {name: value for name, value in candidate.__dict__.items() if value or value == 0}
    return hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]
