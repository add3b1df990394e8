"""Korean texts for frames (docs/guard.md, Frames): their values, and what holds after a change.

A value is one or two words before a particle, a number or a weekday, or what somebody's only thing
is (주치의는 김 선생님이다). It joins nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from palimpsest.contracts.patterns import compile_later

HANGUL = compile_later("[\uac00-\ud7a3]")
LONGEST = 80
"""A longer text tells a story or reports several things."""
_OWNER = ("나", "저")
_NOW = compile_later(r"(?<!\S)(?:이제는?|지금은|현재는?|요즘은?) ")
_NEGATES = compile_later(r"(?<!\S)(?:안|못) |않|없|아니|[?？]")
_ADDING = compile_later(
    "좋아|싫어|사랑|먹|마시|마신|마셔|읽|본다|봤|듣|배우|배운|가르|말하|말한|산다고|샀|키우|키운|만나|만났"
    "|안다|연주|친다|원하|원한|즐긴|즐겨|방문|복용|(?<!\\S)(?:간다|갔다)"
)
_DOING = compile_later("공부|[을를] [한했]다")
"""Somebody may do several things, but *somewhere* they do one."""
_WHERE = r"((?:\S+[은는이가] )?)(?:최근에? |얼마 전에? |방금 )?(\S+?)"
_SUM = r"((?:\S+의 |내 |제 )?\S+?)[이가은는] ((?:\d|[일이삼사오육칠팔구]?[십백천만])[^,.]*?)"
_LEADS_TO = {
    rf"{_WHERE}(?:으로|로) 이사(?:했|갔|왔)(?:다|어요?|습니다)": r"\1\2에 산다",
    rf"{_WHERE}(?:으로|로) 이사(?:해|가|와)요": r"\1\2에 산다",
    rf"{_WHERE}(?:으로|로) 이직(?:했다|했어요?|했습니다)": r"\1\2에서 일한다",
    rf"{_SUM}(?:으로|로) (?:올랐|내렸|바뀌었|변경되었)(?:다|어요?|습니다)": r"\1는 \2이다",
    r"((?:\S+의 |내 |제 )?)새(?:로운)? (\S+[은는] .+)": r"\1\2",
}
_LEADS = [(compile_later(told), state) for told, state in _LEADS_TO.items()]
_CHANGED = compile_later(r"이사|이직|바뀌|바꿨|변경|옮겼|올랐|내렸|(?<!\S)(?:이제|새|더 이상)")
_PLAIN = {
    r"(?:합니다|해요|하고 있(?:다|어요?|습니다))": "한다",
    r"(?:삽니다|살아요?|살고 있(?:다|어요?|습니다))": "산다",
    r"(?:탑니다|타요|타고 있(?:다|어요?|습니다))": "탄다",
    r"(?:다닙니다|다녀요|다니고 있(?:다|어요?|습니다))": "다닌다",
    r"(?:키웁니다|키워요|키우고 있(?:다|어요?|습니다))": "키운다",
    r"(?:씁니다|써요|쓰고 있(?:다|어요?|습니다))": "쓴다",
    r"있(?:어요?|습니다)": "있다",
    r"(?:이에요|예요|입니다|이다)": "다",
}
_POLITE = [(compile_later(f"{told}$"), plain) for told, plain in _PLAIN.items()]
_ONE = tuple(
    (
        "이름 생일 주소 번호 전화번호 직업 직장 회사 월세 집세 연봉 월급 키 몸무게 혈액형 고향"
        " 주치의 상사 담임 차 전공 부서 직급 비밀번호 마감 기한"
    ).split()
)
"""Things of which somebody has one, so that what they are is a value."""
_PARTICLE = compile_later(r"(\S+?)(에서|에게|으로|에|로|을|를|마다|부터|까지)")
_SAME = {"으로": "로", "를": "을"}
_COUNTED = compile_later(r"[월화수목금토일]요일|\d\S*|한|두|세|네|다섯|여섯|일곱|여덟|아홉|열")
"""Weekdays and numbers, which are values also without a particle."""
_COPULA = compile_later(
    "(?<![있없하한했었았큰크작많좋싫높낮멀깝쁘답들쉽렵춥덥볍겁짧넓좁롭색])(?<!아프|고프|슬프|빠르|다르|비싸)다$"
)
_AMOUNT = compile_later(r"\d\S*[천만억]|\d+")
LONGEST_VALUE = 2
"""Maximum number of words of what somebody's only thing is."""


def value_keys(text: str) -> Iterator[tuple[str, ...]]:
    """For each part of a text that may be a value, what is left without that part."""
    if len(text) > LONGEST or _NEGATES.search(text) or re.search(r"[.!](?=\s)", text):
        return
    *words, last = as_plain(text).split()
    adds = _ADDING.search(text) is not None and "가장" not in words
    does = _DOING.search(text) is not None
    for at, word in enumerate(words):
        before, after = [*map(_topic, words[:at])], [*words[at + 1 :], last]
        while _AMOUNT.fullmatch(word) and after[1:] and _AMOUNT.fullmatch(after[0]):
            del after[0]  # 1만 2천 원
        found = _PARTICLE.fullmatch(word)
        stem, particle = (found[1], found[2]) if found else (word, "")
        counts = _COUNTED.fullmatch(stem) is not None
        if word[-1] in "을를" and does:
            found = None
        if counts or (found and not adds):
            yield ("ko", *before, _SAME.get(particle, particle), *after)
        if found and not adds and before and _is_bare_noun(before[-1]):
            yield ("ko", *before[:-1], _SAME.get(particle, particle), *after)
        of_one = word[-1] in "은는" and word[:-1] in _ONE and all(map(_is_bare_noun, after[:-1]))
        if of_one and len(after) <= LONGEST_VALUE and _COPULA.search(last):
            yield ("ko", *before, word[:-1], "다")


def _topic(word: str) -> str:
    """A word with 는 for 은, which is written after a consonant: 연봉은 and 월세는."""
    return f"{word[:-1]}는" if word.endswith("은") else word


def _is_bare_noun(word: str) -> bool:
    """Whether a word has no particle; one syllable is a surname (이 선생님)."""
    return len(word) == 1 or (
        _PARTICLE.fullmatch(word) is None and word[-1] not in "은는이가의도만와과"
    )


def as_plain(text: str) -> str:
    """A text with its last verb in the plain form, without its last full stop."""
    said = text.rstrip(" .!。")
    for polite, plain in _POLITE:
        if polite.search(said):
            return polite.sub(plain, said)
    return said


def as_present(text: str) -> str:
    """A text that tells of a change as what holds now; its sense stays if it tells of none."""
    said = _NOW.sub("", text.rstrip(" .!。"), count=1)
    if _NEGATES.search(said):
        return text
    for told, state in _LEADS:
        if found := told.fullmatch(said):
            said = found.expand(state)
    return said


def tells_change(text: str) -> bool:
    """Whether a text says by a word that something has changed."""
    return len(text) <= LONGEST and _CHANGED.search(text) is not None


def without_owner(said: str, names: tuple[str, ...]) -> str:
    """A text without the owner as its subject or possessor: 민수는 …, 나의 …, 내 …."""
    own = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    mine = "|내|제" if not {*_OWNER}.isdisjoint(names) else ""
    return re.sub(rf"^(?:(?:{own})[은는이가의]{mine}) ", "", said)
