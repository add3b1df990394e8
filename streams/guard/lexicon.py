"""The closed word classes that the guard knows: general English, written from grammar, not from data.

Each table is a closed class (articles, auxiliaries, months, units, number words, negators) or a
short list of everyday words that never differ in fact. A word that is in no table stands for itself.
"""

from __future__ import annotations

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()

SMALL_NUMBERS: dict[str, int] = {word: value for value, word in enumerate(_SMALL)}
"""Number words below twenty."""

TENS: dict[str, int] = {word: 10 * value for value, word in enumerate(_TENS, start=2)}
"""Number words twenty to ninety, which a word below ten may follow."""

SCALES: dict[str, int] = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
    "trillion": 1_000_000_000_000,
}
"""Number words that multiply what stands before them."""

ORDINALS: dict[str, int] = {word: value for value, word in enumerate(_ORDINALS, start=1)}
"""Ordinals up to twentieth."""

_MONTHS = (
    "january jan;february feb;march mar;april apr;may;june jun;july jul;august aug;"
    "september sep sept;october oct;november nov;december dec"
).split(";")
MONTHS: dict[str, int] = {
    name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()
}
"""Month names and abbreviations, to their number."""

AMBIGUOUS_MONTHS = frozenset({"march", "may", "mar", "jan", "jun", "dec", "sept"})
"""Month words that are also common words or names: a month only beside a day or a year."""

_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
WEEKDAYS: dict[str, str] = {
    form: day for day in _DAYS for form in (day, day + "s")
} | {"today": "today", "yesterday": "yesterday", "tomorrow": "tomorrow", "tonight": "tonight"}
"""Weekdays and the days that are named from where one stands."""

_UNITS = (
    "km kilometer kilometre kms;m meter metre;cm centimeter centimetre;mm millimeter millimetre;"
    "mile mi;yard yd;foot feet ft;inch inche;kg kilogram kilo kgs;g gram gramme;mg milligram;"
    "pound lb lbs;ounce oz;ton tonne;liter litre l;ml milliliter millilitre;gallon;second sec;"
    "minute min;hour hr hrs h;day;week wk;month;year yr;decade;percent % pct;dollar $ usd buck;"
    "euro € eur;£ gbp quid;yen ¥ jpy;₹ inr rupee;cent;degree °;celsius;fahrenheit;mph;kmh kph;"
    "kb kilobyte;mb megabyte;gb gigabyte;tb terabyte;ms millisecond;hz;khz;mhz;ghz;w watt;kw;kwh;"
    "v volt;calorie cal;kcal;k;bn;acre;hectare ha"
).split(";")
UNITS: dict[str, str] = {
    form: names.split()[0]
    for names in _UNITS
    for name in names.split()
    for form in (name, name + "s")
}
"""Units and currencies with their spellings; read as such only beside a number."""

CURRENCY_SIGNS = frozenset("$€£¥₹")
"""Signs that stand before their number."""

CONTRACTIONS: dict[str, tuple[str, ...]] = {
    "won't": ("will", "not"),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("not",),
    "let's": ("let", "us"),
    "gonna": ("going", "to"),
    "wanna": ("want", "to"),
} | {
    stem + "nt": (stem, "not")
    for stem in "do does did is was are were could would should has have had".split()
}
"""Contractions that are no plain stem and ending, and the ones often typed without apostrophe."""

CLITICS: dict[str, tuple[str, ...]] = {
    "s": (),
    "re": ("are",),
    "m": ("am",),
    "ve": ("have",),
    "ll": ("will",),
    "d": ("would",),
}
"""What stands after an apostrophe; 's is *is*, *has* or a possessive, none of which is a fact."""

SILENT = frozenset(
    "a an the is are am be being it its that this these those which who also and there".split()
)
"""Words that never change the meaning of the content words around them."""

PUNCTUATION = frozenset(".,;:!'\"()[]{}-–—…`´‘’“”„«»‹›·•|_*‐‑‒―，。、；：！（）「」『』【】《》")
"""Marks that never change meaning; every other sign stands for itself (``?``, ``+``, ``/``, emoji)."""

NEGATORS = frozenset(
    (
        "not no never none nobody nothing nowhere neither nor without hardly barely scarcely "
        "rarely seldom unable fails fail failed failing lack lacks lacked lacking refuse refuses "
        "refused refusing deny denies denied denying cease ceased ceases stop stopped stops quit "
        "quits except excluding n't longer anymore false untrue wrong"
    ).split()
)
"""Words that negate what follows or goes before them."""
