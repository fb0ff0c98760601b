import type { Migration } from './migration.ts'

/**
 * These functions also run in sessions of the user, whose search_path may contain a schema in which any role can create functions.
 * `now_ms` has no SET clause, because the server inlines only functions without one: each function in it has its schema, and each
 * operator the exact types that it is declared for.
 */
export const searchPath: Migration = {
  version: 21,
  name: 'search path',
  sql: (schema) => `
CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
  AS 'SELECT (pg_catalog.date_part(''epoch''::text, pg_catalog.clock_timestamp()) * 1000::double precision)::bigint';

ALTER FUNCTION ${schema}.refuse(text) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION ${schema}.refuse_change_of_actions() SET search_path = pg_catalog, pg_temp;

CREATE OR REPLACE FUNCTION ${schema}.rows_written() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
  'BEGIN
     IF pg_catalog.current_setting(''gleaner_rows.quiet'', true) IS DISTINCT FROM ''on''
       THEN PERFORM pg_catalog.pg_notify(TG_ARGV[0], ''rows work''); END IF;
     RETURN NULL;
   END';
`,
}
