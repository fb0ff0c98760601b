import type { Statements } from './statements.ts'

const FEW = 8
const MANY = 64

/** A statement for many rows of values at a time; as JSON they would cost half as much again. */
export interface InSlots {
  width: number
  few: string
  many: string
}

/** `text` is given the rows as VALUES takes them. Those that are not needed are NULL. */
export function inSlots(width: number, text: (rows: string) => string): InSlots {
  const row = `(${Array(width).fill('?').join(', ')})`
  const of = (slots: number) => text(Array(slots).fill(row).join(', '))
  return { width, few: of(FEW), many: of(MANY) }
}

/** Values for as many runs of a statement as it takes. */
export type Filled = readonly unknown[][]

/** The first `width` values of each row. */
export function fillSlots(width: number, rows: readonly (readonly unknown[])[]): Filled {
  const filled: unknown[][] = []
  for (let from = 0; from < rows.length; ) {
    const slots = rows.length - from > FEW ? MANY : FEW
    const values = new Array(slots * width).fill(null)
    for (let n = 0; n < slots && from + n < rows.length; n++)
      for (let column = 0; column < width; column++) values[n * width + column] = rows[from + n]![column]
    filled.push(values)
    from += slots
  }
  return filled
}

/** How many rows of the database it changed. */
export function runInSlots(
  db: Statements,
  { width, few, many }: InSlots,
  filled: Filled,
  named: Record<string, unknown>,
): number {
  let changes = 0
  for (const values of filled)
    changes += db.sql(values.length === FEW * width ? few : many).run(values, named).changes
  return changes
}

/** Of a plan, in the words of SQLite. */
export interface PlanStep {
  parent: number
  detail: string
}

/** How SQLite would go about few, and about many. */
export function plansOf(
  db: Statements,
  { width, few, many }: InSlots,
  named: Record<string, unknown>,
): PlanStep[][] {
  const planOf = (slots: number, text: string) =>
    db.raw.prepare(`EXPLAIN QUERY PLAN ${text}`).all(Array(slots * width).fill(null), named)
  return [planOf(FEW, few), planOf(MANY, many)] as never
}
