CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    input BLOB NOT NULL DEFAULT x'',
    state TEXT NOT NULL,
    reason TEXT,
    cancel INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    ended INTEGER
) STRICT;

-- What a step has become; nothing of steps that nobody has looked at.
CREATE TABLE steps (
    run INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    step TEXT NOT NULL,
    state TEXT NOT NULL,
    items INTEGER,
    reason TEXT,
    PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE calls (
    run INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    step TEXT NOT NULL,
    -- -1 for a step without items.
    item INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    message TEXT NOT NULL,
    task TEXT,
    context TEXT,
    question BLOB,
    auth INTEGER NOT NULL DEFAULT 0,
    answer BLOB,
    answers INTEGER NOT NULL DEFAULT 0,
    parts BLOB,
    reason TEXT,
    repeated INTEGER NOT NULL DEFAULT 0,
    received INTEGER NOT NULL DEFAULT 0,
    sent INTEGER NOT NULL DEFAULT 0,
    sent_bytes INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0,
    duplicate_bytes INTEGER NOT NULL DEFAULT 0,
    began INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    PRIMARY KEY (run, step, item)
) STRICT, WITHOUT ROWID;

-- Each part once a run, by the SHA-256 of its text; lists of parts are such hashes in a row.
CREATE TABLE contents (
    run INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    hash BLOB NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (run, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_time ON runs (created DESC, key DESC);
