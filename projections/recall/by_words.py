"""Recall by words: for texts without a vector, and for queries while the model is down.

With the extra `cjk`, Chinese, Japanese and Korean are compared by dictionary words, and long words
by pairs of neighbouring characters, too. Without it, they are compared by such pairs, and Han by
single characters, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from palimpsest.projections.recall.collapse import DECIMALS
from palimpsest.projections.recall.hits import Ranked, in_order
from palimpsest.streams.core.ledger import Ledger, Memory
from palimpsest.streams.core.mentions import ELIDED, TURKISH_ENDING, canonical
from palimpsest.streams.guard import tokens
from palimpsest.streams.search.morphemes import (
    CJK,
    HAN_CHARACTER,
    are_installed,
    has_kana,
    morphemes_of,
)

_ATTACHED = re.compile(rf"(?<!\w){ELIDED}(?=[^\W\d_]{{2}})|(?<=\w){TURKISH_ENDING}(?!\w)")


def ranked_by_words(ledger: Ledger, question: str, *, unembedded: bool = False) -> list[Ranked]:
    """The living memories that share a word with a question, best first.

    The score is the largest share of the question's content words that one text has, each word
    counted once; ties go to the older memory. `unembedded`: match only texts without a vector.
    """
    asked = _AskedWords(question)
    scored = [
        Ranked(memory, _score(memory, asked, unembedded=unembedded))
        for memory in ledger.memories()
        if memory.living
    ]
    return sorted((ranked for ranked in scored if ranked.score > 0.0), key=in_order)


class _AskedWords:
    """The words of a question.

    A question in Han alone is split as Japanese if the text that it is compared with is Japanese.
    """

    def __init__(self, question: str) -> None:
        self._japanese = has_kana(question)
        self._words = {
            japanese: frozenset(
                word
                for word in searched_words(question, japanese=japanese)
                if any(map(str.isalnum, word))
            )
            for japanese in {self._japanese, True}
        }

    def share_in(self, text: str) -> float:
        """The share of its words that occur in a text."""
        japanese = self._japanese or has_kana(text)
        words = self._words[japanese]
        return len(words & searched_words(text, japanese=japanese)) / len(words) if words else 0.0


def searched_words(text: str, *, japanese: bool) -> frozenset[str]:
    """The words that a text is found by, without elided articles and Turkish endings.

    The dotted and the dotless i count as the same letter.
    """
    if text.isascii() and "'" not in text:
        return tokens(text)
    plain = _ATTACHED.sub("", canonical(text).replace("ı", "i"))
    words = set(tokens(CJK.sub(" ", plain)))
    for run in CJK.findall(plain):
        if are_installed():
            for word in morphemes_of(run, japanese=japanese):
                words.update([word.base, *(_pairs(word.base) if len(word.base) > 2 else ())])
        else:
            words.update([*_pairs(run), *HAN_CHARACTER.findall(run)])
    return frozenset(words)


def _pairs(word: str) -> Iterator[str]:
    return map("".join, pairwise(word))


def _score(memory: Memory, asked: _AskedWords, *, unembedded: bool) -> float:
    texts = {
        entry.text
        for entry in memory.members
        if entry.living and not (unembedded and entry.distinct.vector is not None)
    }
    if texts and not unembedded:
        texts.add(memory.text)
    return round(max(map(asked.share_in, texts), default=0.0), DECIMALS)
