import type { SharedMigration } from './migration.ts'

/** What workers without a supervisor last reported of themselves, for people to read. */
export const workerReports: SharedMigration = {
  version: 32,
  name: 'worker-reports',
  sql: `
CREATE TABLE gleaner.worker_reports (
  session bigint PRIMARY KEY,
  report  text NOT NULL -- JSON
);
`,
}
