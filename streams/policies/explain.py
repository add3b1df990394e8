"""Explains a policy in plain words, with all its numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import assert_never, get_args

from palimpsest.contracts.counting import counted
from palimpsest.contracts.policy import (
    Action,
    Certificate,
    Check,
    ClusterDedupe,
    Consolidate,
    CosineCheck,
    Dedupe,
    Exact,
    Fallback,
    Judge,
    PairsDedupe,
    Policy,
    Question,
    RecentCheck,
    SessionCheck,
    TokenCheck,
    TokenDedupe,
    Tokenizer,
    Worth,
)

ACTIONS: dict[Action, str] = {
    "auto_reject": "it joins, and the older text speaks (auto_reject)",
    "superseded": "it joins, and the text that happened later speaks (superseded)",
    "pending": "it waits as its own memory, and the judge is asked (pending)",
}
FALLBACKS: dict[Fallback, str] = {
    "keep": "both are kept (fallback_keep)",
    "reject": "the newcomer joins and the older text speaks (fallback_reject)",
    "supersede": "the newcomer joins and the later text speaks (fallback_supersede)",
}
QUESTIONS: dict[Question, str] = {
    "same": "whether the two say the same",
    "relation": "whether they say the same, differ or add to each other, or one updates the other",
    "compose": "for one text composed of both",
}
REPEATS: dict[Exact | None, str] = {
    "verbatim": "A verbatim repeat of a text joins it, before any check (hash_exact).",
    "folded": "An exact repeat of a text joins it, before any check (hash_exact), also one that"
    " differs only in case and white space (check folded).",
    None: "An exact repeat of a text joins it, before any check (hash_exact), also one that"
    " only has the same search form (check folded).",
}
TOKENS: dict[Tokenizer, str] = {
    "words": "words",
    "content": "words (split at white space, without stopwords)",
    "morphemes": "words (in their dictionary form, without particles and endings)",
}
AMONG = {"scope": "nearest", "full_text": "that a full-text search ranks first"}
DAY = 86_400
GUARDED = (
    "if the guard sees them near-identical in order and without a cue; else the judge is asked"
)


def explain(policy: Policy) -> list[str]:
    """Sentences in the order in which a newcomer meets the rules."""
    return [*_sentences(policy)]


def _sentences(policy: Policy) -> Iterator[str]:
    yield f"{policy.name} ({policy.hash}), for {policy.model}. {policy.description}".strip()
    yield _search(policy)
    yield REPEATS[policy.exact]
    if not policy.enabled:
        yield "The policy is switched off: no check runs, and all else is stored."
    for check in policy.checks:
        yield _check(check)
    yield "A text that no check joins or passes to the judge is a memory of its own (stored)."
    similar = policy.similar
    if similar is not None:
        yield (
            f"The answer names at most {counted(similar.most, 'memory')} with a cosine or a Jaccard"
            f" of {_number(similar.at_least)} or more, the most similar first (similar_facts); this"
            " blocks nothing."
        )
    if policy.protected_categories:
        named = ", ".join(policy.protected_categories)
        yield f"In the categories {named}, only exact repeats and people join texts."
    yield from _judge(policy.judge)
    yield _dedupe(policy.dedupe)
    yield from _conditions(policy.dedupe)
    yield from _consolidate(policy.consolidate)
    for field in get_args(Worth):
        absent = getattr(policy.absent, field)
        if absent is not None:
            yield f"A candidate without {field} counts as having {_number(absent)}."
    decay = policy.decay
    if decay is not None:
        since = {"access": "it was last used or joined", "creation": "it began"}[decay.since]
        every = _days(decay.days).removeprefix("1 ")
        yield (
            f"When read, a memory's {decay.field} has lost {decay.rate * 100:.12g} % for every"
            f" {every} since {since}, from {_days(decay.after_days)} on and down to"
            f" {_number(decay.floor)}."
        )
    least = policy.recall.min_confidence
    if least is not None:
        yield f"recall leaves out memories with a confidence under {_number(least)}."
    if policy.recall.accessed:
        yield "Memories that recall returns are recorded as used, at most once a minute per owner."
    for category, seconds in policy.expiry.items():
        after = _days(seconds / DAY) if seconds >= DAY else f"{seconds:.12g} s"
        yield f"A candidate of category {category} expires after {after} unless it says otherwise."
    if policy.local_only:
        named = ", ".join(policy.local_only)
        yield f"No text of these owners, namespaces and categories goes to a remote judge: {named}."
    for language in policy.languages:
        digest = hashlib.sha256(language.text.encode()).hexdigest()[:12]
        yield (
            f"The guard knows {language.code} from a user: {counted(len(language.words), 'word')}"
            f" and {counted(len(language.numbers), 'number')} (sha256:{digest})."
        )
    if policy.certificate is not None:
        yield _certificate(policy.certificate)


def _certificate(one: Certificate) -> str:
    labels = f"labels of {one.date} ({one.data[:23]})"
    budget = f"a budget of {one.budget * 100:.12g} % at {one.confidence * 100:.12g} % confidence"
    if one.held_out:
        origin = f"Its thresholds are from {labels}, for {budget}: {one.risk}"
        found = (
            f"On the held-out half {one.held_out_wrong} of {one.held_out_joined} joins were wrong,"
            f" so at most {one.held_out_bound * 100:.3g} %."
        )
    else:
        origin = f"Its thresholds were tested as they are on {labels}, for {budget}: {one.risk}"
        found = f"Of {one.joined} joins {one.wrong} were wrong."
    only = f"It holds only for {one.embedder} and the guard {one.guard}."
    return f"{origin} {found} {only}"


def _search(policy: Policy) -> str:
    found = {
        "candidates": "with every distinct candidate of its namespace, so un-merging is exact",
        "memories": "with the texts that memories show, so later decisions can rest on a merge",
    }[policy.search]
    then = {
        "stop": "nothing is decided until it can be",
        "store": "newcomers are stored uncompared",
    }[policy.search_fails]
    meanwhile = "compared by words alone" if policy.compares_words else "stored uncompared"
    down = {
        "stop": "nothing is decided, either",
        "store": f"newcomers are {meanwhile}, and their vectors follow",
    }[policy.embedder_fails]
    return (
        f"A newcomer is compared {found}. If a namespace cannot be searched, {then}."
        f" While the model is down, {down}."
    )


def _check(check: Check) -> str:
    match check:
        case RecentCheck():
            within = f"within {check.seconds} s of the text that it repeats"
            if check.capacity is not None:
                within += f", while that is among the owner's last {check.capacity} texts,"
            return f"recent: an exact repeat {within} is called recent_capture."
        case TokenCheck():
            return (
                f"tokens: a newcomer whose {TOKENS[check.tokenizer]} have a Jaccard of"
                f" {_over(check)} with those of one of the {check.top} {AMONG[check.among]} joins"
                f" that one (token_reject){_guarded(check.guard)}."
            )
        case SessionCheck():
            likeness = f"has a cosine of {_number(check.threshold)} or more"
            with_whom = f"one of the last {check.last} texts of its session"
            if check.nearest is not None:
                with_whom = f"one of its session among the {check.nearest} nearest by meaning"
            return (
                f"session: a newcomer that {likeness} with {with_whom} joins it"
                f" (session_reject){_guarded(check.guard)}."
            )
        case CosineCheck():
            return _cosine(check)
        case _:
            assert_never(check)


def _over(check: TokenCheck) -> str:
    threshold = _number(check.threshold)
    return f"more than {threshold}" if check.exclusive else f"{threshold} or more"


def _guarded(guard: bool) -> str:
    return f", {GUARDED}" if guard else ""


def _cosine(check: CosineCheck) -> str:
    nearest = f"{check.top} nearest by meaning, the best first"
    lines = [f"cosine: the {nearest if check.top > 1 else 'nearest by meaning'}."]
    lines += [
        f"From {_number(zone.at_least)}: {ACTIONS[zone.action]}{_guarded(zone.guard)}."
        for zone in check.zones
    ]
    if check.near_identical is not None:
        lines.append(
            f"From {_number(check.near_identical)}: it joins one that the guard finds"
            " near-identical (auto_reject), whatever the zone."
        )
    if check.namespaces:
        own = ", ".join(f"{_number(floor)} in {name}" for name, floor in check.namespaces.items())
        lines.append(f"Instead, the zone begins at {own}.")
    if check.min_characters:
        lines.append(
            f"Texts of fewer than {check.min_characters} characters are not compared this way."
        )
    return " ".join(lines)


def _judge(judge: Judge) -> Iterator[str]:
    fallback = FALLBACKS[judge.unavailable]
    if judge.enabled:
        whom = f"at most {counted(judge.neighbours, 'neighbour')}, the nearest first"
        yield (
            f"The judge ({judge.model}) is asked {QUESTIONS[judge.ask]}, about"
            f" {whom if judge.neighbours > 1 else 'the nearest neighbour only'}."
            f" Without an answer, {fallback}."
        )
        if judge.frames:
            yield (
                f"After them, it is asked about at most {judge.frames} of the same frame, the"
                " newest first, whatever their cosine."
            )
        if judge.of_owner is not None:
            yield (
                "For an owner with names, it is also asked about the nearest neighbour, if either"
                f" text speaks of the owner and their cosine is at least {_number(judge.of_owner)}."
            )
        if judge.bridges:
            yield "The judge is also asked about a joined newcomer's neighbours in other memories."
    else:
        yield f"The judge is switched off: instead of asking it, {fallback} at once."
    yield (
        f"A request takes at most {counted(judge.most, 'pair')} and {judge.share * 100:.12g} % of"
        f" the model's context; reviews ask {judge.review_model}."
    )


def _dedupe(rule: Dedupe | None) -> str:
    match rule:
        case None:
            return "There are no batch rules: `dedupe` is refused."
        case TokenDedupe():
            return (
                f"dedupe: each memory is compared with the {rule.candidates} that share the most"
                " key words with it, by cosine; the zones decide on a pair."
            )
        case ClusterDedupe():
            return (
                "dedupe: each cluster of near memories becomes one; if every pair is in a joining"
                " zone the newest speaks, else one text is composed."
            )
        case PairsDedupe():
            most = rule.top - rule.counts_itself
            equal = {
                "concatenate": "texts of equal importance are concatenated (concatenated). No judge"
                " is asked.",
                "compose": "the judge composes one text of equally important ones (llm_merge).",
            }[rule.equal]
            return (
                f"dedupe: two memories join if one is among the other's {most} nearest and"
                f" their cosine is over {_number(rule.above)}: the more important one speaks;"
                f" {equal}"
            )
        case _:
            assert_never(rule)


def _conditions(rule: Dedupe | None) -> Iterator[str]:
    if rule is not None and rule.more_than:
        yield f"A run needs more than {counted(rule.more_than, 'memory')} of the owner."
    if rule is not None and rule.hours:
        yield f"A run needs {rule.hours:.12g} h since the owner's last one was due."


def _consolidate(rule: Consolidate | None) -> Iterator[str]:
    if rule is None:
        return
    yield (
        f"When a session ends, its memories of one category become one if the"
        f" {TOKENS[rule.tokenizer]} of every two have a Jaccard over {_number(rule.above)}; a"
        f" namespace needs at least {counted(rule.fewest, 'memory')}. The most confident speaks, or"
        " else the most used, or else the newest (superseded)."
    )
    left = [
        *(f"the category {name}" for name in rule.protected_categories),
        *(f"the kind {kind}" for kind in rule.protected_kinds),
    ]
    if rule.confidence_below is not None:
        left.append(f"a confidence of {_number(rule.confidence_below)} or more")
    if left:
        yield f"Memories with {' or '.join(left)} are left alone."


def _days(count: float) -> str:
    return "1 day" if count == 1 else f"{count:.12g} days"


def _number(value: float) -> str:
    """A score as people write it, such as .85, with all its digits."""
    return f"{value:.12g}".removeprefix("0") if 0 < value < 1 else f"{value:.12g}"
