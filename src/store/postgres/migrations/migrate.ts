import { StoreError } from '../../../errors.ts'
import type { ProcessIdentity } from '../../../process-identity.ts'
import { refuseNewer, refuseWhileOthersWork, UNRENEWED_MAX_MS } from '../../versions.ts'
import type { Database } from '../server/database.ts'
import type { Sql } from '../server/sql.ts'
import { migrations as ours } from './index.ts'
import type { Migration } from './migration.ts'

export const OLDEST_SERVER = 130_000

/** One transaction under an advisory lock: one process does it, the others wait and find it done. */
export async function migrate(database: Database, migrations: readonly Migration[] = ours): Promise<void> {
  const latest = migrations.at(-1)?.version ?? 0
  if ((await versionOf(database.sql, latest)) === latest) return
  await database.transaction(async (sql) => {
    await refuseOldServer(sql)
    // Otherwise a backslash in a migration would begin an escape.
    await sql.run('SET LOCAL standard_conforming_strings = on')
    await sql.run('SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))', [
      `gleaner migration ${sql.schema}`,
    ])
    const version = await versionOf(sql, latest)
    if (version === latest) return
    if (version > 0) refuseWhileOthersWork(await liveSessions(sql), { version, latest, remote: true })
    else await createSchema(sql)
    await sql.run(`CREATE TABLE IF NOT EXISTS gleaner.migrations (
      version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT pg_catalog.now())`)
    for (const migration of migrations.filter((m) => m.version > version)) {
      await sql.run(migration.sql(`"${sql.schema}"`))
      await sql.run('INSERT INTO gleaner.migrations (version, name) VALUES ($1, $2)', [
        migration.version,
        migration.name,
      ])
    }
  })
}

/** Asked for only when it is missing: IF NOT EXISTS needs the right to create one even when there is one. */
async function createSchema(sql: Sql): Promise<void> {
  const found = await sql.row('SELECT 1 FROM pg_namespace WHERE nspname = $1', [sql.schema])
  if (found === undefined) await sql.run(`CREATE SCHEMA "${sql.schema}"`)
}

async function refuseOldServer(sql: Sql): Promise<void> {
  const row = await sql.row<{ version: string; words: string }>(
    `SELECT pg_catalog.current_setting('server_version_num') AS version, pg_catalog.current_setting('server_version') AS words`,
  )
  if (Number(row?.version) >= OLDEST_SERVER) return
  throw new StoreError(`the PostgreSQL server is version ${row?.words}`, {
    code: 'STORE_FAILED',
    hint: 'Gleaner needs PostgreSQL 13 or newer.',
  })
}

export async function versionOf(sql: Sql, latest: number): Promise<number> {
  // Not to_regclass: it would answer from what this connection remembers, while another has just created it.
  const table = await sql.row(
    `SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relname = 'migrations'`,
    [sql.schema],
  )
  if (table === undefined) return 0
  const row = await sql.row<{ version: number | null }>(
    'SELECT pg_catalog.max(version) AS version FROM gleaner.migrations',
  )
  const version = row?.version ?? 0
  refuseNewer(version, latest)
  return version
}

function liveSessions(sql: Sql): Promise<(ProcessIdentity & { worker: string })[]> {
  return sql.rows(
    `SELECT worker, host, boot, pid, start_time AS "startTime" FROM gleaner.sessions
     WHERE ended_at IS NULL AND renewed_at > gleaner.now_ms() - $1`,
    [UNRENEWED_MAX_MS],
  )
}
