-- The tables of log.sqlite. A change here needs a new SCHEMA_VERSION in database.py.

CREATE TABLE owners (
    owner_no INTEGER PRIMARY KEY,
    owner_id TEXT NOT NULL UNIQUE
);

-- Rows are only ever added. `line` is the CloudEvents line as it was written, `checksum` its CRC-32:
-- SQLite itself does not notice a flipped byte inside a value.
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    owner_no INTEGER NOT NULL,
    id       BLOB    NOT NULL,
    checksum INTEGER NOT NULL,
    line     BLOB    NOT NULL
);
CREATE UNIQUE INDEX events_by_id ON events (id);
CREATE INDEX events_by_owner ON events (owner_no);

-- Where the policies of the store are, so that the one in force is found without reading the log.
CREATE TABLE policies (
    position INTEGER PRIMARY KEY
);

-- Which events a request caused.
CREATE TABLE requests (
    id       BLOB    NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (id, position)
) WITHOUT ROWID;

-- What waits for the judge or the embedder. It follows from the events, and is kept here so that no
-- owner is folded to find it. `subject` is a candidate (kinds settle and embed) or a decision (kind
-- compose).
CREATE TABLE verifications (
    kind     TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    owner_no INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) WITHOUT ROWID;
CREATE INDEX verifications_by_position ON verifications (position, kind, subject);

CREATE TABLE inbox (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT NOT NULL,
    origin      TEXT NOT NULL,
    body        BLOB NOT NULL,
    put_at      REAL NOT NULL,
    answer      BLOB,
    answered_at REAL
);
CREATE INDEX inbox_waiting ON inbox (id) WHERE answered_at IS NULL;
CREATE INDEX inbox_answered ON inbox (answered_at) WHERE answered_at IS NOT NULL;

-- `size` is the original number of bytes; `bytes` has only the first ones of a huge input. `headers`
-- are those of a record as JSON, values in base64; `times` counts the records of a topic that had
-- these bytes.
CREATE TABLE dead_letters (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    digest  TEXT NOT NULL,
    bytes   BLOB NOT NULL,
    reason  TEXT NOT NULL,
    detail  TEXT NOT NULL,
    origin  TEXT NOT NULL,
    at      TEXT NOT NULL,
    state   TEXT NOT NULL,
    size    INTEGER NOT NULL DEFAULT 0,
    headers TEXT    NOT NULL DEFAULT '[]',
    times   INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX dead_letters_by_state ON dead_letters (state, number);

-- For a log that is a copy of topics: of each partition of the decisions, the next offset to copy;
-- of each partition of the inputs, the next offset that no copied decision accounts for.
CREATE TABLE followed (
    topic       TEXT    NOT NULL,
    partition   INTEGER NOT NULL,
    topic_id    TEXT    NOT NULL,
    next_offset INTEGER NOT NULL,
    PRIMARY KEY (topic, partition)
);
