import type { Migration } from './migration.ts'

/** See `model/lease-clock.ts`. A session that is older gets a whole lease from now on. */
export const leaseClock: Migration = {
  version: 20,
  name: 'lease clock',
  sql: (schema) => `
CREATE TABLE ${schema}.lease_clock (
  one     boolean PRIMARY KEY DEFAULT true CHECK (one),
  time_ms bigint NOT NULL,
  at      bigint NOT NULL
) WITH (fillfactor = 20);
INSERT INTO ${schema}.lease_clock (time_ms, at) VALUES (0, 0);

-- The lease clock at its last renewal.
ALTER TABLE ${schema}.sessions ADD COLUMN lease_time bigint NOT NULL DEFAULT 0;
`,
}
