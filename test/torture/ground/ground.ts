import type { Counting, Flaw } from '../../../src/store/soundness.ts'

export type Row = Record<string, unknown>

/** A database to be killed on, as it is seen from outside: with SQL of our own, not through the engine. */
export interface Ground {
  /** For `openGleaner`. */
  readonly database: string
  /** The same contents once more, gone with this one at the latest. Nobody may be at work here. */
  copy(): Promise<Ground>
  /** In SQL that both understand; `gleaner.` stands before the engine's tables. */
  rows(sql: string): Promise<Row[]>
  hasTables(): Promise<boolean>
  /** Whoever was killed is gone for the database, too: what he had sent has been done, or undone. */
  deserted(): Promise<void>
  clear(): Promise<void>

  // What must be true of it; see soundness.ts

  /** The database's own opinion of its files. */
  damage(): Promise<string[]>
  readonly ownFlaws: readonly Flaw[]
  readonly counting: Counting
  /** Whether something has changed behind this statement, so that a kill there can find what one before it cannot. */
  isTelling(before: string): boolean
  /** Points of one operation that the short form looks at. */
  readonly pointsMax: number
}

/** The first column. */
export async function read(ground: Pick<Ground, 'rows'>, sql: string): Promise<unknown[]> {
  return (await ground.rows(sql)).map((row) => Object.values(row)[0])
}

export async function countTasks(ground: Ground): Promise<number> {
  if (!(await ground.hasTables())) return 0
  return Number((await read(ground, 'SELECT count(*) FROM gleaner.tasks'))[0])
}
