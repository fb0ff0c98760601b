import { InputError, StoreError } from '../../errors.ts'
import { COPIED_TABLES, type Copied, type CopyTarget } from '../copied-tables.ts'
import type { PostgresOptions, SqliteLibrary } from '../ports/database.ts'
import { CopySource } from '../sqlite/maintenance/copy-source.ts'
import { sqlitePath } from './open.ts'

export interface CopyOptions {
  /** How to reach the target, beside its URL. */
  postgres?: Omit<PostgresOptions, 'url'>
  /** Which library opens the source. */
  sqlite?: { library?: SqliteLibrary | undefined } | undefined
  /** Counts, and says whether it could be done; writes nothing. */
  dryRun?: boolean
  onProgress?: (progress: CopyProgress) => void
}

export interface CopyProgress {
  /** What is being copied. */
  table: string
  /** Rows, of all tables. */
  copied: number
  total: number
}

/**
 * All that the engine keeps, from a SQLite file into an empty schema of PostgreSQL. Nobody can write to the source meanwhile, and
 * the target is one transaction: killed at any moment, there is nothing in it.
 */
export async function copyTables(from: string, to: string, options: CopyOptions = {}): Promise<Copied> {
  const { dryRun = false, postgres = {}, sqlite = {}, onProgress = () => {} } = options
  const target = { url: targetUrl(to), ...postgres }
  const source = await CopySource.open(sourcePath(from), sqlite.library)
  try {
    const { checkEmpty, intoEmptySchema } = await import('../postgres/maintenance/copy-target.ts')
    const counted = source.count()
    if (dryRun) {
      await checkEmpty(target)
      return { dryRun, ...counted }
    }
    source.mustHoldNothing()
    const there = await intoEmptySchema(target, async (into) => {
      await copyRows(source, into, counted, onProgress)
      await into.conclude(source.lastNumbers())
      const there = await into.count()
      refuseDifference(counted, there)
      return there
    })
    return { dryRun, ...there }
  } finally {
    source.close()
  }
}

/** The file of the source. */
export function sourcePath(database: string): string {
  const path = sqlitePath(database)
  if (path !== undefined && path !== ':memory:') return path
  const message = path === undefined ? 'it is on PostgreSQL' : 'it is in memory'
  throw new StoreError(`copy: ${message}, and only a SQLite file can be copied`, {
    code: 'NOT_SUPPORTED',
    hint: path === undefined ? 'Use pg_dump and pg_restore.' : "Name a file, e.g. 'sqlite:./app.db'.",
  })
}

/** What is none is not repeated: it may hold a password. */
function targetUrl(url: string): string {
  if (/^postgres(ql)?:/.test(url)) return url
  throw new InputError('copy: the target is not a PostgreSQL URL', {
    code: 'BAD_OPTION',
    hint: "Use 'postgres://user:password@host/database'; SQLite files are copied by backup.",
  })
}

async function copyRows(
  source: CopySource,
  target: CopyTarget,
  { tables }: Pick<Copied, 'tables'>,
  tell: (progress: CopyProgress) => void,
): Promise<void> {
  const total = Object.values(tables).reduce((sum, rows) => sum + rows, 0)
  let copied = 0
  for (const table of COPIED_TABLES) {
    const columns = source.columnsFor(table, await target.columnsOf(table))
    for (const rows of source.batches(table, columns)) {
      await target.write(table, columns, rows)
      if (table.seeded) continue
      copied += rows.length
      tell({ table: table.name, copied, total })
    }
  }
}

function refuseDifference(here: Omit<Copied, 'dryRun'>, there: Omit<Copied, 'dryRun'>): void {
  const differing = [...differences(here.tables, there.tables), ...differences(here.tasks, there.tasks)]
  if (differing.length === 0) return
  throw new StoreError(`copy: the two sides differ: ${differing.join(', ')}`, {
    code: 'STORE_FAILED',
    hint: 'Nothing was copied. Run gleaner check on the source.',
  })
}

function differences(here: Record<string, number>, there: Record<string, number>): string[] {
  return [...new Set([...Object.keys(here), ...Object.keys(there)])]
    .filter((name) => (here[name] ?? 0) !== (there[name] ?? 0))
    .map((name) => `${name} ${here[name] ?? 0} and ${there[name] ?? 0}`)
}
