"""The edits of languages with a table; both texts must certainly be in that language.

For a number it is enough if the text with the word is, and the other text adds no word.
"""

from __future__ import annotations

from palimpsest.streams.guard.data.closed_class import OTHERS
from palimpsest.streams.guard.data.language_table import LanguageTable, TableEdit
from palimpsest.streams.guard.data.tables import BUILT_IN, TABLES
from palimpsest.streams.guard.edits.around import capital, kind, low, stands_before, token
from palimpsest.streams.guard.edits.edit import ADDED, FIGURES, Edit, Match
from palimpsest.streams.guard.reading import Reading
from palimpsest.streams.guard.text.tokeniser import NUMBER, SIGN, WORD

Found = tuple[int, int] | None

_THEY = frozenset({"wir", "sie", "du", "ihr"})
"""Subjects after which *sieben* may be a verb (to sift)."""
_ARTICLES = frozenset("el la los las un una del al mi tu su le les une du au ma mon sa son".split())
"""Articles and possessives of Spanish and French: a noun follows."""
_SMALL_NOUNS = frozenset({"es", "fr"})
"""Languages whose nouns have small letters: a capital after an article begins a name."""
_NAMING = frozenset(
    "heissen heisst hiess hiessen nennen nennt s'appelle s'appellent appelle appellent s'intitule"
    " nomme nomment llama llaman llamaba titula".split()
)
"""Verbs before a name."""
_IS = frozenset("ist war est était es era".split())
_NAMES = frozenset("name titel antwort nom titre réponse nombre título respuesta".split())
"""What is one name or wording, as in `en.OF_NAMES`."""
_ENDS = _IS | {"und", "et", "y", ","}
_THE = frozenset("alle allen das den der deren dessen die diese diesen dieser".split())
"""German words after which a number may stand alone: *die zwei mag sie nicht*."""
_OF_THE = frozenset(
    "ältesten alten anderen besten braunen ersten grossen grössten guten jungen jüngsten kleinen"
    " kleinsten letzten nächsten neuen roten schwarzen schönen schönsten weissen".split()
)
"""German adjectives that may follow a number after such a word, where a verb may, too."""
_GIVES = frozenset("gab gaben gebe geben gebt gib gibst gibt".split())


def _table(one: Reading, other: Reading) -> LanguageTable | None:
    return one.table if one.language == other.language else None


def _number_word(one: Reading, i: int, other: Reading, j: int) -> Found:
    value = one.tables.numbers.get(low(one, i))
    if value is None or kind(other, j) is not NUMBER or other.texts[j] != value:
        return None
    # Without its number word, a short text may be too short to show its language.
    short = other.language is None and {*other.lows} <= {*one.lows, value, "."}
    table, counted = one.table if short else _table(one, other), low(one, i + 1)
    if table is None or table.numbers.get(low(one, i)) != value or one.texts[i] != low(one, i):
        return None
    plain = kind(one, i + 1) is WORD and len(counted) > 1 and counted == low(other, j + 1)
    parts = table.number_parts | table.numbers.keys() | table.months.keys()
    alone = kind(one, i - 1) is not NUMBER and parts.isdisjoint((counted, low(one, i - 1)))
    plain = plain and low(one, i) not in table.months  # *sept* is also September
    label = _is_label(table, one, i) or counted in OTHERS | table.starts or _is_of_a_name(one, i)
    return (1, 1) if plain and alone and not label and not _is_of_a_verb(one, i) else None


def _is_label(table: LanguageTable, text: Reading, at: int) -> bool:
    """Whether a number may belong to a noun before it: *in Bett fünf*, *en la mesa tres*."""
    if table.code not in _SMALL_NOUNS | {"de"} or low(text, at - 1) in table.words:
        return False  # in other languages, a possessor may stand there
    return capital(text, at - 1) or low(text, at - 2) in _ARTICLES


def _is_of_a_name(text: Reading, at: int) -> bool:
    """Whether a number may begin a name: *nennt sich die zwei*, *le nom est deux lunes*."""
    at -= low(text, at - 1) in _ARTICLES | _THE
    at -= low(text, at - 1) == "sich"
    told = low(text, at - 1) in _IS and stands_before(text, at - 1, _NAMES, _ENDS)
    return told or low(text, at - 1) in _NAMING


def _is_of_a_verb(text: Reading, at: int) -> bool:
    """Whether a German word counts nothing: *wir sieben* (sift), *gibt acht*, *die zwei mag er*."""
    before, after = low(text, at - 1), low(text, at + 1)
    if low(text, at) == "sieben" and (capital(text, at - 1) or before in _THEY):
        return True
    if low(text, at) == "acht" and before in _GIVES | {"ausser"}:
        return True
    alone = low(text, at) in ("acht", "elf") or (before in _THE and after not in _OF_THE)
    return alone and text.texts[at + 1].islower()


def _month(one: Reading, i: int, other: Reading, j: int) -> Found:
    """*3. Jan. 1990* for *3. Januar 1990*: after a day in figures, the shorter name in `one`."""
    short, full = low(one, i), low(other, j)
    months = one.tables.months
    if not (short in months and full in months and len(short) < len(full)):
        return None
    table = _table(one, other)
    if table is None or table.months.get(short) != table.months.get(full, 0):
        return None
    if not (_is_after_day(one, i) and _is_after_day(other, j)):
        return None
    dotted = low(one, i + 1) == "." and low(other, j + 1) != "."
    if short == "jan" and not dotted and kind(one, i + 1) is WORD:
        return None  # *am 3. Jan in Bonn treffen*
    return (2, 1) if dotted else (1, 1)


def _is_after_day(text: Reading, at: int) -> bool:
    before = at - 2 if low(text, at - 1) in (".", "de") else at - 1
    return kind(text, before) is NUMBER and text.texts[before].isdecimal()


def _start(one: Reading, i: int, other: Reading, j: int) -> Found:
    a, b = token(one, i), token(other, j)
    if not (a and b and a.kind is b.kind is WORD and a.opens and b.opens):
        return None
    same = low(one, i) == low(other, j) and a.text[1:] == b.text[1:]
    goes_on = kind(one, i + 1) is kind(one, i + 2) is WORD
    if not (same and goes_on and (len(a.text) == 1 or a.text[1:].islower())):
        return None
    table = _table(one, other)
    if table is None or low(one, i) not in table.starts:
        return None
    is_name = table.code in _SMALL_NOUNS and not one.texts[i + 1].islower()  # El Salvador
    return None if is_name else (1, 1)


def _numeral(one: Reading, i: int, other: Reading, j: int) -> Found:
    a, b = token(one, i), token(other, j)
    if a is None or b is None or SIGN in (a.kind, b.kind) or a.text.isascii():
        return None
    table = _table(one, other)
    if table is None or table.script == "latin":
        return None
    return (1, 1) if table.in_figures(a.text) == table.in_figures(b.text) else None


_STARTS = frozenset(word for table in TABLES.values() for word in table.starts) | {ADDED}


def _edit(
    name: TableEdit, changes: str, context: str, match: Match, begins: frozenset[str]
) -> Edit:
    """An edit, with the pairs of every table that has it."""
    pairs = [table.edits[name] for table in TABLES.values() if name in table.edits]
    return Edit(
        f"{name}-by-language",
        changes,
        context,
        passes=tuple(pair for passes, _ in pairs for pair in passes),
        fails=tuple(pair for _, fails in pairs for pair in fails),
        match=match,
        begins=begins,
        any_language=True,
    )


BY_TABLE = (
    _edit(
        "number",
        "a number from two to twelve, or 20, 30, 40, 50, in words or in figures",
        "in German, French, Spanish and languages that a policy adds, if both texts are certainly"
        " in it, or the one with the word is and the other adds no word; the word is in"
        " small letters and has no other meaning (no *neuf*, no *sept*; *acht* only before a noun);"
        " before a word that turns it into neither another number nor a time of day; in the three"
        " not after a noun whose label it may be (*in Bett fünf*, *en la mesa tres*), nor in a name"
        " (*heißt zwei Hunde*, *le nom est deux lunes*)",
        _number_word,
        frozenset({FIGURES}),
    ),
    _edit(
        "month",
        "a month is abbreviated, with or without a full stop",
        "in German, French, Spanish and languages that a policy adds, as CLDR abbreviates it;"
        " after a day in figures",
        _month,
        BUILT_IN.months | {ADDED},
    ),
    _edit(
        "start",
        "a sentence begins with a small or a capital letter",
        "in German, French, Spanish and languages that a policy adds; at least two words follow,"
        " and the word is on a closed list without names and forms of address (no *La*, no *Elle*,"
        " no *Sie*); in French and Spanish not before a capital letter (*El Salvador*)",
        _start,
        _STARTS,
    ),
    _edit(
        "numeral",
        "a number from two to twelve in Han numerals or in figures",
        "in Chinese and Japanese; before a counter on a closed list; not beside another numeral,"
        " and not an ordinal",
        _numeral,
        frozenset({FIGURES}),
    ),
)
"""The edits that tables license, each in its own language."""
