"""Words that distinguish a value from other differences, in languages other than English.

They join nothing, and the guard's hash does not cover them, nor those of English frames.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ValueWords:
    """The words of a language, in small letters."""

    counted: frozenset[str] = frozenset()
    """Pronouns, verbs and possessives: they say what a text is about, also if in its table."""
    adding: frozenset[str] = frozenset()
    """Verbs that may have several values at once; in Chinese and Japanese, parts of words."""
    changed: frozenset[str] = frozenset()
    """Words that say that something has changed; also parts of words in Chinese and Japanese."""


def _of(counted: str = "", adding: str = "", changed: str = "") -> ValueWords:
    return ValueWords(
        *(frozenset(words.casefold().split()) for words in (counted, adding, changed))
    )


VALUE_WORDS = {
    "de": _of(
        "ich wir mein meine sein seine ihr ihre wohnt lebt heißt arbeitet kommt geht",
        "mag mögen liebt liebe hasst hasse spricht spreche kennt kenne liest lese isst esse trinkt"
        " trinke spielt spiele will möchte braucht brauche besucht besuche besuchte kauft kaufte"
        " gekauft gesehen gelesen gern gerne",
        "jetzt nun inzwischen mittlerweile neuerdings umgezogen gewechselt wechselte mehr statt"
        " neue neuer neues neuen kürzlich",
    ),
    "fr": _of(
        "je nous mon ma mes son sa ses habite vit travaille",
        "aime adore déteste parle connaît lit mange boit joue veut voudrait visite visité acheté"
        " vu",
        "maintenant désormais dorénavant plus déménagé changé nouveau nouvelle récemment",
    ),
    "es": _of(
        "yo nosotros mi mis su sus vive vivo trabaja trabajo estudio conduzco conduce manejo maneja"
        " pago paga cobro cobra gano gana peso pesa mido mide duermo duerme",
        "gusta gustan ama odia habla conoce lee come bebe toma juega quiere necesita visitó compró",
        "ahora ya mudado mudó cambió cambiado nuevo nueva recientemente",
    ),
    "zh": _of(
        adding="喜欢 爱 讨厌 会说 懂 看了 看过 读了 读过 吃 喝 玩 想要 需要 去过 买",
        changed="现在 如今 搬到 搬去 搬家 换成 改成 不再 新的",
    ),
    "ja": _of(
        adding="好き 嫌い 食べ 飲 話 読 見 弾 欲しい 買 訪 知って 遊",
        changed="現在 引っ越 変わ 変え 変更 新しい 辞め やめ 転職 今は",
    ),
}
"""The words of each language, by its code."""

MORE_LIGHT = frozenset(
    (
        "bin bist waren werde werden habe hatte suis ai avait était étaient estoy tengo tenía están"
    ).split()
)
"""Forms of *be* and *have*, most of them in no table."""
IN_ENGLISH = frozenset(
    "a am an come den die dix dort era he in ma me no once plus sans sin six son war".split()
)
"""Words of the tables that are also English: they do not prove another language."""
ALSO_GERMAN = frozenset("also her meeting name".split())
"""English words that German has, too: *Mein Name ist …*, *Das Meeting ist am Montag*."""
AND = frozenset("und oder et ou y o e".split())
"""Words after which somebody else is named."""

CHINESE_NO_VALUE = frozenset("的了在是和与及跟也就把被给从到向对因但或吗呢吧着过有会能要")
"""Characters that function words are made of: a difference with one of these is not a value."""
CHINESE_OTHERS = frozenset("妹姐哥弟妈爸父母儿女妻夫友叔姨爷奶他她它我你们")
"""Characters for people: a difference with one of these is in whom the texts are about."""
CHINESE_LIGHT = frozenset("是有个只本辆台杯二两三四五六七八九十。，, ")
"""Characters that alone do not say what a text is about."""
FAVOURITE = {"zh": "最喜欢的", "ja": "好きな"}
"""Words for what somebody likes *best*, which is a single value; they may *like* several things."""
JAPANESE_ONE = tuple(
    (
        "主治医 かかりつけ医 担任 上司 名前 番号 住所 職業 勤務先 学部 専攻 部署 役職 血液型 出身"
        " 出身地 誕生日 記念日 家賃 給料 年収 身長 体重 最寄り駅 締め切り 期限 愛車"
    ).split()
)
"""Topics of which somebody has one, so that what is said of them is a value without a verb."""
JAPANESE_MAKERS = (
    "トヨタ|日産|ホンダ|マツダ|スバル|スズキ|ダイハツ|三菱|レクサス|ソニー|アップル|シャープ"
)
"""Makers whose product may follow with の as part of one value: トヨタのプリウス."""
JAPANESE_NO_VALUE = ("は", "が", "も", "の", "と", "さん", "ちゃん", "くん")
"""What follows the subject, what somebody likes, or a person's name, but no value."""

THIRD_GERMAN = {
    "bin": "ist",
    "esse": "isst",
    "fahre": "fährt",
    "gebe": "gibt",
    "habe": "hat",
    "halte": "hält",
    "helfe": "hilft",
    "laufe": "läuft",
    "lese": "liest",
    "nehme": "nimmt",
    "schlafe": "schläft",
    "sehe": "sieht",
    "spreche": "spricht",
    "trage": "trägt",
    "treffe": "trifft",
    "vergesse": "vergisst",
    "werde": "wird",
}
"""The third person of a verb whose stem changes, by the form after *ich*."""


FRENCH_MINE = frozenset("j m je me moi mon ma mes".split())
SPANISH_MINE = frozenset("yo me mi mis conmigo".split())
"""Words by which a text in the first person speaks of its owner."""
THIRD_FRENCH = {"ai": "a", "suis": "est", "vais": "va", "connais": "connaît", "nais": "naît"}
"""The third person of a verb, by the form after *je*, if its ending does not show it."""
THIRD_SPANISH = {
    stem + "o": stem + ending
    for ending, stems in {
        "a": "acuest alquil arregl cant cen cocin coleccion compr cobr cuid cultiv dej desayun"
        " enseñ entren escuch estudi fum gan habl intent jueg lav levant llam llev manej mont"
        " necesit pag pes pint practic program respet tom toc trabaj us utiliz viaj visit",
        "e": "aprend beb com compart corr duerm escrib mid prefier recib pued quier sub vend viv",
    }.items()
    for stem in stems.split()
} | {
    "conduzco": "conduce",
    "doy": "da",
    "dirijo": "dirige",
    "estoy": "está",
    "hago": "hace",
    "he": "ha",
    "pongo": "pone",
    "salgo": "sale",
    "sé": "sabe",
    "sigo": "sigue",
    "soy": "es",
    "tengo": "tiene",
    "vengo": "viene",
    "voy": "va",
}
"""The third person of Spanish verbs, by the first, which stands without a subject."""


def third_french(verb: str) -> str:
    """The third person of a verb, given its form after *je*."""
    if verb in THIRD_FRENCH:
        return THIRD_FRENCH[verb]
    if verb.endswith(("ds", "ts")):
        return verb[:-1]
    return verb[:-1] + "t" if verb.endswith(("s", "x")) else verb


def third_german(verb: str) -> str:
    """The third person of a verb, given its form after *ich*; any other word is unchanged."""
    if verb in THIRD_GERMAN:
        return THIRD_GERMAN[verb]
    stem = verb.removesuffix("e")
    if stem == verb or not verb.islower():
        return verb
    return stem + ("et" if stem.endswith(("d", "t")) else "t")
