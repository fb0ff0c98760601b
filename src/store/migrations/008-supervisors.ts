import type { SharedMigration } from './migration.ts'

/** The supervisors of worker processes, what they report, and what they are asked to do. */
export const supervisors: SharedMigration = {
  version: 8,
  name: 'supervisors',
  sql: `
CREATE TABLE gleaner.supervisors (
  name       text PRIMARY KEY,
  term       bigint NOT NULL,
  host       text NOT NULL,
  boot       text NOT NULL,
  pid        integer NOT NULL,
  start_time text,
  since      bigint NOT NULL,
  seen_at    bigint NOT NULL,
  has_left   boolean NOT NULL DEFAULT false,
  workers    text NOT NULL DEFAULT '[]' -- JSON: a record of each, and its restarts
) WITH (fillfactor = 50);

CREATE TABLE gleaner.commands (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  supervisor text NOT NULL,
  action     text NOT NULL,
  worker     text, -- NULL: all of them
  created_at bigint NOT NULL
);
CREATE INDEX commands_supervisor ON gleaner.commands (supervisor, id);
`,
}
