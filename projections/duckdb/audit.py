# Queries are built from names in this module, never from input.
# ruff: noqa: S608
"""Queries for the views of statements and pairs; `d`, `c`, … are tables of `duckdb.views`.

Statements about pairs (`s`), the memories that a candidate waits for and the joins that contradict
a face come from the fold of the ledgers; the rest comes from the events alone.
"""

from __future__ import annotations

from palimpsest.contracts.events import RANKS

_RANK = f"list_position({sorted(RANKS, key=RANKS.__getitem__)}, {{}})"
"""The order of ranks, as in the core."""

_QUESTIONS = """
SELECT candidate_id, position, decision_id,
       unnest(neighbours, recursive := false) AS neighbour, asked
FROM d WHERE decision = 'pending'
"""
"""Every neighbour of every question to the judge."""

_BROUGHT_AGAIN = """
SELECT d.candidate_id, t.hash, t.sources, arg_max(t.event_id, t.position) AS event_id
FROM t JOIN d ON d.decision_id = t.event_id WHERE d.event = 'redecided' GROUP BY ALL
"""
_STANDING_TEXTS = f"""
SELECT x.event_id
FROM (SELECT t.event_id, t.decision_id, a.event_id AS again,
             unnest(list_append(t.sources, d.candidate_id)) AS source
      FROM t JOIN d ON d.decision_id = t.decision_id
           LEFT JOIN ({_BROUGHT_AGAIN}) a ON a.candidate_id = d.candidate_id AND a.hash = t.hash
                                         AND a.sources = t.sources) x
     JOIN c ON c.candidate_id = x.source
     LEFT JOIN r ON r.decision_id = x.decision_id
     LEFT JOIN r AS s ON s.decision_id = x.again
GROUP BY x.event_id
HAVING count(DISTINCT c.memory_id) = 1 AND bool_and(
    r.review_status IS DISTINCT FROM 'reversed'
    OR x.again IS NOT NULL AND s.review_status IS DISTINCT FROM 'reversed')
"""
"""Composed texts that could be faces: their join stands, and their sources are in one memory.

A reversed join may have a successor, if its candidate was decided on again with the same text.
"""

_STATEMENTS = f"""
SELECT s.*, (w.position IS NULL OR w.position < s.position)
            AND (s.text IS NULL OR x.event_id IS NOT NULL) AS holds
FROM s LEFT JOIN (SELECT decision_id, event, withdraws, max(position) AS position
                  FROM w WHERE event IN ('reversed', 'reinstated') GROUP BY ALL) w
         ON w.decision_id = CASE WHEN s.event = 'separated' THEN s.event_id ELSE s.decision_id END
            AND CASE s.event WHEN 'separated' THEN w.event = 'reversed'
                             WHEN 'reversed' THEN w.event = 'reinstated'
                             ELSE NOT s.separates AND w.withdraws END
       LEFT JOIN ({_STANDING_TEXTS}) x ON x.event_id = s.text
"""
"""Statements that a pair is two (`separates`) or one, and whether each holds.

A statement does not hold if it was taken back, or if it is about a composed text that fell apart.
A reinstatement takes back the statement of a reversal; the next withdrawal takes back that of the
reinstatement.
"""

SEPARATIONS = f"""
SELECT x.candidate_id, x.other_id, x.owner_id, c.namespace,
       x.holds AND row_number() OVER (
           PARTITION BY least(x.candidate_id, x.other_id), greatest(x.candidate_id, x.other_id),
                        x.holds
           ORDER BY {_RANK.format("x.rank")} DESC, x.position DESC, x.ordinal DESC) = 1 AS standing,
       x.event, x.event_id, x.decision_id, x.rank, x.actor, x.because, x.cause, x.llm_reasoning,
       x.decided_at, x.position
FROM ({_STATEMENTS}) x LEFT JOIN c ON c.candidate_id = x.candidate_id
QUALIFY x.separates
"""

_EVENTS = """
SELECT position, decision_id AS event_id, event, decision, decided_at, owner_id, namespace,
       candidate_id, joined_to AS other_id, decision_id, consequence_of AS about, similarity, rank,
       actor, because, cause, consequence_of, NULL AS command, reason, detail, session_id, policy,
       llm_answer, llm_reasoning,
       CASE event WHEN 'settled' THEN 'question' WHEN 'redecided' THEN 'reversed' END AS kind
FROM d
UNION ALL
SELECT w.position, w.event_id, w.event, NULL, w.decided_at, w.owner_id,
       coalesce(c.namespace, d.namespace), coalesce(w.candidate_id, d.candidate_id),
       coalesce(w.other_id, d.joined_to), w.decision_id, w.decision_id, w.similarity, w.rank,
       w.actor, w.because, w.cause, w.consequence_of, w.command, w.reason, w.detail, w.session_id,
       w.policy, w.llm_answer, w.llm_reasoning,
       CASE w.event WHEN 'reinstated' THEN 'reversed' WHEN 'restored' THEN 'retracted'
                    WHEN 'separated' THEN 'pair'
                    WHEN 'refused' THEN CASE WHEN w.decision_id IS NULL THEN 'question' END END
FROM w LEFT JOIN c ON c.candidate_id = w.candidate_id
       LEFT JOIN d ON d.decision_id = w.decision_id
"""
"""Every event; `kind` is the kind of event that it answers, or null if it answers its decision."""

_ANSWERED = """
SELECT 'question' AS kind, candidate_id AS key, position, decision_id AS event_id
FROM d WHERE decision = 'pending'
UNION ALL
SELECT 'pair', candidate_id || ' ' || asked, position, decision_id
FROM (SELECT candidate_id, unnest(asked) AS asked, position, decision_id
      FROM d WHERE decision = 'pending')
UNION ALL
SELECT event, CASE event WHEN 'reversed' THEN decision_id ELSE candidate_id END, position, event_id
FROM w WHERE event IN ('reversed', 'retracted')
"""
"""The events that later events can answer, by the key that an answer has."""

TIMELINE = f"""
SELECT e.position, e.event_id, e.event, e.decision, e.decided_at, e.owner_id, e.namespace,
       e.candidate_id, e.other_id, e.decision_id,
       coalesce(a.event_id, e.about,
                CASE WHEN e.decision IS NULL THEN c.decision_id END) AS answers,
       e.similarity, e.rank, e.actor, e.because, e.cause, e.consequence_of, e.command, e.reason,
       e.detail, e.session_id, e.policy, e.llm_answer, e.llm_reasoning
FROM (SELECT *, CASE kind WHEN 'pair' THEN candidate_id || ' ' || other_id
                          WHEN 'reversed' THEN about ELSE candidate_id END AS key
      FROM ({_EVENTS})) e
     ASOF LEFT JOIN ({_ANSWERED}) a
       ON a.kind = e.kind AND a.key = e.key AND a.position < e.position
     LEFT JOIN c ON c.candidate_id = e.candidate_id AND e.event <> 'separated'
"""

_SEARCH = "SELECT policy, any_value(search) AS search FROM p GROUP BY policy"
_TEXTS = f"""
SELECT x.position, x.candidate_id,
       coalesce(t.text, CASE WHEN x.hash IS NULL THEN c.text END) AS text
FROM (SELECT s.position, s.spoke.candidate_id AS candidate_id, s.spoke.speaker AS speaker,
             s.spoke.hash AS hash, s.owner_id
      FROM (SELECT position, owner_id, policy, unnest(spoken, recursive := false) AS spoke FROM d
            UNION ALL
            SELECT position, owner_id, NULL, unnest(spoken, recursive := false) FROM w) s
           LEFT JOIN ({_SEARCH}) p ON p.policy = s.policy
      WHERE s.spoke.certain OR p.search = 'memories') x
     LEFT JOIN c ON c.candidate_id = x.speaker
     ASOF LEFT JOIN t ON t.owner_id = x.owner_id AND t.hash = x.hash AND t.position <= x.position
"""
"""Texts that were compared in place of a candidate's own, by event and candidate."""

_ASKED = f"""(
SELECT a.*, t.text
FROM (SELECT *, neighbour.candidate_id AS other FROM ({_QUESTIONS})) a
     LEFT JOIN ({_TEXTS}) t ON t.position = a.position AND t.candidate_id = a.other)"""
"""Questions by the neighbour's id, to find what was known of a pair when the judge was asked.

An answer records only its own evidence; the score and the guard's cues are in its question.
"""
_AS_ASKED = "(q.position IS NULL OR coalesce(tx.text, o.text) = coalesce(q.text, o.text))"
"""Whether the compared text is the one that was scored: the face may have changed since."""
_CUES = f"""
CASE WHEN len({{0}}.cues) = 0 AND {_AS_ASKED} THEN coalesce(q.neighbour.cues, {{0}}.cues)
     ELSE {{0}}.cues END"""
_SCORE = f"""
CASE WHEN {_AS_ASKED}
     THEN coalesce({{0}}.similarity, q.neighbour.cosine, q.neighbour.jaccard,
                   {{0}}.nearest_similarity)
     WHEN NOT {{0}}.answers THEN coalesce({{0}}.similarity, {{0}}.nearest_similarity) END"""
"""The score of a row's pair: its own, or that of the question that it answers."""

_LOGGED = """
SELECT position, decision_id, decision, owner_id, namespace, candidate_id,
       coalesce(joined_to, nearest_id) AS existing_id, similarity, nearest_similarity,
       llm_answer, llm_reasoning, rank, actor, because, decided_at, decision_id AS reviewed,
       joined_to IS NOT NULL AS joined, policy, "check", cues, source, session_id, event,
       position AS at, event = 'settled' AS answers
FROM d
UNION ALL
SELECT w.position, w.event_id, w.event, w.owner_id, NULL, coalesce(w.candidate_id, d.candidate_id),
       coalesce(w.other_id, d.joined_to), coalesce(w.similarity, d.similarity), NULL,
       w.llm_answer, w.llm_reasoning, w.rank, w.actor, w.because, w.decided_at, NULL,
       w.event = 'reinstated', NULL, NULL, NULL, NULL, NULL, w.event,
       coalesce(d.position, w.position), coalesce(d.event = 'settled', false)
FROM w LEFT JOIN d ON d.decision_id = w.decision_id
WHERE w.event IN ('separated', 'reversed', 'reinstated')
"""
"""Decisions, and later statements about pairs, in the same columns.

`at` is the position whose texts were compared; for a reversed join, that of the join.
"""

COMPARED = f"""
SELECT coalesce(tn.text, n.text) AS new_text, x.existing_id,
       coalesce(tx.text, o.text) AS existing_text,
       {_SCORE.format("x")} AS similarity,
       x.decision, x.llm_reasoning,
       CASE WHEN x.reviewed IS NOT NULL THEN coalesce(r.review_status, 'unreviewed') END
           AS review_status,
       x.owner_id, n.namespace, x.decided_at, x.decision_id, x.candidate_id, n.memory_id, x.joined,
       x.llm_answer, x.policy, x."check", {_CUES.format("x")} AS cues, x.rank, x.actor, x.because,
       n.source, n.session_id, x.position
FROM (SELECT x.* REPLACE (coalesce(x.existing_id, k.asked[1]) AS existing_id)
      FROM ({_LOGGED}) x
           ASOF LEFT JOIN (SELECT candidate_id, position, asked FROM d WHERE decision = 'pending') k
             ON k.candidate_id = CASE WHEN x.event = 'settled' THEN x.candidate_id END
                AND k.position < x.position) x
     ASOF LEFT JOIN {_ASKED} q
       ON q.candidate_id = x.candidate_id AND q.other = x.existing_id AND q.position <= x.at
     JOIN c n ON n.candidate_id = x.candidate_id
     LEFT JOIN c o ON o.candidate_id = x.existing_id
     LEFT JOIN ({_TEXTS}) tx ON tx.position = x.at AND tx.candidate_id = x.existing_id
     LEFT JOIN ({_TEXTS}) tn ON tn.position = x.at AND tn.candidate_id = x.candidate_id
     LEFT JOIN r ON r.decision_id = x.reviewed
WHERE x.existing_id IS NOT NULL
"""

_SAID = """
(FROM c SEMI JOIN (SELECT DISTINCT verbatim, memory_id FROM c WHERE living)
              USING (verbatim, memory_id))"""
"""Candidates whose text is living in their memory, as their own or as a repeat's."""

REVIEW_QUEUE = f"""
SELECT 'pending' AS waits_as, n.text AS new_text, o.candidate_id AS existing_id,
       coalesce(t.text, o.text) AS existing_text,
       coalesce(q.neighbour.cosine, q.neighbour.jaccard) AS similarity,
       q.neighbour.cues AS cues, 'pending' AS decision, n.owner_id, n.namespace,
       q.decided_at, q.decision_id, q.candidate_id, q.position
FROM (SELECT candidate_id, position, decision_id, decided_at,
             unnest(neighbours, recursive := false) AS neighbour
      FROM (FROM d WHERE event IN ('decided', 'redecided')
            QUALIFY position = max(position) OVER (PARTITION BY candidate_id))) q
     JOIN c n ON n.candidate_id = q.candidate_id
       AND (list_contains(n.waits_for, q.neighbour.candidate_id)
            OR n.living AND n.held = q.neighbour.candidate_id)
     JOIN c o ON o.candidate_id = q.neighbour.candidate_id AND o.living
     LEFT JOIN ({_TEXTS}) t
       ON t.position = q.position AND t.candidate_id = q.neighbour.candidate_id
UNION ALL
SELECT CASE WHEN k.decision_id IS NULL THEN 'unreviewed' ELSE 'contradicts' END,
       coalesce(tn.text, n.text), o.candidate_id, coalesce(tx.text, o.text), {_SCORE.format("d")},
       {_CUES.format("d")}, d.decision, d.owner_id, d.namespace, d.decided_at, d.decision_id,
       d.candidate_id, d.position
FROM (SELECT *, event = 'settled' AS answers FROM d) d
     ASOF LEFT JOIN {_ASKED} q
       ON q.candidate_id = d.candidate_id AND q.other = d.joined_to AND q.position <= d.position
     JOIN {_SAID} n ON n.candidate_id = d.candidate_id
     JOIN {_SAID} o ON o.candidate_id = d.joined_to
     LEFT JOIN ({_TEXTS}) tx ON tx.position = d.position AND tx.candidate_id = d.joined_to
     LEFT JOIN ({_TEXTS}) tn ON tn.position = d.position AND tn.candidate_id = d.candidate_id
     LEFT JOIN r ON r.decision_id = d.decision_id
     LEFT JOIN (SELECT unnest(contradicts) AS decision_id FROM m) k ON k.decision_id = d.decision_id
WHERE (r.review_status IS NULL OR r.review_status = 'reinstated')
      AND (k.decision_id IS NOT NULL OR (
           d.rank IN ('rule', 'judge') AND (d.face_rule <> 'repeat' OR len(d.differs) > 0)))
UNION ALL
SELECT 'forgotten', n.text, o.candidate_id, o.text,
       coalesce(d.neighbours[1].cosine, d.neighbours[1].jaccard), d.neighbours[1].cues,
       d.decision, d.owner_id, d.namespace, d.decided_at, d.decision_id, d.candidate_id, d.position
FROM d JOIN c n ON n.candidate_id = d.candidate_id
     JOIN c o ON o.candidate_id = d.neighbours[1].candidate_id
     LEFT JOIN r ON r.decision_id = d.decision_id
     ANTI JOIN (SELECT candidate_id FROM w WHERE event = 'restored') b
       ON b.candidate_id = d.candidate_id
WHERE d."check" = 'forgotten' AND r.review_status IS NULL
ORDER BY waits_as, similarity, position, existing_id
"""
"""The pairs that a person can answer. A join that contradicts a chosen face always waits.

A reinstated join waits again, as before its reversal: taking an answer back is not an answer, and
a wrong reversal does not make the join right. A candidate that waits because of a forgotten text is
not living until it is stored and restored.
"""
