import type { SqliteDatabase, SqliteDriver, SqliteStatement } from '../drivers/driver.ts'

/** A limit that is a parameter and nothing else. */
const BARE_LIMIT = /\bLIMIT ([?:]\w*)/g

/** SQLite plans a statement again each time a parameter that stands for its whole limit is bound, which costs more than most lookups. */
function planOnce(text: string): string {
  return text.replace(BARE_LIMIT, 'LIMIT $1 + 0')
}

/** The prepared statements of one connection, by their text: ours, or a user's own in `within`. */
export class Statements {
  readonly raw: SqliteDatabase
  readonly driver: SqliteDriver
  readonly #rows = new Map<string, SqliteStatement>()
  readonly #scalars = new Map<string, SqliteStatement>()

  constructor(raw: SqliteDatabase, driver: SqliteDriver) {
    this.raw = raw
    this.driver = driver
  }

  /** Of the database, absolute and behind all symbolic links; empty for one in memory. */
  fileName(): string {
    return this.scalar("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as string
  }

  /** Answers rows as objects. */
  sql(text: string): SqliteStatement {
    let statement = this.#rows.get(text)
    if (statement === undefined) {
      statement = this.raw.prepare(planOnce(text))
      this.#rows.set(text, statement)
    }
    return statement
  }

  /** Answers the first column alone. */
  scalar(text: string): SqliteStatement {
    let statement = this.#scalars.get(text)
    if (statement === undefined) {
      statement = this.raw.prepare(planOnce(text)).pluck()
      this.#scalars.set(text, statement)
    }
    return statement
  }
}
