import { StoreError } from '../../../errors.ts'
import type { PostgresOptions } from '../../ports/database.ts'
import type { MaintenanceStore } from '../../ports/maintenance.ts'
import { repairFlows } from '../../scripts/flows/repair.ts'
import { pruneTasks } from '../../scripts/prune.ts'
import { checked } from '../../soundness.ts'
import type { Scripts } from '../../sql/scripts.ts'
import { giveBackUnreachable } from '../give-back/unreachable.ts'
import type { Database } from '../server/database.ts'
import type { Memory } from '../tasks/memory.ts'
import { dump } from './pg-dump.ts'
import { postgresPruning } from './prune.ts'
import { findingsIn } from './soundness.ts'

export interface MaintenanceServices {
  database: Database
  memory: Memory
  scripts: Scripts
  clockMs: () => number | null
  read<T>(work: () => Promise<T>): Promise<T>
  /** Where the server is. */
  address: Pick<PostgresOptions, 'url' | 'ssl'>
}

/** What it adds to the port. */
type Maintenance = Pick<
  MaintenanceStore,
  'pruneTasks' | 'check' | 'optimize' | 'checkpoint' | 'backup' | 'backups' | 'restore'
>

export function postgresMaintenance({
  database,
  memory,
  scripts,
  clockMs,
  read,
  address,
}: MaintenanceServices): Maintenance {
  const pruning = postgresPruning(scripts.db)

  return {
    pruneTasks: (retention, step) => pruneTasks(scripts, pruning, retention, step),
    check: () =>
      read(() =>
        checked(
          () => findingsIn(database.unhurried),
          async () => {
            await giveBackUnreachable(database, memory, clockMs())
            await scripts.write(() => repairFlows())
          },
        ),
      ),
    optimize: () =>
      read(async () => {
        await vacuum(database)
        return { vacuumed: true, freeBytes: null }
      }),
    // The server does it by itself, for all databases together.
    checkpoint: () => read(async () => ({ complete: true })),
    async backup(path, options) {
      const [{ version }] = (await read(() =>
        database.sql.rows<{ version: number }>(
          "SELECT current_setting('server_version_num')::int AS version",
          [],
        ),
      )) as [{ version: number }]
      const { url, ssl } = address
      return dump({ url, ssl, major: Math.floor(version / 10_000) }, path, options)
    },
    backups: () => read(async () => []),
    async restore() {
      throw notOurs()
    },
  }
}

/** What was removed may be filled again, and the planner knows what the tables look like. Not FULL: that locks them. */
async function vacuum(database: Database): Promise<void> {
  const { sql } = database
  const tables = await sql.rows<{ name: string }>(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = $1',
    [sql.schema],
  )
  await database.outside(tables.map(({ name }) => `VACUUM (ANALYZE) gleaner."${name}"`))
}

export function notOurs(): StoreError {
  return new StoreError('restore: PostgreSQL has a tool of its own for it', {
    code: 'NOT_SUPPORTED',
    hint: 'Stop all processes that use the database. Then run: pg_restore --clean --if-exists --dbname=<url> <backup>.',
  })
}
