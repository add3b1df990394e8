"""Updates by intent, as docs/design.md has them: one event, and nothing automatic takes it back."""

from __future__ import annotations

import pytest

from palimpsest.streams.core.questions import settle_question
from palimpsest.streams.core.version import version_of
from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    forget,
    given,
    judge,
    merge,
    reinstate,
    restore,
    retract,
    say,
    separate,
    undo,
    unmerge,
    update,
)

GOOGLE = say("google", "Google")
JOBS = (GOOGLE, update("google", "meta", "Meta"), update("google", "apple", "Apple"))
PARIS = (say("paris", "Paris"), update("paris", "rome", "Rome"))


def test_an_update_is_one_event_and_its_text_speaks() -> None:
    history = given(GOOGLE).when(update("google", "meta", "Meta"))
    history.then("meta superseded google").shows({"Meta": "google meta"})


def test_every_update_joins_what_was_there_before_the_first() -> None:
    given(*JOBS).then("apple superseded google").shows({"Apple": "google meta apple"})


def test_joins_of_a_person_may_close_a_circle_of_updates() -> None:
    circle = (say("ibm", "IBM"), update("google", "x", "IBM", merges=True), merge("google", "ibm"))
    history = given(*JOBS, *circle, merge("apple", "ibm"), merge("meta", "apple"))
    history.when(update("google", "sap", "SAP"))
    history.shows({"SAP": "google meta apple ibm sap"})


def test_an_update_of_another_face_joins_that() -> None:
    history = given(say("tea", "Tea"), say("chai", "Chai", {"tea": TAKE}))
    history.when(update("tea", "mate", "Mate")).then("mate superseded chai")


def test_who_expects_a_version_is_refused_where_it_moved_on() -> None:
    history = given(GOOGLE)
    before = version_of(history.memory("google"))
    history.when(update("google", "meta", "Meta", expect=before)).then("meta superseded google")
    history.when(update("google", "x", "Apple", expect=before)).then("refused moved_on")
    history.shows({"Meta": "google meta"})


def test_another_member_is_another_version() -> None:
    history = given(GOOGLE)
    before = version_of(history.memory("google"))
    history.when(say("inc", "Google Inc", {"google": KEEP}))
    history.when(update("google", "x", "Apple", expect=before)).then("refused moved_on")


def test_who_speaks_can_be_expected_too() -> None:
    history = given(*JOBS[:2])
    history.when(update("google", "x", "Apple", expect=history.id("google")))
    history.then("refused moved_on")
    history.when(update("google", "x", "Apple", expect=history.id("meta")))
    history.then("x superseded google")


def test_the_event_that_composed_the_text_can_be_expected_too() -> None:
    history = given(GOOGLE, say("inc", "Google Inc", {"google": ASK}))
    history.when(judge("inc", google="compose", text="Google (Inc)", sources="google inc"))
    composed = history.new[-1].id
    history.when(update("google", "meta", "Meta", expect=composed)).shows(
        {"Meta": "google inc meta"}
    )
    history.when(update("google", "x", "Apple", expect=composed)).then("refused moved_on")


def test_without_expecting_anything_it_is_applied() -> None:
    given(*JOBS, update("meta", "ibm", "IBM")).shows({"IBM": "google meta apple ibm"})


def test_the_same_text_as_the_face_changes_nothing() -> None:
    history = given(*JOBS).when(update("google", "again", " App\u200ble\n"))
    history.then("refused unchanged").shows({"Apple": "google meta apple"})


@pytest.mark.parametrize("text", ["APPLE", "Apple\u00b9", "Appl\u00e9"])
def test_an_update_corrects_case_accents_and_superscripts(text: str) -> None:
    history = given(*JOBS).when(update("google", "again", text))
    history.shows({text: "google meta apple again"})


def test_a_memory_that_is_retracted_says_nothing_new() -> None:
    given(GOOGLE, retract("google"), update("google", "x", "Meta")).then("refused not_living")


# -- what is taken back, and what does not come back ---------------------------------------------


def test_undo_of_the_last_update_gives_the_former_face() -> None:
    history = given(*JOBS).when(undo("apple"))
    history.then("retracted apple", "withdrawn apple google")
    history.shows({"Meta": "google meta"})


def test_google_meta_apple_without_meta_is_google_apple() -> None:
    history = given(*JOBS).when(undo("meta")).shows({"Apple": "google apple"})
    history.when(undo("apple")).shows({"Google": "google"})


def test_a_middle_one_is_undone_where_the_judge_had_moved_it_forward() -> None:
    inc = (say("inc", "Meta Inc", {"meta": ASK}), judge("inc", meta="update"))
    history = given(*JOBS[:2], *inc, update("google", "apple", "Apple"))
    history.when(undo("meta")).shows({"Apple": "google apple", "Meta Inc": "inc"})
    assert history.memory("inc").former


def test_undoing_an_update_separates_nothing() -> None:
    assert not given(*JOBS, undo("meta")).ledger.statements


def test_what_others_joined_to_it_leaves_as_its_own_memory_and_stays_former() -> None:
    history = given(*JOBS, say("repeat", "Meta")).when(undo("meta"))
    history.shows({"Apple": "google apple", "Meta": "repeat"})
    assert history.memory("repeat").former
    assert not history.memory("google").former
    history.when(undo("apple")).shows({"Google": "google", "Meta": "repeat"})
    assert not history.memory("repeat").former


def test_undoing_it_twice_is_refused() -> None:
    history = given(*JOBS).when(undo("apple"))
    history.when(undo("apple")).then("refused not_standing")


def test_a_text_that_lives_on_in_a_later_update_cannot_leave() -> None:
    twice = (update("google", "meta2", "Meta"), say("repeat", "Meta"))
    history = given(*JOBS, *twice).when(undo("meta")).then("refused same_text")
    history.shows({"Meta": "google meta apple meta2 repeat"})


def test_retracting_an_updates_candidate_undoes_the_update() -> None:
    history = given(*JOBS).when(retract("meta"))
    history.then("retracted meta", "withdrawn meta google")
    history.shows({"Apple": "google apple"})


def test_it_is_retracted_even_where_the_update_cannot_be_undone() -> None:
    twice = (update("google", "meta2", "Meta"), say("repeat", "Meta"))
    history = given(*JOBS, *twice).when(retract("meta")).then("retracted meta")
    history.shows({"Meta": "google apple meta2 repeat"})


def test_restoring_it_updates_the_memory_again() -> None:
    history = given(*JOBS, retract("apple")).when(restore("apple"))
    history.then("reinstated apple google", "restored apple")
    history.shows({"Apple": "google meta apple"})


def test_reinstating_an_undone_update_restores_its_text() -> None:
    history = given(*JOBS, undo("apple")).when(reinstate("apple"))
    history.then("reinstated apple google", "restored apple")
    history.shows({"Apple": "google meta apple"})


def test_an_undone_update_stays_out_where_its_text_lives_elsewhere_by_now() -> None:
    there = (undo("apple"), say("tree", "Tree"), update("tree", "fruit", "Apple"))
    history = given(*JOBS, *there).when(reinstate("apple")).then("refused same_text")
    history.when(restore("apple")).then("refused same_text")


def test_an_unmerged_update_lives_on_apart() -> None:
    history = given(*JOBS, unmerge("apple"), retract("apple")).when(restore("apple"))
    history.then("restored apple").shows({"Meta": "google meta", "Apple": "apple"})


def test_what_was_merged_around_an_update_stays() -> None:
    chai = say("chai", "Chai", {"tea": KEEP})
    history = given(say("tea", "Tea"), chai, update("tea", "mate", "Mate"), merge("chai", "mate"))
    history.when(undo("mate")).shows({"Tea": "tea chai"})


# -- the face ------------------------------------------------------------------------------------


def test_no_repeat_takes_the_face_back() -> None:
    history = given(*JOBS, say("g", "Google"), say("m", "Meta"))
    history.shows({"Apple": "google meta apple g m"})
    waiting = history.memory("google").face.contradicts
    assert waiting == (history.join("g").id, history.join("m").id)


def test_a_rule_joins_with_keep_near_the_face_and_near_a_former_one() -> None:
    rules = (say("x", "Apple Inc", {"apple": TAKE}), say("y", "IBM", {"google": TAKE}))
    given(*JOBS, *rules).shows({"Apple": "google meta apple x y"})


def test_the_judge_may_move_a_new_value_forward() -> None:
    history = given(*JOBS, say("ibm", "IBM", {"apple": ASK}), judge("ibm", apple="update"))
    history.shows({"IBM": "google meta apple ibm"})
    history.when(say("back", "Apple")).shows({"IBM": "google meta apple ibm back"})
    history.when(update("google", "now", "SAP")).when(undo("now"))
    history.shows({"IBM": "google meta apple ibm back"})


def test_the_judge_moves_it_forward_again() -> None:
    ibm = (say("ibm", "IBM", {"apple": ASK}), judge("ibm", apple="update"))
    sap = (say("sap", "SAP", {"ibm": ASK}), judge("sap", ibm="update"))
    given(*JOBS, *ibm, *sap).shows({"SAP": "google meta apple ibm sap"})


def test_an_answer_about_a_former_wording_never_takes_the_face() -> None:
    history = given(*JOBS, say("ibm", "IBM", {"google": ASK}))
    history.when(judge("ibm", google="update", speaker="google"))
    history.then("ibm superseded google").shows({"Apple": "google meta apple ibm"})
    assert history.memory("ibm").face.contradicts == (history.join("ibm").id,)


def test_of_a_former_wording_the_current_one_is_asked() -> None:
    history = given(*JOBS, say("ibm", "IBM", {"google": ASK}))
    question = settle_question(history.ledger, history.id("ibm"), history.policy)
    assert question is not None
    [asked] = question.asked
    assert (asked.side.candidate_id, asked.side.text) == (history.id("google"), "Apple")
    assert asked.speaker == history.id("apple")
    history.when(judge("ibm", google="update")).shows({"IBM": "google meta apple ibm"})


def test_of_an_update_that_another_displaced_the_current_one_is_asked() -> None:
    history = given(*JOBS, say("ibm", "IBM", {"meta": ASK}))
    question = settle_question(history.ledger, history.id("ibm"), history.policy)
    assert question is not None
    [asked] = question.asked
    assert (asked.side.candidate_id, asked.side.text) == (history.id("meta"), "Apple")
    assert asked.speaker == history.id("apple")


def test_what_was_said_of_an_update_is_asked_again_once_it_is_undone() -> None:
    history = given(*JOBS, say("ibm", "IBM", {"google": ASK}), judge("ibm", google="different"))
    history.when(undo("apple"))
    entry = history.ledger.entries[history.id("ibm")]
    assert entry.open == (history.id("google"),)


def test_nothing_moves_forward_to_a_former_wording() -> None:
    again = (say("g", "Google", {"apple": ASK}), say("meta!", "meta", {"apple": ASK}))
    given(*JOBS, *again).shows({"Apple": "google meta apple g meta!"})


# -- who speaks ----------------------------------------------------------------------------------


def test_an_agent_does_not_bring_back_what_a_person_displaced() -> None:
    history = given(*JOBS).when(update("google", "x", "Meta", rank="agent"))
    history.then("refused outranked")
    history.when(undo("apple", rank="agent")).then("refused outranked")


def test_an_agent_does_not_put_back_the_update_that_a_person_took_back() -> None:
    agents = (GOOGLE, update("google", "meta", "Meta", rank="agent"), undo("meta"))
    history = given(*agents).when(reinstate("meta", rank="agent")).then("refused outranked")
    history.when(reinstate("meta")).shows({"Meta": "google meta"})
    history.when(undo("meta", rank="agent"), reinstate("meta", rank="agent"))
    history.shows({"Meta": "google meta"})


def test_an_agent_says_something_new() -> None:
    history = given(*JOBS, update("google", "ibm", "IBM", rank="agent"))
    history.shows({"IBM": "google meta apple ibm"})
    history.when(update("google", "back", "Apple", rank="agent"))
    history.shows({"Apple": "google meta apple ibm back"})
    history.when(undo("ibm", rank="agent")).shows({"Apple": "google meta apple back"})


def test_a_refusal_names_a_rank_with_its_article() -> None:
    history = given(GOOGLE, update("google", "meta", "Meta", rank="agent"))
    history.when(unmerge("meta", rank="judge")).then("refused outranked")
    assert history.detail() == "an agent made this update"


def test_a_review_takes_no_update_of_a_person_out() -> None:
    history = given(*JOBS).when(unmerge("apple", rank="review")).then("refused outranked")
    agents = given(GOOGLE, update("google", "meta", "Meta", rank="agent"))
    agents.when(unmerge("meta", rank="review")).then("reversed meta google")
    history.shows({"Apple": "google meta apple"})


def test_a_person_goes_back_and_forth() -> None:
    history = given(*JOBS, update("google", "back", "Google"))
    history.shows({"Google": "google meta apple back"})
    history.when(undo("back")).shows({"Apple": "google meta apple"})


# -- a text that lives elsewhere -----------------------------------------------------------------


def test_an_update_to_a_text_that_lives_elsewhere_is_a_merge_with_that_memory() -> None:
    history = given(*JOBS, say("ibm", "IBM"))
    history.when(update("google", "x", "IBM")).then("refused lives_elsewhere")
    history.when(update("google", "x", "IBM", merges=True)).then("ibm manual_join google")
    history.shows({"IBM": "google meta apple ibm"})
    history.when(update("google", "sap", "SAP")).shows({"SAP": "google meta apple ibm sap"})
    history.when(undo("ibm")).shows({"SAP": "google meta apple sap", "IBM": "ibm"})


def test_so_it_is_where_the_text_is_the_older_one() -> None:
    history = given(say("ibm", "IBM"), *JOBS, update("google", "x", "IBM", merges=True))
    history.then("google manual_join ibm").shows({"IBM": "ibm google meta apple"})
    history.when(undo("ibm")).shows({"IBM": "ibm", "Apple": "google meta apple"})


def test_a_former_text_of_the_other_memory_speaks_for_both() -> None:
    history = given(*JOBS, *PARIS, update("google", "x", "Paris", merges=True))
    history.then("x superseded paris", "x manual_join google")
    history.shows({"Paris": "google meta apple paris rome x"})


def test_it_is_refused_where_separated() -> None:
    history = given(*JOBS, say("ibm", "IBM"), separate("ibm", "meta", rank="judge"))
    history.when(update("google", "x", "IBM", merges=True)).then("refused separated")
    assert history.detail().endswith(f", through superseded {history.join('meta').id}")


def test_a_refusal_about_the_pair_itself_names_no_way_between_them() -> None:
    history = given(*JOBS, say("ibm", "IBM"), separate("ibm", "google", rank="judge"))
    history.when(update("google", "x", "IBM", merges=True)).then("refused separated")
    assert history.detail().endswith(f": {history.id('google')} and {history.id('ibm')}")


def test_a_composed_text_of_a_forgotten_source_lives_nowhere() -> None:
    history = given(GOOGLE, say("inc", "Google Inc", {"google": ASK}), say("tea", "Tea"))
    history.when(judge("inc", google="compose", text="Google (Inc)", sources="google inc"))
    history.when(forget("google", again="allow"))
    history.when(update("tea", "x", "Google (Inc)")).then("x superseded tea")


def test_a_version_is_of_the_face_and_of_the_living_members() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Tea"))
    seen = [version_of(history.memory("a"))]
    for step in (retract("c"), retract("b"), say("d", "Tea"), say("e", "Mate", {"a": TAKE})):
        history.do(step)
        seen.append(version_of(history.memory("a")))
    assert len(set(seen)) == len(seen)
    history.do(restore("c"), retract("c"))
    assert version_of(history.memory("a")) == seen[-1]


COMPOSED = (
    say("a", "Likes tea"),
    say("b", "Likes it green", {"a": ASK}),
    judge("b", a="compose", text="Likes green tea", sources="a b"),
)


def test_who_expects_a_composed_text_names_it_its_newest_source_or_the_version() -> None:
    memory = given(*COMPOSED).memory("a")
    for expected in (memory.face.text_id, memory.face.speaker.id, version_of(memory)):
        history = given(*COMPOSED).when(update("a", "u", "Likes mate", expect=expected))
        history.then("u superseded b")
    history = given(*COMPOSED)
    history.when(update("a", "u", "Likes mate", expect=history.id("a"))).then("refused moved_on")
