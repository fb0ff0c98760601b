import type { SharedMigration } from './migration.ts'

/** Tasks that wait for other tasks. What marks a task as one of them, and who hears of its end, differs: see `037-flow-ends.ts`. */
export const flows: SharedMigration = {
  version: 36,
  name: 'flows',
  sql: `
CREATE TABLE gleaner.flows (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind        text NOT NULL,    -- children, after, batch
  waiter      text,             -- the id of a task, or <discovery>/<key> of a row. Of a batch: the task that runs when it is over
  name        text NOT NULL,    -- of the step or the batch
  number      integer NOT NULL,
  on_failure  text NOT NULL,
  concurrency integer,
  depth       integer NOT NULL,
  total       integer NOT NULL,
  queued      integer NOT NULL, -- that are not kept back any more
  completed   integer NOT NULL DEFAULT 0,
  failed      integer NOT NULL DEFAULT 0,
  cancelled   integer NOT NULL DEFAULT 0,
  removed     integer NOT NULL DEFAULT 0,
  followers   text,             -- of a batch: the tasks that follow, as JSON
  then_task   bigint,
  catch_task  bigint,
  created_at  bigint NOT NULL,
  resolved_at bigint,           -- when what waited for it went on
  done        integer NOT NULL DEFAULT 0, -- 1: what waited for it has ended, and does not read its results again
  cancelling  bigint,           -- its tasks up to this one are cancelled
  dropped     boolean NOT NULL DEFAULT false -- it goes when they are
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
CREATE INDEX flows_waiter ON gleaner.flows (waiter) WHERE waiter IS NOT NULL;
CREATE INDEX flows_open ON gleaner.flows (id) WHERE resolved_at IS NULL;
CREATE INDEX flows_cancelling ON gleaner.flows (id) WHERE cancelling IS NOT NULL;

CREATE TABLE gleaner.flow_members (
  flow     bigint NOT NULL,
  task     bigint NOT NULL,
  position integer NOT NULL,    -- in the call, from 0
  joined   integer NOT NULL DEFAULT 0, -- 1: it was there before the flow
  held     integer NOT NULL DEFAULT 0, -- 1: kept back until others have ended
  counted  text,                -- the status with which the flow counts it, null while it is unfinished
  status   text,                -- of a task that was removed: what it ended with
  result   text,
  error    text,
  PRIMARY KEY (flow, task)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
CREATE INDEX flow_members_joined ON gleaner.flow_members (task) WHERE joined = 1;
CREATE INDEX flow_members_held ON gleaner.flow_members (flow, task) WHERE held = 1;
`,
}
