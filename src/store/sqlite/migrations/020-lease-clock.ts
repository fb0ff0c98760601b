import type { Migration } from './migration.ts'

/** See `model/lease-clock.ts`. A session that is older gets a whole lease from now on. */
export const leaseClock: Migration = {
  version: 20,
  name: 'lease clock',
  sql: `
CREATE TABLE gleaner_lease_clock (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  time_ms INTEGER NOT NULL,
  at      INTEGER NOT NULL
) STRICT;
INSERT INTO gleaner_lease_clock VALUES (1, 0, 0);

ALTER TABLE gleaner_sessions ADD COLUMN lease_time INTEGER NOT NULL DEFAULT 0; -- the lease clock at its last renewal
`,
}
