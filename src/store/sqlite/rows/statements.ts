import { type InSlots, inSlots, type PlanStep, plansOf } from '../file/slots.ts'
import type { Statements } from '../file/statements.ts'
import { type From, quoted, type RowSource } from './source-sql.ts'

/** The statements of a discovery, put together once: a text that is built anew each time costs more than what it asks. */
export class DiscoveryStatements {
  readonly #rows: RowSource
  readonly #texts = new Map<string, string>()
  readonly #together = new Map<string, InSlots>()
  readonly #led = new Map<InSlots, boolean>()
  #findsByKey: boolean | undefined
  /** The version of an eligible row. */
  readonly versionOf: string
  readonly isEligible: string
  /** Any of many keys whose row is (still) eligible. */
  readonly eligibleAmong: string

  constructor(rows: RowSource) {
    this.#rows = rows
    const { table, eligible, isRow, version } = rows
    this.versionOf = `SELECT ${version} FROM ${table} WHERE ${isRow(':key')} AND ${eligible}`
    this.isEligible = `SELECT 1 FROM ${table} WHERE ${isRow(':key')} AND ${eligible}`
    this.eligibleAmong = `SELECT 1 FROM json_each(:keys) k WHERE (SELECT ${eligible} FROM ${table} WHERE ${isRow('k.value')}) LIMIT 1`
  }

  /** Waiting rows behind a position, with all that a claim needs; among so many eligible ones. */
  find(from: From): string {
    const { version, table, joinNext } = this.#rows
    return this.#text(`find ${from}`, () =>
      this.#find(
        from,
        `e.k, ${version}, ${this.#place()}, l.attempts, l.row_version, ${this.#columns()}`,
        `CROSS JOIN ${table} ON ${joinNext}`,
      ),
    )
  }

  /** Their keys and places alone. */
  findKeys(from: From): string {
    return this.#text(`find keys ${from}`, () => this.#find(from, `e.k, ${this.#place()}`, ''))
  }

  #place(): string {
    return this.#rows.isOrdered ? 'e.place' : 'NULL'
  }

  #find(from: From, what: string, joined: string): string {
    return `SELECT ${what}
      FROM (${this.#rows.next(from)} LIMIT :examined) e
      LEFT JOIN gleaner_ledger l ON l.discovery = :name AND l.row_key = e.k
      ${joined}
      WHERE NOT EXISTS (SELECT 1 FROM gleaner_claims c WHERE c.discovery = :name AND c.row_key = e.k)
        AND (l.row_key IS NULL OR (l.blocked_until <= :now AND l.suspect = 0))
      LIMIT :count`
  }

  /**
   * Whether `find` goes from each key to its row. If the table was small when it was analysed SQLite would read it to its end, for
   * each of them; a row that is asked for alone is always found by its key.
   */
  findsByKey(db: Statements): boolean {
    this.#findsByKey ??= loopsOf(
      db.raw
        .prepare(`EXPLAIN QUERY PLAN ${this.find('beginning')}`)
        .all({ name: '', now: 0, count: 0, examined: 0 }) as PlanStep[],
    )
      .at(-1)!
      .startsWith('SEARCH ')
    return this.#findsByKey
  }

  isAny(from: From): string {
    return this.#text(
      `any ${from}`,
      () => `SELECT 1 FROM (${this.#rows.next(from)} LIMIT :examined) e
      WHERE NOT EXISTS (SELECT 1 FROM gleaner_claims c WHERE c.discovery = :name AND c.row_key = e.k)
        AND NOT EXISTS (SELECT 1 FROM gleaner_ledger l WHERE l.discovery = :name AND l.row_key = e.k
                          AND (l.blocked_until > :now OR l.suspect = 1)) LIMIT 1`,
    )
  }

  countNext(from: From): string {
    return this.#text(`count ${from}`, () => `SELECT count(*) FROM (${this.#rows.next(from)} LIMIT :limit)`)
  }

  placeOfNext(from: From): string {
    return this.#text(
      `place ${from}`,
      () => `SELECT place FROM (${this.#rows.next(from)} LIMIT 1 OFFSET :skip)`,
    )
  }

  /** A single row, if it is eligible, in the same columns as `find`. */
  findRow(): string {
    const { keyText, version, table, isRow, eligible } = this.#rows
    const said = (what: string) =>
      `(SELECT ${what} FROM gleaner_ledger WHERE discovery = :name AND row_key = :key)`
    return this.#text(
      'row',
      () => `SELECT ${keyText}, ${version}, NULL, ${said('attempts')}, ${said('row_version')}, ${this.#columns()}
      FROM ${table} WHERE ${isRow(':key')} AND ${eligible}`,
    )
  }

  /** Only the row as it was claimed, by who holds it: the values, key, name, key, fence, session. */
  updateHeld(columns: readonly string[]): string {
    const { table, isRow, eligible, version } = this.#rows
    return this.#text(
      `held ${JSON.stringify(columns)}`,
      () => `UPDATE OR ABORT ${table} SET ${assignments(columns)} WHERE ${isRow('@key')} AND ${eligible} AND ${version} = (
      SELECT row_version FROM gleaner_claims
      WHERE discovery = @name AND row_key = @key AND fence = @fence AND session = @session)`,
    )
  }

  /** The same for many: the key of each, and what is its own. Only the key leads to a row, no index of the condition. */
  updateTogether(columns: readonly string[], own: OwnValues): InSlots {
    const { table, isRow, eligible, version } = this.#rows
    const name = JSON.stringify([own.fence, own.values, columns])
    const fence = own.fence ? 'gleaner_done.column2' : '@fence'
    const behind = own.fence ? 3 : 2
    const value = (n: number) => (own.values ? `gleaner_done.column${n + behind}` : `@${boundName(n)}`)
    const set = columns.map((column, n) => `${quoted(column)} = ${value(n)}`).join(', ')
    const text = (rows: string) => `UPDATE OR ABORT ${table} SET ${set} FROM (VALUES ${rows}) gleaner_done
      WHERE ${isRow('gleaner_done.column1')} AND +${eligible} AND ${version} = (
        SELECT row_version FROM gleaner_claims c
        WHERE c.discovery = @name AND c.row_key = gleaner_done.column1 AND c.fence = ${fence} AND c.session = @session)`
    const known = this.#together.get(name) ?? inSlots(widthOf(columns, own), text)
    this.#together.set(name, known)
    return known
  }

  /** The planner may prefer to read the whole table, if it was small when it was analysed: then each row is for itself. */
  isLedByKeys(db: Statements, update: InSlots, named: Record<string, unknown>): boolean {
    let isLed = this.#led.get(update)
    if (isLed === undefined) {
      isLed = plansOf(db, update, named).every((steps) => {
        const [first, second] = loopsOf(steps)
        return first!.includes('VALUES CLAUSE') && second!.startsWith('SEARCH ')
      })
      this.#led.set(update, isLed)
    }
    return isLed
  }

  update(columns: readonly string[]): string {
    const { table, isRow } = this.#rows
    return this.#text(
      `update ${JSON.stringify(columns)}`,
      () => `UPDATE OR ABORT ${table} SET ${assignments(columns)} WHERE ${isRow('@key')}`,
    )
  }

  #columns(): string {
    const { columns, source } = this.#rows
    return columns.map((column) => `${quoted(source.table)}.${quoted(column)}`).join(', ')
  }

  #text(name: string, build: () => string): string {
    let text = this.#texts.get(name)
    if (text === undefined) {
      text = build()
      this.#texts.set(name, text)
    }
    return text
  }
}

/** What each of many rows that are handed in has to itself; the rest is the same for all. */
export interface OwnValues {
  fence: boolean
  values: boolean
}

/** Of a slot: key, fence and values, as far as they are its own. */
export function widthOf(columns: readonly string[], own: OwnValues): number {
  return 1 + (own.fence ? 1 : 0) + (own.values ? columns.length : 0)
}

/** What a value is called that many rows have in common. */
export function boundName(n: number): string {
  return `value${n}`
}

/** The outermost ones, in their order. */
function loopsOf(steps: readonly PlanStep[]): string[] {
  return steps
    .filter(({ parent, detail }) => parent === 0 && /^(SCAN|SEARCH) /.test(detail))
    .map(({ detail }) => detail)
}

function assignments(columns: readonly string[]): string {
  return columns.map((column) => `${quoted(column)} = ?`).join(', ')
}
