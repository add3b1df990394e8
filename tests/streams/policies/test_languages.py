"""A language of a user: read from a file, part of the policy, known to the guard that it names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given as having
from hypothesis import strategies as st

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import Decided
from palimpsest.contracts.evidence import Cue
from palimpsest.contracts.language import Language
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.streams.guard import compare, guard_hash, passes, read, tables_of
from palimpsest.streams.guard.edits.moves import MOVE
from palimpsest.streams.guard.edits.table import EDITS
from palimpsest.streams.policies import load_policy
from palimpsest.streams.policies.languages import add_languages, load_language
from palimpsest.streams.policies.writing import write_policy
from tests.streams.core.spec import History, policy, say
from tests.tables import each

FOLDER = Path(__file__).parents[3] / "examples" / "languages"
FILES = sorted(FOLDER.glob("*.toml"))
DUTCH, TURKISH = (load_language(FOLDER / f"{code}.toml") for code in ("nl", "tr"))
BOTH = tables_of((DUTCH, TURKISH))
THREE, FIGURE = "Ada heeft drie honden en een kat.", "Ada heeft 3 honden en een kat."

GUARDED = policy(
    CosineCheck(check="cosine", zones=(Zone(at_least=0.7, action="auto_reject", guard=True),))
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_months_and_days_of_the_examples_are_those_of_cldr(file: Path) -> None:
    babel = pytest.importorskip("babel", reason="babel is not installed")
    language = load_language(file)
    locale = babel.Locale(language.code)
    for width in ("wide", "abbreviated"):
        for number, name in locale.months["format"][width].items():
            assert name.lower().rstrip(".") in language.months[number - 1]
    for number, name in locale.days["format"]["wide"].items():
        assert name.lower() in language.days[number]


def test_a_language_is_known_under_the_policy_that_has_it_alone() -> None:
    assert passes(read(THREE, tables=BOTH), read(FIGURE, tables=BOTH))
    assert not passes(read(THREE), read(FIGURE))
    assert read(THREE, tables=BOTH).language == "nl"
    assert read("Ben her gün çay içiyorum.", tables=BOTH).language == "tr"


def test_a_word_counts_in_its_own_language_alone() -> None:
    german = "Ada hat twee Hunde und eine Katze.", "Ada hat 2 Hunde und eine Katze."
    one, other = (read(text, tables=BOTH) for text in german)
    assert one.language == other.language == "de"
    assert not passes(one, other)


ESTONIAN = Language(
    code="et",
    words=("ta", "elab", "koos", "ning", "oma", "naine", "poeg", "on", "water", "ja"),
    negators=("ei",),
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Ta elab koos naine great poeg.", "et"),
        ("Koos is her friend and lives in the house.", "en"),
        ("The water on the road is old.", "en"),
        ("Ta elab with koos.", None),
    ],
)
def test_a_language_takes_no_english_texts_and_english_none_of_its_own(
    text: str, language: str | None
) -> None:
    assert read(text, tables=tables_of((ESTONIAN,))).language == language


@pytest.mark.parametrize(
    ("one", "other", "cue"),
    [
        ("Hij woont niet in Gent.", "Hij woont in Gent.", Cue.NEGATION),
        ("Hij komt op 3 maart naar Gent.", "Hij komt op 4 maart naar Gent.", Cue.DATE),
        ("Hij komt op maandag naar Gent.", "Hij komt op dinsdag naar Gent.", Cue.DATE),
        ("Hij heeft drie katten.", "Hij heeft vier katten.", Cue.NUMBER),
        ("Onun üç kedisi var.", "Onun dört kedisi var.", Cue.NUMBER),
    ],
)
def test_its_words_are_cues(one: str, other: str, cue: Cue) -> None:
    assert cue in compare(read(one, tables=BOTH), read(other, tables=BOTH)).cues


PAIRS = [(pair, edit) for edit in (*EDITS, MOVE) for pair in (*edit.passes, *edit.fails)]


@each(("pair", "edit"), PAIRS)
def test_what_the_guard_says_of_other_languages_stays(pair: tuple[str, str], edit: object) -> None:
    before, now = (
        compare(read(pair[0], tables=tables), read(pair[1], tables=tables))
        for tables in (tables_of(), BOTH)
    )
    assert now.near_identical == before.near_identical, edit


words = st.lists(st.sampled_from(sorted({*DUTCH.words, *DUTCH.numbers, "Ada", "Gent", "3", "."})))


@having(words, words)
def test_nothing_is_joined_that_differs_in_another_word(one: list[str], other: list[str]) -> None:
    """An oracle of its own: numbers in figures, and all else letter by letter."""

    def stated(text: list[str]) -> list[str]:
        figures = [str(DUTCH.numbers.get(word, word)) for word in text]
        return [word.lower() for word in figures if word != "."]

    a, b = (read(" ".join(text), tables=BOTH) for text in (one, other))
    if passes(a, b):
        assert stated(one) == stated(other)


def test_it_is_part_of_the_policy_and_of_the_guard() -> None:
    plain = load_policy("standard")
    dutch = add_languages(plain, [FOLDER / "nl.toml"])
    words = DUTCH.model_dump() | {"negators": (*DUTCH.negators, "amper")}
    changed = Language.model_validate(words)
    other = dutch.model_copy(update={"languages": (changed,)})
    assert len({plain.hash, dutch.hash, other.hash}) == 3
    guards = [guard_hash(tables_of(each.languages)) for each in (plain, dutch, other)]
    assert len({*guards}) == 3
    assert guards[0] == guard_hash()
    assert add_languages(dutch, [FOLDER / "nl.toml"]).hash == dutch.hash


def test_a_policy_is_recorded_with_its_words_and_needs_no_file(tmp_path: Path) -> None:
    for name in ("nl.toml", "tr.toml"):
        (tmp_path / name).write_text((FOLDER / name).read_text())
    file = tmp_path / "mine.toml"
    file.write_text('languages = ["nl.toml", "tr.toml"]\n' + write_policy(load_policy("standard")))
    mine = load_policy(str(file))
    assert mine.languages == (DUTCH, TURKISH)
    for name in ("nl.toml", "tr.toml"):
        (tmp_path / name).unlink()
    recorded = Policy.model_validate(json.loads(mine.model_dump_json()))
    assert recorded.hash == mine.hash
    file.write_text(write_policy(recorded))
    assert load_policy(str(file)).hash == mine.hash


def test_a_decision_names_the_guard_that_knew_the_language() -> None:
    rules = GUARDED.model_copy(update={"languages": (DUTCH,)})
    for by, decision in ((rules, "auto_reject"), (GUARDED, "pending")):
        history = History(by).do(say("a", THREE), say("b", FIGURE, {"a": 0.9}))
        (event,) = history.new
        assert isinstance(event, Decided)
        assert event.data.decision == decision
        assert event.data.evidence.guard == guard_hash(tables_of(by.languages))


GOOD = (FOLDER / "nl.toml").read_text()
LONG = "Zijn broer drinkt " + "kwak " * 40
TOO_FEW = ": in each text at least two words, and at least a tenth of all, have to be in `words`"


def _with(key: str, value: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        lines = [line for line in text.splitlines() if not line.startswith(f"{key} =")]
        return f"{key} = {value}\n" + "\n".join(lines)

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_with("code", '"en"'), "is not a language: code: English is built in"),
        (
            lambda text: text.replace("code =", "kode ="),
            "is not a language: code: it is missing; kode",
        ),
        (_with("code", '"Dutch"'), "code: should match pattern"),
        (_with("negators", '"Niet"'), "negators.0: 'Niet' is not a single word in lower case"),
        (_with("negators", '""'), "negators: Value should have at least 1 item"),
        (
            _with("numbers", "{ een = 1 }"),
            "numbers.een: should be greater than or equal to 2",
        ),
        (
            _with("numbers", '{ "sei" = 7, trois = 4 }'),
            "numbers.trois: the word means 3 in another language",
        ),
        (
            _with("months", '["januari"]'),
            "is not a language: months: 12 entries are needed, from January on",
        ),
        (_with("starts", '"猫"'), "in a script without spaces"),
        (_with("plurals", '"katten"'), "is not a language: plurals: there is no such key"),
        (_with("number_parts", '""'), "different, pair 4: these are near-identical"),
        (lambda text: text + "\nsame_ = []", "is not a language: same_: there is no such key"),
        (
            lambda text: text.replace(
                "same = [", 'same = [["Ada woont in Gent.", "Ada woont in Rome."],'
            ),
            "same, pair 1: these are not near-identical, and their language is nl",
        ),
        (
            lambda text: text.replace("same = [", 'same = [["een", "twee", "drie"],'),
            "same, pair 1: it has to be two texts",
        ),
        (
            lambda text: text.replace("same = [", 'same = "een kat"\nother = ['),
            "same has to be a list of pairs",
        ),
        (_with("months", '"januari"'), "months: should be a list"),
        (lambda text: text + "\n=", "is not TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(
    tmp_path: Path, change: Callable[[str], str], told: str
) -> None:
    file = tmp_path / "nl.toml"
    file.write_text(change(GOOD))
    with pytest.raises(UsageError) as error:
        load_language(file)
    assert told in str(error.value)
    assert str(file) in str(error.value)


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        (("Ada woont in Gent.", "Ada woont in Rome."), "language is nl"),
        (("Ada woont in Gent.", "Ada blijft, gent."), f"language is nl, none{TOO_FEW}"),
        ((LONG, f"{LONG} Ada."), f"language is none{TOO_FEW}"),
    ],
)
def test_only_a_text_of_no_known_language_is_said_to_need_more_words(
    tmp_path: Path, pair: tuple[str, str], told: str
) -> None:
    file = tmp_path / "nl.toml"
    file.write_text(GOOD.replace("same = [", f"same = [{json.dumps(pair)},"))
    with pytest.raises(UsageError) as error:
        load_language(file)
    assert str(error.value).endswith(told)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('languages = ["fy.toml"]\n' + write_policy(load_policy("standard")))
    with pytest.raises(UsageError, match=r"there is no language file .*fy\.toml"):
        load_policy(str(file))


def test_a_policy_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(write_policy(load_policy("standard")))

    def denied(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    for method in ("read_bytes", "is_file"):
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(Path, method, denied)
            with pytest.raises(UsageError, match=r"mine.toml cannot be read: Permission denied"):
                load_policy(str(file))


def test_a_policy_of_languages_alone_is_told_where_to_begin(tmp_path: Path) -> None:
    (file := tmp_path / "mine.toml").write_text("languages = []")
    with pytest.raises(
        UsageError,
        match=r"start from a complete one, as `palimpsest policy show standard` prints it$",
    ):
        load_policy(str(file))
    file.write_text('kind = "x"\n' + write_policy(load_policy("standard")))
    with pytest.raises(UsageError, match=r"kind: there is no such key$"):
        load_policy(str(file))


def test_a_key_below_a_table_that_belongs_above_it_is_told(tmp_path: Path) -> None:
    """In TOML a line at the end of a file belongs to the file's last table."""
    file = tmp_path / "mine.toml"
    whole = re.sub(r"(?m)^judge = .*$", "", write_policy(load_policy("standard")))
    file.write_text(whole + '[judge]\nbridges = true\nlocal_only = ["health"]\n')
    with pytest.raises(
        UsageError,
        match=r"local_only: there is no such key; write local_only above the first table$",
    ):
        load_policy(str(file))


def test_a_code_stands_once() -> None:
    with pytest.raises(ValueError, match="each code may appear only once"):
        Policy.model_validate(
            load_policy("standard").model_dump(mode="json")
            | {"languages": [json.loads(DUTCH.model_dump_json())] * 2}
        )


def test_a_language_takes_the_place_of_one_of_the_guard() -> None:
    german = Language(
        code="de",
        words=("der", "die", "das", "und", "ist", "hat", "eine", "ein", "mit", "wohnt"),
        negators=("nicht",),
    )
    tables = tables_of((german,))
    one, other = "Ada hat drei Hunde und eine Katze.", "Ada hat 3 Hunde und eine Katze."
    assert passes(read(one), read(other))
    assert not passes(read(one, tables=tables), read(other, tables=tables))
