"""Words as a dictionary has them: without particles and articles, in their base form."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.search.content import terms
from palimpsest.streams.search.morphemes import morphemes

needs_package = pytest.mark.skipif(
    find_spec("lindera") is None, reason="lindera-python-cjk is not installed"
)


@needs_package
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("彼女は猫を三匹飼っている。", ("彼女", "猫", "三", "匹", "飼う", "いる")),
        ("お茶が好きではない", ("お茶", "好き", "ない")),
        ("他住在北京的大学。", ("他", "住", "北京", "大学")),
        ("나는 고양이를 좋아한다", ("나", "고양이", "좋", "하")),
        ("L'école d'Ada est près de l'eau", ("école", "ada", "est", "près", "de", "eau")),
        ("Ankara'da İSTANBUL ve istanbul", ("ankara", "istanbul", "ve", "istanbul")),
        ("She has 3 cats in Tokyo 東京", ("she", "has", "3", "cats", "tokyo", "東京")),
        ("…", ()),
    ],
)
def test_words_stand_as_in_a_dictionary(text: str, words: tuple[str, ...]) -> None:
    assert morphemes(text) == words


@needs_package
def test_particles_make_no_other_words() -> None:
    assert set(morphemes("고양이가 서울에서 산다")) & set(morphemes("서울의 고양이는")) == {
        "고양이",
        "서울",
    }


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lindera", None)
    morphemes.cache_clear()
    with pytest.raises(UsageError, match=r"palimpsest-memory\[cjk\]"):
        morphemes("tea")


def test_a_dotted_capital_i_is_an_i_in_full_text() -> None:
    assert terms("İstanbul") == terms("istanbul") == ("istanbul",)
