import type { Checkpointed, Optimized, OptimizeOptions } from '../../ports/maintenance.ts'
import type { Connection } from '../file/connection.ts'

/** Rows of an index that are looked at for its statistics: enough for the planner, and no scan. */
const ANALYSIS_LIMIT = 400

/** Unasked, a file is written anew only if that gains much and takes no more than some tenths of a second. */
const WORTH_BYTES = 8 * 2 ** 20
const WORTH_SHARE = 0.5
const QUICK_BYTES = 32 * 2 ** 20

export async function optimize(connection: Connection, { vacuum }: OptimizeOptions): Promise<Optimized> {
  const { raw } = connection
  await connection.read(() => {
    raw.pragma(`analysis_limit = ${ANALYSIS_LIMIT}`)
    // 0x10000: all tables, not only those that this connection has asked something of.
    raw.pragma('optimize = 0x10002')
  })
  const vacuumed = vacuum ?? isWorthIt(connection)
  if (vacuumed) {
    await connection.read(() => raw.exec('VACUUM'))
    await checkpoint(connection)
  }
  return { vacuumed, freeBytes: sizes(connection).freeBytes }
}

/** Tables of the app's may have rows without a key of their own, whose numbers it would change: only when asked to. */
function isWorthIt(connection: Connection): boolean {
  const { bytes, freeBytes } = sizes(connection)
  return (
    freeBytes >= WORTH_BYTES &&
    freeBytes >= bytes * WORTH_SHARE &&
    bytes - freeBytes <= QUICK_BYTES &&
    connection.raw
      .prepare(`SELECT 1 FROM sqlite_schema
                WHERE type = 'table' AND name NOT LIKE 'gleaner\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`)
      .get() === undefined
  )
}

function sizes({ raw }: Connection): { bytes: number; freeBytes: number } {
  const number = (pragma: string) => raw.pragma(pragma, { simple: true }) as number
  const pageBytes = number('page_size')
  return { bytes: number('page_count') * pageBytes, freeBytes: number('freelist_count') * pageBytes }
}

/** Everything into the database file, and the log's file empty. */
export async function checkpoint(connection: Connection): Promise<Checkpointed> {
  const { busy } = await connection.read(() => connection.checkpoint('TRUNCATE'))
  return { complete: busy === 0 }
}
