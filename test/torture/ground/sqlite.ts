import { copyFileSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { COUNTING, FLAWS } from '../../../src/store/sqlite/maintenance/soundness.ts'
import type { Ground, Row } from './ground.ts'

/** A file in a folder of its own. */
export class SqliteGround implements Ground {
  readonly database: string
  readonly ownFlaws = FLAWS
  readonly counting = COUNTING
  readonly pointsMax = 5
  readonly #folder: string
  readonly #file: string
  readonly #copies: SqliteGround[] = []

  constructor(parent: string = tmpdir()) {
    this.#folder = realpathSync(mkdtempSync(join(parent, 'gleaner-torture-')))
    this.#file = join(this.#folder, 'app.db')
    this.database = `sqlite:${this.#file}`
  }

  async copy(): Promise<Ground> {
    const copy = new SqliteGround()
    this.#copies.push(copy)
    if (existsSync(this.#file)) copyFileSync(this.#file, copy.#file)
    return copy
  }

  async rows(sql: string): Promise<Row[]> {
    const statement = sql.replaceAll('gleaner.', 'gleaner_')
    return this.#connected((db) => {
      const prepared = db.prepare(statement)
      if (prepared.reader) return prepared.all() as Row[]
      prepared.run()
      return []
    })
  }

  async hasTables(): Promise<boolean> {
    return (await this.rows(`SELECT 1 FROM sqlite_schema WHERE name = 'gleaner.tasks'`)).length > 0
  }

  /** The system took its locks away with its process. */
  async deserted(): Promise<void> {}

  async damage(): Promise<string[]> {
    const integrity = this.#connected((db) => db.pragma('integrity_check', { simple: true }))
    return integrity === 'ok' ? [] : [`integrity_check: ${integrity}`]
  }

  isTelling(before: string): boolean {
    return !/^\s*(SELECT|PRAGMA)/.test(before)
  }

  async clear(): Promise<void> {
    for (const copy of this.#copies) await copy.clear()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }

  /** Closed each time: the last one to close brings everything into the one file. */
  #connected<T>(look: (db: Database.Database) => T): T {
    const db = new Database(this.#file, { timeout: 10_000 })
    try {
      return look(db)
    } finally {
      db.close()
    }
  }
}
