"""What mentions what: sixty pairs, and laws over made-up identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.core.mentions import Words, mentions, words_of

SAME = [
    ("ABC123", "Her order is ABC123."),
    ("abc123", "Her order is ABC-123"),
    ("ABC-123", "abc 123 was shipped"),
    ("abc_123", "see (ABC123), please"),
    ("ORD-2024-0017", "the order ord_2024_0017 is late"),
    ("@ada", "she is ada on the forum"),
    ("ada", "write to @Ada there"),
    ("#release", "talk about Release in that channel"),
    ("release", "it was tagged #release yesterday"),
    ("Ada Lovelace", "a talk by ada lovelace"),
    ("ada-lovelace", "her handle: Ada_Lovelace"),
    ("Ada", "Ada's flat is in Paris"),
    ("Ada’s", "this is Ada"),
    ("O'Brien", "Mr. O’Brien called"),
    ("ada@example.com", "her address is Ada@Example.COM."),
    ("ada+news@example.com", "her address is ada@example.com"),
    ("example.com", "see münchen.example.com"),
    ("ada@example.com", "subscribed as <ada+shop@example.com>"),
    ("mailto:ada@example.com", "ada@example.com bounced"),
    ("https://example.com/a", "see http://www.example.com/a/ for it"),
    ("example.com", "her site is https://example.com/"),
    ("www.example.com/a?b=1", "https://example.com/a?b=1."),
    ("+1-555-123-4567", "phone: +1 (555) 123-4567"),
    ("+15551234567", "call +1-555-123-4567 today"),
    ("555.123.4567", "call 555-123-4567 today"),
    ("+49 30 1234567", "call +49301234567 today"),
    ("(030) 1234567", "call 0301234567 today"),
    ("1234567", "item 12-34-567 is sold"),
    ("2024-01-02", "born 2024-01-02"),
    ("1,000,000", "she won 1000000 euros"),
    ("12.5", "a force of 12.5 N"),
    ("12.5N", "a force of 12.5 N"),
    ("v2.1", "runs V2.1 now"),
    ("C++", "she writes c++ at work"),
    ("C#", "she writes C# at work"),
    ("Ｃａｆé", "the café is closed"),
    ("STRASSE", "in der Straße"),
    ("東京", "彼女は東京に住んでいる"),
    ("北京", "她住在北京。"),
    ("R&D", "she leads R&D"),
]
OTHER = [
    ("ABC123", "Her order is ABC1234."),
    ("030 1234567", "call 0301234567 today"),
    ("ABC123", "Her order is XABC123."),
    ("ABC123", "Her order is ABC-123-7."),
    ("ABC123", "Her order is ABC12 3."),
    ("123", "Her order is ABC123."),
    ("ABC", "Her order is ABC123."),
    ("@ada", "@ada_lovelace wrote"),
    ("ada", "adamant about it"),
    ("Ann", "Anna called"),
    ("ada@example.com", "ada@example.community is hers"),
    ("ada@example.com", "nada@example.com is hers"),
    ("ada", "ada@example.com is hers"),
    ("example.com", "ada@example.com is hers"),
    ("https://example.com/a", "https://example.com/ab"),
    ("https://example.com/a", "https://example.org/a"),
    ("+1-555-123-4567", "+1-555-123-4568"),
    ("+1-555-123-4567", "+1-555-123-45678"),
    ("555-123-4567", "+44-555-123-4567 is another customer's"),
    ("123456", "item 12-34-56 is sold"),
    ("12.5", "a force of 125 N"),
    ("12.5", "a force of 12.55 N"),
    ("1-11", "room 11-1"),
    ("192.168.0.1", "the host 19.2168.0.1"),
    ("192.168.0.1", "the host 192.168.0.10"),
    ("5", "it was -5 degrees"),
    ("2.1", "version 2.1.3"),
    ("C", "she writes C++ at work"),
    ("C", "she writes C# at work"),
    ("Ada Lovelace", "Ada met Grace Lovelace"),
    ("東京", "京東で買う"),
    ("", "nothing is asked"),
    ("...", "nothing is asked ..."),
]


@pytest.mark.parametrize(("query", "text"), SAME)
def test_is_mentioned(query: str, text: str) -> None:
    assert mentions(query, text)


@pytest.mark.parametrize(("query", "text"), OTHER)
def test_is_not_mentioned(query: str, text: str) -> None:
    assert not mentions(query, text)


def test_the_table_has_sixty_pairs() -> None:
    assert len(SAME) + len(OTHER) >= 60


letters = st.text("abcdefgh", min_size=2, max_size=6)
digits = st.text("0123456789", min_size=1, max_size=6)
separators = st.sampled_from(["", "-", "_"])


@given(letters, digits, separators, separators)
def test_separators_and_case_do_not_count(a: str, n: str, one: str, other: str) -> None:
    assert mentions(f"{a}{one}{n}", f"see {a.upper()}{other}{n}, please")


@given(letters, digits, digits, separators)
def test_an_identifier_that_goes_on_is_another(a: str, n: str, more: str, sign: str) -> None:
    assert not mentions(f"{a}{sign}{n}", f"see {a}{sign}{n}{more}")
    assert not mentions(f"{a}{sign}{n}", f"see {a}{sign}{n}-{more}")
    assert not mentions(f"{a}{sign}{n}", f"see x{a}{sign}{n}")


@given(st.text(max_size=40))
def test_a_text_mentions_itself_or_has_no_words(text: str) -> None:
    assert mentions(text, text) or not any(c.isalnum() for c in text)


REPEATED = (
    *("x.y.", "a-", "a_", "w+", "%a", "a@", "@a.", "a@a.", "x.1.", "12345 ", "1/", "1((((((("),
    *("a'", "a://", "mailto:", "www.", "1,", "1,111", "a.b/"),
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", REPEATED)
def test_a_long_text_of_anything_is_read_once(part: str) -> None:
    """A pattern that is tried to the end at each character would take minutes for such a text."""
    size = 128 * 1024
    text = (part * (size // len(part))) + " oat"
    assert words_of.__wrapped__(text).parts[-1] == "oat"


class Part:
    """A word that counts how often it is compared."""

    compared = 0

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        Part.compared += 1
        return isinstance(other, Part) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def test_a_text_of_one_word_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a query that differs from it in the last word alone."""
    text = [Part("a") for _ in range(4_000)]
    query = [*(Part("a") for _ in range(1_999)), Part("b")]
    whole = (True,) * len(text)
    known = {
        "text": Words(tuple(text), whole, whole),  # type: ignore[arg-type]
        "query": Words(tuple(query), whole, whole),  # type: ignore[arg-type]
    }
    monkeypatch.setattr("palimpsest.streams.core.mentions.words_of", known.__getitem__)
    before = Part.compared
    assert not mentions("query", "text")
    assert Part.compared - before < 6 * (len(text) + len(query))
