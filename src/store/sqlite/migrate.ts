import { StoreError } from '../../errors.ts'
import { isProvedDead } from '../../process-identity.ts'
import type { Connection } from './connection.ts'
import { migrations as ours } from './migrations/index.ts'

export interface Migration {
  version: number
  name: string
  sql: string
}

/**
 * Brings the tables to the version this code knows. One transaction, so that a process that is killed half-way
 * leaves the old version or the new one; the write lock lets one process at a time do it.
 */
export async function migrate(
  connection: Connection,
  now: () => number,
  migrations: readonly Migration[] = ours,
): Promise<void> {
  const latest = migrations.at(-1)?.version ?? 0
  // Looks before it locks: almost every open finds nothing to do.
  if ((await connection.read(() => versionOf(connection, latest))) === latest) return
  await connection.transaction(() => {
    const version = versionOf(connection, latest)
    if (version === latest) return
    if (version > 0) refuseWhileOthersWork(connection, version, latest)
    connection.raw.exec(`CREATE TABLE IF NOT EXISTS gleaner_migrations (
      version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`)
    const applied = connection.raw.prepare('INSERT INTO gleaner_migrations VALUES (?, ?, ?)')
    for (const migration of migrations.filter((m) => m.version > version)) {
      connection.raw.exec(migration.sql)
      applied.run(migration.version, migration.name, now())
    }
  })
}

function versionOf(connection: Connection, latest: number): number {
  const table = connection.raw.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'gleaner_migrations'").get()
  if (table === undefined) return 0
  const version = connection.raw
    .prepare('SELECT max(version) FROM gleaner_migrations')
    .pluck()
    .get() as number
  if (version > latest) {
    throw new StoreError(
      `the database is at version ${version}, this Gleaner knows versions up to ${latest}`,
      {
        code: 'STORE_NEWER',
        hint:
          'A newer Gleaner has used this file. Update this package to the same version; workers that already ran ' +
          'when the file was updated should be stopped and started with the new one.',
      },
    )
  }
  return version
}

/** Workers of the old version go on writing the old way: they must be gone before the tables change. */
function refuseWhileOthersWork(connection: Connection, version: number, latest: number): void {
  const sessions = connection.raw
    .prepare(
      'SELECT worker, host, boot, pid, start_time AS startTime FROM gleaner_sessions WHERE ended_at IS NULL',
    )
    .all() as { worker: string; host: string; boot: string; pid: number; startTime: string | null }[]
  const alive = sessions.filter((session) => !isProvedDead(session))
  if (alive.length === 0) return
  const who = alive.map((session) => `${session.worker} (pid ${session.pid} on ${session.host})`).join(', ')
  throw new StoreError(
    `the database must go from version ${version} to ${latest}, but older workers still run: ${who}`,
    { code: 'STORE_MIGRATION', hint: 'Stop them, then start the new version; nothing was changed.' },
  )
}
