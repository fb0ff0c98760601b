import { NEW_LIFE } from '../server/server-life.ts'
import type { Migration } from './migration.ts'

/** A crash of the server or a failover empties an unlogged table: an empty one says that commits may have been lost. See `server-life.ts`. */
export const serverLife: Migration = {
  version: 19,
  name: 'server life',
  sql: (schema) => `
CREATE UNLOGGED TABLE ${schema}.server_life (
  one  boolean PRIMARY KEY DEFAULT true CHECK (one),
  life bigint NOT NULL
);
INSERT INTO ${schema}.server_life (life) VALUES (${NEW_LIFE});
`,
}
