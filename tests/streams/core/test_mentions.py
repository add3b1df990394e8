"""What mentions what: sixty pairs, and laws over made-up identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.core.mentions import Words, mentions, words_of
from tests.tables import each

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
    ("5551234", "Her number is 555-1234."),
    ("555-1234", "call 5551234 today"),
    ("0301234567", "call 030-1234567 today"),
    ("12345678", "in Osaka: 1234-5678"),
    ("2019-2020", "the season 2019-2020"),
    ("2019", "the season 2019 2020"),
    ("2", "the rooms 1,2,3"),
    ("12,34", "it costs 12,34 euros"),
    ("끝말잇기", "오늘 친구들과 끝말잇기를 했다."),
    ("친구", "오늘 친구들과 끝말잇기를 했다."),
    ("학교", "그녀는 학교에서는 조용하다"),
    ("집", "지금 집에서 쉬고 있다"),
    ("김철수 선생님", "어제 김철수 선생님께서 오셨다"),
    ("취미", "내 취미는 독서입니다"),
    ("독서", "내 취미는 독서입니다"),
    ("INC-1007", "INC-1007을 닫았다"),
    ("Slack", "우리는 Slack에서 이야기한다"),
    ("كتاب", "قرأت الكتاب أمس"),
    ("الكتاب", "هذا كتاب جيد"),
    ("كتاب جديد", "اشترت الكتاب الجديد"),
    ("أحمد", "أعطت المفتاح لأحمد"),
    ("مدرسة", "ذهبت إلى المدرسة وللمدرسة باب"),
    ("محمد", "مُحَمَّد في البيت"),
    ("istanbul", "İstanbul'da yaşıyor"),
    ("İstanbul", "she lives in istanbul"),
    ("İZMİR", "izmir is warm"),
    ("école", "elle va à l'école"),
    ("Anna", "il libro dell'Anna"),
    ("Ada", "Ada’ll call tomorrow"),
    ("l'école", "une école à Lyon"),
    ("L’École", "elle va à l'école"),
    ("d'Anna", "il libro dell'Anna"),
    ("Ankara'da", "Ankara'dan geldi"),
    ("Ankara'nın", "ANKARA güzel"),
    ("ISPARTA", "Isparta'da yaşıyor"),
    ("ISPARTA", "ısparta güzel"),
    ("ısparta", "ISPARTA GÜZEL"),
    ("isparta", "ISPARTA güzel"),
    ("Iğdır", "IĞDIR'a gitti"),
    ("ığdır", "Iğdır'a gitti"),
    ("IĞDIR", "ığdır güzel"),
    ("I am", "as i am here"),
    ("INC-7'yi", "INC-7 is closed"),
    ("Google", "היא עובדת ב-Google"),
    ("ב-Google", "היא עברה מ־Google"),
    ("INC-1007", "מה קרה ל-INC-1007?"),
    ("תל אביב", "היא גרה ב-תל אביב"),
    ("iPhone", "שה-iPhone שלה חדש"),
    ("כל-בו", "היא קנתה בכל־בו או בכל-בו ליד כל-בו"),
    ("Google", "Googleで働いています。"),
    ("google", "彼はＧｏｏｇｌｅに勤めている"),
    ("Google", "她在Google工作"),
    ("iPhone", "iPhoneを買った"),
    ("Claude Code", "Claude Codeを使っている"),
    ("C++", "C++を使う"),
    ("INC-1007", "INC-1007を閉じた"),
    ("Google", "ทำงานที่Googleทุกวัน"),
    ("佐々木", "佐々木さんに会った"),
    ("ada@example.com", "連絡先はada+news@example.comです"),
    ("example.com", "example.comを見る"),
    ("https://example.com/a", "https://example.com/aを見た"),
    ("https://example.com/東京", "http://www.example.com/東京 を見た"),
    ("https://example.com/東京", "出典：https://example.com/東京。"),
    ("http://日本語.jp", "https://日本語.jp を見る"),
    ("http://日本語.jp/", "サイトはhttps://日本語.jpです"),
    ("日本語.jp", "https://日本語.jp/ を見る"),
    ("http://例え.jp/東京", "https://例え.jp/東京、を見る"),
    ("http://日本語.jp/東京", "見たのは http://日本語.jp/東京? それとも"),
    ("https://example.com/Müller", "war es https://example.com/Müller?"),
    ("アンナ", "アンナは元気だ"),
    ("ジョン", "ジョン・スミスさんに会った"),
    ("ｱﾝﾅ", "昨日アンナに会った"),
    ("らーめん", "らーめんを食べる"),
    ("コーヒー", "コーヒー豆を買った"),
    ("三点", "下午三点见"),
    ("十三点", "下午十三点见"),
    ("周五", "她周五十点开会"),
    ("十点", "她星期三十点开会"),
    ("张三", "张三一直住在北京"),
    ("一起", "张三一起去"),
    ("李四", "李四五月结婚"),
    ("小Q", "小Q是我的朋友"),
    ("K", "K在北京工作"),
    ("A", "A君と話した"),
    ("一九九〇年", "她一九九〇年出生"),
    ("三重", "三重に住んでいる"),
    ("3万円", "家賃は3万円です"),
    ("Tシャツ", "Tシャツを買う"),
    ("シャツ", "Tシャツを買う"),
    ("公司", "他在A公司工作"),
    ("A", "私はAを選ぶ"),
    ("R&D", "R&Dセンターで働く"),
    ("06 12 34 56 78", "tel : 06.12.34.56.78"),
    ("1234,5", "pagó 1.234,5 euros"),
    ("1234,5", "il a payé 1\u202f234,5 €"),
    ("1 234,5", "il a payé 1234,5 €"),
    ("2024-01-31", "2024-01-31,12,paid"),
    ("555-1234", "555-1234,5 calls"),
    ("1.234.567,89", "kostet 1234567,89 €"),
]
OTHER = [
    ("Google", "Googlerで働く"),
    ("INC-100", "INC-1007を閉じた"),
    ("example.com", "連絡先はada@example.comです"),
    ("ada@example.com", "連絡先はada@example.com.jpです"),
    ("https://example.com/a", "https://example.com/a/東京を見た"),
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
    ("12-34", "it costs 12,34 euros"),
    ("12,34", "the code 12-34"),
    ("12", "it costs 12,34 euros"),
    ("34", "it costs 12,34 euros"),
    ("12.34", "it costs 12,34 euros"),
    ("20192020", "the season 2019-2020"),
    ("5551234", "the order A-555-1234"),
    ("5551234", "555-12345 is another"),
    ("도", "도로가 막혔다"),
    ("고양", "고양시에 산다"),
    ("나", "나이가 많다"),
    ("له", "الحمد لله"),
    ("لد", "ولد صغير"),
    ("Brien", "Mr. O'Brien called"),
    ("sel", "Basel'de"),
    ("sınır", "sinir oldu"),
    ("sinir", "sınır kapalı"),
    ("ısparta", "isparta"),
    ("O'Brien", "the letter o"),
    ("O'Brien", "Brien called"),
    ("l'école", "les écoles"),
    ("בו", "קניתי בכל-בו"),
    ("בו", "כל-בו"),
    ("12", "ויטמין ב-12"),
    ("ה", "ימים ב-ה"),
    ("עדה", "הוועדה החליטה"),
    ("עדה", "ועדה של המועצה"),
    ("דינה", "מדינה קטנה"),
    ("Ali", "Aliye geldi"),
    ("kale", "kalem aldı"),
    ("https://example.com/東京", "https://example.com/東京都 を見た"),
    ("https://example.com/東京", "https://example.com/東京/区 を見た"),
    ("https://example.com/東京", "https://example.com/東京?p=2 を見た"),
    ("https://example.com/さくら", "https://example.com/さくらんぼ を見た"),
    ("http://日本語.jp", "https://日本語.jp/東京 を見る"),
    ("http://日本語.jp", "https://日本語.jpn を見る"),
    ("http://本語.jp", "https://日本語.jp を見る"),
    ("アン", "アンナは元気だ"),
    ("タイ", "ネクタイを買った"),
    ("インド", "インドネシアに行った"),
    ("ｱﾝ", "昨日ｱﾝﾅに会った"),
    ("三点", "下午十三点见"),
    ("九九一年", "她一九九一年出生"),
    ("三匹", "猫を十三匹飼う"),
    ("三", "三千人が来た"),
    ("3", "家賃は3万円です"),
    ("T", "Tシャツを買う"),
    ("T", "她买了一件T恤"),
    ("234,5", "il a payé 1\u202f234,5 €"),
    ("234,5", "pagó 1.234,5 euros"),
    ("06 12 34 56 78", "tel : 06.12.34.56.79"),
    ("", "nothing is asked"),
    ("...", "nothing is asked ..."),
]


@each(("query", "text"), SAME)
def test_is_mentioned(query: str, text: str) -> None:
    assert mentions(query, text)


@each(("query", "text"), OTHER)
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


INVISIBLE = "\u200b\ufeff\u00ad\u200e\u200f\u061c"


@given(letters, letters, st.sampled_from(INVISIBLE), st.integers(0, 12), st.booleans())
def test_what_nobody_sees_does_not_count(a: str, b: str, sign: str, at: int, asked: bool) -> None:
    """As the core's identity ignores it: who forgets all that mentions a word means this, too."""
    words = f"{a} {b}"
    hidden = words[:at] + sign + words[at:]
    query, text = (hidden, words) if asked else (words, hidden)
    assert mentions(query, f"see {text}, please")
    assert mentions(query, f"{sign}{text}")


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
    *("a'", "a://", "mailto:", "www.", "1,", "1,111", "a.b/", "이라고", "l'", "وال", "1-", "1,2 "),
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", REPEATED)
def test_a_long_text_of_anything_is_read_once(part: str) -> None:
    """A pattern that is tried to the end at each character would take minutes for such a text."""
    size = 128 * 1024
    text = (part * (size // len(part))) + " oat"
    assert words_of.__wrapped__(text).parts[-1] == "oat"


class Part(str):
    """A word that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Part.compared += 1
        return str.__eq__(self, other) is True

    def __hash__(self) -> int:
        return str.__hash__(self)


def test_a_text_of_one_word_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a query that differs from it in the last word alone."""
    text = [Part("a") for _ in range(4_000)]
    query = [*(Part("a") for _ in range(1_999)), Part("b")]
    whole = (True,) * len(text)
    known = {
        "text": Words(tuple(text), whole, whole),
        "query": Words(tuple(query), whole, whole),
    }
    monkeypatch.setattr("palimpsest.streams.core.mentions.words_of", known.__getitem__)
    before = Part.compared
    assert not mentions("query", "text")
    assert Part.compared - before < 6 * (len(text) + len(query))
