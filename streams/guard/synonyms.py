"""Words and phrases that may stand for each other, and inflected verbs with their base.

Everyday words only, where a person would call one text a copy of the other. Degrees (*like* and
*love*), kinds (*dog* and *puppy*), and words whose plural is a fact of its own are left apart.
"""

from __future__ import annotations

_SYNONYMS = """
    small little tiny | big large | huge enormous gigantic immense | fast quick rapid
    | quickly rapidly swiftly | happy glad joyful delighted pleased cheerful | couch sofa
    | mother mom mum mommy mummy mama | father dad daddy papa | grandmother grandma granny
    | grandfather grandpa granddad | kid child | kids children | baby infant
    | bike bicycle | bikes bicycles | motorbike motorcycle | tv television telly
    | fridge refrigerator | phone telephone | cellphone smartphone | photo photograph picture pic
    | photos photographs pictures pics | plane airplane aeroplane | planes airplanes aeroplanes
    | car automobile | cars automobiles | movie film | movies films | road street | roads streets
    | person individual | people individuals persons | woman lady | women ladies | man guy
    | men guys | doctor dr physician | lawyer attorney | author writer | taxi cab | trousers pants
    | holiday vacation | shop store | shops stores | stomach belly | rabbit bunny | gift present
    | buy purchase | bought purchased | begin start | began started | help assist | speak talk
    | live reside | get obtain receive | got obtained received | offer provide serve
    | like enjoy | need require | show display depict | gaze look | hit strike
    | sick ill | scared afraid frightened | rich wealthy | smart intelligent clever
    | easy simple | hard difficult | wrong incorrect | ancient old | whole entire
    | often frequently | usually normally | maybe perhaps | almost nearly
    | approximately roughly approx | currently now presently nowadays | daily everyday
    | each every | under below beneath underneath | over above | in inside within | on atop upon
    | beside besides alongside adjacent | center centre middle midst | toward towards
    | with has have having featuring features feature containing contains contain | among amongst
    | while whilst | forest woods | together jointly | lots many numerous | various diverse
    | sit seated | lie laying lays | ok okay | yes yeah | was were | cost price | vs versus
    | university uni | info information | application app | applications apps
"""
_SPELLINGS = """
    color colour | colors colours | colored coloured | favorite favourite | favorites favourites
    | gray grey | theater theatre | meter metre | liter litre | fiber fibre | flavor flavour
    | flavors flavours | neighbor neighbour | neighbors neighbours | neighborhood neighbourhood
    | honor honour | labor labour | humor humour | rumor rumour | behavior behaviour
    | organize organise | organization organisation | realize realise | recognize recognise
    | analyze analyse | traveler traveller | traveling travelling | traveled travelled
    | jewelry jewellery | catalog catalogue | dialog dialogue | program programme
    | license licence | defense defence | offense offence | practice practise | tire tyre
    | pajamas pyjamas | mustache moustache | yogurt yoghurt | donut doughnut | mom mum
    | learned learnt | burned burnt | dreamed dreamt | canceled cancelled | canceling cancelling
    | modeling modelling | specialize specialise | specialized specialised | cozy cosy
    | plow plough | skeptical sceptical | aging ageing | cafe café | naive naïve | cliche cliché
    | fiance fiancé | fiancee fiancée | facade façade | jalapeno jalapeño | email e-mail
"""
_VERBS = """
    sit stand lie hold wear hang lean carry eat sleep swim throw catch jump fly pull push kick hit
    play ride walk run drive watch look work show drink cook park talk smile laugh stop wait
    live like love hate prefer enjoy want need know think believe feel own keep use make take give
    get go come say tell ask bring buy sell pay read speak listen hear see learn teach
    study grow build write sing dance draw paint wash clean cut put set open close begin
    start end move turn follow lead meet visit travel commute plan try help offer provide serve
    contain include feature depict display gaze chase graze feed approach cross climb fall rise
    reach face surround cover fill hope wish seek manage develop design implement create prepare
    collect specialize focus suffer struggle attend join belong consist become remain stay leave
    return arrive collaborate exercise practice train compete swing skate ski surf board land
    reside require receive obtain purchase assist
"""
_DOUBLED = frozenset("sit swim run stop hit cut put set get begin plan swing".split()) - {"swing"}
_NOUNS_TOO = frozenset(
    (
        "plays rides walks runs drives watches looks works shows drinks cooks parks talks smiles"
        " laughs stops likes loves hates wants needs feeds paints draws visits travels plans offers"
        " displays features sets moves turns helps starts ends hopes wishes designs falls"
        " practices exercises trains boards lands faces covers crosses uses leaves cuts swings"
        " building painting meeting drawing setting beginning covering"
    ).split()
) - frozenset("likes loves hates wants needs uses works plays offers features displays".split())
_PHRASES = """
    close to > near ; next to > beside ; adjacent to > beside ; on top of > on
    ; a lot of > many ; lots of > many ; a couple of > #2 ; a number of > several
    ; as well as > & ; along with > with ; together with > with ; in addition to > with
    ; such as > like ; in order to > to ; due to > because ; because of > because
    ; at the moment > currently ; at present > currently ; right now > currently
    ; every day > daily ; each day > daily ; every week > weekly ; each week > weekly
    ; every month > monthly ; every year > yearly ; no longer > no-longer
    ; not any longer > no-longer ; any more > anymore ; a bit > slightly ; a little bit > slightly
    ; kid friendly > child-friendly ; kids friendly > child-friendly
    ; child friendly > child-friendly ; children friendly > child-friendly
    ; family friendly > child-friendly ; in the middle of > amid ; in the center of > amid
    ; in the centre of > amid ; in the midst of > amid ; per day > daily ; per week > weekly
    ; is able to > can ; are able to > can ; of age > old ; cell phone > cellphone
    ; mobile phone > cellphone ; smart phone > cellphone ; ice cream > icecream
"""


def _forms(verb: str) -> list[str]:
    if verb.endswith("ie"):
        return [verb + "s", verb[:-2] + "ying"]
    if verb.endswith("e"):
        return [verb + "s", (verb if verb.endswith("ee") else verb[:-1]) + "ing"]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return [verb[:-1] + "ies", verb + "ing"]
    ending = "es" if verb.endswith(("s", "x", "ch", "sh", "o")) else "s"
    return [verb + ending, verb + (verb[-1] if verb in _DOUBLED else "") + "ing"]


def _equivalents() -> dict[str, str]:
    found = {
        form: verb for verb in _VERBS.split() for form in _forms(verb) if form not in _NOUNS_TOO
    }
    for line in (_SPELLINGS + "|" + _SYNONYMS).split("|"):
        first, *others = line.split()
        found |= dict.fromkeys(others, first)
    return {word: found.get(base, base) for word, base in found.items()}


EQUIVALENTS: dict[str, str] = _equivalents()
"""Each word that may be replaced, to the one word that stands for its set."""

VERBS: frozenset[str] = frozenset(_VERBS.split())
"""Common verbs by their base form; their -s and -ing forms are in EQUIVALENTS."""


def _phrases() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for line in _PHRASES.split(";"):
        phrase, _, term = line.strip().partition(" > ")
        head, *rest = phrase.split()
        found.setdefault(head, []).append((tuple(rest), EQUIVALENTS.get(term, term)))
    for entries in found.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return found


PHRASES: dict[str, list[tuple[tuple[str, ...], str]]] = _phrases()
"""Phrases by their first word: the words that must follow, longest first, and the replacement."""
