"""The names of an owner: as subjects of a text they are equivalent (docs/guard.md, Names).

A text whose subject is certainly one of them is read as if it used one fixed name: *I live in Rome*
as *Ada lives in Rome*. The rest has to be near-identical as in any pair.
"""

from __future__ import annotations

import re
from functools import lru_cache

from palimpsest.contracts.names import SPEAKER, normalise_characters
from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.frame_words import VERBS
from palimpsest.streams.guard.data.name_words import (
    ADVERBS,
    AILMENTS,
    COUNTING,
    FALLING,
    FIRST_AND_SECOND,
    HOMES,
    ILLNESSES,
    INTENDING,
    LIMBS,
    MEDICINES,
    NO_NOUNS,
    NOT_VERBS,
    NOTED,
    NUMBERED,
    OF_PROGRAMS,
    OTHER_TIMES,
    PLAIN,
    PRONOUNS,
    RELATED,
    REMEDIES,
    ROLES,
    SAME,
    SEVERAL,
    THIRD,
    TOOLS,
    TRANSITIVE,
    UNIQUE,
    VERBAL,
    WILLING,
    third,
)
from palimpsest.streams.guard.data.patterns import any_of
from palimpsest.streams.guard.data.value_words import (
    FRENCH_MINE,
    SPANISH_MINE,
    THIRD_SPANISH,
    third_german,
)
from palimpsest.streams.guard.reworded import ADDRESS, MAKE, reworded
from palimpsest.streams.guard.state import as_state, without_since
from palimpsest.streams.guard.text import korean
from palimpsest.streams.guard.text.language import is_foreign
from palimpsest.streams.guard.text.notes import said_in_note
from palimpsest.streams.guard.text.persons import is_also_a_word, is_said_of_somebody
from palimpsest.streams.guard.text.romance import of_owner
from palimpsest.streams.guard.turned import capitalised, turned
from palimpsest.streams.guard.values import is_in_a_table
from palimpsest.streams.guard.written import SHORT_MONTHS

_ARTICLES = frozenset({"the", "a", "an"})
_FIRST = frozenset("i me my mine myself".split())
_CONTRACTED = {"'m": " is", "'ve": " has", "'ll": " will", "'d like to": " would like to"}
_OUGHT = frozenset("may might shall should shouldn't must mustn't".split())
"""Verbs of requirements: in these, *the user* is nobody in particular."""
_REQUIRED = compile_later(
    r"(?: (?:do|does|did)(?: not|n't))?(?: (?:has|have|had|needs?|is|am|was)|'m)(?: not)?"
    r"(?: (?:advised|allowed|asked|bound|encouraged|expected|forced|got|instructed|invited|meant"
    r"|obliged|prompted|required|supposed))? to\b"
)
"""The same in several words: *has to*, *is required to*."""
_HEAD = r"(?=[.,]|\Z| (?:about|by|for|from|in|of|on|that|which|with)\b)"
"""What follows a noun to which no other is added: a *book editor* is no book."""
_DATA = (
    "(?:account|address|app|attachment|code|data|dialog|document|email|entry|field|file|form|image"
    "|input|item|link|menu|message|name|number|order|page|password|photo|plan|post|profile|request"
    "|settings|tab|username)s?"
)
"""What is kept in a program, or shown by it."""
_OPERATES = compile_later(
    r"(?: (?:will|would|can|cannot|can't|does not|doesn't|do not|don't))?(?: (?:already|only))?"
    r" (?:clicks?|taps?|(?:logs?|signs?) (?:in|on|out|up)|selects?|submits?|press(?:es)?"
    r"|enters?(?! (?:[a-z\-]+ ){0,2}(?:competitions|contests|marathons|raffles|tournaments)\b)"
    r"|scrolls?|swipes?|exists?|inherits? from|extends?"
    r"|ha(?:s|ve) (?:no access|(?:two|[0-9]+) roles)"
    r"|(?:(?:add|choose|close|confirm|create|delete|download|edit|open|update|upload)s?"
    rf"|verif(?:y|ies)) (?:the|an?) (?:[a-z]+ )?{_DATA}"
    r"|(?:see|get|receive)s? an? (?:email|error|list|message|notification|page|screen|warning)"
    r"|(?:is|am|was|be|are)(?: not)? (?:asked|authenticated|banned|blocked|created|deleted|found"
    r"|invalid|logged|null|offline|online|prompted|redirected|shown|signed|undefined|valid"
    r"|verified)"
    r"|(?:is|am) an? (?:admin|class|column|entity|field|guest|object|record|row|string|struct"
    rf"|table|type){_HEAD})"
    r"\b|'s (?:avatar|cart|credentials|input|password|permissions|session|token"
    r"|role(?! (?:as|at|in|on)\b))\b"
    rf"|'s {_DATA} (?:is|are) (?:deleted|encrypted|hashed|locked|required|saved|stored|validated"
    r"|verified)\b"
)
"""What the user of a program does and is: nobody in particular, either."""
_TITLED = compile_later(
    r" (?:am|is) an? (?:album|book|film|game|movie|musical|novel|play|poem|show|site|song|speech)"
    + _HEAD
)
"""What shows that the words before it are a title: *I love Lucy is a show*."""
_THIRDS = (frozenset(THIRD.values()) | NO_NOUNS | SAME | en.FINITE | en.STATES | {"quit"}) - _OUGHT
_DEEDS = frozenset(THIRD.values()) - SAME - en.AUXILIARIES
_PERSONAL = ("He ", "She ")
"""Pronouns that mean the owner if a text begins with them; for frames only."""
_FINITE = _THIRDS | VERBS
_BARE = PLAIN | NO_NOUNS
_NOT_PRESENT = OTHER_TIMES | NOT_VERBS
_NO_NOUN = en.FINITE | en.PREPOSITIONS | en.CLAUSES | en.PASTS | VERBS | PRONOUNS
_SAYS_MORE = compile_later(r"[?!\"“”«»()\[\]{}<>`\n\t]|[;:](?=\s)|[.](?=\s)")
"""Signs of more than one plain sentence: a question, a quotation or an addition."""
_ADDRESSES = compile_later(
    rf"\b{ADDRESS}(?=\s)|(?<= (?:at|in|of|to) )St\.(?= [A-Z])|(?<!\S)\S+@\S+"
    rf"|\b[ap]\.m\.(?=\s)|\b(?:{any_of(NUMBERED)}) no\.(?=\s)|\b(?:{SHORT_MONTHS})\.(?= [1-9])"
)
"""The full stop of *Dr.* or *St. Mary* ends no sentence, and a name in an email is ignored."""
_POSSESSIVE = compile_later(r"\b(?:my|his|her|their)\b")


_AT = "(?:behind|in|on)"
_DRINKS = "(?:drinks?|has|have|takes?)"
_HOME = rf"(?:{any_of(HOMES)})\b"
_AILS = r"(?:\b(?:is|am|has|have|got|(?:get|suffer)s?(?: from)?)|'m)(?: [a-z]+)?"
_MEDICINE = (
    r"(?:(?:[0-9.]+ ?mg (?:of )?|an? [a-z]+ of )?"
    rf"(?:(?:[0-9]+|{any_of(en.NUMBERS)}|an?|some|the) )?"
    r"(?:(?:daily|iron|pain|prescription|strong) )?"
    rf"(?:{any_of(MEDICINES | REMEDIES)}|vitamin [A-Z][0-9]*)"
    r"(?: (?:daily|every (?:day|evening|morning|night)|(?:once|twice) (?:a day|daily)))?)"
)
_SIDE = "(?:left |right )?"
_SOME = rf"(?:(?:an?|some|the|[0-9]+|{any_of(en.NUMBERS)}) (?:[a-z]+ )?)?[a-z]+(?: and [a-z]+)?"
_WHOSE = (" my ", " his ", " her ", " their ")


def _owning(whose: str, *, user: bool) -> re.Pattern[str]:
    """A pattern of places where a possessive is certainly the subject's.

    `user`: the subject is *I* or *the user*, and there are more such places.
    """
    ways = [
        rf"\b({whose}) own (?=[a-z])",
        rf"\b{_DRINKS} ({whose}) (?:coffee|tea) (?:black|strong|white|with|without)\b",
        rf"\b(?:dislocated|sprained|tore|twisted) ({whose}) {_SIDE}(?:{any_of(LIMBS)})\b",
        rf"\btakes? {_MEDICINE} for ({whose}) (?:[a-z]+ )?(?:{any_of(AILMENTS)})\b",
        rf"\buses? (?:an? )?{MAKE} as ({whose}) (?:[a-z]+ )?(?:{any_of(TOOLS)})\.?\Z",
        rf"\b(?:changed|lost|quit) ({whose}) job\b",
        rf"\bha(?:s|ve) {MAKE} as ({whose}) (?:{any_of(ROLES | UNIQUE)})\b",
        rf"\bha(?:s|ve) ({whose}) (?:bank )?accounts? (?:at|with)\b",
        rf"{_AILS} (?:deaf|blind|{any_of(ILLNESSES)}) in ({whose}) (?:left|right)\b",
        rf"\b(?:earns? ({whose}) living|spent ({whose}) childhood)\b",
    ]
    if user:
        ways += [
            rf"\b(?:broke|fractured|hurt|injured) ({whose}) {_SIDE}(?:{any_of(LIMBS)})\b",
            rf"\b(?:lives?|stays?) (?:in [A-Z][a-z]+ )?with ({whose}) (?:{any_of(RELATED)})\b",
            rf"\b(?:calls?|owes?|phones?|visits?) ({whose}) (?:{any_of(RELATED)})\b",
            rf"\b(?:building|built|grows?|planted) {_SOME} {_AT} ({whose}) {_HOME}",
        ]
    return compile_later("|".join(ways))


_LEADS = compile_later(
    rf"(?:(?: |^|')(?:ve|m|ll|d|to|(?:{any_of(WILLING)}) to|(?:{any_of(FALLING)}) and"
    rf"|{any_of(ADVERBS | en.AUXILIARIES | en.BE)})\b)* ?"
)
"""What may stand between the owner and a deed in which nobody else can have a part."""
_DOES = rf"(?:(?:[a-z]+ed|set|{any_of(en.PASTS)})\b|(?<!has )(?<!have )(?<!had )(?<!ve )[a-z]+)"
"""A verb; after *has* only a participle: *has carla in her own car*."""
_LEADS_TO_OWN = compile_later(
    rf"{_LEADS.pattern}{_DOES}(?: to (?:{any_of(THIRD)})|(?: (?:about|at|of))? [a-z]+ing)?"
    rf"(?: (?:{any_of(en.PREPOSITIONS | en.PARTICLES)}))* "
)
"""The same before *own*, with its verb: *is saving up for her own*, not *says bob has her own*."""
_OWN = _owning("his|her|their", user=False)
_USERS = _owning("their", user=True)
_MY = _owning("my", user=True)
_MEIN = frozenset("mein meine meinen meinem meiner meines mich mir".split())
_FIRST_ELSEWHERE = {"ich": _MEIN, "je": FRENCH_MINE, "yo": SPANISH_MINE | THIRD_SPANISH.keys()}
_MINE = compile_later("mein(?:e|en|em|er|es)? ", re.IGNORECASE)
_SURELY_IS = compile_later(
    r"'s (?:(?:a|an) (?![a-z]+ing\b)|afraid of |allergic to |based in |fluent in |from [A-Z]"
    r"|married to |originally from )"
)
"""Words before which *'s* after a name can only be *is*, neither *has* nor a possessive."""
_SURELY_HAS = compile_later(r"'s got (?:an?|one|two|three|four|five|[0-9]+) ")
_UNITS_OF_TIME = frozenset("days hours minutes months weeks years".split())
_OFTEN_RUN = compile_later(r"\b(?:hours?|minutes?|night|seconds?)\b")
"""What a program does at such times, it *runs*."""
_WITH_NAMES = frozenset({"plays", "reads", "uses"})
"""Words that are verbs after *user* if a name follows: *User uses Stripe for invoices*."""
_TIME_OF_DAY = compile_later(r"[0-9] ?[ap]m\b")
_WORD = compile_later(r"[^\W_]+(?:['\-][^\W_]+)*")


def called_alike(text: str, names: tuple[str, ...]) -> str | None:
    """Rewrite a text to call its subject by one fixed name of the owner; None if in doubt.

    The subject has to stand at the beginning, followed by a verb that fits it, or it is a possessor
    (*Ada's dog*) and a verb follows later. The text may have no other word of the names, and no
    pronoun whose reference could change with the subject. A sentence that can be turned so that the
    subject comes first is turned first.
    """
    said = normalise_characters(text)
    called = _called(turned(said, names) or said, names)
    return None if called is None else reworded(called, capitalised(_spoken(names)))


def _called(said: str, names: tuple[str, ...]) -> str | None:
    for name in _by_length(names):
        rest = _rest_after(said, name)
        if rest is not None:
            follows = _follows(name, rest, names, bare=not _begins_with(said, names))
            return None if follows is None else capitalised(_spoken(names)) + follows
    return _noted(said, names)


def _follows(name: str, rest: str, names: tuple[str, ...], *, bare: bool) -> str | None:
    """What follows one of the names, in the third person; None if in doubt (see `_said_of`)."""
    if is_also_a_word(name) and not is_said_of_somebody(name, rest):
        return None
    does = rest if rest.startswith(" ") else _uncontracted(rest)
    if (_REQUIRED.match(rest) or _OPERATES.match(does)) and any(map(_is_role, names)):
        return None
    if _TITLED.search(rest):
        return None
    own, rest = _owned(name, rest)
    plain = rest.replace(" their ", " ") if own else rest
    said_of = _said_of(name, rest, bare=bare) if _is_plain(name, plain, names) else None
    return said_of.replace(" their ", " their own ") if said_of and own else said_of


def _owned(name: str, rest: str) -> tuple[bool, str]:
    """Whether the only possessive after a subject is certainly the subject's, and what follows it.

    If so, it is *their* in what follows: *I sprained my ankle*, *Ada sprained her ankle*.
    """
    if rest.startswith("'s ") or not any(whose in rest for whose in _WHOSE):
        return False, rest  # *Ada's sister quit her job*: whose?
    found = (_MY if name == SPEAKER else _USERS if _is_user(name) else _OWN).search(rest)
    if not found and _is_user(name):
        found = _OWN.search(rest)
    if not found:
        return False, rest
    start, end = found.span(found.lastindex or 0)
    before, after = rest[:start], rest[end:].removeprefix(" own")
    if _POSSESSIVE.search(before) or _POSSESSIVE.search(after):
        return False, rest
    leads = _LEADS_TO_OWN if found.lastindex == 1 else _LEADS
    if not leads.fullmatch(rest[: found.start()]):
        return False, rest  # *Ada thinks bob lost his job*
    return True, f"{before}their{after}"


def _is_user(name: str) -> bool:
    return name.casefold().removeprefix("the ") == "user"


def _is_role(name: str) -> bool:
    """Whether a name may be nobody in particular in a requirement: *the user*, *the customer*."""
    return name.casefold().startswith("the ") or _is_user(name)


def _noted(said: str, names: tuple[str, ...]) -> str | None:
    """A note that leaves out its subject (*speaks French*) with the owner's name as the subject.

    None if in doubt, or if the name that replaces all others is *I*.
    """
    who = _spoken(names)
    if who == SPEAKER:
        return None
    verb, _, rest = said.partition(" ")
    verb = verb.casefold()
    if verb in en.COUNTS and rest.partition(" ")[0] in en.FINITE:
        return None
    if rest and (verb in NOTED or _is_note_of_deed(verb, rest)):
        noted = f" {verb} {rest}"
    else:
        stop = "." if said.endswith(".") else ""
        in_note = said_in_note(said.removesuffix(stop))
        if in_note is None:
            return None
        noted = in_note + stop
    return capitalised(who) + noted if _is_plain(who, noted, names) else None


def _is_note_of_deed(verb: str, rest: str) -> bool:
    """Whether a word that may be a plural noun begins a note as its verb: *plays the violin*."""
    if verb not in _DEEDS or verb in OF_PROGRAMS or (verb == "runs" and _OFTEN_RUN.search(rest)):
        return False
    lasts = verb == "takes" and rest.rstrip(".").rpartition(" ")[2] in _UNITS_OF_TIME
    return not lasts and _has_object([verb, *rest.split(" ")], 0)


def said_of_owner(text: str, names: tuple[str, ...]) -> str:
    """Rewrite a text for frames: like `called_alike`, or with less care if that is in doubt.

    All possessives become *their* (*Ada uses Vim as her editor*, *I use Zed as my editor*), and a
    change becomes what it led to (`as_state`). Either may be wrong: frames join nothing.
    """
    stated = without_since(normalise_characters(text))
    said = called_alike(stated, names)
    if said is None and is_in_a_table(text, _words(stated)):
        return _said_elsewhere(stated, names)
    said = said or _said_loosely(stated, names)
    if said is None:
        return text
    said = _POSSESSIVE.sub("their", said).replace(" their own ", " their ")
    return as_state(said, capitalised(_spoken(names)))


def _said_elsewhere(said: str, names: tuple[str, ...]) -> str:
    """Rewrite a text that is not English for frames, with one name of the owner as its subject.

    A Japanese text drops a subject at its beginning, as Japanese often does; in a German one a verb
    after *ich* is put into the third person. The name must not be an English word, or the text
    would no longer count as one of its language.
    """
    if not said.isascii() and korean.HANGUL.search(said):
        return korean.without_owner(said, names)
    own = (name for name in names if name != SPEAKER)
    fit = sorted(name for name in own if is_in_a_table(name, name.casefold().split()))
    who = fit[0] if fit else _spoken(names)
    if (romance := of_owner(said, who, names)) is not None:
        return romance
    for name in sorted(names, key=len, reverse=True):
        if said.casefold().startswith(name.casefold()):
            renamed = _renamed(name, said[len(name) :], who)
            if renamed is not None:
                return renamed
    if any(name.casefold() == "ich" for name in names) and (mine := _MINE.match(said)):
        return f"{who}s {said[mine.end() :]}"
    return said


def _renamed(name: str, rest: str, who: str) -> str | None:
    """A text that begins with a name, with another name instead; None if a longer word does."""
    if is_foreign(name[-1]):
        dropped = rest.startswith(("は", "の"))
        return rest[1:].lstrip("、") if dropped else who + rest
    if rest.startswith(" "):
        verb, _, more = rest[1:].partition(" ")
        return f"{who} {third_german(verb)} {more}"
    return who + rest if rest.startswith("s ") else None


def _said_loosely(said: str, names: tuple[str, ...]) -> str | None:
    for name in _by_length(names):
        rest = _rest_after(said, name)
        if rest is None:
            continue
        words = rest.split(" ")
        at = _verb_at(words)
        if is_also_a_word(name) and not rest.startswith("'s ") and words[at] not in _THIRDS:
            return None
        if name == SPEAKER and at:
            words[at] = THIRD.get(words[at], words[at])
        return capitalised(_spoken(names)) + " ".join(words)
    if said.startswith(_PERSONAL):
        does = said.partition(" ")[2]
        verb = does.partition(" ")[0]
        if verb in _THIRDS or _is_third(verb, bare=False):
            return f"{capitalised(_spoken(names))} {does}"
    return None


def predicate(rest: str, *, of_speaker: bool) -> str:
    """What a text says after its subject, in the third person: a rough, quick `said_of_owner`.

    `of_speaker`: the subject is *I*, so a verb in the present has to be changed; after a possessor
    (*'s dog*) there is none to change.
    """
    if of_speaker:
        words = _uncontracted(rest).split(" ")
        at = _verb_at(words)
        verb = words[at].rstrip(".")
        if not words[0] and (verb in THIRD or _is_present(verb)):
            words[at] = (THIRD.get(verb) or third(verb)) + words[at][len(verb) :]
        rest = " ".join(words)
    return _POSSESSIVE.sub("their", rest)


def _verb_at(words: list[str]) -> int:
    """The place of the first word after a subject that is not an adverb; 0 if there is none."""
    return next((at for at, word in enumerate(words) if at and word not in ADVERBS), 0)


def _uncontracted(rest: str) -> str:
    """What follows *I*, with its verb written out: *'m a nurse* as *is a nurse*."""
    for contracted, written in _CONTRACTED.items():
        if rest.startswith(contracted + " "):
            return written + rest[len(contracted) :]
    return rest


def speaks_of(text: str, names: tuple[str, ...]) -> bool:
    """Whether a text has a name of the owner anywhere; for *I*, any pronoun of the first person."""
    said = normalise_characters(text)
    words = {part for word in _words(said) for part in word.split("'")}
    if is_in_a_table(text, words):
        words |= {word.removesuffix("s") for word in words}
        words |= {own for own, mine in _FIRST_ELSEWHERE.items() if words & mine}
    return any(
        name in said
        if is_foreign(name[-1])
        else not words.isdisjoint(_FIRST)
        if name == SPEAKER
        else words.issuperset(set(_words(name)) - _ARTICLES)
        for name in names
    )


def mentioned_name(question: str, names: tuple[str, ...]) -> str | None:
    """The longest proper name of the owner that a question mentions: not *I* or *the user*."""
    return next(
        (
            name
            for name in sorted(names, key=len, reverse=True)
            if name[:1].isupper()
            and name != SPEAKER
            and not _is_user(name)
            and re.search(rf"\b{re.escape(name)}\b", question)
        ),
        None,
    )


def subject_of(text: str, names: tuple[str, ...]) -> str | None:
    """Whom a text is about, judged by its beginning; None if that does not show it.

    It is `owner`; or the word for somebody related to the owner (*sister*); or `other`, if the text
    begins with a longer name (*Ada Byron*) or names the owner nowhere.
    """
    said = normalise_characters(text)
    for name in sorted(names, key=len, reverse=True):
        rest = _rest_after(said, name)
        if rest is None:
            continue
        if rest.startswith("'s "):
            return next((word for word in rest.split(" ")[1:3] if word in RELATED), None)
        return "other" if rest[1:2].isupper() and name != SPEAKER else "owner"
    return None if speaks_of(text, names) else "other"


@lru_cache(maxsize=256)
def _by_length(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that a text may be about, the longest first.

    Empty if all of them are also words, and *I* is not among them.
    """
    return tuple(sorted(names, key=len, reverse=True)) if _spoken(names) in names else ()


@lru_cache(maxsize=256)
def _spoken(names: tuple[str, ...]) -> str:
    """The name that replaces all others: *the user* if declared, for which the table has edits.

    Otherwise the first in alphabetical order that is not also a word, whatever the order in which
    the names were given; *I* only if there is no such name.
    """
    fit = sorted(name for name in names if name != SPEAKER and not is_also_a_word(name))
    return next((name for name in fit if name.casefold() == "the user"), fit[0] if fit else SPEAKER)


def _rest_after(text: str, name: str) -> str | None:
    """The rest of a text after a name at its beginning; *My* gives a rest that begins with *'s*."""
    for beginning in _beginnings(name):
        if text.startswith(beginning) and text[len(beginning) :][:1] in (" ", "'"):
            return text[len(beginning) :]
    if name == SPEAKER and text[:3] in ("My ", "my "):
        return "'s" + text[2:]
    return None


@lru_cache(maxsize=1_024)
def _beginnings(name: str) -> frozenset[str]:
    """How a text about a name may begin; an article may be left out."""
    written = {name, name.removeprefix("the ")}
    return frozenset({"I", "i"} if name == SPEAKER else written | {*map(capitalised, written)})


def _begins_with(text: str, names: tuple[str, ...]) -> bool:
    """Whether a text begins with one of the names as declared: with its article, if it has one."""
    return text.casefold().startswith(_declared(names))


@lru_cache(maxsize=256)
def _declared(names: tuple[str, ...]) -> tuple[str, ...]:
    """How a text in small letters begins that calls its subject as declared."""
    begins = (name.casefold() + sign for name in names for sign in (" ", "'"))
    return (*begins, *(["my "] if SPEAKER in names else []))


def _is_plain(name: str, rest: str, names: tuple[str, ...]) -> bool:
    """Whether the rest is one plain sentence without a word that may refer to the subject."""
    said = rest.rstrip(".")
    if "." in said or "@" in said:
        said = _ADDRESSES.sub("", said)
    if _SAYS_MORE.search(said):
        return False
    words = {part for word in _words(_without_one(said)) for part in (word, word.partition("'")[0])}
    pronouns = PRONOUNS if name == SPEAKER else FIRST_AND_SECOND
    return words.isdisjoint(_words_of(names)) and words.isdisjoint(pronouns)


@lru_cache(maxsize=256)
def _words_of(names: tuple[str, ...]) -> frozenset[str]:
    """The words of an owner's names, and their plurals."""
    own = {word for each in names for word in _words(each)} - _ARTICLES
    return frozenset(own | {word + "s" for word in own if word != "i"})


def _without_one(text: str) -> str:
    """A text without *one* as a number: after *have* or a similar word, and before no verb."""
    if "one" not in text:
        return text  # the usual case
    words = text.split(" ")
    return " ".join(
        word
        for at, word in enumerate(words)
        if not (
            word == "one"
            and words[at - 1 : at] in COUNTING
            and words[at + 1 : at + 2]
            and words[at + 1].rstrip(".").isalpha()
            and words[at + 1].rstrip(".") not in _NO_NOUN
        )
    )


def _said_of(name: str, rest: str, *, bare: bool) -> str | None:
    """What is said of the subject, in the third person; None if in doubt.

    `bare`: the name's article is left out, so that the next word may belong to it (*user tests*).
    """
    speaker = name == SPEAKER
    if rest.startswith("'s "):
        return _of_somebody(rest, speaker=speaker)
    if rest.startswith("' "):
        return None
    if speaker and (full := _uncontracted(rest)) != rest:
        return full
    return _with_its_verb(name, rest, bare=bare) if rest.startswith(" ") else None


def _of_somebody(rest: str, *, speaker: bool) -> str | None:
    """What follows *'s*: *is* or *has* in full, or what the subject has; None if in doubt."""
    one_verb = not speaker and _FINITE.isdisjoint(rest.rstrip(".").split(" ")[2:])
    if one_verb and _SURELY_IS.match(rest):
        return " is" + rest[2:]
    if one_verb and _SURELY_HAS.match(rest):
        return " has" + rest[2:]
    return rest if _is_of_something(rest[3:]) else None


def _with_its_verb(name: str, rest: str, *, bare: bool) -> str | None:
    speaker = name == SPEAKER
    words = rest[1:].split(" ")
    for at, word in enumerate(words[:3]):
        verb = word.rstrip(".")
        if verb in (_BARE if bare else SAME if speaker else _THIRDS):
            counted = bare and verb in en.COUNTS and "".join(words[at + 1 : at + 2]) in en.FINITE
            return None if counted else rest  # *user likes are counted*
        if verb == "would" and words[at + 1 : at + 3] == ["like", "to"]:
            return rest
        if speaker and (verb in THIRD or _is_present(verb)):
            words[at] = THIRD.get(verb, third(verb)) + word[len(verb) :]
            return " " + " ".join(words)
        if not speaker and _is_third(verb, bare=bare) and _says_so(name, words, at, bare=bare):
            return rest
        if word not in ADVERBS:
            return None
        bare = bare and word == "only"  # no other adverb stands between *user* and a noun
    return None


def _is_present(word: str) -> bool:
    """Whether a word right after *I* is a verb in the present, although it is on no list."""
    return (
        len(word) > 2
        and word.isascii()
        and word.isalpha()
        and word.islower()
        and not word.endswith(("ed", "ly"))
        and (not word.endswith("s") or word.endswith("ss"))
        and word not in _NOT_PRESENT
    )


def _is_third(word: str, *, bare: bool) -> bool:
    """Whether a word may be a verb in the third person; with `bare`, only if it is on a list."""
    if bare:
        return word in VERBAL or word in THIRD.values()
    return word.isalpha() and word.islower() and word.endswith("s") and word not in NOT_VERBS


def _says_so(name: str, words: list[str], verb: int, *, bare: bool) -> bool:
    """Whether a word that could be a noun in the plural is the only verb."""
    if bare or name.islower():
        return _has_object(words, verb)
    return _FINITE.isdisjoint(word.rstrip(".,") for word in words[verb + 1 :])


def _has_object(words: list[str], verb: int) -> bool:
    """Whether a word that could be a plural noun is the only verb: what follows shows it."""
    after = words[verb + 1 :]
    if "".join(after[:1]).rstrip(".") in VERBAL.get(words[verb], ()):
        said = _TIME_OF_DAY.sub("", " ".join(after[1:]))
        return _FINITE.isdisjoint(word.rstrip(".,") for word in said.split(" "))
    if words[verb] in TRANSITIVE and _is_object(after):
        return True
    to_do = "".join(after[1:2])
    if words[verb] in INTENDING and after[:1] == ["to"] and (to_do in THIRD or _is_present(to_do)):
        return _FINITE.isdisjoint(word.rstrip(".,") for word in after[2:])
    begins = after and (
        after[0] in en.DETERMINERS | en.NUMBERS.keys()
        or after[0][:1].isdecimal()
        or all(map(_is_name, after))
        or (words[verb] in _WITH_NAMES and _is_name(after[0]))
    )
    return bool(begins) and _FINITE.isdisjoint(word.rstrip(".,") for word in after)


def _is_object(words: list[str]) -> bool:
    """Whether words do not begin with a preposition or a similar word, and none may be a verb."""
    lows = [word.rstrip(".,") for word in words]
    return lows != [] and lows[0] not in NOT_VERBS and _FINITE.union(THIRD).isdisjoint(lows)


def _is_name(word: str) -> bool:
    """Whether a word is written like a name, and is not a day or a month."""
    low = word.rstrip(".").casefold()
    return word[:1].isupper() and low not in en.WEEKDAYS | en.MONTHS


def _is_of_something(rest: str) -> bool:
    """Whether a verb follows what the subject has; if not, *'s* may be *is* or *has*."""
    words = rest.rstrip(".").split(" ")
    if words[0] in SEVERAL and "".join(words[1:2]) in THIRD:
        return True
    return re.sub("['-]", "", words[0]).isalpha() and not _FINITE.isdisjoint(words[1:])


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
