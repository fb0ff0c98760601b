import type { Migration } from './migration.ts'

/**
 * Limits; the tables mean the same as on SQLite. What differs, and why: whoever enqueues or hands something in writes down
 * news of it (`gate_news`), which nobody waits for, also not inside a user's own transaction. Only who claims locks a gate,
 * passing over those that others have locked, and takes what the news say into account. So nobody waits for anybody.
 */
export const limits: Migration = {
  version: 5,
  name: 'limits',
  sql: (schema) => `
INSERT INTO ${schema}.settings VALUES ('limits', 0), ('keyed', 0);

CREATE TABLE ${schema}.limits (
  scope       text PRIMARY KEY,
  concurrency integer,
  rate_count  integer,
  rate_per_ms bigint
);

CREATE TABLE ${schema}.gates (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope       text NOT NULL UNIQUE,
  limit_scope text NOT NULL,
  held        integer NOT NULL DEFAULT 0,
  starts      text NOT NULL DEFAULT '',
  counted_at  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX gates_limit ON ${schema}.gates (limit_scope);

-- A slot that is free again, or a lane in which something waits. The holder of the gate's lock takes it away.
CREATE TABLE ${schema}.gate_news (
  gate  bigint NOT NULL,
  lane  integer,
  freed integer NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX gate_news_gate ON ${schema}.gate_news (gate);

CREATE SEQUENCE ${schema}.turns;

CREATE TABLE ${schema}.turnstiles (
  lane    integer PRIMARY KEY,
  base    integer NOT NULL,
  gate    bigint NOT NULL,
  turn    bigint NOT NULL DEFAULT 0,
  ready   boolean NOT NULL DEFAULT false,
  wake_at bigint
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX turnstiles_ready ON ${schema}.turnstiles (base, turn, lane) WHERE ready;
CREATE INDEX turnstiles_wake ON ${schema}.turnstiles (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX turnstiles_gate ON ${schema}.turnstiles (gate);
`,
}
