import { existsSync } from 'node:fs'
import { StoreError } from '../../../errors.ts'
import type { TaskStatus } from '../../../model/task.ts'
import { isProvedDead, type ProcessIdentity } from '../../../process-identity.ts'
import { COPIED_TABLES, type Copied, type CopiedTable, type LastNumbers } from '../../copied-tables.ts'
import type { SqliteLibrary } from '../../ports/database.ts'
import { loadDriver } from '../drivers/load.ts'
import { refuseSecondLibrary } from '../drivers/second-library.ts'
import { Connection } from '../file/connection.ts'
import { migrations } from '../migrations/index.ts'
import { versionOf } from '../migrations/migrate.ts'

/** What is in memory at once: so many rows, of about so many characters, and one more. */
const ROWS_MAX = 1_000
const CHARACTERS_MAX = 2 ** 21

/** A database that is read to be copied. Nobody can write to it until it is closed: what was acknowledged until then is read. */
export class CopySource {
  readonly #connection: Connection

  private constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Refused while somebody works on it, or when it is not of our version. */
  static async open(path: string, library?: SqliteLibrary): Promise<CopySource> {
    if (!existsSync(path))
      throw new StoreError(`there is no database ${path}`, {
        code: 'STORE_AWAY',
        hint: 'Nothing was copied. Check its name.',
      })
    refuseSecondLibrary(path, loadDriver(library))
    const connection = new Connection(path, { library })
    try {
      refuseOtherVersion(await connection.read(() => versionOf(connection)))
      await connection.hold()
      refuseWhileUsed(connection)
      return new CopySource(connection)
    } catch (error) {
      connection.close()
      throw error
    }
  }

  count(): Omit<Copied, 'dryRun'> {
    const rows = this.#connection.raw
      .prepare('SELECT status, count(*) AS n FROM gleaner_tasks GROUP BY status')
      .all() as { status: TaskStatus; n: number }[]
    return {
      tasks: Object.fromEntries(rows.map(({ status, n }) => [status, n])),
      tables: Object.fromEntries(
        COPIED_TABLES.filter(({ seeded }) => !seeded).map((table) => [table.name, this.#countOf(table)]),
      ),
    }
  }

  #countOf(table: CopiedTable): number {
    const sql = `SELECT count(*) FROM ${placeOf(table)}`
    return this.#connection.raw.prepare(sql).pluck().get() as number
  }

  /** Whose worker is gone for good, and was not swept away, still holds what it held. */
  mustHoldNothing(): void {
    const held = this.#connection.raw
      .prepare(`SELECT (SELECT count(*) FROM gleaner_batches) + (SELECT count(*) FROM gleaner_claims)
                     + (SELECT count(*) FROM gleaner_tasks WHERE fence IS NOT NULL)
                     + (SELECT count(*) FROM gleaner_sessions WHERE ended_at IS NULL)`)
      .pluck()
      .get()
    if (held !== 0) throw inUse('a worker holds something')
  }

  /** Those of the target that are read here. A column that has no place there would be lost unseen. */
  columnsFor(table: CopiedTable, there: readonly string[]): string[] {
    const { instead = {}, without = [], name } = table
    const own = this.#connection.raw.prepare(`SELECT * FROM ${placeOf(table)} LIMIT 0`).columns()
    const here = own.map((column) => column.name).filter((column) => !without.includes(column))
    const lost = here.filter((column) => !there.includes(column))
    if (lost.length > 0) throw new Error(`${name}: no rule says where ${lost.join(', ')} goes`)
    return there.filter((column) => here.includes(column) || column in instead)
  }

  /** By its key, a bounded piece at a time. */
  *batches(table: CopiedTable, columns: readonly string[]): Generator<unknown[][]> {
    const places = table.key.map((column) => columns.indexOf(column))
    for (let rows = this.#some(table, columns, null); rows.length > 0; ) {
      yield rows
      const last = rows.at(-1)!
      rows = this.#some(
        table,
        columns,
        places.map((place) => last[place]),
      )
    }
  }

  #some(table: CopiedTable, columns: readonly string[], after: readonly unknown[] | null): unknown[][] {
    const { key, instead = {} } = table
    const read = columns.map((column) => instead[column] ?? `t."${column}"`)
    const order = key.map((column) => `t."${column}"`).join(', ')
    const behind = after === null ? '' : `WHERE (${order}) > (${after.map(() => '?').join(', ')})`
    const sql = `SELECT ${read.join(', ')} FROM ${placeOf(table)} t ${behind} ORDER BY ${order}`
    const rows: unknown[][] = []
    let characters = 0
    for (const row of this.#connection.statements
      .sql(sql)
      .raw()
      .iterate(...(after ?? []))) {
      rows.push(row as unknown[])
      for (const value of row as unknown[]) if (typeof value === 'string') characters += value.length
      if (rows.length >= ROWS_MAX || characters >= CHARACTERS_MAX) break
    }
    return rows
  }

  lastNumbers(): LastNumbers {
    const number = (sql: string) => this.#connection.raw.prepare(sql).pluck().get() as number
    const meta = (key: string) => `SELECT value FROM gleaner_meta WHERE key = '${key}'`
    return {
      fence: number(meta('fence')),
      task: number(
        `SELECT max(coalesce((SELECT max(id) FROM gleaner_tasks), 0), (${meta('removed_through')}))`,
      ),
    }
  }

  close(): void {
    this.#connection.rollback()
    this.#connection.close()
  }
}

function placeOf({ name, from }: CopiedTable): string {
  return from ?? `gleaner_${name}`
}

function refuseOtherVersion(version: number): void {
  const latest = migrations.at(-1)!.version
  if (version === latest) return
  const message =
    version === 0
      ? "copy: the database has no tables of Gleaner's"
      : `copy: the database is at version ${version}, this Gleaner needs ${latest}`
  throw new StoreError(message, {
    code: 'STORE_MIGRATION',
    hint: 'Nothing was copied. Update the database with `gleaner migrate`, then copy again.',
  })
}

/** Workers, and supervisors that would start some. */
function refuseWhileUsed({ raw }: Connection): void {
  const users = raw
    .prepare(`SELECT worker AS name, host, boot, pid, start_time AS startTime FROM gleaner_sessions WHERE ended_at IS NULL
              UNION ALL
              SELECT 'supervisor ' || name, host, boot, pid, start_time FROM gleaner_supervisors WHERE has_left = 0`)
    .all() as (ProcessIdentity & { name: string })[]
  const alive = users.filter((user) => !isProvedDead(user, { remote: false }))
  if (alive.length === 0) return
  throw inUse(alive.map(({ name, pid, host }) => `${name} (pid ${pid} on ${host})`).join(', '))
}

function inUse(who: string): StoreError {
  return new StoreError(`copy: the database is in use: ${who}`, {
    code: 'STORE_IN_USE',
    hint: 'Nothing was copied. Stop every worker and every app that enqueues, then copy again.',
  })
}
