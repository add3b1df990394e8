"""Commands: each is one decision about one owner's ledger (docs/design.md, The core).

`Admit` comes from producers, `Access` and the notices about sessions from producers or requests,
the rest from requests. A request (`palimpsest.contracts.requests`) is wire format: it may lead to
many commands, of several owners, and has an answer. Its commands' ids follow from its own id, which
is fresh for each invocation. A `OneCommand` request leads to exactly one command, of the same kind.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct
from pydantic import Field

from palimpsest.contracts.candidate import Candidate, CandidateFields, Name
from palimpsest.contracts.events import (
    Again,
    BatchJoin,
    BatchStep,
    Composition,
    Content,
    Figures,
    FirstDecision,
    Join,
    Rank,
    Settlement,
    Speaker,
    Use,
    Vector,
)
from palimpsest.contracts.evidence import Evidence, Neighbour, Verdict
from palimpsest.contracts.model import Model, Timestamp
from palimpsest.contracts.names import OwnerNames


class Admit(Struct, frozen=True):
    """Admit a candidate that has been read, hashed, embedded and compared with its neighbours.

    `content.vector` is None for a verbatim repeat, which is never embedded. `digest` is the digest
    of the producer's bytes and identifies their dead letter; it is empty for a new id, which cannot
    conflict. `down` names what was unavailable: `search`, or `embedder`, in which case there is no
    vector. `forgotten` are near texts that were forgotten and whose rewordings wait for a person.
    `nearest` is the nearest by cosine, however far, if anything was searched.
    """

    candidate_id: str
    candidate: CandidateFields
    content: Content
    digest: str
    neighbours: tuple[Neighbour, ...] = ()
    down: tuple[str, ...] | None = None
    forgotten: tuple[Neighbour, ...] = ()
    nearest: Neighbour | None = None


class OwnerCommand(Model):
    """The fields of every command but `Admit`.

    `cause` is the request or the run that it belongs to, if its events name that. With
    `more_follow`, more commands of the same request come after it; whatever waits for them is done
    after the last one.
    """

    command_id: str
    owner_id: Name
    actor: str | None = None
    because: str | None = None
    cause: str | None = None
    more_follow: bool = False


class Merge(OwnerCommand):
    """A person states that `a` and `b` are the same; `face` is the candidate whose side speaks."""

    command: Literal["merge"] = "merge"
    a: str
    b: str
    face: str | None = None


class Combine(OwnerCommand):
    """A batch rule, or the judge for it, finds that two existing candidates are the same.

    `face` says which of the two speaks, by arrival: the older (`keep`), the newer (`take`), or the
    composed text (`text`). The score of the pair is that of the neighbour in the evidence. With
    `outright` the newer one's face speaks even if it happened earlier.
    """

    command: Literal["combine"] = "combine"
    a: str
    b: str
    decision: BatchJoin
    face: Literal["keep", "take", "text"]
    composition: Composition | None = None
    evidence: Evidence
    rank: Literal["rule", "judge"] = "rule"
    outright: bool = False


class Separate(OwnerCommand):
    """A person, a review or a batch run states that `a` and `b` are not the same.

    `similarity` is the score of the pair, if it was compared.
    """

    command: Literal["separate"] = "separate"
    a: str
    b: str
    rank: Rank = "person"
    verdicts: tuple[Verdict, ...] | None = None
    similarity: float | None = None


class Unmerge(OwnerCommand):
    """Reverse one join; a review includes the verdicts that it rests on.

    As a `consequence_of` another reversal, it separates nothing.
    """

    command: Literal["unmerge"] = "unmerge"
    decision_id: str
    rank: Rank = "person"
    verdicts: tuple[Verdict, ...] | None = None
    consequence_of: str | None = None


class Withdraw(OwnerCommand):
    """Withdraw the latest statement about a pair: a separation or a merge."""

    command: Literal["withdraw"] = "withdraw"
    a: str
    b: str


class Redecide(OwnerCommand):
    """Decide again on a candidate, without joins that were reversed (docs/design.md, Un-merge).

    `consequence_of` is the first of these joins. The candidate's own join, if any, is reversed
    already.
    """

    command: Literal["redecide"] = "redecide"
    candidate_id: str
    consequence_of: str
    decision: FirstDecision | Settlement
    join: Join | None = None
    composition: Composition | None = None
    evidence: Evidence
    rank: Rank = "rule"


class Reinstate(OwnerCommand):
    """Take a reversal back.

    `also` are joins that may come back with it if none of them could come back alone.
    """

    command: Literal["reinstate"] = "reinstate"
    decision_id: str
    rank: Rank = "person"
    also: tuple[str, ...] = ()


class Confirm(OwnerCommand):
    """A review agrees with a decision."""

    command: Literal["confirm"] = "confirm"
    decision_id: str
    rank: Rank = "person"
    verdicts: tuple[Verdict, ...] | None = None


class Update(OwnerCommand):
    """Change the text of a memory, which is named by any of its members.

    The candidate is the new text with its id; `content.vector` is None if the text is known.
    `expect` is a version of the memory, or the candidate that speaks for it: nothing happens if the
    memory has changed since. If another memory already has the text, `merge` joins the two.
    `neighbours` and `forgotten` are as in `Admit`, if an agent might reword a forgotten text.
    """

    command: Literal["update"] = "update"
    memory: str
    candidate_id: str
    candidate: Candidate
    content: Content
    down: tuple[str, ...] | None = None
    expect: str | None = None
    merge: bool = False
    neighbours: tuple[Neighbour, ...] = ()
    forgotten: tuple[Neighbour, ...] = ()
    rank: Speaker = "person"


class Undo(OwnerCommand):
    """Undo an update, by its decision: its text is retracted, and nothing is separated."""

    command: Literal["undo"] = "undo"
    decision_id: str
    rank: Speaker = "person"


class Forget(OwnerCommand):
    """Forget memories, each named by any of its members, with all their wordings.

    `expect` is their version, together, or a token that covers each: nothing happens if one has
    changed since. `again` says what happens to their texts if they arrive again; with `earlier`, a
    text that happened before the forgetting is refused. `cause` is the request, which names the
    forgetting.
    """

    command: Literal["forget"] = "forget"
    memories: Annotated[tuple[str, ...], Field(min_length=1)]
    expect: str | None = None
    again: Again = "ask"
    earlier: Literal["refuse"] | None = None
    speaker: Literal["agent"] | None = None
    cause: str


class Retract(OwnerCommand):
    """Hide a candidate; if an update added it, the update is undone.

    With `again`, it is forgotten, as by `Forget`, and the update stays.
    """

    command: Literal["retract"] = "retract"
    candidate_id: str
    again: Again | None = None
    earlier: Literal["refuse"] | None = None


class SetExpiry(OwnerCommand):
    """Change when a candidate expires; only a person may choose never (None)."""

    command: Literal["set_expiry"] = "set_expiry"
    candidate_id: str
    expires_at: Timestamp | None = None
    rank: Speaker = "person"


class SetNames(OwnerCommand):
    """Replace the names that an owner is called by; an empty list removes them."""

    command: Literal["set_names"] = "set_names"
    names: OwnerNames


class Restore(OwnerCommand):
    """Take a retraction back."""

    command: Literal["restore"] = "restore"
    candidate_id: str


class Settle(OwnerCommand):
    """The judge's verdicts on a pending candidate, best neighbour first."""

    command: Literal["settle"] = "settle"
    candidate_id: str
    verdicts: Annotated[tuple[Verdict, ...], Field(min_length=1)]
    composition: Composition | None = None
    rank: Rank = "judge"


class Compose(OwnerCommand):
    """A recomposed text for a memory that needs one."""

    command: Literal["compose"] = "compose"
    decision_id: str
    composition: Composition
    verdicts: tuple[Verdict, ...] = ()


class Access(OwnerCommand):
    """A producer used the memory of this candidate, or several memories, listed in `uses`.

    In that case the candidate is that of the first use. `others` are the ids of further commands
    whose uses were added to this one's.
    """

    command: Literal["access"] = "access"
    candidate_id: str
    uses: tuple[Use, ...] | None = None
    others: tuple[str, ...] | None = None


class Embed(OwnerCommand):
    """Add a vector to a stored text, named by its first candidate.

    The text was stored while the model was down or before long texts had windows, or it has no
    vector of a model that may come into force. With `text_id`, the text is the one that this event
    composed.
    """

    command: Literal["embed"] = "embed"
    candidate_id: str
    vector: Vector
    text_id: str | None = None


class EndSession(OwnerCommand):
    """A producer's session ended."""

    command: Literal["end_session"] = "end_session"
    session_id: Name


class Compact(OwnerCommand):
    """A producer compacted the conversation of a session."""

    command: Literal["compact"] = "compact"
    session_id: Name


class RecordRun(OwnerCommand):
    """A batch run over the owner's memories is done; its joins are commands of their own."""

    command: Literal["record_run"] = "record_run"
    step: BatchStep
    due: Timestamp
    figures: Figures
    session_id: str | None = None


Operation = Annotated[
    Merge
    | Combine
    | Separate
    | Unmerge
    | Withdraw
    | Redecide
    | Reinstate
    | Confirm
    | Update
    | Undo
    | Forget
    | Retract
    | Restore
    | SetExpiry
    | SetNames
    | Settle
    | Compose
    | Access
    | Embed
    | EndSession
    | Compact
    | RecordRun,
    Field(discriminator="command"),
]
"""Every command but a candidate's admission."""
