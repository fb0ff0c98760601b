import { writeSync } from 'node:fs'
import { Connection } from '../../../../src/store/sqlite/file/connection.ts'
import { migrations } from '../../../../src/store/sqlite/migrations/index.ts'
import { migrate } from '../../../../src/store/sqlite/migrations/migrate.ts'

/**
 * Brings a file to a version that does not exist yet, by a long migration. Stops half-way, inside SQLite and inside
 * the transaction, until it is killed: after the migration of version `stopAt`, or at none.
 */
const [path, stopAt] = process.argv.slice(2)

const future = {
  version: migrations.at(-1)!.version + 1,
  name: 'future',
  // More than the cache holds, so that pages of the unfinished transaction are already in the log.
  sql: `
    CREATE TABLE gleaner_future (n INTEGER PRIMARY KEY, blob BLOB);
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 30000)
    INSERT INTO gleaner_future SELECT n, randomblob(1000) FROM numbers;
    ALTER TABLE gleaner_queues ADD COLUMN future INTEGER;`,
}
const HALF_WAY = `
  SELECT half_way();
  WITH RECURSIVE forever (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM forever) SELECT count(*) FROM forever;`

const FUNCTION = { varargs: false, deterministic: false, safeIntegers: false }

const connection = new Connection(path!)
connection.raw.function('half_way', FUNCTION, () => {
  // The event loop does not turn any more: a message would never leave.
  writeSync(1, 'half-way\n')
  return null
})
await connection.configure()
await migrate(
  connection,
  Date.now,
  [...migrations, future].map((migration) =>
    migration.version === Number(stopAt) ? { ...migration, sql: migration.sql + HALF_WAY } : migration,
  ),
)
writeSync(1, 'migrated\n')
// Stays, so that it is killed here, too.
setInterval(() => {}, 60_000)
