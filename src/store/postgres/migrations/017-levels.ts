import type { Migration } from './migration.ts'

/** How much was left in each minute, as long as minutes are kept. Backups are the server's own here. */
export const levelsMigration: Migration = {
  version: 17,
  name: 'levels',
  sql: (schema) => `
CREATE TABLE ${schema}.levels (
  name   text NOT NULL, -- of a discovery; :tasks
  minute bigint NOT NULL,
  at     bigint NOT NULL, -- when it was looked at last in that minute
  "left" bigint NOT NULL, -- unfinished tasks, or rows that are not done
  done   bigint NOT NULL, -- rows that were ever done
  PRIMARY KEY (name, minute)
) WITH (fillfactor = 70);
`,
}
