"""A policy as data: checks, zones of similarity, fallbacks for the judge (docs/design.md)."""

from __future__ import annotations

import hashlib
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError, model_validator

from palimpsest.contracts.arguments import Constructed
from palimpsest.contracts.candidate import CandidateFields, Duration, Kind
from palimpsest.contracts.errors import NewerError
from palimpsest.contracts.event_data import PolicySetData
from palimpsest.contracts.language import Language
from palimpsest.contracts.model import Strict

Score = Annotated[float, Field(ge=0.0, le=1.0)]
Action = Literal["auto_reject", "superseded", "pending"]
Fallback = Literal["keep", "reject", "supersede"]
Tokenizer = Literal["words", "content", "morphemes"]
Exact = Literal["verbatim", "folded"]
Question = Literal["same", "relation", "compose"]
"""What the judge is asked about a pair of the gray zone.

`same`: same or different, in one order. `relation`: same, update, compose or different, in both
orders if it would replace or compose; then one call composes. `compose`: one call composes.
"""
Search = Literal["candidates", "memories"]
"""What a newcomer is compared with: every distinct candidate of its scope, or the faces only."""

ADDED = "added"
"""Marks a field that was added to policies later: at its default, it does not change the hash.

So a policy keeps the hash that it was recorded under. The default of such a field never changes.
"""


class Since(str):
    """Beside ADDED: the first version of Palimpsest that has the field; 0.1's fields have no mark.

    A policy that sets such a field requires that version, and its event says so.
    """


class RecentCheck(Strict):
    """An exact repeat within `seconds` of the earliest is called `recent_capture`.

    With a `capacity`, the text must also be among that number of the owner's latest texts.
    """

    check: Literal["recent"]
    seconds: Annotated[int, Field(gt=0)]
    capacity: Annotated[int | None, Field(gt=0), ADDED] = None


class TokenCheck(Strict):
    """Token Jaccard of at least `threshold` among the `top` nearest → `token_reject`.

    With `exclusive`, the Jaccard must exceed it. `tokenizer` defines the tokens: `words` are the
    guard's words, `content` the words between white space, without stopwords, and `morphemes` the
    words of a dictionary. `among` says which texts are compared: the whole `scope`, or the `top` of
    a `full_text` search.
    """

    check: Literal["tokens"]
    threshold: Score
    top: Annotated[int, Field(ge=1, le=100)] = 5
    guard: bool = True
    exclusive: Annotated[bool, ADDED] = False
    tokenizer: Annotated[Tokenizer, ADDED] = "words"
    among: Annotated[Literal["scope", "full_text"], ADDED] = "scope"

    def is_reached(self, jaccard: float) -> bool:
        """Whether a Jaccard is high enough."""
        return jaccard > self.threshold or (jaccard == self.threshold and not self.exclusive)


class SessionCheck(Strict):
    """Cosine of at least `threshold` with one of the session's `last` texts → `session_reject`.

    With `nearest`, the texts compared are instead those of the session among that number of nearest
    texts in the scope.
    """

    check: Literal["session"]
    threshold: Score
    last: Annotated[int, Field(ge=1, le=1000)] = 20
    guard: bool = True
    nearest: Annotated[int | None, Field(ge=1, le=1000), ADDED] = None


class Zone(Strict):
    """What happens at a cosine of `at_least` or more, up to the zone above.

    With `guard`, the action needs texts that are near-identical in order and show no cue; pairs
    that the guard stops are handed to the judge.
    """

    at_least: Score
    action: Action
    guard: bool = False


class CosineCheck(Strict):
    """The `top` nearest by cosine, each treated as its zone says; below the last zone: stored.

    With `near_identical`, pairs that the guard accepts join from that cosine on, whatever their
    zone: the guard's acceptance is the proof, and the cosine only finds them.
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
            raise ValueError("thresholds by namespace need exactly one zone")
        return self

    def zones_of(self, namespace: str) -> tuple[Zone, ...]:
        """The zones in force in a namespace, highest first."""
        own = self.namespaces.get(namespace)
        if own is None:
            return self.zones
        return (self.zones[0].model_copy(update={"at_least": own}),)


def _not_below(floors: list[float]) -> str:
    """The message about the first threshold that is not below the one before it."""
    pairs = itertools.pairwise(floors)
    upper, lower = next(pair for pair in pairs if pair[1] >= pair[0])
    return f"the lower threshold {lower:g} must be below the upper one, {upper:g}"


Check = Annotated[
    RecentCheck | TokenCheck | SessionCheck | CosineCheck, Field(discriminator="check")
]


class Judge(Strict):
    """What the judge is asked, about how many gray neighbours, and what happens without an answer.

    After the gray neighbours come the `frames` newest candidates of the newcomer's frame, whatever
    their cosine. If the owner has names, the `of_owner` neighbour follows: the nearest that speaks
    of the owner, or the nearest at all if the newcomer does, if its cosine is at least `of_owner`.
    (Rewordings about one person are often below all zones.) With `bridges`, the judge is also asked
    about the gray neighbours and the `of_owner` neighbour of a newcomer that a rule joins, because
    they may belong to another memory. `model` and `review_model` are names of the service's models.
    A packed request takes at most `share` of the model's context and `most` pairs. With `enabled`
    false the judge is not asked: a gray candidate is settled at once as if there were no answer,
    and a batch run leaves gray pairs alone.
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


class _Dedupe(Strict):
    """The conditions for an owner's run, which a person overrules by `--force`.

    There are more than `more_than` current memories, and `hours` have passed since the owner's last
    run was due.
    """

    more_than: Annotated[int, Field(ge=0), ADDED] = 0
    hours: Annotated[float, Field(ge=0.0), ADDED] = 0.0


class TokenDedupe(_Dedupe):
    """Batch rule: compare each memory with the `candidates` that share the most key tokens with it.

    By its cosine and the policy's zones, a pair is joined, handed to the judge, or left alone.
    """

    rule: Literal["tokens"]
    candidates: Annotated[int, Field(ge=1, le=1000)] = 30


class ClusterDedupe(_Dedupe):
    """Batch rule: memories near each other, directly or through others, become one at once.

    Two are near if they reach the lowest zone of the cosine check. If every pair that holds a
    cluster together is in a joining zone, the newest speaks; else one text is composed of all.
    """

    rule: Literal["clusters"]


class PairsDedupe(_Dedupe):
    """Batch rule: near pairs, those of the most important memories first.

    Two are near if their cosine is greater than `above` and one is among the `top` nearest of the
    other; with `counts_itself`, a memory counts as the first of its own nearest. `keep` says which
    of the two stays: the more important one. If they are `equal`, both texts stay, one after the
    other (`concatenate`), or the judge composes one text of them (`compose`). A memory that a run
    has absorbed absorbs nothing in that run.
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
            raise ValueError(
                "top: must be 2 or more with counts_itself, which counts the memory itself"
            )
        return self


Dedupe = Annotated[TokenDedupe | ClusterDedupe | PairsDedupe, Field(discriminator="rule")]
"""The batch rules of `palimpsest dedupe`."""


Worth = Literal["confidence", "importance"]
"""What a candidate says of its own worth, from 0 to 1."""


class Absent(Strict):
    """The confidence and importance of candidates that state none."""

    confidence: Score | None = None
    importance: Score | None = None


class Decay(Strict):
    """How a memory's confidence or importance fades; computed on reading, never written back.

    It loses the share `rate` every `days`, once `after_days` have passed since the memory was last
    used or joined (`access`), or since it began (`creation`). It never decays below `floor`.
    """

    field: Worth
    rate: Annotated[float, Field(gt=0.0, lt=1.0)]
    days: Annotated[float, Field(gt=0.0)] = 1.0
    after_days: Annotated[float, Field(ge=0.0)] = 0.0
    floor: Score = 0.0
    since: Literal["access", "creation"]


class Consolidate(Strict):
    """At the end of a session, those of its memories that share enough words become one.

    They are of one category, and the Jaccard of every pair is greater than `above`. Memories of the
    protected categories and kinds are left alone, and so are those whose confidence is at least
    `confidence_below`. If fewer than `fewest` remain in a namespace, they are left alone, too.
    """

    above: Score
    tokenizer: Tokenizer = "content"
    fewest: Annotated[int, Field(ge=2)] = 2
    confidence_below: Score | None = None
    protected_categories: tuple[str, ...] = ()
    protected_kinds: tuple[Kind, ...] = ()


class Similar(Strict):
    """The similar facts of a candidate that joins nothing: the `most` nearest, from `at_least` on.

    They are found by cosine or token Jaccard, among the candidates that the checks compare. They
    block nothing.
    """

    at_least: Score
    most: Annotated[int, Field(ge=1, le=100)] = 5


class Recall(Strict):
    """What `recall` leaves out, and whether it records what it found.

    Memories whose decayed confidence is below `min_confidence` are left out. With `accessed`, the
    use of the memories found is recorded, at most once a minute for each owner.
    """

    min_confidence: Score | None = None
    accessed: bool = False


class Certificate(Strict):
    """The labels that a policy's thresholds come from, and what they showed (docs/proof.md).

    `risk` says what `budget` is a share of, and `confidence` how sure the bound is. `data` is the
    digest of the labels. The thresholds were chosen on `tested` of them, and join `joined` of
    these, `wrong` of them wrongly; the `held_out` ones were evaluated afterwards. If there are no
    `held_out` ones, the thresholds were tested as they stood. The certificate is void for another
    embedder or guard.
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


class Policy(Strict, metaclass=Constructed):
    """Thresholds and rules, named by the hash of their content.

    With `enabled` false no check runs: exact repeats are joined, as always, and all else is stored.
    `exact`: what counts as an exact repeat besides a verbatim one. With `folded`, a text that
    differs only in case and white space; with `verbatim`, nothing. Without the setting, as in
    policies older than it, a text with the same form under `nfkc-casefold-space/1`.
    `search_fails`: if a scope cannot be searched, the stream stops, or newcomers are stored
    uncompared (fail open). `embedder_fails`: the same if the model is down; vectors follow when it
    is back. `certificate`: where the thresholds come from; it is not a rule.
    `expiry`: by category, the time to live of candidates that state none.
    `local_only`: owners, namespaces and categories whose texts are never sent to a remote service.
    `languages`: added to the guard's own; one with the same code replaces the guard's.
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
        """The checks that run: none if the policy is switched off."""
        return self.checks if self.enabled else ()

    @property
    def compares_words(self) -> bool:
        """Whether an active check compares words, which needs no vector."""
        return any(isinstance(check, TokenCheck) for check in self.active)

    @property
    def proves(self) -> bool:
        """Whether the guard's acceptance alone joins two texts, from a low cosine on."""
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
            raise ValueError("each check may appear only once")
        return self

    @model_validator(mode="after")
    def _each_language_once(self) -> Self:
        codes = [language.code for language in self.languages]
        if len(codes) != len(set(codes)):
            raise ValueError("languages: each code may appear only once")
        return self

    @model_validator(mode="after")
    def _pairs_are_of_candidates(self) -> Self:
        """These pairs are asked about once, but a face that a merge has changed is another text."""
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
        """A copy; its hash is computed anew, because its rules may differ."""
        copy = super().model_copy(update=update, deep=deep)
        copy.__dict__.pop("hash", None)
        return copy


def recorded_policy(data: PolicySetData) -> Policy:
    """The policy of an event. Raises NewerError if it has rules of a newer version.

    Unknown settings that have their default value are ignored: the hash shows whether they have it.
    """
    rules = data.policy
    try:
        return Policy.model_validate(rules)
    except ValidationError as error:
        errors = error.errors()
    if all(error["type"] == "extra_forbidden" for error in errors):
        try:
            policy = Policy.model_validate(_without(rules, [error["loc"] for error in errors]))
        except ValidationError:
            pass  # it also breaks a rule that the newer version does not have
        else:
            if policy.hash == data.hash:
                return policy
    names = ", ".join(".".join(map(str, error["loc"])) for error in errors)
    raise NewerError(
        f"the policy {rules.get('name')!r} was recorded by a newer version of Palimpsest, with"
        f" settings that this one does not know ({names}): upgrade this one"
    )


def _without(rules: Mapping[str, Any], places: Iterable[tuple[str | int, ...]]) -> Any:
    """Rules without the fields at some places; a place in a union includes its alternative."""
    copy = deepcopy(dict(rules))
    for place in places:
        held: Any = copy
        for step in place[:-1]:
            held = held.get(step, held) if isinstance(held, dict) else held[step]
        del held[place[-1]]
    return copy


def _since(value: object) -> Iterator[str]:
    """The versions that added the fields which differ from their default, at any depth."""
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
    """The first version that knows all settings of a policy or part; None if all versions do."""
    return max(_since(rules), key=lambda version: [*map(int, version.split("."))], default=None)


def unhashed(value: object) -> dict[Any, Any]:
    """What a hash leaves out: added fields that have their default value, at any depth."""
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
    """True to leave out the whole field, else the parts of it to leave out."""
    field, held = type(model).model_fields[name], getattr(model, name)
    return (ADDED in field.metadata and held == field.get_default()) or unhashed(held)
