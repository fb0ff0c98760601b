import type Database from 'better-sqlite3'

type Statement = Database.Statement<any[], any>

/** The prepared statements of one connection, by their text: ours, or a user's own in `within`. */
export class Statements {
  readonly raw: Database.Database
  readonly #rows = new Map<string, Statement>()
  readonly #scalars = new Map<string, Statement>()

  constructor(raw: Database.Database) {
    this.raw = raw
  }

  /** Answers rows as objects. */
  sql(text: string): Statement {
    let statement = this.#rows.get(text)
    if (statement === undefined) {
      statement = this.raw.prepare(text)
      this.#rows.set(text, statement)
    }
    return statement
  }

  /** Answers the first column alone. */
  scalar(text: string): Statement {
    let statement = this.#scalars.get(text)
    if (statement === undefined) {
      statement = this.raw.prepare(text).pluck()
      this.#scalars.set(text, statement)
    }
    return statement
  }
}
