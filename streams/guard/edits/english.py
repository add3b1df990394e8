"""The edits of English; each is tried where two texts begin to differ, in both directions."""

from __future__ import annotations

from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.en_edits import ROWS
from palimpsest.streams.guard.edits import around
from palimpsest.streams.guard.edits.around import capital, ends, is_lower, kind, low, token
from palimpsest.streams.guard.edits.edit import FIGURES, Edit, Match
from palimpsest.streams.guard.edits.moves import front
from palimpsest.streams.guard.reading import Reading
from palimpsest.streams.guard.text.calendar import MONTHS, is_year
from palimpsest.streams.guard.text.fixed import without_thousands, without_zeros
from palimpsest.streams.guard.text.plurals import may_be_plural, singular
from palimpsest.streams.guard.text.tokeniser import NUMBER, SIGN, WORD

Found = tuple[int, int] | None


# -- case ------------------------------------------------------------------------------------------


def _case_of_a_start(one: Reading, i: int, other: Reading, j: int) -> Found:
    if low(one, i) != low(other, j):
        return None
    a, b = token(one, i), token(other, j)
    if not (a and b and a.kind is b.kind is WORD and a.opens and b.opens):
        return None
    same = a.text[1:] == b.text[1:] and (len(a.text) == 1 or a.text[1:].islower())
    goes_on = kind(one, i + 1) is kind(one, i + 2) is WORD
    return (1, 1) if same and goes_on and low(one, i) in en.NO_NAMES else None


def _case_of_a_text(one: Reading, i: int, other: Reading, j: int) -> Found:
    if low(one, i) != low(other, j):
        return None
    a, b = token(one, i), token(other, j)
    if not (a and b) or a.kind is not b.kind is WORD:
        return None
    if one.has_identifiers or other.has_identifiers:
        return None
    if one.text.islower():
        known = low(one, i) in en.CAPITALISED and capital(other, j)
        speaks = (a.text, b.text) == ("i", "I") and _is_the_speaker(one, i)
        return (1, 1) if known or speaks else None
    shouted = one.text.isupper() and not other.text.isupper()
    plain = b.text.islower() or (b.opens and b.text[1:].islower())
    no_acronym = len(a.text) > 2 and low(one, i) in en.NO_NAMES
    return (1, 1) if shouted and plain and (no_acronym or a.text in ("A", "I")) else None


def _is_the_speaker(text: Reading, at: int) -> bool:
    """Whether *i* is the pronoun, and not a letter as in *press i* or *the index i is wrong*."""
    before = low(text, at - 1)
    begins = at in text.openers or before in en.CLAUSES | en.AUXILIARIES | en.SAYING
    after = low(text, at + 1)
    return begins and is_lower(text, at + 1) and after not in en.PREPOSITIONS | en.CLAUSES


# -- small words -----------------------------------------------------------------------------------


def _article(one: Reading, i: int, other: Reading, j: int) -> Found:
    if low(one, i) not in ("a", "an", "the") or kind(one, i) is not WORD:
        return None
    before = low(one, i - 1)
    if low(one, i) == "the" and before == "," and low(one, i + 1) in en.RELATIVES:
        explains = one.lows.count(",") == 1 and {"and", "or"}.isdisjoint(one.lows)
        follows = low(one, i + 2) == "of" and low(other, j) == low(one, i + 1)
        return (1, 0) if explains and follows else None
    if low(one, i) == "the":
        played = before in en.PLAYING and low(one, i + 1) in en.INSTRUMENTS
        alone = is_lower(one, i + 1) and around.stands_alone(one, i + 2)
        told_more = low(one, i + 2) in en.FINITE | {"of", "that", "which", "who"}
        return (1, 0) if played and alone and not told_more else None
    counted = before in en.HAVING and around.noun_after(one, i + 1, en.COUNTED)
    counted = counted and en.MENTIONS.isdisjoint(one.lows)
    if before in ("is", "was"):  # *the next stop is castle*: a name
        somebody = low(one, i - 2) in en.SOMEBODY | en.RELATIVES | en.KIN | {"i", "user"}
        counted = counted and (somebody or (i == 2 and capital(one, 0)))
    return (1, 0) if counted and low(other, j) not in en.DETERMINERS else None


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
    no_title = all(is_lower(other, n) for n in range(j + 1, j + len(full)))
    return (1, len(full)) if no_title and not around.asks(one) else None


def _is_contracted(one: Reading, i: int, other: Reading, j: int) -> Found:
    subject = en.IS_OR_HAS.get(low(one, i))
    if subject is None or low(other, j) != subject or capital(one, i) != capital(other, j):
        return None
    if low(other, j + 1) == "isn't" and low(one, i + 1) == "not":
        return (2, 2) if around.follows_is(one, i + 2) else None
    no_title = low(other, j + 1) == "is" and is_lower(other, j + 1)
    return (1, 2) if no_title and around.follows_is(one, i + 1) else None


def _user(one: Reading, i: int, other: Reading, j: int) -> Found:
    if i or j or around.asks(one) or around.asks(other) or capital(one, i) != capital(other, j):
        return None
    length = 2 if low(one, 0) == "the" else 1
    subject = low(one, length - 1)
    if length == 2 and subject in ("user", "user's") and low(other, j) == subject:
        return (2, 1) if _is_of_the_user(one, 2) else None
    if subject != "user" or kind(one, length + 1) is not WORD:
        return None
    if low(one, length) == "is" and low(other, j) == low(one, length + 1):
        does = length + 1 + low(one, length + 1).endswith("ly")
        doing = around.is_doing(one, does) and low(one, does) not in en.CONCERNING
        return (length + 2, 1) if doing and low(one, does + 1) in en.AFTER_DOING else None
    said = _is_stated(one, length) or _is_done(one, length, en.DETERMINERS)
    return (length + 1, 1) if said and low(other, j) == low(one, length) else None


def _is_stated(text: Reading, verb: int) -> bool:
    """Whether a verb of state stands here, and no plural noun: *user likes are counted*."""
    rest = text.lows[verb + 1 :]
    another = next((n for n, word in enumerate(rest) if word in en.FINITE), None)
    alone = another is None or not (en.CLAUSES | en.SUBJECTS).isdisjoint(rest[:another])
    return low(text, verb) in en.STATES and (alone or low(text, verb) not in en.COUNTS)


def _is_of_the_user(text: Reading, verb: int) -> bool:
    """Whether *user* is a person here, not part of *user accounts* or *user defined names*."""
    word = low(text, verb)
    if low(text, 1) == "user's":
        return is_lower(text, verb) and word not in ("guide", "manual", "handbook")
    if word in en.STATES | en.AUXILIARIES or _is_done(text, verb, en.DETERMINERS | en.PREPOSITIONS):
        return kind(text, verb + 1) is WORD
    does = word in ("works", "needs", "uses") and en.FINITE.isdisjoint(text.lows[verb + 1 :])
    return does and low(text, verb + 1) in en.DETERMINERS | en.PREPOSITIONS | {"as"}


def _is_done(text: Reading, verb: int, before: frozenset[str]) -> bool:
    word = low(text, verb)
    past = word in en.PASTS or (word.endswith("ed") and not word.endswith("eed"))  # *feed*
    return past and is_lower(text, verb) and low(text, verb + 1) in before


def _is_of_a_caption(one: Reading, i: int, other: Reading, j: int) -> Found:
    if low(one, i) not in ("is", "are") or one.sentences != 1 or i < 2 or around.asks(one):
        return None
    relative = j - 2 if low(other, j - 2) in ("that", "which", "who") else j
    others = (*one.lows[:i], *one.lows[i + 1 :], *other.lows[:relative], *other.lows[j:])
    if low(one, 0) not in en.CAPTION_STARTS or not en.NO_CAPTION.isdisjoint(others):
        return None
    if low(one, 0) == "one" and low(one, i + 2) in en.NUMBERS:
        return None  # *one child in five groups*
    length = 1 + (low(one, i + 1) in en.PLACED_WORDS)
    return (length, 0) if _shows(one, i + length, verb=length == 1) else None


def _shows(text: Reading, at: int, *, verb: bool = True) -> bool:
    """Whether the words that follow describe what can be seen: an action or a place."""
    after = low(text, at)
    if after in ("next", "adjacent", "close"):
        return low(text, at + 1) == "to"
    if after in en.PLACING:
        return kind(text, at + 1) is WORD
    return verb and around.is_doing(text, at)


def _relative(one: Reading, i: int, _other: Reading, _j: int) -> Found:
    if low(one, i) not in ("that", "which", "who") or low(one, i + 1) not in ("is", "are"):
        return None
    noun = low(one, i - 1)
    known = noun in en.CAPTIONED or noun.removesuffix("s") in en.PERSONS | en.THINGS
    start = i - 2 - (low(one, i - 2) in en.COLOURS)
    subject = start in one.openers and low(one, start) in en.ARTICLES | en.NUMBERS.keys()
    at_work = low(one, i + 2) == "at" and low(one, i + 3) not in en.DETERMINERS
    seen = is_lower(one, i - 1) and _shows(one, i + 2) and not at_work
    return (2, 0) if known and subject and seen else None


# -- marks -----------------------------------------------------------------------------------------


def _comma(one: Reading, i: int, _other: Reading, _j: int) -> Found:
    if low(one, i) != "," or kind(one, i) is not SIGN:
        return None
    return (1, 0) if _ends_a_time(one, i) or _before_too(one, i) or _serial(one, i) else None


def _ends_a_time(text: Reading, at: int) -> bool:
    starts = (n for n in (at - 2, at - 3) if n >= 0 and n + front(text, n) == at)
    opens = [low(text, n) for n in starts if n in text.openers]
    whenever = "every" in opens and text.lows.count(",") > 1  # *every day she is late, he cooks*
    return bool(opens) and not whenever and low(text, at + 1) in en.SUBJECTS


def _before_too(text: Reading, at: int) -> bool:
    return low(text, at + 1) == "too" and ends(text, at + 2) and kind(text, at - 1) is WORD


def _serial(text: Reading, at: int) -> bool:
    """Whether the comma stands before the *and* or *or* of a list of single words of one kind."""
    if low(text, at + 1) not in ("and", "or") or not ends(text, at + 3):
        return False
    items = [at + 2, at - 1]
    while low(text, items[-1] - 1) == ",":
        items.append(items[-1] - 2)
    before = items[-1] - 1
    if f"{low(text, at - 1)}/{low(text, at + 2)}" in en.COUPLES:
        return False
    if len(items) < 3 or kind(text, before) is not WORD or low(text, before) in en.DETERMINERS:
        return False
    if any(kind(text, item) is not WORD for item in items):
        return False
    forms = {(capital(text, n), low(text, n).endswith("s")) for n in items}
    kinds = en.INSTRUMENTS | en.COLOURS
    things = any(any(form) for form in forms) or all(
        low(text, n) in kinds or low(text, n).endswith("ing") for n in items
    )
    return len(forms) == 1 and things


# -- numbers ---------------------------------------------------------------------------------------


def _number_word(one: Reading, i: int, other: Reading, j: int) -> Found:
    if kind(other, j) is not NUMBER or not around.is_lower(one, i):
        return None
    counted = low(one, i + 1)
    several = (counted.endswith("s") and not counted.endswith("ss")) or counted in en.PLURALS
    alone = low(one, i - 1) not in en.NUMBER_PARTS and _may_count(one, i)
    same = en.NUMBERS.get(low(one, i)) == other.texts[j] and counted == low(other, j + 1)
    return (1, 1) if same and several and alone and around.is_lower(one, i + 1) else None


_ENDS = en.BE | en.JOINING | {","}


def _may_count(text: Reading, at: int) -> bool:
    """Whether a number here is one of things, and not a label of the word before: *plan two*."""
    before, subject = low(text, at - 1), low(text, at - 2)
    verb = before in en.FINITE | en.PASTS or (
        len(before) > 4 and before.endswith(("ed", "ing", "ly"))
    )
    does = subject in en.SUBJECTS | {"user"} or (at - 2 in text.openers and capital(text, at - 2))
    if before in ("reads", "says") and not does:
        return False  # *the sign reads two dogs* quotes it
    verb = verb or (does and before.endswith("s"))
    plain = is_lower(text, at - 1) or at - 1 in text.openers
    verb_at = at - 1 - (before in en.ARTICLES)
    told = low(text, verb_at) in en.BE and low(text, at + 2) not in en.MEASURED
    told = told and around.stands_before(text, verb_at, en.OF_NAMES, _ENDS)
    if told or low(text, verb_at) in en.NAMING:
        return False  # *her user name is two dogs*, *the file is called two dogs*
    return at in text.openers or (plain and (verb or before in en.BEFORE_A_NUMBER))


def _decimals(one: Reading, i: int, other: Reading, j: int) -> Found:
    if not kind(one, i) is kind(other, j) is NUMBER:
        return None
    unit = token(one, i + 1)
    if unit is None or unit.text not in en.MEASURES or low(other, j + 1) != unit.text:
        return None
    if low(one, i - 1) in en.RELEASES or not _may_count(one, i):
        return None
    if unit.text in ("pound", "pounds") and not en.WEIGHING.isdisjoint(one.lows):
        return None  # 8.10 pounds may be 8 pounds and 10 ounces
    mine, theirs = one.keys[i], other.keys[j]
    if without_zeros(mine) == without_zeros(theirs):
        return (1, 1)
    return (1, 1) if without_thousands(mine) == theirs else None


def _unit_apart(one: Reading, i: int, other: Reading, j: int) -> Found:
    apart = other.texts[j : j + 2]
    if kind(other, j) is not NUMBER or apart[-1] not in en.SPACED:
        return None
    return (1, 2) if one.keys[i : i + 1] == ("`" + "".join(apart),) else None


def _date(one: Reading, i: int, other: Reading, j: int) -> Found:
    """*6 October 1899* for *October 6, 1899*, with or without a year, after a word such as *on*."""
    day, month = one.texts[i : i + 1], one.texts[i + 1 : i + 2]
    if kind(one, i) is not NUMBER or len(day[0]) > 2 or not capital(one, i + 1):
        return None
    if low(one, i + 1) not in MONTHS or other.texts[j : j + 2] != month + day:
        return None
    year = one.texts[i + 2 : i + 3]
    comma = low(other, j + 2) == ","
    dated = (i == 0 or low(one, i - 1) in en.DATING) and low(one, i + 2) not in en.RANGING
    if kind(one, i + 2) is NUMBER and is_year(year[0]):
        same = dated and other.texts[j + 2 + comma : j + 3 + comma] == year
        alone = around.stands_alone(one, i + 3) and low(one, i + 3) not in ("of", "or")
        return (3, 3 + comma) if same and alone else None
    after = i + 2
    if low(one, after) in en.FINITE or (
        low(one, after) in ("and", "or") and kind(one, after + 1) is NUMBER
    ):
        return None  # *by 6 October was over*; *on October 3 or 5*
    ends_it = after >= len(one.keys) or kind(one, after) is SIGN
    no_name = low(one, i + 1) not in en.NAMESAKES or ends_it or low(one, after) in en.PREPOSITIONS
    alone = around.stands_alone(one, after)
    return (2, 2) if dated and not comma and alone and no_name else None


# -- words for words -------------------------------------------------------------------------------


def _spelling(one: Reading, i: int, other: Reading, j: int) -> Found:
    same = (low(one, i), low(other, j)) in en.SPELLINGS and en.MENTIONS.isdisjoint(one.lows)
    if low(one, i) in en.ALSO_NAMES and one.text.islower():
        same = same and low(one, i - 1) in en.BE | en.DETERMINERS | en.INTENSIFIERS
    return (1, 1) if same and around.is_lower(one, i) and around.is_lower(other, j) else None


def _hyphen(one: Reading, i: int, other: Reading, j: int) -> Found:
    if low(one, i) not in en.HYPHENED:
        return None
    parts = tuple(low(one, i).split("-"))
    same = other.lows[j : j + 2] == parts and all(around.is_lower(other, n) for n in (j, j + 1))
    before, after = low(one, i - 1), low(one, i + 1)
    if is_lower(one, i + 1) and after not in en.AFTER_A_NOUN:  # *a second-hand car*
        adjective = before not in en.FINITE and low(one, i) != "second-hand"
    else:  # *a second hand of the clock*; *left handed over to them*
        works = low(one, i) in ("full-time", "part-time") and after in en.PREPOSITIONS
        adjective = before not in en.DETERMINERS and (ends(one, i + 1) or works)
    return (1, 2) if same and adjective and around.is_lower(one, i) else None


def _exchange(one: Reading, i: int, other: Reading, j: int, groups: en.Phrases) -> Found:
    """The lengths of two phrases of one group that stand at these places, in lower case."""
    for group in groups:
        mine = around.phrase(one, i, group)
        theirs = around.phrase(other, j, group)
        if mine and theirs and mine != theirs:
            swapped = sorted(filter(str.isalpha, one.lows)) == sorted(
                filter(str.isalpha, other.lows)
            )
            return None if swapped else (len(mine), len(theirs))  # *a sofa, not a couch*
    return None


def _synonyms(one: Reading, i: int, other: Reading, j: int, groups: en.Phrases) -> Found:
    """Like `_exchange`, in a text that is not about a word as such: *her password is sofa*."""
    return _exchange(one, i, other, j, groups) if en.MENTIONS.isdisjoint(one.lows) else None


def _size(one: Reading, i: int, other: Reading, j: int) -> Found:
    """*small* for *little*, of visible things that are counted: *a little cake* is an amount."""
    found = _synonyms(one, i, other, j, en.SIZES)
    noun = i + 1 + (low(one, i + 1) in en.COLOURS | {"metal", "country"})
    if found is None or not en.EATING.isdisjoint(one.lows):
        return None
    if not _is_little_one(one, noun) or not _counts(one, i, noun):
        return None
    special = "tiny" in (low(one, i), low(other, j)) and low(one, noun) == "house"  # on wheels
    if special or low(one, noun + 1) == "left" or (low(one, noun) == "baby" and _bears(one)):
        return None
    return found if _ends_a_noun(one, noun) or _acts(one, i, noun) else None


def _bears(text: Reading) -> bool:
    """Whether somebody may give birth: the weight of *a small baby* is a finding."""
    return not en.BEARING.isdisjoint(text.lows)


def _is_little_one(text: Reading, noun: int) -> bool:
    word = low(text, noun).removesuffix("'s")
    return is_lower(text, noun) and not en.LITTLE_ONES.isdisjoint((word, singular(word)))


def _counts(text: Reading, size: int, noun: int) -> bool:
    """Whether the word before a size makes the noun countable, so that it is not an amount."""
    before, word = low(text, size - 1), low(text, noun).removesuffix("'s")
    if before in en.SIZED_AFTER or (size == 0 and word in en.KIDS):
        return True
    several = singular(word) in en.LITTLE_ONES - {word}
    return (several and before in en.PREPOSITIONS) or (before, word) == ("in", "boat")


def _ends_a_noun(text: Reading, noun: int) -> bool:
    """Whether no noun or gerund follows: in *a little dog walking*, *little* is an amount."""
    word, after = low(text, noun).removesuffix("'s"), low(text, noun + 1)
    if low(text, noun) != word:
        return word in en.KIDS and after == "hand"
    if after in ("and", "or") and word not in en.KIDS:
        return False
    if after == "of" and word not in ("group", "crowd"):
        return False
    inner = (after == "in" and low(text, noun + 2) in en.OBJECTS) or after == "at"
    alone = around.stands_alone(text, noun + 1) and after not in en.SHOWN
    return (alone or after in en.ALONG) and not inner


def _acts(text: Reading, size: int, noun: int) -> bool:
    """Whether the noun is not the object of a verb, and the next word can only be its own verb."""
    before = size - (low(text, size - 1) in en.SIZED_AFTER)
    if before not in text.openers and low(text, before - 1) not in en.BEFORE_SEEN:
        return False
    does = en.STILL | en.KIDS_ACT if low(text, noun) in en.YOUNG else en.STILL
    return low(text, noun + 1) in does


def _large(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _synonyms(one, i, other, j, en.LARGE)
    article = i - 1 - (low(one, i - 1) in en.PLAIN_ADJECTIVES)
    figurative = low(one, article) == "the" or low(one, article - 1) in en.BE
    seen = found and not figurative and around.noun_after(one, i + 1, en.LARGE_THINGS)
    return found if seen else None


def _near(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _synonyms(one, i, other, j, en.NEAR)
    if found is None or not en.RANKED.isdisjoint(one.lows):
        return None
    article = i + found[0]
    if low(one, i) in ("near", "close") and not _is_a_place(one, i, article):
        return None
    thing = around.describes(one, article + 1, en.THINGS)
    if low(one, article) in en.INDEFINITE:
        if not en.FAR_FROM_PLACES.isdisjoint(one.lows[article + 1 : article + 4]):
            return None  # *standing close to a decision*
        seen = low(one, i - 1) in en.PLACED or singular(low(one, i - 1)) in en.SEEN
        return found if thing or seen else None
    return found if low(one, article) in en.DETERMINERS and thing else None


def _is_a_place(text: Reading, close: int, article: int) -> bool:
    """Whether *close to* is about a place: in *she is close to her dog* it is not."""
    if low(text, close - 1) in en.PLACED:
        return True
    is_there = low(text, close - 1) in en.BE and low(text, article) in en.INDEFINITE
    subject = singular(low(text, close - 1 - is_there))
    if subject in en.PERSONS | {"people"} and not around.describes(text, article + 1, en.THINGS):
        return False
    return subject in en.SEEN and not around.describes(text, article + 1, en.SOCIAL)


def _street(one: Reading, i: int, other: Reading, j: int) -> Found:
    """*street* for *road*, if somebody moves or stands there: never in an address or an idiom."""
    found = _synonyms(one, i, other, j, en.STREETS)
    if found is None or not around.stands_alone(one, i + 1) or low(one, i + 1) in ("to", "of"):
        return None
    article = i - 1 if low(one, i - 1) in en.ARTICLES else i - 2
    described = article == i - 1 or low(one, i - 1) in en.PLAIN_ADJECTIVES
    if not described or low(one, article) not in en.ARTICLES:
        return None
    before, way = low(one, article - 2), low(one, article - 1)
    seen = (
        way in en.CROSSING | en.BESIDE
        or (way in en.ALONG and before in en.SHOWN | en.STREET_VERBS)
        or (way in ("on", "in") and before in en.STREET_VERBS)
        or (
            way in en.ALONG | en.INTO
            and low(one, article) != "the"
            and article < i - 1
            and low(one, i - 1) not in en.FIGURATIVE
        )
        or (way == "of" and before == "side")
        or (way == "of" and before == "middle" and low(one, article - 5) in en.STREET_VERBS)
    )
    return found if seen else None


def _noun(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _synonyms(one, i, other, j, en.NOUNS)
    if found is None or not around.stands_alone(one, i + found[0]):
        return None
    before, word = low(one, i - 1), low(one, i)
    if word in ("kids", "children"):
        human = en.GOATS.isdisjoint(one.lows) and low(one, i + 1) != "of"
        return (
            found if human and before in en.DETERMINERS | en.NUMBERS.keys() | {"user's"} else None
        )
    if word in en.KIN and (before == "our" or low(one, i + 1) in ("in", "of", "to")):
        return None  # *the our father* is a prayer
    if word in en.KIN:
        return found if before in en.POSSESSIVES | {"user's"} else None
    return found if before in en.DETERMINERS | en.PLAIN_ADJECTIVES else None


def _body(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, en.BODIES)
    after = found and i + found[0]
    acts = (
        after
        and "of" not in one.lows[:i]
        and (low(one, after) in en.FINITE or one.lows[after : after + 2] == en.WANTED)
    )
    several = _is_none_of_several(one, i) or _is_none_of_several(other, j)
    return found if acts and not several else None


_NO_PLURALS = en.FINITE | {"always"}


def _is_none_of_several(text: Reading, at: int) -> bool:
    """Whether *no one* may mean none of some things: *two lifts but no one works*."""
    if low(text, at) != "no" or not (low(text, at - 1) in en.JOINING or kind(text, at - 1) is SIGN):
        return False
    before = text.lows[:at]
    return NUMBER in text.kinds[:at] or any(
        word in en.OF_SEVERAL
        or (may_be_plural(word) and word not in _NO_PLURALS and subject not in en.SUBJECTS)
        for subject, word in zip(("", *before), before, strict=False)
    )


def _happy(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, en.HAPPY)
    looks, subject = low(one, i - 2), low(one, i - 3)
    feels = looks in en.FEELS and subject in en.FEELING
    feels = feels or (looks in en.LOOKS and not en.SOMEBODY.isdisjoint(one.lows))
    much = low(one, i - 1) in en.INTENSIFIERS
    return found if found and feels and much and ends(one, i + 1) else None


def _daily(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _synonyms(one, i, other, j, en.DAILY)
    if found is None or not ends(one, i + found[0]) or not ends(other, j + found[1]):
        return None
    barred = en.DETERMINERS | en.AUXILIARIES | en.QUANTIFIERS | en.COMPARED
    alone = is_lower(one, i - 1) and low(one, i - 1) not in barred
    negated = not en.NEGATORS.isdisjoint(one.lows) or "n't" in one.text
    printed = not en.PRINTED.isdisjoint(one.lows) or (
        low(one, i - 2) in en.ARTICLES and low(one, i - 1) not in en.PERSONS | en.THINGS
    )
    return found if alone and not negated and not printed else None


def _quickly(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _synonyms(one, i, other, j, en.QUICKLY)
    return found if found and around.stands_alone(one, i + found[0]) else None


def _bought(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _synonyms(one, i, other, j, en.BOUGHT)
    article = found and low(one, i + found[0]) in ("a", "an")
    named = article and around.noun_after(one, i + 2, en.THINGS)
    return found if named and low(one, i - 1) not in en.AUXILIARIES else None


def _named(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _exchange(one, i, other, j, en.NAMED)
    linked = low(one, i - 1) in ("is", "are")
    name = capital(one, i + 1) and capital(other, j + 1) and low(one, i + 1) not in en.CAPITALISED
    whose = {low(one, i - 2), singular(low(one, i - 2))}
    kept = not whose.isdisjoint(en.NAMED_BY_OWNERS)
    titled = low(one, i + 1) in en.TITLES and whose.isdisjoint(en.THINGS)
    ended = not titled and ends(one, i + 2)
    return found if found and linked and kept and name and ended else None


def _located(one: Reading, i: int, other: Reading, j: int) -> Found:
    found = _synonyms(one, i, other, j, en.LOCATED)
    thing = low(one, i - 1) in ("is", "are") and singular(low(one, i - 2)) in en.THINGS
    place = capital(one, i + 2) or (
        low(one, i + 2) in en.DETERMINERS and around.describes(one, i + 3, en.THINGS)
    )
    there = low(one, i + 1) in en.PLACING and place and {"at", "by"}.isdisjoint(one.lows[i + 2 :])
    return found if found and thing and there else None


def _contrary(one: Reading, i: int, other: Reading, j: int) -> Found:
    """*not fair* for *unfair*, and *not impossible* for *possible*, said of the subject."""
    negated = _negated(one, i, other, j)
    if negated is None or around.negations(one) != 1 or around.negations(other):
        return None
    adjective, meaning = i + negated[0], j + negated[1]
    if not around.is_lower(one, adjective) or not around.is_lower(other, meaning):
        return None
    if not en.INDEFINITE.isdisjoint(one.lows[:i]) or _asks_by_its_verb(one):
        return None
    words = low(one, adjective), low(other, meaning)
    if not _is_said_of(_subject(one, i), words, being=low(one, i + 1) == "being"):
        return None
    if not _is_contrary(*words) or not _closes(one, adjective + 1, words):
        return None
    return adjective + 1 - i, meaning + 1 - j


def _same(one: Reading, i: int, other: Reading, j: int) -> Found:
    """*different* for *not the same*, and *the same* for *not different*."""
    negated = _negated(one, i, other, j)
    if negated is None or around.negations(one) != 1 or around.negations(other):
        return None
    at, meaning = i + negated[0], j + negated[1]
    same, different = ("the", "same"), ("different",)
    for said, meant in ((same, different), (different, same)):
        after, end = at + len(said), meaning + len(meant)
        if one.lows[at:after] == said and other.lows[meaning:end] == meant and ends(one, after):
            return (after - i, end - j) if _subject(one, i) in en.IMPERSONAL else None
    return None


def _subject(text: Reading, negation: int) -> str:
    before = low(text, negation - 1).partition("'")[0]
    return low(text, negation - 2) if before in en.BE | en.FUTURE | {""} else before


def _is_said_of(subject: str, words: tuple[str, str], *, being: bool) -> bool:
    """Whether the words are contraries for such a subject; not in *the point is not being fair*."""
    if being:
        return subject in en.PERSONAL
    return all(subject in en.SAID_OF[word] for word in words if word in en.SAID_OF)


def _is_contrary(said: str, meant: str) -> bool:
    """Whether *not* before the first word means the second."""
    opposed = en.COMPLEMENTS.get(meant) == said
    twofold = en.COMPLEMENTS.get(said) == meant and meant in en.TWOFOLD
    return opposed or twofold or (said, meant) in en.OPPOSITES or (meant, said) in en.OPPOSITES


def _closes(text: Reading, after: int, words: tuple[str, str]) -> bool:
    """Whether the scope of *not* ends with the adjective before `after`."""
    follows = low(text, after)
    if follows == "for" and low(text, after + 1) not in en.OBJECTS | en.POSSESSIVES:
        return False
    return all(follows in en.CLOSERS.get(word, en.AFTER_A_PREDICATE) for word in words)


def _asks_by_its_verb(text: Reading) -> bool:
    return around.asks(text) and low(text, 0) in en.AUXILIARIES


def _negated(one: Reading, i: int, other: Reading, j: int) -> Found:
    """The number of tokens from `i` to what a *not* negates, and from `j` to its counterpart."""
    before, word = low(one, i - 1), low(one, i)
    if word in ("isn't", "aren't", "wasn't", "weren't"):
        return (1, 1) if low(other, j) == word[:-3] else None
    if word != "not":
        return None
    is_said = before in en.BE or before.endswith(("'s", "'re", "'m"))
    if low(one, i + 1) == low(other, j) in ("be", "being"):
        return (2, 1) if is_said or before in en.FUTURE else None
    return (1, 0) if is_said else None


def _firsts(*groups: en.Phrases) -> frozenset[str]:
    return frozenset(phrase[0] for each in groups for group in each for phrase in group)


_NEGATIONS = frozenset({"not", "isn't", "aren't", "wasn't", "weren't"})
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
    "decimals": frozenset({FIGURES}),
    "unit-apart": frozenset({FIGURES}),
    "date-order": frozenset({FIGURES}),
    "spelling": frozenset(word for pair in en.SPELLINGS for word in pair),
    "hyphen": en.HYPHENED,
    "size": _firsts(en.SIZES),
    "large": _firsts(en.LARGE),
    "near": _firsts(en.NEAR),
    "noun": _firsts(en.NOUNS),
    "street": _firsts(en.STREETS),
    "nobody": _firsts(en.BODIES),
    "happy": _firsts(en.HAPPY),
    "daily": _firsts(en.DAILY),
    "adverb": _firsts(en.QUICKLY),
    "bought": _firsts(en.BOUGHT),
    "named": _firsts(en.NAMED),
    "located": _firsts(en.LOCATED),
    "contrary": _NEGATIONS,
    "same": _NEGATIONS,
}
"""The words that an edit begins with, if they are few."""


_MATCHES: dict[str, Match] = {
    "case-of-a-start": _case_of_a_start,
    "case-of-a-text": _case_of_a_text,
    "article": _article,
    "a-or-an": _a_or_an,
    "contraction": _contraction,
    "is-contracted": _is_contracted,
    "user": _user,
    "is-of-a-caption": _is_of_a_caption,
    "relative": _relative,
    "comma": _comma,
    "number-word": _number_word,
    "decimals": _decimals,
    "unit-apart": _unit_apart,
    "date-order": _date,
    "spelling": _spelling,
    "hyphen": _hyphen,
    "size": _size,
    "large": _large,
    "near": _near,
    "noun": _noun,
    "street": _street,
    "nobody": _body,
    "happy": _happy,
    "daily": _daily,
    "adverb": _quickly,
    "bought": _bought,
    "named": _named,
    "located": _located,
    "contrary": _contrary,
    "same": _same,
}

ENGLISH = tuple(Edit(*row, _MATCHES[row.name], _BEGINS.get(row.name, frozenset())) for row in ROWS)
