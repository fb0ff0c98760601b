import type { Migration } from './migration.ts'

/**
 * Work found in the user's own tables; the tables mean the same as on SQLite. A row's key is text here: of several columns a
 * JSON array. What a row was like is its version column as text, or else its xmin and a hash of all its values: it has not
 * changed if either is the same.
 */
export const discoveryMigration: Migration = {
  version: 7,
  name: 'discovery',
  sql: (schema) => `
${functionsAndDiscoveries(schema)}
${claimsAndLedger(schema)}`,
}

function functionsAndDiscoveries(schema: string): string {
  return `INSERT INTO ${schema}.settings VALUES ('discoveries', 0); -- grows when one is planned otherwise than before

-- Undoes a statement that has found out too late.
CREATE FUNCTION ${schema}.refuse(what text) RETURNS boolean LANGUAGE plpgsql
  AS 'BEGIN RAISE EXCEPTION USING ERRCODE = ''GL001'', MESSAGE = what; END';

-- For a trigger on the user's own table, if he wants one: tells those who listen that something was written. What we write
-- ourselves is no news.
CREATE FUNCTION ${schema}.rows_written() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
     IF current_setting(''gleaner_rows.quiet'', true) IS DISTINCT FROM ''on'' THEN PERFORM pg_notify(TG_ARGV[0], ''rows work''); END IF;
     RETURN NULL;
   END';

CREATE TABLE ${schema}.discoveries (
  name          text PRIMARY KEY,
  source        text NOT NULL, -- what was declared, as JSON
  create_index  text,          -- the index that is missing
  paused        boolean NOT NULL DEFAULT false,
  paused_reason text,
  position      text -- where the last large claim ended
) WITH (fillfactor = 50);
`
}

function claimsAndLedger(schema: string): string {
  return `-- Who works on what: the primary key decides who was first.
CREATE TABLE ${schema}.claims (
  discovery   text NOT NULL,
  row_key     text NOT NULL,
  session     bigint NOT NULL,
  fence       bigint NOT NULL,
  row_version text,
  row_hash    bigint,
  attempt     integer NOT NULL,
  claimed_at  bigint NOT NULL,
  started_at  bigint, -- null while it is held ahead
  PRIMARY KEY (discovery, row_key)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
CREATE INDEX claims_session ON ${schema}.claims (session);

-- What is remembered of rows that failed; it holds for the row as it was then (row_version), or as it is found (no version,
-- and the hash 0: it was copied from another database). Deleting any of it is safe.
CREATE TABLE ${schema}.ledger (
  discovery     text NOT NULL,
  row_key       text NOT NULL,
  row_version   text,
  row_hash      bigint,
  attempts      integer NOT NULL,
  crashes       integer NOT NULL,
  changes       integer NOT NULL,
  suspect       boolean NOT NULL,
  quarantined   boolean NOT NULL,
  blocked_until bigint NOT NULL, -- 0: nothing keeps it back
  error         text,
  history       text NOT NULL,
  since         bigint NOT NULL,
  PRIMARY KEY (discovery, row_key)
);
CREATE INDEX ledger_blocked ON ${schema}.ledger (discovery, quarantined, blocked_until);
CREATE INDEX ledger_suspect ON ${schema}.ledger (discovery, row_key) WHERE suspect;
`
}
