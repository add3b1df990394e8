"""A policy as data: checks, zones of similarity, what a missing judge means (docs/design.md)."""

from __future__ import annotations

import hashlib
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from palimpsest.contracts.candidate import CandidateFields, Duration, Kind
from palimpsest.contracts.errors import NewerError
from palimpsest.contracts.event_data import PolicySetData
from palimpsest.contracts.language import Language
from palimpsest.contracts.model import Model

Score = Annotated[float, Field(ge=0.0, le=1.0)]
Action = Literal["auto_reject", "superseded", "pending"]
Fallback = Literal["keep", "reject", "supersede"]
Tokenizer = Literal["words", "content", "morphemes"]
Exact = Literal["verbatim", "folded"]
Question = Literal["same", "relation", "compose"]
Search = Literal["candidates", "memories"]
"""What the judge is asked about a pair of the gray zone.

`same`: same or different, in one order. `relation`: same, update, compose or different, in both
orders where it would replace or compose; then one call composes. `compose`: one call composes.
"""

ADDED = "added"
"""Marks a field that policies had not from the first: at its default, it changes no hash.

So what was recorded under a policy keeps naming it. The default of such a field never changes.
"""


class Since(str):
    """Beside ADDED: the first version of Palimpsest that has the field; those of 0.1 have none.

    A policy that sets such a field requires that version, and its event says so.
    """


class _Strict(Model):
    """A typing error in a policy must be found when it is read, so unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class RecentCheck(_Strict):
    """An exact repeat within `seconds` of the earliest is called `recent_capture`.

    With a `capacity`, only where the text is among that many texts that the owner said last.
    """

    check: Literal["recent"]
    seconds: Annotated[int, Field(gt=0)]
    capacity: Annotated[int | None, Field(gt=0), ADDED] = None


class TokenCheck(_Strict):
    """Token Jaccard of at least `threshold` among the `top` nearest → `token_reject`.

    With `exclusive`, of more than that. What tokens are says `tokenizer`: `words` are those of the
    guard, `content` words between white space without stopwords, `morphemes` words of a dictionary.
    `among` says whom the Jaccard is computed with: all of the `scope`, or the `top` of a
    `full_text` search.
    """

    check: Literal["tokens"]
    threshold: Score
    top: Annotated[int, Field(ge=1, le=100)] = 5
    guard: bool = True
    exclusive: Annotated[bool, ADDED] = False
    tokenizer: Annotated[Tokenizer, ADDED] = "words"
    among: Annotated[Literal["scope", "full_text"], ADDED] = "scope"


class SessionCheck(_Strict):
    """Cosine of at least `threshold` with one of the session's `last` texts → `session_reject`.

    With `nearest`, only with those of the session among that many nearest in the scope.
    """

    check: Literal["session"]
    threshold: Score
    last: Annotated[int, Field(ge=1, le=1000)] = 20
    guard: bool = True
    nearest: Annotated[int | None, Field(ge=1, le=1000), ADDED] = None


class Zone(_Strict):
    """What happens at a cosine of `at_least` and more, up to the zone above.

    With `guard`, the action needs texts that are near-identical in order and have no cue;
    what the guard stops is handed to the judge.
    """

    at_least: Score
    action: Action
    guard: bool = False


class CosineCheck(_Strict):
    """The `top` nearest by cosine, each treated as its zone says; below the last zone: stored.

    With `near_identical`, those that the guard accepts join from that cosine on, whatever their
    zone: there the guard's word is the proof, and the cosine only finds them.
    """

    check: Literal["cosine"]
    zones: Annotated[tuple[Zone, ...], Field(min_length=1)]
    top: Annotated[int, Field(ge=1, le=100)] = 5
    min_characters: Annotated[int, Field(ge=0)] = 0
    namespaces: dict[str, Score] = {}
    near_identical: Annotated[Score | None, ADDED] = None

    @model_validator(mode="after")
    def _zones_descend(self) -> Self:
        floors = [zone.at_least for zone in self.zones]
        if floors != sorted(set(floors), reverse=True):
            raise ValueError(f"zones: {_not_below(floors)}")
        if self.namespaces and len(self.zones) != 1:
            raise ValueError("thresholds by namespace need a policy of exactly one zone")
        return self

    def zones_of(self, namespace: str) -> tuple[Zone, ...]:
        """The zones in force in a namespace, highest first."""
        own = self.namespaces.get(namespace)
        if own is None:
            return self.zones
        return (self.zones[0].model_copy(update={"at_least": own}),)


def _not_below(floors: list[float]) -> str:
    """The threshold that is not below the one before it, as written in the policy."""
    pairs = itertools.pairwise(floors)
    upper, lower = next(pair for pair in pairs if pair[1] >= pair[0])
    return f"the lower threshold {lower:g} must be below the upper one, {upper:g}"


Check = Annotated[
    RecentCheck | TokenCheck | SessionCheck | CosineCheck, Field(discriminator="check")
]


class Judge(_Strict):
    """What the judge is asked, about how many gray neighbours, and what happens without an answer.

    After the gray neighbours come the `frames` newest candidates of the newcomer's frame, whatever
    their cosine; then, of an owner with names, the nearest from `of_owner` on where either text
    speaks of the owner: rewordings of what is said of one person are often below all zones. With
    `bridges`, a newcomer that a rule joins is asked about its gray neighbours and the one
    `of_owner`, too: they may be of another memory. `model` and `review_model` are names of the
    service's models. A packed request takes at most `share` of the model's context and `most`
    pairs. With `enabled` false the judge is not asked: a gray candidate is settled at once as if
    without an answer, and a batch run leaves gray pairs alone.
    """

    neighbours: Annotated[int, Field(ge=1, le=20)] = 3
    unavailable: Fallback = "keep"
    ask: Annotated[Question, ADDED] = "relation"
    model: Annotated[str, Field(min_length=1), ADDED] = "claude-haiku-5-5"
    review_model: Annotated[str, Field(min_length=1), ADDED] = "claude-opus-5-5"
    share: Annotated[float, Field(gt=0.0, le=1.0), ADDED] = 0.5
    most: Annotated[int, Field(ge=1, le=500), ADDED] = 500
    enabled: Annotated[bool, ADDED] = True
    frames: Annotated[int, Field(ge=0, le=4), ADDED] = 0
    bridges: Annotated[bool, ADDED] = False
    of_owner: Annotated[Score | None, ADDED] = None


class _Dedupe(_Strict):
    """When an owner's run is due at all: conditions that `--force` of a person overrules.

    More than `more_than` living memories, and `hours` since the owner's last run was due.
    """

    more_than: Annotated[int, Field(ge=0), ADDED] = 0
    hours: Annotated[float, Field(ge=0.0), ADDED] = 0.0


class TokenDedupe(_Dedupe):
    """Batch rule: of each memory, the `candidates` that share most of its key tokens are compared.

    By cosine, and what the policy's zones say of it: joined, handed to the judge, or left alone.
    """

    rule: Literal["tokens"]
    candidates: Annotated[int, Field(ge=1, le=1000)] = 30


class ClusterDedupe(_Dedupe):
    """Batch rule: memories that are near each other, or through others, become one, all at once.

    Near is what reaches the lowest zone of the cosine check. Where every pair that holds a cluster
    together is in a joining zone the newest speaks; else one text is composed of all.
    """

    rule: Literal["clusters"]


class PairsDedupe(_Dedupe):
    """Batch rule: near pairs, those of the most important memories first.

    Near is a cosine `above` the threshold, itself excluded, among the `top` nearest of either of
    the two; with `counts_itself` a memory is the first of its own. By `keep`, who stays: the more
    important of the two. Of `equal` ones both texts, one after the other (`concatenate`), or one
    text that the judge composes (`compose`). What was absorbed in a run absorbs nothing in it.
    """

    rule: Literal["pairs"]
    above: Score
    top: Annotated[int, Field(ge=1, le=100)] = 5
    counts_itself: bool = False
    keep: Literal["importance"] = "importance"
    equal: Annotated[Literal["concatenate", "compose"], ADDED] = "concatenate"

    @model_validator(mode="after")
    def _looks_at_others(self) -> Self:
        if self.top == 1 and self.counts_itself:
            raise ValueError("top: with counts_itself, a top of 1 is the memory alone; 2 or more")
        return self


Dedupe = Annotated[TokenDedupe | ClusterDedupe | PairsDedupe, Field(discriminator="rule")]
"""The batch rules of `palimpsest dedupe`."""


Worth = Literal["confidence", "importance"]
"""What a candidate says of its own worth, from 0 to 1."""


class Absent(_Strict):
    """What a candidate that does not say its confidence or importance counts as having."""

    confidence: Score | None = None
    importance: Score | None = None


class Decay(_Strict):
    """How a memory's confidence or importance fades, as it is read; nothing is written back.

    It loses the share `rate` every `days`, once `after_days` have passed since it was last used or
    joined (`access`), or since it began (`creation`). It fades no further than to `floor`.
    """

    field: Worth
    rate: Annotated[float, Field(gt=0.0, lt=1.0)]
    days: Annotated[float, Field(gt=0.0)] = 1.0
    after_days: Annotated[float, Field(ge=0.0)] = 0.0
    floor: Score = 0.0
    since: Literal["access", "creation"]


class Consolidate(_Strict):
    """At the end of a session, memories of it that share most of their words become one.

    Those of one category, where the Jaccard of every pair is `above` that. Left alone are memories
    of the protected categories and kinds and those whose confidence is not below
    `confidence_below`; and all of them in a namespace with fewer than `fewest` others.
    """

    above: Score
    tokenizer: Tokenizer = "content"
    fewest: Annotated[int, Field(ge=2)] = 2
    confidence_below: Score | None = None
    protected_categories: tuple[str, ...] = ()
    protected_kinds: tuple[Kind, ...] = ()


class Similar(_Strict):
    """The similar facts of a candidate that joins nothing: the `most` nearest, from `at_least` on.

    By cosine or token Jaccard, among those that the checks look at. It blocks nothing.
    """

    at_least: Score
    most: Annotated[int, Field(ge=1, le=100)] = 5


class Recall(_Strict):
    """What `recall` leaves out, and whether it records what it found.

    Memories whose confidence, decayed, is under `min_confidence` are left out. With `accessed`
    their use is recorded, at most once a minute for each owner.
    """

    min_confidence: Score | None = None
    accessed: bool = False


class Certificate(_Strict):
    """Which labels a policy's thresholds come from, and what was found there (docs/proof.md).

    `risk` says of what `budget` is a share, and `confidence` how sure it is. The `tested` ones of
    the labels (`data` is their digest) chose the thresholds, which join `joined` of them, `wrong`
    of those wrongly; the `held_out` ones were looked at afterwards. If there are none of these, the
    thresholds were tested as they were. It is void for another embedder or guard.
    """

    risk: str
    budget: Score
    confidence: Score
    date: str
    data: str
    embedder: str
    guard: str
    labels: int
    tested: int
    joined: int
    wrong: int
    held_out: int
    held_out_joined: int
    held_out_wrong: int
    held_out_bound: Score


class Policy(_Strict):
    """Thresholds and rules, named by the hash of their content.

    With `enabled` false no check runs: exact repeats are joined, as always, and all else is stored.
    `exact` says what an exact repeat is beside the verbatim one, which always is: with `folded`,
    one that differs in case and white space alone; with `verbatim`, none. Without the setting, as
    in policies that were recorded before there was one, one that has the same form of
    `nfkc-casefold-space/1`.
    `search_fails`: whether a scope that cannot be searched stops the stream or has its newcomers
    stored uncompared (fail open). `embedder_fails`: the same where the model is down; vectors
    follow when it is back. `certificate`: where the thresholds come from, which is no rule.
    `expiry`: after how long a candidate of a category expires that does not say so itself.
    `local_only`: owners, namespaces and categories of which no text is sent to a remote service.
    `languages`: those that the guard knows beside its own; one of the same code takes its place.
    """

    name: Annotated[str, Field(min_length=1, max_length=64)]
    description: str = ""
    model: str
    search: Search
    protected_categories: tuple[str, ...] = ()
    checks: tuple[Check, ...]
    judge: Judge = Judge()
    dedupe: Annotated[Dedupe | None, ADDED] = None
    enabled: Annotated[bool, ADDED] = True
    search_fails: Annotated[Literal["stop", "store"], ADDED] = "stop"
    absent: Annotated[Absent, ADDED] = Absent()
    decay: Annotated[Decay | None, ADDED] = None
    recall: Annotated[Recall, ADDED] = Recall()
    similar: Annotated[Similar | None, ADDED] = None
    consolidate: Annotated[Consolidate | None, ADDED] = None
    embedder_fails: Annotated[Literal["stop", "store"], ADDED] = "stop"
    exact: Annotated[Exact | None, ADDED] = None
    certificate: Annotated[Certificate | None, ADDED] = None
    expiry: Annotated[dict[str, Duration], Field(exclude_if=operator.not_), ADDED] = {}
    local_only: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...], Field(exclude_if=operator.not_), ADDED
    ] = ()
    languages: Annotated[tuple[Language, ...], Field(exclude_if=operator.not_), ADDED] = ()

    def keeps_local(self, fields: CandidateFields) -> bool:
        """Whether `local_only` names the owner, the namespace or the category of a candidate."""
        return not {fields.owner_id, fields.namespace, fields.category}.isdisjoint(self.local_only)

    @property
    def active(self) -> tuple[Check, ...]:
        """The checks that run: none where the policy is switched off."""
        return self.checks if self.enabled else ()

    @property
    def compares_words(self) -> bool:
        """Whether a check that runs compares words, which needs no vector."""
        return any(isinstance(check, TokenCheck) for check in self.active)

    @property
    def proves(self) -> bool:
        """Whether the guard's word alone joins two texts, from a low cosine on."""
        return any(
            isinstance(check, CosineCheck) and check.near_identical is not None
            for check in self.active
        )

    @property
    def asks_guard(self) -> bool:
        """Whether any rule joins only what the guard accepts."""
        return any(
            check.near_identical is not None or any(zone.guard for zone in check.zones)
            if isinstance(check, CosineCheck)
            else isinstance(check, TokenCheck | SessionCheck) and check.guard
            for check in self.checks
        )

    @model_validator(mode="after")
    def _each_check_once(self) -> Self:
        names = [check.check for check in self.checks]
        if len(names) != len(set(names)):
            raise ValueError("each check may stand only once")
        return self

    @model_validator(mode="after")
    def _each_language_once(self) -> Self:
        codes = [language.code for language in self.languages]
        if len(codes) != len(set(codes)):
            raise ValueError("languages: each code may stand only once")
        return self

    @model_validator(mode="after")
    def _pairs_are_of_candidates(self) -> Self:
        """What a merge changes, such as a face, is found anew; these are asked about once."""
        for name in ("frames", "bridges", "of_owner"):
            if getattr(self.judge, name) and self.search != "candidates":
                raise ValueError(f'judge.{name} needs search = "candidates"')
        return self

    @cached_property
    def hash(self) -> str:
        """`sha256:` and 16 hex digits of the rules; description and certificate do not count."""
        left_out = {**unhashed(self), "description": True, "certificate": True}
        rules = self.model_dump_json(exclude=left_out)
        return "sha256:" + hashlib.sha256(rules.encode()).hexdigest()[:16]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with other rules perhaps, and so with a hash of its own."""
        copy = super().model_copy(update=update, deep=deep)
        copy.__dict__.pop("hash", None)
        return copy


def recorded_policy(data: PolicySetData) -> Policy:
    """The policy of an event; NewerError for rules of a newer version, which were valid there.

    Settings that are not known here and stand at their default say nothing: the hash shows it.
    """
    rules = data.policy
    try:
        return Policy.model_validate(rules)
    except ValidationError as error:
        errors = error.errors()
    if all(error["type"] == "extra_forbidden" for error in errors):
        policy = Policy.model_validate(_without(rules, [error["loc"] for error in errors]))
        if policy.hash == data.hash:
            return policy
    names = ", ".join(".".join(map(str, error["loc"])) for error in errors)
    raise NewerError(
        f"the policy {rules.get('name')!r} was recorded by a newer version of Palimpsest, with"
        f" settings that this one does not know ({names}): upgrade this one"
    )


def _without(rules: Mapping[str, Any], places: Iterable[tuple[str | int, ...]]) -> Any:
    """Rules without the fields at some places; a place in a union names its alternative, too."""
    copy = deepcopy(dict(rules))
    for place in places:
        held: Any = copy
        for step in place[:-1]:
            held = held.get(step, held) if isinstance(held, dict) else held[step]
        del held[place[-1]]
    return copy


def _since(value: object) -> Iterator[str]:
    """Since when there are the fields that do not stand at their default, at any depth."""
    match value:
        case tuple():
            for item in value:
                yield from _since(item)
        case BaseModel():
            for name, field in type(value).model_fields.items():
                held = getattr(value, name)
                if held != field.get_default():
                    yield from (mark for mark in field.metadata if isinstance(mark, Since))
                    yield from _since(held)
        case _:
            pass


def required_version(rules: BaseModel) -> str | None:
    """The first version that knows all settings of a policy or a part; None if every one does."""
    return max(_since(rules), key=lambda version: [*map(int, version.split("."))], default=None)


def unhashed(value: object) -> dict[Any, Any]:
    """What a hash leaves out: fields that were added and stand at their default, at any depth."""
    inner: dict[Any, Any] = {}
    match value:
        case tuple():
            inner = {place: unhashed(item) for place, item in enumerate(value)}
        case BaseModel():
            inner = {name: _left_out(value, name) for name in type(value).model_fields}
        case _:
            pass
    return {place: out for place, out in inner.items() if out}


def _left_out(model: BaseModel, name: str) -> Any:
    """True for the field as a whole, else what of it."""
    field, held = type(model).model_fields[name], getattr(model, name)
    return (ADDED in field.metadata and held == field.get_default()) or unhashed(held)
