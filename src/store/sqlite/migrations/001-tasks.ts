import type { Migration } from './migration.ts'

/**
 * The tables of the task queue. Times are integer milliseconds.
 *
 * One index walk serves a claim (`gleaner_tasks_ready`); every other index is partial, so that the usual way
 * of a task (queued, held, completed) touches one index at each step.
 */
export const tasksMigration: Migration = {
  version: 1,
  name: 'tasks',
  sql: `
-- Single numbers of the whole database: the last fence, how far ids were counted and removed, the global pause.
CREATE TABLE gleaner_meta (
  key   TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO gleaner_meta VALUES ('fence', 0), ('counted_through', 0), ('removed_through', 0), ('paused', 0), ('queues', 0);

-- 'queues' in gleaner_meta counts the changes of these settings, so that nobody reads them again for nothing.
-- Each change of the order begins another era, whose ranks lie apart. 'race': how far a weighted queue has come.
CREATE TABLE gleaner_queues (
  name      TEXT PRIMARY KEY,
  paused    INTEGER NOT NULL DEFAULT 0,
  strategy  TEXT NOT NULL DEFAULT 'priority',
  ageing_ms INTEGER,
  era       INTEGER NOT NULL DEFAULT 0,
  unranked  INTEGER NOT NULL DEFAULT 0, -- something may have a rank of another era
  race      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Tasks of one name in one queue with the same requirements. A claim looks only into the lanes it may run.
-- The counters are exact: 'created' together with the tasks above counted_through. With 'limit_key' it holds what has
-- that key, and is found by its turnstile. 'queue_gate' and 'key_gate' say which limits what is held counts for.
CREATE TABLE gleaner_lanes (
  id        INTEGER PRIMARY KEY,
  queue     TEXT NOT NULL,
  name      TEXT NOT NULL,
  requires  TEXT NOT NULL,
  limit_key TEXT NOT NULL DEFAULT '', -- '' for none
  queue_gate INTEGER,
  key_gate  INTEGER,
  created   INTEGER NOT NULL DEFAULT 0,
  scheduled INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed    INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  UNIQUE (queue, name, requires, limit_key)
) STRICT;
-- Of those without a key there are few, and they stay: everybody knows them all.
CREATE INDEX gleaner_lanes_known ON gleaner_lanes (id) WHERE limit_key = '';

-- 'fence' is set exactly while somebody holds the task. Held and not yet started shows as 'queued'.
CREATE TABLE gleaner_tasks (
  id               INTEGER PRIMARY KEY,
  lane             INTEGER NOT NULL,
  status           TEXT NOT NULL,
  priority         INTEGER NOT NULL,
  rank             INTEGER,
  max_attempts     INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  input            TEXT,
  run_after        INTEGER,
  key              TEXT,
  overrides        TEXT,
  attempts         INTEGER NOT NULL DEFAULT 0,
  crashes          INTEGER NOT NULL DEFAULT 0,
  suspect          INTEGER NOT NULL DEFAULT 0,
  session          INTEGER,
  fence            INTEGER,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  started_at       INTEGER,
  finished_at      INTEGER,
  result           TEXT,
  error            TEXT,
  progress         REAL,
  progress_message TEXT
) STRICT;

CREATE INDEX gleaner_tasks_ready ON gleaner_tasks (lane, rank)
  WHERE status = 'queued' AND fence IS NULL AND suspect = 0;
CREATE INDEX gleaner_tasks_suspect ON gleaner_tasks (lane, rank)
  WHERE status = 'queued' AND fence IS NULL AND suspect = 1;
CREATE INDEX gleaner_tasks_scheduled ON gleaner_tasks (run_after) WHERE status = 'scheduled';
CREATE INDEX gleaner_tasks_cancelling ON gleaner_tasks (session)
  WHERE cancel_requested = 1 AND fence IS NOT NULL;
CREATE INDEX gleaner_tasks_finished ON gleaner_tasks (lane, status, finished_at) WHERE finished_at IS NOT NULL;
-- '<task name>/<key>': a name holds no slash.
CREATE UNIQUE INDEX gleaner_tasks_key ON gleaner_tasks (key)
  WHERE key IS NOT NULL AND status IN ('scheduled', 'queued', 'running');

-- What was claimed together, under one fence, until all of it is settled: where to find what a session holds. An
-- index over the tasks would say the same, and cost every claim and every completion an entry.
CREATE TABLE gleaner_batches (
  fence     INTEGER PRIMARY KEY,
  session   INTEGER NOT NULL,
  tasks     TEXT NOT NULL, -- their ids, a JSON array
  unsettled INTEGER NOT NULL
) STRICT;
CREATE INDEX gleaner_batches_session ON gleaner_batches (session);

-- Inputs too large to be rewritten with every change of their task's row; its 'input' is '' then.
CREATE TABLE gleaner_inputs (
  task  INTEGER PRIMARY KEY,
  input TEXT NOT NULL
) STRICT;

CREATE TABLE gleaner_forever_keys (
  key  TEXT PRIMARY KEY,
  task INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX gleaner_forever_keys_task ON gleaner_forever_keys (task);

-- Attempts that did not end in 'completed'; the last one is told by the task's own row.
CREATE TABLE gleaner_attempts (
  id          INTEGER PRIMARY KEY,
  task        INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  session     INTEGER,
  outcome     TEXT NOT NULL,
  started_at  INTEGER,
  finished_at INTEGER NOT NULL,
  error       TEXT
) STRICT;
CREATE INDEX gleaner_attempts_task ON gleaner_attempts (task);

CREATE TABLE gleaner_logs (
  task    INTEGER NOT NULL,
  line    INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  level   TEXT NOT NULL,
  message TEXT NOT NULL,
  details TEXT,
  PRIMARY KEY (task, line)
) STRICT, WITHOUT ROWID;

-- One life of a worker. Renewed by its keeper; ended with a cause.
CREATE TABLE gleaner_sessions (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  worker       TEXT NOT NULL,
  host         TEXT NOT NULL,
  boot         TEXT NOT NULL,
  pid          INTEGER NOT NULL,
  start_time   TEXT,
  queues       TEXT NOT NULL,
  names        TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  discoveries  TEXT NOT NULL,
  supervisor   TEXT, -- JSON: the process that sees this one end
  holdups      TEXT, -- resources it waits for, and what it does not claim meanwhile: a JSON array
  renewals     INTEGER NOT NULL DEFAULT 0,
  opened_at    INTEGER NOT NULL,
  renewed_at   INTEGER NOT NULL,
  ended_at     INTEGER,
  cause        TEXT,
  blamed       TEXT, -- the item it crashed on: a task's id, or a row's
  completed    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX gleaner_sessions_live ON gleaner_sessions (id) WHERE ended_at IS NULL;
CREATE INDEX gleaner_sessions_worker ON gleaner_sessions (worker);
`,
}
