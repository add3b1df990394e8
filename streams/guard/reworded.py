"""Replaces wordings of facts about an owner by equivalent ones: *has a fear of* by *is afraid of*.

Only for owners with names, and only in sentences that begin with a name. The results have to be
near-identical, like any pair (docs/guard.md, Names).
"""

from __future__ import annotations

import re
from itertools import takewhile

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.name_words import (
    AGENTS,
    AILING,
    ALLERGENS,
    ANIMATE,
    APPOINTED,
    BEFORE_A_PEOPLE,
    BEFORE_AN_OFFICE,
    COATS,
    CROSSING,
    CURRENCIES,
    DATED,
    DIPLOMAS,
    DONE,
    DRINKS,
    FEARS,
    FEASTS,
    FIRMS,
    FOODS,
    HABITS,
    HELD,
    HUNG,
    ILLNESSES,
    IN_IAN,
    KEPT_UP,
    KEYS_AND_DRUMS,
    LASTING,
    LIMBS,
    LIVESTOCK,
    LIVING,
    MAILED,
    MEALS,
    MEDIA,
    MEDICINES,
    MEETINGS,
    NEVER_DESCRIBING,
    NOT_CALLED,
    NOTEBOOKS,
    OFFICES,
    OFTEN_DONE,
    OUTDOORS,
    OUTINGS,
    PASTIMES,
    PEOPLE,
    PERHAPS_YOUNGER,
    PETS,
    PLANNING,
    POURED,
    PRACTISED,
    PROTOCOLS,
    RELATED,
    ROLES,
    SERVICES,
    SKIES,
    SKILLS,
    SPANS,
    STAPLES,
    SUBJECTS,
    TAME,
    THINGS,
    THIRD,
    TITLED,
    TRADES,
    TRANSPORT,
    WORN,
    WRITTEN,
)
from palimpsest.streams.guard.data.patterns import NAME_START, any_of
from palimpsest.streams.guard.text.fixed import is_told_verbatim
from palimpsest.streams.guard.text.plurals import singular
from palimpsest.streams.guard.written import DAY_NAME, MONTH, as_written

ADDRESS = r"(?:Dr|Mr|Mrs|Ms|Prof)\b\.?"
"""A form of address, with the full stop of its abbreviation or without."""
NAME = rf"(?:{ADDRESS} |St\.? )?[^\W\d_a-z][\w'\-]*(?: [^\W\d_a-z][\w\-]*){{0,2}}"
"""One to three words that begin with a capital."""

MAKE = r"[a-z\-]*[A-Z0-9][\w.\-]*(?: [a-z\-]*[A-Z0-9][\w.\-]*){0,4}"
"""A make and a model: *ThinkPad*, *iPhone 14*, *65-inch LG*."""

VALUE = rf"(?:[0-9]+|[0-9]{{1,2}} (?:{MONTH})|(?:{MONTH}) [0-9]{{1,2}})(?:,? [0-9]{{4}})?"
"""A number or a date."""


_WORD = compile_later(r"[\w'\-]+")
MOST_STEPS = 3
"""Maximum number of times that a sentence is put into another wording."""


def reworded(said: str, who: str) -> str:
    """Put a sentence that begins with `who` into the wording in which it is compared."""
    stop = "." if said.endswith(".") else ""
    former = said.removeprefix(who).removesuffix(stop)
    rest = as_written(former)
    if rest != former and is_told_verbatim(_WORD.findall(said.casefold()), said):
        return said
    rest = _in_one_wording(rest)
    if found := _OF_SOMEBODY.fullmatch(rest):
        rest = found[1] + _in_one_wording(found[2])
    return who + rest + stop


def _in_one_wording(rest: str) -> str:
    for _ in range(MOST_STEPS):
        former = rest
        for pattern, way in _WAYS.get(rest.strip().partition(" ")[0], ()):
            if found := pattern.fullmatch(rest):
                rest = found.expand(way)
        rest = _by_pastime(_as_ranking(_in_order(_by_favourite(_by_allergen(_outdoors(rest))))))
        if rest == former:
            break
    return rest


def _outdoors(rest: str) -> str:
    found = _GOES.fullmatch(rest)
    return f" {OUTDOORS[found[1]]}{found[2]}" if found else rest


def _by_pastime(rest: str) -> str:
    found = _PASTIME.fullmatch(rest)
    if not found:
        return rest
    after = found[3].split()
    if not _is_done(found[2], after) or (found[1] == "prefers" and "to" in after):
        return rest  # *likes cooking apples* is about apples; *prefers reading to music* ranks them
    verb = "likes" if found[1] == "enjoys" else found[1]
    return f" {verb} to {PASTIMES[found[2]]}{found[3]}"


def _is_done(pastime: str, after: list[str]) -> bool:
    """Whether words after a pastime say what is done, and not what the pastime describes."""
    done = [*takewhile(lambda word: word not in en.PREPOSITIONS | {"about"}, after)]
    if not done or pastime in NEVER_DESCRIBING or done[-1] in DONE.get(pastime, ()):
        return True
    return after[0] in _AFTER_A_VERB or all(word[0].isupper() for word in after)


def _in_order(rest: str) -> str:
    """A list of languages, whose order says nothing, in the order of the alphabet."""
    found = _LISTED.fullmatch(rest)
    if not found:
        return rest
    *first, last = sorted(_ITEM.findall(found[1]))
    return f" speaks {', '.join(first)} and {last}"


def _by_allergen(rest: str) -> str:
    found = _ALLERGY.fullmatch(rest)
    return f" is allergic to {ALLERGENS[found[1]]}" if found else rest


def _by_favourite(rest: str) -> str:
    found = _BEST.fullmatch(rest)
    return f"'s favourite {singular(found[2])} is {found[1]}" if found else rest


def _as_ranking(rest: str) -> str:
    """*Likes tea better than milk* and *prefers tea over milk* as *prefers tea to milk*.

    Only if the words rank: *meetings over Zoom* says how, *holidays over Christmas* when, *men over
    40* which, and *likes meat more than lions* may mean: than lions do.
    """
    if " over " in rest and (found := _PREFERS.fullmatch(rest)):
        return f" prefers {found[1]} to {found[2]}" if _ranks(found[1], found[2]) else rest
    if " than " in rest and (found := _LIKES.fullmatch(rest)):
        return f" prefers {found[1]} to {found[2]}" if _is_liked(found[1], found[2]) else rest
    return rest


def _ranks(one: str, other: str) -> bool:
    """Whether *over* between two things can only rank them."""
    ones, others = one.split(), other.split()
    last, end = ones[-1], others[-1]
    if last in CROSSING or "over" in ones or _FIGURE.match(other) or others[0] in en.NUMBERS:
        return False
    bare = ones[0] not in en.DETERMINERS and last not in MAILED
    if others[0] in en.ARTICLES if ones[0] in en.ARTICLES else bare and others[0] in _CERTAIN:
        return False  # *the road over the hill*, *fog over the sea*
    done = last.endswith("ing") or last in en.PARTICLES
    if done and not any(word.endswith("ing") for word in others):
        return False
    if other in SPANS or any(end in kind and last not in kind for kind in _AMONG):
        return False
    if end in MEDIA and last.islower() and last not in MAILED | MEDIA:
        return False
    return all(last not in kind or end in ranked for kind, ranked in _KINDS)


def _is_liked(one: str, other: str) -> bool:
    """Whether somebody likes what follows *than*, which does not itself like something."""
    if _A_NAME.match(other) or _LIKING.search(other) or other.partition(" ")[0] in _NOT_LIKED:
        return False
    return not _is_animate(other) or _is_animate(one)


def _is_animate(thing: str) -> bool:
    words = thing.split()
    last = words[-1] + "s" if words[0] in en.ARTICLES else words[-1]
    doer = last.endswith("ers") and not THIRD.keys().isdisjoint((last[:-3], last[:-2]))
    return doer or words[-1] in ANIMATE or last in ANIMATE


_SOMETIMES = (
    rf"(?:at (?:[0-9]|dawn|dusk|night|noon|weekends)|before|daily|every|in the (?:mornings?"
    rf"|afternoons?|evenings?|forest|lake|ocean|park|pool|rain|river|sea|snow|woods)|in {NAME}"
    rf"|in (?:autumn|spring|summer|winter)|on (?:{DAY_NAME}s?|weekdays|weekends)|once|outdoors"
    r"|alone|together|twice|with|[a-z0-9]+ times|after (?:breakfast|dinner|lunch|school|work))"
)
"""When, where or with whom; in *goes running late*, *late* does not belong to the verb as in *runs
late*."""
_OFTEN = rf"(?: {_SOMETIMES}\b.*)?"
_GOES = compile_later(rf" goes ({any_of(OUTDOORS)})({_OFTEN})")
_ALLERGY = compile_later(rf" has an? ({any_of(ALLERGENS)}) allergy")
_BEST = compile_later(r" likes ([\w'\-]+(?: [\w'\-]+){0,2}) best of all ([a-z]+s)")
_PASTIME = compile_later(
    rf" (likes|loves|hates|enjoys|prefers) ({any_of(PASTIMES)})((?: [\w'\-]+)*)"
)
_PREFERS = compile_later(r" prefers (?!to )([^,]+) over ([^,]+)")
_LIKES = compile_later(r" likes ([^,]+) (?:better|more) than ([^,]+)")
_A_NAME = compile_later(NAME_START)
_FIGURE = compile_later(r"[$€£]?[0-9]")
_KINDS = ((HELD, HELD | WRITTEN), *((kind, kind) for kind in (HUNG, OUTINGS, POURED, SKIES, WORN)))
"""What may take place, run or lie *over* something else, with what it is ranked with: in *calls
over letters*, they are of one kind."""
_AMONG = (FEASTS, MEALS, PROTOCOLS, STAPLES)
"""What is ranked only among its kind, because other things are done or run *over* it."""
_NOT_LIKED = en.PREPOSITIONS | frozenset(
    "anticipated anybody average expected last necessary next this".split()
)
_CERTAIN = en.DETERMINERS - {"a", "an"}
_LIKING = compile_later(rf"(?<!\S)(?:{any_of(LIVING)})s?\b")
_AFTER_A_VERB = en.PREPOSITIONS | en.PARTICLES | en.DETERMINERS | en.NUMBERS.keys() | OFTEN_DONE
_ITEM = compile_later(r"[A-Z][a-zà-ÿ]+")
_LISTED = compile_later(rf" speaks ((?:{_ITEM.pattern}, )*{_ITEM.pattern},? and {_ITEM.pattern})")
_PLACE = rf"({NAME}(?:, {NAME})?)"
_TRADE = rf"((?:(?:[a-z\-]+|[A-Z]{{2}}) ){{0,3}}(?:{any_of(TRADES)})|freelance [a-z]+)"
_TRAINED = (
    "(?:accredited|aspiring|certified|chartered|failed|former|future|licensed|qualified|registered"
    "|retired|trained|unemployed|wannabe) "
)
"""A *trained nurse* may do other work, or none."""
_NAMED = rf"{NAME}(?:'s?)?(?: (?:{any_of(FIRMS)}))?"
_FIRM = rf"((?:the )?{_NAMED}|(?:an?|the) (?:[a-z]+ ){{0,2}}(?:{any_of(FIRMS)})(?: in {NAME})?)"
_DOES_NOW = "drives|lives|owns|plays|reads|speaks|studies|uses|works"
_WHERE = "(?:at|every|for|in|on|with)"
_TRANSPORT = f"(?:{any_of(TRANSPORT)})"
_SCHOOL = rf"(?:University of {NAME}|{NAME} (?:College|University))"
_WEIGHT = r"[0-9.]+ (?:kg|pounds|stone)"
_SOMEBODY = any_of(PEOPLE | RELATED | ROLES)
_WORDS = r"(?:[a-z][a-z\-]* ){0,2}[a-z][a-z\-]*"
"""One to three words for something that has a name."""
_YOUNGER = f"(?:{any_of(PERHAPS_YOUNGER)})"
_KIN = rf"(?:{_YOUNGER} )?(?:{any_of((PEOPLE | RELATED) - ROLES)})"
_APPOINTED = f"(?:{any_of(APPOINTED)})"
_TO_DO = r"(?!(?:believe|have (?!an?\b|children\b|kids\b|more\b)|point|say|think)\b)[a-z]+"
_ASKED_FOR = (
    "advice|another|answers|children|help|kids|more|reminders|replies|reports|some|summaries"
    "|updates"
)
_NO_IF = r"(?!.*\b(?:if|less)\b)"
"""*Would like jazz* and *would like to have seen Rome* say what would please, if it happened."""
_MEDICINE = rf"(?:{any_of(MEDICINES)}|[0-9.]+ ?mg of [a-z]+)"
_DRINK = rf"(?:[a-z]+ ){{0,2}}(?:{any_of(DRINKS)})(?: (?:{any_of(en.PREPOSITIONS)}|rather) .+)?"
_NO_TITLE = rf"(?!(?:(?:{any_of(BEFORE_AN_OFFICE)}) ){{0,2}}(?:{any_of(OFFICES)})\Z)"
_DESCRIPTION = (
    rf"(?:{any_of(NOT_CALLED)}|(?!(?:Reese|Therese)\b)[A-Z][a-z]+(?:ese|ist)"
    rf"|(?!(?:{any_of(IN_IAN)})\b)[A-Z][a-z]+ian)"
)
DESCRIPTION = (
    rf"(?:(?:(?:{any_of(BEFORE_A_PEOPLE | BEFORE_AN_OFFICE)}|{_DESCRIPTION}) ){{0,2}}{_DESCRIPTION}"
    rf"|.+ (?:{any_of(TITLED)})"
    r"|[A-Z]{2,}|(?:Gen|Generation|Grade|Half|Level|Over|Primary|Team|Type|Under|Year) .+)"
)
"""What somebody is rather than what they are called."""
_NOT_CALLED = rf"(?!{DESCRIPTION}\Z)"
_DATE = f"[0-9]{{1,2}} (?:{MONTH})(?: [0-9]{{4}})?"
_AMOUNT = r"((?:[$€£][0-9][0-9.]*|[0-9][0-9.,]* [a-z]+))"
_SUM = rf"((?:[$€£][0-9][0-9.]*|[0-9][0-9.,]* (?:{any_of(CURRENCIES)})))"
_PLAIN = r"(?:an? )?[a-z\-]+(?: [a-z\-]+){0,3}"
_MODEL = (
    r"(?:Galaxy [A-Z][0-9]+|iPhone [0-9]+|Pixel [0-9]+a?|Fairphone [0-9]|Xperia [0-9]+)"
    r"(?: [A-Z][a-z]+)*"
)
_COUNT = f"(?:{any_of({'a', 'an', *en.NUMBERS})}|[0-9]+)"


def _ways(*ways: tuple[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(compile_later(pattern), way) for pattern, way in ways]


_MEETING = "appointment|class|exam|lesson|meeting|rehearsal|shift|stand-?up"
_AGE = rf"((?:{any_of(en.NUMBERS)})|[0-9]{{1,3}})(?: years (?:old|of age))?"
_BLOOD = "((?:A|B|AB|O) (?:negative|positive))"
_WORDS_OF_MONEY = "(?:[a-z]+ )?(?:budget|income|salary)"
_WHEN = (
    rf"(?:in (?:{MONTH}|[0-9]{{4}})|last (?:week|month|year|spring|summer|autumn|winter)"
    r"|[a-z0-9]+ (?:weeks|months|years) ago)"
)
_RUN = r"([0-9.]+ ?km) run"
_WITH = (
    rf"(?:(?:an?|one|(?:{any_of(en.NUMBERS)})|[0-9]+|her|his|their(?: own)?) )(?:[a-z]+ )?[a-z]+"
)
_HABIT = ((r"(.+ in the (?:morning|afternoon|evening))s", r"\1"),)
_TAKES = "drink|eat|own|smoke|speak|use"
_NOT_ANY = (
    r"(?!(?:longer|more|of|old|one|other|single)\b)"
    r"(?!.*(?:,|\b(?:all|and|because|both|but|each|every|if|only|since|unless)\b))"
)
"""No other word that a negation may apply to, as in *doesn't have a car and a bike*."""
_SERVED = (
    r"(?!.* to )(?:(?:black|strong|white)\b.*"
    rf"|with(?:out)? (?!(?:her|him|them|[a-z]+ing)\b|{NAME_START}).+)"
)
"""How coffee or tea is drunk; but *takes coffee with her* says that she carries it."""
_NEGATIVE = (
    (rf" doesn't have (?:an?|any) {_NOT_ANY}(.+)", r" has no \1"),
    (rf" doesn't ({_TAKES}) any {_NOT_ANY}(.+)", r" doesn't \1 \2"),
)
_OWNS = (
    rf" owns ({_COUNT} (?:(?:{any_of(COATS)}) )?(?:{any_of(PETS)})(?: (?:called|named) {NAME})?)",
    r" has \1",
)
_YEAR_MADE = "(?:19|20)[0-9]{2}"
_HANDED_IN = "filed|handed in|in|sent in|submitted|turned in"
_DAY_AND_MONTH = f"[0-9]{{1,2}} (?:{MONTH})"
_BORN_IN = "(?:19[0-9]{2}|20[01][0-9])"
"""A year in which somebody may have been born; *my birthday is 3 May 2027* is the next one."""
_UNIVERSITY = r"[A-Z][\w'\-]*(?: (?:for|of|[A-Z][\w'\-]*)){0,5}"
_TONGUE = "(?:first language|mother tongue|native language)"
_LANGUAGE = "([A-Z][a-z]+)"
_DUE = rf"(?:on )?({_DATE})"
_UNTIL = rf"(?:on |in )?({_DATE}|(?:{MONTH})(?: [0-9]{{4}})?)"
_LASTING = f"(?:{any_of(LASTING)})"
_NUMBER = r"(\+?[0-9][0-9 \-]{4,}[0-9])"
_LIVES = "((?:goes|has|lives|plays|speaks|studies|teaches|works) [^,]+)"
_OFF = rf"({DAY_NAME}s(?: and {DAY_NAME}s)?)"
_AILMENT = rf"(?:(?:chronic|mild|severe|type [12]) )?(?:{any_of(ILLNESSES)})"
_PART = "(?:ear|eye|hip|knee|shoulder)"
_SIDE = rf"(?: in (?:the|their own) (?:left|right) {_PART})?"
_EXPIRES = "(?:expires|runs out|is valid until)"
_HOLDS = (rf" (?:has|holds) an? ({_LASTING}) (?:that|which) ({_EXPIRES} .+)", r"'s \1 \2")
_DIPLOMA = f"(an? (?:.+ )?(?:{any_of(DIPLOMAS)})(?: .+)?)"
_BANK = (
    "(?:[A-Z][\\w'\\-]* )?(?:Bank|Barclays|Commerzbank|HSBC|ING|KBC|Lloyds|Monzo|N26|Nationwide"
    "|Rabobank|Revolut|Santander|UBS)"
)
_ALIVE = rf"(?:[a-z]+ )?(?:baby|cat|child|children|dog|kids|{any_of(PEOPLE | RELATED)})\b"
_NO_TOWN = (
    "(?:[A-Z][a-z]+ )?(?:[A-Z]{2,}|Accounting|Arms|Banking|Care|Christ|College|Congress"
    "|Construction|Education|Engineering|Estate|Finance|Grade|Heaven|Hospice|Hospital|Jail|Kindergarten|Law"
    "|Marketing|Medicine|Nursery|Nursing|Parliament|Politics|Preschool|Primary|Prison|Reception"
    "|Rehab|Sales|School|Scouts|Tech|University|Year)\\b"
)
_RELATIVE = rf"(?:{_YOUNGER} )?(?:{any_of((PEOPLE - {'friend'}) - ROLES)})"
_SOCIETY = "(?:Association|Choir|Church|Club|Guild|Party|Society|Union)"
_NOTEBOOK = rf"(?:{any_of(NOTEBOOKS)})(?: [A-Z0-9][\w.\-]*)*"
_PET = rf"(?:[a-z]+ ){{0,2}}(?:{any_of(PETS)})"
_FAMILY = r"[A-Z][\w'\-]*(?: [A-Z][\w\-]*)?"
_FOOD = f"(?:{any_of(FOODS)})"
_LANGUAGES = rf"(?:{_ITEM.pattern}, )*{_ITEM.pattern},? and {_ITEM.pattern}"
_WAYS = {
    "'s": _ways(
        (
            rf"('s (?:{_SOMEBODY})(?: {NAME})?) (?:is|works as) (an? {_TRADE}) (at|for) {_FIRM}",
            r"\1 works \4 \5 as \2",
        ),
        (rf"('s (?:{_SOMEBODY}) {NAME})'s date of birth is ({_DATE})", r"\1 was born on \2"),
        (rf"'s {_TONGUE} is {_LANGUAGE}", r"'s native language is \1"),
        (rf"('s {_WORDS}) deadline is {_DUE}", r"\1 is due on \2"),
        (rf"'s deadline for (?:the |their own )?({_WORDS}) is {_DUE}", r"'s \1 is due on \2"),
        (rf"('s {_WORDS} is due) ({_DATE})", r"\1 on \2"),
        (rf"('s {_LASTING}) {_EXPIRES} {_UNTIL}", r"\1 expires \2"),
        (rf"('s {_LASTING}) expiry(?: date)? is {_UNTIL}", r"\1 expires \2"),
        (
            rf"'s (?:fee|price) for (an? (?:[a-z\-]+ ){{0,2}}(?:{any_of(SERVICES)})) is {_AMOUNT}",
            r" charges \2 for \1",
        ),
        (rf"'s (?:line )?manager is ({NAME})", r" reports to \1"),
        (rf"'s languages are ({_LANGUAGES})", r" speaks \1"),
        (rf"('s {_WORDS} is due) by ({_DATE})", r"\1 on \2"),
        (
            rf"('s (?!{_ALIVE}){_WORDS}) (?:has to|must) be (?:{_HANDED_IN}) (?:by|on) ({_DATE})",
            r"\1 is due on \2",
        ),
        (rf"'s (?:telephone|phone) number is {_NUMBER}", r"'s phone number is \1"),
        (r"'s number is (\+?[0-9]+[ \-][0-9 \-]+[0-9])", r"'s phone number is \1"),
        (rf"'s (phone|mobile) is {_NUMBER}", r"'s \1 number is \2"),
        (
            rf"'s ((?:[a-z]+ )?number) (?:at|with) (?:the )?({_UNIVERSITY}) is (\S+)",
            r"'s \2 \1 is \3",
        ),
        (
            rf"('s (?:[a-z]+ )?(?:{any_of(THINGS)}) is an? )({MAKE}) from ({_YEAR_MADE})",
            r"\1\3 \2",
        ),
        (rf"'s birthday is ({_DAY_AND_MONTH} {_BORN_IN})", r" was born on \1"),
        (rf"'s ({_PET}) is called ({NAME})", r" has a \1 called \2"),
        (r"'s blood pressure is ([0-9]+) over ([0-9]+)", r"'s blood pressure is \1/\2"),
        (rf"'s (?:current )?weight is ({_WEIGHT})", r" weighs \1"),
        (
            rf"('s (?:{_SOMEBODY})) works as (?!an? (?:[a-z]+ )*{_TRAINED})(an? {_TRADE})",
            r"\1 is \2",
        ),
        (rf"'s major is ({any_of(SUBJECTS)})", r" majors in \1"),
        (rf"('s (?:{_SOMEBODY}) has [0-9]+) kids", r"\1 children"),
        (rf"('s {_WORDS})'s name is ({NAME})", r"\1 is called \2"),
        (
            rf"('s (?!(?:.* )?{_APPOINTED} is ){_WORDS}) is named ({_NO_TITLE}{NAME})",
            r"\1 is called \2",
        ),
        (rf"('s (?:{any_of(PETS)})) is named ({NAME})", r"\1 is called \2"),
        (rf"('s (?:best friend|{any_of(ROLES)}) is) called {_NOT_CALLED}({NAME})", r"\1 \2"),
        (rf"'s ({_KIN}) is (?:called |{_NOT_CALLED})({NAME})", r" has a \1 called \2"),
        (rf"('s (?:[a-z]+ )*(?:{any_of(DATED)})) is on ({_DATE})", r"\1 is \2"),
        (rf"'s monthly (budget|income|rent|salary) is {_AMOUNT}", r"'s \1 is \2 a month"),
        (rf"'s (?:annual|yearly) (income|salary) is {_AMOUNT}", r"'s \1 is \2 a year"),
        (rf"('s (?:{_SOMEBODY})(?: {NAME})? is) {_AGE}", r"\1 \2 years old"),
        (r"('s [a-z]+) begin(s?) ((?:at|in|on) .+)", r"\1 start\2 \3"),
        (rf"'s (?:job|job title|occupation|profession) is {_TRADE}", r" is a \1"),
        (r"('s favou?rite) film is (.+)", r"\1 movie is \2"),
        (r"'s height is ([0-9.]+ ?c?m)", r" is \1 tall"),
        (r"'s age is ([0-9]{1,3})", r" is \1 years old"),
        (rf"('s home is) ({NAME})", r"\1 in \2"),
        (r"'s email address is (\S+@\S+)", r"'s email is \1"),
        (r"'s birthday is on (.+)", r"'s birthday is \1"),
        (rf"'s date of birth is ({VALUE})", r" was born on \1"),
    ),
    "has": _ways(
        (
            rf" has ({NAME}) as (?:an?|the|his|her|their|their own) ({any_of(ROLES)})",
            r"'s \2 is \1",
        ),
        (
            rf" has {_LANGUAGE} as (?:an?|his|her|their|their own) {_TONGUE}",
            r"'s native language is \1",
        ),
        (
            rf" has an? ({_KIN}),? (?:called |named )?({NAME}),? who(?: is|'s) ([^,]+)",
            r"'s \1 \2 is \3",
        ),
        (rf" has an? ({_KIN}),? (?:called |named )?({NAME}),? who {_LIVES}", r"'s \1 \2 \3"),
        (rf" has an? ({_KIN}) who(?: is|'s) ([^,]+)", r"'s \1 is \2"),
        (rf" has an? ({_KIN}) who {_LIVES}", r"'s \1 \2"),
        (rf" has an? ({_PET}) whose name is ({NAME})", r" has a \1 called \2"),
        (rf" has their own (?:bank )?accounts? (?:at|with) ({_BANK})", r"'s bank is \1"),
        (
            r" has an interest in ((?!the |an? |her |his |their )[a-z]+(?: [a-z]+)*)",
            r" is interested in \1",
        ),
        (rf" has an? ({_RELATIVE}) in (?!{MONTH}|{_NO_TOWN}){_PLACE}", r"'s \1 lives in \2"),
        (
            rf" has got ({_AILMENT}{_SIDE}|(?:[a-z]+ )?(?:{any_of(MEETINGS)}) (?:at|on) .+)",
            r" has \1",
        ),
        (rf" has (an? {_NOTEBOOK})", r"'s laptop is \1"),
        (rf" has {_OFF} off", r" takes \1 off"),
        _HOLDS,
        (rf" has ({_AILMENT} in )the ((?:left|right) {_PART})", r" has \1their own \2"),
        (r" has a passion for (.+)", r" is passionate about \1"),
        (r" has a dislike of (.+)", r" dislikes \1"),
        (rf" has an? ({any_of(ROLES)}) (?:called|named) {_NOT_CALLED}({NAME})", r"'s \1 is \2"),
        (rf" has an? ({_WORDS}) (?:called|named) ({NAME})", r" has a \1 called \2"),
        (rf" has an? ({_KIN}|{any_of(PETS)}), ({NAME})", r" has a \1 called \2"),
        (rf" has a pet ((?:{any_of(PETS)}) called {NAME})", r" has a \1"),
        (rf" has ({_COUNT}) pet ({any_of(TAME)})", r" has \1 \2"),
        (rf" has (an? {_MODEL})(?: phone)?", r"'s phone is \1"),
        (rf" has (an? {MAKE}) ({any_of(THINGS)})", r"'s \2 is \1"),
        (rf" has (?:an? )?((?:[a-z\-]+ )*(?:{_MEETING})) ((?:at|on) [0-9A-Z].*)", r"'s \1 is \2"),
        (r" has an? (dentist|doctor|hairdresser)'s appointment(.*)", r" has a \1 appointment\2"),
        (rf" has (their own (?:coffee|tea) (?:{_SERVED}))", r" takes \1"),
        (r" has (?:the )?(phone number|student number) (\S.+)", r"'s \1 is \2"),
        (rf" has (?:the )?blood type {_BLOOD}", r"'s blood type is \1"),
        (rf" has {_BLOOD} blood", r"'s blood type is \1"),
        (rf" has an? ({_WORDS_OF_MONEY}) of (.+)", r"'s \1 is \2"),
        (rf" has a job at {_FIRM}", r" works at \1"),
        (r" has ([0-9]+) kids", r" has \1 children"),
        (rf" has a subscription to ({NAME})", r" subscribes to \1"),
        (rf" has an? ({NAME}) subscription", r" subscribes to \1"),
        (
            r" has a blood pressure of ([0-9]+)(?:/| over )([0-9]+)",
            r"'s blood pressure is \1/\2",
        ),
        (r" has an allergy to (.+)", r" is allergic to \1"),
        (r" has a fear of (.+)", r" is afraid of \1"),
        (rf" has got ({_COUNT} .+)", r" has \1"),
        (r" has (?:a |an )?(lactose|gluten) intolerance", r" is \1 intolerant"),
    ),
    "is": _ways(
        (
            rf" is a native (?:{_LANGUAGE} speaker|speaker of {_LANGUAGE})",
            r"'s native language is \1\2",
        ),
        (r" is (?:an? )?(type [12]) diabetic", r" has \1 diabetes"),
        (r" is an? left-hander", r" is left-handed"),
        (r" is (?:teetotal|a teetotall?er)", r" doesn't drink alcohol"),
        (r" is in charge of ([a-z]+ing(?: .+)?)", r" is responsible for \1"),
        (r" is in training for (.+)", r" is training for \1"),
        (rf" is an? graduate of (?:the )?({_UNIVERSITY})", r" graduated from \1"),
        (r" is putting (?:aside money|money aside) for (.+)", r" is saving for \1"),
        (rf" is off (?:work )?on {_OFF}", r" takes \1 off"),
        (
            rf" is currently (an? (?:.* )?student(?: .+)?|an? {_TRADE}(?: .+)?|[a-z]+ing .+)",
            r" is \1",
        ),
        (rf" is living in {_PLACE}", r" lives in \1"),
        (rf" is studying ({NAME}|{any_of(SUBJECTS)})", r" studies \1"),
        (rf"( is learning) how( to (?:{any_of(SKILLS)})(?: .+)?)", r"\1\2"),
        (r" is (lactose|gluten)-intolerant", r" is \1 intolerant"),
        (rf"( is learning) (?:the )?({any_of(en.INSTRUMENTS)})", r"\1 to play the \2"),
        (rf" is majoring in ({any_of(SUBJECTS)}|{NAME})", r" majors in \1"),
        (r" is (?:on|following) (an? [a-z\-]+ diet)", r" follows \1"),
        (r"( is saving) (?:money|up) (for .+)", r"\1 \2"),
        (rf" is an? student (at (?:the )?{_SCHOOL})", r" studies \1"),
        (rf" is an? ({any_of(SUBJECTS)}) student", r" studies \1"),
        (rf" is an? ({any_of(SUBJECTS)}) student (at (?:the )?{_SCHOOL})", r" studies \1 \2"),
        (rf" is studying ({any_of(SUBJECTS)}) (at (?:the )?{_SCHOOL})", r" studies \1 \2"),
        *((rf" is (?:an? )?{ailing}", rf" has {illness}") for ailing, illness in AILING.items()),
        (
            rf" is on ({_MEDICINE})( (?:at|every|for|in|once|twice) .+)?",
            r" takes \1\2",
        ),
        (rf" is aged {_AGE}", r" is \1 years old"),
        (rf" is (?:blood type )?{_BLOOD}", r"'s blood type is \1"),
        (rf" is an? ({NAME}) fan", r" is a fan of \1"),
        (rf" is a fan of the (?=.*[^s]s\Z)({NAME})", r" is a fan of \1"),
        (rf" is an? ({NAME}) supporter", r" supports \1"),
        (rf" is (an? {_TRADE}) by profession", r" is \1"),
        (rf" is (?:a|the) (father|mother) of ({_COUNT}(?: .+)?)", r" is \1 of \2"),
        (rf"( is (?:father|mother) of {_COUNT}) (?:children|kids)", r"\1"),
        (r" is planning (an? .+)", r" plans \1"),
        (r" is (?:a non-smoker|not a smoker)", r" doesn't smoke"),
        (rf" is an? graduate of ({NAME})", r" graduated from \1"),
        (rf" is (an? {_TRADE}) (at|for) {_FIRM}", r" works \3 \4 as \1"),
        (r" is (?:([0-9]{1,3}) years of age|([1-9][0-9]))", r" is \1\2 years old"),
        (r" is an? (vegan|vegetarian)", r" is \1"),
        (rf" is employed by ({NAME})", r"'s employer is \1"),
        (r" is scared of (.+)", r" is afraid of \1"),
        *((rf" is {verb} to (.+)", rf" {simple} to \1") for verb, simple in PLANNING.items()),
        *((rf" is (?:a|an|the) {noun} (.+)", rf" {verb} \1") for noun, verb in AGENTS.items()),
        (r" is the owner of (.+)", r" owns \1"),
        _OWNS,
    ),
    **dict.fromkeys(
        ("lives", "stays"),
        _ways((rf"( [a-z]+) with ({_WITH}) in ({NAME})", r"\1 in \3 with \2")),
    ),
    "gets": _ways(
        (r" gets migraines", r" has migraines"),
        (rf" gets to work (by {_TRANSPORT})", r" goes to work \1"),
    ),
    "goes": _ways(
        (r" goes to work by bicycle", r" goes to work by bike"),
        (rf" goes for an? {_RUN}({_OFTEN})", r" runs \1\2"),
        (rf" goes for a (jog|run|swim)({_OFTEN})", r" \1s\2"),
    ),
    "banks": _ways((rf" banks with ({NAME})", r"'s bank is \1")),
    "fears": _ways((rf" fears ({any_of(FEARS)})", r" is afraid of \1")),
    "begins": _ways((r" begins ((?:school|work) .+)", r" starts \1")),
    "pays": _ways(
        (rf" pays {_AMOUNT}( a month)? (?:in )?rent( a month)?", r" pays \1\2\3 in rent"),
    ),
    **dict.fromkeys(HABITS - {"drinks", "eats"}, _ways(*_HABIT)),
    **dict.fromkeys(
        ("quit", "stopped", "gave"),
        _ways((rf" (?:quit|stopped|gave up) ((?:{any_of(KEPT_UP)})(?: {_WHEN})?)", r" stopped \1")),
    ),
    **dict.fromkeys(
        ("sprained", "tore", "twisted"),
        _ways(
            (rf" ([a-z]+) an? ({any_of(LIMBS - {'arm'})})((?: .+)?)", r" \1 their own \2\3"),
            (r"( [a-z]+ their own .+) while ([a-z]+ing .+)", r"\1 \2"),
        ),
    ),
    "doesn't": _ways(*_NEGATIVE),
    "resides": _ways((rf" resides in {_PLACE}", r" lives in \1")),
    "currently": _ways((rf" currently ({_DOES_NOW})( .+)", r" \1\2")),
    **dict.fromkeys(("mainly", "primarily"), _ways((r" [a-z]+ ([a-z]+s .+)", r" mostly \1"))),
    "typically": _ways((r" typically ([a-z]+s .+)", r" usually \1")),
    "would": _ways(
        (
            rf" would like (to {_TO_DO} .+|(?:{_COUNT}|{_ASKED_FOR})\b{_NO_IF}.*)",
            r" wants \1",
        )
    ),
    "wants": _ways((rf"( wants to learn) how( to (?:{any_of(SKILLS)})(?: .+)?)", r"\1\2")),
    "prefers": _ways(
        (rf" prefers (?:to drink|drinking) ({_DRINK})", r" prefers \1"),
        (r" prefers (?!to )([^,]+?) rather than ([^,]+)", r" prefers \1 to \2"),
        (r"( prefers .+ in the (?:morning|afternoon|evening))s", r"\1"),
    ),
    "was": _ways(
        (rf" was (?:brought up|reared) (in {_PLACE}|on an? .+)", r" was raised \1"),
        (rf" was born on ({_DAY_AND_MONTH})", r"'s birthday is \1"),
    ),
    **dict.fromkeys(
        ("practices", "practises"),
        _ways((rf" [a-z]+ ((?:{any_of(PRACTISED)})\b.*)", r" does \1")),
    ),
    "works": _ways(
        (rf" works as (an? {_TRADE}) (at|for) {_FIRM}", r" works \3 \4 as \1"),
        (rf" works as (?!an? (?:[a-z]+ )*{_TRAINED})(an? {_TRADE})", r" is \1"),
        (r" works night shifts((?: .+)?)", r" works nights\1"),
    ),
    "attends": _ways((rf" attends ((?:the )?{_SCHOOL})", r" studies at \1")),
    "does": _ways(
        (r" does not smoke", r" doesn't smoke"),
        (rf" does not ((?:have an?|(?:have|{_TAKES}) any) .+)", r" doesn't \1"),
        *_NEGATIVE,
        (rf" does an? {_RUN}(.*)", r" runs \1\2"),
        (r" does volunteer work (at|for) (.+)", r" volunteers \1 \2"),
    ),
    "commutes": _ways((rf" commutes to work (by {_TRANSPORT})", r" goes to work \1")),
    "takes": _ways(
        (rf" takes the ({_TRANSPORT}) to work", r" goes to work by \1"),
        (r" takes an? size ([0-9.]+) (?:in shoes|shoe)", r"'s shoe size is \1"),
        (
            rf" takes (coffee|tea) ({_SERVED})",
            r" takes their own \1 \2",
        ),
    ),
    "drinks": _ways(
        (
            rf" drinks (?:their own )?(coffee|tea) ({_SERVED})",
            r" takes their own \1 \2",
        ),
        (r" drinks black coffee", r" takes their own coffee black"),
        *_HABIT,
    ),
    "eats": _ways(
        (rf" eats ({_PLAIN}) for ({any_of(MEALS)})", r" has \1 for \2"),
        *_HABIT,
    ),
    "wears": _ways(
        (r" wears (?:a )?size ([0-9.]+) shoes", r"'s shoe size is \1"),
        (r" wears a size (.+)", r" wears size \1"),
    ),
    "plays": _ways(
        (
            rf" plays ({any_of(en.INSTRUMENTS | KEYS_AND_DRUMS)})((?: {_WHERE} .+)?)",
            r" plays the \1\2",
        )
    ),
    "comes": _ways((rf" comes from ({NAME})", r" is from \1")),
    "suffers": _ways(
        (rf" suffers from ({_AILMENT}{_SIDE})", r" has \1"),
        (rf" suffers from an? ({any_of(ALLERGENS)}) allergy", r" has a \1 allergy"),
    ),
    "owns": _ways(_OWNS),
    "graduated": _ways((rf" graduated from the ({_UNIVERSITY})", r" graduated from \1")),
    "saves": _ways((r" saves (?:up |money )?for (an? .+)", r" is saving for \1")),
    "puts": _ways((r" puts (?:aside money|money aside) for (an? .+)", r" is saving for \1")),
    **dict.fromkeys(
        ("can't", "cannot"), _ways((rf" [a-z']+ (?:bear|stand) ({_FOOD})", r" hates \1"))
    ),
    "can": _ways(
        (rf" can be reached (?:at|on) {_NUMBER}", r"'s phone number is \1"),
        (r" can be (?:emailed|reached) at (\S+@\S+)", r"'s email is \1"),
    ),
    "rents": _ways((rf" rents from ({ADDRESS} {_FAMILY})", r"'s landlord is \1")),
    "earns": _ways((rf" earns (?:a|their own) living as (an? {_TRADE})", r" works as \1")),
    "keeps": _ways((rf" keeps ({_COUNT} (?:{any_of(PETS | LIVESTOCK)}))", r" has \1")),
    "belongs": _ways((rf" belongs to (the (?:{NAME} )?{_SOCIETY})", r" is a member of \1")),
    "rises": _ways(
        (r" rises (at (?:[0-9]|dawn\b|daybreak\b|midnight\b|noon\b|sunrise\b).*)", r" gets up \1")
    ),
    "holds": _ways((rf" holds {_DIPLOMA}", r" has \1"), _HOLDS),
    **dict.fromkeys(
        ("earned", "obtained", "received"), _ways((rf" [a-z]+ {_DIPLOMA}", r" got \1"))
    ),
    "cycles": _ways((r" cycles to work", r" goes to work by bike")),
    "drives": _ways((r" drives (?:herself |himself )?to work", r" goes to work by car")),
    "walks": _ways((r" walks to work", r" goes to work on foot")),
    "charges": _ways((rf" charges {_SUM} (an? [a-z]+)", r" charges \1 for \2")),
    "relocated": _ways((rf" relocated to ({NAME}.*)", r" moved to \1")),
    **dict.fromkeys(
        ("bikes", "rides"),
        _ways((r" (?:bikes|rides (?:a|their own) bike) to work", r" goes to work by bike")),
    ),
    "uses": _ways(
        (rf" uses (an? {_MODEL})(?: as (?:a|their own) phone)?", r"'s phone is \1"),
        (rf" uses (an? {_NOTEBOOK})", r"'s laptop is \1"),
    ),
}
"""By the first word after the subject: patterns, each with its replacement.

A pattern has to match all that follows the subject, so that nothing is left out.
"""
_VERBS = any_of(_WAYS.keys() - {"'s"})
_OF_SOMEBODY = compile_later(rf"('s (?:{_SOMEBODY})(?: {NAME})?)( (?:{_VERBS})\b.*)")
