"""An owner's names, from Python: earlier decisions stay, and reads use them (docs/guard.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

import pytest

from palimpsest import Palimpsest, RefusedError, UsageError
from palimpsest.contracts.events import Decided
from palimpsest.projections.recall import from_lance, hits
from palimpsest.queries import recall as recalling
from palimpsest.streams.embedder import Embedding
from palimpsest.streams.guard import guard_hash

NAMES = ["Ada", "the user", "I"]
ROME = ("Ada lives in Rome.", "I live in Rome.", "The user lives in Rome.")


def say(store: Palimpsest, *texts: str) -> list[str | None]:
    return [one.decision for one in store.submit([{"owner_id": "ada", "text": t} for t in texts])]


def test_names_count_from_then_on_and_are_one_owners(memories: Palimpsest) -> None:
    assert memories.names("ada") == {"owner_id": "ada", "names": []}
    assert say(memories, *ROME[:2]) == ["stored", "stored"]
    assert memories.set_names("ada", NAMES, because="she said so")["names"] == NAMES
    assert memories.list("ada")["total"] == 2
    assert say(memories, ROME[2]) == ["auto_reject"]
    others = [{"owner_id": "bob", "text": text} for text in ROME]
    assert [one.decision for one in memories.submit(others)] == ["stored"] * 3
    memories.set_names("ada", [])
    assert say(memories, "I moved to Kent.", "Ada moved to Kent.") == ["stored", "stored"]


def test_the_evidence_names_the_guard_that_knew_names(memories: Palimpsest) -> None:
    memories.set_names("ada", NAMES)
    say(memories, *ROME)
    events = [recorded.event for recorded in memories.reader.log.of_owner("ada")]
    guards = [event.data.evidence.guard for event in events if isinstance(event, Decided)]
    assert guards == [None, guard_hash(named=True), guard_hash(named=True)]


@pytest.mark.parametrize("names", [["Ada"], ["Ada", "she"], ["Ada", "ada"], ["Ada", "7 dwarfs"]])
def test_what_is_no_name_is_told_so(memories: Palimpsest, names: list[str]) -> None:
    with pytest.raises(UsageError, match="set_names: `names"):
        memories.set_names("ada", names)


def test_names_are_set_again_rather_than_undone(memories: Palimpsest) -> None:
    memories.set_names("ada", NAMES)
    ledger = memories.reader.ledger("ada")
    [event_id] = ledger.events
    with pytest.raises(RefusedError, match="set the former ones again"):
        memories.undo(event_id)
    with pytest.raises(RefusedError, match="names already: Ada, the user, I"):
        memories.set_names("ada", NAMES)


def test_a_large_owner_with_names_is_recalled_from_the_ledger(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LanceDB does not know which names put two hits into one frame."""
    say(memories, "Ada lives in Paris.", "I live in Rome.")
    memories.set_names("ada", NAMES)
    monkeypatch.setattr(type(memories.reader), "ledger_if_small", lambda *_: None)
    asked: list[object] = []

    def found(*given: object, **options: object) -> object:
        asked.append(recall(*given, **options))  # type: ignore[arg-type]
        return asked[-1]

    recall = from_lance.recall
    monkeypatch.setattr(recalling, "recall_stored", found)
    hits = memories.recall("ada", "Ada lives in Paris.")
    assert [hit["face"] for hit in hits] == ["I live in Rome.", "Ada lives in Paris."]
    assert hits[0]["frame"] == [hits[1]["memory_id"]]
    assert asked == [None]


def test_the_new_value_is_found_by_any_name_from_below_the_hits(memories: Palimpsest) -> None:
    memories.set_names("ada", NAMES)
    others = [f"Bob lives in house {number} of Ada's street." for number in range(10)]
    say(memories, "Ada lives in Paris.", *others, "I live in Rome.")
    hits = memories.recall("ada", "Ada lives in Paris.", k=3)
    assert len(hits) == 3
    faces = [hit["face"] for hit in hits]
    assert faces.index("I live in Rome.") < faces.index("Ada lives in Paris.")


def test_hits_that_a_question_may_join_stand_together_the_newest_first(
    memories: Palimpsest,
) -> None:
    memories.set_names("ada", NAMES)
    said = (
        "My flight to Porto is on 12 May.",
        "Bob likes tea.",
        "The flight to Porto is on 14 May.",
    )
    assert say(memories, *said)[-1] == "pending"
    asked = "When is my flight to Porto on 12 May?"
    first, second, *_ = memories.recall("ada", asked)
    assert [first["face"], second["face"]] == [said[2], said[0]]
    assert second["memory_id"] in first["unsettled"]
    assert first["score"] < second["score"]
    assert "frame" not in first
    memories.set_names("ada", ())
    assert memories.recall("ada", asked)[0]["face"] == said[0]


LEEDS, HOME = "Ada lives in the old town of Leeds.", "Ada has a home in the old town of Leeds."
MOVED = "I moved to the old town of York."


def test_a_told_change_comes_before_every_wording_of_what_it_may_replace(
    memories: Palimpsest,
) -> None:
    """Even if it is below the hits, and the question was about another wording than the hit."""
    memories.set_names("ada", NAMES)
    others = [f"Bob is at home in Kent {number}." for number in range(8)]
    assert say(memories, LEEDS, HOME, *others)[:2] == ["stored", "pending"]
    asked = "has a home in the old town of Leeds"
    assert [hit["face"] for hit in memories.recall("ada", asked, k=2)] == [HOME, LEEDS]
    [moved] = memories.submit({"owner_id": "ada", "text": MOVED})
    assert [one["assertion"] for one in moved.frame or ()] == [LEEDS]
    hits = memories.recall("ada", asked, k=3)
    assert [hit["face"] for hit in hits] == [MOVED, HOME, LEEDS]
    ids = [hit["memory_id"] for hit in hits]
    assert [hit.get("frame") for hit in hits] == [ids[1:], ids[:1], ids[:1]]
    assert hits[0]["score"] < 0.7 < hits[1]["score"]
    bounded = memories.recall("ada", asked, k=2, min_score=0.7)
    assert [hit["face"] for hit in bounded] == [MOVED, HOME], "else the stale one were left alone"
    assert [hit["face"] for hit in memories.recall("ada", asked, k=1)] == [MOVED]
    memories.separate(str(moved.memory_id), hits[2]["memory_id"])
    assert memories.recall("ada", asked, k=1)[0]["face"] == HOME


MINE, HERS = "I host the chess club in my cellar.", "Ada hosts the chess club in her cellar."
BY_NOW = "I no longer host the chess club in my cellar; the library has a room for it."


def test_an_update_comes_before_a_memory_that_says_what_it_replaced(memories: Palimpsest) -> None:
    """The two say it in the same words about the owner, but no rule joins *my* and *her*."""
    memories.set_names("ada", NAMES)
    mine, hers = memories.submit([{"owner_id": "ada", "text": text} for text in (MINE, HERS)])
    memories.update(str(mine.memory_id), "The library has a room for all of chess.")
    found = memories.recall("ada", HERS, k=2)
    assert [hit["memory_id"] for hit in found] == [mine.memory_id, hers.memory_id]
    memories.separate(str(mine.memory_id), str(hers.memory_id))
    assert memories.recall("ada", HERS, k=2)[0]["face"] == HERS


def test_a_change_comes_before_each_wording_that_says_the_same_of_the_owner(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question was about another wording; and it may be far down, behind all looked at."""
    memories.set_names("ada", NAMES)
    [_, _, told] = memories.submit([{"owner_id": "ada", "text": t} for t in (MINE, HERS, BY_NOW)])
    [asked] = [one["assertion"] for one in told.frame or ()]
    [other] = {MINE, HERS} - {asked}
    monkeypatch.setattr(hits, "LOOKED_AT", 1)
    assert memories.recall("ada", other, k=2)[0]["face"] == BY_NOW
    memories.set_names("ada", ["Bob", "Rob"])
    assert memories.recall("ada", other, k=1)[0]["face"] == other


SAVES = ("Ada saves 400 shillings with the club.", "Each month 400 go from me to the club")
RAISED = "Ada has increased what she saves with the club to 600 shillings."


def test_a_change_comes_before_a_wording_that_states_the_same_numbers(
    memories: Palimpsest,
) -> None:
    """The two wordings are far from each other, and asked about because of their numbers."""
    memories.set_names("ada", NAMES)
    [saves, other, told] = memories.submit(
        [{"owner_id": "ada", "text": text} for text in (*SAVES, RAISED)]
    )
    assert [one["assertion"] for one in other.frame or ()] == [SAVES[0]]
    assert SAVES[0] in [one["assertion"] for one in told.frame or ()]
    assert memories.recall("ada", SAVES[1], k=2)[0]["face"] == RAISED
    memories.separate(str(saves.memory_id), str(other.memory_id))
    assert memories.recall("ada", SAVES[1], k=1)[0]["face"] == SAVES[1]


def test_another_namespace_replaces_nothing(memories: Palimpsest) -> None:
    """A novel in which Ada lives in Rome stays as it is when she moves."""
    for text, namespace in (
        ("Ada lives in Rome.", "novel"),
        ("I live in Rome.", "real"),
        ("I live in Oslo.", "real"),
    ):
        memories.submit({"owner_id": "ada", "text": text, "namespace": namespace})
    [hit] = memories.recall("ada", "Ada lives in Rome.", k=1)
    assert (hit["face"], hit["namespace"]) == ("Ada lives in Rome.", "novel")


def test_a_relative_does_not_come_before_the_owner(memories: Palimpsest) -> None:
    """Though a question about the two waits, and what is said of the relative is newer."""
    memories.set_names("ada", NAMES)
    said = ("Ada is allergic to wasps in Rome.", "Ada's sister is allergic to wasps in Rome.")
    assert say(memories, *said) == ["stored", "pending"]
    hits = memories.recall("ada", "Ada is allergic to wasps in Rome")
    assert [hit["face"] for hit in hits] == [*said]
    assert hits[1]["unsettled"] == [hits[0]["memory_id"]], "the question waits all the same"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Iberia Plus: silver", "Iberia Plus: gold"),
        ("Paris: stays at the Ritz", "Paris: the Ibis instead of the Ritz"),
        ("Ada has two children, Leo and Kim.", "I had a third child, after Leo and Kim."),
        ("Ada grows pears in the old orchard.", "I planted cherries in the old orchard."),
    ],
)
def test_a_note_and_a_deed_name_what_they_may_change(
    memories: Palimpsest, older: str, newer: str
) -> None:
    memories.set_names("ada", NAMES)
    say(memories, older, "Bob likes tea.")
    [outcome] = memories.submit({"owner_id": "ada", "text": newer})
    assert [one["assertion"] for one in outcome.frame or ()] == [older]


@pytest.mark.parametrize(
    ("names", "older", "newer", "asked"),
    [
        ([], "Ada wohnt in Paris.", "Ada wohnt in Rom.", "Wo wohnt Ada?"),
        ([], "パリに住んでいる", "ローマに住んでいる", "どこに住んでいますか"),
        (["Ada", "ich"], "Ada arbeitet bei Google.", "Ich arbeite bei Meta.", "Wo arbeitet Ada?"),
        (["艾达", "我"], "艾达住在巴黎。", "我住在罗马。", "艾达住在哪里"),
    ],
)
def test_a_correction_in_another_language_is_named_and_comes_first(
    memories: Palimpsest, names: list[str], older: str, newer: str, asked: str
) -> None:
    if names:
        memories.set_names("ada", names)
    assert say(memories, older) == ["stored"]
    [outcome] = memories.submit({"owner_id": "ada", "text": newer})
    assert outcome.decision == "pending"
    assert [one["assertion"] for one in outcome.frame or ()] == [older]
    assert [hit["face"] for hit in memories.recall("ada", asked)] == [newer, older]
    memories.separate(str(outcome.memory_id), memories.recall("ada", asked)[1]["memory_id"])
    assert "frame" not in memories.recall("ada", asked)[0]


@pytest.mark.parametrize(
    ("texts", "unnamed"),
    [
        (("I live in Rome.", "User likes tea."), 1),
        pytest.param(("Ada lives in Rome.", "My cat is black."), 1, marks=pytest.mark.long),
        (("Ada's cat is black.", "The user's dog is white."), 1),
        pytest.param(("Ich wohne in Rom.", "Der Nutzer trinkt Tee."), 1, marks=pytest.mark.long),
        pytest.param(("Adas Katze ist schwarz.", "Mein Hund ist weiß."), 1, marks=pytest.mark.long),
        (("私はローマに住んでいる。", "ユーザーは猫が好きだ。"), 1),
        pytest.param(("我住在罗马。", "用户喜欢茶。"), 1, marks=pytest.mark.long),
        pytest.param(("J'habite à Rome.", "L'utilisateur aime le thé."), 1, marks=pytest.mark.long),
        (("Mon chat est noir.", "Ada habite à Rome."), 1),
        pytest.param(("Yo vivo en Roma.", "El usuario bebe té."), 1, marks=pytest.mark.long),
        pytest.param(
            ("Mi perro se llama Rex.", "La usuaria vive en Roma."), 1, marks=pytest.mark.long
        ),
        pytest.param(("나는 로마에 산다.", "사용자는 차를 좋아한다."), 1, marks=pytest.mark.long),
        (("제 고양이는 검은색이다.", "Ada는 로마에 산다."), 1),
        pytest.param(("나무가 크다.", "사용자는 차를 좋아한다."), 0, marks=pytest.mark.long),
        pytest.param(("Mice like tea.", "El usuario bebe té."), 0, marks=pytest.mark.long),
        (("I live in Rome.", "My cat is black.", "Bob lives in Rome."), 0),
        (("Ada lives in Rome.", "Adam is a user."), 0),
    ],
)
def test_the_status_counts_owners_who_might_declare_names(
    memories: Palimpsest, texts: tuple[str, ...], unnamed: int
) -> None:
    say(memories, *texts)
    assert memories.status()["unnamed"] == unnamed
    assert memories.status(as_of=memories.status()["position"])["unnamed"] is None
    memories.set_names("ada", NAMES)
    assert memories.status()["unnamed"] == 0


def test_the_status_counts_ids_in_two_unicode_forms(memories: Palimpsest) -> None:
    for owner in (normalize("NFC", "Élodie"), normalize("NFD", "Élodie"), "ada", "Ada"):
        memories.submit([{"owner_id": owner, "text": f"{len(owner)} cats"}])
    assert memories.status()["alike_ids"] == 1


def test_the_newer_of_each_group_stays_before_the_older_of_another(memories: Palimpsest) -> None:
    memories.set_names("ada", NAMES)
    say(memories, LEEDS, HOME, "Ada has a desk of oak.", MOVED, "I have a desk of pine.")
    found = memories.recall("ada", "has a home and a desk in the old town of Leeds", k=3)
    assert [hit["face"] for hit in found] == [MOVED, HOME, "I have a desk of pine."]


def test_a_store_keeps_the_standard_that_it_recorded(tmp_path: Path) -> None:
    """It once asked about no frames, nor owners; `policy set` brings the current questions."""
    with Palimpsest.open(tmp_path / "new", by="person") as store:
        now = store.policy
        assert (now.name, now.hash) == ("standard", "sha256:cf926093642e0b3e")
    frames = now.judge.model_copy(update={"bridges": False, "of_owner": None})
    assert now.model_copy(update={"judge": frames}).hash == "sha256:ac9cbd65b24ff08c"
    before = now.model_copy(update={"judge": frames.model_copy(update={"frames": 0})})
    assert before.hash == "sha256:2439a1837ee125f1"
    with Palimpsest.open(tmp_path / "old", policy=before, by="person") as store:
        assert say(store, "Ada works at Google.", "Ada works at Meta.") == ["stored", "stored"]
    with Palimpsest.open(tmp_path / "old", policy="standard", by="person") as store:
        assert store.policy.hash == before.hash
        assert say(store, "Ada works at Apple.") == ["stored"]
        store.set_policy("standard")
        assert say(store, "Ada works at Adobe.") == ["pending"]
        faces = {hit["face"] for hit in store.recall("ada", "Ada works at Adobe.")}
        assert "Ada works at Adobe." in faces


def test_what_a_question_asks_counts_for_more_than_the_owners_name(memories: Palimpsest) -> None:
    texts = ["Ada slept.", "Choirs sing loudly."]
    memories.submit([{"owner_id": "o1", "text": text} for text in texts])
    question = "Where does Ada sing"
    assert [hit["face"] for hit in memories.recall("o1", question)] == texts
    memories.set_names("o1", ["Ada", "the user", "I"])
    assert [hit["face"] for hit in memories.recall("o1", question)] == texts[::-1]
    assert [hit["face"] for hit in memories.recall("o1", "Where does Bea sing")] == texts[::-1]
    assert [hit["face"] for hit in memories.recall("o1", "Ada")] == texts


def test_a_name_is_embedded_once(memories: Palimpsest, monkeypatch: pytest.MonkeyPatch) -> None:
    memories.set_names("ada", ["Ada", "Ada Lovelace", "the user", "I"])
    memories.submit([{"owner_id": "ada", "text": "Ada sings."}])
    engine = memories.reader.embedder_of(memories.policy.model).engine
    embedded, embed = list[str](), engine.embed

    def noted(texts: Sequence[str]) -> list[Embedding]:
        embedded.extend(texts)
        return embed(texts)

    monkeypatch.setattr(engine, "embed", noted)
    questions = ["Does Ada Lovelace sing?", "Who is Ada Lovelace?", "What of the user, and I?"]
    for question in questions:
        memories.recall("ada", question)
    assert sorted(embedded) == sorted([*questions, "Ada Lovelace"])
