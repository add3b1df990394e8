"""What each view and column says, as comments that database tools show beside them."""

from __future__ import annotations

from collections.abc import Mapping

VIEWS: Mapping[str, str] = {
    "log_position": "One row: the position of the log that these views have reached",
    "candidates": "A row for each candidate, repeats and retracted ones too",
    "memories": "A row for each living memory",
    "compositions": "A row for each composed text, also those that do not stand any more",
    "policies": "A row for each policy that was put in force",
    "verdicts": "A row for each answer of the judge, also those that settled nothing",
    "decisions": "A row for each decision, invalid ones too",
    "events": "A row for each event of the log: who said what, when, why, and in answer to what",
    "joins": "A row for each decision that joined two candidates",
    "separations": "A row for each time that two candidates were said not to be the same",
    "dedup_log": "A row for each decision that compared something, and each later word on a pair",
    "review_queue": "A row for each pair that waits for a person",
    "daily": "Decisions by day (UTC) and kind",
    "policy_outcomes": "What became of each policy's decisions",
    "removal_rate": "How many living candidates are repeats, by owner and namespace",
    "judge_cost": "What the judge was asked and what it cost, by day (UTC), model and prompt",
}

_COMMON: Mapping[str, str] = {
    "accesses": "How often producers said that they used it",
    "actor": "Who said so; null for rules",
    "answer": "different, same, update, compose, unavailable or unusable",
    "because": "The reason given",
    "candidate_id": "The candidate; of a pair, the newer one",
    "candidates": "Living candidates",
    "calls": "Calls to the service, in parts where pairs shared one; 0: known already",
    "cause": "The request that it belongs to, where one request caused several events",
    "check": "The policy's check that decided; dedupe for batch runs",
    "command": "The command that was refused",
    "composed": "Whether the face was composed of several texts",
    "confidence": "The producer's confidence, 0 to 1",
    "consequence_of": "The decision without which this one would have been made",
    "cost_usd": "What it cost, in US dollars",
    "cues": "Signs that the two texts differ in fact, or that the model cannot tell",
    "day": "The day, in UTC",
    "decided_at": "When it was recorded, in UTC; within an owner it never goes back",
    "decision": "The decision, as the log names it",
    "decision_id": "The id of the decision",
    "detail": "The refusal or the error in a sentence",
    "digest": "The hash of the bytes that could not be read",
    "event": "The kind of event: decided, settled, joined, redecided, reversed, separated, …",
    "event_id": "The id of the event",
    "existing_id": "The candidate that it was compared with",
    "existing_text": "The text that it was compared with, as it was then",
    "face": "The text that speaks for the memory",
    "face_of": "The candidate who speaks; of a composed text, its newest source",
    "face_rule": "Who speaks after a join: repeat, keep, take or text",
    "hash": "The hash of the normalised text",
    "input_tokens": "Tokens sent to the model",
    "intensity": "The producer's intensity, 0 to 1",
    "joined": "Whether it joined the two",
    "joined_to": "The older candidate that it was joined to",
    "kind": "fact or perception",
    "living": "False while it is retracted",
    "llm_answer": "The judge's answer about the two",
    "llm_reasoning": "The judge's reason",
    "members": "How many living candidates the memory has",
    "memory_id": "The memory that the candidate is in now: the id of its earliest member",
    "metadata": "Fields of the producer's own, as JSON",
    "model": "The model that was asked",
    "n": "How many decisions",
    "namespace": "The section of the owner's memories",
    "needs_composition": "Whether a composed text lost a source and is to be composed anew",
    "neighbour_id": "The candidate that it was asked about",
    "new_text": "The text of the candidate that was compared; in a batch run, its memory's face",
    "occurred_at": "When it happened, as the producer says, in UTC",
    "other_id": "The other candidate of the pair",
    "output_tokens": "Tokens that the model gave back",
    "owner_id": "Whose memories these are",
    "pending": "Whether it waits for the judge",
    "policy": "The hash of the policy",
    "position": "The position in the log",
    "prompt": "The name and version of the prompt",
    "rank": "Who speaks: rule, judge, review or person",
    "reason": "Why it was refused or invalid, as a word",
    "reasoning": "The judge's reason",
    "review_status": "unreviewed, confirmed, reversed or reinstated; null where it is no decision",
    "seconds": "Seconds that the service took",
    "session_id": "The producer's session",
    "similarity": "The score of the pair: cosine, or Jaccard where only words were compared",
    "source": "The producer that it came from",
    "standing": "Whether it holds now",
    "text": "The text",
    "topics": "Topics that the producer gave",
}

_SPECIAL: Mapping[tuple[str, str], str] = {
    ("log_position", "position"): "The position of the log that these views have reached",
    ("candidates", "category"): "The producer's category",
    ("candidates", "importance"): "The producer's importance, 0 to 1",
    ("candidates", "producer_id"): "The id that the producer gave it",
    ("candidates", "decision_id"): "Its first decision",
    ("candidates", "decision"): "Its first decision, as the log names it",
    ("candidates", "waits_for"): "The neighbours that the judge has yet to compare, best first",
    ("candidates", "held"): "The neighbour that it would join by the judge's answer, were it not"
    " for a separation or a retraction",
    ("candidates", "position"): "The last event that changed this row",
    ("memories", "memory_id"): "The memory: the id of its earliest member",
    ("memories", "created_at"): "When its earliest member was recorded, in UTC",
    ("memories", "updated_at"): "When it last changed, in UTC",
    ("memories", "occurred_at"): "The latest time that a living member gives",
    ("memories", "last_accessed"): "When it was last used, in UTC",
    ("memories", "intensity"): "The highest intensity of its living members",
    ("memories", "metadata"): "Metadata of the living member that happened last, as JSON",
    ("memories", "status"): "pending while every living member waits for the judge, else living",
    ("memories", "topics"): "Topics of all living members",
    ("memories", "contradicts"): "Joins that say otherwise than the face that a person chose",
    ("memories", "position"): "The last event that changed this row",
    ("compositions", "decision_id"): "The join that the text belongs to",
    ("compositions", "event_id"): "The event that brought it: of a text made anew, not its join",
    ("compositions", "sources"): "The candidates that it was made of, oldest first",
    ("compositions", "composed_at"): "When it was recorded, in UTC",
    ("policies", "name"): "Its name",
    ("policies", "rules"): "The whole policy, as JSON",
    ("policies", "set_at"): "When it was put in force, in UTC",
    (
        "policies",
        "search",
    ): "What newcomers are compared with: candidates, or faces of memories",
    ("verdicts", "ordinal"): "Its place among the answers of one event",
    ("verdicts", "event_id"): "The event that brought it",
    ("verdicts", "answered_at"): "When it was recorded, in UTC",
    ("decisions", "asked"): "The neighbours that the judge was asked about, best first",
    ("decisions", "neighbours"): "All neighbours that were looked at, with scores and cues",
    ("decisions", "nearest_id"): "The neighbour that it turned on, joined or not",
    ("decisions", "nearest_similarity"): "The score of that neighbour",
    ("decisions", "similarity"): "The score of the join",
    ("decisions", "standing"): "False once the join was reversed; null where nothing was joined",
    ("events", "decision"): "Of a decision, its name; else null",
    ("events", "decision_id"): "The decision that it is, or is about",
    ("events", "answers"): "The event that it answers, such as the question or the reversal",
    ("events", "candidate_id"): "The candidate that it is about; of a pair, the newer one",
    ("separations", "standing"): "Whether the two are separated now, by these words",
    ("separations", "decision_id"): "The join that was reversed, or the decision that settled",
    ("dedup_log", "decision"): "A decision's name, or separated, reversed or reinstated",
    ("dedup_log", "decision_id"): "The decision; of a later word, its event's id",
    (
        "review_queue",
        "waits_as",
    ): "pending: a question is open or its answer held back; unreviewed: nobody saw the join;"
    " contradicts: the join says otherwise than the face that a person chose",
    ("policy_outcomes", "reversed"): "How many of them were reversed",
    ("policy_outcomes", "confirmed"): "How many of them a review agreed with",
    ("policy_outcomes", "mean_similarity"): "The mean score of their joins",
    ("removal_rate", "memories"): "Living memories",
    ("removal_rate", "removed"): "Candidates beyond one for each memory",
    ("removal_rate", "rate"): "The share of candidates beyond one for each memory, 0 to 1",
    ("judge_cost", "verdicts"): "Answers",
    ("judge_cost", "known"): "Answers that were remembered, free of charge",
    ("judge_cost", "unavailable"): "Pairs that nobody answered about",
    ("judge_cost", "unusable"): "Answers that could not be used",
}
_LATEST = "The latest position that was counted"
_SUMS = frozenset({"daily", "policy_outcomes", "removal_rate", "judge_cost"})


def known() -> str:
    """All that is said here, for whoever has to know whether it has changed."""
    return repr((sorted(VIEWS.items()), sorted(_COMMON.items()), sorted(_SPECIAL.items()), _LATEST))


def comment_of(view: str, column: str) -> str:
    """What a column of a view says. KeyError where nobody wrote it down."""
    if (view, column) in _SPECIAL:
        return _SPECIAL[view, column]
    if view == "joins":
        return comment_of("decisions", column)
    if view in _SUMS and column == "position":
        return _LATEST
    return _COMMON[column]
