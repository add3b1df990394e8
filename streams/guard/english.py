"""The edits of English. Each is tried where two texts begin to differ, in both directions."""

from __future__ import annotations

from palimpsest.streams.guard import around
from palimpsest.streams.guard.around import capital, ends, kind, low, token
from palimpsest.streams.guard.calendar import MONTHS, is_year
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.edits import Edit, Match, Pairs
from palimpsest.streams.guard.fixed import without_thousands, without_zeros
from palimpsest.streams.guard.moves import front
from palimpsest.streams.guard.reading import Reading
from palimpsest.streams.guard.tokeniser import Kind

Found = tuple[int, int] | None


# -- case ------------------------------------------------------------------------------------------


def _case_of_a_start(one: Reading, i: int, other: Reading, j: int) -> Found:
    if low(one, i) != low(other, j):
        return None
    a, b = token(one, i), token(other, j)
    if not (a and b and a.kind is b.kind is Kind.WORD and a.opens and b.opens):
        return None
    same = a.text[1:] == b.text[1:] and (len(a.text) == 1 or a.text[1:].islower())
    goes_on = kind(one, i + 1) is kind(one, i + 2) is Kind.WORD
    named = low(one, i) in en.NAMES_TOO
    return (1, 1) if same and goes_on and not named else None


def _case_of_a_text(one: Reading, i: int, other: Reading, j: int) -> Found:
    if low(one, i) != low(other, j):
        return None
    a, b = token(one, i), token(other, j)
    if not (a and b) or a.kind is not b.kind is Kind.WORD:
        return None
    if around.has_identifiers(one) or around.has_identifiers(other):
        return None
    if one.text.islower():
        known = low(one, i) in en.CAPITALISED and capital(other, j)
        return (1, 1) if known or (a.text, b.text) == ("i", "I") else None
    shouted = one.text.isupper() and not other.text.isupper()
    plain = b.text.islower() or (b.opens and b.text[1:].islower())
    no_acronym = len(a.text) > 2 and low(one, i) not in en.ACRONYMS_TOO
    return (1, 1) if shouted and plain and (no_acronym or a.text in ("A", "I")) else None


# -- small words -----------------------------------------------------------------------------------


def _article(one: Reading, i: int, other: Reading, j: int) -> Found:
    if low(one, i) not in ("a", "an", "the") or kind(one, i) is not Kind.WORD:
        return None
    before, noun = low(one, i - 1), around.noun_after(one, i + 1, en.PERSONS | en.THINGS)
    if low(one, i) == "the" and before == "," and low(one, i + 1) in en.RELATIVES:
        explains = one.lows.count(",") == 1 and {"and", "or"}.isdisjoint(one.lows)
        follows = low(one, i + 2) == "of" and low(other, j) == low(one, i + 1)
        return (1, 0) if explains and follows else None
    if not noun or before in en.NO_ARTICLE_AFTER or before in en.ARTICLES:
        return None
    if i and (kind(one, i - 1) is not Kind.WORD or len(before) == 1):
        return None
    if not (around.stands_alone(one, noun + 1) or low(one, noun + 1) in en.PREPOSITIONS):
        return None
    if low(other, j) in en.DETERMINERS:
        return None
    if i in one.openers:  # the next word gets the capital
        same = noun == i + 1 and low(one, noun) == low(other, j)
        return (2, 1) if same and _capital_moves(one, i, other, j) else None
    return (1, 0)


def _capital_moves(one: Reading, i: int, other: Reading, j: int) -> bool:
    return j in other.openers and capital(one, i) == capital(other, j)


def _a_or_an(one: Reading, i: int, other: Reading, j: int) -> Found:
    same = (low(one, i), low(other, j)) == ("a", "an")
    words = all(around.is_plain(text, at + 1) for text, at in ((one, i), (other, j)))
    return (1, 1) if same and words and capital(one, i) == capital(other, j) else None


def _contraction(one: Reading, i: int, other: Reading, j: int) -> Found:
    short = low(one, i)
    short = en.BARE.get(short, short)
    if capital(one, i) != capital(other, j):
        return None
    if short != low(one, i) and low(other, j) == short:
        return (1, 1)
    full = en.CONTRACTED.get(short)
    if full is None or other.lows[j : j + len(full)] != full:
        return None
    return (1, len(full)) if not around.asks(one) else None


def _is_contracted(one: Reading, i: int, other: Reading, j: int) -> Found:
    subject = en.IS_OR_HAS.get(low(one, i))
    if subject is None or low(other, j) != subject or capital(one, i) != capital(other, j):
        return None
    if low(other, j + 1) == "isn't" and low(one, i + 1) == "not":
        return (2, 2) if around.follows_is(one, i + 2) else None
    return (1, 2) if low(other, j + 1) == "is" and around.follows_is(one, i + 1) else None


def _user(one: Reading, i: int, other: Reading, j: int) -> Found:
    length = 2 if low(one, i) == "the" and low(one, i + 1) == "user" else 1
    verb = i + length
    if low(one, verb - 1) != "user" or not (i in one.openers and j in other.openers):
        return None
    if around.asks(one) or around.asks(other) or kind(one, verb + 1) is not Kind.WORD:
        return None
    if capital(one, i) != capital(other, j):
        return None
    if low(one, verb) == "is" and low(other, j) == low(one, verb + 1):
        does = verb + 1 + low(one, verb + 1).endswith("ly")
        doing = around.is_doing(one, does) and kind(one, does + 1) is Kind.WORD
        return (length + 2, 1) if doing else None
    done = low(one, verb) in en.PASTS or low(one, verb).endswith("ed")
    has_object = around.is_lower(one, verb) and low(one, verb + 1) in en.DETERMINERS
    if low(one, verb) not in en.STATES and not (done and has_object):
        return None
    if low(other, j) == low(one, verb):
        return length + 1, 1
    return (2, 1) if length == 2 and low(other, j) == "user" else None


def _is_of_a_caption(one: Reading, i: int, _other: Reading, _j: int) -> Found:
    if low(one, i) not in ("is", "are") or one.sentences != 1 or i < 2 or around.asks(one):
        return None
    others = one.lows[:i] + one.lows[i + 1 :]
    if low(one, 0) not in en.CAPTION_STARTS or not en.NO_CAPTION.isdisjoint(others):
        return None
    length = 1 + (low(one, i + 1) in en.PLACED_WORDS)
    return (length, 0) if _shows(one, i + length, verb=length == 1) else None


def _shows(text: Reading, at: int, *, verb: bool = True) -> bool:
    """Whether what follows is what can be seen: something done, or where."""
    after = low(text, at)
    if after in ("next", "adjacent", "close"):
        return low(text, at + 1) == "to"
    if after in en.PLACING:
        return kind(text, at + 1) is Kind.WORD
    return verb and around.is_doing(text, at)


def _relative(one: Reading, i: int, _other: Reading, _j: int) -> Found:
    if low(one, i) not in ("that", "which", "who") or low(one, i + 1) not in ("is", "are"):
        return None
    noun = low(one, i - 1)
    known = noun in en.CAPTIONED or noun.removesuffix("s") in en.PERSONS | en.THINGS
    return (2, 0) if known and around.is_lower(one, i - 1) and _shows(one, i + 2) else None


# -- marks -----------------------------------------------------------------------------------------


def _comma(one: Reading, i: int, _other: Reading, _j: int) -> Found:
    if low(one, i) != "," or kind(one, i) is not Kind.SIGN:
        return None
    return (1, 0) if _ends_a_time(one, i) or _before_too(one, i) or _serial(one, i) else None


def _ends_a_time(text: Reading, at: int) -> bool:
    starts = (n for n in (at - 2, at - 3) if n >= 0 and n + front(text, n) == at)
    opens = any(n in text.openers for n in starts)
    return opens and low(text, at + 1) in en.SUBJECTS


def _before_too(text: Reading, at: int) -> bool:
    return low(text, at + 1) == "too" and ends(text, at + 2) and kind(text, at - 1) is Kind.WORD


def _serial(text: Reading, at: int) -> bool:
    """Whether the comma stands before the *and* of a list of single words of one kind."""
    if low(text, at + 1) not in ("and", "or") or not ends(text, at + 3):
        return False
    items = [at + 2, at - 1]
    while low(text, items[-1] - 1) == ",":
        items.append(items[-1] - 2)
    before = items[-1] - 1
    if len(items) < 3 or kind(text, before) is not Kind.WORD or low(text, before) in en.DETERMINERS:
        return False
    if any(kind(text, item) is not Kind.WORD for item in items):
        return False
    return len({(capital(text, n), low(text, n).endswith("s")) for n in items}) == 1


# -- numbers ---------------------------------------------------------------------------------------


def _number_word(one: Reading, i: int, other: Reading, j: int) -> Found:
    figure = token(other, j)
    if figure is None or figure.kind is not Kind.NUMBER or not around.is_lower(one, i):
        return None
    counted = low(one, i + 1)
    several = (counted.endswith("s") and not counted.endswith("ss")) or counted in en.PLURALS
    alone = low(one, i - 1) not in en.NUMBER_PARTS and kind(one, i - 1) is not Kind.NUMBER
    same = en.NUMBERS.get(low(one, i)) == figure.text and counted == low(other, j + 1)
    return (1, 1) if same and several and alone and around.is_lower(one, i + 1) else None


def _decimals(one: Reading, i: int, other: Reading, j: int) -> Found:
    if not kind(one, i) is kind(other, j) is Kind.NUMBER:
        return None
    unit = token(one, i + 1)
    if unit is None or unit.text not in en.MEASURES or low(other, j + 1) != unit.text:
        return None
    mine, theirs = one.keys[i], other.keys[j]
    if without_zeros(mine) == without_zeros(theirs):
        return (1, 1)
    return (1, 1) if without_thousands(mine) == theirs else None


def _unit_apart(one: Reading, i: int, other: Reading, j: int) -> Found:
    number, unit = token(other, j), token(other, j + 1)
    if number is None or unit is None or number.kind is not Kind.NUMBER:
        return None
    together = unit.text in en.SPACED and one.keys[i : i + 1] == ("`" + number.text + unit.text,)
    return (1, 2) if together else None


def _date(one: Reading, i: int, other: Reading, j: int) -> Found:
    """*6 October 1899* for *October 6, 1899*, behind what a date follows, with its year or not."""
    day, month = one.texts[i : i + 1], one.texts[i + 1 : i + 2]
    if kind(one, i) is not Kind.NUMBER or len(day[0]) > 2 or not capital(one, i + 1):
        return None
    if low(one, i + 1) not in MONTHS or other.texts[j : j + 2] != month + day:
        return None
    year = one.texts[i + 2 : i + 3]
    comma = low(other, j + 2) == ","
    dated = i == 0 or low(one, i - 1) in en.DATING
    if kind(one, i + 2) is Kind.NUMBER and is_year(year[0]):
        same = dated and other.texts[j + 2 + comma : j + 3 + comma] == year
        return (3, 3 + comma) if same and around.stands_alone(one, i + 3) else None
    return (2, 2) if dated and not comma and around.stands_alone(one, i + 2) else None


# -- words for words -------------------------------------------------------------------------------


def _spelling(one: Reading, i: int, other: Reading, j: int) -> Found:
    same = (low(one, i), low(other, j)) in en.SPELLINGS
    return (1, 1) if same and around.is_lower(one, i) and around.is_lower(other, j) else None


def _hyphen(one: Reading, i: int, other: Reading, j: int) -> Found:
    if low(one, i) not in en.HYPHENED:
        return None
    parts = tuple(low(one, i).split("-"))
    same = other.lows[j : j + 2] == parts and all(around.is_lower(other, n) for n in (j, j + 1))
    return (1, 2) if same and around.is_lower(one, i) else None


def _exchange(
    one: Reading, i: int, other: Reading, j: int, groups: tuple[tuple[tuple[str, ...], ...], ...]
) -> Found:
    """The lengths of two phrases of one group that stand at these places, in lower case."""
    for group in groups:
        mine = around.phrase(one, i, group)
        theirs = around.phrase(other, j, group)
        if mine and theirs and mine != theirs:
            return len(mine), len(theirs)
    return None


def _groups(*lines: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    return tuple(tuple(tuple(p.split()) for p in line.split("/")) for line in lines)


_SIZES = _groups("small/little/tiny")
_LARGE = _groups("big/large", "huge/enormous/gigantic")
_NEAR = _groups("near/close to", "beside/next to")
_NOUNS = _groups(
    "mother/mom/mum", "father/dad", "couch/sofa", "fridge/refrigerator", "photo/photograph",
    "photos/photographs", "kids/children", "kid/child",
    "airplane/plane", "tv/television", "grandmother/grandma", "grandfather/grandpa",
)  # fmt: skip
_BODIES = _groups("nobody/no one", "somebody/someone", "everybody/everyone", "anybody/anyone")
_STREETS = _groups("street/road")
_HAPPY = _groups("happy/glad/pleased")
_VERY_HAPPY = _groups("happy/glad/pleased/delighted/joyful")
_DAILY = _groups("daily/every day", "weekly/every week", "monthly/every month")
_QUICKLY = _groups("quickly/rapidly", "maybe/perhaps")
_BOUGHT = _groups("bought/purchased")
_NAMED = _groups("called/named")
_LOCATED = _groups("located/situated")


def _size(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _SIZES)
    sized = en.PERSONS | en.THINGS | en.GROUPS
    return found if found and around.describes(one, i + 1, sized) else None


def _large(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _LARGE)
    return found if found and around.describes(one, i + 1, en.THINGS) else None


def _near(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _NEAR)
    if found is None:
        return None
    after = i + found[0]
    before = low(one, i - 1)
    if low(one, after) in en.INDEFINITE:
        seen = before in en.PLACED or around.singular(before) in en.THINGS | en.GROUPS
        return found if seen or around.describes(one, after + 1, en.THINGS) else None
    article = low(one, after) in en.DETERMINERS
    return found if article and around.describes(one, after + 1, en.THINGS) else None


def _street(one: Reading, i: int, other: Reading, j: int) -> Found:
    """*street* for *road*, where somebody moves or stands: never in an address or an idiom."""
    found = _exchange(one, i, other, j, _STREETS)
    if found is None or not around.stands_alone(one, i + 1) or low(one, i + 1) == "to":
        return None
    article = i - 1 if low(one, i - 1) in en.ARTICLES else i - 2
    described = article == i - 1 or low(one, i - 1) in en.PLAIN_ADJECTIVES
    if not described or low(one, article) not in en.ARTICLES:
        return None
    before, way = low(one, article - 2), low(one, article - 1)
    seen = (
        way in en.CROSSING | en.BESIDE
        or (way in en.ALONG and before in en.SHOWN | en.STROLLING)
        or (way in ("on", "in") and before in en.STROLLING)
        or (
            way in en.ALONG | en.INTO
            and low(one, article) != "the"
            and article < i - 1
            and low(one, i - 1) not in en.NO_STREET_BUT_A_WAY
        )
        or (way == "of" and before in ("middle", "side"))
    )
    return found if seen else None


def _noun(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _NOUNS)
    if found is None or not around.stands_alone(one, i + found[0]):
        return None
    before = low(one, i - 1)
    return found if before in en.DETERMINERS | en.PLAIN_ADJECTIVES else None


def _body(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _BODIES)
    return found if found and low(one, i + found[0]) in en.FINITE else None


def _happy(one: Reading, i: int, other: Reading, j: int) -> Found:
    much = low(one, i - 1) in en.INTENSIFIERS
    before = i - 2 if much else i - 1
    made = low(one, before) in en.OBJECTS and low(one, before - 1) in en.MAKING
    felt = made or low(one, before) in en.BEFORE_FEELINGS
    found = _exchange(one, i, other, j, _VERY_HAPPY if much else _HAPPY)
    return found if found and felt and ends(one, i + found[0]) else None


def _daily(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _DAILY)
    if found is None or not ends(one, i + found[0]) or not ends(other, j + found[1]):
        return None
    barred = en.DETERMINERS | en.AUXILIARIES | en.QUANTIFIERS
    return found if kind(one, i - 1) is Kind.WORD and low(one, i - 1) not in barred else None


def _quickly(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _QUICKLY)
    return found if found and around.stands_alone(one, i + found[0]) else None


def _bought(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _BOUGHT)
    article = found and low(one, i + found[0]) in ("a", "an")
    named = article and around.noun_after(one, i + 2, en.THINGS)
    return found if named and low(one, i - 1) not in en.AUXILIARIES else None


def _named(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _NAMED)
    linked = low(one, i - 1) in ("is", "are", "was", "were")
    return found if found and linked and capital(one, i + 1) and capital(other, j + 1) else None


def _located(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, _LOCATED)
    linked = low(one, i - 1) in ("is", "are")
    return found if found and linked and low(one, i + 1) in en.PLACING else None


def _contrary(one: Reading, i: int, other: Reading, j: int) -> Found:
    """*not fair* for *unfair*, and *not impossible* for *possible*, said of the subject."""
    negated = _negated(one, i, other, j)
    if negated is None:
        return None
    length, matched = negated
    adjective, meaning = i + length, j + matched
    if not around.is_lower(one, adjective) or not around.is_lower(other, meaning):
        return None
    said, meant = low(one, adjective), low(other, meaning)
    opposed = en.COMPLEMENTS.get(meant) == said
    twofold = en.COMPLEMENTS.get(said) == meant and meant in en.TWOFOLD
    either = {(said, meant), (meant, said)} & en.OPPOSITES and ends(one, adjective + 1)
    if not (either or ((opposed or twofold) and around.closes_a_predicate(one, adjective + 1))):
        return None
    alone = around.negations(one) == 1 and not around.negations(other)
    asked = around.asks(one) and low(one, 0) in en.AUXILIARIES
    return (length + 1, matched + 1) if alone and not asked else None


def _negated(one: Reading, i: int, other: Reading, j: int) -> Found:
    """How far a *not* goes before what it negates, and what of that the other text has."""
    before, word = low(one, i - 1), low(one, i)
    if word in ("isn't", "aren't", "wasn't", "weren't"):
        return (1, 1) if low(other, j) == word[:-3] else None
    if word != "not":
        return None
    is_said = before in en.BE or before.endswith(("'s", "'re", "'m"))
    if low(one, i + 1) == low(other, j) in ("be", "being"):
        return (2, 1) if is_said or before in en.FUTURE else None
    return (1, 0) if is_said else None


def _firsts(*groups: tuple[tuple[tuple[str, ...], ...], ...]) -> frozenset[str]:
    return frozenset(phrase[0] for each in groups for group in each for phrase in group)


_BEGINS: dict[str, frozenset[str]] = {
    "article": en.ARTICLES,
    "a-or-an": en.ARTICLES,
    "contraction": frozenset(en.CONTRACTED) | frozenset(en.BARE),
    "is-contracted": frozenset(en.IS_OR_HAS),
    "user": frozenset({"the", "user"}),
    "is-of-a-caption": frozenset({"is", "are"}),
    "relative": frozenset({"that", "which", "who"}),
    "comma": frozenset({","}),
    "number-word": frozenset(en.NUMBERS),
    "spelling": frozenset(word for pair in en.SPELLINGS for word in pair),
    "hyphen": en.HYPHENED,
    "size": _firsts(_SIZES),
    "large": _firsts(_LARGE),
    "near": _firsts(_NEAR),
    "noun": _firsts(_NOUNS),
    "street": _firsts(_STREETS),
    "nobody": _firsts(_BODIES),
    "happy": _firsts(_VERY_HAPPY),
    "daily": _firsts(_DAILY),
    "adverb": _firsts(_QUICKLY),
    "bought": _firsts(_BOUGHT),
    "named": _firsts(_NAMED),
    "located": _firsts(_LOCATED),
    "contrary": frozenset({"not", "isn't", "aren't", "wasn't", "weren't"}),
}
"""The words by which an edit begins, where they are few."""


def _edit(name: str, match: Match, changes: str, context: str, passes: Pairs, fails: Pairs) -> Edit:
    return Edit(name, changes, context, passes, fails, match, _BEGINS.get(name, frozenset()))


ENGLISH: tuple[Edit, ...] = (
    _edit(
        "case-of-a-start", _case_of_a_start,
        "the first letter of a sentence is small or a capital",
        "the rest of the word is small, at least two words follow, and it is no word that is a name"
        " as well (*Turkey*, *Rose*, *Polish*)",
        (
            ("my cat sleeps on the couch", "My cat sleeps on the couch"),
            ("a small dog is sleeping", "A small dog is sleeping"),
        ),
        (
            ("turkey is what they love most", "Turkey is what they love most"),
            ("She is fond of Turkey.", "She is fond of turkey."),
            ("IT is what she studied.", "It is what she studied."),
            ("mW is the unit of the plant", "MW is the unit of the plant"),
            ("the bank of Reading", "the bank of reading"),
            ("Tulip7 opens the gate of the house", "tulip7 opens the gate of the house"),
        ),
    ),
    _edit(
        "case-of-a-text", _case_of_a_text,
        "one text is in small letters, or in capitals, from end to end",
        "small letters: weekdays, months and *I* alone get theirs; capitals: words that are no"
        " acronym, of more than two letters; no identifier, number or unit in either text",
        (
            ("the choir meets on monday in the church", "the choir meets on Monday in the church"),
            ("THE RED SIGN HANGS THERE", "The red sign hangs there"),
            ("she says that i am late", "she says that I am late"),
        ),
        (
            ("SHE LEFT IT", "She left it"),
            ("she likes rose with her fish", "she likes Rose with her fish"),
            ("he went to reading with her", "he went to Reading with her"),
            ("THE PLANT MAKES MW", "The plant makes mW"),
            ("SHE HAS AIDS AND A DOG", "She has aids and a dog"),
        ),
    ),
    _edit(
        "article", _article,
        "*a*, *an* or *the* stands in one of the texts",
        "before a person or a thing of a closed list, with at most two plain adjectives, in small"
        " letters, in the singular; not behind a number, an identifier, a bracket, a single letter,"
        " *to*, *by*, *of*, *in* and other words with which a bare noun means something else; or"
        " *the* behind the only comma and before a relative *of* somebody, without *and* or *or*",
        (
            ("She plays the cello and sings.", "She plays cello and sings."),
            ("He has a big dog with him.", "He has big dog with him."),
            ("The baker likes her dog.", "Baker likes her dog."),
            ("It is by Ann, the daughter of her boss.", "It is by Ann, daughter of her boss."),
        ),
        (
            ("His daughter is in class 3a.", "His daughter is in class 3."),
            ("her blood type is a positive", "her blood type is positive"),
            ("he takes vitamin a every day", "he takes vitamin every day"),
            ("She has a few friends.", "She has few friends."),
            ("She is in the charge of her son.", "She is in charge of her son."),
            ("The plants need water every day.", "Plants need water every day."),
            ("The milk is bad for her.", "Milk is bad for her."),
            ("She went by the car to the lake.", "She went by car to the lake."),
            ("He went to the cook of the inn.", "He went to cook of the inn."),
            ("He is out of the question.", "He is out of question."),
            ("She met a king at the ball.", "She met the king at the ball."),
            ("The first cat is hers.", "First cat is hers."),
            ("She met the son of her boss.", "She met son of her boss."),
            ("It is Ann, the son of Tom, and Bob.", "It is Ann, son of Tom, and Bob."),
        ),
    ),
    _edit(
        "a-or-an", _a_or_an,
        "*a* for *an*",
        "before a word of more than one letter that is no acronym",
        (("He has an European dog.", "He has a European dog."),
         ("It is an unicorn of her own.", "It is a unicorn of her own.")),
        (("He got an A.", "He got a A."),
         ("She has an apple.", "She has a pear.")),
    ),
    _edit(
        "contraction", _contraction,
        "a contraction is written out, or lacks its apostrophe",
        "one that stands for one thing only (*don't*, *can't*, *I'm*, *they're*, *we've*, *she'll*)"
        "; never *'d*, *let's* or a possessive; not in a question",
        (
            ("She doesn't eat fish.", "She does not eat fish."),
            ("I'm a baker in Lyon, they say.", "I am a baker in Lyon, they say."),
            ("She doesnt eat fish.", "She doesn't eat fish."),
            ("We can't swim.", "We cannot swim."),
        ),
        (
            ("Let's eat with them.", "Let us eat with them."),
            ("He'd paid for her.", "He would paid for her."),
            ("He'd seen her there.", "He would seen her there."),
            ("Its her dog.", "It's her dog."),
            ("She cant it to the left.", "She can it to the left."),
            ("We're late for the train.", "Were late for the train."),
        ),
    ),
    _edit(
        "is-contracted", _is_contracted,
        "*'s* behind a pronoun is written out as *is*",
        "before what cannot follow *has*: an article, *not*, an adjective or a name; never before"
        " what can be a participle, never behind a noun",
        (
            ("He's a baker.", "He is a baker."),
            ("It's not fair to them.", "It is not fair to them."),
            ("It isn't true at all.", "It's not true at all."),
        ),
        (
            ("He's injured in the car.", "He is injured in the car."),
            ("She's paid 50 euros.", "She is paid 50 euros."),
            ("She's got it.", "She is got it."),
            ("He's not paid.", "He is not paid."),
            ("The dog's food is bad for her.", "The dog is food is bad for her."),
        ),
    ),
    _edit(
        "user", _user,
        "*user* or *the user* opens one of the texts, or *user is* before what is being done",
        "before a verb of state in the third person (*likes*, *prefers*, *lives*, *is*) that more"
        " words follow, or a verb of the past with its object behind it (*bought a*); not in a"
        " question",
        (
            ("The user likes jazz and swims with her dog.", "Likes jazz and swims with her dog."),
            ("User is a baker and has a dog.", "Is a baker and has a dog."),
            ("The user prefers tea with milk.", "User prefers tea with milk."),
            ("User is working on a book about her dog.", "Working on a book about her dog."),
            ("User bought a boat for the lake.", "Bought a boat for the lake."),
            ("User is currently writing about her dog.", "Currently writing about her dog."),
        ),
        (
            ("User works with the team.", "Works with the team."),
            ("The user interface is slow.", "Interface is slow."),
            ("The user is here with you?", "Is here with you?"),
            ("I asked what the user likes most.", "I asked what likes most."),
            ("User accounts for testing are slow.", "Accounts for testing are slow."),
            ("User stories the team wrote.", "Stories the team wrote."),
            ("User read the book about the dog.", "Read the book about the dog."),
            ("User is building inspector of the city.", "Building inspector of the city."),
            ("User was working on her book.", "Working on her book."),
        ),
    ),
    _edit(
        "is-of-a-caption", _is_of_a_caption,
        "*is* or *are* (or *is located*, *is situated*, *is positioned*) stands between what is"
        " shown and what it does or where it is",
        "one sentence that begins with *a*, *an* or a number; a verb in *-ing* or a place follows;"
        " no other verb, no *and*, *that* or negation; never before what can be a participle of the"
        " past",
        (
            ("A man is riding a horse.", "A man riding a horse."),
            ("A cat is on the couch.", "A cat on the couch."),
            ("Two dogs are running in the park.", "Two dogs running in the park."),
        ),
        (
            ("She is paid 50 euros a week.", "She paid 50 euros a week."),
            ("The manager is fired.", "The manager fired."),
            ("A teacher is invited to the party.", "A teacher invited to the party."),
            ("The staff will be cut next year.", "The staff will cut next year."),
            ("The boss is Tom.", "The boss Tom."),
            ("A man is not in the car.", "A man not in the car."),
            ("A woman is a man in the park.", "A woman a man in the park."),
        ),
    ),
    _edit(
        "relative", _relative,
        "*that is*, *which is* or *who are* stands before what is done or where something is",
        "behind a person or thing of a closed list; before a verb in *-ing*, or a place",
        (
            ("He has a cat that is in the garden.", "He has a cat in the garden."),
            ("A woman who is holding a cup smiles.", "A woman holding a cup smiles."),
        ),
        (
            ("She says that is in the garden.", "She says in the garden."),
            ("The man who is paid left.", "The man paid left."),
            ("The man who was in the car left.", "The man in the car left."),
            ("The dog, which is on the couch, is hers.", "The dog,, on the couch, is hers."),
        ),
    ),
    _edit(
        "comma", _comma,
        "a comma stands in one of the texts",
        "behind a phrase of time that opens a sentence, before a pronoun; before the last *too*;"
        " before the *and* of a list of three single words or more that are all capitalised or not,"
        " all plural or not, and end the sentence",
        (
            ("In the morning, she drinks tea.", "In the morning she drinks tea."),
            ("She likes tea, too.", "She likes tea too."),
            ("She met Ann, Bob, and Carl.", "She met Ann, Bob and Carl."),
        ),
        (
            ("No, pets are allowed in the flat.", "No pets are allowed in the flat."),
            ("Let's eat, Grandma.", "Let's eat Grandma."),
            ("He has lived in Portland, Oregon.", "He has lived in Portland and Oregon."),
            ("He has lived in Portland, Oregon.", "He has lived in Portland Oregon."),
            ("Tom Paul is with her.", "Tom, Paul is with her."),
            ("She met her parents, Ann, and Bob.", "She met her parents, Ann and Bob."),
            ("Ann, Bob, and Carl are with her.", "Ann, Bob and Carl are with her."),
            ("Stop, the car is here.", "Stop the car is here."),
            ("Most of the time, travellers worry.", "Most of the time travellers worry."),
        ),
    ),
    _edit(
        "number-word", _number_word,
        "a number from two to twelve, or 20, 30, 40, 50, in words or in figures",
        "before a word in the plural in small letters; not beside another part of a number",
        (
            ("She has three dogs.", "She has 3 dogs."),
            ("They wait for five days.", "They wait for 5 days."),
        ),
        (
            ("She has three dogs.", "She has 4 dogs."),
            ("It is ten to five.", "It is 10 to five."),
            ("She has twenty two dogs.", "She has twenty 2 dogs."),
            ("one says what they mean", "1 says what they mean"),
        ),
    ),
    _edit(
        "decimals", _decimals,
        "a number has noughts behind its point, or commas between its thousands",
        "before a currency or a unit of measure; never with three figures behind the point",
        (
            ("The parcel weighs 3.50 kg.", "The parcel weighs 3.5 kg."),
            ("She owes 1,200 euros.", "She owes 1200 euros."),
        ),
        (
            ("The service runs on Python 3.1.", "The service runs on Python 3.10."),
            ("The house costs 20.000 euros.", "The house costs 20 euros."),
            ("See section 4.10 of the book.", "See section 4.1 of the book."),
            ("She takes .5 mg at night.", "She takes 5 mg at night."),
            ("The room is 1,200 for them.", "The room is 1200 for them."),
            ("She owes 1,20 euros.", "She owes 120 euros."),
        ),
    ),
    _edit(
        "unit-apart", _unit_apart,
        "km, kg, cm or mm stands apart from its number",
        "the number in plain figures, the unit in small letters",
        (("She walks 5km with her dog.", "She walks 5 km with her dog."),),
        (
            ("It makes 5Mm with that.", "It makes 5 mm with that."),
            ("The label is 5m with that.", "The label is 5 m with that."),
            ("She walks 5km with her dog.", "She walks 5 kg with her dog."),
        ),
    ),
    _edit(
        "date-order", _date,
        "a date has its day before the month, or behind it",
        "behind *on*, *since*, *until*, *from*, *by* and the like or as the first word; before no"
        " noun that the day could count",
        (
            ("He was born on 6 October 1899 in Kent.", "He was born on October 6, 1899 in Kent."),
            ("The exam is on 6 October.", "The exam is on October 6."),
        ),
        (
            ("She has 6 October meetings with him.", "She has October 6 meetings with him."),
            ("He was born on 6 October 1899.", "He was born on October 9, 1896."),
            ("It is due on 10 November 2026.", "It is due on November 10, 2027."),
            ("She is on 6 October meetings.", "She is on October 6 meetings."),
            ("They sold 12 March 2020 coins.", "They sold March 12, 2020 coins."),
        ),
    ),
    _edit(
        "spelling", _spelling,
        "the British or the American spelling of a word",
        "one of a closed list, in small letters, that is no other word in either",
        (
            ("Her favourite song is by Abba.", "Her favorite song is by Abba."),
            ("The theatre near the river", "The theater near the river"),
        ),
        (
            ("She met Mr Gray at her house.", "She met Mr Grey at her house."),
            ("He bought a tyre with her.", "He bought a tire with her."),
            ("The meter is broken at her house.", "The metre is broken at her house."),
            ("Set color= in the theme.", "Set colour= in the theme."),
            ("The first story of the house", "The first storey of the house"),
        ),
    ),
    _edit(
        "hyphen", _hyphen,
        "a compound adjective with its hyphen or without",
        "one of a closed list, in small letters",
        (("It is a family-friendly inn.", "It is a family friendly inn."),),
        (
            ("She saw a man-eating shark.", "She saw a man eating shark."),
            ("They are thirty-one day trips.", "They are thirty one-day trips."),
            ("He will re-sign with the club.", "He will resign with the club."),
        ),
    ),
    _edit(
        "size", _size,
        "*small*, *little* and *tiny*",
        "before a person, thing or group of a closed list, with plain adjectives at most between;"
        " no relatives, no amounts",
        (
            ("The little girl sleeps.", "The small girl sleeps."),
            ("A little white dog runs in the park.", "A small white dog runs in the park."),
        ),
        (
            ("This is her little brother.", "This is her small brother."),
            ("She drinks a little milk.", "She drinks a small milk."),
            ("She is a little tired.", "She is a small tired."),
            ("She has a small dog.", "She has a large dog."),
        ),
    ),
    _edit(
        "large", _large,
        "*big* for *large*; *huge*, *enormous*, *gigantic* for each other",
        "before a thing or animal of a closed list, with plain adjectives at most between;"
        " never of people",
        (
            ("Ada has a big dog at her house.", "Ada has a large dog at her house."),
            ("They live in a huge castle.", "They live in an enormous castle."),
        ),
        (
            ("This is her big brother.", "This is her large brother."),
            ("It is a big deal for them.", "It is a large deal for them."),
            ("It was a big day for her.", "It was a large day for her."),
            ("They have a big house.", "They have a huge house."),
        ),
    ),
    _edit(
        "near", _near,
        "*near* for *close to*; *beside* for *next to*",
        "before a determiner and a thing of a closed list; before *a*, *an*, *some*, *two* also"
        " behind a verb of posture or motion (*stands*, *running*) or behind a thing; never of"
        " people or of what is abstract",
        (
            ("The mill is next to the bridge.", "The mill is beside the bridge."),
            ("She lives close to the lake.", "She lives near the lake."),
            ("A boy runs near some steps.", "A boy runs close to some steps."),
            ("A girl sits at a table near a baby.", "A girl sits at a table close to a baby."),
        ),
        (
            ("She is close to her mother.", "She is near her mother."),
            ("He was close to tears with her.", "He was near tears with her."),
            ("This is beside the point.", "This is next to the point."),
            ("It is next to nothing for them.", "It is beside nothing for them."),
            ("She is close to a decision.", "She is near a decision."),
            ("He is close to two of her friends.", "He is near two of her friends."),
            ("She lives near the lake.", "She lives next to the lake."),
        ),
    ),
    _edit(
        "noun", _noun,
        "everyday words for one thing (*couch*, *sofa*; *mother*, *mum*; *photo*, *photograph*)",
        "a closed list of pairs, in small letters, behind a determiner or a plain adjective, and"
        " not before another noun",
        (
            ("She sleeps on the couch.", "She sleeps on the sofa."),
            ("The girl walks with her mom.", "The girl walks with her mother."),
        ),
        (
            ("German is her mother tongue.", "German is her mom tongue."),
            ("she lives at 12 mill road", "she lives at 12 mill street"),
            ("He has a cell phone with him.", "He has a smart phone with him."),
            ("The ship carries 500 tons of it.", "The ship carries 500 tonnes of it."),
            ("The report is due in two weeks.", "The report is due within two weeks."),
            ("He has a film crew with him.", "He has a movie crew with him."),
            ("They met their doctor.", "They met their physician."),
        ),
    ),
    _edit(
        "street", _street,
        "*street* for *road*",
        "behind an article and at most one plain adjective, where somebody crosses it (*across*,"
        " *crossing*), goes along it (*walking down*, *riding along*), stands or plays in it, or is"
        " beside, in the middle or on a side of it; or behind *on a*, *down a* and what it looks"
        " like; never in an address",
        (
            ("The girl is walking down the street.", "The girl is walking down the road."),
            ("A man is crossing a busy road.", "A man is crossing a busy street."),
            ("They are standing in the street.", "They are standing in the road."),
            ("A dog is in the middle of the road.", "A dog is in the middle of the street."),
            ("He rides his bike on a busy street.", "He rides his bike on a busy road."),
        ),
        (
            ("she lives at 12 mill road", "she lives at 12 mill street"),
            ("her office is on park road", "her office is on park street"),
            ("They live on the street.", "They live on the road."),
            ("They hit the road.", "They hit the street."),
            ("Her dream is down the road.", "Her dream is down the street."),
            ("He works in the street with them.", "He works in the road with them."),
            ("They sleep on the street.", "They sleep on the road."),
            ("The band is playing on the road.", "The band is playing on the street."),
            ("He is walking down the road to ruin.", "He is walking down the street to ruin."),
            ("It is on a long road to peace.", "It is on a long street to peace."),
            ("It is the end of the road.", "It is the end of the street."),
        ),
    ),
    _edit(
        "nobody", _body,
        "*nobody* for *no one*, and the like",
        "before a verb, in small letters",
        (("She hopes that nobody will call.", "She hopes that no one will call."),),
        (
            ("She is a nobody of the city.", "She is a no one of the city."),
            ("She hopes that no one man will call.", "She hopes that nobody man will call."),
            ("She hopes that anyone will call.", "She hopes that someone will call."),
        ),
    ),
    _edit(
        "happy", _happy,
        "*happy*, *glad* and *pleased*; behind *very* and the like *delighted* and *joyful*, too",
        "said of the subject, or behind *makes them* and the like, at the end of the sentence",
        (
            ("The children are very happy.", "The children are very glad."),
            ("The boy looks so happy.", "The boy looks so delighted."),
            ("Her letters made them very happy.", "Her letters made them very glad."),
        ),
        (
            ("The children are very happy.", "The children are very proud."),
            ("She is happy with his death.", "She is glad with his death."),
            ("It was a happy day for them.", "It was a glad day for them."),
            ("The children are happy.", "The children are delighted."),
        ),
    ),
    _edit(
        "daily", _daily,
        "*daily* for *every day*, and so for weeks and months",
        "at the end of a sentence, behind a word that is no form of *be*, no article and no amount",
        (("She swims with her dog every day.", "She swims with her dog daily."),),
        (
            ("She reads the daily.", "She reads the every day."),
            ("The paper is daily.", "The paper is every day."),
            ("She swims almost every other day.", "She swims almost daily."),
            ("She swims every day.", "She swims every week."),
        ),
    ),
    _edit(
        "adverb", _quickly,
        "*quickly* for *rapidly*, *maybe* for *perhaps*",
        "in small letters, before a preposition, a verb, a mark or the end",
        (("The man walks quickly to the station.", "The man walks rapidly to the station."),),
        (
            ("The man walks quickly to the station.", "The man walks slowly to the station."),
            ("It is a rapidly moving train.", "It is a quickly moving train."),
        ),
    ),
    _edit(
        "bought", _bought,
        "*bought* for *purchased*",
        "before *a* or *an* and a thing of a closed list, not behind an auxiliary",
        (("She bought a piano with her sister.", "She purchased a piano with her sister."),),
        (
            ("He bought the story of his friend.", "He purchased the story of his friend."),
            ("They bought time with it.", "They purchased time with it."),
            ("She bought a piano with her sister.", "She sold a piano with her sister."),
        ),
    ),
    _edit(
        "named", _named,
        "*called* for *named*",
        "behind *is* or *was*, before a name",
        (("His dog is called Rex.", "His dog is named Rex."),),
        (
            ("Her boss called Tom.", "Her boss is Tom."),
            ("Her boss called Tom.", "Her boss named Tom."),
            ("My dentist called Dr. Kern.", "My dentist is Dr. Kern."),
            ("She was called by the bank.", "She was named by the bank."),
        ),
    ),
    _edit(
        "located", _located,
        "*located* for *situated*",
        "behind *is* or *are*, before a preposition of place",
        (("The inn is located near the river.", "The inn is situated near the river."),),
        (
            ("The thief was located in Rome by them.", "The thief was situated in Rome by them."),
            ("The inn is located near the river.", "The inn was located near the river."),
        ),
    ),
    _edit(
        "contrary", _contrary,
        "*unfair* for *not fair*; *possible* for *not impossible*; *wrong* for *not right*",
        "an attested pair, the second kind only where nothing lies between the two; said of the"
        " subject behind a form of *be*, or with *will be*, at the end or before *to*, *for*,"
        " *with*, *about*, *where*, *how* and the like; *wrong* for *not right* and other opposites"
        " at the end alone; no other negation, no *all*, *every*, *only* or *because*; no question"
        " that begins with its verb",
        (
            ("That's not fair.", "That's unfair."),
            ("It is not possible to swim there.", "It is impossible to swim there."),
            ("It is not impossible.", "It is possible."),
            ("That is not true.", "That is false."),
            ("She is not sure where to start.", "She is unsure where to start."),
            ("That will not be necessary.", "That will be unnecessary."),
            ("He is not being fair to them.", "He is being unfair to them."),
            ("I was not wrong.", "I was right."),
        ),
        (
            ("The truck was unloaded on Monday.", "The truck was not loaded on Monday."),
            ("Ben is careless with his keys.", "Ben does not care with his keys."),
            ("He was dismissed by everyone.", "He was not missed by everyone."),
            ("All seats are not available.", "All seats are unavailable."),
            ("She is not certain because of him.", "She is uncertain because of him."),
            ("It is not easy for her.", "It is uneasy for her."),
            ("It is invaluable to them.", "It is not valuable to them."),
            ("He is not unhappy with it.", "He is happy with it."),
            ("She is not always available.", "She is unavailable."),
            ("He is not not able to swim.", "He is not unable to swim."),
            ("Is it not possible to swim?", "Is it impossible to swim?"),
            ("That may not be necessary.", "That may be unnecessary."),
            ("It is not wrong to say it.", "It is right to say it."),
            ("It is not dead.", "It is alive."),
        ),
    ),
)  # fmt: skip
