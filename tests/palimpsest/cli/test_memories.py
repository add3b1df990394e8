"""`list`, `get` and `history` on the command line."""

from __future__ import annotations

from tests.palimpsest.cli.conftest import CommandLine, Row


def test_pages_are_asked_for_by_where_the_last_one_ended(palimpsest: CommandLine, row: Row) -> None:
    palimpsest.ingest(
        row("She keeps a kettle.", category="home", metadata={"page": 2}),
        row("A violin rests here.", metadata={"page": "two"}, occurred_at="2025-01-01T00:00:00Z"),
        row("The harbour freezes."),
    )
    kettle, violin, harbour = palimpsest.ids()
    page = palimpsest.json("list", "ada", "--limit", "2")
    assert [memory["memory_id"] for memory in page["memories"]] == [harbour, violin]
    rest = palimpsest.json("list", "ada", "--after", page["next"])
    assert [memory["memory_id"] for memory in rest["memories"]] == [kettle]

    def listed(*options: str) -> list[str]:
        return [
            memory["memory_id"] for memory in palimpsest.json("list", "ada", *options)["memories"]
        ]

    assert listed("--category", "home") == listed("--metadata", "page=2") == [kettle]
    assert listed("--metadata", "page=two") == [violin]
    assert listed("--until", "2025-06-01") == [violin]
    assert listed("--since", "2025-06-01", "--category", "home") == [kettle]
    drawn = palimpsest("list", "ada", "--limit", "2").out
    assert "The harbour freezes." in drawn
    assert f"3 memories; more with --after {violin}" in drawn
    assert palimpsest("list", "nobody").out.strip() == "no memories"
    assert palimpsest("list", "ada", "--after", "nowhere").status == 2


def test_an_id_is_found_where_its_memory_is_today(palimpsest: CommandLine, row: Row) -> None:
    palimpsest.ingest(row("She keeps a kettle."), row("A violin rests here."))
    a, b = palimpsest.ids()
    joined = palimpsest.json("merge", a, b, "--face", b, "--because", "one thing")["decision_id"]
    found = palimpsest.json("get", b)
    assert (found["memory_id"], found["moved"], found["state"]) == (a, True, "living")
    assert palimpsest.json("get", joined[:12])["memory_id"] == a
    drawn = palimpsest("get", b).out
    assert f"moved from {b}" in drawn
    assert "joined (manual_join)  from rows.jsonl" in drawn
    assert "former" in drawn
    told = palimpsest.json("history", b)
    assert [event["event"] for event in told["events"]] == ["decided", "decided", "joined"]
    drawn = palimpsest("history", b).out
    assert "a person joined it to another candidate" in drawn
    assert drawn.index("face: She keeps a kettle.") < drawn.rindex("face: A violin rests here.")
    palimpsest("retract", "--candidate", a)
    palimpsest("retract", "--candidate", b)
    assert "retracted" in palimpsest("get", a).out
    assert palimpsest("get", "0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11").status == 3


def test_recall_says_what_it_folded_and_what_is_not_settled(
    palimpsest: CommandLine, row: Row
) -> None:
    text = "every winter evening since the move two cats sleep near our old kitchen stove"
    palimpsest.ingest(row(text), row(text.replace("two", "three"), category="cats"))
    two, three = palimpsest.ids()
    found = palimpsest.json("recall", "ada", text, "-k", "1")
    assert (found[0]["memory_id"], found[0]["unsettled"]) == (two, [three])
    assert "1 memory unsettled" in palimpsest("recall", "ada", text, "-k", "1").out
    [other] = palimpsest.json("recall", "ada", text, "-k", "1", "--category", "cats", "--no-fold")
    assert other["memory_id"] == three
    palimpsest("merge", two, three, "--face", three)
    assert f"former: {text}" in palimpsest("recall", "ada", text, "--former").out
    assert "former" not in palimpsest("recall", "ada", text).out


def test_what_expires_is_hidden_shown_if_asked_for_and_pinned(palimpsest: CommandLine) -> None:
    added = palimpsest.json("add", "ada", "The bus is late", "--expires-in", "0.001s")
    palimpsest.json("add", "ada", "She drinks tea", "--expires-in", "7d")
    assert [one["face"] for one in palimpsest.json("list", "ada")["memories"]] == ["She drinks tea"]
    for command in (("list", "ada"), ("recall", "ada", "bus"), ("find", "ada", "bus")):
        found = palimpsest.json(*command, "--show-expired")
        faces = found if isinstance(found, list) else found.get("memories") or found["hits"]
        assert "The bus is late" in [one["face"] for one in faces]
    assert "expired 20" in palimpsest("show", added["memory_id"]).out
    recalled = palimpsest("recall", "ada", "bus", "--show-expired").out
    assert ("expired 20" in recalled, "expires 20" in recalled) == (True, True)
    pinned = palimpsest.json("pin", added["memory_id"], "--because", "it is late again")
    assert pinned["expires_at"] is None
    assert palimpsest.json("list", "ada")["total"] == 2
    assert "the same as" not in palimpsest("undo", pinned["undo"]).out
    assert palimpsest.json("list", "ada")["total"] == 1
    palimpsest.json("pin", added["memory_id"])
    palimpsest.json("undo", pinned["event_id"])
    assert palimpsest.json("list", "ada")["total"] == 1
    until = palimpsest.json("pin", added["memory_id"], "--until", "2999-01-01")
    assert until["expires_at"] == "2999-01-01T00:00:00+00:00"
    later = palimpsest.json("pin", added["memory_id"], "--until", "2999-01-02")
    shown = palimpsest("undo", later["undo"], "--dry-run").out
    palimpsest.json(*shown.split("the same as: palimpsest ")[1].split())
    assert palimpsest("pin", added["memory_id"], "--until", "2999-01-01").status == 3
    passed = palimpsest("pin", added["memory_id"], "--until", "2020-01-01")
    assert (passed.status, "has passed" in passed.err) == (2, True)


def test_a_category_of_an_added_memory_decides_when_it_expires(palimpsest: CommandLine) -> None:
    standard = palimpsest("policy", "show", "standard").out
    (palimpsest.folder / "mine.toml").write_text(f'expiry = {{ chat = "7d" }}\n{standard}')
    palimpsest("policy", "set", "mine.toml")
    palimpsest("add", "ada", "The bus is late", "--category", "chat")
    palimpsest("add", "ada", "She drinks tea", "--category", "other")
    [tea, bus] = palimpsest.json("list", "ada")["memories"]
    assert (bus["face"], "expires_at" in bus) == ("The bus is late", True)
    assert "expires_at" not in tea
    [found] = palimpsest.json("list", "ada", "--category", "chat")["memories"]
    assert found["face"] == "The bus is late"


def test_ingest_has_rows_expire_that_do_not_say_so_themselves(palimpsest: CommandLine) -> None:
    rows = [
        {"owner_id": "ada", "text": "The bus is late"},
        {"owner_id": "ada", "text": "She drinks tea", "expires_at": "2999-01-01"},
        {"owner_id": "ada", "text": "He sings", "expires_at": None},
    ]
    file = palimpsest.file(rows)
    palimpsest.json("ingest", file, "--expires-in", "2w")
    found = palimpsest.json("sql", "SELECT text, expires_at FROM candidates ORDER BY position")
    assert [one["expires_at"] < "2999" for one in found] == [True, False, True]
    again = palimpsest.json("ingest", file, "--expires-in", "2w")
    assert again["known"] == 3
    for wrong in ("soon", "0d", "99999999999w"):
        assert palimpsest("ingest", file, "--expires-in", wrong).status == 2
