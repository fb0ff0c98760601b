import type { SqliteDatabase, SqliteDriver, SqliteStatement } from '../drivers/driver.ts'

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
      statement = this.raw.prepare(text)
      this.#rows.set(text, statement)
    }
    return statement
  }

  /** Answers the first column alone. */
  scalar(text: string): SqliteStatement {
    let statement = this.#scalars.get(text)
    if (statement === undefined) {
      statement = this.raw.prepare(text).pluck()
      this.#scalars.set(text, statement)
    }
    return statement
  }
}
