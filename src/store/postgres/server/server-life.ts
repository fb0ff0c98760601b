import type { Database } from './database.ts'
import type { Sql } from './sql.ts'

/** More fences than a server can have given out since it last wrote to disk. */
const FENCES_LOST_MAX = 2 ** 26

/** For statements that ask along: null when the server has lost something, and no new life has begun. */
export const LIFE = '(SELECT life FROM gleaner.server_life)'

/** A number that no other life has. */
export const NEW_LIFE = 'pg_catalog.floor(pg_catalog.random() * 2 ^ 52)::bigint'

type Held = 'tasks' | 'rows'

/**
 * Claims and completions are committed without a sync, so a crash of the server or a failover loses the last of them, and
 * the fences that were given out with them. Both empty unlogged tables. The one row of `server_life` therefore proves that
 * nothing was lost since it was written: it names this life of the server. After a loss the table is empty: nothing is
 * claimed until a new life has begun, and each session first compares what it holds with what the server remembers.
 */
export class ServerLife {
  readonly #database: Database
  readonly #onBegun: () => void
  /** By session: the life in which what it holds was last compared. */
  readonly #compared: Record<Held, Map<string, number>> = { tasks: new Map(), rows: new Map() }
  #beginning: Promise<number> | undefined

  constructor(database: Database, onBegun: () => void) {
    this.#database = database
    this.#onBegun = onBegun
  }

  /** The life in which the session last knew for certain what it holds; null: in none. */
  of(held: Held, session: string): number | null {
    return this.#compared[held].get(session) ?? null
  }

  isCompared(held: Held, session: string, life: number | null): boolean {
    return life !== null && this.of(held, session) === life
  }

  /** After the commit. */
  compared(held: Held, session: string, life: number | null): void {
    if (life !== null) this.#compared[held].set(session, life)
  }

  /** It holds nothing yet. */
  opened(session: string, life: number | null): void {
    this.compared('tasks', session, life)
    this.compared('rows', session, life)
  }

  ended(session: string): void {
    for (const sessions of Object.values(this.#compared)) sessions.delete(session)
  }

  /** Fences begin where none was ever given out, and that is on disk before any of them is. */
  begin(): Promise<number> {
    this.#beginning ??= this.#begin().finally(() => {
      this.#beginning = undefined
    })
    return this.#beginning
  }

  async #begin(): Promise<number> {
    const { life, isNew } = await this.#database.transaction(beginLife)
    if (isNew) this.#onBegun()
    return life
  }
}

/** Not new: another process has begun it already. */
async function beginLife(sql: Sql): Promise<{ life: number; isNew: boolean }> {
  await sql.run('LOCK TABLE gleaner.server_life IN SHARE ROW EXCLUSIVE MODE')
  const begun = await sql.row<{ life: number }>('SELECT life FROM gleaner.server_life')
  if (begun !== undefined) return { ...begun, isNew: false }
  // Whatever the server's default is: a fence that is forgotten again would be given out twice.
  await sql.run(`SELECT pg_catalog.set_config('synchronous_commit', 'on', true)`)
  await sql.run(
    `SELECT pg_catalog.setval('gleaner.fence', last_value + ${FENCES_LOST_MAX}) FROM gleaner.fence`,
  )
  const row = await sql.row<{ life: number }>(
    `INSERT INTO gleaner.server_life (life) VALUES (${NEW_LIFE}) RETURNING life`,
  )
  return { ...row!, isNew: true }
}
