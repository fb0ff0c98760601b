import type { ProcessIdentity } from '../../../process-identity.ts'
import { refuseNewer, refuseWhileOthersWork, UNRENEWED_MAX_MS } from '../../versions.ts'
import type { Connection } from '../file/connection.ts'
import { migrations as ours } from './index.ts'
import type { Migration } from './migration.ts'

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
    if (version > 0)
      refuseWhileOthersWork(liveSessions(connection, now() - UNRENEWED_MAX_MS), {
        version,
        latest,
        remote: false,
      })
    connection.raw.exec(`CREATE TABLE IF NOT EXISTS gleaner_migrations (
      version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`)
    const applied = connection.raw.prepare('INSERT INTO gleaner_migrations VALUES (?, ?, ?)')
    for (const migration of migrations.filter((m) => m.version > version)) {
      connection.raw.exec(migration.sql)
      applied.run(migration.version, migration.name, now())
    }
  })
}

/** 0: Gleaner was never here. */
export function versionOf(connection: Connection, latest = ours.at(-1)?.version ?? 0): number {
  const table = connection.raw.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'gleaner_migrations'").get()
  if (table === undefined) return 0
  const version = connection.raw
    .prepare('SELECT max(version) FROM gleaner_migrations')
    .pluck()
    .get() as number
  refuseNewer(version, latest)
  return version
}

function liveSessions(
  connection: Connection,
  renewedAfter: number,
): (ProcessIdentity & { worker: string })[] {
  return connection.raw
    .prepare(
      `SELECT worker, host, boot, pid, start_time AS startTime FROM gleaner_sessions
       WHERE ended_at IS NULL AND renewed_at > ?`,
    )
    .all(renewedAfter) as (ProcessIdentity & { worker: string })[]
}
