-- Counters that would be slow to count: unfinished, finished and directly answered tasks, and the
-- last number that was given out (of tasks, statuses and turns, in one row of numbers).
CREATE TABLE counts (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    open INTEGER NOT NULL,
    finished INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    last_number INTEGER NOT NULL,
    probe INTEGER NOT NULL
) STRICT;
INSERT INTO counts VALUES (1, 0, 0, 0, 0, 0);

CREATE TABLE agents (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- One scope of one agent. `who` is empty for the anonymous scope, else ["tenant","principal"].
CREATE TABLE spaces (
    key INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL,
    who TEXT NOT NULL,
    UNIQUE (agent, who)
) STRICT;

-- How many tasks of a state a scope has; under 8 are those that cannot be listed.
CREATE TABLE listed (
    space INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (space, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
    -- Never given out twice, so that a reader cannot take another task for its own.
    key INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL,
    space INTEGER NOT NULL,
    id TEXT NOT NULL,
    context TEXT NOT NULL,
    -- 0 to 7 as the specification lists them; 8 is a task that was answered directly and is gone.
    state INTEGER NOT NULL,
    status_ms INTEGER NOT NULL,
    -- Orders statuses of one millisecond; NULL while the task is seen by nobody.
    status_number INTEGER,
    generation INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    canceling INTEGER NOT NULL,
    -- How many events there were.
    position INTEGER NOT NULL,
    -- The generation that the snapshot shows; later ones are in the log.
    folded INTEGER NOT NULL,
    snapshot_bytes INTEGER NOT NULL,
    -- Bytes of the log that the snapshot does not show.
    fresh_bytes INTEGER NOT NULL,
    -- Which other tables have rows of the task: 1 work, 2 push, 4 once, 8 task_blobs, 16 log,
    -- 32 remembered.
    has INTEGER NOT NULL,
    -- 1 finished, 2 answered; NULL otherwise. And when.
    done INTEGER,
    done_ms INTEGER,
    UNIQUE (agent, id)
) STRICT;
CREATE INDEX tasks_by_status ON tasks (space, status_ms, status_number)
    WHERE status_number IS NOT NULL;
CREATE INDEX tasks_by_context ON tasks (space, context, status_ms, status_number, state)
    WHERE status_number IS NOT NULL;
CREATE INDEX tasks_by_state ON tasks (space, state, status_ms, status_number)
    WHERE status_number IS NOT NULL;
CREATE INDEX tasks_done ON tasks (done, done_ms, key) WHERE done IS NOT NULL;

CREATE TABLE snapshots (
    task INTEGER PRIMARY KEY,
    json TEXT NOT NULL,
    refs BLOB NOT NULL
) STRICT;

-- One row for each commit: a message that joined the history, if `said`, and events.
CREATE TABLE log (
    task INTEGER NOT NULL,
    begin INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    events INTEGER NOT NULL,
    said INTEGER NOT NULL,
    json TEXT NOT NULL,
    refs BLOB NOT NULL,
    PRIMARY KEY (task, begin, generation)
) STRICT, WITHOUT ROWID;

CREATE TABLE work (
    task INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL,
    owner TEXT,
    begun INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX work_by_owner ON work (agent, owner, begun);

CREATE TABLE push (
    task INTEGER NOT NULL,
    id TEXT NOT NULL,
    agent INTEGER NOT NULL,
    config TEXT NOT NULL,
    delivered INTEGER NOT NULL,
    given_up INTEGER NOT NULL,
    -- Whether there are events that were not delivered.
    due INTEGER NOT NULL,
    owner TEXT,
    PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX push_due ON push (agent, owner) WHERE due = 1;

CREATE TABLE once (
    space INTEGER NOT NULL,
    message TEXT NOT NULL,
    hash BLOB NOT NULL,
    task INTEGER NOT NULL,
    PRIMARY KEY (space, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX once_by_task ON once (task);

CREATE TABLE blobs (
    key INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    json TEXT NOT NULL
) STRICT;
CREATE TABLE task_blobs (
    task INTEGER NOT NULL,
    blob INTEGER NOT NULL,
    PRIMARY KEY (task, blob)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_blobs_by_blob ON task_blobs (blob);

-- What turns keep with their task: results of effects that must not happen twice.
CREATE TABLE remembered (
    task INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;

-- Names that tasks hold while a turn of theirs runs.
CREATE TABLE leases (
    agent INTEGER NOT NULL,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    PRIMARY KEY (agent, name)
) STRICT, WITHOUT ROWID;
